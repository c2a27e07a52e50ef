"""Concurrent groups over circuits that change together.

What copies begins together, and what adds ends together. A group that has fewer topologies than others keeps its last
(of what adds: has its first before its time) and spreads over all those phases what it sends in it, where that takes
less time; one that has fewer steps in a phase waits there. So y of a step is that of the group with the fullest port,
and no group is slower than the slowest of what was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise, product, zip_longest

import numpy as np

from topodesign.collectives import Collective
from topodesign.plans.build import Part, build_steps
from topodesign.plans.flow import Circuits, Flow
from topodesign.plans.group_ops import alongside, carried_over
from topodesign.plans.measure import flow_claim
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import unfold_steps
from topodesign.schedulers.circuits.bounds import Room, Work
from topodesign.schedulers.circuits.published import Contender, Half, in_turn, iterate_published
from topodesign.schedulers.circuits.sequence import over_circuits, right
from topodesign.topology.topology import IntArray

_MAX_WAYS = 4096  # to choose a plan for each size that are tried
_MAX_PARTS = 24  # of a unit, that is spread over phases


def options_of(room: Room, collective: Collective, *, planes: bool) -> Iterator[Contender]:
    """Yield the known plans for groups of one size.

    With ``planes`` it includes plans on two alternating planes.
    """
    yield from _list_known(room, collective)
    if planes and room.degree % 2 == 0:
        some = (in_turn(one, room.degree) for one in _list_known(replace(room, degree=room.degree // 2), collective))
        yield from (one for one in some if one is not None)


@cache
def _list_known(room: Room, collective: Collective) -> list[Contender]:
    return list(iterate_published(room.nodes, room.degree, collective, duplex=room.duplex))


def combine_groups(options: Sequence[Sequence[Contender]], work: Work) -> list[tuple[Contender, ...]]:
    """Return combinations of plans for concurrent groups.

    These are the fastest overall, the fastest without changes, and those with one plan name for all sizes.

    All ways to choose are tried; of many sizes those among what is fastest alone.
    """

    def time(chosen: Sequence[Contender]) -> Fraction:
        return _time(chosen, work)

    def fastest(among: Sequence[Sequence[Contender]]) -> list[tuple[Contender, ...]]:
        most = max(1, int(_MAX_WAYS ** (1 / len(among))))
        few = [sorted(some, key=lambda one: time([one]))[:most] for some in among]
        return [min(product(*few), key=time)] if all(few) else []

    found = fastest(options) + fastest([[one for one in some if not one.moved.switching.changes] for some in options])
    by_name = [{one.name: one for one in some} for some in options]
    found += [tuple(some[name] for some in by_name) for name in by_name[0] if all(name in some for some in by_name)]
    every = {tuple(map(id, one)): one for one in found}.values()
    return [_spread_groups(one, work) for one in every]


def _time(chosen: Sequence[Contender], work: Work) -> Fraction:
    """Return the time of concurrent groups with chosen options."""
    steps, factor, changes = 0, Fraction(0), 0
    for half in range(2):
        counts, levels = common([one.halves[half] for one in chosen])
        steps, factor, changes = steps + sum(counts), factor + sum(levels), changes + max(0, len(counts) - 1)
    return work.time(steps, factor, changes)


def _spread_groups(chosen: tuple[Contender, ...], work: Work) -> tuple[Contender, ...]:
    """Spread early groups over the phases of others if faster."""
    for half in range(2):
        for at, one in enumerate(chosen):
            others = [other.halves[half] for other in (*chosen[:at], *chosen[at + 1 :])]
            own = one.halves[half]
            counts, levels = common(others)
            if not own or len(counts) < len(own):
                continue
            begins = list(accumulate(counts, initial=0))[len(own) - 1 :]
            there = [levels[lo:hi] for lo, hi in pairwise(begins)]
            if len(own[-1]) > 1:  # several steps are spread over phases alone
                there = [[sum(some, Fraction(0))] for some in there]
            slots, total = sum(map(len, there)), sum(map(sum, there), Fraction(0))
            if slots < 2 or not total:
                continue
            shares = [[part / total for part in some] for some in there]
            if math.lcm(*(share.denominator for some in shares for share in some)) > _MAX_PARTS:
                shares = [[Fraction(1, slots)] * len(some) for some in there]
            other = (*chosen[:at], _repeat_outer(one, half, shares), *chosen[at + 1 :])
            if _time(other, work) < _time(chosen, work):
                chosen = other
    return chosen


def _repeat_outer(one: Contender, half: int, shares: Sequence[Sequence[Fraction]]) -> Contender:
    """Return the plan with a half's outermost steps repeated.

    ``shares``: of every unit, what is sent each time: for the phases of one topology, outwards, those of its turns.
    """
    each = [share for some in shares for share in some]
    moved, before, parts = (
        unfold_steps(one.moved),
        one.moved.switching,
        math.lcm(*(share.denominator for share in each)),
    )
    outer = before.changes if half else 0
    begin = max(int(before.first_step[outer]), moved.reduce_steps + 1 if half else 1)
    last = moved.steps if half else min([moved.reduce_steps, *(int(first) - 1 for first in before.first_step[1:2])])
    length, more = last + 1 - begin, len(each) - 1
    mine = (moved.step >= begin) & (moved.step <= last)
    later = 0 if half else more * length  # by which all others move back
    old = moved.some(~mine)
    rows: list[Part] = [(old.step + later, old.src, old.dst, old.block, old.lo * parts, old.hi * parts)]
    count = (moved.hi - moved.lo)[mine]
    unit = np.concatenate([np.arange(lo, hi) for lo, hi in zip(moved.lo[mine], moved.hi[mine], strict=True)])
    cuts = [int(cut * parts) for cut in accumulate(each, initial=Fraction(0))]
    for turn, (lo, hi) in enumerate(pairwise(cuts)):
        step = np.repeat(moved.step[mine] + later + (turn if half else -turn) * length, count)
        src, dst, block = (np.repeat(column[mine], count) for column in (moved.src, moved.dst, moved.block))
        rows.append((step, src, dst, block, unit * parts + lo, unit * parts + hi))
    head = moved.collective, moved.nodes, moved.units * parts, moved.steps + more * length
    made = build_steps(*head, rows, reduce_steps=moved.reduce_steps + later)
    circuits = [before.rows(phase) for phase in range(before.changes + 1)]
    again = [before.rows(outer)] * (len(shares) - 1)
    turns = length * np.cumsum([len(some) for some in shares])  # steps up to the end of each phase, outwards
    if half:
        circuits, first = circuits + again, np.append(before.first_step, begin + turns[:-1])
    else:
        new = 1 + int(turns[-1]) - turns[::-1]  # first steps, the outermost first
        circuits, first = again + circuits, np.append(new, before.first_step[1:] + later)
    changing = Circuits.of(circuits, first, ports=before.ports, duplex=before.duplex)
    other = over_circuits(made, changing)
    plan = replace(one.plan, place=other.place, movement=other, claim=flow_claim(other))
    return Contender(one.name, one.source, right(plan))


def iterate_groups(
    options: Sequence[Sequence[Contender]], collective: Collective, nodes: int, work: Work
) -> Iterator[Contender]:
    """Yield plans of groups, given options for each size.

    Sizes are in ascending order.
    """
    teams = [len(one.group or ()) for one in collective.single]
    for chosen in combine_groups(options, work) if len(options) > 1 else [(one,) for one in options[0]]:
        of_size = dict(zip(sorted(set(teams)), chosen, strict=True))
        names = list(dict.fromkeys(one.name for one in chosen))
        name = names[0] if len(names) == 1 else "; ".join(f"{size}: {one.name}" for size, one in of_size.items())
        source = chosen[0].source if len(names) == 1 else None
        yield Contender(name, source, in_groups([of_size[size] for size in teams], collective, nodes))


def common(halves: Sequence[Half]) -> tuple[list[int], list[Fraction]]:
    """Return the joint steps per topology and y per step."""
    counts, levels = [], []
    for phases in zip_longest(*halves, fillvalue=()):
        columns = list(zip_longest(*phases, fillvalue=Fraction(0)))
        counts.append(len(columns))
        levels += [max(column) for column in columns]
    return counts, levels


def in_groups(chosen: Sequence[Contender], collective: Collective, nodes: int) -> Plan:
    """Return the plan of concurrent groups with chosen options.

    Their circuits change together.
    """
    counts = [common([one.halves[half] for one in chosen])[0] for half in range(2)]
    before = [list(accumulate(some, initial=0)) for some in counts]
    adding, topologies = sum(counts[0]), [max(1, len(some)) for some in counts]
    rounds: list[Flow] = []
    circuits: list[list[IntArray]] = [[] for _ in range(sum(topologies) - 1)]
    for team, one in zip((alone.group or () for alone in collective.single), chosen, strict=True):
        moved, changing, step = unfold_steps(one.moved), one.moved.switching, [0]
        for half, sign in ((0, -1), (1, 1)):
            own = [
                before[half][phase] + at
                for phase, levels in enumerate(one.halves[half])
                for at in range(1, len(levels) + 1)
            ]
            step += [adding + at for at in own] if sign > 0 else [adding + 1 - at for at in reversed(own)]
        now = np.array(step, dtype=np.int32)[moved.step]
        rounds.append(moved.having(steps=adding + sum(counts[1]), start=now - 1, end=now))
        names = np.array(team)
        for number, rows in enumerate(circuits):
            phase = one.middle + number - (topologies[0] - 1)
            some = changing.rows(min(max(0, phase), changing.changes))
            some[:, ::2] = names[some[:, ::2]]
            rows.append(some)
    lengths = [*counts[0][:0:-1], sum(some[0] for some in counts if some), *counts[1][1:]]
    first = chosen[0].moved.switching
    changes = [np.concatenate(rows) for rows in circuits]
    changing = Circuits.of(changes, np.cumsum([1, *lengths[:-1]]), ports=first.ports, duplex=first.duplex)
    teams, place = [alone.group or () for alone in collective.single], changing.union(nodes)
    parts = [carried_over(one, team, place) for one, team in zip(rounds, teams, strict=True)]
    movement = alongside(parts, collective).having(circuits=changing)
    claim = flow_claim(movement)
    return right(replace(chosen[0].plan, place=movement.place, movement=movement, spec=None, claim=claim))
