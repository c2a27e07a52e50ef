"""``topodesign catalog build``."""

from __future__ import annotations

import re
from pathlib import Path

import click

import topodesign
from topodesign.cli.answers import Command, json_option, print_answer
from topodesign.cli.options import FILE, FOLDER, degrees_option, jobs_option, nodes_option, option, seed_option, whole
from topodesign.cli.progress import progress_bar


def _shard(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", value)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise click.BadParameter(f"{value!r} is not one of the shards 1/K to K/K.")
    return int(match[1]), int(match[2])


@click.command(name="build", cls=Command)
@nodes_option("N or a range of N, such as 3..2048.", required=True)
@degrees_option("A degree or a range.", required=True)
@option(
    "-o --output",
    "Directory for the files, one per degree. Rows of other sizes there stay.",
    type=FOLDER,
    required=True,
)
@seed_option("Seed of all searches.")
@option(
    "--effort PERCENT",
    "How hard to search; 0 takes known families and their expansions only.",
    type=whole(0, 100_000),
    default=100,
)
@jobs_option
@option(
    "--shard k/K",
    "Only the k-th of K parts of the grid, for a job array; catalog merge puts their directories together.",
    callback=_shard,
)
@option("--scheduler ADDRESS", "Use the workers of this Dask scheduler, tcp://host:port.")
@option("--journal", "File that keeps finished work.  [default: build.journal in the output directory]", type=FILE)
@json_option
def command(
    nodes: range,
    degrees: range,
    output: Path,
    seed: int,
    effort: int,
    jobs: int | None,
    scheduler: str | None,
    shard: tuple[int, int] | None,
    journal: Path | None,
) -> None:
    """Work out the best topologies of every size of a grid.

    A build that was stopped or killed goes on where it was when it is started again. The result depends on the seed and
    the effort alone; of a size it is the same whatever else is built with it.

    Example: topodesign catalog build -n 3..256 -d 2..4 -o my-catalog
    """
    if nodes.start < 3 or degrees.start < 2:
        raise click.UsageError("A catalog is of at least 3 nodes and degree 2.")
    with progress_bar("building") as progress:
        files = topodesign.build_catalog(
            output,
            nodes,
            degrees,
            effort=topodesign.Effort(seed, effort),
            journal=journal,
            jobs=jobs,
            scheduler=scheduler,
            shard=shard,
            progress=progress,
        )
    said = f"{len(files)} file(s) written to {output}; look them up with --catalog {output}"
    paths = [str(path) for path in files]
    print_answer(said, {"files": paths}, lambda: [{"file": path} for path in paths])
