"""``topodesign evaluate``."""

from __future__ import annotations

from typing import Any

import click

import topodesign
from topodesign.cli.answers import Command, json_option, show
from topodesign.cli.options import SPEC, flag, option, work_options
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import tell_of_names
from topodesign.pricing.efforts import EFFORTS, Effort


@click.command(name="evaluate", cls=Command)
@click.argument("topology", type=SPEC)
@work_options
@flag("--all-sources", "Price from every node, even where the construction makes it needless.")
@option(
    "--all-to-all effort",
    "How far to go for the price of all-to-all. quick takes a second or two at most, and tells bounds where that is "
    "too little; auto is exact up to about 100 nodes without symmetry.",
    words=EFFORTS,
    default="quick",
)
@flag("--exact", "The exact price of all-to-all, whatever it takes: --all-to-all exact.")
@option("--gap", "What an approximate price may be above its lower bound.", default="1%")
@option(
    "--deferred/--no-deferred",
    "Look for deferred schedules, too, whatever it takes, or never.  [default: where SPFF leaves something to gain "
    "and it takes some two seconds at most]",
    default=None,
)
@json_option
def command(topology: str, effort: Effort, exact: bool, **options: Any) -> None:
    """Price one topology and set it against the bounds.

    TOPOLOGY is a spec such as 'line(circulant(16,3,4),3)' (quote it), or a file of links of any format.

    Example: topodesign evaluate 'line(circulant(16,3,4),3)' --size 1MiB --size 1GiB
    """
    with progress_bar("pricing") as progress:
        result = topodesign.evaluate(topology, effort="exact" if exact else effort, progress=progress, **options)
    tell_of_names(result.topology)
    show(result)
