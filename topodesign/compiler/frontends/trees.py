"""Front end for trees: pipelines of chunks without extra copies."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from topodesign.base.compiled import Ints
from topodesign.base.errors import InfeasibleError
from topodesign.collectives import Collective
from topodesign.compiler.backends.backend import Options
from topodesign.compiler.frontends.grain import Lowering
from topodesign.compiler.frontends.layout import Layout, check_size, cut_shards, lay_messages
from topodesign.compiler.frontends.threads import assemble
from topodesign.compiler.frontends.writer import operations_of_layout
from topodesign.compiler.ir import Program
from topodesign.compiler.limits import NO_LIMITS, Limits
from topodesign.plans.build import renamed
from topodesign.plans.flow import Flow
from topodesign.plans.unroll import numbers_without


def lower_trees(flow: Flow, options: Options, limits: Limits = NO_LIMITS) -> Lowering:
    """Lower valid trees to the program of every rank.

    The shard of a root is laid out part by part, and tree by tree within a part, so that what a tree carries is
    contiguous and is received where it belongs; partial sums are added up where the next rank wants them. What the
    trees of one root carry over a connection in the same step is one send, if it is contiguous. Where concurrent phases
    share a connection, each has channels of its own on it, so that neither waits for the other's turn. Compute nodes,
    ascending, are the ranks. The trees between two ranks (of each of two concurrent phases) share the channels, each
    with threadblocks of its own; more are taken where those would be too long. ``parts`` of the data of a tree follow
    one another. The program ends whatever connections hold: all ranks do their part of the messages in the order of one
    list, ordered by step, so the first of it that is not over waits for none after it.
    """
    trees, inplace = _Trees(flow, options.parts), options.inplace

    def program(chunks: int | None) -> Program:
        width: dict[tuple[int, int], int] = defaultdict(lambda: options.channels)
        while True:
            plan, steps = trees.layout(width)
            plan = plan.cut(chunks)
            check_size(len(plan.start) - 1, plan.total, len(trees.collective.movements))
            longest = limits.chunks_per_instruction
            operations = operations_of_layout(
                trees.collective, plan, steps, inplace=inplace, longest=longest, plain=True
            )
            ranks, used = assemble(
                operations, steps, limits, chunks=plan.total, mode=options.threadblocks, concurrent=flow.concurrent
            )
            made = Program(trees.collective, inplace, options.protocol, plan.total, used, ranks)
            more = _too_narrow(made, limits.instructions_per_block)
            if not more or used >= limits.channels:
                return made
            for pair, times in more.items():
                width[pair] *= times

    return Lowering(program, trees.cost, int(trees.start[-1]))


def _too_narrow(program: Program, longest: int) -> dict[tuple[int, int], int]:
    """Return connections of too long threadblocks, with split factors."""
    narrow: dict[tuple[int, int], int] = {}
    made = program.columns
    steps = made.steps
    for at in np.flatnonzero(steps > longest).tolist():
        rank, send, receive = (int(column[at]) for column in made[:3])
        for pair in [(rank, send)] * (send >= 0) + [(receive, rank)] * (receive >= 0):
            narrow[pair] = max(narrow.get(pair, 0), -(-int(steps[at]) // longest))
    return narrow


class _Trees:
    """Trees of a flow in the fewest possible chunks, times ``parts``.

    * ``start``: the first chunk of every rank's shard, and at last how many chunks there are.
    * ``begin``, ``size``: chunks of each tree within the shard of its root, before that is cut into parts.
    """

    def __init__(self, flow: Flow, parts: int) -> None:
        self.flow, self.parts = flow, parts
        self._number, computes = numbers_without(flow.nodes, flow.topology.switches)
        self.collective: Collective = renamed(flow.collective, self._number.tolist())
        nodes = np.flatnonzero(computes)
        units = flow.units_of(nodes)
        if flow.collective.rooted:
            units = np.where(nodes == flow.collective.root, units, 0)
        unit = math.gcd(*map(int, map(np.gcd.reduce, (flow.lo, flow.hi, units))))
        self.begin, self.size = flow.lo // unit, (flow.hi - flow.lo) // unit
        self.root = self._number[flow.block]
        self.start: Ints = np.append(0, np.cumsum(units // unit * parts))
        movements = self.collective.movements
        check_size(len(nodes), int(self.start[-1]), len(movements))
        if len({*np.diff(self.start).tolist()}) > 1 and "each" in {movements[0].source, movements[-1].destination}:
            raise InfeasibleError(f"the runtimes know no {self.collective} of unequal shards; use equal ones")

    def layout(self, width: Mapping[tuple[int, int], int]) -> tuple[Layout, int]:
        """Return balanced messages, and the number of reduce steps.

        Part p goes p steps later than the first. If phases are concurrent, where both need a connection the second has
        instances after those of the first.
        """
        flow, parts = self.flow, self.parts
        ends = self._number[flow.src], self._number[flow.dst]
        adds = np.array([movement.adds for movement in self.collective.movements])[flow.part]
        first = {*zip(ends[0][adds].tolist(), ends[1][adds].tolist(), strict=True)} if flow.concurrent else set()
        order = np.lexsort((flow.start, flow.piece))
        columns = (column[order].tolist() for column in (flow.piece, *ends, adds))
        arrived: dict[tuple[int, int], int] = {}  # level of the last arrival of a tree at each rank
        load: dict[tuple[bool, int, int], list[int]] = {}
        rows = []
        for piece, one, other, adding in zip(*columns, strict=True):
            level = arrived.get((piece, one), 0) + 1
            arrived[piece, other] = max(arrived.get((piece, other), 0), level)
            second = (one, other) in first and not adding
            sizes = load.setdefault((second, one, other), [0] * width[one, other])
            for late in range(parts):
                lightest = sizes.index(min(sizes))
                sizes[lightest] += int(self.size[piece])
                rows.append((level + late, one, other, lightest + second * len(sizes), piece, late, adding))
        *keys, tree, turn, adding = np.array(rows, dtype=np.int64).reshape(-1, 7).T
        reduce_steps = int(keys[0][adding > 0].max(initial=0))
        keys[0] += np.where(adding > 0, 0, reduce_steps)
        shard = np.diff(self.start)[self.root[tree]] // parts
        begin = self.start[self.root[tree]] + turn * shard + self.begin[tree]
        return lay_messages(self.start, np.stack(keys), begin, self.size[tree]), reduce_steps

    def cost(self, chunks: int | None) -> Fraction:
        """Return the most loaded link's time, with separate phases."""
        flow, start = self.flow, self.start // self.parts
        total = int(start[-1])
        sizes = self.size
        if chunks is not None:
            edge = cut_shards(start, chunks)
            begin = start[self.root] + self.begin
            sizes, total = edge[begin + self.size] - edge[begin], chunks
        send, link = flow.find_links()
        piece, weight = flow.piece[send], np.ones(len(send), dtype=np.int64)
        weights: list[int] = [1] * len(flow.block)
        if flow.routes is not None and flow.weight is not None:
            weight, weights = np.repeat(flow.routes.weight, flow.routes.lengths), flow.weight.tolist()
        capacity: list[int] = flow.topology.capacity.tolist()
        whole, unit = math.lcm(*weights), math.lcm(*capacity)
        load: tuple[Counter[int], Counter[int]] = (Counter(), Counter())  # exact: weights may be large
        columns = (column.tolist() for column in (flow.part[send], link, piece, weight, sizes[piece]))
        for part, over, tree, share, size in zip(*columns, strict=True):
            load[part][over] += share * (whole // weights[tree]) * size * (unit // capacity[over])
        if flow.concurrent:
            most = max((load[0] + load[1]).values(), default=0)
        else:
            most = sum(max(one.values(), default=0) for one in load)
        return Fraction(most, whole * unit * total)
