"""What a user may name a topology by: a spec or a file."""

from __future__ import annotations

from pathlib import Path

from topodesign.errors import SpecError
from topodesign.library import build
from topodesign.schedule import Schedule
from topodesign.schedule_file import Header, load_schedule
from topodesign.topology import Topology
from topodesign.topology_file import READERS, read_topology


def topology_of(text: str) -> Topology:
    """Read a file if the text has a known ending, or no brackets and another ending or a slash; else build a spec."""
    path = Path(text)
    if path.suffix.lower() in READERS or ("(" not in text and (path.suffix or "/" in text)):
        return read_topology(path)
    return build(text)


def schedule_of(path: Path) -> tuple[Topology, Schedule, Header]:
    """Read a schedule file; the topology gets the spec that the file names, if that rebuilds its links."""
    topology, schedule, header = load_schedule(path)
    if header.spec is None:
        return topology, schedule, header
    try:
        named = build(header.spec)
    except SpecError:
        return topology, schedule, header
    return named if named == topology else topology, schedule, header
