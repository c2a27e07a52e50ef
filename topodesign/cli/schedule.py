"""``topodesign schedule``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import topodesign
from topodesign.base.atomic import write_directory
from topodesign.base.errors import ParameterError, ScheduleError
from topodesign.base.options import collect_options
from topodesign.cli.answers import Command, form, json_option, print_answer, show
from topodesign.cli.options import SPEC, flag, offer, output_option, schedule_options
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import check_ending, tell_of_names
from topodesign.fabrics.options import PlaceOptions
from topodesign.schedulers.options import SearchOptions, TimeOptions

if TYPE_CHECKING:
    from topodesign.collectives import Collective

_SIZES = replace(collect_options(TimeOptions)["size"], many=True)


@click.command(name="schedule", cls=Command)
@click.argument("topology", type=SPEC)
@schedule_options
@offer(PlaceOptions, "unwind")
@offer(TimeOptions, "size", section="Options", size=_SIZES)
@offer(TimeOptions, *(name for name in collect_options(TimeOptions) if name != "size"))
@offer(SearchOptions)
@flag(
    "--list",
    "For --algorithm exact and pipeline: list all chunks and steps that pay, up to --set chunks and steps. --size is "
    "repeatable, -o optional.",
)
@output_option("File to write (.npz); with --list also a new directory for all plans.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    topology: str,
    collective: Collective,
    traffic: tuple[str, ...],
    output: Path | None,
    size: tuple[str, ...],
    **options: Any,
) -> None:
    """Write the explicit schedule of a collective: who sends what to whom, step by step.

    TOPOLOGY is a spec (quote it), a file of links, or a fabric: a file or a spec such as 'dgx_a100(2)'. The schedule is
    verified before it is written: every send has its data, nothing is lost or counted twice, and the cost is what is
    claimed. With --fail, --shards or --set ready, auto takes a method that can do this
    (trees, paths or timed sends), and says which. With --size, or --alpha fabric, it takes the fastest
    plan of the methods that 'topodesign info algorithms' tries.

    --members selects participants, --group runs several groups concurrently. With --forward other nodes forward data.
    --traffic is for groups that run different collectives.

    Examples: topodesign schedule 'circulant(12,2,3)' --collective allreduce -o ring.npz,
    topodesign schedule 'mi250(2)' --collective allgather --set trees=2 -o boxes.npz,
    topodesign schedule 'dgx1_v100(1)' --collective allgather --algorithm exact --list
    """
    if context.get_parameter_source("size") is not ParameterSource.COMMANDLINE:
        size = ()
    if options.pop("list"):
        if traffic:
            raise ParameterError("--traffic cannot be combined with --list")
        _list(topology, collective, size, output, options)
        return
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    if len(size) > 1:
        raise click.UsageError("several --size require --list; use one.")
    check_ending(output, "schedule")
    for name in ("collective", "size"):
        if traffic and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise ParameterError(
                f"--{name} cannot be combined with --traffic, which sets the collectives and their data; remove one"
            )
    if size:
        options["size"] = size[0]
    with progress_bar("scheduling") as progress:
        plan = topodesign.schedule(topology, collective, traffic=traffic or None, progress=progress, **options)
    with progress_bar("verifying"):
        report = topodesign.verify(plan)
    if not report.ok:
        raise click.ClickException(f"the schedule fails verification, and nothing was written:\n{report}")
    topodesign.save_plan(output, plan)
    tell_of_names(plan.topology)
    from topodesign.report.scheduled import make_report  # noqa: PLC0415  not for help

    made = make_report(plan)
    print_answer(made.said(f"written to {output}"), {**made.record(), "verified": True, "file": str(output)})


def _list(
    place: str, collective: Collective, sizes: tuple[str, ...], output: Path | None, options: dict[str, Any]
) -> None:
    """Print the list of a method, and write its verified plans."""
    one_file = output is not None and output.suffix.lower() == ".npz"
    if one_file and len(sizes) > 1:
        raise ParameterError("one file holds the plan that is the fastest for one --size; name a directory for all")
    with progress_bar("searching") as progress:
        found = topodesign.list_schedules(place, collective, sizes=sizes or None, progress=progress, **options)
    if output is not None:
        rows = [found.best(found.sizes[0])] if one_file else list(found.schedules)
        for one in rows:
            report = topodesign.verify(one.plan)
            if not report.ok:
                raise ScheduleError(f"a plan fails verification, which is our fault; nothing was written:\n{report}")
        if one_file:
            topodesign.save_plan(output, rows[0].plan)
        else:
            name = str(found.collective)
            write_directory(
                output,
                {f"{name}-chunks{one.chunks}-steps{one.steps}.npz": partial(_save, plan=one.plan) for one in rows},
            )
    show(found, {**found.record(), "file": None if output is None else str(output)})
    if output is not None and form() == "text":
        click.echo(f"verified, written to {output}")


def _save(path: Path, plan: topodesign.Plan) -> None:
    topodesign.save_plan(path, plan)
