"""Loads of SPFF schedules by two other ways than the kernel's."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from topodesign.pricing.closed_form import next_hops, wide_layer_loads
from topodesign.pricing.programs import Block, best_split, node_blocks
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
    return _worst(rows)


def heterogeneous_steps(
    topology: Topology, alpha: Sequence[Fraction], bandwidth: Sequence[Fraction], size: Fraction
) -> list[Fraction]:
    """Return the seconds of every step, nearest destinations first, of the best SPFF reduce-scatter by LP (21)."""
    nodes = (node_blocks(topology, node, alpha, bandwidth, size)[0] for node in range(topology.nodes))
    return _worst([[block for block, _ in blocks] for blocks in nodes])


def _worst(rows: list[list[Block]]) -> list[Fraction]:
    """Return the largest time at each distance."""
    worst = [Fraction(0)] * max(map(len, rows))
    for row in rows:
        for x, block in enumerate(row):
            worst[x] = max(worst[x], best_split(block).time)
    return worst
