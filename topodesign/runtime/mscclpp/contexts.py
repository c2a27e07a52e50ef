"""What the executor of each rank sets up for the calls of a plan, in bytes: scratch memory, and where its halves begin.

Every rank reckons for itself, from its own scratch chunks and from the allocation that its own input lies in
(``execution_plan.cc``, ``calScratchBufferSize``; ``executor.cc``, ``setupScratchBuffer`` and ``launchKernelHelper``).
With a double scratch buffer a launch of even number, counted from one, adds half of that size to addresses in scratch:
of this rank, and of the others to which it puts packets. So packets land where their receiver looks only where the
halves of both are as large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from topodesign.base.errors import ParameterError
from topodesign.runtime.mscclpp.parse import ExecutionPlan, Gpu

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
    """Return what a rank sets up for inputs of so many bytes.

    With ``reuse_resources`` all ranks have scratch of one size, for all plans together: the largest stands for it here.
    """
    chunks = max(one.scratch for one in plan.gpus) if plan.reuse else gpu.scratch
    scratch = -(-size // gpu.inputs) * chunks * (1 + (plan.protocol == "LL")) * (1 + plan.double_scratch)
    scratch = -(-scratch // plan.alignment) * plan.alignment
    return Context(scratch, scratch // 2 if plan.double_scratch else 0)


def contexts(plan: ExecutionPlan, chunk: int, allocations: Sequence[int] | None = None) -> tuple[Context, ...]:
    """Return what all ranks set up for a call with chunks of so many bytes.

    ``allocations`` are the bytes that the input of each rank lies in; None stands for the input and no more.
    """
    inputs = [gpu.inputs * chunk for gpu in plan.gpus]
    given = inputs if allocations is None else list(allocations)
    if len(given) != len(inputs) or any(one < least for one, least in zip(given, inputs, strict=True)):
        raise ParameterError(
            f"allocations must be {len(inputs)} numbers of bytes, of {inputs[0]} or more each, as the inputs in them"
        )
    if plan.max_size is not None:
        given = [max(least, min(one, plan.max_size)) for one, least in zip(given, inputs, strict=True)]
    return tuple(context(plan, gpu, one) for gpu, one in zip(plan.gpus, given, strict=True))


def allocation_multiple(plan: ExecutionPlan) -> int:
    """Return what the sizes of allocations have to be multiples of for every second half to begin where a packet may.

    What lies in an allocation is cut into as many chunks as the input has, and a part of a byte counts as one.
    """
    if plan.reuse or not plan.double_scratch or plan.alignment % (2 * PACKET) == 0:
        return 1
    wide = 1 + (plan.protocol == "LL")
    multiples = [PACKET // math.gcd(PACKET, gpu.scratch * wide) for gpu in plan.gpus]
    return (
        1 if set(multiples) == {1} else math.lcm(*(m * gpu.inputs for m, gpu in zip(multiples, plan.gpus, strict=True)))
    )


def addressed(plan: ExecutionPlan, most: int) -> int:
    """Return how many bytes a buffer of a rank has at most, of calls and in allocations of up to ``most`` bytes.

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
