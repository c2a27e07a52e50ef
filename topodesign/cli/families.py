"""``topodesign families``."""

from __future__ import annotations

from pathlib import Path

import click

import topodesign
from topodesign.cli.answers import Command, form, json_option, show
from topodesign.cli.options import FILE, SPEC, option


@click.command(name="families", cls=Command)
@click.argument("name", type=SPEC, required=False)
@option("--picture FILE", "Draw the example of NAME: .svg, .png or .pdf (needs matplotlib).", type=FILE)
@json_option
def command(name: str | None, picture: Path | None) -> None:
    """Describe what specs are made of: families of topologies, expansions, everyday names and fabrics.

    Without NAME all are listed, with their arguments, nodes and ports. With one (or a spec that begins with it, which
    is the example then) there is more: what it is, where it is from, a picture of its links, and what an example costs.

    Example: topodesign families kautz
    """
    found = topodesign.families(name)
    if picture is not None:
        if name is None:
            raise click.UsageError("--picture draws the example of one NAME.")
        topodesign.plot(found[0].example, "structure").save(picture)
        click.echo(f"wrote {picture}", err=True)
    for one in found if name is not None and form() == "text" else [found]:
        show(one)
