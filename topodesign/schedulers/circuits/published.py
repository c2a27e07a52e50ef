"""Published plans over reconfigurable circuits, and static plans.

Schemes are sequences of circuits, with the best ways that are found over them, so at least as fast as their authors'.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from topodesign.base.declared import Declared, key
from topodesign.base.errors import TopodesignError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, Collective
from topodesign.plans.build import build_steps
from topodesign.plans.flow import Flow
from topodesign.plans.measure import flow_claim, step_costs
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_rounds
from topodesign.plans.step_ops import unfold_steps
from topodesign.schedulers.circuits.sequence import (
    Sequence,
    Ways,
    circuits_of,
    exchange,
    forth_and_back,
    plan_of,
    right,
    sequence_plan,
    spreading,
)
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.groups import Group, abelian, cyclic
from topodesign.topology.library import build
from topodesign.topology.topology import IntArray

SWEEPS = 40
_MAX_ROWS = 4  # rows of the catalog that are tried
_MAX_RINGS = 12  # ways to write N as a product of rings


Half = list[list[Fraction]]
"""Of every topology, outwards from the middle of an allreduce, the y of each of its steps, outwards as well."""


@dataclass(frozen=True, eq=False)
class Contender(Declared):
    """Verified plan, of a group or of all."""

    name: str  # what it is called
    source: str | None  # where such plans are published; null where nothing is
    plan: Plan  # the plan itself
    time: Fraction = Fraction(0)  # seconds, as ``simulate`` tells, once that is known

    KEYS = (
        "name source",
        key("steps", "Communication steps."),
        key("bandwidth", "Its y: sending takes y * M/B."),
        key("changes", "How often circuits change."),
        key("time_s=float(time)", "Seconds, rounded."),
    )

    @property
    def steps(self) -> int:
        """Communication steps."""
        return int(self.plan.claim["steps"])

    @property
    def bandwidth(self) -> Fraction:
        """Bandwidth factor y."""
        return self.plan.claim["bandwidth"]

    @property
    def changes(self) -> int:
        """Number of changes of circuits."""
        return int(self.plan.claim["changes"])

    @cached_property
    def moved(self) -> Flow:
        """Flow of the plan."""
        return self.plan.flow

    @cached_property
    def middle(self) -> int:
        """Last topology of the reduction, or first of the copying."""
        return int(self.moved.switching.phase_of(np.array([max(1, self.moved.reduce_steps)]))[0])

    @cached_property
    def halves(self) -> tuple[Half, Half]:
        """Reducing and copying halves."""
        found: tuple[Half, Half] = [], []
        now = self.moved.switching.phase_of(np.arange(1, self.moved.steps + 1)).tolist()
        for step, (phase, cost) in enumerate(zip(now, step_costs(self.moved).factors, strict=True), 1):
            half = found[step > self.moved.reduce_steps]
            half += [[] for _ in range(abs(phase - self.middle) + 1 - len(half))]
            half[abs(phase - self.middle)].append(cost)
        for one in found[0]:
            one.reverse()
        return found


def in_turn(one: Contender, degree: int) -> Contender | None:
    """Return the plan on two planes whose phases alternate.

    Each plane has half of the ``degree`` ports, so that one changes while the other sends. The result is None if the
    circuits never change.
    """
    circuits = one.moved.switching
    if not circuits.changes:
        return None
    plan = on_ports(one.plan, degree, circuits.phase % 2 * (degree // 2))
    return option(f"planes in turn, {one.name}", one.source, plan)


def option(name: str, source: str | None, plan: Plan) -> Contender:
    """Return a contender with a plan confirmed by block replay."""
    return Contender(name, source, right(plan, name))


def on_ports(plan: Plan, degree: int, shift: IntArray | int = 0) -> Plan:
    """Return a plan on nodes with more ports.

    Every circuit moves up by ``shift`` ports.
    """
    circuits = plan.flow.switching
    ports = circuits.src_port + shift, circuits.dst_port + shift
    moved = replace(plan.flow, circuits=circuits._replace(ports=degree, src_port=ports[0], dst_port=ports[1]))
    return replace(plan, movement=moved, claim=flow_claim(moved))


def make_plan(sequence: Sequence, collective: Collective, method: str, units: int) -> Plan | None:
    """Return the plan of a collective over a sequence, or None.

    The result is None if the sequence does not reach all elements.
    """
    if (sequence.hops() >= sequence.group.order).any():
        return None
    ways: Ways | None
    if collective.pairwise:
        some = (exchange(sequence, count, SWEEPS) for count in sorted({1, units}))
        ways = min(some, key=lambda one: (one.factor, one.units))
    else:
        ways = spreading(sequence)
    return None if ways is None else sequence_plan(ways, collective, method)


def iterate_published(nodes: int, degree: int, collective: Collective, *, duplex: bool) -> Iterator[Contender]:
    """Yield published plans and the best known static topologies."""
    dark, units = spare(nodes, degree, duplex=duplex), 1 if degree == 1 else 2
    for name, source, sequence in _schemes(nodes, degree - dark, duplex=duplex):
        plan = make_plan(sequence, collective, name, units)
        if plan is not None:
            yield option(name, source, on_ports(plan, degree) if dark else plan)
    for name, source, sequence in _schemes(nodes - 1, 1, duplex=True) if is_alone(nodes, degree, duplex=duplex) else ():
        inner = make_plan(sequence, copying(collective), name, units)
        plan = None if inner is None else extend_pairs(inner, collective)
        if plan is not None:
            yield option(f"one beside, {name}", source, plan)
    yield option("direct circuits", None, _direct(nodes, degree, collective, duplex=duplex))
    yield from static(nodes, degree, collective, duplex=duplex)


def spare(nodes: int, degree: int, *, duplex: bool) -> int:
    """Return the number of ports that sequences leave unused.

    It is one if ports are odd and no element is its own inverse.
    """
    return int(duplex and degree > 1 and nodes * degree % 2 == 1)


def is_alone(nodes: int, degree: int, *, duplex: bool) -> bool:
    """Return whether every phase pairs all nodes but one."""
    return duplex and degree == 1 and nodes % 2 == 1 and nodes > 3


def copying(collective: Collective) -> Collective:
    """Return the underlying all-to-all or allgather of a collective."""
    return ALL_TO_ALL if collective.pairwise else ALLGATHER


def extend_pairs(plan: Plan, collective: Collective) -> Plan:
    """Return the plan of pairs extended by one node.

    The new node gives node 0 its blocks first, and receives all others from it last.

    ``plan`` is an all-to-all or allgather; what is done in it with the blocks of node 0 is done with the new ones, too.
    """
    moved, before = unfold_steps(plan.flow), plan.flow.switching
    more, nodes, last = moved.nodes, moved.nodes + 1, moved.steps + 2
    others, step, whole = np.arange(more), moved.step + 1, (0, moved.units)
    if collective.pairwise:
        source, target = np.divmod(moved.block, more)
        block = source * nodes + target
        twins = [(source == 0, more * nodes + target), (target == 0, source * nodes + more)]
        first, then, back = more * nodes + others, others[1:] * nodes + more, more
    else:
        block, twins = moved.block, [(moved.block == 0, np.full(len(moved), more))]
        first, then, back = np.array([more]), others[1:], 0
    rows: list[tuple[Any, ...]] = [(step, moved.src, moved.dst, block, moved.lo, moved.hi)]
    for mine, called in twins:
        rows.append((step[mine], moved.src[mine], moved.dst[mine], called[mine], moved.lo[mine], moved.hi[mine]))
    for at, src, some in ((1, more, first), (1, 0, np.array([back])), (last, 0, then)):
        one = np.ones(len(some), dtype=np.int64)
        rows.append((at * one, src * one, (more - src) * one, some, whole[0] * one, whole[1] * one))
    rounds = build_steps(copying(collective), nodes, moved.units, last, rows)
    pair = np.array([[0, 0, more, 0], [more, 0, 0, 0]], dtype=np.int64)
    circuits = [pair, *(before.rows(phase) for phase in range(before.changes + 1)), pair]
    counts = np.array([1, *np.diff([*before.first_step, moved.steps + 1]), 1], dtype=np.int64)
    turned = rounds if collective.reduces else None
    method = str(plan.generator.get("method", ""))
    return forth_and_back(rounds, turned, circuits, counts, 1, collective=collective, duplex=True, method=method)


def _schemes(nodes: int, degree: int, *, duplex: bool) -> Iterator[tuple[str, str, Sequence]]:
    power = nodes.bit_length() - 1
    if nodes == 2**power and power:
        xor = abelian(*[2] * power)
        ports = np.array([[2**i] * degree for i in range(power)])
        yield "recursive doubling", "Harvest, arXiv:2602.09188", _steps(xor, ports, duplex=duplex)
    ring = cyclic(nodes)
    if not duplex:
        radix = degree + 1
        digits = [radix**k for k in range(nodes) if radix**k < nodes]
        ports = np.array([[j * one % nodes or one for j in range(1, radix)] for one in digits])
        yield f"Bruck, radix {radix}", "Bridge, arXiv:2605.12766", _steps(ring, ports, duplex=False)
    if degree % 2 == 0:
        powers = [3**k for k in range(nodes) if 3**k <= max(1, (nodes - 1) / 2 + 3**k / 2)]
        ports = np.array([[one % nodes, -one % nodes] * (degree // 2) for one in powers if one % nodes])
        yield "ternary", "ReTri, arXiv:2605.26930", _steps(ring, ports, duplex=duplex)
    if degree % 2 == 0 or not duplex:
        for radices in itertools.islice(_products(nodes), _MAX_RINGS):
            yield (
                f"bridges, rings of {'x'.join(map(str, radices))}",
                "Bridge, arXiv:2605.12766",
                _rings(ring, radices, degree, duplex=duplex),
            )


def _steps(group: Group, ports: IntArray, *, duplex: bool) -> Sequence:
    return Sequence(group, ports.astype(np.int64), np.ones(len(ports), dtype=np.int64), duplex)


def _products(nodes: int) -> Iterator[tuple[int, ...]]:
    """Yield ascending factorisations into two or more factors, shortest first."""
    found: list[tuple[int, ...]] = [(nodes,)]
    for one in found:
        last = one[-1]
        for factor in range(one[-2] if len(one) > 1 else 2, int(last**0.5) + 1):
            found += [(*one[:-1], factor, last // factor)] if last % factor == 0 else []
    yield from found[1:]


def _rings(ring: Group, radices: tuple[int, ...], degree: int, *, duplex: bool) -> Sequence:
    """Return rings through each digit, two-way for paired ports."""
    both = degree % 2 == 0
    stride, ports, counts = 1, [], []
    for radix in radices:
        ports.append([stride, -stride % ring.order] * (degree // 2) if both else [stride] * degree)
        counts.append(radix // 2 if both else radix - 1)
        stride *= radix
    return Sequence(ring, np.array(ports, dtype=np.int64), np.array(counts, dtype=np.int64), duplex)


def _direct(nodes: int, degree: int, collective: Collective, *, duplex: bool) -> Plan:
    """Return the plan with a direct circuit for every block.

    Matchings are those of a tournament, of which every node is out of one if their number is odd.
    """
    v = np.arange(nodes)
    if not duplex:
        partners = [(v + k) % nodes for k in range(1, nodes)]
    else:
        odd = nodes + nodes % 2 - 1
        partners = []
        for k in range(odd):
            other = (k - v) % odd
            if nodes % 2 == 0:
                alone = np.flatnonzero(other[:-1] == v[:-1])[0]
                other[-1], other[alone] = alone, nodes - 1
            partners.append(other)
    steps = -(-len(partners) // degree)
    circuits, forth, back = [], [], []
    for step in range(steps):
        rows, now = [], partners[step * degree : (step + 1) * degree]
        for port in range(len(now) * (degree // len(now))):  # where partners are few, several circuits to each
            other = now[port % len(now)]
            on = other != v
            rows.append(np.stack((v[on], 0 * v[on] + port, other[on], 0 * v[on] + port), axis=1))
        for other in now:
            on = other != v
            source, goal = v[on], other[on]
            forth.append((step + 1, source, goal, source * nodes + goal if collective.pairwise else source, 0, 1))
            back.append((step + 1, goal, source, goal, 0, 1))
        circuits.append(np.concatenate(rows))
    rounds = build_steps(copying(collective), nodes, 1, steps, forth)
    turned = build_steps(ALLGATHER, nodes, 1, steps, back) if collective.reduces else None
    one = np.ones(steps, dtype=np.int64)
    return forth_and_back(
        rounds, turned, circuits, one, degree, collective=collective, duplex=duplex, method="direct circuits"
    )


def static(nodes: int, degree: int, collective: Collective, *, duplex: bool) -> Iterator[Contender]:
    """Yield the best known plans of static topologies.

    The topologies are catalog entries and rings.
    """
    texts = []
    if nodes > 2 and (degree % 2 == 0 or not duplex):
        texts.append(f"{'biring' if duplex else 'uniring'}({degree},{nodes})")
    word = "catalog_duplex" if duplex else "catalog"
    texts += [f"{word}({nodes},{degree},{place})" for place in range(1, _MAX_ROWS + 1)]
    for text in texts:
        try:
            build(text)
        except TopodesignError:  # the catalog has no such row
            continue
        rounds = list_rounds(schedule(text, collective))
        topology = rounds.topology
        if topology.degree <= degree and rounds.steps:
            circuits, counts = [circuits_of(topology, duplex=duplex)], np.array([rounds.steps])
            plan = plan_of(rounds, circuits, counts, degree, duplex=duplex, method="static", note=text)
            yield option(f"static {text}", None, plan)
