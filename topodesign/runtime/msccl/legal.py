"""Rules of runtimes beyond the file form, and impossible sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise, zip_longest

import numpy as np

from topodesign.base.arrays import distinct
from topodesign.base.compiled import Ints
from topodesign.runtime.machine.layout import Layout, buffer_chunks, distinct_blocks
from topodesign.runtime.msccl.operations import (
    NUMBER,
    READS_SOURCE,
    RECEIVES,
    SENDS,
    Connection,
    Operation,
    Table,
    is_one_of,
)
from topodesign.runtime.msccl.parse import Gpu, Program, Threadblock
from topodesign.runtime.msccl.profiles import MAX_SCRATCH, RuntimeProfile
from topodesign.runtime.msccl.steps import BUFFERS, Step
from topodesign.runtime.report import Finding

_CHECKED_TARGET = frozenset({"r", "rcs", "rrcs", "cpy", "re"})  # the parser forgets rrc
_CHECKED_SOURCE = READS_SOURCE - {"rrc"}


def limits(program: Program, profile: RuntimeProfile) -> Iterator[Finding]:
    """Yield every broken rule of a runtime, as ``illegal``."""
    yield from _algo(program, profile)
    ids = sorted(gpu.id for gpu in program.gpus)
    if len(ids) != program.ngpus or ids != list(range(len(ids))):
        yield Finding("illegal", f'the gpu ids must be 0 to {program.ngpus - 1}, each once, as ngpus="{program.ngpus}"')
        return
    for gpu in program.gpus:
        yield from _gpu(program, gpu, profile)


def _algo(program: Program, profile: RuntimeProfile) -> Iterator[Finding]:
    def illegal(message: str) -> Finding:
        return Finding("illegal", message)

    if program.ngpus < 1:
        yield illegal(f'ngpus="{program.ngpus}" must be at least 1')
    if not 1 <= program.nchannels <= profile.channels:
        yield illegal(f'nchannels="{program.nchannels}" must be from 1 to {profile.channels}')
    reach = profile.largest_offset + profile.chunks_per_step
    if not 1 <= program.nchunksperloop <= reach:
        yield illegal(f'nchunksperloop="{program.nchunksperloop}" must be from 1 to {reach}, what offsets can reach')
    elif program.nchunksperloop % distinct_blocks(program.collective, max(1, program.ngpus)):
        yield illegal(
            f'nchunksperloop="{program.nchunksperloop}" of {program.collective} counts the chunks of all ranks '
            f"and must be a multiple of ngpus, {program.ngpus}"
        )
    if unused := profile.why_unused(program.min_bytes, program.max_bytes, max(1, program.nchunksperloop)):
        yield illegal(unused)
    elif profile.scratch_at_start:
        most = max((gpu.s_chunks for gpu in program.gpus), default=0)
        scratch = profile.scratch_bytes(program.max_bytes, most, max(1, program.nchunksperloop)) or 0
        if scratch > MAX_SCRATCH:
            yield illegal(
                f"maxBytes {program.max_bytes} takes {scratch} bytes of scratch on a rank when the communicator "
                "starts, which no device has; write a smaller one (--set max-size= of compile)"
            )
    if not (program.inplace or program.outofplace):
        yield illegal("inplace and outofplace are both 0; the file is never used")
    if len(program.gpus) > profile.children_per_node:
        yield illegal(f"{len(program.gpus)} gpus; up to {profile.children_per_node} elements fit into one")


def _gpu(program: Program, gpu: Gpu, profile: RuntimeProfile) -> Iterator[Finding]:
    def illegal(message: str) -> Finding:
        return Finding("illegal", message, gpu.id)

    count = len(gpu.threadblocks)
    if sorted(tb.id for tb in gpu.threadblocks) != list(range(count)) or not count:
        yield illegal("the threadblock ids must be 0, 1, 2, ... without a gap, and there must be one at least")
        return
    for limit, why in (
        (profile.threadblocks_per_rank, f"the ids end at {profile.threadblocks_per_rank - 1}"),
        (profile.resident_threadblocks, "all must run at once, one per multiprocessor"),
        (profile.children_per_node, "as many elements fit into one"),
    ):
        if count > limit:
            yield illegal(f"{count} threadblocks; {profile.name} holds {limit}: {why}")
    nodes = xml_nodes(program, gpu)
    if nodes > profile.xml_nodes_per_rank:
        yield illegal(f"{nodes} XML elements to keep; {profile.name} holds {profile.xml_nodes_per_rank} per rank")
    if gpu.s_chunks < 0:
        yield illegal(f's_chunks="{gpu.s_chunks}" is negative')
    if profile.checks_chunk_counts:
        yield from _chunk_counts(program, gpu, profile)
    yield from _connections(gpu, profile)
    steps = _steps(gpu, profile)
    for tb in gpu.threadblocks:
        yield from _threadblock(program, gpu, tb, profile)
        yield from steps.get(tb.id, ())


def _chunk_counts(program: Program, gpu: Gpu, profile: RuntimeProfile) -> Iterator[Finding]:
    inputs, outputs = buffer_chunks(program.collective, program.ngpus, program.nchunksperloop)
    for key, value, right in (("i_chunks", gpu.i_chunks, inputs), ("o_chunks", gpu.o_chunks, outputs)):
        if value > 0 and value != right:
            message = f'{key}="{value}"; {profile.name} wants 0 or {right} by nchunksperloop'
            yield Finding("illegal", message, gpu.id)


def _connections(gpu: Gpu, profile: RuntimeProfile) -> Iterator[Finding]:
    for verb, peers in (
        ("send to", [(tb.chan, tb.send) for tb in gpu.threadblocks if tb.send >= 0]),
        ("receive from", [(tb.chan, tb.recv) for tb in gpu.threadblocks if tb.recv >= 0]),
    ):
        for (channel, peer), number in Counter(peers).items():
            if number > 1:
                message = f"{number} threadblocks {verb} rank {peer} on channel {channel}; one may"
                yield Finding("illegal", message, gpu.id)
        for channel, number in Counter(channel for channel, _ in peers).items():
            if number > profile.threadblocks_per_channel:
                limit = profile.threadblocks_per_channel
                message = f"{number} threadblocks {verb} peers on channel {channel}; {profile.name} holds {limit}"
                yield Finding("illegal", message, gpu.id)


def _threadblock(program: Program, gpu: Gpu, tb: Threadblock, profile: RuntimeProfile) -> Iterator[Finding]:
    def illegal(message: str) -> Finding:
        return Finding("illegal", message, gpu.id, tb.id)

    for word, peer in (("send", tb.send), ("recv", tb.recv)):
        if not -1 <= peer < program.ngpus or peer == gpu.id:
            yield illegal(f'{word}="{peer}" must be another rank, or -1 for none')
    if not 0 <= tb.chan < min(program.nchannels, profile.channels):
        yield illegal(f'chan="{tb.chan}" must be from 0 to {program.nchannels - 1}, as nchannels="{program.nchannels}"')
    if len(tb.steps) > profile.steps_per_threadblock:
        yield illegal(f"{len(tb.steps)} steps; {profile.name} holds {profile.steps_per_threadblock}")


def _steps(gpu: Gpu, profile: RuntimeProfile) -> dict[int, list[Finding]]:
    """Return what is wrong with the steps of each threadblock."""
    lengths = [len(tb.steps) for tb in gpu.threadblocks]
    s, kind, source, source_at, target, target_at, count, depid, deps, *_ = np.concatenate(
        [tb.steps.rows for tb in gpu.threadblocks]
    ).T
    peers = np.repeat([(tb.send, tb.recv) for tb in gpu.threadblocks], lengths, axis=0)
    acts, most = kind != NUMBER["nop"], profile.steps_per_threadblock
    sends, receives = is_one_of(SENDS)[kind], is_one_of(RECEIVES)[kind]
    moves = sends | receives
    sizes = dict(zip(BUFFERS, (gpu.i_chunks, gpu.o_chunks, gpu.s_chunks), strict=True))
    rules: list[tuple[Ints, Callable[[Step], str]]] = [
        ((s < 0) | (s >= most), lambda step: f's="{step.s}" must be from 0 to {most - 1}'),
        (depid >= len(lengths), lambda step: f'depid="{step.depid}" names no threadblock of this rank'),
        ((depid >= 0) & ((deps < 0) | (deps >= most)), lambda step: f'deps="{step.deps}" is not a step'),
        (
            acts & ((count < moves) | (count > profile.chunks_per_step)),
            lambda step: (
                f'cnt="{step.cnt}" must be from {int(step.type in SENDS | RECEIVES)} to {profile.chunks_per_step}'
            ),
        ),
        (sends & (peers[:, 0] < 0), lambda step: f'{step.type} in a threadblock with send="-1"'),
        (receives & (peers[:, 1] < 0), lambda step: f'{step.type} in a threadblock with recv="-1"'),
    ]
    for word, buffer, offset, checked in (
        ("src", source, source_at, is_one_of(_CHECKED_SOURCE)[kind]),
        ("dst", target, target_at, is_one_of(_CHECKED_TARGET)[kind]),
    ):
        outside = acts & checked & ((offset < -1) | (offset >= np.array(list(sizes.values()))[buffer]))
        far = acts & ~outside & (abs(offset) > profile.largest_offset)
        rules += [(outside, partial(_outside, sizes, word)), (far, partial(_far, profile.largest_offset, word))]
    begin = np.cumsum(lengths) - lengths
    found: dict[int, list[Finding]] = {}
    for at in np.flatnonzero(np.logical_or.reduce([broken for broken, _ in rules])).tolist():
        block = int(np.searchsorted(begin, at, side="right")) - 1
        tb, index = gpu.threadblocks[block], at - int(begin[block])
        words = (say(tb.steps[index]) for broken, say in rules if broken[at])
        found.setdefault(tb.id, []).extend(Finding("illegal", one, gpu.id, tb.id, index) for one in words)
    return found


def _outside(sizes: Mapping[str, int], word: str, step: Step) -> str:
    buffer, offset = (step.srcbuf, step.srcoff) if word == "src" else (step.dstbuf, step.dstoff)
    return f'{word}off="{offset}" is not in {word}buf="{buffer}" of {sizes[buffer]} chunks'


def _far(largest: int, word: str, step: Step) -> str:
    return f'{word}off="{step.srcoff if word == "src" else step.dstoff}" is more than {largest}'


def xml_nodes(program: Program, gpu: Gpu) -> int:
    """Return the XML elements that the runtime keeps on a rank."""
    return 1 + len(program.gpus) + len(gpu.threadblocks) + sum(len(tb.steps) for tb in gpu.threadblocks)


def mismatches(table: Table) -> Iterator[Finding]:
    """Yield mismatched connections, sends and receives."""
    sends: dict[Connection, list[int]] = {}  # numbers of operations
    receives: dict[Connection, list[int]] = {}
    sending, receiving = (np.flatnonzero(is_one_of(kinds)[table.type]) for kinds in (SENDS, RECEIVES))
    cuts = (pairwise(np.searchsorted(some, table.first).tolist()) for some in (sending, receiving))
    threads = zip(*(column.tolist() for column in table[:5]), *cuts, strict=True)
    for rank, _, send, receive, channel, out, into in threads:
        if send >= 0:
            sends[rank, send, channel] = sending[slice(*out)].tolist()
        if receive >= 0:
            receives[receive, rank, channel] = receiving[slice(*into)].tolist()
    chunks = table.chunks.tolist()
    for connection in sorted(sends.keys() | receives.keys()):
        sender, receiver, channel = connection
        if connection not in receives:
            message = f"a threadblock sends to rank {receiver} on channel {channel}, where none receives from it"
            yield Finding("mismatch", message, sender)
        elif connection not in sends:
            message = f"a threadblock receives from rank {sender} on channel {channel}, where none sends to it"
            yield Finding("mismatch", message, receiver)
        else:
            for one, other in zip_longest(sends[connection], receives[connection]):
                if one is None or other is None or chunks[one] != chunks[other]:
                    yield _unequal(*(None if end is None else table.operation(end) for end in (one, other)))
                    break


def _unequal(send: Operation | None, receive: Operation | None) -> Finding:
    if send is None:
        assert receive is not None  # noqa: S101  for mypy; one of them is there
        return receive.finding("mismatch", "receives what is never sent")
    if receive is None:
        return send.finding("mismatch", "is never received")
    return send.finding("mismatch", f"sends {send.count} chunks, but {receive} takes {receive.count}")


def out_of_bounds(table: Table, layout: Layout) -> Iterator[Finding]:
    """Yield accesses outside a buffer."""
    sizes = np.array([[layout.segment(rank, name)[1] for name in BUFFERS] for rank in range(layout.ranks)])
    accesses = (
        (table.reads, table.source, table.source_at),
        (np.flatnonzero(table.target >= 0), *(column[table.target >= 0] for column in (table.target, table.target_at))),
    )
    wrong = [
        one[
            (table.chunks[one] > 0) & ((at < 0) | (at > sizes[table.rank[table.thread[one]], name] - table.chunks[one]))
        ]
        for one, name, at in accesses
    ]
    for one in distinct(np.concatenate(wrong)).tolist():
        operation = table.operation(one)
        for buffer, offset in (*operation.sources, *([operation.target] if operation.target else [])):
            size = layout.segment(operation.rank, buffer)[1]
            if not 0 <= offset <= size - operation.count:
                last = offset + operation.count - 1
                message = f"{operation.type} touches {buffer}[{offset}] to {buffer}[{last}] of {size} chunks"
                yield operation.finding("out-of-bounds", message)


def links(table: Table) -> tuple[Ints, Ints, Ints]:
    """Return senders, sends and chunks of connected pairs."""
    known = table.send >= 0
    pairs, number = np.unique(np.column_stack((table.rank, table.send))[known], axis=0, return_inverse=True)
    of_thread = np.full(len(known), -1)
    of_thread[known] = number.reshape(-1)
    sending = is_one_of(SENDS)[table.type]
    link = of_thread[table.thread[sending]]
    carried = np.bincount(link, weights=table.chunks[sending], minlength=len(pairs))
    return pairs[:, 0], np.bincount(link, minlength=len(pairs)), carried.astype(np.int64)
