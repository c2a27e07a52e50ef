"""Programs by phase, run in sequence on one memory.

A runtime knows calls of collectives, and keeps nothing of its own from one call to the next. So every program works in
place on one buffer that the caller has, the workspace: input, output, and whatever waits between phases. To the runtime
it is an allreduce in place, of as many chunks as the workspace has. ``phases.json`` says where input and output lie in
it, and which circuits have to be up before each program is called.

What is checked is the row of programs: each is read as its runtime does, sends over the circuits of its phase alone,
and has no deadlock and no race; and all of them, one after another on one memory, do what the collective promises.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError
from topodesign.base.memory import pause_collector
from topodesign.base.wording import count_noun
from topodesign.collectives import ALLREDUCE
from topodesign.runtime.chakra.check import check_job
from topodesign.runtime.chakra.traces import PHASE, Trace, find_traces, read_trace
from topodesign.runtime.machine.layout import Layout
from topodesign.runtime.machine.machine import Machine
from topodesign.runtime.manifest import MANIFEST, Manifest, read_manifest
from topodesign.runtime.msccl.check import prepare_machine
from topodesign.runtime.msccl.legal import limits, mismatches, out_of_bounds
from topodesign.runtime.msccl.operations import load
from topodesign.runtime.msccl.parse import Program, XmlError, parse_xml
from topodesign.runtime.msccl.profiles import RuntimeProfile, get_profile
from topodesign.runtime.mscclpp.check import PreparedPlan, names
from topodesign.runtime.mscclpp.limits import illegal
from topodesign.runtime.mscclpp.parse import ExecutionPlan, PlanError, parse_plan
from topodesign.runtime.report import Finding, Report, first

Parsed = Program | ExecutionPlan | tuple[Trace, ...]


@dataclass(frozen=True)
class PhasesReport(Report):
    """What a check of programs by phase found.

    Its verdict is ``ok``, or the kind of the first finding, as of a program.
    """

    target: str = ""  # whose rules were held
    runtime: str = ""  # whose rules were held
    phases: int = 0  # how many programs there are
    workspace_share: str = "0"  # the workspace of a rank over the data of the collective, ``p/q``

    KEYS = "ok verdict findings warnings program target runtime phases workspace_share"

    def details(self) -> Iterator[str]:
        """Yield what was found right."""
        if self.ok:
            checked = "each over the circuits of its phase alone: no deadlock, no race"
            yield f"{count_noun(self.phases, 'program')}, {checked}"
            yield "one after another on one memory: right result"
            if self.workspace_share != "0":
                yield f"workspace of a rank: {self.workspace_share} of the data of the collective"


def check_phases(path: str | Path) -> PhasesReport:
    """Check programs by phase, each and in sequence.

    Parameters
    ----------
    path
        The directory, or ``phases.json`` in it.

    Raises
    ------
    FileFormatError
        If a file cannot be read at all.

    Examples
    --------
    >>> from topodesign import check_phases, compile_phases, reconfigure
    >>> plan = reconfigure(8, 1, delay="0s", size="64MiB").plan
    >>> paths = compile_phases(plan).save("programs")
    >>> check_phases("programs").ok
    True
    """
    place = as_path(path)
    folder = place if place.is_dir() else place.parent
    manifest = read_manifest(folder / MANIFEST)
    profile = get_profile(manifest.runtime) if manifest.target == "msccl" else None
    programs: list[Parsed] = []
    for one in manifest.phases:
        where = folder / one.program
        try:
            programs.append(_parse_program(where, manifest, profile))
        except (XmlError, PlanError) as error:
            return _report(manifest, [Finding("illegal", f"{one.program}: {error}")])
    return check_sequence(manifest, programs)


def _parse_program(where: Path, manifest: Manifest, profile: RuntimeProfile | None) -> Parsed:
    if profile is not None:
        return parse_xml(where, profile)
    if manifest.target == "mscclpp":
        return parse_plan(where)
    ranks = find_traces(where).get("collective", {})
    if sorted(ranks) != list(range(manifest.ranks)):
        raise FileFormatError(f"{where}: there are {len(ranks)} traces, and {manifest.ranks} ranks")
    return tuple(read_trace(ranks[rank]) for rank in range(manifest.ranks))


@pause_collector()
def check_sequence(manifest: Manifest, programs: Sequence[Any]) -> PhasesReport:
    """Check parsed programs in the order of their phases."""
    findings = [] if manifest.target == "chakra" else _beyond(manifest)
    findings = findings or _CHECKS[manifest.target](manifest, programs)
    return _report(manifest, findings)


def _report(manifest: Manifest, findings: list[Finding]) -> PhasesReport:
    return PhasesReport(
        findings[0].verdict if findings else "ok",
        tuple(findings),
        program=f"{manifest.collective} of {manifest.ranks} ranks in {count_noun(len(manifest.phases), 'phase')} for "
        f"{manifest.runtime}",
        target=manifest.target,
        runtime=manifest.runtime,
        phases=len(manifest.phases),
        workspace_share=str(manifest.share),
    )


class _Workspace(Layout):
    """The workspace ``o`` of every rank, with the input in it."""

    def __init__(self, manifest: Manifest, scratch: Sequence[int] | None = None) -> None:
        ranks, self._at = manifest.ranks, manifest.outputs
        super().__init__(manifest.collective, manifest.chunks, scratch or [0] * ranks, inplace=True)
        for rank, segments in enumerate(self._segments):
            segments["i"] = manifest.inputs[rank], self.given[rank]
            segments["o"] = 0, manifest.workspace

    def ends(self) -> Iterator[tuple[int, int]]:
        """Yield where input and output of every rank end."""
        for rank in range(self.ranks):
            yield sum(self.segment(rank, "i")), max((at + self.part for at, *_ in self.blocks(rank)), default=0)

    def blocks(self, rank: int) -> Iterator[tuple[int, int, int | None]]:
        for at, chunk, source in super().blocks(rank):
            yield self._at[rank] + at, chunk, source


def _beyond(manifest: Manifest) -> list[Finding]:
    """Return what does not fit into the workspace."""
    shards = manifest.collective.shards(manifest.ranks)
    if (
        not manifest.chunks
        or manifest.chunks % shards
        or {len(manifest.inputs), len(manifest.outputs)} != {manifest.ranks}
    ):
        return [Finding("illegal", f"{manifest.chunks} chunks of {manifest.collective} in {MANIFEST}")]
    return first(
        Finding("out-of-bounds", f"input or output ends beyond the {manifest.workspace} chunks of the workspace", rank)
        for rank, ends in enumerate(_Workspace(manifest).ends())
        if max(ends) > manifest.workspace
    )


def _strangers(manifest: Manifest, number: int, pairs: set[tuple[int, int]]) -> list[Finding]:
    """Return what a program sends where its phase has no circuit."""
    joined = {(a, b) for a, _, b, _ in manifest.phases[number].circuits}
    return first(
        Finding("illegal", f"phase {number}: sends to rank {other}, and no circuit of the phase joins them", one)
        for one, other in sorted(pairs - joined)
    )


def _not_one(manifest: Manifest, number: int, found: tuple[object, ...]) -> list[Finding]:
    """Return the finding for a program without the workspace."""
    if found == (ALLREDUCE, True, manifest.workspace, manifest.ranks):
        return []
    said = f"an allreduce in place of {manifest.workspace} chunks on {manifest.ranks} ranks"
    return [Finding("illegal", f"phase {number} is not {said}, as all programs by phase are")]


def _of_msccl(manifest: Manifest, programs: Sequence[Program]) -> list[Finding]:
    profile, layout = get_profile(manifest.runtime), _Workspace(manifest)
    machines = []
    for number, program in enumerate(programs):
        about = program.collective, program.inplace, program.nchunksperloop, program.ngpus
        findings = first(limits(program, profile)) or _not_one(manifest, number, about)
        if not findings:
            loaded = load(program, profile)
            table = loaded.table
            sends = np.flatnonzero((table.send >= 0) & (np.diff(table.first) > 0))
            pairs = set(zip(table.rank[sends].tolist(), table.send[sends].tolist(), strict=True))
            findings = loaded.findings or first(mismatches(table)) or _strangers(manifest, number, pairs)
            findings = findings or first(out_of_bounds(table, layout))
        if findings:
            return findings
        machines.append(prepare_machine(program, profile, table, layout, judged=number == len(programs) - 1))
    return _in_turn(manifest, machines)


def _of_mscclpp(manifest: Manifest, programs: Sequence[ExecutionPlan]) -> list[Finding]:
    made, cells = list[PreparedPlan](), 1
    for number, plan in enumerate(programs):
        gpu = plan.gpus[0]
        about = names().get(plan.collective), plan.inplace, gpu.inputs, len(plan.gpus)
        findings = first(illegal(plan)) or _not_one(manifest, number, about)
        pairs = {(rank, to) for rank, one in enumerate(plan.gpus) for some in one.channels.values() for to in some}
        both = {(a, b) for a, _, c, _ in manifest.phases[number].circuits for a, b in ((a, c), (c, a))}
        findings = findings or _strangers(manifest, number, {one for one in pairs if one[1] >= 0} - both)
        if findings:
            return findings
        made.append(PreparedPlan(plan, _Workspace(manifest, [one.scratch for one in plan.gpus])))
        if made[-1].findings:
            return [replace(one, message=f"phase {number}: {one.message}") for one in made[-1].findings]
        cells = math.lcm(cells, made[-1].program.cells)
    machines = (
        PreparedPlan(one.plan, one.layout, cells).machine(1, judged=number == len(made) - 1)
        for number, one in enumerate(made)
    )
    return _in_turn(manifest, machines)


def _in_turn(manifest: Manifest, machines: Iterable[Machine]) -> list[Finding]:
    """Run programs one after another on the workspace.

    Return what is wrong with the first that is.
    """
    kept: tuple[Any, Any] | None = None  # what is in the workspace, and what of it is known
    for number, machine in enumerate(machines):
        first_cell = machine.runs.base - np.array(manifest.inputs) * machine.cells
        cells = (first_cell[:, None] + np.arange(manifest.workspace * machine.cells)).reshape(-1)
        if kept is not None:
            machine.resume(cells, *kept)
        if found := machine.prove().list_findings():
            return [replace(one, message=f"phase {number}: {one.message}") for one in found]
        kept = machine.end.values[cells], machine.end.known[cells]
    return []


def _of_traces(manifest: Manifest, programs: Sequence[tuple[Trace, ...]]) -> list[Finding]:
    rows: list[list[Any]] = [[] for _ in range(manifest.ranks)]
    over: list[tuple[int, ...]] = [()] * manifest.ranks
    tags = 0
    for number, traces in enumerate(programs):
        pairs = set()
        most = tags
        for rank, trace in enumerate(traces):
            shift = 1 + max((node.id for node in rows[rank]), default=-1)
            for node in trace.nodes:
                control, data = (tuple(shift + one for one in ones) for ones in (node.control, node.data))
                said = dict(node.attributes)
                if (tag := node.number("comm_tag")) is not None:
                    said["comm_tag"] = tags + tag
                    most = max(most, tags + tag + 1)
                    pairs.add((node.number("comm_src") or 0, node.number("comm_dst") or 0))
                control = control if control or data else over[rank]
                rows[rank].append(replace(node, id=shift + node.id, control=control, data=data, attributes=said))
            over[rank] = tuple(node.id for node in rows[rank] if node.id >= shift) or over[rank]
        tags = most
        findings = _strangers(manifest, number, pairs)
        if findings:
            return findings
    header = {name: value for name, value in programs[0][0].header.items() if name != PHASE}
    every = [Trace(programs[0][0].version, tuple(row), header) for row in rows]
    found = check_job(every)
    if found.ok and not found.data:
        return [Finding("illegal", "the traces do not say what messages carry")]
    return list(found.findings)


_CHECKS: dict[str, Any] = {"msccl": _of_msccl, "mscclpp": _of_mscclpp, "chakra": _of_traces}
