"""Fabrics with switches that several tests draw, and cuts counted one by one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from topodesign.topology.topology import IntArray, Topology

_MI250 = """0-1:4 0-4:2 0-8:1 1-5:1 1-9:1 1-10:1 2-3:4 2-6:1 2-9:1 2-10:1 3-7:2 3-11:1 4-5:4 4-6:1 5-6:1 5-7:1 6-7:4
8-9:4 8-12:2 9-13:1 10-11:4 10-14:1 11-15:2 12-13:4 12-14:1 13-14:1 13-15:1 14-15:4"""


def duplex(nodes: int, edges: list[tuple[int, int, int]], switches: range) -> Topology:
    """Links both ways."""
    return Topology.from_links(nodes, edges + [(v, u, capacity) for u, v, capacity in edges], switches=switches)


def a100(boxes: int) -> Topology:
    """DGX A100 boxes in GB/s: 300 to the NVSwitch, and with several boxes 25 to an even or odd InfiniBand switch."""
    gpus = 8 * boxes
    edges = [(gpu, gpus + gpu // 8, 300) for gpu in range(gpus)]
    if boxes > 1:
        edges += [(gpu, gpus + boxes + gpu % 2, 25) for gpu in range(gpus)]
    nodes = gpus + boxes + (2 if boxes > 1 else 0)
    return duplex(nodes, edges, range(gpus, nodes))


def mi250(boxes: int) -> Topology:
    """MI250 boxes in GB/s: 50 for each Infinity Fabric link, and with several boxes 16 per die to InfiniBand."""
    edges = []
    for entry in _MI250.split():
        ends, many = entry.split(":")
        u, v = (int(end) for end in ends.split("-"))
        edges += [(16 * box + u, 16 * box + v, 50 * int(many)) for box in range(boxes)]
    dies = 16 * boxes
    if boxes > 1:
        edges += [(die, dies, 16) for die in range(dies)]
    nodes = dies + (boxes > 1)
    return duplex(nodes, edges, range(dies, nodes))


@st.composite
def fabrics(draw: st.DrawFn, most_nodes: int = 9, most_capacity: int = 6, one_way: bool | None = None) -> Topology:
    """A strongly connected fabric, a sum of closed walks: as much goes into each vertex as comes out.

    Duplex or one-way as drawn unless told; vertex 0 and 1 compute, the others may be switches.
    """
    nodes = draw(st.integers(2, most_nodes))
    switches = draw(st.sets(st.integers(2, nodes - 1))) if nodes > 2 else set()
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    if draw(st.booleans()) if one_way is None else one_way:
        walks = [rng.permutation(nodes), *(_walk(rng, nodes) for _ in range(draw(st.integers(0, 5))))]
    else:
        tree = [(rng.integers(v), v) for v in range(1, nodes)]
        more = [_walk(rng, nodes)[:2] for _ in range(draw(st.integers(0, nodes)))]
        walks = [np.array(edge) for edge in [*tree, *more]]
    links = []
    for walk in walks:
        capacity = int(rng.integers(1, most_capacity + 1))
        links += [(int(u), int(v), capacity) for u, v in zip(walk, np.roll(walk, -1), strict=True)]
    return Topology.from_links(nodes, links, switches=switches)


def _walk(rng: np.random.Generator, nodes: int) -> IntArray:
    return rng.permutation(nodes)[: rng.integers(2, nodes + 1)]


def cuts(topology: Topology, sizes: IntArray) -> tuple[IntArray, np.ndarray]:
    """For every set of vertices that lacks a compute node: what must leave it, and the links outwards."""
    sides = (np.arange(2**topology.nodes)[:, None] >> np.arange(topology.nodes) & 1).astype(bool)
    compute = np.array([node for node in range(topology.nodes) if node not in topology.switches])
    sides = sides[~sides[:, compute].all(axis=1)]
    return sides[:, compute] @ sizes, sides[:, topology.src] & ~sides[:, topology.dst]


def worst_ratio(topology: Topology, sizes: IntArray, capacity: IntArray | None = None) -> Fraction:
    """The largest ratio of what must leave a set to what can, over all sets."""
    wanted, out = cuts(topology, sizes)
    room = out @ (topology.capacity if capacity is None else capacity)
    wanted, room = wanted[wanted > 0], room[wanted > 0]
    assert room.min() > 0
    return max(Fraction(w, r) for w, r in set(zip(wanted.tolist(), room.tolist(), strict=True)))
