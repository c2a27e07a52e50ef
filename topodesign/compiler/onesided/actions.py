"""Sends and receives of a program in pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

from topodesign.compiler.columns import BITS, BUFFERS, KINDS
from topodesign.compiler.instructions import Buffer, Kind, Region
from topodesign.compiler.ir import Program

Spot = tuple[int, int, int]  # rank, threadblock and place in its actions


class Way(Enum):
    """Transport of a message."""

    PUT = "put"  # the sender writes where the receiver wants it
    READ = "read"  # the receiver reads it from the sender, and adds
    PACKET = "packet"  # the sender writes packets into scratch, which tell by themselves that they are there


@dataclass(slots=True, eq=False)
class Message:
    """Message from one rank to another."""

    sender: Spot  # where it is sent and received
    receiver: Spot
    channel: int  # of the connection
    count: int
    remote: bool = False  # whether it goes through a port channel
    way: Way = Way.PUT  # how it moves
    landing: Region | None = None  # where a put or packets arrive at the receiver
    staging: Region | None = None  # where the sender makes packets of it for a port channel
    granted: bool = False  # whether the receiver tells first that the place is free
    settled: bool = False  # whether the sender waits right away until it is read

    @property
    def link(self) -> tuple[int, int, int]:
        """Sender, receiver and channel; messages of a link keep order."""
        return self.sender[0], self.receiver[0], self.channel


@dataclass(slots=True, eq=False)
class Action:
    """Threadblock action, with at most one send or receive.

    ``waits`` are places (threadblock, place in its actions) of the same rank that come before it, ``more`` further
    messages that it adds.
    """

    kind: Kind
    source: Region | None
    target: Region | None
    count: int
    waits: list[tuple[int, int]]
    message: Message | None = None
    more: tuple[Message, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages that it sends or receives."""
        return () if self.message is None else (self.message, *self.more)


@dataclass
class Actions:
    """Actions by rank and threadblock, messages, and allocated scratch."""

    blocks: list[list[list[Action]]]
    messages: list[Message]
    scratch: list[int] = field(default_factory=list)

    def at(self, spot: Spot) -> Action:
        """Return an action."""
        return self.blocks[spot[0]][spot[1]][spot[2]]

    def fresh(self, rank: int, size: int) -> Region:
        """Return scratch that nothing else uses."""
        self.scratch[rank] += size
        return Region(Buffer.SCRATCH, self.scratch[rank] - size)


def actions_of(program: Program, remote: Callable[[int, int], bool]) -> Actions:
    """Return the actions of a program without fused instructions.

    Fused instructions are for targets with slots only.
    """
    own = program.columns
    made = Actions([[] for _ in range(program.ranks)], [], own.scratch.tolist())
    sends: dict[tuple[int, int, int], list[Spot]] = defaultdict(list)
    receives: dict[tuple[int, int, int], list[Spot]] = defaultdict(list)
    waits = list(zip(own.other.tolist(), own.position.tolist(), strict=True))
    waited = [waits[low:high] for low, high in pairwise(own.waits.tolist())]
    kinds = [KINDS[kind] for kind in own.kind.tolist()]
    regions = (map(_region, column.tolist()) for column in (own.source, own.target))
    actions = [Action(*row) for row in zip(kinds, *regions, own.size.tolist(), waited, strict=True)]
    blocks = zip(*(column.tolist() for column in own[:4]), pairwise(own.first.tolist()), strict=True)
    for rank, send, receive, channel, (low, high) in blocks:
        number, line = len(made.blocks[rank]), actions[low:high]
        for at, one in enumerate(line):
            if one.kind is Kind.SEND:
                sends[rank, send, channel].append((rank, number, at))
            elif one.kind in {Kind.RECEIVE, Kind.RECEIVE_REDUCE_COPY}:
                receives[receive, rank, channel].append((rank, number, at))
        made.blocks[rank].append(line)
    for link in sorted(sends):
        for sender, receiver in zip(sends[link], receives[link], strict=True):
            message = Message(sender, receiver, link[2], made.at(sender).count, remote(link[0], link[1]))
            made.at(sender).message = made.at(receiver).message = message
            made.messages.append(message)
    return made


def _region(place: int) -> Region | None:
    return None if place < 0 else Region(BUFFERS[place >> BITS], place & ((1 << BITS) - 1))


def merge_additions(actions: Actions, most: int) -> None:
    """Merge additions to one sum, up to ``most`` messages each.

    What comes later in the threadblock of one that goes away must not touch the sum. It, and the one that adds, then
    wait for what that has waited for.
    """
    for rank, blocks in enumerate(actions.blocks):
        awaited = Counter(wait for line in blocks for action in line for wait in action.waits)
        gone: set[tuple[int, int]] = set()
        for block, line in enumerate(blocks):
            for at, last in enumerate(line):
                while last.kind is Kind.RECEIVE_REDUCE_COPY and last.source == last.target:
                    before = next((wait for wait in last.waits if _joins(blocks, wait, last, awaited[wait])), None)
                    if before is None or before[0] == block:
                        break
                    first = blocks[before[0]][before[1]]
                    if len(first.messages) + len(last.messages) > most:
                        break
                    gone.add(before)
                    after = ((before[0], at) for at in range(before[1] + 1, len(blocks[before[0]])))
                    heirs = [last, *(blocks[spot[0]][spot[1]] for spot in after if spot not in gone)][:2]
                    awaited.subtract(wait for one in (first, *heirs) for wait in one.waits)
                    earlier = [(before[0], at) for at in range(before[1]) if (before[0], at) not in gone][-1:]
                    for heir in heirs:
                        known = {*heir.waits, *first.waits, *(earlier if heir is last else ())}
                        latest = dict(sorted(known - {before}))
                        heir.waits = list(latest.items())
                    awaited.update(wait for heir in heirs for wait in heir.waits)
                    last.source, (last.message, *more) = first.source, (*first.messages, *last.messages)
                    last.more = tuple(more)
        _without(actions, rank, gone)


def _joins(blocks: list[list[Action]], spot: tuple[int, int], last: Action, awaited: int) -> bool:
    """Return whether only ``last`` continues the sum of an action."""
    block, at = spot
    first, rest = blocks[block][at], blocks[block][at + 1 :]
    same = first.kind is Kind.RECEIVE_REDUCE_COPY and (first.target, first.count) == (last.source, last.count)
    free = all(not _overlap(one, region, last) for one in rest for region in (one.source, one.target))
    return same and awaited == 1 and free


def _overlap(one: Action, region: Region | None, last: Action) -> bool:
    sum_ = last.target
    if region is None or sum_ is None or region.buffer is not sum_.buffer:
        return False
    return region.offset < sum_.offset + last.count and sum_.offset < region.offset + one.count


def _without(actions: Actions, rank: int, gone: set[tuple[int, int]]) -> None:
    """Remove a rank's actions and renumber the others."""
    if not gone:
        return
    blocks = actions.blocks[rank]
    places: dict[tuple[int, int], tuple[int, int]] = {}
    kept: list[list[Action]] = []
    for block, line in enumerate(blocks):
        left = [(at, one) for at, one in enumerate(line) if (block, at) not in gone]
        if left:
            places |= {(block, at): (len(kept), new) for new, (at, _) in enumerate(left)}
            kept.append([one for _, one in left])
    actions.blocks[rank] = kept
    for block, line in enumerate(kept):
        for at, action in enumerate(line):
            action.waits = [places[wait] for wait in action.waits]
            for message in action.messages:
                if action.kind is Kind.SEND:
                    message.sender = (rank, block, at)
                else:
                    message.receiver = (rank, block, at)
