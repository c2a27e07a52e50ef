"""Schedules of some nodes: restricted, carried over and combined.

What several groups do at once is one schedule whose collective is :meth:`~topodesign.collectives.collective.Collective.
within` groups. Here it is put together from schedules of single groups, each step of one next to that of the others,
and taken apart again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.collectives import Collective
from topodesign.collectives.collective import EVERYONE
from topodesign.plans.build import blocks_named, build_steps, check_rows, renamed
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import concatenate, halves, reverse
from topodesign.plans.step_ops import canonical, join_sends, rescale
from topodesign.topology.topology import Topology

Row = tuple[int, int, int, int, int, int]  # step, src, dst, block, lo, hi


def part_of_topology(topology: Topology, members: Sequence[int]) -> Topology:
    """Return the members, renumbered from 0, with their links."""
    number = np.full(topology.nodes, -1, dtype=np.int64)
    number[list(members)] = np.arange(len(members))
    kept = (number[topology.src] >= 0) & (number[topology.dst] >= 0)
    src, dst = number[topology.src[kept]], number[topology.dst[kept]]
    return Topology.from_arrays(len(members), src, dst, topology.capacity[kept])


def passing(topology: Topology, members: Collection[int]) -> Topology:
    """Return the links with all non-members as switches."""
    others = set(range(topology.nodes)).difference(members)
    if others == topology.switches:
        return topology
    kept = topology.src != topology.dst
    columns = (topology.src[kept], topology.dst[kept], topology.capacity[kept])
    return Topology.from_arrays(topology.nodes, *columns, switches=others)


def carried_over(flow: Flow, members: Sequence[int], topology: Topology) -> Flow:
    """Return a part's flow among its members in the whole."""
    names = np.array(members, dtype=np.int32)
    block = blocks_named(flow.collective, flow.block, names, topology.nodes)
    collective = renamed(flow.collective, list(members))
    if collective.group is None:
        collective = collective.among(members)
    return flow.having(collective=collective, place=topology, src=names[flow.src], dst=names[flow.dst], block=block)


def restricted(schedule: Flow, collective: Collective) -> Flow:
    """Return the part of a right schedule that some nodes need.

    The collective is the same among fewer nodes, in one group or several. Nobody is sent what it has or what
    neither it nor anybody behind it needs; steps without sends are omitted.
    """
    if len(schedule.collective.parts) > 1:
        pairs = zip(halves(schedule), collective.parts, strict=True)
        return concatenate(*(restricted(half, part) for half, part in pairs))
    if collective.reduces:
        return reverse(restricted(reverse(schedule), collective.dual), schedule.place)
    nodes = schedule.nodes
    team = collective.teams(nodes)
    (movement,) = collective.movements
    members = collective.members(nodes)
    blocks = collective.blocks(members, nodes)
    sources, goals = collective.places(movement, blocks, nodes)
    order = np.lexsort((schedule.step, schedule.block))
    columns = [column[order].tolist() for column in schedule.table().values()]
    bounds = np.searchsorted(schedule.block[order], np.stack((blocks, blocks + 1), axis=1)).tolist()
    kept: list[Row] = []
    ends = zip(bounds, blocks.tolist(), sources.tolist(), goals.tolist(), strict=True)
    for (begin, end), block, source, goal in ends:
        rows = list(zip(*(column[begin:end] for column in columns), strict=True))
        wanted = np.flatnonzero(team == team[source]).tolist() if goal == EVERYONE else [goal]
        kept += _needed(rows, block, source, wanted)
    check_rows(len(kept))
    step, src, dst, own, lo, hi = np.array(kept, dtype=np.int64).reshape(-1, 6).T
    part = build_steps(collective, schedule.place, schedule.units, schedule.steps, [(step, src, dst, own, lo, hi)])
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


def without_gaps(schedule: Flow) -> Flow:
    """Return a schedule without the steps in which nothing is sent."""
    used = np.unique(schedule.step)
    if len(used) == schedule.steps:
        return schedule
    number = np.zeros(schedule.steps + 1, dtype=np.int32)
    number[used] = np.arange(1, len(used) + 1)
    step = number[schedule.step]
    return schedule.having(steps=len(used), start=step - 1, end=step)


def empty(one: Collective, topology: Topology) -> Flow:
    """Return the flow of a group of one node."""
    return build_steps(one, topology, 1, 0, [])


def alongside(schedules: Sequence[Flow], collective: Collective) -> Flow:
    """Return the concurrent schedule of several groups."""
    if tuple(one.collective for one in schedules) != collective.single:
        raise ScheduleError(f"the schedules are not of the groups of {collective!r}")
    if len(schedules) == 1:
        return schedules[0]
    if len(collective.parts) > 1:
        pairs = [halves(one) for one in schedules]
        parts = zip(zip(*pairs, strict=True), collective.parts, strict=True)
        return concatenate(*(alongside(halves_of, part) for halves_of, part in parts))
    check_rows(sum(map(len, schedules)))
    units = math.lcm(*(one.units for one in schedules))
    steps = max(one.steps for one in schedules)
    scaled = [rescale(one, units) for one in schedules]
    late = steps if collective.reduces else 0  # what is added up ends together: copying turned round
    columns = join_sends(scaled)
    wait = np.repeat([late - one.steps if late else 0 for one in scaled], [len(one) for one in scaled]).astype(np.int32)
    columns |= {"start": columns["start"] + wait, "end": columns["end"] + wait}
    return scaled[0].having(collective=collective, units=units, steps=steps, **columns)


def apart(schedule: Flow) -> list[Flow]:
    """Return the schedule of every group on its own links."""
    nodes, topology, found = schedule.nodes, schedule.topology, list[Flow]()
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
    for at, one in enumerate(schedule.collective.single):
        members, rows = one.members(nodes, topology.switches).tolist(), schedule.some(own == at)
        number = np.zeros(nodes, dtype=np.int32)
        number[members] = np.arange(len(members))
        ends = {"src": number[rows.src], "dst": number[rows.dst]}
        ends["block"] = blocks_named(one, rows.block, number, len(members))
        alone, place = replace(renamed(one, number.tolist()), group=None), part_of_topology(topology, members)
        found.append(without_gaps(canonical(rows.having(collective=alone, place=place, **ends))))
    return found
