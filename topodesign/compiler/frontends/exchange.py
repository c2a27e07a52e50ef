"""From rounds of what has one destination to instructions: all-to-all, scatter and gather.

Every part of a block goes a way of its own, from the input of its source over scratch of nodes in between to the output
of its destination. What a link carries in a step is sent in pieces, from where each is to where it belongs or waits in
scratch to be sent on; or, where that takes fewer instructions, as one: gathered in scratch, unless it lies together
already, and received into scratch, from where it is sent on or copied home, unless all of it is for one place.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from topodesign.base.errors import ScheduleError, TooLargeError
from topodesign.base.wording import counted
from topodesign.collectives import ALL_TO_ALL, GATHER, SCATTER, Collective
from topodesign.compiler.frontends.layout import carriers
from topodesign.compiler.frontends.operations import (
    IN,
    OUT,
    Emitter,
    Message,
    Operations,
    Part,
    Place,
    contiguous,
    cut,
    emitters,
    operations_of,
    runs,
)
from topodesign.compiler.ir import Kind
from topodesign.plans.rounds import Rounds

COLLECTIVES = (ALL_TO_ALL, SCATTER, GATHER)  # what this module can do

MOST_HOPS = 2**19  # chunks times links that they go over: about a minute

Route = tuple[Message, ...]  # the hops of a part: step, sender and receiver of each


@dataclass(frozen=True)
class Piece:
    """A part of a block: all units of it that go one way."""

    block: int  # number of the block
    first: int  # where it lies in the block, in chunks
    size: int
    route: Route  # its hops


@dataclass(frozen=True)
class Journey:
    """The pieces of all blocks, and how many chunks a block has."""

    chunks: int
    pieces: list[Piece]


def journeys(schedule: Rounds, split: int, *, partly: bool = False) -> Journey:
    """Cut blocks into as few chunks as the schedule allows, times ``split``, and follow each part to its destination.

    Notes
    -----
    Parts of a block that go one way are laid next to each other: any order of the units does. What goes elsewhere than
    to its destination is left out. ``partly``: units that nobody sends need not arrive; they come last.
    """
    collective, nodes = schedule.collective, schedule.nodes
    blocks = collective.blocks(collective.members(nodes), nodes)
    source, goal = collective.places(collective.movements[0], blocks, nodes)
    width = schedule.hi - schedule.lo
    least = math.gcd(schedule.units, int(np.gcd.reduce(width)) if len(width) else 0)
    check_hops(nodes, schedule.units // least * split, int((width // least).sum()) * split)
    order = np.lexsort((schedule.step, schedule.block))
    bounds = np.searchsorted(schedule.block[order], np.stack((blocks, blocks + 1), axis=1)).tolist()
    sizes: list[tuple[int, dict[Route, int]]] = []
    for block, start, end, (low, high) in zip(blocks.tolist(), source.tolist(), goal.tolist(), bounds, strict=True):
        if start != end:
            sizes.append((block, _routes(schedule, order[low:high], (start, end), partly=partly)))
    chunk = math.gcd(schedule.units, *(size for _, routes in sizes for size in routes.values()))
    chunks = schedule.units // chunk * split
    pieces = []
    for block, routes in sizes:
        at = 0
        for route in sorted(routes):
            size = routes[route] // chunk * split
            pieces.append(Piece(block, at, size, route))
            at += size
    return Journey(chunks, pieces)


def check_hops(nodes: int, chunks: int, hops: int) -> None:
    """Raise TooLargeError if blocks of so many chunks or more, which go over so many links, would take minutes."""
    if hops > MOST_HOPS:
        raise TooLargeError(
            f"{nodes} nodes with {counted(chunks, 'chunk')} per block or more are too many to compile; use fewer "
            "channels, a schedule with fewer --chunks, or a smaller N"
        )


def _routes(schedule: Rounds, rows: np.ndarray, ends: tuple[int, int], *, partly: bool) -> dict[Route, int]:
    """Return the ways of a block's units, with how many go each."""
    found: dict[Route, int] = defaultdict(int)
    for hops, size in carriers(schedule, rows):
        if hops or not partly:
            found[_followed(hops, *ends)] += size
    return dict(found)


def _followed(hops: list[Message], source: int, goal: int) -> Route:
    """Return those of the hops of one unit, in order of their steps, that bring it to its destination."""
    brought: dict[int, Message] = {}
    since = {source: 0}
    for step, src, dst in hops:
        if since.get(src, step) >= step:
            raise ScheduleError(f"step {step}: node {src} sends what it does not have; 'topodesign verify' says more")
        if dst not in since:
            since[dst], brought[dst] = step, (step, src, dst)
    route: list[Message] = []
    while goal != source:
        if goal not in brought:
            raise ScheduleError(f"a block from node {source} does not arrive; 'topodesign verify' says more")
        route.append(brought[goal])
        goal = brought[goal][1]
    return tuple(reversed(route))


@dataclass
class Writer:
    """Pieces on their way to operations."""

    collective: Collective  # what they belong to, with its root if it has one
    ranks: int  # number of ranks
    journey: Journey  # the pieces
    inplace: bool  # whether input and output share memory
    channels: int  # connections that each message is split over
    max_count: int  # the most chunks that one instruction moves
    emitters: list[Emitter] = field(init=False)
    given: list[dict[int, Place]] = field(init=False)
    wanted: list[dict[int, Place]] = field(init=False)

    def __post_init__(self) -> None:
        """Find out where blocks are and belong, and which connections there are."""
        self.given, self.wanted = [], []
        for rank in range(self.ranks):
            inputs, outputs = self.collective.inputs(rank, self.ranks), self.collective.outputs(rank, self.ranks)
            starts, names = (0, 0), (IN, OUT)
            if self.inplace:
                starts = self.collective.in_place(rank, self.ranks)
                names = (IN, IN) if len(outputs) < len(inputs) else (OUT, OUT)
            ends = (self.given, inputs, starts[0], names[0]), (self.wanted, outputs, starts[1], names[1])
            for places, blocks, start, name in ends:
                places.append({block: name + (start + at) * self.journey.chunks for at, block in enumerate(blocks)})
        senders: list[set[int]] = [set() for _ in range(self.ranks)]
        for piece in self.journey.pieces:
            for _, src, dst in piece.route:
                senders[dst].add(src)
        self.emitters = emitters(senders, self.channels, self.max_count)

    def operations(self) -> Operations:
        """Return the operations of each rank in serial order."""
        self._copy_own()
        messages: dict[Message, list[int]] = defaultdict(list)
        self._chunk: list[Piece] = []  # that each chunk belongs to, its place in the end and last hop
        self._homes: list[Place] = []
        self._last: list[Message] = []
        here: list[Place] = []
        for piece in self.journey.pieces:
            numbers = range(len(here), len(here) + piece.size)
            for ends, places in ((self.given[piece.route[0][1]], here), (self.wanted[piece.route[-1][2]], self._homes)):
                start = ends[piece.block] + piece.first
                places.extend(range(start, start + piece.size))
            self._chunk += [piece] * piece.size
            self._last += [piece.route[-1]] * piece.size
            for hop in piece.route:
                messages[hop] += numbers
        leaves = self._leaving(here)
        late: list[tuple[int, Part, Place, Place]] = []
        for step, group in itertools.groupby(sorted(messages), key=lambda message: message[0]):
            ordered = [(message, self._ordered(message, messages[message], here)) for message in group]
            arriving = [
                part for message, chunks in ordered for part in cut(message, chunks, self.channels, self.max_count)
            ]
            landed = [one for part in arriving for one in self._send(part, here, leaves)]
            for part, places in landed:
                late += self._arrive(part, places, here, leaves)
            late = self._bring_home(late, step)
        self._bring_home(late, None)
        return operations_of([emitter.operations() for emitter in self.emitters])

    def _copy_own(self) -> None:
        """Out of place, copy the blocks that stay where they are."""
        for rank, emitter in enumerate(self.emitters):
            for block in self.given[rank].keys() & self.wanted[rank].keys():
                source, target = self.given[rank][block], self.wanted[rank][block]
                if source != target:
                    size = self.journey.chunks
                    emitter.prepare(list(range(source, source + size)), list(range(target, target + size)))

    def _leaving(self, here: list[Place]) -> list[dict[Place, int]]:
        """Return for each rank the steps in which chunks of its input leave, where output may be written over them."""
        leaves: list[dict[Place, int]] = [{} for _ in range(self.ranks)]
        if self.inplace:
            for piece, place in zip(self._chunk, here, strict=True):
                step, src, _ = piece.route[0]
                leaves[src][place] = step
        return leaves

    def _ordered(self, message: Message, chunks: list[int], here: list[Place]) -> list[int]:
        """Order what a message carries: what goes on together stays together, and lies as it does at the sender."""
        tails: dict[int, Route] = {}  # of routes by their identity

        def key(x: int) -> tuple[Route, Place]:
            route = self._chunk[x].route
            after = tails.get(id(route))
            if after is None:
                after = tails[id(route)] = route[route.index(message) + 1 :]
            return after, here[x] if after else self._homes[x]

        return sorted(chunks, key=key)

    def _send(
        self, part: Part, here: list[Place], leaves: list[dict[Place, int]]
    ) -> Iterator[tuple[Part, list[Place]]]:
        """Send a part whole or, if that takes no more instructions, in pieces; yield each with where it is received."""
        step, src, dst = part.message
        source = [here[x] for x in part.chunks]
        last, homes, busy = self._last, self._homes, leaves[dst]  # a chunk may go home if what is there has left
        free = {x: homes[x] for x in part.chunks if last[x] == part.message and busy.get(homes[x], 0) < step}
        places = list(free.values())
        if len(free) < len(part.chunks) or not contiguous(places):
            spread = [at for at, x in enumerate(part.chunks) if x in free]
            gathers, spreads = len(runs(source)), len(runs(spread, places)) if free else 0
            scratch = iter(self.emitters[dst].fresh(len(part.chunks)))
            apart = [free[x] if x in free else next(scratch) for x in part.chunks]
            cuts = runs(source, apart)
            if 2 * len(cuts) <= 2 + (gathers if gathers > 1 else 0) + spreads:
                for start, stop in cuts:
                    piece = Part(part.message, part.instance, part.chunks[start:stop])
                    self.emitters[src].send(piece, source[start:stop])
                    yield piece, apart[start:stop]
                return
            places = self.emitters[dst].fresh(len(part.chunks))
        self.emitters[src].send(part, source)
        yield part, places

    def _arrive(
        self, part: Part, places: list[Place], here: list[Place], leaves: list[dict[Place, int]]
    ) -> list[tuple[int, Part, Place, Place]]:
        """Receive a part; return what has to be copied home once what is there has left, with the step of that."""
        step, _, dst = part.message
        emitter = self.emitters[dst]
        emitter.receive(part, places)
        late, ready = [], []
        for x, place in zip(part.chunks, places, strict=True):
            here[x] = place
            home = self._homes[x]
            if place != home and self._last[x] == part.message:
                busy = leaves[dst].get(home, 0)
                late += [(busy, part, place, home)] * (busy >= step)
                ready += [(place, home)] * (busy < step)
        if ready:
            emitter.unpack(Kind.COPY, part, *map(list, zip(*ready, strict=True)))
        return late

    def _bring_home(
        self, late: list[tuple[int, Part, Place, Place]], step: int | None
    ) -> list[tuple[int, Part, Place, Place]]:
        """Copy what waited for the sends up to a step, after all receives of it; return the rest."""
        due: dict[int, tuple[Part, list[Place], list[Place]]] = {}
        rest = []
        for after, part, place, home in late:
            if step is not None and after > step:
                rest.append((after, part, place, home))
                continue
            _, sources, targets = due.setdefault(id(part), (part, [], []))
            sources.append(place)
            targets.append(home)
        for part, sources, targets in due.values():
            self.emitters[part.message[2]].unpack(Kind.COPY, part, sources, targets)
        return rest
