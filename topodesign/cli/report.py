"""``topodesign report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.atomic import check_not_input
from topodesign.cli.answers import Command, form, json_option, print_json
from topodesign.cli.options import (
    bidirectional_option,
    catalog_option,
    collective_of,
    option,
    output_option,
    whole,
    work_options,
)
from topodesign.cli.progress import progress_bar


@click.command(name="report", cls=Command)
@click.argument("what", required=False)
@option("-n --nodes", "Number of nodes N, for the answer of pareto.", type=int)
@option("-d --degree", "Ports out of (and into) each node.", type=int)
@work_options
@bidirectional_option
@catalog_option
@option(
    "--against NAMES...",
    "Put the fastest beside what one would do anyway, as 'topodesign pareto --against' does; may be repeated.",
)
@option(
    "--runners-up K",
    "Add the K next best by every wish, as pareto does.",
    type=whole(0, 100),
    default=0,
    show_default=False,
)
@collective_of(None, "With -n and -d: collective to rank by. Of a fabric: whose bottleneck to tell")
@json_option
@output_option("Page to write (.html).")
def command(
    what: str | None,
    nodes: int | None,
    degree: int | None,
    against: tuple[str, ...],
    collective: Any,
    output: Path | None,
    alpha: str,
    sizes: tuple[str, ...],
    bandwidth: str,
    **options: Any,
) -> None:
    """Write a report: one page that opens offline, with verdict, figures and proofs, plots, and a plan to play.

    WHAT is a topology or fabric, by its spec or file, or a schedule file; without it, -n and -d ask for the answer of
    pareto.

    Example: topodesign report -n 200 -d 6 --against torus,jellyfish -o answer.html
    """
    if (what is None) == (nodes is None) or (nodes is None) != (degree is None):
        raise click.UsageError("Say what the report is on: a spec or a file, or -n N and -d D.")
    if output is None and form() == "text":
        raise click.UsageError("Say where the page goes: -o FILE.html, or print what it holds with --json.")
    if what is not None and (against or any(options.values())):
        raise click.UsageError("--against, --runners-up, --bidirectional and --catalog are for -n and -d.")
    if output is not None:
        from topodesign.report.page.page import check_page  # noqa: PLC0415  heavy

        check_page(output)
    if output is not None and what is not None:
        check_not_input(output, Path(what))
    now: dict[str, Any] = {"alpha": alpha, "sizes": sizes, "bandwidth": bandwidth}
    if what is not None:
        page = topodesign.report_page(what, collective=collective, **now)
    elif nodes is not None and degree is not None:
        options["catalog"] = True if options["catalog"] is None else options["catalog"]
        with progress_bar("searching") as progress:
            asked = None if collective is None else collective.name
            found = topodesign.pareto(nodes, degree, collective=asked, progress=progress, **options, **now)
        page = topodesign.report_page(found, against=against)
    if form() != "text":
        print_json(page.record(), page.to_records)
    if output is not None:
        page.save(output)
        click.echo(f"wrote {output}: {page.heading()}", err=form() != "text")
