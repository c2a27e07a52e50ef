"""Lowering to permutations over one array, the minimum per step.

A rank's array has what it was given, and below that what every permutation brought, in their order. So what is received
is at the same rows of all ranks, whatever the plan; what is sent is so where the plan looks the same from all ranks.
Steps that add are those of a plan backwards in time: there what is sent is at the same rows, and what was copied once
is added once. A step of a plan that has sends of unequal size costs rows of zeros, for all of a permutation are equal.

Trees and paths are unrolled into rounds, and switches are omitted: ranks are the nodes that compute, in their order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.collectives import ALLREDUCE
from topodesign.compiler.columns import Columns
from topodesign.compiler.frontends.colouring import Edge, degree_of, edge_colouring
from topodesign.compiler.ir import Exchange, Permutations, Phase, Rows, Runs
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import halves, reverse
from topodesign.plans.measure import cost_of
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import block_amounts, list_rank_rounds, list_relays, list_rounds
from topodesign.plans.step_ops import canonical, is_lean, prune
from topodesign.plans.verify.plans import check_movement
from topodesign.topology.topology import IntArray, Topology

Integers = NDArray[np.integer[Any]]
Messages: TypeAlias = "dict[Edge, IntArray]"
"""Cells that go over each link in a step."""
MAX_CELLS = 2**24  # rows of data that all ranks could have, known one by one
MAX_SENDS = 2**22  # rows that are sent, known one by one


def permutations_of(plan: Plan, parts: int = 1, *, inplace: bool = False) -> Permutations:
    """Lower a plan to permutations of all ranks.

    * ``plan``: any plan of one collective among all nodes that compute.
    * ``parts``: of trees: parts of the data of a tree that follow one another.
    """
    if len(list_relays(plan)):
        raise InfeasibleError("no permutation lets a switch copy or add; make the schedule with --algorithm forest")
    uneven = block_amounts(plan) is not None
    rounds = list_rank_rounds(plan, parts if plan.trees is not None else 1, padded=True)
    if rounds.topology.switches:
        raise ScheduleError("rounds of ranks have no switches")
    rounds = rounds if uneven else canonical(rounds if is_lean(rounds) else prune(rounds))
    _check_size(rounds)
    views = views_of(plan.topology, rounds.nodes)
    if len(views) > 1 and plan.generator.get("method") == "spff":
        rounds = _alike(plan, rounds)
    if rounds.collective.like(ALLREDUCE):
        adding, copying = halves(rounds)
        phases = [_add(adding, views), _copy(copying, views)[0]]
    else:
        phases = [_add(rounds, views) if rounds.collective.reduces else _copy(rounds, views)[0]]
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


def _alike(plan: Plan, rounds: Flow) -> Flow:
    """Return equally cheap symmetric SPFF rounds, else ``rounds``.

    It sends the same amounts over the same links, but the same rows at all ranks: slices instead of tables.
    """
    from topodesign.schedulers.spff import spff_orbit  # noqa: PLC0415  schedulers are asked for such plans alone

    topology = plan.topology
    turned = canonical(list_rounds(Plan(topology, spff_orbit(topology, plan.collective))))
    right = check_movement(topology, turned).ok and is_lean(turned)
    return turned if right and cost_of(topology, turned) == cost_of(topology, rounds) else rounds


def _check_size(rounds: Flow) -> None:
    blocks = len(rounds.collective.blocks(np.arange(rounds.nodes), rounds.nodes))
    cells, sends = rounds.nodes * blocks * rounds.units, int((rounds.hi - rounds.lo).sum())
    if cells > MAX_CELLS or sends > MAX_SENDS:
        raise InfeasibleError(
            f"{sends} rows that are sent, of {rounds.units} for every block, are too many for one program (at most "
            f"{MAX_SENDS}, and {MAX_CELLS} rows at all ranks); use a smaller N or a schedule with fewer chunks"
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


class RowMap:
    """Row of each cell of the data in the arrays of all ranks, -1 where a rank has it not.

    ``held``: cells that each rank begins with, in the order of its rows; arrays have ``given`` rows then.
    """

    def __init__(self, held: Sequence[IntArray], cells: int, given: int, views: list[IntArray]) -> None:
        self.rows = np.full((len(held), cells), -1, dtype=np.int32)
        for rank, own in enumerate(held):
            self.rows[rank, own] = np.arange(len(own))
        self.top, self._views = given, views

    def send(self, messages: Mapping[Edge, IntArray]) -> tuple[Exchange, ...]:
        """Return the permutations of a step, with the cells of its messages.

        What arrives goes below the rows that there are, in the order in which the sender has it.
        """
        sent = {edge: cells[np.argsort(self.rows[edge[0], cells])] for edge, cells in messages.items()}
        taken = {edge: self.rows[edge[0], cells].astype(np.int64) for edge, cells in sent.items()}
        edges, made = sorted(sent), []
        colours = colours_of(edges, [len(sent[edge]) for edge in edges], self._views)
        for colour in sorted(set(colours)):
            pairs = [edge for edge, other in zip(edges, colours, strict=True) if other == colour]
            width = max(len(sent[edge]) for edge in pairs)
            take: list[IntArray | None] = [None] * len(self.rows)
            for src, dst in pairs:
                take[src] = taken[src, dst]
                self.rows[dst, sent[src, dst]] = self.top + np.arange(len(sent[src, dst]))
            moved = sum(len(sent[edge]) for edge in pairs)
            put = (((self.top, self.top + width),),)
            made.append(Exchange(tuple(pairs), rows_of(take, width), put, moved, width))
            self.top += width
        return tuple(made)


def list_messages(step: Integers, src: Integers, dst: Integers, cells: Iterable[IntArray]) -> list[Messages]:
    """Return the messages of each step in order: the cells that go over each link."""
    found: dict[int, dict[Edge, list[IntArray]]] = defaultdict(lambda: defaultdict(list))
    for now, u, v, some in zip(step.tolist(), src.tolist(), dst.tolist(), cells, strict=True):
        found[now][u, v].append(some)
    return [{edge: np.concatenate(parts) for edge, parts in sorted(found[now].items())} for now in sorted(found)]


def _add(rounds: Flow, views: list[IntArray]) -> Phase:
    """Return the reducing phase: the phase of time-reversed rounds, reversed."""
    turned, ends, given = _copy(reverse(rounds), views)
    start = np.full((rounds.nodes, turned.rows), -1, dtype=np.int64)
    for rank, rows in enumerate(ends):
        if len(rows):
            start[rank, rows] = np.arange(len(rows))
    steps = tuple(
        tuple(replace(one, pairs=tuple((v, u) for u, v in one.pairs), take=one.put, put=one.take) for one in step)
        for step in reversed(turned.steps)
    )
    return Phase(adds=True, start=rows_of(list(start)), steps=steps, finish=(((0, given),),), rows=turned.rows)


def _copy(rounds: Flow, views: list[IntArray]) -> tuple[Phase, list[IntArray], int]:
    """Return the phase of rounds that copy, rows of results, and the number of inputs."""
    collective, ranks, units = rounds.collective, rounds.nodes, rounds.units
    anyone = collective.at(None)
    given, result = (len(side(0, ranks)) * units for side in (anyone.inputs, anyone.outputs))
    blocks = collective.blocks(np.arange(ranks), ranks)

    def list_cells(some: Sequence[int]) -> IntArray:
        place = np.searchsorted(blocks, np.array(some, dtype=np.int64))
        cells: IntArray = (place[:, None] * units + np.arange(units)).ravel()
        return cells

    held, begin = [list_cells(collective.inputs(rank, ranks)) for rank in range(ranks)], [np.arange(given)]
    if collective.pairwise:  # a rank has its blocks for others in the order of what it calls these
        order = [np.argsort(row) for row in views[0]]
        held = [own.reshape(ranks, -1)[one].ravel() for own, one in zip(held, order, strict=True)]
        begin = [begin[0].reshape(ranks, -1)[one].ravel() for one in order]
    rows = RowMap(held, len(blocks) * units, given, views)
    first = np.searchsorted(blocks, rounds.block) * units
    cells = map(np.arange, (first + rounds.lo).tolist(), (first + rounds.hi).tolist())
    steps = tuple(map(rows.send, list_messages(rounds.step, rounds.src, rounds.dst, cells)))
    ends = [rows.rows[rank, list_cells(collective.outputs(rank, ranks))].astype(np.int64) for rank in range(ranks)]
    finish = rows_of([some if len(some) else np.full(result, -1) for some in ends])
    return Phase(False, rows_of(begin, rows.top), steps, finish, rows.top), ends, given


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
