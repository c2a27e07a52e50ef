"""What each rank has to do: messages to send and to receive, and in which order, for any size of the data.

What goes from one rank to another in the same instants is one message. A rank has its own messages alone, and no
barrier: it takes its sends in the order in which the plan has them, and before each it waits for the messages that
bring what it sends, and for no others. So it goes on as soon as these have come, however far the rest is.

That cannot deadlock, whatever the plan: a send waits only for messages that the plan has there when it starts, so
their senders have begun with them earlier, and the earliest send that is stuck would wait for none that is. Nor can it
mix data up: what a message brings is put in its place after all that the plan has there before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from topodesign.base.errors import TooLargeError
from topodesign.collectives.collective import EVERYONE
from topodesign.execution.ordering import Act, Do, Ordering, by_step
from topodesign.plans.transfers import Transfers
from topodesign.topology.topology import IntArray

MOST_UNITS = 2**31  # units of a block, so that their products fit into 64 bits


@dataclass(frozen=True, eq=False)
class Message:
    """A message as its sender or its receiver has it."""

    peer: int  # the other rank
    tag: int  # its number among those from the one to the other
    # stream, block, lo, hi: which units of which blocks it has, one after the other; int64 arrays
    stream: IntArray
    block: IntArray
    lo: IntArray
    hi: IntArray
    adds: bool  # whether the receiver adds it to what it has
    # of a message that is sent: that partial sums of it begin anew at the sender, at zero. Of one that is received:
    # that nothing was in its place before, so that it may be put there at any time
    special: bool


@dataclass(frozen=True)
class Piece:
    """A block that a rank has at the start or must have in the end."""

    # stream, block: which
    stream: int
    block: int
    sources: tuple[int, ...]  # the ranks whose contributions it is the sum of; one where nothing is added


class Sum(NamedTuple):
    """What a rank adds up for itself: units of a block as the sum of those of others."""

    block: int
    lo: int
    hi: int
    sources: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """All that one rank has to do."""

    # rank, ranks: which of how many
    rank: int
    ranks: int
    # sends, receives: its messages
    sends: tuple[Message, ...]
    receives: tuple[Message, ...]
    order: tuple[tuple[Do, int], ...]  # pairs (what to do, place in ``sends``, ``receives`` or ``sums``)
    # inputs, outputs: what it has at the start, and what it must have in the end
    inputs: tuple[Piece, ...]
    outputs: tuple[Piece, ...]
    # stream, block, lo, hi: the units that it has memory for: int64 arrays, ascending, that neither overlap nor touch
    stream: IntArray
    block: IntArray
    lo: IntArray
    hi: IntArray
    # what it adds up for itself; blocks are copies of the whole data then, so that places in all of them are alike
    sums: tuple[Sum, ...] = ()

    def pattern(self, block: int) -> int:
        """Return the block whose numbers a block is filled with."""
        return 0 if self.sums else block


@dataclass(frozen=True, eq=False)
class _Table:
    """The rows of all sends, those of a message one after the other, and its first row, ends and instants."""

    # ranks, units: how many ranks there are, and units of a block of every stream
    ranks: int
    units: tuple[int, ...]
    rows: IntArray  # int64 of shape (4, rows): stream, block, lo, hi
    first: IntArray  # where the rows of every message begin, and their number at the end
    # src, dst, start, end, adds, tag: one entry for every message
    src: IntArray
    dst: IntArray
    start: IntArray
    end: IntArray
    adds: IntArray
    tag: IntArray


def programs_of(transfers: Sequence[Transfers], changes: Sequence[int] = ()) -> Iterator[Program]:
    """Yield the programs of all ranks, in their order; at the instants of changes all wait for each other."""
    if max(one.units for one in transfers) >= MOST_UNITS:
        raise TooLargeError(f"blocks cut into {MOST_UNITS} units or more are not run; make a plan with fewer")
    table = _messages(transfers)
    ranks = transfers[0].ranks
    by_sender, by_receiver = (_places(column, ranks) for column in (table.src, table.dst))
    inputs, outputs = _pieces(transfers)
    sums = _sums(transfers[0])
    for rank in range(ranks):
        own, pieces = (by_sender[rank], by_receiver[rank]), (inputs[rank], outputs[rank])
        yield _program(table, rank, own, pieces, changes, sums=sums[rank])


def _sums(transfers: Transfers) -> list[list[tuple[int, Sum]]]:
    """Return what every rank adds up, with the instant at which all of it is there."""
    found: list[list[tuple[int, Sum]]] = [[] for _ in range(transfers.ranks)]
    for step, rank, block, source, lo, hi in [] if transfers.sums is None else transfers.sums.T.tolist():
        last = found[rank][-1] if found[rank] else None
        if last is not None and (last[0], *last[1][:3]) == (step, block, lo, hi):
            found[rank][-1] = step, last[1]._replace(sources=(*last[1].sources, source))
        else:
            found[rank].append((step, Sum(block, lo, hi, (source,))))
    return found


def _places(column: IntArray, count: int) -> list[IntArray]:
    """Return where each of the numbers below a count is in a column."""
    order = np.argsort(column, kind="stable")
    return np.split(order, np.searchsorted(column[order], np.arange(1, count)))


def _messages(transfers: Sequence[Transfers]) -> _Table:
    """Return all messages, with neighbouring units of a block as one row."""
    names = ("src", "dst", "start", "end", "part", "block", "lo", "hi")
    columns = {name: np.concatenate([getattr(one, name) for one in transfers]) for name in names}
    stream = np.repeat(np.arange(len(transfers)), [len(one.src) for one in transfers])
    adds = np.concatenate(
        [np.array([m.adds for m in one.collective.movements], dtype=np.int64)[one.part] for one in transfers]
    )
    keys = (columns["src"], columns["dst"], columns["start"], columns["end"], stream, columns["part"])
    order = np.lexsort((columns["hi"], columns["lo"], columns["block"], *keys[::-1]))
    sorted_keys = np.stack(keys)[:, order]
    rows = np.stack((stream, columns["block"], columns["lo"], columns["hi"]))[:, order]
    new = np.append(True, np.any(sorted_keys[:, 1:] != sorted_keys[:, :-1], axis=0))[: len(order)]
    joins = ~new & np.append(False, (rows[1, 1:] == rows[1, :-1]) & (rows[2, 1:] == rows[3, :-1]))[: len(order)]
    begins = np.flatnonzero(~joins)
    high = rows[3][np.append(begins[1:], len(order)) - 1] if len(begins) else rows[3]
    kept = np.stack((*rows[:3, begins], high))
    first = np.flatnonzero(new[begins])
    src, dst, start, end = sorted_keys[:4, begins[first]]
    pair = src * transfers[0].ranks + dst
    group = np.flatnonzero(np.diff(pair, prepend=-1))
    tag = np.arange(len(pair)) - np.repeat(group, np.diff(group, append=len(pair)))
    return _Table(
        transfers[0].ranks,
        tuple(one.units for one in transfers),
        kept,
        np.append(first, len(begins)),
        src,
        dst,
        start,
        end,
        adds[order][begins[first]],
        tag.astype(np.int64),
    )


def _pieces(transfers: Sequence[Transfers]) -> tuple[list[list[Piece]], list[list[Piece]]]:
    """Return what every rank has at the start, and what it must have in the end."""
    ranks = transfers[0].ranks
    inputs: list[list[Piece]] = [[] for _ in range(ranks)]
    outputs: list[list[Piece]] = [[] for _ in range(ranks)]
    for stream, one in enumerate(transfers):
        if one.sums is not None:
            for rank in range(ranks):
                inputs[rank].append(Piece(stream, rank, (rank,)))
                outputs[rank].append(Piece(stream, int(one.sums[2].max()), tuple(range(ranks))))
            continue
        members = one.collective.members(ranks)
        blocks = one.collective.blocks(members, ranks)
        team = one.collective.teams(ranks)
        everyone = {number: tuple(np.flatnonzero(team == number).tolist()) for number in range(int(team.max()) + 1)}
        owners = team[one.collective.owners(blocks, ranks)].tolist()
        sources, _ = one.collective.places(one.collective.movements[0], blocks, ranks)
        _, goals = one.collective.places(one.collective.movements[-1], blocks, ranks)
        for block, own, source, goal in zip(blocks.tolist(), owners, sources.tolist(), goals.tolist(), strict=True):
            froms = everyone[own] if source == EVERYONE else (source,)
            for rank in froms:
                inputs[rank].append(Piece(stream, block, (rank,)))
            for rank in everyone[own] if goal == EVERYONE else (goal,):
                outputs[rank].append(Piece(stream, block, froms))
    return inputs, outputs


def _program(
    table: _Table,
    rank: int,
    own: tuple[IntArray, IntArray],
    pieces: tuple[list[Piece], list[Piece]],
    changes: Sequence[int],
    *,
    sums: list[tuple[int, Sum]],
) -> Program:
    sent, received = own
    messages = np.concatenate((sent, received))
    counts = np.diff(table.first)[messages]
    row = np.arange(int(counts.sum())) + np.repeat(table.first[messages] - (np.cumsum(counts) - counts), counts)
    bounds = np.concatenate(([0], np.cumsum(counts))).tolist()
    stream, block, lo, hi = table.rows[:, row]
    whole = np.array(
        [(one.stream, one.block, 0, table.units[one.stream]) for both in pieces for one in both], dtype=np.int64
    )
    added = np.array(
        [(0, block, one.lo, one.hi) for _, one in sums for block in (one.block, *one.sources)], dtype=np.int64
    )
    rows = (np.stack((stream, block, lo, hi)), whole.reshape(-1, 4).T, added.reshape(-1, 4).T)
    memory = _joined(np.concatenate(rows, axis=1))
    cells = cells_of(np.stack((stream, block, lo, hi)), max(table.units))
    spans = [cells[:, a:b].T.tolist() for a, b in pairwise(bounds)]
    filled = {(one.stream, one.block) for one in pieces[0]}
    held = np.array([(s, b) in filled for s, b in zip(stream.tolist(), block.tolist(), strict=True)], dtype=np.bool_)
    acts = zip(
        spans,
        np.concatenate((table.start[sent], table.end[received])).tolist(),
        table.adds[messages].astype(bool).tolist(),
        (bool(held[a:b].any()) for a, b in pairwise(bounds)),
        strict=True,
    )
    if sums:
        order = by_step(table.start[sent].tolist(), table.end[received].tolist(), [step for step, _ in sums])
        special = set(range(len(sent), len(messages)))
    else:
        order, special = Ordering([Act(*one) for one in acts], len(sent)).settle(changes)
    peers = np.concatenate((table.dst[sent], table.src[received])).tolist()
    made = [
        Message(
            peers[at],
            int(table.tag[message]),
            stream[a:b],
            block[a:b],
            lo[a:b],
            hi[a:b],
            bool(table.adds[message]),
            at in special,
        )
        for at, (message, a, b) in enumerate(zip(messages.tolist(), bounds[:-1], bounds[1:], strict=True))
    ]
    return Program(
        rank,
        table.ranks,
        tuple(made[: len(sent)]),
        tuple(made[len(sent) :]),
        tuple(order),
        tuple(pieces[0]),
        tuple(pieces[1]),
        memory[0],
        memory[1],
        memory[2],
        memory[3],
        tuple(one for _, one in sums),
    )


def _joined(rows: IntArray) -> IntArray:
    """Return rows (stream, block, lo, hi) as few that do not touch, ascending."""
    rows = rows[:, np.lexsort(rows[::-1])]
    if not rows.shape[1]:
        return rows
    same = np.append(False, np.all(rows[:2, 1:] == rows[:2, :-1], axis=0))
    group = np.cumsum(~same)
    # Within a block, what ends last so far; blocks are kept apart by an offset.
    wide = int(rows[3].max()) + 1
    high = np.maximum.accumulate(group * wide + rows[3]) - group * wide
    new = ~same | np.append(True, rows[2, 1:] > high[:-1])
    begins = np.flatnonzero(new)
    ends = np.append(begins[1:], rows.shape[1]) - 1
    return np.stack((*rows[:3, begins], high[ends]))


def cells_of(rows: IntArray, most: int) -> IntArray:
    """Return from which to which cell every row goes, where the ends of all rows cut blocks into cells."""
    blocks, place = np.unique(rows[:2], axis=1, return_inverse=True)
    del blocks
    place = place.ravel()
    wide = most + 1
    ends = np.unique(np.concatenate((place * wide + rows[2], place * wide + rows[3])))
    return np.stack([np.searchsorted(ends, place * wide + column) for column in rows[2:]])
