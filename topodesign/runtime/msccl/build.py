"""Programs of MSCCL for the machine.

The steps of threadblocks as controls, and its findings in the words of steps.

A connection with k slots is two semaphores: of messages that have come, and of slots, of which k are free. A wait for
a step of another threadblock is a semaphore that this gives once. What a connection carries is in memory that nothing
else uses, so that each message is there until it is received.

**One setting of the connections is the worst.** The runtime cuts a step of ``cnt`` chunks into pieces of as many chunks
as fit a slot: one, when the data is large. Both ends of a connection, and whoever forwards, cut a step alike. Take
longer pieces or more slots, and a cycle of waits among them. A step has no more pieces than before, so number them
within their step and look at the pieces of the same numbers before: the order within a threadblock, the data and the
flags still make them wait for each other, and so do the slots, because between two pieces of a connection there lie at
least as many others, and fewer slots are there. So the cycle was there before: shortest pieces and fewest slots decide.
If even a chunk is larger than a slot, the runtime runs the whole program once for each part of it; as the first round
ends with empty queues in one order, so in all, and so the next.

**What orders accesses** is what holds on every transport, protocol and size: program order, waits for steps, and that
data is received after it was sent. Slots give no order, since there may be more than the guaranteed number. The chunks
of one step have no order among themselves (with LL they move line by line): a step that forwards while it receives
knows of each chunk alone, and of the step before it as a whole only when it has ended.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import Ints
from topodesign.runtime.machine.column_kernels import AWAITS, ENDS, MEETS, MESSAGE, RELEASES, ROUNDS, make_columns
from topodesign.runtime.machine.layout import Layout
from topodesign.runtime.machine.machine import Machine, make_runs
from topodesign.runtime.msccl.operations import NUMBER, RECEIVES, SENDS, Operation, Table, is_one_of, starts
from topodesign.runtime.msccl.steps import BUFFERS
from topodesign.runtime.report import Finding

_SENDS, _RECEIVES = is_one_of(SENDS), is_one_of(RECEIVES)


def build_machine(
    table: Table,
    layout: Layout,
    slots: int,
    *,
    piece: int = 1,
    unsettled: bool = False,
    judged: bool = True,
    data: bool = True,
) -> Machine:
    """Return a program for the machine.

    Sends and receives match, and every access is within bounds.

    Parameters
    ----------
    table, layout
        The operations of all threadblocks, and the buffers of all ranks.
    slots
        The minimum of pieces that a connection holds; with none a send and its receive take place together.
    piece
        Chunks of a full piece.
    unsettled
        Whether the threads of a block do not meet after a plain send (LL on some runtimes), so that its reading may
        continue until they next meet.
    judged
        Whether results count.
    data
        Whether anything is moved; without it the machine only tells whether the program ends.
    """
    program = _Program(table, layout, slots, piece, unsettled=unsettled, data=data)
    runs = make_runs(layout, program.base, callers=False, judged=judged)
    return Machine(program.columns, runs, program, layout, program.size, marked=program.cells, piece=piece)


class _Program:
    """Columns and words of a program, as the machine names them."""

    def __init__(self, table: Table, layout: Layout, slots: int, piece: int, *, unsettled: bool, data: bool) -> None:
        self.table, self.layout, self.slots, self.piece = table, layout, slots, piece
        self.base, self.cells = _find_cells(layout, table)
        number = len(table.type)
        every = np.arange(number)
        sends, receives = _SENDS[table.type], _RECEIVES[table.type]
        moving = table.chunks > 0
        out, into, count = _number_connections(table)
        out, into = out[table.thread], into[table.thread]
        comes, goes = receives & moving, sends & moving
        # the controls of an operation: for each step that it waits for, what it offers where connections hold nothing,
        # what it does, and for those that wait for it;
        # what it does waits for one step itself unless it receives, and tells that it is over unless it sends
        awaited = _find_awaited(table)
        told, post, many = np.unique(awaited, return_inverse=True, return_counts=True)
        waits = np.bincount(table.waits, minlength=number)
        flags, tells = np.maximum(0, waits - ~comes), np.zeros(number, dtype=np.int64)
        tells[told[told >= 0]] = goes[told[told >= 0]]
        offers = comes & (slots == 0)
        begin = starts_of(flags + offers + 1 + tells)
        main = begin[:-1] + flags + offers
        wait, job, tell, room, back, proxy, self._waiting = np.full((7, int(begin[-1])), -1)
        mode = np.zeros(len(wait), dtype=np.int64)
        at = begin[table.waits] + _within(table.waits)
        wait[at], self._waiting[at] = 2 * count + post.reshape(-1), np.arange(len(post.reshape(-1)))
        mode[at] |= AWAITS
        ends = np.flatnonzero(told >= 0)
        at = main[told[ends]] + tells[told[ends]]
        tell[at] = 2 * count + ends
        mode[at] |= RELEASES
        wait[main[comes]], back[main[comes]] = into[comes], count + into[comes]
        room[main[goes]], tell[main[goes]] = count + out[goes], out[goes]
        works, offering = np.flatnonzero(moving & (data | (table.chunks > piece))), np.flatnonzero(offers)
        job[main[works]] = np.arange(len(works))
        job[main[offering] - 1] = len(works) + np.arange(len(offering))  # as many pieces, of nothing
        back[main[offering] - 1], back[main[offering]] = count + into[offering], -1
        late = unsettled & (table.type == NUMBER["s"])
        mode[main] += MESSAGE * goes + MEETS * (sends | (waits > 0)) + ROUNDS * comes + ENDS * ~late
        self._op = np.repeat(every, np.diff(begin))  # of every control, and of all work
        self._of = np.concatenate((works, offering))
        busy = np.flatnonzero(np.diff(table.first))
        phases = np.concatenate(([0], np.cumsum(np.diff(table.first) > 0)))
        source, target, cell = self._find_places(works if data else works[:0], sends, receives, into, out)
        none = np.zeros(0, dtype=np.int64)
        self.posts = count
        free = np.concatenate((np.zeros(count), np.full(count, slots), np.zeros(len(told)))).astype(np.int64)
        self.columns = make_columns(
            rank=table.rank,
            phase=phases,
            work=np.zeros(len(busy) + 1, dtype=np.int64),
            line=np.arange(len(busy) + 1),
            meeting=np.full(len(busy), -1),
            meets=np.zeros(len(busy), dtype=np.int64),
            control=np.append(begin[table.first[busy]], begin[-1]),
            wait=wait,
            job=job,
            tell=tell,
            room=room,
            back=back,
            proxy=proxy,
            mode=mode,
            time=2 * (self._op - table.first[table.thread[self._op]]) if number else none,
            source=source,
            target=target,
            size=table.chunks[self._of],
            element=np.zeros(len(self._of), dtype=np.int64),
            reader=np.full(len(self._of), -1),
            cell=cell,
            added=np.zeros(len(cell), dtype=np.int64),
            wide=np.ones(len(cell), dtype=np.int64),
            free=free,
            silent=((np.arange(len(free)) >= count) & (np.arange(len(free)) < 2 * count)).astype(np.int64),
            eager=np.ones(len(free), dtype=np.int64),
            several=np.zeros(len(free), dtype=np.int64),
            many=np.concatenate((np.ones(2 * count, dtype=np.int64), many)),
            owner=np.arange(layout.ranks + len(table.rank)),
        )

    def _find_places(self, works: Ints, sends: Ints, receives: Ints, into: Ints, out: Ints) -> tuple[Ints, Ints, Ints]:
        """Return where sources and targets of all work begin, and cells of places.

        Sources are what is received, what is read, and of what adds to its target that; targets the target, and what
        is sent. A copy onto itself only reads.
        """
        table = self.table
        number, rank = len(table.type), table.rank[table.thread]
        writing = table.target >= 0
        target = np.where(writing, self.base[rank, table.target] + table.target_at, -1)
        read = self.base[rank[table.reads], table.source] + table.source_at
        copies = np.flatnonzero(table.type[table.reads] == NUMBER["cpy"])
        onto = table.reads[copies[read[copies] == target[table.reads[copies]]]]
        adding = np.flatnonzero(writing & (table.type == NUMBER["re"]))
        lengths, stream = table.chunks * sends * (len(works) > 0), np.zeros(number, dtype=np.int64)
        stream[:] = self.cells + np.cumsum(lengths) - lengths
        self.size = self.cells + int(lengths.sum())
        match = np.zeros(number, dtype=np.int64)
        sending, receiving = np.flatnonzero(sends), np.flatnonzero(receives)
        by_sender = sending[np.argsort(out[sending], kind="stable")]
        match[receiving[np.argsort(into[receiving], kind="stable")]] = by_sender
        # one list of operations, what they read and write, in the order of places
        of = np.concatenate((receiving, table.reads, adding, np.flatnonzero(writing), sending))
        at = np.concatenate((stream[match[receiving]], read, target[adding], target[writing], stream[sending]))
        which = np.repeat(
            np.arange(5), (len(receiving), len(table.reads), len(adding), int(writing.sum()), len(sending))
        )
        kept = ~((which == 3) & np.isin(of, onto))
        order = np.lexsort((which[kept], of[kept]))
        of, at, reads = of[kept][order], at[kept][order], which[kept][order] < 3
        first, sources = starts(of, number), np.bincount(of[reads], minlength=number)
        many = np.diff(first)[works]
        place = np.repeat(first[works], many) + _within(np.repeat(np.arange(len(many)), many))
        none = np.zeros(len(self._of) - len(works), dtype=np.int64)  # places of what is offered
        begin = starts_of(np.concatenate((many, none)))
        return begin, begin[:-1] + np.concatenate((sources[works], none)), at[place]

    # -- words --------------------------------------------------------------------------------------------------------

    def _place(self, operation: Operation) -> tuple[int, int, int]:
        return operation.rank, operation.threadblock, operation.step

    def work(self, number: int) -> tuple[str, tuple[int, int, int]]:
        """Return the type of the step that does some work, and where it is."""
        operation = self.table.operation(int(self._of[number]))
        return operation.type, self._place(operation)

    def cell(self, cell: int, work: int = -1) -> tuple[int, str]:
        """Return the rank and the name of a cell, as a step calls it that uses it."""
        if work >= 0:
            operation = self.table.operation(int(self._of[work]))
            for buffer, at in (*operation.reads, *((operation.target,) if operation.target else ())):
                start = int(self.base[operation.rank, BUFFERS.index(buffer)]) + at
                if start <= cell < start + operation.count:
                    return operation.rank, f"{buffer}[{at + cell - start}]"
        for rank in range(self.layout.ranks):
            for buffer in "oi":
                start = int(self.base[rank, BUFFERS.index(buffer)])
                if start <= cell < start + self.layout.segment(rank, buffer)[1]:
                    return rank, f"{buffer}[{cell - start}]"
        rank = int(np.searchsorted(self.base[:, BUFFERS.index("s")], cell, side="right")) - 1
        return rank, f"s[{cell - int(self.base[rank, BUFFERS.index('s')])}]"

    def actor(self, actor: int, time: int) -> str:
        """Return which step of a threadblock does something."""
        return str(self.table.operation(int(self.table.first[actor - self.layout.ranks]) + time // 2))

    def control(self, control: int) -> tuple[int, int, int]:
        """Return where a step is."""
        return self._place(self.table.operation(int(self._op[control])))

    def wait(self, control: int, post: int) -> str:
        """Return which step waits for what."""
        table, number = self.table, int(self._op[control])
        operation = table.operation(number)
        thread = int(table.thread[number])
        if post >= 2 * self.posts:
            one = self._waiting[control]
            other, step = int(table.other[one]), int(table.awaited[one])
            tail = "" if (self.columns.tell == post).any() else ', but no step from there on has hasdep="1"'
            return f"{operation} waits for step {step} of threadblock {table.id[other]}{tail}"
        if post < self.posts:
            return f"{operation} waits for data from rank {table.receive[thread]} on channel {table.channel[thread]}"
        sends = "sends" if self.piece == 1 else f"sends of up to {self.piece} chunks"
        return f"{operation} waits for rank {table.send[thread]} to receive: {self.slots} {sends} are in flight"

    def meeting(self, phase: int) -> tuple[tuple[int, int, int], str]:
        """Return nothing: there are no barriers."""
        raise NotImplementedError

    def left(self, post: int, signals: float) -> Finding:
        """Return that messages of a connection are left."""
        return Finding("mismatch", f"{signals:g} messages of connection {post % max(1, self.posts)} are not received")


def starts_of(lengths: Ints) -> Ints:
    """Return where rows of some lengths begin, one after the other, and at last where they end."""
    return np.concatenate(([0], np.cumsum(lengths)))


def _within(groups: Ints) -> Ints:
    """Return of entries in ascending groups the place within the group."""
    return np.arange(len(groups)) - np.searchsorted(groups, groups)


def _number_connections(table: Table) -> tuple[Ints, Ints, int]:
    """Return connections that threads send and receive on, and their number."""
    sides = ((table.rank, table.send), (table.receive, table.rank))
    ends = np.array([(*pair, table.channel) for pair in sides]).swapaxes(1, 2).reshape(-1, 3)
    used = np.flatnonzero(ends.min(axis=1) >= 0)
    names, which = np.unique(ends[used], axis=0, return_inverse=True)
    number = np.full(len(ends), -1)
    number[used] = which.reshape(-1)
    sends, receives = number.reshape(2, -1)
    return sends, receives, len(names)


def _find_cells(layout: Layout, table: Table) -> tuple[Ints, int]:
    """Return the first cell of each buffer of each rank, and their number.

    Of scratch there are only as many as are used.
    """
    used = np.zeros(layout.ranks, dtype=np.int64)
    for one, name, at in (
        (table.reads, table.source, table.source_at),
        (np.arange(len(table.type)), table.target, table.target_at),
    ):
        here = name == BUFFERS.index("s")
        np.maximum.at(used, table.rank[table.thread[one[here]]], at[here] + table.chunks[one[here]])
    base, first = layout.number_cells(used.tolist())
    return base, int(first[-1])


def _find_awaited(table: Table) -> Ints:
    """Return for each wait the operation that must be over, -1 where none would do."""
    telling = np.flatnonzero(table.announces)
    reach = int(max(table.position.max(initial=0), table.awaited.max(initial=0))) + 1
    at = np.searchsorted(table.thread[telling] * reach + table.position[telling], table.other * reach + table.awaited)
    found = np.append(telling, -1)[at]
    return np.where((found >= 0) & (table.thread[found] == table.other), found, -1)
