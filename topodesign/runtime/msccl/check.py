"""Checks of MSCCL programs: loading, and their collective."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.declared import key
from topodesign.base.memory import pause_collector
from topodesign.base.wording import with_article
from topodesign.runtime.calls import About, about_xml
from topodesign.runtime.machine.layout import Layout
from topodesign.runtime.machine.machine import Machine
from topodesign.runtime.msccl.build import build_machine
from topodesign.runtime.msccl.legal import limits, links, mismatches, out_of_bounds, xml_nodes
from topodesign.runtime.msccl.operations import Table, is_one_of, load
from topodesign.runtime.msccl.parse import Program
from topodesign.runtime.msccl.profiles import SCRATCH_COMFORT, RuntimeProfile
from topodesign.runtime.report import Finding, ProgramReport, first, require_root

LL_COMFORT = 2**20
"""Bytes up to which LL is a natural choice: half of what it moves are flags (a rule of thumb, not a limit)."""


@dataclass(frozen=True)
class Usage:
    """Resources of a program, each the maximum over ranks.

    A link here is an ordered pair of ranks, over all channels.
    """

    threadblocks_per_rank: int  # threadblocks
    steps_per_threadblock: int  # steps
    xml_nodes_per_rank: int  # what the parser counts
    channels: int  # channels
    scratch_chunks: int  # chunks of scratch
    copied_chunks: int  # chunks that a rank copies, or adds, from one place of its memory to another
    links_per_rank: int  # other ranks that one sends to
    sends_per_link: int  # sends
    chunks_per_link: int  # chunks
    longest_chain: int  # messages of the longest chain in which each depends on the one before

    KEYS = (
        "threadblocks_per_rank steps_per_threadblock xml_nodes_per_rank channels scratch_chunks copied_chunks "
        "links_per_rank sends_per_link chunks_per_link longest_chain"
    )


@dataclass(frozen=True)
class Calls(About):
    """The calls that a runtime uses a program for, and the memory that they take.

    * ``scratch_bytes``: the most scratch memory of a rank; None where that is the share of whatever the largest call
      will be.
    """

    scratch_share: str  # scratch memory of a rank over the size of a call, ``p/q``
    scratch_bytes: int | None
    scratch_at_start: bool  # whether it is taken when the communicator starts, and not by the first call that needs it
    copied_share: str  # what a rank copies, or adds, from one place of its memory to another, over the same, ``p/q``

    KEYS = (
        "smallest largest",
        key("elements=chunks", "a call has a multiple of so many elements: the chunks of the program", kind=int),
        key("scratch_share", kind=Fraction),
        "scratch_bytes scratch_at_start",
        key("copied_share", kind=Fraction),
    )

    def __str__(self) -> str:
        sizes = self.describe_sizes()
        if self.scratch_share == "0":
            return f"calls: {sizes}; no scratch memory"
        when = "taken when the communicator starts" if self.scratch_at_start else "taken by the first call of that size"
        most = f"{self.scratch_share} of a call" if self.scratch_bytes is None else f"{self.scratch_bytes} bytes"
        return f"calls: {sizes}; scratch memory of a rank: {most}, {when}"


@dataclass(frozen=True)
class CheckReport(ProgramReport):
    """The answer of the checker.

    Its verdict is ``ok``, or the kind of the first finding: ``illegal`` (the runtime refuses the file or reads it
    wrongly), ``mismatch`` (a send and its receive do not fit), ``out-of-bounds``, ``deadlock``, ``race``,
    ``uninitialised read``, ``wrong result``.

    * ``safe_bytes``: of a deadlock: the largest call, in bytes of the whole data, for which the program is right all
      the same, 0 if it is for none. Smaller calls take fewer pieces, and fit into the connections. None where nothing
      deadlocks.
    """

    usage: Usage | None = None
    calls: Calls | None = None
    safe_bytes: int | None = None

    KEYS = "ok verdict findings warnings runtime program modes root usage calls safe_bytes"

    def head(self) -> str:
        """Return the verdict, and what it is about."""
        verdict = self.verdict if self.ok or not self.modes else f"{self.verdict} {self.modes[-1]}"
        return f"{verdict}: {self.program}" if self.program else verdict

    def agreement(self) -> str:
        """Return what was found right."""
        modes = " and ".join(self.modes)
        return f"{modes}: no deadlock, no race, right result in every order"

    def details(self) -> Iterator[str]:
        """Yield the largest right size, and common details."""
        if self.safe_bytes:
            yield (
                f"right for calls up to {self.safe_bytes} bytes, which fit into the connections: with a maxBytes for "
                "no larger ones it is safe"
            )
        elif self.safe_bytes is not None:
            yield "for calls of any size it deadlocks or is wrong"
        yield from super().details()


@pause_collector()
def check_program(program: Program, profile: RuntimeProfile, *, root: int | None = None) -> CheckReport:
    """Check a program on a runtime, for every timing and size.

    The limits and the form come first, then whether sends and receives match, whether all accesses are within the
    buffers, and, for each of in place and out of place that the program claims, the exact analysis of
    :mod:`topodesign.runtime.machine.proof_kernels`. A root that is None is found out.
    """
    require_root(root, program.ngpus)
    title = f"{program.name or 'unnamed'}, {program.collective} of {program.ngpus} ranks, {program.proto}"
    findings = first(limits(program, profile))
    if not findings:
        loaded = load(program, profile)
        findings = loaded.findings
    if findings:
        return CheckReport("illegal", tuple(findings), program.warnings, title, runtime=profile.name)
    modes: list[str] = []
    findings = first(mismatches(loaded.table))
    longest = 0
    for mode, inplace, claimed in (("in place", True, program.inplace), ("out of place", False, program.outofplace)):
        if findings or not claimed:
            continue
        modes.append(mode)
        if program.collective.rooted and root is None:
            root = _root(program, loaded.table, inplace=inplace)
        layout = make_layout(program, inplace=inplace, root=root)
        findings, longest = decide(program, profile, loaded.table, layout)
    usage = _usage(program, loaded.table, longest)
    calls = _calls(program, profile, usage)
    return CheckReport(
        verdict=findings[0].verdict if findings else "ok",
        findings=tuple(findings),
        warnings=(*program.warnings, *first(loaded.warnings), *_advice(program, profile, loaded.table, calls, root)),
        runtime=profile.name,
        program=title,
        modes=tuple(modes),
        root=root if program.collective.rooted else None,
        usage=usage,
        calls=calls,
        safe_bytes=_safe(program, profile, loaded.table, root)
        if findings and findings[0].verdict == "deadlock"
        else None,
    )


def make_layout(program: Program, *, inplace: bool, root: int | None = None) -> Layout:
    """Return the buffers of a program."""
    scratch = {gpu.id: gpu.s_chunks for gpu in program.gpus}
    sizes = [scratch[rank] for rank in range(program.ngpus)]
    return Layout(program.collective, program.nchunksperloop, sizes, inplace=inplace, root=root)


def _root(program: Program, table: Table, *, inplace: bool) -> int:
    layout = make_layout(program, inplace=inplace)
    return 0 if any(out_of_bounds(table, layout)) else build_machine(table, layout, 1).root()


def decide(program: Program, profile: RuntimeProfile, table: Table, layout: Layout) -> tuple[list[Finding], int]:
    """Return findings of a layout, and the longest message chain."""
    findings = first(out_of_bounds(table, layout))
    if findings:
        return findings, 0
    found = prepare_machine(program, profile, table, layout).prove()
    return found.list_findings(), found.longest


def prepare_machine(
    program: Program, profile: RuntimeProfile, table: Table, layout: Layout, *, judged: bool = True
) -> Machine:
    """Return a program for the machine, with the fewest slots of its runtime."""
    piece = profile.smallest_piece(program.proto, profile.largest_call(program.max_bytes), program.nchunksperloop)
    late = _is_unsettled(program, profile)
    return build_machine(table, layout, profile.slots[program.proto], piece=piece, unsettled=late, judged=judged)


def _is_unsettled(program: Program, profile: RuntimeProfile) -> bool:
    """Return whether sent data may still be read later."""
    return program.proto == "LL" and not profile.ll_send_barrier


def _safe(program: Program, profile: RuntimeProfile, table: Table, root: int | None) -> int:
    """Return the largest correct call of a program that deadlocks; 0 if none.

    Longer pieces never make a run hang that ends with shorter ones, so that halving finds the shortest that end.
    """
    slots, late = profile.slots[program.proto], _is_unsettled(program, profile)
    claimed = ((True, program.inplace), (False, program.outofplace))
    layouts = [make_layout(program, inplace=inplace, root=root) for inplace, serves in claimed if serves]
    if any(any(out_of_bounds(table, layout)) for layout in layouts):
        return 0
    low, piece = 1, max(1, min(int(table.chunks.max(initial=1)), profile.chunks_per_step))
    if not build_machine(table, layouts[0], slots, piece=piece, data=False).ends():
        return 0
    while low < piece:
        middle = (low + piece) // 2
        ends = build_machine(table, layouts[0], slots, piece=middle, data=False).ends()
        low, piece = (low, middle) if ends else (middle + 1, piece)
    if any(build_machine(table, one, slots, piece=piece, unsettled=late).prove().list_findings() for one in layouts):
        return 0
    return profile.largest_of_piece(program.proto, piece, program.nchunksperloop)


def _count_copied(table: Table) -> int:
    """Return the most chunks that a rank copies or adds."""
    inside = is_one_of(frozenset({"cpy", "re"}))[table.type[table.reads]]
    rank = table.rank[table.thread[table.reads[inside]]]
    return int(np.bincount(rank, weights=table.chunks[table.reads[inside]]).max(initial=0))


def _usage(program: Program, table: Table, longest_chain: int) -> Usage:
    senders, sends, chunks = links(table)
    return Usage(
        copied_chunks=_count_copied(table),
        threadblocks_per_rank=max(len(gpu.threadblocks) for gpu in program.gpus),
        steps_per_threadblock=max(len(tb.steps) for gpu in program.gpus for tb in gpu.threadblocks),
        xml_nodes_per_rank=max(xml_nodes(program, gpu) for gpu in program.gpus),
        channels=len({tb.chan for gpu in program.gpus for tb in gpu.threadblocks}),
        scratch_chunks=max(gpu.s_chunks for gpu in program.gpus),
        links_per_rank=int(np.bincount(senders).max(initial=0)),
        sends_per_link=int(sends.max(initial=0)),
        chunks_per_link=int(chunks.max(initial=0)),
        longest_chain=longest_chain,
    )


def _calls(program: Program, profile: RuntimeProfile, usage: Usage) -> Calls:
    most, chunks, about = usage.scratch_chunks, program.nchunksperloop, about_xml(program, profile)
    return Calls(
        **vars(about) | {"smallest": max(1, about.smallest)},
        scratch_share=str(Fraction(most, chunks)),
        scratch_bytes=profile.scratch_bytes(program.max_bytes, most, chunks),
        scratch_at_start=profile.scratch_at_start,
        copied_share=str(Fraction(usage.copied_chunks, chunks)),
    )


def _advice(program: Program, profile: RuntimeProfile, table: Table, calls: Calls, root: int | None) -> Iterator[str]:
    """Yield what works but is likely not meant."""
    if program.collective.rooted:
        yield (
            f"{profile.name} uses it for {with_article(program.collective)} of every root, with wrong data wherever "
            f"that is not {root}: load it only where all calls of its sizes have root {root} (a narrow minBytes and "
            "maxBytes helps), or use an allgather or allreduce, which has no root"
        )
    if calls.scratch_at_start and (calls.largest or 0) * Fraction(calls.scratch_share) > SCRATCH_COMFORT:
        yield (
            f"{calls.scratch_bytes} bytes of scratch on a rank, taken when the communicator starts whatever calls "
            "come; a smaller maxBytes (--set max-size= of compile) takes less"
        )
    used = {tb.chan for gpu in program.gpus for tb in gpu.threadblocks}
    known = table.send >= 0
    parallel = np.unique(np.column_stack((table.rank, table.send))[known], axis=0, return_counts=True)[1]
    needed = int(parallel.max(initial=1))
    if program.nchannels > len(used):
        yield f"nchannels is {program.nchannels}, but {len(used)} are used; the others are connected for nothing"
    elif len(used) > needed:
        yield f"{len(used)} channels, but no link carries more than {needed} at once; fewer use less memory"
    if program.proto == "LL" and (calls.largest is None or calls.largest > LL_COMFORT):
        limit = "any size" if calls.largest is None else f"{calls.largest} bytes"
        yield f"LL up to {limit}: half of what LL moves are flags; use Simple or LL128 for large data"
    if program.inplace != program.outofplace:
        only, other = ("in", "out of") if program.inplace else ("out of", "in")
        yield f"only for calls {only} place; calls {other} place silently use a built-in algorithm"
    idle = int((np.diff(table.first) == 0).sum())
    if idle:
        yield f"{idle} threadblocks have nothing to do and still take up a multiprocessor each"
