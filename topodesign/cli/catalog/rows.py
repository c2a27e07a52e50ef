"""``topodesign catalog show``, ``verify``, ``build``, ``merge`` and ``diff``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.wording import count_noun
from topodesign.cli.answers import Command, json_option, print_answer, show
from topodesign.cli.options import (
    FILE,
    FOLDER,
    bidirectional_option,
    catalog_option,
    degrees_option,
    flag,
    jobs_option,
    nodes_option,
    offer,
    option,
    seed_option,
    whole,
    whole_range,
    work_options,
)
from topodesign.cli.progress import progress_bar
from topodesign.finder.options import FindOptions


@click.command(name="show", cls=Command)
@nodes_option("Number of nodes N, or a range such as 1000..1040 or 16..64..16.", required=True)
@option("-d --degree", "Ports out of (and into) each node.", type=whole(1), required=True)
@work_options
@bidirectional_option
@offer(FindOptions, "max_steps", "within")
@catalog_option
@json_option
def show_rows(nodes: range, degree: int, catalog: Path | None, **options: Any) -> None:
    """Look up the best known topologies of a size, or of a range of sizes.

    'topodesign pareto' gives the same answers, and searches, compares, ranks and draws as well.

    Example: topodesign catalog show -n 1021 -d 4 --within 5%
    """
    show(topodesign.show_catalog(nodes, degree, catalog=catalog or True, **options))


@click.command(name="verify", cls=Command)
@nodes_option("Only an N or a range of N, such as 1000..1040.", whole_range)
@degrees_option("Only a degree or a range of degrees.", whole_range)
@flag("--all every", "Every row; hours, so give --resume too.")
@option("--sample K", "Only so many rows, drawn at random.", type=whole(1))
@seed_option("Seed of the sample.")
@flag("--all-sources", "Price from every node, whatever symmetry the construction proves.")
@flag("--audit", "Price by code that shares nothing with what makes rows.")
@flag("--plans", "Instead: find rows that a plan of schedule undercuts.")
@option("--resume FILE", "Keep in this file which rows are right, and start where it ends.", type=FILE)
@flag(
    "--closure",
    "Instead: tell where an expansion is over a percent better for allreduce or all-to-all than all there is.",
)
@jobs_option
@catalog_option
@json_option
def verify(
    every: bool,
    all_sources: bool,
    audit: bool,
    plans: bool,
    closure: bool,
    jobs: int | None,
    catalog: Path | None,
    **options: Any,
) -> int:
    """Rebuild rows of the catalog from their specs and price them from their links again.

    Any difference is reported with the file, the line, the row and what came out; the exit status is then 1. With
    --audit nothing of what makes rows is used: symmetry is held against the links, distances and loads are counted
    anew, deferred schedules replayed, and prices of all-to-all proven by flows. With --plans a row is wrong if schedule
    makes a plan of its topology that no row of its size matches.

    Example: topodesign catalog verify --sample 2000 --seed 1
    """
    if closure:
        if all_sources or audit or plans or options["sample"] is not None or options["resume"] is not None:
            raise click.UsageError("--closure can only be combined with -n, -d and --catalog; remove the others.")
        with progress_bar("closing") as progress:
            left = topodesign.verify_closure(
                catalog, degrees=options["degrees"], nodes=options["nodes"], progress=progress
            )
        print_answer("\n".join([left.heading(), *map(str, left.violations)]), left.record())
        return 0 if left.ok else 1
    if every == any(options[name] is not None for name in ("sample", "nodes", "degrees")):
        raise click.UsageError("catalog verify requires --sample K, -d or -n, or --all alone.")
    if sum((audit, all_sources, plans)) > 1:
        raise click.UsageError("--audit, --all-sources and --plans cannot be used together; remove all but one.")
    with progress_bar("verifying") as progress:
        options |= {"workers": jobs, "progress": progress}
        options["on_fault"] = lambda fault: click.echo(str(fault), err=True)
        by: Any = "audit" if audit else "plans" if plans else "sources" if all_sources else "links"
        result = topodesign.verify_catalog(catalog, by=by, **options)
    print_answer(result.heading(), result.record())
    return 0 if result.ok else 1


def _shard(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", value)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise click.BadParameter(f"{value!r} is not a shard; expected 1/K to K/K.")
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
def build(
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
        raise click.UsageError("-n must be at least 3 and -d at least 2 in a catalog.")
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
    said = f"{count_noun(len(files), 'file')} written to {output}; look them up with --catalog {output}"
    paths = [str(path) for path in files]
    print_answer(said, {"files": paths}, lambda: [{"file": path} for path in paths])


@click.command(name="merge", cls=Command)
@click.argument("directories", nargs=-1, required=True, type=FOLDER, metavar="DIR...")
@option("-o --output", "New directory for the files, one per degree.", type=FOLDER, required=True)
@json_option
def merge(directories: tuple[Path, ...], output: Path) -> None:
    """Merge catalogs: the Pareto-optimal rows of each size.

    Prices of all-to-all that are known of these rows are kept. Nothing is written if a file is damaged. Of rows that
    cost the same that of the first directory is taken.

    Example: topodesign catalog merge mine better -o both
    """
    found = topodesign.merge_catalog(directories, output)
    show(found, {"shares": found.to_records()})


@click.command(name="diff", cls=Command)
@click.argument("old", type=FOLDER)
@click.argument("new", type=FOLDER, required=False)
@nodes_option("Range of N.", whole_range, default="3..2048", show_default=True)
@degrees_option("Degree or range of degrees.  [default: all that both have]", whole_range)
@json_option
def diff(old: Path, new: Path | None, nodes: range, degrees: range | None) -> int:
    """Compare the catalog in NEW (or the shipped one) with OLD.

    By size and cost.

    The exit status is 1 where a topology of OLD has fewer steps or a lower bandwidth factor than all of NEW.

    Example: topodesign catalog diff before after -d 4
    """
    found = topodesign.diff_catalog(old, new, degrees=degrees, first=nodes[0], last=nodes[-1])
    show(found, {"degrees": found.to_records()})
    return 0 if found.ok else 1
