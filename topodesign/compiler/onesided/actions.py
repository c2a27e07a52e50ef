"""Sends and receives of a program in pairs, each of a form of its own: fused instructions come apart here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from topodesign.compiler.ir import Buffer, Kind, Program, Region

Spot = tuple[int, int, int]  # rank, threadblock and place in its actions


class Deed(Enum):
    """What an action does."""

    SEND = "send"
    RECEIVE = "receive"  # target = received
    ADD = "add"  # target = source + received
    COPY = "copy"
    REDUCE = "reduce"  # target = target + source


class Way(Enum):
    """How a message moves."""

    PUT = "put"  # the sender writes where the receiver wants it
    READ = "read"  # the receiver reads it from the sender, and adds
    PACKET = "packet"  # the sender writes packets into scratch, which tell by themselves that they are there


@dataclass(slots=True, eq=False)
class Message:
    """What goes from one rank to another at once."""

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
        """Sender, receiver and channel: messages of one link are received in the order in which they are sent."""
        return self.sender[0], self.receiver[0], self.channel


@dataclass(slots=True, eq=False)
class Action:
    """What a threadblock does, or a part of it: it sends or receives, but not both.

    ``waits`` are places (threadblock, place in its actions) of the same rank that come before it.
    """

    deed: Deed
    source: Region | None
    target: Region | None
    count: int
    waits: list[tuple[int, int]]
    message: Message | None = None


@dataclass
class Actions:
    """The actions of every threadblock of every rank, the messages, and scratch as far as it is given out."""

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
    """Return the actions of a program."""
    made = Actions([[] for _ in program.ranks], [], [body.scratch for body in program.ranks])
    sends: dict[tuple[int, int, int], list[Spot]] = defaultdict(list)
    receives: dict[tuple[int, int, int], list[Spot]] = defaultdict(list)
    for rank, body in enumerate(program.ranks):
        last: list[list[int]] = []  # of each instruction, its last action
        for number, block in enumerate(body.threadblocks):
            actions: list[Action] = []
            last.append([])
            for one in block.instructions:
                source, target = one.source, one.target
                if one.kind.receives and one.kind.sends and target is None:  # what it passes on has to be somewhere
                    target = made.fresh(rank, one.count)
                waits = list(one.depends)
                if one.kind.receives:
                    receives[block.receive or 0, rank, block.channel].append((rank, number, len(actions)))
                    deed = Deed.RECEIVE if one.kind in {Kind.RECEIVE, Kind.RECEIVE_COPY_SEND} else Deed.ADD
                    actions.append(Action(deed, source, target, one.count, waits))
                    source, waits = target, []
                if one.kind.sends:
                    sends[rank, block.send or 0, block.channel].append((rank, number, len(actions)))
                    actions.append(Action(Deed.SEND, source, None, one.count, waits))
                elif not one.kind.receives:
                    deed = Deed.COPY if one.kind is Kind.COPY else Deed.REDUCE
                    actions.append(Action(deed, source, target, one.count, waits))
                last[-1].append(len(actions) - 1)
            made.blocks[rank].append(actions)
        for actions in made.blocks[rank]:
            for action in actions:
                action.waits = [(other, last[other][at]) for other, at in action.waits]
    for link in sorted(sends):
        for sender, receiver in zip(sends[link], receives[link], strict=True):
            message = Message(sender, receiver, link[2], made.at(sender).count, remote(link[0], link[1]))
            made.at(sender).message = made.at(receiver).message = message
            made.messages.append(message)
    return made
