"""Minimum rounds of a small collective, with proof.

In a round a link carries as many chunks as its capacity is; a step takes one or more rounds, and what arrives in a step
is sent on in the next one at the earliest. Steps times latency and rounds times the time of a chunk are what a schedule
costs, and y = (d/n) * rounds/chunks: the model of SCCL (Synthesizing Optimal Collective Algorithms).

What the search finds is replayed, and its loads are counted in integers. That fewer rounds do not do is proved by a
bound that needs no search (cuts, or :func:`~topodesign.schedulers.steps_bound.lower_bound_lp`) or
by CP-SAT, which goes through all the rest in integers. What adds up is the reverse of what copies (Theorem 1).
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import DisconnectedError, InfeasibleError, ScheduleError, TooLargeError, TopologyError
from topodesign.collectives import Collective
from topodesign.plans.build import build_steps
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import reverse
from topodesign.plans.step_ops import find_links
from topodesign.plans.verify.plans import check_movement
from topodesign.schedulers.demands import FAR, Demand, Proof, cross_cuts, cuts_of, demands_of, hops
from topodesign.schedulers.steps_bound import MAX_PORTS
from topodesign.solve.discrete import Discrete
from topodesign.topology.classes import Limit
from topodesign.topology.topology import Topology

MAX_CHOICES = 60_000  # largest product of chunks, links and steps that is searched


@dataclass(frozen=True)
class FewestRounds:
    """Schedule with minimum rounds found, its bound and proof."""

    schedule: Flow | None  # the best one found, or None if the time was not enough for any, or there is none
    rounds: Fraction | None  # of the schedule: the sum over the steps of the largest load over capacity
    bound: Fraction  # rounds that any other has at least (exact)
    # Why none has fewer; without a schedule, why there is none below what was asked for.
    proof: Proof


def fewest_steps(topology: Topology, collective: Collective) -> int:
    """Return the minimum steps of a one-movement collective."""
    return _farthest(*_forwards(topology, collective))


def fewest_rounds(
    topology: Topology,
    collective: Collective,
    *,
    steps: int,
    chunks: int = 1,
    least: Fraction | None = None,
    below: Fraction | None = None,
    limits: Sequence[Limit] = (),
    seconds: float | None = None,
    jobs: int = 1,
    seed: int = 0,
) -> FewestRounds:
    """Find a schedule with minimum rounds for given steps and chunks.

    The collective is small: an allgather of some 16 nodes of degree 4. ``least`` are rounds that are known not to be
    undercut; only schedules with fewer rounds than ``below`` are looked for, and if there are none, none is returned,
    and the bound is not below it. ``limits`` are on what links carry together in a step.
    """
    require_at_least("steps", steps, 1)
    require_at_least("chunks", chunks, 1)
    way, demands = _forwards(topology, collective)
    if steps < (fewest := _farthest(way, demands)):
        raise InfeasibleError(f"{collective} requires at least {fewest} steps on this topology, not {steps}")
    if len(demands) * chunks * len(way.src) * steps > MAX_CHOICES:
        raise TooLargeError(
            f"{len(demands) * chunks} chunks, {len(way.src)} links and {steps} steps are too many for an exact search: "
            f"their product is at most {MAX_CHOICES}"
        )
    if limits and collective.reduces:  # the links are turned round
        place = np.empty(len(way.src), dtype=np.int64)
        place[np.lexsort((topology.src, topology.dst))] = np.arange(len(way.src))
        limits = [limit._replace(links=tuple(place[list(limit.links)].tolist())) for limit in limits]
    ports = math.lcm(*set(way.capacity.tolist()), *(limit.room.numerator for limit in limits))
    if ports > MAX_PORTS:
        raise TooLargeError(f"link capacities with the common multiple {ports} are too many for an exact search")
    # Every load is a multiple of a round over all ports, and so are their sums.
    bound = Fraction(math.ceil(max(chunks * _widest(way, demands), least or 0) * ports), ports)
    if below is not None and bound >= below:
        return FewestRounds(None, None, bound, "bound")
    search = _Search(way, demands, chunks, steps, ports, limits)
    search.program.minimise([(1, load) for load in search.loads])
    most = [] if below is None else [math.ceil(below * ports) - 1]
    search.program.row([(1, load) for load in search.loads], int(bound * ports), *most)
    verdict = search.program.solve(seconds=seconds, jobs=jobs, seed=seed)
    proof: Proof = "bound"
    if below is not None and verdict == "infeasible":
        return FewestRounds(None, None, Fraction(math.ceil(below * ports), ports), "search")
    if search.program.bound > bound * ports:
        bound, proof = Fraction(search.program.bound, ports), "search"
    if not search.program.solved:
        return FewestRounds(None, None, bound, "none")
    schedule = search.schedule(collective.dual if collective.reduces else collective)
    load, link = np.zeros((steps, len(way.src)), dtype=np.int64), find_links(way, schedule)
    np.add.at(load, (schedule.step - 1, link), 1)
    full = [load * (ports // way.capacity)]
    full += [load[:, list(one.links)].sum(axis=1, keepdims=True) * int(ports / one.room) for one in limits]
    rounds = Fraction(int(np.hstack(full).max(axis=1).sum()), ports)  # counted in the schedule
    if collective.reduces:
        schedule = reverse(schedule)
    report = check_movement(topology, schedule)
    if not report.ok:
        raise ScheduleError(
            f"the solver's answer is not a schedule, which is its fault or ours:\n{report.format(collective)}"
        )
    return FewestRounds(schedule, rounds, bound, "none" if rounds > bound else proof)


def _forwards(topology: Topology, collective: Collective) -> tuple[Topology, tuple[Demand, ...]]:
    """Return topology and demands of the copying direction."""
    if topology.switches:
        raise TopologyError("only topologies without switches are searched chunk by chunk; use --algorithm forest")
    way = topology.transpose() if collective.reduces else topology
    demands = demands_of(collective.dual if collective.reduces else collective, way)
    if len(demands) * len(way.src) > MAX_CHOICES:
        raise TooLargeError(
            f"{len(demands)} blocks and {len(way.src)} links are too many for an exact search: their product is "
            f"at most {MAX_CHOICES}"
        )
    if _farthest(way, demands) >= FAR:
        raise DisconnectedError(
            f"some node cannot be reached ({topology.describe_unreached()}), so no {collective} runs here"
        )
    return way, demands


def _farthest(way: Topology, demands: tuple[Demand, ...]) -> int:
    """Return the distance of the farthest goal, in links."""
    apart = hops(way)
    return max((apart[one.source][goal] for one in demands for goal in one.goals), default=1)


def _widest(way: Topology, demands: tuple[Demand, ...]) -> Fraction:
    """Return a cut bound on rounds per chunk, for any steps.

    Of the cuts those of a single node, on either side, are looked at, and all of them if there are few nodes.
    """
    most = Fraction(0)
    for cut in cuts_of(range(way.nodes)):
        if crossing := sum(one.source in cut and not cut.issuperset(one.goals) for one in demands):
            most = max(most, Fraction(crossing, sum(c for u, v, c in way.links() if u in cut and v not in cut)))
    return most


class _Search:
    """Integer program of all schedules in given steps.

    Chunks that have one goal each are a flow through time, in whole chunks; others go over trees, a flag for each send.
    """

    def __init__(  # noqa: PLR0917  what makes one program another
        self,
        way: Topology,
        demands: tuple[Demand, ...],
        chunks: int,
        steps: int,
        ports: int,
        limits: Sequence[Limit] = (),
    ) -> None:
        self.way, self.demands, self.chunks, self.steps, self.ports = way, demands, chunks, steps, ports
        self.program = Discrete()
        narrow = math.ceil(max([Fraction(1), *(len(way.src) / limit.room for limit in limits)]))
        most = ports * len(demands) * chunks * narrow
        self.loads = [self.program.number(0, most) for _ in range(steps)]
        self.flows: dict[tuple[int, int, int], int] = {}  # demand, link, step: number of chunks
        self.sends: dict[tuple[int, int, int, int], int] = {}  # demand, chunk, link, step: flag
        self._apart = hops(way)
        on: dict[tuple[int, int], list[int]] = {}
        for number, one in enumerate(demands):
            if len(one.goals) == 1:
                self._add_flow(number)
            else:
                for chunk in range(chunks):
                    self._add_tree(number, chunk)
                    if chunk:
                        self._in_order(number, chunk)
        for (*_, link, step), flag in (*self.flows.items(), *self.sends.items()):
            on.setdefault((link, step), []).append(flag)
        for (link, step), flags in on.items():
            each = ports // int(way.capacity[link])
            self.program.row([(1, self.loads[step]), *((-each, flag) for flag in flags)], 0)
        for limit, step in itertools.product(limits, range(steps)):
            flags = [flag for link in limit.links for flag in on.get((link, step), ())]
            self.program.row([(1, self.loads[step]), *((-int(ports / limit.room), flag) for flag in flags)], 0)

    def _moves(self, one: Demand) -> Iterator[tuple[int, int, int, int]]:
        """Yield step, link and ends of every useful send."""
        apart, way = self._apart, self.way
        tail = [min(apart[node][goal] for goal in one.goals) for node in range(way.nodes)]
        for step, (link, (u, v, _)) in itertools.product(range(self.steps), enumerate(way.links())):
            if v not in {u, one.source} and apart[one.source][u] <= step and step + 1 + tail[v] <= self.steps:
                yield step, link, u, v

    def _add_flow(self, number: int) -> None:
        """Add the flow of all chunks of a block."""
        program, one = self.program, self.demands[number]
        into, out = (defaultdict[int, list[tuple[int, int]]](list) for _ in range(2))
        for step, link, u, v in self._moves(one):
            if u not in one.goals:
                flow = self.flows[number, link, step] = program.number(0, self.chunks)
                into[v].append((step, flow))
                out[u].append((step, flow))
        for node in range(self.way.nodes):
            if node in one.goals:
                program.row([(1, flow) for _, flow in into[node]], self.chunks, self.chunks)
            elif node != one.source and (into[node] or out[node]):
                come, gone = ([(sign, flow) for _, flow in flows[node]] for sign, flows in ((1, into), (-1, out)))
                program.row([*come, *gone], 0, 0)
                for now in {step for step, _ in out[node]}:
                    come = [(1, flow) for step, flow in into[node] if step < now]
                    program.row([*come, *((-1, flow) for step, flow in out[node] if step <= now)], 0)

    def _add_tree(self, number: int, chunk: int) -> None:
        """Add the sends of a chunk as a tree."""
        program, way, one = self.program, self.way, self.demands[number]
        into, out = (defaultdict[int, list[tuple[int, int]]](list) for _ in range(2))
        ends = []
        for step, link, u, v in self._moves(one):
            flag = self.sends[number, chunk, link, step] = program.flag()
            into[v].append((step, flag))
            out[u].append((step, flag))
            ends.append((u, v, flag))
        for node in range(way.nodes):
            if node in one.goals:
                program.require_one(flag for _, flag in into[node])
            elif into[node]:
                program.row([(1, flag) for _, flag in into[node]], 0, 1)
                for _, flag in into[node]:
                    program.row([(1, sent) for _, sent in out[node]], 1, when=[flag])
            if node != one.source:
                for step, sent in out[node]:
                    program.row([(-1, sent), *((1, flag) for at, flag in into[node] if at < step)], 0)
        cross_cuts(program, one, range(way.nodes), ends)

    def _in_order(self, number: int, chunk: int) -> None:
        """Order the equivalent chunks of a block by arrival."""
        links, goal = len(self.way.src), self.demands[number].goals[0]
        into = [
            ((step * links + link) * (1 if part == chunk else -1), flag)
            for (one, part, link, step), flag in self.sends.items()
            if one == number and part in {chunk - 1, chunk} and int(self.way.dst[link]) == goal
        ]
        self.program.row(into, 0)

    def schedule(self, collective: Collective) -> Flow:
        """Return the schedule of the solution, without useless sends."""
        value = self.program.value
        moves = [move for move, flag in self.sends.items() if value(flag)]
        for number in dict.fromkeys(number for number, _, _ in self.flows):
            flow = {(step, link): value(one) for (of, link, step), one in self.flows.items() if of == number}
            moves += [(number, chunk, link, step) for chunk, link, step in self._paths(number, flow)]
        demand, chunk, link, step = np.array(moves, dtype=np.int64).reshape(-1, 4).T
        block = np.array([one.block for one in self.demands], dtype=np.int64)[demand]
        part = (step + 1, self.way.src[link], self.way.dst[link], block, chunk, chunk + 1)
        return build_steps(collective, self.way, self.chunks, self.steps, [part])

    def _paths(self, number: int, flow: dict[tuple[int, int], int]) -> Iterator[tuple[int, int, int]]:
        """Yield chunk, link and step of a block, without round trips."""
        src, dst = self.way.src.tolist(), self.way.dst.tolist()
        held: dict[int, list[int]] = {self.demands[number].source: list(range(self.chunks))}
        paths: list[list[tuple[int, int]]] = [[] for _ in range(self.chunks)]
        for step in range(self.steps):
            coming = []
            for link in range(len(src)):
                for _ in range(flow.get((step, link), 0)):
                    chunk = held[src[link]].pop()
                    coming.append((dst[link], chunk))
                    again = [at for at, (_, before) in enumerate(paths[chunk]) if src[before] == dst[link]]
                    paths[chunk] = paths[chunk][: again[0]] if again else [*paths[chunk], (step, link)]
            for node, chunk in coming:
                held.setdefault(node, []).append(chunk)
        for chunk, path in enumerate(paths):
            for step, link in path:
                yield chunk, link, step
