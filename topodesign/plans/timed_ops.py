"""Operations on timed sends: give rounds their times on links that differ, take times away again, turn time round."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import ranges, sealed
from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError, TooLargeError
from topodesign.collectives import ALLREDUCE, Collective
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import check_rows, find_links, prune
from topodesign.plans.timed import LINK_COLUMNS, MAX_TICKS, Timed, journeys
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import IntArray, Topology


class LinkTimes(NamedTuple):
    """How long links take."""

    tick: Fraction  # seconds of one tick, the longest of which all times are multiples
    # latency, per_unit: ticks of every link, and of every unit on it, int64 arrays of shape ``(links,)``
    latency: IntArray
    per_unit: IntArray
    # seconds by which a latency, or the time of a unit, may be longer than the link's own: above zero only where that
    # was asked for
    more: Fraction = Fraction(0)


def link_times(
    topology: Topology,
    collective: Collective,
    units: int,
    *,
    size: Fraction,
    alpha: Fraction,
    bandwidth: Fraction,
    links: LinkTable | None = None,
    grain: Fraction | None = None,
) -> LinkTimes:
    """Return the exact times of all links.

    Seconds, bytes of the whole data M, and bits per second of all links of a node; ``links`` are other values of
    single ones. Where the exact times have no common tick that can be counted, they are rounded up to multiples of
    ``grain`` seconds; None refuses them.
    """
    table = LinkTable({}, {}) if links is None else links.on(topology)
    if size <= 0 or bandwidth <= 0 or min([alpha, *table.alpha.values()]) < 0:
        raise ParameterError("alpha must not be negative, size and bandwidth must be above zero")
    bits = 8 * Fraction(size) / (collective.shards(len(collective.members(topology.nodes, topology.switches))) * units)
    port = bandwidth / max(1, topology.degree)
    pairs = [(u, v) for u, v, _ in topology.links()]
    latency = [Fraction(table.alpha.get(pair, alpha)) for pair in pairs]
    own = {ports: port * ports for ports in set(topology.capacity.tolist())}
    ends = zip(pairs, topology.capacity.tolist(), strict=True)
    rates = [table.bandwidth.get(pair, own[ports]).as_integer_ratio() for pair, ports in ends]
    seconds = {rate: bits / Fraction(*rate) for rate in set(rates)}  # links have few, and Fractions are slow keys
    per_unit = [seconds[rate] for rate in rates]
    try:
        return common_ticks(latency, per_unit, units)
    except TooLargeError:
        if grain is None:
            raise
        latency, per_unit = ([-(-time // grain) * grain for time in times] for times in (latency, per_unit))
        return common_ticks(latency, per_unit, units)._replace(more=grain)


def common_ticks(
    latency: list[Fraction], per_unit: list[Fraction], units: int, others: tuple[Fraction, ...] = ()
) -> LinkTimes:
    """Return times of links, in seconds, as multiples of the longest tick of which others are multiples, too."""
    values = {value.as_integer_ratio() for value in (*latency, *per_unit, *others)}
    below = math.lcm(*(denominator for _, denominator in values))
    parts = {(many, denominator): many * (below // denominator) for many, denominator in values}
    longest = math.gcd(*parts.values()) or 1
    waits, sends = ([parts[time.as_integer_ratio()] // longest for time in times] for times in (latency, per_unit))
    if units * max(sends, default=1) + max(waits, default=1) >= MAX_TICKS:
        raise TooLargeError(
            "the times of the links have no common tick that 64 bits can count; use rounder numbers, or "
            "--set tick=1us of --algorithm tacos, which rounds them up and says by how much"
        )
    return LinkTimes(
        Fraction(longest, below), sealed(np.array(waits, dtype=np.int64)), sealed(np.array(sends, dtype=np.int64))
    )


def timed_of(
    topology: Topology,
    rounds: Rounds,
    *,
    size: Fraction,
    alpha: Fraction,
    bandwidth: Fraction,
    links: LinkTable | None = None,
    lock_step: bool = False,
    overlap: bool = False,
) -> Timed:
    """Return rounds with the exact start and end of every send.

    With ``lock_step`` a step starts when all of the step before has arrived; otherwise a send starts as early as
    its data and its link allow, and a link keeps the order of the steps. With ``overlap`` a link is free while the
    latency of what it has transmitted is running. Where a partial sum would be sent twice by a node, sends are left
    out by :func:`~topodesign.plans.rounds_ops.prune`: what arrives early could otherwise go with the wrong one.


    Every row is one send, with a latency of its own; sends of a step over one link follow one another as they come.
    """
    sent = _cells(rounds.rows(rounds.step <= rounds.reduce_steps)).sent
    if np.any(np.bincount(sent) > 1):  # some node sends a partial sum of the same units twice
        rounds = prune(rounds)
    link = find_links(topology, rounds)
    times = link_times(
        topology, rounds.collective, rounds.units, size=size, alpha=alpha, bandwidth=bandwidth, links=links
    )
    order = np.lexsort((np.arange(len(rounds)), link, rounds.step))
    rounds, link = rounds.rows(order), link[order]
    latency, duration = times.latency[link], times.per_unit[link] * (rounds.hi - rounds.lo)
    busy = duration + (0 if overlap else latency)
    if int(busy.max(initial=0) + latency.max(initial=0)) * max(1, len(rounds)) >= MAX_TICKS:
        raise TooLargeError("the last send ends later than 64 bits of ticks can count; use rounder numbers")
    cells = _cells(rounds)
    adds = rounds.step <= rounds.reduce_steps
    there = np.zeros(cells.number, dtype=np.int64)  # when all is there that a cell is to send
    stored = False
    free = np.zeros(len(topology.src), dtype=np.int64)
    start = np.zeros(len(rounds), dtype=np.int64)
    place, now = _places(rounds.step, link), 0
    for a, b in _runs(rounds.step):
        if not (adds[a] or stored):  # from here on data are copied, and only the sources have them
            there[~_at_source(rounds, cells)] = MAX_TICKS
            stored = True
        for at in range(int(place[a:b].max()) + 1):
            some = a + np.flatnonzero(place[a:b] == at)
            ready = _latest(there, cells, some)
            if ready.max() >= MAX_TICKS:
                raise ScheduleError(f"at step {rounds.step[a]} a node sends what it does not have")
            start[some] = np.maximum(now if lock_step else ready, free[link[some]])
            free[link[some]] = start[some] + busy[some]
        ends = start[a:b] + duration[a:b] + latency[a:b]
        now = int(ends.max())
        arrived = cells.received[cells.bounds[a] : cells.bounds[b]]
        (np.maximum if adds[a] else np.minimum).at(there, arrived, np.repeat(ends, np.diff(cells.bounds[a : b + 1])))
    part = np.where(adds, 0, len(rounds.collective.movements) - 1).astype(np.int32)
    data, rows = (rounds.units, Fraction(size)), (rounds.src, rounds.dst, rounds.block, rounds.lo, rounds.hi)
    columns = (start, start + duration + latency, *rows)
    return timed_sends(rounds.collective, rounds.nodes, data, times, columns, part=part, overlap=overlap)


def timed_sends(
    collective: Collective,
    nodes: int,
    data: tuple[int, Fraction],
    times: LinkTimes,
    columns: tuple[NDArray[np.integer], ...],
    *,
    part: NDArray[np.int32] | None = None,
    overlap: bool,
) -> Timed:
    """Return sends as a plan, of blocks of so many units and so many bytes in all.

    ``columns`` are start, end, src, dst, block, lo and hi, and become the plan's own; ``part`` is the first movement if
    None.
    """
    own = (column for column in Timed.TABLES["rows"] if column.name != "part")
    rows: dict[str, Any] = {
        name: sealed(values.astype(dtype, copy=False)) for (name, _, dtype, _), values in zip(own, columns, strict=True)
    }
    rows["part"] = sealed(np.zeros(len(columns[0]), dtype=np.int32) if part is None else part)
    rows |= {"latency": sealed(times.latency), "per_unit": sealed(times.per_unit)}
    return Timed(collective, nodes, data[0], times.tick, data[1], overlap, **rows)


def rounds_of(topology: Topology, timed: Timed) -> Rounds:
    """Return what is sent without its times: the order of the sends of a link and what they wait for make the steps.

    A send is in the first step after those of the sends that bring its data to the sender, and after that of the send
    before it on its link. So :func:`timed_of` with the same links gives times that are no later, for a collective of
    one movement. Of an allreduce, which rounds do one movement after the other, what the two have at the same time is
    lost. What goes over switches becomes one send from node to node, though there is no link between the two.
    """
    link = topology.link_index(timed.src, timed.dst)
    if not timed.fits(topology) or np.any((link < 0) | (timed.src == timed.dst)):
        raise ScheduleError(f"{timed!r} has sends over no link of {topology!r}")
    if topology.switches:
        timed = journeys(timed, topology.switches).whole(timed)
        link = np.unique(timed.src.astype(np.int64) * timed.nodes + timed.dst, return_inverse=True)[1]
    order = np.lexsort((timed.start, timed.part))
    timed, link = timed.rows(order), link[order]
    cells = _cells(timed)
    movements = timed.collective.movements
    step = np.zeros(len(timed), dtype=np.int32)
    middle = 0
    for part, movement in enumerate(movements):
        a, b = np.searchsorted(timed.part, [part, part + 1]).tolist()
        source = _at_source(timed, cells)
        step[a:b] = middle + _steps(timed, cells, link, range(a, b), source, adds=movement.adds)
        if part == 0:
            last = int(step[a:b].max(initial=0))
            reduce_steps = last if movement.adds else 0
        middle = int(step[a:b].max(initial=middle))
    return Rounds(
        timed.collective,
        timed.nodes,
        timed.units,
        middle,
        reduce_steps,
        sealed(step),
        timed.src,
        timed.dst,
        timed.block,
        timed.lo,
        timed.hi,
    )


def _steps(
    timed: Timed, cells: _Cells, link: IntArray, rows: range, source: NDArray[np.bool_], *, adds: bool
) -> NDArray[np.int32]:
    """Return the steps of the sends of one movement, from 1; they come in order of their starts."""
    step = np.zeros(len(timed), dtype=np.int32)
    busy = np.zeros(int(link.max(initial=0)) + 1, dtype=np.int32)
    known = np.zeros(cells.number, dtype=np.int32)  # the step after which a cell has what it is to send
    sent = np.zeros(cells.number, dtype=np.bool_)
    if not adds:
        known[~source] = np.iinfo(np.int32).max
    arriving = sorted(rows, key=timed.end.__getitem__)
    at = 0
    for message in _of_messages(timed, link, rows):
        now = int(timed.start[message[0]])
        while at < len(arriving) and timed.end[arriving[at]] <= now:
            there = cells.of(cells.received, arriving[at])
            (np.maximum if adds else np.minimum).at(known, there, step[arriving[at]])
            at += 1
        before = 0
        for row in message:
            from_ = cells.of(cells.sent, row)
            before = max(before, int(known[from_].max()))
            if before > len(rows):
                raise ScheduleError(f"send {row}: node {timed.src[row]} does not have its data when it starts")
            if adds and sent[from_].any():
                raise InfeasibleError(f"node {timed.src[row]} sends a partial sum twice, which has no order in steps")
            sent[from_] = True
        step[message] = busy[link[message[0]]] = max(before, int(busy[link[message[0]]])) + 1
    return step[rows.start : rows.stop]


def _of_messages(timed: Timed, link: IntArray, rows: range) -> list[list[int]]:
    """Return the rows of every message, by their starts."""
    found: dict[tuple[int, int, int], list[int]] = {}
    for row in rows:
        found.setdefault((int(link[row]), int(timed.start[row]), int(timed.end[row])), []).append(row)
    return list(found.values())


def reverse_timed(topology: Topology, timed: Timed) -> Timed:
    """Return the plan backwards in time, over the links turned round: the dual collective, in the same time.

    Of what is sent nothing may be superfluous: a delivery of what a node has already would become a partial sum
    that it does not have any more.
    """
    last = int(timed.end.max(initial=0))
    block = timed.block
    if timed.collective.pairwise:  # what went from s to t now goes from t to s
        source, destination = np.divmod(block, timed.nodes)
        block = (destination * timed.nodes + source).astype(np.int32)
    turned = np.lexsort((topology.src, topology.dst))
    return timed.having(
        collective=timed.collective.dual,
        start=last - timed.end,
        end=last - timed.start,
        part=(len(timed.collective.movements) - 1 - timed.part).astype(np.int32),
        src=timed.dst.copy(),
        dst=timed.src.copy(),
        block=block.copy(),
        latency=timed.latency[turned],
        per_unit=timed.per_unit[turned],
    )


def in_turn(reduce_scatter: Timed, allgather: Timed) -> Timed:
    """Return the allreduce that runs a reduce-scatter and, when all of it is over, an allgather."""
    first, second = reduce_scatter, allgather
    if (first.collective, second.collective) != ALLREDUCE.parts:
        raise ScheduleError(
            "an allreduce is made of a reduce-scatter and an allgather, "
            f"not of {first.collective} and {second.collective}"
        )
    names = ("nodes", "units", "tick", "size", "overlap")
    alike = all(getattr(first, name) == getattr(second, name) for name in names)
    if not alike or any(not np.array_equal(getattr(first, name), getattr(second, name)) for name in LINK_COLUMNS):
        raise ScheduleError("only plans for the same links, units and sizes are put after one another")
    middle = int(first.end.max(initial=0))
    later = second.table() | {
        "start": second.start + middle,
        "end": second.end + middle,
        "part": np.ones(len(second), dtype=np.int32),
    }
    columns = {name: np.concatenate((column, later[name])) for name, column in first.table().items()}
    return first.having(collective=ALLREDUCE, **columns)


class _Cells(NamedTuple):
    """What sends carry, cut where an interval of their block ends: cells are pairs of a node and such a piece.

    Row i takes the cells ``sent[bounds[i] : bounds[i + 1]]`` to the cells ``received`` in the same places.
    """

    bounds: IntArray
    sent: IntArray
    received: IntArray
    number: int
    node: IntArray
    block: IntArray

    def of(self, column: IntArray, row: int) -> IntArray:
        """Return the cells of a row."""
        return column[self.bounds[row] : self.bounds[row + 1]]


def _cells(sends: Rounds | Timed) -> _Cells:
    block = np.concatenate((sends.block, sends.block))
    end = np.concatenate((sends.lo, sends.hi))
    order = np.lexsort((end, block))
    block, end = block[order], end[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (block[1:] != block[:-1]) | (end[1:] != end[:-1])
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(new) - 1
    left, right = number[: len(sends)], number[len(sends) :]
    bounds = np.concatenate(([0], np.cumsum(right - left)))
    check_rows(int(bounds[-1]))
    row, piece = ranges(left, right - left)
    pieces = max(1, int(new.sum()))
    keys, places = np.unique(np.stack((sends.src[row], sends.dst[row])) * pieces + piece, return_inverse=True)
    sent, received = places.reshape(2, -1)
    return _Cells(bounds, sent, received, len(keys), keys // pieces, block[new][keys % pieces].astype(np.int64))


def _at_source(sends: Rounds | Timed, cells: _Cells) -> NDArray[np.bool_]:
    """Return for every cell whether its node is where its block is copied from."""
    source, _ = sends.collective.places(sends.collective.movements[-1], cells.block, sends.nodes)
    there: NDArray[np.bool_] = cells.node == source
    return there


def _latest(there: IntArray, cells: _Cells, rows: IntArray) -> IntArray:
    """Return the largest of the entries that rows send, for some ascending rows."""
    counts = cells.bounds[rows + 1] - cells.bounds[rows]
    _, at = ranges(cells.bounds[rows], counts)
    return np.maximum.reduceat(there[cells.sent[at]], np.cumsum(counts) - counts)


def _runs(column: NDArray[np.int32]) -> list[tuple[int, int]]:
    """Return the bounds of the runs of equal entries."""
    begin = np.flatnonzero(np.diff(column, prepend=-1)).tolist()
    return list(zip(begin, [*begin[1:], len(column)], strict=True)) if begin else []


def _places(step: NDArray[np.int32], link: IntArray) -> IntArray:
    """Return for rows sorted by step and link how many of the same come before each."""
    first = np.ones(len(step), dtype=np.bool_)
    first[1:] = (step[1:] != step[:-1]) | (link[1:] != link[:-1])
    begin = np.flatnonzero(first)
    return np.arange(len(step)) - np.repeat(begin, np.diff(np.append(begin, len(step))))
