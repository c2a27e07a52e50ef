"""Compiled search for even loads of the last steps.

When nodes should take which shard.

Matrices have a row for each shard and a column for each node. Nodes that are near have a shard in time whatever is
done, and are left alone. All others may take it as soon as it gets there, or later up to the last step; over a link
from a node that has it by then.
"""

from __future__ import annotations

from topodesign.base.compiled import LARGEST, Ints, compile_kernel, tier_kernel
from topodesign.pricing.deferral_kernels import CLASSES, Bytes, Shorts


@tier_kernel(lambda code, time, link, first, other, *rest: 8 * len(rest[4]) * len(other))
def balance_relays(
    code: Shorts,
    time: Shorts,
    link: Bytes,
    first: Ints,
    other: Ints,
    out_first: Ints,
    out_other: Ints,
    entrance: Ints,
    start: int,
    shards: Ints,
    carried: Ints,
    cost: Ints,
    price: Ints,
    new: bool,
) -> None:
    """Move shards to other steps or links where that costs less.

    Shard by shard.

    A shard more on a link costs the more, the more the link carries in that step already. To have a shard early may
    cost a node more, but others can then take it from there, over links that are less full.

    * ``code``: shape ``(N, N)``: how far shards have to go, in numbers as in
      :mod:`topodesign.pricing.deferral_kernels`.
    * ``time``, ``link``: shape ``(N, N)``: when a node takes a shard, and over which of its links if it is left to
      choose; changed.
    * ``first``, ``other``: links into each node, one for each unit of capacity and no self-loop, and where they come
      from.
    * ``out_first``, ``out_other``, ``entrance``: links out of each node, where they lead to, and which of the links
      into nodes each is.
    * ``start``: the first step that is looked at; what is nearer is left alone.
    * ``shards``: which to look at.
    * ``carried``: shape ``(W, links)``: what each link into a node carries in each of the last steps, from ``start``
      on; changed.
    * ``cost``: of the same shape: what a shard more costs; changed.
    * ``price``: shape ``(W, N + 1)``: what a shard more costs on a link that carries so many, rising.
    * ``new``: whether no links are chosen yet, for any of these shards; then only that is done.
    """
    for shard in shards:
        far, when, over = code[shard], time[shard], link[shard]
        _choose_links(first, other, start, carried, cost, price, far, when, over, shard, new)
        if not new:
            _choose_steps(
                first, other, out_first, out_other, entrance, start, carried, cost, price, far, when, over, shard
            )


@compile_kernel
def _choose_links(
    first: Ints,
    other: Ints,
    start: int,
    carried: Ints,
    cost: Ints,
    price: Ints,
    far: Shorts,
    when: Shorts,
    over: Bytes,
    shard: int,
    new: bool,
) -> None:
    """Assign each node's shard to its cheapest link, at its step."""
    nodes = len(when)
    for place in range(nodes):
        node = (place + shard) % nodes
        if far[node] < CLASSES * start:
            continue
        begin, w = first[node], when[node] - start
        if not new:
            e = begin + over[node]
            carried[w, e] -= 1
            cost[w, e] = price[w, carried[w, e]]
        best, least = -1, LARGEST
        for e in range(begin, first[node + 1]):
            if cost[w, e] < least and when[other[e]] < when[node]:
                best, least = e, cost[w, e]
        carried[w, best] += 1
        cost[w, best] = price[w, carried[w, best]]
        over[node] = best - begin


@compile_kernel
def _choose_steps(
    first: Ints,
    other: Ints,
    out_first: Ints,
    out_other: Ints,
    entrance: Ints,
    start: int,
    carried: Ints,
    cost: Ints,
    price: Ints,
    far: Shorts,
    when: Shorts,
    over: Bytes,
    shard: int,
) -> None:
    """Move nodes to another step where that is cheaper.

    If it is earlier, those to which its links lead may take the shard from there; if it is later, some of them must
    find another.
    """
    nodes, steps = len(when), len(carried)
    for place in range(nodes):
        node = (place + shard) % nodes
        soonest = far[node] // CLASSES - start
        if soonest < 0 or soonest == steps - 1:
            continue
        now, here = when[node] - start, first[node] + over[node]
        saved = price[now, carried[now, here] - 1]
        then, best, least = now, here, 0
        for w in range(soonest, steps):
            if w == now:
                continue
            entry, change = -1, LARGEST
            for e in range(first[node], first[node + 1]):
                if cost[w, e] < change and when[other[e]] < w + start:
                    entry, change = e, cost[w, e]
            change -= saved
            if entry < 0 or (w > now and change >= least):
                continue
            for o in range(out_first[node], out_first[node + 1]):
                end, e = out_other[o], entrance[o]
                step = when[end] - start
                if step <= min(w, now) or step > max(w, now) or far[end] < CLASSES * start:
                    continue
                taken = first[end] + over[end]
                if w < now:
                    change += min(0, cost[step, e] - price[step, carried[step, taken] - 1])
                elif taken == e:
                    dearer = LARGEST
                    for i in range(first[end], first[end + 1]):
                        if cost[step, i] < dearer and when[other[i]] < when[end] and other[i] != node:
                            dearer = cost[step, i]
                    change += dearer - price[step, carried[step, e] - 1]
                    if change >= least:
                        break
            if change < least:
                then, best, least = w, entry, change
        if then == now:
            continue
        carried[now, here] -= 1
        carried[then, best] += 1
        when[node] = then + start
        over[node] = best - first[node]
        cost[now, here], cost[then, best] = price[now, carried[now, here]], price[then, carried[then, best]]
        for o in range(out_first[node], out_first[node + 1]):
            end, e = out_other[o], entrance[o]
            step = when[end] - start
            if step <= min(then, now) or step > max(then, now) or far[end] < CLASSES * start:
                continue
            taken = first[end] + over[end]
            best = taken
            if then < now:
                if cost[step, e] < price[step, carried[step, taken] - 1]:
                    best = e
            elif taken == e:
                least = LARGEST
                for i in range(first[end], first[end + 1]):
                    if cost[step, i] < least and when[other[i]] < when[end]:
                        best, least = i, cost[step, i]
            carried[step, taken] -= 1
            carried[step, best] += 1
            cost[step, taken] = price[step, carried[step, taken]]
            cost[step, best] = price[step, carried[step, best]]
            over[end] = best - first[end]
