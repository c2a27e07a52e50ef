"""Lowering to permutations over one array, the minimum per step.

A rank's array has what it was given, and below that what every permutation brought, in their order. So what is received
is at the same rows of all ranks, whatever the plan; what is sent is so where the plan looks the same from all ranks.
Steps that add are those of a plan backwards in time: there what is sent is at the same rows, and what was copied once
is added once. A step of a plan that has sends of unequal size costs rows of zeros, for all of a permutation are equal.

Trees and paths are unrolled into rounds, and switches are omitted: ranks are the nodes that compute, in their order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import cast

import numpy as np

from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.collectives import ALLREDUCE, Collective
from topodesign.compiler.columns import Columns
from topodesign.compiler.frontends.colouring import Edge, degree_of, edge_colouring
from topodesign.compiler.ir import Exchange, Permutations, Phase, Rows, Runs
from topodesign.plans.measure import cost_of
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import block_amounts, list_rank_rounds, list_relays, list_rounds
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import canonical, halves, is_lean, prune, reverse
from topodesign.plans.verify.plans import check_movement
from topodesign.topology.topology import IntArray, Topology

MOST_CELLS = 2**24  # rows of data that all ranks could have, known one by one
MOST_SENDS = 2**22  # rows that are sent, known one by one


def permutations_of(plan: Plan, parts: int = 1, *, inplace: bool = False) -> Permutations:
    """Lower a plan to permutations of all ranks.

    * ``plan``: any plan of one collective among all nodes that compute.
    * ``parts``: of trees: parts of the data of a tree that follow one another.
    """
    if len(list_relays(plan)):
        raise InfeasibleError("no permutation lets a switch copy or add; make the schedule with --algorithm forest")
    uneven = block_amounts(plan) is not None
    topology, rounds = list_rank_rounds(plan, parts if plan.has_trees else 1, padded=True)
    if topology.switches:
        raise ScheduleError("rounds of ranks have no switches")
    rounds = rounds if uneven else canonical(rounds if is_lean(rounds) else prune(rounds))
    _check_size(rounds)
    views = views_of(plan.topology, rounds.nodes)
    if len(views) > 1 and plan.generator.get("method") == "spff":
        rounds = _alike(plan, rounds)
    if rounds.collective.like(ALLREDUCE):
        adding, copying = halves(rounds)
        phases = [_adding(adding, views), _Copies(copying, views).phase()]
    else:
        phases = [_adding(rounds, views) if rounds.collective.reduces else _Copies(rounds, views).phase()]
    return Permutations(
        rounds.collective,
        inplace=inplace,
        protocol="Simple",
        chunks=rounds.units * rounds.collective.shards(rounds.nodes),
        channels=1,
        columns=Columns.empty([0] * rounds.nodes),
        phases=tuple(phases),
        changes=plan.changes,
        sent=sent_of(plan, rounds.units),
    )


def sent_of(plan: Plan, chunks: int) -> tuple[int, ...] | None:
    """Return the chunks sent of every block, None if equal."""
    amounts = block_amounts(plan)
    return tuple(one * chunks // max(amounts) for one in amounts) if amounts else None


def _alike(plan: Plan, rounds: Rounds) -> Rounds:
    """Return equally cheap symmetric SPFF rounds, else ``rounds``.

    It sends the same amounts over the same links, but the same rows at all ranks: slices instead of tables.
    """
    from topodesign.schedulers.spff import spff_orbit  # noqa: PLC0415  schedulers are asked for such plans alone

    topology = plan.topology
    turned = canonical(list_rounds(Plan(topology, spff_orbit(topology, plan.collective)))[1])
    right = check_movement(topology, turned).ok and is_lean(turned)
    return turned if right and cost_of(topology, turned) == cost_of(topology, rounds) else rounds


def _check_size(rounds: Rounds) -> None:
    blocks = len(rounds.collective.blocks(np.arange(rounds.nodes), rounds.nodes))
    cells, sends = rounds.nodes * blocks * rounds.units, int((rounds.hi - rounds.lo).sum())
    if cells > MOST_CELLS or sends > MOST_SENDS:
        raise InfeasibleError(
            f"{sends} rows that are sent, of {rounds.units} for every block, are too many for one program (at most "
            f"{MOST_SENDS}, and {MOST_CELLS} rows at all ranks); use a smaller N or a schedule with fewer chunks"
        )


def views_of(topology: Topology, ranks: int) -> list[IntArray]:
    """Return tables of node numbers relative to each node."""
    nodes = np.arange(ranks)
    views = [(nodes - nodes[:, None]) % ranks]
    symmetry = topology.symmetry
    one_orbit = symmetry is not None and len({*symmetry.represented_by.tolist()} | {-1}) == 2  # and none is no image
    if symmetry is not None and one_orbit and topology.nodes == ranks and symmetry.is_free:
        order, images = symmetry.images(int(symmetry.represented_by[0]), nodes)
        view = np.empty((ranks, ranks), dtype=np.int64)
        view[order] = np.argsort(images, axis=1)
        views.insert(0, view)
    return views


def colours_of(edges: Sequence[Edge], widths: Sequence[int], views: list[IntArray]) -> list[int]:
    """Return the permutation of every send, preferably by relative numbers."""
    degree = degree_of(edges)
    for view in views:
        named = [int(view[edge]) for edge in edges]
        ends = {(name, side, edge[side]) for name, edge in zip(named, edges, strict=True) for side in (0, 1)}
        if len(set(named)) == degree and len(ends) == 2 * len(edges):
            return named
    order = sorted(range(len(edges)), key=lambda at: -widths[at])  # the large ones together, for little is padded
    colour = [0] * len(edges)
    for at, found in zip(order, edge_colouring([edges[at] for at in order]), strict=True):
        colour[at] = found
    return colour


def exchanges_of(
    sent: Mapping[Edge, IntArray], ranks: int, views: list[IntArray], top: int
) -> tuple[tuple[Exchange, ...], dict[Edge, int]]:
    """Return a step's permutations and each message's first row.

    What arrives goes below the ``top`` rows that there are.
    """
    edges = sorted(sent)
    colours = colours_of(edges, [len(sent[edge]) for edge in edges], views)
    made, first = [], {}
    for colour in sorted(set(colours)):
        pairs = [edge for edge, other in zip(edges, colours, strict=True) if other == colour]
        width = max(len(sent[edge]) for edge in pairs)
        take: list[IntArray | None] = [None] * ranks
        for edge in pairs:
            take[edge[0]], first[edge] = sent[edge], top
        moved = sum(len(sent[edge]) for edge in pairs)
        made.append(Exchange(tuple(pairs), rows_of(take, width), (((top, top + width),),), moved, width))
        top += width
    return tuple(made), first


def _adding(rounds: Rounds, views: list[IntArray]) -> Phase:
    """Return the reducing phase: the phase of time-reversed rounds, reversed."""
    copies = _Copies(reverse(rounds), views)
    turned = copies.phase()
    start = np.full((copies.ranks, turned.rows), -1, dtype=np.int64)
    for rank, rows in enumerate(copies.finish()):
        if len(rows):
            start[rank, rows] = np.arange(len(rows))
    steps = tuple(
        tuple(replace(one, pairs=tuple((v, u) for u, v in one.pairs), take=one.put, put=one.take) for one in step)
        for step in reversed(turned.steps)
    )
    return Phase(adds=True, start=rows_of(list(start)), steps=steps, finish=(((0, copies.given),),), rows=turned.rows)


class _Copies:
    """The rows of all ranks while rounds copy."""

    def __init__(self, rounds: Rounds, views: list[IntArray]) -> None:
        self.collective: Collective = rounds.collective
        self.ranks, self.units = rounds.nodes, rounds.units
        self.blocks = self.collective.blocks(np.arange(self.ranks), self.ranks)
        self._row = np.full((self.ranks, len(self.blocks) * self.units), -1, dtype=np.int32)
        self.given = len(self.collective.at(None).inputs(0, self.ranks)) * self.units
        self._result = len(self.collective.at(None).outputs(0, self.ranks)) * self.units
        # A rank has its blocks for others in the order of what it calls these.
        self._order = [np.argsort(row) for row in views[0]] if self.collective.pairwise else None
        for rank in range(self.ranks):
            own = self._units(self.collective.inputs(rank, self.ranks))
            if self._order is not None:
                own = own.reshape(self.ranks, -1)[self._order[rank]].ravel()
            self._row[rank, own] = np.arange(len(own))
        self._top = self.given
        self.steps = tuple(self._step(messages, views) for messages in self._messages(rounds))

    def _units(self, blocks: Sequence[int]) -> IntArray:
        place = np.searchsorted(self.blocks, np.array(blocks, dtype=np.int64))
        units: IntArray = (place[:, None] * self.units + np.arange(self.units)).ravel()
        return units

    def _messages(self, rounds: Rounds) -> list[dict[Edge, IntArray]]:
        names = ("step", "src", "dst", "lo", "hi")
        place = np.searchsorted(self.blocks, rounds.block) * self.units
        rows = zip(*(getattr(rounds, name).tolist() for name in names), place.tolist(), strict=True)
        found: dict[int, dict[Edge, list[IntArray]]] = defaultdict(lambda: defaultdict(list))
        for step, src, dst, lo, hi, first in rows:
            found[step][src, dst].append(np.arange(first + lo, first + hi))
        return [{edge: np.concatenate(parts) for edge, parts in sorted(found[step].items())} for step in sorted(found)]

    def _step(self, messages: dict[Edge, IntArray], views: list[IntArray]) -> tuple[Exchange, ...]:
        # The receiver has what arrives in the order in which the sender has it.
        sent = {(u, v): units[np.argsort(self._row[u, units])] for (u, v), units in messages.items()}
        rows = {(u, v): self._row[u, units].astype(np.int64) for (u, v), units in sent.items()}
        made, first = exchanges_of(rows, self.ranks, views, self._top)
        self._top += sum(one.width for one in made)
        for edge, begin in first.items():
            self._row[edge[1], sent[edge]] = np.arange(begin, begin + len(sent[edge]))
        return made

    def finish(self) -> list[IntArray]:
        """Return every rank's result rows, empty without a result."""
        wanted = (self._units(self.collective.outputs(rank, self.ranks)) for rank in range(self.ranks))
        return [self._row[rank, units].astype(np.int64) for rank, units in enumerate(wanted)]

    def phase(self) -> Phase:
        own = np.arange(self.given)
        order = [own.reshape(self.ranks, -1)[one].ravel() for one in self._order] if self._order else [own]
        start = rows_of(cast("list[IntArray | None]", order), self._top)
        finish = [rows if len(rows) else np.full(self._result, -1) for rows in self.finish()]
        return Phase(adds=False, start=start, steps=self.steps, finish=rows_of(list(finish)), rows=self._top)


def rows_of(rows: Sequence[IntArray | None], width: int | None = None) -> Rows:
    """Return padded rows of every rank, or one shared list."""
    some = [one for one in rows if one is not None]
    longest = max(some, key=len)
    if width is None:
        width = len(longest)
    if all(np.array_equal(one, longest[: len(one)]) for one in some):
        return (_runs(longest, width),)
    return tuple(_runs(np.zeros(0, dtype=np.int64) if one is None else one, width) for one in rows)


def _runs(rows: IntArray, width: int) -> Runs:
    """Return rows as runs, filled up with zeros."""
    count = len(rows)
    blank = rows < 0
    breaks = np.append(True, (np.diff(rows) != 1) & ~(blank[1:] & blank[:-1]))[:count]
    breaks[1:] |= blank[1:] != blank[:-1]
    first = np.flatnonzero(breaks).tolist()
    runs = [(a - b, 0) if blank[a] else (int(rows[a]), int(rows[a]) + b - a) for a, b in pairwise([*first, count])]
    if width > count:
        runs.append((count - width, 0))
    return tuple(runs)
