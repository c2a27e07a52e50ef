"""Link tables: neighbour CSVs, sonic-mgmt, containerlab and cut-sheets.

A CSV ``host,port,neighbour_host,neighbour_port`` has a row for what an interface hears: with two empty cells nothing,
with one a neighbour of which the rest is not known. The others have a row for each cable, which both ends hear:
``StartDevice,StartPort,EndDevice,EndPort`` of sonic-mgmt; cut-sheets, whose header names ``Hostname`` and ``Port`` (and
``Tray``, if ports have one) for each of two ends; and the ``links`` of a containerlab topology (YAML).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from topodesign.base.errors import FileFormatError
from topodesign.base.tables import LocatedValue, csv_rows, parse_yaml, read_named_columns
from topodesign.wiring.check.outputs import Neighbour, NeighbourOutput

COLUMNS = ("host", "port", "neighbour_host", "neighbour_port")
LINK_ENDINGS = (".yml", ".yaml")

_SONIC = ("StartDevice", "StartPort", "EndDevice", "EndPort")
_HOST_COLUMNS = frozenset(("hostname", "host", "device", "host name"))
_MAX_HEADS = 3  # lines of a cut-sheet among which its header is

_Cable = tuple[str, str, str, str]
"""Host and port of one end, host and port of the other."""


def read_link_table(text: str) -> NeighbourOutput:
    """Read a CSV of neighbours or cables, depending on its header."""
    rows = csv_rows(text)
    head = [cells for _, (_, cells) in zip(range(_MAX_HEADS), rows, strict=False)]
    first = {cell.strip() for cell in head[0]} if head else set()
    if first.issuperset(_SONIC):
        cables = [tuple(row[name].strip() for name in _SONIC) for _, row in read_named_columns(text, _SONIC)]
        return _both_ways([(a, p, b, q) for a, p, b, q in cables])
    place = next((number for number, cells in enumerate(head) if _cut_sheet(cells)), None)
    if place is not None:
        return _both_ways(list(_cables_of_sheet(text, place)))
    entries, hosts = [], []
    for _, row in read_named_columns(text, COLUMNS, lambda name: name.strip().replace("neighbor", "neighbour")):
        host, interface, chassis, port = (row[name].strip() for name in COLUMNS)
        hosts.append(host)
        if chassis or port:
            entries.append(Neighbour(host, interface, chassis, (port,), None))
    return NeighbourOutput(entries, hosts)


def read_containerlab(text: str) -> NeighbourOutput:
    """Read the links of a containerlab topology.

    Each link has two endpoints ``NODE:INTERFACE``.
    """
    cables = []
    links = _field(_field(parse_yaml(text), "topology"), "links")
    for link in links.value if isinstance(links.value, list) else []:
        ends = _field(link, "endpoints").value
        parts = [str(end.value).partition(":") for end in ends] if isinstance(ends, list) else []
        if len(parts) != 2 or not all(node and sign and port for node, sign, port in parts):
            raise FileFormatError(f"line {link.line}: a link has two endpoints such as n1:eth1")
        (a, _, p), (b, _, q) = parts
        cables.append((a, p, b, q))
    return _both_ways(cables)


def _field(value: LocatedValue, name: str) -> LocatedValue:
    if not isinstance(value.value, dict) or name not in value.value:
        raise FileFormatError(f"line {value.line}: '{name}' is missing; expected topology: links: of containerlab")
    found: LocatedValue = value.value[name]
    return found


def _both_ways(cables: Sequence[_Cable]) -> NeighbourOutput:
    """Return neighbours in both directions of every cable."""
    ways = [way for a, p, b, q in cables for way in ((a, p, b, q), (b, q, a, p))]
    return NeighbourOutput(
        [Neighbour(a, p, b, (q,), None) for a, p, b, q in ways], list(dict.fromkeys(way[0] for way in ways))
    )


def _cut_sheet(cells: Sequence[str]) -> tuple[tuple[int, int, int | None], ...]:
    """Return columns of host, port and tray of both ends, if any."""
    names = [cell.strip().lower() for cell in cells]
    hosts = [number for number, name in enumerate(names) if name in _HOST_COLUMNS]
    if len(hosts) != 2:
        return ()
    ends = []
    for start, end in ((hosts[0], hosts[1]), (hosts[1], len(names))):
        part = names[start:end]
        if part.count("port") != 1:
            return ()
        tray = start + part.index("tray") if "tray" in part else None
        ends.append((start, start + part.index("port"), tray))
    return tuple(ends)


def _cables_of_sheet(text: str, place: int) -> Iterator[_Cable]:
    rows = list(csv_rows(text))
    ends = _cut_sheet(rows[place][1])
    for line, cells in rows[place + 1 :]:
        if len(cells) <= max(column for end in ends for column in end if column is not None):
            raise FileFormatError(f"line {line}: {len(cells)} cells, the header has {len(rows[place][1])}")
        found = []
        for host, port, tray in ends:
            label = cells[port].strip()
            found += [cells[host].strip(), label if tray is None else f"{cells[tray].strip()}-{label}"]
        if not all(found):
            raise FileFormatError(f"line {line}: a cable has a host and a port at each end")
        yield found[0], found[1], found[2], found[3]
