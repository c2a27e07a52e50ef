"""What there is to say about trees on a fabric, for people and as JSON."""

from __future__ import annotations

from typing import Any

from topodesign.base.units import format_rate, format_time
from topodesign.base.wording import counted
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.wording import rate_record
from topodesign.optima.forest.pruning import Pruned, prune
from topodesign.plans.measure import per_root, tree_figures
from topodesign.plans.trees import Trees


def tree_record(fabric: Fabric, schedule: Trees) -> dict[str, Any]:
    """Return what there is to say about a schedule, for JSON."""
    reached = tree_figures(fabric, schedule)
    pruned = _in_network(fabric, schedule)
    return {
        "fabric": fabric.name,
        "nodes": len(fabric.compute),
        "switches": len(fabric.topology.switches),
        "collective": schedule.collective.name,
        "method": "in-network" if len(schedule.relays) else "forest",
        "concurrent": schedule.concurrent,
        "shards": _shards(fabric, schedule),
        "k": int(reached.k) if reached.k.denominator == 1 else str(reached.k),
        "trees": len(schedule),
        "height": reached.height,
        "inv_x_star": str(reached.inverse_rate),
        **rate_record(reached.bandwidth),
        "relays": [fabric.names[switch] for switch in schedule.relays.tolist()],
        "in_network": None
        if pruned is None
        else {
            "traffic_saved": str(pruned.saved),
            "node_traffic_saved": str(pruned.saved_at_nodes),
            "height": pruned.height,
        },
    }


def tree_summary(fabric: Fabric, schedule: Trees) -> str:
    """Return the same for people."""
    reached = tree_figures(fabric, schedule)
    time = format_time(reached.inverse_rate * 10**9)
    lines = [
        f"algorithmic bandwidth {format_rate(reached.bandwidth)}, 1/x* = {time} per GB of shard",
        f"{per_root(fabric, schedule)}, {len(schedule)} different ones, height {reached.height}",
    ]
    if len(schedule.relays):
        trees = counted(len(schedule), "different tree")
        through = counted(len(schedule.relays), "switch", "switches")
        lines[1] = f"{trees} through {through} that copy or add, height {reached.height}"
    pruned = _in_network(fabric, schedule)
    return "\n".join(lines if pruned is None else [*lines, str(pruned)])


def _shards(fabric: Fabric, schedule: Trees) -> dict[str, int] | None:
    if schedule.shard is None:
        return None
    return {fabric.names[node]: size for node, size in zip(fabric.compute, schedule.shard, strict=True)}


def _in_network(fabric: Fabric, schedule: Trees) -> Pruned | None:
    if len(schedule.relays) or not fabric.multicast | fabric.aggregation:
        return None
    return prune(schedule, fabric.multicast, fabric.aggregation)
