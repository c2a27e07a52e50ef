"""Loads of SPFF schedules by two other ways than the kernel's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.pricing.closed_form import next_hops, wide_layer_loads
from topodesign.pricing.programs import Block, worst_by_distance
from topodesign.topology.topology import Topology


def reference_layer_loads(topology: Topology) -> list[Fraction]:
    """By array-wise search from every node and maximum flows."""
    return wide_layer_loads(topology, np.arange(topology.nodes))


def spff_loads(topology: Topology) -> list[Fraction]:
    """By linear program (1) of Efficient Direct-Connect Topologies."""
    rows = [
        [
            Block(hops, (Fraction(0),) * len(capacity), tuple(map(Fraction, capacity.tolist())))
            for hops, capacity, _ in next_hops(topology, node)
        ]
        for node in range(topology.nodes)
    ]
    return worst_by_distance(rows)
