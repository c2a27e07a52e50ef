"""Deferred two-step allgathers of split shards.

For pairs of nodes with different numbers of links.

By SPFF a neighbour has a whole shard after the first step, which therefore takes as long as the narrowest link needs,
while wide ones wait. Here every unit of capacity carries the same share of a shard in the first step; what is missing
comes in the second, together with the shards of nodes two steps away, from the node itself or from whomever has it.
Where one step would do this takes one more, and less time on the links: of eight nodes with twelve ports each that are
all linked some pairs have two links and others one, over which half of a shard comes late.

The share is one over some number of links, so that this many carry a shard, and what fewer links carry is its first
parts, or its last ones over every other link: so neighbours have different parts to hand on. Of these the best is
taken; what a unit carries in the second step is as little as that allows, by a maximum flow into every node.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.cost import Cost
from topodesign.pricing.closed_form import largest_ratio
from topodesign.pricing.deferral import Deferral, Moves, defer, free_representatives, in_lowest_terms
from topodesign.solve.maxflow import matching_flow
from topodesign.topology.topology import IntArray, Topology

MAX_NODES = 64  # larger topologies are not looked at: they hardly have pairs of nodes with several links
_MAX_WIDTHS = 8  # nor are those with more different numbers of links between two nodes


@dataclass(frozen=True)
class SplitDeferral:
    """A deferred allgather of two steps in which shards are split.

    * ``loads``: shards that a unit of link capacity carries in the first step and, at most, in the second.
    * ``receivers``: as of :class:`~topodesign.pricing.deferral.Deferral`.
    """

    loads: tuple[Fraction, Fraction]
    receivers: IntArray
    moves: Moves  # what the receivers get

    def cost(self, topology: Topology) -> Cost:
        """Return steps and bandwidth factor on its topology."""
        return Cost(2, Fraction(topology.degree, topology.nodes) * sum(self.loads))


def best_deferral(
    topology: Topology,
    progress: Callable[[float], None] | None = None,
    *,
    by_orbits: bool = False,
    most: int | None = None,
) -> Deferral | SplitDeferral:
    """Return the better deferred allgather, with shards split by links or not.

    Parameters and errors are those of :func:`topodesign.pricing.deferral.defer`.
    """
    whole = defer(topology, progress, by_orbits=by_orbits, most=most)
    split = defer_split(topology)
    return whole if split is None or sum(whole.loads) <= sum(split.loads) else split


def price_deferred(
    topology: Topology, progress: Callable[[float], None] | None = None, *, most: int | None = None
) -> Cost:
    """Return the deferred reduce-scatter's cost.

    It is the allgather of the transpose, reversed in time.

    Parameters and errors are those of :func:`topodesign.pricing.deferral.defer`.
    """
    transpose = topology.transpose()
    return best_deferral(transpose, progress, most=most).cost(transpose)


def defer_split(topology: Topology) -> SplitDeferral | None:
    """Return the best deferred allgather of split shards, or None.

    None if two steps are too few, or links have one width.

    * ``topology``: strongly connected, without switches.
    """
    if topology.nodes > MAX_NODES or topology.switches:
        return None
    common, topology = in_lowest_terms(topology)
    links = np.zeros((topology.nodes, topology.nodes), np.int64)
    links[topology.src, topology.dst] = topology.capacity
    np.fill_diagonal(links, 0)
    widths = np.unique(links[links > 0]).tolist()
    reach = (links > 0) | np.eye(topology.nodes, dtype=bool)
    if not 1 < len(widths) <= _MAX_WIDTHS or not (reach.astype(np.int64) @ reach).all():
        return None
    receivers = free_representatives(topology)
    if receivers is None:
        receivers = np.arange(topology.nodes)
    least = Fraction(topology.nodes - 1, int(links.sum(axis=0).min()))
    best: tuple[Fraction, _Split] | None = None
    for width, late in itertools.product(widths, _patterns(topology)):
        split = _Split(links, width, late)
        second = split.second_load(receivers)
        if second is not None and (best is None or (1 + second) / width < best[0]):
            best = (1 + second) / width, split
            if best[0] == least:
                break
    if best is None:
        return None
    total, split = best
    first = Fraction(1, split.width)
    moves = split.moves(receivers, (total - first) * split.width)
    return SplitDeferral((first / common, (total - first) / common), receivers, moves)


def _patterns(topology: Topology) -> Iterator[NDArray[np.bool_]]:
    """Yield the links that last parts of a shard come over first.

    None of them, or about half in two ways.

    They are as symmetric as the topology is known to be.
    """
    node = np.arange(topology.nodes)
    ahead = (node - node[:, None]) % topology.nodes
    turns = () if topology.symmetry is None else topology.symmetry.generators
    for late in (np.zeros_like(ahead, dtype=bool), ahead % 2 == 1, 2 * ahead > topology.nodes):
        if all(np.array_equal(late[np.ix_(turn, turn)], late) for turn in turns):
            yield late


@dataclass(frozen=True)
class _Missing:
    """What a node lacks after the first step.

    * ``shard``, ``start``, ``count``: whose pieces they are, at which part they start and how many parts they have.
    * ``senders``, ``capacity``: the neighbours with links into the node, and how many.
    """

    shard: IntArray
    start: IntArray
    count: IntArray
    senders: IntArray
    capacity: IntArray
    has: IntArray  # for every piece and neighbour whether that has it, 0 or 1


class _Split:
    """The state after the first step, one part per unit of capacity.

    * ``links``: how many there are from each node to each other.
    * ``width``: parts of a shard.
    * ``late``: over which links the last parts come.
    """

    def __init__(self, links: IntArray, width: int, late: NDArray[np.bool_]) -> None:
        self.links, self.width = links, width
        count = np.minimum(links, width)
        np.fill_diagonal(count, width)
        self.start = np.where(late & (count > 0), width - count, 0)
        self.stop = self.start + count

    def second_load(self, receivers: IntArray) -> Fraction | None:
        """Return the largest second-step load in parts, or None if unreachable."""
        load = Fraction(0)
        for node in receivers.tolist():
            lacks = self._missing(node)
            if not lacks.has.any(axis=1).all():
                return None
            if len(lacks.shard):
                load = largest_ratio(lacks.has, lacks.count, lacks.capacity, load)
        return load

    def moves(self, receivers: IntArray, load: Fraction) -> Moves:
        """Return the pieces received if a unit carries a number of parts."""
        scale = load.denominator
        rows: list[tuple[int, int, int, int, int, int]] = []
        for node in receivers.tolist():
            lacks = self._missing(node)
            rows += [
                (1, one, node, one, int(self.start[one, node]) * scale, int(self.stop[one, node]) * scale)
                for one in lacks.senders.tolist()
            ]
            place = (lacks.start * scale).tolist()
            for piece, sender, amount in _shared_out(lacks, load):
                start = place[piece]
                rows.append((2, int(lacks.senders[sender]), node, int(lacks.shard[piece]), start, start + amount))
                place[piece] += amount
        return Moves(self.width * scale, *np.array(rows, np.int64).T)

    def _missing(self, node: int) -> _Missing:
        senders = np.flatnonzero(self.links[:, node])
        pieces: list[tuple[int, int, int]] = []
        for other in np.flatnonzero(self.stop[:, node] - self.start[:, node] < self.width).tolist():
            start, stop = int(self.start[other, node]), int(self.stop[other, node])
            lacking = (stop, self.width) if start == 0 else (0, start)
            cuts = np.unique(np.concatenate((lacking, self.start[other, senders], self.stop[other, senders])))
            cuts = cuts[(cuts >= lacking[0]) & (cuts <= lacking[1])]
            pieces += [(other, begin, end) for begin, end in itertools.pairwise(cuts.tolist())]
        shard, begin, end = np.array(pieces, np.int64).reshape(-1, 3).T
        has = (self.start[shard][:, senders] <= begin[:, None]) & (self.stop[shard][:, senders] >= end[:, None])
        return _Missing(shard, begin, end - begin, senders, self.links[senders, node], has.astype(np.int64))


def _shared_out(lacks: _Missing, load: Fraction) -> list[tuple[int, int, int]]:
    """Return the parts of each piece by sender."""
    piece, sender = np.nonzero(lacks.has)
    wanted = (lacks.count * load.denominator).tolist()
    flow = matching_flow(lacks.has, wanted, (lacks.capacity * load.numerator).tolist())
    if flow.value != sum(wanted):
        raise RuntimeError("pieces do not fit that were found to")
    carried = flow.amount[len(wanted) :][: len(piece)]
    return [one for one in zip(piece.tolist(), sender.tolist(), carried, strict=True) if one[2]]
