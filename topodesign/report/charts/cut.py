"""What keeps a fabric from being faster: the two sides of the bottleneck and the links that bind."""

from __future__ import annotations

from topodesign.optima.optimum import FabricOptimum
from topodesign.optima.throughput import bottleneck_in_words
from topodesign.pricing.flows.flow_optimum import FlowOptimum
from topodesign.report.charts.chart import Drawing
from topodesign.report.charts.structure import drawn


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
    note = f"marked: the links that bind; {words}"
    return drawn(fabric.topology, fabric.names, (groups, sides), best.heading(), "cut", marked=binding, note=note)
