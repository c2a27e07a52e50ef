"""``topodesign links``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import topodesign
from topodesign.cli.options import json_option

if TYPE_CHECKING:
    from topodesign.topology.files import LinkFormat


@click.command(name="links")
@click.argument("topology")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["json", "csv", "dot", "graphml"]),
    help="What to print; json if unsaid.",
)
@json_option
def command(topology: str, file_format: LinkFormat | None, as_json: bool) -> None:
    """Print the links of a topology: what has to be wired.

    TOPOLOGY is a spec such as 'circulant(12,2,3)' (quote it), or a file of links (.json, .csv, .graphml).
    """
    if as_json and file_format not in {None, "json"}:
        raise click.UsageError(f"--json and --format {file_format} exclude each other.")
    click.echo(topodesign.write_links(topodesign.as_topology(topology), file_format or "json"), nl=False)
