"""``topodesign wire``: the commands, one a file."""

from __future__ import annotations

import click

from topodesign.cli.wire.check import command as check
from topodesign.cli.wire.diff import command as diff
from topodesign.cli.wire.export import command as export_command
from topodesign.cli.wire.impact import command as impact
from topodesign.cli.wire.imports import command as import_command
from topodesign.cli.wire.plan import command as plan


@click.group(name="wire")
def command() -> None:
    """Plan, export, check and change the wiring of a topology.

    Start with: topodesign examples inventory_testbed.yaml;
    topodesign wire plan 'circulant(12,2,3)' --inventory inventory_testbed.yaml -o plan.json
    """


for subcommand in (plan, export_command, import_command, diff, check, impact):
    command.add_command(subcommand)
