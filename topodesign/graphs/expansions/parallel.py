"""Trunks: every link m times.

For more ports than other nodes.
"""

from __future__ import annotations

from topodesign.base.arrays import seal_array
from topodesign.base.cost import Basis
from topodesign.graphs.expansions.expansion import Base, Claim, Expansion, require_base, require_count
from topodesign.graphs.expansions.lifting import lift_both_ways
from topodesign.plans.flow import Flow
from topodesign.topology.topology import Topology

_SIGNATURE = "parallel(G,m)"


def graph(base: Topology, m: int) -> Topology:
    """Return G with every capacity multiplied by m: m times the degree."""
    topology = require_base(base, _SIGNATURE)
    times = require_count(m, _SIGNATURE)
    return Topology(
        topology.nodes, topology.src, topology.dst, seal_array(topology.capacity * times), symmetry=topology.symmetry
    )


def claim(base: Base, m: int) -> Claim:  # noqa: ARG001  every m has the same cost
    """Return the cost of the base.

    m times the links carry the same data with m times the bandwidth of a node.
    """
    return Claim(base.cost, Basis.THEOREM)


@lift_both_ways(_SIGNATURE)
def lift(base: Topology, schedule: Flow, m: int) -> Flow:
    """Return the base's schedule; m parallel links share a link's data."""
    return schedule.having(place=graph(base, m))


parallel = Expansion("parallel", graph, claim, lift, size=("N", "m*d", "parallel(biring(2,6),2)"))
