"""A search among sequences of circuits in which all nodes do the same: one orbit first, over several groups.

For every number of topologies whose bound is below the best plan so far, those of least bound first: walks over the
elements of all ports and the steps of all phases, short ones over every group and long ones over the groups that did
best; then ways with even loads for what the walks found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from topodesign.base.cost import Cost
from topodesign.collectives import Collective
from topodesign.plans.plan import Plan
from topodesign.schedulers.circuits import kernels
from topodesign.schedulers.circuits.bounds import Work, all_least, least_steps
from topodesign.schedulers.circuits.published import made
from topodesign.schedulers.circuits.sequence import Sequence
from topodesign.topology.group_catalog import further_groups
from topodesign.topology.groups import Group, abelian, cyclic, dihedral

MOST_NUMBERS = 8  # numbers of topologies that are walked for at most
_BEST = 3  # groups with a long walk
_SHORT, _LONG = 2**21, 2**24  # hops that are followed in a walk, about
_MOST_PORTS = 2**9  # ports of all phases together in a walk; beyond, direct circuits are as good
_HOP = 2**20  # the weight of a hop; others are in proportion


@dataclass(frozen=True)
class Room:
    """Where to search: as many nodes and ports, of one sort."""

    nodes: int
    degree: int
    duplex: bool


@cache
def groups(nodes: int) -> tuple[Group, ...]:
    """Return groups of an order: abelian ones of equal factors, the dihedral one, and those with few commuting pairs."""
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


@cache
def _tables(group: Group) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    inverse = group.inverses()
    turns = np.flatnonzero(inverse == np.arange(group.order))[1:]
    return np.ascontiguousarray(group.table()), inverse, turns.astype(np.int64)


def search(
    room: Room,
    collective: Collective,
    work: Work,
    incumbent: Fraction,
    *,
    effort: Fraction = Fraction(1),
    progress: Callable[[float], None] | None = None,
) -> list[Plan]:
    """Return plans that are better than what there is, the best last."""
    found: list[Plan] = []
    halves = len(collective.parts)
    times = all_least(room.nodes, room.degree, collective, work, duplex=room.duplex)
    numbers = sorted((time, number) for number, time in enumerate(times, 1) if time is not None)
    for place, (least, number) in enumerate(numbers[:MOST_NUMBERS]):
        if progress is not None:
            progress(place / MOST_NUMBERS)
        if least >= incumbent or number * room.degree > _MOST_PORTS:
            continue
        for sequence in _walked(room, collective, number, work, effort):
            plan = made(sequence, collective, "search", room.degree)
            if plan is None:
                continue
            cost = Cost(int(plan.claim["steps"]), plan.claim["bandwidth"])
            time = work.time(cost.steps, cost.bandwidth, int(plan.claim["changes"]))
            if time < incumbent:
                incumbent = time
                found.append(plan)
    assert halves
    return found


def _walked(
    room: Room, collective: Collective, number: int, work: Work, effort: Fraction
) -> list[Sequence]:
    """Return the best sequences of so many topologies that walks find, in one group each."""
    hop = work.second / room.nodes if collective.pairwise else Fraction(0)
    step = work.alpha
    if not hop and not step:
        return []
    scale = Fraction(_HOP) / max(hop, step)
    return _walks(room, collective.pairwise, number, _near(step * scale), _near(hop * scale), effort)


def _near(weight: Fraction) -> int:
    """Return a weight with three binary digits, so that questions that hardly differ have one walk."""
    whole = int(weight)
    drop = max(0, whole.bit_length() - 3)
    return whole >> drop << drop


@cache
def _walks(room: Room, pairwise: bool, number: int, step: int, hop: int, effort: Fraction) -> list[Sequence]:
    least = least_steps(room.nodes, room.degree, number, duplex=room.duplex)
    if least is None:
        return []
    far = 2 * max(hop, step) * room.nodes if number == 1 and room.degree == 1 else 64 * max(hop, step)
    weights = np.array([step, hop, far], dtype=np.int64)
    counts = np.full(number, 1, dtype=np.int64)
    for extra in range(least - number + (2 if pairwise else 0)):
        counts[extra % number] += 1
    each = room.nodes * room.degree * int(counts.sum())
    rng = np.random.default_rng(number)
    begun: list[tuple[int, int, np.ndarray, np.ndarray, Group]] = []
    for place, group in enumerate(groups(room.nodes)):
        table, inverse, turns = _tables(group)
        if room.duplex and room.degree % 2 and not len(turns):
            continue
        ports = _first(rng, inverse, turns, number, room.degree, duplex=room.duplex)
        mine = counts.copy()
        score = _walk(table, inverse, turns, room, ports, mine, weights, int(effort * _SHORT / each), place + 1)
        begun.append((score, place, ports, mine, group))
    ended = []
    for score, place, ports, mine, group in sorted(begun, key=lambda one: one[:2])[:_BEST]:
        table, inverse, turns = _tables(group)
        score = _walk(table, inverse, turns, room, ports, mine, weights, int(effort * _LONG / each), 99 - place)
        ended.append((score, place, Sequence(group, ports, mine, room.duplex)))
    return [one for *_, one in sorted(ended, key=lambda one: one[:2])]


def _walk(table, inverse, turns, room, ports, counts, weights, tries, seed) -> int:  # noqa: ANN001
    state = np.array([88172645463325252 + seed], dtype=np.uint64)
    heat = 4 * int(max(weights[:2]))
    return kernels.walk(table, inverse, turns, room.duplex, ports, counts, weights, max(50, tries), heat, state)


def _first(rng, inverse, turns, number, degree, *, duplex) -> np.ndarray:  # noqa: ANN001
    """Return any ports of all phases: of duplex circuits pairs, and one that is its own inverse if they are odd."""
    ports = rng.integers(1, len(inverse), (number, degree))
    if duplex:
        ports[:, 1::2] = inverse[ports[:, 0 : degree - degree % 2 : 2]]
        if degree % 2:
            ports[:, -1] = rng.choice(turns, number)
    return ports
