"""A fabric box by box: a node per box, a line per pair of joined boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import ParameterError
from topodesign.base.units import format_rate
from topodesign.base.wording import count_noun
from topodesign.compiler.wires import boxes_of
from topodesign.fabrics.fabric import Fabric
from topodesign.optima.optimum import Optimum
from topodesign.report.charts.chart import Drawing
from topodesign.report.charts.structure import draw_topology
from topodesign.topology.topology import Topology

_IN_A_ROW = 8  # boxes or switches


def has_boxes(fabric: Fabric) -> bool:
    """Return whether names imply at least two boxes with several nodes."""
    boxes = set(boxes_of(fabric, None) or ()) - {None}
    return 1 < len(boxes) < len(fabric.compute)


def boxes_drawing(fabric: Fabric, marked: Collection[int] = ()) -> Drawing:
    """Return the drawing of a fabric's boxes, with a line per joined pair.

    ``marked`` are links of the fabric that the drawing is about.

    Raises
    ------
    ParameterError
        If names do not tell which nodes are in a box, as in ``box0/gpu3``.
    """
    if not has_boxes(fabric):
        raise ParameterError(
            f"{fabric.name} has no boxes: names such as box0/gpu3 tell of at least two which nodes are in them"
        )
    topology = fabric.topology
    whole = [
        name if own is None else str(own) for name, own in zip(fabric.names, boxes_of(fabric, None) or (), strict=True)
    ]
    places_of = {name: place for place, name in enumerate(dict.fromkeys(whole))}
    names, number = list(places_of), np.array([places_of[name] for name in whole])
    ends = number[topology.src], number[topology.dst]
    between = ends[0] != ends[1]
    joined = Topology.from_arrays(len(names), ends[0][between], ends[1][between], topology.capacity[between])
    strong = {int(joined.link_index(ends[0][link], ends[1][link])) for link in marked if between[link]}
    held = Counter(whole[node] for node in fabric.compute)
    kinds = [f"box of {count_noun(held[name], 'node')}" if held[name] else "switch" for name in names]
    legend = tuple(dict.fromkeys(kinds))
    most = format_rate(int(joined.capacity.max(initial=0)) * fabric.unit)
    places = _rows(joined, [bool(held[name]) for name in names])
    note = f"lines are all links of two together; the most is {most} one way"
    groups = [legend.index(kind) for kind in kinds], legend
    return draw_topology(joined, names, groups, f"{fabric.name}: {count_noun(len(held), 'box', 'boxes')}", "boxes",
                 marked=strong, note=note, places=places)  # fmt: skip


def _rows(joined: Topology, box: list[bool]) -> NDArray[np.float64] | None:
    """Return positions in rows, switches above boxes; None if only boxes join."""
    if all(box):
        return None
    places = np.zeros((joined.nodes, 2))
    top = 0.0
    for wanted in (False, True):
        members = [node for node, own in enumerate(box) if own == wanted]
        for start in range(0, len(members), _IN_A_ROW):
            row = members[start : start + _IN_A_ROW]
            places[row, 0] = (np.arange(len(row)) - (len(row) - 1) / 2) * 2 / _IN_A_ROW
            places[row, 1] = top
            top -= 0.3
        top -= 0.5
    return places


MAX_NODES = 48  # nodes and switches that are drawn one by one where there are boxes


def cut_drawing(best: Optimum) -> Drawing:
    """Return the drawing of a fabric with its bottleneck."""
    fabric = best.fabric
    cut, binding, words = best.solution.cut, best.solution.binding, best.solution.bottleneck
    switches = fabric.topology.switches
    sides = ("inside the bottleneck", "outside", "switch inside", "switch outside") if cut else ("node", "", "switch")
    groups = [int(bool(cut) and node not in cut) + 2 * (node in switches) for node in range(fabric.topology.nodes)]
    if fabric.topology.nodes > MAX_NODES and has_boxes(fabric):
        made = boxes_drawing(fabric, binding)
        return replace(made, title=best.heading(), note=f"marked: joined by links that bind; {made.note}")
    note = f"marked: the links that bind; {words}"
    return draw_topology(
        fabric.topology, fabric.names, (groups, sides), best.heading(), "cut", marked=binding, note=note
    )
