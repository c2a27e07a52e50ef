"""Bidirectional union of a one-way topology and its transpose.

Duplex cabling can wire it.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.cost import Basis
from topodesign.graphs.expansions.expansion import Base, Claim, Expansion, require_base
from topodesign.graphs.expansions.lifting import require_schedule
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import relabel
from topodesign.plans.step_ops import canonical, share
from topodesign.topology.isomorphism import mirror
from topodesign.topology.topology import Topology

_SIGNATURE = "bidirect(G)"


def graph(base: Topology) -> Topology:
    """Return G with its transpose: every link and its reverse, degree 2d.

    The automorphisms of G are those of its transpose, so a vertex-transitive G stays so.

    References
    ----------
    Efficient Direct-Connect Topologies, appendix K.
    """
    topology = require_base(base, _SIGNATURE)
    return Topology.from_arrays(
        topology.nodes,
        np.concatenate((topology.src, topology.dst)),
        np.concatenate((topology.dst, topology.src)),
        np.concatenate((topology.capacity, topology.capacity)),
        symmetry=topology.symmetry,
    )


def claim(base: Base) -> Claim:
    """Return the closed-form cost: that of G, if it equals its transpose.

    Up to isomorphism.

    Half of every shard follows G's schedule and half its mirror image, so paths need not be shortest in the union: the
    best SPFF schedule of the union has at most as many steps but may need more bandwidth.

    References
    ----------
    Efficient Direct-Connect Topologies, appendix K.
    """
    return Claim(base.cost, Basis.SCHEDULE)


def lift(base: Topology, schedule: Flow) -> Flow:
    """Return the schedule with half of each shard mirrored.

    The other half follows the base's schedule.

    References
    ----------
    Efficient Direct-Connect Topologies, appendix K.
    """
    require_schedule(base, schedule, _SIGNATURE)
    both = graph(base)
    mirrored = relabel(schedule, mirror(base), both)
    return canonical(share([schedule.having(place=both), mirrored]))


bidirect = Expansion("bidirect", graph, claim, lift, size=("N", "2*d", "bidirect(genkautz(2,11))"))
