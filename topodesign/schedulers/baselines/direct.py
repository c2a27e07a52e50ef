"""Direct: every node sends to every other at once, as on a complete graph, where that is one step and optimal."""

from __future__ import annotations

from fractions import Fraction

from topodesign.collectives import COLLECTIVES, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.schedulers.baselines.baseline import baseline
from topodesign.schedulers.baselines.messages import Made, deliveries, in_rounds
from topodesign.schedulers.baselines.spanning import Ranks
from topodesign.topology.topology import Topology


def direct(topology: Topology, collective: Collective) -> Made:
    """Return all messages at once, each over its own way: alpha + beta M/N, with beta the time of a byte on a link.

    A broadcast sends all of M over every link. Elsewhere than on a complete graph it takes as many steps as the
    diameter, and what several messages carry over one link adds up.
    """
    messages = (1, *deliveries(collective, topology.nodes), 0, 1)
    return in_rounds(topology, collective, [messages], 1, Fraction(1, collective.shards(topology.nodes)))


def stars(fabric: Fabric, root: int | None) -> list[Ranks]:
    """Return a tree from the root, or of every node, to all others."""
    roots = fabric.compute if root is None else (root,)
    return [Ranks(one, 1, [(one, other) for other in fabric.compute if other != one]) for one in roots]


METHOD = baseline("direct", tuple(COLLECTIVES.values()), direct, trees=stars)
