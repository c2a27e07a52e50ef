"""``topodesign frontier``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.base.atomic import write_directory
from topodesign.base.errors import ParameterError, ScheduleError
from topodesign.base.options import Option, Whole
from topodesign.cli.answers import Command, csv_option, form, json_option, show
from topodesign.cli.options import (
    SPEC,
    collective_of,
    offer,
    output_option,
    own_work_options,
    root_option,
    time_limit_option,
)
from topodesign.cli.progress import progress_bar
from topodesign.schedulers.options import SearchOptions, ShapeOptions

if TYPE_CHECKING:
    from topodesign.collectives import Collective
    from topodesign.schedulers.exact_frontier import Choice, ExactFrontier


@click.command(name="frontier", cls=Command)
@click.argument("place", type=SPEC)
@collective_of("allgather")
@root_option
@offer(
    ShapeOptions,
    "chunks",
    "steps",
    chunks=Option("Equal parts of a block at most.", Whole(1, 64), 6, "C"),
    steps=Option("Steps at most; without it two more than the fewest.", Whole(1), metavar="T"),
)
@own_work_options
@time_limit_option("60s", "For all searches together.")
@offer(SearchOptions, "jobs", "seed", jobs=Option("Threads of the search.", Whole(1, 1024), 1, "N"), seed=0)
@output_option("New directory for all plans, or a file (.npz) for the fastest at the one --size.")
@csv_option
@json_option
def command(place: str, collective: Collective, sizes: tuple[str, ...], output: Path | None, **options: Any) -> None:
    """Show what chunks, steps and rounds there are to choose from on a small topology, with a proof of each.

    PLACE is a spec (quote it), a file of links, or a fabric without switches. In a round a link carries one chunk for
    every unit of its capacity. What is shown none with as few chunks and steps beats in rounds for each chunk; what the
    time was not enough for is said. --output writes the plans, verified.

    Example: topodesign frontier 'dgx1_v100(1)' --chunks 6 --size 64KiB --size 1GiB -o plans
    """
    one_file = output is not None and output.suffix.lower() == ".npz"
    if one_file and len(sizes) > 1:
        raise ParameterError("one file holds the plan that is the fastest for one --size; name a directory for all")
    with progress_bar("searching") as progress:
        found = topodesign.exact_frontier(place, collective, sizes=sizes, progress=progress, **options)
    if output is not None:
        _write(found, [found.best(sizes[0])] if one_file else list(found.choices), output, one_file)
    show(found, {**found.record(), "file": None if output is None else str(output)})
    if output is not None and form() == "text":
        click.echo(f"verified, written to {output}")


def _write(found: ExactFrontier, choices: list[Choice], output: Path, one_file: bool) -> None:
    """Verify plans and write them: one into a file, or all into a directory, called by chunks and steps."""
    for one in choices:
        report = topodesign.verify(one.plan)
        if not report.ok:
            raise ScheduleError(f"a plan fails verification, which is our fault; nothing was written:\n{report}")
    if one_file:
        topodesign.save_plan(output, choices[0].plan)
        return
    name = str(found.collective)
    write_directory(
        output, {f"{name}-chunks{one.chunks}-steps{one.steps}.npz": partial(_saved, plan=one.plan) for one in choices}
    )


def _saved(path: Path, plan: topodesign.Plan) -> None:
    topodesign.save_plan(path, plan)
