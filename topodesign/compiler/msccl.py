"""The XML that MSCCL runtimes load: limits first, then the text, the same bytes every time."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.collectives import as_collective
from topodesign.compiler.ir import PROTOCOLS, Buffer, Instruction, Kind, Program, Protocol, RankProgram
from topodesign.compiler.rounds import lower
from topodesign.plans.rounds import Schedule
from topodesign.runtime.profiles import RuntimeProfile, get_profile
from topodesign.topology.topology import Topology, require_at_least

if TYPE_CHECKING:
    from lxml.etree import _Element

LARGEST_SIZE = 2**63 - 1
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
HELP = "use fewer channels, a schedule with fewer --chunks or trees (--fixed-k), or a smaller N"


def compile_schedule(
    topology: Topology,
    schedule: Schedule,
    *,
    runtime: str = "msccl",
    protocol: Protocol = "Simple",
    inplace: bool = False,
    channels: int = 1,
    min_bytes: int = 0,
    max_bytes: int = LARGEST_SIZE,
    name: str | None = None,
) -> str:
    """Compile a schedule to the XML of an MSCCL runtime.

    Parameters
    ----------
    topology, schedule
        The links, and a valid schedule on them.
    runtime
        Name of a profile: ``msccl``, ``msccl-executor`` or ``rccl``.
    protocol
        ``Simple``, ``LL`` or ``LL128``.
    inplace
        Compile for calls whose input and output share memory (the file is not used for others, nor the reverse).
    channels
        Split every message over this many connections.
    min_bytes, max_bytes
        The range of sizes for which the runtime should use this file.
    name
        What the runtime's log calls it; by default made of the collective and the spec.

    Raises
    ------
    InfeasibleError
        If the program exceeds a limit of the runtime; the message names it.
    ScheduleError, TopologyError, ParameterError
        As :func:`topodesign.compiler.rounds.lower`, and for an unknown runtime or protocol or a bad name or size.
    """
    profile = get_profile(runtime)
    check_options(protocol, channels, profile)
    program = lower(
        topology,
        schedule,
        inplace=inplace,
        channels=channels,
        protocol=protocol,
        max_count=profile.chunks_per_step,
        blocks_per_channel=profile.threadblocks_per_channel,
    )
    title = f"topodesign-{schedule.collective}-{topology.spec or schedule.nodes}" if name is None else name
    return to_xml(program, profile=profile, name=title, min_bytes=min_bytes, max_bytes=max_bytes)


def to_xml(
    program: Program, *, profile: RuntimeProfile, name: str, min_bytes: int = 0, max_bytes: int = LARGEST_SIZE
) -> str:
    """Write a program as XML in the exact form that the runtime reads, after checking its limits.

    Parameters
    ----------
    program
        From :func:`topodesign.compiler.rounds.lower`.
    profile
        The runtime.
    name, min_bytes, max_bytes
        As :func:`compile_schedule`.

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
        coll=profile.coll(as_collective(program.collective)),
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


def check_options(protocol: str, channels: int, profile: RuntimeProfile) -> None:
    """Raise ParameterError for an unknown protocol, InfeasibleError for more channels than the runtime has."""
    if protocol not in PROTOCOLS:
        raise ParameterError(f"unknown protocol {protocol!r}; known are {', '.join(PROTOCOLS)}")
    require_at_least("channels", channels, 1)
    _limit(profile, "channels", profile.channels, channels)


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
