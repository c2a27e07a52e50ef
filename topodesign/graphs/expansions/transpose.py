"""Transpose: reversed links, which swap allgather and reduce-scatter."""

from __future__ import annotations

from topodesign.base.cost import Basis
from topodesign.graphs.expansions.expansion import Base, Claim, Expansion, require_base
from topodesign.graphs.expansions.lifting import require_schedule
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import reverse
from topodesign.plans.step_ops import canonical
from topodesign.topology.topology import Topology

_SIGNATURE = "transpose(G)"


def graph(base: Topology) -> Topology:
    """Return G with every link turned round.

    An allgather on G is a reduce-scatter on the transpose, backwards (Efficient Direct-Connect Topologies, Theorem 1).
    """
    return require_base(base, _SIGNATURE).transpose()


def claim(base: Base) -> Claim:
    """Return the cost of the base.

    The same steps, and a y that holds for both collectives holds for both.
    """
    return Claim(base.cost, Basis.BOUND)


def lift(base: Topology, schedule: Flow) -> Flow:
    """Return the schedule reversed in time.

    Unlike other lifts it turns a reduce-scatter into an allgather and back.

    References
    ----------
    Efficient Direct-Connect Topologies, Theorem 1.
    """
    require_schedule(base, schedule, _SIGNATURE)
    return canonical(reverse(schedule))


transpose = Expansion("transpose", graph, claim, lift, size=("N", "d", "transpose(diamond())"))
