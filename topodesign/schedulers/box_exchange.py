"""All-to-all among boxes: the best flow among boxes, lifted to what is in them.

Every box is taken for one node, or each of its parts where nodes hang on several switches; all other switches stay.
The best flow among these bounds that of all nodes, as what is inside costs nothing there. Its paths are lifted: the
blocks between the nodes of two boxes, those of one sender after the other, are cut where the links of a hop are full,
and each part takes one of these: from its source on the shortest way inside to that link, over it, on to the next one,
and from the last to its destination. So whichever nodes cables are at they carry as much, and where the inside is wide
enough for what it gets so the plan meets the bound.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict, deque
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from topodesign.base.claims import Among, Claim, Of
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError
from topodesign.collectives import ALL_TO_ALL
from topodesign.fabrics.contraction import contracted
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.measure import path_claim
from topodesign.plans.paths import MAX_WEIGHT, Paths
from topodesign.plans.plan import Plan
from topodesign.schedulers.answers import spec_of
from topodesign.schedulers.box_ways import NO_BOXES, Way
from topodesign.schedulers.method import Request

_CHUNKS = 64  # that blocks between boxes are cut into where the best flow cuts them into more than can be counted

_Row = tuple[int, int, int, Way]  # source, destination, units, vertices


class _Lifted(NamedTuple):
    """A fabric whose boxes, or their parts, are nodes."""

    fabric: Fabric
    members: dict[int, list[int]]  # nodes of each
    links: dict[tuple[int, int], list[tuple[int, int, int]]]  # those of each hop: ends and capacity
    inside: dict[tuple[int, int], Way]  # the shortest way from a vertex of a box to another

    @property
    def cuts(self) -> int:
        """Into how many equal parts a path is cut, so that each link of a hop has a whole number of them."""
        rooms = ([capacity for *_, capacity in some] for some in self.links.values())
        return math.lcm(*(sum(some) // math.gcd(*some) for some in rooms))


def exchange_plan(request: Request) -> Plan:
    """Return the plan, with a claim how near it is to what the flow among boxes allows."""
    from topodesign.schedulers.scheduling import schedule  # noqa: PLC0415  lists those that ask this

    if request.alpha is not None:
        raise ParameterError("an all-to-all of boxes is made for any latency; leave --alpha out")
    fabric, small = request.fabric, _lifted(request.fabric)
    for chunks in (request.chunks, _CHUNKS):
        try:
            plan = schedule(small.fabric, ALL_TO_ALL, method="fluid", chunks=chunks)
        except TooLargeError:
            continue
        flow, cuts = plan.moving(Paths), small.cuts
        if flow.units * cuts <= MAX_WEIGHT:
            break
    else:
        raise TooLargeError(f"links of these boxes share data in {cuts} parts; NICs of rounder bandwidths will do")
    rows = [*_inner(small, flow.units * cuts), *_outer(small, flow, cuts)]
    nodes = fabric.topology.nodes
    named = [(source * nodes + goal, weight, way) for source, goal, weight, way in rows]
    paths = Paths.of(ALL_TO_ALL, fabric.topology, flow.units * cuts, named)
    claim = path_claim(fabric, paths)
    each = len(next(iter(small.members.values())))
    least = plan.claim["inv_x_star"] / (1 + Fraction(plan.generator["lost"])) * each**2
    rate, most = claim["algorithmic_bandwidth"], len(fabric.compute) / least
    made = {"method": "boxes", "lost": str(most / rate - 1)}
    return Plan(fabric, paths, claim, spec_of(request), made, (str(Claim.to_bound(Of.RATE, rate, Among.FLOWS, most)),))


def _lifted(fabric: Fabric) -> _Lifted:
    """Return the fabric with a node for every box or part, and what leads through these."""
    small = contracted(fabric)
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
    return _Lifted(small.fabric, small.members, dict(hops), inside)


def _ways(start: int, whose: list[int], near: dict[int, set[int]]) -> Iterator[Way]:
    """Yield the shortest ways from a vertex to all that are reached in the same box or part."""
    seen, todo = {start}, deque[Way]([(start,)])
    while todo:
        way = todo.popleft()
        yield way
        for after in sorted(near[way[-1]] - seen):
            if whose[after] == whose[start]:
                seen.add(after)
                todo.append((*way, after))


def _inner(small: _Lifted, units: int) -> Iterator[_Row]:
    """Yield the blocks that stay in their box."""
    for some in small.members.values():
        for source, goal in itertools.permutations(some, 2):
            yield source, goal, units, small.inside[source, goal]


def _outer(small: _Lifted, flow: Paths, cuts: int) -> Iterator[_Row]:
    """Yield the parts of blocks that go to other boxes; a unit of the flow is so many of theirs."""
    bounds = flow.hop_start.tolist()
    for weight, first, end in zip((flow.weight * cuts).tolist(), bounds, bounds[1:], strict=False):
        way = flow.hop[first:end].tolist()
        blocks = list(itertools.product(small.members[way[0]], small.members[way[-1]]))
        whole = len(blocks) * weight
        hops = [small.links[pair] for pair in itertools.pairwise(way)]
        full = [list(itertools.accumulate(capacity for *_, capacity in some)) for some in hops]
        ends = {whole * room // rooms[-1] for rooms in full for room in rooms}
        middle: Way = ()
        until = 0
        for lo, hi in itertools.pairwise(sorted({*range(0, whole, weight), *ends})):
            if lo == until:
                middle = _joined(small, hops, full, Fraction(lo, whole))
                until = min(one for one in ends if one > lo)
            source, goal = blocks[lo // weight]
            before, after = small.inside[source, middle[0]][:-1], small.inside[middle[-1], goal][1:]
            yield source, goal, hi - lo, (*before, *middle, *after)


def _joined(small: _Lifted, hops: list[list[tuple[int, int, int]]], full: list[list[int]], share: Fraction) -> Way:
    """Return the vertices from the first link to the last of what comes after this share of a path."""
    found: Way = ()
    for some, rooms in zip(hops, full, strict=True):
        u, v, _ = some[next(at for at, room in enumerate(rooms) if Fraction(room, rooms[-1]) > share)]
        found = (u, v) if not found else (*found, *small.inside.get((found[-1], u), (u,))[1:], v)
    return found
