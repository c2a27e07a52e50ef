"""``topodesign wire init``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.atomic import write_whole
from topodesign.base.errors import FileFormatError
from topodesign.cli.answers import Command
from topodesign.cli.options import option

_QUESTIONS: dict[str, tuple[str, Any, Any]] = {
    "hosts": ("How many hosts", click.IntRange(1), 12),
    "ports": ("Ports of each host", click.IntRange(1), 1),
    "connector": ("Their connector", click.Choice(("LC", "MPO-12")), "MPO-12"),
    "speed": ("Speed of a port", str, "100Gbps"),
    "panels": ("How many panels", click.IntRange(1), 1),
    "kind": ("Of which kind", click.Choice(("patch panel", "ocs")), "patch panel"),
    "mode": ("Their ports", click.Choice(("simplex", "duplex")), "simplex"),
}
"""What is asked on a terminal, what can be answered, and the defaults."""

_OF_HOSTS = ("hosts", "ports", "connector")
_OF_PANELS = ("panels", "panel_ports", "kind", "mode")


@click.command(name="init", cls=Command)
@option("--hosts N", "How many hosts.", type=click.IntRange(1))
@option("--ports N", "Ports of each host.  [default: 1]", type=click.IntRange(1))
@option("--connector", "Of the hosts' ports: one lane, or four.", words=("LC", "MPO-12"))
@option("--speed RATE", "Of a port, all lanes together; with --netbox, only such ports count.")
@option("--panels N", "How many panels or switches.  [default: 1]", type=click.IntRange(1))
@option("--panel-ports N", "Ports of each.  [default: as many as needed]", type=click.IntRange(1))
@option("--kind", "Panels, or circuit switches.", words=("patch panel", "ocs"))
@option("--mode", "Of their ports.  [default: simplex]", words=("simplex", "duplex"))
@option(
    "--lldp PATH", "Take hosts and ports from what they hear: a directory of HOST.json by 'lldpctl -f json', or a CSV."
)
@option(
    "--netbox SOURCE",
    "Take all from NetBox: its address (the token in NETBOX_TOKEN), or a directory of its lists exported to CSV.",
)
@option("--site NAME", "Only this site of NetBox.")
@option("--role roles NAME...", "Only devices of this role in NetBox; repeatable.")
@option("-o --output FILE", "New file to write (.yaml).")
def command(
    lldp: Path | None, netbox: str | None, site: str | None, roles: tuple[str, ...], output: Path | None, **answers: Any
) -> None:
    """Write an inventory to begin with: a YAML file with comments, to be corrected by hand.

    On a terminal it asks for what is not specified.

    Example: topodesign wire init --hosts 12 --speed 4x25Gbps -o room.yaml
    """
    said = {name: value for name, value in answers.items() if value is not None}
    if lldp is not None and netbox is not None:
        raise click.UsageError("--lldp cannot be combined with --netbox; remove one.")
    if netbox is None and (site or roles):
        raise click.UsageError("--site and --role require --netbox.")
    closed = _OF_HOSTS if lldp is not None else (*_OF_HOSTS, *_OF_PANELS) if netbox is not None else ()
    wrong = next((name for name in closed if name in said), None)
    if wrong is not None:
        source = "--netbox" if lldp is None else "--lldp"
        raise click.UsageError(f"--{wrong.replace('_', '-')} cannot be combined with {source}, which sets it.")
    if output is not None:
        _check_new(output)
    if netbox is not None:
        inventory = topodesign.read_netbox(netbox, site=site, roles=roles, speed=said.get("speed"))
        for note in inventory.notes:
            click.echo(f"note: {note}", err=True)
    else:
        said = _ask_answers(said, closed)
        if lldp is not None:
            said["hosts"] = topodesign.hosts_from_lldp(lldp, said.pop("speed"))
        inventory = topodesign.init_wiring(**said)
    text = topodesign.format_inventory(inventory)
    if output is None:
        click.echo(text, nl=False)
        return
    write_whole(output, text)
    click.echo(f"wrote {output}: {inventory.name}, {inventory.heading()}", err=True)


def _check_new(output: Path) -> None:
    if output.suffix.lower() not in {".yaml", ".yml"}:
        raise click.UsageError(f"cannot write an inventory as {output}; use the ending .yaml.")
    if output.exists():
        raise FileFormatError(f"{output}: there is such a file; choose another name, or remove it")


def _ask_answers(said: dict[str, Any], closed: tuple[str, ...]) -> dict[str, Any]:
    """Return the answers; ask for missing ones on a terminal."""
    terminal = sys.stdin.isatty()
    if not terminal and "hosts" not in closed and "hosts" not in said:
        raise click.UsageError("wire init requires --hosts, --lldp or --netbox without a terminal.")
    answers = dict(said)
    for name, (question, kind, default) in _QUESTIONS.items():
        if name in closed or name in said:
            continue
        answers[name] = click.prompt(question, default, type=kind, err=True) if terminal else default
    return answers
