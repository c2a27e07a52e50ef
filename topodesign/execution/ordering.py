"""In which order a rank does what it has to do: sends, deliveries, and sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple


class Do(IntEnum):
    """What a rank does with a message."""

    SEND = 0
    RECEIVE = 1
    FINISH = 2
    """Wait until a message is sent, since what it was sent from will be written to."""
    MEET = 3
    """Wait until all have what the plan has there before circuits change to the phase of that number."""
    SUM = 4
    """Add up what the rank has of several blocks, in this order, into another."""


def by_step(sends: list[int], receives: list[int], sums: list[int]) -> list[tuple[Do, int]]:
    """Return an order of blocks that never change: what is there at an instant, sums of it, and then what is sent."""
    every = ((Do.RECEIVE, receives), (Do.SUM, sums), (Do.SEND, sends))
    rows = [(instant, turn, do, at) for turn, (do, some) in enumerate(every) for at, instant in enumerate(some)]
    return [(do, at) for _, _, do, at in sorted(rows)]


class Act(NamedTuple):
    """A message that a rank sends or receives."""

    spans: list[list[int]]  # cells that it reads or writes, as pairs of the first and the one after the last
    instant: int  # when it is sent, or is there
    adds: bool  # whether its data are added up
    held: bool  # whether the rank has data of its own in some of its blocks from the start


class Ordering:
    """In which order a rank does what the plan has at certain instants."""

    def __init__(self, acts: list[Act], sends: int) -> None:
        self._acts, self._sends = acts, sends
        cells = max((stop for act in acts for _, stop in act.spans), default=0)
        # What is there at an instant can be sent at it: deliveries come before sends.
        self._events = sorted(range(len(acts)), key=lambda at: (acts[at].instant, at < sends, at))
        self._turn = {at: number for number, at in enumerate(self._events)}
        self._waiting: list[list[int]] = [[] for _ in range(cells)]
        self._taken = [0] * cells
        """How many of those waiting for a cell have their place in the order."""
        self._readers: list[list[int]] = [[] for _ in range(cells)]
        self._placed: set[int] = set()
        self._finished: set[int] = set()
        self._order: list[tuple[Do, int]] = []

    def _cells_of(self, at: int) -> Iterable[int]:
        return (cell for first, stop in self._acts[at].spans for cell in range(first, stop))

    def settle(self, changes: Sequence[int]) -> tuple[list[tuple[Do, int]], set[int]]:
        """Return the order and the messages that are special, as :class:`Message` says."""
        special, met = self._special(), 0
        for at in self._events:
            while met < len(changes) and self._acts[at].instant - (at >= self._sends) >= changes[met]:
                met = self._meet(met)
            if at >= self._sends:
                for cell in self._cells_of(at):
                    self._waiting[cell].append(at)
                continue
            self._require(other for cell in self._cells_of(at) for other in self._unplaced(cell))
            self._order.append((Do.SEND, at))
            if at in special:
                continue  # it is copied, so that nobody has to wait for its end
            for cell in self._cells_of(at):
                self._readers[cell].append(at)
        while met < len(changes):
            met = self._meet(met)
        self._require(range(self._sends, len(self._acts)))
        return self._order, special

    def _meet(self, met: int) -> int:
        """Put all that has come so far into the order, and that all wait for each other then."""
        self._require({at for waiting in self._waiting for at in waiting})
        self._order.append((Do.MEET, met + 1))
        return met + 1

    def _unplaced(self, cell: int) -> list[int]:
        return self._waiting[cell][self._taken[cell] :]

    def _require(self, wanted: Iterable[int]) -> None:
        """Put deliveries into the order, and before them those that the plan has earlier at the same cells."""
        stack = [at for at in wanted if at not in self._placed]
        chosen = set(stack)
        while stack:
            at = stack.pop()
            for cell in self._cells_of(at):
                for other in self._unplaced(cell):
                    if other not in chosen and self._turn[other] < self._turn[at]:
                        chosen.add(other)
                        stack.append(other)
        for at in sorted(chosen, key=self._turn.__getitem__):
            for cell in self._cells_of(at):
                self._taken[cell] += 1
                for reader in self._readers[cell]:
                    if reader not in self._finished:
                        self._finished.add(reader)
                        self._order.append((Do.FINISH, reader))
                self._readers[cell].clear()
            self._placed.add(at)
            self._order.append((Do.RECEIVE, at - self._sends))

    def _special(self) -> set[int]:
        """Return the sends of partial sums that begin anew, and the deliveries to where nothing was."""
        last_added: dict[int, int] = {}
        touched: set[int] = set()
        special = set()
        for at in self._events:
            for cell in self._cells_of(at):
                if at >= self._sends and self._acts[at].adds:
                    last_added[cell] = self._turn[at]
        for at in self._events:
            cells = set(self._cells_of(at))
            if at < self._sends:
                if self._acts[at].adds and any(last_added.get(cell, -1) > self._turn[at] for cell in cells):
                    special.add(at)
            elif not (self._acts[at].adds or self._acts[at].held or cells & touched):
                special.add(at)
            touched |= cells
        return special
