"""Compiled inner loops of allreduces along trees."""

from __future__ import annotations

from topodesign.base.compiled import LARGEST, Ints, Masks, tier_kernel
from topodesign.schedulers.time_expanded.event_kernels import Queue, Web, draw, pop, push
from topodesign.schedulers.time_expanded.forward_kernels import Jobs

_FAR = 32  # how much more the length of a way counts than what its last link has to carry


@tier_kernel(lambda web, _roots, order, *_: 12 * len(order) * len(web.dst))
def grow(web: Web, roots: Ints, order: Ints, load: Ints, by: Ints, into: bool, queue: Queue, state: Masks) -> int:
    """Grow trees from roots in order; return the unreached node count.

    A tree takes, of all links from what it has to what it lacks, the one with the shortest way from the root, and of
    these the one with the least to carry. ``by`` has the links by which nodes are reached, a row for every tree, -1
    where there is none yet; a tree that was there is grown again. ``load`` is what links have to carry. With ``into``
    links are taken against their direction.
    """
    nodes, lost = by.shape[1], 0
    away = by[0] * 0
    for tree in order:
        for node in range(nodes):
            if by[tree, node] >= 0:
                load[by[tree, node]] -= web.busy[by[tree, node]]
                by[tree, node] = -1
        away[:] = LARGEST
        node = roots[tree]
        away[node], left, queue.size[0] = 0, nodes - 1, 0
        while left:
            first, last = web.out_start[node], web.out_start[node + 1]
            if into:
                first, last = web.into_start[node], web.into_start[node + 1]
            for i in range(first, last):
                link, other = web.out[i], web.dst[web.out[i]]
                if into:
                    link, other = web.into[i], web.src[web.into[i]]
                if away[other] == LARGEST:
                    cost = _FAR * (away[node] + web.takes[link]) + load[link] + web.busy[link]
                    push(queue, cost, draw(state), link)
            node = -1
            while queue.size[0] and node < 0:
                link = queue.what[0]
                pop(queue)
                other, near = web.dst[link], web.src[link]
                if into:
                    other, near = near, other
                if away[other] == LARGEST:
                    node, left = other, left - 1
                    away[other] = away[near] + web.takes[link]
                    by[tree, other] = link
                    load[link] += web.busy[link]
            if node < 0:
                lost += left
                break
    return lost


@tier_kernel(lambda jobs, *_: 4 * len(jobs.link))
def remains(jobs: Jobs, order: Ints, left: Ints) -> None:
    """Fill in the critical path length of every send.

    It is the time of the send and of the longest chain of sends that wait for it. ``order`` has room for all sends.
    """
    waits, found, at = jobs.waits.copy(), 0, 0
    for row in range(len(waits)):
        if waits[row] == 0:
            order[found] = row
            found += 1
    while at < found:
        for i in range(jobs.after_start[order[at]], jobs.after_start[order[at] + 1]):
            waits[jobs.after[i]] -= 1
            if waits[jobs.after[i]] == 0:
                order[found] = jobs.after[i]
                found += 1
        at += 1
    while at:
        at -= 1
        row, most = order[at], 0
        for i in range(jobs.after_start[row], jobs.after_start[row + 1]):
            most = max(most, left[jobs.after[i]])
        left[row] = most + jobs.takes[row]
