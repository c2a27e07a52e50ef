"""``topodesign methods``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.cli.answers import Command, csv_option, json_option, show
from topodesign.cli.options import (
    SPEC,
    MethodChoice,
    collective_option,
    message_options,
    option,
    own_work_options,
    root_option,
    time_limit_option,
    without_option,
)
from topodesign.cli.progress import progress_bar

if TYPE_CHECKING:
    from topodesign.collectives import Collective


@click.command(name="methods", cls=Command)
@click.argument("place", type=SPEC, required=False)
@collective_option
@root_option
@without_option
@own_work_options
@message_options
@option(
    "--method methods NAME...", "One of those to compare; may be repeated. Without it all are.", type=MethodChoice()
)
@time_limit_option("10s", "For each method; what takes longer is left.")
@csv_option
@json_option
def command(place: str | None, collective: Collective, **options: Any) -> None:
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
