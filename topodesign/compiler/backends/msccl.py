"""The XML that MSCCL runtimes load: limits first, then the text, the same bytes every time."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.compiler.backends.backend import ORDERS, Backend, Files, Options
from topodesign.compiler.ir import Buffer, Instruction, Kind, Program, RankProgram, Region
from topodesign.compiler.limits import HELP, Limits
from topodesign.runtime.msccl.parse import Program as Parsed
from topodesign.runtime.msccl.parse import parse_xml
from topodesign.runtime.msccl.profiles import (
    LARGEST_SIZE,
    MOST_SCRATCH,
    PROFILES,
    SCRATCH_COMFORT,
    RuntimeProfile,
    get_profile,
)

if TYPE_CHECKING:
    from topodesign.plans.plan import Plan
    from topodesign.runtime.msccl.check import CheckReport

_TYPES = {
    Kind.SEND: "s",
    Kind.RECEIVE: "r",
    Kind.RECEIVE_COPY_SEND: "rcs",
    Kind.RECEIVE_REDUCE_COPY: "rrc",
    Kind.RECEIVE_REDUCE_SEND: "rrs",
    Kind.RECEIVE_REDUCE_COPY_SEND: "rrcs",
    Kind.COPY: "cpy",
    Kind.REDUCE: "re",
}
_BUFFERS = {Buffer.INPUT: "i", Buffer.OUTPUT: "o", Buffer.SCRATCH: "s"}
_NAME = re.compile(r"[A-Za-z0-9_.,()+-]+")
_USUAL_LARGEST = 2**32  # bytes of a call; beyond, scratch is taken for what hardly ever comes


class Msccl(Backend):
    """XML for microsoft/msccl, msccl-executor-nccl and RCCL."""

    name = "msccl"
    ending = ".xml"
    runtimes = tuple(PROFILES)
    takes = frozenset({"min_size", "max_size", "threadblocks"})
    inplace = True

    def refuse(self, plan: Plan, options: Options) -> None:
        """Refuse collectives for which the runtime has no word, and more channels than it has."""
        profile = get_profile(options.runtime)
        profile.coll(plan.collective)
        for broken in _over(profile, "channels", profile.channels, options.channels):
            raise InfeasibleError(broken)

    def limits(self, options: Options) -> Limits:
        """Return what the runtime's profile says of a program that a front end makes."""
        profile = get_profile(options.runtime)
        return Limits(
            chunks_per_instruction=profile.chunks_per_step,
            instructions_per_block=profile.steps_per_threadblock,
            instructions_per_rank=profile.xml_nodes_per_rank,
            blocks_per_channel=profile.threadblocks_per_channel,
            blocks_per_rank=min(profile.threadblocks_per_rank, profile.resident_threadblocks),
            channels=profile.channels,
            slots=profile.slots[options.protocol],
            slot_bytes=profile.slot_bytes[options.protocol],
            largest_call=LARGEST_SIZE if options.max_size is None else max(1, options.max_size),
            ranks=profile.children_per_node,
            of=f"the runtime {profile.name}",
        )

    def lint(self, program: Program, options: Options) -> Iterator[str]:
        """Yield every limit of the runtime's profile that the program exceeds."""
        return lint(program, get_profile(options.runtime))

    def emit(self, program: Program, options: Options) -> Files:
        """Return the XML."""
        text = to_xml(
            program,
            profile=get_profile(options.runtime),
            name=options.name,
            min_bytes=options.min_size,
            max_bytes=options.max_size,
        )
        return {self.ending: text.encode()}

    def notes(self, plan: Plan, options: Options, files: Files) -> Iterator[str]:  # noqa: ARG002
        """Yield what the runtime joins that the wiring has no links for."""
        from topodesign.compiler.wires import unjoined  # noqa: PLC0415  NumPy, which help does without

        return unjoined(plan.place, get_profile(options.runtime))

    def parse(self, files: Files, options: Options) -> Parsed:
        """Read the XML as the runtime does."""
        return parse_xml(files[self.ending].decode(), get_profile(options.runtime))

    def check(self, files: Files, options: Options, interleavings: int | None) -> CheckReport:
        """Read the XML as the runtime does, and decide whether it then does what it should."""
        from topodesign.runtime.msccl.check import check_program  # noqa: PLC0415  NumPy, which help does without

        orders = ORDERS if interleavings is None else interleavings
        return check_program(self.parse(files, options), get_profile(options.runtime), interleavings=orders)


def to_xml(
    program: Program, *, profile: RuntimeProfile, name: str, min_bytes: int = 0, max_bytes: int | None = None
) -> str:
    """Write a program as XML in the exact form that the runtime reads, after checking its limits.

    Where no largest call is said, it is for all, or for those of :func:`default_largest`.
    """
    if not _NAME.fullmatch(name) or len(name) > profile.value_length:
        raise ParameterError(
            f"the name {name[:40]!r} must be of letters, digits and _.,()+- and at most {profile.value_length} long"
        )
    for broken in lint(program, profile):
        raise InfeasibleError(broken)
    limit = _max_bytes(program, profile, min_bytes, max_bytes)
    head: dict[str, str | int] = {
        "name": name,
        "proto": program.protocol,
        "nchannels": program.channels,
        "nchunksperloop": program.chunks,
        "ngpus": len(program.ranks),
        "coll": profile.coll(program.collective),
        "inplace": int(program.inplace),
        "outofplace": int(not program.inplace),
        "minBytes": min_bytes,
        "maxBytes": limit,
    }
    lines = [_tag("algo", head)]
    others = _other_ends(program)
    for rank, body in enumerate(program.ranks):
        chunks = {"i_chunks": program.input_chunks, "o_chunks": program.output_chunks, "s_chunks": body.scratch}
        lines.append("  " + _tag("gpu", {"id": rank, **chunks}))
        _write_threadblocks(lines, rank, body, others)
        lines.append("  </gpu>")
    return "\n".join([*lines, "</algo>", ""])


def _tag(name: str, attributes: Mapping[str, str | int], end: str = ">") -> str:
    """Return a tag; nothing in the values has to be escaped."""
    return f"<{name} " + " ".join(f'{key}="{value}"' for key, value in attributes.items()) + end


def default_largest(program: Program, profile: RuntimeProfile) -> int | None:
    """Return the bytes of the largest call that a program is for if nobody says it, None for any.

    Without scratch, and where a runtime takes scratch as calls need it: any. Where it takes scratch for the largest
    call at its start: the largest power of two up to 4 GiB with which no rank takes more than 1 GiB.

    Examples
    --------
    >>> from topodesign import compile_plan, schedule
    >>> from topodesign.runtime.msccl.profiles import get_profile
    >>> program = compile_plan(schedule("circulant(12,2,3)", "reduce-scatter")).program
    >>> default_largest(program, get_profile("msccl")), default_largest(program, get_profile("rccl"))
    (2147483648, None)
    """
    most = max(body.scratch for body in program.ranks)
    if not most or not profile.scratch_at_start:
        return None
    fitting = SCRATCH_COMFORT * program.chunks // most
    return min(_USUAL_LARGEST, 1 << fitting.bit_length() - 1)


def _max_bytes(program: Program, profile: RuntimeProfile, smallest: int, largest: int | None) -> int:
    """Return the ``maxBytes`` for a range of calls."""
    if largest is None:
        largest = default_largest(program, profile)
        if largest is not None and largest < smallest:
            raise ParameterError(
                f"{profile.name} takes scratch for the largest call when it starts, and without --max-size that is one "
                f"of {largest} bytes: calls from {smallest} bytes on need --max-size"
            )
    elif not 1 <= largest < LARGEST_SIZE:
        raise ParameterError(f"the largest call must be from 1 byte to less than 2^63 - 1, not {largest} bytes")
    limit = profile.max_bytes(largest)
    if unused := profile.why_unused(smallest, limit, program.chunks):
        raise ParameterError(f"calls from {smallest} to {largest} bytes: {unused}")
    scratch = profile.scratch_bytes(limit, max(body.scratch for body in program.ranks), program.chunks)
    if profile.scratch_at_start and scratch is not None and scratch > MOST_SCRATCH:
        raise ParameterError(
            f"calls up to {largest} bytes take {scratch} bytes of scratch on a rank; use less --max-size"
        )
    return limit


_Place = tuple[str, int]  # name of a buffer in the file, and the offset

_NOWHERE: tuple[_Place, _Place] = ("i", -1), ("o", -1)  # what the MSCCL tools wrote in a nop

_Position = tuple[int, int, int]  # rank, threadblock and index of an instruction


def _other_ends(program: Program) -> dict[_Position, Region]:
    """Return for what is sent where its receiver puts it, and for what is received where its sender had it.

    The runtimes ignore these fields, but other tools compare them, and they tell people what goes where. A receiver
    that only adds and passes on stands for what it adds.
    """
    ends: dict[tuple[int, int, int], tuple[list[_Position], list[_Position]]] = defaultdict(lambda: ([], []))
    ones: dict[_Position, Instruction] = {}
    for rank, body in enumerate(program.ranks):
        for tb, block in enumerate(body.threadblocks):
            for index, one in enumerate(block.instructions):
                ones[rank, tb, index] = one
                if one.kind.sends and block.send is not None:
                    ends[rank, block.send, block.channel][0].append((rank, tb, index))
                if one.kind.receives and block.receive is not None:
                    ends[block.receive, rank, block.channel][1].append((rank, tb, index))
    found: dict[_Position, Region | None] = {}
    for sends, receives in ends.values():
        for at, to in zip(sends, receives, strict=False):  # the check of the file says where they are not as many
            sender, receiver = ones[at], ones[to]
            if sender.target is None:
                found[at] = receiver.target or receiver.source
            if receiver.kind is Kind.RECEIVE:
                found[to] = sender.source if sender.kind is Kind.SEND else sender.target or sender.source
    return {place: region for place, region in found.items() if region is not None}


def _write_threadblocks(lines: list[str], rank: int, body: RankProgram, others: dict[_Position, Region]) -> None:
    """Add the threadblocks of a rank, with a nop before a step for each dependency but its last."""
    number: dict[tuple[int, int], int] = {}  # of the step that ends the instruction
    for tb, block in enumerate(body.threadblocks):
        ends = itertools.accumulate(max(1, len(one.depends)) for one in block.instructions)
        number.update(((tb, index), end - 1) for index, end in enumerate(ends))
    wanted = {pair for block in body.threadblocks for one in block.instructions for pair in one.depends}
    for tb, block in enumerate(body.threadblocks):
        send, recv = (-1 if peer is None else peer for peer in (block.send, block.receive))
        about = {"id": tb, "send": send, "recv": recv, "chan": block.channel}
        if not block.instructions:
            lines.append("    " + _tag("tb", about, "/>"))
            continue
        lines.append("    " + _tag("tb", about))
        at = 0
        for index, one in enumerate(block.instructions):
            *first, last = [(other, number[other, place]) for other, place in one.depends] or [(-1, -1)]
            for wait in first:
                lines.append(_step(at, "nop", _NOWHERE, 0, wait, hasdep=False))
                at += 1
            operands = _operands(one, others.get((rank, tb, index)))
            lines.append(_step(at, _TYPES[one.kind], operands, one.count, last, hasdep=(tb, index) in wanted))
            at += 1
        lines.append("    </tb>")


def _operands(one: Instruction, other: Region | None) -> tuple[_Place, _Place]:
    """Return source and target: what an instruction has not itself is at the other end."""
    source = one.source or (one.target if one.kind is Kind.RECEIVE_COPY_SEND else other)
    return _place(source), _place(one.target or other)


def _place(region: Region | None) -> _Place:
    return ("i", -1) if region is None else (_BUFFERS[region.buffer], region.offset)


def _step(
    at: int, kind: str, operands: tuple[_Place, _Place], count: int, wait: tuple[int, int], *, hasdep: bool
) -> str:
    """Return a step on a line of its own."""
    (source, source_offset), (target, target_offset) = operands
    return (
        f'      <step s="{at}" type="{kind}" srcbuf="{source}" srcoff="{source_offset}" dstbuf="{target}" '
        f'dstoff="{target_offset}" cnt="{count}" depid="{wait[0]}" deps="{wait[1]}" hasdep="{int(hasdep)}"/>'
    )


def lint(program: Program, profile: RuntimeProfile) -> Iterator[str]:
    """Yield every limit of the profile that a program exceeds."""
    yield from _over(profile, "channels", profile.channels, program.channels)
    yield from _over(profile, "ranks", profile.children_per_node, len(program.ranks))
    for rank, body in enumerate(program.ranks):
        steps = [sum(max(1, len(one.depends)) for one in block.instructions) for block in body.threadblocks]
        nodes = 1 + len(program.ranks) + len(steps) + sum(steps)
        ones = [one for block in body.threadblocks for one in block.instructions]
        offsets = [region.offset for one in ones for region in (one.source, one.target) if region is not None]
        for what, most, number in (
            ("threadblocks per rank", profile.threadblocks_per_rank, len(steps)),
            ("threadblocks running at once", profile.resident_threadblocks, len(steps)),
            (
                "steps per threadblock, nops included",
                min(profile.steps_per_threadblock, profile.children_per_node),
                max(steps, default=0),
            ),
            ("XML nodes that one rank reads", profile.xml_nodes_per_rank, nodes),
            *_busiest(profile, body),
            ("chunks per step", profile.chunks_per_step, max((one.count for one in ones), default=0)),
            ("as the largest chunk offset", profile.largest_offset, max(offsets, default=0)),
        ):
            yield from _over(profile, what, most, number, rank)


def _busiest(profile: RuntimeProfile, body: RankProgram) -> Iterator[tuple[str, int, int]]:
    """Yield what the busiest channel of a rank has of threadblocks that send, and of such that receive."""
    for word, ends in (
        ("send", [(block.channel, block.send) for block in body.threadblocks]),
        ("receive", [(block.channel, block.receive) for block in body.threadblocks]),
    ):
        busy = Counter(channel for channel, peer in ends if peer is not None)
        most = max(busy.values(), default=0)
        yield f"threadblocks that {word} on a channel", profile.threadblocks_per_channel, most


def _over(profile: RuntimeProfile, what: str, most: int, number: int, rank: int | None = None) -> Iterator[str]:
    if number > most:
        who = "the program" if rank is None else f"rank {rank}"
        yield f"the runtime {profile.name} allows {most} {what}, and {who} needs {number}; {HELP}"
