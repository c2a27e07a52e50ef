"""Groups that run at once, whose circuits change together: what each does by itself, put side by side phase by phase.

What copies begins together, and what adds ends together. A group that has fewer topologies than others keeps its last
(of what adds: has its first before its time), and one that has fewer steps in a phase waits there. So y of a step is
that of the group with the fullest port, and no group is slower than the slowest of what was chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import accumulate, product, zip_longest

import numpy as np

from topodesign.collectives import Collective
from topodesign.plans.group_ops import alongside, carried_over
from topodesign.plans.kinds import kind_of
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Phases, Rounds
from topodesign.schedulers.circuits.bounds import Room, Work
from topodesign.schedulers.circuits.published import Half, Option, in_turn, published
from topodesign.schedulers.circuits.sequence import right
from topodesign.topology.topology import IntArray

_MOST_WAYS = 4096  # to choose a plan for each size that are tried


def options_of(room: Room, collective: Collective, *, planes: bool) -> Iterator[Option]:
    """Yield what is known that groups of one size may do; with ``planes`` in turn, too."""
    yield from _known(room, collective)
    if planes and room.degree % 2 == 0:
        some = (in_turn(one, room.degree) for one in _known(replace(room, degree=room.degree // 2), collective))
        yield from (one for one in some if one is not None)


@cache
def _known(room: Room, collective: Collective) -> list[Option]:
    return list(published(room.nodes, room.degree, collective, duplex=room.duplex))


def together(options: Sequence[Sequence[Option]], work: Work) -> list[tuple[Option, ...]]:
    """Return what groups of each size may do at once: the fastest of all, what all do alike, and what never changes.

    All ways to choose are tried; of many sizes those among what is fastest alone.
    """

    def time(chosen: Sequence[Option]) -> Fraction:
        steps, factor, changes = 0, Fraction(0), 0
        for half in range(2):
            counts, levels = common([one.halves[half] for one in chosen])
            steps, factor, changes = steps + sum(counts), factor + sum(levels), changes + max(0, len(counts) - 1)
        return work.time(steps, factor, changes)

    def fastest(among: Sequence[Sequence[Option]]) -> list[tuple[Option, ...]]:
        most = max(1, int(_MOST_WAYS ** (1 / len(among))))
        few = [sorted(some, key=lambda one: time([one]))[:most] for some in among]
        return [min(product(*few), key=time)] if all(few) else []

    found = fastest(options) + fastest([[one for one in some if not one.moved.changes] for some in options])
    by_name = [{one.name: one for one in some} for some in options]
    found += [tuple(some[name] for some in by_name) for name in by_name[0] if all(name in some for some in by_name)]
    return list({tuple(map(id, one)): one for one in found}.values())


def all_in_groups(
    options: Sequence[Sequence[Option]], collective: Collective, nodes: int, work: Work
) -> Iterator[Option]:
    """Yield plans of groups, given what those of each size may do, the smallest first."""
    teams = [len(one.group or ()) for one in collective.single]
    for chosen in together(options, work) if len(options) > 1 else [(one,) for one in options[0]]:
        of_size = dict(zip(sorted(set(teams)), chosen, strict=True))
        names = list(dict.fromkeys(one.name for one in chosen))
        name = names[0] if len(names) == 1 else "; ".join(f"{size}: {one.name}" for size, one in of_size.items())
        source = chosen[0].source if len(names) == 1 else ""
        yield Option(name, source, in_groups([of_size[size] for size in teams], collective, nodes))


def common(halves: Sequence[Half]) -> tuple[list[int], list[Fraction]]:
    """Return the steps of each topology that groups have together, and the y of each step."""
    counts, levels = [], []
    for phases in zip_longest(*halves, fillvalue=()):
        columns = list(zip_longest(*phases, fillvalue=Fraction(0)))
        counts.append(len(columns))
        levels += [max(column) for column in columns]
    return counts, levels


def in_groups(chosen: Sequence[Option], collective: Collective, nodes: int) -> Plan:
    """Return the plan in which groups do at once what each has chosen, and change together."""
    counts = [common([one.halves[half] for one in chosen])[0] for half in range(2)]
    before = [list(accumulate(some, initial=0)) for some in counts]
    adding, topologies = sum(counts[0]), [max(1, len(some)) for some in counts]
    rounds: list[Rounds] = []
    circuits: list[list[IntArray]] = [[] for _ in range(sum(topologies) - 1)]
    for team, one in zip((alone.group or () for alone in collective.single), chosen, strict=True):
        moved, step = one.moved, [0]
        for half, sign in ((0, -1), (1, 1)):
            own = [
                before[half][phase] + at
                for phase, levels in enumerate(one.halves[half])
                for at in range(1, len(levels) + 1)
            ]
            step += [adding + at for at in own] if sign > 0 else [adding + 1 - at for at in reversed(own)]
        now = np.array(step, dtype=np.int32)[moved.step]
        own_rounds = moved.rounds.having(steps=adding + sum(counts[1]), reduce_steps=adding, step=now)
        rounds.append(carried_over(own_rounds, team, nodes))
        names = np.array(team)
        for number, rows in enumerate(circuits):
            phase = one.middle + number - (topologies[0] - 1)
            some = moved.circuits_of(min(max(0, phase), moved.changes))
            some[:, ::2] = names[some[:, ::2]]
            rows.append(some)
    lengths = [*counts[0][:0:-1], sum(some[0] for some in counts if some), *counts[1][1:]]
    movement = Phases.of(
        alongside(rounds, collective),
        [np.concatenate(rows) for rows in circuits],
        np.cumsum([1, *lengths[:-1]]),
        ports=chosen[0].moved.ports,
        duplex=chosen[0].moved.duplex,
    )
    other = replace(chosen[0].plan, place=movement.union(), movement=movement, spec=None)
    return right(replace(other, claim=dict(kind_of(other).measures())))
