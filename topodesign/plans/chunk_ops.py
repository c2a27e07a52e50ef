"""Chunk flows: movements, groups, loads, heights and images."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import ranges
from topodesign.base.errors import ScheduleError, TooLargeError
from topodesign.base.memory import VARIABLE, memory_limit
from topodesign.base.units import format_size_rounded
from topodesign.collectives import (
    ALL_TO_ALL,
    ALLGATHER,
    ALLREDUCE,
    BROADCAST,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
)
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.archive import MAX_ROWS
from topodesign.plans.flow import PIECES, SENDS, Column, Flow, Routes
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray

PATH_COLLECTIVES = (SCATTER, GATHER, ALL_TO_ALL)
"""Those that paths can do: every block goes from one node to one."""
TREE_COLLECTIVES = (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, BROADCAST, REDUCE)
"""Those that spanning trees can do: everything goes from one node to all, or from all to one; an allreduce in turn."""
MAX_WEIGHT = 2**31 - 1
_PER_ROW = 64  # bytes for a vertex of a route while a plan is made and verified, measured


def routes_of(flow: Flow) -> Routes:
    """Return the routes of a chunk flow; by default single links."""
    if flow.weight is None:
        raise ScheduleError(f"only flows in chunks have pipelines, not {flow!r}")
    if flow.routes is not None:
        return flow.routes
    hop = np.stack((flow.src, flow.dst), axis=1).ravel().astype(np.int64)
    return Routes(np.arange(len(flow)), flow.weight[flow.piece], 2 * np.arange(len(flow) + 1), hop)


def find_ways(flow: Flow) -> list[list[int]]:
    """Return the vertices on the way of every piece."""
    routes = routes_of(sort_sends(flow))
    ways: list[list[int]] = [[] for _ in flow.block]
    hops, cut = routes.hop.tolist(), routes.hop_start.tolist()
    for piece, first, end in zip(sort_sends(flow).piece[routes.send].tolist(), cut, cut[1:], strict=False):
        ways[piece] += hops[first + bool(ways[piece]) : end]
    return ways


def count_adding(flow: Flow) -> int:
    """Return how many pieces add on their way."""
    adds = np.array([one.adds for one in flow.movements])[find_parts(flow)]
    return int(np.count_nonzero(adds))


def list_shards(flow: Flow) -> tuple[int, ...] | None:
    """Return the given shard sizes of compute nodes, None where they are equal."""
    if flow.sizes is None or flow.free:
        return None
    computes = np.setdiff1d(np.arange(flow.nodes), list(flow.topology.switches))
    return tuple(flow.sizes[computes].tolist())


def find_parts(flow: Flow) -> IntArray:
    """Return the movement of every piece; 0 for pieces without sends."""
    part = np.zeros(len(flow.block), dtype=np.int64)
    part[flow.piece] = flow.part
    return part


def find_teams(flow: Flow) -> IntArray:
    """Return the group of every piece, by its owner or a member on its way."""
    team = flow.team
    own = team[flow.collective.owners(flow.block, flow.nodes)]
    found = np.full(len(flow.block), -1, dtype=np.int64)
    np.maximum.at(found, flow.piece, np.maximum(team[flow.src], team[flow.dst]))
    return np.where(own >= 0, own, np.maximum(found, 0))


def find_route_links(flow: Flow) -> tuple[IntArray, IntArray]:
    """Return the route of every hop, and its link number."""
    routes = routes_of(flow)
    route, first = ranges(routes.hop_start[:-1], routes.lengths)
    link = flow.topology.link_index(routes.hop[first], routes.hop[first + 1])
    missing = first[link < 0]
    if len(missing):
        source, target = routes.hop[missing[0]], routes.hop[missing[0] + 1]
        raise ScheduleError(f"a route goes from {source} to {target}, where there is no link")
    return route, link


def find_loads(flow: Flow, sends: NDArray[np.bool_] | None = None) -> IntArray:
    """Return the weight on every link, by movement or in total.

    Shape ``(movements, links)``.

    ``sends`` says which ones count. Of a folded flow it is that of all images, of which each link of an orbit carries
    the same.
    """
    routes = routes_of(flow)
    route, link = find_route_links(flow)
    send = routes.send[route]
    weight = routes.weight[route]
    if sends is not None:
        route, link, send, weight = (column[sends[send]] for column in (route, link, send, weight))
    part = np.zeros(len(send), dtype=np.int64) if flow.concurrent else flow.part[send].astype(np.int64)
    links = len(flow.topology.src)
    loads = np.zeros((1 if flow.concurrent else len(flow.movements), links), dtype=np.int64)
    np.add.at(loads, (part, link), weight)
    if flow.fold is None:
        return loads
    orbit = flow.fold.link_orbits(flow.topology)
    size, images = np.bincount(orbit, minlength=links)[orbit], count_images(flow)
    sums = np.zeros_like(loads)
    np.add.at(sums.T, orbit, loads.T)
    spread: IntArray = sums[:, orbit] * images.numerator // (size * images.denominator)
    return spread


def count_images(flow: Flow) -> Fraction:
    """Return the mean number of images per piece; 1 without a fold."""
    return Fraction(count_pieces(flow), max(1, len(flow.block)))


def count_pieces(flow: Flow) -> int:
    """Return the number of pieces, with their images."""
    if flow.fold is None:
        return len(flow.block)
    known = flow.fold.represented_by
    return sum(np.bincount(flow.block, minlength=flow.nodes)[known[known >= 0]].tolist())


def find_pace(flow: Flow) -> Fraction:
    """Return the time of unit weight at unit capacity.

    The fullest link, or limit, is full then.
    """
    if flow.rate is not None:
        return 1 / flow.rate
    loads: list[int] = find_loads(flow).sum(axis=0).tolist()
    times = [Fraction(*pair) for pair in zip(loads, flow.topology.capacity.tolist(), strict=True)]
    if isinstance(flow.place, Fabric):
        limits = zip(flow.place.shared, flow.place.shared_links, strict=True)
        times += [sum(loads[link] for link in links) * flow.place.unit / limit.bandwidth for limit, links in limits]
    return max(times, default=Fraction(0))


def find_unit_time(flow: Flow) -> Fraction:
    """Return the time of a unit of all data at capacity one.

    Movements follow one another unless concurrent.
    """
    pace = find_pace(flow)
    if flow.rate is None:
        return pace / flow.whole_units
    groups = max(1, sum(len(one) > 1 for one in flow.collective.groups or ()))
    times = len(flow.members) // groups if flow.one_shot else 1
    weights = [many for many in sum_weights(flow) if many]
    return sum((pace * times * groups / many for many in weights[: 1 if flow.concurrent else None]), Fraction(0))


def find_inverse_rate(flow: Flow) -> Fraction:
    """Return the time by bandwidth for unit shards, per unit of capacity.

    That is 1/x of ForestColl: N shards of M/N bytes take ``M/N * inverse_rate / unit`` seconds, where ``unit`` is the
    bytes per second of a link of capacity one. Broadcast and reduce have one shard, of M bytes.
    """
    return count_shards(flow) * find_unit_time(flow)


def count_shards(flow: Flow) -> Fraction:
    """Return the unit shards in the data of a group, or of all nodes."""
    if flow.sizes is None or flow.free:
        return Fraction(flow.collective.shards(len(flow.members)))
    return flow.whole_units / flow.units


def sum_weights(flow: Flow) -> list[Fraction]:
    """Return the weight of all pieces of each movement, with images."""
    weight = np.zeros(len(flow.movements), dtype=np.int64)
    np.add.at(weight, find_parts(flow), np.asarray(flow.weight))
    return [many * count_images(flow) for many in weight.tolist()]


def find_stores(flow: Flow, piece: IntArray, vertex: Column, teams: IntArray) -> NDArray[np.bool_]:
    """Return whether vertices store pieces, which counts as a send.

    Of trees members of the group do, on paths every node.
    """
    if flow.rate is not None:
        found: NDArray[np.bool_] = flow.team[vertex] == teams[piece]
        return found
    return ~np.isin(vertex, list(flow.topology.switches))


def find_heights(flow: Flow) -> IntArray:
    """Return the height of every piece: sends of nodes on its longest way."""
    nodes, piece = flow.nodes, flow.piece.astype(np.int64)
    adds = np.array([one.adds for one in flow.movements])[flow.part]
    near = np.where(adds, flow.dst, flow.src) + piece * nodes
    far = np.where(adds, flow.src, flow.dst) + piece * nodes
    sent = find_stores(flow, piece, flow.src, find_teams(flow)).astype(np.int64)
    depth = np.zeros(len(flow.block) * nodes, dtype=np.int64)
    for _ in range(nodes + 1):
        deeper = depth[near] + sent
        if np.array_equal(depth[far], deeper):
            heights: IntArray = depth.reshape(len(flow.block), -1).max(axis=1, initial=0)
            return heights
        depth[far] = deeper
    raise ScheduleError("the edges of a tree make a circle, or two of them lead to one node")


def find_height(flow: Flow) -> int:
    """Return the greatest height; of several movements the sum per group.

    If movements are concurrent only pieces of one block follow one another.
    """
    parts = len(flow.movements)
    highest = np.zeros((parts, len(flow.collective.single), flow.collective.block_count(flow.nodes)), dtype=np.int64)
    teams = find_teams(flow) if flow.rate is not None else np.zeros(len(flow.block), dtype=np.int64)
    np.maximum.at(highest, (find_parts(flow), teams, flow.block), find_heights(flow))
    return int((highest.sum(axis=0) if flow.concurrent else highest.max(axis=2).sum(axis=0)).max(initial=0))


def find_relays(flow: Flow) -> IntArray:
    """Return the switches that add or copy in pieces, ascending."""
    ends = (flow.src, flow.dst) if flow.rate is None else (flow.block, flow.src, flow.dst)
    return np.intersect1d(np.concatenate(ends), np.array(sorted(flow.topology.switches), dtype=np.int64))


def too_many_rows(rows: int) -> str | None:
    """Return why trees of so many rows cannot be unfolded, or None."""
    if rows > MAX_ROWS:
        return f"a plan has at most {MAX_ROWS}"
    needed, limit = rows * _PER_ROW, memory_limit()
    if needed <= limit:
        return None
    return (
        f"need about {format_size_rounded(needed)}; set {VARIABLE} to raise the limit of {format_size_rounded(limit)}"
    )


def sort_sends(flow: Flow) -> Flow:
    """Return a chunk flow sorted by movement, piece and start."""
    parts = find_parts(flow)
    number = np.argsort(np.argsort(parts, kind="stable"), kind="stable")  # of every piece, its new one
    order = np.lexsort((flow.start, number[flow.piece]))
    if np.array_equal(order, np.arange(len(flow))) and np.array_equal(number, np.arange(len(number))):
        return flow
    return take_sends(flow, np.argsort(number), order)


def take_sends(flow: Flow, pieces: IntArray, sends: IntArray, **changes: Any) -> Flow:
    """Return a chunk flow with selected pieces and sends, in this order."""
    routes, weight = routes_of(flow), flow.weight
    number = np.full(len(flow.block), -1, dtype=np.int64)
    number[pieces] = np.arange(len(pieces))
    first = np.searchsorted(routes.send, np.arange(len(flow) + 1))
    send, route = ranges(first[:-1][sends], np.diff(first)[sends])
    length = np.diff(routes.hop_start)[route]
    _, hops = ranges(routes.hop_start[:-1][route], length)
    ways = Routes(send, routes.weight[route], np.concatenate(([0], np.cumsum(length))), routes.hop[hops])
    columns: dict[str, Any] = {name: getattr(flow, name)[pieces] for name in PIECES}
    columns |= {name: getattr(flow, name)[sends] for name in SENDS}
    columns |= {"piece": number[flow.piece[sends]], "weight": None if weight is None else weight[pieces]}
    return replace(flow, **columns | {"routes": ways} | changes)


def unfold_pieces(flow: Flow) -> Flow:
    """Return all pieces of a folded flow, adding ones first and reversed.

    What moves of node v is that of its representative with every node x called p(x), where p takes the representative
    to v, as :meth:`~topodesign.topology.symmetry.Symmetry.images` says.
    """
    if flow.fold is None:
        return flow
    fold, flow = flow.fold, sort_sends(replace(flow, fold=None))
    routes = routes_of(flow)
    rows = max(len(flow), len(routes.hop)) * _count_images(fold, flow) // max(1, len(flow.block))
    if why := too_many_rows(rows):
        raise TooLargeError(f"this takes trees one by one, which have {rows} rows, and {why}; take fewer nodes")
    send = np.searchsorted(flow.piece, np.arange(len(flow.block) + 1))
    hop = routes.hop_start[np.searchsorted(routes.send, send)]
    adds = np.array([one.adds for one in flow.movements])[find_parts(flow)]
    images: list[tuple[bool, int, int, IntArray]] = []
    for at, root in enumerate(flow.block.tolist()):
        mine, over = slice(*send[at : at + 2]), slice(*hop[at : at + 2])
        nodes, those = fold.images(root, np.concatenate((flow.src[mine], flow.dst[mine], routes.hop[over])))
        keys = (-nodes if adds[at] else nodes).tolist()
        images += [(not adds[at], key, at, row) for key, row in zip(keys, those, strict=True)]
    images.sort(key=lambda image: image[:3])
    piece = np.array([at for _, _, at, _ in images], dtype=np.int64)
    of, sends = ranges(send[:-1][piece], np.diff(send)[piece])
    whole = take_sends(flow, piece, sends)
    size = np.diff(send)[piece].tolist()

    def joined(first: list[int], last: list[int]) -> IntArray:
        parts = [row[a:b] for (*_, row), a, b in zip(images, first, last, strict=True)]
        return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)

    twice = [2 * one for one in size]
    block = np.abs([key for _, key, _, _ in images]).astype(np.int64)
    src, dst = joined([0] * len(size), size), joined(size, twice)
    hops = joined(twice, [one + more for one, more in zip(twice, np.diff(hop)[piece].tolist(), strict=True)])
    ways = routes_of(whole)._replace(hop=hops)
    return replace(whole, block=block, piece=of, src=src, dst=dst, routes=ways)


def _count_images(fold: Symmetry, flow: Flow) -> int:
    return count_pieces(replace(flow, fold=fold))
