"""MultiTree: a tree of every node, all grown at the same time, a link carrying the data of one tree in a step."""

from __future__ import annotations

import numpy as np

from topodesign.base.errors import DisconnectedError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.plans.rounds_ops import assemble, check_rows
from topodesign.schedulers.baselines.baseline import baseline
from topodesign.schedulers.baselines.messages import Made
from topodesign.topology.topology import Topology


def multitree(topology: Topology, collective: Collective) -> Made:
    """Return an allgather over trees that are grown from their roots, step by step.

    In every step the trees take turns, one node each, until none can grow: a node joins from the first node of the tree
    that has a link to it which is free in that step. It is a heuristic; its cost has no formula.

    Huang, Majumder, Kim, Muzahid, Yum and Kim, Communication Algorithm-Architecture Co-Design for Distributed Deep
    Learning (2021).
    """
    nodes = topology.nodes
    check_rows(nodes * (nodes - 1))
    out: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
    for u, v, c in topology.links():
        if u != v:
            out[u].append((v, c))
    inside = [bytearray(node == root for node in range(nodes)) for root in range(nodes)]
    members: list[list[int]] = [[root] for root in range(nodes)]
    rows: list[tuple[int, int, int, int]] = []
    step, growing = 0, list(range(nodes))
    while growing:
        step += 1
        free = {(u, v): c for u in range(nodes) for v, c in out[u]}
        ready = {root: list(members[root]) for root in growing}
        turn, before = list(growing), len(rows)
        while turn:
            still = []
            for root in turn:
                if (edge := _next(ready[root], out, inside[root], free)) is None:
                    continue
                u, v = edge
                free[edge] -= 1
                inside[root][v] = 1
                members[root].append(v)
                rows.append((step, u, v, root))
                if len(members[root]) < nodes:
                    still.append(root)
            turn = still
        growing = [root for root in growing if len(members[root]) < nodes]
        if len(rows) == before:
            raise DisconnectedError(f"not all nodes can be reached from node {growing[0]}")
    at, src, dst, block = np.array(rows, dtype=np.int64).T
    return Made(assemble(collective, nodes, 1, step, [(at, src, dst, block, 0, 1)]), None)


def _next(
    ready: list[int], out: list[list[tuple[int, int]]], inside: bytearray, free: dict[tuple[int, int], int]
) -> tuple[int, int] | None:
    """Return the first free link from the tree to a node outside; nodes that have none left are no longer ready."""
    while ready:
        u = ready[0]
        for v, _ in out[u]:
            if not inside[v] and free[u, v]:
                return u, v
        ready.pop(0)
    return None


METHOD = baseline("multitree", (ALLGATHER, REDUCE_SCATTER, ALLREDUCE), multitree)
