"""What a user may name a topology by: a spec or a file."""

from __future__ import annotations

from pathlib import Path

from topodesign.library import build
from topodesign.topology import Topology
from topodesign.topology_file import READERS, read_topology


def topology_of(text: str) -> Topology:
    """Read a file if the text has a known ending, or no brackets and another ending or a slash; else build a spec."""
    path = Path(text)
    if path.suffix.lower() in READERS or ("(" not in text and (path.suffix or "/" in text)):
        return read_topology(path)
    return build(text)
