"""Compiled exchanges of links that lower the distances in graphs and digraphs on which a cyclic group acts.

A graph of N = m*s nodes is a base of m nodes whose links have a turn, 0 to s - 1: node (u, i) is the integer u*s + i,
and a link from u to w with turn t joins (u, i) to (w, i + t) for all i. Exchanges keep that: they replace whole orbits
of cables, so that one node of each orbit prices them. With s = 1 it is any graph.

Each node of the base has d ends of links, and each end its mate, at the other node. An end that is its own mate is a
link across, with turn s/2; with s = 1 it is a port that stays free, a self-loop. In a digraph the mates of the m*d ends
that links begin at are as many others, which come after them.

Row v of level k holds as bits the sources, one of each orbit, that are within k steps of v. An exchange changes few
rows but for the highest levels, and of the highest only counts are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topodesign.base.compiled import LARGEST, Ints, Masks, compiled, inlined
from topodesign.search.screening_kernels import ones
from topodesign.search.voltage_kernels import _draw, _noise

_OVERHEAD = 8  # what a row takes beside its words, in words
_FEW_WORDS = 2  # of rows that are united word by word; longer ones are row by row


class Ends(NamedTuple):
    """Links of the base, by their ends: end j of node u is u*d + j.

    * ``head``, ``turn``: where the link leads, and by how much it turns.
    """

    head: Ints
    turn: Ints
    mate: Ints  # its other end
    out: Ints  # shape ``(N, d)``: neighbours of each node of the graph
    into: Ints  # the same against the links; of a duplex graph ``out`` itself
    order: int  # of the rotation, s


class Reach(NamedTuple):
    """What is within some steps, now and after an exchange.

    * ``listed``, ``upto``: nodes whose rows change, in the order of the level from which on they do, and how many do at
      each level.
    """

    rows: Masks  # two of each node and level but the highest, and room for one more
    at: Ints  # shape ``(steps + 1, N)``: which of its two rows counts
    held: Ints  # how many bits each row holds, those of the highest level too
    listed: Ints
    upto: Ints
    marked: Ints  # whether a node is listed


@inlined
def _starts(ends: Ends) -> int:
    """Return how many ends links begin at: in a duplex graph at all."""
    return ends.out.size // ends.order


@inlined
def _node(ends: Ends, end: int) -> int:
    """Return the node of the base that an end is at."""
    node: int = end % _starts(ends) // ends.out.shape[1]
    return node


@compiled
def write_out(ends: Ends, end: int) -> None:
    """Write where the links lead that an end stands for."""
    side = ends.out if end < _starts(ends) else ends.into
    node, port, order = _node(ends, end), end % side.shape[1], ends.order
    for i in range(order):
        to = ends.turn[end] + i
        side[node * order + i, port] = ends.head[end] * order + (to if to < order else to - order)


@compiled
def _join(ends: Ends, one: int, other: int, turn: int) -> None:
    """Make two ends mates; an end by itself becomes a link across, or a free port."""
    order = ends.order
    if one == other:
        turn = order // 2
    ends.head[one], ends.turn[one], ends.mate[one] = _node(ends, other), turn, other
    ends.head[other], ends.turn[other], ends.mate[other] = _node(ends, one), (order - turn) % order, one


@compiled
def _exchange(ends: Ends, one: int, other: int, turn: int, touched: Ints, before: Ints) -> int:
    """Join two ends with a turn, and what they were joined to with each other; return how many ends that touches.

    Two ends of one link get another turn, or become two links across. In a digraph the second is one that links end at.
    """
    order, duplex = ends.order, _starts(ends) == len(ends.head)
    mate, last = ends.mate[one], ends.mate[other]
    shift = (turn + ends.turn[other] - ends.turn[one]) % order
    number = 0
    for end in (one, other, mate, last):
        new = True
        for i in range(number):
            if touched[i] == end:
                new = False
        if new:
            touched[number] = end
            before[number, 0], before[number, 1], before[number, 2] = ends.head[end], ends.turn[end], ends.mate[end]
            number += 1
    if duplex and other == mate and one != mate and order % 2 == 0 and turn % 2 == 0:
        _join(ends, one, one, 0)
        _join(ends, other, other, 0)
    else:
        _join(ends, one, other, turn)
        if other != mate:
            if mate == one:
                if last != other:
                    _join(ends, last, last, 0)
            elif last == other:
                _join(ends, mate, mate, 0)
            else:
                _join(ends, mate, last, shift)
    for i in range(number):
        write_out(ends, touched[i])
    return number


@compiled
def _undo(ends: Ends, number: int, touched: Ints, before: Ints) -> None:
    for i in range(number):
        end = touched[i]
        ends.head[end], ends.turn[end], ends.mate[end] = before[i, 0], before[i, 1], before[i, 2]
    for i in range(number):
        write_out(ends, touched[i])


@compiled
def _faults(ends: Ends, node: int) -> int:
    """Return how many ends of a node of the base make self-loops that are no free ports, or parallel links."""
    degree, order = ends.out.shape[1], ends.order
    faults = 0
    for one in range(node * degree, node * degree + degree):
        if ends.head[one] == node and ends.turn[one] == 0 and (order > 1 or ends.mate[one] != one):
            faults += 1
        for other in range(node * degree, one):
            if ends.head[one] == ends.head[other] and ends.turn[one] == ends.turn[other]:
                faults += 1
    return faults


@compiled
def mend(ends: Ends, tries: int, state: Masks) -> int:
    """Exchange links at random while that leaves fewer self-loops and parallel links; return how many are left."""
    nodes, starts = len(ends.out) // ends.order, _starts(ends)
    touched, before = np.zeros(4, np.int64), np.zeros((4, 3), np.int64)
    total = 0
    for node in range(nodes):
        total += _faults(ends, node)
    for _ in range(tries):
        if total == 0:
            break
        one, other = _draw(starts, state), len(ends.head) - starts + _draw(starts, state)
        if one == other or (ends.order == 1 and ends.mate[one] == other):
            continue
        number = _exchange(ends, one, other, _draw(ends.order, state), touched, before)
        after = 0
        for node in range(nodes):
            after += _faults(ends, node)
        if after > total:
            _undo(ends, number, touched, before)
        else:
            total = after
    return total


@compiled
def _reach(nodes: int, sources: int, steps: int) -> Reach:
    words, size = (sources + 63) // 64, 2 * nodes
    at = np.zeros((steps + 1, nodes), np.int64)
    for level in range(steps + 1):
        for node in range(nodes):
            at[level, node] = level * size + 2 * node
    return Reach(
        np.zeros((steps * size + 1, words), np.uint64),
        at,
        np.zeros((steps + 1) * size, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros(steps + 1, np.int64),
        np.zeros(nodes, np.int64),
    )


@inlined
def _unite(reach: Reach, out: Ints, level: int, node: int, into: int) -> int:
    """Write the row of a node at a level from those one below, and return how many sources it holds."""
    rows, below = reach.rows, reach.at[level - 1]
    first, words, total = below[node], reach.rows.shape[1], 0
    if words <= _FEW_WORDS:
        for w in range(words):
            word = rows[first, w]
            for j in range(out.shape[1]):
                word |= rows[below[out[node, j]], w]
            rows[into, w] = word
            total += ones(word)
        return total
    for w in range(words):
        rows[into, w] = rows[first, w]
    for j in range(out.shape[1]):
        other = below[out[node, j]]
        for w in range(words):
            rows[into, w] |= rows[other, w]
    for w in range(words):
        total += ones(rows[into, w])
    return total


@compiled
def _fill(reach: Reach, ends: Ends, weight: int) -> int:
    """Compute all rows, and return the energy."""
    out, order = ends.out, ends.order
    nodes, steps = len(out), len(reach.at) - 1
    sources = nodes // order
    for source in range(sources):
        row = reach.at[0, source * order]
        reach.rows[row, source >> 6] |= np.uint64(1) << np.uint64(source & 63)
        reach.held[row] = 1
    energy = sources * (nodes - 1)
    for level in range(1, steps + 1):
        for node in range(nodes):
            row = reach.at[level, node]
            reach.held[row] = _unite(reach, out, level, node, row if level < steps else len(reach.rows) - 1)
            energy += (sources - reach.held[row]) * (1 if level < steps else 1 + weight)
    return energy


@compiled
def _too_far(reach: Reach, sources: int) -> int:
    """Return how many pairs of a source and a node are too far apart."""
    far = 0
    for row in reach.at[-1]:
        far += sources - reach.held[row]
    return far


@compiled
def _after(reach: Reach, ends: Ends, number: int, touched: Ints, weight: int, energy: int, limit: int) -> int:
    """Return the energy after an exchange that touches some ends; ``LARGEST`` if above the limit."""
    out, into, order = ends.out, ends.into, ends.order
    nodes, degree = out.shape
    sources, steps = nodes // order, len(reach.at) - 1
    at, held, listed = reach.at, reach.held, reach.listed
    known = 0
    for i in range(number):
        first = touched[i] // degree * order
        if touched[i] < _starts(ends) and not reach.marked[first]:
            for node in range(first, first + order):
                reach.marked[node] = 1
                listed[known] = node
                known += 1
    behind = 0
    for level in range(1, steps):
        for i in range(known):
            fresh = at[level, listed[i]] ^ 1
            held[fresh] = _unite(reach, out, level, listed[i], fresh)
            energy += held[fresh ^ 1] - held[fresh]
        for i in range(known):
            at[level, listed[i]] ^= 1
        reach.upto[level] = last = known
        for i in range(behind, last):
            for j in range(degree):
                other = into[listed[i], j]
                if not reach.marked[other]:
                    reach.marked[other] = 1
                    listed[known] = other
                    known += 1
        behind = last
    for i in range(known):
        energy -= (1 + weight) * (sources - held[at[steps, listed[i]]])
    reach.upto[steps] = 0
    for i in range(known):
        fresh = at[steps, listed[i]] ^ 1
        held[fresh] = _unite(reach, out, steps, listed[i], len(reach.rows) - 1)
        at[steps, listed[i]] = fresh
        reach.upto[steps] = i + 1
        energy += (1 + weight) * (sources - held[fresh])
        if energy > limit:
            break
    for i in range(known):
        reach.marked[listed[i]] = 0
    return energy if energy <= limit else LARGEST


@compiled
def _back(reach: Reach) -> None:
    """Let the rows count that did before the last exchange."""
    for level in range(1, len(reach.upto)):
        for i in range(reach.upto[level]):
            reach.at[level, reach.listed[i]] ^= 1


@compiled
def _choose(reach: Reach, ends: Ends, state: Masks, chosen: Ints) -> None:
    """Choose two ends and a turn: at random, or such that the new link brings a pair near that is too far apart."""
    out, order, starts = ends.out, ends.order, _starts(ends)
    nodes, degree = out.shape
    sources, steps = nodes // order, len(reach.at) - 1
    chosen[0], chosen[2] = _draw(starts, state), _draw(order, state)
    chosen[1] = len(ends.head) - starts + _draw(starts, state)
    if _draw(2, state) == 0:
        return
    x, tries = _draw(nodes, state), 0
    while reach.held[reach.at[steps, x]] == sources:
        x, tries = (x + 1 if x + 1 < nodes else 0), tries + 1
        if tries == nodes:
            return
    spare = len(reach.rows) - 1
    _unite(reach, out, steps, x, spare)
    source = _draw(sources, state)
    while reach.rows[spare, source >> 6] >> np.uint64(source & 63) & np.uint64(1):
        source = source + 1 if source + 1 < sources else 0
    y, ahead = source * order, _draw(steps, state)
    for _ in range(ahead):
        x = out[x, _draw(degree, state)]
    for _ in range(steps - 1 - ahead):
        y = ends.into[y, _draw(degree, state)]
    chosen[0] = x // order * degree + _draw(degree, state)
    chosen[1] = len(ends.head) - starts + y // order * degree + _draw(degree, state)
    chosen[2] = (y % order - x % order) % order


@compiled
def lower_distances(
    ends: Ends, steps: int, weight: int, work: int, hot: int, enough: int, state: Masks, left: Ints
) -> int:
    """Exchange links such that distances get lower, colder and colder, and keep the graph with the least energy.

    The energy is the sum of distances from one node of each orbit to all others, those beyond the steps counted as one
    more, and the weight of each that is.

    * ``ends``: the graph, without parallel links; changed in place.
    * ``steps``: how far nodes may be apart, 2 at least.
    * ``weight``: of a pair that is farther apart.
    * ``work``: words of rows to look at.
    * ``hot``: 256 times the energy by which it may get worse, on average of the exchanges that make it worse, in the
      beginning.
    * ``enough``: energy at which to stop.
    * ``state``: one uint64, not zero: the random generator's state, changed in place.
    * ``left``: gets the number of pairs, of one node of each orbit with another, that are too far apart, and of
      exchanges that were tried.

    Returns: the least energy.
    """
    out, order = ends.out, ends.order
    nodes, degree = out.shape
    sources = nodes // order
    reach = _reach(nodes, sources, steps)
    each = (degree + 2) * reach.rows.shape[1] + _OVERHEAD
    energy = _fill(reach, ends, weight)
    best, far = energy, _too_far(reach, sources)
    head, turn, mate = ends.head.copy(), ends.turn.copy(), ends.mate.copy()
    touched, before, chosen = np.zeros(4, np.int64), np.zeros((4, 3), np.int64), np.zeros(3, np.int64)
    spent, tried = steps * nodes * each, 0
    while spent < work and best > enough:
        spent += each
        tried += 1
        _choose(reach, ends, state, chosen)
        one, other = chosen[0], chosen[1]
        if one == other or (order == 1 and ends.mate[one] == other):
            continue
        number = _exchange(ends, one, other, chosen[2], touched, before)
        faults = 0
        for i in range(number):
            faults += _faults(ends, _node(ends, touched[i]))
        if faults:
            _undo(ends, number, touched, before)
            continue
        cold = (work - spent) * 1024 // work
        limit = energy + (_noise(hot * cold // 1024 * cold // 1024, state) >> 8)
        now = _after(reach, ends, number, touched, weight, energy, limit)
        for level in range(1, steps + 1):
            spent += reach.upto[level] * each
        if now == LARGEST:
            _back(reach)
            _undo(ends, number, touched, before)
            continue
        energy = now
        if energy < best:
            best, far = energy, _too_far(reach, sources)
            head[:], turn[:], mate[:] = ends.head, ends.turn, ends.mate
    ends.head[:], ends.turn[:], ends.mate[:] = head, turn, mate
    for end in range(len(head)):
        write_out(ends, end)
    left[0], left[1] = far, tried
    return best
