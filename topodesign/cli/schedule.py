"""``topodesign schedule``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import topodesign
from topodesign.base.errors import ParameterError
from topodesign.base.options import declared
from topodesign.cli.answers import Command, json_option, print_answer
from topodesign.cli.options import SPEC, offer, output_option, schedule_options
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import check_ending, tell_of_names
from topodesign.fabrics.options import PlaceOptions
from topodesign.schedulers.options import SearchOptions, TimeOptions

if TYPE_CHECKING:
    from topodesign.collectives import Collective


@click.command(name="schedule", cls=Command)
@click.argument("topology", type=SPEC)
@schedule_options
@offer(PlaceOptions, "unwind")
@offer(TimeOptions, "size", section="Options")
@offer(TimeOptions, *(name for name in declared(TimeOptions) if name != "size"))
@offer(SearchOptions)
@output_option("File to write (.npz).", required=True)
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    topology: str,
    collective: Collective,
    traffic: tuple[str, ...],
    output: Path,
    **options: Any,
) -> None:
    """Write the explicit schedule of a collective: who sends what to whom, step by step.

    TOPOLOGY is a spec (quote it), a file of links, or a fabric: a file or a spec such as 'dgx_a100(2)'. The schedule is
    verified before it is written: every send has its data, nothing is lost or counted twice, and the cost is what is
    claimed. --fixed-k and --shards are for trees. With --without, auto takes a method that can do without what
    has failed (trees, paths or timed sends), and says which.

    --only leaves the collective to some of the nodes, --group to several groups at the same time, each for itself;
    --others says whether the nodes of a topology that are not in a group forward its data. --traffic is for groups that
    do different things at the same time.

    Examples: topodesign schedule 'circulant(12,2,3)' --collective allreduce -o ring.npz,
    topodesign schedule 'mi250(2)' --collective allgather --fixed-k 2 -o boxes.npz
    """
    check_ending(output, "schedule")
    for name in ("collective", "size"):
        if traffic and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise ParameterError(f"--traffic says what is done, and with how much data; leave --{name} out")
    if context.get_parameter_source("size") is not ParameterSource.COMMANDLINE:
        del options["size"]
    with progress_bar("scheduling") as progress:
        plan = topodesign.schedule(topology, collective, traffic=traffic or None, progress=progress, **options)
    with progress_bar("verifying"):
        report = topodesign.verify(plan)
    if not report.ok:
        raise click.ClickException(f"the schedule fails verification, and nothing was written:\n{report}")
    topodesign.save_plan(output, plan)
    tell_of_names(plan.topology)
    from topodesign.report.scheduled import scheduled  # noqa: PLC0415  not for help

    made = scheduled(plan)
    print_answer(made.said(f"written to {output}"), {**made.record(), "verified": True, "file": str(output)})
