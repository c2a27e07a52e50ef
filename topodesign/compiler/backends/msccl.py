"""The XML that MSCCL runtimes load: limits first, then the text, the same bytes every time."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.compiler.backends.backend import LARGEST_SIZE, Backend, Files, Options
from topodesign.compiler.ir import Buffer, Instruction, Kind, Program, RankProgram
from topodesign.compiler.limits import HELP, Limits
from topodesign.runtime.check import CheckReport, check_program
from topodesign.runtime.parse import parse_xml
from topodesign.runtime.profiles import PROFILES, RuntimeProfile, get_profile

if TYPE_CHECKING:
    from lxml.etree import _Element

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


class Msccl(Backend):
    """XML for microsoft/msccl, msccl-executor-nccl and RCCL."""

    name = "msccl"
    ending = ".xml"
    runtimes = tuple(PROFILES)

    def limits(self, options: Options) -> Limits:
        """Return what the runtime's profile says of a program that a front end makes."""
        profile = get_profile(options.runtime)
        _limit(profile, "channels", profile.channels, options.channels)
        return Limits(
            chunks_per_instruction=profile.chunks_per_step,
            instructions_per_block=profile.steps_per_threadblock,
            instructions_per_rank=profile.xml_nodes_per_rank,
            blocks_per_channel=profile.threadblocks_per_channel,
            blocks_per_rank=min(profile.threadblocks_per_rank, profile.resident_threadblocks),
            channels=profile.channels,
        )

    def emit(self, program: Program, options: Options) -> Files:
        """Return the XML."""
        sizes = {"min_bytes": options.min_bytes, "max_bytes": options.max_bytes}
        text = to_xml(program, profile=get_profile(options.runtime), name=options.name, **sizes)
        return {self.ending: text.encode()}

    def check(self, files: Files, options: Options, interleavings: int) -> CheckReport:
        """Read the XML as the runtime does, and decide whether it then does what it should."""
        profile = get_profile(options.runtime)
        return check_program(parse_xml(files[self.ending].decode(), profile), profile, interleavings=interleavings)


def to_xml(
    program: Program, *, profile: RuntimeProfile, name: str, min_bytes: int = 0, max_bytes: int = LARGEST_SIZE
) -> str:
    """Write a program as XML in the exact form that the runtime reads, after checking its limits.

    Parameters
    ----------
    program
        What a front end made.
    profile
        The runtime.
    name
        What the runtime's log calls it.
    min_bytes, max_bytes
        The range of sizes for which the runtime should use this file.

    Raises
    ------
    InfeasibleError
        If the program exceeds a limit of the runtime; the message names limit, rank and number.
    ParameterError
        If the name has characters that the runtime's parser might trip over, or the sizes are not a range.
    """
    from lxml import etree  # noqa: PLC0415  heavy

    if not _NAME.fullmatch(name) or len(name) > profile.value_length:
        raise ParameterError(
            f"the name {name[:40]!r} must be of letters, digits and _.,()+- and at most {profile.value_length} long"
        )
    if not 0 <= min_bytes <= max_bytes <= LARGEST_SIZE:
        raise ParameterError(f"sizes must satisfy 0 <= min_bytes <= max_bytes < 2^63, not {min_bytes} and {max_bytes}")
    algo = etree.Element(
        "algo",
        name=name,
        proto=program.protocol,
        nchannels=str(program.channels),
        nchunksperloop=str(program.chunks),
        ngpus=str(len(program.ranks)),
        coll=profile.coll(program.collective),
        inplace=str(int(program.inplace)),
        outofplace=str(int(not program.inplace)),
        minBytes=str(min_bytes),
        maxBytes=str(max_bytes),
    )
    for rank, body in enumerate(program.ranks):
        gpu = etree.SubElement(
            algo,
            "gpu",
            id=str(rank),
            i_chunks=str(program.input_chunks),
            o_chunks=str(program.output_chunks),
            s_chunks=str(body.scratch),
        )
        _write_threadblocks(gpu, body)
    _check_limits(program, algo, profile)
    return etree.tostring(algo, encoding="unicode", pretty_print=True)


def _write_threadblocks(gpu: _Element, rank: RankProgram) -> None:
    """Add the threadblocks of a rank, with a nop before a step for each dependency but its last."""
    from lxml import etree  # noqa: PLC0415  heavy

    number: dict[tuple[int, int], int] = {}  # of the step that ends the instruction
    for tb, block in enumerate(rank.threadblocks):
        ends = itertools.accumulate(max(1, len(one.depends)) for one in block.instructions)
        number.update(((tb, index), end - 1) for index, end in enumerate(ends))
    wanted = {pair for block in rank.threadblocks for one in block.instructions for pair in one.depends}
    for tb, block in enumerate(rank.threadblocks):
        send, recv = (-1 if peer is None else peer for peer in (block.send, block.receive))
        element = etree.SubElement(gpu, "tb", id=str(tb), send=str(send), recv=str(recv), chan=str(block.channel))
        for index, one in enumerate(block.instructions):
            *others, last = [(other, number[other, at]) for other, at in one.depends] or [(-1, -1)]
            for wait in others:
                _write_step(element, None, wait, hasdep=False)
            _write_step(element, one, last, hasdep=(tb, index) in wanted)


def _write_step(tb: _Element, one: Instruction | None, wait: tuple[int, int], *, hasdep: bool) -> None:
    """Add an instruction, or a nop that only waits."""
    from lxml import etree  # noqa: PLC0415  heavy

    source = one.source if one is not None else None
    target = one.target if one is not None else None
    etree.SubElement(
        tb,
        "step",
        s=str(len(tb)),
        type="nop" if one is None else _TYPES[one.kind],
        srcbuf="i" if source is None else _BUFFERS[source.buffer],
        srcoff="-1" if source is None else str(source.offset),
        dstbuf="o" if target is None else _BUFFERS[target.buffer],
        dstoff="-1" if target is None else str(target.offset),
        cnt="0" if one is None else str(one.count),
        depid=str(wait[0]),
        deps=str(wait[1]),
        hasdep=str(int(hasdep)),
    )


def _check_limits(program: Program, algo: _Element, profile: RuntimeProfile) -> None:
    """Raise InfeasibleError for the first limit of the profile that the XML exceeds."""
    _limit(profile, "channels", profile.channels, program.channels)
    _limit(profile, "ranks", profile.children_per_node, len(algo))
    shared = 1 + len(algo)
    for rank, gpu in enumerate(algo):
        body = program.ranks[rank]
        _limit(profile, "threadblocks per rank", profile.threadblocks_per_rank, len(gpu), rank)
        _limit(profile, "threadblocks running at once", profile.resident_threadblocks, len(gpu), rank)
        most = min(profile.steps_per_threadblock, profile.children_per_node)
        _limit(profile, "steps per threadblock, nops included", most, max(map(len, gpu), default=0), rank)
        nodes = shared + len(gpu) + sum(map(len, gpu))
        _limit(profile, "XML nodes that one rank reads", profile.xml_nodes_per_rank, nodes, rank)
        for channel in range(program.channels):
            here = [block for block in body.threadblocks if block.channel == channel]
            for word, peers in (("send", [b.send for b in here]), ("receive", [b.receive for b in here])):
                busy = len(peers) - peers.count(None)
                limit = profile.threadblocks_per_channel
                _limit(profile, f"threadblocks that {word} on a channel", limit, busy, rank)
        ones = [one for block in body.threadblocks for one in block.instructions]
        _limit(profile, "chunks per step", profile.chunks_per_step, max((one.count for one in ones), default=0), rank)
        offsets = [region.offset for one in ones for region in (one.source, one.target) if region is not None]
        _limit(profile, "as the largest chunk offset", profile.largest_offset, max(offsets, default=0), rank)


def _limit(profile: RuntimeProfile, what: str, most: int, number: int, rank: int | None = None) -> None:
    if number > most:
        who = "the program" if rank is None else f"rank {rank}"
        raise InfeasibleError(f"the runtime {profile.name} allows {most} {what}, and {who} needs {number}; {HELP}")
