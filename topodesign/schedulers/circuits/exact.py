"""The least time of a plan over any sequence of circuits of a few nodes: all are searched.

Of a sequence, prices prove how long sending takes at least (:mod:`~topodesign.schedulers.circuits.price_kernels`), in
whole numbers; of a beginning, too, whatever comes then. Where they do not rule it out, a linear program says how long
it takes: a column for every tree of a block, added where one is cheaper at the prices of the rows (Gilmore and Gomory,
1961), until none is. Its fractions are the plan, and its prices the proof.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.deadline import Stopwatch
from topodesign.base.progress import tell
from topodesign.collectives import Collective
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import assemble
from topodesign.schedulers.circuits import price_kernels
from topodesign.schedulers.circuits.bounds import Room, Work, all_least, least
from topodesign.schedulers.circuits.every import Given, sequences
from topodesign.schedulers.circuits.published import copying
from topodesign.schedulers.circuits.sequence import circuits_of, forth_and_back
from topodesign.solve.program import Entries, Program
from topodesign.topology.topology import IntArray, Topology

MOST_NODES, MOST_DEGREE = 8, 3
_TURNS = (1, 24)  # how often prices rise, for what is quickly ruled out and for what is not
_GRID = 2**12  # what is to be proved is rounded up to a multiple of one over this
_ENDLESS = 2**42  # over that, no blocks take so long: only what is never reached does
_FINE = 2**16  # prices of a solver, in whole numbers
_MOST_UNITS = 5040
_ROUNDS, _MOST_ROUNDS = 8, 160  # linear programs of a sequence: for its bound, and for its optimum


Tree = tuple[tuple[int, int, int], ...]
"""Rows of step from 0, sender and receiver."""


class Sent(NamedTuple):
    """A share of a block of a node for others, and the tree that it takes."""

    node: int
    goal: int  # a set of nodes
    share: Fraction
    tree: Tree


class Optimum(NamedTuple):
    """The least time of sending, in blocks over a circuit, and what is sent in it."""

    sum: Fraction
    sent: tuple[Sent, ...]


class Best(NamedTuple):
    """Circuits by phase, sender and receiver, the steps of each phase, and what is sent."""

    width: IntArray
    counts: tuple[int, ...]
    optimum: Optimum


class Frame:
    """Room for the kernels, for steps of phases whose time is counted by step, or by phase."""

    def __init__(self, nodes: int, counts: tuple[int, ...], *, pairwise: bool, by_phase: bool) -> None:
        self.at = np.repeat(np.arange(len(counts)), counts).astype(np.int64)
        self.clock = self.at if by_phase else np.arange(len(self.at))
        self.phase = np.arange(len(counts)) if by_phase else self.at
        every = 2**nodes - 1
        sets = [1 << v for v in range(nodes)] if pairwise else range(1, every + 1)
        goals = [(u, want) for u in range(nodes) for want in (sets if pairwise else [every]) if want != 1 << u]
        self.wants, self.goals = np.array(sets, dtype=np.int64), np.array(goals, dtype=np.int64)
        steps = len(self.at)
        self.cost = np.zeros((steps + 1, nodes, every + 1), dtype=np.int64)
        self.split = np.zeros((steps, nodes, nodes, every + 1), dtype=np.int64)
        self.rows = np.zeros((steps * nodes * nodes, 3), dtype=np.int64)
        self.price = np.zeros((len(self.phase), nodes, nodes), dtype=np.int64)
        self.none = np.zeros(len(counts), dtype=np.int64)

    def proves(self, given: Given, least: Fraction, turns: int) -> bool:
        """Return whether sending is proved to take so long."""
        number, over = max(least, Fraction(0)).as_integer_ratio()
        if over > _GRID:
            number, over = math.ceil(least * _GRID), _GRID
        number = min(number, _ENDLESS)
        return price_kernels.proves(
            given.width,
            given.rest,
            given.layers,
            self.at,
            self.clock,
            self.wants,
            self.goals,
            turns,
            number,
            over,
            self.cost,
            self.split,
            self.rows,
            self.price,
        )

    def bound(self, width: IntArray) -> Fraction:
        """Return what the prices that are set prove."""
        price_kernels.cheapest(width, self.at, self.clock, self.price, self.wants, self.cost, self.split)
        total = sum(int(self.cost[0, u, want]) for u, want in self.goals.tolist())
        return Fraction(total, max(1, price_kernels.weigh(width, self.none, width, self.phase, self.price)))

    def tree(self, width: IntArray, goal: int) -> Tree:
        """Return a cheapest tree."""
        node, want = self.goals[goal].tolist()
        count = price_kernels.tree(width, self.at, self.split, node, want, self.rows)
        return tuple((step, u, v) for step, u, v in self.rows[:count].tolist())


def solved(
    frame: Frame, width: IntArray, limit: Fraction, rounds: int, stop: Callable[[], bool]
) -> tuple[Fraction, Optimum | None]:
    """Return how long sending over given circuits takes at least, and what is sent if that is the least and is known.

    It ends when the limit is proved, after so many rounds, or when it is to stop.
    """
    program, goals = Program(), [(u, want) for u, want in frame.goals.tolist()]
    program.add_columns(len(frame.phase), cost=1)
    program.add_rows(len(goals), Entries((), (), ()), lower=1)
    links = np.argwhere(width[frame.phase] > 0)
    place = np.full(frame.price.shape, -1)
    place[tuple(links.T)] = len(goals) + np.arange(len(links))
    wide = width[frame.phase][tuple(links.T)]
    program.add_rows(len(links), Entries(np.arange(len(links)), links[:, 0], wide), lower=0)
    frame.price[:] = 1
    best = frame.bound(width)
    found: list[tuple[int, Tree]] = []
    known: set[tuple[int, Tree]] = set()
    worth, certificate = [price_kernels.NEVER] * len(goals), None
    while best < limit:
        cheap = [goal for goal, (u, want) in enumerate(goals) if frame.cost[0, u, want] < worth[goal]]
        new = [one for one in ((goal, frame.tree(width, goal)) for goal in cheap) if one not in known]
        if not new and certificate is not None:
            total = sum(certificate.columns[: len(frame.phase)], Fraction(0))
            shares = certificate.columns[len(frame.phase) :]
            sent = [Sent(*goals[one], share, way) for (one, way), share in zip(found, shares, strict=True) if share]
            return (total, Optimum(total, tuple(sent))) if best == total else (best, None)
        rounds -= 1
        if rounds < 0 or stop():
            return best, None
        certificate = None
        if new:
            found += new
            known.update(new)
            uses = [Counter(int(place[frame.clock[k], u, v]) for k, u, v in tree) for _, tree in new]
            entries = [(row, at, -many) for at, used in enumerate(uses) for row, many in used.items()]
            entries += [(goal, at, 1) for at, (goal, _) in enumerate(new)]
            program.add_columns(len(new), entries=Entries(*np.array(entries).T))
            program.solve()
            values = program.prices(_FINE).tolist()
        else:
            certificate = program.certificate()
            common = math.lcm(*(one.denominator for one in certificate.prices))
            if not certificate.proven or common > _FINE:
                return best, None
            values = [int(one * common) for one in certificate.prices]
        frame.price[:] = 0
        frame.price[tuple(links.T)] = np.maximum(0, values[len(goals) :])
        worth = values[: len(goals)]
        best = max(best, frame.bound(width))
    return best, None


@dataclass
class Search:
    """The least time of plans in a room, among all sequences.

    * ``room``, ``collective``, ``work``: where, what (an all-to-all or an allgather), and what it is timed for.
    * ``missed``: what those take at least whose linear program was not solved to its end.
    """

    room: Room
    collective: Collective
    work: Work
    limit: Fraction  # the seconds that are to be beaten, and then those of the best that was found
    stop: Callable[[], bool]  # says when to give up
    best: Best | None = None  # the best that was found
    missed: Fraction = field(default_factory=lambda: Fraction(2**62))
    frames: dict[tuple[tuple[int, ...], bool], Frame] = field(default_factory=dict)

    def run(self, progress: Callable[[float], None] | None = None) -> Fraction:
        """Return what no plan beats; it is the limit if all were looked at."""
        times = all_least([self.room], self.collective, self.work)
        numbers = sorted((time, number) for number, time in enumerate(times, 1) if time is not None)
        for place, (time, topologies) in enumerate(numbers):
            if time >= self.limit:
                break
            for given, share in self.sequences(topologies):
                tell(progress, (place + float(share)) / len(numbers))
                self._look(given)
                if self.stop() or time >= self.limit:
                    break
            if self.stop():
                return min(self.limit, self.missed, time)
        return min(self.limit, self.missed)

    def sequences(self, topologies: int) -> Iterator[tuple[Given, Fraction]]:
        """Return sequences of so many topologies, without those whose beginning rules them out."""
        room, free, steps = self.room, self._frame((self._most,) * topologies, by_phase=True), self._steps(topologies)

        def hopeless(given: Given) -> bool:
            return self.stop() or self._proved(free, given, steps)

        return sequences(room.nodes, room.degree, topologies, duplex=room.duplex, hopeless=hopeless)

    @property
    def _most(self) -> int:
        """Steps of a phase that may be of use: over pairs the second brings nothing that the first could not."""
        return 1 if self.room.degree == 1 and self.room.duplex else self.room.nodes - 1

    def _steps(self, topologies: int) -> int:
        """Return the fewest steps."""
        one = least(self.room, topologies, self.collective)
        return topologies if one is None else one.steps

    def _sum(self, steps: int, topologies: int) -> Fraction:
        """Return the time of sending, in blocks over a circuit, with which a plan is as slow as the limit."""
        left = self.limit - self.work.time(steps, Fraction(0), topologies - 1)
        return left / self.work.second * Fraction(self.room.nodes, self.room.degree)

    def _frame(self, counts: tuple[int, ...], *, by_phase: bool) -> Frame:
        if (counts, by_phase) not in self.frames:
            frame = Frame(self.room.nodes, counts, pairwise=self.collective.pairwise, by_phase=by_phase)
            self.frames[counts, by_phase] = frame
        return self.frames[counts, by_phase]

    def _proved(self, frame: Frame, given: Given, steps: int) -> bool:
        return any(frame.proves(given, self._sum(steps, len(given.width)), turns) for turns in _TURNS)

    def _look(self, given: Given) -> None:
        """Look at one sequence: first with steps as many as one likes, then with ever more of them."""
        width, number = given.width, len(given.width)
        free, fewest = self._frame((self._most,) * number, by_phase=True), self._steps(number)
        if self._proved(free, given, fewest):
            return
        fluid, _ = solved(free, width, self._sum(fewest, number), _ROUNDS, self.stop)
        for counts in _compositions(fewest, number, self._most):
            steps = sum(counts)
            if fluid >= self._sum(steps, number) or self.stop():
                return
            frame = self._frame(counts, by_phase=False)
            if self._proved(frame, given, steps):
                continue
            low, found = solved(frame, width, self._sum(steps, number), _MOST_ROUNDS, self.stop)
            time = self.work.time(steps, low * Fraction(self.room.degree, self.room.nodes), number - 1)
            if found is not None:
                self.best, self.limit = Best(width, counts, found), time
            else:
                self.missed = min(self.missed, max(time, Fraction(0)))


def _compositions(fewest: int, parts: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield numbers from 1 for so many parts, those of the smallest sum first."""
    for total in range(fewest, parts * most + 1):
        yield from (one for one in itertools.product(range(1, most + 1), repeat=parts) if sum(one) == total)


def fastest(
    room: Room,
    collective: Collective,
    work: Work,
    limit: Fraction,
    *,
    seconds: float,
    progress: Callable[[float], None] | None = None,
) -> tuple[Plan | None, Fraction]:
    """Return a plan faster than a limit, if one was found, and the time that no plan beats, as far as it was searched.

    It is the time of the plan, or the limit where there is none, if all sequences were looked at.
    """
    watch, halves = Stopwatch(), len(collective.parts)
    search = Search(room, copying(collective), work, limit / halves, lambda: watch() > seconds)
    bound = halves * search.run(progress)
    return (None if search.best is None else _plan(search.best, room, collective)), bound


def _plan(best: Best, room: Room, collective: Collective) -> Plan | None:
    """Return the plan of what is sent; None if it is too fine, or if an allreduce has no way back."""
    width, counts = best.width, np.array(best.counts, dtype=np.int64)
    forth = back = _rounds(best, room.nodes, collective)
    if collective.reduces:
        turned = width.transpose(0, 2, 1)
        if len(collective.parts) == 1:
            width = turned
        elif not room.duplex:
            frame = Frame(room.nodes, best.counts, pairwise=False, by_phase=False)
            found = solved(frame, np.ascontiguousarray(turned), Fraction(2**62), _MOST_ROUNDS, lambda: False)[1]
            back = None if found is None else _rounds(Best(turned, best.counts, found), room.nodes, collective)
    if forth is None or back is None:
        return None
    circuits = [circuits_of(_topology(one), duplex=room.duplex) for one in width]
    return forth_and_back(
        forth,
        back if collective.reduces else None,
        circuits,
        counts,
        room.degree,
        collective=collective,
        duplex=room.duplex,
        method="search",
    )


def _topology(width: IntArray) -> Topology:
    src, dst = np.nonzero(width)
    return Topology.from_arrays(len(width), src, dst, width[src, dst])


def _rounds(best: Best, nodes: int, collective: Collective) -> Rounds | None:
    """Return what is sent in whole units of a block."""
    sent = best.optimum.sent
    units = math.lcm(*(one.share.denominator for one in sent))
    if units > _MOST_UNITS:
        return None
    done: Counter[tuple[int, int]] = Counter()
    rows = []
    for one in sent:
        lo = done[one.node, one.goal]
        hi = min(units, lo + int(one.share * units))
        done[one.node, one.goal] = hi
        block = one.node * nodes + one.goal.bit_length() - 1 if collective.pairwise else one.node
        rows += [(step + 1, u, v, block, lo, hi) for step, u, v in one.tree]
    return assemble(copying(collective), nodes, units, sum(best.counts), [tuple(np.array(rows).T)])
