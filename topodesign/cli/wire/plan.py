"""``topodesign wire plan``."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from topodesign.base.atomic import check_not_input
from topodesign.base.errors import InfeasibleError
from topodesign.base.units import as_time
from topodesign.cli.answers import Command, form, json_option, print_json, say
from topodesign.cli.options import SPEC, flag, option, seed_option, time_limit_option, whole
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import tell_of_names
from topodesign.fabrics.places import as_topology
from topodesign.fabrics.presets import as_boxed
from topodesign.pricing.mix import PRICED
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.devices import Mode
from topodesign.wiring.inventory.files import read_inventory
from topodesign.wiring.inventory.inventory import Inventory, format_metres
from topodesign.wiring.plan.files import save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import duplex_alternative
from topodesign.wiring.plan.wire import plan_wiring

_BEST = "best"  # the word for the best topology that the inventory can carry
_MAX_NAMED = 256  # nodes for which the nearest duplex topology is soon found


@click.command(name="plan", cls=Command)
@click.argument("topology", type=SPEC)
@option("--inventory FILE", "Hosts, panels and cables: a YAML file, or a CSV table of ports.", required=True)
@option("-o --output FILE", "Plan file to write (.json).")
@flag(
    "--duplex/--simplex",
    "Patch the two fibres of a lane together or separately.  [default: duplex if the topology is]",
    default=None,
)
@option("-n --nodes N", "Of 'best': number of nodes.  [default: all hosts]", type=whole(2))
@option("-d --degree D", "Of 'best': ports of a node.  [default: all lanes]", type=whole(1))
@option("--collective", "Of 'best': what it shall be the fastest for.  [default: allreduce]", words=PRICED)
@flag("--place", "Choose which host is which node, to need less fibre.")
@option(
    "--speed RATE", "Of the lanes to use, where they have several.  [default: the fastest with which there is a plan]"
)
@flag("--idle", "Cable hosts that are no nodes, too, where panels have room.")
@seed_option("Seed of all searches.")
@time_limit_option("20s", "To search where usual ways find no plan.")
@json_option
def command(
    topology: str, inventory: Path, output: Path | None, duplex: bool | None, place: bool, **options: Any
) -> int:
    """Plan which patches make a topology, and what has to be bought.

    Exit status 1 if a link loses more light than its optics stand, as far as the inventory says.

    TOPOLOGY is a spec such as 'circulant(12,2,3)' (quote it), or a file of links; or boxes, as
    'boxes(dgx_h100,complete(9))', each a host, and each port of a NIC a lane; or 'best': the fastest that is found of
    those that the inventory can carry, as 'pareto --inventory' lists them.

    Example: topodesign wire plan 'circulant(12,2,3)' --inventory inventory_testbed.yaml -o plan.json
    """
    mode: Mode | None = None if duplex is None else "duplex" if duplex else "simplex"
    _check(topology, place=place, **options)
    asked = {name: options.pop(name) for name in ("nodes", "degree", "collective")}
    if output is not None:
        check_not_input(output, inventory)
        check_not_input(output, Path(topology))
    if topology == _BEST:
        unplaced = plan = _best(read_inventory(inventory), mode, asked, options)
    else:
        wanted: str | Topology = topology if as_boxed(topology) else as_topology(topology)
        room = read_inventory(inventory)
        if isinstance(wanted, Topology):
            tell_of_names(wanted)
        unplaced = plan = plan_wiring(wanted, room, mode=mode, **options)
    if place:
        plan = plan_wiring(wanted, room, mode=plan.mode, place=True, **options | {"speed": plan.speed})
    plan.bill()  # what cannot be cut to length is refused before anything is written
    status = 0 if plan.loss is None or plan.loss.ok else 1
    if output is not None:
        save_wiring(plan, output)
    if form() != "text":
        print_json(plan.record(), plan.to_records)
        return status
    say(str(plan))
    if plan.one_way:
        say(textwrap.fill(_describe_one_way(plan), 80))
    before = unplaced.bill().metres if place else None
    if before is not None:
        say(f"  {format_metres(before)} m in the order of the inventory")
    if output is not None:
        click.echo(f"wrote {output}", err=True)
    return status


def _describe_one_way(plan: WiringPlan) -> str:
    """Return what links in one direction mean for NICs, with the nearest duplex topology."""
    words = f"{len(plan.one_way)} of {len(plan.connects)} patches have no way back"
    words += ": usual NICs do not bring up one-way links"
    if plan.topology.nodes > _MAX_NAMED:
        return f"{words}; use a duplex topology, such as 'wire plan best --duplex' finds"
    other = duplex_alternative(plan.topology)
    return f"{words}; {'no duplex topology of this size is known' if other is None else f'nearest duplex: {other}'}"


def _check(topology: str, *, place: bool, **options: Any) -> None:
    """Raise UsageError for options that do not suit the topology or 'best'."""
    if topology == _BEST:
        given = [f"--{name}" for name in ("speed", "idle") if options[name]] + ["--place"] * place
        if given:
            words = ", ".join(given)
            raise click.UsageError(
                f"{words} cannot be combined with 'best', which uses all lanes of the fastest ports; remove one."
            )
        return
    given = [f"--{name}" for name in ("nodes", "degree", "collective") if options[name] is not None]
    if given:
        raise click.UsageError(f"{', '.join(given)} require 'best', not '{topology[:60]}'; remove them.")


def _best(room: Inventory, mode: Mode | None, asked: dict[str, Any], options: dict[str, Any]) -> WiringPlan:
    """Return the plan of the best topology that a room supports."""
    from topodesign.wiring.plant.carry import carry  # noqa: PLC0415  heavy: all that finds topologies

    question = {name: value for name, value in asked.items() if value is not None}
    said = click.get_current_context().get_parameter_source("time_limit") is not ParameterSource.DEFAULT
    with progress_bar("searching") as progress:
        found = carry(
            room,
            **question,
            bidirectional=mode == "duplex",
            search=as_time(options["time_limit"]) if said else None,
            seed=options["seed"],
            progress=progress,
        )
    plan = found.best.plan
    if plan is None or (mode is not None and plan.mode != mode):
        raise InfeasibleError(f"these panels join both fibres of a lane together; a {mode} plan requires simplex ports")
    if form() == "text":
        say(textwrap.fill(found.verdict, 80))
    return plan
