"""``topodesign schedule``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from topodesign.cli.options import collective_option, json_option, method_options, print_json, progress_bar

if TYPE_CHECKING:
    from topodesign.schedule import Collective
    from topodesign.schedulers import Method


@click.command(name="schedule")
@click.argument("topology")
@collective_option
@method_options
@click.option(
    "--link-table",
    type=click.Path(path_type=Path),
    metavar="CSV",
    help="Make it fastest for links of unequal latency and bandwidth (src,dst,alpha,bandwidth) and --size.",
)
@click.option("--size", default="1MiB", show_default=True, metavar="SIZE", help="Data size that --link-table is for.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="File to write (.npz)."
)
@json_option
def command(
    topology: str,
    collective: Collective,
    method: Method,
    chunks: int | None,
    link_table: Path | None,
    size: str,
    output: Path,
    as_json: bool,
) -> None:
    """Write the explicit schedule of a collective: who sends what to whom, step by step.

    TOPOLOGY is a spec (quote it) or a file of links. The schedule is verified before it is written: every send has its
    data, nothing is lost or counted twice, and the cost is what is claimed.

    Example: topodesign schedule 'circulant(12,2,3)' --collective allreduce -o ring.npz
    """
    from topodesign.cli.sources import check_ending, topology_of  # noqa: PLC0415  heavy
    from topodesign.link_table import read_link_table  # noqa: PLC0415
    from topodesign.schedule_file import save_schedule  # noqa: PLC0415
    from topodesign.schedulers import Unequal, make_schedule  # noqa: PLC0415
    from topodesign.units import parse_size  # noqa: PLC0415
    from topodesign.verify import verify  # noqa: PLC0415

    check_ending(output, "schedule")
    graph = topology_of(topology)
    unequal = None if link_table is None else Unequal(read_link_table(link_table).on(graph), parse_size(size))
    with progress_bar("scheduling") as progress:
        made = make_schedule(graph, collective, method=method, chunks=chunks, unequal=unequal, progress=progress)
    with progress_bar("verifying"):
        report = verify(graph, made.schedule, made.cost)
    if not report.ok:
        raise click.ClickException(f"the schedule fails verification, and nothing was written:\n{report}")
    generator = {"method": made.method, "chunks": chunks}
    save_schedule(output, made.schedule, graph, claim=made.cost, generator=generator)
    document = {
        "spec": None if graph.spec is None else str(graph.spec),
        "nodes": graph.nodes,
        "degree": graph.degree,
        "collective": collective,
        "method": made.method,
        "steps": made.cost.steps,
        "bandwidth": str(made.cost.bandwidth),
        "bandwidth_float": float(made.cost.bandwidth),
        "units_per_shard": made.schedule.units,
        "sends": len(made.schedule),
        "bandwidth_lost_by_chunks": str(made.lost),
        "bandwidth_lost_at_most": str(made.lost_at_most),
        "other_methods": [
            {"method": name, "steps": cost.steps, "bandwidth": str(cost.bandwidth)} for name, cost in made.others
        ],
        "verified": True,
        "file": str(output),
    }
    if as_json:
        print_json(document)
        return
    lost = ""
    if made.lost > 0:
        bound = f" (Theorem 21: at most {float(made.lost_at_most):.6f})" if made.lost_at_most else ""
        lost = f", {float(made.lost):.6f} more than without a limit on chunks{bound}"
    click.echo(
        f"{collective} on {graph.nodes} nodes: {made.cost.steps} steps, y = {made.cost.bandwidth} "
        f"= {float(made.cost.bandwidth):.6f}{lost}\n"
        f"{len(made.schedule)} sends, {made.schedule.units} unit(s) per shard, method {made.method}, verified\n"
        f"written to {output}"
    )
    for name, cost in made.others:
        click.echo(f"with --method {name}: {cost.steps} steps, y = {cost.bandwidth} = {float(cost.bandwidth):.6f}")
