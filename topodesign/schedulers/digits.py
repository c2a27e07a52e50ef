"""All-to-all digit by digit: where exactly one walk of one length leads from any node to any node.

So it is on de Bruijn graphs, and on generalized Kautz graphs of d^D nodes: D steps shift in the D digits of the
destination, whatever the source. Every block takes its walk, without circles, a self-loop being a step in which it
stays. No link then carries more than N/d blocks in a step, and blocks are not divided, whatever the size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topodesign.collectives import ALL_TO_ALL
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import assemble, canonical, check_rows
from topodesign.schedulers.dimensions import bounded
from topodesign.schedulers.method import Method, Request, planned
from topodesign.topology.topology import Topology

MOST_NODES = 2**11  # nodes of the largest graph whose walks are counted


def by_digits(topology: Topology) -> Rounds | None:
    """Return the all-to-all over walks of one length, None where there is not one walk alone between any two nodes."""
    nodes = topology.nodes
    if nodes > MOST_NODES or topology.switches or nodes < 2:
        return None
    degrees = np.diff(topology.indptr)
    if degrees.min() != degrees.max() or degrees[0] < 2:
        return None
    degree, steps, walks = int(degrees[0]), 1, int(degrees[0])
    while walks < nodes:
        steps, walks = steps + 1, walks * degree
    if walks != nodes:  # as many walks leave a node as there are nodes to lead to
        return None
    heads = topology.dst.reshape(nodes, degree)
    reach: list[NDArray[np.bool_]] = [np.eye(nodes, dtype=np.bool_)]  # by walks of 0, 1, ... steps
    for _ in range(steps):
        reach.append(np.logical_or.reduce(reach[-1][heads], axis=1))
    if not reach[-1].all():
        return None
    check_rows(nodes * nodes * steps)
    source, goal = np.divmod(np.arange(nodes * nodes), nodes)
    places = [source]
    for step in range(1, steps + 1):
        after = np.argmax(reach[steps - step][heads[places[-1]], goal[:, None]], axis=1)
        places.append(heads[places[-1], after])
    for early in range(steps):  # a walk that comes back to a node stays there instead
        for late in range(early + 2, steps + 1):
            back = places[late] == places[early]
            for between in range(early + 1, late):
                places[between][back] = places[early][back]
    parts = []
    for step in range(1, steps + 1):
        moves = np.flatnonzero(places[step] != places[step - 1])
        parts.append((step, places[step - 1][moves], places[step][moves], moves, 0, 1))
    return canonical(assemble(ALL_TO_ALL, nodes, 1, steps, parts))


def _make(request: Request) -> list[Plan]:
    rounds = by_digits(request.topology)
    if rounds is None or request.steps not in {None, rounds.steps}:
        return []
    return [bounded(planned(request.topology, rounds, "digits"))]


METHOD = Method("digits", frozenset({"chunks", "steps"}), (ALL_TO_ALL,), _make)
