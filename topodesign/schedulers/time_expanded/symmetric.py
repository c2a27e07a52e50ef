"""Symmetric synthesis: chunks of orbit representatives, copied by the group.

Let a group of automorphisms act on the nodes so that only the identity leaves one where it is. What is laid down for
the chunks of one node of each orbit has one image for every element of the group, and together these are a plan of all
nodes. A send over a link has its images on the links of the same orbit, one on each; so no link has two sends at a time
exactly if, of the sends that are laid down, no two have links of one orbit at a time. That is a network with as many
ports as there are orbits of links, and a hundredth or a thousandth of the chunks.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import LARGEST
from topodesign.base.memory import check_memory
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import concatenate, reverse
from topodesign.schedulers.time_expanded.bound import bound_of_sums, fewest_ticks
from topodesign.schedulers.time_expanded.event_kernels import Web, queue_for, reach
from topodesign.schedulers.time_expanded.forward import send_along, ways_of
from topodesign.schedulers.time_expanded.network import (
    Chunks,
    Network,
    Routes,
    Sends,
    check_ticks,
    first_state,
    of_one_unit,
)
from topodesign.schedulers.time_expanded.symmetric_kernels import deliver_copies
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray

COLLECTIVES = (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, ALL_TO_ALL)  # those in which no node stands out


def symmetry_of(network: Network, collective: Collective) -> Symmetry | None:
    """Return the group that can copy a collective, or None."""
    symmetry = network.topology.symmetry
    if symmetry is None or network.routes is not None or collective not in COLLECTIVES or network.opens.any():
        return None
    if len(symmetry.generators) == 0 or np.any(symmetry.represented_by < 0) or not symmetry.is_free:
        return None
    orbit = link_orbits(network, symmetry)
    first = np.unique(orbit, return_index=True)[1]
    alike = all(np.array_equal(column, column[first][orbit]) for column in (network.takes, network.busy))
    return symmetry if alike else None


def link_orbits(network: Network, symmetry: Symmetry) -> IntArray:
    """Return the orbit number of every link, from 0."""
    return np.unique(symmetry.link_orbits(network.topology), return_inverse=True)[1]


def symmetric(
    network: Network, collective: Collective, symmetry: Symmetry, *, units: int, size: Fraction, seed: int
) -> Flow:
    """Return the plan that a group copies from representative nodes.

    The group is that of :func:`symmetry_of`.
    """
    if len(collective.parts) > 1:
        halves = [symmetric(network, part, symmetry, units=units, size=size, seed=seed) for part in collective.parts]
        return concatenate(halves[0], halves[1])
    if collective.reduces:
        turned = symmetric(network.turned, collective.dual, symmetry, units=units, size=size, seed=seed)
        return reverse(turned, network.topology)
    orbit = link_orbits(network, symmetry)
    ports = int(orbit.max()) + 1
    number = np.arange(len(orbit))
    routes = Routes(network.topology, np.append(number, len(orbit)), orbit, 0 * number, network.takes, network.busy)
    shared = network.replace(routes=routes)
    sources = np.repeat(np.unique(symmetry.represented_by), units)
    send = _exchange if collective.pairwise else _spread_sources
    return _copy_images(network, collective, (units, size), symmetry, send(shared, sources, ports, seed))


def bound_symmetric(network: Network, collective: Collective, units: int, symmetry: Symmetry) -> int:
    """Return a lower bound of all plans, from representative nodes.

    It also holds for plans that are not symmetric.
    """
    nodes, total = network.topology.nodes, 0
    roots = np.unique(symmetry.represented_by)
    count, early = np.full(nodes, (nodes - 1) * units, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    for part in collective.parts:
        there = network.turned if part.reduces else network
        least = fewest_ticks(there, count, early, into=True)
        since = np.full((len(roots), nodes), LARGEST, dtype=np.int64)
        since[np.arange(len(roots)), roots] = 0
        reach(there.web, queue_for(nodes, nodes + len(there.takes)), since, False)
        least = max(least, int(since.max()))
        if collective.pairwise:
            least = max(least, fewest_ticks(there, count, early, into=False))
            if not network.overlap:
                copies = np.bincount(symmetry.represented_by, minlength=nodes)[roots]
                ways = int((since.sum(axis=1) * copies).sum()) * units
                real = int(np.count_nonzero(there.topology.src != there.topology.dst))
                least = max(least, -(-ways // real))
        total = max(total, least)
    return max(total, bound_of_sums(network, nodes * units)) if collective == ALLREDUCE else total


def _spread_sources(network: Network, sources: IntArray, ports: int, seed: int) -> tuple[Sends, IntArray, IntArray]:
    """Return sends from sources to all nodes, with sources and goals."""
    nodes, copies = network.topology.nodes, len(sources)
    web = network.web
    check_ticks(network, copies * nodes)
    arrival, over = np.full(copies * nodes, LARGEST, dtype=np.int64), np.full(copies * nodes, -1, dtype=np.int64)
    arrival[np.arange(copies) * nodes + sources] = 0
    room = np.bincount(web.port, minlength=ports) * copies
    pools = np.cumsum(room) - room, np.zeros(ports, dtype=np.int64), np.zeros(int(room.sum()), dtype=np.int64)
    queue = queue_for(ports + copies * nodes, 2 * ports + copies * nodes)
    deliver_copies(web, copies, arrival, over, queue, pools, first_state(seed))
    place = np.flatnonzero(over >= 0)
    return Sends(over[place], place // nodes, arrival[place]), sources, np.full(copies, -1, dtype=np.int64)


def _exchange(network: Network, sources: IntArray, ports: int, seed: int) -> tuple[Sends, IntArray, IntArray]:
    """Return sends from sources to each other node, with their ends."""
    nodes = network.topology.nodes
    source, goal = np.repeat(sources, nodes), np.tile(np.arange(nodes), len(sources))
    source, goal = source[source != goal], goal[source != goal]
    everyone, still = np.arange(nodes), np.zeros(nodes, dtype=np.int64)
    chunks = Chunks(len(source), source, np.zeros(len(source), dtype=np.int64), goal, everyone, still)
    trips = ways_of(network, chunks, seed)
    on_way = np.arange(trips.way.shape[1]) < trips.length[:, None]
    way = np.where(on_way, trips.way, 0)
    urgency = np.where(on_way, network.takes[way], 0).sum(axis=1)
    orbit = network.web.port
    first = np.zeros(ports, dtype=np.int64)
    first[orbit[::-1]] = np.arange(len(orbit))[::-1]
    # Whatever link of an orbit it is, a chunk waits for the one port of it.
    number, none = np.arange(ports), np.zeros(ports, dtype=np.int64)
    takes, busy = network.takes[first], network.busy[first]
    start = np.arange(ports + 1)
    web = Web(none, none, takes, busy, none, start, number, start, number, start, number, none, busy)
    check_ticks(network, int(trips.length.sum()))
    _, chunk, end = send_along(web, trips._replace(way=orbit[way].astype(np.int32)), urgency, ports, seed)
    order = np.lexsort((end, chunk))  # the sends of a chunk are the links of its way, in their order
    return Sends(way[on_way], chunk[order], end[order]), source, goal


def _copy_images(
    network: Network,
    collective: Collective,
    data: tuple[int, Fraction],
    symmetry: Symmetry,
    made: tuple[Sends, IntArray, IntArray],
) -> Flow:
    """Return the sends of representative nodes with all their images."""
    (link, chunk, end), source, goal = made
    topology, nodes = network.topology, network.topology.nodes
    copies = nodes // len(np.unique(symmetry.represented_by))
    check_memory(len(link) * copies * 80, f"{len(link) * copies} sends")
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in ("start", "end", "src", "dst", "block", "lo")}
    lowest = _units(source, goal)
    for root in np.unique(symmetry.represented_by).tolist():
        rows = np.flatnonzero(source[chunk] == root)
        to, images = symmetry.images(root, np.arange(nodes))
        one = link[rows]
        block = np.repeat(to.astype(np.int32), len(rows)).reshape(len(to), -1)
        if collective.pairwise:
            block = block * np.int32(nodes) + images[:, goal[chunk[rows]]]
        start = end[rows] - network.takes[one]
        for name, column in (
            ("start", np.tile(start, len(to))),
            ("end", np.tile(end[rows], len(to))),
            ("src", images[:, topology.src[one]].ravel()),
            ("dst", images[:, topology.dst[one]].ravel()),
            ("block", block.ravel()),
            ("lo", np.tile(lowest[chunk[rows]], len(to))),
        ):
            columns[name].append(column)
    joined = tuple(parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in columns.values())
    return of_one_unit(network, collective, data, joined)


def _units(source: IntArray, goal: IntArray) -> IntArray:
    """Return the unit number of every chunk within its block."""
    order = np.lexsort((goal, source))
    new = np.append(True, (np.diff(source[order]) != 0) | (np.diff(goal[order]) != 0))
    rows, units = np.arange(len(source)), np.empty(len(source), dtype=np.int64)
    units[order] = rows - np.maximum.accumulate(np.where(new, rows, 0))
    return units
