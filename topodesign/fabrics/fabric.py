"""Fabrics: named nodes, switches and links with exact bandwidths.

Scaled to a topology of integer capacities.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from topodesign.base.errors import ParameterError, TooLargeError, TopologyError, UnitError
from topodesign.base.units import exact_rate, parse_bandwidth
from topodesign.base.wording import count_noun, join_words, suggest
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import MAX_CAPACITY, Topology

LONGEST_NAME = 100
MAX_PRICE = 10**9
NODE_BANDWIDTH = Fraction(100 * 10**9, 8)
"""Bytes per second of all links of a node together, for topologies that do not say (100 Gbps)."""
_PRICE = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*(?:/(.+))?", re.DOTALL)
OWN_LATENCIES = "fabric"  # as a latency: those that the fabric says of its links


class FabricLink(NamedTuple):
    """A directed link between named vertices, with a class.

    Links of a class are reported and upgraded together.
    """

    src: str
    dst: str
    bandwidth: Fraction  # bytes per second, positive
    kind: str = ""  # what sort of link it is, such as InfiniBand


class Shared(NamedTuple):
    """A shared limit of several links.

    Such as that of a PCIe switch, a memory bus or a NIC.

    Bandwidth is in bytes per second, and links are named by their ends.
    """

    name: str
    bandwidth: Fraction  # bytes per second, positive
    links: tuple[tuple[str, str], ...]  # each as the names of its ends, all different


class Price(NamedTuple):
    """What more bandwidth on a link costs."""

    cost: Fraction  # above 0 and up to MAX_PRICE, with six decimals or fewer
    step: Fraction | None = None  # bytes per second that it buys; as much as the link has if None

    def check(self, kind: str) -> None:
        """Raise ParameterError if the cost of a class of links is invalid."""
        if not 0 < self.cost <= MAX_PRICE or (self.cost * 10**6).denominator > 1:
            raise ParameterError(
                f"the price of '{kind[:LONGEST_NAME]}' is to be above 0 and up to {MAX_PRICE}, with six decimals or "
                f"fewer, not {str(self.cost)[:50]}"
            )
        if self.step is not None and self.step <= 0:
            raise ParameterError(f"the price of '{kind[:LONGEST_NAME]}' buys no bandwidth")


def parse_price(text: str) -> Price:
    """Parse a price: ``900`` or ``900/25GB/s``.

    The first is the price of doubling a link; the second that of so much more bandwidth.

    Examples
    --------
    >>> parse_price("900").cost
    Fraction(900, 1)
    >>> format_price(parse_price("12.50/200Gbps"))
    '12.5/25GB/s'
    """
    match = _PRICE.fullmatch(text)
    if match is None:
        raise UnitError(f"a price is a number, or one for a bandwidth as 900/25GB/s, not {text[:50]!r}")
    return Price(Fraction(match[1]), None if match[2] is None else parse_bandwidth(match[2]) / 8)


def format_price(price: Price) -> str:
    """Write a price exactly, as :func:`parse_price` reads it."""
    whole, decimals = divmod(int(price.cost * 10**6), 10**6)
    cost = f"{whole}.{decimals:06d}".rstrip("0").rstrip(".")
    return cost if price.step is None else f"{cost}/{exact_rate(price.step)}"


@dataclass(frozen=True, repr=False)
class Fabric:
    """Named nodes, switches and links, with the topology for solvers.

    Build one with :meth:`from_links` or :meth:`from_topology`.

    Attributes
    ----------
    name
        For people.
    names
        One for each vertex of the topology, switches included.
    topology
        Links with integer capacities, in multiples of ``unit``; parallel links are one.
    unit
        Bytes per second of one unit of capacity.
    classes
        What sort of link each of ``topology.links()`` is (``""`` if not specified).
    multicast, aggregation
        Switches that can send one input to several outputs, or reduce several inputs to one output.
    memory
        Those of the multicasting switches that also store what they receive: host memory.
    shared
        Limits on what several links carry together, beside those of each link.
    latency
        Seconds that a message takes over a link, by class; classes that are not among them take none.
    prices
        What one more link costs, or so much more bandwidth, by class; others are not for sale.
    """

    name: str
    names: tuple[str, ...]
    topology: Topology
    unit: Fraction
    classes: tuple[str, ...]
    multicast: frozenset[int] = frozenset()
    aggregation: frozenset[int] = frozenset()
    memory: frozenset[int] = frozenset()
    shared: tuple[Shared, ...] = ()
    latency: tuple[tuple[str, Fraction], ...] = ()
    prices: tuple[tuple[str, Price], ...] = ()

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        if len(self.names) != self.topology.nodes or len(set(self.names)) != len(self.names):
            raise TopologyError("a fabric requires one name for each vertex, all different")
        if len(self.classes) != len(self.topology.src):
            raise TopologyError("a fabric requires one class for each link")
        if not self.multicast | self.aggregation <= self.topology.switches:
            raise TopologyError("only switches can multicast or aggregate")
        if not self.memory <= self.multicast:
            raise TopologyError("memory must be among the switches that multicast, since it can send stored data twice")
        self._check_shared()
        for kind, seconds in self.latency:
            if seconds < 0:
                raise TopologyError(f"the latency of class '{kind}' is negative")
        for kind, price in self.prices:
            price.check(kind)

    def __str__(self) -> str:
        """Return the name and the size."""
        switches = count_noun(len(self.topology.switches), "switch", "switches")
        return f"{self.name}: {count_noun(len(self.compute), 'node')}, {switches}"

    def __repr__(self) -> str:
        """Return the same and what it is."""
        return f"<Fabric {self}>"

    @classmethod
    def from_links(
        cls,
        name: str,
        nodes: Sequence[str],
        switches: Sequence[str],
        links: Iterable[FabricLink],
        *,
        multicast: Iterable[str] = (),
        aggregation: Iterable[str] = (),
        memory: Iterable[str] = (),
        shared: Iterable[Shared] = (),
        latency: Mapping[str, Fraction] | None = None,
        prices: Mapping[str, Price] | None = None,
    ) -> Fabric:
        """Make a fabric from named links in any order; parallel links add up.

        Nodes and switches may have more bandwidth in than out, or the reverse; :meth:`check_balance` refuses it.

        Vertices are numbered in the order given, nodes before switches. Capacities are the bandwidths divided by their
        greatest common divisor, which is ``unit``; so nothing is rounded. ``memory`` are some of the switches, which
        multicast whether ``multicast`` says so or not.
        """
        for group, kind in ((nodes, "node"), (switches, "switch")):
            for word in group:
                _check_name(word, kind)
        stores = tuple(memory)
        fabric = _assemble(
            name,
            (*nodes, *switches),
            frozenset(switches),
            links,
            multicast=(*multicast, *stores),
            aggregation=aggregation,
            memory=stores,
            shared=tuple(shared),
        )
        kinds = {kind for word in fabric.classes for kind in (word, *word.split("+"))} - {""}
        for kind in latency or {}:
            if kind not in kinds:
                raise TopologyError(f"latency of class '{kind[:LONGEST_NAME]}' has no links of that class")
        for kind in prices or {}:
            if kind not in fabric.classes:
                raise TopologyError(f"price of class '{kind[:LONGEST_NAME]}' has no links of that class")
        fabric = replace(
            fabric, latency=tuple(sorted((latency or {}).items())), prices=tuple(sorted((prices or {}).items()))
        )
        fabric.check_nodes()
        stray = fabric.stray_switches()
        if stray:
            raise TopologyError(f"switch '{stray[0]}' is connected to no node; omit it, or link it")
        return fabric

    @classmethod
    def from_topology(cls, topology: Topology, node_bandwidth: Fraction = NODE_BANDWIDTH) -> Fabric:
        """Make a fabric of equal links from a topology.

        Names are the node numbers; self-loops are omitted.

        A link has ``node_bandwidth`` bytes per second, B of the cost model, over the ports of a node: the degree of the
        topology, which counts links out or in, whichever are more, and ports that are spare; with switches the links
        out of the node that has most. Vertices may have more capacity in than out, or the reverse, as after failures
        (:meth:`without`).
        """
        real = topology.src != topology.dst
        plain = topology
        if not real.all():
            plain = Topology.from_arrays(
                topology.nodes,
                topology.src[real],
                topology.dst[real],
                topology.capacity[real],
                symmetry=topology.symmetry,
                switches=topology.switches,
            )
        ports = topology.degree
        if topology.switches:
            compute = [node for node in range(topology.nodes) if node not in topology.switches]
            ports = max((int(topology.out_ports[node]) for node in compute), default=0)
        fabric = cls(
            str(topology.spec) if topology.spec is not None else "topology",
            tuple(map(str, range(topology.nodes))),
            plain,
            node_bandwidth / max(ports, 1),
            ("",) * len(plain.src),
        )
        fabric.check_nodes()
        return fabric

    @cached_property
    def compute(self) -> tuple[int, ...]:
        """Compute nodes: all vertices but the switches, ascending."""
        return tuple(node for node in range(len(self.names)) if node not in self.topology.switches)

    @property
    def copies(self) -> frozenset[int]:
        """Vertices that can copy data: nodes, memory and multicasting switches."""
        return self.multicast | frozenset(self.compute)

    @property
    def adds(self) -> frozenset[int]:
        """Vertices that can add data: nodes and aggregating switches."""
        return self.aggregation | frozenset(self.compute)

    @property
    def stores(self) -> frozenset[int]:
        """Vertices that keep data for a later step: nodes and memory."""
        return self.memory | frozenset(self.compute)

    def link_latencies(self) -> tuple[Fraction, ...]:
        """Return the latency of each of ``topology.links()`` in seconds.

        Merged links of several classes take that of the slowest.
        """
        if not self.latency:
            raise ParameterError(f"{self.name} has no latencies of its links; give one, such as --alpha 10us")
        known = dict(self.latency)
        parts = {word: [word] if word in known else word.split("+") for word in set(self.classes)}
        slowest = {word: max(known.get(kind, Fraction(0)) for kind in kinds) for word, kinds in parts.items()}
        return tuple(slowest[word] for word in self.classes)

    def get_link_table(self, table: LinkTable | None = None) -> LinkTable:
        """Return a table of the latencies of all links, overridden by another."""
        other = LinkTable({}, {}) if table is None else table.on(self.topology)
        pairs = ((u, v) for u, v, _ in self.topology.links())
        return LinkTable({**dict(zip(pairs, self.link_latencies(), strict=True)), **other.alpha}, other.bandwidth)

    @property
    def shared_links(self) -> tuple[tuple[int, ...], ...]:
        """The positions in ``topology.links()`` of each shared limit, ascending."""
        if not self.shared:
            return ()
        place = {(self.names[u], self.names[v]): at for at, (u, v, _) in enumerate(self.topology.links())}
        return tuple(tuple(sorted(place[ends] for ends in limit.links)) for limit in self.shared)

    def check_bandwidth(self, given: object) -> None:
        """Raise ParameterError if a bandwidth was given, as the fabric has its own."""
        if given is not None:
            raise ParameterError(f"{self.name} has bandwidths of its own; omit --bandwidth")

    def check_unshared(self, what: str) -> None:
        """Raise ParameterError if links share limits, which ``what`` knows nothing of."""
        if self.shared:
            raise ParameterError(
                f"{what} does not know limits that links share, and {self.name} has '{self.shared[0].name}'; "
                "'topodesign evaluate' and 'schedule' do with --algorithm fluid"
            )

    def _check_shared(self) -> None:
        """Raise TopologyError for an invalid shared limit; sort its links."""
        if not self.shared:
            return
        present = {(self.names[u], self.names[v]): place for place, (u, v, _) in enumerate(self.topology.links())}
        if len({limit.name for limit in self.shared}) != len(self.shared):
            raise TopologyError("shared limits require names, all different")
        for limit in self.shared:
            called = f"the shared limit '{limit.name}'"
            _check_name(limit.name, "shared limit")
            if limit.bandwidth <= 0:
                raise TopologyError(f"{called} has no bandwidth")
            if not limit.links or len(set(limit.links)) != len(limit.links):
                raise TopologyError(f"{called} requires links, each once")
            for a, b in limit.links:
                if (a, b) not in present:
                    raise TopologyError(f"{called} is for a link from '{a}' to '{b}', which does not exist")
        ordered = (limit._replace(links=tuple(sorted(limit.links, key=present.__getitem__))) for limit in self.shared)
        object.__setattr__(self, "shared", tuple(ordered))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    def number(self, name: str) -> int:
        """Return the number of a named vertex."""
        if name in self._numbers:
            return self._numbers[name]
        there = f"there are {', '.join(self.names[:3])}, ..."
        raise ParameterError(f"no node or switch is named {name[:LONGEST_NAME]!r}; {suggest(name, self.names, there)}")

    def links(self) -> list[FabricLink]:
        """Return links with names and bandwidths, in the order of ``topology.links()``."""
        return [
            FabricLink(self.names[u], self.names[v], c * self.unit, kind)
            for (u, v, c), kind in zip(self.topology.links(), self.classes, strict=True)
        ]

    def only(self, nodes: Iterable[str], *, forward: bool) -> Fabric:
        """Return the fabric with fewer nodes taking part.

        The others stay as switches (``forward``), or vanish with their links and with switches that then lead nowhere.
        """
        chosen = {self.number(name) for name in nodes}
        for node in sorted(chosen & self.topology.switches):
            raise ParameterError(f"'{self.names[node]}' is a switch; only nodes take part in a collective")
        others = [self.names[node] for node in self.compute if node not in chosen]
        if not forward:
            return self.without(vertices=others)
        switches = {self.names[node] for node in self.topology.switches} | set(others)
        return self._replace_links(self.names, switches, self.links())

    def without(
        self,
        *,
        vertices: Iterable[str] = (),
        links: Iterable[tuple[str, str]] = (),
        one_way: Iterable[tuple[str, str]] = (),
    ) -> Fabric:
        """Return the fabric without failed nodes, switches or links.

        Links fail both ways; those of ``one_way`` in one direction only.

        Switches that then lead to no node are omitted. What is left may have more bandwidth into a node or switch than
        out of it, or the reverse: nodes do not mind, and of what leads to such a switch the solvers use the part that
        is best.
        """
        gone = {self.names[self.number(name)] for name in vertices}
        dead: set[tuple[str, str]] = set()
        present = {(link.src, link.dst) for link in self.links()}
        asked = [({(a, b), (b, a)}, f"between '{a}' and '{b}'", a) for a, b in links]
        asked += [({(a, b)}, f"from '{a}' to '{b}'", a) for a, b in one_way]
        for pair, where, first in asked:
            if not pair & present:
                for end in next(iter(pair)):
                    self.number(end)
                ends = [link.dst for link in self.links() if link.src == first]
                raise ParameterError(f"there is no link {where}; those of '{first}' go to {join_words(ends)}")
            dead |= pair
        names = [name for name in self.names if name not in gone]
        rest = [k for k in self.links() if (k.src, k.dst) not in dead and not {k.src, k.dst} & gone]
        switches = {self.names[node] for node in self.topology.switches} - gone
        return self._replace_links(names, switches, rest)

    def degraded(self, shares: Mapping[tuple[str, str], Fraction]) -> Fabric:
        """Return the fabric with some directions of links reduced to a share."""
        if not shares:
            return self
        links = [k._replace(bandwidth=k.bandwidth * shares.get((k.src, k.dst), 1)) for k in self.links()]
        return self._replace_links(self.names, {self.names[node] for node in self.topology.switches}, links)

    def _replace_links(self, names: Sequence[str], switches: set[str], links: list[FabricLink]) -> Fabric:
        """Return the fabric of some vertices and links, without isolated switches."""
        multicast, aggregation, memory = (
            {self.names[node] for node in s} & switches for s in (self.multicast, self.aggregation, self.memory)
        )
        present = {(link.src, link.dst) for link in links}
        left = [limit._replace(links=tuple(ends for ends in limit.links if ends in present)) for limit in self.shared]
        fabric = _assemble(
            self.name,
            tuple(names),
            frozenset(switches),
            links,
            multicast=multicast,
            aggregation=aggregation,
            memory=memory,
            shared=tuple(limit for limit in left if limit.links),
        )
        kinds = {kind for word in fabric.classes for kind in (word, *word.split("+"))}
        fabric = replace(
            fabric,
            latency=tuple(one for one in self.latency if one[0] in kinds),
            prices=tuple(one for one in self.prices if one[0] in fabric.classes),
        )
        stray = set(fabric.stray_switches())
        if stray:
            kept = [name for name in names if name not in stray]
            return self._replace_links(kept, switches - stray, [k for k in links if not {k.src, k.dst} & stray])
        fabric.check_nodes()
        return fabric

    def check_nodes(self) -> None:
        """Raise TopologyError if there are fewer than two nodes."""
        if len(self.compute) < 2:
            count = "only one node" if self.compute else "no node"
            raise TopologyError(f"there is {count} to take part; a collective requires two or more")

    def check_balance(self) -> None:
        """Raise TopologyError if a vertex has unequal bandwidth in and out."""
        wrong = self.unequal(range(len(self.names)))
        if not wrong:
            return
        more = f" (and {len(wrong) - 1} more are unequal)" if len(wrong) > 1 else ""
        raise TopologyError(
            f"{self.imbalance(wrong[0])}{more}; links into and out of it must add up to the same, or "
            "the file says that they do not: 'unequal: true'"
        )

    def unequal(self, vertices: Iterable[int]) -> list[int]:
        """Return the vertices with unequal bandwidth in and out."""
        return [node for node in vertices if self.topology.in_ports[node] != self.topology.out_ports[node]]

    def imbalance(self, vertex: int) -> str:
        """Describe the difference between a vertex's bandwidth in and out."""
        rates = [int(ports[vertex]) * self.unit for ports in (self.topology.in_ports, self.topology.out_ports)]
        kind = "switch" if vertex in self.topology.switches else "node"
        return (
            f"{kind} '{self.names[vertex]}' has {exact_rate(rates[0])} in but {exact_rate(rates[1])} out, "
            f"{exact_rate(abs(rates[0] - rates[1]))} more {'in' if rates[0] > rates[1] else 'out'}"
        )

    def stray_switches(self) -> tuple[str, ...]:
        """Return the switches that no node can reach, even over other switches."""
        neighbours = defaultdict(set)
        for u, v, _ in self.topology.links():
            neighbours[u].add(v)
            neighbours[v].add(u)
        found, todo = set(self.compute), list(self.compute)
        while todo:
            new = neighbours[todo.pop()] - found
            found |= new
            todo += new
        return tuple(name for node, name in enumerate(self.names) if node not in found)


def _check_name(name: str, kind: str) -> None:
    if not name or name != name.strip() or len(name) > LONGEST_NAME or not name.isprintable() or "," in name:
        raise TopologyError(
            f"{kind} name {name[:LONGEST_NAME]!r}: names have 1 to {LONGEST_NAME} printable characters, no comma, "
            "and no blank at the ends"
        )


def _assemble(
    name: str,
    names: tuple[str, ...],
    switches: frozenset[str],
    links: Iterable[FabricLink],
    *,
    multicast: Iterable[str],
    aggregation: Iterable[str],
    memory: Iterable[str],
    shared: tuple[Shared, ...],
) -> Fabric:
    """Merge and scale links; see :meth:`Fabric.from_links`."""
    numbers = {word: number for number, word in enumerate(names)}
    if len(numbers) != len(names):
        twice = next(word for number, word in enumerate(names) if numbers[word] != number)
        raise TopologyError(f"the name '{twice}' is there twice")
    rates: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    kinds: dict[tuple[int, int], dict[str, None]] = defaultdict(dict)  # in order, without repeats
    for link in links:
        for end in (link.src, link.dst):
            if end not in numbers:
                raise TopologyError(f"the link from '{link.src}' to '{link.dst}' names no node or switch '{end}'")
        if link.src == link.dst:
            raise TopologyError(f"there is a link from '{link.src}' to itself")
        if link.bandwidth <= 0:
            raise TopologyError(f"the link from '{link.src}' to '{link.dst}' has no bandwidth")
        pair = numbers[link.src], numbers[link.dst]
        rates[pair] += link.bandwidth
        kinds[pair][link.kind] = None
    unit = _common_divisor(rates.values())
    pairs = sorted(rates)
    capacities = [int(rates[pair] / unit) for pair in pairs]
    if max(capacities, default=1) > MAX_CAPACITY:
        raise TooLargeError(
            f"the bandwidths have so small a common divisor, {exact_rate(unit)}, that the largest is "
            f"{max(capacities)} times as much (at most {MAX_CAPACITY}); round them"
        )
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    topology = Topology.from_arrays(
        len(names),
        ends[:, 0],
        ends[:, 1],
        np.array(capacities, dtype=np.int64),
        switches=[numbers[word] for word in switches],
    )
    return Fabric(
        name,
        names,
        topology,
        unit,
        tuple("+".join(filter(None, kinds[pair])) for pair in pairs),
        frozenset(numbers[word] for word in multicast),
        frozenset(numbers[word] for word in aggregation),
        frozenset(numbers[word] for word in memory),
        shared,
    )


def _common_divisor(rates: Iterable[Fraction]) -> Fraction:
    """Return the largest rate that divides all; 1 if there is none."""
    values = list(rates)
    if not values:
        return Fraction(1)
    return Fraction(math.gcd(*(v.numerator for v in values)), math.lcm(*(v.denominator for v in values)))
