"""Audits of all-to-all prices, proven by a flow and link prices.

A flow that brings a shard from every node to every other takes what its fullest link does. Prices of links prove that
none takes less: what is sent pays at least its distance by these prices, and links take in what their capacity is worth
at most. Both are counted here in whole numbers. With symmetry, held against the links before, the flow of one node of
each orbit is enough, and links of one orbit are equally full if the flow is averaged over their images.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.replayed import Digraph, Ints, InvalidScheduleError, Orbits
from topodesign.pricing.all_to_all import all_to_all
from topodesign.pricing.efforts import Effort
from topodesign.solve.flows.concurrent import ConcurrentFlow
from topodesign.topology.topology import Topology

_SAFE = 2**62
_GAP = Fraction(1, 100)
_SECONDS = 10.0  # after which a flow is as near as it is


def wrong_flow(topology: Topology, links: Digraph, orbits: Orbits, degree: int, known: Bounds) -> str | None:
    """Return the fault of an all-to-all price, or None if it is proven.

    Where no exact ones are found in a reasonable time, as of large products, bounds within a percent have to agree.
    """
    tries: list[tuple[Effort, Fraction]] = [("quick", _GAP), ("exact", _GAP), ("approximate", _GAP)]
    if not known.exact:
        tries = [("approximate", gap) for gap in (_GAP, _GAP / 5, _GAP / 20)]
    for effort, gap in tries:
        flow = all_to_all(topology, effort=effort, gap=gap, seconds=_SECONDS).flow
        if flow is None:
            continue
        lower, upper = proven(flow, links, orbits)
        unit = Fraction(degree, links.nodes)
        lower, upper = lower * unit, upper * unit
        if lower > known.upper or upper < known.lower:
            return f"all-to-all {lower} to {upper}, not {known.lower} to {known.upper}"
        if known.lower <= lower <= upper <= known.upper:
            return None
    if known.exact and flow is not None:
        return None
    return f"an all-to-all of {known.lower} to {known.upper} that nothing proves"


def proven(flow: ConcurrentFlow, links: Digraph, orbits: Orbits) -> tuple[Fraction, Fraction]:
    """Return the bound by prices and the flow's time.

    In shards per unit of capacity of the fullest link.
    """
    topology, nodes = flow.topology, links.nodes
    keys = links.src * nodes + links.dst
    ends = (np.array(side, dtype=np.int64)[flow.quotient.arcs] for side in (topology.src, topology.dst))
    tail, head = ends
    place = np.searchsorted(keys, tail * nodes + head)
    if not np.array_equal(keys[np.minimum(place, len(keys) - 1)], tail * nodes + head):
        raise InvalidScheduleError("a flow over links that are not there")
    roots = orbits.roots
    if not np.array_equal(np.sort(flow.quotient.sources), roots):
        raise InvalidScheduleError("a flow of nodes that do not stand for all others")
    order = np.argsort(flow.quotient.sources)
    amounts, prices = np.asarray(flow.amounts)[order], np.asarray(flow.prices)[flow.quotient.kind]
    weight = np.bincount(orbits.of, minlength=nodes)[roots]
    same = _link_orbits(links, keys, orbits)
    sent = np.zeros((len(roots), len(keys)), dtype=object)
    sent[:, place] = amounts
    loads = _loads(links, roots, weight, _wide(sent, len(keys) * nodes), flow.denominator)
    total, room = np.zeros(len(keys), dtype=object), np.zeros(len(keys), dtype=np.int64)
    np.add.at(total, same, loads)
    np.add.at(room, same, links.capacity)
    upper = max(Fraction(int(total[one]), int(room[one])) for one in np.unique(same)) / flow.denominator
    charged = np.zeros(len(keys), dtype=object)
    charged[place] = prices.astype(object)
    if min(charged) < 0 or not any(charged) or any(charged != charged[same]):
        raise InvalidScheduleError("prices of links that prove nothing")
    far = _distances(links, roots, _wide(charged, nodes))
    paid = sum(int(count) * sum(map(int, row)) for count, row in zip(weight, far, strict=True))
    return Fraction(paid, int((charged * links.capacity).sum())), upper


def _wide(numbers: NDArray[Any], times: int) -> NDArray[Any]:
    """Return integers in 64 bits if sums fit, else as Python's own."""
    return numbers.astype(np.int64 if int(numbers.max()) * times < _SAFE else object)


def _link_orbits(links: Digraph, keys: Ints, orbits: Orbits) -> Ints:
    """Return the first link of the orbit of each."""
    first = np.arange(len(keys))
    images = [np.searchsorted(keys, one[links.src] * links.nodes + one[links.dst]) for one in orbits.generators]
    while True:
        before = first.copy()
        for image in images:
            np.minimum.at(first, image, first.copy())
            first = np.minimum(first, first[image])
        if np.array_equal(first, before):
            return first


def _loads(links: Digraph, roots: Ints, weight: Ints, sent: NDArray[Any], parts: int) -> NDArray[Any]:
    """Return weighted link loads of flows, checked for delivery to all."""
    loads = np.zeros(len(links.src), dtype=object)
    for root, count, row in zip(roots.tolist(), weight.tolist(), sent, strict=True):
        gets = np.zeros(links.nodes, dtype=row.dtype)
        np.add.at(gets, links.dst, row)
        np.subtract.at(gets, links.src, row)
        gets[root] += links.nodes * parts
        if row.min() < 0 or (gets != parts).any():
            raise InvalidScheduleError("a flow in which not every node gets a shard of all others")
        loads += count * row.astype(object)
    return loads


def _distances(links: Digraph, sources: Ints, prices: NDArray[Any]) -> NDArray[Any]:
    """Return shortest distances at link prices, by relaxation."""
    order = np.argsort(links.dst, kind="stable")
    begin = np.searchsorted(links.dst[order], np.arange(links.nodes))
    far = np.full((len(sources), links.nodes), int(prices.sum()) + 1, dtype=prices.dtype)
    far[np.arange(len(sources)), sources] = 0
    while True:
        nearer = np.minimum(far, np.minimum.reduceat(far[:, links.src[order]] + prices[order], begin, axis=1))
        if np.array_equal(nearer, far):
            return far
        far = nearer
