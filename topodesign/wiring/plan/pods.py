"""Order of hosts that are not cabled alike: nodes are exchanged until no node has more links than lanes for them.

Links of a node to hosts with which it shares the same fields of panels compete for its lanes at these. What is more of
them than such lanes is excess, and where an order has any, no split of the links suits it. Where it has none there
mostly is one. Orders of many hosts can be looked for so, of which the program of
:mod:`topodesign.wiring.plan.joint` would have too many unknowns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.plan import pods_kernels as kernels
from topodesign.wiring.plan.decompose import unit_edges, unit_links, without_loops

_ROUNDS = 256  # how often each node is looked at


def order_in_pods(
    topology: Topology, lanes: IntArray, first: Sequence[int], *, duplex: bool, seed: int
) -> IntArray | None:
    """Return the host of each node, so that links are where both ends have lanes; None if no such order is found.

    ``lanes`` has shape ``(hosts, fields)``; ``first`` is the order to begin with.
    """
    hosts = len(lanes)
    src, dst = unit_edges(topology) if duplex else unit_links(without_loops(topology))
    ends, others = np.concatenate((src, dst)), np.concatenate((dst, src))
    by = np.argsort(ends, kind="stable")
    way = np.zeros(len(ends), dtype=np.int64) if duplex else np.repeat([0, 1], len(src))
    rows, kind = np.unique(lanes, axis=0, return_inverse=True)
    shared = (rows > 0)[:, None] & (rows > 0)
    masks, group = np.unique(shared.reshape(len(rows) ** 2, -1), axis=0, return_inverse=True)
    pods = kernels.Pods(
        np.searchsorted(ends[by], np.arange(hosts + 1)),
        others[by],
        way[by],
        kind.ravel(),
        np.concatenate(([0], np.cumsum(np.bincount(kind.ravel())))),
        np.argsort(kind.ravel(), kind="stable"),
        group.reshape(len(rows), len(rows)),
        np.column_stack((rows @ masks.T.astype(np.int64), rows.sum(axis=1))),
    )
    spare = np.setdiff1d(np.arange(hosts), first)
    place = np.concatenate((np.array(first, dtype=np.int64), spare))
    random = np.array([2 * seed + 1], dtype=np.uint64)
    left = kernels.exchange(pods, place, 0, random)  # soon counted, and mostly none
    left = kernels.exchange(pods, place, _ROUNDS * hosts, random) if left else 0
    return None if left else place[: topology.nodes]
