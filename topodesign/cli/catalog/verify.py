"""``topodesign catalog verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.cli.answers import Command, json_option, print_answer
from topodesign.cli.options import (
    FILE,
    catalog_option,
    degrees_option,
    flag,
    jobs_option,
    nodes_option,
    option,
    seed_option,
    whole,
    whole_range,
)
from topodesign.cli.progress import progress_bar


@click.command(name="verify", cls=Command)
@nodes_option("Only an N or a range of N, such as 1000..1040.", whole_range)
@degrees_option("Only a degree or a range of degrees.", whole_range)
@flag("--all every", "Every row; hours, so give --resume too.")
@option("--sample K", "Only so many rows, drawn at random.", type=whole(1))
@seed_option("Seed of the sample.")
@flag("--all-sources", "Price from every node, whatever symmetry the construction proves.")
@flag("--audit", "Price by code that shares nothing with what makes rows.")
@option("--resume FILE", "Keep in this file which rows are right, and start where it ends.", type=FILE)
@flag(
    "--closure",
    "Instead: tell where an expansion is over a percent better for allreduce or all-to-all than all there is.",
)
@jobs_option
@catalog_option
@json_option
def command(
    every: bool, all_sources: bool, audit: bool, closure: bool, jobs: int | None, catalog: Path | None, **options: Any
) -> int:
    """Rebuild rows of the catalog from their specs and price them from their links again.

    Any difference is reported with the file, the line, the row and what came out; the exit status is then 1. With
    --audit nothing of what makes rows is used: symmetry is held against the links, distances and loads are counted
    anew, deferred schedules replayed, and prices of all-to-all proven by flows.

    Example: topodesign catalog verify --sample 2000 --seed 1
    """
    if closure:
        if all_sources or audit or options["sample"] is not None or options["resume"] is not None:
            raise click.UsageError("--closure goes with -n, -d and --catalog alone: it rebuilds no rows.")
        with progress_bar("closing") as progress:
            left = topodesign.verify_closure(
                catalog, degrees=options["degrees"], nodes=options["nodes"], progress=progress
            )
        print_answer("\n".join([left.heading(), *map(str, left.violations)]), left.record())
        return 0 if left.ok else 1
    if every == any(options[name] is not None for name in ("sample", "nodes", "degrees")):
        raise click.UsageError("Say what to verify: --sample K, -d, -n, several of these, or --all alone.")
    if audit and all_sources:
        raise click.UsageError("--audit proves which nodes are enough; leave --all-sources out.")
    with progress_bar("verifying") as progress:
        options |= {"workers": jobs, "progress": progress}
        options["on_fault"] = lambda fault: click.echo(str(fault), err=True)
        if audit:
            result = topodesign.audit_catalog(catalog, **options)
        else:
            result = topodesign.verify_catalog(catalog, all_sources=all_sources, **options)
    print_answer(result.heading(), result.record())
    return 0 if result.ok else 1
