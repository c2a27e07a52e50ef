"""``topodesign evaluate``."""

from __future__ import annotations

import click

import topodesign
from topodesign.cli.options import json_option, print_for_people, print_json, progress_bar, workload_options


@click.command(name="evaluate")
@click.argument("topology")
@workload_options
@click.option(
    "--all-sources", is_flag=True, help="Price from every node, even where the construction makes it needless."
)
@json_option
def command(
    topology: str, alpha: str, sizes: tuple[str, ...], bandwidth: str, all_sources: bool, as_json: bool
) -> None:
    """Price one topology and set it against the bounds.

    TOPOLOGY is a spec such as 'line(circulant(16,3,4),3)' (quote it), or a file of links (.json, .csv, .graphml).
    """
    with progress_bar("pricing") as progress:
        result = topodesign.evaluate(
            topology, alpha=alpha, sizes=sizes, bandwidth=bandwidth, all_sources=all_sources, progress=progress
        )
    if as_json:
        print_json(result.record())
    else:
        print_for_people(result)
