"""What keeps a fabric from being faster: the two sides of the bottleneck and the links that bind."""

from __future__ import annotations

from topodesign.forest.bottleneck import bottleneck_in_words
from topodesign.forest.fabric_optimum import FabricOptimum
from topodesign.report.charts.chart import Drawing
from topodesign.report.charts.structure import drawn


def cut_drawing(best: FabricOptimum) -> Drawing:
    """Return the drawing of a fabric with its bottleneck.

    Parameters
    ----------
    best
        What :func:`topodesign.optimum` returned for a collective over trees.
    """
    fabric, found = best.fabric, best.best
    switches, cut = fabric.topology.switches, found.cut
    groups = [(0 if node in cut else 1) + (2 if node in switches else 0) for node in range(fabric.topology.nodes)]
    sides = ("inside the bottleneck", "outside", "switch inside", "switch outside")
    note = f"marked: the links that bind; {bottleneck_in_words(fabric, found)}"
    return drawn(fabric.topology, fabric.names, (groups, sides), "cut", best.heading(), marked=found.binding, note=note)
