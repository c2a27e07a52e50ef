"""Calls of collectives, and whether a runtime uses a program for them.

A runtime that has a program for a collective uses it for calls of some sizes only, and takes a built-in algorithm for
all others without a word. Which sizes these are follows from the program: between its limits, and a multiple of its
chunks in elements (MSCCL) or of its chunks times an alignment in bytes (MSCCL++). Sizes are bytes of the collective's
whole data: of the output of an allgather and the input of a reduce-scatter, of all ranks together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from topodesign.base.arguments import as_path
from topodesign.base.declared import Declared, Keys
from topodesign.base.errors import ParameterError
from topodesign.base.records import Result
from topodesign.base.text_files import naming, read_bytes
from topodesign.base.units import parse_size
from topodesign.base.wording import suggest, with_article
from topodesign.collectives import COLLECTIVES, Collective, as_collective
from topodesign.runtime.msccl.parse import Program, parse_xml, read_text
from topodesign.runtime.msccl.profiles import RuntimeProfile, get_profile
from topodesign.runtime.mscclpp.parse import ExecutionPlan, parse_plan

_LARGEST_PROGRAM = 2**27
_WIDTH = 4  # bytes of an element, by default

DTYPES = MappingProxyType(
    {
        **dict.fromkeys(("float32", "fp32", "float", "int32", "uint32"), 4),
        **dict.fromkeys(("bfloat16", "bf16", "float16", "fp16", "half"), 2),
        **dict.fromkeys(("float64", "fp64", "double", "int64", "uint64"), 8),
        **dict.fromkeys(("int8", "uint8", "fp8", "float8_e4m3", "float8_e5m2"), 1),
    }
)
"""Bytes of an element, by the names that frameworks have for its type."""


def width_of(dtype: str) -> int:
    """Return the bytes of an element of a type.

    Examples
    --------
    >>> width_of("bf16")
    2
    """
    if not isinstance(dtype, str) or dtype.lower() not in DTYPES:
        raise ParameterError(f"unknown data type {dtype!r:.40}; {suggest(str(dtype), DTYPES)}")
    return DTYPES[dtype.lower()]


def shares_of(collective: Collective, ranks: int) -> int:
    """Return the equal parts of the data per rank; 1 if all have all."""
    ends = {collective.movements[0].source, collective.movements[-1].destination}
    return ranks if "each" in ends else 1


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a collective, as a framework makes it.

    * ``collective``: in small letters without hyphens, as logs have it; empty where that is not known.
    * ``size``: bytes of the whole data; None where they are not known.
    * ``ranks``: of the communicator; None where they are not known.
    * ``inplace``: whether input and output share memory; None where that is not known.
    * ``width``: bytes of an element; None where they are not known.
    """

    collective: str
    size: int | None
    ranks: int | None = None
    inplace: bool | None = None
    width: int | None = None


def parse_call(text: str) -> Call:
    """Read ``COLLECTIVE:SIZE[:TYPE][:in-place|:out-of-place]``.

    Raises
    ------
    ParameterError, UnitError
        If a part cannot be read.

    Examples
    --------
    >>> parse_call("allreduce:64MiB:bf16")
    Call(collective='allreduce', size=67108864, ranks=None, inplace=None, width=2)
    """
    name, *rest = (word.strip() for word in str(text).split(":"))
    if not rest:
        raise ParameterError(f"{text!r:.60} is not a call; write COLLECTIVE:SIZE:TYPE, such as allreduce:64MiB:bf16")
    collective = as_collective(name).name.replace("-", "")
    size = parse_size(rest.pop(0))
    if size.denominator != 1 or size < 1:
        raise ParameterError(f"the size of {text!r:.60} is not a whole number of bytes above 0")
    inplace = width = None
    for word in rest:
        if word in {"in-place", "out-of-place"} and inplace is None:
            inplace = word == "in-place"
        elif width is None:
            width = width_of(word)
        else:
            raise ParameterError(f"{word!r:.40} of {text!r:.60} is repeated or unknown; a call has one type")
    return Call(collective, int(size), None, inplace, width)


@dataclass(frozen=True)
class About(Declared):
    """What a program is for: the calls that a runtime uses it for, and the ranks that send."""

    name: str  # what it calls itself
    collective: str  # what it does, in small letters without hyphens
    ranks: int | None  # for how many; null if not specified
    inplace: bool  # whether it serves calls in place
    outofplace: bool  # whether it serves calls out of place
    _: KW_ONLY
    chunks: int | None = None  # a call has a multiple of so many elements; null where bytes alone count
    smallest: int = 0  # bytes of the whole data of the smallest call
    largest: int | None = None  # bytes of the largest; null without a limit
    multiple: int = 1  # a call has a multiple of so many bytes
    pairs: frozenset[tuple[int, int]] = frozenset()  # ranks that send to others, or have a channel to them
    runtime: str = ""  # whose rule it is

    KEYS: ClassVar[Keys] = "name collective ranks chunks inplace outofplace smallest largest multiple"

    def describe_sizes(self) -> str:
        """Describe the sizes: a byte range, and a multiple.

        Examples
        --------
        >>> About("p", "allreduce", 96, True, False, chunks=384).describe_sizes()
        'of any size in multiples of 384 elements (1536 bytes of float32, 768 of bfloat16)'
        """
        if self.largest is None:
            text = "of any size" if self.smallest <= 1 else f"from {self.smallest} bytes on"
        else:
            text = f"from {max(1, self.smallest)} to {self.largest} bytes"
        elements = self.chunks or 1
        if elements > 1:
            text += (
                f" in multiples of {elements} elements ({4 * elements} bytes of float32, {2 * elements} of bfloat16)"
            )
        return text if self.multiple == 1 else f"{text} in multiples of {self.multiple} bytes"

    def reasons(self, call: Call) -> Iterator[str]:
        """Yield why a runtime does not use the program, plainest reason first."""
        collective, _, more = call.collective.partition(" ")
        if collective and collective != self.collective:
            yield f"it is {with_article(self.collective)}"
        if more:
            yield "programs add, multiply, or take the smaller or larger"
        if call.ranks is not None and self.ranks is not None and call.ranks != self.ranks:
            yield f"it is for {self.ranks} ranks, and these are {call.ranks}"
        if call.inplace is not None and not (self.inplace if call.inplace else self.outofplace):
            yield f"it is for calls {'out of' if call.inplace else 'in'} place"
        if call.size is not None:
            if call.size < self.smallest:
                yield f"it is for {self.smallest} bytes and more"
            if self.largest is not None and call.size > self.largest:
                yield f"it is for at most {self.largest} bytes"
            yield from self._uncut(call.size, call.width)

    def _uncut(self, size: int, width: int | None) -> Iterator[str]:
        """Yield why bytes do not divide into the program's chunks."""
        if width and size % (self.shares * width):
            each = f" for each of {self.shares} ranks" if self.shares > 1 else ""
            yield f"{size} bytes are no whole number of elements of {width} bytes{each}"
        elif width and self.chunks and size // width % self.chunks:
            why = f"its {size // width} elements are no multiple of the {self.chunks} chunks of the program"
            yield f"{why}; compile with --size"
        elif self.chunks and size % self.chunks:
            yield f"the bytes are no multiple of its {self.chunks} chunks"
        if size % self.multiple:
            yield f"the bytes are no multiple of {self.multiple}"

    @property
    def shares(self) -> int:
        """Equal parts of the data per rank; 1 if all have all, or unknown."""
        known = {name.replace("-", ""): one for name, one in COLLECTIVES.items()}.get(self.collective)
        return 1 if known is None or self.ranks is None else shares_of(known, self.ranks)

    def step(self, width: int) -> int:
        """Return the byte multiple of calls for an element size."""
        return math.lcm(self.multiple, (self.chunks or 1) * width, self.shares * width)

    def nearest(self, call: Call) -> tuple[int | None, int | None]:
        """Return the nearest served calls in bytes, below and above.

        None stands for none. The elements are those of the call, of 4 bytes where it does not say.
        """
        if call.size is None:
            return None, None
        step = self.step(call.width or _WIDTH)
        least = -(-max(1, self.smallest) // step) * step
        most = None if self.largest is None else self.largest // step * step
        above = max(least, -(-call.size // step) * step)
        below = call.size // step * step if most is None else min(most, call.size // step * step)
        return (below if below >= least else None), (above if most is None or above <= most else None)


@dataclass(frozen=True, repr=False)
class CallCheck(Result):
    """The answer whether a runtime uses a program for a call."""

    program: About  # what the program is for
    call: str  # the call as it was asked about
    size: int  # bytes of its whole data
    reasons: tuple[str, ...]  # why a built-in algorithm runs it instead; none if the program does
    below: int | None  # bytes of the next smaller call that the program serves, or of this one; null if there is none
    above: int | None  # bytes of the next larger one, or of this one; null as above
    runtime: str  # whose rule decides
    assumed: bool  # whether that is the runtime for which the file looks made, as none was given

    KEYS = "ok program call size reasons below above runtime assumed"

    @property
    def ok(self) -> bool:
        """Whether the program serves the call."""
        return not self.reasons

    def heading(self) -> str:
        """Return the verdict in a sentence."""
        what = "serves" if self.ok else "does not serve"
        by = f"by the rule of {self.runtime}{' (assumed; --runtime sets it)' if self.assumed else ''}"
        return f"{self.program.name or 'the program'} {what} {self.call}, {by}"

    def __str__(self) -> str:
        lines = [self.heading(), *(f"  {reason}" for reason in self.reasons)]
        lines.append(f"  it serves calls {self.program.describe_sizes()}")
        if not self.ok and self.size not in {self.below, self.above}:
            near = [f"{size} bytes" for size in (self.below, self.above) if size is not None]
            lines.append(f"  nearest sizes that it serves: {' and '.join(near) or 'none'}")
        return "\n".join(lines)


def check_call(program: str | Path, call: str, runtime: str | RuntimeProfile | None = None) -> CallCheck:
    """Check whether a runtime will use a program for a call.

    Parameters
    ----------
    program
        MSCCL XML, or a plan of MSCCL++.
    call
        ``COLLECTIVE:SIZE[:TYPE][:in-place|:out-of-place]``, as :func:`parse_call` reads it; elements of 4 bytes
        without a type.
    runtime
        Whose rule holds for MSCCL XML: ``msccl`` takes calls below ``maxBytes``, the others also of ``maxBytes``.
        Without it that of ``msccl`` if the file has its words, otherwise that of the others.

    Raises
    ------
    FileFormatError
        If the file is no program.
    ParameterError, UnitError
        If the call or the runtime is not known.

    Examples
    --------
    >>> from topodesign import compile_plan, schedule
    >>> _ = compile_plan(schedule("circulant(12,2,3)")).save("ar.xml")
    >>> print(check_call("ar.xml", "allreduce:1MiB:bf16"))
    topodesign-allreduce-circulant(12,2,3) does not serve allreduce:1MiB:bf16, by the rule of msccl-executor-256 ...
      its 524288 elements are no multiple of the 48 chunks of the program; compile with --size
      it serves calls of any size in multiples of 48 elements (192 bytes of float32, 96 of bfloat16)
      nearest sizes that it serves: 1048512 bytes and 1048608 bytes
    """
    asked = parse_call(call)
    asked = asked if asked.width else replace(asked, width=_WIDTH)
    about = about_program(as_path(program), runtime)
    below, above = about.nearest(asked)
    reasons, assumed = tuple(about.reasons(asked)), runtime is None and about.runtime != "mscclpp"
    return CallCheck(about, call, asked.size or 0, reasons, below, above, about.runtime, assumed)


def about_program(path: Path, runtime: str | RuntimeProfile | None = None) -> About:
    """Return the purpose of a program: MSCCL XML or an MSCCL++ plan.

    Raises
    ------
    FileFormatError
        If the file cannot be read, or is no program.
    """
    with naming(path):
        content = read_bytes(path, _LARGEST_PROGRAM)
        if content.lstrip().startswith(b"{"):
            return about_plan(parse_plan(path))
        text = read_text(path)
        own = "msccl" if 'coll="reduce_scatter"' in text else "msccl-executor-256"  # the others write reducescatter
        profile = get_profile(runtime or own)
        return about_xml(parse_xml(text, profile), profile)


def about_xml(program: Program, profile: RuntimeProfile) -> About:
    """Return what a parsed MSCCL program is for on a runtime."""
    return About(
        name=program.name,
        collective=program.collective.name.replace("-", ""),
        ranks=len(program.gpus),
        chunks=program.nchunksperloop,
        inplace=program.inplace,
        outofplace=program.outofplace,
        smallest=program.min_bytes,
        largest=profile.largest_call(program.max_bytes),
        runtime=profile.name,
        pairs=frozenset((gpu.id, tb.send) for gpu in program.gpus for tb in gpu.threadblocks if tb.send >= 0),
    )


def about_plan(plan: ExecutionPlan) -> About:
    """Return what a parsed plan of MSCCL++ is for."""
    ends = ((rank, peer) for rank, gpu in enumerate(plan.gpus) for some in gpu.channels.values() for peer in some)
    return About(
        name=plan.name,
        collective=plan.collective.lower().replace("-", "").replace("_", ""),
        ranks=len(plan.gpus),
        inplace=plan.inplace,
        outofplace=not plan.inplace,
        smallest=plan.min_size,
        largest=plan.max_size,
        multiple=plan.chunks * plan.alignment,
        runtime="mscclpp",
        pairs=frozenset(pair for pair in ends if pair[1] >= 0),
    )
