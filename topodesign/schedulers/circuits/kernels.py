"""Inner loops for sequences of circuits: distances, walks and loads.

A sequence has phases, each with d elements of a group, and steps, each of a phase. In a step a block at element x may
go to x*g for one g of its phase, or stay. All nodes do the same, so element x stands for the node that is x away from
wherever a block begins, and what holds for the blocks of one node holds for all.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import LARGEST, Ints, Masks, compile_kernel, inline_kernel, next_random

FAR = 2**20  # hops to what is not reached
_RAISES = 2**30  # the price of a port that is as full as any of its step, where another hop costs about one


@inline_kernel
def draw(state: Masks, count: int) -> int:
    """Return a random number below a count."""
    return int(next_random(state) % np.uint64(count))


@compile_kernel
def steps_of(counts: Ints) -> Ints:
    """Return the phase of every step."""
    at = np.empty(counts.sum(), np.int64)
    place = 0
    for phase in range(len(counts)):
        for _ in range(counts[phase]):
            at[place] = phase
            place += 1
    return at


@compile_kernel
def reach(table: Ints, phases: Ints, at: Ints, far: Ints, spare: Ints) -> None:
    """Write the minimum hops to every element over the steps.

    ``at`` has the phase of each step. Unreached elements get ``FAR``.
    """
    far[:] = FAR
    far[0] = 0
    for phase in at:
        spare[:] = far
        for slot in range(phases.shape[1]):
            g = phases[phase, slot]
            for x in range(len(far)):
                if spare[x] < FAR:
                    y = table[g, x]
                    far[y] = min(far[y], spare[x] + 1)


@compile_kernel
def score(table: Ints, phases: Ints, counts: Ints, far: Ints, spare: Ints, weights: Ints) -> int:
    """Return the cost of a sequence.

    ``weights`` are those of a step, of a hop and of an unreached element.
    """
    reach(table, phases, steps_of(counts), far, spare)
    total = weights[0] * counts.sum()
    for hops in far:
        total += weights[2] if hops == FAR else weights[1] * hops
    return int(total)


@compile_kernel
def _replace(ports: Ints, inverse: Ints, turns: Ints, duplex: bool, state: Masks) -> None:
    """Replace a port's element; for duplex circuits also its inverse."""
    slot = draw(state, len(ports))
    if not duplex:
        ports[slot] = 1 + draw(state, len(inverse) - 1)
        return
    own, other = inverse[ports[slot]] == ports[slot], -1
    for i in range(len(ports)):
        if i != slot and (inverse[ports[i]] == ports[i] if own else ports[i] == inverse[ports[slot]]):
            other = i
    if other < 0 or (own and draw(state, 2) == 0):
        ports[slot] = turns[draw(state, len(turns))]
    elif len(turns) > 0 and draw(state, 2) == 0:
        ports[slot], ports[other] = turns[draw(state, len(turns))], turns[draw(state, len(turns))]
    else:
        ports[slot] = 1 + draw(state, len(inverse) - 1)
        ports[other] = inverse[ports[slot]]


@compile_kernel
def walk(
    table: Ints, inverse: Ints, turns: Ints, duplex: bool, phases: Ints, counts: Ints, weights: Ints, tries: int,
    heat: int, state: Masks,
) -> int:  # fmt: skip
    """Improve a sequence by a cooling random walk; return its score.

    Changes that are not much worse are kept, with a tolerance that falls to zero.

    ``counts`` are the steps of each phase; a step is added, taken away or given to another phase, too.
    """
    far, spare = np.empty(len(inverse), np.int64), np.empty(len(inverse), np.int64)
    now = score(table, phases, counts, far, spare, weights)
    best, best_phases, best_counts = now, phases.copy(), counts.copy()
    old_ports, old_counts = phases.copy(), counts.copy()
    for turn in range(tries):
        old_ports[:] = phases
        old_counts[:] = counts
        kind = draw(state, 16)
        one, other = draw(state, len(phases)), draw(state, len(phases))
        if kind < 12:
            _replace(phases[one], inverse, turns, duplex, state)
        elif kind == 12:
            for i in range(phases.shape[1]):
                phases[one, i], phases[other, i] = phases[other, i], phases[one, i]
        elif kind == 13:
            counts[one] += 1
        elif counts[one] > 1:
            counts[one] -= 1
            if kind == 14:
                counts[other] += 1
        new = score(table, phases, counts, far, spare, weights)
        allowed = heat * (tries - turn) // tries
        if new <= now + draw(state, allowed + 1):
            now = new
            if new < best:
                best = new
                best_phases[:] = phases
                best_counts[:] = counts
        else:
            phases[:] = old_ports
            counts[:] = old_counts
    phases[:] = best_phases
    counts[:] = best_counts
    return int(best)


@compile_kernel
def _way(
    table: Ints, phases: Ints, at: Ints, loads: Ints, goal: int, strict: bool, state: Masks, way: Ints, room: Ints
) -> None:  # fmt: skip
    """Write the cheapest route to an element, avoiding loaded ports."""
    steps, order, ports = len(at), table.shape[1], phases.shape[1]
    cost, over = room[: steps + 1], room[steps + 1 :]
    cost[0, :] = LARGEST
    cost[0, 0] = 0
    for k in range(steps):
        cost[k + 1, :] = cost[k]
        over[k, :] = 0
        fullest, total = loads[k].max(), loads[k].sum()
        first = draw(state, ports)
        for turn in range(ports):
            slot = (first + turn) % ports
            g = phases[at[k], slot]
            more = 32 + draw(state, 8)
            if not strict:
                more += max(0, loads[k, slot] * ports - total) * 32
            elif loads[k, slot] == fullest:
                more += _RAISES
            for x in range(order):
                if cost[k, x] < LARGEST:
                    y = table[g, x]
                    if cost[k, x] + more < cost[k + 1, y]:
                        cost[k + 1, y] = cost[k, x] + more
                        over[k, y] = slot + 1
    for k in range(steps - 1, -1, -1):
        way[k] = over[k, goal]
        if way[k] > 0:
            g = phases[at[k], way[k] - 1]
            for x in range(order):
                if table[g, x] == goal:
                    goal = x
                    break


@compile_kernel
def spread_units(
    table: Ints, phases: Ints, at: Ints, units: int, sweeps: int, state: Masks, ways: Ints, loads: Ints
) -> int:
    """Choose routes for all units with small maximum port loads.

    ``ways[x * units + u, k]`` becomes 1 + the port over which the unit goes in step k, or 0 where it stays;
    ``loads[k, port]`` the units that go there. Units are taken out and put back one after the other, on the way that
    raises what is full least. Returns the sum over steps of the largest load.
    """
    order, steps = table.shape[1], len(at)
    room = np.empty((2 * steps + 1, order), np.int64)
    loads[:] = 0
    ways[:] = 0
    total = 0
    for sweep in range(sweeps):
        for turn in range(len(ways) if sweep == 0 else len(ways) - units):
            unit = turn if sweep == 0 else units + draw(state, len(ways) - units)
            if unit < units:
                continue
            for k in range(steps):
                if ways[unit, k] > 0:
                    loads[k, ways[unit, k] - 1] -= 1
            _way(table, phases, at, loads, unit // units, sweep > sweeps // 2, state, ways[unit], room)
            for k in range(steps):
                if ways[unit, k] > 0:
                    loads[k, ways[unit, k] - 1] += 1
        total = 0
        for k in range(steps):
            total += loads[k].max()
    return int(total)
