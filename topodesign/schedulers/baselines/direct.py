"""Direct: every node sends to every other at once, as on a complete graph, where that is one step and optimal."""

from __future__ import annotations

from fractions import Fraction

from topodesign.collectives import COLLECTIVES, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.paths import PATH_COLLECTIVES
from topodesign.plans.plan import Plan
from topodesign.schedulers.baselines.messages import Made, deliveries, formula, in_rounds, plans
from topodesign.schedulers.baselines.spanning import Ranks, path_plans, tree_plans
from topodesign.schedulers.method import Method, Request
from topodesign.topology.topology import Topology


def direct(topology: Topology, collective: Collective) -> Made:
    """Return all messages at once, each over its own way: alpha + beta M/N, with beta the time of a byte on a link.

    A broadcast sends all of M over every link. Elsewhere than on a complete graph it takes as many steps as the
    diameter, and what several messages carry over one link adds up.
    """
    src, dst, block = deliveries(collective, topology.nodes)
    rounds, alone = in_rounds(topology, collective, 1, 1, [(1, src, dst, block, 0, 1)])
    volume = Fraction(1, collective.shards(topology.nodes))
    return Made(rounds, formula(topology, 1, volume) if alone else None)


def stars(fabric: Fabric, root: int | None) -> list[Ranks]:
    """Return a tree from the root, or of every node, to all others."""
    roots = fabric.compute if root is None else (root,)
    return [Ranks(one, 1, [(one, other) for other in fabric.compute if other != one]) for one in roots]


def _make(request: Request) -> list[Plan]:
    if isinstance(request.where, Topology):
        return plans(request, "direct", direct)
    if request.collective.like(*PATH_COLLECTIVES):
        return path_plans(request, "direct")
    return tree_plans(request, "direct", stars)


METHOD = Method("direct", frozenset({"root"}), tuple(COLLECTIVES.values()), _make, fabrics=True, auto=False)
