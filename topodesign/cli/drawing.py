"""Output by ending: plots (.svg, .png, .pdf) and pages (.html)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from topodesign.cli.answers import FILE, Command, form, print_json, show
from topodesign.cli.options import option

_Command = TypeVar("_Command", bound=Callable[..., Any])

_DRAWN = "topodesign.drawn"  # key in the ``meta`` of a context: the plot or the page to write
_PLOTS = frozenset((".svg", ".png", ".pdf"))
_PAGES = frozenset((".html", ".htm"))
_NAMES = {"bottleneck": "cut", "construction": "winners", "utilization": "use"}  # as plots are called in Python
PAGE = "page"


class DrawingCommand(Command):
    """A command whose -o may name a plot or a page."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        target: Path | None = ctx.meta.get(FILE)
        if target is not None and target.suffix.lower() in _PLOTS | _PAGES and not target.is_dir():
            _check(target, ctx.params.get("plot_kind"))
            ctx.meta[_DRAWN] = ctx.meta.pop(FILE)
        return super().invoke(ctx)


def _check(target: Path, kind: str | None) -> None:
    """Raise UsageError if a file cannot be written."""
    if target.suffix.lower() in _PLOTS:
        if kind == PAGE:
            raise click.UsageError(f"--plot-kind page does not match {target}; use the ending .html.")
        from topodesign.report.figures import check_picture  # noqa: PLC0415  heavy

        check_picture(target)
        return
    if kind not in {None, PAGE}:
        raise click.UsageError(f"--plot-kind {kind} does not match {target}; use .svg, .png or .pdf.")
    from topodesign.report.page.page import check_page  # noqa: PLC0415  heavy

    check_page(target)


def plot_option(*kinds: str) -> Callable[[_Command], _Command]:
    """Return ``--plot-kind`` of a command, with the first kind as default."""
    return option(
        "--plot-kind",
        f"Plot that -o FILE.svg (or .png, .pdf) writes; page is the report of -o FILE.html.  [default: {kinds[0]}]",
        words=[*kinds, PAGE],
    )


def get_plot_kind(kind: str | None, default: str) -> str | None:
    """Return the requested kind of plot, or None for the answer itself."""
    target: Path | None = click.get_current_context().meta.get(_DRAWN)
    if target is None and kind is not None and form() == "text":
        raise click.UsageError(f"--plot-kind {kind} requires -o FILE.svg (or .png, .pdf, .html), --csv or --json.")
    if kind is None and target is not None:
        kind = PAGE if target.suffix.lower() in _PAGES else default
    return None if kind is None else _NAMES.get(kind, kind)


def give(drawn: Any) -> None:
    """Write or print a plot or a page."""
    if form() != "text":
        if hasattr(drawn, "save") and type(drawn).__name__ == "Page":
            print_json(drawn.record(), drawn.to_records)
        else:
            show(drawn)
    target: Path | None = click.get_current_context().meta.get(_DRAWN)
    if target is not None:
        drawn.save(target)
        click.echo(f"wrote {target}: {drawn.heading()}", err=form() != "text")
