"""``topodesign simulate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.base.atomic import write_whole
from topodesign.base.errors import ParameterError
from topodesign.base.work_options import OWN_ALPHA, WorkOptions
from topodesign.cli.answers import Command, json_option, print_answer
from topodesign.cli.options import FILE, PATH, message_options, offer, option
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import given_options
from topodesign.plans.time.options import ConditionOptions

if TYPE_CHECKING:
    from topodesign.plans.time.timeline import TimelineFormat


@click.command(name="simulate", cls=Command)
@click.argument("file", type=PATH)
@offer(WorkOptions, alpha=OWN_ALPHA)
@message_options
@offer(ConditionOptions, "mode", "failed", "without", "links")
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
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    file: Path,
    sizes: tuple[Any, ...],
    training: Path | None,
    bucket: str | None,
    timeline: Path | None,
    **options: Any,
) -> int:
    """Time a schedule file in the alpha-beta model; say which links are busy and what a failed link does.

    Trees are timed as pipelines of as many chunks as are best; a fabric's bandwidths are those in the file, and
    --without tells what is down. Who takes part, the schedule has decided. Exit status 1 if the schedule is wrong or
    failed links prevent the collective.

    Example: topodesign simulate ring.npz --size 1MiB --size 1GiB --mode asynchronous
    """
    given = given_options(context)
    _check_training(training, bucket, options)
    with progress_bar("verifying"):
        plan = topodesign.load_plan(file)
        report = topodesign.verify(plan)
    own = isinstance(plan.place, topodesign.Fabric)
    if own:
        for flag in ("--mode", "--link-table", "--training", "--bucket"):
            if flag.removeprefix("--").replace("link-table", "links") in given:
                raise ParameterError(f"{flag} is not for trees; leave it out")
    if not report.ok:
        click.echo(str(report), err=True)
        return 1
    work = {name: options[name] for name in ("alpha", "bandwidth")}
    from topodesign.plans.kinds import kind_of  # noqa: PLC0415  NumPy, which help does without

    own_size = kind_of(plan).size
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
            raise ParameterError("--bucket fuses the layers of a training step; give these with --training")
        return
    asked = {"--link-table": options["links"], "--failed-link": options["failed"]}
    asked[f"--mode {options['mode']}"] = options["mode"] != "lock-step"
    for flag, value in asked.items():
        if value:
            raise ParameterError(f"--training is for links that are alike, in lock-step; leave {flag} out")
