"""``topodesign routes``."""

from __future__ import annotations

from pathlib import Path

import click

import topodesign
from topodesign.base.atomic import check_not_input
from topodesign.cli.answers import Command, form, json_option, print_json, show
from topodesign.cli.options import PATH, SPEC, option, output_option, seed_option, whole
from topodesign.cli.progress import progress_bar

_FORMATS = ("opensm", "linux", "frr", "sonic")
_ENGINES = (
    "auto", "fitted", "layers", "cycles",
    "descents", "hops", "groups", "valiant", "dateline", "up-down", "confined", "turns"
)  # fmt: skip


@click.command(name="routes", cls=Command)
@click.argument("place", type=SPEC)
@option(
    "--lanes K",
    "The most lanes (virtual channels): of what is found the routes with the least full link, with detours if need "
    "be. Without it shortest paths in as few lanes as were found, and one lane with --format.",
    type=whole(1, 15),
)
@option(
    "--traffic CSV|NAME:NUMBER",
    "How much goes from which node to which (src,dst,amount), or drawn: zipf:1.2, top2:1.2, dirichlet:0.3, as for "
    "'topodesign uneven'; without it as much for all pairs.",
)
@option("--engine", "How ways are found.", words=_ENGINES, default="auto")
@seed_option("Settles the order in which targets are routed; 0 for that of their numbers.")
@option(
    "--format file_format",
    "What to write to -o: a file of unicast tables for opensm, else a new directory with a file a node.",
    words=_FORMATS,
)
@option(
    "--ports CSV",
    "What ports are called (node,peer,port and as needed address,guid); without it they are numbered.",
    type=PATH,
)
@output_option("File or directory to write.", metavar="PATH")
@json_option
def command(
    place: str,
    lanes: int | None,
    traffic: str | None,
    engine: str,
    seed: int,
    file_format: str | None,
    ports: Path | None,
    output: Path | None,
) -> None:
    """Route any network so that no messages wait for each other in a circle.

    PLACE is a spec (quote it), a file of links, or a fabric, whose switches alone pass messages on. Shows what each
    engine needs: lanes, hops, and the load of the fullest link. All routes are proved before they are shown.

    Example: topodesign routes 'torus(8,8)' --format opensm -o lfts
    """
    if (file_format is None) != (output is None):
        raise click.UsageError("--format FORMAT and -o PATH go together: the one says what the other gets.")
    if ports is not None and file_format is None:
        raise click.UsageError("--ports names what --format writes; give both.")
    if file_format is not None and lanes not in {None, 1}:
        raise click.UsageError(f"Tables for {file_format} carry no lanes; leave --lanes out, or give 1.")
    for source in (None if traffic is None else Path(traffic), ports, Path(place)):
        if source is not None and output is not None:
            check_not_input(output, source)
    limit = 1 if file_format is not None else lanes
    with progress_bar("routing") as progress:
        found = topodesign.routes(place, lanes=limit, traffic=traffic, engine=engine, seed=seed, progress=progress)
    if output is not None and file_format is not None:
        found.save(output, file_format, ports)
    if form() == "text":
        show(found)
        if output is not None:
            click.echo(f"wrote {output}", err=True)
    else:
        print_json({**found.record(), "file": None if output is None else str(output)}, found.to_records)
