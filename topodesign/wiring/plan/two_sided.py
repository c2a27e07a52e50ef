"""Duplex links over two-sided circuit switches.

Say that a link leaves its node at side 1 and enters the other at side 2. Then links are turned, and no node has more of
them out of it (into it) on a switch than lanes at side 1 (side 2) there: a simplex wiring of links that may be turned
at will. Where each host has as many lanes on both sides of every switch, every multigraph of degree at most 2k is
carried by k lanes a side: links turned along Euler tours leave and enter each node at most k times (Petersen 1891), and
a bipartite multigraph of degree k is a union of k matchings (König 1916). Else whole numbers are searched.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topodesign.base.claims import NOT_PROVEN_NONE, PROVEN_NONE
from topodesign.base.errors import InfeasibleError
from topodesign.base.wording import count_noun
from topodesign.solve.program import Entries
from topodesign.solve.whole import find_whole
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.plan.decompose import choose_lanes, factors, unit_edges

_SECONDS = 10.0  # to turn links as they wish


def split_sided(
    topology: Topology, room: IntArray, names: Sequence[str], *, seed: int, seconds: float
) -> tuple[IntArray, IntArray, IntArray]:
    """Orient links and split them over panel groups.

    Returns source (side 1), target (side 2) and panel group.

    ``room``: lanes of each node by side and field. ``names``: of the hosts, for what is refused.
    """
    u, v = unit_edges(topology)
    _refuse(u, v, room, names)
    if np.all(room == room[0]) and np.array_equal(room[0, 0], room[0, 1]):
        slots = np.repeat(np.arange(room.shape[2]), room[0, 0])
        factor, src, dst = factors(topology.nodes, u, v, len(slots))
        return src, dst, slots[factor]
    return _search_orientations(topology.nodes, u, v, room, seed=seed, seconds=seconds)


def _refuse(u: IntArray, v: IntArray, room: IntArray, names: Sequence[str]) -> None:
    """Raise InfeasibleError for missing switches or lanes."""
    needed = np.bincount(np.concatenate((u, v)), minlength=len(room))
    short = np.flatnonzero(needed > room.sum(axis=(1, 2)))
    if len(short):
        node = int(short[0])
        lanes = room[node].sum(axis=1)
        words = (
            f"'{names[node]}' has {count_noun(lanes[0], 'lane')} at sides 1 and {lanes[1]} at sides 2, its links need"
        )
        raise InfeasibleError(f"too few ports: host {words} {needed[node]}")
    there = room > 0
    joined = np.any((there[u, 0] & there[v, 1]) | (there[u, 1] & there[v, 0]), axis=1)
    if joined.all():
        return
    apart = np.flatnonzero(~joined)
    one, two = int(u[apart[0]]), int(v[apart[0]])
    same = np.any(there[one].any(axis=0) & there[two].any(axis=0))
    why = "both end at the same side of every switch that they share" if same else "they share no switch"
    more = f", and {count_noun(len(apart) - 1, 'more link')}" if len(apart) > 1 else ""
    words = f"link {one} - {two} cannot be made between hosts '{names[one]}' and '{names[two]}': {why}{more}"
    raise InfeasibleError(f"{words} ({PROVEN_NONE} with these hosts and this cabling)")


def _search_orientations(
    nodes: int, u: IntArray, v: IntArray, room: IntArray, *, seed: int, seconds: float
) -> tuple[IntArray, IntArray, IntArray]:
    """Find link orientations and split by integer programming."""
    pair, count = np.unique(u * nodes + v, return_counts=True)
    ends = np.stack((pair // nodes, pair % nodes))
    pairs, fields = len(pair), room.shape[2]
    column = np.arange(pairs * 2 * fields).reshape(pairs, 2, fields)
    both = np.stack((ends.T, ends.T[:, ::-1]), axis=1)  # the ends at sides 1 and 2: way 0 leaves the first end
    spots = (both[:, :, None] * 2 + np.arange(2)) * fields + np.arange(fields)[:, None]
    found = choose_lanes(
        count, np.repeat(np.arange(pairs), 2 * fields), spots.reshape(-1, 2), room.ravel(), seconds=seconds, seed=seed
    )
    if found.values is None:
        if found.proven:
            raise InfeasibleError(
                f"impossible: no way to turn and split the links over the sides of the switches suits the lanes of "
                f"every host ({PROVEN_NONE} with these hosts and this cabling)"
            )
        raise InfeasibleError(
            f"no plan was found in {seconds:g} seconds ({NOT_PROVEN_NONE}); search longer, or use the same number of "
            "lanes on both sides of each switch, which always does"
        )
    chosen, way, part = np.nonzero(found.values[column])
    times = found.values[column][chosen, way, part]
    src, dst = ends[way, chosen], ends[1 - way, chosen]
    return np.repeat(src, times), np.repeat(dst, times), np.repeat(part, times)


def orient_links(u: IntArray, v: IntArray, wished: Sequence[int], room: IntArray) -> tuple[IntArray, IntArray] | None:
    """Orient links within the lanes at both sides.

    No node has more links out than lanes at side 1, or in than at side 2. Wishes are followed if possible.

    ``wished``: 1 for links from the first end to the second, -1 for those the other way, 0 where it does not matter.
    ``room``: lanes of each node by side and field. Returns the ends at side 1 and at side 2, None if there is no way.
    """
    most, wish = room.sum(axis=2), np.array(wished, dtype=np.int64)
    begin, end = np.where(wish < 0, v, u), np.where(wish < 0, u, v)
    out, into = (np.bincount(ends, minlength=len(room)) for ends in (begin, end))
    number, one = np.arange(len(u)), np.ones(len(u), dtype=np.int64)
    # whether each link goes the other way: its first end has one link less out of it then, its second one more
    entries = Entries(np.concatenate((begin, end)), np.tile(number, 2), np.repeat((-1, 1), len(u)))
    if np.any(out + into > most.sum(axis=1)):
        return None
    found = find_whole(one, entries, into - most[:, 1], most[:, 0] - out, seconds=_SECONDS, cost=np.abs(wish)).values
    return None if found is None else (np.where(found, end, begin), np.where(found, begin, end))
