"""``topodesign layout``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import topodesign
from topodesign.base.arguments import MOST_SEED
from topodesign.base.errors import ParameterError
from topodesign.cli.completion import SPEC
from topodesign.cli.options import json_option, others_option, print_json, progress_bar, say

if TYPE_CHECKING:
    from topodesign.fabrics.part import Others


@click.command(name="layout")
@click.argument("place", type=SPEC)
@click.option(
    "--traffic",
    multiple=True,
    required=True,
    metavar="GROUPS=WHAT@SIZE",
    help="Traffic in equal groups along axes of an array of ranks, such as 8x4:0=allreduce@1GiB; may be repeated, for "
    "traffic of several axes.",
)
@others_option("forward")
@click.option("--seed", type=click.IntRange(0, MOST_SEED), default=0, show_default=True, help="Settles what is drawn.")
@click.option(
    "--tries", type=click.IntRange(0, 10**4), default=8, show_default=True, help="Layouts that are priced exactly."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write (.csv).")
@json_option
def command(
    place: str,
    traffic: tuple[str, ...],
    others: Others,
    seed: int,
    tries: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Place the ranks of a training run on nodes so that its groups sit well on the topology.

    PLACE is a spec (quote it), a file of links, or a fabric. The layout is never dearer than the ranks in the order of
    the nodes, by exact prices. --placement of `topodesign schedule` and `topodesign groups` takes the file.

    Example: topodesign layout 'torus(4,4)' --traffic 8x2:1=all-to-all@64MiB -o ranks.csv
    """
    if output is not None and output.suffix.lower() != ".csv":
        raise ParameterError(f"a placement is written as .csv, not {output}")
    with progress_bar("placing"):
        found = topodesign.layout(place, traffic, others=others, seed=seed, tries=tries)
    if output is not None:
        found.save(output)
    if as_json:
        print_json({**found.record(), "file": None if output is None else str(output)})
    else:
        say("\n".join([str(found), *([] if output is None else [f"written to {output}"])]))
