"""``topodesign wire``: the commands, one a file with the function ``command``, and one line here for each."""

from __future__ import annotations

import click

from topodesign.cli.lazy import LazyGroup

COMMANDS = {
    "init": "Write an inventory to begin with.",
    "plan": "Plan which patches make a topology, and what has to be bought.",
    "buy": "Choose parts that make the cables of a plan, and say what they cost.",
    "show": "Say where a cable, a port or a host of a plan leads.",
    "export": "Write a wiring plan for those who carry it out.",
    "addresses": "Show which interfaces cables join, with addresses.",
    "loss": "Hold the loss of every link against what its optics stand.",
    "change": "Change or grow a wiring with few patches moved.",
    "check": "Hold what was wired against a plan.",
    "impact": "Say what failures cost and how to patch around them.",
}


@click.group(name="wire", cls=LazyGroup, package=__name__, table=COMMANDS)
def command() -> None:
    """Plan, export, check and change the wiring of a topology.

    Start with: topodesign wire init --hosts 12 -o room.yaml;
    topodesign wire plan 'circulant(12,2,3)' --inventory room.yaml -o plan.json
    """
