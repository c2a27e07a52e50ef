"""``topodesign wire plan``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from topodesign.base.atomic import check_not_input
from topodesign.cli.answers import Command, form, json_option, print_json, say
from topodesign.cli.completion import SPEC
from topodesign.cli.options import seed_option, time_limit_option
from topodesign.cli.sources import tell_of_names
from topodesign.topology.library import as_topology
from topodesign.wiring.inventory.files import read_inventory
from topodesign.wiring.inventory.inventory import MODES, Mode
from topodesign.wiring.inventory.lengths import format_metres
from topodesign.wiring.plan.files import save_wiring
from topodesign.wiring.plan.wire import wire


@click.command(name="plan", cls=Command)
@click.argument("topology", type=SPEC)
@click.option(
    "--inventory",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Hosts, panels and cables: a YAML file, or a CSV table of ports.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Plan file to write (.json).")
@click.option(
    "--mode",
    type=click.Choice(MODES),
    help="Patch the two fibres of a lane separately or together.  [default: duplex if the topology is]",
)
@click.option("--place", is_flag=True, help="Choose which host is which node, to need less fibre.")
@click.option(
    "--speed",
    metavar="RATE",
    help="Of the lanes to use, where they have several.  [default: the fastest with which there is a plan]",
)
@click.option("--idle", is_flag=True, help="Cable hosts that are no nodes, too, where panels have room.")
@seed_option("Seed of all searches.")
@time_limit_option("20s", "To search where usual ways find no plan.")
@json_option
def command(topology: str, inventory: Path, output: Path | None, mode: Mode | None, place: bool, **options: Any) -> int:
    """Plan which patches make a topology, and what has to be bought.

    Exit status 1 if a link loses more light than its optics stand, as far as the inventory says.

    TOPOLOGY is a spec such as 'circulant(12,2,3)' (quote it), or a file of links (.json, .csv, .graphml).

    Example: topodesign wire plan 'circulant(12,2,3)' --inventory inventory_testbed.yaml -o plan.json
    """
    if output is not None:
        check_not_input(output, inventory)
        check_not_input(output, Path(topology))
    wanted, room = as_topology(topology), read_inventory(inventory)
    tell_of_names(wanted)
    unplaced = plan = wire(wanted, room, mode=mode, **options)
    if place:
        plan = wire(wanted, room, mode=plan.mode, place=True, **options | {"speed": plan.speed})
    record = plan.record()
    status = 0 if plan.loss_budget().ok else 1
    if output is not None:
        save_wiring(plan, output)
    if form() != "text":
        print_json(record, plan.to_records)
        return status
    say(str(plan))
    before = unplaced.bill().metres if place else None
    if before is not None:
        say(f"  {format_metres(before)} m in the order of the inventory")
    if output is not None:
        click.echo(f"wrote {output}", err=True)
    return status
