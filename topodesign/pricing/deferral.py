"""Deferred schedules: shortest paths, with shards sent when links have room.

An SPFF schedule hands every shard on at once, so that a step is as long as the fullest layer of any node is large, and
all others wait. Most nodes are ends of a shard's way, though: nobody gets the shard from them. Such a shard may come at
any later step, over any neighbour that has it, and only those that forward it are bound to their step. So there are as
many steps as in an SPFF schedule, and links are evenly full over all steps together: what a node takes over one link
comes near (N-1)/d shards wherever its neighbours can bring them, also where layers are not alike. On small topologies a
shard more over a link is much; there shards come in equal parts, each on its own ways, where that is better
(:mod:`topodesign.pricing.split_deferral` cuts them by the numbers of links).

What must be forwarded is chosen shard by shard, so that few nodes have to; which shards are taken at a step is a
maximum flow at every node. No other schedule is claimed to be worse. Where a known symmetry takes few nodes to all
others and leaves none where it is, as that of a Cayley graph, that is done for the shards of these few, and for what
these few take; all else is their image, and time and memory go with these few times all nodes.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.cost import Cost
from topodesign.base.errors import DisconnectedError, TooLargeError, TopologyError
from topodesign.base.progress import in_pieces, part
from topodesign.pricing.closed_form import fullest, layer_loads
from topodesign.pricing.deferral_kernels import CLASS_BITS, CLASSES, NOT_YET, choose_relays, deliver
from topodesign.pricing.node_order import node_order
from topodesign.pricing.relays import UnitLinks, iterate_balanced_relays
from topodesign.topology.automorphisms import find_free_symmetry
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology

MAX_NODES = 4096
"""Larger topologies would take too much memory, some twenty bytes for every two nodes, unless symmetry says most."""
MAX_WORK = 2**35  # steps times links times nodes that are looked at for one schedule; some minutes
_MAX_MOVED = 2**26  # links of the few that all are images of, times nodes: four bytes for each
_SEVERAL_WORK = 2**18  # links of the few times nodes up to which several choices of what must be forwarded are tried
_CHOICES = 4
_FEW_IMAGES = 16  # permutations of a symmetry up to which schedules without it are looked for, too
_MAX_UNNAMED = 48  # nodes up to which schedules are looked for that do not depend on how nodes are numbered
_ORDERS = 8  # of nodes, in which these are looked for by a symmetry
_PARTS = (1, 2, 4, 12, 12)  # in which shards are cut, each time with nodes in another order
_MAX_PARTS = 24
_PARTS_WORK = 2**21  # work of schedules up to which shards in parts are looked for, in so much together; half a second
_LAST_STEPS = 3  # in so many last steps, at most, shards are shared out for all of them together
_WORTH = 128  # the part of what a link must carry by which a schedule may carry more and be good enough
_MAX_LINKS = 63 - CLASS_BITS
_CORES = os.cpu_count() or 1
_WORK_PER_THREAD = 2**20  # links times shards below which a second thread does not pay
_WORK_PER_PIECE = 2**22  # links times shards that take about as long as a piece should
_Links = tuple[IntArray, IntArray, NDArray[np.int32], NDArray[np.int16]]
_Tried = tuple[int, int, NDArray[np.int16], NDArray[np.uint8]]
"""Shards over a link in all steps, the first step that defers, and for each receiver and shard step and link."""


class Moves(NamedTuple):
    """Receptions of nodes: steps, senders, receivers, shards, piece limits."""

    units: int  # parts of a shard that pieces are counted in
    step: IntArray
    sender: IntArray
    receiver: IntArray
    shard: IntArray
    start: IntArray
    stop: IntArray


@dataclass(frozen=True)
class Deferral:
    """A deferred allgather of whole shards, or of shards in equal parts.

    * ``receivers``: nodes r of which the rows are, ascending: all, or one of each orbit of the topology's symmetry,
      which is free; what all others get is the image of that.
    * ``time``, ``source``: arrays of shape ``(receivers, N * parts)``: the step at which node r gets each part of each
      shard, and from which neighbour; 0 and 0 for its own shard.
    """

    loads: tuple[Fraction, ...]  # shards that a unit of link capacity carries at most, step by step
    receivers: IntArray
    time: NDArray[np.int16]
    source: NDArray[np.int32]
    parts: int = 1  # how many a shard has

    @property
    def moves(self) -> Moves:
        """What the receivers get."""
        place, piece = np.nonzero(self.time)
        step, sender = self.time[place, piece].astype(np.int64), self.source[place, piece].astype(np.int64)
        shard, start = np.divmod(piece, self.parts)
        return Moves(self.parts, step, sender, self.receivers[place], shard, start, start + 1)

    def cost(self, topology: Topology) -> Cost:
        """Return steps and bandwidth factor on its topology."""
        return Cost(len(self.loads), Fraction(topology.degree, topology.nodes) * sum(self.loads))


def in_lowest_terms(topology: Topology) -> tuple[int, Topology]:
    """Return the common divisor of capacities, and the topology divided by it.

    Self-loops carry nothing and are omitted. What a schedule takes there it takes here with so many times the links.
    """
    useful = topology.src != topology.dst
    common = int(np.gcd.reduce(topology.capacity[useful])) or 1
    if common == 1 and useful.all():
        return 1, topology
    links = topology.src[useful], topology.dst[useful], topology.capacity[useful] // common
    some = Topology.from_arrays(topology.nodes, *links, symmetry=topology.symmetry, switches=topology.switches)
    return common, some


def count_receivers(topology: Topology) -> int:
    """Return the number of receivers that a deferred schedule is made for.

    All, or one of each orbit of a free symmetry.
    """
    few = free_representatives(topology)
    return topology.nodes if few is None else len(few)


def explain_no_deferral(topology: Topology, steps: int, most: int | None = None) -> str | None:
    """Return why a topology has no deferred schedule, or None.

    It may be too large or too wide for its diameter.

    ``most`` is how much work it may be, at most and by default :data:`MAX_WORK`.
    """
    _, topology = in_lowest_terms(topology)
    if topology.degree > _MAX_LINKS:
        return f"deferred schedules are for at most {_MAX_LINKS} links into a node, not {topology.degree}"
    receivers = count_receivers(topology)
    if receivers * topology.nodes > MAX_NODES**2:
        return f"deferred schedules are for at most {MAX_NODES} nodes, not {topology.nodes}, or for symmetric ones"
    work = steps * receivers * len(topology.src)
    if work > min(MAX_WORK, MAX_WORK if most is None else most) or steps >= NOT_YET // CLASSES:
        return f"a deferred schedule of {topology.nodes} nodes in {steps} steps takes too long to find"
    return None


def defer(
    topology: Topology,
    progress: Callable[[float], None] | None = None,
    *,
    by_orbits: bool = False,
    most: int | None = None,
) -> Deferral:
    """Return the best deferred allgather that was found.

    Tried is deferring in the later half of the steps, then in more or fewer while that helps; and in the last two or
    three with who must forward chosen for all shards together. Of topologies that a symmetry leaves nearly as many
    different nodes as there are, schedules without it are tried as well. What is found of up to 48 nodes depends on the
    links alone, not on how nodes are numbered or on the symmetry that is known.

    * ``topology``: strongly connected, without switches.
    * ``progress``: called with the share of what is to be tried at most.
    * ``by_orbits``: take only what is found with the known symmetry.
    * ``most``: how much work looking without that symmetry may be, as of :func:`explain_no_deferral`.
    """
    common, topology = in_lowest_terms(topology)
    layers = layer_loads(topology.transpose())
    if (why := explain_no_deferral(topology, len(layers))) is not None:
        raise (TopologyError if topology.degree > _MAX_LINKS else TooLargeError)(why)
    few = _images(topology)
    bare = Topology.from_arrays(topology.nodes, topology.src, topology.dst, topology.capacity)
    alone = few is not None and (
        by_orbits or len(few.taken) > _FEW_IMAGES or explain_no_deferral(bare, len(layers), most) is not None
    )
    if topology.nodes <= _MAX_UNNAMED and not by_orbits:
        best = _found_unnamed(bare, layers, progress)
    elif few is None:
        best = _best_of_parts(_search_parts(bare, layers, None, progress), bare, layers, None)
    else:
        whole = _search_parts(topology, layers, few, progress if alone else part(progress, 0, 1 / 4))
        best = _best_of_parts(whole, topology, layers, few)
        if not alone and _worth_more(_sum_loads(whole), ceil(_least(topology))):
            found = _search_parts(bare, layers, None, part(progress, 1 / 4, 1))
            best = min(best, _best_of_parts(found, bare, layers, None), key=_sum_loads)
    return best if common == 1 else replace(best, loads=tuple(load / common for load in best.loads))


def _sum_loads(found: Deferral) -> Fraction:
    """Return what a link carries in all steps."""
    return sum(found.loads, Fraction(0))


def _best_of_parts(best: Deferral, topology: Topology, layers: list[Fraction], few: _Images | None) -> Deferral:
    """Return the best schedule of whole shards or of shards in parts.

    Parts are tried where they are soon found.

    Those without a symmetry are looked for in an order of nodes that does not depend on labels, so that what is found
    hardly does either.
    """
    least = _least(topology)
    work = len(layers) * len(best.receivers) * int(topology.capacity.sum())
    left, order = _PARTS_WORK - work, None
    for parts in _several_parts(topology, least):
        left -= work * parts
        if left < 0 or not _worth_more(_sum_loads(best), least):
            break
        if few is not None:
            best = min(best, _search_parts(topology, layers, few, None, parts), key=_sum_loads)
            continue
        order = node_order(topology) if order is None else order
        best = min(best, _search_in_order(order, topology, layers, parts), key=_sum_loads)
        order = order[np.random.default_rng(parts).permutation(len(order))]
    return best


def _several_parts(topology: Topology, least: Fraction) -> list[int]:
    """Return the numbers of parts to try."""
    natural = lcm(least.denominator, *np.unique(topology.capacity).tolist())
    return sorted([*_PARTS, natural] if natural <= _MAX_PARTS else _PARTS)


def _search_in_order(order: IntArray, topology: Topology, layers: list[Fraction], parts: int) -> Deferral:
    """Return the best schedule without symmetry, in a fixed order of nodes."""
    return _in_order_of(_search_parts(_ordered(topology, order), layers, None, None, parts), np.argsort(order))


def _ordered(topology: Topology, order: IntArray) -> Topology:
    """Return the topology with its nodes in another order, without a symmetry."""
    place = np.argsort(order)
    return Topology.from_arrays(topology.nodes, place[topology.src], place[topology.dst], topology.capacity)


def _in_order_of(found: Deferral, place: IntArray) -> Deferral:
    """Return a schedule of all nodes with each node where ``place`` has it."""
    columns = (place[:, None] * found.parts + np.arange(found.parts)).ravel()
    time, source = found.time[place][:, columns], found.source[place][:, columns]
    return replace(found, time=time, source=np.where(time > 0, np.argsort(place)[source], 0).astype(np.int32))


def _found_unnamed(topology: Topology, layers: list[Fraction], progress: Callable[[float], None] | None) -> Deferral:
    """Return the best schedule by the links alone, in whatever order nodes are numbered.

    Nodes are looked at in a canonical order, each for itself, and in orders made of it by a symmetry that is found.
    """
    first = _ordered(topology, order := node_order(topology))
    best = _in_order_of(
        _best_of_parts(_search_parts(first, layers, None, progress), first, layers, None), np.argsort(order)
    )
    symmetry, rng = find_free_symmetry(first), np.random.default_rng(0)
    for _ in range(_ORDERS):
        if symmetry is None or _sum_loads(best) <= _least(topology):
            break
        some = _ordered(topology, order)
        alike = Topology.from_arrays(some.nodes, some.src, some.dst, some.capacity, symmetry=symmetry)
        if (few := _images(alike)) is None:
            break
        found = _best_of_parts(_search_parts(alike, layers, few, None), alike, layers, few)
        if _sum_loads(found) < _sum_loads(best):
            best = _in_order_of(_of_all(found, few), np.argsort(order))
        turn = rng.permutation(topology.nodes)
        order, symmetry = order[turn], symmetry.renumbered(np.argsort(turn))
    return best


def _of_all(found: Deferral, few: _Images) -> Deferral:
    """Return a schedule of representatives for all nodes, which are their images."""
    nodes, parts = few.symmetry.nodes, found.parts
    time, source = (np.zeros((nodes, nodes * parts), rows.dtype) for rows in (found.time, found.source))
    for row, root in enumerate(found.receivers.tolist()):
        for node, permutation in few.symmetry.transversals(root):
            columns = (permutation[:, None].astype(np.int64) * parts + np.arange(parts)).ravel()
            time[node, columns] = found.time[row]
            source[node, columns] = np.where(found.time[row] > 0, permutation[found.source[row]], 0)
    return replace(found, receivers=np.arange(nodes), time=time, source=source)


def _least(topology: Topology) -> Fraction:
    """Return a lower bound on shards over some link, for any schedule."""
    useful = topology.src != topology.dst
    ports = np.bincount(topology.dst[useful], topology.capacity[useful], topology.nodes)
    return Fraction(topology.nodes - 1, int(ports.min()))


def _worth_more(total: int | Fraction, least: int | Fraction) -> bool:
    """Return whether the load is far enough above the bound to go on."""
    return (total - least) * _WORTH > least


def _search_parts(
    topology: Topology,
    layers: list[Fraction],
    few: _Images | None,
    progress: Callable[[float], None] | None,
    parts: int = 1,
) -> Deferral:
    """Return the best schedule with or without symmetry, in some parts."""
    nodes, steps, least = topology.nodes, len(layers), ceil(_least(topology) * parts)
    rooms = [ceil(load * parts) for load in layers]
    into, every = _single_links(topology.transpose()), np.arange(nodes)
    receivers, orbit = (every, every) if few is None else (few.roots, few.orbit)
    if few is None:
        first, other, moved = *into, np.empty((0, 0), np.int32)
    else:
        count = into[0][few.roots + 1] - into[0][few.roots]
        first = np.append(0, np.cumsum(count))
        other = into[1][np.repeat(into[0][few.roots] - first[:-1], count) + np.arange(first[-1])]
        other, moved = few.orbit[other], _in_parts(few.move(other), parts)
    found: list[tuple[_Tried, _Search]] = []
    choices = 1 if few is None or len(other) * nodes * parts > _SEVERAL_WORK else _CHOICES
    ahead = progress if few is not None else part(progress, 0, 1 / _LAST_STEPS)
    for choice in range(choices):
        by_shard = np.empty((len(receivers) * parts, nodes), np.int16)
        forwards = np.zeros((len(receivers), steps + 1), np.int32)
        links = *_shuffle_links((topology.indptr, topology.dst), choice), *_shuffle_links(into, choice)
        if choose_relays(np.repeat(receivers, parts), *links, orbit, by_shard, forwards) < 0:
            raise DisconnectedError("some nodes do not reach each other")
        code = np.ascontiguousarray(by_shard.T) if few is None else few.turn(by_shard, parts)
        search = _Search((first, other, moved, code), rooms, part(ahead, choice / choices, (choice + 1) / choices))
        found.append((search.best(least), search))
        if _total(found[-1]) <= least or (choice and _total(found[-1]) >= _total(found[-2])):
            break
    best = min(found, key=_total)
    if few is None:
        unit = UnitLinks(*into, *_single_links(topology))
        for last in range(2, min(_LAST_STEPS, steps) + 1):
            if not _worth_more(_total(best), least):
                break
            room = max(1, least - sum(rooms[:-last]))
            ahead = part(progress, (last - 1) / _LAST_STEPS, last / _LAST_STEPS)
            for chosen in iterate_balanced_relays(by_shard, unit, steps, last, room, progress=ahead):
                search = _Search((first, other, moved, np.ascontiguousarray(chosen.T)), rooms, None)
                best = min(best, (search.last(last), search), key=_total)
    tried, search = best
    _, _, time, link = search.fill(tried)
    return _count_loads(topology, receivers, first, time, link)


def _in_parts(names: NDArray[np.int32], parts: int) -> NDArray[np.int32]:
    """Return the numbers of parts of shards."""
    return np.repeat(names * np.int32(parts), parts, axis=1) + np.tile(np.arange(parts, dtype=np.int32), names.shape[1])


def _total(found: tuple[_Tried, _Search]) -> int:
    return found[0][0]


def _shuffle_links(links: tuple[IntArray, IntArray], choice: int) -> tuple[IntArray, IntArray]:
    """Return link orders, the first as given, the others shuffled."""
    first, other = links
    if choice == 0:
        return first, other.copy()  # writable as the others are, so that one machine code is for all
    chance = np.random.default_rng(choice).random(len(other))
    return first, other[np.lexsort((chance, np.repeat(np.arange(len(first) - 1), np.diff(first))))]


@dataclass(frozen=True)
class _Images:
    """A group of automorphisms that acts freely on nodes.

    * ``taken``: where each permutation takes the representatives, shape ``(order, R)``; the first is the identity.
    """

    symmetry: Symmetry  # of the topology
    roots: IntArray  # the representatives, ascending, shape ``(R,)``
    orbit: IntArray  # whose image each node is, as a place in ``roots``
    taken: NDArray[np.int32]
    back: NDArray[np.int32]  # where its inverse does

    def move(self, nodes: IntArray) -> NDArray[np.int32]:
        """Return the numbers of nodes seen from other representatives."""
        names = np.empty((len(nodes), self.symmetry.nodes), np.int32)
        for row, node in zip(names, nodes.tolist(), strict=True):
            row[self.symmetry.transversal(node)] = np.arange(len(row))
        return names

    def turn(self, by_shard: NDArray[np.int16], parts: int) -> NDArray[np.int16]:
        """Return values for each node from those of representatives, by part."""
        turned = np.empty((len(self.roots), by_shard.shape[1], parts), by_shard.dtype)
        for root, which in itertools.product(range(len(self.roots)), range(parts)):
            # What the representatives are to where an inverse takes this one, their images are to this one.
            turned[root, self.taken, which] = by_shard[which::parts, self.back[:, root]].T
        return turned.reshape(len(turned), -1)


def free_representatives(topology: Topology) -> IntArray | None:
    """Return representatives of a free symmetry, ascending.

    If there is one and they are few.
    """
    symmetry = topology.symmetry
    if symmetry is None or not symmetry.is_free:
        return None
    roots = np.unique(symmetry.represented_by)
    few = len(roots) < topology.nodes and len(roots) * len(topology.src) <= _MAX_MOVED
    return roots if few else None


def _images(topology: Topology) -> _Images | None:
    """Return the known symmetry if it is free and has few representatives."""
    symmetry, roots = topology.symmetry, free_representatives(topology)
    if symmetry is None or roots is None:
        return None
    orbit = np.searchsorted(roots, symmetry.represented_by)
    start = int(roots[0])
    # Each permutation is called by where it takes the first node; gone[v, a] is v's after letter a instead of before.
    letters = np.concatenate((symmetry.generators, symmetry.inverses))
    inverses = np.concatenate((symmetry.inverses, symmetry.generators))
    names, images = symmetry.images(start, np.concatenate((roots, letters[:, start].astype(np.int64))))
    row = np.full(topology.nodes, -1)
    row[names] = np.arange(len(names))
    taken, gone = images[:, : len(roots)], images[:, len(roots) :]
    inverse = np.full(topology.nodes, -1)
    inverse[start] = start
    front = np.array([start])
    while len(front):
        ahead = []
        for letter in range(len(letters)):
            there = gone[row[front], letter].astype(np.int64)
            new = inverse[there] < 0
            inverse[there[new]] = inverses[letter][inverse[front[new]]]
            ahead.append(np.unique(there[new]))
        front = np.concatenate(ahead)
    return _Images(symmetry, roots, orbit, taken, taken[row[inverse[names]]])


class _Search:
    """Deferring from one step on or another.

    * ``links``: the arrays ``first``, ``other``, ``moved`` and ``code`` of :mod:`topodesign.pricing.deferral_kernels`.
    * ``rooms``: parts of shards that a unit of link capacity carries at each step if nothing is deferred.
    * ``progress``: called with the share of what is to be tried at most.
    """

    def __init__(self, links: _Links, rooms: list[int], progress: Callable[[float], None] | None) -> None:
        _, other, _, code = self._links = links
        self._distance = code // CLASSES
        self._rooms = rooms
        self._work = max(1, len(other) // len(code)) * code.shape[1]
        self._workers = min(_CORES, 1 + len(code) * self._work // _WORK_PER_THREAD)
        self._progress, self._share = progress, 0.0

    def last(self, count: int) -> _Tried:
        """Return the schedule that defers in so many last steps."""
        return self._try_last(count - 1)

    def best(self, least: int) -> _Tried:
        """Return the best tried schedule; none can carry less than the least."""
        steps = len(self._rooms)
        middle = max(1, steps // 2)
        best = self._try_last(middle)
        for way in (1, -1):
            back = middle + way
            while 1 <= back < steps and best[0] > least:
                other = self._try_last(back)
                if other[0] >= best[0]:
                    break
                best, back = other, back + way
            if back > middle + 1:
                break
        return best

    def fill(self, tried: _Tried) -> _Tried:
        """Return a schedule of the links before deferral starts.

        All have room for these.
        """
        _, start, time, link = tried
        for step in range(1, start):
            self._deliver(time, link, step, self._rooms[step - 1], take=True)
        return tried

    def _try_last(self, back: int) -> _Tried:
        """Return the schedule that defers in the last step and some before it."""
        steps = len(self._rooms)
        if self._progress is not None:
            self._share = max(self._share, min(1.0, back / steps))
            self._progress(self._share)
        start = max(1, steps - back)
        time = np.where(self._distance < start, self._distance, np.int16(NOT_YET))
        link = np.zeros(time.shape, np.uint8)
        total = sum(self._rooms[: start - 1])
        for step in range(start, steps):
            room = self._deliver(time, link, step, 0, take=False)
            total += self._deliver(time, link, step, room, take=True)
        return total + self._deliver(time, link, steps, 0, take=True), start, time, link

    def _deliver(self, time: NDArray[np.int16], link: NDArray[np.uint8], step: int, room: int, *, take: bool) -> int:
        """Run the kernel of this name for all receivers."""
        rooms = [room] * self._workers
        last = step == len(self._rooms)

        def some(worker: int, begin: int, end: int) -> None:
            rooms[worker] = deliver(begin, end, *self._links, time, link, step, last, rooms[worker], take)

        first = max(1, min(_WORK_PER_PIECE // self._work, -(-len(time) // self._workers)))
        in_pieces(len(time), some, first=first, workers=self._workers)
        return max(rooms)


def _count_loads(
    topology: Topology, receivers: IntArray, first: IntArray, time: NDArray[np.int16], link: NDArray[np.uint8]
) -> Deferral:
    """Return the schedule with senders and loads, counted by link."""
    order = np.lexsort((topology.src, topology.dst))
    order = order[(topology.src[order] != topology.dst[order]) & np.isin(topology.dst[order], receivers)]
    capacity = topology.capacity[order]
    pair = np.repeat(np.arange(len(order)), capacity)  # of each single link, of which one pair of nodes has several
    came = time > 0
    over = pair[(first[:-1, None] + link)[came]]
    source = np.zeros(time.shape, np.int32)
    source[came] = topology.src[order][over]
    steps = int(time.max(initial=0))
    counts = np.bincount((time[came].astype(np.int64) - 1) * len(order) + over, minlength=steps * len(order)).reshape(
        steps, -1
    )
    parts = time.shape[1] // topology.nodes
    return Deferral(tuple(fullest(row, capacity) / parts for row in counts), receivers, time, source, parts)


def _single_links(topology: Topology) -> tuple[IntArray, IntArray]:
    """Return unit links out of each node without self-loops: starts and ends."""
    useful = topology.src != topology.dst
    source, target, capacity = topology.src[useful], topology.dst[useful], topology.capacity[useful]
    first = np.searchsorted(np.repeat(source, capacity), np.arange(topology.nodes + 1))
    return first.astype(np.int64), np.repeat(target, capacity)
