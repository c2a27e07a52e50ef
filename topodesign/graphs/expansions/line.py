"""Line graph expansion: d times the nodes, one more step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from topodesign.base.cost import Basis, Cost
from topodesign.base.errors import ParameterError
from topodesign.collectives import REDUCE_SCATTER
from topodesign.graphs.expansions.expansion import Base, Claim, Expansion, require_base, require_count
from topodesign.graphs.expansions.lifting import lift_both_ways
from topodesign.plans.build import build_steps, check_rows
from topodesign.plans.flow import Flow
from topodesign.plans.step_ops import find_links, rescale
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology, check_buildable

_SIGNATURE = "line(G,k)"
_DEEPEST = 64
_DISTANCES = 62  # that are looked at together, a bit each


def graph(base: Topology, k: int = 1) -> Topology:
    """Return the k-th line graph.

    Its nodes are the links of G in order; link uv leads to every link vw.

    A link of capacity c is c nodes, numbered in a row. Node i of the result is the i-th link of the base.

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 1.
    """
    topology = require_base(base, _SIGNATURE)
    for _ in range(_require_depth(k)):
        topology = _once(topology)
    return topology


def _require_depth(k: int) -> int:
    times = require_count(k, _SIGNATURE)
    if times > _DEEPEST:
        raise ParameterError(f"line graphs nest at most {_DEEPEST} deep")
    return times


def _once(base: Topology) -> Topology:
    nodes = int(base.capacity.sum())
    check_buildable(nodes, int((base.in_ports * base.out_ports).sum()))
    head = np.repeat(base.dst, base.capacity)
    first = np.zeros(base.nodes + 1, dtype=np.int64)
    np.cumsum(base.out_ports, out=first[1:])
    width = base.out_ports[head]
    source = np.repeat(np.arange(nodes), width)
    rank = np.arange(len(source)) - np.repeat(np.cumsum(width) - width, width)
    return Topology.from_arrays(nodes, source, first[head[source]] + rank, symmetry=_symmetry(base, nodes))


def _symmetry(base: Topology, nodes: int) -> Symmetry | None:
    """Return the automorphisms of G on links, and rotations of parallel links."""
    known = base.symmetry
    if known is None:
        return None
    start: IntArray = np.cumsum(base.capacity) - base.capacity
    rows = (start[base.indptr[node] : base.indptr[node + 1]] for node in known.representatives)
    representatives = tuple(np.concatenate(list(rows)).tolist())

    def generators() -> Iterator[IntArray]:
        link = np.repeat(np.arange(len(start)), base.capacity)
        lane = np.arange(nodes) - start[link]
        for generator in known.generators:
            yield start[base.link_index(generator[base.src], generator[base.dst])][link] + lane
        if nodes > len(start):
            turned: IntArray = start[link] + (lane + 1) % base.capacity[link]
            yield turned

    return Symmetry(nodes, representatives, generators)


def claim(base: Base, k: int = 1) -> Claim:
    """Return the closed-form cost: k steps more, y + d/(d-1)(1/N - 1/(d^k N)).

    A node of the line graph is a walk of k links to some node u, and does as u does, d^k times over, but for what the
    walk holds already. So the claim is an upper bound. It is exact if to every node u and for every distance x from u,
    0 among them, such a walk leads that is at no time at a node as far as x from u: from there that layer of u is seen
    in full. (For k = 1 in-neighbours at two distances are enough.) It holds for both collectives if the base's cost
    does, as the transpose of a line graph is the line graph of the transpose.

    References
    ----------
    Efficient Direct-Connect Topologies, Theorem 7 and Corollary 6. Theorem 10 there claims equality whenever every node
    has two in-neighbours; ``dicirculant(8,1,3)``, whose line graph costs 15/16 and not 1, shows that this is too much.
    """
    d, n = base.degree, base.nodes
    added = sum((Fraction(1, n * d**i) for i in range(k)), Fraction(0))
    exact = k == 1 and d > 1 and all(len(distances) > 1 for distances in base.returns)
    exact = exact or (d > 1 and base.simple and base.topology.is_regular and _reaches_all(base, k))
    return Claim(Cost(base.cost.steps + k, base.cost.bandwidth + added), Basis.THEOREM if exact else Basis.BOUND)


def _reaches_all(base: Base, k: int) -> bool:
    """Return whether walks of k links reach all nodes at all distances.

    To every node u, for every distance x, along nodes that are not that far from u.
    """
    graph = base.topology
    back: IntArray = graph.src[np.argsort(graph.dst, kind="stable")].reshape(graph.nodes, graph.degree)
    for node in graph.representatives or range(graph.nodes):
        distance = base.distances(node)
        for first in range(0, int(distance.max()) + 1, _DISTANCES):
            wanted = 2 ** min(_DISTANCES, int(distance.max()) + 1 - first) - 1
            here = (distance >= first) & (distance < first + _DISTANCES)
            others = wanted & ~np.where(here, 1 << (np.where(here, distance, first) - first).astype(np.int64), 0)
            reached, avoided = np.array([node]), np.array([wanted])  # bit x: on some walk from there, distance x
            for _ in range(k):
                before, on_walks = back[reached], np.zeros(graph.nodes, np.int64)
                np.bitwise_or.at(on_walks, before, others[before] & avoided[:, None])
                reached = np.flatnonzero(on_walks)
                avoided = on_walks[reached]
            if np.bitwise_or.reduce(avoided) != wanted:
                return False
    return True


def lift(base: Topology, schedule: Flow, k: int = 1) -> Flow:
    """Return the line graph's schedule: that of the base and one step more.

    Every node wu sends as u does, d times over.

    A shard of node vv' goes where that of v goes in the base's schedule, to some node uv, and in the last step from
    there to vv'. What a link of capacity c carries is cut into c parts for its c nodes.

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 2 (for reduce-scatter, and backwards for allgather).
    """
    for _ in range(_require_depth(k)):
        schedule = _lift_once(base, schedule)
        base = _once(base)
    return schedule


def _names(base: Topology) -> IntArray:
    """Return the line-graph node of each node of the transpose's line graph."""
    tail, head = np.repeat(base.src, base.capacity), np.repeat(base.dst, base.capacity)
    return np.lexsort((tail, head))


@lift_both_ways(_SIGNATURE, _names)
def _lift_once(base: Topology, schedule: Flow) -> Flow:
    link = find_links(base, schedule)
    width = base.capacity[link]
    incoming = np.argsort(np.repeat(base.dst, base.capacity), kind="stable")  # nodes of L(G) by their head
    arriving = np.cumsum(base.in_ports) - base.in_ports
    leaving = np.cumsum(base.out_ports) - base.out_ports
    start = np.cumsum(base.capacity) - base.capacity
    fan_in, fan_out = base.in_ports[schedule.src], base.out_ports[schedule.block]
    count = fan_in * fan_out * width
    check_rows(int(count.sum()))
    row = np.repeat(np.arange(len(schedule)), count)
    rest = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    rest, lane = np.divmod(rest, width[row])
    sender, owner = np.divmod(rest, fan_out[row])
    source = incoming[arriving[schedule.src][row] + sender]
    owner += leaving[schedule.block][row]
    fine = math.lcm(*np.unique(width).tolist())
    schedule = rescale(schedule, schedule.units * fine)
    length = (schedule.hi - schedule.lo) // width
    lo = schedule.lo[row] + lane * length[row]
    hi = np.where(source == owner, lo, lo + length[row])  # the owner keeps its own
    result = _once(base)
    apart = result.src != result.dst
    last = schedule.steps + 1
    blocks = (
        (schedule.step[row], source, start[link][row] + lane, owner, lo, hi),
        (last, result.src[apart], result.dst[apart], result.dst[apart], 0, schedule.units),
    )
    return build_steps(REDUCE_SCATTER, result, schedule.units, last, blocks)


line = Expansion("line", graph, claim, lift, size=("d**k*N", "d", "line(diamond(),1)"))
