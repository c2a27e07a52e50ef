"""``topodesign schedule``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from topodesign.base.errors import ParameterError
from topodesign.cli.options import (
    collective_option,
    json_option,
    method_options,
    print_json,
    progress_bar,
    tree_options,
)

if TYPE_CHECKING:
    from topodesign.cli.trees.plan import AnyMethod, Wanted
    from topodesign.collectives import Collective
    from topodesign.schedulers import Method


@click.command(name="schedule")
@click.argument("topology")
@collective_option
@method_options
@tree_options
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
    method: AnyMethod,
    chunks: int | None,
    link_table: Path | None,
    size: str,
    output: Path,
    as_json: bool,
    **of_trees: Any,
) -> None:
    """Write the explicit schedule of a collective: who sends what to whom, step by step.

    TOPOLOGY is a spec (quote it), a file of links, or a fabric: a file or a spec such as 'dgx_a100(2)'. The schedule is
    verified before it is written: every send has its data, nothing is lost or counted twice, and the cost is what is
    claimed. --root, --fixed-k, --shards, --only and --without are for trees.

    Examples: topodesign schedule 'circulant(12,2,3)' --collective allreduce -o ring.npz,
    topodesign schedule 'mi250(2)' --collective allgather --fixed-k 2 -o boxes.npz
    """
    from topodesign.base.units import parse_size  # noqa: PLC0415
    from topodesign.cli.sources import check_ending  # noqa: PLC0415  heavy
    from topodesign.cli.trees.plan import Wanted, goes_over_trees  # noqa: PLC0415
    from topodesign.expand.library import as_topology  # noqa: PLC0415
    from topodesign.plans.files import save_plan  # noqa: PLC0415
    from topodesign.plans.measure import cost_claim  # noqa: PLC0415
    from topodesign.plans.plan import Plan  # noqa: PLC0415
    from topodesign.schedulers import Unequal, make_schedule  # noqa: PLC0415
    from topodesign.topology.link_table import read_link_table  # noqa: PLC0415
    from topodesign.verification.plans import verify  # noqa: PLC0415

    check_ending(output, "schedule")
    wanted = Wanted(topology, collective, **of_trees)
    if goes_over_trees(wanted, method):
        _refuse({"--chunks": chunks is not None, "--link-table": link_table is not None})
        _trees(wanted, output, as_json)
        return
    graph = as_topology(topology)
    unequal = None if link_table is None else Unequal(read_link_table(link_table).on(graph), parse_size(size))
    with progress_bar("scheduling") as progress:
        made = make_schedule(
            graph,
            collective,
            method=cast("Method", method),
            chunks=chunks,
            unequal=unequal,
            progress=progress,
        )
    generator = {"method": made.method, "chunks": chunks}
    plan = Plan(graph, made.schedule, cost_claim(made.cost), generator=generator)
    with progress_bar("verifying"):
        report = verify(plan)
    if not report.ok:
        raise click.ClickException(f"the schedule fails verification, and nothing was written:\n{report}")
    save_plan(output, plan)
    document = {
        "spec": None if graph.spec is None else str(graph.spec),
        "nodes": graph.nodes,
        "degree": graph.degree,
        "collective": collective.name,
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


def _trees(wanted: Wanted, output: Path, as_json: bool) -> None:
    """Make, verify and write a schedule of trees."""
    from topodesign.cli.trees.plan import plan  # noqa: PLC0415  heavy
    from topodesign.cli.trees.words import headline, record, summary  # noqa: PLC0415
    from topodesign.plans.files import save_plan  # noqa: PLC0415
    from topodesign.plans.measure import tree_figures  # noqa: PLC0415
    from topodesign.plans.plan import Plan  # noqa: PLC0415
    from topodesign.verification.plans import verify  # noqa: PLC0415

    with progress_bar("scheduling"):
        made = plan(wanted)
    fabric, schedule = made.fabric, made.schedule
    generator = {"method": "forest", "fixed_k": wanted.fixed_k, "root": wanted.root}
    claim = tree_figures(fabric, schedule).claim()
    whole = Plan(fabric, schedule, claim, spec=made.spec(wanted), generator=generator)
    with progress_bar("verifying"):
        report = verify(whole)
    if not report.ok:
        raise click.ClickException(f"the schedule fails verification, and nothing was written:\n{report}")
    save_plan(output, whole)
    if as_json:
        print_json({**record(fabric, schedule), "allreduce": made.kind, "verified": True, "file": str(output)})
    else:
        lines = [headline(fabric), f"{wanted.collective}: {summary(fabric, schedule)}"]
        lines += [] if made.kind is None else [made.kind]
        click.echo("\n".join([*lines, f"verified, written to {output}"]))


def _refuse(given: dict[str, bool]) -> None:
    for option, is_given in given.items():
        if is_given:
            raise ParameterError(f"{option} is not for trees; leave it out")
