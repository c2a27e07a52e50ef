"""``topodesign groups``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import topodesign
from topodesign.cli.completion import SPEC
from topodesign.cli.options import (
    collective_option,
    group_options,
    json_option,
    others_option,
    print_json,
    progress_bar,
    say,
)

if TYPE_CHECKING:
    from topodesign.collectives import Collective
    from topodesign.fabrics.part import Others


@click.command(name="groups")
@click.argument("place", type=SPEC)
@collective_option
@group_options
@others_option("forward")
@click.option("--root", metavar="NODES", help="The root of each group, with commas between; or 'first'.")
@json_option
def command(
    place: str,
    collective: Collective,
    group: tuple[str, ...],
    placement: str | None,
    others: Others,
    root: str | None,
    as_json: bool,
) -> None:
    """Price a collective in several groups of nodes that run at the same time on shared links.

    PLACE is a spec (quote it), a file of links, or a fabric. The price is exact: no way to route blocks, or no trees of
    the members, are faster by bandwidth, unless it says otherwise. `topodesign schedule --group` makes a plan,
    `topodesign layout` places ranks on nodes so that the price is low.

    Example: topodesign groups 'torus(4,4)' --group 4x4:0 --collective all-to-all
    """
    with progress_bar("pricing"):
        found = topodesign.price_groups(place, collective, group, root=root, others=others, placement=placement)
    if as_json:
        print_json(found.record(), found.to_records())
    else:
        say(found.heading())
