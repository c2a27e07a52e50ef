"""``topodesign groups``, ``uneven`` and ``methods``: prices beside plans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.base.work_options import OwnWorkOptions
from topodesign.cli.answers import Command, csv_option, json_option, show, tell
from topodesign.cli.options import (
    SPEC,
    MethodChoice,
    collective_option,
    flag,
    message_options,
    offer,
    option,
    output_option,
    own_work_options,
    root_option,
    seed_option,
    time_limit_option,
    without_option,
)
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
def groups(place: str, collective: Collective, group: tuple[str, ...], **options: Any) -> None:
    """Price a collective in several groups of nodes that run at the same time on shared links.

    PLACE is a spec (quote it), a file of links, or a fabric. The price is exact: no way to route blocks, or no trees of
    the members, are faster by bandwidth, unless it says otherwise. `topodesign schedule --group` makes a plan.
    With --without it is the price of what is left, by the bandwidth of the node that then has most.

    Example: topodesign groups 'torus(4,4)' --group 4x4:0 --collective all-to-all
    """
    with progress_bar("pricing"):
        found = topodesign.price_groups(place, collective, group, **options)
    tell(found, found.heading())


@click.command(name="uneven", cls=Command)
@click.argument("place", type=SPEC)
@option(
    "--matrix FILE|NAME:NUMBER",
    "How many pieces go from each node to each: a .csv file (src,dst,amount, or a line for every sender), or experts "
    "drawn for tokens: zipf:1.2 (the same are popular with all nodes), top2:1.2 (each token goes to two), "
    "dirichlet:0.3 (each node has favourites).",
    required=True,
)
@option("--piece SIZE", "Bytes of a piece, such as a token.", default="8KiB")
@option("--tokens", "How many each node draws.  [default: 4096]", type=int)
@seed_option("Settles what is drawn.  [default: 0]", default=None)
@flag("--exact", "Solve the linear program at larger sizes too; else within proven bounds.")
@offer(OwnWorkOptions, "bandwidth")
@output_option("Write the traffic as a table src,dst,amount for 'schedule --shards'.", "CSV")
@json_option
def uneven(place: str, output: Path | None, **options: Any) -> None:
    """Price an all-to-all in which each node has another amount for each, and what a plan for even traffic loses.

    PLACE is a spec (quote it), a file of links, or a fabric. The price is that of the best flow by bandwidth, proven
    exactly for small sizes. Beside it stands the same traffic over the paths of a best flow for even traffic.

    Example: topodesign uneven 'torus(4,4)' --matrix zipf:1.2
    """
    with progress_bar("pricing") as progress:
        found = topodesign.price_uneven(place, progress=progress, **options)
    if output is not None:
        found.save(output)
    show(found)


@click.command(name="methods", cls=Command)
@click.argument("place", type=SPEC, required=False)
@collective_option
@root_option
@without_option
@own_work_options
@message_options
@option(
    "--method methods NAME...",
    "One of those to compare. Repeatable.  [default: all but the searches exact and tacos-ilp]",
    type=MethodChoice(),
)
@time_limit_option("10s", "For each method; what takes longer is left.")
@csv_option
@json_option
def methods(place: str | None, collective: Collective, **options: Any) -> None:
    """Compare all methods that schedule a collective on the same place and sizes; without PLACE, list them.

    PLACE is a spec (quote it), a file of links, or a fabric: a file or a spec such as 'dgx_a100(2)'. Every plan is
    verified and timed exactly; the bandwidth factor y is set against a bound that is proved. Methods that do not apply
    say why. With --without all is of what is left, whose links are as fast as before.

    Examples: topodesign methods 'torus(4,4)' --collective allgather --size 64KiB --size 64MiB,
    topodesign methods 'dgx_a100(2)' --method ring --method hierarchical --method forest
    """
    if place is None:
        if options["without"]:
            raise click.UsageError("--without says what has failed of PLACE; name one.")
        show(topodesign.methods())
        return
    with progress_bar("comparing") as progress:
        result = topodesign.compare_methods(place, collective, progress=progress, **options)
    show(result)
