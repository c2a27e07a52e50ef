"""Switches replaced by logical links without loss.

ForestColl, section 5.3, D.2.

At a switch w the links u -> w and w -> t give up some capacity, and a logical link u -> t gains it. As long as no cut
becomes too small for the trees that have to cross it, this can go on until the switch has no capacity left, if as much
goes into each switch as comes out. What a logical link stands for is kept as paths through the switches, with amounts.

Which pairs are taken first is free. Here every link out takes from the start that is farthest from its end at the time,
and only a part of it, so that the logical topology stays close to what the switch offers: the trees get lower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from topodesign.base.errors import InfeasibleError, TooLargeError, TopologyError
from topodesign.solve import flow_kernels
from topodesign.solve.flow_kernels import Network
from topodesign.solve.maxflow import compute_nodes, make_rooted_network
from topodesign.topology.topology import MAX_CAPACITY, IntArray, Topology

_TIGHT_CUTS = 256  # tight cuts that are remembered, to save the search that would find them again

_Path = tuple[int, ...]
Pieces = list[tuple[int, _Path]]  # amounts and the paths that carry them


@dataclass(frozen=True, eq=False)
class Split:
    """A logical topology of compute nodes, with its routes."""

    # logical links with the number of trees each can carry; node i is vertex ``nodes[i]`` of the fabric
    topology: Topology
    nodes: tuple[int, ...]  # the compute nodes of the fabric, ascending
    # each route belongs to a link of ``topology`` (its place there, ascending) and carries so many of its trees;
    # the amounts of a link add up to its capacity
    route_link: IntArray
    route_amount: IntArray
    # route r visits the fabric's vertices ``hop[hop_start[r]:hop_start[r + 1]]``: a compute node, switches, a
    # compute node. All routes together use no link of the fabric beyond its capacity.
    hop_start: IntArray
    hop: IntArray


def remove_switches(topology: Topology, trees: int | Sequence[int], *, fan: int = 8) -> Split:
    """Return logical links in place of balanced switches.

    A capacity is a number of trees, and each compute node is the root of so many. A link at a switch is spread to about
    ``fan`` others: more make lower trees, but more logical links to choose from; with 1, as much as possible to the
    same.
    """
    nodes = compute_nodes(topology)
    demand = np.full(len(nodes), trees) if isinstance(trees, int) else np.array(trees, dtype=np.int64)
    check_balance(topology)
    pieces: dict[tuple[int, int], Pieces] = {
        (u, v): [(capacity, (u, v))] for u, v, capacity in topology.links() if u != v
    }
    if topology.switches:
        _replay(pieces, _splits(topology, nodes, demand, fan))
    return join_pieces(nodes, pieces)


def check_balance(topology: Topology) -> None:
    """Raise TopologyError at unbalanced switches, or if too large."""
    for switch in sorted(topology.switches):
        into, out = int(topology.in_ports[switch]), int(topology.out_ports[switch])
        if into != out:
            raise TopologyError(f"capacity {into} goes into switch {switch} and {out} comes out; they must be equal")
        if into >= 2**31:
            raise TooLargeError(f"capacity {into} at switch {switch} is too large; fix a smaller number of trees")


def _splits(topology: Topology, nodes: IntArray, demand: IntArray, fan: int) -> list[tuple[int, int, int, int]]:
    """Remove switches; return splits (u, w, t, amount) in order."""
    network = make_rooted_network(topology, topology.capacity, demand)
    flows = np.zeros((len(nodes), len(network.capacity)), dtype=np.int64)
    if not flow_kernels.aim_all(network, nodes, flows, int(demand.sum())):
        raise InfeasibleError("the fabric cannot carry that many trees")
    tight = np.zeros((_TIGHT_CUTS, topology.nodes + 1), dtype=bool)
    splits: list[tuple[int, int, int, int]] = []
    used = np.zeros(3, dtype=np.int64)
    for switch in _order(topology):
        network, flows, used[0] = _fresh(network, flows, switch)
        tail, head = network.head[1 : 2 * used[0] : 2], network.head[: 2 * used[0] : 2]
        into, outs = np.flatnonzero(head == switch), np.flatnonzero(tail == switch)
        most = min((flow_kernels.ROUNDS + 1) * len(into) * len(outs), int(network.capacity[into].sum()))
        used[1] = 0
        state = flow_kernels.Splitting(network, nodes, flows, tight, np.empty((most, 4), dtype=np.int64), used)
        if flow_kernels.remove_switch(state, switch, into, outs, fan) > 0:
            raise RuntimeError(f"capacity is left at switch {switch}, against Theorem 7")
        done = state.log[: used[1]]
        columns = network.head[2 * done[:, 0] + 1], network.head[2 * done[:, 1]], done[:, 3]
        splits += [(u, switch, t, amount) for u, t, amount in zip(*(c.tolist() for c in columns), strict=True)]
    return splits


def _order(topology: Topology) -> list[int]:
    """Return switches with the fewest compute nodes first."""
    hosts = np.isin(topology.src, sorted(topology.switches), invert=True)
    count = np.bincount(topology.dst[hosts], minlength=topology.nodes)
    return sorted(topology.switches, key=lambda switch: (count[switch], switch))


def _fresh(network: Network, flows: IntArray, switch: int) -> tuple[Network, IntArray, int]:
    """Return the remaining network with room for more links."""
    kept = np.flatnonzero(network.capacity)
    src, dst, capacity = network.head[2 * kept + 1], network.head[2 * kept], network.capacity[kept]
    into, outs = dst == switch, src == switch
    more = min(int(into.sum() * outs.sum()), int(capacity[into].sum())) + 1
    network = flow_kernels.make_network(len(network.first), src, dst, capacity, len(kept) + more)
    return network, np.pad(flows[:, kept], ((0, 0), (0, more))), len(kept)


def _replay(pieces: dict[tuple[int, int], Pieces], splits: list[tuple[int, int, int, int]]) -> None:
    """Apply the splits of capacities to paths."""
    for u, w, t, amount in splits:
        first, second = _take_pieces(pieces[u, w], amount), _take_pieces(pieces[w, t], amount)
        if u == t:
            continue  # what would come back to where it started is not used
        gained = pieces.setdefault((u, t), [])
        while first and second:
            (a, start), (b, end) = first.pop(), second.pop()
            both = min(a, b)
            gained.append((both, _join_paths(start, end)))
            if a > both:
                first.append((a - both, start))
            if b > both:
                second.append((b - both, end))


def _take_pieces(pieces: Pieces, amount: int) -> Pieces:
    """Remove an amount from the pieces of a link, last first."""
    taken: Pieces = []
    while amount:
        available, path = pieces.pop()
        part = min(available, amount)
        taken.append((part, path))
        amount -= part
        if available > part:
            pieces.append((available - part, path))
    return taken


def _join_paths(start: _Path, end: _Path) -> _Path:
    """Return two paths joined, without round trips."""
    place = {vertex: i for i, vertex in enumerate(start)}
    for i in range(len(end) - 1, -1, -1):
        if end[i] in place:
            return start[: place[end[i]]] + end[i:]
    raise ValueError("the paths do not meet")


def join_pieces(nodes: IntArray, pieces: Mapping[tuple[int, int], Pieces]) -> Split:
    """Return the logical topology of pieces between nodes."""
    number = {node: i for i, node in enumerate(nodes.tolist())}
    kept = sorted((number[u], number[v], parts) for (u, v), parts in pieces.items() if parts)
    links, amounts, paths = [], [], []
    for link, (_, _, parts) in enumerate(kept):
        together: dict[_Path, int] = {}
        for amount, path in parts:
            together[path] = together.get(path, 0) + amount
        for path, amount in sorted(together.items()):
            links.append(link)
            amounts.append(amount)
            paths.append(path)
    ends = np.array([(u, v) for u, v, _ in kept], dtype=np.int64).reshape(-1, 2)
    capacity = np.zeros(len(kept), dtype=np.int64)
    route_link, route_amount = np.array(links, dtype=np.int64), np.array(amounts, dtype=np.int64)
    np.add.at(capacity, route_link, route_amount)
    if capacity.max(initial=0) > MAX_CAPACITY:
        raise TooLargeError(
            f"two nodes would have {capacity.max()} trees between them, more than {MAX_CAPACITY}; fix a smaller number "
            "of trees per node"
        )
    hop_start = np.zeros(len(paths) + 1, dtype=np.int64)
    np.cumsum([len(path) for path in paths], out=hop_start[1:])
    return Split(
        Topology.from_arrays(len(nodes), ends[:, 0], ends[:, 1], capacity),
        tuple(nodes.tolist()),
        route_link,
        route_amount,
        hop_start,
        np.array([vertex for path in paths for vertex in path], dtype=np.int64),
    )
