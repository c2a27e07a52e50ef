"""Local repair of what TACOS-Greedy makes of small networks: chunks that come late are sent earlier, or other ways."""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import LARGEST
from topodesign.schedulers.ten.network import Chunks, Network, Sends, first_state, wanted
from topodesign.schedulers.ten.repair_kernels import Books, Wishes, repair

MOST_WISHES = 512  # nodes times chunks that they need, above which nothing is repaired
_EFFORT = 2**24  # links that are looked at, over all schedules that are tried
SCHEDULES = 6000  # schedules that are tried at most


def repaired(
    network: Network, chunks: Chunks, sends: Sends, seed: int, *, enough: int = 0, schedules: int = SCHEDULES
) -> Sends:
    """Return sends that bring everything no later than these do.

    No schedule can be below ``enough`` ticks: none is looked for once that is reached.
    """
    node, chunk = wanted(chunks)
    web, nodes = network.web, network.topology.nodes
    if sends.time <= enough or not 1 < len(node) <= MOST_WISHES:
        return sends
    arrives = np.full((chunks.number, nodes), LARGEST, dtype=np.int64)
    np.minimum.at(arrives, (sends.chunk, network.topology.dst[sends.link]), sends.end)
    ports = len(network.wires.src)
    longest = int(np.bincount(web.port, minlength=1).max()) * chunks.number + 1
    wishes = Wishes(
        node,
        chunk,
        chunks.at,
        chunks.since,
        np.argsort(arrives[chunk, node], kind="stable"),
        np.full(len(node), -1, dtype=np.int64),
    )
    chunked = [(3, chunks.number * nodes), (1,)]
    shapes = [(ports, longest)] * 2 + [(ports,), (chunks.number, nodes)] + [(nodes,)] * 4 + chunked
    books = Books(*(np.zeros(shape, dtype=np.int64) for shape in shapes))
    tries = min(schedules, _EFFORT // (len(node) * (len(web.dst) + nodes)))
    if repair(web, wishes, books, enough, tries, first_state(seed)) >= sends.time:
        return sends
    return Sends(*books.sends[:, : int(books.rows[0])]).in_order()
