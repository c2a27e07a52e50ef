"""Recursive halving and doubling: partners whose numbers differ in one bit exchange all that the other lacks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.schedulers.baselines.baseline import baseline
from topodesign.schedulers.baselines.messages import Made, in_rounds
from topodesign.topology.topology import Topology


def recursive_doubling(topology: Topology, collective: Collective) -> Made:
    """Return the allgather of N = 2^K nodes by recursive doubling: K alpha + (N-1)/N beta M.

    In round k + 1 node i exchanges with i xor 2^k the 2^k blocks that each has. Backwards in time that is the
    reduce-scatter by recursive halving, and one after the other the allreduce of Rabenseifner.

    Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH (2005).
    """
    nodes = topology.nodes
    if nodes & (nodes - 1):
        raise InfeasibleError(f"halving-doubling needs a power of two of nodes, not {nodes}; --method bruck takes any")
    steps = nodes.bit_length() - 1
    node = np.arange(nodes)[:, None]
    parts = [(k + 1, node, node ^ (1 << k), (node >> k << k) + np.arange(1 << k), 0, 1) for k in range(steps)]
    return in_rounds(topology, collective, parts, steps, Fraction(nodes - 1, nodes))


METHOD = baseline("halving-doubling", (ALLGATHER, REDUCE_SCATTER, ALLREDUCE), recursive_doubling)
