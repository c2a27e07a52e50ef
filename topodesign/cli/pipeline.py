"""``topodesign pipeline``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import topodesign
from topodesign.cli.completion import SPEC
from topodesign.cli.options import (
    COLLECTIVES,
    csv_option,
    group_options,
    json_option,
    print_csv,
    print_json,
    progress_bar,
    say,
    workload_options,
)

if TYPE_CHECKING:
    from topodesign.collectives import Collective


@click.command(name="pipeline")
@click.argument("topology", type=SPEC)
@click.option("--collective", type=COLLECTIVES, default="broadcast", show_default=True, help="What is sent.")
@click.option("--root", metavar="NODE", help="Where a rooted collective starts or ends; one for each group, or first.")
@click.option("--only", multiple=True, metavar="NODES", help="Nodes that take part; the others forward.")
@group_options
@workload_options
@click.option(
    "--chunks",
    "most_chunks",
    type=click.IntRange(1, 2**16),
    default=256,
    show_default=True,
    metavar="C",
    help="Chunks of the data of a tree at most.",
)
@json_option
@csv_option
def command(
    topology: str,
    collective: Collective,
    root: str | None,
    only: tuple[str, ...],
    group: tuple[str, ...],
    placement: str | None,
    alpha: str,
    sizes: tuple[str, ...],
    bandwidth: str,
    most_chunks: int,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show what every number of steps buys a broadcast in bandwidth, and what is fastest for a size.

    From the fewest steps there can be to the bandwidth of the least cut, by spanning trees whose data go in chunks, one
    behind the other. `topodesign schedule --method pipeline --size SIZE` writes the fastest.

    Example: topodesign pipeline 'torus(4,4)' --root 0 --size 64KiB --size 1GiB
    """
    with progress_bar("packing trees"):
        found = topodesign.pipeline_frontier(
            topology,
            collective,
            root=root,
            only=only,
            group=group,
            placement=placement,
            alpha=alpha,
            bandwidth=bandwidth,
            sizes=sizes,
            most_chunks=most_chunks,
        )
    if as_json:
        print_json(found.record())
    elif as_csv:
        print_csv(found.to_records())
    else:
        say(str(found))
