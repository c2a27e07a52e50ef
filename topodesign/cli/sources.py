"""What a user may name a topology by: a spec or a file."""

from __future__ import annotations

from pathlib import Path

from topodesign.library import build
from topodesign.topology import Topology
from topodesign.topology_file import read_topology


def topology_of(text: str) -> Topology:
    """Build a spec, or read a file if the text has a file's ending and no brackets, or names a file that exists."""
    path = Path(text) if len(text) < 1024 and "\0" not in text else None
    if path is not None and (("(" not in text and path.suffix) or path.is_file()):
        return read_topology(path)
    return build(text)
