"""Options and output shared by several commands."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from topodesign import collectives
from topodesign.base.arguments import MOST_SEED
from topodesign.base.fitted import columns_of, fitted
from topodesign.base.records import Result
from topodesign.base.tables import write_csv
from topodesign.cli.answers import CSV, flat
from topodesign.runtime.msccl.profiles import PROFILES
from topodesign.schedulers import SCHEDULERS

if TYPE_CHECKING:
    from topodesign.collectives import Collective

_UNTIL_BAR = 0.5
"""Seconds that something may take before a terminal shows how far it is."""
_UNTIL_ESTIMATE = 2.0
"""Seconds after which an estimate is said elsewhere."""
_WORTH_SAYING = 30.0
"""Seconds that must be left for that."""
_Command = TypeVar("_Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on standard output.")
csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values with a header line.")
jobs_option = click.option(
    "--jobs",
    "--processes",  # as one command had it
    "jobs",
    type=click.IntRange(1, 256),
    metavar="J",
    help="Processes to use.  [default: one per core]",
)
catalog_option = click.option(
    "--catalog",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Look into another catalog than the one that TOPODESIGN_CATALOG names or the package came with.",
)


class _CollectiveChoice(click.ParamType["Collective"]):
    """A collective by its name."""

    name = "collective"

    def __init__(self, names: Sequence[str]) -> None:
        self.choice = click.Choice(names)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """Return the names."""
        return self.choice.get_metavar(param, ctx)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Collective:
        """Return the collective."""
        return collectives.as_collective(self.choice.convert(value, param, ctx) if isinstance(value, str) else value)


class _Chunks(click.ParamType["int | str"]):
    """A number of units, or ``auto``."""

    name = "chunks"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return it."""
        return "auto" if value == "auto" else click.IntRange(1, 2**31 - 1).convert(value, param, ctx)


COLLECTIVES = _CollectiveChoice(list(collectives.COLLECTIVES))
collective_option = click.option(
    "--collective", type=COLLECTIVES, default="allreduce", show_default=True, help="What to schedule."
)
without_option = click.option(
    "--without",
    multiple=True,
    metavar="A-B",
    help="A link that is down in both directions, A>B for one, or the name of a node or switch; may be repeated.",
)
alpha_option = click.option(
    "--alpha", default="10us", show_default=True, metavar="TIME", help="Latency of one communication step."
)
own_alpha_option = click.option(
    "--alpha",
    default="10us",
    show_default=True,
    metavar="TIME",
    help="Latency of one communication step; 'fabric' for what the fabric says of each link.",
)
bandwidth_option = click.option(
    "--bandwidth",
    default="100Gbps",
    show_default=True,
    metavar="RATE",
    help="Egress bandwidth of a node over all its links, such as 100Gbps, 12.5GB/s or 4x25Gbps.",
)
runtime_option = click.option(
    "--runtime",
    type=click.Choice(list(PROFILES)),
    default="msccl",
    show_default=True,
    help="Whose limits and rules an XML program has to keep; msccl-executor-256 is a build of msccl-executor with "
    "MSCCL_MAX_NUM_STEPS=256 instead of 64.",
)


def method_options(function: _Command) -> _Command:
    """Add ``--method``, and ``--chunks`` and ``--steps``, which belong to some methods, to a command."""
    for option in (
        click.option(
            "--steps",
            type=click.IntRange(1, 2**20),
            metavar="T",
            help="Communication steps, for all-to-all, scatter and gather, and for exact; without it as few as can be.",
        ),
        click.option(
            "--chunks",
            type=_Chunks(),
            metavar="P",
            help="Units per shard at most; without it as few as lose nothing. Of --method tacos so many, or auto: as "
            "many as are fastest.",
        ),
        click.option(
            "--method",
            type=click.Choice(["auto", *SCHEDULERS]),
            default="auto",
            show_default=True,
            metavar="NAME",
            help="How; 'topodesign methods' lists the names, and compares them on a place.",
        ),
    ):
        function = option(function)
    return function


def timed_options(function: _Command) -> _Command:
    """Add what belongs to methods that make timed sends, and to searches, to a command."""
    for option in (
        click.option(
            "--jobs", type=click.IntRange(1, 1024), metavar="N", help="Processes that search at the same time."
        ),
        click.option("--time-limit", metavar="TIME", help="Time, of work, after which a search ends with what it has."),
        click.option("--tries", type=click.IntRange(1, 10**6), metavar="N", help="Seeds that the best is taken of."),
        click.option("--seed", type=click.IntRange(0, MOST_SEED), metavar="S", help="Settles what is drawn by chance."),
        click.option(
            "--symmetric/--no-symmetric",
            default=None,
            help="Make the sends of a few nodes, and copy them to all others by a group that keeps all links; by "
            "default where that is better on large networks.",
        ),
        click.option(
            "--ready",
            metavar="TIMES",
            help="When nodes are ready that are not from the start: NODE=TIME,... with names or patterns, times for "
            "the nodes in their order, or a .csv file with the columns node,ready.",
        ),
        click.option(
            "--window",
            type=click.IntRange(1, 10**6),
            metavar="STEPS",
            help="Steps of each program of tacos-ilp, which then follow one another; else it is one for all.",
        ),
        click.option(
            "--unwind",
            metavar="D",
            help="Links in place of switches: D out of each neighbour, all, or ring (both ways).",
        ),
        click.option(
            "--tick", metavar="TIME", help="Length of a step of time, to which times are rounded up; else exact."
        ),
        click.option(
            "--overlap",
            is_flag=True,
            help="A link is free as soon as it has transmitted; else when all data have arrived.",
        ),
        click.option("--bandwidth", metavar="RATE", help="Bandwidth of a node over all its links (100Gbps)."),
        click.option("--alpha", metavar="TIME", help="Latency of a link (10us), or 'fabric' for its own."),
    ):
        function = option(function)
    return function


traffic_option = click.option(
    "--traffic",
    multiple=True,
    metavar="GROUP=COLLECTIVE:ROOT@SIZE+TIME",
    help="Several collectives at the same time, in timed sends: who does which with how much data from when on, as in "
    "'0,1,2,3=allgather@64MiB', '4x4:0=all-to-all@1MiB+20us' or '*=broadcast:2'. May be repeated.",
)


def others_option(default: str) -> Callable[[_Command], _Command]:
    """Return ``--others`` with a default."""
    return click.option(
        "--others",
        type=click.Choice(["vanish", "forward"]),
        default=default,
        show_default=True,
        help="What nodes do that do not take part.",
    )


def part_options(function: _Command) -> _Command:
    """Add ``--only``, ``--others`` and ``--without``, which leave a part of a fabric, to a command."""
    for option in (
        without_option,
        others_option("vanish"),
        click.option(
            "--only",
            multiple=True,
            metavar="NODES",
            help="Nodes that take part: names or patterns such as 'box0/*', with commas between; may be repeated.",
        ),
    ):
        function = option(function)
    return function


def group_options(function: _Command) -> _Command:
    """Add ``--group`` and ``--placement`` to a command."""
    for option in (
        click.option(
            "--placement",
            metavar="NODES",
            help="On which nodes the ranks of a shape are: their names in the order of the ranks with commas between, "
            "or a .csv file with the columns rank,node; else in the order of the nodes.",
        ),
        click.option(
            "--group",
            multiple=True,
            metavar="NODES",
            help="Nodes that do it among themselves, several groups at the same time: names or patterns with commas "
            "between for each; a shape and axes, such as 8x16x4:0, for all equal groups along an axis of an array of "
            "ranks, the first axis fastest; or a .csv file with the columns node,group. May be repeated.",
        ),
    ):
        function = option(function)
    return function


def tree_options(function: _Command) -> _Command:
    """Add what there is to choose of collectives over trees: root, trees per root, shards and part of the fabric."""
    function = part_options(function)
    for option in (
        click.option(
            "--shards",
            metavar="SIZES",
            help="Relative shard sizes: 2,1,1,... for the nodes in their order, or NODE=SIZE,... with names or "
            "patterns, or a .csv file with the columns node,size; nodes that are not named have 1.",
        ),
        click.option(
            "--fixed-k",
            type=click.IntRange(1, 10**6),
            metavar="K",
            help="Exactly K trees per root (per unit of --shards); without it as few as reach the optimum.",
        ),
        click.option("--root", metavar="NODE", help="Where a rooted collective starts or ends; one for each group."),
    ):
        function = option(function)
    return function


def sizes_option(each: str = "column") -> Callable[[_Command], _Command]:
    """Return ``--size`` for several sizes, each of which gets a column, or whatever it is, of its own."""
    return click.option(
        "--size",
        "sizes",
        multiple=True,
        default=("1MiB",),
        show_default=True,
        metavar="SIZE",
        help=f"Data size, such as 1MiB or 100MB; give it several times for one {each} each.",
    )


def message_options(function: _Command) -> _Command:
    """Add ``--gap`` and ``--hop`` to a command; they count where ports are shared and where there are switches."""
    for name, what, usual in (
        ("--hop", "Time in a switch, beside alpha.", "300ns"),
        ("--gap", "Time between the starts of two messages at one port.", "200ns"),
    ):
        function = click.option(name, metavar="TIME", help=f"{what}  [default: {usual}]")(function)
    return function


def workload_options(function: _Command, alpha: Callable[[_Command], _Command] = alpha_option) -> _Command:
    """Add ``--alpha``, ``--size`` (several) and ``--bandwidth`` to a command."""
    for option in (
        bandwidth_option,
        sizes_option(),
        alpha,
    ):
        function = option(function)
    return function


def print_json(document: dict[str, Any], rows: Iterable[Mapping[str, Any]] | None = None) -> None:
    """Print one JSON document on standard output, with the name of its schema first; with ``--csv`` its rows.

    Parameters
    ----------
    document
        All that there is to say.
    rows
        What is a row of a table; without it the document is one, as :func:`topodesign.cli.answers.flat` says.
    """
    context = click.get_current_context()
    if context.meta.get(CSV):
        print_csv([flat(dict(row)) for row in rows] if rows is not None else [flat(document)])
        return
    from topodesign.report.schemas.documents import SHAPES, identifier  # noqa: PLC0415  not for help

    command = context.command_path.removeprefix(f"{context.find_root().info_name} ")
    named = {"schema": identifier(command)} if command in SHAPES else {}  # a test finds those without
    click.echo(json.dumps(named | document, indent=2))


def say(text: str) -> None:
    """Print text in lines that fit a terminal or COLUMNS; elsewhere as it is, for programs that read lines."""
    width = columns_of(sys.stdout)
    click.echo(text if width is None else fitted(text, width))


def print_for_people(result: Result) -> None:
    """Print the table of a result."""
    from topodesign.report.table import print_result  # noqa: PLC0415  heavy, and not for --json

    print_result(result)


def print_csv(records: Sequence[Mapping[str, Any]]) -> None:
    """Print records as comma-separated values, with a header line of all their keys."""
    names = list(dict.fromkeys(name for record in records for name in record))
    rows = [[record.get(name, "") for name in names] for record in records]
    click.echo(write_csv([names, *rows]), nl=False)


@contextmanager
def progress_bar(text: str, *, once_told: bool = False) -> Iterator[Callable[[float], None]]:
    """Show how far work has come, on standard error; yields a function that takes the share done.

    On a terminal it is a bar with an estimate, from half a second on; as long as no share is known it moves to and fro.
    With ``once_told`` there is none before a share is told: what may be looked up is not always work. Elsewhere it is
    one line with an estimate, where the work takes long.
    """
    if not sys.stderr.isatty():
        yield _Estimate(text).tell
        return
    bar = _Bar(text)
    if not once_told:
        bar.begin()
    try:
        yield bar.tell
    finally:
        bar.end()


class _Estimate:
    """Says once about how long something takes, if that is long."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._start: tuple[float, float] | None = None
        self._said = False

    def tell(self, share: float) -> None:
        """Take the share done."""
        now = time.monotonic()
        if self._start is None:  # what was before, such as compiling, is not repeated
            self._start = now, share
        spent, done = now - self._start[0], share - self._start[1]
        if self._said or spent < _UNTIL_ESTIMATE or done <= 0:
            return
        self._said = True
        left = spent * (1 - share) / done
        if left > _WORTH_SAYING:
            click.echo(f"topodesign: {self._text}: about {_span(left)} left", err=True)


class _Bar:
    """A bar that appears only if the work has not ended before."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._share: float | None = None
        self._show: Callable[[], None] | None = None
        self._close: Callable[[], None] | None = None
        self._lock = threading.Lock()
        self._ended = False
        self._timer = threading.Timer(_UNTIL_BAR, self._open)
        self._timer.daemon = True
        self._begun = False

    def begin(self) -> None:
        """Let the bar appear after a while."""
        self._begun = True
        with suppress(RuntimeError):  # no more threads are to be had
            self._timer.start()

    def tell(self, share: float) -> None:
        """Take the share done."""
        self._share = share
        if not self._begun:
            self.begin()
        if self._show is not None:
            self._show()

    def end(self) -> None:
        """Take the bar away."""
        self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._close is not None:
                self._close()

    def _open(self) -> None:
        from rich.console import Console  # noqa: PLC0415  only for people
        from rich.progress import Progress  # noqa: PLC0415

        with self._lock:
            if self._ended:
                return
            bar = Progress(console=Console(stderr=True), transient=True)
            task = bar.add_task(self._text, total=None)

            def show() -> None:
                if self._share is not None:
                    bar.update(task, completed=self._share, total=1.0)

            with suppress(RuntimeError):
                bar.start()
                self._show, self._close = show, bar.stop


def _span(seconds: float) -> str:
    """Write a time that is to be waited, in the largest unit of which there are two."""
    for unit, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} seconds"
