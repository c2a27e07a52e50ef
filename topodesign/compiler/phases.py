"""Programs per phase of a circuit-changing plan, over one workspace.

What all ranks do is laid out once for all phases, as for one program, but in one buffer: input, output, and after them
what the front end has in scratch. Then it is cut where circuits change, and each phase is shared out among threadblocks
by itself. What a rank copies for a link that a phase does not have needs no peer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from topodesign.base.arguments import as_path
from topodesign.base.atomic import write_directory
from topodesign.base.compiled import Ints
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.options import takes
from topodesign.base.records import Result
from topodesign.base.wording import count_noun
from topodesign.collectives import ALLREDUCE, Collective
from topodesign.compiler.backends.backend import Options
from topodesign.compiler.columns import BITS, RECEIVES, SENDS
from topodesign.compiler.compilation import CompilationError, Compiled, settle
from topodesign.compiler.frontends.operations import OUT, SCRATCH, Operations
from topodesign.compiler.frontends.packing import pack_scratch
from topodesign.compiler.frontends.rounds import lay_rounds, operations_of_rounds, prune_rounds
from topodesign.compiler.frontends.threads import assemble
from topodesign.compiler.ir import Program
from topodesign.compiler.limits import Limits
from topodesign.compiler.options import CompileOptions
from topodesign.plans.files import as_plan
from topodesign.plans.flow import Flow
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_rank_rounds
from topodesign.plans.verify.plans import verify_or_raise
from topodesign.runtime.manifest import MANIFEST, TARGETS, Manifest, Phase
from topodesign.runtime.phases import PhasesReport, check_sequence


@dataclass(frozen=True, repr=False)
class PhasePrograms(Result):
    """A program for each phase of a plan."""

    plan: Plan  # what was compiled
    programs: tuple[Compiled, ...]  # one for the circuits of each phase
    manifest: Manifest  # where input and output lie, and what has to be up before each program
    report: PhasesReport | None = None  # what an independent reading of all of them found; None if it was not asked for

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on calling the programs."""
        if not self.manifest.workspace:
            called = "one simulation for each phase, one after another; no simulator of traces changes its network"
        else:
            called = (
                f"each is an allreduce in place of a workspace of {self.manifest.share} of the data: load one by one, "
                "since a runtime tells them apart by nothing else"
            )
        return called, *(note for note in self.programs[0].notes if all(note in one.notes for one in self.programs))

    def heading(self) -> str:
        """Return the collective, ranks, phases and runtime as text."""
        checked = "" if self.report is None else ", checked"
        what = f"{self.plan.collective} of {self.manifest.ranks} ranks in {count_noun(len(self.programs), 'phase')}"
        return f"{what} for {self.manifest.runtime}{checked}"

    def checked(self) -> PhasePrograms:
        """Return the programs after an independent check of all files."""
        read = [one.backend.parse(one.files, one.options) for one in self.programs]
        report = check_sequence(self.manifest, read)
        if not report.ok:
            raise CompilationError(f"the compiled programs fail their check:\n{report}")
        return replace(self, report=report)

    def save(self, path: str | Path) -> list[Path]:
        """Write all of it into a new directory."""
        target = as_path(path)
        files: dict[str, Any] = {MANIFEST: self.manifest.text()}
        for phase, one in zip(self.manifest.phases, self.programs, strict=True):
            if one.backend.directory:
                files[phase.program] = lambda place, made=one.files: write_directory(place, made)
            else:
                (files[phase.program],) = one.files.values()
        write_directory(target, files)
        return [target / name for name in files]


@takes(CompileOptions)
def compile_phases(plan: Plan | str | Path, target: str = "msccl", **options: Unpack[CompileOptions]) -> PhasePrograms:
    """Compile a program for each phase of a circuit-changing plan.

    Every program works in place on one buffer of the caller, the workspace, and is an allreduce to its runtime. Before
    the first the input is put into it, and after the last the output is in it, where ``phases.json`` says.

    Parameters
    ----------
    plan
        In phases, of all nodes; or its file.
    target
        ``msccl``, ``mscclpp``, or ``chakra``, whose traces need no workspace.
    **options
        As for :func:`~topodesign.compiler.compilation.compile_plan`, but for ranges of sizes.

    Returns
    -------
    PhasePrograms
        Not yet checked: see :meth:`PhasePrograms.checked`.

    Raises
    ------
    InfeasibleError
        If the circuits of the plan do not change, it is of groups, or a program exceeds a limit of the runtime.
    ParameterError
        If a target or option is unknown, or has no meaning here.

    Examples
    --------
    >>> from topodesign import compile_phases, reconfigure
    >>> compile_phases(reconfigure(8, 1, delay="0s", size="64MiB").plan, "mscclpp").checked()
    <PhasePrograms: all-to-all of 8 ranks in ... phases for mscclpp, checked>
    """
    plan = as_plan(plan)
    if not plan.changes:
        raise InfeasibleError("the circuits of this plan do not change; it is one program (compile_plan)")
    if target not in TARGETS:
        raise ParameterError(f"programs by phase are for {', '.join(TARGETS)}; a module for jax has stages of its own")
    backend, settled = settle(plan, target, options)
    serves = settled.size and "min_size" in backend.takes
    if serves or settled.min_size or settled.max_size is not None:
        raise ParameterError("programs by phase are called one by one, of any size; omit all sizes")
    circuits = plan.flow.switching
    moved_on = list_rank_rounds(plan)
    topology = moved_on.topology
    verify_or_raise(plan, "the schedule")
    rounds = prune_rounds(topology, moved_on)
    limits = backend.limits(settled)
    limits.check_ranks(topology.nodes)
    now = circuits.phase_of(rounds.step)
    cut = [rounds.some(now == number) for number in range(len(plan.changes) + 1)]
    made: list[Program] = [one for at, part in enumerate(cut) if (one := backend.lower_phase(part, at, settled))]
    own = _Room(plan.collective, rounds.nodes)
    if not made:
        length = Limits(chunks_per_instruction=limits.chunks_per_instruction)
        whole = lay_rounds(rounds, settled, length).cut(None, settled.channels)
        operations = operations_of_rounds(rounds, whole, settled, length)
        operations, scratch = pack_scratch(operations, reuse=False)
        shard = whole.shard
        own = _Room(plan.collective, rounds.nodes, shard, int(scratch.max()), settled.inplace)
        made = _cut(own.place(operations), plan.flow, own.size, settled, limits)
    programs = []
    for number, program in enumerate(made):
        alone = Plan(circuits.links(number, rounds.nodes), cut[number], generator=plan.generator)
        for_it = replace(settled, place=alone.place, name=f"{settled.name}-phase{number}")
        files = backend.emit(program, for_it)
        notes = () if number else tuple(backend.notes(alone, for_it, files))
        programs.append(Compiled(plan, program, backend, for_it, files, notes=notes))
    ending = "" if backend.directory else backend.ending
    every = [tuple(map(tuple, circuits.rows(number).tolist())) for number in range(len(made))]
    inputs, outputs = own.starts()
    manifest = Manifest(
        target,
        programs[0].runtime,
        plan.collective,
        rounds.nodes,
        own.chunks,
        own.size,
        inputs,
        outputs,
        circuits.delay,
        "moved" if circuits.moving else "all",
        tuple(Phase(f"program{number}{ending}", some) for number, some in enumerate(every)),
    )
    return PhasePrograms(plan, tuple(programs), manifest)


@dataclass(frozen=True)
class _Room:
    """Workspace of every rank: input, output and the rest."""

    collective: Collective
    ranks: int
    block: int = 0  # chunks of a block, and of what waits
    rest: int = 0
    inplace: bool = False

    @property
    def chunks(self) -> int:
        return self.block * self.collective.shards(self.ranks)

    def _sizes(self, rank: int) -> tuple[int, int]:
        inputs, outputs = self.collective.inputs(rank, self.ranks), self.collective.outputs(rank, self.ranks)
        return len(inputs) * self.block, len(outputs) * self.block

    @property
    def _data(self) -> int:
        return max(map(max if self.inplace else sum, map(self._sizes, range(self.ranks))))

    @property
    def size(self) -> int:
        return self._data + self.rest

    def starts(self) -> Iterator[tuple[int, ...]]:
        """Yield the input starts, then the output starts."""
        for which in range(2):
            if self.inplace:
                places = [self.collective.in_place(rank, self.ranks)[which] * self.block for rank in range(self.ranks)]
            else:
                places = [which * self._sizes(rank)[0] for rank in range(self.ranks)]
            yield tuple(places)

    def place(self, operations: Operations) -> Operations:
        """Return operations with all places in the output (the workspace)."""
        starts = np.zeros((5, self.ranks), dtype=np.int64)  # of what a program calls input, output and scratch
        if not self.inplace:
            starts[OUT >> BITS] = list(self.starts())[1]
        starts[SCRATCH >> BITS] = self._data

        def moved(places: Ints) -> Ints:
            buffer = np.maximum(places, 0) >> BITS
            at = starts[buffer, operations.rank] + (places & (1 << BITS) - 1)
            found: Ints = np.where(places < 0, -1, OUT + at)
            return found

        return operations._replace(source=moved(operations.source), target=moved(operations.target))


def _cut(operations: Operations, flow: Flow, size: int, settled: Options, limits: Limits) -> list[Program]:
    circuits = flow.switching
    rank = operations.rank
    when, phases = np.maximum(circuits.phase_of(operations.step), 0), len(circuits.begin)
    number = np.maximum.accumulate(rank * phases + when) - rank * phases
    moves = SENDS[operations.kind] | RECEIVES[operations.kind]
    programs = []
    for phase in range(phases):
        here = operations.at(number == phase)
        busy = moves[number == phase]
        ends = []
        for peers in (here.send, here.receive):  # what only moves within a rank may have a peer of another phase
            line = here.rank * flow.nodes + peers
            ends.append(np.where(busy | np.isin(line, line[busy & (peers >= 0)]), peers, -1))
        ranks, used = assemble(
            here._replace(send=ends[0], receive=ends[1]),
            reduce_steps=flow.reduce_steps,
            limits=limits,
            chunks=size,
            mode=settled.threadblocks,
        )
        programs.append(Program(ALLREDUCE, True, settled.protocol, size, used, ranks))
    return programs
