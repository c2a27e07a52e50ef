"""Binomial trees: in every round all nodes that have data pass half of what they are to spread on."""

from __future__ import annotations

from fractions import Fraction

from topodesign.collectives import BROADCAST, GATHER, REDUCE, SCATTER, Collective
from topodesign.schedulers.baselines.baseline import baseline
from topodesign.schedulers.baselines.messages import Made, in_rounds
from topodesign.topology.topology import Topology


def tree(nodes: int, root: int) -> list[tuple[int, int, int, range]]:
    """Return the edges of the binomial tree: round, source, destination, and the ranks of all that are below.

    Rank r is the node root xor r where N is a power of two, so that the edges are those of a hypercube, else
    root + r modulo N. In round k of K = ceil(log2 N) ranks that are multiples of 2^(K-k+1) send to those 2^(K-k) on.
    """
    depth = (nodes - 1).bit_length()
    edges = []
    for at in range(1, depth + 1):
        reach = 1 << (depth - at)
        for rank in range(0, nodes - reach, 2 * reach):
            below = range(rank + reach, min(rank + 2 * reach, nodes))
            edges.append((at, node_of(rank, nodes, root), node_of(rank + reach, nodes, root), below))
    return edges


def node_of(rank: int, nodes: int, root: int) -> int:
    """Return the node of a rank, counted from the root."""
    return (rank + root) % nodes if nodes & (nodes - 1) else rank ^ root


def binomial(topology: Topology, collective: Collective) -> Made:
    """Return K = ceil(log2 N) rounds: K (alpha + beta M) for a broadcast, K alpha + (N-1)/N beta M for a scatter.

    Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH (2005).
    """
    nodes, root = topology.nodes, collective.root or 0
    steps, volume = (nodes - 1).bit_length(), Fraction(nodes - 1, nodes)
    edges = tree(nodes, root)
    rows = [(at, src, dst, node_of(rank, nodes, root), 0, 1) for at, src, dst, below in edges for rank in below]
    if collective.like(BROADCAST):
        rows, volume = [(at, src, dst, root, 0, 1) for at, src, dst, _ in edges], Fraction(steps)
    return in_rounds(topology, collective, rows, steps, volume)


METHOD = baseline("binomial", (BROADCAST, REDUCE, SCATTER, GATHER), binomial)
