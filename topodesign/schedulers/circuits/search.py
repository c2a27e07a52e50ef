"""Search for symmetric sequences of circuits over several groups.

For every number of topologies whose bound is below the best plan so far, those of least bound first: walks over the
elements of all ports and the steps of all phases, short ones over every group and long ones over the groups that did
best; then ways with even loads for what the walks found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from topodesign.collectives import Collective
from topodesign.plans.plan import Plan
from topodesign.schedulers.circuits import kernels
from topodesign.schedulers.circuits.bounds import Room, Work, bound_times, least_steps
from topodesign.schedulers.circuits.published import copying, extend_pairs, is_alone, make_plan, on_ports, spare
from topodesign.schedulers.circuits.sequence import Sequence
from topodesign.topology.group_catalog import further_groups
from topodesign.topology.groups import Group, abelian, cyclic, dihedral
from topodesign.topology.topology import IntArray

MAX_NUMBERS = 8  # numbers of topologies that are walked for at most
_BEST = 3  # groups with a long walk
_LONG, _SHORTER, _LEAST = 2**24, 8, 50  # hops that long walks follow, how much shorter others are, tries at least
_HEAT = 4  # hops, or steps, that a walk may lose at its beginning
_FAR, _SPARE, _SEED = 64, 2, 88172645463325253  # hops that an element counts that is not reached; more steps to begin
_FEW = 16  # with more ports, over all phases, than this and 3/4 of the nodes direct circuits are as good
_ANY = Fraction(2**64)  # seconds that any plan beats
_HOP = 2**20  # the weight of a hop; others are in proportion


@cache
def groups(nodes: int) -> tuple[Group, ...]:
    """Return the groups of an order that the search uses.

    These are cyclic, of equal factors, dihedral, and those with few commuting pairs.
    """
    found = [cyclic(nodes)]
    for root in range(2, nodes):
        power, count = root, 1
        while power < nodes:
            power, count = power * root, count + 1
        if power == nodes and count > 1:
            found.append(abelian(*[root] * count))
    if nodes % 2 == 0 and nodes > 4:
        found.append(dihedral(nodes // 2))
    return (*found, *further_groups(nodes, 12))


class _Tables(NamedTuple):
    """Group as right multiplications, inverses and involutions.

    ``table[g, x] = x * g``, and involutions are the elements other than 1 that are their own inverses.
    """

    group: Group
    table: IntArray
    inverse: IntArray
    turns: IntArray


@cache
def _tables(group: Group) -> _Tables:
    inverse = group.inverses()
    turns = np.flatnonzero(inverse == np.arange(group.order))[1:]
    return _Tables(group, np.ascontiguousarray(group.table()), inverse, turns.astype(np.int64))


def search(
    room: Room,
    collective: Collective,
    work: Work,
    incumbent: Fraction,
    *,
    progress: Callable[[float], None] | None = None,
) -> list[Plan]:
    """Return plans faster than the incumbent, the best last."""
    found: list[Plan] = []
    if is_alone(room.nodes, room.degree, duplex=room.duplex):
        fewer = search(replace(room, nodes=room.nodes - 1), copying(collective), work, _ANY)
        plans = [extend_pairs(one, collective) for one in fewer]
        return [one for one in plans if one is not None and _seconds(one, work) < incumbent]
    times = bound_times([room], collective, work)
    numbers = sorted((time, number) for number, time in enumerate(times, 1) if time is not None)
    for place, (least, number) in enumerate(numbers[:MAX_NUMBERS]):
        if progress is not None:
            progress(place / MAX_NUMBERS)
        if least >= incumbent or number * room.degree > max(_FEW, room.nodes * 3 // 4):
            continue
        dark = spare(room.nodes, room.degree, duplex=room.duplex)
        for sequence in _walk_sequences(replace(room, degree=room.degree - dark), collective, number, work):
            plan = make_plan(sequence, collective, "search", room.degree - dark)
            if plan is None:
                continue
            plan = on_ports(plan, room.degree) if dark else plan
            if _seconds(plan, work) < incumbent:
                incumbent = _seconds(plan, work)
                found.append(plan)
    return found


def _seconds(plan: Plan, work: Work) -> Fraction:
    return work.time(int(plan.claim["steps"]), plan.claim["bandwidth"], int(plan.claim["changes"]))


def _walk_sequences(room: Room, collective: Collective, number: int, work: Work) -> list[Sequence]:
    """Return the best sequences found by walks, one per group."""
    hop = work.second / room.nodes if collective.pairwise else Fraction(0)
    step = work.alpha
    if not hop and not step:
        return []
    scale = Fraction(_HOP) / max(hop, step)
    return _walks(room, number, _near(step * scale), _near(hop * scale))


def _near(weight: Fraction) -> int:
    """Round a weight down to three binary digits."""
    whole = int(weight)
    drop = max(0, whole.bit_length() - 3)
    return whole >> drop << drop


@cache
def _walks(room: Room, number: int, step: int, hop: int) -> list[Sequence]:
    """Return the best sequences for given step and hop weights."""
    least = least_steps(room.nodes, room.degree, number, duplex=room.duplex)
    if least is None:
        return []
    most = max(step, hop)
    far = 2 * room.nodes if number * room.degree == 1 else _FAR  # to the last of a ring there are as many hops as nodes
    weights = np.array([step, hop, far * most], dtype=np.int64)
    spare = _SPARE if hop else 0
    counts = np.full(number, 1, dtype=np.int64)
    for extra in range(least - number + spare):
        counts[extra % number] += 1
    tries = _LONG // (room.nodes * room.degree * int(counts.sum()))
    rng = np.random.default_rng(number)

    def walk(one: _Tables, ports: IntArray, counts: IntArray, tries: int) -> int:
        state = np.array([_SEED], dtype=np.uint64)
        ends = one.table, one.inverse, one.turns, room.duplex, ports, counts
        return kernels.walk(*ends, weights, max(_LEAST, tries), _HEAT * most, state)

    begun = []
    for place, group in enumerate(groups(room.nodes)):
        one = _tables(group)
        if not room.duplex or room.degree % 2 == 0 or len(one.turns):
            ports, mine = _first(rng, one, (number, room.degree), duplex=room.duplex), counts.copy()
            begun.append((walk(one, ports, mine, tries // _SHORTER), place, ports, mine, one))
    ended = [
        (walk(one, ports, mine, tries), place, Sequence(one.group, ports, mine, room.duplex))
        for _, place, ports, mine, one in sorted(begun, key=lambda one: one[:2])[:_BEST]
    ]
    return [one for *_, one in sorted(ended, key=lambda one: one[:2])]


def _first(rng: np.random.Generator, one: _Tables, shape: tuple[int, int], *, duplex: bool) -> IntArray:
    """Return random ports of all phases, paired for duplex circuits."""
    number, degree = shape
    ports = rng.integers(1, len(one.inverse), shape)
    if duplex:
        ports[:, 1::2] = one.inverse[ports[:, 0 : degree - degree % 2 : 2]]
        if degree % 2:
            ports[:, -1] = rng.choice(one.turns, number)
    return ports
