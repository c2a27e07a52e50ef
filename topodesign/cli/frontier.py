"""``topodesign frontier``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

import topodesign
from topodesign.base.arguments import MOST_SEED
from topodesign.base.atomic import write_directory
from topodesign.base.errors import ParameterError, ScheduleError
from topodesign.cli.completion import SPEC
from topodesign.cli.options import (
    COLLECTIVES,
    alpha_option,
    csv_option,
    json_option,
    print_csv,
    print_for_people,
    print_json,
    progress_bar,
    sizes_option,
)

if TYPE_CHECKING:
    from topodesign.collectives import Collective
    from topodesign.schedulers.exact_frontier import Choice, ExactFrontier


@click.command(name="frontier")
@click.argument("place", type=SPEC)
@click.option("--collective", type=COLLECTIVES, default="allgather", show_default=True, help="What to schedule.")
@click.option("--root", metavar="NODE", help="The node that a rooted collective comes from or goes to.")
@click.option(
    "--chunks",
    type=click.IntRange(1, 64),
    default=6,
    show_default=True,
    metavar="C",
    help="Equal parts of a block at most.",
)
@click.option(
    "--steps", type=click.IntRange(1), metavar="T", help="Steps at most; without it two more than the fewest."
)
@alpha_option
@sizes_option()
@click.option(
    "--bandwidth",
    metavar="RATE",
    help="Egress bandwidth of a node over all its links, 100Gbps if nothing is said; fabrics have their own.",
)
@click.option("--time-limit", default="60s", show_default=True, metavar="TIME", help="For all searches together.")
@click.option("--jobs", type=click.IntRange(1, 1024), default=1, metavar="N", help="Threads of the search.")
@click.option(
    "--seed", type=click.IntRange(0, MOST_SEED), default=0, show_default=True, help="Where the search begins."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="New directory for all plans, or a file (.npz) for the fastest at the one --size.",
)
@csv_option
@json_option
def command(
    place: str,
    collective: Collective,
    root: str | None,
    chunks: int,
    steps: int | None,
    alpha: str,
    sizes: tuple[str, ...],
    bandwidth: str | None,
    time_limit: str,
    jobs: int,
    seed: int,
    output: Path | None,
    as_csv: bool,
    as_json: bool,
) -> None:
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
        found = topodesign.exact_frontier(
            place,
            collective,
            root=root,
            chunks=chunks,
            steps=steps,
            alpha=alpha,
            bandwidth=bandwidth,
            sizes=sizes,
            time_limit=time_limit,
            jobs=jobs,
            seed=seed,
            progress=progress,
        )
    if output is not None:
        _write(found, [found.best(sizes[0])] if one_file else list(found.choices), output, one_file)
    if as_json:
        print_json({**found.record(), "file": None if output is None else str(output)})
    elif as_csv:
        print_csv(found.to_records())
    else:
        print_for_people(found)
        if output is not None:
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
        output,
        {f"{name}-chunks{one.chunks}-steps{one.steps}.npz": partial(_saved, plan=one.plan) for one in choices},
    )


def _saved(path: Path, plan: topodesign.Plan) -> None:
    topodesign.save_plan(path, plan)
