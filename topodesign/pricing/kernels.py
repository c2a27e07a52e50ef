"""Inner loops of SPFF pricing.

The closed form (Efficient Direct-Connect Topologies, Theorem 20): a node u sends the shards of the destinations at
distance x over its links so that the fullest link carries

    U(u, x) = max over non-empty sets S of u's links of #{v : d(u,v) = x, nexthops(u,v) inside S} / capacity(S)

shards per unit of capacity. Destinations are grouped by next-hop set, a bit mask over the node's distinct neighbours,
which breadth-first search hands down: the mask of v is the union of the masks of its predecessors. The maximum is found
without looking at all S, unless these are few beside the groups: a guess p/q is feasible if an integer flow from the
groups to the links exists, and otherwise the minimum cut is a set S with a larger ratio, the next guess. All numbers
are int64.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import LARGEST, Ints, Masks, compile_kernel, find, sort, tier_kernel

MAX_NEIGHBOURS = 64  # neighbours that a bit mask can tell apart

_TABLE = 2**16  # masks of up to 16 neighbours are counted in a table, which beats sorting them
_SETS_PER_GROUP = 80  # up to so many sets of links for each group all are looked at, which beats a flow


@compile_kernel
def _bits(mask: np.uint64) -> int:
    """Return the number of ones."""
    count = 0
    while mask:
        mask &= mask - np.uint64(1)
        count += 1
    return count


@tier_kernel(lambda source, indptr, dst, *_: len(dst) // 2)
def search(source: int, indptr: Ints, dst: Ints, distance: Ints, mask: Masks, queue: Ints) -> int:
    """Search breadth-first from a node; return the nodes reached.

    Fills distance, next-hop mask and visiting order.
    """
    distance[:] = -1
    distance[source] = 0
    mask[source] = 0
    queue[0] = source
    reached = 1
    bit = np.uint64(1)
    for entry in range(indptr[source], indptr[source + 1]):
        node = dst[entry]
        if node != source:
            distance[node] = 1
            mask[node] = bit
            queue[reached] = node
            reached += 1
            bit <<= np.uint64(1)
    head = 1
    while head < reached:
        node = queue[head]
        head += 1
        if reached == len(distance) and distance[node] == distance[queue[reached - 1]]:
            break  # the farthest nodes lead to no others
        near = distance[node] + 1
        for entry in range(indptr[node], indptr[node + 1]):
            other = dst[entry]
            if distance[other] < 0:
                distance[other] = near
                mask[other] = mask[node]
                queue[reached] = other
                reached += 1
            elif distance[other] == near:
                mask[other] |= mask[node]
    return reached


@compile_kernel
def _layer(first: int, distance: Ints, queue: Ints, mask: Masks, layer: Masks) -> int:
    """Copy the masks of a layer in visiting order; return its end."""
    last = first
    while last < len(queue) and distance[queue[last]] == distance[queue[first]]:
        layer[last] = mask[queue[last]]
        last += 1
    return last


@compile_kernel
def _group(masks: Masks, neighbours: int, place: Ints, group_mask: Masks, group_count: Ints) -> int:
    """Group equal next-hop masks with counts; return the number of groups.

    ``place`` holds zeros, before and after, for all masks of as many neighbours as it has room for; with more, the
    masks are sorted in place.
    """
    groups = 0
    if len(place) >= 1 << min(neighbours, 62):
        for mask in masks:
            if place[mask] == 0:
                group_mask[groups] = mask
                group_count[groups] = 0
                groups += 1
                place[mask] = groups
            group_count[place[mask] - 1] += 1
        for g in range(groups):
            place[group_mask[g]] = 0
        return groups
    sort(masks.view(np.int64), neighbours)
    for i in range(len(masks)):
        if i == 0 or masks[i] != masks[i - 1]:
            group_mask[groups] = masks[i]
            group_count[groups] = 0
            groups += 1
        group_count[groups - 1] += 1
    return groups


@compile_kernel
def _even_split_fits(
    groups: int, group_mask: Masks, group_count: Ints, capacity: Ints, p: int, q: int, scale: int, load: Ints
) -> bool:
    """Return whether even splits keep links at p/q shards per capacity."""
    load[:] = 0
    for g in range(groups):
        mask = group_mask[g]
        share = group_count[g] * (scale // _bits(mask))
        link = 0
        while mask:
            if mask & np.uint64(1):
                load[link] += share
            mask >>= np.uint64(1)
            link += 1
    for link in range(len(capacity)):
        if load[link] * q > capacity[link] * p * scale:
            return False
    return True


@compile_kernel
def _augment(groups: int, group_mask: Masks, excess: Ints, room: Ints, flow: Ints) -> np.uint64:
    """Complete a partial flow of groups over links by augmenting paths.

    ``flow[g, link]`` is what is routed, ``excess[g]`` what is not yet, ``room[link]`` what a link can still take; all
    are changed in place. Returns 0 if everything is routed, else the links of a set that is too small for the groups
    that must use it.
    """
    k = len(room)
    parent = np.empty(k, np.int64)
    via = np.empty(k, np.int64)
    queue = np.empty(k, np.int64)
    for start in range(groups):
        while excess[start] > 0:
            seen: np.uint64 = group_mask[start]
            tail = 0
            for link in range(k):
                if seen >> np.uint64(link) & np.uint64(1):
                    parent[link] = -1
                    via[link] = start
                    queue[tail] = link
                    tail += 1
            head = 0
            end = -1
            while head < tail:
                link = queue[head]
                head += 1
                if room[link] > 0:
                    end = link
                    break
                for g in range(groups):
                    if flow[g, link] > 0 and group_mask[g] & ~seen:
                        for other in range(k):
                            if (group_mask[g] & ~seen) >> np.uint64(other) & np.uint64(1):
                                parent[other] = link
                                via[other] = g
                                queue[tail] = other
                                tail += 1
                        seen |= group_mask[g]
            if end < 0:
                return seen
            amount = min(excess[start], room[end])
            link = end
            while parent[link] >= 0:
                amount = min(amount, flow[via[link], parent[link]])
                link = parent[link]
            room[end] -= amount
            excess[start] -= amount
            link = end
            while link >= 0:
                flow[via[link], link] += amount
                if parent[link] >= 0:
                    flow[via[link], parent[link]] -= amount
                link = parent[link]
    return np.uint64(0)


@compile_kernel
def _find_violated_set(
    groups: int, group_mask: Masks, group_count: Ints, capacity: Ints, p: int, q: int, scale: int
) -> np.uint64:
    """Route all groups at p/q; return 0 or the links of a violated set.

    The flow starts from the even split, cut off where a link is full.
    """
    k = len(capacity)
    flow = np.zeros((groups, k), np.int64)
    room, excess = np.empty(k, np.int64), np.empty(groups, np.int64)
    for link in range(k):
        room[link] = capacity[link] * (p * scale)
    for g in range(groups):
        excess[g] = group_count[g] * (q * scale)
        share = excess[g] // _bits(group_mask[g])
        for link in range(k):
            if group_mask[g] >> np.uint64(link) & np.uint64(1):
                amount = min(share, room[link])
                flow[g, link] = amount
                room[link] -= amount
                excess[g] -= amount
    return _augment(groups, group_mask, excess, room, flow)


@compile_kernel
def _fullest_set(groups: int, group_mask: Masks, group_count: Ints, capacity: Ints, p: int, q: int) -> tuple[int, int]:
    """Return max(p/q, the largest ratio over all link sets), by enumeration."""
    sets = 1 << len(capacity)
    inside, room = np.zeros(sets, np.int64), np.zeros(sets, np.int64)
    for g in range(groups):
        inside[group_mask[g]] += group_count[g]
    for link in range(len(capacity)):
        half = 1 << link
        for first in range(0, sets, 2 * half):  # with the link: what is inside of the set without it, too
            for at in range(first, first + half):
                inside[at + half] += inside[at]
        for at in range(half):
            room[at + half] = room[at] + capacity[link]
    for at in range(1, sets):
        if inside[at] * q > p * room[at]:
            p, q = inside[at], room[at]
    return p, q


@compile_kernel
def _raise_load(
    groups: int, group_mask: Masks, group_count: Ints, capacity: Ints, p: int, q: int, scale: int, load: Ints
) -> tuple[int, int]:
    """Return max(p/q, the largest ratio over all link sets) as a pair."""
    total, ports = 0, 0
    for g in range(groups):
        total += group_count[g]
    for link in range(len(capacity)):
        ports += capacity[link]
    if total * q > p * ports:
        p, q = total, ports
    while not _even_split_fits(groups, group_mask, group_count, capacity, p, q, scale, load):
        if groups * _SETS_PER_GROUP >= 1 << min(len(capacity), 62):
            return _fullest_set(groups, group_mask, group_count, capacity, p, q)
        links = _find_violated_set(groups, group_mask, group_count, capacity, p, q, scale)
        if links == 0:
            break
        p, q = 0, 0
        for g in range(groups):
            if not group_mask[g] & ~links:
                p += group_count[g]
        for link in range(len(capacity)):
            if links >> np.uint64(link) & np.uint64(1):
                q += capacity[link]
    return p, q


@compile_kernel
def _split_scale(neighbours: int) -> int:
    """Return a common multiple of group sizes up to ``neighbours``."""
    scale = 1
    for i in range(2, min(neighbours, 16) + 1):
        a, b = scale, i
        while b:
            a, b = b, a % b
        scale *= i // a
    return scale


@tier_kernel(lambda sources, indptr, dst, *_: len(sources) * len(dst) // 2)
def worst_loads(
    sources: Ints,
    indptr: Ints,
    dst: Ints,
    capacity: Ints,
    numerator: Ints,
    denominator: Ints,
) -> int:
    """Raise the largest U(u, x) over sources; return the largest distance.

    The fraction at index x is numerator over denominator.

    * ``sources``: nodes u to look at.
    * ``indptr``, ``dst``, ``capacity``: CSR links of N nodes, at most ``MAX_NEIGHBOURS`` distinct neighbours each.
    * ``numerator``, ``denominator``: shape ``(N,)``, changed in place; start with zeros and ones.

    Returns: the largest distance from any source, or -1 if some node is not reached.
    """
    nodes = len(indptr) - 1
    distance = np.empty(nodes, np.int64)
    mask = np.empty(nodes, np.uint64)
    queue = np.empty(nodes, np.int64)
    layer = np.empty(nodes, np.uint64)
    group_mask = np.empty(nodes, np.uint64)
    group_count = np.empty(nodes, np.int64)
    place = np.zeros(_TABLE, np.int64)
    farthest = 0
    for source in sources:
        if search(source, indptr, dst, distance, mask, queue) < nodes:
            return -1
        links = np.empty(indptr[source + 1] - indptr[source], np.int64)
        k = 0
        for entry in range(indptr[source], indptr[source + 1]):
            if dst[entry] != source:
                links[k] = capacity[entry]
                k += 1
        links = links[:k]
        load = np.empty(k, np.int64)
        scale = _split_scale(k)
        first = 1
        while first < nodes:
            x = distance[queue[first]]
            last = _layer(first, distance, queue, mask, layer)
            groups = _group(layer[first:last], k, place, group_mask, group_count)
            numerator[x], denominator[x] = _raise_load(
                groups, group_mask, group_count, links, numerator[x], denominator[x], scale, load
            )
            farthest = max(farthest, x)
            first = last
    return farthest


@tier_kernel(lambda sources, _indptr, dst, *_: len(sources) * min(len(dst), 256))
def shortest_cycle(sources: Ints, indptr: Ints, dst: Ints, undirected: bool, shortest: int) -> int:
    """Return the shortest cycle near some nodes, at most ``shortest``.

    * ``sources``: nodes to search from; together with their images under symmetries they must be on all shortest
      cycles.
    * ``indptr``, ``dst``: CSR links of N nodes.
    * ``undirected``: whether every link has its reverse and taking one back and forth is no cycle; else cycles follow
      the links.
    * ``shortest``: length of the shortest cycle known.
    """
    nodes = len(indptr) - 1
    distance, parent, queue = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    distance[:] = -1
    for source in sources:
        distance[source] = 0
        parent[source] = -1
        queue[0] = source
        head, reached = 0, 1
        while head < reached:
            node = queue[head]
            near = distance[node] + 1
            if (2 * near - 1 if undirected else near) >= shortest:
                break  # no shorter cycle closes here or farther on
            head += 1
            for entry in range(indptr[node], indptr[node + 1]):
                other = dst[entry]
                if distance[other] < 0:
                    distance[other] = near
                    parent[other] = node
                    queue[reached] = other
                    reached += 1
                elif undirected:
                    if other != parent[node] and other != node:
                        shortest = min(shortest, near + distance[other])
                elif other == source and node != source:
                    shortest = min(shortest, near)
        for i in range(reached):
            distance[queue[i]] = -1
    return shortest


SCALE = 720720  # the least common multiple of 1 to 16: loads of up to 16 single links are whole multiples of 1/SCALE


@compile_kernel
def _whole_first(groups: int, group_mask: Masks, excess: Ints, room: Ints, flow: Ints) -> None:
    """Start a flow with few splits."""
    k = len(room)
    for links in range(1, k + 1):
        for g in range(groups):
            if _bits(group_mask[g]) != links:
                continue
            while excess[g] > 0:
                roomiest = -1
                for link in range(k):
                    if group_mask[g] >> np.uint64(link) & np.uint64(1) and (
                        roomiest < 0 or room[link] > room[roomiest]
                    ):
                        roomiest = link
                if room[roomiest] <= 0:
                    break
                amount = min(excess[g], room[roomiest])
                flow[g, roomiest] += amount
                room[roomiest] -= amount
                excess[g] -= amount


@tier_kernel(lambda sources, indptr, dst, *_: 2 * len(sources) * len(dst))
def split_rows(
    sources: Ints, indptr: Ints, dst: Ints, capacity: Ints, units: int, numerator: Ints, denominator: Ints, rows: Ints
) -> int:
    """Write the sends of SPFF schedules.

    For each source and destination which units go to which neighbour.

    * ``sources``: nodes that send.
    * ``indptr``, ``dst``, ``capacity``: CSR links of N nodes, at most ``MAX_NEIGHBOURS`` distinct neighbours each.
    * ``units``: units per shard.
    * ``numerator``, ``denominator``: at index x the most units per unit of capacity that a link may carry for the
      destinations at distance x.
    * ``rows``: shape ``(most, 6)``, written in place: distance, source, neighbour, destination, first unit, end unit.

    Returns: number of rows, or -1 - x if the limit at distance x is too small, or -2**62 if ``rows`` is too short.
    """
    nodes = len(indptr) - 1
    distance, queue, group_count = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    mask, layer, group_mask = np.empty(nodes, np.uint64), np.empty(nodes, np.uint64), np.empty(nodes, np.uint64)
    written = 0
    for source in sources:
        search(source, indptr, dst, distance, mask, queue)
        neighbours = np.empty(indptr[source + 1] - indptr[source], np.int64)
        ports = np.empty(len(neighbours), np.int64)
        k = 0
        for entry in range(indptr[source], indptr[source + 1]):
            if dst[entry] != source:
                neighbours[k] = dst[entry]
                ports[k] = capacity[entry]
                k += 1
        first = 1
        while first < nodes:
            x = distance[queue[first]]
            last = _layer(first, distance, queue, mask, layer)
            groups = _group(layer[first:last], k, np.zeros(0, np.int64), group_mask, group_count)
            flow = np.zeros((groups, k), np.int64)
            room = np.empty(k, np.int64)
            for link in range(k):
                room[link] = ports[link] * numerator[x] // denominator[x]
            excess = np.empty(groups, np.int64)
            for g in range(groups):
                excess[g] = group_count[g] * units
            _whole_first(groups, group_mask, excess, room, flow)
            if _augment(groups, group_mask, excess, room, flow):
                return -1 - int(x)
            link_of = np.zeros(groups, np.int64)
            for position in range(first, last):
                node = queue[position]
                g = find(mask[node], group_mask[:groups])
                unit = 0
                while unit < units:
                    link = link_of[g]
                    while flow[g, link] == 0:
                        link += 1
                    link_of[g] = link
                    amount = min(flow[g, link], units - unit)
                    if written == len(rows):
                        return -LARGEST
                    rows[written, 0] = x
                    rows[written, 1] = source
                    rows[written, 2] = neighbours[link]
                    rows[written, 3] = node
                    rows[written, 4] = unit
                    rows[written, 5] = unit + amount
                    written += 1
                    flow[g, link] -= amount
                    unit += amount
            first = last
    return written
