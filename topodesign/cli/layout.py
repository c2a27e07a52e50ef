"""``topodesign layout``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.errors import ParameterError
from topodesign.base.options import Option, Whole
from topodesign.cli.answers import Command, json_option, print_answer
from topodesign.cli.options import SPEC, offer, option, output_option, seed_option
from topodesign.cli.progress import progress_bar
from topodesign.fabrics.options import PlaceOptions
from topodesign.schedulers.options import SearchOptions


@click.command(name="layout", cls=Command)
@click.argument("place", type=SPEC)
@option(
    "--traffic GROUPS=WHAT@SIZE...",
    "Traffic in equal groups along axes of an array of ranks, such as 8x4:0=allreduce@1GiB; may be repeated, for "
    "traffic of several axes.",
    required=True,
)
@offer(PlaceOptions, "others", others="forward")
@seed_option("Settles what is drawn.")
@offer(SearchOptions, "tries", tries=Option("Layouts that are priced exactly.", Whole(0, 10**4), 8, "N"))
@output_option("File to write (.csv).")
@json_option
def command(place: str, traffic: tuple[str, ...], output: Path | None, **options: Any) -> None:
    """Place the ranks of a training run on nodes so that its groups sit well on the topology.

    PLACE is a spec (quote it), a file of links, or a fabric. The layout is never dearer than the ranks in the order of
    the nodes, by exact prices. --placement of `topodesign schedule` and `topodesign groups` takes the file.

    Example: topodesign layout 'torus(4,4)' --traffic 8x2:1=all-to-all@64MiB -o ranks.csv
    """
    if output is not None and output.suffix.lower() != ".csv":
        raise ParameterError(f"a placement is written as .csv, not {output}")
    with progress_bar("placing"):
        found = topodesign.layout(place, traffic, **options)
    if output is not None:
        found.save(output)
    said = "\n".join([str(found), *([] if output is None else [f"written to {output}"])])
    print_answer(said, {**found.record(), "file": None if output is None else str(output)})
