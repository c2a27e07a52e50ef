"""``topodesign catalog``: the commands, one a file."""

from __future__ import annotations

import click

from topodesign.cli.catalog.build import command as build
from topodesign.cli.catalog.compare import command as compare
from topodesign.cli.catalog.improve import command as improve
from topodesign.cli.catalog.list import command as list_command
from topodesign.cli.catalog.price import command as price
from topodesign.cli.catalog.show import command as show
from topodesign.cli.catalog.verify import command as verify


@click.group(name="catalog")
def command() -> None:
    """Look up, list, verify, price, build and improve the best known topologies of many sizes.

    Start with: topodesign catalog show -n 1000 -d 4
    """


for subcommand in (show, list_command, verify, price, build, improve, compare):
    command.add_command(subcommand)
