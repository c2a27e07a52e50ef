"""``topodesign evaluate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from topodesign.cli.options import json_option, number, print_json, workload_options

if TYPE_CHECKING:
    from topodesign.pricing.evaluation import Evaluation


@click.command(name="evaluate")
@click.argument("topology")
@workload_options
@click.option(
    "--all-sources", is_flag=True, help="Price from every node, even where the construction makes it needless."
)
@json_option
def command(
    topology: str, alpha: str, sizes: tuple[str, ...], bandwidth: str, all_sources: bool, as_json: bool
) -> None:
    """Price one topology and set it against the bounds.

    TOPOLOGY is a spec such as 'line(circulant(16,3,4),3)' (quote it), or a file of links (.json, .csv, .graphml).
    """
    from topodesign.catalog.pareto import read_workload  # noqa: PLC0415
    from topodesign.expand.library import as_topology  # noqa: PLC0415  heavy
    from topodesign.pricing.evaluation import evaluate  # noqa: PLC0415

    work = read_workload(alpha, sizes, bandwidth)
    graph = as_topology(topology)
    result = evaluate(graph, all_sources=all_sources)
    times = [float(time) for time in result.allreduce(work)]
    if as_json:
        print_json(
            document(result)
            | {
                "allreduce_s": times[0],
                "runtimes": [
                    {"size_bytes": number(s), "allreduce_s": t} for s, t in zip(work.sizes, times, strict=True)
                ],
            }
        )
        return
    from rich.console import Console  # noqa: PLC0415  only for people

    from topodesign.report.table import print_evaluation  # noqa: PLC0415

    print_evaluation(result, work, Console())


def document(result: Evaluation) -> dict[str, Any]:
    """Return the JSON document without runtimes."""
    graph = result.topology
    return {
        "spec": None if graph.spec is None else str(graph.spec),
        "nodes": graph.nodes,
        "degree": graph.degree,
        "steps": result.cost.steps,
        "bandwidth": str(result.cost.bandwidth),
        "bandwidth_float": float(result.cost.bandwidth),
        "allgather_bandwidth": str(result.allgather.bandwidth),
        "lower_bound": {"steps": result.bound.steps, "bandwidth": str(result.bound.bandwidth)},
        "steps_over_bound": result.cost.steps - result.bound.steps,
        "bandwidth_over_bound": str(result.cost.bandwidth / result.bound.bandwidth - 1),
        "simplex": not graph.is_duplex,
        "regular": graph.is_regular,
        "vertex_transitive": graph.vertex_transitive,
        "diameter": result.cost.steps,
        "girth": result.girth,
        "distance_profile": list(result.distance_profile),
        "self_loop_ports": graph.self_loops,
        "links": len(graph.src),
        "sources_priced": result.sources,
    }
