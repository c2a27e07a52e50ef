"""Compiled search for who should have which shard one step before the last, so that both steps fill links evenly.

The matrix ``code`` has a row for each shard and a column for each node, with numbers as in
:mod:`topodesign.pricing.deferral_kernels`. Nodes that are near have a shard in time whatever is done. Those one step
nearer than there are steps may have it one step before the last, for others to take it from, or take it in the last
step themselves; those that are as far away as there are steps take it then.
"""

from __future__ import annotations

from topodesign.base.compiled import LARGEST, Ints, compiled, tiered
from topodesign.pricing.deferral_kernels import CLASSES, Bytes, Shorts

_ENDS = CLASSES - 1


@tiered(lambda code, first, other, *rest: 8 * len(rest[4]) * len(other))
def balance_relays(
    code: Shorts,
    first: Ints,
    other: Ints,
    out_first: Ints,
    out_other: Ints,
    entrance: Ints,
    steps: int,
    shards: Ints,
    link: Bytes,
    soon: Ints,
    last: Ints,
    soon_cost: Ints,
    last_cost: Ints,
    soon_price: Ints,
    last_price: Ints,
    new: bool,
) -> None:
    """Let nodes take some shards one step before the last or in the last, shard by shard, whatever costs less.

    A shard more on a link costs the more, the more the link carries in that step already. To have a shard early may
    cost a node more, but others can then take it from there, over links that are less full.

    Parameters
    ----------
    code
        Shape ``(N, N)``: who must have which shard one step before the last; changed in place.
    first, other
        Links into each node, one for each unit of capacity and no self-loop, and where they come from.
    out_first, out_other, entrance
        Links out of each node, where they lead to, and which of the links into nodes each is.
    steps
        How many there are, at least two.
    shards
        Which to look at.
    link
        Shape ``(N, N)``: over which of its links a node takes a shard that comes in the last two steps; changed.
    soon, last
        What each link carries in the last step but one and in the last; changed.
    soon_cost, last_cost
        What a shard more costs on each link; changed.
    soon_price, last_price
        Shape ``(N + 1,)``: what a shard more costs on a link that carries so many, rising.
    new
        Whether no links are chosen yet, for any of these shards; then only that is done.
    """
    turn = CLASSES * (steps - 1)
    for shard in shards:
        who, over = code[shard], link[shard]
        _choose_links(
            first, other, turn, soon, last, soon_cost, last_cost, who, over, shard, soon_price, last_price, new
        )
        if not new:
            _choose_relays(
                first,
                other,
                out_first,
                out_other,
                entrance,
                turn,
                soon,
                last,
                soon_cost,
                last_cost,
                who,
                over,
                shard,
                soon_price,
                last_price,
            )


@compiled
def _choose_links(
    first: Ints,
    other: Ints,
    turn: int,
    soon: Ints,
    last: Ints,
    soon_cost: Ints,
    last_cost: Ints,
    who: Shorts,
    over: Bytes,
    start: int,
    cheap: Ints,
    dear: Ints,
    new: bool,
) -> None:
    """Have each node take a shard over its cheapest link, at the step that it does."""
    nodes = len(who)
    for place in range(nodes):
        node = place + start if place + start < nodes else place + start - nodes
        if who[node] < turn:
            continue
        begin, best, least = first[node], -1, LARGEST
        if who[node] == turn:
            if not new:
                e = begin + over[node]
                soon[e] -= 1
                soon_cost[e] = cheap[soon[e]]
            for e in range(begin, first[node + 1]):
                if soon_cost[e] < least and who[other[e]] < turn:
                    best, least = e, soon_cost[e]
            soon[best] += 1
            soon_cost[best] = cheap[soon[best]]
        else:
            if not new:
                e = begin + over[node]
                last[e] -= 1
                last_cost[e] = dear[last[e]]
            for e in range(begin, first[node + 1]):
                if last_cost[e] < least and who[other[e]] <= turn:
                    best, least = e, last_cost[e]
            last[best] += 1
            last_cost[best] = dear[last[best]]
        over[node] = best - begin


@compiled
def _choose_relays(
    first: Ints,
    other: Ints,
    out_first: Ints,
    out_other: Ints,
    entrance: Ints,
    turn: int,
    soon: Ints,
    last: Ints,
    soon_cost: Ints,
    last_cost: Ints,
    who: Shorts,
    over: Bytes,
    start: int,
    cheap: Ints,
    dear: Ints,
) -> None:
    """Have nodes take a shard one step before the last instead of in the last, or the other way, where that is cheaper.

    In the one case those to which its links lead may take the shard from there, in the other they must find another.
    """
    nodes = len(who)
    for place in range(nodes):
        node = place + start if place + start < nodes else place + start - nodes
        if not turn <= who[node] < turn + CLASSES:
            continue
        early = who[node] == turn
        here = first[node] + over[node]
        best, least = -1, LARGEST
        if early:
            for e in range(first[node], first[node + 1]):
                if last_cost[e] < least and who[other[e]] <= turn:
                    best, least = e, last_cost[e]
            change = least - cheap[soon[here] - 1]
        else:
            for e in range(first[node], first[node + 1]):
                if soon_cost[e] < least and who[other[e]] < turn:
                    best, least = e, soon_cost[e]
            change = least - dear[last[here] - 1]
        if early and change >= 0:
            continue
        for o in range(out_first[node], out_first[node + 1]):
            end, e = out_other[o], entrance[o]
            if who[end] <= turn:
                continue
            taken = first[end] + over[end]
            if not early:
                change += min(0, last_cost[e] - dear[last[taken] - 1])
            elif taken == e:
                least = LARGEST
                for entry in range(first[end], first[end + 1]):
                    if last_cost[entry] < least and who[other[entry]] <= turn and other[entry] != node:
                        least = last_cost[entry]
                change += least - dear[last[e] - 1]
                if change >= 0:
                    break
        if change >= 0:
            continue
        if early:
            soon[here] -= 1
            last[best] += 1
            who[node] = turn + _ENDS
        else:
            last[here] -= 1
            soon[best] += 1
            who[node] = turn
        for e in (here, best):
            soon_cost[e], last_cost[e] = cheap[soon[e]], dear[last[e]]
        over[node] = best - first[node]
        for o in range(out_first[node], out_first[node + 1]):
            end, e = out_other[o], entrance[o]
            taken = first[end] + over[end]
            if who[end] <= turn or (taken == e) != early:
                continue
            best = taken
            if not early:
                best = e if last_cost[e] < dear[last[taken] - 1] else taken
            else:
                least = LARGEST
                for entry in range(first[end], first[end + 1]):
                    if last_cost[entry] < least and who[other[entry]] <= turn:
                        best, least = entry, last_cost[entry]
            last[taken] -= 1
            last[best] += 1
            last_cost[taken], last_cost[best] = dear[last[taken]], dear[last[best]]
            over[end] = best - first[end]
