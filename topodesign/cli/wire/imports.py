"""``topodesign wire import``."""

from __future__ import annotations

from pathlib import Path

import click

from topodesign.cli.options import json_option, print_json

# As in export.py.
FORMATS = ("patches", "netbox", "sonic", "scpi", "graphml", "json")


@click.command(name="import")
@click.argument("plan", type=click.Path(path_type=Path))
@click.argument("export", type=click.Path(path_type=Path))
@click.option("--format", "file_format", type=click.Choice(FORMATS), required=True, help="What it is.")
@json_option
def command(plan: Path, export: Path, file_format: str, as_json: bool) -> int:
    """Read an export back and compare the links that it makes with those of the plan; exit status 1 if they differ.

    EXPORT is a file, or for sonic and scpi the directory.
    """
    from topodesign.wiring.exports.read_back import differences, read_export  # noqa: PLC0415  heavy
    from topodesign.wiring.plan.files import read_plan  # noqa: PLC0415

    wanted = read_plan(plan)
    found = read_export(export, file_format, wanted)
    missing, extra = differences(wanted, found)
    same = not missing and not extra
    if as_json:
        rows = {"links": found.links(), "missing": missing, "extra": extra}
        print_json({"same": same, "nodes": found.nodes, **rows})
    elif same:
        click.echo(f"{export} makes the links of the plan")
    else:
        for word, links in (("misses", missing), ("has too many", extra)):
            for u, v, count in links:
                click.echo(f"{word}: {count} x {wanted.hosts[u]} -> {wanted.hosts[v]}")
    return 0 if same else 1
