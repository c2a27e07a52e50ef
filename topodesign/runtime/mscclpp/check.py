"""Checks of MSCCL++ plans: loading, and their collective."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from topodesign.base.declared import key
from topodesign.base.memory import pause_collector
from topodesign.collectives import ALL_TO_ALL, COLLECTIVES, Collective
from topodesign.runtime.calls import About, about_plan
from topodesign.runtime.machine.layout import Layout, buffer_chunks, distinct_blocks
from topodesign.runtime.machine.machine import Machine
from topodesign.runtime.mscclpp.build import build_machine
from topodesign.runtime.mscclpp.limits import PACKET, allocation_multiple, contexts, illegal, warnings
from topodesign.runtime.mscclpp.memory import Memory
from topodesign.runtime.mscclpp.parse import ExecutionPlan, PlanError, parse_plan
from topodesign.runtime.mscclpp.steps import Program, lower
from topodesign.runtime.report import MAX_FINDINGS, Finding, ProgramReport, first, require_root


@dataclass(frozen=True)
class PlanUsage:
    """Resources of a plan, each the maximum over ranks."""

    threadblocks_per_rank: int  # threadblocks
    operations_per_threadblock: int  # operations, those in pipelines included
    memory_channels_per_rank: int  # ends of memory channels
    port_channels_per_rank: int  # ends of port channels
    semaphores_per_rank: int  # semaphores
    scratch_chunks: int  # chunks of scratch
    copied_chunks: int  # chunks that a rank copies, adds or unpacks from one place of its memory to another
    chunks_per_pair: int  # chunks that go from one rank to another

    KEYS = (
        "threadblocks_per_rank operations_per_threadblock memory_channels_per_rank port_channels_per_rank "
        "semaphores_per_rank scratch_chunks copied_chunks chunks_per_pair"
    )


@dataclass(frozen=True)
class PlanCalls(About):
    """The calls that a plan serves, and the memory that they take."""

    scratch_share: str  # scratch memory of a rank over the size of a call, ``p/q``
    allocations: str = ""  # what must hold for the allocations that the inputs lie in, in words; empty if nothing

    KEYS = ("smallest largest multiple", key("scratch_share", kind=Fraction), "allocations")

    def __str__(self) -> str:
        scratch = "no scratch memory" if self.scratch_share == "0" else f"scratch memory: {self.scratch_share} of it"
        said = f"calls: {self.describe_sizes()}; {scratch}"
        return f"{said}; inputs lie in allocations {self.allocations}" if self.allocations else said


@dataclass(frozen=True)
class PlanReport(ProgramReport):
    """The answer of the checker of execution plans.

    Its verdict is ``ok``, or the kind of the first finding: ``illegal`` (MSCCL++ refuses the plan, or reads it
    wrongly), ``mismatch`` (signals and waits do not fit), ``out-of-bounds``, ``deadlock``, ``race``,
    ``uninitialised read``, ``wrong result``.
    """

    runtime: str = "mscclpp"
    usage: PlanUsage | None = None
    calls: PlanCalls | None = None
    launches: int = 0  # how many were run, one after the other without a barrier between the ranks

    KEYS = "ok verdict findings warnings runtime program modes root launches usage calls"

    def agreement(self) -> str:
        """Return what was found right."""
        right = "no deadlock, no race, no signal lost, right result in every order"
        return f"{', '.join(self.modes)}, {self.launches} launches: {right}"


def names() -> dict[str, Collective]:
    """Return the collectives by what plans call them."""
    return {label: one for one in COLLECTIVES.values() if (label := one.label("mscclpp")) is not None}


def check_plan_file(path: Path, *, root: int | None = None) -> PlanReport:
    """Check a file; one that MSCCL++ would not load is ``illegal``."""
    try:
        plan = parse_plan(path)
    except PlanError as error:
        return PlanReport("illegal", (Finding("illegal", str(error)),))
    return check_plan(plan, root=root)


@pause_collector()
def check_plan(plan: ExecutionPlan, *, root: int | None = None) -> PlanReport:
    """Check a plan for every order, size and repeated launch.

    A root that is None is found out.
    """
    ranks = len(plan.gpus)
    require_root(root, ranks)
    title = f"{plan.name[:200] or 'unnamed'}, {plan.collective[:40]} of {ranks} ranks, {plan.protocol}"
    mode = "in place" if plan.inplace else "out of place"

    def report(findings: list[Finding], **more: Any) -> PlanReport:
        said = "a plan does not contain its root: load it only if all calls have root {root}; this is not checked"
        advice = [] if more.get("root") is None else [said.format(**more)]
        return PlanReport(
            verdict=findings[0].verdict if findings else "ok",
            findings=tuple(findings),
            program=title,
            warnings=(*plan.warnings, *dict.fromkeys(first(warnings(plan))), *advice),
            **more,
        )

    findings = first(illegal(plan))
    collective = names().get(plan.collective)
    chunks = 0 if collective is None else _chunks(plan, collective)
    if collective is None:
        known = ", ".join(names())
        findings.append(Finding("illegal", f"nothing says what {plan.collective[:40]!r} should do; known are {known}"))
    elif not chunks:
        gpu = plan.gpus[0]
        findings.append(
            Finding("illegal", f"{gpu.inputs} input and {gpu.outputs} output chunks do not fit {collective} of {ranks}")
        )
    elif plan.sent is not None and not (collective.pairwise and len(plan.sent) == ranks**2):
        findings.append(Finding("illegal", f"topodesign_sent has a number for every block of {ALL_TO_ALL}"))
    if findings or collective is None:
        return report(findings)
    run = prepare(plan, root)
    findings = run.findings
    if not findings:
        findings = run.machine().prove().list_findings()
    return report(
        findings,
        modes=(mode,),
        root=run.layout.collective.root,
        launches=run.launches,
        usage=_usage(plan, run.program),
        calls=_calls(plan),
    )


def _chunks(plan: ExecutionPlan, collective: Collective) -> int:
    """Return the chunks of the collective, 0 for invalid buffers."""
    gpu, ranks = plan.gpus[0], len(plan.gpus)
    shards = collective.shards(ranks)
    chunks, rest = divmod(gpu.inputs * shards, buffer_chunks(collective, ranks, shards)[0])
    fits = not rest and chunks % distinct_blocks(collective, ranks) == 0
    return chunks if fits and buffer_chunks(collective, ranks, chunks) == (gpu.inputs, gpu.outputs) else 0


class PreparedPlan:
    """A plan with the buffers of its ranks, ready to run.

    ``least``: a chunk has a multiple of so many cells. ``launches`` of it decide for any number; ``cell`` are bytes.
    """

    def __init__(self, plan: ExecutionPlan, layout: Layout, least: int = 1) -> None:
        self.plan, self.layout = plan, layout
        self.program: Program = lower(plan, layout, least)
        self.launches = 3 if plan.double_scratch else 2
        self.cell = math.lcm(plan.alignment, PACKET)
        self.contexts = contexts(plan, self.cell * self.program.cells)
        self.findings = self.program.findings[:MAX_FINDINGS] or self._find_unaligned() or self._beyond()

    def memory(self) -> Memory:
        """Return where its buffers are."""
        return Memory(
            self.layout,
            self.program,
            packets=self.plan.protocol == "LL",
            scratch=[one.scratch // self.cell for one in self.contexts],
            halves=[one.half // self.cell for one in self.contexts],
            semaphores=[gpu.semaphores for gpu in self.plan.gpus],
        )

    def machine(self, launches: int | None = None, *, judged: bool = True) -> Machine:
        """Return it for the machine; launches that are None decide for any number."""
        number = self.launches if launches is None else launches
        return build_machine(self.program, self.memory(), number, judged=judged, sent=self.plan.sent)

    def _find_unaligned(self) -> list[Finding]:
        said = "the second half of scratch begins at byte {}, which is not a multiple of {}"
        return [
            Finding("illegal", said.format(one.half, self.cell), rank)
            for rank, one in enumerate(self.contexts)
            if one.half % self.cell
        ][:MAX_FINDINGS]

    def _beyond(self) -> list[Finding]:
        memory = self.memory()

        def found() -> Iterator[Finding]:
            for work in self.program.work():
                for place in work.sources + work.targets:
                    if (why := memory.beyond(place, work.size)) is not None:
                        yield Finding("out-of-bounds", f"{work.name}: {why}", *work.at)

        return first(found())


def prepare(plan: ExecutionPlan, root: int | None = None) -> PreparedPlan:
    """Return a plan ready to run, with fitting buffers."""
    collective = names()[plan.collective]
    if collective.rooted and root is None:
        root = _root(plan, collective)
    return _prepare_rooted(plan, collective, root)


def _prepare_rooted(plan: ExecutionPlan, collective: Collective, root: int | None) -> PreparedPlan:
    scratch, chunks = [gpu.scratch for gpu in plan.gpus], _chunks(plan, collective)
    return PreparedPlan(plan, Layout(collective, chunks, scratch, inplace=plan.inplace, root=root))


def _root(plan: ExecutionPlan, collective: Collective) -> int:
    """Return the plan's root, by the results of a run."""
    run = _prepare_rooted(plan, collective, None)
    if run.findings:  # in place it matters for where buffers are: the right one is none too short
        return min(range(len(plan.gpus)), key=lambda rank: len(_prepare_rooted(plan, collective, rank).findings))
    return run.machine(1).root()


def _usage(plan: ExecutionPlan, program: Program) -> PlanUsage:
    carried: Counter[tuple[int, int]] = Counter()
    copied: Counter[int] = Counter()
    for work in program.work():
        ends = {one.rank for one in work.sources}
        for target in work.targets:
            if ends == {target.rank}:
                copied[target.rank] += work.size
            for rank in ends - {target.rank}:
                carried[rank, target.rank] += work.size
    blocks = [block for gpu in plan.gpus for block in gpu.threadblocks]
    return PlanUsage(
        threadblocks_per_rank=max(len(gpu.threadblocks) for gpu in plan.gpus),
        operations_per_threadblock=max(sum(1 + len(op.inner) for op in block.operations) for block in blocks),
        memory_channels_per_rank=max(len(gpu.channels["memory"]) for gpu in plan.gpus),
        port_channels_per_rank=max(len(gpu.channels["port"]) for gpu in plan.gpus),
        semaphores_per_rank=max(len(gpu.semaphores) for gpu in plan.gpus),
        scratch_chunks=max(gpu.scratch for gpu in plan.gpus),
        copied_chunks=-(-max(copied.values(), default=0) // program.cells),
        chunks_per_pair=-(-max(carried.values(), default=0) // program.cells),
    )


def _calls(plan: ExecutionPlan) -> PlanCalls:
    scratch = max(gpu.scratch for gpu in plan.gpus) * (1 + (plan.protocol == "LL")) * (1 + plan.double_scratch)
    where = ""
    if plan.double_scratch and plan.protocol == "LL" and scratch and not plan.reuse:
        multiple = allocation_multiple(plan)
        where = "of one size on all ranks" + (f", a multiple of {multiple} bytes" if multiple > 1 else "")
    return PlanCalls(**vars(about_plan(plan)), scratch_share=str(Fraction(scratch, plan.chunks)), allocations=where)
