"""From a tree schedule to the program of every rank: each tree is a pipeline of chunks, and nothing is copied twice."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import InfeasibleError, ScheduleError, TooLargeError
from topodesign.collectives import Collective
from topodesign.compiler.columns import columns_of
from topodesign.compiler.frontends.grain import Grain
from topodesign.compiler.frontends.operations import (
    ACCUMULATOR,
    IN,
    OUT,
    Emitter,
    Operations,
    Part,
    Place,
    operations_of,
    runs,
)
from topodesign.compiler.frontends.switched import program_through_switch
from topodesign.compiler.frontends.threads import assemble
from topodesign.compiler.ir import Program, Protocol, Threadblocks
from topodesign.compiler.limits import HELP, NO_LIMITS, Limits
from topodesign.plans.trees import Trees
from topodesign.plans.verify.plans import check_movement

Message = tuple[int, int, int, int]  # step, sender, receiver (ranks) and instance: what a connection carries in a step

_MOVES = 2**19  # chunks that all ranks receive: about two minutes


@dataclass(frozen=True, slots=True)
class _Stream:
    """A part of the data of one tree, with its edges: level (from 1), sender and receiver."""

    reduces: bool
    root: int
    chunks: range
    edges: list[tuple[int, int, int]]


def program_of_trees(
    schedule: Trees,
    *,
    inplace: bool = False,
    channels: int = 1,
    parts: int = 1,
    protocol: Protocol = "Simple",
    threadblocks: Threadblocks = "separate",
    limits: Limits = NO_LIMITS,
    chunks: int | None = None,
) -> Program:
    """Turn a tree schedule into the program of every rank.

    The shard of a root is laid out part by part, and tree by tree within a part, so that what a tree carries is
    contiguous and is received where it belongs; partial sums are added up where the next rank wants them. What the
    trees of one root carry over a connection in the same step is one send, if it is contiguous. Where concurrent phases
    share a connection, each has channels of its own on it, so that neither waits for the other's turn. Compute nodes,
    ascending, are the ranks. The trees between two ranks (of each of two concurrent phases) share the channels, each
    with threadblocks of its own; more are taken where those would be too long. ``parts`` of the data of a tree follow
    one another. The program ends whatever connections hold: all ranks do their part of the messages in the order of one
    list, ordered by step, so the first of it that is not over waits for none after it.
    """
    require_at_least("channels", channels, 1)
    require_at_least("parts", parts, 1)
    collective = schedule.collective
    if len(schedule.relays):
        if limits.switches:
            return program_through_switch(schedule, inplace=inplace, channels=channels, protocol=protocol)
        raise InfeasibleError(
            "no instruction of this target lets a switch copy or add, but some of --target mscclpp do; or make the "
            "schedule with --algorithm forest"
        )
    report = check_movement(schedule.topology, schedule)
    if not report.ok:
        raise ScheduleError(f"the tree schedule is wrong: {report.problems[0]}")
    if collective.rooted:
        collective = collective.at(schedule.compute_nodes.tolist().index(collective.root))  # a program counts ranks
    start = _layout(schedule, collective, parts) if chunks is None else cut_anew(schedule, collective, chunks)
    unequal = len({end - begin for begin, end in itertools.pairwise(start)}) > 1
    if unequal and "each" in {collective.movements[0].source, collective.movements[-1].destination}:
        raise InfeasibleError(f"the runtimes know no {collective} of unequal shards; use equal ones")
    streams = list(_streams(schedule, start, parts))
    reduce_steps = max((edge[0] for one in streams if one.reduces for edge in one.edges), default=0)
    width: dict[tuple[int, int], int] = defaultdict(lambda: channels)
    while True:
        messages = _messages(streams, reduce_steps, width, apart=schedule.concurrent)
        writer = _Writer(collective, inplace, start, limits.chunks_per_instruction, messages, reduce_steps)
        operations = writer.operations()
        check_length(operations, limits)
        programs, used = assemble(
            operations, reduce_steps, limits, chunks=start[-1], mode=threadblocks, concurrent=schedule.concurrent
        )
        program = Program(collective, inplace, protocol, start[-1], used, programs)
        more = _too_narrow(program, limits.instructions_per_block)
        if not more or used >= limits.channels:
            return program
        for pair, times in more.items():
            width[pair] *= times


def check_length(operations: Operations, limits: Limits) -> None:
    """Refuse programs of which some rank has more instructions than a target allows."""
    most, longest = limits.instructions_per_rank, int(np.diff(operations.first).max())
    if longest > most:
        raise InfeasibleError(f"some rank needs {longest} instructions, and {most} are allowed; {HELP}")


def _too_narrow(program: Program, longest: int) -> dict[tuple[int, int], int]:
    """Return the connections (sender, receiver) whose threadblocks are too long, and by what factor, rounded up."""
    narrow: dict[tuple[int, int], int] = {}
    made = columns_of(program.ranks)
    steps = made.steps
    for at in np.flatnonzero(steps > longest).tolist():
        rank, send, receive = (int(column[at]) for column in made[:3])
        for pair in [(rank, send)] * (send >= 0) + [(receive, rank)] * (receive >= 0):
            narrow[pair] = max(narrow.get(pair, 0), -(-int(steps[at]) // longest))
    return narrow


def _layout(schedule: Trees, collective: Collective, parts: int) -> list[int]:
    """Return the first chunk of every rank's shard, and at last the number of chunks: as few as the weights allow."""
    ranks = len(schedule.compute_nodes)
    share = _shares(schedule, collective)
    divisor = math.gcd(*share)
    share = [size // divisor for size in share]
    chunk = 1
    for trees in _by_root(schedule).values():
        rank = int(np.searchsorted(schedule.compute_nodes, schedule.root[trees[0]]))
        ends = list(itertools.accumulate(schedule.weight[trees].tolist()))
        pieces = ends[-1] // math.gcd(*ends)
        chunk = math.lcm(chunk, pieces // math.gcd(pieces, share[rank]))
    start = list(itertools.accumulate((size * chunk * parts for size in share), initial=0))
    check_moves(ranks, start[-1], len(collective.movements))
    return start


def cut_anew(schedule: Trees, collective: Collective, chunks: int) -> list[int]:
    """Return the same for so many chunks in all, shared out as evenly as can be."""
    ranks = len(schedule.compute_nodes)
    check_moves(ranks, chunks, len(collective.movements))
    total = list(itertools.accumulate(_shares(schedule, collective), initial=0))
    return [chunks * end // total[-1] for end in total]


def _shares(schedule: Trees, collective: Collective) -> list[int]:
    """Return the relative sizes of the ranks' shards."""
    ranks = len(schedule.compute_nodes)
    if collective.rooted:
        return [int(rank == collective.root) for rank in range(ranks)]
    return list(schedule.shard or [1] * ranks)


def grain_of_trees(schedule: Trees, *, parts: int) -> Grain:
    """Return what is known of the chunks of a schedule; arguments are as for :func:`program_of_trees`."""
    collective = schedule.collective
    if collective.rooted:
        collective = collective.at(schedule.compute_nodes.tolist().index(collective.root))
    route, link = schedule.hop_links()
    tree = schedule.tree[schedule.route_edge]
    inward = (tree < schedule.reduce_trees)[route]
    weights, capacity = schedule.weight[tree].tolist(), schedule.topology.capacity.tolist()
    whole, unit = math.lcm(*weights), math.lcm(*capacity)
    share = [one * (whole // weight) for one, weight in zip(schedule.route_weight.tolist(), weights, strict=True)]
    at = [(int(inward[hop]), int(route[hop]), int(link[hop])) for hop in range(len(link))]

    def cost(chunks: int | None) -> Fraction:
        start = _layout(schedule, collective, 1) if chunks is None else cut_anew(schedule, collective, chunks)
        sizes = dict(_sizes(schedule, start))
        load: tuple[Counter[int], Counter[int]] = (Counter(), Counter())  # exact: weights may be large
        for phase, way, over in at:
            load[phase][over] += share[way] * sizes[int(tree[way])] * (unit // capacity[over])
        if schedule.concurrent:
            most = max((load[0] + load[1]).values(), default=0)
        else:
            most = sum(max(one.values(), default=0) for one in load)
        return Fraction(most, whole * unit * start[-1])

    return Grain(_layout(schedule, collective, parts)[-1], cost)


def _sizes(schedule: Trees, start: list[int]) -> Iterator[tuple[int, int]]:
    """Yield every tree with how many chunks it carries."""
    rank = {node: at for at, node in enumerate(schedule.compute_nodes.tolist())}
    for (_, node), trees in _by_root(schedule).items():
        length = start[rank[node] + 1] - start[rank[node]]
        ends = [0, *itertools.accumulate(schedule.weight[trees].tolist())]
        for tree, (low, high) in zip(trees, itertools.pairwise(ends), strict=True):
            yield tree, length * high // ends[-1] - length * low // ends[-1]


def check_moves(ranks: int, chunks: int, halves: int) -> None:
    """Raise TooLargeError if so many chunks, which all ranks receive in each half, would take minutes."""
    if chunks * (ranks - 1) * halves > _MOVES:
        raise TooLargeError(
            f"{ranks} nodes and {chunks} chunks or more are too many to compile; use fewer trees (--fixed-k), fewer "
            "parts of each, or a smaller N"
        )


def _by_root(schedule: Trees) -> dict[tuple[bool, int], list[int]]:
    """Return the trees of every root, in-trees and out-trees apart."""
    trees: dict[tuple[bool, int], list[int]] = defaultdict(list)
    for tree, root in enumerate(schedule.root.tolist()):
        trees[tree < schedule.reduce_trees, root].append(tree)
    return trees


def _streams(schedule: Trees, start: list[int], parts: int) -> Iterator[_Stream]:
    """Yield the parts of every tree with the chunks they carry; part p goes p steps later than the first."""
    rank = {node: at for at, node in enumerate(schedule.compute_nodes.tolist())}
    rows = np.searchsorted(schedule.tree, np.arange(len(schedule) + 1)).tolist()
    for (reduces, node), trees in _by_root(schedule).items():
        root = rank[node]
        cuts = [(start[root + 1] - start[root]) * part // parts for part in range(parts + 1)]
        ends = [0, *itertools.accumulate(schedule.weight[trees].tolist())]
        for tree, (low, high) in zip(trees, itertools.pairwise(ends), strict=True):
            arrived: Counter[int] = Counter()  # level of the last arrival at each rank
            edges = []
            for row in range(rows[tree], rows[tree + 1]):
                src, dst = rank[int(schedule.src[row])], rank[int(schedule.dst[row])]
                edges.append((arrived[src] + 1, src, dst))
                arrived[dst] = max(arrived[dst], arrived[src] + 1)
            for part in range(parts):
                begin, length = start[root] + cuts[part], cuts[part + 1] - cuts[part]
                chunks = range(begin + length * low // ends[-1], begin + length * high // ends[-1])
                if not chunks:
                    continue
                yield _Stream(reduces, root, chunks, [(level + part, src, dst) for level, src, dst in edges])


def _messages(
    streams: list[_Stream], reduce_steps: int, width: Mapping[tuple[int, int], int], *, apart: bool
) -> list[tuple[Message, list[int]]]:
    """Share the streams of two ranks out evenly among their instances; return the messages in the order to keep.

    If the phases are to be apart, where both need a connection the second has instances after those of the first.
    """
    reduced = {(src, dst) for stream in streams if stream.reduces for _, src, dst in stream.edges}
    load: dict[tuple[bool, int, int], list[int]] = {}
    carried: dict[Message, list[int]] = defaultdict(list)
    for stream in streams:
        for level, src, dst in stream.edges:
            second = apart and not stream.reduces and (src, dst) in reduced
            sizes = load.setdefault((second, src, dst), [0] * width[src, dst])
            lightest = sizes.index(min(sizes))
            sizes[lightest] += len(stream.chunks)
            instance = lightest + second * len(sizes)
            step = level if stream.reduces else reduce_steps + level
            carried[step, src, dst, instance] += stream.chunks
    return [(message, sorted(carried[message])) for message in sorted(carried)]


@dataclass
class _Writer:
    """Messages on their way to operations."""

    collective: Collective
    inplace: bool
    start: list[int]
    max_count: int
    messages: list[tuple[Message, list[int]]]
    reduce_steps: int
    ranks: list[Emitter] = field(init=False)
    sums: list[dict[int, Place]] = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.start) - 1
        arriving: list[dict[tuple[int | None, int], None]] = [{} for _ in range(count)]
        for (_, src, dst, instance), _ in self.messages:
            arriving[dst][src, instance] = None
        self.ranks = [Emitter(list(connections), self.max_count) for connections in arriving]
        self.sums = [{} for _ in range(count)]  # where partial sums are by now

    def operations(self) -> Operations:
        self._copy_own()
        for (step, src, dst, instance), chunks in self.messages:
            reduces = step <= self.reduce_steps
            source = [self._held(src, x, reduces=reduces) for x in chunks]
            before = [self._held(dst, x, reduces=True) for x in chunks] if reduces else source
            after = [self._home(dst, x) if reduces else OUT + x for x in chunks]
            for first, last in runs(source, before, after):
                for at in range(first, last, self.max_count):
                    cut = slice(at, min(at + self.max_count, last))
                    part = Part((step, src, dst), instance, chunks[cut])
                    self.ranks[src].send(part, source[cut])
                    if reduces:
                        self.ranks[dst].receive_reduce(part, before[cut], after[cut])
                    else:
                        self.ranks[dst].receive(part, after[cut])
            if reduces:
                self.sums[dst].update(zip(chunks, after, strict=True))
        return operations_of([emitter.operations() for emitter in self.ranks])

    def _copy_own(self) -> None:
        """Out of place, copy what is both a rank's own input and its output; a single rank does nothing else."""
        if self.inplace or (self.collective.reduces and len(self.ranks) > 1):
            return
        for rank, emitter in enumerate(self.ranks):
            own = range(self.start[rank], self.start[rank + 1])
            if own:
                emitter.prepare([self._initial(rank, x) for x in own], [OUT + x for x in own])

    def _initial(self, rank: int, x: int) -> Place:
        """Return where a rank's input chunk is from the start."""
        if self.inplace:
            return (OUT if self.collective.copies else IN) + x
        return IN + (x - self.start[rank] if self.collective.movements[0].source == "each" else x)

    def _held(self, rank: int, x: int, *, reduces: bool) -> Place:
        """Return where a rank has a chunk: its partial sum, or in the second half the chunk itself."""
        if reduces:
            return self.sums[rank].get(x) or self._initial(rank, x)
        own = self.start[rank] <= x < self.start[rank + 1]
        return self._initial(rank, x) if own and not self.collective.reduces else OUT + x

    def _home(self, rank: int, x: int) -> Place:
        """Return where a rank adds up a chunk; input is never written unless it is the output too."""
        if self.collective.copies:
            return OUT + x
        if not self.start[rank] <= x < self.start[rank + 1]:
            return ACCUMULATOR + x
        if self.inplace:
            return IN + x
        return OUT + (x - self.start[rank] if self.collective.movements[-1].destination == "each" else x)
