"""Line graph expansion: d times the nodes at the same degree, for one more step."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.cost import Cost
from topodesign.errors import ParameterError
from topodesign.expand.expansion import Base, Basis, Claim, Expansion, require_base, require_count
from topodesign.topology import Topology, check_buildable

_SIGNATURE = "line(G,k)"
_DEEPEST = 64


def graph(base: Topology, k: int = 1) -> Topology:
    """Return the k-th line graph: its nodes are the links of G in order, and link uv leads to every link vw.

    A link of capacity c is c nodes, numbered in a row. Node i of the result is the i-th link of the base.

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 1.
    """
    topology = require_base(base, _SIGNATURE)
    times = require_count(k, _SIGNATURE)
    if times > _DEEPEST:
        raise ParameterError(f"line graphs nest at most {_DEEPEST} deep")
    for _ in range(times):
        topology = _once(topology)
    return topology


def _once(base: Topology) -> Topology:
    nodes = int(base.capacity.sum())
    check_buildable(nodes, int((base.in_ports * base.out_ports).sum()))
    head = np.repeat(base.dst, base.capacity)
    first = np.zeros(base.nodes + 1, dtype=np.int64)
    np.cumsum(base.out_ports, out=first[1:])
    width = base.out_ports[head]
    source = np.repeat(np.arange(nodes), width)
    rank = np.arange(len(source)) - np.repeat(np.cumsum(width) - width, width)
    return Topology.from_arrays(nodes, source, first[head[source]] + rank, representatives=_representatives(base))


def _representatives(base: Topology) -> tuple[int, ...] | None:
    """Return the links out of the base's representatives: automorphisms of G carry every other link to one of them."""
    if base.representatives is None:
        return None
    start = np.cumsum(base.capacity) - base.capacity
    rows = (start[base.indptr[node] : base.indptr[node + 1]] for node in base.representatives)
    return tuple(np.concatenate(list(rows)).tolist())


def claim(base: Base, k: int = 1) -> Claim:
    """Return the cost by closed form: k steps more and y + d/(d-1) * (1/N - 1/(d^k N)).

    A node wu of the line graph does as u does, d times over, but for its own shard, one of those of w. So the claim is
    an upper bound, and exact for k = 1 if every node has in-neighbours at two or more distances: then each layer of u
    is seen in full from some wu. It holds for both collectives if the base's cost does, as the transpose of a line
    graph is the line graph of the transpose.

    References
    ----------
    Efficient Direct-Connect Topologies, Theorem 7 and Corollary 6. Theorem 10 there claims equality whenever every node
    has two in-neighbours; ``dicirculant(8,1,3)``, whose line graph costs 15/16 and not 1, shows that this is too much.
    """
    d, n = base.degree, base.nodes
    added = sum((Fraction(1, n * d**i) for i in range(k)), Fraction(0))
    exact = k == 1 and d > 1 and all(len(distances) > 1 for distances in base.returns)
    return Claim(Cost(base.cost.steps + k, base.cost.bandwidth + added), Basis.EXACT if exact else Basis.BOUND)


line = Expansion("line", graph, claim)
