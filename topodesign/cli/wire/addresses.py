"""``topodesign wire addresses``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from topodesign.cli.answers import Command, json_option, tell
from topodesign.cli.options import PATH, offer
from topodesign.wiring.bringup.bringup import bringup
from topodesign.wiring.bringup.options import BringupOptions


@click.command(name="addresses", cls=Command)
@click.argument("plan", type=PATH)
@offer(BringupOptions)
@json_option
def command(plan: Path, **given: Any) -> None:
    """Show the interfaces that cables join, with the addresses that 'wire export --format bringup' gives them.

    Example: topodesign wire addresses plan.json --subnet 31
    """
    tell(bringup(plan, **given))
