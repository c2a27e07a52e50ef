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

    It is exact if every node has at least two distinct in-neighbours and out-neighbours, else a bound; for both
    collectives, as the transpose of a line graph is the line graph of the transpose.

    References
    ----------
    Efficient Direct-Connect Topologies, Corollaries 6 and 7.
    """
    d, n = base.degree, base.nodes
    added = sum((Fraction(1, n * d**i) for i in range(k)), Fraction(0))
    basis = Basis.EXACT if base.fewest_neighbours > 1 else Basis.BOUND
    return Claim(Cost(base.cost.steps + k, base.cost.bandwidth + added), basis)


line = Expansion("line", graph, claim)
