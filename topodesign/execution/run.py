"""``run_plan``: execution with real data, result checks and speed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.memory import check_memory
from topodesign.base.units import Quantity, as_size, format_size
from topodesign.base.wording import count_noun
from topodesign.execution.levels import check_programs, neighbours_of
from topodesign.execution.program import Program, programs_of
from topodesign.execution.result import TRANSPORTS, RunResult, SizeRun, Transport, bus_factor, fit_model
from topodesign.execution.workspace import TYPES, Outcome, Trial, bytes_of, coefficients, extent_of, shares_of
from topodesign.plans.files import as_plan
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_transfers
from topodesign.plans.time.simulate import find_factors
from topodesign.plans.transfers import Transfers
from topodesign.plans.verify.plans import verify

if TYPE_CHECKING:
    from topodesign.execution.processes import World

MAX_ITERATIONS = 10**6
LEAST_FITTED = 3  # sizes from which on a latency and a bandwidth are fitted: two of them any pair of times meets
_MINUTE = 60  # seconds that a command between phases may take
_SWITCH = 5e-5
"""Seconds after which Python's threads take turns; by default a rank may wait for a hundred times as long."""


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
    between: str | Callable[[int], None] | None = None,
    progress: Callable[[float], None] | None = None,
) -> RunResult:
    """Run a plan with real data and check every result element.

    A rank is a node, in ascending order. It has its own sends alone, sends what several blocks need over a link at a
    time as one message, and does at once all that needs nothing of each other; then it goes on. What is added up is
    added by NumPy.

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
    between
        Of plans whose circuits change: what changes them, called by rank 0 with the number of the
        phase, from 0, while all others wait: a function, or a command that gets the number as its last argument and
        may take a minute. Times have changes in them, but for those to the first phase. Without it nobody waits.
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
    rounds = as_integer("iterations", iterations, 1, MAX_ITERATIONS)
    before = as_integer("warmup", warmup, 0, MAX_ITERATIONS)
    kind = as_choice("dtype", dtype, TYPES)
    chunks = as_integer("parts", parts, 1, 10**6)
    change = _make_caller(between) if isinstance(between, str) else between
    settings = _Settings(sizes, kind, before, rounds, progress or (lambda _: None), change)

    def prepare() -> LoweredPlan:
        if isinstance(between, str) and shutil.which((shlex.split(between) or [""])[0]) is None:
            raise ParameterError(f"there is no command {between!r:.60} to run between phases")
        return lower_plan(plan, chunks, sizes, kind, how, verified=verified, waits=between is not None)

    if how == "threads":
        return _on_threads(prepare(), settings)
    return _among_processes(_world(how), prepare, settings)


def _make_caller(command: str) -> Callable[[int], None]:
    """Return a function that runs a command for a phase."""
    words = shlex.split(command)

    def change(phase: int) -> None:
        try:
            done = subprocess.run(  # noqa: S603  what was asked for
                [*words, str(phase)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_MINUTE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise InfeasibleError(f"{command} {phase} has not ended after {_MINUTE} s") from None
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it said nothing"]
            raise InfeasibleError(f"{command} {phase} ended with status {done.returncode}: {said[0]:.200}")

    return change


def _world(transport: Transport) -> World:
    if transport == "mpi":
        from topodesign.execution.mpi import MpiWorld  # noqa: PLC0415  starts MPI

        return MpiWorld()
    from topodesign.execution.torch.world import TorchWorld  # noqa: PLC0415  needs PyTorch

    return TorchWorld()


@dataclass(frozen=True)
class _Settings:
    """Sizes, iterations and callbacks of a run."""

    sizes: list[Fraction]
    dtype: str
    warmup: int
    iterations: int
    tell: Callable[[float], None]
    between: Callable[[int], None] | None

    def runs(
        self,
        prepared: LoweredPlan,
        run_trial: Callable[[Trial, Callable[[float], None]], Outcome],
        programs: Mapping[int, Program],
    ) -> tuple[SizeRun, ...]:
        """Run the programs of ranks of this process with every size."""
        transfers = prepared.transfers
        collective = transfers[0].collective if len(transfers) == 1 and self.between is None else None
        ranks, shares, (bus, _) = transfers[0].ranks, shares_of(transfers), _bus(transfers)
        found = []
        for number, asked in enumerate(self.sizes):

            def told(share: float, done: int = number) -> None:
                self.tell((done + share) / len(self.sizes))

            extent, whole = extent_of(transfers, asked, np.dtype(TYPES[self.dtype]).itemsize)
            often = self.warmup, self.iterations
            trial = Trial(programs, ranks, extent, shares, self.dtype, *often, collective, between=self.between)
            found.append(SizeRun(asked, whole, run_trial(trial, told), bus))
        return tuple(found)


def _on_threads(prepared: LoweredPlan, settings: _Settings) -> RunResult:
    from topodesign.execution.threads import run_trial  # noqa: PLC0415  one of the transports

    with _taking_turns():
        runs = settings.runs(prepared, run_trial, dict(enumerate(prepared.programs)))
    cores = count_noun(
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, "core"
    )
    note = f"threads of one machine measure its memory, its {cores} and Python, not a fabric: mpirun runs it on hosts"
    messages = sum(len(one.sends) for one in prepared.programs)
    return _result(prepared, settings, runs, (0, "threads", f"NumPy {np.__version__}"), messages=messages, note=note)


def _among_processes(world: World, prepare: Callable[[], LoweredPlan], settings: _Settings) -> RunResult:
    transport: Transport = world.transport

    def checked() -> LoweredPlan:
        found = prepare()
        world.check(len(found.programs))
        return found

    first = world.first(checked)
    try:
        head = world.share(None if first is None else replace(first, programs=()))
        program = world.deal(None if first is None else list(first.programs))
        messages = world.share(None if first is None else sum(len(one.sends) for one in first.programs))
        here = settings if world.rank == 0 else replace(settings, tell=lambda _: None)
        runs = here.runs(head, world.run_trial, {world.rank: program})
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
    return _result(head, settings, runs, (world.rank, transport, world.name), messages=messages, note=note)


def _result(
    prepared: LoweredPlan,
    settings: _Settings,
    runs: tuple[SizeRun, ...],
    carrier: tuple[int, Transport, str],
    *,
    messages: int,
    note: str,
) -> RunResult:
    """Return the result of runs; ``carrier``: rank, transport and name."""
    transfers = prepared.transfers
    bus, words = _bus(transfers)
    said = [words, *prepared.notes, *_padding(transfers, runs)]
    said += [f"WRONG: {one.outcome.first}" for one in runs if one.outcome.wrong][:3]
    fit = None
    if prepared.cost is not None and len({one.size for one in runs}) >= LEAST_FITTED:
        try:
            fit = fit_model(*prepared.cost, [(one.size, one.outcome.median) for one in runs])
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
        *carrier,
        settings.dtype,
        settings.warmup,
        settings.iterations,
        messages,
        bus,
        runs,
        fit,
        (*said, note),
    )


def _bus(transfers: tuple[Transfers, ...]) -> tuple[Fraction | None, str]:
    """Return the bus bandwidth factor, and a note on rates."""
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
    """Return notes on sizes larger than requested."""
    grown = [one for one in runs if one.size != one.asked]
    if not grown:
        return []
    one = grown[0]
    shards = transfers[0].shards
    more = f", and {count_noun(len(grown) - 1, 'other size')} likewise" if len(grown) > 1 else ""
    padded = f"{format_size(one.asked)} is padded to {format_size(one.size)}"
    where = f" in {count_noun(shards, 'equal block')}" if transfers[0].amounts is None else " in every piece"
    return [f"{padded}, whole elements{where if transfers[0].sums is None else ''}{more}"]


@contextmanager
def _taking_turns() -> Iterator[None]:
    """Switch threads often, so that messages are not delayed."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@dataclass(frozen=True)
class LoweredPlan:
    """Lowered plan, without the plan itself."""

    title: str
    collective: str
    kind: str
    spec: str | None
    transfers: tuple[Transfers, ...]
    programs: tuple[Program, ...]
    cost: tuple[Fraction, Fraction] | None
    place: tuple[int, int]
    notes: tuple[str, ...]


def lower_plan(
    plan: Plan | str | Path | Callable[[], Plan],
    parts: int,
    sizes: list[Fraction],
    dtype: str,
    transport: Transport,
    *,
    verified: bool,
    waits: bool = False,
) -> LoweredPlan:
    """Lower a runnable plan to rank programs.

    ``waits``: all ranks wait at circuit changes.
    """
    alone = transport != "threads"  # each has a process of its own
    made = as_plan(plan() if callable(plan) else plan)
    notes = []
    if verified:
        report = verify(made)
        if not report.ok:
            problems = "".join(f"\n  {one}" for one in report.problems)
            raise InfeasibleError(f"invalid plan, not run:{problems}")
    else:
        notes.append("the plan was not verified before")
    transfers = list_transfers(made, parts)
    coefficients(transfers[0].ranks, 0)
    changes = made.changes if waits else ()
    if waits and not changes:
        raise ParameterError("circuits do not change in this plan, so nothing is called between phases")
    programs = tuple(programs_of(transfers, changes))
    width = np.dtype(TYPES[dtype]).itemsize
    shares = shares_of(transfers)
    for size in sizes:
        extent, _ = extent_of(transfers, size, width)
        needed = [bytes_of(one, extent, shares, width, alone=alone) for one in programs]
        whose = "the data of a rank" if alone else f"the data of {len(programs)} ranks in one process"
        check_memory(max(needed) if alone else sum(needed), f"{format_size(size)}: {whose}")
    try:
        cost = find_factors(made, parts) if len(set(sizes)) >= LEAST_FITTED else None
    except InfeasibleError as error:
        cost = None
        notes.append(f"no latency and bandwidth are fitted: {error}")
    topology = made.topology
    if transport == "torch":  # which has no tags
        check_programs(programs, neighbours_of(topology))
    return LoweredPlan(
        made.heading(),
        made.collective.name,
        made.kind,
        made.spec,
        transfers,
        programs,
        cost,
        (topology.nodes, topology.degree),
        tuple(notes),
    )
