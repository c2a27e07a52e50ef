"""``topodesign report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.atomic import check_not_input
from topodesign.cli.options import (
    COLLECTIVES,
    catalog_option,
    json_option,
    print_json,
    progress_bar,
    workload_options,
)


@click.command(name="report")
@click.argument("what", required=False)
@click.option("-n", "--nodes", type=int, help="Number of nodes N, for the answer of pareto.")
@click.option("-d", "--degree", type=int, help="Ports out of (and into) each node.")
@workload_options
@click.option("--bidirectional", is_flag=True, help="Only topologies that duplex cabling can wire.")
@catalog_option
@click.option(
    "--against",
    multiple=True,
    metavar="NAMES",
    help="Put the fastest beside what one would do anyway, as 'topodesign pareto --against' does; may be repeated.",
)
@click.option(
    "--runners-up",
    type=click.IntRange(0, 100),
    default=0,
    metavar="K",
    help="Add the K next best by every wish, as pareto does.",
)
@click.option("--collective", type=COLLECTIVES, help="Of a fabric: whose bottleneck to tell.  [default: allgather]")
@json_option
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Page to write (.html).")
def command(
    what: str | None,
    nodes: int | None,
    degree: int | None,
    alpha: str,
    sizes: tuple[str, ...],
    bandwidth: str,
    bidirectional: bool,
    catalog: Path | None,
    against: tuple[str, ...],
    runners_up: int,
    collective: Any,
    as_json: bool,
    output: Path | None,
) -> None:
    """Write a report: one page that opens offline, with verdict, figures and proofs, plots, and a plan to play.

    WHAT is a topology or fabric, by its spec or file, or a schedule file; without it, -n and -d ask for the answer of
    pareto.

    Example: topodesign report -n 200 -d 6 --against torus,jellyfish -o answer.html
    """
    if (what is None) == (nodes is None) or (nodes is None) != (degree is None):
        raise click.UsageError("Say what the report is on: a spec or a file, or -n N and -d D.")
    if output is None and not as_json:
        raise click.UsageError("Say where the page goes: -o FILE.html, or print what it holds with --json.")
    if what is not None and (against or bidirectional or catalog is not None or runners_up):
        raise click.UsageError("--against, --runners-up, --bidirectional and --catalog are for -n and -d.")
    if output is not None and what is not None:
        check_not_input(output, Path(what))
    now: dict[str, Any] = {"alpha": alpha, "sizes": sizes, "bandwidth": bandwidth}
    if what is not None:
        page = topodesign.report_page(what, collective=collective, **now)
    elif nodes is not None and degree is not None:
        with progress_bar("searching") as progress:
            found = topodesign.pareto(
                nodes, degree, bidirectional=bidirectional, catalog=True if catalog is None else catalog,
                runners_up=runners_up,
                progress=progress, **now,
            )  # fmt: skip
        page = topodesign.report_page(found, against=against, collective=collective)
    if as_json:
        print_json(page.record(), page.to_records())
    if output is not None:
        page.save(output)
        click.echo(f"wrote {output}: {page.heading()}", err=as_json)
