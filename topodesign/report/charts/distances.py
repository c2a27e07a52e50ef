"""Distances between nodes, beside the fewest possible steps."""

from __future__ import annotations

import numpy as np

from topodesign.base.errors import TooLargeError
from topodesign.pricing.closed_form import distances
from topodesign.report.charts.chart import Chart, Series, name_of
from topodesign.topology.topology import Topology

_MAX_WORK = 2**32  # links times sources


def distances_chart(topology: Topology) -> Chart:
    """Return the histogram of distances from a node, and Moore's."""
    sources, weights = sources_of(topology)
    if len(sources) * len(topology.src) > _MAX_WORK:
        raise TooLargeError("this topology is too large to look at the distances of every node")
    total = np.zeros(topology.nodes + 1, dtype=np.int64)
    for source, weight in zip(sources, weights, strict=True):
        far = distances(topology, source)
        total += weight * np.bincount(far[far > 0], minlength=topology.nodes + 1)
    longest = int(np.flatnonzero(total).max(initial=0))
    steps = list(range(1, longest + 1))
    ours = [float(count) / topology.nodes for count in total[1 : longest + 1]]
    left, layer, moore = topology.nodes - 1, 1, []
    for _ in steps:
        layer *= topology.degree
        moore.append(min(left, layer))
        left -= moore[-1]
    return Chart(
        "distances",
        f"{name_of(topology)}: how far other nodes are",
        "distance in links",
        "nodes at this distance (mean)",
        (Series("this topology", steps, ours, "bars"), Series("Moore's bound", steps, moore, "points", "bound")),
        note=f"mean distance {sum(d * n for d, n in zip(steps, ours, strict=True)) / (topology.nodes - 1):.3f}",
    )


def sources_of(topology: Topology) -> tuple[list[int], list[int]]:
    """Return a node of every known orbit, with the orbit's size."""
    if topology.symmetry is None:
        return list(range(topology.nodes)), [1] * topology.nodes
    nodes, counts = np.unique(topology.symmetry.represented_by, return_counts=True)
    return nodes.tolist(), counts.tolist()
