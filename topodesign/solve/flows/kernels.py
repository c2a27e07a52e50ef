"""Inner loops of concurrent flows: shortest paths and balanced flows.

Floats are multiplied, added and divided only, one after another, so that they are the same on every machine and in both
tiers; what is believed in the end is whole.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, compile_kernel, tier_kernel

Floats = NDArray[np.float64]

LONGEST = 2**30  # length of the dearest arc where prices are floats


@tier_kernel(lambda source, indptr, dst, *_: 4 * len(dst))
def shortest_tree(source: int, indptr: Ints, dst: Ints, length: Ints, distance: Ints, via: Ints, order: Ints) -> int:
    """Find shortest paths from one node by Dijkstra's algorithm.

    Of several shortest paths it keeps the first one found.

    * ``source``: where to start.
    * ``indptr``, ``dst``, ``length``: CSR arcs of N nodes with their lengths, none negative. In plain Python they may
      be integers of any size.
    * ``distance``, ``via``, ``order``: shape ``(N,)``, written in place: how far each node is, the arc that leads to it
      (-1 for the source), and the nodes in the order in which they are reached; -1 where there is no path.

    Returns: number of nodes reached.
    """
    nodes = len(indptr) - 1
    heap = np.empty(nodes, np.int64)
    place = np.empty(nodes, np.int64)  # in the heap; -1 before, -2 after
    for node in range(nodes):
        distance[node] = -1
        via[node] = -1
        order[node] = -1
        place[node] = -1
    distance[source] = 0
    heap[0] = source
    place[source] = 0
    size, reached = 1, 0
    while size > 0:
        node = heap[0]
        place[node] = -2
        order[reached] = node
        reached += 1
        size -= 1
        if size > 0:
            last = heap[size]
            hole = 0
            while 2 * hole + 1 < size:
                child = 2 * hole + 1
                if child + 1 < size and distance[heap[child + 1]] < distance[heap[child]]:
                    child += 1
                if distance[heap[child]] >= distance[last]:
                    break
                heap[hole] = heap[child]
                place[heap[hole]] = hole
                hole = child
            heap[hole] = last
            place[last] = hole
        near = distance[node]
        for arc in range(indptr[node], indptr[node + 1]):
            other = dst[arc]
            if place[other] == -2:
                continue
            far = near + length[arc]
            if place[other] == -1:
                hole = size
                size += 1
            elif far < distance[other]:
                hole = place[other]
            else:
                continue
            distance[other] = far
            via[other] = arc
            while hole > 0 and distance[heap[(hole - 1) // 2]] > far:
                heap[hole] = heap[(hole - 1) // 2]
                place[heap[hole]] = hole
                hole = (hole - 1) // 2
            heap[hole] = other
            place[other] = hole
    return reached


@tier_kernel(lambda sources, weight, indptr, src, *_: 6 * len(sources) * len(src))
def tree_loads(
    sources: Ints,
    weight: Ints,
    indptr: Ints,
    src: Ints,
    dst: Ints,
    kind: Ints,
    demand: Ints,
    length: Ints,
    loads: Ints,
    far: Ints,
) -> None:
    """Send the demands of each source over a shortest-path tree.

    * ``sources``, ``weight``: where trees start, and what their loads are multiplied by.
    * ``indptr``, ``src``, ``dst``, ``kind``, ``length``: CSR arcs; lengths as :func:`shortest_tree`.
    * ``demand``: what goes from each source to each node, shape ``(sources, nodes)``, or one row for all sources;
      nothing to nodes that are not reached.
    * ``loads``: shape ``(sources, kinds)``, written in place: what every kind of arcs carries, times the weight.
    * ``far``: shape ``(sources,)``, written in place: the sum of all distances, each times what goes there.
    """
    nodes = len(indptr) - 1
    distance, via, order = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    count = np.empty(nodes, np.int64)
    for i in range(len(sources)):
        row = i if len(demand) > 1 else 0
        reached = shortest_tree(sources[i], indptr, dst, length, distance, via, order)
        for k in range(loads.shape[1]):
            loads[i, k] = 0
        total = 0
        for node in range(nodes):
            count[node] = demand[row, node]
            total += demand[row, node] * distance[node]
        for place in range(reached - 1, 0, -1):
            node = order[place]
            arc = via[node]
            count[src[arc]] += count[node]
            loads[i, kind[arc]] += count[node] * weight[i]
        far[i] = total


@compile_kernel
def _power(base: float, doublings: int) -> float:
    """Return the base to the power of 2**doublings."""
    for _ in range(doublings):
        base *= base
    return base


@tier_kernel(lambda sources, weight, indptr, src, *_: 30 * len(sources) * len(src))
def balance(
    sources: Ints,
    weight: Ints,
    indptr: Ints,
    src: Ints,
    dst: Ints,
    kind: Ints,
    demand: Ints,
    room: Floats,
    doublings: int,
    flow: Floats,
    load: Floats,
) -> None:
    """Shift part of each source's flow to currently cheapest paths.

    The prices are the gradient of ``sum of room * (load/room)**p``, p = 2**doublings, and the part is what makes that
    sum least on the way (Newton's method).

    * ``sources``, ``weight``, ``indptr``, ``src``, ``dst``, ``kind``, ``demand``: as :func:`tree_loads`.
    * ``room``: capacity of every kind of arcs.
    * ``doublings``: of the exponent.
    * ``flow``, ``load``: what every source sends over every arc, and what all together bring on every kind; changed in
      place. A source without flow starts with a tree.
    """
    nodes, arcs, kinds = len(indptr) - 1, len(dst), len(room)
    distance, via, order = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    price, change, length = np.empty(kinds, np.int64), np.empty(kinds, np.float64), np.empty(arcs, np.int64)
    count, tree = np.empty(nodes, np.float64), np.empty(arcs, np.float64)
    exponent = 1.0
    for _ in range(doublings):
        exponent *= 2.0
    for i in range(len(sources)):
        fullest = 0.0
        for k in range(kinds):
            fullest = max(fullest, load[k] / room[k])
        for k in range(kinds):
            price[k] = 1
            if load[k] > 0.0:
                share = load[k] / room[k] / fullest
                price[k] += int(_power(share, doublings) / share * LONGEST)
        started = False
        for arc in range(arcs):
            length[arc] = price[kind[arc]]
            tree[arc] = 0.0
            started = started or flow[i, arc] > 0.0
        row = i if len(demand) > 1 else 0
        reached = shortest_tree(sources[i], indptr, dst, length, distance, via, order)
        for node in range(nodes):
            count[node] = float(demand[row, node])
        for place in range(reached - 1, 0, -1):
            node = order[place]
            tree[via[node]] = count[node]
            count[src[via[node]]] += count[node]
        for k in range(kinds):
            change[k] = 0.0
        for arc in range(arcs):
            change[kind[arc]] += weight[i] * (tree[arc] - flow[i, arc])
        part = 0.0 if started else 1.0
        if started:
            low, high, step = 0.0, 1.0, 2.0  # where the best part is, and how far the last step went
            for _ in range(40):
                slope, bend = 0.0, 0.0
                for k in range(kinds):
                    share = (load[k] + part * change[k]) / room[k] / fullest
                    if change[k] != 0.0 and share > 1e-3:
                        steep = _power(share, doublings) / share
                        slope += steep * change[k]
                        bend += steep / share * change[k] * change[k] / room[k] / fullest
                if bend <= 0.0:
                    break
                if slope < 0.0:
                    low = part
                else:
                    high = part
                better = min(1.0, max(0.0, part - slope / (bend * (exponent - 1.0))))
                if better > high or better < low or abs(better - part) > step / 2.0:
                    better = (low + high) / 2.0  # Newton's method would go too far, or come back too slowly
                step = abs(better - part)
                close = abs(better - part) <= 1e-3 * part
                part = better
                if close:
                    break
        for arc in range(arcs):
            flow[i, arc] += part * (tree[arc] - flow[i, arc])
        for k in range(kinds):
            load[k] += part * change[k]


@tier_kernel(lambda sources, weight, indptr, src, *_: 15 * len(sources) * len(src))
def whole_flow(
    sources: Ints,
    weight: Ints,
    indptr: Ints,
    src: Ints,
    dst: Ints,
    kind: Ints,
    demand: Ints,
    length: Ints,
    units: int,
    spare: int,
    flow: Floats,
    loads: Ints,
    keep: bool,
) -> float:
    """Round flows to whole units near the given ones.

    They are cut to whole units and the rest is sent over a shortest-path tree: a little less is cut than each node
    gets, so that there is a rest for every node. A node that wants nothing may get some units more than it passes on.

    * ``sources``, ``weight``, ``indptr``, ``src``, ``dst``, ``kind``, ``demand``, ``length``: as :func:`tree_loads`.
    * ``units``, ``spare``: parts of a shard, and how many of them are left to the tree; more than the arcs of any node.
    * ``flow``: what every source sends over every arc, in shards.
    * ``loads``: shape ``(kinds,)``, written in place: units on every kind of arcs, from all sources times their
      weights.
    * ``keep``: whether to write the whole flow in the place of the given one.

    Returns: the sum of all distances times the weights, roughly.
    """
    nodes, arcs = len(indptr) - 1, len(dst)
    distance, via, order = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    wanted, amount = np.empty(nodes, np.int64), np.empty(arcs, np.int64)
    far = 0.0
    for k in range(len(loads)):
        loads[k] = 0
    for i in range(len(sources)):
        row = i if len(demand) > 1 else 0
        reached = shortest_tree(sources[i], indptr, dst, length, distance, via, order)
        for node in range(nodes):
            far += weight[i] * float(demand[row, node]) * float(distance[node])
            wanted[node] = units * demand[row, node]
        for arc in range(arcs):
            amount[arc] = int(flow[i, arc] * (units - spare))
            wanted[src[arc]] += amount[arc]
            wanted[dst[arc]] -= amount[arc]
        for place in range(reached - 1, 0, -1):
            node = order[place]
            rest = max(0, wanted[node])
            amount[via[node]] += rest
            wanted[src[via[node]]] += rest
        for arc in range(arcs):
            loads[kind[arc]] += weight[i] * amount[arc]
            if keep:
                flow[i, arc] = float(amount[arc])
    return far


@tier_kernel(lambda targets, weight, indptr, src, *_: 4 * len(targets) * len(src))
def equal_split(
    targets: Ints,
    weight: Ints,
    indptr: Ints,
    src: Ints,
    dst: Ints,
    kind: Ints,
    capacity: Ints,
    into: Ints,
    arc_into: Ints,
    units: int,
    loads: Ints,
) -> None:
    """Send a shard from every node to each target, split equally.

    Every node splits it over all links on shortest paths.

    * ``targets``, ``weight``: where shards go, and what the loads are multiplied by.
    * ``indptr``, ``src``, ``dst``, ``kind``, ``capacity``: CSR arcs, all nodes reached; a link of capacity c counts as
      c links.
    * ``into``, ``arc_into``, ``units``: as :func:`whole_flow`; what cannot be parted in whole units goes over the last
      link.
    * ``loads``: shape ``(kinds,)``, written in place.
    """
    nodes = len(indptr) - 1
    distance, order, waiting = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    for k in range(len(loads)):
        loads[k] = 0
    for i in range(len(targets)):
        for node in range(nodes):
            distance[node] = -1
            waiting[node] = units
        distance[targets[i]] = 0
        order[0] = targets[i]
        head, tail = 0, 1
        while head < tail:
            node = order[head]
            head += 1
            for entry in range(into[node], into[node + 1]):
                before = src[arc_into[entry]]
                if distance[before] < 0:
                    distance[before] = distance[node] + 1
                    order[tail] = before
                    tail += 1
        for place in range(nodes - 1, 0, -1):
            node = order[place]
            ports = 0
            for arc in range(indptr[node], indptr[node + 1]):
                if distance[dst[arc]] < distance[node]:
                    ports += capacity[arc]
            left = waiting[node]
            for arc in range(indptr[node], indptr[node + 1]):
                if distance[dst[arc]] < distance[node]:
                    amount = left * capacity[arc] // ports
                    ports -= capacity[arc]
                    left -= amount
                    waiting[dst[arc]] += amount
                    loads[kind[arc]] += weight[i] * amount
