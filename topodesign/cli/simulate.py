"""``topodesign simulate``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import topodesign
from topodesign.base.arguments import MOST_SEED
from topodesign.base.atomic import write_whole
from topodesign.base.errors import ParameterError
from topodesign.base.units import Quantity
from topodesign.cli.options import (
    json_option,
    message_options,
    own_alpha_option,
    print_json,
    progress_bar,
    say,
    without_option,
    workload_options,
)

if TYPE_CHECKING:
    from topodesign.plans.timing.conditions import Mode
    from topodesign.plans.timing.timeline import TimelineFormat


@click.command(name="simulate")
@click.argument("file", type=click.Path(path_type=Path))
@partial(workload_options, alpha=own_alpha_option)
@message_options
@click.option(
    "--mode",
    type=click.Choice(["lock-step", "asynchronous"]),
    default="lock-step",
    show_default=True,
    help="Whether steps wait for each other, or only sends for their data and links.",
)
@click.option(
    "--failed-link",
    "failed",
    multiple=True,
    metavar="U,V",
    help="A link that carries nothing, by the numbers of its ends (of a fabric their names); may be repeated.",
)
@without_option
@click.option(
    "--link-table",
    type=click.Path(path_type=Path),
    metavar="CSV",
    help="Other latencies and bandwidths for some links (src,dst,alpha,bandwidth).",
)
@click.option(
    "--training",
    type=click.Path(path_type=Path),
    metavar="CSV",
    help="Time a training step with the layers in this file, such as configs/workload_resnet50.csv; alike links only.",
)
@click.option("--bucket", metavar="SIZE", help="Fuse layers of the training step up to this size.")
@click.option("--jitter", metavar="TIME", help="Of timed sends: each is late by up to so much, by chance.")
@click.option("--seed", type=click.IntRange(0, MOST_SEED), default=0, show_default=True, help="Of the jitter.")
@click.option(
    "--ready",
    metavar="TIMES",
    help="Of timed sends: when nodes are ready that are not from the start, NODE=TIME,... or a .csv file.",
)
@click.option(
    "--timeline",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Of timed sends: write when each happens, as a table (.csv) or for chrome://tracing and Perfetto (.json).",
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    file: Path,
    alpha: str,
    sizes: tuple[Quantity, ...],
    bandwidth: str,
    gap: str | None,
    hop: str | None,
    mode: Mode,
    failed: tuple[str, ...],
    without: tuple[str, ...],
    link_table: Path | None,
    training: Path | None,
    bucket: str | None,
    jitter: str | None,
    seed: int,
    ready: str | None,
    timeline: Path | None,
    as_json: bool,
) -> int:
    """Time a schedule file in the alpha-beta model; say which links are busy and what a failed link does.

    Trees are timed as pipelines of as many chunks as are best; a fabric's bandwidths are those in the file, and
    --without tells what is down. Who takes part, the schedule has decided. Exit status 1 if the schedule is wrong or
    failed links prevent the collective.

    Example: topodesign simulate ring.npz --size 1MiB --size 1GiB --mode asynchronous
    """
    _check_training(mode, failed, link_table, training, bucket)
    with progress_bar("verifying"):
        plan = topodesign.load_plan(file)
        report = topodesign.verify(plan)
    own = isinstance(plan.place, topodesign.Fabric)
    if own:
        for name in ("mode", "link_table", "training", "bucket"):
            if _given(context, name):
                raise ParameterError(f"--{name.replace('_', '-')} is not for trees; leave it out")
    if not report.ok:
        click.echo(str(report), err=True)
        return 1
    rate = None if own and not _given(context, "bandwidth") else bandwidth
    from topodesign.plans.kinds import kind_of  # noqa: PLC0415  NumPy, which help does without

    own_size = kind_of(plan).size
    own_times = own_size is not None and not _given(context, "alpha") and gap is None and hop is None
    now: dict[str, Any] = {"alpha": None if own_times else alpha, "gap": gap, "hop": hop}
    now |= {"bandwidth": rate, "mode": mode, "links": link_table}
    now |= {"jitter": jitter or 0, "seed": seed, "ready": ready}
    if own_size is not None and not _given(context, "sizes"):
        sizes = (own_size,)
    with progress_bar("simulating"):
        results = [topodesign.simulate(plan, size=size, failed=failed, without=without, **now) for size in sizes]
    document: dict[str, Any] = {"collective": plan.collective.name, "nodes": plan.topology.nodes, "mode": mode}
    document["runs"] = [result.record() for result in results]
    texts = list(map(str, results))
    if training is not None:
        step = topodesign.training_step(plan, training, alpha=alpha, bandwidth=bandwidth, bucket=bucket)
        document["training"] = step.record()
        texts.append(str(step))
    if timeline is not None:
        write_whole(timeline, topodesign.timeline(results[0], _timeline_format(timeline)))
    if as_json:
        print_json(document, document["runs"])
    else:
        say("\n\n".join(texts))
    return 0 if all(result.completes for result in results) else 1


def _timeline_format(path: Path) -> TimelineFormat:
    """Return the format that the ending of a file names."""
    for known in ("csv", "json"):
        if path.suffix.lower() == f".{known}":
            return known
    raise ParameterError(f"a timeline is written to a file ending in .json or .csv, not to {path}")


def _given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _check_training(
    mode: Mode, failed: tuple[str, ...], link_table: Path | None, training: Path | None, bucket: str | None
) -> None:
    """Raise ParameterError for options that would be without effect."""
    if training is None:
        if bucket is not None:
            raise ParameterError("--bucket fuses the layers of a training step; give these with --training")
        return
    ignored = {
        "--link-table": link_table is not None,
        "--failed-link": bool(failed),
        f"--mode {mode}": mode != "lock-step",
    }
    for option, given in ignored.items():
        if given:
            raise ParameterError(f"--training is for links that are alike, in lock-step; leave {option} out")
