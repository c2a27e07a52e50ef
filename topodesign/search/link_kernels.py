"""Compiled annealing of links.

Of graphs and digraphs on which a cyclic group may act.

A graph of N = m*s nodes is a base of m nodes whose links have a turn, 0 to s - 1: node (u, i) is the integer u*s + i,
and a link from u to w with turn t joins (u, i) to (w, i + t) for all i. Exchanges keep that: they replace whole orbits
of links, so that one node of each orbit prices them. With s = 1 it is any graph.

Each node of the base has d ends of links, and each end its mate, at the other node. An end that is its own mate is a
link across, with turn s/2; with s = 1 it is a port that stays free, a self-loop. In a digraph the mates of the m*d ends
that links begin at are as many others, which come after them.

Row v of level k holds as bits the sources, one of each orbit, that are within k steps of v. An exchange changes few
rows, and every row has a second place for what it becomes, so that an exchange is taken back by going back to the
first. Of the highest level only counts are kept.

What some nodes have to send over their links follows from these rows, too: of nodes that are so far away, which of the
ends of links have them nearer. By Hall's theorem the fullest link carries as much as the most nodes for a set of links,
over its size, that no other link leads to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import LARGEST, Ints, Masks, compile_kernel, inline_kernel
from topodesign.search.screening_kernels import ones
from topodesign.search.voltage_kernels import UNIT, _draw, _logarithm, _noise

PART = 840  # parts of a shard, into which 1 to 8 links divide it without a rest
PROHIBITED = 2**40  # energy of a pair that must not be so far apart
_OVERHEAD = 8  # what a row takes beside its words, in words
_FEW_WORDS = 2  # of rows that are united word by word; longer ones are row by row
_LOOKED_AT = 8  # of so many nodes with one more the one with the fullest link is taken, to change links on its ways
_NEAR = 8  # nodes whose numbers differ by so much at most are exchanged with each other more often
_MAX_TOUCHED = 8  # ends of two exchanges


class Ends(NamedTuple):
    """Links of the base by ends: end j of node u is u*d + j.

    * ``head``, ``turn``: where the link leads, and by how much it turns.
    """

    head: Ints
    turn: Ints
    mate: Ints  # its other end
    out: Ints  # shape ``(N, d)``: neighbours of each node of the graph
    into: Ints  # the same against the links; of a duplex graph ``out`` itself
    order: int  # of the rotation, s


class Aim(NamedTuple):
    """The energy's parts: far pairs of nodes, and link loads.

    * ``steps``: how far nodes should be apart; exchanges are drawn that bring pairs near that are farther.
    * ``weight``: energy of a pair that is not within 0, 1, 2, ... steps; no pair may be farther than the last.
    * ``sets``: shape ``(k, 3)``: loads that count, if any: what nodes send to those beyond the first number of steps
      and within the second, over links to whose ends they are within the third. Only without a rotation.
    * ``goal``: of each set the load, in parts, that is aimed at, or about the largest that there is.
    * ``table``: weight of a load by how much it is above the goal, from ``zero`` places below it on: of the weights of
      all nodes a smooth maximum counts.
    * ``sharpness``: energy of one more bit of weight.
    * ``first_new``: nodes from this one on were put in the middle of links; what goes through them may slide elsewhere.
    """

    steps: int
    weight: Ints
    sets: Ints
    goal: Ints
    table: Ints
    zero: int
    sharpness: int
    first_new: int


class Reach(NamedTuple):
    """What is within some steps, now and before an exchange.

    * ``listed``, ``upto``, ``moved``: nodes whose rows an exchange may change, in the order of the level from which on
      it may, how many these are at each level, and which change there.
    """

    rows: Masks  # two of each node and level but the highest, and room for one more
    at: Ints  # shape ``(steps + 1, N)``: which of its two rows counts
    held: Ints  # how many bits each row holds, those of the highest level too
    listed: Ints
    upto: Ints
    moved: NDArray[np.bool_]  # shape ``(steps + 1, N)``
    marked: Ints  # whether a node is listed, or what leads into it as well


class Loads(NamedTuple):
    """The largest load of every node for each set, both along and against links.

    * ``weight``: what each load weighs.
    * ``total``: of each set the sum of the weights of all nodes.
    * ``place``, ``before``: loads that an exchange changed, and what they and their weights were.
    """

    load: Ints  # shape ``(2, k, N)``
    weight: Ints  # the same
    total: Ints  # shape ``(2, k)``
    place: Ints
    before: Ints  # shape ``(2kN, 2)``
    used: Ints  # how many changed
    union: Masks  # room for a row for each set of links


@inline_kernel
def _starts(ends: Ends) -> int:
    """Return the number of ends that links begin at; all if duplex."""
    return ends.out.size // ends.order


@inline_kernel
def _node(ends: Ends, end: int) -> int:
    """Return the node of the base that an end is at."""
    node: int = end % _starts(ends) // ends.out.shape[1]
    return node


@compile_kernel
def write_out(ends: Ends, end: int) -> None:
    """Write where the links lead that an end stands for."""
    side = ends.out if end < _starts(ends) else ends.into
    node, port, order = _node(ends, end), end % side.shape[1], ends.order
    for i in range(order):
        to = ends.turn[end] + i
        side[node * order + i, port] = ends.head[end] * order + (to if to < order else to - order)


@compile_kernel
def _join(ends: Ends, one: int, other: int, turn: int) -> None:
    """Join two ends; a single end becomes a link across, or a free port."""
    order = ends.order
    if one == other:
        turn = order // 2
    ends.head[one], ends.turn[one], ends.mate[one] = _node(ends, other), turn, other
    ends.head[other], ends.turn[other], ends.mate[other] = _node(ends, one), (order - turn) % order, one


@compile_kernel
def _exchange(ends: Ends, one: int, other: int, turn: int, touched: Ints, before: Ints, number: int) -> int:
    """Join two ends with a turn, and their mates; return the ends touched.

    Two ends of one link get another turn, or become two links across. In a digraph the second is one that links end at.
    So many ends are touched already.
    """
    order, duplex = ends.order, _starts(ends) == len(ends.head)
    mate, last = ends.mate[one], ends.mate[other]
    shift = (turn + ends.turn[other] - ends.turn[one]) % order
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


@compile_kernel
def _undo(ends: Ends, number: int, touched: Ints, before: Ints) -> None:
    for i in range(number):
        end = touched[i]
        ends.head[end], ends.turn[end], ends.mate[end] = before[i, 0], before[i, 1], before[i, 2]
    for i in range(number):
        write_out(ends, touched[i])


@compile_kernel
def _faults(ends: Ends, node: int) -> int:
    """Return the ends of a node in invalid self-loops or parallel links."""
    degree, order = ends.out.shape[1], ends.order
    faults = 0
    for one in range(node * degree, node * degree + degree):
        if ends.head[one] == node and ends.turn[one] == 0 and (order > 1 or ends.mate[one] != one):
            faults += 1
        for other in range(node * degree, one):
            if ends.head[one] == ends.head[other] and ends.turn[one] == ends.turn[other]:
                faults += 1
    return faults


@inline_kernel
def _fits(ends: Ends, end: int) -> bool:
    """Return whether an end makes no invalid self-loop or parallel link."""
    degree, node = ends.out.shape[1], _node(ends, end)
    fits = ends.head[end] != node or ends.turn[end] != 0 or (ends.order == 1 and ends.mate[end] == end)
    for other in range(node * degree, node * degree + degree):
        if other != end and ends.head[end] == ends.head[other] and ends.turn[end] == ends.turn[other]:
            fits = False
    return fits


@compile_kernel
def mend(ends: Ends, tries: int, state: Masks) -> int:
    """Exchange links to remove invalid ones; return how many remain."""
    nodes, starts = len(ends.out) // ends.order, _starts(ends)
    touched, before = np.zeros(_MAX_TOUCHED, np.int64), np.zeros((_MAX_TOUCHED, 3), np.int64)
    total = 0
    for node in range(nodes):
        total += _faults(ends, node)
    for _ in range(tries):
        if total == 0:
            break
        one, other = _draw(starts, state), len(ends.head) - starts + _draw(starts, state)
        if one == other or (ends.order == 1 and ends.mate[one] == other):
            continue
        number = _exchange(ends, one, other, _draw(ends.order, state), touched, before, 0)
        after = 0
        for node in range(nodes):
            after += _faults(ends, node)
        if after > total:
            _undo(ends, number, touched, before)
        else:
            total = after
    return total


@compile_kernel
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
        np.zeros((steps + 1, nodes), np.bool_),
        np.zeros(nodes, np.int64),
    )


@inline_kernel
def _unite(reach: Reach, out: Ints, level: int, node: int, into: int) -> int:
    """Build a node's row at a level; return its number of sources."""
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


@compile_kernel
def _fill(reach: Reach, out: Ints, order: int, weight: Ints) -> int:
    """Compute all rows, and return the energy of pairs far apart."""
    nodes, steps = len(out), len(reach.at) - 1
    sources = nodes // order
    for source in range(sources):
        row = reach.at[0, source * order]
        reach.rows[row, source >> 6] |= np.uint64(1) << np.uint64(source & 63)
        reach.held[row] = 1
    energy: int = sources * (nodes - 1) * weight[0]
    for level in range(1, steps + 1):
        for node in range(nodes):
            row = reach.at[level, node]
            reach.held[row] = _unite(reach, out, level, node, row if level < steps else len(reach.rows) - 1)
            energy += (sources - reach.held[row]) * weight[level]
    return energy


@compile_kernel
def _too_far(reach: Reach, steps: int, sources: int) -> int:
    """Return the pairs of source and node that are too far apart."""
    far = 0
    for row in reach.at[steps]:
        far += sources - reach.held[row]
    return far


@compile_kernel
def _after(reach: Reach, out: Ints, into: Ints, tails: Ints, order: int, weight: Ints, energy: int, limit: int) -> int:
    """Return the energy after changes of orbits; above the limit if larger."""
    nodes, degree = out.shape
    steps, sources = len(reach.at) - 1, nodes // order
    at, held, listed, moved, upto, marked = reach.at, reach.held, reach.listed, reach.moved, reach.upto, reach.marked
    rows, words, spare, known = reach.rows, reach.rows.shape[1], len(reach.rows) - 1, 0
    for tail in tails:
        for node in range(tail * order, tail * order + order):
            if marked[node] == 0:
                marked[node] = 1
                listed[known] = node
                known += 1
    for level in range(1, steps):
        upto[level] = last = known
        for i in range(last):
            node = listed[i]
            old = at[level, node]
            held[old ^ 1] = _unite(reach, out, level, node, old ^ 1)
            differs = held[old ^ 1] != held[old]
            if not differs:
                for w in range(words):
                    differs |= rows[old ^ 1, w] != rows[old, w]
            moved[level, i] = differs
            if differs:
                energy += weight[level] * (held[old] - held[old ^ 1])
        for i in range(last):
            if moved[level, i]:
                node = listed[i]
                at[level, node] ^= 1
                if marked[node] == 1:
                    marked[node] = 2
                    for j in range(degree):
                        other = into[node, j]
                        if marked[other] == 0:
                            marked[other] = 1
                            listed[known] = other
                            known += 1
    for i in range(known):
        marked[listed[i]] = 0
        energy -= weight[steps] * (sources - held[at[steps, listed[i]]])
    upto[steps] = known
    for i in range(known):
        node = listed[i]
        fresh = at[steps, node] ^ 1
        held[fresh] = _unite(reach, out, steps, node, spare)
        energy += weight[steps] * (sources - held[fresh])
        moved[steps, i], at[steps, node] = True, fresh
        if energy > limit:
            upto[steps] = i + 1
            break
    return energy


@compile_kernel
def _back(reach: Reach) -> None:
    """Let the rows count that did before the last exchange."""
    for level in range(1, len(reach.at)):
        for i in range(reach.upto[level]):
            if reach.moved[level, i]:
                reach.at[level, reach.listed[i]] ^= 1
        reach.upto[level] = 0


@compile_kernel
def _weigh(reach: Reach, out: Ints, node: int, s: int, aim: Aim, union: Masks) -> tuple[int, int]:
    """Return a node's load bound for a set, and its weight.

    In parts of a shard.
    """
    rows, at = reach.rows, reach.at
    nodes, ports = out.shape
    steps, words = len(at) - 1, rows.shape[1]
    low, below = at[aim.sets[s, 0], node], at[aim.sets[s, 2]]
    every = aim.sets[s, 1] == steps
    high = low if every else at[aim.sets[s, 1], node]
    last = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 * words - nodes)
    wanted = 0
    for w in range(words):
        word = ~rows[low, w]
        if w == words - 1:
            word &= last
        if not every:
            word &= rows[high, w]
        union[0, w] = word
        wanted += ones(word)
    most = wanted * PART // ports
    for others in range(1, (1 << ports) - 1 if wanted else 1):
        j = 0
        while not others >> j & 1:
            j += 1
        rest, row, count = others & (others - 1), below[out[node, j]], 0
        for w in range(words):
            word = union[rest, w] & ~rows[row, w]
            union[others, w] = word
            count += ones(word)
        most = max(most, count * PART // (ports - ones(np.uint64(others))))
    return most, aim.table[min(max(most - aim.goal[s] + aim.zero, 0), len(aim.table) - 1)]


@compile_kernel
def _energy_of_loads(loads: Loads, side: int, aim: Aim) -> int:
    """Return the energy of one direction: smooth maxima."""
    energy = 0
    for s in range(len(aim.sets)):
        energy += aim.goal[s] * UNIT + _logarithm(loads.total[side, s] + 1) * aim.sharpness
    return energy


@compile_kernel
def _fill_loads(loads: Loads, side: int, reach: Reach, out: Ints, aim: Aim) -> None:
    """Compute the loads of all nodes in one direction."""
    for s in range(len(aim.sets)):
        loads.total[side, s] = 0
        for node in range(len(out)):
            loads.load[side, s, node], loads.weight[side, s, node] = _weigh(reach, out, node, s, aim, loads.union)
            loads.total[side, s] += loads.weight[side, s, node]


@compile_kernel
def _load_anew(loads: Loads, side: int, reach: Reach, out: Ints, aim: Aim, room: int) -> bool:
    """Recompute changed loads of one direction; False above the limit."""
    nodes, steps = len(out), len(reach.at) - 1
    for s in range(len(aim.sets)):
        first = loads.used[0]
        for i in range(reach.upto[min(aim.sets[s, 2] + 1, steps)]):
            node, entry = reach.listed[i], loads.used[0]
            loads.place[entry] = (side * len(aim.sets) + s) * nodes + node
            loads.before[entry, 0] = loads.load[side, s, node]
            loads.before[entry, 1] = loads.weight[side, s, node]
            loads.used[0] = entry + 1
            loads.total[side, s] -= loads.weight[side, s, node]
        for i in range(first, loads.used[0]):
            node = loads.place[i] % nodes
            loads.load[side, s, node], loads.weight[side, s, node] = _weigh(reach, out, node, s, aim, loads.union)
            loads.total[side, s] += loads.weight[side, s, node]
            if i % 8 == 7 and _energy_of_loads(loads, side, aim) > room:
                return False
    return _energy_of_loads(loads, side, aim) <= room


@compile_kernel
def _unload(loads: Loads, aim: Aim, nodes: int, total: Ints) -> None:
    """Undo the loads that an exchange changed."""
    for i in range(loads.used[0]):
        place, node = loads.place[i] // nodes, loads.place[i] % nodes
        side, s = place // len(aim.sets), place % len(aim.sets)
        loads.load[side, s, node], loads.weight[side, s, node] = loads.before[i, 0], loads.before[i, 1]
    loads.total[:, :] = total


@inline_kernel
def _joint(here: int, there: int) -> int:
    """Return the energy of both directions."""
    return here + there + abs(here - there) // 2


@compile_kernel
def _room(limit: int, there: int) -> int:
    """Return the energy limit of a direction, given the other's energy."""
    return max((2 * limit - there) // 3, 2 * limit - 3 * there)


@compile_kernel
def _drawn_near(reach: Reach, ends: Ends, steps: int, state: Masks, chosen: Ints) -> bool:
    """Draw an exchange that brings a far pair near; False if none does."""
    out, order, starts = ends.out, ends.order, _starts(ends)
    nodes, degree = out.shape
    sources = nodes // order
    x, tries = _draw(nodes, state), 0
    while reach.held[reach.at[steps, x]] == sources:
        x, tries = (x + 1 if x + 1 < nodes else 0), tries + 1
        if tries == nodes:
            return False
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
    return True


@compile_kernel
def _drawn_loaded(loads: Loads, ends: Ends, aim: Aim, state: Masks, chosen: Ints) -> None:
    """Draw two ends, often near a full link.

    Half of the time one on a way of a node with a full link, and often ends with much in common.
    """
    out, into = ends.out, ends.into
    nodes, ports = out.shape
    side = 0 if into is out else _draw(2, state)
    x, dice = _draw(nodes, state), _draw(8, state)
    if dice >= 4:
        weight = loads.weight[side, _draw(len(aim.sets), state)]
        for _ in range(_LOOKED_AT):
            other = _draw(nodes, state)
            if weight[other] > weight[x]:
                x = other
        far = _draw(len(aim.weight) - 1, state)
        for _ in range(far + side):
            x = into[x, _draw(ports, state)] if side else out[x, _draw(ports, state)]
    port, inner = _draw(ports, state), len(ends.head) - _starts(ends)
    p, q = out[x, port], _draw(nodes, state)
    kind, y = dice & 3, -1
    if kind == 1:
        q = (x + nodes + _draw(2 * _NEAR + 1, state) - _NEAR) % nodes
    elif kind == 2:
        y = out[into[p, _draw(ports, state)], _draw(ports, state)]
    elif kind == 3:
        y = (p + nodes + _draw(2 * _NEAR + 1, state) - _NEAR) % nodes
    chosen[0], chosen[2] = x * ports + port, 0
    chosen[1] = ends.mate[q * ports + _draw(ports, state)] if y < 0 else inner + y * ports + _draw(ports, state)


@compile_kernel
def _slide(ends: Ends, first_new: int, state: Masks, touched: Ints, before: Ints) -> int:
    """Slide a node from way a->n->b into c->e; return the ends touched."""
    nodes, ports = ends.out.shape
    node, inner = first_new + _draw(nodes - first_new, state), len(ends.head) - _starts(ends)
    entrance, leave = node * ports + _draw(ports, state) + inner, node * ports + _draw(ports, state)
    other, ahead, behind = _draw(nodes * ports, state), ends.mate[entrance], ends.mate[leave]
    if leave in (entrance, ahead) or other in (entrance, leave, ahead) or ends.mate[other] in (leave, behind):
        return 0
    number: int = _exchange(ends, ahead, behind, 0, touched, before, 0)
    return _exchange(ends, other, entrance, 0, touched, before, number)


@compile_kernel
def _move(
    reach: Reach, loads: Loads, ends: Ends, aim: Aim, state: Masks, chosen: Ints, touched: Ints, before: Ints
) -> int:
    """Apply a drawn exchange; return the ends touched, 0 if void."""
    starts = _starts(ends)
    kind = _draw(16, state)
    if aim.first_new < len(ends.out) and kind < 11:
        number: int = _slide(ends, aim.first_new, state, touched, before)
    else:
        chosen[0], chosen[2] = _draw(starts, state), _draw(ends.order, state)
        chosen[1] = len(ends.head) - starts + _draw(starts, state)
        near = False
        if kind & 1 and aim.weight[aim.steps] < PROHIBITED:
            near = _drawn_near(reach, ends, aim.steps, state, chosen)
        if not near and len(aim.sets):
            _drawn_loaded(loads, ends, aim, state, chosen)
        one, other = chosen[0], chosen[1]
        if one == other or (ends.order == 1 and ends.mate[one] == other):
            return 0
        number = _exchange(ends, one, other, chosen[2], touched, before, 0)
    return number


@compile_kernel
def _record(loads: Loads, out: Ints, aim: Aim, duplex: bool, allowed: Ints, found: Ints) -> None:
    """Keep the links if their largest loads sum to less, in as many steps."""
    steps, total = 0, 0
    for side in range(1 if duplex else 2):
        added = 0
        for s in range(len(aim.sets)):
            largest = 0
            for load in loads.load[side, s]:
                largest = max(largest, load)
            if largest:
                steps, added = max(steps, aim.sets[s, 1]), added + largest
        total = max(total, added)
    if total < allowed[steps]:
        found[steps] = out
        for more in range(steps, len(allowed)):
            allowed[more] = min(allowed[more], total)


@compile_kernel
def _tails(ends: Ends, number: int, touched: Ints, against: bool, room: Ints) -> int:
    """List base nodes with changed links; return how many."""
    starts, many = _starts(ends), 0
    for i in range(number):
        if against == (touched[i] >= starts):
            room[many] = _node(ends, touched[i])
            many += 1
    return many


@compile_kernel
def anneal(
    ends: Ends,
    aim: Aim,
    work: int,
    hot: int,
    enough: int,
    state: Masks,
    left: Ints,
    fullest: Ints,
    allowed: Ints,
    found: Ints,
) -> int:
    """Anneal exchanges and keep the graph of least energy.

    * ``ends``: the graph, without parallel links; changed in place.
    * ``aim``: what makes a graph better.
    * ``work``: words of rows to look at.
    * ``hot``: 256 times the energy by which it may get worse, on average of the exchanges that make it worse, in the
      beginning.
    * ``enough``: energy at which to stop.
    * ``state``: one uint64, not zero: the random generator's state, changed in place.
    * ``left``: gets the number of pairs, of one node of each orbit with another, that are too far apart, the work that
      is left, and of exchanges that were tried.
    * ``fullest``: gets of each set the largest load of the graph with the least energy.
    * ``allowed``, ``found``: where sets are layers: for each number of steps the sum of the largest loads that a graph
      has to stay below to be kept, and its links, shape ``(steps + 1, N, d)``; else empty.

    Returns: the least energy.
    """
    out, into, order = ends.out, ends.into, ends.order
    nodes, degree = out.shape
    sources, steps, sets = nodes // order, len(aim.weight) - 1, len(aim.sets)
    starts = _starts(ends)
    duplex = starts == len(ends.head)
    both = sets > 0 and not duplex
    there, back = _reach(nodes, sources, steps), _reach(nodes if both else 1, sources if both else 1, steps)
    nothing = np.zeros(steps + 1, np.int64)
    loads = Loads(
        np.zeros((2, sets, nodes), np.int64),
        np.zeros((2, sets, nodes), np.int64),
        np.zeros((2, sets), np.int64),
        np.zeros(2 * sets * nodes, np.int64),
        np.zeros((2 * sets * nodes, 2), np.int64),
        np.zeros(1, np.int64),
        np.zeros((1 << (degree if sets else 0), there.rows.shape[1]), np.uint64),
    )
    each = (degree + 2) * there.rows.shape[1] + _OVERHEAD
    each_load = there.rows.shape[1] << degree
    far = _fill(there, out, order, aim.weight)
    energy = far
    if sets:
        _fill_loads(loads, 0, there, out, aim)
        if both:
            _fill(back, into, order, nothing)
            _fill_loads(loads, 1, back, into, aim)
        one = _energy_of_loads(loads, 0, aim)
        energy += _joint(one, _energy_of_loads(loads, 1, aim) if both else one)
    if len(allowed):
        _record(loads, out, aim, duplex, allowed, found)
    best, pairs = energy, _too_far(there, aim.steps, sources)
    for s in range(sets):
        fullest[s] = max(loads.load[0, s].max(), loads.load[1, s].max())
    head, turn, mate = ends.head.copy(), ends.turn.copy(), ends.mate.copy()
    touched, before, chosen = np.zeros(8, np.int64), np.zeros((8, 3), np.int64), np.zeros(3, np.int64)
    room, total = np.zeros(8, np.int64), loads.total.copy()
    spent, tried = steps * nodes * each * (2 if both else 1), 0
    while spent < work and best > enough:
        spent += each
        tried += 1
        number = _move(there, loads, ends, aim, state, chosen, touched, before)
        fits = True
        for i in range(number):
            fits &= touched[i] >= starts or _fits(ends, touched[i])
        if not fits:
            _undo(ends, number, touched, before)
        if number == 0 or not fits:
            continue
        cold = (work - spent) * 1024 // work
        limit = energy + (_noise(hot * cold // 1024 * cold // 1024, state) >> 8)
        many = _tails(ends, number, touched, False, room)
        apart = _after(there, out, into, room[:many], order, aim.weight, far, limit)
        for level in range(1, steps + 1):
            spent += there.upto[level] * each
        now = apart
        if sets and apart <= limit:
            loads.used[0], back.upto[:] = 0, 0
            right = _load_anew(
                loads, 0, there, out, aim, _room(limit - apart, _energy_of_loads(loads, 1 if both else 0, aim))
            )
            one = other = _energy_of_loads(loads, 0, aim)
            if right and both:
                many = _tails(ends, number, touched, True, room)
                _after(back, into, out, room[:many], order, nothing, 0, LARGEST)
                for level in range(1, steps + 1):
                    spent += back.upto[level] * each
                right = _load_anew(loads, 1, back, into, aim, _room(limit - apart, _energy_of_loads(loads, 0, aim)))
                other = _energy_of_loads(loads, 1, aim)
            now = apart + _joint(one, other) if right else LARGEST
            spent += loads.used[0] * each_load
        if now > limit:
            if sets and apart <= limit:
                _unload(loads, aim, nodes, total)
                _back(back)
            _back(there)
            _undo(ends, number, touched, before)
            continue
        far, energy = apart, now
        total[:, :] = loads.total
        if len(allowed):
            _record(loads, out, aim, duplex, allowed, found)
        if energy < best:
            best, pairs = energy, _too_far(there, aim.steps, sources)
            head[:], turn[:], mate[:] = ends.head, ends.turn, ends.mate
            for s in range(sets):
                fullest[s] = max(loads.load[0, s].max(), loads.load[1, s].max())
    ends.head[:], ends.turn[:], ends.mate[:] = head, turn, mate
    for end in range(len(head)):
        write_out(ends, end)
    left[0], left[1], left[2] = pairs, max(0, work - spent), tried
    return best


@compile_kernel
def pairs_beyond(out: Ints, order: int, most: int) -> Ints:
    """Return the numbers of pairs more than 0, 1, ... ``most`` steps apart.

    Of one node of each orbit with any other.
    """
    nodes = len(out)
    sources = nodes // order
    now = np.zeros((nodes, (sources + 63) // 64), np.uint64)
    then = np.zeros_like(now)
    beyond = np.zeros(most + 1, np.int64)
    for source in range(sources):
        now[source * order, source >> 6] |= np.uint64(1) << np.uint64(source & 63)
    beyond[0] = sources * (nodes - 1)
    for level in range(1, most + 1):
        if beyond[level - 1] == 0:
            break
        beyond[level] = sources * nodes
        for node in range(nodes):
            for w in range(now.shape[1]):
                word = now[node, w]
                for j in range(out.shape[1]):
                    word |= now[out[node, j], w]
                then[node, w] = word
                beyond[level] -= ones(word)
        now, then = then, now
    return beyond
