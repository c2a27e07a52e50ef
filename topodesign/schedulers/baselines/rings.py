"""Ring algorithms: disjoint rings, chains, grid sides and boxes."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from topodesign.base.arrays import ranges
from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, BROADCAST, REDUCE, REDUCE_SCATTER, Collective
from topodesign.fabrics.contraction import boxes_of
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.build import Part, build_steps, check_rows, check_units
from topodesign.plans.flow import Flow
from topodesign.plans.step_ops import rescale
from topodesign.pricing.closed_form import distances
from topodesign.schedulers.baselines.baseline import Ranks, baseline
from topodesign.schedulers.baselines.cycles import Cycle, link_disjoint_cycles, shortest_tour
from topodesign.schedulers.baselines.messages import FormulaRounds, Path, Router, formula
from topodesign.topology.topology import IntArray, Topology


def ring(topology: Topology, collective: Collective) -> FormulaRounds:
    """Return an allgather over R link-disjoint rings.

    Each ring carries 1/R of every block.

    (N-1) alpha + (N-1)/N beta M/R, with beta the time of a byte on a link: optimal where there are as many rings as
    ports. Where there is no Hamiltonian cycle the ring is a short closed tour, both ways round if the links are duplex,
    whose messages go over shortest paths.

    Patarasuk and Yuan, Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations (2009).
    """
    nodes = topology.nodes
    cycles = link_disjoint_cycles(topology)
    if cycles:
        count = len(cycles)
        cost = formula(topology, nodes - 1, Fraction(nodes - 1, nodes * count))
        walks = [list(zip(one, [*one[1:], one[0]], strict=True)) for one in cycles]
        return FormulaRounds(around(topology, collective, walks), cost if topology.capacity.max() == 1 else None)
    router = Router(topology)
    tour = shortest_tour(router.distance)
    tours = [tour, (tour[0], *tour[:0:-1])] if topology.is_duplex else [tour]
    ways: list[list[Path]] = []
    for one in tours:
        pairs = list(zip(one, [*one[1:], one[0]], strict=True))
        ways.append(router.paths(pairs, [1] * len(pairs)))
    return FormulaRounds(around(topology, collective, ways), None)


def around(topology: Topology, collective: Collective, walks: Sequence[Sequence[Path]]) -> Flow:
    """Return an allgather around closed walks.

    Each walk carries an equal part of every block.

    A walk is the ways from every node to the next one, the last one to the first. Data leave a node on the way in the
    step after they came, so that of a walk of H links it takes H steps less the shortest of its ways.
    """
    parts: list[Part] = []
    steps = 0
    for at, walk in enumerate(walks):
        hops = np.array([hop for way in walk for hop in itertools.pairwise(way)], dtype=np.int64)
        length = np.array([len(way) - 1 for way in walk], dtype=np.int64)
        begin = np.cumsum(length) - length
        count = len(hops) - np.roll(length, 1)  # all but the way that leads back to where it began
        steps = max(steps, int(count.max()))
        stop, step = ranges(0, count)
        place = (begin[stop] + step) % len(hops)
        parts.append((step + 1, hops[place, 0], hops[place, 1], hops[begin, 0][stop], at, at + 1))
    return build_steps(collective, topology, len(walks), steps, parts)


def paths(fabric: Fabric, root: int | None) -> list[Ranks]:
    """Return a path for every node along each fabric ring."""
    del root
    return [
        Ranks(node, 1, list(itertools.pairwise((*one[at:], *one[:at]))))
        for one in ring_orders(fabric)
        for at, node in enumerate(one)
    ]


def chains(fabric: Fabric, root: int | None) -> list[Ranks]:
    """Return a path from the root along every fabric ring.

    C chunks take (N - 2 + C)(alpha + beta M/(R C)) over R rings that share no link. Without a root, as in an allreduce,
    the first node is it.
    """
    root = fabric.compute[0] if root is None else root
    found = []
    for ring in ring_orders(fabric):
        at = ring.index(root)
        found.append(Ranks(root, 1, list(itertools.pairwise((*ring[at:], *ring[:at])))))
    return found


def hierarchical(topology: Topology, collective: Collective) -> FormulaRounds:
    """Return an allgather over two levels of rings.

    This is BlueConnect with two sides.

    Sergeev and Del Balso, Horovod: fast and easy distributed deep learning in TensorFlow (2018).
    """
    del collective
    return _level_rings(
        topology, 2, "hierarchical rings need a grid of alike rows, such as a product of two topologies"
    )


def blueconnect(topology: Topology, collective: Collective) -> FormulaRounds:
    """Return an allgather over rings along all sides of a grid.

    On a fabric the boxes are one side.

    Cho, Finkler, Serrano, Kung and Hunter, BlueConnect: Decomposing All-Reduce for Deep Learning on Heterogeneous
    Network Hierarchy (2019).
    """
    del collective
    return _level_rings(topology, None, "blueconnect needs a grid of alike rows, such as a torus or a product")


def _level_rings(topology: Topology, count: int | None, refusal: str) -> FormulaRounds:
    """Return an allgather along the grid sides, last side first.

    Of a side p with R rings that share no link, (p-1) steps, and (p-1)/R times the blocks of all sides after it: in all
    sum (p_i - 1) alpha + sum (p_i - 1) p_(i+1) p_(i+2) ... / (R_i N) beta M. Backwards the reduce-scatter has the most
    data along the first side.
    """
    sides = sides_of(topology, count)
    if sides is None:
        raise InfeasibleError(refusal)
    along = [ring(rows(topology, sides, at), ALLGATHER) for at in range(len(sides))]
    units = math.lcm(*(one.rounds.units for one in along))
    rounds = gather_grid(topology, sides, [tuple(range(len(sides)))], [rescale(one.rounds, units) for one in along])
    if any(one.formula is None for one in along):
        return FormulaRounds(rounds, None)
    each = enumerate(zip(sides, along, strict=True), start=1)
    blocks = [Fraction((side - 1) * math.prod(sides[after:]), one.rounds.units) for after, (side, one) in each]
    return FormulaRounds(rounds, formula(topology, rounds.steps, sum(blocks, Fraction(0)) / topology.nodes))


Order = tuple[int, ...]  # of the sides of a grid, or of the dimensions of a product


def gather_grid(place: Topology, sides: Sequence[int], orders: Sequence[Order], plans: Sequence[Flow]) -> Flow:
    """Return the allgather of a grid in given side orders.

    Each chunk goes along the sides in one of the orders, the last side first.

    ``plans`` are the allgathers of its rows, in as many units each, into which every chunk is cut.
    """
    units, strides = plans[0].units, [1, *itertools.accumulate(sides, lambda before, side: before * side)]
    nodes = strides.pop()
    check_units(units * len(orders))
    check_rows(len(orders) * nodes * (nodes - 1) * units)
    node, parts, steps = np.arange(nodes), list[Part](), 0
    for chunk, order in enumerate(orders):
        before, done = 0, np.zeros(1, dtype=np.int64)  # blocks that a node has, beside its own coordinates
        left = node
        for at in reversed(order):
            plan, stride = plans[at], strides[at]
            first = node // stride % sides[at] == 0
            columns = (plan.step, plan.src, plan.dst, plan.block, plan.lo, plan.hi)
            step, src, dst, block, low, high = (column.astype(np.int64) for column in columns)
            line = node[first][:, None, None]
            # ``left`` is a node without the coordinates that are done: where its blocks begin.
            own = left[first][:, None, None] + done[None, :, None] + block * stride
            shift = chunk * units
            parts.append((before + step, line + src * stride, line + dst * stride, own, low + shift, high + shift))
            before += plan.steps
            done = (done[:, None] + np.arange(sides[at]) * stride).ravel()
            left = left - node // stride % sides[at] * stride
        steps = max(steps, before)
    return build_steps(ALLGATHER, place, units * len(orders), steps, parts)


def over_boxes(fabric: Fabric, root: int | None) -> list[Ranks]:
    """Return a path for every node across and within boxes.

    A path visits the nodes of the same position in all boxes, then continues inside each box from there.
    """
    del root
    boxes = boxes_of(fabric)
    if boxes is None:
        raise InfeasibleError(
            "rings among boxes require boxes with as many nodes each, named box0/gpu0, box0/gpu1 and so on"
        )
    tours = box_tours(fabric, boxes)
    found = []
    for number, tour in enumerate(tours):
        for place, node in enumerate(tour):
            order = [tours[(number + step) % len(tours)] for step in range(len(tours))]
            edges = [(one[place], other[place]) for one, other in itertools.pairwise(order)]
            for one in order:
                edges += itertools.pairwise((*one[place:], *one[:place]))
            found.append(Ranks(node, 1, edges))
    return found


_MAX_EDGES = 2**20  # edges of all trees of a plan, to which the number of rings is limited


def factorings(number: int) -> Iterator[tuple[int, ...]]:
    """Yield all ordered factorisations of a number into factors above one."""
    if number == 1:
        yield ()
    for factor in range(2, number + 1):
        if number % factor == 0:
            for rest in factorings(number // factor):
                yield (factor, *rest)


def sides_of(topology: Topology, count: int | None = None) -> tuple[int, ...] | None:
    """Return the sides of a topology as a grid, or None.

    Node x0 + p0 (x1 + p1 (x2 + ...)) has the coordinates x. Of all sides p, at least two or as many as ``count``, along
    each of which every row has the same links, and these join all of the row, those with the least sum are taken; of
    several the first in order.
    """
    best: tuple[int, tuple[int, ...]] | None = None
    for sides in factorings(topology.nodes):
        key = sum(sides), sides
        if len(sides) < 2 or (count is not None and len(sides) != count) or (best is not None and best <= key):
            continue
        found = [rows(topology, sides, at) for at in range(len(sides))]
        if all(int(distances(way, 0).min()) >= 0 for row in found for way in (row, row.transpose())):
            best = key
    return None if best is None else best[1]


def rows(topology: Topology, sides: tuple[int, ...], level: int) -> Topology:
    """Return the common links of all rows along one side.

    The nodes are the coordinates along that side.
    """
    place = int(np.prod(sides[:level], dtype=np.int64))
    side = sides[level]
    src, dst = (ends // place % side for ends in (topology.src, topology.dst))
    along = (topology.src - src * place == topology.dst - dst * place) & (src != dst)
    pair, capacity = (src * side + dst)[along], topology.capacity[along]
    number = np.bincount(pair, minlength=side * side)
    common: IntArray = np.flatnonzero(number == topology.nodes // side)
    least = np.full(side * side, np.iinfo(np.int64).max)
    np.minimum.at(least, pair, capacity)
    return Topology.from_arrays(side, common // side, common % side, least[common])


def ring_orders(fabric: Fabric) -> list[Cycle]:
    """Return the rings of maximum total rate, with equal shares.

    Without switches these are Hamiltonian cycles that share no link, or a short tour where there is none. Else rings go
    through the boxes in turn, along a short tour of each; begun at every node of it, in the same direction in all boxes
    or to and fro, and all backwards too: of these sets the one with the highest rate is taken, of equals the smallest.
    """
    topology = fabric.topology
    if not topology.switches and (cycles := link_disjoint_cycles(topology)):
        return list(cycles)
    router = Router(topology, fabric.names)
    tours = box_tours(fabric, boxes_of(fabric) or [list(fabric.compute)])
    most = max(1, _MAX_EDGES // len(fabric.compute) ** 2)
    best: tuple[Fraction, int, list[Cycle]] | None = None
    for to_and_fro in (False, True):
        for count in {1, len(tours[0])}:
            rings = [_through(tours, start, to_and_fro=to_and_fro) for start in range(count)]
            for chosen in (rings, [*rings, *((one[0], *one[:0:-1]) for one in rings)]):
                if len(chosen) > most and best is not None:
                    continue
                key = -len(chosen) * _rate(topology, router, chosen), len(chosen), chosen
                best = key if best is None else min(best, key)
    return [] if best is None else best[2]


def _through(tours: list[list[int]], start: int, *, to_and_fro: bool) -> Cycle:
    """Return the ring through all boxes with a common start position."""
    ring: list[int] = []
    for number, tour in enumerate(tours):
        turned = [*tour[start:], *tour[:start]]
        ring += turned[::-1] if to_and_fro and number % 2 else turned
    return tuple(ring)


def box_tours(fabric: Fabric, boxes: list[list[int]]) -> list[list[int]]:
    """Return the nodes of every box in short-tour order.

    The tours prefer wide links.
    """
    cost = _costs(fabric, Router(fabric.topology, fabric.names))
    return [[box[at] for at in shortest_tour(cost[np.ix_(box, box)])] for box in boxes]


def _costs(fabric: Fabric, router: Router) -> IntArray:
    """Return pairwise route costs, inverse to the widest connection."""
    topology = fabric.topology
    common = math.lcm(*topology.capacity.tolist())
    far = common * topology.nodes
    cost: IntArray = router.distance * far
    wide: dict[int, list[tuple[int, int]]] = {}
    for u, v, capacity in topology.links():
        if v not in topology.switches:
            cost[u, v] = min(cost[u, v], common // capacity)
        wide.setdefault(u, []).append((v, capacity))
    for u in fabric.compute:
        for switch, up in wide.get(u, []):
            for v, down in wide.get(switch, []) if switch in topology.switches else ():
                if v != u and v not in topology.switches:
                    cost[u, v] = min(cost[u, v], common // min(up, down))
    return cost


def _rate(topology: Topology, router: Router, rings: list[Cycle]) -> Fraction:
    """Return the capacity available to each ring on all links."""
    widths = Counter(pair for ring in rings for pair in zip(ring, [*ring[1:], ring[0]], strict=True))
    loads: Counter[tuple[int, int]] = Counter()
    ways = router.paths(list(widths), list(widths.values()), by_step=False)
    for way, width in zip(ways, widths.values(), strict=True):
        for hop in itertools.pairwise(way):
            loads[hop] += width
    capacity = {(u, v): c for u, v, c in topology.links()}
    return min(Fraction(capacity[hop], load) for hop, load in loads.items())


_OF_ALL = (ALLGATHER, REDUCE_SCATTER, ALLREDUCE)
METHODS = {
    one.name: one
    for one in (
        baseline("ring", _OF_ALL, ring, trees=paths),
        baseline("chain", (BROADCAST, REDUCE, ALLREDUCE), trees=chains),
        baseline("hierarchical", _OF_ALL, hierarchical, trees=over_boxes),
        baseline("blueconnect", _OF_ALL, blueconnect, trees=over_boxes),
    )
}
