"""MSCCL++ execution plans: byte-identical JSON for its executor."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.memory import pause_collector
from topodesign.compiler.backends.backend import Backend, Files, Options
from topodesign.compiler.instructions import Buffer
from topodesign.compiler.ir import Program
from topodesign.compiler.limits import HELP, Limits
from topodesign.runtime.mscclpp.limits import EXECUTOR, PACKET
from topodesign.runtime.mscclpp.parse import ExecutionPlan, parse_plan

if TYPE_CHECKING:
    from topodesign.compiler.onesided.blocks import Link, OneSided, Operand, Operation, RankPlan
    from topodesign.plans.plan import Plan
    from topodesign.runtime.mscclpp.check import PlanReport

_BUFFERS = {Buffer.INPUT: "i", Buffer.OUTPUT: "o", Buffer.SCRATCH: "s"}
_ALIGNMENT = 16  # bytes that every chunk is a multiple of
_THREADS = 1024  # of a threadblock


class Mscclpp(Backend):
    """JSON for the executor of MSCCL++ 0.9."""

    name = "mscclpp"
    ending = ".json"
    runtimes = ("mscclpp",)
    protocols = ("Simple", "LL")
    takes = frozenset({"size", "dtype", "min_size", "max_size", "box"})
    inplace = True

    def refuse(self, plan: Plan, options: Options) -> None:
        """Reject unsupported collectives and box sizes."""
        if plan.collective.label(self.name) is None:
            raise InfeasibleError(f"MSCCL++ has no collective {plan.collective}")
        ranks = plan.topology.nodes - len(plan.topology.switches)
        if options.box is not None and (options.box < 1 or ranks % options.box):
            raise ParameterError(f"boxes of {options.box} ranks do not divide {ranks} ranks; give a divisor")

    def chunk_unit(self, options: Options) -> int:  # noqa: ARG002
        """Return the alignment of chunks."""
        return _ALIGNMENT

    def limits(self, options: Options) -> Limits:
        """Return the limits: senders may wait, and long threadblocks are split.

        With LL most of scratch is for packets, each of which has a place of its own.
        """
        settles = options.protocol == "Simple"
        return Limits(blocks_per_rank=EXECUTOR.threadblocks, slots=0, switches=True, uneven=True, settles=settles)

    def lint(self, program: Program, options: Options) -> Iterator[str]:
        """Yield every limit of the executor that the plan exceeds."""
        _, made = _lower_one_sided(program, options)
        return _lint(program, made)

    @pause_collector()
    def emit(self, program: Program, options: Options) -> Files:
        """Return the plan."""
        actions_scratch, made = _lower_one_sided(program, options)
        for broken in _lint(program, made):
            raise InfeasibleError(broken)
        document = _document(program, made, actions_scratch, options)
        body = json.dumps(document, separators=(",", ":"))
        # the executor tells plans apart by their names alone
        document["name"] = f"{options.name}-{hashlib.sha256(body.encode()).hexdigest()[:8]}"
        return {self.ending: (_text(document) + "\n").encode()}

    def notes(self, plan: Plan, options: Options, files: Files) -> Iterator[str]:  # noqa: ARG002
        """Yield a note if a rank needs several NICs."""
        from topodesign.compiler.wires import single_nic  # noqa: PLC0415  NumPy, which help does without

        return single_nic(plan.place, options.box)

    def parse(self, files: Files, options: Options) -> ExecutionPlan:  # noqa: ARG002
        """Read the plan as MSCCL++ does."""
        return parse_plan(files[self.ending].decode())

    def check(self, files: Files, options: Options) -> PlanReport:
        """Check the plan by executing it as MSCCL++ does."""
        from topodesign.runtime.mscclpp.check import check_plan  # noqa: PLC0415  NumPy, which help does without

        return check_plan(self.parse(files, options))


def _lower_one_sided(program: Program, options: Options) -> tuple[list[int], OneSided]:
    """Return every rank's scratch chunks, and the one-sided program."""
    from topodesign.compiler.onesided.actions import actions_of  # noqa: PLC0415
    from topodesign.compiler.onesided.blocks import lower_actions  # noqa: PLC0415  NumPy, which help does without
    from topodesign.compiler.onesided.switched import Switched  # noqa: PLC0415
    from topodesign.compiler.wires import boxes_of_ranks  # noqa: PLC0415

    if isinstance(program, Switched):
        made, scratch = program.made, program.columns.scratch.tolist()
        return _choose_scratch(scratch) if made.double else scratch, made
    box = [0] * program.ranks if options.place is None else boxes_of_ranks(options.place, options.box)
    actions = actions_of(program, lambda one, other: box[one] != box[other])
    made = lower_actions(program, actions, longest=EXECUTOR.operations, operands=EXECUTOR.operands)
    return _choose_scratch(actions.scratch) if made.double else actions.scratch, made


def _choose_scratch(scratch: list[int]) -> list[int]:
    """Return one scratch size (chunks) whose half can start a packet.

    A rank adds half of its own scratch to the addresses of others. How large a chunk is there follows from the
    allocation that the input lies in and may be any number of bytes; a chunk of packets has two for each.
    """
    unit = PACKET // 2
    return [-(-max(scratch) // unit) * unit] * len(scratch)


def _lint(program: Program, made: OneSided) -> Iterator[str]:
    for rank, body in enumerate(made.ranks):
        rows = (
            ("threadblocks running at once", len(body.blocks), EXECUTOR.threadblocks),
            ("operations in a threadblock", max(map(len, body.blocks)), EXECUTOR.operations),
            (
                "semaphores in an operation",
                max((len(one.semaphores) for block in body.blocks for one in block), default=0),
                EXECUTOR.semaphores_per_operation,
            ),
            (
                "channels of a type in a threadblock",
                max(
                    sum((link in made.remote) == remote for link in {link for one in block for link in one.links})
                    for block in body.blocks
                    for remote in (False, True)
                ),
                EXECUTOR.channels,
            ),
        )
        for what, number, most in rows:
            if number > most:
                yield f"MSCCL++ allows {most} {what}, and rank {rank} needs {number}; {HELP}"
    yield from _find_misplaced(program, made)
    if program.input_chunks < 1 or program.output_chunks < 1:
        yield "MSCCL++ needs an input and an output on every rank"


def _find_misplaced(program: Program, made: OneSided) -> Iterator[str]:
    """Yield remote accesses that the executor would address wrongly.

    It adds to the address how far into its allocation the buffer of this rank begins, and not that of the other.
    """
    ranks = program.ranks
    if not program.inplace:
        return
    starts = [program.collective.in_place(rank, ranks) for rank in range(ranks)]
    for rank, body in enumerate(made.ranks):
        for block in body.blocks:
            for one in block:
                for operand in one.sources + one.targets:
                    if operand.rank is None or operand.region.buffer is Buffer.SCRATCH:
                        continue
                    which = int(operand.region.buffer is Buffer.OUTPUT)
                    if starts[rank][which] != starts[operand.rank][which]:
                        yield (
                            f"in place, rank {rank} would reach the {operand.region.buffer.value} of {operand.rank} at "
                            "an offset of its own, and MSCCL++ takes no other; compile it out of place, or with LL"
                        )
                        return


def largest_call(program: Program, scratch: int, *, packets: bool, double: bool) -> int:
    """Return the largest call (bytes, all data) with buffers below 2^32 bytes.

    With two halves, scratch is as large as for an input of all that a call may have: inputs lie in allocations that may
    be larger, and those of an allgather are parts of outputs. Chunks of scratch are twice as large if it holds packets,
    and there are two halves of it if it is double.
    """
    wide = (1 + packets) * (2 * -(-_count_chunks(program) // program.input_chunks) if double else 1)
    widest = max(program.input_chunks, program.output_chunks, scratch * wide)
    return EXECUTOR.buffer_bytes // widest // _ALIGNMENT * _ALIGNMENT * program.chunks


def _count_chunks(program: Program) -> int:
    """Return the chunks that MSCCL++ compares with its size range."""
    return program.output_chunks if program.collective.name == "allgather" else program.input_chunks


def _document(program: Program, made: OneSided, scratch: list[int], options: Options) -> dict[str, Any]:
    most = largest_call(program, max(scratch), packets=program.protocol == "LL", double=made.double)
    largest = most if options.max_size is None else options.max_size
    if not max(1, options.min_size) <= largest:
        raise ParameterError(f"calls from {options.min_size} to {largest} bytes are not possible")
    if largest > most:
        raise ParameterError(
            f"calls up to {largest} bytes require a buffer of 2^32 bytes or more, beyond what MSCCL++ "
            f"addresses; the plan can be for up to {most} bytes (--set max-size=)"
        )
    compared = _count_chunks(program)
    channels, joined = _channels(made), _collect_switched(made)
    return {
        "name": "",
        "collective": program.collective.label(Mscclpp.name),
        "protocol": program.protocol,
        "inplace": program.inplace,
        "reuse_resources": False,
        "num_threads_per_block": _THREADS,
        "use_double_scratch_buffer": made.double,
        "buffer_alignment": _ALIGNMENT,
        "min_message_size": -(-options.min_size * compared // program.chunks),
        "max_message_size": largest * compared // program.chunks,
        **({} if program.sent is None else {"topodesign_sent": list(program.sent)}),  # which the executor skips
        "gpus": [
            {
                "id": rank,
                "input_chunks": program.input_chunks,
                "output_chunks": program.output_chunks,
                "scratch_chunks": scratch[rank],
                **_rank(rank, body, made, channels, joined),
            }
            for rank, body in enumerate(made.ranks)
        ],
    }


def _channels(made: OneSided) -> list[dict[str, list[tuple[int, Link]]]]:
    """Return channels per rank and type, with remote rank and connection.

    The k-th channel of a type between two ranks is that of the same connection at both ends.
    """
    found: list[dict[str, list[tuple[int, Link]]]] = [defaultdict(list) for _ in made.ranks]
    for link in made.links:
        kind = _kind(link, made)
        found[link[0]][kind].append((link[1], link))
        found[link[1]][kind].append((link[0], link))
    for rank in found:
        for line in rank.values():
            line.sort()
    return found


def _kind(link: Link, made: OneSided) -> str:
    return "port" if link in made.remote else "memory"


def _rank(
    rank: int, body: RankPlan, made: OneSided, channels: list[dict[str, list[tuple[int, Link]]]], joined: dict[str, int]
) -> dict[str, Any]:
    """Return a rank's threadblocks with their channels and buffers."""
    mine = {kind: channels[rank][kind] for kind in ("memory", "port") if channels[rank][kind]}
    number = {(kind, link): at for kind, line in mine.items() for at, (_, link) in enumerate(line)}
    access: dict[tuple[int, str], set[str]] = defaultdict(set)
    for block in body.blocks:
        for one in block:
            for operand in one.sources + one.targets:
                if operand.rank is not None and one.link is not None:
                    access[operand.rank, _BUFFERS[operand.region.buffer]].add(_kind(one.link, made))
    remote = {key: at for at, key in enumerate(sorted(access))}
    numbers = _Numbers(number, remote, list(joined))
    joins = made.groups[rank] if made.groups else list(range(len(made.ranks)))
    switches = [
        {"channel_type": "switch", "buffer_type": one, "rank_groups": [{"size": size, "ranks": joins}]}
        for one, size in joined.items()
    ]
    return {
        "threadblocks": [_threadblock(at, block, made, numbers) for at, block in enumerate(body.blocks)],
        "channels": [
            *({"channel_type": kind, "connected_to": [peer for peer, _ in line]} for kind, line in mine.items()),
            *switches,
        ],
        "remote_buffers": [
            {"rank": other, "type": buffer, "access_channel_types": sorted(access[other, buffer])}
            for other, buffer in remote
        ],
        "semaphores": [{"init_value": 0} for _ in range(body.semaphores)],
    }


def _collect_switched(made: OneSided) -> dict[str, int]:
    """Return the switched buffers with their used chunks (any rank)."""
    reached: dict[str, int] = {}
    for body in made.ranks:
        for block in body.blocks:
            for one in block:
                for some in (*one.sources, *one.targets):
                    if some.switched:
                        buffer = _BUFFERS[some.region.buffer]
                        reached[buffer] = max(reached.get(buffer, 0), some.region.offset + some.count)
    return dict(sorted(reached.items()))


def _fields(one: Operation, kind: str) -> dict[str, Any]:
    """Return an operation's fields besides its operands and channels."""
    written: dict[str, Any] = {}
    if kind:
        written["channel_type"] = kind
    elif any(some.switched for some in one.targets):
        written["channel_type"] = "switch"
    if one.meeting:
        written |= {"barrier_id": 0, "num_threadblocks": one.meeting}
    if one.part[1] > 1:
        written["tbg_info"] = {"tb_id": one.part[0], "tbg_size": one.part[1]}
    if one.semaphores:
        written["semaphore_ids"] = list(one.semaphores)
    if one.name in {"re", "rre", "repkt", "glres"}:
        written["reduce_op"] = "sum"
    return written


class _Numbers(NamedTuple):
    """Numbering of a rank's channels, remote buffers and switched buffers."""

    channels: dict[tuple[str, Link], int]
    remote: dict[tuple[int, str], int]
    joined: list[str]


def _threadblock(at: int, block: list[Operation], made: OneSided, numbers: _Numbers) -> dict[str, Any]:
    channels: dict[str, list[int]] = {}
    buffers: dict[str, list[int]] = {}

    def place(known: dict[str, list[int]], kind: str, value: int) -> int:
        line = known.setdefault(kind, [])
        if value not in line:
            line.append(value)
        return line.index(value)

    def operand(one: Operand, kind: str) -> dict[str, Any]:
        where: dict[str, Any] = {"type": _BUFFERS[one.region.buffer]}
        if one.rank is not None:
            where = {"buffer_id": place(buffers, kind, numbers.remote[one.rank, where["type"]])}
        elif one.switched:
            where = {"switch_channel_id": place(channels, "switch", numbers.joined.index(where["type"]))}
        return {**where, "index": one.region.offset, "size": one.count}

    ops = []
    for one in block:
        written: dict[str, Any] = {"name": one.name}
        kind = "" if one.link is None else _kind(one.link, made)
        if one.sources:
            written["src_buff"] = [operand(some, kind) for some in one.sources]
        if one.targets:
            written["dst_buff"] = [operand(some, kind) for some in one.targets]
        if one.link is not None:
            written["channel_ids"] = [place(channels, kind, numbers.channels[kind, link]) for link in one.links]
        ops.append(written | _fields(one, kind))
    return {
        "id": at,
        "ops": ops,
        "channels": [{"channel_type": kind, "channel_ids": line} for kind, line in channels.items()],
        "remote_buffer_refs": [
            {"access_channel_type": kind, "remote_buffer_ids": line} for kind, line in buffers.items()
        ],
    }


def _text(document: dict[str, Any]) -> str:
    """Return JSON with one line per operation, channel and buffer."""
    gpus = []
    for gpu in document["gpus"]:
        blocks = []
        for block in gpu["threadblocks"]:
            rest = {key: value for key, value in block.items() if key not in {"id", "ops"}}
            ops = _lines(block["ops"], "    ")
            blocks.append(f'{{"id": {block["id"]}, "ops": {ops},\n   {json.dumps(rest)[1:-1]}}}')
        rows = [f'"{key}": {json.dumps(gpu[key])}' for key in gpu if key.endswith(("id", "chunks"))]
        listed = [f'"{key}": {_lines(gpu[key], "   ")}' for key in ("channels", "remote_buffers", "semaphores")]
        written = ",\n   ".join(blocks)
        gpus.append(f'{{{", ".join(rows)},\n  "threadblocks": [\n   {written}],\n  ' + ",\n  ".join(listed) + "}")
    head = json.dumps({key: value for key, value in document.items() if key != "gpus"}, indent=1)
    return head.removesuffix("\n}") + ',\n "gpus": [\n ' + ",\n ".join(gpus) + "]}"


def _lines(values: list[Any], indent: str) -> str:
    """Return objects as JSON lines; their first key must be unique."""
    if not values:
        return "[]"
    begin = json.dumps(values[0])
    begin = begin[: begin.index(":")]
    return f"[\n{indent}" + json.dumps(values)[1:].replace(f", {begin}:", f",\n{indent}{begin}:")
