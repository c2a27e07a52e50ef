"""Limits of MSCCL++'s executor at 0.9 (commit 1f5f065d)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from topodesign.runtime.mscclpp.parse import MOVES, PACKETS, SWITCHED, ExecutionPlan, Gpu, Operation, Threadblock
from topodesign.runtime.report import Finding

PACKET = 16  # bytes of a packet, data and flag; it begins at a multiple of them


@dataclass(frozen=True, slots=True)
class Context:
    """What one rank has set up.

    * ``half``: what its launches of even number add to addresses in scratch, whosesoever; 0 without a double scratch
      buffer.
    """

    scratch: int  # bytes of its scratch memory
    half: int


def context(plan: ExecutionPlan, gpu: Gpu, size: int) -> Context:
    """Return what a rank sets up for inputs of a size.

    A launch of even number, counted from one, adds half of a double scratch buffer to addresses in scratch: of this
    rank, and of others to which it puts packets (``executor.cc``, ``setupScratchBuffer`` and ``launchKernelHelper``).
    With ``reuse_resources`` all ranks have scratch of one size, for all plans together: the largest stands for it here.
    """
    chunks = max(one.scratch for one in plan.gpus) if plan.reuse else gpu.scratch
    scratch = -(-size // gpu.inputs) * chunks * (1 + (plan.protocol == "LL")) * (1 + plan.double_scratch)
    scratch = -(-scratch // plan.alignment) * plan.alignment
    return Context(scratch, scratch // 2 if plan.double_scratch else 0)


def contexts(plan: ExecutionPlan, chunk: int) -> tuple[Context, ...]:
    """Return what all ranks set up for a call's chunk size."""
    return tuple(context(plan, gpu, gpu.inputs * chunk) for gpu in plan.gpus)


def allocation_multiple(plan: ExecutionPlan) -> int:
    """Return the multiple of allocation sizes that packets need.

    What lies in an allocation is cut into as many chunks as the input has, and a part of a byte counts as one.
    """
    if plan.reuse or not plan.double_scratch or plan.alignment % (2 * PACKET) == 0:
        return 1
    wide = 1 + (plan.protocol == "LL")
    multiples = [PACKET // math.gcd(PACKET, gpu.scratch * wide) for gpu in plan.gpus]
    return (
        1 if set(multiples) == {1} else math.lcm(*(m * gpu.inputs for m, gpu in zip(multiples, plan.gpus, strict=True)))
    )


def count_addressed(plan: ExecutionPlan, most: int) -> int:
    """Return the most bytes of a rank's buffer, over calls.

    ``most`` is of what the executor compares with ``max_message_size``: of an allgather the output, of others the
    input. The allocation counts alone where its half of scratch is added to addresses.
    """
    largest = 0
    for gpu in plan.gpus:
        chunk = most // (gpu.outputs if plan.collective == "allgather" else gpu.inputs)
        packets = gpu.scratch * (1 + (plan.protocol == "LL"))
        largest = max(largest, chunk * max(gpu.inputs, gpu.outputs, packets))
        if plan.double_scratch and not plan.reuse:
            largest = max(largest, context(plan, gpu, most).scratch)
    return largest


@dataclass(frozen=True)
class ExecutorLimits:
    """The largest numbers that the executor takes.

    * ``operations``: operations of a threadblock, those in pipelines included; the only limit that the executor checks
      itself.
    * ``semaphores_per_operation``: semaphores that an operation names; beyond, memory is overwritten. A rank may have
      more in all.
    * ``threadblocks``: threadblocks of a rank that run at once, one on a multiprocessor: they wait for each other. 108
      on an A100.
    """

    operations: int = 64
    channels: int = 16  # channels and remote buffers of a type in a threadblock; beyond, memory is overwritten
    channels_per_operation: int = 8  # channels that an operation names; beyond, memory is overwritten
    operands: int = 10  # places that an operation reads, and that it writes; beyond, memory is overwritten
    barriers: int = 16  # barriers of a rank; beyond, memory is overwritten
    semaphores_per_operation: int = 16
    threadblocks: int = 108
    buffer_bytes: int = 2**32 - 1  # bytes of a buffer, of scratch both halves: offsets and sizes have 32 bits


EXECUTOR = ExecutorLimits()  # the limits of MSCCL++ 0.9

_TAKES_TWO = frozenset({"recpkt", "recspkt"})  # targets at least; others that move data need one, as of sources
_MOVING = (*MOVES, *PACKETS, *SWITCHED)
_OF_CHANNELS = frozenset({"signal", "wait", "rlxsignal", "rlxwait", "flush"})
_REMOTE = frozenset({"put", "pws", "pwsf", "get", "ppkt", "rppkt"})


def illegal(plan: ExecutionPlan) -> Iterator[Finding]:
    """Yield what the executor refuses or misreads."""
    chunks = {(gpu.inputs, gpu.outputs) for gpu in plan.gpus}
    if len(chunks) > 1:
        yield Finding("illegal", f"ranks have different numbers of input and output chunks: {sorted(chunks)[:3]}")
    if plan.max_size is not None and plan.max_size < max(1, plan.min_size):
        said = f"min_message_size {plan.min_size} and max_message_size {plan.max_size}"
        yield Finding("illegal", f"{said} are no range: no call is of such a size")
    elif plan.max_size is not None and count_addressed(plan, plan.max_size) > EXECUTOR.buffer_bytes:
        bytes_ = count_addressed(plan, plan.max_size)
        message = f"with max_message_size {plan.max_size} a buffer has {bytes_} bytes; addresses in it have 32 bits"
        yield Finding("illegal", message)
    yield from _halves(plan)
    yield from _groups(plan)
    for rank, gpu in enumerate(plan.gpus):
        if not gpu.threadblocks:
            yield Finding("illegal", "no threadblocks: a kernel of none cannot be launched", rank)
        if len(gpu.threadblocks) > EXECUTOR.threadblocks:
            message = f"{len(gpu.threadblocks)} threadblocks have to run at once, and {EXECUTOR.threadblocks} can"
            yield Finding("illegal", message, rank)
        for number, block in enumerate(gpu.threadblocks):
            yield from (Finding("illegal", message, rank, number) for message in _of_block(block))
            for at, op in enumerate(block.operations):
                for one in (op, *op.inner):
                    found = _of_operation(one, gpu, plan.protocol)
                    yield from (Finding("illegal", message, rank, number, at) for message in found)


def _halves(plan: ExecutionPlan) -> Iterator[Finding]:
    """Yield ranks whose packets miss in even launches."""
    if not plan.double_scratch or plan.reuse:
        return
    for rank, gpu in enumerate(plan.gpus):
        for number, block in enumerate(gpu.threadblocks):
            joined = {
                one for op in block.operations if op.name == "gstorepkt" for one in _iterate_joined(op, block, gpu)
            }
            for other in sorted({gpu.buffers[to].rank for to in _packets_to(block)} | joined):
                if plan.gpus[other].scratch != gpu.scratch:
                    yield Finding(
                        "illegal",
                        f"puts packets into the second half of the scratch of rank {other} at half of its own, of "
                        f"{gpu.scratch} chunks and not {plan.gpus[other].scratch}; scratch_chunks must be the same",
                        rank,
                        number,
                    )


def _iterate_joined(op: Operation, block: Threadblock, gpu: Gpu) -> Iterator[int]:
    for one in op.targets:
        if one.switch >= 0:
            yield from gpu.groups[block.channels["switch"][one.switch]].ranks


def _packets_to(block: Threadblock) -> Iterator[int]:
    """Yield the remote buffers that a threadblock puts packets into."""
    for op in block.operations:
        for one in (op, *op.inner):
            known = block.buffers.get(one.channel_type, ())
            if one.name in PACKETS:
                yield from (known[to.remote] for to in one.targets if 0 <= to.remote < len(known))


def _of_block(block: Threadblock) -> Iterator[str]:
    size = sum(1 + len(op.inner) for op in block.operations)
    if size > EXECUTOR.operations:
        yield f"{size} operations; the executor takes {EXECUTOR.operations}"
    for kind, numbers in block.channels.items():
        if len(numbers) > EXECUTOR.channels:
            yield f"{len(numbers)} {kind} channels; there is room for {EXECUTOR.channels}"
    for kind, numbers in block.buffers.items():
        if len(numbers) > EXECUTOR.channels:
            yield f"{len(numbers)} remote buffers of {kind} channels; there is room for {EXECUTOR.channels}"


def _of_operation(op: Operation, gpu: Gpu, protocol: str) -> Iterator[str]:
    name = op.name
    least = (1, 1 + (name in _TAKES_TWO)) if name in _MOVING else (0, 0)
    if len(op.sources) < least[0] or len(op.targets) < least[1]:
        yield f"{name} needs {least[0]} sources and {least[1]} targets"
        return
    yield from _numbers(op, gpu)
    if name in SWITCHED:
        yield from _of_switch(op)
    if name in _OF_CHANNELS and op.channel_type not in {"memory", "port"}:
        yield f"{name} needs channel_type memory or port"
    if name in _REMOTE:
        yield from _of_transfer(op)
    elif name in {"rre", "rres", "res", "respkt", "recspkt"} and op.channel_type == "port":
        yield f"{name} works on memory channels alone"
    if protocol != "LL" and name in PACKETS:
        yield f"{name} moves packets, for which the scratch of protocol Simple is half as large as it has to be"


def _of_switch(op: Operation) -> Iterator[str]:
    name = op.name
    if op.channel_type != "switch":
        yield f"{name} needs channel_type switch"
    if len(op.sources) > 1 or len(op.targets) > 1:
        yield f"{name} uses only the first of its sources and targets"
    if op.targets[0].switch < 0 or (op.sources[0].switch < 0) == (name == "glres"):
        other = "a switch channel" if name == "glres" else "a buffer of its own rank"
        yield f"{name} stores to a switch channel what it takes from {other}"
    if op.sources[0].size != op.targets[0].size:
        yield f"{name} moves as much as its source has, {op.sources[0].size} chunks and not {op.targets[0].size}"
    if name == "gstorepkt" and op.sources[0].buffer != "s":
        yield "gstorepkt takes what is in its source for packets, which are in scratch alone"


def _groups(plan: ExecutionPlan) -> Iterator[Finding]:
    """Yield inconsistent switch channels, whose set-up hangs.

    Each rank sets up its own one after the other, with the others of that one; the least rank of each makes it.
    """
    lines: dict[tuple[int, ...], list[tuple[int, str]]] = {}
    for rank, gpu in enumerate(plan.gpus):
        for group in gpu.groups:
            lines.setdefault(tuple(sorted(group.ranks)), []).append((rank, group.buffer))
    for ranks, line in lines.items():
        of = {one: [buffer for rank, buffer in line if rank == one] for one in ranks}
        if any(of[one] != of[ranks[0]] for one in ranks):
            who = next(one for one in ranks if of[one] != of[ranks[0]])
            yield Finding(
                "illegal",
                f"rank {who} joins switch channels of {len(ranks)} ranks in buffers {' '.join(of[who]) or 'none'}, and "
                f"rank {ranks[0]} in {' '.join(of[ranks[0]]) or 'none'}: setting them up never ends",
                who,
            )
    yield from _find_crossed(plan)


def _find_crossed(plan: ExecutionPlan) -> Iterator[Finding]:
    """Yield ranks that set up connections in different orders."""
    order = [[tuple(sorted(one.ranks)) for one in gpu.groups] for gpu in plan.gpus]
    for rank, mine in enumerate(order):
        for other in range(rank):
            both = [[one for one in line if {rank, other} <= set(one)] for line in (mine, order[other])]
            if both[0] != both[1] and sorted(both[0]) == sorted(both[1]):
                yield Finding("illegal", f"ranks {other} and {rank} set up switch channels in different orders", rank)
                return


def _numbers(op: Operation, gpu: Gpu) -> Iterator[str]:
    """Yield what an operation has too many of."""
    if not op.blocks and max(map(len, (op.channels, op.sources, op.targets, op.semaphores))) < 2:
        return
    rows = (
        ("channels", len(op.channels), EXECUTOR.channels_per_operation),
        ("operands", max(len(op.sources), len(op.targets)), EXECUTOR.operands),
        ("semaphores", len(op.semaphores), EXECUTOR.semaphores_per_operation),
        ("threadblocks at a barrier", op.blocks, len(gpu.threadblocks)),
    )
    yield from (
        f"{op.name} has {number} {what}; there is room for {most}" for what, number, most in rows if number > most
    )
    if len(set(op.semaphores)) < len(op.semaphores) or len(set(op.channels)) < len(op.channels):
        yield f"{op.name} names a semaphore or channel twice"
    if op.name == "barrier" and op.barrier >= EXECUTOR.barriers:
        yield f"barrier {op.barrier}; there are {EXECUTOR.barriers}"


def _of_transfer(op: Operation) -> Iterator[str]:
    name, port = op.name, op.channel_type == "port"
    if op.channel_type not in {"memory", "port"}:
        yield f"{name} needs channel_type memory or port"
    if name == "get" and port:
        yield "get works on memory channels alone"
    if name in {"pws", "pwsf"} and not port:
        yield f"{name} on a memory channel never signals; use put, nop and signal"
    if name != "rppkt" and len(op.sources) != len(op.targets):
        yield f"{name} has {len(op.sources)} sources and {len(op.targets)} targets"
    if port and len(op.channels) < len(op.targets):
        yield f"{name} has {len(op.targets)} targets and names {len(op.channels)} channels"
    if name == "ppkt" and port and any(one.buffer != "s" for one in op.sources):
        yield "ppkt on a port channel takes what is in its source for packets, which are in scratch alone"
    if not port and name in {"put", "ppkt"} and len({one.buffer for one in op.sources}) > 1:
        yield f"{name} on a memory channel reads all sources from the buffer of the first"


def warnings(plan: ExecutionPlan) -> Iterator[str]:
    """Yield what works but is likely not meant."""
    for rank, gpu in enumerate(plan.gpus):
        for number, block in enumerate(gpu.threadblocks):
            where = f"rank {rank}, threadblock {number}"
            for op in block.operations:
                for one in (op, *op.inner):
                    if one.name == "flush" and len(one.targets) < len(one.channels):
                        yield f"{where}: flush does nothing: the executor counts its dst_buff; pwsf flushes"
                    if one.name == "get" and any(
                        a.index != b.index for a, b in zip(one.sources, one.targets, strict=False)
                    ):
                        yield f"{where}: get exchanges the indices of source and target"
                    if one.name == "ppkt" and one.channel_type == "port":
                        yield f"{where}: ppkt on a port channel finds its source in the first plan of a process alone"
        if rank in gpu.channels["memory"] or rank in gpu.channels["port"]:
            yield f"rank {rank} has a channel to itself, which does nothing"
    yield from _of_switches(plan)
    if plan.max_size is None:
        yield f"no max_message_size: calls that need a buffer of more than {EXECUTOR.buffer_bytes} bytes go wrong"
    if plan.reuse:
        yield "reuse_resources: larger calls go round in scratch, which is not executed here"
    if plan.double_scratch and plan.protocol != "LL":
        yield "a double scratch buffer is for packets; other puts into scratch go to its first half"


def _of_switches(plan: ExecutionPlan) -> Iterator[str]:
    if any(gpu.groups for gpu in plan.gpus):
        yield (
            "switch channels need GPUs of sm_90 or later (before, their operations are skipped in silence), and "
            "buffers that a multicast can be bound to, such as GpuBuffer's, in allocations of one size on all ranks"
        )
