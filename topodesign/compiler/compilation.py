"""Compilation of a plan to checked runtime files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Unpack

import numpy as np

from topodesign.base.atomic import write_directory, write_whole
from topodesign.base.declared import Declared, key
from topodesign.base.entry_points import BACKENDS
from topodesign.base.errors import InfeasibleError, ParameterError, TopodesignError
from topodesign.base.options import read, takes
from topodesign.base.records import Result
from topodesign.base.wording import count_noun, with_article
from topodesign.collectives import ALLGATHER, ALLREDUCE, BROADCAST, REDUCE, REDUCE_SCATTER, Collective
from topodesign.compiler.backends.backend import Backend, Checked, Files, Options
from topodesign.compiler.frontends import rounds
from topodesign.compiler.frontends.grain import Lowering, choices
from topodesign.compiler.frontends.permutations import sent_of
from topodesign.compiler.ir import Program
from topodesign.compiler.limits import Limits, find_first
from topodesign.compiler.options import CompileOptions, Threadblocks
from topodesign.compiler.serving import Cut, describe_unserved, require_whole
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.chunk_ops import unfold_pieces
from topodesign.plans.files import as_plan
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import adds_at_ranks, block_amounts, list_rank_rounds, list_relays, list_transfers
from topodesign.plans.step_ops import unfold
from topodesign.plans.verify.plans import verify_or_raise
from topodesign.runtime.calls import shares_of, width_of
from topodesign.runtime.msccl.profiles import RuntimeProfile

_LONGEST_SPEC = 200  # characters of it in the name of a program, which runtimes want short


class CompilationError(TopodesignError):
    """Compiler fault: a failed check of a compiled program."""


class FrontEnd(NamedTuple):
    """Front end with its collectives and lowering function."""

    collectives: tuple[Collective, ...]
    lower: Callable[[Plan, Options, Limits], Lowering]


def _of_rounds(plan: Plan, options: Options, limits: Limits) -> Lowering:
    # a call has the largest block for each, and parts of them move
    uneven = limits.uneven and block_amounts(plan) is not None
    movement = list_rank_rounds(plan, padded=uneven)
    made = rounds.lower_rounds(movement.topology, movement, options, limits, partly=uneven)
    if not uneven:
        return made

    def program(chunks: int | None) -> Program:
        whole = made.program(chunks)
        return replace(whole, sent=sent_of(plan, whole.shard))

    return made._replace(program=program)


def _of_trees(plan: Plan, options: Options, limits: Limits) -> Lowering:
    if len(list_relays(plan)) and limits.switches:
        from topodesign.compiler.onesided.switched import program_through_switch  # noqa: PLC0415  few have switches

        return Lowering(lambda _: program_through_switch(unfold_pieces(plan.flow), options))
    if adds_at_ranks(plan):
        return _of_sums(plan, options, limits)
    if len(list_relays(plan)):
        raise InfeasibleError(
            "no instruction of this target lets a switch copy or add, but some of --target mscclpp do; or make the "
            "schedule with --algorithm forest"
        )
    from topodesign.compiler.frontends.trees import lower_trees  # noqa: PLC0415  rounds do without

    return lower_trees(unfold(plan.flow), options, limits)


def _of_sums(plan: Plan, options: Options, limits: Limits) -> Lowering:
    from topodesign.compiler.frontends.added import lower_sums  # noqa: PLC0415  rounds do without

    (transfers,) = list_transfers(plan, options.parts)
    return lower_sums(transfers, options, limits)


FRONT_ENDS: Mapping[str, FrontEnd] = MappingProxyType(
    {
        "rounds": FrontEnd(rounds.COLLECTIVES, _of_rounds),
        "trees": FrontEnd((ALLGATHER, REDUCE_SCATTER, ALLREDUCE, BROADCAST, REDUCE), _of_trees),
        "stages": FrontEnd((ALLREDUCE,), _of_sums),
    }
)
"""The front ends by what plans are compiled as."""


def front_end_of(plan: Plan) -> FrontEnd:
    """Return what a plan is compiled by: stages and trees for themselves, others as rounds."""
    return FRONT_ENDS["stages" if plan.kind == "stages" else "trees" if plan.trees is not None else "rounds"]


@dataclass(frozen=True)
class Sharing(Declared):
    """Threadblock sharing of the most loaded rank."""

    asked: Threadblocks  # `auto`, `merged` or `separate`
    most: int  # threadblocks of the rank that has most
    shared: int  # those of them that both send and receive
    apart: int  # how many there would be if none did

    KEYS = (key("asked", kind=str), "most shared apart")

    def __str__(self) -> str:
        if not self.shared:
            return f"threadblocks ({self.asked}): sends and receives are apart"
        return f"threadblocks ({self.asked}): {self.shared} both send and receive; apart they would be {self.apart}"


@dataclass(frozen=True, repr=False)
class Compiled(Result):
    """A program in the form of its target.

    * ``backend``, ``options``: the target, and what it was compiled for.
    * ``fewer_trees``: why its trees are fewer than the best; None where they are not. It is among the notes.
    """

    plan: Plan  # what was compiled
    program: Program  # the instructions of every rank
    backend: Backend
    options: Options
    files: Files  # what is written: contents by what follows the name, such as ``.xml``
    report: Checked | None = None  # what an independent reading of the files found; None if it was not asked for
    notes: tuple[str, ...] = ()  # what there is to say about how it came about, and of what its runtime wants beside it
    fewer_trees: str | None = None
    cut: Cut | None = None  # of a program for given calls: into how many chunks these are cut, and what that costs

    @property
    def text(self) -> str:
        """The file, if it is one and text."""
        (content,) = self.files.values()
        return content.decode()

    @property
    def sharing(self) -> Sharing:
        """Threadblock sharing of sends and receives."""
        own = self.program.columns
        blocks = np.diff(own.starts)
        rank, most = int(blocks.argmax()), int(blocks.max())
        shared = int(((own.rank == rank) & (own.send >= 0) & (own.receive >= 0)).sum())
        return Sharing(self.options.threadblocks, most, shared, most + shared)

    def save(self, path: str | Path) -> list[Path]:
        """Write the files for the target.

        Of several files the path names what they have in common; of a target that writes a directory, a new one. Each
        path has the old file or the whole new one at any time.
        """
        target = Path(path)
        if self.backend.directory:
            write_directory(target, self.files)
            return [target / name for name in self.files]
        if len(self.files) == 1:
            paths = [target]
        else:
            stem = target.name.removesuffix(self.backend.ending)
            paths = [target.with_name(stem + rest) for rest in self.files]
        for place, content in zip(paths, self.files.values(), strict=True):
            write_whole(place, content)
        return paths

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row per rank, such as threadblocks."""
        return self.program.to_records()

    def heading(self) -> str:
        """Return the program, runtime, size and check result as text."""
        ranks, size = self.program.ranks, sum(map(len, self.files.values()))
        place = "in place" if self.program.inplace else "out of place"
        checked = "" if self.report is None else ", checked" if self.report.ok else ", wrong"
        return f"{self.program.collective} of {ranks} ranks {place} for {self.runtime}, {size} bytes{checked}"

    @property
    def runtime(self) -> str:
        """Name of the runtime that it is for."""
        runtime = self.options.runtime
        return runtime.name if isinstance(runtime, RuntimeProfile) else runtime

    def checked(self) -> Compiled:
        """Return the program after an independent check of its files.

        Raises CompilationError if something is wrong.
        """
        report = self.backend.check(self.files, self.options)
        if not report.ok:
            raise CompilationError(f"the compiled program fails its check:\n{report}")
        return replace(self, report=report)


@takes(CompileOptions)
def compile_plan(plan: Plan | str | Path, target: str = "msccl", **options: Unpack[CompileOptions]) -> Compiled:
    """Compile a plan for a target.

    Parameters
    ----------
    plan
        What moves over which links.
    target
        One of ``BACKENDS``.
    **options
        As :class:`~topodesign.compiler.options.CompileOptions` says.

    Returns
    -------
    Compiled
        Not yet checked: see :meth:`Compiled.checked`.

    Raises
    ------
    InfeasibleError
        If the program exceeds a limit of the runtime, which the message names, or this collective or kind of movement
        cannot be compiled yet.
    ScheduleError, TopologyError
        If the plan is wrong, or there are switches in the way of rounds.
    ParameterError, UnitError
        If a target, runtime, protocol or name is unknown or bad, a number is out of range, or the plan too large.

    Examples
    --------
    >>> from topodesign import compile_plan, schedule
    >>> compile_plan(schedule("circulant(12,2,3)"), inplace=True, max_size="1MiB").checked()
    <Compiled: allreduce of 12 ranks in place for msccl, ... bytes, checked>
    """
    plan = as_plan(plan)
    backend, settled = settle(plan, target, options)
    if not len(list_relays(plan)):  # whose trees are held against what their target can do
        verify_or_raise(plan, "the schedule")
    program = backend.lower(plan, settled)
    cut = None
    if program is not None:
        files = backend.emit(program, settled)
    else:
        limits = backend.limits(settled)
        limits.check_ranks(plan.topology.nodes - len(plan.topology.switches))
        lowering = front_end_of(plan).lower(plan, settled, limits)
        if settled.size:
            program, files, cut = _for_calls(lowering, backend, settled, plan)
        else:
            program = lowering.program(None)
            files = backend.emit(program, settled)
    notes = tuple(backend.notes(plan, settled, files))
    if cut is not None:
        notes = (str(cut), *notes)
    elif program.chunks & (program.chunks - 1) and "dtype" in backend.takes:
        calls, unit = (settled.min_size, settled.max_size), backend.chunk_unit(settled)
        notes = (*describe_unserved(plan.collective, program.ranks, program.chunks, unit, calls), *notes)
    if plan.changes and target != "jax":
        times = count_noun(len(plan.changes), "time")
        said = f"circuits change {times}, and this one program does not wait for them; compile_phases makes one for "
        notes = (*notes, f"{said}each phase (compile: name a directory with -o)")
    return Compiled(plan, program, backend, settled, files, notes=notes, cut=cut)


def _for_calls(lowering: Lowering, backend: Backend, settled: Options, plan: Plan) -> tuple[Program, Files, Cut]:
    """Compile for given calls, with the least loss from chunking."""
    ranks = plan.topology.nodes - len(plan.topology.switches)
    sizes = tuple(map(int, settled.size))
    divisor = require_whole(plan.collective, ranks, settled.size, width_of(settled.dtype))
    unit = backend.chunk_unit(settled)
    if divisor % unit:
        raise InfeasibleError(f"{settled.runtime} takes multiples of {unit} bytes, and these calls are not")
    common = divisor // unit
    if lowering.cost is None:
        program = lowering.program(None)
        if common % program.chunks:
            step = program.chunks * (math.gcd(*sizes) // common)
            raise InfeasibleError(
                f"the program has {program.chunks} chunks, as its schedule is cut, which do not divide these calls; "
                f"use sizes that are multiples of {step} bytes"
            )
        return program, backend.emit(program, settled), Cut(sizes, program.chunks, program.chunks, Fraction(0))

    def make(choice: tuple[int, Fraction]) -> tuple[Program, Files]:
        program = lowering.program(None if choice[0] == lowering.natural else choice[0])
        return program, backend.emit(program, settled)

    found = choices(lowering, common, shares_of(plan.collective, ranks))
    if not found:
        raise InfeasibleError(
            f"no number of chunks divides all of these calls, which have {common} as their common divisor; the "
            f"schedule has {lowering.natural} chunks: use other sizes, or a schedule with fewer chunks"
        )
    (_, loss), (program, files), _ = find_first(found, make)
    return program, files, Cut(sizes, program.chunks, lowering.natural, loss)


def settle(plan: Plan, target: str, options: Any) -> tuple[Backend, Options]:
    """Resolve the back end and options.

    Raises what :func:`compile_plan` says.
    """
    backend = BACKENDS.get(target)
    if backend is None:
        raise ParameterError(f"unknown target {target!r}; known are {', '.join(BACKENDS)}")
    said = read(CompileOptions, options, "compile_plan")
    runtime = said["runtime"]
    if isinstance(runtime, str) and runtime not in backend.runtimes:
        raise ParameterError(f"unknown runtime {runtime!r} of {target}; known are {', '.join(backend.runtimes)}")
    front_end, collective = front_end_of(plan), plan.collective
    if collective.several:
        raise InfeasibleError(f"{plan.words} are no single program; use compile_groups")
    if not collective.like(*front_end.collectives):
        known = ", ".join(one.name for one in front_end.collectives)
        raise InfeasibleError(f"{plan.words} of {with_article(collective)} cannot be compiled yet; of {known} they can")
    some = len(collective.group or ()) not in {0, plan.topology.nodes - len(plan.topology.switches)}
    if some or collective.groups is not None:
        raise InfeasibleError(
            f"{plan.words} among some of the nodes are no single program: groups are communicators of their own, "
            "each with a program; use compile_groups"
        )
    said["runtime"] = runtime or backend.runtimes[0]
    if said["inplace"] is None:
        said["inplace"] = backend.inplace and collective.like(ALLREDUCE, BROADCAST, REDUCE)
    if said["name"] is None:
        said["name"] = _title(plan)
    settled = Options(place=plan.place, **said)
    backend.accept(plan, settled)
    if settled.parts > 1 and front_end is FRONT_ENDS["rounds"]:
        raise ParameterError("parts are of trees; rounds have none")
    if "threadblocks" not in backend.takes:
        settled = Options(place=plan.place, **said | {"threadblocks": "separate"})
    return backend, settled


def _title(plan: Plan) -> str:
    """Return the default program name, based on the topology's spec."""
    spec = str((plan.topology if isinstance(plan.place, Fabric) else plan).spec or "")
    if not 0 < len(spec) <= _LONGEST_SPEC:
        spec = str(plan.topology.nodes - len(plan.topology.switches))
    moves = [] if plan.kind in {"rounds", "orbitrounds"} else ["trees" if plan.trees is not None else plan.kind]
    node = plan.collective.root
    root = [] if node is None else [f"root{node - sum(switch < node for switch in plan.topology.switches)}"]
    return "-".join(["topodesign", str(plan.collective), *root, *moves, spec])
