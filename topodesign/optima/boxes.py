"""Rates of directly wired boxes, proven between boxes and inside them.

Allgather is that of the whole fabric, whose cut proves it. All-to-all of boxes is that of the graph of boxes, whose
links are the cables, wherever the inside of a box carries whatever may come: then NICs can be numbered at will. The
inside carries every traffic in which no node sends or receives more than h, if it carries an all-to-all of 2h: all data
are spread over all nodes evenly first, and go to their places then (Valiant and Brebner 1981). A node sends at most
what its own NIC brings for others, and its own data.

Where that is not enough, as in boxes whose halves a narrow link joins, nodes that hang on one switch are taken for one,
if their link carries all that may come, and the flow among these is solved exactly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from topodesign.base.cost import moore_distances
from topodesign.base.declared import Declared, key
from topodesign.base.errors import TopodesignError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER
from topodesign.fabrics.boxes import Box, Wiring, join, wire_boxes
from topodesign.fabrics.contraction import contract_fabric
from topodesign.fabrics.fabric import Fabric
from topodesign.optima.optimum import solve
from topodesign.optima.question import Question
from topodesign.pricing.all_to_all import all_to_all
from topodesign.topology.topology import Topology

ANY_ORDER = "the inside carries whatever may come, however NICs are numbered"
PARTS = "nodes behind one switch are taken for one, which their links allow; the flow among these is exact"
NODES = "the flow among all nodes is exact"
OPEN = "between boxes alone; whether the inside carries it is left open"
_MAX_NODES = 128  # of a fabric up to which the flow among all nodes is solved


@dataclass(frozen=True)
class BoxRates(Declared):
    """Bytes of the whole data of a collective per second, exactly."""

    allgather: Fraction  # of allgather, and of reduce-scatter; half of it is an allreduce that is one after the other
    least: Fraction | None  # all-to-all that is reached, of the data of a node; None if the inside is not proved
    most: Fraction  # all-to-all that nothing exceeds on this wiring
    inside: str  # what is proved of the inside

    KEYS = (
        key("allgather", "Allgather and reduce-scatter: bytes of the whole data per second, proved by a cut."),
        key("allgather_GBps=allgather_gbps", "The same in 10^9."),
        key(
            "all_to_all_lower=least",
            "All-to-all that is reached: bytes of the data of a node per second; null if none.",
        ),
        key("all_to_all_upper=most", "All-to-all that nothing exceeds on this wiring."),
        key("all_to_all_GBps=gbps", "What is reached in 10^9."),
        key("inside", "What is proved of the inside of boxes."),
    )

    @property
    def allgather_gbps(self) -> float:
        """Allgather in 10^9 bytes per second."""
        return float(self.allgather / 10**9)

    @property
    def gbps(self) -> float | None:
        """All-to-all that is reached in 10^9 bytes per second."""
        return None if self.least is None else float(self.least / 10**9)


def box_rates(
    box: Box,
    graph: Topology,
    split: int = 1,
    shift: int = 0,
    swaps: tuple[int, ...] = (),
    *,
    known: tuple[Fraction, Fraction] | None = None,
    without: Collection[int] = (),
) -> BoxRates:
    """Return the rates of boxes on a topology; ``known`` bounds its all-to-all.

    Cables of the numbers in ``without`` are not there.
    """
    fabric = join(box, graph, split, shift, swaps, without=without)
    gather = solve(Question(fabric, ALLGATHER)).bandwidth
    between = None if without else _between(box, graph, wire_boxes(box, graph, split, shift, swaps), split, known)
    if between is not None:
        least, most = between
        if carries_anything(box, most):
            return BoxRates(gather, least, most, ANY_ORDER)
    reached = exchange_of_parts(box, fabric)
    if reached is not None:
        return BoxRates(gather, reached, reached, PARTS)
    if len(fabric.compute) <= _MAX_NODES:
        try:
            found = solve(Question(fabric, ALL_TO_ALL))
        except TopodesignError:
            found = None
        if found is not None:
            return BoxRates(gather, found.bandwidth, found.bound, NODES)
    most = box.nic_bandwidth * graph.nodes / ((graph.nodes - 1) * len(box.nodes)) if between is None else between[1]
    return BoxRates(gather, None, most, OPEN)


def _between(
    box: Box, graph: Topology, wiring: Wiring, split: int, known: tuple[Fraction, Fraction] | None
) -> tuple[Fraction, Fraction] | None:
    """Return bounds from the graph of boxes, whose cables are equally fast."""
    rates = {min(box.nics[i][1], box.nics[j][1]) / split for i, j in zip(wiring.nic, wiring.at, strict=True)}
    if len(rates) > 1:
        return None
    if known is None:
        found = all_to_all(graph, effort="quick")
        if found.upper is None:
            return None
        known = found.lower, found.upper
    whole = rates.pop() * graph.degree / len(box.nodes)
    return whole / known[1], whole / known[0]


def inside_of(box: Box) -> Fabric:
    """Return what is in a box, as a fabric."""
    return Fabric.from_links(box.name, box.nodes, box.switches, box.links)


def carries_anything(box: Box, rate: Fraction) -> bool:
    """Return whether the inside of a box carries an all-to-all of a size."""
    nics: dict[str, Fraction] = defaultdict(Fraction)
    for vertex, own in box.nics:
        nics[vertex] += own
    if not set(nics) <= set(box.nodes):
        return False
    try:
        found = solve(Question(inside_of(box), ALL_TO_ALL))
    except TopodesignError:
        return False
    return found.bandwidth >= 2 * (max(nics.values()) + rate)


def exchange_of_parts(box: Box, fabric: Fabric) -> Fraction | None:
    """Return a node's all-to-all by the exact flow among parts, or None.

    A part is the nodes behind one switch, and a node's own link has to carry all that may come.
    """
    small = contract_fabric(fabric)
    if small is None or not small.parted:
        return None
    try:
        found = solve(Question(small.fabric, ALL_TO_ALL))
    except TopodesignError:
        return None
    rate = found.bandwidth * len(small.members) / len(fabric.compute)
    nics: dict[str, Fraction] = defaultdict(Fraction)
    for vertex, own in box.nics:
        nics[vertex] += own
    own_link = {end: one.bandwidth for one in box.links for end in (one.src, one.dst) if end in box.nodes}
    return rate if all(own_link[node] >= nics[node] + rate for node in box.nodes) else None


def exchange_bound(boxes: int, ports: int) -> Fraction:
    """Return the least all-to-all factor of any graph of boxes, by ports.

    By how many boxes can be how near; and where there are more ports than other boxes, by counting: of the r that a box
    sends another one over m cables, at least r - m goes over two, so that the sum of 2r - min(m, r) is at most the
    number of ports. It is greatest where all m differ by one at most.
    """
    moore = moore_distances(boxes, ports)
    others = boxes - 1
    if ports < others:
        return moore
    least, more = divmod(ports, others)
    # r is at least m of the others that have fewer, or all goes the direct way
    rate = Fraction(ports + least * (others - more), 2 * others - more)
    if rate >= least + 1:
        rate = Fraction(2 * ports, 2 * others)
    return max(moore, Fraction(ports, boxes) / rate)
