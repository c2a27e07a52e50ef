"""The fewest rounds in which a small collective can be done in a given number of steps and equal chunks, with a proof.

In a round a link carries as many chunks as its capacity is; a step takes one or more rounds, and what arrives in a step
is sent on in the next one at the earliest. A schedule is a choice of sends, over which link at which step each chunk
goes, such that a node gets a chunk once and sends none before the step after it got it. Steps times latency and rounds
times the time of a chunk are what it costs, and y = (d/n) * rounds/chunks.

What the search finds is replayed, and its loads are counted in integers. That fewer rounds do not do is proved by a
bound that needs no search (:func:`least_rounds` below, or :func:`~topodesign.schedulers.steps_bound.lower_bound_lp`) or
by CP-SAT, which goes through all the rest in integers. What adds up is the reverse of what copies (Theorem 1).

The model of synchronous steps of one or more rounds is that of SCCL (Synthesizing Optimal Collective Algorithms).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import DisconnectedError, InfeasibleError, ScheduleError, TooLargeError, TopologyError
from topodesign.collectives import Collective, as_collective
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import assemble, find_links, reverse
from topodesign.schedulers.demands import FAR, Demand, cuts_of, demands_of, hops
from topodesign.solve.discrete import Discrete
from topodesign.topology.topology import Topology
from topodesign.verification.rounds import verify_rounds

MOST_CHOICES = 60_000
"""Largest product of chunks, links and steps that is searched."""
MOST_PORTS = 1_000
"""Largest common multiple of the link capacities, which keeps loads small integers."""

Proof = Literal["bound", "search", "none"]
"""Why fewer rounds do not do: a bound says so; the search has gone through the rest; or that is not known."""


@dataclass(frozen=True)
class FewestRounds:
    """A schedule, and what is known of all others of so many steps and chunks.

    Attributes
    ----------
    schedule
        The best one found, or None if the time was not enough for any.
    rounds
        How many rounds it has: the sum over the steps of the largest load over capacity; None without a schedule.
    bound
        Rounds that any other has at least (exact).
    proof
        Why none has fewer; ``none`` if the bound is below the rounds.
    """

    schedule: Rounds | None
    rounds: Fraction | None
    bound: Fraction
    proof: Proof


def fewest_steps(topology: Topology, collective: Collective | str) -> int:
    """Return the fewest steps of a collective of one movement, which is how far some chunk has to go.

    Raises
    ------
    TopologyError, DisconnectedError
        If there are switches, or some node that a chunk is for cannot be reached.
    TooLargeError
        If there are too many blocks and links.
    """
    way, demands = _forwards(topology, as_collective(collective))
    return max(
        (hops(way)[one.source][goal] for one in demands for goal in one.goals),
        default=1,
    )


def fewest_rounds(
    topology: Topology,
    collective: Collective | str,
    *,
    steps: int,
    chunks: int = 1,
    seconds: float | None = None,
    jobs: int = 1,
    seed: int = 0,
) -> FewestRounds:
    """Find a schedule with the fewest rounds that a number of steps and of equal chunks allows.

    Parameters
    ----------
    topology
        Small: some 16 nodes of degree 4 for an allgather. Parallel links share a load by their capacity.
    collective
        Of one movement, with its root if it has one.
    steps
        Communication steps of the schedule.
    chunks
        Equal parts of a block, each of which goes its own ways.
    seconds
        Time for the search.
    jobs, seed
        As in :meth:`topodesign.solve.discrete.Discrete.solve`.

    Raises
    ------
    InfeasibleError
        If some chunk has to go farther than in ``steps``.
    ParameterError
        If a number is out of range.
    TooLargeError
        If there are too many sends to choose from.
    TopologyError, DisconnectedError
        As :func:`fewest_steps`.
    MissingLibraryError
        If OR-tools is not installed.

    References
    ----------
    Efficient Direct-Connect Topologies, section 3 (the cost).
    """
    collective = as_collective(collective)
    require_at_least("steps", steps, 1)
    require_at_least("chunks", chunks, 1)
    least = fewest_steps(topology, collective)
    if steps < least:
        raise InfeasibleError(f"{collective} needs at least {least} steps on this topology, not {steps}")
    way, demands = _forwards(topology, collective)
    if len(demands) * chunks * len(way.src) * steps > MOST_CHOICES:
        raise TooLargeError(
            f"{len(demands) * chunks} chunks, {len(way.src)} links and {steps} steps are too many for an exact search: "
            f"their product is at most {MOST_CHOICES}"
        )
    ports = math.lcm(*set(way.capacity.tolist()))
    if ports > MOST_PORTS:
        raise TooLargeError(f"link capacities with the common multiple {ports} are too many for an exact search")
    bound = max((_crossing(way, demands, chunks, cut) for cut in cuts_of(way.nodes)), default=Fraction(0))
    search = _Search(way, demands, chunks, steps, ports)
    search.program.minimise([(1, load) for load in search.loads])
    search.program.row([(1, load) for load in search.loads], math.ceil(bound * ports))
    search.program.solve(seconds=seconds, jobs=jobs, seed=seed)
    proof: Proof = "bound"
    if search.program.bound > bound * ports:
        bound, proof = Fraction(search.program.bound, ports), "search"
    if not search.program.solved:
        return FewestRounds(None, None, bound, "none")
    schedule = search.schedule(collective.dual if collective.reduces else collective)
    rounds = _rounds_of(way, schedule)
    if collective.reduces:
        schedule = reverse(schedule)
    report = verify_rounds(topology, schedule)
    if not report.ok:
        raise ScheduleError(f"the solver's answer is no schedule, which is its fault or ours:\n{report}")
    return FewestRounds(schedule, rounds, bound, "none" if rounds > bound else proof)


def _forwards(topology: Topology, collective: Collective) -> tuple[Topology, tuple[Demand, ...]]:
    """Return where and what is copied, which may be the reverse of what is asked."""
    if topology.switches:
        raise TopologyError("only topologies without switches are searched chunk by chunk; use --method forest")
    way = topology.transpose() if collective.reduces else topology
    demands = demands_of(collective.dual if collective.reduces else collective, way)
    if len(demands) * len(way.src) > MOST_CHOICES:
        raise TooLargeError(
            f"{len(demands)} blocks and {len(way.src)} links are too many for an exact search: their product is "
            f"at most {MOST_CHOICES}"
        )
    apart = hops(way)
    if any(apart[one.source][goal] >= FAR for one in demands for goal in one.goals):
        raise DisconnectedError("some node cannot be reached, so the collective does not run on this topology")
    return way, demands


def _crossing(way: Topology, demands: tuple[Demand, ...], chunks: int, cut: frozenset[int]) -> Fraction:
    """Return the rounds that it takes to bring over a cut what has to cross it."""
    crossing = chunks * sum(one.source in cut and not cut.issuperset(one.goals) for one in demands)
    width = sum(c for u, v, c in way.links() if u in cut and v not in cut)
    return Fraction(crossing, width) if crossing else Fraction(0)


def _rounds_of(way: Topology, schedule: Rounds) -> Fraction:
    """Return the sum over the steps of the largest load over capacity, counted in the schedule."""
    link = find_links(way, schedule)
    load = np.zeros((schedule.steps, len(way.src)), dtype=np.int64)
    np.add.at(load, (schedule.step - 1, link), 1)
    return sum(
        (max(Fraction(one, c) for one, c in zip(step, way.capacity.tolist(), strict=True)) for step in load.tolist()),
        Fraction(0),
    )


class _Search:
    """The program of all schedules of so many steps and chunks."""

    def __init__(self, way: Topology, demands: tuple[Demand, ...], chunks: int, steps: int, ports: int) -> None:
        self.way, self.chunks, self.steps, self.ports = way, chunks, steps, ports
        self.demands = [(one, chunk) for one in demands for chunk in range(chunks)]
        self.program = Discrete()
        most = ports * len(self.demands)
        self.loads = [self.program.number(0, most) for _ in range(steps)]
        self.sends: dict[tuple[int, int, int], int] = {}  # demand, link, step: flag
        self._apart = hops(way)
        for number in range(len(self.demands)):
            self._add_tree(number)
        on: dict[tuple[int, int], list[int]] = {}
        for (_, link, step), flag in self.sends.items():
            on.setdefault((link, step), []).append(flag)
        for (link, step), flags in on.items():
            each = ports // int(way.capacity[link])
            self.program.row([(1, self.loads[step]), *((-each, flag) for flag in flags)], 0)

    def _add_tree(self, number: int) -> None:
        """Add the sends of a chunk: every goal gets it once, any other node at most once, and sends it on if at all."""
        program, apart, way = self.program, self._apart, self.way
        one, _ = self.demands[number]
        tail = [min(apart[node][goal] for goal in one.goals) for node in range(way.nodes)]
        into: dict[int, list[tuple[int, int]]] = {node: [] for node in range(way.nodes)}
        out: dict[int, list[tuple[int, int]]] = {node: [] for node in range(way.nodes)}
        ends = []
        for step, (link, (u, v, _)) in itertools.product(range(self.steps), enumerate(way.links())):
            if v in {u, one.source} or apart[one.source][u] > step or step + 1 + tail[v] > self.steps:
                continue
            flag = self.sends[number, link, step] = program.flag()
            into[v].append((step, flag))
            out[u].append((step, flag))
            ends.append((u, v, flag))
        for node in range(way.nodes):
            if node in one.goals:
                program.one_of(flag for _, flag in into[node])
            elif into[node]:
                program.row([(1, flag) for _, flag in into[node]], 0, 1)
                for _, flag in into[node]:
                    program.row([(1, sent) for _, sent in out[node]], 1, when=[flag])
            if node != one.source:
                for step, sent in out[node]:
                    program.row([(-1, sent), *((1, flag) for at, flag in into[node] if at < step)], 0)
        # Something crosses every cut between the source and a goal: it follows, but not for the solver's relaxation.
        for cut in cuts_of(way.nodes):
            if one.source in cut and not cut.issuperset(one.goals):
                program.any_of(flag for u, v, flag in ends if u in cut and v not in cut)

    def schedule(self, collective: Collective) -> Rounds:
        """Return the schedule of the solution, without what nobody wants."""
        rows = [
            (
                step + 1,
                int(self.way.src[link]),
                int(self.way.dst[link]),
                self.demands[number][0].block,
                chunk,
                chunk + 1,
            )
            for (number, link, step), flag in self.sends.items()
            if self.program.value(flag)
            for chunk in [self.demands[number][1]]
        ]
        step, src, dst, block, lo, hi = np.array(rows, dtype=np.int64).reshape(-1, 6).T
        return assemble(collective, self.way.nodes, self.chunks, self.steps, [(step, src, dst, block, lo, hi)])
