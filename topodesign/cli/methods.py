"""``topodesign methods``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.cli.completion import SPEC
from topodesign.cli.options import (
    collective_option,
    csv_option,
    json_option,
    message_options,
    own_alpha_option,
    print_csv,
    print_for_people,
    print_json,
    progress_bar,
    sizes_option,
)
from topodesign.schedulers import SCHEDULERS

if TYPE_CHECKING:
    from topodesign.collectives import Collective


@click.command(name="methods")
@click.argument("place", type=SPEC, required=False)
@collective_option
@click.option("--root", metavar="NODE", help="The node that a rooted collective comes from or goes to.")
@sizes_option()
@own_alpha_option
@message_options
@click.option(
    "--bandwidth",
    metavar="RATE",
    help="Egress bandwidth of a node over all its links, 100Gbps if nothing is said; fabrics have their own.",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    type=click.Choice(list(SCHEDULERS)),
    metavar="NAME",
    help="One of those to compare; may be repeated. Without it all are.",
)
@click.option(
    "--time-limit", default="10s", show_default=True, metavar="TIME", help="For each method; what takes longer is left."
)
@csv_option
@json_option
def command(
    place: str | None,
    collective: Collective,
    root: str | None,
    sizes: tuple[str, ...],
    alpha: str,
    bandwidth: str | None,
    gap: str | None,
    hop: str | None,
    methods: tuple[str, ...],
    time_limit: str,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Compare all methods that schedule a collective on the same place and sizes; without PLACE, list them.

    PLACE is a spec (quote it), a file of links, or a fabric: a file or a spec such as 'dgx_a100(2)'. Every plan is
    verified and timed exactly; the bandwidth factor y is set against a bound that is proved. Methods that do not apply
    say why.

    Examples: topodesign methods 'torus(4,4)' --collective allgather --size 64KiB --size 64MiB,
    topodesign methods 'dgx_a100(2)' --method ring --method hierarchical --method forest
    """
    result: Any
    if place is None:
        result = topodesign.methods()
    else:
        with progress_bar("comparing") as progress:
            result = topodesign.compare_methods(
                place,
                collective,
                gap=gap,
                hop=hop,
                root=root,
                sizes=sizes,
                alpha=alpha,
                bandwidth=bandwidth,
                methods=methods,
                time_limit=time_limit,
                progress=progress,
            )
    if as_json:
        print_json(result.record())
    elif as_csv:
        print_csv(result.to_records())
    else:
        print_for_people(result)
