"""What keeps a fabric from being faster: the two sides of the bottleneck and the links that bind."""

from __future__ import annotations

from dataclasses import replace

from topodesign.optima.throughput import bottleneck_in_words
from topodesign.optima.tree_optimum import FabricOptimum
from topodesign.pricing.flows.flow_optimum import FlowOptimum
from topodesign.report.charts.boxes import boxes_drawing, has_boxes
from topodesign.report.charts.chart import Drawing
from topodesign.report.charts.structure import drawn

MOST_NODES = 48  # nodes and switches that are drawn one by one where there are boxes


def cut_drawing(best: FabricOptimum | FlowOptimum) -> Drawing:
    """Return the drawing of a fabric with its bottleneck."""
    fabric = best.fabric
    if isinstance(best, FlowOptimum):
        cut, binding, words = best.cut, best.binding, best.in_words()
    else:
        cut, binding, words = best.best.cut, best.best.binding, bottleneck_in_words(fabric, best.best)
    switches = fabric.topology.switches
    sides = ("inside the bottleneck", "outside", "switch inside", "switch outside") if cut else ("node", "", "switch")
    groups = [int(bool(cut) and node not in cut) + 2 * (node in switches) for node in range(fabric.topology.nodes)]
    if fabric.topology.nodes > MOST_NODES and has_boxes(fabric):
        made = boxes_drawing(fabric, binding)
        return replace(made, title=best.heading(), note=f"marked: joined by links that bind; {made.note}")
    note = f"marked: the links that bind; {words}"
    return drawn(fabric.topology, fabric.names, (groups, sides), best.heading(), "cut", marked=binding, note=note)
