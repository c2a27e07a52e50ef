"""Published algorithms of MPI libraries, as messages between ranks.

Direct sends everything at once, spread-out the same one after another over each link; pairwise exchange, Bruck's and
recursive halving and doubling take their rounds; linear and binomial trees are for collectives with a root, scatter and
allgather for large broadcasts.

* Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH (2005).
* Bruck, Ho, Kipnis, Upfal and Weathersby, Efficient Algorithms for All-to-All Communications in Multiport
  Message-Passing Systems (1997).
* van de Geijn, On Global Combine Operations (1994).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.collectives import (
    ALL_TO_ALL,
    ALLGATHER,
    ALLREDUCE,
    BROADCAST,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
    Collective,
)
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.build import Part
from topodesign.schedulers.baselines.baseline import Ranks, baseline
from topodesign.schedulers.baselines.cycles import link_disjoint_cycles, shortest_tour
from topodesign.schedulers.baselines.messages import (
    FormulaRounds,
    Router,
    deliveries,
    formula,
    in_rounds,
    queue_messages,
)
from topodesign.topology.topology import Topology


def direct(topology: Topology, collective: Collective) -> FormulaRounds:
    """Return all messages at once, each over its own route.

    The cost is alpha + beta M/N, with beta the time of a byte on a link.

    A broadcast sends all of M over every link. Elsewhere than on a complete graph it takes as many steps as the
    diameter, and what several messages carry over one link adds up.
    """
    messages = (1, *deliveries(collective, topology.nodes), 0, 1)
    return in_rounds(topology, collective, [messages], 1, Fraction(1, collective.shards(topology.nodes)))


def stars(fabric: Fabric, root: int | None) -> list[Ranks]:
    """Return a star of the root, or of every node."""
    roots = fabric.compute if root is None else (root,)
    return [Ranks(one, 1, [(one, other) for other in fabric.compute if other != one]) for one in roots]


def send_spread_out(topology: Topology, collective: Collective) -> FormulaRounds:
    """Return messages that queue at every link.

    On a complete graph this takes one step and costs alpha + beta M/N.

    Node i sends to i + 1, i + 2 and so on, so that not all send to the same node at once.
    """
    src, dst, block = (column.tolist() for column in deliveries(collective, topology.nodes))
    pairs = list(zip(src, dst, strict=True))
    ways = dict(zip(pairs, Router(topology).paths(pairs, [1] * len(pairs)), strict=True))
    order = sorted(range(len(pairs)), key=lambda at: ((dst[at] - src[at]) % topology.nodes, src[at]))
    rounds = queue_messages(topology, collective, [(ways[pairs[at]], block[at]) for at in order])
    alone = rounds.steps == 1 and topology.capacity.max() == 1
    volume = Fraction(1, collective.shards(topology.nodes))
    return FormulaRounds(rounds, formula(topology, 1, volume) if alone else None)


def pairwise(topology: Topology, collective: Collective) -> FormulaRounds:
    """Return N - 1 rounds with one message per node.

    The cost is (N-1) alpha + (N-1)/N beta M.

    In round r node i exchanges with i xor r, or sends to i + r where N is no power of two.
    """
    nodes = topology.nodes
    src, dst, block = deliveries(collective, nodes)
    at = (dst - src) % nodes if nodes & (nodes - 1) else src ^ dst
    return in_rounds(topology, collective, [(at, src, dst, block, 0, 1)], nodes - 1, Fraction(nodes - 1, nodes))


def linear(topology: Topology, collective: Collective) -> FormulaRounds:
    """Return N - 1 rounds of one message each.

    The cost is (N-1)(alpha + beta M) for a broadcast and (N-1)(alpha + beta M/N) for a scatter.
    """
    nodes = topology.nodes
    messages = (np.arange(1, nodes), *deliveries(collective, nodes), 0, 1)
    return in_rounds(topology, collective, [messages], nodes - 1, Fraction(nodes - 1, collective.shards(nodes)))


def binomial_tree(nodes: int, root: int) -> list[tuple[int, int, int, range]]:
    """Return the edges of the binomial tree.

    Each edge has its round, source, destination and the ranks of the subtree below it.

    Rank r is the node root xor r where N is a power of two, so that the edges are those of a hypercube, else
    root + r modulo N. In round k of K = ceil(log2 N) ranks that are multiples of 2^(K-k+1) send to those 2^(K-k) on.
    """
    depth = (nodes - 1).bit_length()
    edges = []
    for at in range(1, depth + 1):
        reach = 1 << (depth - at)
        for rank in range(0, nodes - reach, 2 * reach):
            below = range(rank + reach, min(rank + 2 * reach, nodes))
            edges.append((at, _node_of(rank, nodes, root), _node_of(rank + reach, nodes, root), below))
    return edges


def _node_of(rank: int, nodes: int, root: int) -> int:
    """Return the node of a rank, counted from the root."""
    return (rank + root) % nodes if nodes & (nodes - 1) else rank ^ root


def binomial(topology: Topology, collective: Collective) -> FormulaRounds:
    """Return a binomial-tree collective in K = ceil(log2 N) rounds.

    The cost is K (alpha + beta M) for a broadcast and K alpha + (N-1)/N beta M for a scatter.
    """
    nodes, root = topology.nodes, collective.root or 0
    steps, volume = (nodes - 1).bit_length(), Fraction(nodes - 1, nodes)
    edges = binomial_tree(nodes, root)
    rows = [(at, src, dst, _node_of(rank, nodes, root), 0, 1) for at, src, dst, below in edges for rank in below]
    if collective.like(BROADCAST):
        rows, volume = [(at, src, dst, root, 0, 1) for at, src, dst, _ in edges], Fraction(steps)
    return in_rounds(topology, collective, rows, steps, volume)


def bruck(topology: Topology, collective: Collective) -> FormulaRounds:
    """Return an allgather or all-to-all in K=ceil(log2 N) rounds.

    In round k + 1 of an allgather node i sends to i - 2^k all blocks that it has, as many as are lacking there:
    K alpha + (N-1)/N beta M. In an all-to-all a block goes to i + 2^k where the difference of its ends has bit k: so of
    a power of two K alpha + K/2 beta M.
    """
    nodes = topology.nodes
    steps = (nodes - 1).bit_length()
    node = np.arange(nodes)[:, None]
    parts: list[Part] = []
    blocks = 0
    for k in range(steps):
        reach = 1 << k
        if collective.pairwise:
            ways = np.array([way for way in range(1, nodes) if way & reach])
            source = (node - ways % reach) % nodes  # where what is here now, on its way to `ways` on, began
            block = source * nodes + (source + ways) % nodes
            parts.append((k + 1, node, (node + reach) % nodes, block, 0, 1))
        else:
            ways = np.arange(min(reach, nodes - reach))
            parts.append((k + 1, node, (node - reach) % nodes, (node + ways) % nodes, 0, 1))
        blocks += len(ways)
    return in_rounds(topology, collective, parts, steps, Fraction(blocks, nodes))


def recursive_doubling(topology: Topology, collective: Collective) -> FormulaRounds:
    """Return the allgather of N = 2^K nodes by recursive doubling.

    The cost is K alpha + (N-1)/N beta M.

    In round k + 1 node i exchanges with i xor 2^k the 2^k blocks that each has. Backwards in time that is the
    reduce-scatter by recursive halving, and one after the other the allreduce of Rabenseifner.
    """
    nodes = topology.nodes
    if nodes & (nodes - 1):
        raise InfeasibleError(f"halving-doubling requires a power of two of nodes, not {nodes}; use --algorithm bruck")
    steps = nodes.bit_length() - 1
    node = np.arange(nodes)[:, None]
    parts = [(k + 1, node, node ^ (1 << k), (node >> k << k) + np.arange(1 << k), 0, 1) for k in range(steps)]
    return in_rounds(topology, collective, parts, steps, Fraction(nodes - 1, nodes))


def scatter_allgather(topology: Topology, collective: Collective) -> FormulaRounds:
    """Return a broadcast by scatter and allgather in sequence.

    It takes ceil(log2 N) + N - 1 rounds and costs (ceil(log2 N) + N - 1) alpha + 2 (N-1)/N beta M.

    Backwards in time it is a reduce by reduce-scatter and gather.
    """
    nodes, root = topology.nodes, collective.root or 0
    scatter = (nodes - 1).bit_length()
    parts: list[Part] = [
        (at, src, dst, root, below.start, below.stop) for at, src, dst, below in binomial_tree(nodes, root)
    ]
    order = np.array((link_disjoint_cycles(topology) or (shortest_tour(Router(topology).distance),))[0])
    rank = np.empty(nodes, dtype=np.int64)
    rank[[_node_of(one, nodes, root) for one in range(nodes)]] = np.arange(nodes)
    place = np.arange(nodes)
    for at in range(1, nodes):
        piece = rank[order[(place - at + 1) % nodes]]
        parts.append((scatter + at, order, order[(place + 1) % nodes], root, piece, piece + 1))
    steps, volume = scatter + nodes - 1, Fraction(2 * (nodes - 1), nodes)
    return in_rounds(topology, collective, parts, steps, volume, units=nodes)


_OF_ALL = (ALLGATHER, REDUCE_SCATTER, ALLREDUCE)
_ROOTED = (BROADCAST, REDUCE, SCATTER, GATHER)
_ALL = (*_OF_ALL, *_ROOTED, ALL_TO_ALL)
METHODS = {
    one.name: one
    for one in (
        baseline("direct", _ALL, direct, trees=stars),
        baseline("spread-out", _ALL, send_spread_out, forward=(ALLGATHER, ALL_TO_ALL, BROADCAST, GATHER)),
        baseline("pairwise", (*_OF_ALL, ALL_TO_ALL), pairwise),
        baseline("linear", _ROOTED, linear),
        baseline("binomial", _ROOTED, binomial),
        baseline("bruck", (*_OF_ALL, ALL_TO_ALL), bruck),
        baseline("halving-doubling", _OF_ALL, recursive_doubling),
        baseline("scatter-allgather", (BROADCAST, REDUCE), scatter_allgather),
    )
}
