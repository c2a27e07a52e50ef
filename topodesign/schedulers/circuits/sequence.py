"""Symmetric sequences of circuits and their plans.

The nodes are the elements of a group. In phase i port j of node x has a circuit to x*g for one element g of its own.
Whatever is done with the blocks of node 1 is then done with those of every node s, with s*x for x: a plan is known
from one node's blocks, loads of a port are alike for all nodes, and y = d/N * sum over steps of the fullest port.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from topodesign.base.errors import ScheduleError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, Collective
from topodesign.plans.build import build_steps
from topodesign.plans.flow import Circuits, Flow
from topodesign.plans.flow_ops import concatenate, reverse
from topodesign.plans.measure import flow_claim
from topodesign.plans.plan import Plan
from topodesign.schedulers.circuits import kernels
from topodesign.topology.groups import Group
from topodesign.topology.topology import IntArray, Topology

PhaseRows = list[IntArray]
"""For every phase rows of node, its port, other node, its port."""


@dataclass(frozen=True, eq=False)
class Sequence:
    """Phases of circuits."""

    group: Group  # its elements are the nodes
    ports: IntArray  # the element of every port in every phase, shape ``(phases, d)``
    counts: IntArray  # steps of every phase
    duplex: bool = False  # whether circuits lead back; the elements of a phase are then their own inverses, or in pairs

    @cached_property
    def table(self) -> IntArray:
        """Right multiplications: ``table[g, x] = x * g``."""
        return np.ascontiguousarray(self.group.table())

    @cached_property
    def at(self) -> IntArray:
        """Phase of every step."""
        found: IntArray = np.repeat(np.arange(len(self.counts)), self.counts)
        return found

    def hops(self) -> IntArray:
        """Return the minimum hops to every element, or ``kernels.FAR``."""
        far, spare = np.empty(self.group.order, np.int64), np.empty(self.group.order, np.int64)
        kernels.reach(self.table, self.ports, self.at, far, spare)
        return far

    def inverse(self) -> Sequence:
        """Return the sequence with all circuits reversed."""
        return replace(self, ports=self.group.inverses()[self.ports])

    def circuits(self) -> PhaseRows:
        """Return the circuits of every phase.

        The ends of a duplex circuit are the ports of an element and of its inverse.
        """
        nodes, inverse = np.arange(self.group.order), self.group.inverses()
        found = []
        for own in self.ports.tolist():
            back = list(range(len(own)))
            if self.duplex:
                back, open_ = [-1] * len(own), set(range(len(own)))
                for slot, g in enumerate(own):
                    if back[slot] < 0:
                        same = inverse[g] == g
                        other = slot if same else next(i for i in sorted(open_) if i != slot and own[i] == inverse[g])
                        back[slot], back[other] = other, slot
                        open_ -= {slot, other}
            rows = [
                np.stack((nodes, np.full_like(nodes, i), self.table[g], np.full_like(nodes, back[i])), axis=1)
                for i, g in enumerate(own)
            ]
            found.append(np.concatenate(rows))
        return found


@dataclass(frozen=True, eq=False)
class Ways:
    """Routes of one node's blocks, as rows of sends.

    The columns are step, place, element of the port, goal, lo and hi.
    """

    sequence: Sequence
    units: int
    rows: IntArray

    def loads(self) -> dict[tuple[int, int], Fraction]:
        """Return the units on each circuit by step and element."""
        found: dict[tuple[int, int], int] = {}
        for step, _, g, _, lo, hi in self.rows.tolist():
            found[step, g] = found.get((step, g), 0) + hi - lo
        ports, at = self.sequence.ports, self.sequence.at
        return {(step, g): Fraction(units, int((ports[at[step - 1]] == g).sum())) for (step, g), units in found.items()}

    @property
    def factor(self) -> Fraction:
        """Bandwidth factor y of the plan."""
        fullest: dict[int, Fraction] = {}
        for (step, _), load in self.loads().items():
            fullest[step] = max(fullest.get(step, Fraction(0)), load)
        degree, order = self.sequence.ports.shape[1], self.sequence.group.order
        return Fraction(degree, order * self.units) * sum(fullest.values(), Fraction(0))

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.sequence.at)

    @property
    def changes(self) -> int:
        """Number of changes of circuits."""
        return len(self.sequence.counts) - 1

    def rounds(self) -> Flow:
        """Return the rounds of an all-to-all or allgather.

        It is an allgather if the rows have no goals.
        """
        table, nodes = self.sequence.table, np.arange(self.sequence.group.order)
        step, place, g, goal, lo, hi = (column[:, None] for column in self.rows.T)
        there = table[g, place]
        pairwise = bool((goal >= 0).all())
        block = nodes * len(nodes) + table[goal, nodes] if pairwise else nodes + 0 * step
        collective = ALL_TO_ALL if pairwise else ALLGATHER
        part = (step, table[place, nodes], table[there, nodes], block, lo, hi)
        return build_steps(collective, len(nodes), self.units, self.steps, [part])


def remove_unused(sequence: Sequence, units: int, rows: IntArray) -> Ways:
    """Return routes without the steps and phases that carry nothing."""
    busy = np.unique(rows[:, 0])
    counts = np.bincount(sequence.at[busy - 1], minlength=len(sequence.counts))
    rows = rows.copy()
    rows[:, 0] = np.searchsorted(busy, rows[:, 0]) + 1
    kept = counts > 0
    return Ways(replace(sequence, ports=sequence.ports[kept], counts=counts[kept]), units, rows)


def exchange(sequence: Sequence, units: int, sweeps: int, seed: int = 1) -> Ways:
    """Return routes of an all-to-all with balanced loads.

    Each block has ``units`` units, and all elements must be reachable.
    """
    order, steps = sequence.group.order, len(sequence.at)
    ways = np.zeros((order * units, steps), dtype=np.int64)
    loads = np.zeros((steps, sequence.ports.shape[1]), dtype=np.int64)
    state = np.array([88172645463325252 + seed], dtype=np.uint64)
    kernels.spread_units(sequence.table, sequence.ports, sequence.at, units, sweeps, state, ways, loads)
    unit, step = np.nonzero(ways)
    g = sequence.ports[sequence.at[step], ways[unit, step] - 1]
    place, here = np.zeros(len(unit), dtype=np.int64), 0
    for i in range(len(unit)):
        here = 0 if i == 0 or unit[i] != unit[i - 1] else here
        place[i] = here
        here = sequence.table[g[i], here]
    rows = np.stack((step + 1, place, g, unit // units, unit % units, unit % units + 1), axis=1)
    return remove_unused(sequence, units, rows)


def spreading(sequence: Sequence) -> Ways | None:
    """Return routes of an allgather with earliest arrivals, or None.

    The result is None if some elements are not reached.

    Of those from which an element can come in its step, and the ports that lead from there, as many units come over
    each as make loads even: a unit goes over the fullest port no longer if a chain of others can make room.
    """
    table, ports, order = sequence.table, sequence.ports, sequence.group.order
    units = ports.shape[1]
    first = np.full(order, -1)
    first[0] = 0
    back = table[sequence.group.inverses()]
    rows = list[tuple[int, int, int, int, int, int]]()
    for step, phase in enumerate(sequence.at.tolist(), 1):
        own, held = ports[phase].tolist(), (first >= 0) & (first < step)
        first[[x for x in range(order) if first[x] < 0 and any(held[back[g, x]] for g in own)]] = step
        new = np.flatnonzero(first == step).tolist()
        choice = {(x, u): [i for i, g in enumerate(own) if held[back[g, x]]] for x in new for u in range(units)}
        for (x, u), slot in _even(choice, len(own)).items():
            rows.append((step, int(back[own[slot], x]), own[slot], -1, u, u + 1))
    return None if (first < 0).any() else remove_unused(sequence, units, np.array(rows))


def _even(choice: dict[tuple[int, int], list[int]], slots: int) -> dict[tuple[int, int], int]:
    """Assign every item to a slot with minimal maximum load."""
    given: dict[tuple[int, int], int] = {}
    load = [0] * slots
    for one, some in choice.items():
        given[one] = min(some, key=load.__getitem__)
        load[given[one]] += 1
    while True:
        full = max(range(slots), key=load.__getitem__)
        origin: dict[int, tuple[int, int]] = {}  # for a slot: what moves into it
        queue = [full]
        for slot in queue:
            for one, now in given.items():
                if now == slot:
                    for other in choice[one]:
                        if other != full and other not in origin:
                            origin[other] = one
                            queue.append(other)
        goal = next((slot for slot in queue if load[slot] < load[full] - 1), None)
        if goal is None:
            return given
        load[full] -= 1
        load[goal] += 1
        while goal != full:
            one = origin[goal]
            given[one], goal = goal, given[one]


def plan_of(
    rounds: Flow, circuits: PhaseRows, counts: IntArray, ports: int, *, duplex: bool, method: str, note: str
) -> Plan:
    """Return the plan of rounds over circuits, with zero delay.

    Its claim is its computed cost.
    """
    first = np.concatenate(([1], 1 + np.cumsum(counts)[:-1]))
    changing = Circuits.of(circuits, first, ports=ports, duplex=duplex)
    moved = over_circuits(rounds, changing)
    return Plan(moved.place, moved, flow_claim(moved), generator={"method": method}, notes=(note,) if note else ())


def over_circuits(rounds: Flow, circuits: Circuits) -> Flow:
    """Return rounds over circuits as a flow on their union."""
    return rounds.having(place=circuits.union(rounds.nodes), circuits=circuits)


def sequence_plan(ways: Ways, collective: Collective, method: str) -> Plan | None:
    """Return the plan of a collective from routes, or None.

    The routes are those of an all-to-all or an allgather.
    """
    sequence = ways.sequence
    turned = spreading(sequence.inverse()) if collective.reduces else None
    if collective.reduces and (turned is None or not np.array_equal(turned.sequence.counts, sequence.counts)):
        return None
    back = None if turned is None else turned.rounds()
    note = f"nodes are the elements of {sequence.group.spec}"
    ends = sequence.circuits(), sequence.counts, sequence.ports.shape[1]
    return forth_and_back(
        ways.rounds(), back, *ends, collective=collective, duplex=sequence.duplex, method=method, note=note
    )


def forth_and_back(
    forth: Flow,
    back: Flow | None,
    circuits: PhaseRows,
    counts: IntArray,
    ports: int,
    *,
    collective: Collective,
    duplex: bool,
    method: str,
    note: str = "",
) -> Plan:
    """Return the plan of a collective from copying rounds.

    A copying collective uses ``forth``, and an adding one ``back``, time-reversed.

    ``back`` is an allgather over the same circuits turned round. An allreduce is both; the topology in the middle is
    the last of one and the first of the other.
    """
    rounds = forth
    if back is not None:
        rounds = reverse(back, forth.place)
        before, counts_before = circuits[::-1], counts[::-1]
        if len(collective.parts) > 1:
            rounds = concatenate(rounds, forth)
            circuits = [*before, *circuits[1:]]
            counts = np.concatenate((counts_before[:-1], [2 * counts[0]], counts[1:]))
        else:
            circuits, counts = before, counts_before
    return plan_of(rounds, circuits, counts, ports, duplex=duplex, method=method, note=note)


def right(plan: Plan, name: str = "the plan") -> Plan:
    """Return a plan after block replay confirms its claim."""
    from topodesign.plans.verify.plans import check_movement  # noqa: PLC0415  the kinds load what moves in them

    found = check_movement(plan.place, plan.movement)
    if found.problems or dict(found.figures) != dict(plan.claim):
        raise ScheduleError(f"the verifier refuses {name}: {found.problems[:1]}")
    return plan


def circuits_of(topology: Topology, *, duplex: bool) -> IntArray:
    """Return circuits for the links of a topology.

    Ports are numbered in link order.
    """
    links = [(u, v) for u, v, width in topology.links() for _ in range(width) if u != v]
    out, into = [0] * topology.nodes, [0] * topology.nodes
    rows = []
    for u, v in links:
        if not duplex:
            rows.append((u, out[u], v, into[v]))
            out[u], into[v] = out[u] + 1, into[v] + 1
        elif u < v:
            rows += [(u, out[u], v, out[v]), (v, out[v], u, out[u])]
            out[u], out[v] = out[u] + 1, out[v] + 1
    return np.array(rows, dtype=np.int64).reshape(-1, 4)
