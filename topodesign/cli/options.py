"""Options and output shared by several commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on standard output.")


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


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document on standard output."""
    click.echo(json.dumps(document, indent=2))


@contextmanager
def progress_bar(text: str, *, quiet: bool) -> Iterator[Callable[[float], None]]:
    """Show a progress bar on standard error if that is a terminal; yields a function that takes the share done."""
    if quiet or not sys.stderr.isatty():
        yield lambda _share: None
        return
    from rich.console import Console  # noqa: PLC0415  only for people
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=1.0)
        yield lambda share: bar.update(task, completed=share)
