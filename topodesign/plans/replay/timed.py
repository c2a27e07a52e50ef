"""The verifier of timed sends: whether every send has its data and its link when it starts; exact, in integers.

It shares no code with what makes the plans. Blocks are cut wherever an interval of them ends; a *cell* is a node and
such a piece, all units of which fare alike.

Copies. A cell of the source has its data from the start, any other from the first delivery to it. The plan is right if
and only if every send starts when its cells have theirs, and in the end every destination has every unit. That is no
circle: data are on their way for at least one tick, so that what a send rests on has started before.

Sums. Every contribution of a member is a token, at its own node at the start. A send takes all tokens of its cells
along and brings them to the receiver when it ends. The sets of tokens in cells and on their way are always disjoint, so
nothing is lost or counted twice while no send is of an empty set. A cell is not empty if and only if the event before,
at that cell, is a delivery, or there is none and the node is a member: deliveries at a time come before sends. In the
end all tokens are at the destination if and only if everywhere else the last event is a send.

Of an allreduce the sum is complete with the last delivery to its destination, and from then on it may be copied.

Switches. What they pass on is joined to journeys from node to node first; a send of its own they have none, and several
of what came once only those that copy.

Links. No two messages have one link at the same time, and none is faster than its link. A message is all sends over one
link that start together and end together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.declared import Declared, key
from topodesign.base.errors import ScheduleError, TooLargeError
from topodesign.base.units import format_size, format_time
from topodesign.collectives import Collective
from topodesign.collectives.collective import EVERYONE
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.plan import Plan
from topodesign.plans.replay.found import SHOWN, WASTED, Found, listed, wasteful
from topodesign.plans.timed import MAX_TICKS, Journeys, Timed, Together, journeys
from topodesign.topology.topology import Topology

MAX_CELLS = 2**27  # cells of all sends, and of all blocks and nodes, that are looked at
_AT_ONCE = 2**22  # so many of them together, unless those of one block are more

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TimedReport(Declared):
    """What the verifier found."""

    collective: Collective  # what it was checked to be
    size: Fraction  # data that it is for, in bytes
    time: Fraction  # seconds until all have all
    # what is wrong, readable, at most ``SHOWN`` examples of each kind and the number of them
    problems: tuple[str, ...]
    # (node, unit) deliveries of copies that the receiver already had, or had first from another: no harm
    redundant: int
    # (node, unit) deliveries of sums to a node that had already sent its partial sum of the unit: right, but the
    # receiver must start a new sum
    refilled: int

    KEYS = ("time size_bytes=size", *WASTED)

    @property
    def ok(self) -> bool:
        """Whether the plan is right (and the claim, if one was made, true)."""
        return not self.problems

    @property
    def notes(self) -> tuple[str, ...]:
        """What is right but wasteful."""
        return wasteful(self.redundant, self.refilled)

    def __str__(self) -> str:
        """Return the verdict and the problems, one a line."""
        return Found(self.problems, text=format_time(self.time), notes=self.notes).said(self.collective)


class Cells(NamedTuple):
    """Which cells every send takes its data from, and brings them to."""

    row: Ints  # the send of every entry, ascending
    # sent, received: cells: ``node * pieces + piece``
    sent: Ints
    received: Ints
    # piece_block, piece_lo, piece_hi: what block and which units a piece is, shape ``(pieces,)``. Pieces of one block
    # follow one another without a gap, from 0 to all units
    piece_block: Ints
    piece_lo: Ints
    piece_hi: Ints


class _Fate(NamedTuple):
    """What becomes of the pieces of a movement."""

    lacking: Ints  # sends of what the sender does not have
    unfinished: Ints  # cells that are not as they must be in the end
    complete: Ints  # when each piece is whole where it is added up
    extra: int  # units delivered in vain, or to a sum that is a new one


def verify_timed(
    topology: Topology, timed: Timed, claim: Fraction | None = None, *, multicast: Collection[int] = ()
) -> TimedReport:
    """Check every send and the postcondition of the collective; ``multicast`` are the switches that copy."""
    if not timed.fits(topology):
        raise ScheduleError(
            f"the plan is for {timed.nodes} nodes and {len(timed.latency)} links, "
            f"the topology has {topology.nodes} and {len(topology.src)}"
        )
    link = topology.link_index(timed.src, timed.dst)
    link[timed.src == timed.dst] = -1  # a self-loop carries nothing
    members = timed.collective.members(topology.nodes, topology.switches)
    numbers = timed.collective.blocks(members, topology.nodes)
    known = np.isin(timed.block, numbers)
    problems = _listed(timed, link < 0, lambda _: "there is no such link", "sends without a link")
    problems += _listed(timed, ~known, lambda _: "the collective has no such block", "sends of no block")
    problems += _link_problems(timed, link)
    way = journeys(timed, topology.switches)
    problems += _switch_problems(timed, link, way, multicast)
    way = way.kept(timed.start[way.first] < timed.end[way.last])  # others are among the problems, as too early
    real = ((link >= 0) & known)[way.last] & (link >= 0)[way.first]
    more, redundant, refilled = _replay(way.whole(timed), np.flatnonzero(real), members, numbers)
    problems += more
    if claim is not None and claim != timed.time:
        problems.append(f"the claimed time is {claim}s, but the last send ends after {timed.time}s")
    return TimedReport(timed.collective, timed.size, timed.time, tuple(problems), redundant, refilled)


def replayed_timed(plan: Plan, timed: Timed) -> Found:
    """Replay the timed sends of a plan."""
    report = verify_timed(plan.topology, timed, multicast=_copying(plan))
    text = f"{len(timed)} sends of {format_size(timed.size)} in {format_time(report.time)}"
    problems = report.problems or tuple(too_quick(plan, timed))
    return Found(problems, {"time": report.time}, report, text, report.notes)


def _copying(plan: Plan) -> Collection[int]:
    return plan.place.multicast if isinstance(plan.place, Fabric) else ()


def too_quick(plan: Plan, timed: Timed) -> list[str]:
    """Return the links of a fabric that timed sends take for faster than they are."""
    if not isinstance(plan.place, Fabric):
        return []
    members = len(timed.collective.members(timed.nodes, plan.topology.switches))
    unit_bytes = timed.size / (timed.collective.shards(members) * timed.units)
    speeds = zip(plan.topology.links(), timed.per_unit.tolist(), strict=True)
    quick = [(u, v) for (u, v, ports), ticks in speeds if ticks * timed.tick * ports * plan.place.unit < unit_bytes]
    names = plan.place.names
    return [f"the plan takes {names[u]} -> {names[v]} for faster than the fabric's link" for u, v in quick[:SHOWN]]


def cells_of(timed: Timed, rows: Ints, blocks: Ints) -> Cells:
    """Return the cells of some sends, of all blocks."""
    ends, own = np.array([0, timed.units]), len(rows)
    block: Ints = np.concatenate((timed.block[rows], timed.block[rows], np.repeat(blocks, 2))).astype(np.int64)
    cut = np.concatenate((timed.lo[rows], timed.hi[rows], np.tile(ends, len(blocks))))
    order = np.lexsort((cut, block))
    block, cut = block[order], cut[order]
    new = np.append(True, (block[1:] != block[:-1]) | (cut[1:] != cut[:-1]))
    number = np.empty(len(order), dtype=np.int64)
    # The last cut of a block begins no piece: number those that do.
    begins = new & (cut < timed.units)
    number[order] = np.cumsum(begins) - (cut < timed.units)
    block, low = block[begins], cut[begins].astype(np.int64)
    high: Ints = np.append(low[1:], timed.units).astype(np.int64)
    high[np.append(block[1:] != block[:-1], True)] = timed.units
    left, right = number[:own], number[own : 2 * own]
    return _expanded(timed, rows, (left, right), (block, low, high))


def _expanded(timed: Timed, rows: Ints, spans: tuple[Ints, Ints], pieces: tuple[Ints, Ints, Ints]) -> Cells:
    left, right = spans
    count = right - left
    if int(count.sum()) > MAX_CELLS:
        raise TooLargeError(f"{int(count.sum())} pieces of all sends are too many to replay")
    begin = np.cumsum(count) - count
    row = np.repeat(rows, count)
    piece = np.arange(len(row)) + np.repeat(left - begin, count)
    total = len(pieces[0])
    return Cells(row, timed.src[row] * np.int64(total) + piece, timed.dst[row] * np.int64(total) + piece, *pieces)


def _replay(timed: Timed, rows: Ints, members: Ints, numbers: Ints) -> tuple[list[str], int, int]:
    """Return the problems, the redundant and the refilled units; some blocks after others, for they are independent."""
    movements = timed.collective.movements
    bad = np.zeros((len(movements), len(timed)), dtype=np.bool_)
    examples: list[list[str]] = [[] for _ in movements]
    unfinished = [0] * len(movements)
    redundant = refilled = 0
    for own, blocks in _by_blocks(timed, rows, numbers, len(members)):
        cells = cells_of(timed, own, blocks)
        if len(members) * len(cells.piece_block) > MAX_CELLS:
            raise TooLargeError(f"{len(cells.piece_block)} pieces on {len(members)} nodes are too many to replay")
        ready = np.zeros(len(cells.piece_block), dtype=np.int64)
        for part, movement in enumerate(movements):
            chosen = timed.part[cells.row] == part
            some = cells._replace(row=cells.row[chosen], sent=cells.sent[chosen], received=cells.received[chosen])
            source, target = timed.collective.places(movement, cells.piece_block, timed.nodes)
            if movement.adds:
                fate = _add(timed, some, _cells_of_all(timed, members, cells.piece_block), target)
                refilled += fate.extra
                kind = "the partial sum of {what} at node {node} never gets to node {goal}"
            else:
                every = np.flatnonzero(target == EVERYONE)
                wanted = _cells_of_all(timed, members, cells.piece_block, every)
                fate = _copy(timed, some, ready, source, (wanted, target))
                redundant += fate.extra
                kind = "node {node} never gets {what}"
            bad[part, fate.lacking] = True
            unfinished[part] += len(fate.unfinished)
            examples[part] += _unfinished(timed, cells, fate.unfinished[: SHOWN - len(examples[part])], target, kind)
            ready = fate.complete
    problems: list[str] = []
    for part, movement in enumerate(movements):
        why = "does not have all of them at that time"
        if movement.adds:
            why = "has no partial sum of all of them to send at that time, or has sent it before"

        def words(row: int, why: str = why) -> str:
            return f"node {timed.src[row]} {why}"

        problems += _listed(timed, bad[part], words, "sends of what the sender does not have")
        problems += listed(examples[part], unfinished[part], "such pieces and nodes")
    return problems, redundant, refilled


def _by_blocks(timed: Timed, rows: Ints, numbers: Ints, members: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield some sends and some blocks after others: all sends of these, as many as are looked at together."""
    block = timed.block[rows]
    cuts = 1 + (timed.lo[rows] > 0) + (timed.hi[rows] < timed.units)
    most = np.bincount(np.searchsorted(numbers, block), cuts, len(numbers)) + 1
    turn = (np.cumsum(most) * members // _AT_ONCE).astype(np.int64)
    if len(numbers) == 0 or turn[-1] == 0:
        yield rows, numbers
        return
    order = np.argsort(block, kind="stable")
    begins = np.append(np.flatnonzero(np.diff(turn, prepend=-1)), len(numbers))
    ends = np.append(np.searchsorted(block, numbers[begins[:-1]], sorter=order), len(rows)).tolist()
    for a, b, first, last in zip(ends[:-1], ends[1:], begins[:-1].tolist(), begins[1:].tolist(), strict=True):
        yield np.sort(rows[order[a:b]]), numbers[first:last]


def _cells_of_all(timed: Timed, members: Ints, blocks: Ints, pieces: Ints | None = None) -> Ints:
    """Return the cells of all or some pieces at all members of the group that their block belongs to.

    By member, and for each by piece; all pieces have these blocks.
    """
    team = timed.collective.teams(timed.nodes)
    pieces = np.arange(len(blocks)) if pieces is None else pieces
    cells = members[:, None] * len(blocks) + pieces
    near: Ints = cells[team[members][:, None] == team[timed.collective.owners(blocks[pieces], timed.nodes)]]
    return near


def _copy(timed: Timed, cells: Cells, ready: Ints, source: Ints, goals: tuple[Ints, Ints]) -> _Fate:
    """Return the fate of pieces that are copied from their sources, where they are ready at these times."""
    pieces = len(ready)
    width = cells.piece_hi - cells.piece_lo
    end = timed.end[cells.row]
    order = np.lexsort((end, cells.received))
    first = order[np.flatnonzero(np.diff(cells.received[order], prepend=-1))]
    own = source * pieces + np.arange(pieces)
    # All cells that have something, ascending, and when: the source's own come before whatever is brought there.
    there, when = np.concatenate((own, cells.received[first])), np.concatenate((ready, end[first]))
    order = np.lexsort((np.arange(len(there)), there))
    order = order[np.flatnonzero(np.diff(there[order], prepend=-1))]
    there, when = there[order], when[order]
    at = np.minimum(np.searchsorted(there, cells.sent), max(0, len(there) - 1))
    late = (there[at] != cells.sent) | (when[at] > timed.start[cells.row])
    every, target = goals
    wanted = target * pieces + np.arange(pieces)
    wanted = np.concatenate((wanted[target != EVERYONE], every))
    useful = width[there[~_among(there, np.sort(own))] % pieces] if pieces else width
    extra = sum(width[cells.received % max(1, pieces)].tolist()) - sum(useful.tolist())
    return _Fate(np.unique(cells.row[late]), wanted[~_among(wanted, there)], ready, extra)


def _among(values: Ints, known: Ints) -> Flags:
    """Return which values are among others, which ascend; many times faster than NumPy's functions of sets."""
    found: Flags = known[np.minimum(np.searchsorted(known, values), len(known) - 1)] == values
    return found


def _add(timed: Timed, cells: Cells, starts: Ints, sink: Ints) -> _Fate:
    """Return the fate of pieces that are added up at their sinks, from contributions at cells where they start."""
    pieces = len(sink)
    width = cells.piece_hi - cells.piece_lo
    # All that happens at cells, by time: what is there at the start, deliveries (0), and after them sends (1).
    sent, received = cells.sent, cells.received
    cell = np.concatenate((starts, received, sent))
    time = np.concatenate((np.full(len(starts), -1), timed.end[cells.row], timed.start[cells.row]))
    takes = np.repeat([False, False, True], [len(starts), len(received), len(sent)])
    row = np.concatenate((np.full(len(starts), -1), cells.row, cells.row))
    order = np.lexsort((takes, time, cell))
    cell, time, takes, row = cell[order], time[order], takes[order], row[order]
    first = np.diff(cell, prepend=-1) != 0
    after_a_send = np.append(False, takes[:-1]) & ~first
    empty = takes & (first | after_a_send)
    last = np.append(first[1:], True)
    piece = cell % max(1, pieces)
    away = cell // max(1, pieces) != sink[piece]
    complete = np.zeros(pieces, dtype=np.int64)
    np.maximum.at(complete, piece[~away & ~takes], time[~away & ~takes])
    # A delivery is to a new sum if there was a send from its cell before.
    sends = np.cumsum(takes)
    before = sends - np.repeat((sends - takes)[first], np.diff(np.append(np.flatnonzero(first), len(cell))))
    extra = sum(width[piece[~takes & (before > 0)]].tolist())
    return _Fate(np.unique(row[empty]), cell[last & ~takes & away], complete, extra)


def _unfinished(timed: Timed, cells: Cells, wrong: Ints, goal: Ints, kind: str) -> list[str]:
    """Return in words that cells are not as they should be in the end."""
    pieces = max(1, len(goal))
    examples = []
    for cell in wrong.tolist():
        piece = cell % pieces
        units = f"units [{cells.piece_lo[piece]},{cells.piece_hi[piece]})"
        what = f"{units} of {_called(timed, int(cells.piece_block[piece]))}"
        examples.append(kind.format(what=what, node=cell // pieces, goal=goal[piece]))
    return examples


def _link_problems(timed: Timed, link: Ints) -> list[str]:
    """Return the sends that are faster than their link, or have it while another one does."""
    order, begin = timed.messages(link)
    of_row = np.empty(len(order), dtype=np.int64)
    of_row[order] = np.repeat(np.arange(len(begin)), np.diff(np.append(begin, len(order))))
    width = timed.hi - timed.lo
    units = np.zeros(len(begin), dtype=np.int64)
    np.add.at(units, of_row, width)
    many = np.bincount(of_row, weights=width, minlength=len(begin)) >= MAX_TICKS  # more than 64 bits may count
    room = (timed.end - timed.start - timed.latency[link]) // timed.per_unit[link]
    quick = (link >= 0) & (many[of_row] | (units[of_row] > room))
    problems = _listed(
        timed,
        quick,
        lambda row: f"its link takes at least {_least(timed, link, units[of_row], row)} ticks",
        "sends too fast",
    )
    rows = order[begin]
    rows = rows[(link[rows] >= 0) & ~quick[rows]]
    busy = timed.busy_until(link)
    twice = (link[rows[1:]] == link[rows[:-1]]) & (timed.start[rows[1:]] < busy[rows[:-1]])
    other = np.full(len(timed), -1, dtype=np.int64)
    other[rows[1:][twice]] = rows[:-1][twice]
    return problems + _listed(
        timed, other >= 0, lambda row: f"its link is busy with send {other[row]} then", "sends over a busy link"
    )


def _least(timed: Timed, link: Ints, units: Ints, row: int) -> int:
    """Return the ticks that the link of a send takes for its message."""
    return int(timed.latency[link[row]]) + int(timed.per_unit[link[row]]) * int(units[row])


def _switch_problems(timed: Timed, link: Ints, way: Journeys, multicast: Collection[int]) -> list[str]:
    """Return the sends that switches do not pass on, or before they can."""
    lost = np.zeros(len(timed), dtype=np.bool_)
    lost[way.lost] = True
    lost[way.copied[~np.isin(timed.src[way.copied], list(multicast))]] = True
    problems = _listed(
        timed, lost, lambda _: "a switch takes no part: it passes on what it gets, once", "sends with switches"
    )
    on = way.before >= 0
    first = np.where(on, way.before, 0)
    early = on & (timed.start < timed.start[first] + timed.latency[link[first]])
    early |= on & (timed.end < timed.end[first] + timed.latency[link])
    return problems + _listed(
        timed, early, lambda row: f"it is ahead of send {way.before[row]}, which it goes on with", "sends too early"
    )


def _listed(timed: Timed, bad: Flags, words: Callable[[int], str], kind: str) -> list[str]:
    """Return the first bad sends, by time, in words, and a line with the number of the rest."""
    rows = np.flatnonzero(bad)
    rows = rows[np.argsort(timed.start[rows], kind="stable")]
    examples = [f"{_describe(timed, row)}: {words(row)}" for row in rows[:SHOWN].tolist()]
    return listed(examples, len(rows), kind)


def _describe(timed: Timed, row: int) -> str:
    units = f"units [{timed.lo[row]},{timed.hi[row]}) of {_called(timed, int(timed.block[row]))}"
    return f"send {row}: {timed.src[row]}->{timed.dst[row]} in ticks [{timed.start[row]},{timed.end[row]}), {units}"


def _called(timed: Timed, block: int) -> str:
    """Return what a block is called."""
    if timed.collective.pairwise:
        return f"the block from {block // timed.nodes} to {block % timed.nodes}"
    return f"shard {block}"


def verify_together(
    topology: Topology, plan: Together, multicast: Collection[int] = ()
) -> tuple[tuple[TimedReport, ...], tuple[str, ...]]:
    """Return what is found in each stream alone, and what is wrong, that of streams with their numbers."""
    reports = tuple(verify_timed(topology, one, multicast=multicast) for one in plan.streams)
    problems = [f"stream {number}: {problem}" for number, one in enumerate(reports) for problem in one.problems]
    for number, (one, begin) in enumerate(zip(plan.streams, plan.begins, strict=True)):
        early = int(np.count_nonzero(one.start < begin))
        if early:
            problems.append(f"stream {number}: {early} of its sends start before it begins, at tick {begin}")
    return reports, (*problems, *_shared(topology, plan))


@dataclass(frozen=True, slots=True)
class StreamFound(Declared):
    """What one of several collectives takes."""

    report: TimedReport
    begin: Fraction

    KEYS = (
        key("collective=report.collective.name", "What is done."),
        key("size_bytes=report.size", "Data that it is for, in bytes."),
        key("begin", "Seconds until it begins."),
        key("time=report.time", "Seconds until all have all of it."),
        *(replace(one, path=("report", one.name)) for one in WASTED),
    )


@dataclass(frozen=True, slots=True)
class TogetherFound(Declared):
    """What several collectives take."""

    time: Fraction  # seconds until all have all
    streams: list[StreamFound]  # the collectives

    KEYS = "time streams"


def replayed_together(plan: Plan, moved: Together) -> Found:
    """Replay the streams of a plan."""
    reports, problems = verify_together(plan.topology, moved, _copying(plan))
    begins = [one.tick * begin for one, begin in zip(moved.streams, moved.begins, strict=True)]
    each = ", ".join(f"{one.collective} of {format_size(one.size)} by {format_time(one.time)}" for one in reports)
    return Found(
        problems or tuple(problem for one in moved.streams for problem in too_quick(plan, one)),
        {"time": moved.time} | {f"time_{number}": one.time for number, one in enumerate(reports)},
        TogetherFound(moved.time, list(map(StreamFound, reports, begins))),
        f"{len(moved)} sends in {format_time(moved.time)}: {each}",
        wasteful(sum(one.redundant for one in reports), sum(one.refilled for one in reports)),
    )


def _shared(topology: Topology, plan: Together) -> list[str]:
    """Return which sends of two streams have one link at the same time."""
    src, dst = (np.concatenate([getattr(one, name) for one in plan.streams]) for name in ("src", "dst"))
    link = topology.link_index(src, dst)
    busy, at = np.empty(len(link), dtype=np.int64), 0
    for one in plan.streams:
        busy[at : at + len(one)] = one.busy_until(link[at : at + len(one)])
        at += len(one)
    start = np.concatenate([one.start for one in plan.streams])
    rows = np.flatnonzero(link >= 0)
    rows = rows[np.lexsort((start[rows], link[rows]))]
    # A conflict that a third send hides is one of that with either: neighbours are enough to find whether there is one.
    before, after = rows[:-1], rows[1:]
    twice = np.flatnonzero(
        (link[before] == link[after]) & (start[after] < busy[before]) & (plan.stream[before] != plan.stream[after])
    )
    found = [
        f"streams {plan.stream[before[at]]} and {plan.stream[after[at]]} both have the link "
        f"{src[after[at]]}->{dst[after[at]]} at tick {start[after[at]]}"
        for at in twice[:SHOWN].tolist()
    ]
    return listed(found, len(twice), "such pairs")
