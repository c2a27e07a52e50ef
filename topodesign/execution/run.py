"""``run_plan``: move the real bytes of a plan, check every result, and say how fast it was."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np

from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.memory import check_memory
from topodesign.base.records import Table, TextResult
from topodesign.base.units import Quantity, as_size, format_rate, format_size, format_time
from topodesign.base.wording import counted
from topodesign.collectives import ALLREDUCE, BROADCAST, REDUCE, Collective
from topodesign.execution.fit import Fit, fitted_model
from topodesign.execution.levels import Script, check_scripts, neighbours_of, scripts_of
from topodesign.execution.program import Program, programs_of
from topodesign.execution.workspace import TYPES, Outcome, Trial, bytes_of, coefficients, extent_of, shares_of
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric
from topodesign.plans.files import as_plan
from topodesign.plans.kinds import kind_of
from topodesign.plans.measure import cost_of
from topodesign.plans.plan import Plan
from topodesign.plans.replay.plans import verify
from topodesign.plans.timing.plans import simulate
from topodesign.plans.transfers import Transfers

if TYPE_CHECKING:
    from topodesign.execution.processes import World

Transport = Literal["threads", "mpi", "torch"]
TRANSPORTS: tuple[Transport, ...] = ("threads", "mpi", "torch")
MOST_ITERATIONS = 10**6
LEAST_FITTED = 3  # sizes from which on a latency and a bandwidth are fitted: two of them any pair of times meets
_SWITCH = 5e-5
"""Seconds after which Python's threads take turns; by default a rank may wait for a hundred times as long."""


@dataclass(frozen=True)
class Measured(Declared):
    """Times and rates of so many bytes, and what was wrong."""

    outcome: Outcome
    size: int
    factor: Fraction | None  # bus bandwidth over algorithm bandwidth

    KEYS = (
        key("time_s=float(outcome.median)", "Seconds of an iteration until the last rank was done, the median."),
        key("least_s=float(outcome.least)", "The least."),
        key("most_s=float(outcome.most)", "The most."),
        key(
            "algorithm_bandwidth_GBps",
            "All data over the time, in 10^9 bytes per second.",
            kind=float,
            value=lambda one: float(one.rate) / 10**9,
        ),
        key(
            "bus_bandwidth_GBps",
            "That times the factor; null of several collectives at the same time.",
            kind="float | None",
            value=lambda one: None if one.bus is None else float(one.bus) / 10**9,
        ),
        key("wrong_elements=outcome.wrong", "Elements that were not what they must be, of all ranks and iterations."),
        key("first_wrong=or_null(outcome.first)", "One of them in words; null if there are none.", kind="str | None"),
    )

    @property
    def rate(self) -> Fraction:
        """All data over the time, in bytes per second."""
        return self.size / max(self.outcome.median, Fraction(1, 10**9))

    @property
    def bus(self) -> Fraction | None:
        """That times the factor."""
        return None if self.factor is None else self.rate * self.factor


@dataclass(frozen=True)
class SizeRun(Declared):
    """What came of one size."""

    asked: Fraction  # what was asked for
    size: int  # so many bytes that all blocks are equal, in whole elements
    outcome: Outcome
    factor: Fraction | None  # bus bandwidth over algorithm bandwidth

    KEYS = (
        key("size_bytes=size", "Data that was moved: so much that blocks are equal."),
        "asked_bytes=float(asked) *measured",
        key("own", "The collective of MPI, or of gloo, itself with the same data; null without one."),
    )
    ROW = (
        "size_bytes=size time_s=outcome.median least_s=outcome.least most_s=outcome.most "
        "algorithm_bandwidth=measured.rate bus_bandwidth=measured.bus wrong=outcome.wrong "
        "own_time_s?=own.outcome.median own_bus_bandwidth?=own.bus"
    )

    @property
    def measured(self) -> Measured:
        """What was measured of the plan."""
        return Measured(self.outcome, self.size, self.factor)

    @property
    def own(self) -> Measured | None:
        """The same of the collective of MPI, or of gloo, itself."""
        return None if self.outcome.own is None else Measured(self.outcome.own, self.size, self.factor)


@dataclass(frozen=True, repr=False)
class RunResult(TextResult):
    """How fast a plan was and whether all results were right."""

    title: str  # the plan in a line
    collective: str  # what is done
    kind: str  # how data move: rounds, orbitrounds, trees, paths, timed, together
    spec: str | None  # what names and rebuilds the place; null for links that have no spec
    ranks: int  # threads or processes, one for every node that is no switch
    rank: int  # which of them this is, 0 for all threads
    transport: Transport  # what carried the messages
    library: str  # its name and version
    dtype: str  # type of the elements
    warmup: int  # iterations that were not timed
    iterations: int  # iterations that were
    messages: int  # from rank to rank in an iteration
    bus: Fraction | None  # bus bandwidth over algorithm bandwidth, as nccl-tests define it; else null
    runs: tuple[SizeRun, ...]  # one for every size
    fit: Fit | None  # what fits the times of several sizes best; null of one, or where nothing fits
    notes: tuple[str, ...]  # what else there is to say

    KEYS = (
        "title collective kind spec ranks",
        key("transport", kind=TRANSPORTS),
        "library",
        key("dtype", kind=tuple(TYPES)),
        "warmup iterations messages bus_factor=bus right runs fit notes",
    )
    ROWS = "runs"

    @property
    def right(self) -> bool:
        """Whether every element of every result was what it must be."""
        return not any(one.outcome.wrong for one in self.runs)

    @property
    def times(self) -> tuple[Fraction, ...]:
        """The median time for every size, in seconds."""
        return tuple(one.outcome.median for one in self.runs)

    @property
    def model(self) -> str | None:
        """The command that looks for topologies with what fits; None without."""
        return None if self.fit is None else self.fit.command

    def heading(self) -> str:
        """Return what was run."""
        return self.title

    def table(self) -> Table:
        """Return a row for every size."""
        own = any(one.own is not None for one in self.runs)
        wrong = not self.right
        whose = "MPI" if self.transport == "mpi" else "gloo"
        beside = [f"{whose} busbw", f"time/{whose}"] if own else []
        columns = ("size", "time", "min", "max", "algbw", "busbw", *beside)
        rows = []
        for one in self.runs:
            found = one.outcome
            cells = [
                format_size(one.asked),
                *(format_time(time) for time in (found.median, found.least, found.most)),
                _rate(one.measured.rate),
                _rate(one.measured.bus),
            ]
            if own and one.own is not None:
                ratio = float(found.median / max(one.own.outcome.median, Fraction(1, 10**9)))
                cells += [_rate(one.own.bus), f"{ratio:.2f}"]
            rows.append((*cells, *([f"{found.wrong} wrong"] if wrong else [])))
        return Table("", (*columns, *(["results"] if wrong else [])), tuple(rows))

    def __str__(self) -> str:
        """Return what was run, the table, what the rates are, the fit and the notes."""
        what = {"threads": "threads of one process", "mpi": "MPI processes", "torch": "processes of torchrun"}
        who = f"{self.ranks} {what[self.transport]}"
        times = f"{counted(self.iterations, 'iteration')} after {self.warmup} that are not timed"
        lines = [
            self.title,
            f"{who} ({self.library}), {self.dtype}, {times}; {counted(self.messages, 'message')} in each",
            self.table().text(),
            "every result was checked: right" if self.right else "every result was checked: WRONG",
        ]
        lines += [] if self.fit is None else [f"fit: {self.fit}", f"  {self.fit.command}"]
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True)
class _Prepared:
    """All that a plan says, lowered; without the plan itself."""

    title: str
    collective: str
    kind: str
    spec: str | None
    transfers: tuple[Transfers, ...]
    programs: tuple[Program, ...]
    scripts: tuple[Script, ...]
    cost: tuple[Fraction, Fraction] | None
    place: tuple[int, int]
    notes: tuple[str, ...]


def run_plan(
    plan: Plan | str | Path | Callable[[], Plan],
    *,
    size: Quantity | Iterable[Quantity] = "1MiB",
    iterations: int = 20,
    warmup: int = 5,
    dtype: str = "float32",
    parts: int = 1,
    transport: Transport = "threads",
    verified: bool = True,
    progress: Callable[[float], None] | None = None,
) -> RunResult:
    """Run a plan with real data, and check every element of every result of every iteration.

    A rank is a node, in ascending order. It has its own sends alone, sends what several blocks need over a link at a
    time as one message, and goes on as soon as what it needs next has come. What is added up is added by NumPy.

    Parameters
    ----------
    plan
        Any, or its file, or a function that makes one, which rank 0 calls.
    size
        Whole data M, or several of them: bytes, or text with a unit. As much more is moved as makes blocks equal.
    iterations, warmup
        How often each size is run, and how often before without taking the time.
    dtype
        Type of the elements: float32, float64, int32 or int64.
    parts
        Of trees and paths: chunks that the data of each is cut into, which follow one another.
    transport
        ``threads``: one for every rank, in this process; or ``mpi``: this process is one of as many as the plan has
        nodes, all of which call this, and get the same result; or ``torch``: the same of those that torchrun has
        started, or of the default group of PyTorch that is there, with gloo, or NCCL where there are GPUs.
    verified
        Whether a plan that the verifier refuses is refused; without it the results say what is wrong.
    progress
        Told the share that is done, on rank 0.

    Returns
    -------
    RunResult
        Times, rates and errors; with three sizes or more the latency and bandwidth that fit them.

    Raises
    ------
    InfeasibleError
        If the plan is wrong, or needs switches that add or copy.
    MissingLibraryError
        If MPI or PyTorch is asked for, and mpi4py or torch is not installed.
    ParameterError
        If a number is out of range, or there is another number of processes.
    FileFormatError
        If the plan cannot be read, or its data need more memory than the limit.
    ElsewhereError
        On other ranks where rank 0 raises one of these.

    Examples
    --------
    >>> from topodesign import run_plan, schedule
    >>> result = run_plan(schedule("biring(2,4)"), size=["1KiB", "64KiB"], iterations=2)
    >>> result.right, [one.size for one in result.runs], result.bus
    (True, [1024, 65536], Fraction(3, 2))
    """
    how = as_choice("transport", transport, TRANSPORTS)
    several = isinstance(size, Iterable) and not isinstance(size, str)
    sizes = [as_size(one) for one in (size if several else [size])]  # type: ignore[arg-type, union-attr]
    if not sizes:
        raise ParameterError("there is no size; give at least one")
    rounds = as_integer("iterations", iterations, 1, MOST_ITERATIONS)
    before = as_integer("warmup", warmup, 0, MOST_ITERATIONS)
    kind = as_choice("dtype", dtype, TYPES)
    chunks = as_integer("parts", parts, 1, 10**6)
    tell = progress or (lambda _: None)

    def prepare() -> _Prepared:
        return _prepared(plan, chunks, sizes, kind, how, verified=verified)

    if how == "threads":
        return _on_threads(prepare(), sizes, _Settings(kind, before, rounds), tell)
    return _among_processes(_world(how), prepare, sizes, _Settings(kind, before, rounds), tell)


def _world(transport: Transport) -> World:
    """Return all processes."""
    if transport == "mpi":
        from topodesign.execution.mpi import MpiWorld  # noqa: PLC0415  starts MPI

        return MpiWorld()
    from topodesign.execution.torch.world import TorchWorld  # noqa: PLC0415  needs PyTorch

    return TorchWorld()


@dataclass(frozen=True)
class _Carrier:
    """What carried the messages: see :class:`RunResult`; with a note on what its times mean."""

    transport: Transport
    library: str
    rank: int
    messages: int
    note: str


@dataclass(frozen=True)
class _Settings:
    dtype: str
    warmup: int
    iterations: int


def _prepared(
    plan: Plan | str | Path | Callable[[], Plan],
    parts: int,
    sizes: list[Fraction],
    dtype: str,
    transport: Transport,
    *,
    verified: bool,
) -> _Prepared:
    """Return what a plan says to every rank, if it may be run."""
    alone = transport != "threads"  # each has a process of its own
    made = as_plan(plan() if callable(plan) else plan)
    notes = []
    if verified:
        report = verify(made)
        if not report.ok:
            problems = "".join(f"\n  {one}" for one in report.problems)
            raise InfeasibleError(f"the plan is wrong, and was not run:{problems}")
    else:
        notes.append("the plan was not verified before")
    transfers = kind_of(made).transfers(parts)
    coefficients(transfers[0].ranks, 0)
    programs = tuple(programs_of(transfers))
    width = np.dtype(TYPES[dtype]).itemsize
    shares = shares_of(transfers)
    for size in sizes:
        extent, _ = extent_of(transfers, size, width)
        needed = [bytes_of(one, extent, shares, width, alone=alone) for one in programs]
        whose = "the data of a rank" if alone else f"the data of {len(programs)} ranks in one process"
        check_memory(max(needed) if alone else sum(needed), f"{format_size(size)}: {whose}")
    try:
        cost = _cost(made, parts) if len(set(sizes)) >= LEAST_FITTED else None
    except InfeasibleError as error:
        cost = None
        notes.append(f"no latency and bandwidth are fitted: {error}")
    topology = made.topology
    scripts: tuple[Script, ...] = ()
    if transport == "torch":
        scripts = tuple(scripts_of(programs))
        check_scripts(programs, scripts, neighbours_of(topology))
    return _Prepared(
        made.heading(),
        made.collective.name,
        made.kind,
        made.spec,
        transfers,
        programs,
        scripts,
        cost,
        (topology.nodes, topology.degree),
        tuple(notes),
    )


def _cost(plan: Plan, parts: int) -> tuple[Fraction, Fraction]:
    """Return how often a plan takes the latency, and how often M/B."""
    place, topology = plan.place, plan.topology
    bandwidth = NODE_BANDWIDTH
    if isinstance(place, Fabric):
        egress = np.bincount(topology.src, topology.capacity, topology.nodes)
        if topology.switches or len(np.unique(egress)) > 1:
            raise InfeasibleError("the nodes of this fabric have no one bandwidth; take a plan on a topology")
        bandwidth = 8 * place.unit * int(egress[0])
    kind = kind_of(plan)
    if plan.collective.several:
        raise InfeasibleError("several collectives at the same time have no size in common")
    if kind.pace == "times":
        cost = cost_of(*kind.on_ranks())
        steps, y = Fraction(cost.steps), cost.bandwidth
    else:
        chunks = parts if kind.pace == "pipelines" else None
        size, rate = Fraction(2**40), None if isinstance(place, Fabric) else bandwidth
        run = partial(simulate, plan, size=size, bandwidth=rate, chunks=chunks)
        busy, late = run(alpha="0s").time, run(alpha="1s").time
        steps, y = late - busy, busy * bandwidth / (8 * size)
    if not steps or not y:
        raise InfeasibleError("nothing is sent")
    return steps, y


def _trials(
    prepared: _Prepared,
    sizes: list[Fraction],
    settings: _Settings,
    programs: Mapping[int, Program],
    scripts: Mapping[int, Script] = MappingProxyType({}),
) -> list[tuple[Fraction, int, Trial]]:
    return [(asked, *_trial(prepared.transfers, asked, settings, programs, scripts)) for asked in sizes]


def _trial(
    transfers: tuple[Transfers, ...],
    asked: Fraction,
    settings: _Settings,
    programs: Mapping[int, Program],
    scripts: Mapping[int, Script],
) -> tuple[int, Trial]:
    extent, whole = extent_of(transfers, asked, np.dtype(TYPES[settings.dtype]).itemsize)
    collective = transfers[0].collective if len(transfers) == 1 else None
    trial = Trial(
        programs,
        transfers[0].ranks,
        extent,
        shares_of(transfers),
        settings.dtype,
        settings.warmup,
        settings.iterations,
        collective,
        scripts,
    )
    return whole, trial


def _on_threads(
    prepared: _Prepared, sizes: list[Fraction], settings: _Settings, tell: Callable[[float], None]
) -> RunResult:
    from topodesign.execution.threads import run_trial  # noqa: PLC0415  one of the transports

    runs = []
    with _taking_turns():
        for number, (asked, whole, trial) in enumerate(
            _trials(prepared, sizes, settings, dict(enumerate(prepared.programs)))
        ):

            def told(share: float, done: int = number) -> None:
                tell((done + share) / len(sizes))

            runs.append(SizeRun(asked, whole, run_trial(trial, told), _bus(prepared.transfers)[0]))
    cores = counted(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, "core")
    note = f"threads of one machine measure its memory, its {cores} and Python, not a fabric: mpirun runs it on hosts"
    messages = sum(len(one.sends) for one in prepared.programs)
    return _result(prepared, tuple(runs), settings, _Carrier("threads", f"NumPy {np.__version__}", 0, messages, note))


def _among_processes(
    world: World,
    prepare: Callable[[], _Prepared],
    sizes: list[Fraction],
    settings: _Settings,
    tell: Callable[[float], None],
) -> RunResult:
    transport: Transport = world.transport

    def checked() -> _Prepared:
        found = prepare()
        world.check(len(found.programs))
        return found

    first = world.first(checked)
    try:
        head = world.share(None if first is None else replace(first, programs=(), scripts=()))
        program = world.deal(None if first is None else list(first.programs))
        scripts = first.scripts or [()] * world.ranks if first is not None else None
        script: Script = world.deal(None if scripts is None else list(scripts))
        messages = world.share(None if first is None else sum(len(one.sends) for one in first.programs))
        runs = []
        trials = _trials(head, sizes, settings, {world.rank: program}, {world.rank: script})
        for number, (asked, whole, trial) in enumerate(trials):

            def told(share: float, done: int = number) -> None:
                if world.rank == 0:
                    tell((done + share) / len(sizes))

            runs.append(SizeRun(asked, whole, world.run_trial(trial, told), _bus(head.transfers)[0]))
        hosts = world.hosts()
        world.close()
    except BaseException as error:  # noqa: BLE001  whatever it is, the others wait for this rank
        world.end_all(error)
    who = "MPI decides over which way" if transport == "mpi" else "hosts decide over which port"
    note = (
        "all ranks are on one machine: the times are those of its memory and cores, not of a fabric"
        if hosts == 1
        else f"ranks are on {hosts} machines; {who} a message goes, not the plan's links"
    )
    return _result(head, tuple(runs), settings, _Carrier(transport, world.name, world.rank, messages, note))


def _result(
    prepared: _Prepared,
    runs: tuple[SizeRun, ...],
    settings: _Settings,
    carrier: _Carrier,
) -> RunResult:
    transfers = prepared.transfers
    bus, words = _bus(transfers)
    said = [words, *prepared.notes, *_padding(transfers, runs)]
    said += [f"WRONG: {one.outcome.first}" for one in runs if one.outcome.wrong][:3]
    fit = None
    if prepared.cost is not None and len({one.size for one in runs}) >= LEAST_FITTED:
        try:
            fit = fitted_model(*prepared.cost, [(one.size, one.outcome.median) for one in runs])
            nodes, degree = prepared.place
            fit = replace(fit, command=f"topodesign pareto -n {nodes} -d {degree} {fit.options()}")
        except InfeasibleError as error:
            said.append(f"no latency and bandwidth are fitted: {error}")
    return RunResult(
        prepared.title,
        prepared.collective,
        prepared.kind,
        prepared.spec,
        transfers[0].ranks,
        carrier.rank,
        carrier.transport,
        carrier.library,
        settings.dtype,
        settings.warmup,
        settings.iterations,
        carrier.messages,
        bus,
        runs,
        fit,
        (*said, carrier.note),
    )


def _bus(transfers: tuple[Transfers, ...]) -> tuple[Fraction | None, str]:
    """Return the factor of the bus bandwidth, and what there is to say about rates."""
    if len(transfers) > 1:
        return None, "algbw: the data of all collectives over the time of all; they have no busbw"
    collective, ranks = transfers[0].collective, transfers[0].ranks
    members = max(len(one.members(ranks)) for one in collective.single)
    factor = bus_factor(collective, members)
    groups = "" if collective.groups is None else " of each group"
    return factor, (
        f"algbw: all data{groups} over the median time; busbw: that times {factor}, as in nccl-tests for "
        f"{members} ranks"
    )


def _padding(transfers: tuple[Transfers, ...], runs: tuple[SizeRun, ...]) -> list[str]:
    """Say which sizes are larger than those that were asked for."""
    grown = [one for one in runs if one.size != one.asked]
    if not grown:
        return []
    one = grown[0]
    shards = transfers[0].collective.shards(len(transfers[0].collective.members(transfers[0].ranks)))
    more = f", and {counted(len(grown) - 1, 'other size')} likewise" if len(grown) > 1 else ""
    padded = f"{format_size(one.asked)} is padded to {format_size(one.size)}"
    return [f"{padded}, whole elements in {counted(shards, 'equal block')}{more}"]


def _rate(rate: Fraction | None) -> str:
    return "" if rate is None else format_rate(Fraction(f"{float(rate):.4g}"))


@contextmanager
def _taking_turns() -> Iterator[None]:
    """Let threads take turns often, so that a message does not wait for another rank's work."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def bus_factor(collective: Collective, members: int) -> Fraction:
    """Return the bus bandwidth over the algorithm bandwidth.

    PERFORMANCE.md of nccl-tests: 2(n-1)/n for an allreduce, 1 for a broadcast and a reduce, and (n-1)/n for the others.
    """
    if collective.like(BROADCAST, REDUCE):
        return Fraction(1)
    return Fraction((2 if collective.like(ALLREDUCE) else 1) * (members - 1), members)
