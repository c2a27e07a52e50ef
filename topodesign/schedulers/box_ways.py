"""Boxes of a fabric: members, inner paths, cables and all-to-all.

Of an all-to-all every box is taken for one node, or each of its parts where nodes hang on several switches; all other
switches stay. The best flow among these bounds that of all nodes, as what is inside costs nothing there. Its paths are
lifted: the blocks between the nodes of two boxes, those of one sender after the other, are cut where the links of a hop
are full, and each part takes one of these: from its source on the shortest way inside to that link, over it, on to the
next one, and from the last to its destination. So whichever nodes cables are at they carry as much, and where the
inside is wide enough for what it gets so the plan meets the bound.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.claims import Claim, Of, Scope
from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.collectives import ALL_TO_ALL
from topodesign.fabrics.contraction import boxes_of, contract_fabric
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.build import build_paths
from topodesign.plans.chunk_ops import MAX_WEIGHT, find_ways
from topodesign.plans.flow import Flow
from topodesign.plans.measure import flow_claim
from topodesign.plans.plan import Plan
from topodesign.schedulers.method import Request, spec_of
from topodesign.topology.topology import Topology

Way = tuple[int, ...]  # vertices, its two ends included
_STRIDES = 2000  # choices of strides over rails that are looked at
NO_BOXES = "{} is not made of boxes with as many nodes each, as their names say: box0/gpu0, box0/gpu1"


class Hop(NamedTuple):
    """Transfer inside a box, to one or more nodes."""

    source: int
    targets: tuple[int, ...]  # one, or several that a switch copies to
    links: tuple[tuple[int, int], ...]  # one after the other, or the first and then those of the copies


@dataclass(frozen=True)
class Boxes:
    """Boxes with their cables."""

    members: list[list[int]]  # nodes of each
    cables: dict[tuple[int, int], list[Way]]  # by pair of boxes: from node to node, as often as there are NICs
    # for every node how its data get to all others of its box, in order
    spread: dict[int, list[Hop]]
    rails: bool  # whether every box has as many ways to each other, over switches outside

    @property
    def graph(self) -> Topology:
        """Topology with boxes as nodes and cables as links."""
        ends = np.array([(*pair, len(some)) for pair, some in sorted(self.cables.items())], dtype=np.int64)
        return Topology.from_arrays(len(self.members), ends[:, 0], ends[:, 1], ends[:, 2])

    @property
    def strided(self) -> Boxes:
        """Copy in which each NIC sends to a single box.

        A message each to all others would be small, and many.
        """
        count = len(self.members)
        strides = strides_of(count, min(map(len, self.cables.values())))
        cables = defaultdict[tuple[int, int], list[Way]](list)
        for a in range(count):
            for nic, stride in enumerate(strides):
                pair = a, (a + stride) % count
                cables[pair].append(self.cables[pair][nic])
        return replace(self, cables=dict(cables))


def strides_of(count: int, ports: int, *, duplex: bool = False) -> list[int]:
    """Return port strides that keep paths short, by random draws.

    With ``duplex``, for an even number of ports, the box that a port sends to sends back.
    """
    if count - 1 <= ports:
        return [at % (count - 1) + 1 for at in range(ports)]
    draw = random.Random(0)  # noqa: S311  no secret
    halves = [] if ports % 2 else [draw.sample(range(1, (count + 1) // 2), ports // 2) for _ in range(_STRIDES)]
    tried = [sorted([*some, *(count - one for one in some)]) for some in halves]
    if not duplex:
        tried += [sorted(draw.sample(range(1, count), ports)) for _ in range(_STRIDES)]
    return min(tried, key=lambda some: _distances(count, some))


def _distances(count: int, strides: list[int]) -> tuple[int, int]:
    """Return diameter and distance sum; ``(count, 0)`` if not connected."""
    seen, near, far, total = {0}, {0}, 0, 0
    while near and len(seen) < count:
        near = {(one + stride) % count for one in near for stride in strides} - seen
        seen |= near
        far += 1
        total += far * len(near)
    return (far, total) if len(seen) == count else (count, 0)


def boxes_in(fabric: Fabric, *, copies: bool = True) -> Boxes:
    """Return the boxes of a fabric, grouped by node name.

    See ``boxes_of``.

    Without ``copies`` switches send nothing to several at once.
    """
    members = boxes_of(fabric)
    if members is None:
        raise InfeasibleError(NO_BOXES.format(fabric.name))
    number = {fabric.names[some[0]].rpartition("/")[0]: at for at, some in enumerate(members)}
    box = [number.get(name.rpartition("/")[0], -1) for name in fabric.names]
    inner, out = defaultdict[int, list[int]](list), defaultdict[int, list[tuple[int, int]]](list)
    for u, v, capacity in fabric.topology.links():
        if box[u] == box[v] >= 0:
            inner[u].append(v)
        else:
            out[u].append((v, capacity))
    switches = fabric.topology.switches
    copying = fabric.multicast - fabric.memory if copies else frozenset()
    spread = {node: _spread_in_box(node, some, inner, switches, copying) for some in members for node in some}
    for some in members:
        for node in some:
            if sum(len(hop.targets) for hop in spread[node]) < len(some) - 1:
                raise InfeasibleError(f"inside its box {fabric.names[node]} does not reach all others")
    cables = _cables(fabric, members, box, inner, out)
    switched = all(box[v] < 0 for u, ends in out.items() if box[u] >= 0 for v, _ in ends)
    alike = len(cables) == len(members) * (len(members) - 1) and len(set(map(len, cables.values()))) == 1
    return Boxes(members, cables, spread, switched and alike)


def _spread_in_box(
    node: int, some: list[int], inner: dict[int, list[int]], switches: frozenset[int], copying: frozenset[int]
) -> list[Hop]:
    """Return hops that spread data in a box."""
    others = tuple(one for one in some if one != node)
    for switch in inner[node]:
        if switch in copying and set(others) <= set(inner[switch]):
            return [Hop(node, others, ((node, switch), *((switch, one) for one in others)))]
    found: list[Hop] = []
    seen, todo = {node}, deque([node])
    while todo:
        source = todo.popleft()
        passed, ways = {source}, deque[Way]([(source,)])
        while ways:
            way = ways.popleft()
            for after in inner[way[-1]]:
                if after in switches:
                    if after not in passed:
                        passed.add(after)
                        ways.append((*way, after))
                elif after not in seen:
                    seen.add(after)
                    todo.append(after)
                    found.append(Hop(source, (after,), tuple(itertools.pairwise((*way, after)))))
    return found


def _cables(  # noqa: C901  both ends and what is between
    fabric: Fabric,
    members: list[list[int]],
    box: list[int],
    inner: dict[int, list[int]],
    out: dict[int, list[tuple[int, int]]],
) -> dict[tuple[int, int], list[Way]]:
    """Return the paths of each box pair, alternating nodes at NICs."""
    switches = fabric.topology.switches
    place = {node: at for some in members for at, node in enumerate(some)}
    turns: dict[tuple[int, bool], int] = defaultdict(int)
    into = defaultdict[int, list[int]](list)
    for u, ends in inner.items():
        for v in ends:
            into[v].append(u)

    def near(vertex: int, *, before: bool) -> int | None:
        if vertex not in switches:
            return vertex
        there = [one for one in (into if before else inner)[vertex] if one not in switches]
        if not there:
            return None
        turns[vertex, before] += 1
        return there[(turns[vertex, before] - 1) % len(there)]

    least = min((c for ends in out.values() for _, c in ends), default=1)
    cables: dict[tuple[int, int], list[Way]] = defaultdict(list)
    for u in sorted(out):
        if box[u] < 0:
            continue
        for v, capacity in out[u]:
            heads = [v] if box[v] >= 0 else [w for w, _ in out[v] if box[w] >= 0 and box[w] != box[u]]
            for head in heads:
                for _ in range(max(1, capacity // least)):
                    a, b = near(u, before=True), near(head, before=False)
                    if a is None or b is None:
                        raise InfeasibleError(f"no node of a box is next to the NIC of {fabric.names[u]}")
                    if box[v] < 0 and place[a] != place[b]:
                        continue  # through a switch outside NICs of the same place talk
                    way = [a, *([u] if u != a else []), *([v] if v != head else []), head, *([b] if b != head else [])]
                    cables[box[u], box[head]].append(tuple(way))
    if not cables:
        raise InfeasibleError(f"{fabric.name} has no cables from box to box, nor switches between NICs of their nodes")
    return cables


_CHUNKS = 64  # that blocks between boxes are cut into where the best flow cuts them into more than can be counted

_Row = tuple[int, int, int, Way]  # source, destination, units, vertices


class _BoxFabric(NamedTuple):
    """A fabric whose boxes, or their parts, are nodes."""

    fabric: Fabric
    members: dict[int, list[int]]  # nodes of each
    links: dict[tuple[int, int], list[tuple[int, int, int]]]  # those of each hop: ends and capacity
    inside: dict[tuple[int, int], Way]  # the shortest way from a vertex of a box to another

    @property
    def cuts(self) -> int:
        """Equal parts per path that give each link whole parts."""
        rooms = ([capacity for *_, capacity in some] for some in self.links.values())
        return math.lcm(*(sum(some) // math.gcd(*some) for some in rooms))


def exchange_plan(request: Request) -> Plan:
    """Return the all-to-all plan of boxes and its flow bound."""
    from topodesign.schedulers.scheduling import schedule  # noqa: PLC0415  lists those that ask this

    fabric, small = request.fabric, _lift_fabric(request.fabric)
    for chunks in (request.chunks, _CHUNKS):
        try:
            plan = schedule(small.fabric, ALL_TO_ALL, method="fluid", chunks=chunks)
        except TooLargeError:
            continue
        flow, cuts = plan.flow, small.cuts
        if flow.units * cuts <= MAX_WEIGHT:
            break
    else:
        raise TooLargeError(f"links of these boxes share data in {cuts} parts; NICs of rounder bandwidths will do")
    rows = [*_inner(small, flow.units * cuts), *_outer(small, flow, cuts)]
    nodes = fabric.topology.nodes
    named = [(source * nodes + goal, weight, way) for source, goal, weight, way in rows]
    paths = build_paths(fabric, ALL_TO_ALL, flow.units * cuts, named)
    claim = flow_claim(paths)
    each = len(next(iter(small.members.values())))
    least = plan.claim["inv_x_star"] / (1 + Fraction(plan.generator["lost"])) * each**2
    rate, most = claim["algorithmic_bandwidth"], len(fabric.compute) / least
    made = {"method": "boxes", "lost": str(most / rate - 1)}
    notes = [str(Claim.to_bound(Of.RATE, rate, Scope.FLOWS, most))]
    notes += [] if request.alpha is None else ["the plan is the same for any latency"]
    return Plan(fabric, paths, claim, spec_of(request), made, tuple(notes))


def _lift_fabric(fabric: Fabric) -> _BoxFabric:
    """Return the fabric contracted to boxes, with paths inside them."""
    small = contract_fabric(fabric)
    if small is None:
        raise InfeasibleError(NO_BOXES.format(fabric.name))
    near, number = defaultdict[int, set[int]](set), [small.fabric.number(name) for name in small.called]
    hops = defaultdict[tuple[int, int], list[tuple[int, int, int]]](list)
    for u, v, capacity in fabric.topology.links():
        if number[u] != number[v]:
            hops[number[u], number[v]].append((u, v, capacity))
        elif small.whose[u] >= 0:
            near[u].add(v)
    starts = [vertex for vertex, at in enumerate(small.whose) if at >= 0]
    inside = {(start, way[-1]): way for start in starts for way in _ways(start, small.whose, near)}
    return _BoxFabric(small.fabric, small.members, dict(hops), inside)


def _ways(start: int, whose: list[int], near: dict[int, set[int]]) -> Iterator[Way]:
    """Yield shortest paths from a vertex in its box or part."""
    seen, todo = {start}, deque[Way]([(start,)])
    while todo:
        way = todo.popleft()
        yield way
        for after in sorted(near[way[-1]] - seen):
            if whose[after] == whose[start]:
                seen.add(after)
                todo.append((*way, after))


def _inner(small: _BoxFabric, units: int) -> Iterator[_Row]:
    """Yield the rows of blocks inside their box."""
    for some in small.members.values():
        for source, goal in itertools.permutations(some, 2):
            if (source, goal) not in small.inside:
                raise InfeasibleError("inside a box not all nodes reach each other")
            yield source, goal, units, small.inside[source, goal]


def _outer(small: _BoxFabric, flow: Flow, cuts: int) -> Iterator[_Row]:
    """Yield the rows of blocks to other boxes, in finer units."""
    for weight, way in zip(((flow.hi - flow.lo) * cuts).tolist(), find_ways(flow), strict=True):
        blocks = list(itertools.product(small.members[way[0]], small.members[way[-1]]))
        whole = len(blocks) * weight
        hops = [small.links[pair] for pair in itertools.pairwise(way)]
        full = [list(itertools.accumulate(capacity for *_, capacity in some)) for some in hops]
        ends = {whole * room // rooms[-1] for rooms in full for room in rooms}
        middle: Way = ()
        until = 0
        for lo, hi in itertools.pairwise(sorted({*range(0, whole, weight), *ends})):
            if lo == until:
                middle = _join_path(small, hops, full, Fraction(lo, whole))
                until = min(one for one in ends if one > lo)
            source, goal = blocks[lo // weight]
            before, after = small.inside[source, middle[0]][:-1], small.inside[middle[-1], goal][1:]
            yield source, goal, hi - lo, (*before, *middle, *after)


def _join_path(
    small: _BoxFabric, hops: list[list[tuple[int, int, int]]], full: list[list[int]], share: Fraction
) -> Way:
    """Return the vertices of a path share, first to last link."""
    found: Way = ()
    for some, rooms in zip(hops, full, strict=True):
        u, v, _ = some[next(at for at, room in enumerate(rooms) if Fraction(room, rooms[-1]) > share)]
        found = (u, v) if not found else (*found, *small.inside.get((found[-1], u), (u,))[1:], v)
    return found
