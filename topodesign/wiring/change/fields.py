"""Hosts and panel groups that keep many patches.

A patch stays if a link between its hosts is on its field of panels. Given the hosts of the nodes, fields are found
from the patches that could stay, from a split that is made anew, or from those of a plan that is wanted, whichever is
best after alternating paths have been turned round (:mod:`topodesign.wiring.change.field_kernels`). Hosts with as many
lanes on each field can be exchanged without any link leaving its field, and so both are improved together.

Few nodes have few orders: those that would keep more if fields did not matter are gone through, and for each all fields
of the links.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.change import field_kernels as kernels
from topodesign.wiring.plan.decompose import choose_lanes, split, without_loops

MAX_EXHAUSTED = 8  # hosts up to which all their orders are gone through

_EFFORT = 2**31  # of the search through fields over all orders: branches times links times fields
_LITTLE = 2**26  # with the hosts as they are
_NEAR = 4  # more patches that could stay up to which it is begun for many hosts: it seldom ends where more could
_FIRST = 2**15  # before machine code is made for it
_WARMTHS = 16, 6, 16, 3, 8, 4, 8, 3, 8, 4  # what is accepted at first, by the share that it is of all
_PROPOSALS = 2**19  # of a walk
_WALKED = 3 * _PROPOSALS  # of all walks
_TURNS = 2, 8  # the same where fields alone change, which takes more loss to get anywhere
_TURNED = 2**25  # proposals that change fields alone, times hosts
_FEWER = 4  # links for each patch that could stay from which on there are the fewer proposals the more
_A_LINK = 2**11  # proposals for each link at most
_WIDE = 2**10  # hosts from which on there are the fewer proposals the more hosts, by the square: paths grow with them
_AROUND = 2**14  # links times fields up to which the fields of others are sought around all patches that can stay
_FEW = 1 / 3  # of the links may be sought so: where more have to move, there are seldom such fields
_SECONDS = 10.0  # for that
_SPREADS = 64  # starts from which nodes are placed one by one; fewer for more nodes than the root of
_CELLS = 2**24
_PATHS = 2**23  # links to place, times hosts, up to which fields are found from the patches although others are known


class Placement(NamedTuple):
    """Hosts, panel groups and number of kept patches.

    ``place`` also has the hosts that are no nodes, at the end.
    """

    place: tuple[int, ...]
    field: IntArray
    kept: int


class Problem:
    """Existing wiring, and the links wanted.

    ``hosts`` are given by number, ``room[h, side, f]`` is the number of links that host h can have on field f, and
    ``patches`` are the first host, the second and the field of each patch. A duplex wiring has one side, a simplex
    one two.
    """

    def __init__(self, wanted: Topology, room: IntArray, patches: Sequence[tuple[int, int, int]]) -> None:
        self.wanted, self.room = without_loops(wanted), room
        hosts, sides, fields = room.shape
        self.duplex = sides == 1
        src, dst = (np.repeat(ends, self.wanted.capacity) for ends in (self.wanted.src, self.wanted.dst))
        if self.duplex:
            src, dst = src[src < dst], dst[src < dst]
        self.nodes = np.stack((src, dst), axis=1).astype(np.int64)
        self.index = np.full((hosts, hosts), -1, dtype=np.int32)
        rows: list[list[int]] = []
        for a, b, field in patches:
            if self.index[a, b] < 0:
                self.index[a, b] = len(rows)
                if self.duplex:
                    self.index[b, a] = len(rows)
                rows.append([0] * fields)
            rows[self.index[a, b]][field] += 1
        self.have = np.array(rows, dtype=np.int64).reshape(-1, fields)
        self.patches = patches
        kinds: dict[bytes, int] = {}
        self.kind = np.array([kinds.setdefault(row.tobytes(), len(kinds)) for row in room], dtype=np.int64)
        same = np.all(self.nodes[1:] == self.nodes[:-1], axis=1)
        # for each link the one before it if that is between the same nodes, else -1
        self.twin = np.concatenate(([-1], np.where(same, np.arange(len(same)), -1)))[: len(self.nodes)]

    def could_keep(self, place: Sequence[int]) -> int:
        """Return the number of patches that could stay, ignoring panel groups."""
        pair, count = np.unique(self._pairs(place), return_counts=True)
        there = pair >= 0
        return int(np.minimum(self.have[pair[there]].sum(axis=1), count[there]).sum())

    def count_needed(self) -> IntArray:
        """Return the number of lanes that each node needs."""
        needed = np.zeros((self.wanted.nodes, self.room.shape[1]), dtype=np.int64)
        for side, end in enumerate(self.nodes.T):
            np.add.at(needed, (end, side % self.room.shape[1]), 1)
        most: IntArray = needed.max(axis=1)
        return most

    def fields_of(self, links: Iterable[tuple[int, int, int]]) -> IntArray | None:
        """Return the panel group of each link, or None.

        ``links`` are rows of two nodes and a panel group. None if these are not the links of the problem.
        """
        waiting: dict[tuple[int, int], list[int]] = defaultdict(list)
        for u, v, number in links:
            waiting[(min(u, v), max(u, v)) if self.duplex else (u, v)].append(number)
        if {pair: len(some) for pair, some in waiting.items()} != Counter(map(tuple, self.nodes.tolist())):
            return None
        return np.array([waiting[u, v].pop() for u, v in self.nodes.tolist()], dtype=np.int64)

    def place_groups(
        self, place: Sequence[int], *, seed: int, given: Sequence[IntArray] = (), first: Sequence[int] = ()
    ) -> Placement | None:
        """Return panel groups that keep many patches, or None.

        ``given`` are fields that may do; ``first`` numbers the patches in the order in which they are to stay.
        """
        most = self.could_keep(place)
        starts: list[IntArray] = []
        if (len(self.nodes) - most) * len(self.room) > _PATHS:
            starts = self._list_fitting(place, given, seed)
        found = None if starts else self._from_patches(place, seed, first or range(len(self.patches)))
        if found is not None and found.kept == most:
            return found
        options = [found] if found is not None else []
        starts = starts or self._list_fitting(place, given, seed)
        for field in [*([] if found is None else [found.field]), *starts]:
            options.append(self._turn_groups(place, field, seed))
            if options[-1].kept == most:
                return options[-1]
        return max(options, key=lambda one: one.kept, default=None)

    def improve(self, found: Placement, most: int, *, seed: int) -> Placement:
        """Improve hosts and panel groups jointly.

        ``most`` is the limit of kept patches.
        """
        proposals = self._proposals(_PROPOSALS)
        walks = _WALKED // max(proposals, 1)
        best, place = found, self._spread_hosts(found, seed)
        if self._state(place, found.field).kept[0] < found.kept:
            place = found.place
        for attempt, warmth in enumerate(kernels.ONE // one for one in _WARMTHS[:walks]):
            if best.kept == most:
                break
            other = self._walk(
                place, best.field, proposals, warmth=warmth, seed=seed + attempt, swaps=True, enough=most
            )
            best = max(best, other, key=lambda one: one.kept)
            place = best.place
        return best

    def _spread_hosts(self, found: Placement, seed: int) -> tuple[int, ...]:
        """Return other hosts, with many links on patches."""
        hosts = len(self.room)

        def ends(links: IntArray) -> kernels.LabelledLinks:
            one, other, field = links.reshape(-1, 3).T
            way = 2 * field + (not self.duplex)
            both = [np.column_stack((one, other, 2 * field)), np.column_stack((other, one, way))]
            return label_links(hosts, np.concatenate(both))

        have = ends(np.array(self.patches, dtype=np.int64))
        want = ends(np.column_stack((self.nodes, found.field)))
        return spread_hosts(have, want, self.kind, found.place, seed=seed)

    def search_all(self, found: Placement, *, swaps: bool) -> tuple[Placement, bool]:
        """Search all panel groups, and with ``swaps`` all orders.

        Returns the best, and whether the search was complete.

        The search ends undecided where it takes too long; what it found by then is returned.
        """
        many = len(self.room) > MAX_EXHAUSTED
        if many and (swaps or self.could_keep(found.place) > found.kept + _NEAR):
            return found, False
        places = self._orders(found.kept) if swaps else [(self.could_keep(found.place), found.place)]
        a_branch = max(len(self.nodes) * self.room.shape[2], 1)
        left = (_EFFORT if swaps else _LITTLE) // a_branch
        for most, place in places:
            if most <= found.kept:
                break
            if left < len(self.nodes):  # too few to give each link a field
                return found, False
            best = np.empty(len(self.nodes), dtype=np.int64)
            kept, branches = 0, np.array([-1])
            limit = 0
            for tried in (min(_FIRST // a_branch, left), left):
                if branches[0] < 0 and tried:
                    branches[0] = limit = tried
                    kept = kernels.search(self._state(place, None), self.twin, found.kept, branches, best)
            if kept > found.kept:
                found = Placement(place, best, kept)
            if branches[0] < 0:
                return found, False
            left -= limit - int(branches[0])
        return found, True

    def _orders(self, least: int) -> list[tuple[int, tuple[int, ...]]]:
        """Return promising host orders, best first."""
        hosts, nodes = len(self.room), self.wanted.nodes
        orders = np.array(list(itertools.permutations(range(hosts), nodes)), dtype=np.int64).reshape(-1, nodes)
        tables = np.zeros((len(orders), hosts, hosts), dtype=np.int8)
        row = np.arange(len(orders))
        for u, v in self.nodes.tolist():
            one, two = orders[:, u], orders[:, v]
            if self.duplex:
                one, two = np.minimum(one, two), np.maximum(one, two)
            tables[row, one, two] += 1
        have = np.zeros((hosts, hosts), dtype=np.int64)
        for a, b, _ in self.patches:
            have[(min(a, b), max(a, b)) if self.duplex else (a, b)] += 1
        most = np.minimum(tables, have[None]).sum(axis=(1, 2))
        good = np.flatnonzero(most > least)
        _, first = np.unique(tables[good].reshape(len(good), hosts * hosts), axis=0, return_index=True)
        good = good[first]
        good = good[np.argsort(-most[good], kind="stable")]
        rest = [tuple(sorted(set(range(hosts)) - set(order))) for order in orders[good].tolist()]
        return [(int(most[g]), (*orders[g].tolist(), *spare)) for g, spare in zip(good, rest, strict=True)]

    def _pairs(self, place: Sequence[int]) -> IntArray:
        where = np.asarray(place, dtype=np.int64)
        return self.index[where[self.nodes[:, 0]], where[self.nodes[:, 1]]].astype(np.int64)

    def _rooms(self, place: Sequence[int]) -> IntArray:
        """Return link capacities by key, ``n * sides + side``."""
        return self.room[np.asarray(place, dtype=np.int64)].reshape(-1, self.room.shape[2])

    def _keys(self) -> IntArray:
        return self.nodes if self.duplex else 2 * self.nodes + np.array([0, 1])

    def _state(self, place: Sequence[int], field: IntArray | None) -> kernels.Fields:
        """Return the state for given panel groups."""
        room = self._rooms(place).copy()
        links = len(self.nodes)
        at = np.zeros((*room.shape, int(room.max(initial=0)) + 2), dtype=np.int64)
        now, kept = np.zeros_like(self.have), np.zeros(1, dtype=np.int64)
        nowhere = np.full(links, -1, dtype=np.int64)
        state = kernels.Fields(
            self._keys(), self._pairs(place), self.have, now, nowhere, room, at, np.zeros_like(room), kept
        )
        if field is not None:
            kernels.put_all(state, field)
        return state

    def _fits(self, place: Sequence[int], field: IntArray) -> bool:
        room = self._rooms(place)
        used = np.zeros_like(room)
        for end in self._keys().T:
            np.add.at(used, (end, field), 1)
        return bool(np.all(used <= room))

    def _from_patches(self, place: Sequence[int], seed: int, first: Sequence[int]) -> Placement | None:
        """Return panel groups starting from kept patches, or None."""
        waiting: dict[int, list[int]] = defaultdict(list)
        for link, pair in reversed(list(enumerate(self._pairs(place).tolist()))):
            waiting[pair].append(link)
        field = np.full(len(self.nodes), -1, dtype=np.int64)
        for number in first:
            a, b, there = self.patches[number]
            links = waiting[int(self.index[a, b])]
            if links:
                field[links.pop()] = there
        state = self._state(place, self._around(place, field, seed))
        if kernels.place_all(state, np.array([2 * seed + 1], dtype=np.uint64)) >= 0:
            return None
        return Placement(tuple(place), state.field, int(state.kept[0]))

    def _around(self, place: Sequence[int], field: IntArray, seed: int) -> IntArray:
        """Return panel groups that also place unplaced links.

        Where nodes were inserted into links there are such fields, with little choice, which chains of moves miss.
        """
        left = np.flatnonzero(field < 0)
        ends, fields = self._keys()[left], self.room.shape[2]
        if not len(left) or len(left) > _FEW * len(field) or len(left) * fields > _AROUND:
            return field
        room = self._rooms(place).copy()
        for end in self._keys()[field >= 0].T:
            np.subtract.at(room, (end, field[field >= 0]), 1)
        open_ = np.all(room[ends] > 0, axis=1)
        if not np.all(open_.any(axis=1)):
            return field
        link, at = np.nonzero(open_)
        spots = ends[link] * fields + at[:, None]  # of both ends, which share one only in a link to itself
        one = np.ones(len(left), dtype=np.int64)
        chosen = choose_lanes(one, link, spots, room.ravel(), seconds=_SECONDS, seed=seed).values
        if chosen is None:
            return field
        found = field.copy()
        found[left[link[chosen > 0]]] = at[chosen > 0]
        return found

    def _list_fitting(self, place: Sequence[int], given: Sequence[IntArray], seed: int) -> list[IntArray]:
        """Return the given panel groups that fit, or new ones."""
        return [field for field in given if self._fits(place, field)] or self._split(place, seed)

    def _split(self, place: Sequence[int], seed: int) -> list[IntArray]:
        """Return new panel groups, if any are found."""
        lanes = self.room[np.asarray(place[: self.wanted.nodes]), 0]
        try:
            src, dst, part = split(self.wanted, lanes, duplex=self.duplex, seed=seed)
        except InfeasibleError:
            return []
        field = self.fields_of(zip(src.tolist(), dst.tolist(), part.tolist(), strict=True))
        return [] if field is None else [field]

    def _turn_groups(self, place: Sequence[int], field: IntArray, seed: int) -> Placement:
        most = self.could_keep(place)
        proposals = _TURNED // max(len(self.room), 2**8)
        proposals = min(proposals, proposals * _FEWER * most // max(len(self.nodes), 1))
        proposals = self._proposals(proposals)
        best = self._walk(place, field, 0, warmth=0, seed=seed, swaps=False, enough=most)
        for warmth in (kernels.ONE // one for one in _TURNS):
            other = self._walk(place, best.field, proposals, warmth=warmth, seed=seed, swaps=False, enough=most)
            best = max(best, other, key=lambda one: one.kept)
        return best

    def _proposals(self, most: int) -> int:
        hosts = max(len(self.room), _WIDE)
        return min(most * _WIDE**2 // hosts**2, _A_LINK * len(self.nodes))

    def _walk(
        self,
        place: Sequence[int],
        field: IntArray,
        proposals: int,
        *,
        warmth: int,
        seed: int,
        swaps: bool,
        enough: int,
    ) -> Placement:
        """Exchange hosts and panel groups by annealing.

        A proposal that loses k patches is accepted with probability ``(q / kernels.ONE) ** k``, q falling from
        ``warmth`` to 0.
        """
        state = self._state(place, field)
        nodes = len(self.room)
        ends = self.nodes.ravel() if swaps else np.zeros(0, dtype=np.int64)
        one, other, there = np.array(self.patches, dtype=np.int64).reshape(-1, 3).T
        _, sides, fields = self.room.shape
        spot = np.concatenate((one * sides * fields, (other * sides + sides - 1) * fields)) + np.tile(there, 2)
        sizes = (ends, nodes), (spot, self.room.size)
        first, start = (np.cumsum([0, *np.bincount(rows, minlength=size)], dtype=np.int64) for rows, size in sizes)
        places = kernels.Places(
            np.array(place, dtype=np.int64),
            self.index,
            self.kind,
            first,
            np.argsort(ends, kind="stable") // 2,
            start,
            np.concatenate((other, one))[np.argsort(spot, kind="stable")],
            self.nodes,
        )
        best = np.empty(len(self.nodes), dtype=np.int64), np.empty(nodes, dtype=np.int64)
        random = np.array([2 * seed + 1], dtype=np.uint64)
        kept = kernels.improve(state, places, proposals, swaps, warmth, random, best, enough)
        return Placement(tuple(best[1].tolist()), best[0], int(kept))


def label_links(nodes: int, links: IntArray) -> kernels.LabelledLinks:
    """Return links by end, from rows of labelled links.

    Rows are a node, the other end and a label; every link is listed from both ends.
    """
    rows, count = np.unique(links.reshape(-1, 3), axis=0, return_counts=True)
    return kernels.LabelledLinks(
        np.searchsorted(rows[:, 0], np.arange(nodes + 1)), rows[:, 1].copy(), rows[:, 2].copy(), count
    )


def spread_hosts(
    have: kernels.LabelledLinks, want: kernels.LabelledLinks, kind: IntArray, place: Sequence[int], *, seed: int
) -> tuple[int, ...]:
    """Return hosts with many links between linked hosts.

    Each node gets a host of the same kind as before.

    Nodes are placed one after another, beside those that they have links to, from several first ones.
    """
    rng = np.random.default_rng(seed)
    random = rng.integers(1, 2**63, size=1, dtype=np.uint64)
    best, most = tuple(place), -1
    for _ in range(max(min(_SPREADS, _CELLS // len(place) ** 2), 1)):
        node = int(rng.integers(len(place)))
        host = int(rng.choice(np.flatnonzero(kind == kind[place[node]])))
        other = np.array(place, dtype=np.int64)
        kept = kernels.spread_nodes(have, want, kind, other, (node, host), random)
        if kept > most:
            best, most = tuple(other.tolist()), kept
    return best
