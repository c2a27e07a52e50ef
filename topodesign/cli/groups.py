"""``topodesign groups``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.cli.answers import Command, json_option, tell
from topodesign.cli.options import SPEC, collective_option, offer, root_option
from topodesign.cli.progress import progress_bar
from topodesign.fabrics.options import PlaceOptions

if TYPE_CHECKING:
    from topodesign.collectives import Collective


@click.command(name="groups", cls=Command)
@click.argument("place", type=SPEC)
@collective_option
@offer(PlaceOptions, "group", "placement", "others", "without", others="forward")
@root_option
@json_option
def command(place: str, collective: Collective, group: tuple[str, ...], **options: Any) -> None:
    """Price a collective in several groups of nodes that run at the same time on shared links.

    PLACE is a spec (quote it), a file of links, or a fabric. The price is exact: no way to route blocks, or no trees of
    the members, are faster by bandwidth, unless it says otherwise. `topodesign schedule --group` makes a plan,
    `topodesign layout` places ranks on nodes so that the price is low. With --without it is the price of what is left,
    by the bandwidth of the node that then has most.

    Example: topodesign groups 'torus(4,4)' --group 4x4:0 --collective all-to-all
    """
    with progress_bar("pricing"):
        found = topodesign.price_groups(place, collective, group, **options)
    tell(found, found.heading())
