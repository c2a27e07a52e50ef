"""Tree schedules through switches that copy or add.

ForestColl, section 5.6, done before the packing.

A relay is a switch that is a vertex of trees: in an out-tree it receives once and sends to several, in an in-tree it
receives from several and sends their sum once. The trees are packed on the topology in which relays are compute nodes,
and what then leads to a relay that has nothing to pass on is cut off. The cut that is in the way of all is met without
relays, unless switches have more bandwidth in than out, or the reverse: switches are relays only as far as the rate is
no lower, and save traffic and height. An allreduce is faster through relays: :mod:`topodesign.optima.fluid` has its.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from topodesign.base.claims import Claim, Of, Scope
from topodesign.collectives import Collective
from topodesign.optima.forest.bottleneck import optimum
from topodesign.optima.forest.schedule import forest_schedule, out_trees, spanning
from topodesign.plans.build import lay_out
from topodesign.plans.chunk_ops import (
    count_adding,
    find_height,
    find_inverse_rate,
    find_relays,
    take_sends,
    unfold_pieces,
)
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import reverse
from topodesign.solve.maxflow import compute_nodes, worst_ratio
from topodesign.topology.topology import Topology

_PLAIN = "switches only forward"


def in_network_schedule(
    topology: Topology,
    collective: Collective,
    multicast: frozenset[int],
    aggregation: frozenset[int],
    *,
    root: int | None = None,
    names: Sequence[str] | None = None,
) -> tuple[Flow, str]:
    """Return trees of one phase through switches, with their quality."""
    collective = spanning(collective, root)
    plain = forest_schedule(topology, collective, names=names)
    graph = topology.transpose() if collective.reduces else topology
    nodes = compute_nodes(graph)
    demand = np.ones(len(nodes), dtype=np.int64) if collective.root is None else (nodes == collective.root).astype(int)
    most = 1 / worst_ratio(graph, graph.capacity, demand)  # the rate of a root, whatever switches can do
    relays = _as_fast(graph, collective, aggregation if collective.reduces else multicast, find_inverse_rate(plain))
    if not relays:
        return plain, f"{_PLAIN}; {_claim(plain, most)}"
    graph = _promote_switches(graph, relays)
    kind = collective.dual if collective.reduces else collective
    trees = unfold_pieces(out_trees(graph, kind, None, _weights(graph, kind, relays), None))
    if collective.reduces:
        trees = reverse(trees, _promote_switches(topology, relays))
    trees = lay_out(replace(_prune_trees(trees, relays), place=topology, sizes=None, free=False))
    if find_inverse_rate(trees) > find_inverse_rate(plain) or not len(find_relays(trees)):
        return plain, f"{_PLAIN}; {_claim(plain, most)}"
    verb = "add" if collective.reduces else "copy"
    return trees, f"switches {verb}: height {find_height(trees)} instead of {find_height(plain)}; {_claim(trees, most)}"


def _claim(trees: Flow, most: Fraction) -> Claim:
    """Return the claim on trees of a collective of one phase."""
    missed = "only trees were tried that are all through the same switches, and as fast as those through none"
    return Claim.to_bound(Of.RATE, 1 / find_inverse_rate(trees), Scope.CAPABLE_TREES, most, missed=missed)


def _as_fast(graph: Topology, collective: Collective, capable: frozenset[int], least: Fraction) -> frozenset[int]:
    """Return the switches usable as relays without loss of rate."""
    kind = collective.dual if collective.reduces else collective

    def keeps(relays: frozenset[int]) -> bool:
        spanned = _promote_switches(graph, relays)
        return optimum(spanned, weights=_weights(spanned, kind, relays)).inverse_rate <= least

    if keeps(capable):
        return capable
    relays: frozenset[int] = frozenset()
    for switch in sorted(capable):
        if keeps(relays | {switch}):
            relays |= {switch}
    return relays


def _promote_switches(topology: Topology, relays: frozenset[int]) -> Topology:
    """Return the topology with some switches as compute nodes."""
    return Topology.from_arrays(
        topology.nodes, topology.src, topology.dst, topology.capacity, switches=topology.switches - relays
    )


def _weights(graph: Topology, collective: Collective, relays: frozenset[int]) -> tuple[int, ...]:
    """Return initial data of a promoted topology's nodes; 0 for relays."""
    root = collective.root
    return tuple(int(v not in relays and root in (None, v)) for v in compute_nodes(graph).tolist())


def _prune_trees(trees: Flow, relays: frozenset[int]) -> Flow:
    """Return trees without the edges to relays that pass nothing on."""
    out = trees.piece >= count_adding(trees)
    near, far = np.where(out, trees.src, trees.dst), np.where(out, trees.dst, trees.src)
    nodes = trees.nodes
    idle = np.isin(far, sorted(relays))
    kept = np.ones(len(far), dtype=bool)
    while True:
        children = np.bincount(trees.piece[kept] * nodes + near[kept], minlength=len(trees.block) * nodes)
        gone = kept & idle & (children[trees.piece * nodes + far] == 0)
        if not gone.any():
            break
        kept &= ~gone
    return take_sends(trees, np.arange(len(trees.block)), np.flatnonzero(kept))
