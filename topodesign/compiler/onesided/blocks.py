"""One-sided threadblocks: MSCCL++ operations with the necessary barriers.

The threads of a threadblock meet at a ``nop`` alone. One is needed between a wait and what relies on it, between work
and the signal that tells of it, and between two operations on one place. What one thread does, the first on all that
have one channel or semaphore, is in order by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from topodesign.compiler.instructions import Buffer, Kind, Region
from topodesign.compiler.ir import Program
from topodesign.compiler.onesided.actions import Action, Actions, Message, Way, merge_additions
from topodesign.compiler.onesided.order import Order
from topodesign.compiler.options import Protocol

Link = tuple[int, int, int]
"""Sender, receiver and channel of the connection that a channel of MSCCL++ stands for, at both of its ends."""

Role = Literal["wait", "work", "tell"]


@dataclass(frozen=True, slots=True)
class Operand:
    """Chunks of a local, remote or switched buffer."""

    region: Region
    count: int
    rank: int | None = None
    packets: bool = False
    switched: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation."""

    name: str  # as in a plan
    sources: tuple[Operand, ...] = ()  # what it reads and writes
    targets: tuple[Operand, ...] = ()
    link: Link | None = None  # the connection whose channel it uses
    semaphores: tuple[int, ...] = ()  # numbers of semaphores of the rank
    more: tuple[Link, ...] = ()  # further connections, of signals and waits
    meeting: int = 0  # of a barrier: threadblocks that meet
    part: tuple[int, int] = (0, 1)  # which part of its operands it does, of how many

    @property
    def links(self) -> tuple[Link, ...]:
        """The connections that it uses."""
        return () if self.link is None else (self.link, *self.more)

    @property
    def role(self) -> Role:
        """Role: waiting, working on memory, or telling others."""
        if self.name in {"wait", "sem_acquire"}:
            return "wait"
        return "tell" if self.name in {"signal", "sem_release", "pws", "pwsf"} else "work"


@dataclass
class RankPlan:
    """Plan of a rank: threadblocks, semaphore count and scratch chunks."""

    blocks: list[list[Operation]] = field(default_factory=list)
    semaphores: int = 0
    scratch: int = 0


@dataclass
class OneSided:
    """A one-sided program."""

    ranks: list[RankPlan]  # what each of them does
    links: list[Link]  # all connections
    remote: set[Link]  # connections through port channels; all others are of memory channels
    double: bool  # whether launches use two halves of scratch in turn
    groups: list[list[int]] = field(default_factory=list)  # of each rank, the ranks that it shares a switch with


def lower_actions(program: Program, actions: Actions, *, longest: int, operands: int) -> OneSided:
    """Turn actions into operations.

    A threadblock of more than ``longest`` operations goes on in another one; an operation reads ``operands`` places at
    most.
    """
    if program.protocol == "LL":
        merge_additions(actions, operands - 1)
    _choose_ways(program.protocol, actions)
    order = Order(actions, strong=program.protocol == "Simple")
    packets = program.protocol == "LL"
    double = packets and order.all_have_begun()
    plan = OneSided([], [], {one.link for one in actions.messages if one.remote}, double)
    plan.links = sorted({one.link for one in actions.messages})
    signals = _back_signals(actions, order, handshake=packets and not double)
    for rank in range(program.ranks):
        plan.ranks.append(_Writer(rank, actions, signals, longest).write())
    return plan


def _choose_ways(protocol: Protocol, actions: Actions) -> None:
    """Choose each message's transport and landing place.

    What is added up inside a box is read from the sender; what comes from elsewhere lands in one of two places of
    scratch in turn. Packets have a place of their own each: one that is used twice could not tell its two packets
    apart.
    """
    plain = [-(-size // 2) for size in actions.scratch]  # packets take two chunks each, behind all else in scratch
    packets = list(plain)
    slots: dict[Link, list[Region]] = {}
    count: dict[Link, int] = defaultdict(int)
    largest: dict[Link, int] = defaultdict(int)
    for one in actions.messages:
        largest[one.link] = max(largest[one.link], one.count)
    for one in actions.messages:
        adds = actions.at(one.receiver).kind is Kind.RECEIVE_REDUCE_COPY
        if protocol == "LL":
            one.way = Way.PACKET
            one.landing = Region(Buffer.SCRATCH, packets[one.receiver[0]])
            packets[one.receiver[0]] += one.count
            if one.remote:
                one.staging = Region(Buffer.SCRATCH, packets[one.sender[0]])
                packets[one.sender[0]] += one.count
        elif not adds:
            one.landing = actions.at(one.receiver).target
        elif not one.remote:
            one.way = Way.READ
        else:
            places = slots.setdefault(one.link, [])
            number = count[one.link]
            count[one.link] += 1
            if number < 2:
                places.append(actions.fresh(one.receiver[0], largest[one.link]))
            one.landing = places[number % 2]
    if protocol == "LL":
        actions.scratch[:] = packets


@dataclass
class _Signals:
    """Signals from receivers to senders, by message.

    ``begins`` has the threadblock of the receiver that says at its start that the rank has begun: one for a connection,
    also where several receive from it. The sender has to wait for so many signals before or after its own part of a
    message, and at its end.
    """

    begins: dict[Link, int] = field(default_factory=dict)
    reads: set[int] = field(default_factory=set)  # messages after which the receiver says that it has read them
    flushes: set[int] = field(default_factory=set)
    before: dict[int, int] = field(default_factory=dict)  # message -> waits of the sender before its part
    after: dict[int, int] = field(default_factory=dict)
    end: dict[Link, int] = field(default_factory=dict)


def _back_signals(actions: Actions, order: Order, *, handshake: bool) -> _Signals:
    found = _Signals()
    lines: dict[Link, list[Message]] = defaultdict(list)
    for one in actions.messages:
        lines[one.link].append(one)
    for link, line in lines.items():
        given = 0  # signals that the receiver has given by this message, and that the sender has waited for
        taken = 0
        puts = [one for one in line if one.way is Way.PUT]
        reads = [one for one in line if one.way is Way.READ]
        if handshake or (puts and not puts[0].granted):
            found.begins[link] = line[0].receiver[1]
            given = 1
        if puts and puts[-1].remote:
            found.flushes.add(id(puts[-1]))
        if reads and not order.finally_known(reads[-1]):
            found.reads.add(id(reads[-1]))
        for one in line:
            key = id(one)
            given += one.granted
            if one.way is not Way.READ and taken < given:
                found.before[key] = given - taken
                taken = given
            if one.settled and one.way is Way.READ:
                found.reads.add(key)
            if one.settled and one.way is Way.PUT:
                found.flushes.add(key)
            given += key in found.reads
            if one.settled and one.way is Way.READ:
                found.after[key] = given - taken
                taken = given
        if taken < given:
            found.end[link] = given - taken
    return found


class _Writer:
    """The threadblocks of one rank."""

    def __init__(self, rank: int, actions: Actions, signals: _Signals, longest: int) -> None:
        self.rank = rank
        self.actions = actions
        self.signals = signals
        self.longest = longest
        self.plan = RankPlan(scratch=actions.scratch[rank])
        self._semaphore: dict[tuple[int, int], int] = {}  # by who releases and who acquires
        self._releases: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._acquires: dict[tuple[int, int], list[int]] = defaultdict(list)
        for block, line in enumerate(actions.blocks[rank]):
            seen: dict[int, int] = {}  # of other threadblocks, the last action that is known to be over
            for at, action in enumerate(line):
                for other, there in action.waits:
                    if other != block and seen.get(other, -1) < there:
                        seen[other] = there
                        number = self._semaphore.setdefault((other, block), len(self._semaphore))
                        self._releases[other, there].append(number)
                        self._acquires[block, at].append(number)

    def write(self) -> RankPlan:
        self.plan.semaphores = len(self._semaphore)
        for block, line in enumerate(self.actions.blocks[self.rank]):
            self._cut(list(self._groups(block, line)))
        if not self.plan.blocks:
            self.plan.blocks.append([])
        return self.plan

    def _cut(self, groups: list[list[Operation]]) -> None:
        """Write operation groups into the fewest chained threadblocks."""
        part = Part()
        for group in groups:
            mark = part.mark()
            for one in group:
                part.add(one)
            if len(part.operations) + 2 > self.longest and mark[0]:
                part.roll_back(mark)
                number = self.plan.semaphores
                self.plan.semaphores += 1
                part.add(Operation("sem_release", semaphores=(number,)))
                self.plan.blocks.append(part.operations)
                part = Part()
                part.add(Operation("sem_acquire", semaphores=(number,)))
                part.meet()  # what other threads wait for is not to be taken from those before
                for one in group:
                    part.add(one)
        self.plan.blocks.append(part.operations)

    def _groups(self, block: int, line: list[Action]) -> Iterator[list[Operation]]:
        """Yield a threadblock's operations per action, without barriers."""
        links = dict.fromkeys(message.link for one in line for message in one.messages)
        begins = [link for link in links if link[1] == self.rank and self.signals.begins.get(link) == block]
        if begins:
            yield [Operation("signal", link=link) for link in begins]
        for at, action in enumerate(line):
            group = []
            acquires = self._acquires.get((block, at), [])
            if acquires:
                group.append(Operation("sem_acquire", semaphores=tuple(acquires)))
            group += self._send(action) if action.kind is Kind.SEND else self._other(action)
            releases = self._releases.get((block, at), [])
            if releases:
                group.append(Operation("sem_release", semaphores=tuple(releases)))
            yield group
        left = {link: self.signals.end.get(link, 0) for link in links if link[0] == self.rank}
        ends = [Operation("wait", link=link) for link, number in left.items() for _ in range(number)]
        if ends:
            yield ends

    def _send(self, action: Action) -> Iterator[Operation]:
        message, source = action.message, action.source
        if message is None or source is None:
            return
        link, count, key = message.link, action.count, id(message)
        wait = Operation("wait", link=link)
        for _ in range(self.signals.before.get(key, 0)):
            yield wait
        if message.way is Way.READ:
            yield Operation("signal", link=link)
        elif message.landing is not None:
            here = Operand(source, count)
            there = Operand(message.landing, count, link[1], packets=message.way is Way.PACKET)
            if message.staging is not None:
                made = Operand(message.staging, count, packets=True)
                yield Operation("cpkt", (here,), (made,))
                yield Operation("rppkt", (made,), (there,), link)
            elif message.way is Way.PACKET:
                yield Operation("ppkt", (here,), (there,), link)
            elif message.remote:
                yield Operation("pwsf" if key in self.signals.flushes else "pws", (here,), (there,), link)
            else:
                yield Operation("put", (here,), (there,), link)
                yield Operation("signal", link=link)
        for _ in range(self.signals.after.get(key, 0)):
            yield wait

    def _other(self, action: Action) -> Iterator[Operation]:
        message, count = action.message, action.count
        if action.target is None:
            return
        target = Operand(action.target, count)
        if message is None:
            source = Operand(action.source or action.target, count)
            if action.kind is Kind.COPY:
                yield Operation("copy", (source,), (target,))
            else:
                yield Operation("re", (target, source), (target,))
            return
        link = message.link
        landed = Operand(message.landing or action.target, count, packets=message.way is Way.PACKET)
        mine = Operand(action.source or action.target, count)
        if message.way is Way.PACKET:
            if action.kind is not Kind.RECEIVE_REDUCE_COPY:
                yield Operation("upkt", (landed,), (target,))
                return
            more = [Operand(one.landing or action.target, count, packets=True) for one in action.more]
            yield Operation("repkt", (mine, landed, *more), (target,))
            return
        if message.granted:
            yield Operation("signal", link=link)
        yield Operation("wait", link=link)
        if message.way is Way.READ:
            sent = self.actions.at(message.sender).source
            if sent is not None:
                yield Operation("rre", (mine, Operand(sent, count, link[0])), (target,), link)
        elif action.kind is Kind.RECEIVE_REDUCE_COPY:
            yield Operation("re", (mine, landed), (target,))
        if id(message) in self.signals.reads:
            yield Operation("signal", link=link)


class Part:
    """Operations of a threadblock, with the barriers that they need."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._since: list[tuple[Role, Operation]] = []  # the last time that all threads met

    def mark(self) -> tuple[int, list[tuple[Role, Operation]]]:
        """Return a checkpoint of the current state for :meth:`roll_back`."""
        return len(self.operations), list(self._since)

    def roll_back(self, mark: tuple[int, list[tuple[Role, Operation]]]) -> None:
        """Remove everything added after a mark."""
        del self.operations[mark[0] :]
        self._since = mark[1]

    def meet(self) -> None:
        """Let all threads meet."""
        self.operations.append(Operation("nop"))
        self._since = []

    def add(self, one: Operation) -> None:
        """Add an operation, after a barrier if it needs one."""
        role = one.role
        if any(_needs_barrier(before, one, first, role) for first, before in self._since):
            self.meet()
        self.operations.append(one)
        self._since.append((role, one))


def _needs_barrier(before: Operation, after: Operation, first: Role, second: Role) -> bool:
    """Return whether a barrier must separate two operations."""
    if second == "wait":  # each of several threads waits for itself: they must not take what another waits for
        return not set(before.semaphores).isdisjoint(after.semaphores) and before.semaphores != after.semaphores
    if first == "wait":
        return second == "work" or len(before.semaphores) > 1 or len(after.semaphores) > 1
    if first == "work":
        # with packets, so that who has read all packets of an operation knows that all before it is over
        if second == "tell" or "pkt" in after.name:
            return True
        return _meet(before.targets, after.targets + after.sources) or _meet(before.sources, after.targets)
    # one thread alone waits for the flush
    return before.name == "pwsf" and (len(after.semaphores) > 1 or _meet(before.sources, after.targets))


def _meet(some: tuple[Operand, ...], others: tuple[Operand, ...]) -> bool:
    """Return whether two operands overlap, apart from packets."""
    for one in some:
        for other in others:
            if one.rank == other.rank and one.region.buffer is other.region.buffer and not one.packets | other.packets:
                low, high = one.region.offset, other.region.offset
                if low < high + other.count and high < low + one.count:
                    return True
    return False
