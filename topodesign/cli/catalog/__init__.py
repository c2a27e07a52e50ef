"""``topodesign catalog``: the commands, one a file."""

from __future__ import annotations

import click

from topodesign.cli.catalog.build import command as build
from topodesign.cli.catalog.list import command as list_command
from topodesign.cli.catalog.price import command as price
from topodesign.cli.catalog.show import command as show
from topodesign.cli.catalog.verify import command as verify


@click.group(name="catalog")
def command() -> None:
    """Look up, list, verify, price and build the best known topologies of many sizes.

    Start with: topodesign catalog show -n 1000 -d 4
    """


for subcommand in (show, list_command, verify, price, build):
    command.add_command(subcommand)
