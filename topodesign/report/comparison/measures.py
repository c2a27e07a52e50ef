"""Measures of a network: cables, switches, failures and bisection."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.declared import Declared, key
from topodesign.solve.flow_kernels import make_network, push
from topodesign.solve.maxflow import LARGEST
from topodesign.topology.topology import IntArray, Topology

_MAX_FLOWS = 2**24  # nodes times links up to which flows between all nodes are asked for
_MAX_SPECTRAL = 2048  # nodes of which a wide cut is looked for
_VIEWS, _IMPROVED = 8, 3
"""Nodes that a vibration is looked at from, and how many of the halves that this gives have nodes exchanged."""
_SAME, _DIGITS = 1e-9, 9
"""Share of the largest frequency by which two are taken for the same, and digits to which places are distinguished."""


@dataclass(frozen=True, slots=True)
class Counts(Declared):
    """Numbers of parts to buy, and of failures survived."""

    cables: int  # cables: one for a pair of opposite links (or a cord of two fibres), one for a link of one way
    ports: int  # ports of nodes that are in use
    switches: int  # switches
    switch_ports: int  # ports of switches
    survives: int | None

    KEYS = (
        "cables ports switches switch_ports",
        key(
            "failures_survived=survives",
            "Links that may fail, whichever they are, and all still reach each other; null if not worked out.",
        ),
    )


def counts(topology: Topology, *, failures: bool = True) -> Counts:
    """Count cables, ports and switches; a link of capacity c is c links."""
    real = topology.src != topology.dst
    u, v, c = topology.src[real], topology.dst[real], topology.capacity[real]
    room = {(a, b): many for a, b, many in zip(u.tolist(), v.tolist(), c.tolist(), strict=True)}
    cables = sum(max(many, room.get((b, a), 0)) for (a, b), many in room.items() if a < b or (b, a) not in room)
    switch = np.isin(np.arange(topology.nodes), sorted(topology.switches))
    ports = np.zeros(topology.nodes, dtype=np.int64)
    np.add.at(ports, u, c)
    survives = count_survived(topology) if failures else None
    return Counts(cables, int(ports[~switch].sum()), len(topology.switches), int(ports[switch].sum()), survives)


def count_survived(topology: Topology) -> int | None:
    """Return the number of arbitrary link failures that a network survives.

    This is the minimum number of links out of a set of nodes, less one.

    Every node other than a fixed one must reach it and be reached over so many paths without a common link (Menger);
    switches need not be reached. None for large places.
    """
    if topology.nodes * len(topology.src) > _MAX_FLOWS:
        return None
    nodes = [node for node in range(topology.nodes) if node not in topology.switches]
    if len(nodes) < 2:
        return None
    real = topology.src != topology.dst
    ends, room = (topology.src[real], topology.dst[real]), topology.capacity[real]
    least = min(single[node] for single in _sums(topology.nodes, ends, room) for node in nodes)
    if least >= LARGEST:
        return None
    network = make_network(topology.nodes, *ends, room, len(room))
    flow = np.zeros(len(room), dtype=np.int64)
    first = nodes[0]
    for node in nodes[1:]:
        for start, end in ((first, node),) if topology.is_duplex else ((first, node), (node, first)):
            flow.fill(0)
            least = push(network, flow, start, end, least)  # fewer than that if there are not so many
    return max(least - 1, 0)


def _sums(nodes: int, ends: tuple[IntArray, IntArray], room: IntArray) -> list[list[int]]:
    """Return the send and receive capacity of every node, without overflow."""
    sums = [[0] * nodes for _ in ends]
    for single, end in zip(sums, ends, strict=True):
        for node, many in zip(end.tolist(), room.tolist(), strict=True):
            single[node] += many
    return sums


def widest_known(topology: Topology) -> tuple[IntArray, Fraction] | None:
    """Return a half of the nodes with a small cut, and the cut's capacity.

    It bounds the bisection from above. A heuristic: halves along the slowest vibrations of the links and by the numbers
    of nodes, the narrowest first, then exchanges of pairs as long as they help. The same on all machines. None for
    large places, and where there are switches.
    """
    nodes = topology.nodes
    if topology.switches or nodes < 2 or nodes > _MAX_SPECTRAL:
        return None
    matrix = np.zeros((nodes, nodes))
    real = topology.src != topology.dst
    np.add.at(matrix, (topology.src[real], topology.dst[real]), topology.capacity[real])
    both = matrix + matrix.T
    starts = sorted(_halves(both), key=lambda side: float(both[side][:, ~side].sum()))
    sides = [_exchange_pairs(side, both) for side in starts[:_IMPROVED]]
    widths = [_width(topology, side) for side in sides]
    width = min(widths)
    return np.flatnonzero(sides[widths.index(width)]), Fraction(width)


def _halves(both: NDArray[np.float64]) -> list[NDArray[np.bool_]]:
    """Return initial halves by node number and by slowest vibrations.

    Symmetric topologies have several vibrations of the same frequency, and which of them a library returns is chance.
    What they make of one node is not.
    """
    nodes = len(both)
    frequency, shape = np.linalg.eigh(np.diag(both.sum(axis=1)) - both)
    slowest = shape[:, 1:][:, frequency[1:] <= frequency[1] + _SAME * frequency[-1]]
    views = slowest @ slowest[np.arange(0, nodes, -(-nodes // _VIEWS))].T
    halves = []
    for place in (np.arange(nodes), *np.round(views, _DIGITS).T):
        side = np.zeros(nodes, dtype=bool)
        side[np.argsort(place, kind="stable")[: nodes // 2]] = True
        halves.append(side)
    return halves


def _exchange_pairs(side: NDArray[np.bool_], both: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Exchange pairs of nodes between halves while the cut narrows."""
    side = side.copy()
    while True:
        outward = both @ ~side - both @ side  # what moving a node over would save
        inward = -outward
        inner, outer = np.flatnonzero(side), np.flatnonzero(~side)
        gain = outward[inner][:, None] + inward[outer][None, :] - 2 * both[np.ix_(inner, outer)]
        best = int(gain.argmax())
        one, other = divmod(best, len(outer))
        if gain[one, other] <= 0:
            return side
        side[inner[one]], side[outer[other]] = False, True


def _width(topology: Topology, side: NDArray[np.bool_]) -> int:
    """Return the lesser capacity, out of a half or into it."""
    leaving = side[topology.src] & ~side[topology.dst]
    arriving = ~side[topology.src] & side[topology.dst]
    return min(int(topology.capacity[leaving].sum()), int(topology.capacity[arriving].sum()))
