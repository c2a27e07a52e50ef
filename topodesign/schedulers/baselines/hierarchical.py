"""Hierarchical rings: along one side of a grid after another, or among the boxes of a fabric and then in each."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.fabrics.contraction import boxes_of
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.rounds_ops import Part, assemble
from topodesign.schedulers.baselines.baseline import baseline
from topodesign.schedulers.baselines.levels import box_tours, rows, sides_of
from topodesign.schedulers.baselines.messages import Made, formula
from topodesign.schedulers.baselines.ring import ring
from topodesign.schedulers.baselines.spanning import Ranks
from topodesign.topology.topology import Topology


def hierarchical(topology: Topology, collective: Collective) -> Made:
    """Return an allgather over two levels of rings: as BlueConnect with two sides.

    Sergeev and Del Balso, Horovod: fast and easy distributed deep learning in TensorFlow (2018).
    """
    sides = sides_of(topology, 2)
    if sides is None:
        raise InfeasibleError("hierarchical rings need a grid of alike rows, such as a product of two topologies")
    return level_rings(topology, collective, sides)


def level_rings(topology: Topology, collective: Collective, sides: tuple[int, ...]) -> Made:
    """Return an allgather along one side of a grid after another, the last one first.

    Of a side p with R rings that share no link, (p-1) steps, and (p-1)/R times the blocks of all sides after it: in all
    sum (p_i - 1) alpha + sum (p_i - 1) p_(i+1) p_(i+2) ... / (R_i N) beta M. Backwards the reduce-scatter has the most
    data along the first side.
    """
    nodes = topology.nodes
    node = np.arange(nodes)
    along = [ring(rows(topology, sides, at), ALLGATHER) for at in range(len(sides))]
    units = math.lcm(*(one.rounds.units for one in along))
    parts: list[Part] = []
    steps, blocks = 0, Fraction(0)
    for at in reversed(range(len(sides))):
        one, side = along[at].rounds, sides[at]
        place = math.prod(sides[:at])
        first = node[node // place % side == 0][:, None, None]  # the nodes where the rows begin
        below = np.arange(nodes // (place * side))[None, :, None] * (place * side)  # what all sides after have brought
        scale = units // one.units
        parts.append(
            (
                steps + one.step,
                first + one.src * place,
                first + one.dst * place,
                first % place + below + one.block * place,
                one.lo * scale,
                one.hi * scale,
            )
        )
        steps += one.steps
        blocks += Fraction((side - 1) * below.size, one.units)
    rounds = assemble(collective, nodes, units, steps, parts)
    known = all(one.formula is not None for one in along)
    return Made(rounds, formula(topology, steps, blocks / nodes) if known else None)


def over_boxes(fabric: Fabric, root: int | None) -> list[Ranks]:
    """Return for every node a path through the nodes of its place in all boxes, and in each box one from there on."""
    del root
    boxes = boxes_of(fabric)
    if boxes is None:
        raise InfeasibleError(
            "rings among boxes need boxes with as many nodes each, named box0/gpu0, box0/gpu1 and so on"
        )
    tours = box_tours(fabric, boxes)
    found = []
    for number, tour in enumerate(tours):
        for place, node in enumerate(tour):
            order = [tours[(number + step) % len(tours)] for step in range(len(tours))]
            edges = [(one[place], other[place]) for one, other in itertools.pairwise(order)]
            for one in order:
                edges += itertools.pairwise((*one[place:], *one[:place]))
            found.append(Ranks(node, 1, edges))
    return found


METHOD = baseline("hierarchical", (ALLGATHER, REDUCE_SCATTER, ALLREDUCE), hierarchical, trees=over_boxes)


def blueconnect(topology: Topology, collective: Collective) -> Made:
    """Return an allgather over rings along all sides of a grid; on a fabric the boxes are a side.

    Cho, Finkler, Serrano, Kung and Hunter, BlueConnect: Decomposing All-Reduce for Deep Learning on Heterogeneous
    Network Hierarchy (2019).
    """
    sides = sides_of(topology)
    if sides is None:
        raise InfeasibleError("blueconnect needs a grid of alike rows, such as a torus or a product")
    return level_rings(topology, collective, sides)


BLUECONNECT = baseline("blueconnect", (ALLGATHER, REDUCE_SCATTER, ALLREDUCE), blueconnect, trees=over_boxes)
