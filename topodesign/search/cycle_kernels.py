"""Compiled annealing of multicirculant graphs.

By the pairs that are too far apart.

There are up to 64 cycles, of p nodes each but for the last ones, whose lengths divide p. Every cycle has ports, each
with a mate at the other end of its links and a turn: node (c, t) of its cycle has a link to (c', t + turn) of its
mate's. A port that is its own mate has a turn of half its cycle. Of a shorter cycle of p/h nodes, a port to one of p
nodes stands for h links.

A word for each node says which cycles' first nodes are within k steps of it: bit c for (c, 0). Going a step on is to
unite, for every port, two runs of words, of which one begins at the turn: machine code does so many words at a time.
Rows of words are 2p long, as if every cycle were run through twice or more often, so that no run has to be split.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topodesign.base.compiled import Ints, Masks, compile_kernel
from topodesign.search.screening_kernels import ones
from topodesign.search.voltage_kernels import _draw, _noise

_HOT, _COOL = 16, 90
"""256 times the pairs by which it may get worse on average: for each that is too far apart at first; at the end."""


class Cycles(NamedTuple):
    """Cycles and their ports; shorter cycles come last.

    * ``mate``, ``turn``: of each port.
    """

    length: Ints  # of each cycle
    first: Ints  # first port of each cycle, and the number of ports
    cycle: Ints  # where each port is
    mate: Ints
    turn: Ints
    full: int  # number of ports of cycles of full length


@compile_kernel
def too_far(cycles: Cycles, steps: int, now: Masks, then: Masks) -> int:
    """Return the pairs of a cycle's first node with any node too far apart.

    ``now`` and ``then`` are room for two rows of words for each cycle, uint64 of shape ``(cycles, 2p)``.
    """
    count, p = len(cycles.length), now.shape[1] // 2
    now[:, :] = np.uint64(0)
    for c in range(count):
        for t in range(0, 2 * p, cycles.length[c]):
            now[c, t] = np.uint64(1) << np.uint64(c)
    for _ in range(steps):
        for c in range(count):
            row, length = then[c], cycles.length[c]
            row[:p] = now[c, :p]
            for port in range(cycles.first[c], cycles.first[c + 1]):
                start = cycles.turn[port]
                other = now[cycles.cycle[cycles.mate[port]], start : start + p]  # without negative indices: vectorised
                for t in range(p):
                    row[t] |= other[t]
            for t in range(length, p):  # a node of a shorter cycle stands for several
                row[t % length] |= row[t]
            for t in range(length, 2 * p, length):
                row[t : t + length] = row[:length]
        now, then = then, now
    missing = 0
    for c in range(count):
        for t in range(cycles.length[c]):
            missing += count - ones(now[c, t])
    return missing


@compile_kernel
def join(cycles: Cycles, port: int, other: int, turn: int) -> None:
    """Join two ports with a turn from the first; a single port gets half."""
    p = cycles.length[0]
    cycles.mate[port], cycles.mate[other] = other, port
    if port == other:
        cycles.turn[port] = cycles.length[cycles.cycle[port]] // 2
    else:
        cycles.turn[port], cycles.turn[other] = turn % p, -turn % p


@compile_kernel
def _link(cycles: Cycles, port: int, other: int, state: Masks) -> None:
    """Join two ports with a random turn."""
    one, two = cycles.cycle[port], cycles.cycle[other]
    if one == two:
        join(cycles, port, other, 1 + _draw(cycles.length[one] - 1, state))
    else:
        join(cycles, port, other, _draw(max(cycles.length[one], cycles.length[two]), state))


@compile_kernel
def _change(cycles: Cycles, state: Masks, touched: Ints) -> int:
    """Draw a move: a new turn, or exchanged mates; return the changed ports' number."""
    port, other = _draw(len(cycles.mate), state), _draw(cycles.full, state)
    mate = cycles.mate[port]
    if port >= cycles.full or port == other or _draw(2, state) == 0:
        if port == mate:
            return 0
        touched[0], touched[1] = port, mate
        return 2
    touched[0], touched[1], touched[2], touched[3] = port, other, mate, cycles.mate[other]
    return 4


@compile_kernel
def _carry_out(cycles: Cycles, number: int, touched: Ints, state: Masks) -> None:
    """Apply a drawn move to ports."""
    port, other, mate, its = touched
    if number == 2:
        _link(cycles, port, other, state)
        return
    if mate == port:
        port, other, mate, its = other, port, its, mate
    if mate == other:
        if cycles.length[0] % 2 == 0:
            join(cycles, port, port, 0)
            join(cycles, other, other, 0)
    elif mate == port:  # both are their own mates
        _link(cycles, port, other, state)
    elif its == other:
        near = mate if mate >= cycles.full else port  # a shorter cycle's port is never its own mate's
        _link(cycles, other, near, state)
        join(cycles, port + mate - near, port + mate - near, 0)
    elif mate >= cycles.full and its >= cycles.full:  # shorter cycles are not joined
        _link(cycles, port, its, state)
        _link(cycles, other, mate, state)
    else:
        _link(cycles, port, other, state)
        _link(cycles, mate, its, state)


@compile_kernel
def bring_near(cycles: Cycles, steps: int, changes: int, state: Masks) -> int:
    """Anneal turns and mates until no pair is too far apart.

    * ``cycles``: changed in place.
    * ``steps``: how far nodes may be apart.
    * ``changes``: how many to try.
    * ``state``: one uint64, not zero: the random generator's state, changed in place.

    Returns: how many pairs are left at the end.
    """
    p = cycles.length[0]
    now = np.zeros((len(cycles.length), 2 * p), np.uint64)
    then = np.zeros_like(now)
    touched, before = np.zeros(4, np.int64), np.zeros((4, 2), np.int64)
    far = too_far(cycles, steps, now, then)
    hot = _HOT * far
    warm = hot
    for tried in range(changes):
        if far == 0:
            break
        if tried % 64 == 0:
            left = (changes - tried) * 1024 // changes
            warm = _COOL + hot * left // 1024 * left // 1024 * left // 1024
        number = _change(cycles, state, touched)
        if number == 0:
            continue
        for i in range(number):
            before[i, 0], before[i, 1] = cycles.mate[touched[i]], cycles.turn[touched[i]]
        _carry_out(cycles, number, touched, state)
        after = too_far(cycles, steps, now, then)
        if after <= far + (_noise(warm, state) >> 8):
            far = after
            continue
        for i in range(number):
            cycles.mate[touched[i]], cycles.turn[touched[i]] = before[i, 0], before[i, 1]
    return far
