"""Schedules of some nodes: restricted, carried over and combined.

What several groups do at once is one schedule whose collective is :meth:`~topodesign.collectives.collective.Collective.
within` groups. Here it is put together from schedules of single groups, each step of one next to that of the others,
and taken apart again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from topodesign.base.arrays import seal_array
from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.collectives import Collective
from topodesign.collectives.collective import EVERYONE
from topodesign.plans.rounds import COLUMNS, Rounds
from topodesign.plans.rounds_ops import (
    allreduce,
    assemble,
    blocks_named,
    canonical,
    check_rows,
    halves,
    renamed,
    rescale,
    reverse,
)
from topodesign.topology.topology import Topology

Row = tuple[int, int, int, int, int, int]  # step, src, dst, block, lo, hi


def part_of_topology(topology: Topology, members: Sequence[int]) -> Topology:
    """Return the members, renumbered from 0, with their links."""
    number = np.full(topology.nodes, -1, dtype=np.int64)
    number[list(members)] = np.arange(len(members))
    kept = (number[topology.src] >= 0) & (number[topology.dst] >= 0)
    src, dst = number[topology.src[kept]], number[topology.dst[kept]]
    return Topology.from_arrays(len(members), src, dst, topology.capacity[kept])


def carried_over(schedule: Rounds, members: Sequence[int], nodes: int) -> Rounds:
    """Return a part's schedule among its members in the whole."""
    names = np.array(members, dtype=np.int32)
    block = blocks_named(schedule.collective, schedule.block, names, nodes)
    collective = renamed(schedule.collective, list(members))
    if collective.group is None:
        collective = collective.among(members)
    src, dst = names[schedule.src], names[schedule.dst]
    return schedule.having(collective=collective, nodes=nodes, src=src, dst=dst, block=block)


def restricted(schedule: Rounds, collective: Collective) -> Rounds:
    """Return the part of a right schedule that some nodes need.

    The collective is the same among fewer nodes, in one group or several. Nobody is sent what it has or what
    neither it nor anybody behind it needs; steps without sends are omitted.
    """
    if len(schedule.collective.parts) > 1:
        pairs = zip(halves(schedule), collective.parts, strict=True)
        return allreduce(*(restricted(half, part) for half, part in pairs))
    if collective.reduces:
        return reverse(restricted(reverse(schedule), collective.dual))
    nodes = schedule.nodes
    team = collective.teams(nodes)
    (movement,) = collective.movements
    members = collective.members(nodes)
    blocks = collective.blocks(members, nodes)
    sources, goals = collective.places(movement, blocks, nodes)
    order = np.lexsort((schedule.step, schedule.block))
    columns = [getattr(schedule, name)[order].tolist() for name in COLUMNS]
    bounds = np.searchsorted(schedule.block[order], np.stack((blocks, blocks + 1), axis=1)).tolist()
    kept: list[Row] = []
    ends = zip(bounds, blocks.tolist(), sources.tolist(), goals.tolist(), strict=True)
    for (begin, end), block, source, goal in ends:
        rows = list(zip(*(column[begin:end] for column in columns), strict=True))
        wanted = np.flatnonzero(team == team[source]).tolist() if goal == EVERYONE else [goal]
        kept += _needed(rows, block, source, wanted)
    check_rows(len(kept))
    step, src, dst, own, lo, hi = np.array(kept, dtype=np.int64).reshape(-1, 6).T
    part = assemble(collective, nodes, schedule.units, schedule.steps, [(step, src, dst, own, lo, hi)])
    return without_gaps(canonical(part))


def _needed(rows: list[Row], block: int, source: int, wanted: list[int]) -> list[Row]:
    """Return the needed rows of a block, by step, with pieces as bits."""
    cuts = sorted({end for row in rows for end in row[4:]})
    place = {cut: at for at, cut in enumerate(cuts)}
    whole = (1 << max(0, len(cuts) - 1)) - 1
    had: dict[int, int] = {source: whole}
    new: list[int] = []
    for _, _, dst, _, lo, hi in rows:
        bits = ((1 << place[hi]) - (1 << place[lo])) & ~had.get(dst, 0)
        had[dst] = had.get(dst, 0) | bits
        new.append(bits)
    needs = dict.fromkeys(wanted, whole)
    kept: list[Row] = []
    for (step, src, dst, _, _, _), brought in zip(reversed(rows), reversed(new), strict=True):
        bits = brought & needs.get(dst, 0)
        needs[src] = needs.get(src, 0) | bits
        while bits:
            low = (bits & -bits).bit_length() - 1
            high = low + ((bits >> low) + 1 & ~(bits >> low)).bit_length() - 1
            kept.append((step, src, dst, block, cuts[low], cuts[high]))
            bits &= -1 << high
    return kept


def without_gaps(schedule: Rounds) -> Rounds:
    """Return a schedule without the steps in which nothing is sent."""
    used = np.unique(schedule.step)
    if len(used) == schedule.steps:
        return schedule
    number = np.zeros(schedule.steps + 1, dtype=np.int32)
    number[used] = np.arange(1, len(used) + 1)
    adds = int((used <= schedule.reduce_steps).sum())
    return schedule.having(steps=len(used), reduce_steps=adds, step=number[schedule.step])


def empty(one: Collective, nodes: int) -> Rounds:
    """Return what a group of one node does."""
    alone = assemble(one.parts[0], nodes, 1, 0, [])
    return alone if len(one.parts) == 1 else alone.having(collective=one)


def alongside(schedules: Sequence[Rounds], collective: Collective) -> Rounds:
    """Return the concurrent schedule of several groups."""
    if tuple(one.collective for one in schedules) != collective.single:
        raise ScheduleError(f"the schedules are not of the groups of {collective!r}")
    if len(schedules) == 1:
        return schedules[0]
    if len(collective.parts) > 1:
        pairs = [halves(one) for one in schedules]
        parts = zip(zip(*pairs, strict=True), collective.parts, strict=True)
        return allreduce(*(alongside(halves_of, part) for halves_of, part in parts))
    check_rows(sum(map(len, schedules)))
    units = math.lcm(*(one.units for one in schedules))
    steps = max(one.steps for one in schedules)
    scaled = [rescale(one, units) for one in schedules]
    late = steps if collective.reduces else 0  # what is added up ends together: copying turned round
    step = np.concatenate([one.step + (late - one.steps if late else 0) for one in scaled]).astype(np.int32)
    rest = (np.concatenate([getattr(one, name) for one in scaled]) for name in COLUMNS[1:])
    return Rounds(collective, schedules[0].nodes, units, steps, late, seal_array(step), *map(seal_array, rest))


def apart(topology: Topology, schedule: Rounds) -> list[tuple[Topology, Rounds]]:
    """Return the schedule of every group on its own links."""
    nodes = schedule.nodes
    team = schedule.collective.teams(nodes, topology.switches)
    own = team[schedule.collective.owners(schedule.block, nodes)]
    strays = np.flatnonzero((team[schedule.src] != own) | (team[schedule.dst] != own))
    if len(strays):
        at = int(strays[0])
        node = next(node for node in (int(schedule.src[at]), int(schedule.dst[at])) if team[node] != own[at])
        raise InfeasibleError(
            f"node {node} passes on data of a group that it is not a member of, and a program is run by members alone; "
            "make the schedule with --no-forward"
        )
    return [
        _one_apart(topology, schedule.rows(own == number), one) for number, one in enumerate(schedule.collective.single)
    ]


def _one_apart(topology: Topology, rows: Rounds, one: Collective) -> tuple[Topology, Rounds]:
    members = one.members(topology.nodes, topology.switches).tolist()
    number = np.zeros(topology.nodes, dtype=np.int32)
    number[members] = np.arange(len(members))
    block = blocks_named(one, rows.block, number, len(members))
    alone = replace(renamed(one, number.tolist()), group=None)
    part = rows.having(collective=alone, nodes=len(members), src=number[rows.src], dst=number[rows.dst], block=block)
    return part_of_topology(topology, members), without_gaps(canonical(part))
