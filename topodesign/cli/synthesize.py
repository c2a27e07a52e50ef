"""``topodesign synthesize``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.base.arguments import MOST_SEED
from topodesign.base.atomic import write_whole
from topodesign.base.errors import ParameterError
from topodesign.cli.options import json_option, print_for_people, print_json, progress_bar, say

if TYPE_CHECKING:
    from topodesign.topology.files import LinkFormat

_FORMATS: dict[str, LinkFormat] = {".csv": "csv", ".json": "json", ".dot": "dot", ".graphml": "graphml"}


@click.command(name="synthesize")
@click.option("-n", "--nodes", type=int, required=True, help="Number of nodes N, up to 16.")
@click.option("-d", "--degree", type=int, required=True, help="Ports out of (and into) each node.")
@click.option(
    "--collective",
    type=click.Choice(["all-to-all", "allgather"]),
    default="all-to-all",
    show_default=True,
    help="Whose throughput is to be the highest.",
)
@click.option("--bidirectional", is_flag=True, help="Every link has its reverse.")
@click.option("--time-limit", default="60s", show_default=True, metavar="TIME", help="Time for search and proof.")
@click.option(
    "--seed", type=click.IntRange(0, MOST_SEED), default=0, show_default=True, help="Where the search begins."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File of links to write.")
@json_option
def command(nodes: int, degree: int, output: Path | None, as_json: bool, **options: Any) -> None:
    """Make a small topology with the highest uniform throughput, and say what is proven of it.

    Every link is free to choose. The throughput is exact; a bound says how much better any other topology of so many
    nodes and ports could be. --output writes the links, which all commands read: .csv, .json, .dot or .graphml.

    Example: topodesign synthesize -n 10 -d 3 -o ten.csv
    """
    form = None if output is None else _FORMATS.get(output.suffix.lower())
    if output is not None and form is None:
        raise ParameterError(f"links are written as {', '.join(_FORMATS)}, not as {output}")
    with progress_bar("searching") as progress:
        found = topodesign.synthesize(nodes, degree, progress=progress, **options)
    if output is not None and form is not None:
        write_whole(output, topodesign.write_links(found.topology, form))
    if as_json:
        print_json({**found.record(), "file": None if output is None else str(output)})
        return
    print_for_people(found)
    if output is not None:
        say(f"written to {output}")
