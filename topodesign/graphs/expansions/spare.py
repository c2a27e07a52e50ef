"""Free ports: the same links at a larger degree.

A self-loop in each free port.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.cost import Basis, Cost, spare_factor
from topodesign.graphs.expansions.expansion import Base, Claim, Expansion, require_base, require_count
from topodesign.graphs.expansions.lifting import lift_both_ways
from topodesign.plans.flow import Flow
from topodesign.topology.topology import Topology

_SIGNATURE = "spare(G,k)"


def graph(base: Topology, k: int = 1) -> Topology:
    """Return G with k more ports at each node, which stay free; degree d + k."""
    topology = require_base(base, _SIGNATURE)
    ports, every = require_count(k, _SIGNATURE), np.arange(topology.nodes)
    return Topology.from_arrays(
        topology.nodes,
        np.concatenate((topology.src, every)),
        np.concatenate((topology.dst, every)),
        np.concatenate((topology.capacity, np.full(topology.nodes, ports))),
        symmetry=topology.symmetry,
    )


def claim(base: Base, k: int = 1) -> Claim:
    """Return the closed-form cost: the same steps, y * (d+k)/d.

    All schedules of G are those of the result, so this holds for every kind of them.
    """
    return Claim(Cost(base.cost.steps, spare_factor(base.degree, k) * base.cost.bandwidth), Basis.THEOREM)


@lift_both_ways(_SIGNATURE)
def lift(base: Topology, schedule: Flow, k: int = 1) -> Flow:
    """Return the schedule itself."""
    return schedule.having(place=graph(base, k))


spare = Expansion("spare", graph, claim, lift, size=("N", "d+k", "spare(hypercube(3),2)"))
