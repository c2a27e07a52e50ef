"""Loads of SPFF schedules by two other ways than the kernel's."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from topodesign.pricing.closed_form import next_hops, wide_layer_loads
from topodesign.pricing.programs import Block, best_split, node_blocks
from topodesign.topology.topology import IntArray, Topology


def reference_layer_loads(topology: Topology) -> list[Fraction]:
    """By array-wise search from every node and maximum flows."""
    return wide_layer_loads(topology, np.arange(topology.nodes))


def spff_loads(topology: Topology) -> list[Fraction]:
    """By linear program (1) of Efficient Direct-Connect Topologies, which asks for no cut and no flow."""
    rows = [[_program(*layer[:2]) for layer in next_hops(topology, node)] for node in range(topology.nodes)]
    return [max(row[x] for row in rows if x < len(row)) for x in range(max(map(len, rows)))]


def _program(hops: IntArray, capacity: IntArray) -> Fraction:
    """Return the least largest load over capacity; its denominator is a sum of capacities, so a float tells it."""
    from scipy.optimize import linprog

    at, over = np.nonzero(hops)
    ways = np.arange(len(at))
    each, load = np.zeros((len(hops), len(at) + 1)), np.zeros((len(capacity), len(at) + 1))
    each[at, ways] = load[over, ways] = 1
    load[:, -1] = -capacity
    cost = np.append(np.zeros(len(at)), 1)
    found = linprog(cost, A_ub=load, b_ub=np.zeros(len(capacity)), A_eq=each, b_eq=np.ones(len(hops)))
    return Fraction(found.fun).limit_denominator(int(capacity.sum()))


def heterogeneous_steps(
    topology: Topology, alpha: Sequence[Fraction], bandwidth: Sequence[Fraction], size: Fraction
) -> list[Fraction]:
    """Return the seconds of every step, nearest destinations first, of the best SPFF reduce-scatter.

    By the sets of links that must be late and flows that are on time, which :func:`best_split` holds together.
    """
    nodes = (node_blocks(topology, node, alpha, bandwidth, size)[0] for node in range(topology.nodes))
    return _worst([[block for block, _ in blocks] for blocks in nodes])


def _worst(rows: list[list[Block]]) -> list[Fraction]:
    """Return the largest time at each distance."""
    worst = [Fraction(0)] * max(map(len, rows))
    for row in rows:
        for x, block in enumerate(row):
            worst[x] = max(worst[x], best_split(block).time)
    return worst
