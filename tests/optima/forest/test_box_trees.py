"""Trees over equal boxes: right by the verifier, at the optimum, and none where the fabric is another."""

from __future__ import annotations

import numpy as np
import pytest

from tests.samples.tree_tables import Trees, forest_schedule
from tests.samples.verdicts import verify_trees
from topodesign import as_fabric
from topodesign.base.errors import TooLargeError
from topodesign.base.memory import VARIABLE
from topodesign.collectives import ALLGATHER
from topodesign.optima.forest.bottleneck import optimum, shard_sizes
from topodesign.optima.forest.box_trees import build_box_trees
from topodesign.optima.forest.packing import pack_trees
from topodesign.optima.forest.switch_removal import remove_switches
from topodesign.optima.forest.tree_counts import find_fixed_optimum, smallest_trees
from topodesign.solve.maxflow import scale_capped
from topodesign.topology.topology import Topology


def made(topology: Topology, shard: tuple[int, ...] | None = None) -> Trees | None:
    best = optimum(topology, weights=shard)
    k = smallest_trees(topology, weights=shard, best=best)
    fixed = find_fixed_optimum(topology, k, weights=shard, best=best)
    folded = build_box_trees(topology, ALLGATHER, fixed, scale_capped(shard_sizes(topology, shard), k), shard)
    if folded is None:
        return None
    assert verify_trees(folded, best.inverse_rate).ok
    trees = Trees.of(folded).unfold()
    assert verify_trees(trees, best.inverse_rate).ok
    return trees


def boxes(number: int, links: list[tuple[int, int, int]], size: int, nic: int, rails: bool) -> Topology:
    """Boxes with those links within, and links of one capacity to one switch, or to one for every place."""
    nodes = number * size
    found = [(at + u, at + v, capacity) for at in range(0, nodes, size) for u, v, capacity in links]
    for node in range(nodes):
        switch = nodes + (node % size if rails else 0)
        found += [(node, switch, nic), (switch, node, nic)]
    return Topology.from_links(nodes + (size if rails else 1), found, switches=range(nodes, found[-1][0] + 1))


@pytest.mark.dear
@pytest.mark.parametrize(
    "spec", ["mi250(4)", *(pytest.param(f"mi250({n})", marks=pytest.mark.thorough) for n in (8, 16))]
)
def test_lower_than_of_the_whole_fabric(spec: str) -> None:
    topology = as_fabric(spec).topology
    trees = made(topology)
    assert trees is not None
    best = optimum(topology)
    fixed = find_fixed_optimum(topology, smallest_trees(topology, best=best), best=best)
    split = remove_switches(fixed.topology, fixed.trees)
    plain = pack_trees(split.topology, [(node, fixed.trees) for node in range(len(split.nodes))])
    assert trees.height <= plain.heights.max()
    assert forest_schedule(topology, "allgather").height <= trees.height


@pytest.mark.parametrize("rails", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_random_boxes(seed: int, rails: bool) -> None:
    """Rings with chords of any capacities, much faster within than between boxes; and shards that differ in a box."""
    rng = np.random.default_rng(seed)
    size, number = int(rng.integers(3, 7)), int(rng.integers(2, 6))
    pairs = {(u, (u + 1) % size) for u in range(size)} | {(0, 2)}
    links = [(*way, 40 * int(rng.integers(1, 5))) for u, v in sorted(pairs) for way in ((u, v), (v, u))]
    topology = boxes(number, links, size, 2, rails)
    assert made(topology) is not None
    made(topology, (1, *rng.integers(0, 3, size - 1).tolist()) * number)


def test_none_elsewhere() -> None:
    ring = [(0, 1, 90), (1, 2, 90), (2, 0, 90), (1, 0, 90), (2, 1, 90), (0, 2, 90)]
    alike = boxes(3, ring, 3, 1, rails=False)
    assert made(alike) is not None
    capacity = alike.capacity.copy()
    capacity[alike.link_index(3, 4)] += 1
    unlike = Topology.from_arrays(alike.nodes, alike.src, alike.dst, capacity, switches=alike.switches)
    assert made(unlike) is None
    for spec in ("dgx_a100(2)", "torus(3,3)", "mi250(1)", "mi250(2)", "complete(5)"):
        assert made(as_fabric(spec).topology) is None


def test_too_large_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no plan holds is refused by counts, and so is what memory does not."""
    large = as_fabric("dgx_a100(512)").topology
    with pytest.raises(TooLargeError, match="100638720 rows or more, and a plan has at most"):
        forest_schedule(large, "allreduce")
    with pytest.raises(TooLargeError, match=f"{2 * 4096 * (2 * 4095 + 255)} rows or more"):
        forest_schedule(as_fabric("mi250(256)").topology, "allreduce")
    small = as_fabric("dgx_a100(2)").topology
    monkeypatch.setenv(VARIABLE, "30kB")
    assert len(forest_schedule(small, "broadcast", root=0)) > 0
    for collective in ("allgather", "allreduce"):
        with pytest.raises(TooLargeError, match=f"set {VARIABLE} to raise"):
            forest_schedule(small, collective)
