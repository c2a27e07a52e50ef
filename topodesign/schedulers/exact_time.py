"""Fastest timed sends of a small collective, with proof.

Every chunk of a block goes over a tree from its source; what there is to choose is the tree and when each of its sends
starts, and on a link sends stay apart. Times are exact. What is found is replayed by the verifier. That nothing is
faster is proved by a bound that needs no search (:func:`least_time`), or by CP-SAT, which goes through all other plans
that send whole chunks, each for itself.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction

from topodesign.base.deadline import Stopwatch
from topodesign.base.errors import TooLargeError
from topodesign.plans.flow import Flow
from topodesign.schedulers.demands import FAR, Proof, Send, Setting, cross_cuts, cuts_of, lean, quick_sends, write_flow
from topodesign.solve.discrete import MAX, Discrete


@dataclass(frozen=True)
class Fastest:
    """Fastest sends found, with bound and proof."""

    timed: Flow  # the fastest sends that were found
    bound: Fraction  # seconds that any others take at least (exact)
    proof: Proof  # why none are faster; ``none`` if the bound is below the time


def fastest(
    setting: Setting, *, seconds: float | None = None, jobs: int = 1, seed: int = 0, known: list[Send] | None = None
) -> Fastest:
    """Find the fastest timed sends of whole chunks.

    The result is no slower than the valid sends ``known``.

    The setting is small: 6 nodes, or 8 for most collectives.
    """
    best = quick_sends(setting, known)
    bound = least_time(setting)
    proof: Proof = "bound"
    if setting.ending(best) > bound:
        watch = Stopwatch()
        found, bound = _search(setting, bound, setting.ending(best) - 1, (seconds, jobs, seed))
        if found is not None:
            best = min(best, lean(setting, found), key=setting.ending)
        if found is not None and setting.ending(best) > setting.ending(found):
            # Sums overtake one another in a switch, which makes no plan; of those that do not this is the best.
            left = None if seconds is None else max(1.0, seconds - watch())
            found, _ = _search(setting, bound, setting.ending(best) - 1, (left, jobs, seed), in_turn=True)
            best = best if found is None else lean(setting, found)
        proof = "search" if setting.ending(best) <= bound else "none"
    return Fastest(write_flow(setting, best), bound * setting.tick, proof)


def least_time(setting: Setting) -> int:
    """Return a lower bound in ticks, from distances and cuts.

    Of the cuts those of a single node, on either side, are looked at, and all of them if there are few nodes.
    """
    heads, tails = setting.heads, setting.tails
    far = max(max(heads[one.source][goal], tails[one.source][goal]) for one in setting.demands for goal in one.goals)
    nodes = sorted({node for one in setting.demands for node in (one.source, *one.goals)})
    return max([far, *(_crossing(setting, cut, end) for cut in cuts_of(nodes) for end in (0, -1))])


def _crossing(setting: Setting, cut: frozenset[int], end: int) -> int:
    """Return the minimum ticks for data that leave some nodes.

    Every link that leaves them is counted with the port at one of its ends; what shares a port goes one by one.
    """
    out = [(one.source, [goal for goal in one.goals if goal not in cut]) for one in setting.demands]
    out = [(source, goals) for source, goals in out if source in cut and goals]
    if not out:
        return 0
    doors: dict[int, tuple[int, int]] = {}
    for link, (u, v, _) in enumerate(setting.topology.links()):
        if u in cut and v not in cut:
            # From the first start that any chunk could have, until it is where the nearest of its goals is.
            head = max(setting.opens[link], min(setting.heads[source][u] for source, _ in out))
            tail = max(setting.shuts[link], min(setting.tails[v][goal] for _, goals in out for goal in goals))
            port, _, hold = setting.ports[link][end]
            first, busy = doors.get(port, (FAR, FAR))
            doors[port] = min(first, head + setting.lasts[link] + tail), min(busy, hold)
    ticks = range(max(first + busy * len(out) for first, busy in doors.values()))
    return bisect_left(
        ticks,
        len(out),
        key=lambda end: sum(1 + (end - first) // busy for first, busy in doors.values() if first <= end),
    )


def _search(
    setting: Setting, least: int, most: int, limits: tuple[float | None, int, int], *, in_turn: bool = False
) -> tuple[list[Send] | None, int]:
    """Return the best sends within bounds, and a lower bound.

    With ``in_turn`` no partial sum overtakes another of its block in a switch.
    """
    if most > MAX:
        raise TooLargeError(f"times of {most} ticks are too long for an exact search; use rounder numbers")
    program = Discrete()
    end = program.number(least, most)
    program.minimise([(1, end)])
    sends: dict[tuple[int, int], tuple[int, int]] = {}  # flag and start of every send there is to choose
    for number in range(len(setting.demands)):
        sends |= _tree(program, setting, number, end, most)
    if in_turn:
        _keep_turns(program, setting, sends)
    on: dict[int, list[tuple[int, int, int]]] = {}  # of a port: demand, link, and from when on the link needs it
    held: dict[int, int] = {}
    for number, link in sends:
        for port, offset, hold in setting.ports[link]:
            on.setdefault(port, []).append((number, link, offset))
            held[port] = hold
    for port, uses in on.items():
        flags, starts = zip(*(sends[number, link] for number, link, _ in uses), strict=True)
        if len(uses) > 1:
            program.keep_apart(starts, held[port], flags, [offset for *_, offset in uses])
        # It follows, but tells the solver's relaxation what a port can carry.
        head = min(_start(setting, number, link) + offset for number, link, offset in uses)
        rest = min(_bound_remaining(setting, number, link) - offset - held[port] for number, link, offset in uses)
        program.row([(1, end), *((-held[port], flag) for flag in flags)], min(head + rest, least))
    seconds, jobs, seed = limits
    verdict = program.solve(seconds=seconds, jobs=jobs, seed=seed)
    if not program.solved:
        return None, most + 1 if verdict == "infeasible" else max(least, program.bound)
    chosen = [
        Send(number, link, program.value(start), program.value(start) + setting.lasts[link])
        for (number, link), (flag, start) in sends.items()
        if program.value(flag)
    ]
    return chosen, max(least, program.bound)


def _keep_turns(program: Discrete, setting: Setting, sends: dict[tuple[int, int], tuple[int, int]]) -> None:
    """Forbid that partial sums of a block overtake in a switch."""
    for number, own in itertools.groupby(sends, key=lambda one: one[0]):
        for link, other in itertools.combinations([at for _, at in own], 2):
            gap, back = setting.gap(link, other), setting.gap(other, link)
            if gap is None or back is None:
                continue
            (flag, start), (second, then) = sends[number, link], sends[number, other]
            order = program.flag(), program.flag()
            program.require_one(order)
            program.row([(1, then), (-1, start)], gap, when=[flag, second, order[0]])
            program.row([(1, start), (-1, then)], back, when=[flag, second, order[1]])


def _start(setting: Setting, number: int, link: int) -> int:
    """Return the earliest start of a chunk over a link."""
    return max(setting.opens[link], setting.heads[setting.demands[number].source][setting.src[link]])


def _bound_remaining(setting: Setting, number: int, link: int) -> int:
    """Return the minimum time from a chunk's start to the end."""
    tail = setting.tail(setting.dst[link], setting.demands[number])
    return setting.lasts[link] + max(setting.shuts[link], tail)


def _tree(
    program: Discrete, setting: Setting, number: int, end: int, most: int
) -> dict[tuple[int, int], tuple[int, int]]:
    """Add a demand's tree; return flag and start of each send."""
    one, apart = setting.demands[number], setting.heads
    tail = [setting.tail(node, one) for node in range(setting.topology.nodes)]
    inside = [node for node, head in enumerate(apart[one.source]) if node != one.source and head + tail[node] <= most]
    there = {node: program.number(apart[one.source][node], most - tail[node]) for node in inside}
    passed = {node: program.flag() for node in inside if node not in one.goals}
    brought: dict[int, list[int]] = {node: [] for node in inside}
    sends: dict[tuple[int, int], tuple[int, int]] = {}
    for node in inside:
        program.row([(1, end), (-1, there[node])], tail[node], when=[passed[node]] if node in passed else [])
    for link, (u, v, _) in enumerate(setting.topology.links()):
        head, lasts, left = _start(setting, number, link), setting.lasts[link], _bound_remaining(setting, number, link)
        if u == v or v not in there or (u != one.source and u not in there) or head + left > most:
            continue
        flag, start = program.flag(), program.number(head, most - left)
        sends[number, link] = flag, start
        brought[v].append(flag)
        program.row([(1, there[v]), (-1, start)], lasts, lasts, when=[flag])
        if setting.shuts[link]:
            program.row([(1, end), (-1, start)], left, when=[flag])
        if u != one.source:
            program.row([(1, start), (-1, there[u])], 0, when=[flag])
            if u in passed:
                program.implies(flag, passed[u])
    for node, flags in brought.items():
        if node in passed:
            program.row([*((1, flag) for flag in flags), (-1, passed[node])], 0, 0)
        else:
            program.require_one(flags)
    own = [(setting.src[link], setting.dst[link], flag) for (_, link), (flag, _) in sends.items()]
    cross_cuts(program, one, [one.source, *inside], own)
    return sends
