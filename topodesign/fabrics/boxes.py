"""Boxes of accelerators that are cabled to each other directly.

Their spec is such as ``boxes(dgx_h100,catalog(64,8,1))``.

The box is one of a preset, without the switches that it shares with others; each link from it to such a switch is a
NIC, of which cables to other boxes take the place. Any topology says which boxes have cables. Which NIC has which
cable is decided by rules and numbers of the spec, so that the same spec makes the same wiring everywhere:

* The cables of a box come in the order of how much further on the other box is, modulo their number, and take its
  NICs in order, evenly spread where there are fewer. So on a circulant NIC i always goes to the box ``a_i`` further on.
* A duplex topology has both directions of a cable at one NIC. ``shift`` moves the receiving ends of all cables on by
  so many NICs; then the two directions of a NIC go to different boxes.
* Every further number exchanges two NICs of a box: ``((end * (boxes + 1) + box) * ports + i) * ports + j``, where the
  end is 0 for sending, or both of a duplex cable, and 1 for receiving; the box after the last stands for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base import entry_points
from topodesign.base.arguments import as_integer
from topodesign.base.errors import ParameterError
from topodesign.base.spec import Spec
from topodesign.base.wording import count_noun, nearest, suggest
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.topology.everyday import SPOKEN_FABRICS
from topodesign.topology.topology import Topology, check_buildable

NAME = "boxes"  # in a spec
NETWORK = "network"  # a switch of a box in a file by this name stands for other boxes: links to it are NICs
_MAX_SPLIT = 16


@dataclass(frozen=True)
class Box:
    """A box: its vertices, named without the box, and its NICs."""

    name: str  # in a spec
    nodes: tuple[str, ...]
    switches: tuple[str, ...]
    links: tuple[FabricLink, ...]  # inside
    nics: tuple[tuple[str, Fraction], ...]  # the vertex at which each NIC is, and its bytes per second
    kind: str  # class of the links of NICs
    latency: tuple[tuple[str, Fraction], ...]  # by class, as of a fabric; of cables from NIC to NIC, too
    multicast: frozenset[str]
    aggregation: frozenset[str]
    memory: frozenset[str]

    @property
    def nic_bandwidth(self) -> Fraction:
        """Bytes per second of all NICs together."""
        return sum((rate for _, rate in self.nics), Fraction(0))


@dataclass(frozen=True)
class Wiring:
    """The cables of boxes.

    Cable i leads from NIC ``nic[i]`` of ``box[i]`` to NIC ``at[i]`` of ``to[i]``.

    ``part[i]`` and ``at_part[i]`` are the ports that it takes of NICs that are split.
    """

    box: tuple[int, ...]
    nic: tuple[int, ...]
    to: tuple[int, ...]
    at: tuple[int, ...]
    part: tuple[int, ...]
    at_part: tuple[int, ...]

    def without(self, gone: Collection[int]) -> Wiring:
        """Return the cables but those of some numbers."""
        kept = [place for place in range(len(self.box)) if place not in gone]
        columns = (self.box, self.nic, self.to, self.at, self.part, self.at_part)
        return Wiring(*(tuple(column[place] for place in kept) for column in columns))


@dataclass(frozen=True)
class BoxSpec:
    """The contents of a spec of boxes.

    The box, the graph, and the numbers that assign cables to NICs.
    """

    box: Box
    graph: Topology
    split: int = 1
    shift: int = 0
    swaps: tuple[int, ...] = ()

    @property
    def fabric(self) -> Fabric:
        """Boxes and cables."""
        return join(self.box, self.graph, self.split, self.shift, self.swaps)

    @property
    def wiring(self) -> Wiring:
        """The ends of cables."""
        return wire_boxes(self.box, self.graph, self.split, self.shift, self.swaps)


def box_of(fabric: Fabric, name: str | None = None) -> Box:
    """Return the first box of a fabric of boxes, or of a file.

    In a file, links to ``network`` are NICs.
    """
    names, vertices = fabric.names, range(len(fabric.names))
    if NETWORK in names:
        ours = {v: names[v] for v in vertices if names[v] != NETWORK}
    else:
        first = names[fabric.compute[0]].partition("/")[0] + "/"
        ours = {v: names[v].removeprefix(first) for v in vertices if names[v].startswith(first)}
        if not ours:
            raise ParameterError(
                f"{fabric.name} is not made of boxes; take a preset of boxes such as dgx_h100, or a file of one box "
                f"whose NICs are links to a switch named '{NETWORK}'"
            )
    links, nics, kinds = [], list[tuple[str, Fraction]](), set[str]()
    for (u, v, units), kind in zip(fabric.topology.links(), fabric.classes, strict=True):
        if u in ours and v in ours:
            links.append(FabricLink(ours[u], ours[v], units * fabric.unit, kind))
        elif u in ours:
            nics.append((ours[u], units * fabric.unit))
            kinds.add(kind)
    if not nics:
        raise ParameterError(f"a box of {fabric.name} has no NIC")
    kind = "+".join(sorted(kinds))
    known = dict(fabric.latency)
    inside = {one.kind for one in links}
    latency = {word: known[word] for word in sorted(inside) if word in known}
    if known:
        latency[f"{kind} cable"] = 2 * max(known.get(word, Fraction(0)) for word in kinds)
    some = (frozenset(ours[v] for v in s if v in ours) for s in (fabric.multicast, fabric.aggregation, fabric.memory))
    return Box(
        name or fabric.name,
        tuple(ours[v] for v in fabric.compute if v in ours),
        tuple(ours[v] for v in sorted(fabric.topology.switches) if v in ours),
        tuple(links),
        tuple(nics),
        f"{kind} cable",
        tuple(latency.items()),
        *some,
    )


def get_box(spec: Spec) -> Box:
    """Return a box of a preset by name.

    ``dgx_h100``, or with the arguments after the number of boxes ``rail_optimised(16)``.
    """
    make: Callable[..., Fabric] | None = entry_points.FABRICS.get(SPOKEN_FABRICS.get(spec.name, spec.name))
    if make is None:
        known = nearest(spec.name, [*entry_points.FABRICS, *SPOKEN_FABRICS]) or entry_points.FABRICS
        raise ParameterError(f"unknown box '{spec.name}'; {suggest(spec.name, known)}")
    try:
        return box_of(make(2, *spec.args), str(Spec(spec.name, spec.args, bare=not spec.args)))
    except TypeError:
        raise ParameterError(f"'{spec}' is not a box; write a preset of boxes without their number") from None


def wire_boxes(box: Box, graph: Topology, split: int = 1, shift: int = 0, swaps: Sequence[int] = ()) -> Wiring:
    """Assign cables to NICs.

    Ports of a split NIC follow one another as single NICs do.
    """
    real = graph.src != graph.dst
    u = np.repeat(graph.src[real], graph.capacity[real])
    v = np.repeat(graph.dst[real], graph.capacity[real])
    split = as_integer("split", split, 1, _MAX_SPLIT)
    ports, most = len(box.nics) * split, int(np.bincount(u, minlength=1).max(initial=0))
    if graph.switches or graph.nodes < 2:
        raise ParameterError("boxes are the nodes of a topology of two nodes or more, without switches")
    if most > ports:
        more, called = -(-most // len(box.nics)), graph.spec or "the topology"
        raise ParameterError(
            f"{called} has {most} links a box, and {box.name} has {count_noun(ports, 'port')}; take a topology "
            f"of fewer, or split each NIC into {more} ports"
        )
    paired = graph.is_duplex and shift == 0
    far = (v - u) % graph.nodes
    out = _ranks(u, far, graph.nodes)
    into = _ranks(v, (u - v) % graph.nodes if paired else far, graph.nodes)
    count = np.bincount(u, minlength=graph.nodes)
    into = (into + as_integer("shift", shift, 0, ports - 1)) % np.maximum(count[v], 1)
    ends = [out * ports // count[u], into * ports // count[v]]
    for code in swaps:
        rest, j = divmod(as_integer("an exchange of NICs", code, 0, 2 * (graph.nodes + 1) * ports**2 - 1), ports)
        rest, i = divmod(rest, ports)
        end, b = divmod(rest, graph.nodes + 1)
        if paired and end:
            raise ParameterError(f"{code} exchanges receiving ends alone, and cables are duplex here")
        for at, whose in ((0, u), (1, v)):
            if at == end or paired:
                mine = (whose == b) | (b == graph.nodes)
                ends[at] = np.where(mine & (ends[at] == i), j, np.where(mine & (ends[at] == j), i, ends[at]))
    nics = len(box.nics)
    columns = (u, ends[0] % nics, v, ends[1] % nics, ends[0] // nics, ends[1] // nics)
    return Wiring(*(tuple(column.tolist()) for column in columns))


def exchange(graph: Topology, ports: int, end: int, box: int | None, pair: tuple[int, int]) -> int:
    """Return the number that exchanges two ports of a box, or of all boxes."""
    return ((end * (graph.nodes + 1) + (graph.nodes if box is None else box)) * ports + pair[0]) * ports + pair[1]


def _ranks(box: np.ndarray, far: np.ndarray, boxes: int) -> np.ndarray:
    """Return each cable's rank within its box, by the distance it spans."""
    order = np.argsort(box * boxes + far, kind="stable")
    begin = np.searchsorted(box[order], np.arange(boxes))
    ranks = np.empty(len(box), dtype=np.int64)
    ranks[order] = np.arange(len(box)) - begin[box[order]]
    return ranks


def join(
    box: Box,
    graph: Topology,
    split: int = 1,
    shift: int = 0,
    swaps: Sequence[int] = (),
    *,
    without: Collection[int] = (),
) -> Fabric:
    """Return the fabric with a box per node of a topology and a cable per link.

    Links with the given numbers get no cable.
    """
    check_buildable(graph.nodes * (len(box.nodes) + len(box.switches)), graph.nodes * 4 * len(box.links))
    wiring = wire_boxes(box, graph, split, shift, swaps).without(without)
    count = graph.nodes
    links = [
        FabricLink(f"box{b}/{one.src}", f"box{b}/{one.dst}", one.bandwidth, one.kind)
        for b in range(count)
        for one in box.links
    ]
    for a, i, b, j in zip(wiring.box, wiring.nic, wiring.to, wiring.at, strict=True):
        (tail, out), (head, into) = box.nics[i], box.nics[j]
        links.append(FabricLink(f"box{a}/{tail}", f"box{b}/{head}", min(out, into) / split, box.kind))

    def each(names: Sequence[str] | frozenset[str]) -> list[str]:
        return [
            f"box{b}/{name}" for b in range(count) for name in (names if isinstance(names, tuple) else sorted(names))
        ]

    how = "".join(f",{number}" for number in (_arguments(split, shift, swaps)))
    whose = "a topology" if graph.spec is None else graph.alias.partition(" ")[0] if graph.alias else str(graph.spec)
    return Fabric.from_links(
        f"{NAME}({box.name},{whose}{how})",
        each(box.nodes),
        each(box.switches),
        links,
        multicast=each(box.multicast),
        aggregation=each(box.aggregation),
        memory=each(box.memory),
        latency=dict(box.latency),
    )


def _arguments(split: int, shift: int, swaps: Sequence[int]) -> tuple[int, ...]:
    if swaps:
        return (split, shift, *swaps)
    return (split, shift) if shift else (split,) if split > 1 else ()
