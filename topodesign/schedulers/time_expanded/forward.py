"""TACOS-Greedy for single-goal chunks: all-to-all, scatter and gather."""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import LARGEST
from topodesign.base.errors import InfeasibleError
from topodesign.base.memory import check_memory
from topodesign.schedulers.time_expanded.event_kernels import Web, queue_for, reach
from topodesign.schedulers.time_expanded.forward_kernels import Piles, Trips, forward, route
from topodesign.schedulers.time_expanded.network import Chunks, Network, Sends, check_ticks, first_state
from topodesign.topology.topology import IntArray

DETOURS = 64  # most nodes of a network where ways may be longer than they must
_PASSES = 2


def distances_to(network: Network, goals: IntArray) -> IntArray:
    """Return the ticks from every node to each goal.

    Each goal has a row, with ``LARGEST`` if there is no route.
    """
    left = np.full((len(goals), network.topology.nodes), LARGEST, dtype=np.int64)
    left[np.arange(len(goals)), goals] = 0
    nodes = network.topology.nodes
    reach(network.web, queue_for(nodes, nodes + len(network.takes)), left, True)
    return left


def ways_of(network: Network, chunks: Chunks, seed: int, *, shortest: bool = False, noise: bool = False) -> Trips:
    """Choose the routes of all chunks with balanced link loads."""
    nodes, links = network.topology.nodes, len(network.takes)
    goals, row = np.unique(chunks.goal, return_inverse=True)
    left = distances_to(network, goals)
    to_go = left[row, chunks.at]
    if (lost := np.flatnonzero(to_go >= LARGEST)).size:
        raise InfeasibleError(f"there is no way from node {chunks.at[lost[0]]} to node {chunks.goal[lost[0]]}")
    real = network.topology.src != network.topology.dst
    room = nodes - 1
    if nodes > DETOURS:
        room = min(room, int(to_go.max(initial=1)) // int(network.takes[real].min()))
    check_memory(4 * room * chunks.number + 8 * left.size, f"the ways of {chunks.number} chunks")
    trips = Trips(
        chunks.at,
        chunks.goal,
        row.astype(np.int64),
        chunks.since,
        np.full((chunks.number, max(1, room)), -1, dtype=np.int32),
        np.zeros(chunks.number, dtype=np.int64),
    )
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(chunks.number) for _ in range(_PASSES)])
    most = int(network.busy[real].max())
    weight = 1 + network.busy * 254 // most if most < 2**54 else 1 + network.busy // (most // 254)
    if noise:
        weight = weight * rng.integers(4, 17, len(weight)) // 8
    slack = 0 if shortest or nodes > DETOURS else 2 * int(network.takes[real].max())
    route(network.web, trips, left, order, np.clip(weight, 1, 255), slack, queue_for(nodes, nodes + links))
    return trips


def forward_chunks(
    network: Network,
    chunks: Chunks,
    seed: int,
    *,
    blind: bool = False,
    shortest: bool = False,
    backwards: bool = False,
    noise: bool = False,
) -> Sends:
    """Deliver every chunk to its goal.

    ``blind`` lets chunks go in any order over a link, and not those first that have the longest way to go; ``shortest``
    keeps ways as short as they can be, however loaded their links are; ``noise`` takes what links have to carry for
    more than it is, by chance, so that other ways are chosen. ``backwards`` brings chunks from their goals to where
    they are over the links turned round, and turns that in time: for chunks that are all there from the start, over
    links that are open then.
    """
    if backwards:
        turned = chunks._replace(at=chunks.goal, goal=chunks.at)
        link, chunk, end = forward_chunks(network.turned, turned, seed, blind=blind, shortest=shortest, noise=noise)
        link = np.lexsort((network.topology.src, network.topology.dst))[link]
        end = int(end.max(initial=0)) - end + network.takes[link]
        return Sends(link, chunk, end).in_order()
    trips = ways_of(network, chunks, seed, shortest=shortest, noise=noise)
    check_ticks(network, int(trips.length.sum()))
    if blind:
        urgency = np.random.default_rng(seed).permutation(chunks.number) + 2**40
    else:
        on_way = np.arange(trips.way.shape[1]) < trips.length[:, None]
        urgency = np.where(on_way, network.takes[np.where(on_way, trips.way, 0)], 0).sum(axis=1)
    return send_along(network.web, trips, urgency, len(network.wires.src), seed).in_order()


def send_along(web: Web, trips: Trips, urgency: IntArray, ports: int, seed: int) -> Sends:
    """Return the sends of chunks along their routes, by start.

    On every link the most urgent chunk goes first.
    """
    links, chunks, rows = len(web.dst), len(trips.goal), int(trips.length.sum())
    on_way = np.arange(trips.way.shape[1]) < trips.length[:, None]
    counts = np.bincount(trips.way[on_way], minlength=links)
    piles = Piles(
        np.cumsum(counts) - counts, np.zeros(links, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    )
    sends = np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    queue = queue_for(links + chunks, links + chunks)
    forward(web, trips, urgency, np.zeros(ports, np.int64), queue, piles, sends, first_state(seed))
    return Sends(*sends)
