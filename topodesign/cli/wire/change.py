"""``topodesign wire change``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from topodesign.base.options import flag_of
from topodesign.cli.answers import Command, json_option, tell
from topodesign.cli.options import PATH, SPEC, flag, offer, option, whole
from topodesign.cli.progress import progress_bar
from topodesign.cli.wire.options import seed_option, spelling_option, throughput_option
from topodesign.wiring.change.rewire import change_wiring
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.check.options import SOURCES, Observations
from topodesign.wiring.exports.change import write_change
from topodesign.wiring.plan.files import load_wiring
from topodesign.wiring.switches.kinds import Spelling
from topodesign.wiring.switches.steps import STAGE_FORMATS


@click.command(name="change", cls=Command)
@click.argument("plan", type=PATH)
@click.argument("target", type=SPEC)
@option(
    "--inventory FILE",
    "The room as it will be, where hosts, panels or switches come or go. Fixed cables stay where both ends do.",
)
@offer(Observations, *SOURCES, "interfaces")
@option("--max-dark most_dark K", "Dark links a host at a time.", type=whole(1), default=1)
@flag("--downtime", "Move everything in one stage, whatever is dark meanwhile.")
@flag("--keep-hosts", "Leave every host the node that it is, or is in the other plan.")
@flag("--walk", "Of changes with as few moves, take one for which less is walked.")
@throughput_option
@seed_option
@option("-o --output DIR", "Write the new plan, sheets to work by and the list to buy into a new directory.")
@option("--format file_format", "With -o: commands of circuit switches in this format.", words=STAGE_FORMATS)
@spelling_option
@json_option
def command(
    plan: Path, target: str, output: Path | None, file_format: str | None, spelling: Spelling, **options: Any
) -> None:
    """Change a wiring with few patches moved, in stages that keep it connected.

    PLAN is the wiring that exists. TARGET is a topology (a spec such as 'torus(4,4)', quoted, or a file of links),
    another plan, or a larger number of hosts. Hosts may become other nodes than before: that moves no cable. The answer
    lists moves, fixed cables to lay, and cables to buy in addition. Observations, as for wire check, take precedence
    over PLAN.

    Example: topodesign wire change plan.json 16 --inventory larger.yaml -o grown
    """
    if file_format is not None and output is None:
        raise click.UsageError("--format requires -o DIR.")
    sources = {name: options.pop(name) for name in SOURCES}
    interfaces = options.pop("interfaces")
    told = sum(source is not None for source in sources.values())
    if told > 1:
        raise click.UsageError(f"only one source can be used: {', '.join(map(flag_of, SOURCES))}.")
    if interfaces is not None and not told:
        raise click.UsageError("--interfaces requires what was observed, such as --lldp.")
    before = load_wiring(plan)
    if told:
        check = check_wiring(before, seed=options["seed"], interfaces=interfaces, **sources)
        for note in check.unknown_notes:
            click.echo(note, err=True)
        before = check.as_wired()
    with progress_bar("looking for an order of the hosts") as progress:
        wanted = int(target) if target.isdecimal() and not Path(target).exists() else target
        found = change_wiring(before, wanted, progress=progress, **options)
    if output is not None:
        write_change(found, output, file_format=file_format, spelling=spelling)
    tell(found)
    if output is not None:
        click.echo(f"wrote {output}", err=True)
