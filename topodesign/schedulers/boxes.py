"""Plans lifted from the graph of boxes.

Boxes are nodes of a graph whose links are the cables between them, or the ways over switches that they share; over
rails, where boxes are many, of each NIC to one box alone. A schedule of that graph says over which links the data of a
box go, in which order: the blocks of its nodes, one after the other. What it sends over a link in a step is one message
for each cable and chunk, from the node that has the cable. Inside, whoever has data first sends them on, first to those
that send them to other boxes; where a switch inside copies, to all at once. Every message goes as soon as its data are
there and its links are free, those of early steps first, or those of early chunks.

Links are free for the next message when they have transmitted one, latencies running on, and links out of nodes a gap
later (:mod:`topodesign.base.latency`). A reduce-scatter is the allgather on the links turned round, backwards in time.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np

from topodesign.base.arguments import as_integer
from topodesign.base.arrays import ranges
from topodesign.base.compiled import Ints
from topodesign.base.cost import Cost
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError
from topodesign.base.latency import GAP
from topodesign.base.wording import count_noun
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, REDUCE_SCATTER
from topodesign.fabrics.fabric import OWN_LATENCIES, Fabric
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import concatenate, join_links, reverse
from topodesign.plans.link_times import LinkTimes, flow_in_ticks
from topodesign.plans.plan import Plan
from topodesign.schedulers.box_ways import Boxes, Hop, Way, boxes_in, exchange_plan
from topodesign.schedulers.in_order import Flights, Messages, run
from topodesign.schedulers.method import MAX_WHOLE, Method, Request, spec_of
from topodesign.topology.topology import Topology

_MAX_CHUNKS = 64
_MAX_SENDS = 2**22  # above which no larger number of chunks is looked at
_GRAIN = Fraction(1, 10**12)  # seconds to which times of links without a common tick are rounded up
_LAST = 2**20  # after every step, for what no other box waits for


_Pieces: TypeAlias = tuple[tuple[int, int, int], ...]
"""What moves as one: units of the data of boxes, as box, first unit, unit after the last."""


class _CableData(NamedTuple):
    """Data sent over a cable in one step."""

    step: int
    way: Way
    pieces: _Pieces


class _Lift(NamedTuple):
    """Schedule of the box graph in whole units."""

    steps: int
    units: int  # of the data of a node
    sent: list[_CableData]


class _Base(NamedTuple):
    """Messages of one chunk, with rows of message, node and units."""

    messages: Messages
    message: Ints
    node: Ints
    lo: Ints
    hi: Ints


class _TimedLift(NamedTuple):
    """Lift in chunks, with its message times."""

    lift: _Lift
    chunks: int
    base: _Base
    flights: Flights
    times: LinkTimes

    @property
    def time(self) -> Fraction:
        """Finish time in seconds."""
        return self.flights.last * self.times.tick


def _make(request: Request) -> list[Plan]:
    if request.collective.like(ALL_TO_ALL):
        return [exchange_plan(request)]
    fabric = request.fabric
    if request.alpha is None and fabric.latency:
        request = request.but(alpha=OWN_LATENCIES)
    chunks = None if request.chunks is None else as_integer("chunks", request.chunks, 1, _MAX_CHUNKS)
    backwards = [one.like(REDUCE_SCATTER) for one in request.collective.parts]
    found: dict[bool, _TimedLift] = {}
    for back in dict.fromkeys(backwards):
        lifts = _lifts(fabric, back=back)
        if not back and fabric.multicast:
            one_by_one = boxes_in(fabric, copies=False).spread  # which may be faster where data are large
            lifts += [(lift, replace(boxes, spread=one_by_one)) for lift, boxes in lifts]
        tried = [made for lift, boxes in lifts for made in _fastest(request, boxes, lift, chunks, back=back)]
        found[back] = min(tried, key=lambda made: made.time)
    units = math.lcm(*(made.chunks * made.lift.units for made in found.values()))
    times = request.link_times(fabric, ALLGATHER, units, grain=_GRAIN)
    halves = [_sends(request, fabric, found[back], times, units, back=back) for back in backwards]
    timed = halves[0] if len(halves) == 1 else concatenate(*halves)
    made = found[backwards[-1]]
    number = count_noun(made.chunks, "chunk")
    words = f"{count_noun(made.lift.steps, 'step')} from box to box, {number} that follow one another"
    generator = {"method": "boxes", "chunks": made.chunks, "steps": made.lift.steps, "gap": str(GAP)}
    return [Plan(fabric, join_links(timed), {"time": timed.time}, spec_of(request), generator, (words,))]


def _reverse_fabric(fabric: Fabric) -> Fabric:
    """Return the fabric with all links reversed."""
    topology = fabric.topology
    order = np.lexsort((topology.src, topology.dst)).tolist()
    return replace(fabric, topology=topology.transpose(), classes=tuple(fabric.classes[at] for at in order))


def _lifts(fabric: Fabric, *, back: bool) -> list[tuple[_Lift, Boxes]]:
    """Return candidate lifts: minimum steps, and minimum bandwidth factor."""
    from topodesign.schedulers.scheduling import schedule  # noqa: PLC0415  lists this module

    boxes = boxes_in(_reverse_fabric(fabric), copies=False) if back else boxes_in(fabric)
    few = len(boxes.members) <= len(boxes.members[0]) + 1  # so that messages to all others are not small
    ways = [*([boxes] if few or not boxes.rails else []), *([boxes.strided] if boxes.rails else [])]
    found = list[tuple[_Lift, Boxes]]()
    for one in ways:
        costs = set[Cost]()
        for method in ("auto", "deferred"):
            try:
                plan = schedule(one.graph, ALLGATHER, method=method)
            except (InfeasibleError, ParameterError):
                continue
            if plan.cost is not None and plan.cost not in costs and plan.flow.sends <= MAX_WHOLE:
                costs.add(plan.cost)
                found.append((_lift_rounds(plan.rounds, one), one))
    return found


def _lift_rounds(rounds: Flow, boxes: Boxes) -> _Lift:
    """Return the lift of a schedule, with loads split over cables."""
    size = len(boxes.members[0])
    parts = math.lcm(*(len(ways) for ways in boxes.cables.values()))
    units = math.lcm(rounds.units * parts, size)
    scale = units // rounds.units
    by_link: dict[tuple[int, int, int], list[tuple[int, int, int]]] = defaultdict(list)
    rows = zip(*(getattr(rounds, name).tolist() for name in ("step", "src", "dst", "block", "lo", "hi")), strict=True)
    for step, src, dst, block, lo, hi in rows:
        by_link[step, src, dst].append((block, lo * scale, hi * scale))
    sent = []
    for (step, src, dst), pieces in by_link.items():
        ways = boxes.cables[src, dst]
        share = sum(hi - lo for _, lo, hi in pieces) // len(ways)
        left = sorted(pieces)
        for way in ways:
            taken, room = list[tuple[int, int, int]](), share
            while room:
                block, lo, hi = left.pop(0)
                end = min(hi, lo + room)
                taken.append((block, lo, end))
                room -= end - lo
                if end < hi:
                    left.insert(0, (block, end, hi))
            sent.append(_CableData(step, way, tuple(taken)))
    return _Lift(rounds.steps, units // size, sent)


def _fastest(request: Request, boxes: Boxes, lift: _Lift, chunks: int | None, *, back: bool) -> Iterator[_TimedLift]:
    """Yield the fastest lift over doubling chunk counts.

    Once with early chunks first, and once with early steps first.
    """
    topology = request.fabric.topology
    base = _collect_messages(topology.transpose() if back else topology, boxes, lift)
    rows = int(np.diff(base.messages.way_start)[base.message].sum())
    for whole in (False, True):
        made = _time_lift(request, base, lift, chunks or 1, back=back, whole=whole)
        while chunks is None and 2 * made.chunks <= _MAX_CHUNKS and 2 * made.chunks * rows <= _MAX_SENDS:
            more = _time_lift(request, base, lift, 2 * made.chunks, back=back, whole=whole)
            if more.time >= made.time:
                break
            made = more
        yield made


def _time_lift(request: Request, base: _Base, lift: _Lift, chunks: int, *, back: bool, whole: bool) -> _TimedLift:
    """Return a lift with its message times."""
    fabric, topology = request.fabric, request.fabric.topology
    times = request.link_times(fabric, ALLGATHER, chunks * lift.units, grain=_GRAIN)
    order = np.lexsort((topology.src, topology.dst)) if back else slice(None)
    gap = np.where(np.isin(topology.src[order], list(topology.switches)), 0, int(-(-GAP // times.tick)))
    messages = base.messages.repeat(chunks, whole=whole)
    flights = run(messages, times.latency[order], times.per_unit[order], gap, in_turn=back)
    return _TimedLift(lift, chunks, base, flights, times)


def _collect_messages(topology: Topology, boxes: Boxes, lift: _Lift) -> _Base:
    """Return the messages of one chunk and their data."""
    units = lift.units
    box = {node: at for at, some in enumerate(boxes.members) for node in some}
    link = {(u, v): at for at, (u, v, _) in enumerate(topology.links())}
    # by node and box: which of the data of the box the node sends to other boxes, and in which step
    wanted: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
    for one in sorted(lift.sent, key=lambda one: one.step):
        for owner, lo, hi in one.pieces:
            wanted[one.way[0], owner].append((one.step, lo, hi))
    sent = list[tuple[Hop, _Pieces, tuple[int, ...], int]]()  # the way, what goes, after which messages, and how urgent

    # by node and box: what it got of the data of the box, by which message
    holds: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)

    def send(hop: Hop, pieces: _Pieces, after: tuple[int, ...], urgency: int) -> int:
        for owner, lo, hi in pieces:
            for target in hop.targets:
                holds[target, owner].append((len(sent), lo, hi))
        sent.append((hop, pieces, after, urgency))
        return len(sent) - 1

    def spread(node: int, pieces: _Pieces, after: tuple[int, ...]) -> None:
        by = {node: after}
        for hop in boxes.spread[node]:
            soon = min((step for one in hop.targets for step in _meeting(wanted, one, pieces)), default=_LAST)
            by |= dict.fromkeys(hop.targets, (send(hop, pieces, by[hop.source], 2 * soon - 1),))

    for some in boxes.members:
        for at, node in enumerate(some):
            spread(node, ((box[node], at * units, (at + 1) * units),), ())
    for one in sorted(lift.sent, key=lambda one: one.step):
        after = tuple(dict.fromkeys(_meeting(holds, one.way[0], one.pieces)))
        hop = Hop(one.way[0], one.way[-1:], tuple(itertools.pairwise(one.way)))
        spread(one.way[-1], one.pieces, (send(hop, one.pieces, after, 2 * one.step),))
    way_start, way = _columns([[link[ends] for ends in hop.links] for hop, *_ in sent])
    after_start, after_whom = _columns([after for _, _, after, _ in sent])
    whole = [sum(hi - lo for _, lo, hi in pieces) for _, pieces, *_ in sent]
    urgency, copied = [one[-1] for one in sent], [int(len(hop.targets) > 1) for hop, *_ in sent]
    rows = [
        (number, boxes.members[owner][at], max(lo - at * units, 0), min(hi - at * units, units))
        for number, (_, pieces, *_) in enumerate(sent)
        for owner, lo, hi in pieces
        for at in range(lo // units, -(-hi // units))
    ]
    columns = (np.array(some, dtype=np.int64) for some in (whole, urgency, copied))
    size, urgent, copies = columns
    messages = Messages(way_start, way, size, after_start, after_whom, urgent, copies)
    return _Base(messages, *np.array(rows, dtype=np.int64).T)


def _columns(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return start indices of lists and their concatenation."""
    start = np.array(list(itertools.accumulate(map(len, lists), initial=0)), dtype=np.int64)
    return start, np.array(list(itertools.chain.from_iterable(lists)), dtype=np.int64)


def _meeting(known: dict[tuple[int, int], list[tuple[int, int, int]]], node: int, pieces: _Pieces) -> Iterator[int]:
    """Yield numbers of entries at a node that overlap the pieces."""
    for owner, low, high in pieces:
        for number, lo, hi in known.get((node, owner), ()):
            if lo < high and low < hi:
                yield number


def _sends(request: Request, fabric: Fabric, made: _TimedLift, times: LinkTimes, units: int, *, back: bool) -> Flow:
    """Return messages as a flow in the given units and ticks."""
    topology = fabric.topology.transpose() if back else fabric.topology
    order = np.lexsort((fabric.topology.src, fabric.topology.dst)) if back else slice(None)
    each, base = made.lift.units, made.base
    first_hop = base.messages.way_start
    count = np.diff(first_hop)[base.message]
    row, hop = ranges(first_hop[base.message], count)
    chunk, row = np.repeat(np.arange(made.chunks), len(row)), np.tile(row, made.chunks)
    link = np.tile(base.messages.way[hop], made.chunks)
    hop = np.tile(hop, made.chunks) + chunk * int(first_hop[-1])
    start, end = made.flights.start[hop], made.flights.end[hop]
    scale, ticks = units // (made.chunks * each), made.times.tick / times.tick
    if ticks.denominator > 1:
        raise TooLargeError("the halves of this allreduce have no common tick; use --set chunks=")
    lo, hi = ((chunk * each + column[row]) * scale for column in (base.lo, base.hi))
    columns = (start * int(ticks), end * int(ticks), topology.src[link], topology.dst[link], base.node[row], lo, hi)
    own = LinkTimes(times.tick, times.latency[order], times.per_unit[order])
    timed = flow_in_ticks(topology, ALLGATHER, (units, Fraction(request.size)), own, columns, overlap=True)
    return reverse(timed, fabric.topology) if back else timed


OPTIONS = frozenset({"chunks", "alpha", "only", "without"})
MADE = (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, ALL_TO_ALL)
METHOD = Method("boxes", OPTIONS, MADE, _make, movement="sends", fabrics=True, auto=False)
