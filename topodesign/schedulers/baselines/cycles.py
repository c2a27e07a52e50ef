"""Link-disjoint Hamiltonian cycles, or a short closed tour.

Where all nodes have d ports, the links are d permutations of the nodes (König), each a set of cycles. Two permutations
may exchange what they do on an *alternating cycle* (u goes to x in one, w goes to x in the other, and so on round), and
remain permutations: so cycles are merged until every permutation is one, by a search that also makes changes that bring
nothing. The parity of all cycles together never changes, which says when no more can be had.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Sequence

import numpy as np

from topodesign.topology.topology import IntArray, Topology

Cycle = tuple[int, ...]  # the nodes in their order, beginning with 0

_STARTS = 16  # divisions of the links into permutations that the search begins with
_PATIENCE = 30  # exchanges for every node without success after which the search ends
_MAX_WORK = 40_000_000  # nodes that exchanges may pass in all
_WORK = 1_000_000  # nodes that the search for one cycle, and that for a tour, may pass
_UPHILL = 0.02  # how often a change for the worse is made all the same, where one cycle is looked for
_EXACT = 200_000  # steps that the search for one cycle may take, where others found none


@functools.lru_cache(maxsize=16)
def link_disjoint_cycles(topology: Topology) -> tuple[Cycle, ...]:
    """Return link-disjoint directed Hamiltonian cycles, sorted.

    The set is the largest that the search finds.

    A link of capacity c may be in c cycles. There are never more than the fewest ports of a node; often as many. None
    is found where there is none, and on small topologies only there.
    """
    best: list[list[int]] = []
    work = 0
    ports = min((sum(one.values()) for one in _ports(topology)), default=0)
    for seed in range(_STARTS):
        chance = random.Random(seed)  # noqa: S311  the same for everybody, no secret
        half = seed % 2 == 0 and topology.is_duplex and not (topology.out_ports % 2).any() and not topology.self_loops
        maps = _matchings(_orient_links(topology, chance) if half else _ports(topology), chance)
        if not maps:
            return ()
        work += _merge_all(maps, chance, turns=half)
        whole = [one for one in maps if _count(one) == 1]
        if half:
            whole += [np.argsort(one).tolist() for one in whole]
        best = max(best, whole, key=len)
        if len(best) == ports or (len(maps) == 1 and not half) or work > _MAX_WORK:
            break
    free = _ports(topology)
    cycles = [_cycle(one) for one in best]
    if not best:
        chance = random.Random(0)  # noqa: S311
        (first, *_) = _matchings(_ports(topology), chance)
        single = _merge_one(first, free, chance) or _backtrack(free)
        cycles = [] if single is None else [single]
    for u, v in (link for one in cycles for link in _links(one)):
        _take(free, u, v)
    for one in list(cycles):  # the way back, where it is free
        back = (one[0], *one[:0:-1])
        if all(v in free[u] for u, v in _links(back)):
            cycles.append(back)
            for u, v in _links(back):
                _take(free, u, v)
    return tuple(sorted(cycles))


def shortest_tour(distance: IntArray) -> Cycle:
    """Return a short closed tour of all nodes by local search.

    The length of a tour is the sum of its distances.
    """
    nodes = len(distance)
    far = distance.tolist()
    best: tuple[int, list[int]] | None = None
    for start in range(0, nodes, max(1, nodes // 4)):
        tour, left = [start], set(range(nodes)) - {start}
        while left:
            near = min(left, key=lambda v: (far[tour[-1]][v], v))
            tour.append(near)
            left.remove(near)
        _improve(tour, far)
        length = sum(far[u][v] for u, v in _links(tour))
        if best is None or (length, tour) < best:
            best = length, tour
    tour = best[1] if best is not None else []
    at = tour.index(0)
    return (*tour[at:], *tour[:at])


def _ports(topology: Topology) -> list[dict[int, int]]:
    """Return the neighbours of every node with their link counts."""
    free: list[dict[int, int]] = [{} for _ in range(topology.nodes)]
    for u, v, ports in topology.links():
        if u != v:
            free[u][v] = ports
    return free


def _links(cycle: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(cycle, [*cycle[1:], cycle[0]], strict=True))


def _take(free: list[dict[int, int]], u: int, v: int) -> None:
    free[u][v] -= 1
    if not free[u][v]:
        del free[u][v]


def _count(one: Sequence[int]) -> int:
    """Return the number of cycles of a permutation."""
    seen = bytearray(len(one))
    cycles = 0
    for start in range(len(one)):
        if not seen[start]:
            cycles += 1
            node = start
            while not seen[node]:
                seen[node] = 1
                node = one[node]
    return cycles


def _cycle(one: Sequence[int]) -> Cycle:
    cycle = [0]
    while one[cycle[-1]] != 0:
        cycle.append(one[cycle[-1]])
    return tuple(cycle)


def _orient_links(topology: Topology, chance: random.Random) -> list[dict[int, int]]:
    """Orient duplex links with equal in- and out-degree (Euler)."""
    left = _ports(topology)
    found: list[dict[int, int]] = [{} for _ in left]
    for start in range(topology.nodes):
        node = start
        while left[node]:
            other = chance.choice(sorted(left[node]))
            _take(left, node, other)
            _take(left, other, node)
            found[node][other] = found[node].get(other, 0) + 1
            node = other
    return found


def _matchings(free: list[dict[int, int]], chance: random.Random) -> list[list[int]]:
    """Return link permutations, removing their links, until none remains."""
    maps: list[list[int]] = []
    while (found := _matching(free, chance)) is not None:
        for u, v in enumerate(found):
            _take(free, u, v)
        maps.append(found)
    return maps


def _matching(free: list[dict[int, int]], chance: random.Random) -> list[int] | None:
    """Return a permutation along free links, or None (augmenting paths)."""
    nodes = len(free)
    into: list[int] = [-1] * nodes
    out: list[int] = [-1] * nodes
    choices = [sorted(one) for one in free]
    for one in choices:
        chance.shuffle(one)
    for node in range(nodes):
        before: dict[int, int] = {}
        waiting = [node]
        end = -1
        while waiting and end < 0:
            following = []
            for u in waiting:
                for v in choices[u]:
                    if v not in before:
                        before[v] = u
                        if into[v] < 0:
                            end = v
                            break
                        following.append(into[v])
                if end >= 0:
                    break
            waiting = following
        if end < 0:
            return None
        while end >= 0:
            u = before[end]
            into[end], out[u], end = u, end, out[u]
    return out


def _merge_all(maps: list[list[int]], chance: random.Random, *, turns: bool) -> int:
    """Merge cycles of permutations by pairwise exchanges; return the work.

    With ``turns`` the direction of a cycle does not matter, and some are turned round.
    """
    if len(maps) < 2:
        return 0
    nodes = len(maps[0])
    back = [np.argsort(one).tolist() for one in maps]
    counts = [_count(one) for one in maps]
    least = len(maps) + (0 if turns else (sum(counts) - len(maps)) % 2)
    waited = tried = 0
    while sum(counts) > least and waited < _PATIENCE * (nodes + 10) and tried * nodes < _MAX_WORK:
        waited += 1
        tried += 1
        a = chance.choice([at for at, count in enumerate(counts) if count > 1])
        b = chance.randrange(len(maps) - 1)
        b += b >= a
        one, other, inverse = maps[a], maps[b], back[a]
        start = chance.randrange(nodes)
        if turns and chance.random() < 0.5:
            chosen = chance.choice((a, b))
            _turn(maps[chosen], back[chosen], start)
        changed = [start]
        node = inverse[other[start]]
        while node != start:
            changed.append(node)
            node = inverse[other[node]]
        _exchange(one, other, changed)
        new = _count(one), _count(other)
        if sum(new) > counts[a] + counts[b]:
            _exchange(one, other, changed)
            continue
        if sum(new) < counts[a] + counts[b]:
            waited = 0
        counts[a], counts[b] = new
        for node in changed:
            back[a][one[node]] = node
            back[b][other[node]] = node
    return tried * nodes


def _turn(one: list[int], inverse: list[int], start: int) -> None:
    """Reverse the cycle of a node."""
    cycle = [start]
    while one[cycle[-1]] != start:
        cycle.append(one[cycle[-1]])
    for u, v in _links(cycle):
        one[v] = u
        inverse[u] = v


def _exchange(one: list[int], other: list[int], nodes: Sequence[int]) -> None:
    for node in nodes:
        one[node], other[node] = other[node], one[node]


def _merge_one(first: list[int], free: list[dict[int, int]], chance: random.Random) -> Cycle | None:
    """Turn a permutation into a Hamiltonian cycle, or return None."""
    nodes, one = len(first), list(first)
    inverse = np.argsort(one).tolist()
    choices = [sorted(row) for row in free]
    count, work = _count(one), 0
    while count > 1 and work < _WORK:
        start = chance.randrange(nodes)
        goal, node = one[start], start
        change: dict[int, int] = {}
        while node not in change and len(change) < 12:
            options = [v for v in choices[node] if v != one[node]]
            if not options:
                break
            change[node] = goal if goal in options and node != start else chance.choice(options)
            if change[node] == goal:
                break
            node = inverse[change[node]]
        work += nodes + 8 * len(change)
        if not change or len(set(change.values())) < len(change) or {one[u] for u in change} != set(change.values()):
            continue
        old = {u: one[u] for u in change}
        for u, v in change.items():
            one[u] = v
        new = _count(one)
        if new > count and chance.random() > _UPHILL:
            for u, v in old.items():
                one[u] = v
            continue
        count = new
        for u in change:
            inverse[one[u]] = u
    return _cycle(one) if count == 1 else None


def _backtrack(free: list[dict[int, int]]) -> Cycle | None:
    """Return a Hamiltonian cycle by backtracking, or None."""
    nodes, steps = len(free), 0
    way, used = [0], bytearray(nodes)
    used[0] = 1

    def ways(node: int) -> list[int]:
        left = [v for v in free[node] if not used[v]]
        return sorted(left, key=lambda v: (-sum(not used[w] for w in free[v]), v))

    stack = [ways(0)]
    while stack and steps < _EXACT:
        steps += 1
        if not stack[-1]:
            stack.pop()
            used[way.pop()] = 0
            continue
        node = stack[-1].pop()
        way.append(node)
        used[node] = 1
        if len(way) == nodes and 0 in free[node]:
            return tuple(way)
        stack.append(ways(node))
    return None


def _improve(tour: list[int], far: list[list[int]]) -> None:
    """Shorten a tour by moving and reversing segments."""
    nodes = len(tour)
    work, better = 0, nodes > 3
    while better and work < _WORK:
        better = False
        for size in (1, 2, 3):
            for at in range(nodes - size):
                piece, rest = tour[at : at + size], [*tour[:at], *tour[at + size :]]
                left, right = rest[at - 1], rest[at % len(rest)]
                gain = far[left][piece[0]] + far[piece[-1]][right] - far[left][right]
                costs = [
                    far[u][piece[0]] + far[piece[-1]][v] - far[u][v]
                    for u, v in zip(rest, [*rest[1:], rest[0]], strict=True)
                ]
                work += nodes
                place = min(range(len(rest)), key=costs.__getitem__)
                if costs[place] < gain:
                    tour[:] = [*rest[: place + 1], *piece, *rest[place + 1 :]]
                    better = True
        for at in range(nodes - 1):
            for end in range(at + 2, nodes - (at == 0)):
                work += 4
                u, v, x, y = tour[at], tour[at + 1], tour[end], tour[(end + 1) % nodes]
                if far[u][x] + far[v][y] >= far[u][v] + far[x][y]:
                    continue
                piece = tour[at + 1 : end + 1]
                inner = sum(far[p][q] - far[q][p] for p, q in itertools.pairwise(piece))
                if far[u][v] + far[x][y] - far[u][x] - far[v][y] + inner > 0:
                    tour[at + 1 : end + 1] = piece[::-1]
                    better = True
            if work > _WORK:
                break
