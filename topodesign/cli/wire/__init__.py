"""``topodesign wire``: one file and one line here per command."""

from __future__ import annotations

import click

from topodesign.cli.lazy import LazyGroup

COMMANDS = {
    "init": "Write a first inventory.",
    "plan": "Plan the patches of a topology.",
    "bill": "Choose cables and print the bill of materials.",
    "show": "Trace cables, ports and hosts; list loss and addresses.",
    "export": "Write work sheets, labels, NetBox or switch files.",
    "change": "Plan the moves to another topology or site.",
    "check": "Compare the observed wiring with a plan.",
}


@click.group(name="wire", cls=LazyGroup, package=__name__, table=COMMANDS)
def command() -> None:
    """Plan, export, check and change the wiring of a topology.

    Start with: topodesign wire init --hosts 12 -o room.yaml;
    topodesign wire plan 'circulant(12,2,3)' --inventory room.yaml -o plan.json
    """
