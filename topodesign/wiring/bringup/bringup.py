"""Connections of a plan: interfaces, addresses and routes.

A port of one lane is the interface of that name, one of several lanes ``PORTs0``, ``PORTs1`` and so on, as Linux calls
the parts of a split port. A table says otherwise: :mod:`topodesign.wiring.inventory.interfaces`.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Unpack

from topodesign.base.arguments import as_path
from topodesign.base.declared import Declared, key
from topodesign.base.errors import ParameterError
from topodesign.base.options import read, takes
from topodesign.base.records import Result
from topodesign.base.wording import count_noun
from topodesign.runtime.connections import Pair, pat_pairs, tree_pairs
from topodesign.schedulers.baselines.cycles import link_disjoint_cycles
from topodesign.topology.topology import Topology
from topodesign.wiring.bringup.options import BringupOptions
from topodesign.wiring.inventory.devices import Fixed
from topodesign.wiring.inventory.interfaces import LINUX_NAME, Interface, InterfaceTable, read_interfaces
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.plan import WiringPlan

NODE = "td0"  # the interface that has the address of a host itself

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?)*")
_ASK = "name them in a table (--interfaces, columns host,port,interface)"


_MAX_ROWS = 60  # lines that a summary shows; the records have them all
_V4, _V6 = 32, 128  # bits of an address
_V6_SUBNET = 64  # what NCCL compares of the addresses of two ports


@dataclass(frozen=True, slots=True)
class Point(Declared):
    """End of a connection."""

    host: str  # its host
    port: str  # what the inventory calls it, with the lane where a port has several
    interface: str  # what the host calls it
    device: str  # the RDMA device behind it; null if it is not known
    address: str  # IPv4, with the length of the subnet
    ipv6: str  # the same of IPv6; null if none is wanted

    KEYS = "host port interface device=or_null(device) address ipv6=or_null(ipv6)"


@dataclass(frozen=True, slots=True)
class Line(Declared):
    """Cable connection between two interfaces.

    * ``a``, ``b``: one end of it, and the other.
    """

    cable: str  # its name in the plan; of simplex patches, those of both
    a: Point
    b: Point

    KEYS = "cable a b"
    ROW = "cable a_*=a b_*=b"


@dataclass(frozen=True, slots=True)
class RoutedHost(Declared):
    """Host with its own addresses."""

    host: str  # its name
    address: str  # IPv4 of the host itself, whichever cable leads there
    ipv6: str  # the same of IPv6; null if none is wanted

    KEYS = "host address ipv6=or_null(ipv6)"


class Route(NamedTuple):
    """Route to ``to`` with next hop ``via`` on ``interface``."""

    to: str
    via: str
    interface: str


@dataclass(frozen=True, repr=False)
class Bringup(Result):
    """Addresses, routes and ring of a plan's hosts.

    Attributes
    ----------
    plan
        The plan.
    lines
        Interfaces that cables join, by the name of the cable.
    hosts
        Hosts, in the order of the nodes.
    ring
        Hosts in an order in which each shares a cable with the next, and the last with the first; None where none was
        found.
    joined
        Whether all that NCCL's trees join shares a cable, too, with ranks in that order.
    options
        What was asked for.
    """

    plan: WiringPlan
    lines: tuple[Line, ...]
    hosts: tuple[RoutedHost, ...]
    ring: tuple[str, ...] | None
    joined: bool
    options: dict[str, Any]

    KEYS = (
        "hosts lines ring",
        key("trees=joined", "Whether trees of NCCL's join only hosts that share a cable."),
        "notes",
    )
    ROWS = "lines"

    def heading(self) -> str:
        """Return a summary of connections, hosts and ring."""
        words = f"{count_noun(len(self.lines), 'connection')} between {len(self.hosts)} hosts"
        return f"{words}, {'with' if self.ring else 'without'} a ring of cables through all"

    @cached_property
    def ends(self) -> dict[str, list[tuple[Line, Point, Point]]]:
        """Connections of each host, with near and far end."""
        found: dict[str, list[tuple[Line, Point, Point]]] = {one.host: [] for one in self.hosts}
        for line in self.lines:
            found[line.a.host].append((line, line.a, line.b))
            found[line.b.host].append((line, line.b, line.a))
        return found

    @cached_property
    def neighbours(self) -> list[list[int]]:
        """Nodes that share a cable with each node, ascending."""
        return [sorted({self.plan.node[there.host] for _, _, there in some}) for some in self.ends.values()]

    @cached_property
    def routes(self) -> dict[str, list[Route]]:
        """Shortest-path routes of each host; empty if disabled."""
        found: dict[str, list[Route]] = {one.host: [] for one in self.hosts}
        wanted, names = self.options["routes"], [one.host for one in self.hosts]
        between: dict[tuple[int, int], list[tuple[Point, Point]]] = {}
        for host, some in self.ends.items():
            for _, here, there in some:
                between.setdefault((self.plan.node[host], self.plan.node[there.host]), []).append((here, there))
        goals: list[tuple[list[int], str, str]] = []
        if wanted != "none":
            goals += [([node], one.address, one.ipv6) for node, one in enumerate(self.hosts)]
        if wanted == "all":
            for line in self.lines:
                ends = sorted({self.plan.node[line.a.host], self.plan.node[line.b.host]})
                goals.append((ends, _subnet(line.a.address), _subnet(line.a.ipv6) if line.a.ipv6 else ""))
        for number, (nodes, to, to6) in enumerate(goals):
            for node, following in enumerate(next_hosts(self.neighbours, nodes)):
                if following < 0:
                    continue
                cables = between[node, following]
                here, there = cables[number % len(cables)]
                found[names[node]].append(Route(to, bare(there.address), here.interface))
                if to6:
                    found[names[node]].append(Route(to6, bare(there.ipv6), here.interface))
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes to read before use."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        alone = [host for host, some in self.ends.items() if not some]
        if alone:
            yield f"no cable leads to {', '.join(alone)}"
        elif len(self.hosts) > 1 and any(via < 0 for via in next_hosts(self.neighbours, [0])[1:]):
            yield "the cables do not join all hosts: some reach one another by no way"
        if self.ring is None and len(self.hosts) > LARGEST_RING:
            yield f"a ring of cables for NCCL's own algorithms is not looked for among more than {LARGEST_RING} hosts"
        elif self.ring is None:
            yield (
                "no ring of cables through all hosts was found: NCCL's own algorithms join ranks that share no cable "
                "and fail; run programs that send along cables alone"
            )

    def __str__(self) -> str:
        rows = [
            f"{line.cable}: {line.a.host} {line.a.interface} {line.a.address} - "
            f"{line.b.host} {line.b.interface} {line.b.address}"
            for line in self.lines[:_MAX_ROWS]
        ]
        hidden = len(self.lines) - len(rows)
        return "\n".join([self.heading(), *rows, *([f"and {hidden} more"] if hidden else []), *self.notes])


@takes(BringupOptions)
def bringup(plan: WiringLike, **options: Unpack[BringupOptions]) -> Bringup:
    """Assign addresses to interfaces and find routes between all hosts.

    Each cable has a subnet of its own.

    Two hosts see one cable, whichever panels, trunks and circuit switches are in between. It has to carry both
    directions: what a host answers goes out where the question came in.

    Parameters
    ----------
    plan
        A plan, or the path of its file.
    **options
        What addresses are taken from, and what inventories do not say of interfaces.

    Raises
    ------
    ParameterError
        If a link is one-way, a name is none that hosts take, or there are not enough addresses.
    FileFormatError
        If a file cannot be read.

    Examples
    --------
    >>> from topodesign import plain_inventory, plan_wiring
    >>> found = bringup(plan_wiring("biring(2,4)", plain_inventory(4, 2)), subnet=31)
    >>> found
    <Bringup: 4 connections between 4 hosts, with a ring of cables through all>
    >>> [line.b.address for line in found.lines]
    ['10.64.0.1/31', '10.64.0.3/31', '10.64.0.5/31', '10.64.0.7/31']
    """
    wiring, known = as_wiring(plan), read(BringupOptions, options, "bringup")
    wrong = next((host for host in wiring.hosts if not _HOST.fullmatch(host) or len(host) > 253), None)
    if wrong is not None:
        raise ParameterError(f"host {wrong!r:.80} is not a name that a network takes; give it one in the inventory")
    table = InterfaceTable()
    if known["interfaces"] is not None:
        table = read_interfaces(as_path(known["interfaces"]), wiring.inventory, reserved=NODE)
    if known["management"] and not LINUX_NAME.fullmatch(known["management"]):
        raise ParameterError(f"management {known['management']!r:.60} is not a name of an interface")
    joined = [
        (cable, a, here, b, there)
        for cable, a, b in _iterate_cables(wiring)
        for here, there in zip(_interfaces(wiring, table, a), _interfaces(wiring, table, b), strict=False)
    ]
    used = Counter(
        (end.host, interface.name) for _, a, here, b, there in joined for end, interface in ((a, here), (b, there))
    )
    for (host, name), times in used.items():
        if times > 1:
            raise ParameterError(f"interface '{name}' of host '{host}' is that of two ports")
    pairs, own = _addresses(known["base"], known["subnet"], len(joined), len(wiring.hosts))
    pairs6, own6 = (
        ([("", "")] * len(joined), [""] * len(wiring.hosts))
        if known["ipv6"] is None
        else _addresses6(known["ipv6"], len(joined), len(wiring.hosts))
    )
    lines = tuple(
        Line(
            cable,
            Point(a.host, wiring.interface(a), here.name, here.device, first, first6),
            Point(b.host, wiring.interface(b), there.name, there.device, second, second6),
        )
        for (cable, a, here, b, there), (first, second), (first6, second6) in zip(joined, pairs, pairs6, strict=True)
    )
    hosts = tuple(map(RoutedHost, wiring.hosts, own, own6))
    found = Bringup(wiring, lines, hosts, None, joined=False, options=known)
    ring = ring_of(found.neighbours)
    if ring is None:
        return found
    start = ring.index(0)
    ring = ring[start:] + ring[:start]
    whole = [*tree_pairs(len(ring)), *pat_pairs(len(ring))]
    joined_all = not find_apart(found.neighbours, ring, whole)
    return replace(found, ring=tuple(wiring.hosts[node] for node in ring), joined=joined_all)


def _interfaces(plan: WiringPlan, table: InterfaceTable, end: Fixed) -> tuple[Interface, ...]:
    """Return a cable end's interfaces, named by a table or Linux."""
    name = plan.split_name(end)
    found = table.interfaces(end.host, plan.interface(end))
    if not found and (not LINUX_NAME.fullmatch(name) or name == NODE):
        raise ParameterError(f"port {end.port!r:.60} of host '{end.host}' is not a name of an interface; {_ASK}")
    return found or (Interface(name, ""),)


def _iterate_cables(plan: WiringPlan) -> Iterator[tuple[str, Fixed, Fixed]]:
    """Yield the name and end lanes of each cable between hosts."""
    if plan.mode == "duplex":
        for connect in plan.connects:
            yield connect.cable, connect.a, connect.b
        return
    for connect in plan.one_way:
        words = f"{connect.cable}: {plan.lane_name(connect.a)} -> {plan.lane_name(connect.b)}"
        advice = "hosts answer where they hear: wire a duplex topology with --duplex"
        raise ParameterError(f"there are links one way ({words}), and {advice}")
    back = {(connect.b.place, connect.a.place): connect for connect in plan.connects}
    done = set()
    for connect in plan.connects:
        other = back[connect.a.place, connect.b.place]
        if connect.cable not in done:
            done |= {connect.cable, other.cable}
            yield f"{connect.cable}+{other.cable}", connect.a, connect.b


def _addresses(base: str, length: int, lines: int, hosts: int) -> tuple[list[tuple[str, str]], list[str]]:
    """Return IPv4 addresses: connections from the start, hosts at the end."""
    try:
        network = ipaddress.IPv4Network(base)
    except ValueError:
        raise ParameterError(f"base {base!r:.60} is not an IPv4 network; expected one such as 10.64.0.0/12") from None
    size, block = 1 << (_V4 - length), 1 << (hosts + 1).bit_length()
    needed = (lines * size + block - 1).bit_length()
    if _V4 - needed < network.prefixlen or network.prefixlen > length:
        least = min(_V4 - needed, length)
        words = f"{lines} cables with a subnet of /{length} and {hosts} hosts do not fit into {network}"
        raise ParameterError(f"{words}: a /{least} is needed" + ("" if length >= 30 else ", or a smaller subnet"))
    top, first = network.num_addresses - block, 0 if length == _V4 - 1 else 1
    ends = [[f"{network[n * size + first + end]}/{length}" for end in (0, 1)] for n in range(lines)]
    return [(a, b) for a, b in ends], [f"{network[top + 1 + node]}/{_V4}" for node in range(hosts)]


def _addresses6(base: str, lines: int, hosts: int) -> tuple[list[tuple[str, str]], list[str]]:
    """Return IPv6 addresses; the first /64 is for hosts."""
    try:
        network = ipaddress.IPv6Network(base)
    except ValueError:
        raise ParameterError(f"ipv6 {base!r:.60} is not an IPv6 network; expected one such as fd64::/48") from None
    least = _V6_SUBNET - lines.bit_length()
    if network.prefixlen > least:
        raise ParameterError(
            f"{lines} cables with a /64 each and the hosts do not fit into {network}: a /{least} is needed"
        )
    ends = [[f"{network[(n + 1 << _V6_SUBNET) + end]}/{_V6_SUBNET}" for end in (1, 2)] for n in range(lines)]
    return [(a, b) for a, b in ends], [f"{network[1 + node]}/{_V6}" for node in range(hosts)]


def _subnet(address: str) -> str:
    return str(ipaddress.ip_interface(address).network)


def bare(address: str) -> str:
    """Return an address without its prefix length."""
    return address.partition("/")[0]


LARGEST_RING = 128  # hosts among which a ring is looked for; it takes a second for these


def next_hosts(neighbours: Sequence[Sequence[int]], goals: Iterable[int]) -> list[int]:
    """Return each node's next hop on a shortest path.

    The next hop is -1 at the goals and if no goal is reachable.

    Several neighbours that are as near are taken in turn by the number of the goal, so that they share the load.
    """
    distance = [-1] * len(neighbours)
    goals = list(goals)
    for goal in goals:
        distance[goal] = 0
    queue = deque(goals)
    while queue:
        node = queue.popleft()
        for other in neighbours[node]:
            if distance[other] < 0:
                distance[other] = distance[node] + 1
                queue.append(other)
    found = []
    for node, some in enumerate(neighbours):
        nearer = [other for other in some if distance[other] == distance[node] - 1 >= 0]
        found.append(nearer[goals[0] % len(nearer)] if nearer else -1)
    return found


def ring_of(neighbours: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """Return the nodes along a Hamiltonian cycle.

    None where none is found, which on small topologies is only where there is none.
    """
    nodes = len(neighbours)
    if nodes == 1:
        return (0,)
    if nodes > LARGEST_RING or any(not some for some in neighbours):
        return None
    links = [(u, v) for u, some in enumerate(neighbours) for v in some]
    return next(iter(link_disjoint_cycles(Topology.from_links(nodes, links))), None)


def find_apart(neighbours: Sequence[Sequence[int]], order: Sequence[int], pairs: Iterable[Pair]) -> list[Pair]:
    """Return node pairs of ranks that are not neighbours.

    ``order`` lists the node of each rank.
    """
    near = [set(some) for some in neighbours]
    found = ((order[a], order[b]) for a, b in pairs)
    return [(u, v) for u, v in found if u != v and v not in near[u]]
