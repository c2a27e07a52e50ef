"""Scheduling options in groups, besides network, collective and method.

A method names those that it understands in its ``METHOD``; others are refused with the names of methods that do. To add
one, write it here and name it there: the keyword of :func:`topodesign.schedule`, the field of
:class:`~topodesign.schedulers.method.Request`, the flag of the commands and what they say of it follow.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

from topodesign.base.arguments import MAX_SEED
from topodesign.base.options import Amount, Flag, Option, PathOf, Span, WholeKind, collect_options
from topodesign.base.units import Quantity, as_bandwidth, as_size, as_time
from topodesign.fabrics.options import READY, PlaceOptions

if TYPE_CHECKING:
    from topodesign.fabrics.node_values import Ready, Shards
    from topodesign.fabrics.traffic import Traffic
    from topodesign.topology.link_table import LinkTable


class ShapeOptions(TypedDict, total=False):
    """Options for the shape of the plan."""

    chunks: Annotated[
        int | Literal["auto"] | None,
        Option(
            "Maximum units per shard.  [default: fewest without loss]. For --algorithm tacos: exact number, or auto.",
            WholeKind(1, 2**31 - 1, word="auto"),
            metavar="P",
        ),
    ]
    steps: Annotated[
        int | None,
        Option(
            "Communication steps, for all-to-all, scatter and gather, and for exact; without it as few as can be.",
            WholeKind(0, 2**20),
            metavar="T",
        ),
    ]
    root: Annotated[
        str | int | None, Option("Where a rooted collective starts or ends; one for each group.", metavar="NODE")
    ]
    fixed_k: Annotated[
        int | None,
        Option(
            "Exactly K trees per root (per unit of --shards); without it as few as reach the optimum.",
            WholeKind(1, 10**6),
            metavar="K",
        ),
    ]
    by_ranks: Annotated[
        bool,
        Option(
            "No switch copies or adds, so that ranks alone can run it: for auto, forest, one-shot and two-level.",
            Flag(),
            default=False,
        ),
    ]
    shards: Annotated[
        "Shards | None",
        Option(
            "Relative shard sizes: 2,1,1,... for the nodes in their order, or NODE=SIZE,... with names or patterns, or "
            "a .csv file with the columns node,size; nodes that are not named have 1. Of an all-to-all the traffic: a "
            ".csv file (src,dst,amount) or a distribution such as zipf:1.2, as for --traffic of 'topodesign evaluate'.",
            metavar="SIZES",
        ),
    ]


class TimeOptions(TypedDict, total=False):
    """Options for the sizes, links and times of the plan."""

    traffic: Annotated[
        "Traffic | str | Iterable[Traffic | str] | None",
        Option(
            "Several collectives at the same time, in timed sends: who does which with how much data from when on, as "
            "in '0,1,2,3=allgather@64MiB', '4x4:0=all-to-all@1MiB+20us' or '*=broadcast:2'. May be repeated.",
            metavar="GROUP=COLLECTIVE:ROOT@SIZE+TIME",
            many=True,
        ),
    ]
    link_table: Annotated[
        "LinkTable | str | Path | None",
        Option(
            "Make it fastest for links of unequal latency and bandwidth (src,dst,alpha,bandwidth) and --size.",
            PathOf("file"),
            metavar="CSV",
        ),
    ]
    size: Annotated[
        Quantity,
        Option(
            "Data size that --link-table and timed sends are for; if given, auto makes an allreduce for it.",
            Amount(as_size),
            default="1MiB",
            metavar="SIZE",
        ),
    ]
    alpha: Annotated[
        Quantity | None,
        Option(
            "Latency of a link (10us), or 'fabric' for its own.",
            Amount(partial(as_time, latency=True), word="fabric"),
            metavar="TIME",
        ),
    ]
    bandwidth: Annotated[
        Quantity | None,
        Option(
            "Bandwidth of a node over all its links (100Gbps); fabrics have their own.",
            Amount(as_bandwidth),
            metavar="RATE",
        ),
    ]
    overlap: Annotated[
        bool,
        Option("A link is free as soon as it has transmitted; else when all data have arrived.", Flag(), default=False),
    ]
    tick: Annotated[
        Quantity | None,
        Option("Length of a step of time, to which times are rounded up; else exact.", Span(), metavar="TIME"),
    ]
    ready: Annotated["Ready | None", READY]


class SearchOptions(TypedDict, total=False):
    """Options for the search."""

    symmetric: Annotated[
        bool | None,
        Option(
            "Make the sends of a few nodes, and copy them to all others by a group that keeps all links; by default "
            "where that is better on large networks.",
            Flag(other="no-symmetric"),
        ),
    ]
    seed: Annotated[int | None, Option("Settles what is drawn by chance.", WholeKind(0, MAX_SEED), metavar="S")]
    tries: Annotated[int | None, Option("Seeds that the best is taken of.", WholeKind(1, 10**6), metavar="N")]
    time_limit: Annotated[
        Quantity | None, Option("Time, of work, after which a search ends with what it has.", Span(), metavar="TIME")
    ]
    jobs: Annotated[int | None, Option("Processes that search at the same time.", WholeKind(1, 1024), metavar="N")]


class ScheduleOptions(ShapeOptions, PlaceOptions, TimeOptions, SearchOptions, total=False):
    """Options of :func:`topodesign.schedule` besides its other arguments."""


OPTIONS = collect_options(ScheduleOptions)  # all of them by name
EVERYONES = frozenset({"others", "size"})  # those that any method may be given, since they say what another one means
