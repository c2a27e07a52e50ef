"""``topodesign synthesize``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.base.atomic import write_whole
from topodesign.base.errors import ParameterError
from topodesign.cli.answers import Command, form, json_option, say, show
from topodesign.cli.options import flag, option, output_option, seed_option, time_limit_option
from topodesign.cli.progress import progress_bar

if TYPE_CHECKING:
    from topodesign.topology.files import LinkFormat

_FORMATS: dict[str, LinkFormat] = {".csv": "csv", ".json": "json", ".dot": "dot", ".graphml": "graphml"}


@click.command(name="synthesize", cls=Command)
@option("-n --nodes", "Number of nodes N, up to 16.", type=int, required=True)
@option("-d --degree", "Ports out of (and into) each node.", type=int, required=True)
@option(
    "--collective", "Whose throughput is to be the highest.", words=["all-to-all", "allgather"], default="all-to-all"
)
@flag("--bidirectional", "Every link has its reverse.")
@time_limit_option("60s", "Time for search and proof.")
@seed_option()
@output_option("File of links to write.")
@json_option
def command(nodes: int, degree: int, output: Path | None, **options: Any) -> None:
    """Make a small topology with the highest uniform throughput, and say what is proven of it.

    Every link is free to choose. The throughput is exact; a bound says how much better any other topology of so many
    nodes and ports could be. --output writes the links, which all commands read: .csv, .json, .dot or .graphml.

    Example: topodesign synthesize -n 10 -d 3 -o ten.csv
    """
    file_format = None if output is None else _FORMATS.get(output.suffix.lower())
    if output is not None and file_format is None:
        raise ParameterError(f"links are written as {', '.join(_FORMATS)}, not as {output}")
    with progress_bar("searching") as progress:
        found = topodesign.synthesize(nodes, degree, progress=progress, **options)
    if output is not None and file_format is not None:
        write_whole(output, topodesign.write_links(found.topology, file_format))
    show(found, {**found.record(), "file": None if output is None else str(output)})
    if output is not None and form() == "text":
        say(f"written to {output}")
