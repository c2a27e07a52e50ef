"""Happens-before order of a one-sided program, and its additional signals.

A put writes into the memory of another rank as soon as the sender gets to it. Where that place was in use before, the
sender has to know that this is over: by what it has received since, or else the receiver *grants* the put by a signal
of its own. And what a receiver reads from the sender's memory, or a proxy, is read later than the sender gets to it:
where the sender's rank writes there again, that has to follow from what it has received since, or else the sender waits
until it is read: the message is *settled*.

A run of the program with vector clocks, one entry per threadblock, finds both.
"""

from __future__ import annotations

from collections import defaultdict, deque
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from topodesign.base.memory import check_memory
from topodesign.compiler.instructions import Kind, Region
from topodesign.compiler.onesided.actions import Action, Actions, Message, Spot, Way

Clock = NDArray[np.int32]  # by threadblock, how many of its actions are known to be over

_Cell = tuple[str, int]


class _Place:
    """Last writer of a chunk, and readers since."""

    __slots__ = ("reads", "write")

    def __init__(self) -> None:
        self.write: Spot | None = None
        self.reads: list[Spot] = []


class Order:
    """One possible run of the actions.

    It sets ``granted`` and ``settled`` of the messages, which have their ways and landings, and drops waits that follow
    from others. If ``strong``, a message also tells what its sender knew. Packets do not: they show that something is
    over, and not that its data can be seen.
    """

    def __init__(self, actions: Actions, *, strong: bool) -> None:
        self.actions = actions
        self.strong = strong
        self.number: dict[tuple[int, int], int] = {}
        for rank, blocks in enumerate(actions.blocks):
            for block in range(len(blocks)):
                self.number[rank, block] = len(self.number)
        count = len(self.number)
        check_memory(8 * count * count, f"{count} threadblocks and who knows what of whom")
        self.clocks = np.zeros((count, count), dtype=np.int32)
        self._places: list[dict[_Cell, _Place]] = [defaultdict(_Place) for _ in actions.blocks]
        self._over: dict[Spot, Clock] = {}  # what is known after an action that others wait for
        self._wanted: dict[Spot, int] = defaultdict(int)
        for rank, blocks in enumerate(actions.blocks):
            for actions_of in blocks:
                for action in actions_of:
                    for block, at in action.waits:
                        self._wanted[rank, block, at] += 1
        self._run()

    def finally_known(self, message: Message) -> bool:
        """Return whether the sender's rank finally knows of the receipt."""
        rank = message.sender[0]
        mine = [self.number[rank, block] for block in range(len(self.actions.blocks[rank]))]
        there = self.number[message.receiver[:2]]
        return bool((self.clocks[mine, there] > message.receiver[2]).any())

    def all_have_begun(self) -> bool:
        """Return whether all senders finally know that receivers began."""
        for one in self.actions.messages:
            rank, other = one.sender[0], one.receiver[0]
            mine = [self.number[rank, block] for block in range(len(self.actions.blocks[rank]))]
            there = [self.number[other, block] for block in range(len(self.actions.blocks[other]))]
            if not self.clocks[np.ix_(mine, there)].any():
                return False
        return True

    # -- the run ------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        sent: dict[int, Clock] = {}  # by message: what its sender knew
        at = [0] * len(self.number)
        keys = list(self.number)
        ready = deque(range(len(keys)))
        waiting: dict[object, list[int]] = defaultdict(list)
        while ready:
            number = ready.popleft()
            rank, block = keys[number]
            line = self.actions.blocks[rank][block]
            while at[number] < len(line):
                action = line[at[number]]
                spot = (rank, block, at[number])
                missing: object = next(((rank, *w) for w in action.waits if at[self.number[rank, w[0]]] <= w[1]), None)
                receives = action.message is not None and action.kind is not Kind.SEND
                if missing is None and receives:
                    missing = next((id(one) for one in action.messages if id(one) not in sent), None)
                if missing is not None:
                    waiting[missing].append(number)
                    break
                told = reduce(np.maximum, [sent.pop(id(one)) for one in action.messages]) if receives else None
                self._do(spot, action, told)
                at[number] += 1
                if action.kind is Kind.SEND:
                    sent[id(action.message)] = self.clocks[number].copy()
                    ready.extend(waiting.pop(id(action.message), []))
                if spot in self._wanted:
                    self._over[spot] = self.clocks[number].copy()
                ready.extend(waiting.pop(spot, []))

    def _do(self, spot: Spot, action: Action, told: Clock | None) -> None:
        clock = self.clocks[self.number[spot[:2]]]
        self._wait(spot[0], action, clock, told)
        before = clock.copy()
        if told is not None:
            np.maximum(clock, told, out=clock)
        clock[self.number[spot[:2]]] = spot[2] + 1
        landing = None if action.message is None or action.message.way is not Way.PUT else action.message.landing
        if told is not None and landing is not None and action.message is not None:
            self._land(spot, action.message, landing, told, before)
            if landing == action.target:
                return
            self._touch(spot, landing, action.count, writes=False)
        self._touch(spot, action.source, action.count, writes=False)
        if action.kind is Kind.REDUCE:
            self._touch(spot, action.target, action.count, writes=False)
        for place in self._all(spot[0], action.target, action.count):
            for other in _users(place):
                if other != spot and not self._is_over(other, clock):
                    self._settle(other)
        self._touch(spot, action.target, action.count, writes=True)

    def _wait(self, rank: int, action: Action, clock: Clock, told: Clock | None) -> None:
        """Merge the clocks of awaited actions and drop redundant waits."""
        kept = []
        for other in sorted(action.waits, key=lambda one: -one[1]):
            number, released = self.number[rank, other[0]], (rank, *other)
            # what the sender knew is known as well: its data could not be there otherwise
            known = clock[number] > other[1] or (told is not None and told[number] > other[1])
            if not (self.strong and known):
                kept.append(other)
                np.maximum(clock, self._over[released], out=clock)
            self._wanted[released] -= 1
            if not self._wanted[released]:
                del self._over[released], self._wanted[released]
        action.waits = sorted(kept)

    def _land(self, spot: Spot, message: Message, landing: Region, told: Clock, before: Clock) -> None:
        """Require a grant if the place may be in use."""
        for place in self._all(spot[0], landing, message.count):
            for other in _users(place):
                if not self._is_over(other, told):
                    message.granted = True
                    if not self._is_over(other, before):
                        self._settle(other)
            place.write, place.reads = spot, []

    def _is_over(self, spot: Spot, clock: Clock) -> bool:
        """Return whether an action, remote reads included, is known over."""
        message = self._read_by_others(spot)
        if message is not None and not message.settled:
            spot = message.receiver
        return bool(clock[self.number[spot[:2]]] > spot[2])

    def _settle(self, spot: Spot) -> None:
        message = self._read_by_others(spot)
        if message is not None:
            message.settled = True

    def _read_by_others(self, spot: Spot) -> Message | None:
        action = self.actions.at(spot)
        message = action.message
        if action.kind is not Kind.SEND or message is None:
            return None
        late = message.way is Way.READ or (message.way is Way.PUT and message.remote)
        return message if late else None

    def _all(self, rank: int, region: Region | None, count: int) -> list[_Place]:
        if region is None:
            return []
        places, buffer = self._places[rank], region.buffer.value
        return [places[buffer, at] for at in range(region.offset, region.offset + count)]

    def _touch(self, spot: Spot, region: Region | None, count: int, *, writes: bool) -> None:
        for place in self._all(spot[0], region, count):
            if writes:
                place.write, place.reads = spot, []
            else:
                place.reads.append(spot)


def _users(place: _Place) -> list[Spot]:
    return place.reads if place.write is None else [place.write, *place.reads]
