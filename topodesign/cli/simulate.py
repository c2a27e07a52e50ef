"""``topodesign simulate``."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from topodesign.base.errors import ParameterError
from topodesign.cli.options import json_option, print_json, progress_bar, without_option, workload_options

if TYPE_CHECKING:
    from topodesign.base.cost import Cost
    from topodesign.collectives import Collective
    from topodesign.simulation.rounds import Mode, SimulationResult


@click.command(name="simulate")
@click.argument("file", type=click.Path(path_type=Path))
@workload_options
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
    help="Time a training step with the layers in this file, such as the example workload_resnet50.csv; alike links "
    "only.",
)
@click.option("--bucket", metavar="SIZE", help="Fuse layers of the training step up to this size.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    file: Path,
    alpha: str,
    sizes: tuple[str, ...],
    bandwidth: str,
    mode: Mode,
    failed: tuple[str, ...],
    without: tuple[str, ...],
    link_table: Path | None,
    training: Path | None,
    bucket: str | None,
    as_json: bool,
) -> int:
    """Time a schedule file in the alpha-beta model; say which links are busy and what a failed link does.

    Trees are timed as pipelines of as many chunks as are best; a fabric's bandwidths are those in the file, and
    --without tells what is down. Who takes part, the schedule has decided. Exit status 1 if the schedule is wrong or
    failed links prevent the collective.
    """
    from topodesign.plans.trees_file import is_tree_file  # noqa: PLC0415  heavy

    if is_tree_file(file):
        for name in ("mode", "link_table", "training", "bucket"):
            if _given(context, name):
                raise ParameterError(f"--{name.replace('_', '-')} is not for trees; leave it out")
        rate = bandwidth if _given(context, "bandwidth") else None
        return _trees(file, alpha, sizes, rate, failed, without, as_json)
    if without:
        raise ParameterError("--without is for schedules of trees; give --failed-link U,V for each direction")
    _check_options(mode, failed, link_table, training, bucket)
    from topodesign.cli.sources import schedule_of  # noqa: PLC0415  heavy
    from topodesign.pricing.workload import as_workload  # noqa: PLC0415
    from topodesign.simulation.rounds import simulate  # noqa: PLC0415
    from topodesign.topology.link_table import LinkTable, read_link_table  # noqa: PLC0415

    work = as_workload(alpha, sizes, bandwidth)
    links = [_link(text) for text in failed]
    with progress_bar("verifying"):
        topology, schedule, _, report = schedule_of(file)
    if not report.ok:
        click.echo(str(report), err=True)
        return 1
    table = LinkTable({}, {}) if link_table is None else read_link_table(link_table).on(topology)
    with progress_bar("simulating"):
        results = [
            simulate(
                topology,
                schedule,
                alpha=work.alpha,
                size=size,
                bandwidth=work.bandwidth,
                mode=mode,
                link_alpha=table.alpha,
                link_bandwidth=table.bandwidth,
                failed_links=links,
            )
            for size in work.sizes
        ]
    document: dict[str, Any] = {
        "collective": schedule.collective.name,
        "nodes": topology.nodes,
        "mode": mode,
        "runs": [_record(result, size) for result, size in zip(results, work.sizes, strict=True)],
    }
    text = "\n\n".join(str(result) for result in results)
    if training is not None:
        extra, words = _training(training, schedule.collective, report.cost, work.alpha, work.bandwidth, bucket)
        document["training"] = extra
        text += "\n\n" + words
    if as_json:
        print_json(document)
    else:
        click.echo(text)
    return 1 if any(result.loss is not None and len(result.loss.pairs) for result in results) else 0


def _given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _trees(
    file: Path,
    alpha: str,
    sizes: tuple[str, ...],
    bandwidth: str | None,
    failed: tuple[str, ...],
    without: tuple[str, ...],
    as_json: bool,
) -> int:
    """Time a schedule of trees."""
    from topodesign.base.units import parse_bandwidth, parse_size, parse_time  # noqa: PLC0415
    from topodesign.cli.trees.simulate import simulate_file  # noqa: PLC0415  heavy

    with progress_bar("simulating"):
        results = simulate_file(
            file,
            parse_time(alpha),
            tuple(map(parse_size, sizes)),
            None if bandwidth is None else parse_bandwidth(bandwidth),
            failed,
            without,
        )
    if as_json:
        print_json({"runs": [result.record() for result in results]})
    else:
        click.echo("\n\n".join(map(str, results)))
    return 0 if all(result.finishes for result in results) else 1


def _record(result: SimulationResult, size: Fraction) -> dict[str, Any]:
    return {
        "size_bytes": float(size),
        "time_s": float(result.time),
        "time": str(result.time),
        "step_ends_s": {str(step): float(end) for step, end in result.step_ends.items()},
        "utilisation_mean": float(result.utilisation.mean()),
        "utilisation_max": float(result.utilisation.max()),
        "utilisation_min": float(result.utilisation.min()),
        "loss": None if result.loss is None else str(result.loss),
        "completes": result.loss is None or not len(result.loss.pairs),
    }


def _check_options(
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


def _training(
    path: Path, collective: Collective, cost: Cost, alpha: Fraction, bandwidth: Fraction, bucket: str | None
) -> tuple[dict[str, Any], str]:
    """Time a training step with the schedule's cost (an allreduce's is that of its two halves together)."""
    from topodesign.base.cost import Cost  # noqa: PLC0415
    from topodesign.base.units import parse_size  # noqa: PLC0415
    from topodesign.simulation.workload import backpropagation, load_workload  # noqa: PLC0415

    if len(collective.parts) > 1:
        if cost.steps % 2:
            raise ParameterError("the two halves of this allreduce differ; use a reduce-scatter or allgather schedule")
        cost = Cost(cost.steps // 2, cost.bandwidth / 2)
    step = backpropagation(
        load_workload(path),
        cost,
        alpha=alpha,
        bandwidth=bandwidth,
        bucket=None if bucket is None else parse_size(bucket),
    )
    record = {
        "finish_s": float(step.finish),
        "compute_s": float(step.compute),
        "exposed_s": float(step.exposed),
        "allreduce_s": float(step.allreduce),
    }
    return record, str(step)


def _link(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
        raise ParameterError(f"a failed link is written U,V with node numbers, such as 0,5, not {text!r}")
    return int(parts[0]), int(parts[1])
