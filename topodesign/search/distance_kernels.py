"""Compiled annealing of voltage lifts by the sum of their distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, Masks, compiled, next_random

Nodes = NDArray[np.int32]


class Lift(NamedTuple):
    """A base with voltages, whose links change; node (u, g) of the lift is u*k + g, for a group of order k.

    * ``head``, ``voltage``: of each link of the base, d of every node in order.
    """

    table: Nodes  # right multiplication, ``table[s, g] = g * s``
    inverse: Ints  # of each element
    involutions: Ints  # elements that are their own inverse, but for the identity
    head: Ints
    voltage: Ints
    mate: Ints  # the reverse of each link, which may be itself; none where links go one way


@compiled
def anneal_distances(lift: Lift, degree: int, changes: int, hot: int, state: Masks) -> int:
    """Change voltages and exchange heads of links so that the distances from a node of each orbit add up to little.

    * ``lift``: where it starts; in the end the best that was met.
    * ``degree``: links of a node.
    * ``changes``: how many to try.
    * ``hot``: by how much a sum may grow in the beginning.
    * ``state``: of the random generator.

    Returns: the sum, with N*N times the orbits for every node that is out of reach, more than if all are in reach.
    """
    links, order = len(lift.head), len(lift.inverse)
    nodes = links // degree * order
    ends, seen, queue = np.zeros(nodes * degree, np.int32), np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    for link in range(links):
        _write(lift, degree, link, ends)
    head, voltage, mate = lift.head.copy(), lift.voltage.copy(), lift.mate.copy()
    now = best = _distances(ends, degree, order, links // degree, 2**62, seen, queue)
    touched = np.zeros(4, np.int64)
    old = np.zeros((3, 4), np.int64)
    for change in range(changes):
        count = _choose(lift, links, touched, state)
        for i in range(count):
            link = touched[i]
            old[0, i], old[1, i], old[2, i] = lift.head[link], lift.voltage[link], 0
            if len(mate):
                old[2, i] = lift.mate[link]
        _change(lift, degree, touched, count, state)
        for i in range(count):
            _write(lift, degree, touched[i], ends)
        room = hot * (changes - change) // changes
        limit = now + int(next_random(state) % np.uint64(room + 1))
        new = _distances(ends, degree, order, links // degree, limit, seen, queue)
        if new <= limit:
            now = new
            if now < best:
                best = now
                head[:], voltage[:], mate[:] = lift.head, lift.voltage, lift.mate
        else:
            for i in range(count):
                link = touched[i]
                lift.head[link], lift.voltage[link] = old[0, i], old[1, i]
                if len(mate):
                    lift.mate[link] = old[2, i]
                _write(lift, degree, link, ends)
    lift.head[:], lift.voltage[:], lift.mate[:] = head, voltage, mate
    return best


@compiled
def _write(lift: Lift, degree: int, link: int, ends: Nodes) -> None:
    """Write the ends of all links of the lift that one of the base stands for."""
    order = len(lift.inverse)
    first, row, base = link // degree * order, lift.voltage[link], lift.head[link] * order
    for g in range(order):
        ends[(first + g) * degree + link % degree] = base + lift.table[row, g]


@compiled
def _choose(lift: Lift, links: int, touched: Ints, state: Masks) -> int:
    """Write the links that change: one whose voltage does, or two that exchange heads, each with its reverse.

    Returns: how many; two that exchange heads come first.
    """
    one = np.int64(next_random(state) % np.uint64(links))
    other = np.int64(next_random(state) % np.uint64(links))
    alone = len(lift.inverse) > 1 and next_random(state) % np.uint64(2) == np.uint64(0)
    touched[0] = one
    if len(lift.mate) == 0:
        touched[1] = other
        return 1 if alone or one == other else 2
    touched[1] = lift.mate[one]
    if lift.mate[one] == one:
        return 1
    if alone or other in (one, lift.mate[one]) or lift.mate[other] == other:
        return 2
    touched[2], touched[3] = other, lift.mate[other]
    return 4


@compiled
def _change(lift: Lift, degree: int, touched: Ints, count: int, state: Masks) -> None:
    """Change the links that were chosen."""
    one = touched[0]
    fresh = np.int64(next_random(state) % np.uint64(len(lift.inverse)))
    if len(lift.mate) == 0:
        if count == 2:
            other = touched[1]
            lift.head[one], lift.head[other] = lift.head[other], lift.head[one]
        if count == 1 or fresh & 1:
            lift.voltage[one] = fresh
        return
    if count == 1:
        if len(lift.involutions):
            lift.voltage[one] = lift.involutions[fresh % len(lift.involutions)]
        return
    back = touched[1]
    if count == 4:  # u-v and x-y become u-y and x-v
        other, away = touched[2], touched[3]
        lift.head[one], lift.head[other] = away // degree, back // degree
        lift.head[away], lift.head[back] = one // degree, other // degree
        lift.mate[one], lift.mate[away] = away, one
        lift.mate[other], lift.mate[back] = back, other
        lift.voltage[back] = lift.inverse[lift.voltage[other]]
        back = away
    if count == 2 or fresh & 1:
        lift.voltage[one] = fresh
    lift.voltage[back] = lift.inverse[lift.voltage[one]]


@compiled
def _distances(ends: Nodes, degree: int, order: int, orbits: int, limit: int, seen: Ints, queue: Ints) -> int:
    """Return the sum of the distances from a node of each orbit, or something above the limit if it is above that."""
    nodes = orbits * order
    total = 0
    seen[:] = -1
    for orbit in range(orbits):
        source = orbit * order
        seen[source] = orbit
        queue[0] = source
        low, high, far = 0, 1, 0
        while low < high:
            far += 1
            if total + far * (nodes - high) > limit:
                return limit + 1
            last = high
            for place in range(low, last):
                first = queue[place] * degree
                for link in range(first, first + degree):
                    node = ends[link]
                    if seen[node] != orbit:
                        seen[node] = orbit
                        queue[high] = node
                        high += 1
            total += far * (high - last)
            low = last
        total += nodes * nodes * orbits * (nodes - high)
    return total
