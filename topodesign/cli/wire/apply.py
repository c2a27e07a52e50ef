"""``topodesign wire apply``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from topodesign.base.options import declared
from topodesign.cli.answers import Command, form, json_option, say, tell
from topodesign.cli.options import PATH, flag, offer, option
from topodesign.cli.progress import progress_bar
from topodesign.wiring.switches.apply import apply_wiring
from topodesign.wiring.switches.options import ApplyOptions


@click.command(name="apply", cls=Command)
@click.argument("plan", type=PATH)
@option(
    "--switch switches NAME=ADDRESS...",
    "A circuit switch of the plan and where it is: scpi://HOST[:PORT] or sonic://USER@HOST[:PORT]; repeat it.",
    required=True,
)
@flag("--yes", "Change the switches; else they are read only.")
@offer(ApplyOptions, *(name for name in declared(ApplyOptions) if name != "pause"))
@json_option
def command(plan: Path, switches: tuple[str, ...], yes: bool, journal: Path | None, **options: Any) -> int:
    """Read what circuits switches have and, with --yes, make them those of a plan, stage by stage.

    Every stage is read back; if one fails, what was done is undone. Exit status 1 if the switches do not make the
    circuits of the plan at the end. A password, where no key fits, is taken from TOPODESIGN_SWITCH_PASSWORD.

    Example: topodesign wire apply plan.json --switch ocs1=scpi://10.0.0.5 --switch ocs2=sonic://admin@10.0.0.6
    """
    pairs = [switch.partition("=") for switch in switches]
    for (name, _, address), switch in zip(pairs, switches, strict=True):
        if not name or not address:
            raise click.UsageError(f"--switch takes NAME=ADDRESS, not '{switch[:60]}'.")
    addresses = {name: address for name, _, address in pairs}
    if len(addresses) < len(pairs):
        raise click.UsageError("--switch names a switch twice.")
    file = plan.with_suffix(".journal") if journal is None else journal
    with progress_bar("changing switches") as progress:
        found = apply_wiring(plan, addresses, dry_run=not yes, journal=file, progress=progress, **options)
    tell(found)
    if found.outcome == "dry run" and form() == "text":
        say("with --yes it is done")
    return 0 if found.ok else 1
