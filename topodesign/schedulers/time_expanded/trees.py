"""Allreduces along trees, with sums copied while others are reduced.

If an allgather follows a reduce-scatter, the links into a node are idle in the first half, and those out of it in the
second; where nodes have unequal links, as at the edge of a mesh, that costs up to half of the time. Here
every part of a block goes up a tree to its node and down another, trees share the links evenly, and of the sends that
wait for a link those go first that have the longest way behind them, parts that are begun before parts that are not.
Sends are of whole parts, which may be several chunks and then take their latency once.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.base.arrays import ranges
from topodesign.collectives import ALLREDUCE
from topodesign.plans.flow import Flow
from topodesign.schedulers.time_expanded.event_kernels import queue_for
from topodesign.schedulers.time_expanded.forward_kernels import Jobs, Piles, share
from topodesign.schedulers.time_expanded.network import Network, check_ticks, first_state, of_one_unit
from topodesign.schedulers.time_expanded.trees_kernels import grow, remains
from topodesign.topology.topology import IntArray

MAX_SENDS = 2**19  # sends above which no trees are grown
_EFFORT = 2**20  # sends that are timed before tries end
_PASSES = (1, 2, 4)  # how often trees are grown, each in view of all others
# How much of its time the busiest link has taken before the last part begins.
_SPREAD = (0, 0.2, 0.35, 0.5, 0.65, 0.8)


def along_trees(network: Network, parts: int, size: Fraction, *, seed: int, tries: int, enough: int) -> list[Flow]:
    """Return the best allreduce found along trees, or an empty list.

    Each block has ``parts`` parts, and all nodes take part.
    """
    nodes, links = network.topology.nodes, len(network.takes)
    count = 2 * parts * nodes * (nodes - 1)
    check_ticks(network, 32 * count)
    roots, best = np.repeat(np.arange(nodes), parts), None
    for number in range(max(1, min(tries, _EFFORT // max(1, count * len(_SPREAD))))):
        rng, state = np.random.default_rng([seed, number]), first_state(seed + number)
        load, queue = np.zeros(links, dtype=np.int64), queue_for(links, links)
        up, down = np.full((2, len(roots), nodes), -1, dtype=np.int64)
        for _ in range(_PASSES[number % len(_PASSES)]):
            order = rng.permutation(len(roots))
            for by in (up, down):
                if grow(network.web, roots, order, load, by, by is up, queue, state):
                    return []
        tree, jobs = _jobs(network, roots, up, down)
        if len(jobs.after) > 8 * MAX_SENDS:
            return []
        times = _in_time(network, tree, jobs, rng.permutation(len(roots)), int(load.max(initial=0)))
        if best is None or times[1].max(initial=0) < best[0][1].max(initial=0):
            best = times, tree, jobs.link
        if best[0][1].max(initial=0) <= enough:
            break
    if best is None:
        return []
    (start, end), tree, link = best
    ends = network.topology.src[link], network.topology.dst[link]
    timed = of_one_unit(network, ALLREDUCE, (parts, size), (start, end, *ends, tree // parts, tree % parts))
    return [timed.having(part=np.repeat(np.array([0, 1], dtype=np.int32), len(link) // 2))]


def _jobs(network: Network, roots: IntArray, up: IntArray, down: IntArray) -> tuple[IntArray, Jobs]:
    """Return the tree and dependencies of every send, upward sends first."""
    topology = network.topology
    tree, node = np.nonzero(up >= 0)  # all but the roots, and the same for both
    here = np.full(up.shape, -1, dtype=np.int64)
    here[tree, node] = np.arange(len(tree))
    link = np.concatenate((up[tree, node], down[tree, node]))
    above, below = here[tree, topology.dst[up[tree, node]]], here[tree, topology.src[down[tree, node]]]
    rows = np.arange(len(tree))
    last, first = rows[above < 0], rows[below < 0] + len(rows)  # up to a root, and down from it
    into = np.bincount(tree[last], minlength=len(roots))
    count = into[tree[first - len(rows)]]
    begin = (np.cumsum(into) - into)[tree[first - len(rows)]]
    of, at = ranges(begin, count)
    producer = np.concatenate((rows[above >= 0], below[below >= 0] + len(rows), last[at]))
    consumer = np.concatenate((above[above >= 0], rows[below >= 0] + len(rows), first[of]))
    order, none = np.argsort(producer, kind="stable"), np.full(len(link), -1, dtype=np.int64)
    waits = np.bincount(consumer, minlength=len(link))
    starts = np.searchsorted(producer[order], np.arange(len(link) + 1))
    takes, latency, opens = network.takes[link], network.latency[link], network.opens[link]
    return np.tile(tree, 2), Jobs(link, takes, latency, opens, none, none, waits, starts, consumer[order])


def _in_time(network: Network, tree: IntArray, jobs: Jobs, order: IntArray, busiest: int) -> IntArray:
    """Return start and end times, best of several tree orders."""
    rows, links = len(jobs.link), len(network.takes)
    left = np.zeros(rows, dtype=np.int64)
    remains(jobs, np.zeros(rows, dtype=np.int64), left)
    longest = np.zeros(len(order), dtype=np.int64)
    np.maximum.at(longest, tree, left)
    rank = np.empty(len(order), dtype=np.int64)
    rank[np.lexsort((order, -longest))] = np.arange(len(order))
    each = np.bincount(jobs.link, minlength=links)

    def spread_by(share_of: float) -> IntArray:
        urgency = left - (rank[tree] * (share_of * busiest / len(order))).astype(np.int64)
        piles = Piles(np.cumsum(each) - each, *(np.zeros(count, dtype=np.int64) for count in (links, rows, rows)))
        free, queue = np.zeros(links, dtype=np.int64), queue_for(links + rows, links + rows)
        times = np.zeros((2, rows), dtype=np.int64)
        share(jobs._replace(waits=jobs.waits.copy()), urgency, network.overlap, free, queue, piles, times)
        return times

    return min(map(spread_by, _SPREAD), key=lambda times: int(times[1].max(initial=0)))
