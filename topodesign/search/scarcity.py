"""How rare topologies of a size with so few steps are, by what random ones leave out."""

from __future__ import annotations

import itertools
import math

from topodesign.base.cost import lower_bound
from topodesign.base.moore import moore_order
from topodesign.search.target import Target


def scarcity(target: Target, steps: int) -> float:
    """Return how many nodes a random topology leaves out within some steps, over what can be chosen to reach them.

    It leaves out a share exp(-M/N), M being Moore's order; d ln N is the logarithm of the ways to link one node. Where
    the first is above the second, there is in general no topology that leaves out none, but for exact structure.
    """
    share = math.exp(-moore_order(target.degree, steps, duplex=target.duplex) / target.nodes)
    return target.nodes * share / (target.degree * math.log(target.nodes))


def steps_of_most(target: Target, most: float) -> int:
    """Return the fewest steps that are no scarcer than that."""
    least = lower_bound(*target.size, duplex=target.duplex).steps
    return next(steps for steps in itertools.count(least) if scarcity(target, steps) <= most)
