"""The frontier of exact schedules: what chunks, steps and rounds there are to choose from, with a proof of each.

More steps cost latency, more chunks cost sends, and more rounds for each chunk cost bandwidth. A choice is on the
frontier if none with at most as many chunks and steps has as few rounds for each chunk. All numbers of steps and of
chunks up to limits are gone through, the smallest first: for each the search is for fewer rounds than all before it, so
that what is not found is proven not to be there (:func:`~topodesign.schedulers.exact_rounds.fewest_rounds`).

This is the frontier of SCCL (Synthesizing Optimal Collective Algorithms), whose (C, S, R) are these numbers, where
rounds of a step are whole; here a link of two lanes takes a chunk in half a round.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

from topodesign.base.arguments import as_integer, as_seed
from topodesign.base.claims import ALL_PROVEN, FASTEST_FROM, NOT_ALL_PROVEN
from topodesign.base.cost import Cost
from topodesign.base.deadline import Stopwatch
from topodesign.base.declared import key, row_of
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError
from topodesign.base.options import read, takes
from topodesign.base.progress import each
from topodesign.base.records import Result, Table
from topodesign.base.units import Quantity, as_bandwidth, as_size, as_time, format_size, format_time, rounded_size
from topodesign.base.wording import counted, with_article
from topodesign.base.work_options import OwnWorkOptions
from topodesign.collectives import ALLGATHER, REDUCE_SCATTER, Collective, as_collective
from topodesign.collectives.collective import InOneGroup
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric
from topodesign.fabrics.places import PlaceLike
from topodesign.plans.measure import cost_claim, cost_of
from topodesign.plans.plan import Plan
from topodesign.pricing.groups import in_turn_of
from topodesign.pricing.workload import winners
from topodesign.schedulers.demands import Proof, asked_of
from topodesign.schedulers.exact import METHOD, rounds_claim
from topodesign.schedulers.exact_rounds import FewestRounds, fewest_rounds, fewest_steps
from topodesign.schedulers.method import Progress, Request, check_root, cost_in, sizes_of
from topodesign.schedulers.steps_bound import lower_bound_lp
from topodesign.topology.topology import Topology

MOST_LIMIT = 64  # largest limit on chunks and on additional steps
_MOST_LINEAR = 2_000
"""Largest product of nodes, links and steps for which a linear program bounds all numbers of chunks at once."""
_SHARES = 3  # A search may take so many times its even share of the time that is left


@dataclass(frozen=True)
class Choice:
    """Chunks, steps and rounds, and the plan that has them.

    * ``rounds``: rounds, in each of which a link carries a chunk for every unit of its capacity: the sum over the
      steps.
    * ``proof``: why: a ``bound`` that needs no search, or a ``search`` through all others; ``none`` if it is below the
      rounds.
    """

    chunks: int  # equal parts of a block
    steps: int  # communication steps
    rounds: Fraction
    bound: Fraction  # rounds that no other plan of at most so many chunks and steps undercuts for as many chunks
    proof: Proof
    plan: Plan  # what was found; replayed
    fastest_from: Fraction | None = None  # bytes of data from which on it is the fastest; None if it never is
    times: tuple[Fraction, ...] = ()  # seconds for each size of the frontier

    KEYS = (
        "chunks steps rounds bandwidth=cost.bandwidth bound gap=float(gap) proof",
        "fastest_from_bytes=float(fastest_from) times_s=float(times)",
    )
    ROW = "chunks steps rounds bandwidth=cost.bandwidth bound proof fastest_from"

    @property
    def cost(self) -> Cost:
        """Steps and bandwidth factor."""
        return cost_in(self.plan)

    @property
    def gap(self) -> Fraction:
        """By how much of the bound the rounds are above it."""
        return self.rounds / self.bound - 1


@dataclass(frozen=True)
class Unsettled:
    """Chunks and steps of which it is not known whether some plan belongs to the frontier."""

    chunks: int  # equal parts of a block
    steps: int  # communication steps
    bound: Fraction  # rounds that no such plan beats
    below: Fraction  # rounds that a plan has already with as few of both

    KEYS = "chunks steps bound below"

    def __str__(self) -> str:
        chunks = counted(self.chunks, "chunk")
        return f"{chunks} in {self.steps} steps may do with {self.bound} rounds or more, below {self.below}"


@dataclass(frozen=True, repr=False)
class ExactFrontier(Result):
    """All choices of chunks, steps and rounds that no other beats, up to limits.

    * ``place``, ``collective``: where and what, with its root.
    * ``most_chunks``, ``most_steps``: the limits.
    * ``unsettled``: where the time was not enough to know; if nothing, the frontier is complete and proven.
    """

    place: Topology | Fabric
    collective: Collective
    most_chunks: int
    most_steps: int
    choices: tuple[Choice, ...]  # fewest steps first, and then fewest chunks
    unsettled: tuple[Unsettled, ...]
    alpha: Fraction  # latency of a step, in seconds
    bandwidth: Fraction  # bandwidth of all links of a node, in bits per second
    sizes: tuple[Fraction, ...]  # sizes of the data, in bytes

    KEYS = (
        "spec",
        key("collective", "What is done.", kind=InOneGroup),
        key("most_chunks", "Chunks that were asked for at most."),
        key("most_steps", "Steps that were asked for at most."),
        "proven alpha_s=float(alpha) bandwidth_bps=float(bandwidth) sizes_bytes=float(sizes)",
        key("frontier=choices", "Choices that none with as few chunks and steps beats."),
        key("unsettled", "What the time was not enough for."),
    )

    @property
    def spec(self) -> str | None:
        """What names and rebuilds the place; None for links that have no spec."""
        return self.choices[0].plan.spec

    @property
    def proven(self) -> bool:
        """Whether all choices are proven and none is missing."""
        return not self.unsettled and all(one.proof != "none" for one in self.choices)

    def time(self, choice: Choice, size: Quantity) -> Fraction:
        """Return the seconds that a choice takes for so much data."""
        return choice.cost.runtime(alpha=self.alpha, size=as_size(size), bandwidth=self.bandwidth)

    def best(self, size: Quantity) -> Choice:
        """Return the fastest choice for so much data, of equals that with the fewest steps and chunks."""
        return min(self.choices, key=lambda one: (self.time(one, size), one.steps, one.chunks))

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for every choice; sizes from which it is the fastest are in bytes, None if there are none."""
        names = [f"time_s of {format_size(size)}" for size in self.sizes]
        return [row_of(one) | dict(zip(names, one.times, strict=True)) for one in self.choices]

    def heading(self) -> str:
        """Return what it is for, and what is proven."""
        where = self.place.name if isinstance(self.place, Fabric) else self.place.spec or "a topology without a spec"
        limits = f"up to {counted(self.most_chunks, 'chunk')} and {self.most_steps} steps"
        return f"{self.collective} on {where}, {limits}: {ALL_PROVEN if self.proven else NOT_ALL_PROVEN}"

    def table(self) -> Table:
        """Return the table for people, the fastest for each size marked."""
        least = [min(times) for times in zip(*(one.times for one in self.choices), strict=True)]
        rows = [
            (
                str(one.chunks),
                str(one.steps),
                str(one.rounds),
                f"{float(one.cost.bandwidth):.4f}",
                f"at least {one.bound}" if one.proof == "none" else one.proof,
                "" if one.fastest_from is None else rounded_size(one.fastest_from),
                *(f"{format_time(own)}{'*' * (own == best)}" for own, best in zip(one.times, least, strict=True)),
            )
            for one in self.choices
        ]
        columns = ("chunks", "steps", "rounds", "y", "proof", FASTEST_FROM, *map(format_size, self.sizes))
        note = f"not settled: {'; '.join(map(str, self.unsettled))}" if self.unsettled else ""
        return Table(self.heading(), columns, tuple(rows), frozenset({"proof"}), footnote=note)


@takes(OwnWorkOptions)
def exact_frontier(
    place: PlaceLike,
    collective: Collective | str = "allgather",
    *,
    root: str | int | None = None,
    chunks: int = 6,
    steps: int | None = None,
    time_limit: Quantity = "60s",
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
    **work: Unpack[OwnWorkOptions],
) -> ExactFrontier:
    """Return all choices of chunks, steps and rounds that no other beats, each as a plan, and what is proven of it.

    Parameters
    ----------
    place
        A small topology, its spec, a file, or a networkx graph, or a fabric; without switches.
    collective, root
        Of one movement: an allreduce is a reduce-scatter and then an allgather, each with a frontier of its own.
    chunks, steps
        Equal parts of a block, and communication steps, at most; two more steps than the fewest if None.
    time_limit
        For all searches together. What they have not settled then is said.
    jobs, seed
        Threads of the search, and where it begins.
    progress
        Called with the share of the choices that are settled.
    **work
        For which times are told.

    Raises
    ------
    ParameterError, UnitError
        If the collective or its root does not fit, or a number is out of range.
    InfeasibleError
        If some node cannot be reached, the steps are too few, or nothing was found in the time.
    TooLargeError
        If there is too much to choose from for the fewest steps and one chunk.
    MissingLibraryError
        If OR-tools is not installed.

    Examples
    --------
    >>> found = exact_frontier("bipartite(2)", chunks=2)
    >>> [(one.chunks, one.steps, str(one.rounds), one.proof) for one in found.choices]
    [(1, 2, '2', 'bound'), (2, 2, '3', 'bound')]
    >>> found.proven, found.best("1GiB").chunks
    (True, 2)
    """
    asked = as_collective(collective)
    if not asked.like(*METHOD.collectives):
        known = ", ".join(map(str, METHOD.collectives))
        raise ParameterError(
            f"frontiers are of {known}; {with_article(asked)} is a reduce-scatter and then an allgather"
        )
    root = asked.root if root is None else root
    check_root(asked, root)
    seconds = float(as_time(time_limit))
    if seconds <= 0:
        raise ParameterError("time_limit must be above zero")
    said = read(OwnWorkOptions, work, "exact_frontier")
    rate, sizes = None if said["bandwidth"] is None else as_bandwidth(said["bandwidth"]), said["sizes"]
    request = Request(place, asked, root=root, bandwidth=rate)
    where, topology, wanted = asked_of(request)
    if isinstance(where, Fabric):
        if rate is not None:
            raise ParameterError(f"{where.name} has bandwidths of its own; leave out --bandwidth")
        rate = 8 * where.unit * topology.degree
    most_chunks = as_integer("chunks", chunks, 1, MOST_LIMIT)
    least = fewest_steps(topology, wanted)
    most_steps = least + 2 if steps is None else as_integer("steps", steps, 1, least + MOST_LIMIT)
    if most_steps < least:
        raise InfeasibleError(f"{wanted} needs at least {least} steps on this topology, not {most_steps}")
    search = _Search(where, topology, wanted, (seconds, as_integer("jobs", jobs, 1), as_seed(seed)))
    search.run(least, most_steps, most_chunks, progress)
    if not search.found:
        raise InfeasibleError("the time was not enough to find a schedule; raise --time-limit")
    rate, latency = 8 * NODE_BANDWIDTH if rate is None else rate, as_time(said["alpha"], latency=True)
    asked_sizes = sizes_of(sizes)
    choices = list(search.choices())
    since = {place: size for size, place in winners([one.cost for one in choices], latency * rate / 8)}
    timed = tuple(
        replace(
            one,
            fastest_from=since.get(place),
            times=tuple(one.cost.runtime(alpha=latency, size=size, bandwidth=rate) for size in asked_sizes),
        )
        for place, one in enumerate(choices)
    )
    unsettled = tuple(search.unsettled)
    return ExactFrontier(where, wanted, most_chunks, most_steps, timed, unsettled, latency, rate, asked_sizes)


class _Search:
    """The search over numbers of steps and chunks."""

    def __init__(
        self, where: Topology | Fabric, topology: Topology, collective: Collective, limits: tuple[float, int, int]
    ) -> None:
        self.where, self.topology, self.collective = where, topology, collective
        self.seconds, self.jobs, self.seed = limits
        self.watch = Stopwatch()
        shards = collective.shards(topology.nodes)
        self.rounds_of_y = Fraction(shards, topology.degree)
        self.least = in_turn_of(topology, collective, "forward") * self.rounds_of_y  # for a chunk, in any steps
        self.found: dict[tuple[int, int], FewestRounds] = {}
        self.unsettled: list[Unsettled] = []

    def run(self, first: int, last: int, chunks: int, progress: Progress | None) -> None:
        """Go through all numbers of steps and chunks; where nothing can be better any more, there is nothing to do."""
        cells = [(steps, parts) for steps in range(first, last + 1) for parts in range(1, chunks + 1)]
        fluid: dict[int, Fraction] = {}
        for place, (steps, parts) in enumerate(each(cells, progress)):
            own = (one.known[0] / c for (s, c), one in self.found.items() if s <= steps and c <= parts)
            below = min(own, default=None)  # rounds for each chunk
            if below is not None and self.least >= below:
                continue
            if steps not in fluid:
                fluid[steps] = max(self.least, self._fluid(steps))
            left = self.seconds - self.watch()
            self._settle(steps, parts, below, (fluid[steps], left * min(1.0, _SHARES / (len(cells) - place))))

    def choices(self) -> Iterator[Choice]:
        """Yield what is on the frontier, as plans."""
        for (steps, parts), one in sorted(self.found.items()):
            rounds, bound, schedule = one.known
            made = {"method": "exact", "chunks": parts, "proof": one.proof, "rounds": str(rounds), "bound": str(bound)}
            note = f"{counted(parts, 'chunk')} of a shard, {steps} steps, {rounds} rounds; {rounds_claim(one)}"
            cost = cost_claim(cost_of(self.topology, schedule))
            plan = Plan(self.where, schedule, cost, generator=made, notes=(note,))
            yield Choice(parts, steps, rounds, bound, one.proof, plan)

    def _fluid(self, steps: int) -> Fraction:
        """Return rounds for each chunk that nothing of so many steps undercuts, by a linear program if it is quick."""
        topology, found = self.topology, None
        small = topology.nodes * len(topology.src) * steps <= _MOST_LINEAR
        if small and self.collective.like(ALLGATHER, REDUCE_SCATTER):
            with contextlib.suppress(TooLargeError):
                found = lower_bound_lp(topology, self.collective, steps=steps)
        return Fraction(0) if found is None else found * self.rounds_of_y

    def _settle(self, steps: int, parts: int, below: Fraction | None, limits: tuple[Fraction, float]) -> None:
        """Look for fewer rounds for each chunk than all before; what comes of it is noted."""
        least, seconds = limits[0] * parts, limits[1]
        most = None if below is None else below * parts
        one = FewestRounds(None, None, least, "none")
        if seconds > 0:
            try:
                one = fewest_rounds(
                    self.topology,
                    self.collective,
                    steps=steps,
                    chunks=parts,
                    least=least,
                    below=most,
                    seconds=seconds,
                    jobs=self.jobs,
                    seed=self.seed,
                )
            except TooLargeError:
                if not self.found:
                    raise
        if one.schedule is not None:
            self.found[steps, parts] = one
        elif one.proof == "none" and most is not None and one.bound < most:
            self.unsettled.append(Unsettled(parts, steps, one.bound, most))
