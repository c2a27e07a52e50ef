"""Trees of equal boxes: across by place, then within boxes.

Let m boxes have the same links within, and all nodes of a place p a switch in common. Each of the ``d_p`` trees of a
node goes from it to the node of its place in every other box, which takes ``d_p * (m - 1)`` of the links to and from
the switch. Then every box has ``m * d_p`` trees to lay from place p on, and one packing of these in one box (Edmonds)
does for all: the tree that a root uses ``i`` boxes on is the i-th. So neither a switch has to be removed nor a tree
packed in the whole fabric, whose work grows with N^3 and more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topodesign.collectives import Collective
from topodesign.optima.forest.packing import Packing, pack_trees
from topodesign.optima.forest.tree_counts import FixedOptimum
from topodesign.plans.build import build_trees, fold_of
from topodesign.plans.flow import Flow, Routes
from topodesign.solve.maxflow import compute_nodes, find_violated_cut
from topodesign.topology.shifts import extend_automorphism
from topodesign.topology.topology import IntArray, Topology


@dataclass(frozen=True)
class _Boxes:
    """Equal boxes, each of nodes that follow one another in ``nodes``."""

    nodes: IntArray  # without switches, ascending
    box: Topology  # links within, between places
    number: int
    switch: IntArray  # of every place


_Columns = tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray, IntArray], Routes]


def build_box_trees(
    topology: Topology,
    collective: Collective,
    fixed: FixedOptimum,
    demand: IntArray,
    shard: tuple[int, ...] | None,
) -> Flow | None:
    """Return optimal out-trees of equal boxes, or None.

    ``demand`` are the trees of every compute node.
    """
    found = _boxes(fixed.topology, demand)
    if found is None:
        return None
    numbers = demand[: found.box.nodes] * found.number
    if find_violated_cut(found.box, found.box.capacity, numbers)[1] is not None:
        return None
    packing = pack_trees(found.box, [(place, number) for place, number in enumerate(numbers.tolist()) if number])
    turned = np.roll(np.arange(len(found.nodes)), -found.box.nodes)
    image = extend_automorphism(topology, found.nodes, turned)
    if image is None:  # the boxes are alike, but not all around them
        image = np.arange(topology.nodes)
        image[found.nodes] = found.nodes[turned]
    fold = fold_of(image.astype(np.int32)[None, :])
    columns = _columns(found, packing, demand)
    return build_trees(topology, collective, *columns, rate=fixed.tree_rate, shard=shard, fold=fold)


def _boxes(topology: Topology, demand: IntArray) -> _Boxes | None:
    """Return boxes of consecutive nodes, checked by links, or None."""
    nodes = compute_nodes(topology)
    place = np.full(topology.nodes, -1)
    place[nodes] = np.arange(len(nodes))
    src, dst = place[topology.src], place[topology.dst]
    within = (src >= 0) & (dst >= 0) & (topology.src != topology.dst) & (topology.capacity > 0)
    rows = np.flatnonzero(within)
    sizes = (size for size in range(2, len(nodes)) if len(nodes) % size == 0)
    size = next((size for size in sizes if np.array_equal(src[rows] // size, dst[rows] // size)), None)
    if size is None or not len(rows) or not topology.switches:
        return None
    number = len(nodes) // size
    rows = rows[np.lexsort((dst[rows] % size, src[rows] % size, src[rows] // size))]
    links = np.stack((src[rows] % size, dst[rows] % size, topology.capacity[rows]))
    each, of_box = len(rows) // number, np.bincount(src[rows] // size, minlength=number)
    if np.any(of_box != each) or not np.array_equal(np.tile(links[:, :each], number), links):
        return None
    if not np.array_equal(np.tile(demand[:size], number), demand):
        return None
    switch = np.full(size, -1)
    for at in range(size):
        for one in sorted(topology.switches, reverse=True):  # the first that does is kept
            ways = np.append(topology.link_index(nodes[at::size], one), topology.link_index(one, nodes[at::size]))
            if ways.min() >= 0 and topology.capacity[ways].min() >= demand[at] * (number - 1):
                switch[at] = one
    return None if switch.min() < 0 else _Boxes(nodes, Topology.from_arrays(size, *links[:, :each]), number, switch)


def _columns(found: _Boxes, packing: Packing, demand: IntArray) -> _Columns:
    """Return roots, edges and routes of trees of all nodes of the first box."""
    size, boxes, every = found.box.nodes, found.number, len(found.nodes)
    root, weight, src, dst, hop = [], [], [], [], []
    far = np.arange(1, boxes) * size
    for place in range(size):
        trees = np.flatnonzero(packing.root == place)
        ends = np.cumsum(packing.weight[trees])
        cuts = np.unique(np.append(ends % max(1, demand[place]), [0, demand[place]]))
        for low, high in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            used = trees[np.searchsorted(ends, np.arange(boxes) * demand[place] + low, side="right")]
            below = packing.order[used, 1:]
            above = np.take_along_axis(packing.parent[used], below, axis=1)
            start = np.arange(boxes)[:, None] * size
            near, ends_at = (np.insert(ones + start, 0, first, axis=1) for ones, first in ((above, place), (below, -1)))
            ends_at[1:, 0] = far + place
            src.append(near.ravel()[1:])
            dst.append(ends_at.ravel()[1:])
            through = np.stack((src[-1], np.full(every - 1, -1 - found.switch[place]), dst[-1]), axis=1)
            entrance = np.zeros(every - 1, dtype=np.bool_)
            entrance[far - 1] = True
            hop.append(through[np.stack((np.ones_like(entrance), entrance, np.ones_like(entrance)), axis=1)])
            root.append(place)
            weight.append(high - low)
    lengths = np.full(every - 1, 2)
    lengths[far - 1] = 3
    hops = np.concatenate(hop)
    edges = len(root) * (every - 1)
    tree = np.repeat(np.arange(len(root)), every - 1)
    cuts = np.concatenate(([0], np.cumsum(np.tile(lengths, len(root)))))
    vertices = np.where(hops < 0, -1 - hops, found.nodes[hops % every])
    return (
        (found.nodes[root], np.array(weight, dtype=np.int64)),
        (tree, found.nodes[np.concatenate(src)], found.nodes[np.concatenate(dst)]),
        Routes(np.arange(edges), np.repeat(weight, every - 1), cuts, vertices),
    )
