"""Assignment of hosts to nodes that keeps most links."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from topodesign.base.errors import ParameterError
from topodesign.topology.automorphisms import find_automorphisms
from topodesign.topology.isomorphism import isomorphism
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.change.field_kernels import LabelledLinks
from topodesign.wiring.change.fields import label_links, spread_hosts
from topodesign.wiring.change.relabel_kernels import ONE, Matrix, anneal, exhaust
from topodesign.wiring.plan.decompose import unit_links, without_loops

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

MAX_EXHAUSTED = 16  # nodes up to which all relabellings are gone through, as far as the effort allows

_MAX_NODES = 4096  # matrices of this many nodes squared are kept
_A_NODE = 2**12  # proposals of a walk for each node at most
_PROPOSALS = 2**31  # of a walk, times nodes, at most: in large topologies each takes longer
_STARTS = 4  # of small topologies; of large ones, for which each takes seconds, fewer
_BRANCHES = 2**22
_GROUP = 2**14


@dataclass(frozen=True)
class Relabelling:
    """Assignment of nodes to hosts."""

    place: tuple[int, ...]  # host of each node, by number
    kept: int  # links of the existing wiring that stay
    most: int  # links that no relabelling keeps more of
    searched: bool = False  # whether that is known since all have been gone through


def relabel(existing: Topology, wanted: Topology, *, seed: int = 0) -> Relabelling:
    """Place wanted nodes on existing nodes, keeping many links.

    Self-loops do not count. The order as it is comes first, then an isomorphism, then hosts are exchanged by annealing
    from several starts; up to ``MAX_EXHAUSTED`` nodes a branch and bound over all relabellings, of which those that an
    automorphism turns into each other count once, then proves the best or finds better. For more nodes closed walks
    tell how much better others can be at most (:func:`most_kept`).
    """
    nodes = existing.nodes
    if wanted.nodes > nodes:
        raise ParameterError(f"{wanted.nodes} nodes do not fit on {nodes} hosts")
    if nodes > _MAX_NODES:
        raise ParameterError(f"relabelling takes at most {_MAX_NODES} nodes, not {nodes}")
    existing, wanted = without_loops(existing), without_loops(wanted)
    both = _as_matrix(existing, nodes), _as_matrix(wanted, nodes)
    links = [int(topology.capacity.sum()) for topology in (existing, wanted)]
    kept = sum(int(np.minimum(*rows).sum()) for rows in zip(*both, strict=True))  # one row at a time: less memory
    best = Relabelling(tuple(range(nodes)), kept, min(links))
    if best.kept < best.most and nodes == wanted.nodes:
        same = isomorphism(existing, wanted)
        if same.place is not None:
            best = Relabelling(same.place, best.most, best.most)
        elif same.decided and links[0] == links[1]:
            # were it one link that differs where all degrees are alike, it would have to be between the same nodes
            alike, both_ways = existing.is_regular and wanted.is_regular, existing.is_duplex and wanted.is_duplex
            best = replace(best, most=best.most - (1 + both_ways) * (1 + alike))
    if best.kept < best.most:
        best = replace(best, most=min(best.most, most_kept(existing, wanted)))
    if best.kept < best.most:
        best = _anneal(existing, wanted, both, best, seed)
    if best.kept < best.most and nodes <= MAX_EXHAUSTED:
        best = _exhaust(existing, wanted, both, best)
    return replace(best, place=best.place[: wanted.nodes])


def _as_matrix(topology: Topology, nodes: int) -> Matrix:
    """Return the link capacities between each two nodes."""
    most = np.iinfo(np.int16).max
    if topology.capacity.max(initial=0) > most:
        raise ParameterError(f"relabelling takes at most {most} parallel links, not {topology.capacity.max()}")
    matrix = np.zeros((nodes, nodes), dtype=np.int16)
    matrix[topology.src, topology.dst] = topology.capacity
    return matrix


def _anneal(
    existing: Topology, wanted: Topology, both: tuple[Matrix, Matrix], best: Relabelling, seed: int
) -> Relabelling:
    """Exchange hosts by annealing, from several starts."""
    have, want = both
    nodes = len(have)

    def labels(topology: Topology) -> LabelledLinks:
        arcs = np.column_stack(unit_links(topology))
        return label_links(nodes, np.concatenate([np.insert(arcs[:, ::way], 2, way, axis=1) for way in (1, -1)]))

    alike = np.zeros(nodes, dtype=np.int64)
    spread_out = spread_hosts(labels(existing), labels(wanted), alike, best.place, seed=seed)
    rows = [np.flatnonzero(matrix[row] + matrix[:, row]) for matrix in (want, have) for row in range(nodes)]
    near = np.concatenate(rows).astype(np.int64)
    start = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    rng = np.random.default_rng(seed)
    proposals = min(_A_NODE * nodes, _PROPOSALS // nodes)
    for attempt in range(-1, max(1, _STARTS // (1 + nodes // 1024))):
        place = rng.permutation(nodes) if attempt % 2 else np.array(best.place, dtype=np.int64)
        place = np.array(spread_out, dtype=np.int64) if attempt < 0 else place
        state = rng.integers(1, 2**63, size=1, dtype=np.uint64)
        warmth = ONE // (16 if attempt < 0 else 3 if attempt % 2 else 8)
        kept = int(anneal(have, want, near, start, place, proposals, warmth, state))
        if kept > best.kept:
            best = replace(best, place=tuple(place.tolist()), kept=kept)
    return best


def _exhaust(existing: Topology, wanted: Topology, both: tuple[Matrix, Matrix], best: Relabelling) -> Relabelling:
    """Improve a relabelling or prove it optimal."""
    have, want = both
    groups = [list_symmetries(*one) for one in ((existing, have), (wanted, want))]
    one, other, group = (want, have, groups[0]) if len(groups[0]) >= len(groups[1]) else (have, want, groups[1])
    match = np.full(len(have), -1, dtype=np.int64)
    grain = 1 + (existing.is_duplex and wanted.is_duplex)
    branches = exhaust(one, other, _search_order(one), group, match, best.kept, grain, _BRANCHES)
    if match[0] >= 0:
        place = match if one is want else np.argsort(match)
        kept = int(np.minimum(want, have[np.ix_(place, place)]).sum())
        best = replace(best, place=tuple(place.tolist()), kept=kept)
    return best if branches < 0 else replace(best, most=best.kept, searched=True)


def list_symmetries(topology: Topology, matrix: NDArray[np.int16]) -> NDArray[np.int16]:
    """List a group of automorphisms, one per row.

    All are listed if they are few, otherwise those that fix enough nodes.
    """
    nodes, order = len(matrix), _search_order(matrix)
    for fixed in range(nodes + 1):
        colours = np.full(nodes, -1)
        colours[order[:fixed]] = np.arange(fixed)
        generators = find_automorphisms(colours.tolist(), topology.src, topology.dst, topology.capacity.tolist())
        found = {tuple(range(nodes)): None}
        todo = list(found)
        while todo and len(found) <= _GROUP:
            image = np.array(todo.pop())
            new = dict.fromkeys(tuple(row[image].tolist()) for row in generators)
            todo += [row for row in new if row not in found]
            found |= new
        if len(found) <= _GROUP:
            break
    return np.array(list(found), dtype=np.int16)


def _search_order(matrix: NDArray[np.int16]) -> IntArray:
    """Return nodes by decreasing links to their predecessors."""
    linked = (matrix + matrix.T).astype(np.int64)
    score = linked.sum(axis=1)
    order = np.empty(len(matrix), dtype=np.int64)
    for place in range(len(matrix)):
        order[place] = np.argmax(score)
        score += linked[order[place]] * len(matrix) * int(linked.max(initial=0))
        score[order[: place + 1]] = -1
    return order


_KINDS = ("++", "+++", "++-", "++++", "+-+-", "++--", "+++-", "+++++")
"""Closed walks, by whether they go along a link (+) or against it at each step."""
_MAX_WALKS = 2**22  # so that a matrix of them takes 50 MB at most, and no number comes near 64 bits
_MAX_COUNTED = 2**60  # of those that never turn round
_LONGEST = 64
_EFFORT = 2**27  # steps of walks that never turn round
_AT_ONCE = 2**18  # of them


def most_kept(one: Topology, other: Topology) -> int:
    """Return an upper bound on common links of topologies.

    Parallel links are counted.

    What the two have in common has no more closed walks of any kind than either, and a walk of n steps is ended by n
    links at most: so the one with more walks of a kind loses links until it has no more than the other, which loses
    some meanwhile. Where links go both ways, closed walks that never turn round are counted as well (from link to link,
    none followed by its own reverse: Hashimoto's matrix), for these tell long cycles among short ones from each other.
    """
    most = min(int(topology.capacity.sum()) for topology in (one, other))
    walks = _Walks(one), _Walks(other)
    for kind in _KINDS:
        if most and all(each.nodes * each.degree ** (len(kind) - 1) <= _MAX_WALKS for each in (one, other)):
            most = min(most, _most_common(walks[0].count_ended(kind), walks[1].count_ended(kind), len(kind)))
    if not (one.is_duplex and other.is_duplex):
        return most
    if most:
        longest = _longest(one, other)
        through = zip(_turnless(one, longest), _turnless(other, longest), strict=True)
        for length, (mine, others) in enumerate(through, start=1):
            most = min(most, _most_common(length * mine, length * others, length))
    return most - most % 2  # both ways of a link stay or go


def _most_common(one: IntArray, other: IntArray, length: int) -> int:
    """Return the maximum common links, by walks per link."""
    kept = np.arange(min(len(one), len(other)), -1, -1)
    first, last = [], []  # walks that stay at least, and at most; each times its length
    for ends in (one, other):
        gone = len(ends) - kept
        ended = np.concatenate(([0], np.cumsum(np.sort(ends))))
        first.append(ended[-1] - length * (ended[-1] - ended[len(ends) - gone]))
        last.append(ended[-1] - ended[gone])
    return int(kept[np.argmax((first[0] <= last[1]) & (first[1] <= last[0]))])


def _longest(*topologies: Topology) -> int:
    """Return the longest countable length of non-backtracking walks."""
    longest = _LONGEST
    for topology in topologies:
        links, widest = int(topology.capacity.sum()), max(topology.degree - 1, 1)
        effort, half = 0, 0
        while half < longest // 2:
            effort += links * min(widest**half, links) * widest
            if effort > _EFFORT or links * widest ** (2 * half + 2) * (2 * half + 2) ** 2 > _MAX_COUNTED:
                break
            half += 1
        longest = min(2 * half, topology.nodes)
    return longest


def _turnless(topology: Topology, longest: int) -> list[IntArray]:
    """Return closed non-backtracking walks by length and first link.

    Each is put together from two halves, of which one is gone backwards, so that only walks half as long are listed.
    """
    from scipy.sparse import csr_array, eye_array  # noqa: PLC0415  heavy

    step, back = _steps(topology)
    links = len(back)
    found = [np.zeros(links, dtype=np.int64) for _ in range(longest)]
    some = max(_AT_ONCE // min(max(topology.degree - 1, 1) ** ((longest + 1) // 2), links), 1)
    first = np.flatnonzero(np.arange(links) < back)
    for start in range(0, len(first), some):
        forth = first[start : start + some]
        rows = np.concatenate((forth, back[forth]))
        swapped = np.roll(np.arange(len(rows)), len(forth))
        walks = csr_array(eye_array(links, dtype=np.int64, format="csr")[rows])
        for length in range(1, longest + 1):
            if length % 2:
                walks, before = walks @ step, walks
            # from a link's reverse, gone backwards: to that link
            other = (before if length % 2 else walks)[swapped]
            other = csr_array((other.data, back[other.indices], other.indptr), shape=other.shape)
            found[length - 1][rows] = walks.multiply(other).sum(axis=1)
    return found


def _steps(topology: Topology) -> tuple[csr_array, IntArray]:
    """Return non-backtracking successors and reverses of links."""
    from scipy.sparse import csr_array  # noqa: PLC0415  heavy

    src, dst = (np.repeat(ends, topology.capacity) for ends in (topology.src, topology.dst))
    same = np.concatenate(([0], np.cumsum(topology.capacity)))
    copy = np.arange(len(src)) - np.repeat(same[:-1], topology.capacity)
    back = np.empty(len(src), dtype=np.int64)
    back[np.lexsort((copy, dst, src))] = np.lexsort((copy, src, dst))
    begin = np.searchsorted(src, np.arange(topology.nodes + 1))  # links are in the order of their sources
    many = np.diff(begin)[dst]
    rows = np.repeat(np.arange(len(src)), many)
    columns = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many) + np.repeat(begin[dst], many)
    on = columns != back[rows]
    shape = len(src), len(src)
    return csr_array((np.ones(int(on.sum()), dtype=np.int64), (rows[on], columns[on])), shape=shape), back


class _Walks:
    """Closed walks of a topology."""

    def __init__(self, topology: Topology) -> None:
        from scipy.sparse import csr_array  # noqa: PLC0415  heavy

        self.topology = topology
        shape = (topology.nodes, topology.nodes)
        forth = csr_array((topology.capacity, (topology.src, topology.dst)), shape=shape)
        self.step = {"+": forth, "-": csr_array(forth.T)}

    def count_ended(self, kind: str) -> IntArray:
        """Return closed walks lost with each link.

        A walk is counted once for each of its steps on the link.
        """
        ends = np.zeros(len(self.topology.src), dtype=np.int64)
        for place, way in enumerate(kind):
            u, v = (self.topology.src, self.topology.dst)[:: 1 if way == "+" else -1]
            ends += self._walks(kind[place + 1 :] + kind[:place])[v, u]  # from the end of this step back to its start
        return np.repeat(ends, self.topology.capacity)

    def _walks(self, kind: str) -> csr_array:
        """Return walks of a kind between all node pairs."""
        if kind not in self.step:
            self.step[kind] = self._walks(kind[:-1]) @ self.step[kind[-1]]
        return self.step[kind]
