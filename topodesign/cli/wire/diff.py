"""``topodesign wire diff``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from topodesign.cli.answers import Command, json_option, tell
from topodesign.cli.options import PATH, SPEC, flag, option, whole
from topodesign.cli.progress import progress_bar
from topodesign.cli.wire.options import (
    SOURCES,
    interfaces_option,
    seed_option,
    source_options,
    spelling_option,
    throughput_option,
)
from topodesign.wiring.change.rewire import rewire
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.exports.pages import write_change_sheets
from topodesign.wiring.plan.files import load_wiring, save_wiring
from topodesign.wiring.switches.kinds import Spelling
from topodesign.wiring.switches.steps import STAGE_FORMATS, export_stages


@click.command(name="diff", cls=Command)
@click.argument("plan", type=PATH)
@click.argument("wanted", type=SPEC)
@option(
    "--inventory FILE",
    "The room as it will be, where hosts, panels or switches come or go. Fixed cables stay where both ends do.",
)
@source_options
@interfaces_option
@option("--max-dark most_dark K", "Dark links a host at a time.", type=whole(1), default=1)
@flag("--downtime", "Move everything in one stage, whatever is dark meanwhile.")
@flag("--keep-hosts", "Leave every host the node that it is, or is in the other plan.")
@flag("--walk", "Of changes with as few moves, take one for which less is walked.")
@throughput_option
@seed_option
@option("-o --output FILE", "Write the new plan (.json).")
@option("--sheets FILE", "Write a page to work by: moves, and panels before and after each stage (.html).")
@option(
    "--commands DIR", "Write the commands of every stage for circuit switches, a file for each, to a new directory."
)
@option("--format file_format", "Of the commands.", words=STAGE_FORMATS)
@spelling_option
@json_option
def command(
    plan: Path,
    wanted: str,
    output: Path | None,
    sheets: Path | None,
    commands: Path | None,
    file_format: str | None,
    spelling: Spelling,
    **options: Any,
) -> None:
    """Change a wiring into another with few patches moved, in stages that keep the fabric connected.

    PLAN is the wiring that exists, WANTED a topology (a spec such as 'torus(4,4)', quoted, or a file of links) or
    another plan. Hosts may become other nodes than before: that moves no cable. What was observed, as wire check takes
    it, goes before what PLAN says.

    Example: topodesign wire diff plan.json 'torus(3,4)' -o other.json
    """
    if (commands is None) != (file_format is None):
        raise click.UsageError("Give --commands and --format together.")
    sources = {name: options.pop(name) for name in SOURCES}
    interfaces = options.pop("interfaces")
    told = sum(source is not None for source in sources.values())
    if told > 1:
        raise click.UsageError("Give at most one of --lldp, --ocs, --dumps, --netbox and --links.")
    if interfaces is not None and not told:
        raise click.UsageError("--interfaces requires what was observed, such as --lldp.")
    before = load_wiring(plan)
    if told:
        check = check_wiring(before, seed=options["seed"], interfaces=interfaces, **sources)
        for note in check.unknown_notes:
            click.echo(note, err=True)
        before = check.as_wired()
    with progress_bar("looking for an order of the hosts") as progress:
        found = rewire(before, wanted, progress=progress, **options)
    if output is not None:
        save_wiring(found.after, output)
    if sheets is not None:
        write_change_sheets(found, sheets)
    if commands is not None and file_format is not None:
        export_stages(found, file_format, commands, spelling=spelling)
    tell(found)
