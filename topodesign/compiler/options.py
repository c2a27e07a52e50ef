"""Compile options, each defined once; back ends name those they accept.

To add an option of a back end, write it here in a group of its own and name it in the ``takes`` of the back end: the
keyword of :func:`topodesign.compile_plan`, the field of :class:`~topodesign.compiler.backends.backend.Options` and the
flag of ``topodesign compile`` follow.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, get_args

from topodesign.base.options import Amount, Choice, Flag, Kind, Option, PathOf, WholeKind, collect_options
from topodesign.base.units import Quantity, as_bandwidth, as_size, as_time
from topodesign.fabrics.options import LEFT, GroupOptions

if TYPE_CHECKING:
    from topodesign.fabrics.part import Some
    from topodesign.runtime.msccl.profiles import RuntimeProfile


Protocol = Literal["Simple", "LL", "LL128"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)

Threadblocks = Literal["auto", "merged", "separate"]
"""Whether what sends and what receives share threadblocks: as far as that costs no time, wherever it can be, or not."""
THREADBLOCKS: tuple[Threadblocks, ...] = get_args(Threadblocks)


def _smallest(size: Any) -> int:
    return math.ceil(as_size(size)) if size else 0


def _largest(size: Any) -> int:
    return math.floor(as_size(size))


class _Sizes(Kind):
    """Sizes of calls, one or several: whole numbers of bytes."""

    def read(self, name: str, value: Any) -> tuple[Fraction, ...]:
        """Return the sizes."""
        del name
        some = () if value is None else value if isinstance(value, list | tuple) else (value,)
        return tuple(as_size(one) for one in some)


RUNTIME = Option(
    "Whose limits and rules the program has to keep; without it those of the first runtime of the target, "
    "msccl for msccl. msccl-executor is built for 64 steps per threadblock by default; msccl-executor-256 is a "
    "build of it with MSCCL_MAX_NUM_STEPS=256.",
    metavar="NAME",
)
DTYPE = Option(
    "Type of the elements of --size or of a workload: float32, bfloat16, float64, int8 and so on. What serves one type "
    "serves all narrower ones.",
    default="float32",
    metavar="NAME",
)


class ProgramOptions(TypedDict, total=False):
    """Options of all targets."""

    runtime: Annotated[
        "str | RuntimeProfile | None",
        RUNTIME,
    ]
    protocol: Annotated[
        Protocol,
        Option("Wire protocol: Simple for large messages, LL and LL128 for small ones.", Choice(PROTOCOLS), "Simple"),
    ]
    inplace: Annotated[
        bool | None,
        Option(
            "Which calls the program is for. Without it those that frameworks make: in place of allreduce, broadcast "
            "and reduce, as torch.distributed does, out of place of all others.",
            Flag(other="out-of-place"),
        ),
    ]
    channels: Annotated[
        int,
        Option(
            "Split every chunk over so many channels; of trees, share them out among so many.", WholeKind(1), 1, "N"
        ),
    ]
    parts: Annotated[
        int, Option("Of trees: parts of the data of a tree that follow one another.", WholeKind(1), 1, "N")
    ]
    name: Annotated[
        str | None,
        Option("What the runtime's log calls it; without it made of the collective and the spec.", metavar="NAME"),
    ]


class CallOptions(TypedDict, total=False):
    """Call options of runtimes that choose programs by size."""

    size: Annotated[
        "Quantity | Sequence[Quantity] | None",
        Option(
            "A call that the program is for, such as 64MiB of the collective's whole data; may be repeated. A runtime "
            "uses a program for multiples of its chunks alone: with --size there are as many chunks as divide all of "
            "these calls with the least loss, and the cost of that is printed. Of --target chakra the one call that "
            "traces are for, 1MiB without it.",
            _Sizes(),
            default=(),
            metavar="SIZE",
            many=True,
        ),
    ]

    threadblocks: Annotated[
        Threadblocks,
        Option(
            "Whether what sends and what receives share threadblocks: auto as far as both go on at full speed; "
            "merged wherever it can be, with the fewest threadblocks, but large messages one way at a time; separate "
            "not unless there are too many. None takes more instructions than another.",
            Choice(THREADBLOCKS),
            "auto",
        ),
    ]
    min_size: Annotated[
        Quantity,
        Option(
            "Smallest call that the runtime uses the program for, such as 1MiB of the collective's whole data.",
            Amount(_smallest),
            0,
            "SIZE",
        ),
    ]
    dtype: Annotated[str, DTYPE]
    max_size: Annotated[
        Quantity | None,
        Option(
            "Largest call that the runtime uses the program for, itself included; a built-in algorithm runs larger "
            "ones. Without it there is none, but for msccl, which takes scratch memory for the largest call when a "
            "communicator starts: there it is the largest power of two up to 4 GiB for which no rank takes more than "
            "1 GiB, if the program has scratch.",
            Amount(_largest),
            metavar="SIZE",
        ),
    ]


class ChakraOptions(TypedDict, total=False):
    """Options of simulator traces of one call."""

    alpha: Annotated[
        Quantity | None,
        Option(
            "Latency of a link in the simulator; 10us without it.", Amount(partial(as_time, latency=True)), None, "TIME"
        ),
    ]
    bandwidth: Annotated[
        Quantity | None,
        Option(
            "Bandwidth of all links of a node together in the simulator; 100Gbps without it.",
            Amount(as_bandwidth),
            metavar="RATE",
        ),
    ]


class MscclppOptions(TypedDict, total=False):
    """Options of targets with other channels between boxes than inside."""

    box: Annotated[
        int | None,
        Option(
            "Ranks of a box, which have consecutive numbers; memory channels are inside a box, port channels between "
            "boxes. Without it the names of a fabric's nodes tell, such as box0/gpu3, and else all are in one box.",
            WholeKind(1),
            metavar="N",
        ),
    ]


class LibraryOptions(GroupOptions, total=False):
    """Options of a library: wiring, groups, roots, elements and times."""

    without: Annotated["Some", LEFT]
    roots: Annotated[
        "Some",
        Option(
            "Roots of rooted collectives: names or patterns with commas between; may be repeated. Without it the first "
            "node, of groups their first member.",
            default=(),
            metavar="NODES",
            many=True,
            flags=("--root",),
        ),
    ]
    alpha: Annotated[
        Quantity,
        Option("Latency of a step; 'topodesign run' measures it, and prints it so.", default="10us", metavar="TIME"),
    ]
    bandwidth: Annotated[
        Quantity | None,
        Option("Bandwidth of a node over all its links (100Gbps); fabrics have their own.", metavar="RATE"),
    ]
    measured: Annotated[
        str | Path | None,
        Option(
            "Measured times (collective,method,size,time), which choose in place of the model where they are: of "
            "collectives among all nodes, from the given root. The method built-in is what the runtime does "
            "without a program.",
            PathOf("file"),
            metavar="CSV",
        ),
    ]
    dtype: Annotated[str, DTYPE]
    runtime: Annotated["str | None", RUNTIME]


class CompileOptions(ProgramOptions, CallOptions, ChakraOptions, MscclppOptions, total=False):
    """All options of :func:`topodesign.compile_plan` except plan and target."""


EVERYONES = frozenset(collect_options(ProgramOptions))
"""Options that every back end takes: the front ends see to them, or the back end says by itself what it cannot do."""
