"""Split of links into parts, one for each panel.

A d-regular digraph is a union of d permutations (König 1916), and an undirected 2k-regular graph one of k 2-factors
(Petersen 1891). So a topology can be wired on d panels with one simplex port pair a node each, or on k panels with two
duplex ports a node each.

Both follow from halving. Pair the links at every node; that makes cycles of links, and one direction round each of them
gives an orientation or a half with the same number of links everywhere. Where the degree is odd, a perfect matching is
taken out first. Topologies that are not regular are filled up with links that are dropped again.
"""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import InfeasibleError, TopologyError
from topodesign.pricing.closed_form import distances
from topodesign.solve.maxflow import maximum_flow
from topodesign.solve.program import Entries
from topodesign.solve.whole import SearchResult, find_whole
from topodesign.topology.topology import IntArray, Topology


def split(topology: Topology, lanes: IntArray, *, duplex: bool, seed: int = 0) -> tuple[IntArray, IntArray, IntArray]:
    """Split links into parts, within the lanes of nodes.

    Self-loops are not included. No node has more links in a part than lanes there.

    ``lanes`` has shape ``(nodes, parts)``; a lane serves one link out and one link in. If ``duplex``, a link and its
    reverse are one, and together take one lane at either end. Returns source, target and part of every link (parallel
    ones are several), or of one of each pair. If all nodes have the same lanes a split is always found, unless
    ``duplex`` and some of them are odd: the search then need not end well, and a split need not exist.
    """
    src, dst = unit_edges(topology) if duplex else unit_links(without_loops(topology))
    out, into = np.bincount(src, minlength=topology.nodes), np.bincount(dst, minlength=topology.nodes)
    needed = out + into if duplex else np.maximum(out, into)
    short = np.flatnonzero(needed > lanes.sum(axis=1))
    if len(short):
        node = int(short[0])
        raise InfeasibleError(f"node {node} has {needed[node]} links but {lanes[node].sum()} lanes")
    sides = two_sides(topology) if duplex else None
    if sides is not None:  # all links point from one side to the other, and the parts are those of a simplex wiring
        turned = sides[src]
        src, dst = np.where(turned, dst, src), np.where(turned, src, dst)
    if lanes.shape[1] == 1:
        part = np.zeros(len(src), dtype=np.int64)
    elif duplex and sides is None:
        src, dst, part = _split_edges(topology.nodes, src, dst, lanes, seed)
    else:
        part = _split_links(topology.nodes, src, dst, lanes, seed)
    check_split(topology, lanes, src, dst, part, duplex=duplex)
    return src, dst, part


def check_split(
    topology: Topology, lanes: IntArray, src: IntArray, dst: IntArray, part: IntArray, *, duplex: bool
) -> None:
    """Check that a split has all links within the lanes."""
    links = np.stack((src, dst), axis=1)
    links = np.concatenate((links, links[:, ::-1])) if duplex else links
    links = links[np.lexsort((links[:, 1], links[:, 0]))]
    if not np.array_equal(links, np.stack(unit_links(without_loops(topology)), axis=1)):
        raise TopologyError("the parts do not have the links of the topology")
    out, into = np.zeros_like(lanes), np.zeros_like(lanes)
    np.add.at(out, (src, part), 1)
    np.add.at(into, (dst, part), 1)
    if np.any((out + into if duplex else np.maximum(out, into)) > lanes):
        raise TopologyError("a part has more links at a node than there are lanes")


def unit_links(topology: Topology) -> tuple[IntArray, IntArray]:
    """Return source and target of all links, with parallel ones."""
    return np.repeat(topology.src, topology.capacity), np.repeat(topology.dst, topology.capacity)


def unit_edges(topology: Topology) -> tuple[IntArray, IntArray]:
    """Return the ends u < v of opposite link pairs.

    Parallel links are repeated; self-loops are omitted.
    """
    if not topology.is_duplex:
        raise TopologyError("the topology has links without their reverses, so it is not duplex")
    src, dst = unit_links(topology)
    return src[src < dst], dst[src < dst]


def without_loops(topology: Topology) -> Topology:
    """Return the topology without self-loops; its symmetry stays valid.

    A topology that loses self-loops has no spec.
    """
    if not topology.self_loops:
        return topology
    kept = topology.src != topology.dst
    links = topology.src[kept], topology.dst[kept], topology.capacity[kept]
    return Topology.from_arrays(topology.nodes, *links, symmetry=topology.symmetry)


def _split_links(nodes: int, src: IntArray, dst: IntArray, lanes: IntArray, seed: int) -> IntArray:
    """Return the part of each link, sends and receives separate."""
    if np.all(lanes == lanes[0]):
        slots = np.repeat(np.arange(lanes.shape[1]), lanes[0])
        return slots[matchings(nodes, src, dst, len(slots))]
    if lanes.shape[1] == 2:
        return _two_parts(nodes, src, dst, lanes)
    return search_split(src, dst + nodes, np.concatenate((lanes, lanes)), seed)


def _split_edges(
    nodes: int, u: IntArray, v: IntArray, lanes: IntArray, seed: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the ends and part of each undirected edge."""
    if np.all(lanes == lanes[0]) and not np.any(lanes % 2):
        slots = np.repeat(np.arange(lanes.shape[1]), lanes[0] // 2)
        factor, src, dst = factors(nodes, u, v, len(slots))
        return src, dst, slots[factor]
    tight = np.array_equal(np.bincount(np.concatenate((u, v)), minlength=nodes), lanes.sum(axis=1))
    odd = np.flatnonzero(lanes.sum(axis=0) % 2)
    if tight and len(odd):
        words = f"panel {odd[0] + 1} has an odd number of them, {lanes[:, odd[0]].sum()}"
        raise InfeasibleError(f"a duplex link takes two lanes, all lanes are needed, and {words}")
    return u, v, search_split(u, v, lanes, seed)


def matchings(nodes: int, src: IntArray, dst: IntArray, degree: int) -> IntArray:
    """Return a matching index below ``degree`` for each link.

    Links of one matching share neither source nor target.
    """
    out, into = np.bincount(src, minlength=nodes), np.bincount(dst, minlength=nodes)
    everyone = np.arange(nodes)
    left = np.concatenate((src, np.repeat(everyone, degree - out)))
    right = np.concatenate((dst, np.repeat(everyone, degree - into)))
    colour = np.empty(len(left), dtype=np.int64)
    todo = [(np.arange(len(left)), 0, degree)]  # links of a regular graph, and their first number and degree
    while todo:
        links, first, size = todo.pop()
        if size == 1:
            colour[links] = first
        elif size % 2:
            chosen = _perfect_matching(nodes, left[links], right[links])
            colour[links[chosen]] = first
            todo.append((np.delete(links, chosen), first + 1, size - 1))
        elif size:
            second = _halves(left[links], right[links])
            todo += [(links[~second], first, size // 2), (links[second], first + size // 2, size // 2)]
    return colour[: len(src)]


def _perfect_matching(nodes: int, left: IntArray, right: IntArray) -> IntArray:
    """Return a perfect matching of a regular bipartite multigraph."""
    from scipy.sparse import csr_array  # noqa: PLC0415  heavy
    from scipy.sparse.csgraph import maximum_bipartite_matching  # noqa: PLC0415

    key, row = np.unique(left * nodes + right, return_index=True)
    ones = np.ones(len(key), dtype=np.int8)
    partner = maximum_bipartite_matching(csr_array((ones, (key // nodes, key % nodes)), shape=(nodes, nodes)), "column")
    chosen: IntArray = row[np.searchsorted(key, np.arange(nodes) * nodes + partner)]
    return chosen


def _halves(left: IntArray, right: IntArray) -> NDArray[np.bool_]:
    """Return a mask of half the links of every node."""
    at_left, at_right = _pairs(left), _pairs(right)
    orbit = _orbits(at_right[at_left])
    return orbit > orbit[at_left]


def factors(nodes: int, u: IntArray, v: IntArray, count: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the 2-factor of each edge, and oriented ends.

    The number of a 2-factor is below ``count``; ends follow its cycles.
    """
    missing = 2 * count - np.bincount(np.concatenate((u, v)), minlength=nodes)
    stubs = np.repeat(np.arange(nodes), missing)
    begin, end = np.concatenate((u, stubs[::2])), np.concatenate((v, stubs[1::2]))
    edges = len(begin)
    half = np.arange(2 * edges)  # ends of the edges: those where they begin, then those where they end
    other = np.roll(half, edges)
    orbit = _orbits(_pairs(np.concatenate((begin, end)))[other])
    forward = orbit[:edges] < orbit[edges:]
    src, dst = np.where(forward, begin, end), np.where(forward, end, begin)
    return matchings(nodes, src, dst, count)[: len(u)], src[: len(u)], dst[: len(u)]


def _pairs(ends: IntArray) -> IntArray:
    """Return the partner of each entry among equal values."""
    order = np.argsort(ends, kind="stable").reshape(-1, 2)
    partner = np.empty(len(ends), dtype=np.int64)
    partner[order] = order[:, ::-1]
    return partner


def _orbits(image: IntArray) -> IntArray:
    """Return the smallest entry of each entry's orbit."""
    first = np.arange(len(image))
    while not np.array_equal(first, further := np.minimum(first, first[image])):  # at first of 2, then of 4 in a row
        first, image = further, image[image]
    return first


def two_sides(topology: Topology) -> NDArray[np.bool_] | None:
    """Return a bipartition of a duplex topology, or None."""
    side = np.full(topology.nodes, -1)
    while len(left := np.flatnonzero(side < 0)):
        distance = distances(topology, int(left[0]))
        side[distance >= 0] = distance[distance >= 0] % 2
    proper = topology.src != topology.dst
    return None if np.any(side[topology.src[proper]] == side[topology.dst[proper]]) else side == 1


def _two_parts(nodes: int, src: IntArray, dst: IntArray, lanes: IntArray) -> IntArray:
    """Split links into two parts by a flow."""
    key, count = np.unique(src * nodes + dst, return_counts=True)
    have = [np.bincount(ends, minlength=nodes) for ends in (src, dst)]
    least = [np.maximum(some - lanes[:, 1], 0) for some in have]
    free = [np.minimum(some, lanes[:, 0]) - low for some, low in zip(have, least, strict=True)]
    # nodes as sources, nodes as targets, then the ends of the flow and the ends of what it must carry at least
    outs, ins = np.arange(nodes), np.arange(nodes, 2 * nodes)
    source, sink, begin, end = range(2 * nodes, 2 * nodes + 4)
    one = np.ones(nodes, dtype=np.int64)
    arcs = [
        (key // nodes, key % nodes + nodes, count),
        (source * one, outs, free[0]),
        (begin * one, outs, least[0]),
        (ins, sink * one, free[1]),
        (ins, end * one, least[1]),
        (
            np.array([source, begin, sink]),
            np.array([end, sink, source]),
            np.array([least[0].sum(), least[1].sum(), len(src)]),
        ),
    ]
    tail, head, capacity = (np.concatenate([arc[column] for arc in arcs]) for column in range(3))
    flow = maximum_flow(2 * nodes + 4, tail, head, capacity.tolist(), start=begin, end=end)
    if flow.value < least[0].sum() + least[1].sum():
        raise InfeasibleError("there is no split of the links over the two panels that suits the cabling of every host")
    carried = flow.amount[: len(key)]
    link = src * nodes + dst
    order = np.argsort(link, kind="stable")
    nth = np.arange(len(link)) - np.searchsorted(link[order], link[order])  # among the links that are parallel to it
    part = np.empty(len(link), dtype=np.int64)
    part[order] = nth >= np.repeat(carried, count)
    return part


def choose_lanes(
    count: IntArray, link: IntArray, spots: IntArray, room: IntArray, *, seconds: float, seed: int
) -> SearchResult:
    """Choose the spots of links exactly, by integer programming.

    The result is the number of times that each option is used.

    Parameters
    ----------
    count
        How many parallel links each of the links stands for.
    link, spots
        The link of each option, and the two places that it takes, each once for every link that goes there.
    room
        How often each place can be taken.
    seconds, seed
        Of the search.
    """
    used, row = np.unique(spots, return_inverse=True)
    rows = np.concatenate((link, *(len(count) + row.reshape(-1, 2).T)))
    entries = Entries(rows, np.tile(np.arange(len(link)), 3), np.ones(len(rows), dtype=np.int64))
    low, high = np.concatenate((count, np.zeros_like(used))), np.concatenate((count, room[used]))
    return find_whole(count[link], entries, low, high, seconds=seconds, seed=seed)


_MAX_TRIES = 20_000
_RESTARTS = 2
_STRAY = 0.25  # share of chains that only stir, without which the search could go round in circles


def search_split(u: IntArray, v: IntArray, lanes: IntArray, seed: int) -> IntArray:
    """Split undirected edges into parts, within the lanes of nodes.

    Edges are put where both ends have a free lane. Where they have none in common, edges along a chain from one end
    change between two parts in turn, which frees another lane there (Kempe's chains, as in edge colouring).

    ``lanes`` has shape ``(nodes, parts)``, in sum at least the degree of each node. Returns the part of each edge; that
    none is found, an InfeasibleError, does not say that there is none.
    """
    rng = random.Random(seed)  # noqa: S311  no secret
    in_order = list(range(len(u)))  # which suits structured graphs better, and any order the others
    for order in (in_order, *(rng.sample(in_order, len(u)) for _ in range(_RESTARTS))):
        state = _Split(list(zip(u.tolist(), v.tolist(), strict=True)), lanes.tolist(), order, rng)
        for _ in range(_MAX_TRIES + 2 * len(u)):
            if not state.loose:
                return np.array(state.part, dtype=np.int64)
            state.try_one()
    raise InfeasibleError(
        "no split of the links over the panels was found; one is sure to exist if all hosts have the same number of "
        "lanes on each panel, an even one for duplex links"
    )


class _Split:
    """Split under construction; edges without a part are ``loose``."""

    def __init__(
        self, edges: list[tuple[int, int]], lanes: list[list[int]], order: list[int], rng: random.Random
    ) -> None:
        self.edges = edges
        self.free = lanes
        self.parts = range(len(lanes[0]))
        self.rng = rng
        self.part = [-1] * len(edges)
        self.loose = order[::-1]
        self.at: list[list[int]] = [[] for _ in lanes]
        for edge, ends in enumerate(edges):
            for end in ends:
                self.at[end].append(edge)

    def try_one(self) -> None:
        """Place the last loose edge, or change the state.

        A failed attempt moves edges to free a lane, or changes which edge is loose.
        """
        edge = self.loose[-1]
        u, v = self.edges[edge] if self.rng.random() < 0.5 else self.edges[edge][::-1]
        if self._place(edge, u, v):
            return
        have = [part for part in self.parts if self.free[u][part] > 0]
        want = [part for part in self.parts if self.free[v][part] > 0]
        target = self.rng.choice(list(self.parts) if self.rng.random() < _STRAY else want)
        source = self.rng.choice(have)
        if target != source:
            self._chain(u, source, target)
        if not self._place(edge, u, v):
            self.rng.shuffle(self.loose)

    def _place(self, edge: int, u: int, v: int) -> bool:
        """Place the last loose edge where both ends are free."""
        both = [part for part in self.parts if self.free[u][part] > 0 and self.free[v][part] > 0]
        if not both or self.loose[-1] != edge:
            return False
        self.loose.pop()
        self._put(edge, self.rng.choice(both))
        return True

    def _chain(self, node: int, gain: int, lose: int) -> None:
        """Move edges along a chain between two parts."""
        last = -1
        for _ in self.edges:
            edges = [edge for edge in self.at[node] if self.part[edge] == lose and edge != last]
            if not edges:
                break
            last = self.rng.choice(edges)
            self._put(last, gain)
            node = sum(self.edges[last]) - node
            if self.free[node][gain] >= 0:
                return
            gain, lose = lose, gain
        if last >= 0:  # too long, or a node without lanes in the part
            self._put(last, -1)
            self.loose.append(last)

    def _put(self, edge: int, target: int) -> None:
        source, self.part[edge] = self.part[edge], target
        for end in self.edges[edge]:
            if source >= 0:
                self.free[end][source] += 1
            if target >= 0:
                self.free[end][target] -= 1
