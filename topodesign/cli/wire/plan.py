"""``topodesign wire plan``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topodesign.cli.options import json_option, print_json

if TYPE_CHECKING:
    from fractions import Fraction

    from topodesign.wiring.inventory.inventory import Mode
    from topodesign.wiring.plan.placement import Item
    from topodesign.wiring.plan.plan import End, Plan

_MOST_SHOWN = 12


@click.command(name="plan")
@click.argument("topology")
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
    type=click.Choice(["simplex", "duplex"]),
    help="Patch the two fibres of a lane separately or together.  [default: duplex if the topology is]",
)
@click.option("--place", "placed", is_flag=True, help="Choose which host is which node, to need less fibre.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all searches.")
@json_option
def command(
    topology: str,
    inventory: Path,
    output: Path | None,
    mode: Mode | None,
    placed: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Plan which patches make a topology, and what has to be bought.

    TOPOLOGY is a spec such as 'circulant(12,2,3)' (quote it), or a file of links (.json, .csv, .graphml).

    Example: topodesign wire plan 'circulant(12,2,3)' --inventory inventory_testbed.yaml -o plan.json
    """
    from topodesign.expand.library import as_topology  # noqa: PLC0415  heavy
    from topodesign.wiring.inventory.files import read_inventory  # noqa: PLC0415
    from topodesign.wiring.plan.files import write_plan  # noqa: PLC0415
    from topodesign.wiring.plan.placement import bill, place, total  # noqa: PLC0415
    from topodesign.wiring.plan.planner import make_plan  # noqa: PLC0415

    wanted, room = as_topology(topology), read_inventory(inventory)
    plan = make_plan(wanted, room, mode=mode, seed=seed)
    unplaced = total(bill(plan)) if placed else None
    if placed:
        plan = place(wanted, room, mode=plan.mode, seed=seed)
    items = bill(plan)
    if output is not None:
        write_plan(output, plan)
    if as_json:
        print_json(_document(plan, items))
    else:
        _print(plan, items, unplaced)
        if output is not None:
            click.echo(f"wrote {output}", err=True)


def _document(plan: Plan, items: tuple[Item, ...]) -> dict[str, Any]:
    from topodesign.wiring.plan.placement import total  # noqa: PLC0415

    metres = total(items)
    return {
        "spec": None if plan.topology.spec is None else str(plan.topology.spec),
        "nodes": plan.topology.nodes,
        "mode": plan.mode,
        "hosts": list(plan.hosts),
        "cross_connects": len(plan.connects),
        "panels": _usage(plan),
        "spare": [
            {
                "host": spare.end.host,
                "port": spare.end.port,
                "lane": spare.end.lane,
                "panel": spare.end.panel,
                "panel_port": spare.end.panel_port,
                "transmit": spare.transmit,
                "receive": spare.receive,
                "self_loop": spare.self_loop,
            }
            for spare in plan.spare
        ],
        "trunks": [{"from": plan.hosts[u], "to": plan.hosts[v], "links": count} for u, v, count in plan.trunks],
        "bill": [
            {"type": item.kind, "length_m": None if item.length is None else str(item.length), "count": item.count}
            for item in items
        ],
        "cable_m": None if metres is None else str(metres),
    }


def _usage(plan: Plan) -> list[dict[str, Any]]:
    """Return how many ports of each panel are patched, cabled, blocked and there."""
    patched = Counter(panel for panel, _ in {_key(end) for one in plan.connects for end in (one.a, one.b)})
    cabled = Counter(fixed.panel for fixed in plan.fixed)
    return [
        {
            "panel": panel.name,
            "ports": len(panel.ports),
            "cabled": cabled[panel.name],
            "patched": patched[panel.name],
            "blocked": sum(port.blocked for port in panel.ports),
        }
        for panel in plan.inventory.panels
    ]


def _key(end: End) -> tuple[str, str]:
    return end.panel, end.panel_port


def _print(plan: Plan, items: tuple[Item, ...], unplaced: Fraction | None) -> None:
    click.echo(f"{plan.topology.nodes} nodes, {plan.mode}: {len(plan.connects)} cross-connects, checked")
    for row in _usage(plan):
        blocked = f", {row['blocked']} blocked" if row["blocked"] else ""
        click.echo(
            f"panel {row['panel']}: {row['ports']} ports, {row['cabled']} cabled, {row['patched']} patched{blocked}"
        )
    words = {(True, True): "", (True, False): "transmitter of ", (False, True): "receiver of "}
    spares = [
        words[one.transmit, one.receive]
        + f"{one.end.host} {one.end.port}/{one.end.lane}"
        + (" (self-loop)" if one.self_loop else "")
        for one in plan.spare
    ]
    arrow = "--" if plan.mode == "duplex" else "->"
    trunks = [f"{plan.hosts[u]} {arrow} {plan.hosts[v]} x{count}" for u, v, count in plan.trunks]
    for name, entries in (("spare lanes", spares), ("trunks", trunks)):
        if entries:
            click.echo(f"{len(entries)} {name}: {_shortened(entries)}")
    _print_bill(plan, items, unplaced)


def _print_bill(plan: Plan, items: tuple[Item, ...], unplaced: Fraction | None) -> None:
    from topodesign.wiring.inventory.lengths import format_metres, racks_without_place  # noqa: PLC0415
    from topodesign.wiring.plan.placement import total  # noqa: PLC0415

    there = "; the fixed cabling exists" if plan.inventory.cabling else ""
    click.echo(f"bill of materials{there}:" if items else f"bill of materials: nothing{there}")
    for item in items:
        size = "unknown length" if item.length is None else f"{format_metres(item.length)} m"
        click.echo(f"  {item.count:6} x {item.kind}, {size}")
    metres = total(items)
    if metres is not None and items:
        before = f", {format_metres(unplaced)} m in the order of the inventory" if unplaced is not None else ""
        click.echo(f"  {format_metres(metres)} m of cable in all{before}")
    lacking = racks_without_place(plan.inventory) if metres is None else []
    if lacking:
        click.echo(f"  no coordinates in the inventory: {_shortened([f'rack {rack}' for rack in lacking])}")


def _shortened(entries: list[str]) -> str:
    more = f", and {len(entries) - _MOST_SHOWN} more" if len(entries) > _MOST_SHOWN else ""
    return ", ".join(entries[:_MOST_SHOWN]) + more
