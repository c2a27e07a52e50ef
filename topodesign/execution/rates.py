"""Algorithm and bus bandwidth, as the tests of NCCL define them.

The algorithm bandwidth is the whole data M over the time; what M counts is said at
:meth:`~topodesign.collectives.collective.Collective.shards`, and is what those tests call the size. The bus bandwidth
is that times a factor that makes it independent of the number of members: what the ports of a node would have to carry
if all went as well as it can. It is to be held against the bandwidth of the hardware.
"""

from __future__ import annotations

from fractions import Fraction

from topodesign.collectives import ALLREDUCE, BROADCAST, REDUCE, Collective


def bus_factor(collective: Collective, members: int) -> Fraction:
    """Return the bus bandwidth over the algorithm bandwidth.

    PERFORMANCE.md of nccl-tests: 2(n-1)/n for an allreduce, 1 for a broadcast and a reduce, and (n-1)/n for the others.
    """
    if collective.like(BROADCAST, REDUCE):
        return Fraction(1)
    return Fraction((2 if collective.like(ALLREDUCE) else 1) * (members - 1), members)
