"""Options and output shared by several commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on standard output.")


collective_option = click.option(
    "--collective",
    type=click.Choice(["allgather", "reduce-scatter", "allreduce"]),
    default="allreduce",
    show_default=True,
    help="What to schedule.",
)
runtime_option = click.option(
    "--runtime",
    type=click.Choice(["msccl", "msccl-executor", "rccl"]),
    default="msccl",
    show_default=True,
    help="Whose limits an XML program has to keep.",
)


def method_options(function: _Command) -> _Command:
    """Add ``--method`` and ``--chunks`` to a command."""
    for option in (
        click.option(
            "--chunks",
            type=click.IntRange(1, 2**31 - 1),
            metavar="P",
            help="Units per shard at most; without it as few as lose nothing.",
        ),
        click.option(
            "--method",
            type=click.Choice(["auto", "spff", "lift", "stored"]),
            default="auto",
            show_default=True,
            help="How: SPFF, lifted from the bases of an expansion, or found by exact search.",
        ),
    ):
        function = option(function)
    return function


def workload_options(function: _Command) -> _Command:
    """Add ``--alpha``, ``--size`` (several) and ``--bandwidth`` to a command."""
    for option in (
        click.option(
            "--bandwidth",
            default="100Gbps",
            show_default=True,
            metavar="RATE",
            help="Egress bandwidth of a node over all its links, such as 100Gbps, 12.5GB/s or 4x25Gbps.",
        ),
        click.option(
            "--size",
            "sizes",
            multiple=True,
            default=("1MiB",),
            show_default=True,
            metavar="SIZE",
            help="Data size, such as 1MiB or 100MB; give it several times for one column each.",
        ),
        click.option(
            "--alpha", default="10us", show_default=True, metavar="TIME", help="Latency of one communication step."
        ),
    ):
        function = option(function)
    return function


def number(value: Fraction) -> int | float:
    """Return an exact quantity as a number for JSON: an integer where it is one."""
    return int(value) if value.denominator == 1 else float(value)


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document on standard output."""
    click.echo(json.dumps(document, indent=2))


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[[float], None]]:
    """Show a bar on standard error if that is a terminal; yields a function that takes the share done.

    As long as it is not called the bar only moves to and fro.
    """
    if not sys.stderr.isatty():
        yield lambda _share: None
        return
    from rich.console import Console  # noqa: PLC0415  only for people
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=None)
        yield lambda share: bar.update(task, completed=share, total=1.0)
