"""``topodesign simulate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.base.atomic import write_whole
from topodesign.base.errors import ParameterError
from topodesign.base.options import format_flags
from topodesign.base.work_options import OWN_ALPHA, WorkOptions
from topodesign.cli.answers import json_option, print_answer
from topodesign.cli.drawing import PAGE, DrawingCommand, get_plot_kind, give, plot_option
from topodesign.cli.options import FILE, PATH, SPEC, collective_of, message_options, offer, option
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import get_given_options, names_schedule
from topodesign.plans.time.options import ConditionOptions

if TYPE_CHECKING:
    from topodesign.collectives import Collective
    from topodesign.plans.plan import Plan
    from topodesign.plans.time.timeline import TimelineFormat


@click.command(name="simulate", cls=DrawingCommand)
@click.argument("source", type=SPEC, metavar="PLAN")
@collective_of(None, "For a network, which is scheduled first: collective")
@offer(WorkOptions, alpha=OWN_ALPHA)
@message_options
@offer(ConditionOptions, "mode", "without", "links")
@option(
    "--training CSV",
    "Time a training step with the layers in this file, such as configs/workload_resnet50.csv; alike links only.",
    type=PATH,
)
@option("--bucket SIZE", "Fuse layers of the training step up to this size.")
@offer(ConditionOptions, "jitter", "seed", "ready")
@option(
    "--timeline FILE",
    "Of timed sends: write when each happens, as a table (.csv) or for chrome://tracing and Perfetto (.json).",
    type=FILE,
)
@plot_option("timeline", "utilization")
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    source: str,
    collective: Collective | None,
    plot_kind: str | None,
    sizes: tuple[Any, ...],
    training: Path | None,
    bucket: str | None,
    timeline: Path | None,
    **options: Any,
) -> int:
    """Compute completion times of a plan, also with failures.

    PLAN is a plan file (.npz), or a topology spec or fabric (quote it), which is scheduled first. Trees are timed as
    pipelines of as many chunks as are best; a fabric's bandwidths are those in the file. -o FILE.svg draws a timeline,
    -o FILE.html writes a report. Exit status 1 if the plan is wrong or failed links prevent the collective.

    Example: topodesign simulate ring.npz --size 1MiB --size 1GiB --mode asynchronous
    """
    given = get_given_options(context)
    _check_training(training, bucket, options)
    kind = get_plot_kind(plot_kind, "timeline")
    if kind is not None:
        _draw(source, collective, kind, given, sizes, options)
        return 0
    plan = _plan_of(source, collective)
    with progress_bar("verifying"):
        report = topodesign.verify(plan)
    own = isinstance(plan.place, topodesign.Fabric)
    if own:
        for flag in ("--mode", "--training", "--bucket"):
            if flag.removeprefix("--") in given:
                raise ParameterError(f"{flag} cannot be used with tree schedules; remove it")
    if not report.ok:
        click.echo(str(report), err=True)
        return 1
    work = {name: options[name] for name in ("alpha", "bandwidth")}
    own_size = plan.size
    if own and "bandwidth" not in given:
        options["bandwidth"] = None
    if own_size is not None and not given & {"alpha", "gap", "hop"}:
        options["alpha"] = None
    if own_size is not None and "sizes" not in given:
        sizes = (own_size,)
    with progress_bar("simulating"):
        results = [topodesign.simulate(plan, size=size, **options) for size in sizes]
    document: dict[str, Any] = {
        "collective": plan.collective.name,
        "nodes": plan.topology.nodes,
        "mode": options["mode"],
    }
    document["runs"] = [result.record() for result in results]
    texts = list(map(str, results))
    if training is not None:
        step = topodesign.training_step(plan, training, bucket=bucket, **work)
        document["training"] = step.record()
        texts.append(str(step))
    if timeline is not None:
        write_whole(timeline, topodesign.timeline(results[0], _timeline_format(timeline)))
    print_answer("\n\n".join(texts), document, lambda: document["runs"])
    return 0 if all(result.completes for result in results) else 1


def _plan_of(text: str, collective: Collective | None) -> Plan:
    """Return the plan of a file, or that of a network."""
    if names_schedule(text) or "(" not in text:
        if collective is not None:
            raise click.UsageError(f"--collective cannot be combined with {text}, which has one; remove it.")
        return topodesign.load_plan(text)
    with progress_bar("scheduling"):
        return topodesign.schedule(text, *(() if collective is None else (collective,)))


def _draw(
    text: str,
    collective: Collective | None,
    kind: str,
    given: set[str],
    sizes: tuple[Any, ...],
    options: dict[str, Any],
) -> None:
    """Draw a plan in time, or write the report on it."""
    work: dict[str, Any] = {name: options[name] for name in ("alpha", "bandwidth") if name in given}
    wrong = given - {"source", "collective", "plot_kind", "sizes", *work}
    if wrong:
        raise click.UsageError(f"{format_flags(sorted(wrong))} cannot be combined with --plot-kind; remove it.")
    if kind == PAGE:
        if "sizes" in given:
            work["sizes"] = sizes
        give(topodesign.report_page(text, collective=collective, **work))
        return
    if "sizes" in given:
        work["size"] = sizes[0]
    give(topodesign.plot(_plan_of(text, collective), kind, **(work if kind == "timeline" else {})))


def _timeline_format(path: Path) -> TimelineFormat:
    """Return the format that the ending of a file names."""
    for known in ("csv", "json"):
        if path.suffix.lower() == f".{known}":
            return known
    raise ParameterError(f"a timeline is written to a file ending in .json or .csv, not to {path}")


def _check_training(training: Path | None, bucket: str | None, options: dict[str, Any]) -> None:
    """Raise ParameterError for options that would be without effect."""
    if training is None:
        if bucket is not None:
            raise ParameterError("--bucket requires --training, whose layers it fuses")
        return
    asked = {"--link-table": options["links"], "--fail": options["without"]}
    asked[f"--mode {options['mode']}"] = options["mode"] != "lock-step"
    for flag, value in asked.items():
        if value:
            raise ParameterError(
                f"{flag} cannot be combined with --training, which requires equal links in lock-step; remove one"
            )
