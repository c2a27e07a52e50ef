"""Files that subnet managers, hosts and switches load; all are tables by target, and say nothing of lanes.

* OpenSM: ``opensm -R file -U FILE``, the format of its dump of unicast tables (opensm, doc/current-routing.txt).
* Linux: ``ip route`` of iproute2, a script a node.
* FRR: ``ip route`` of staticd (docs.frrouting.org, STATIC), a configuration a node.
* SONiC: ``STATIC_ROUTE`` of CONFIG_DB (SONiC, Static Route HLD), a document a node.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, ParameterError, TooLargeError
from topodesign.base.tables import Located, parse_csv
from topodesign.base.text_files import naming, read_text
from topodesign.fabrics.fabric import Fabric
from topodesign.topology.topology import IntArray

_LOOPBACKS, _CABLES = int(ipaddress.IPv4Address("10.255.0.0")), int(ipaddress.IPv4Address("10.192.0.0"))
_MOST_VERTICES, _MOST_CABLES = 2**16, 2**20  # as many as the two ranges have room for, with two addresses a cable
_GUIDS, _HOST_GUIDS = 0x0200_0000_0000_0000, 0x0200_0001_0000_0000  # locally administered
_MOST_LID = 0xBFFF


@dataclass(frozen=True, eq=False)
class Tables:
    """What is written."""

    fabric: Fabric  # names and links
    out: IntArray  # the link out of every vertex to every target, -1 where none is needed
    ports: Mapping[tuple[str, str], list[Port]]  # what the table of ports says; without one they are numbered
    plain: bool  # whether parallel links are cables, as in a topology, and not bandwidth

    @cached_property
    def cables(self) -> list[int]:
        """How many cables each link is."""
        capacity = self.fabric.topology.capacity.tolist()
        return capacity if self.plain else [1] * len(capacity)

    @cached_property
    def first(self) -> list[int]:
        """The place of the first cable of each link among those of its vertex."""
        found, count, before = [], 0, -1
        for node, cables in zip(self.fabric.topology.src.tolist(), self.cables, strict=True):
            count = count if node == before else 0
            found.append(count)
            count, before = count + cables, node
        return found

    @cached_property
    def pair(self) -> dict[tuple[int, int], int]:
        """The number of each link by its ends."""
        return {(u, v): at for at, (u, v, _) in enumerate(self.fabric.topology.links())}

    @cached_property
    def numbers(self) -> dict[tuple[int, int], int]:
        """The number of the first cable between each two vertices, in the order of the links."""
        links = {ends: self.cables[link] for ends, link in self.pair.items() if ends[0] < ends[1]}
        return dict(zip(links, accumulate(links.values(), initial=0), strict=False))

    def of(self, link: int, number: str, offset: int) -> list[Port]:
        """Return the ports of a link: those of the table, or numbers from an offset on under this name."""
        names, topology = self.fabric.names, self.fabric.topology
        ends = names[topology.src[link]], names[topology.dst[link]]
        if self.ports:
            if ends not in self.ports:
                raise ParameterError(f"--ports has no row for node {ends[0]} with peer {ends[1]}")
            return self.ports[ends]
        return [Port(f"{number}{self.first[link] + offset + at}") for at in range(self.cables[link])]

    def targets(self, vertex: int) -> Iterator[tuple[int, int]]:
        """Yield the targets that a vertex passes on to, each with the link."""
        for target, link in enumerate(self.out[vertex].tolist()):
            if link >= 0:
                yield target, link


def opensm(tables: Tables) -> str:
    """Return the unicast tables of all switches; of a topology every node is one, with its adapter at port 1."""
    fabric = tables.fabric
    switches = sorted(fabric.topology.switches) or list(range(len(fabric.names)))
    alone = not fabric.topology.switches
    guid = {owner: port.guid for (owner, _), some in tables.ports.items() for port in some if port.guid is not None}
    hosts = [f"host-{fabric.names[node]}" if alone else fabric.names[node] for node in fabric.compute]
    if len(hosts) + len(switches) > _MOST_LID:
        raise TooLargeError(f"a subnet has at most {_MOST_LID} addresses; these are {len(hosts) + len(switches)}")
    adapter = [guid.get(name, _HOST_GUIDS + at) for at, name in enumerate(hosts)]
    lines = []
    for place, switch in enumerate(switches):
        name = fabric.names[switch]
        own = guid.get(name, _GUIDS + switch)
        lines.append(
            f"Unicast lids [0-{hex(len(hosts))}] of switch Lid {len(hosts) + 1 + place} guid 0x{own:016x} ('{name}'):"
        )
        rows = 0
        for at, target in enumerate(fabric.compute):
            if alone and target == switch:
                number = tables.ports[name, hosts[at]][0].name if (name, hosts[at]) in tables.ports else "1"
            elif tables.out[switch, target] < 0:
                continue
            else:
                some = tables.of(int(tables.out[switch, target]), "", 2 if alone else 1)
                number = some[at % len(some)].name
            if not number.isdecimal() or not 1 <= int(number) <= 254:
                raise ParameterError(f"a port of an InfiniBand switch is a number up to 254, not {number} of {name}")
            lines.append(f"0x{at + 1:04x} {int(number):03d} # {name} portguid 0x{adapter[at]:016x}: '{hosts[at]}'")
            rows += 1
        lines += [f"{rows} lids dumped", ""]
    return "\n".join(lines)


def _loopback(tables: Tables, vertex: int) -> str:
    if len(tables.fabric.names) > _MOST_VERTICES or sum(tables.cables) > _MOST_CABLES:
        raise TooLargeError("there are more nodes or cables than addresses for them")
    return str(ipaddress.IPv4Address(_LOOPBACKS + vertex))


def _hops(tables: Tables, link: int) -> list[tuple[str, str]]:
    """Return the address at the other end and the own interface for each cable of a link."""
    topology = tables.fabric.topology
    u, v = int(topology.src[link]), int(topology.dst[link])
    here, there = tables.of(link, "eth", 0), tables.of(tables.pair[v, u], "eth", 0)
    if len(here) != len(there):
        names = tables.fabric.names
        raise ParameterError(f"--ports has not as many ports of {names[u]} to {names[v]} as back")
    found = []
    for at, (mine, other) in enumerate(zip(here, there, strict=True)):
        if other.address is None and tables.ports:
            raise ParameterError(f"--ports has no address for node {tables.fabric.names[v]}, port {other.name}")
        found.append((other.address or _numbered(tables, u, v, at)[1], mine.name))
    return found


def _numbered(tables: Tables, u: int, v: int, at: int) -> tuple[str, str]:
    """Return the addresses of both ends of a cable: two neighbours, a pair for each, in the order of the links."""
    cable = tables.numbers[min(u, v), max(u, v)] + at
    pair = [str(ipaddress.IPv4Address(_CABLES + 2 * cable + end)) for end in (0, 1)]
    return (pair[0], pair[1]) if u < v else (pair[1], pair[0])


def linux(tables: Tables) -> dict[str, str]:
    """Return a script of ``ip route`` for every vertex, with addresses where no table of ports says others."""

    def script(vertex: int) -> Iterator[str]:
        yield "#!/bin/sh"
        yield "set -e"
        yield "sysctl -q -w net.ipv4.ip_forward=1"
        yield f"ip address replace {_loopback(tables, vertex)}/32 dev lo"
        for (u, v), link in tables.pair.items():
            if u == vertex and u != v and not tables.ports:
                for at, port in enumerate(tables.of(link, "eth", 0)):
                    yield f"ip address replace {_numbered(tables, u, v, at)[0]}/31 dev {port.name}"
        for target, link in tables.targets(vertex):
            hops = _hops(tables, link)
            to, source = _loopback(tables, target), _loopback(tables, vertex)
            if len(hops) == 1:
                yield f"ip route replace {to}/32 via {hops[0][0]} dev {hops[0][1]} src {source}"
            else:
                ways = " ".join(f"nexthop via {via} dev {port} weight 1" for via, port in hops)
                yield f"ip route replace {to}/32 src {source} {ways}"

    return _each(tables, ".sh", script)


def frr(tables: Tables) -> dict[str, str]:
    """Return a configuration of FRR for every vertex."""

    def configuration(vertex: int) -> Iterator[str]:
        yield "frr defaults datacenter"
        yield f"hostname {tables.fabric.names[vertex].replace('/', '-')}"
        for target, link in tables.targets(vertex):
            for via, port in _hops(tables, link):
                yield f"ip route {_loopback(tables, target)}/32 {via} {port}"

    return _each(tables, ".conf", configuration)


def sonic(tables: Tables) -> dict[str, str]:
    """Return the static routes of CONFIG_DB for every vertex."""

    def document(vertex: int) -> Iterator[str]:
        routes = {}
        for target, link in tables.targets(vertex):
            hops = _hops(tables, link)
            fields = {
                "nexthop": [via for via, _ in hops],
                "ifname": [port for _, port in hops],
                "distance": ["0"] * len(hops),
                "nexthop-vrf": ["default"] * len(hops),
                "blackhole": ["false"] * len(hops),
            }
            key = f"default|{_loopback(tables, target)}/32"
            routes[key] = {name: ",".join(values) for name, values in fields.items()}
        yield json.dumps({"STATIC_ROUTE": routes}, indent=2)

    return _each(tables, ".json", document)


def _each(tables: Tables, ending: str, lines: Callable[[int], Iterator[str]]) -> dict[str, str]:
    names = tables.fabric.names
    return {f"{names[vertex]}{ending}": "\n".join([*lines(vertex), ""]) for vertex in range(len(names))}


FORMATS: dict[str, Callable[[Tables], str | dict[str, str]]] = {
    "opensm": opensm,
    "linux": linux,
    "frr": frr,
    "sonic": sonic,
}
"""By name; a text is one file, a mapping a directory of them."""


_GUID = re.compile(r"(0x)?[0-9a-fA-F]{1,16}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,63}")


@dataclass(frozen=True)
class Port:
    """One end of a cable: what it is called, its address or None, and the GUID of what it belongs to or None."""

    name: str
    address: str | None = None
    guid: int | None = None


def read_ports(path: str | Path, fabric: Fabric) -> dict[tuple[str, str], list[Port]]:
    """Return the ports from each vertex to each neighbour, in the order of the file.

    The table has the columns ``node,peer,port`` and as needed ``address`` and ``guid``: the name of the port at the
    node (for InfiniBand its number) with its cable to the peer, its address, and the GUID of the node. Of a topology,
    whose nodes are switches to InfiniBand, ``host-NODE`` is the adapter at a node.
    """
    path = as_path(path)
    known = {*fabric.names, *(f"host-{name}" for name in fabric.names)}
    ports: dict[tuple[str, str], list[Port]] = {}
    with naming(path):
        for row in parse_csv(read_text(path, (".csv",)), ("node", "peer", "port"), ("address", "guid")):
            for column in ("node", "peer"):
                if row[column].value not in known:
                    raise FileFormatError(f"line {row[column].line}: there is no {row[column].value!r:.60}")
            for column, form in (("port", _WORD), ("guid", _GUID)):
                if column in row and not form.fullmatch(row[column].value):
                    raise FileFormatError(f"line {row[column].line}: {column} {row[column].value!r:.60} is none")
            address = None if "address" not in row else _address(row["address"])
            guid = int(row["guid"].value, 16) if "guid" in row else None
            pair = row["node"].value, row["peer"].value
            ports.setdefault(pair, []).append(Port(row["port"].value, address, guid))
    return ports


def _address(cell: Located) -> str:
    try:
        return str(ipaddress.ip_interface(cell.value).ip)
    except ValueError:
        raise FileFormatError(f"line {cell.line}: address {cell.value!r:.60} is none, such as 10.0.0.1") from None
