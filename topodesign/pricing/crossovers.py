"""From which size of data on which of several costs is the least."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from topodesign.base.cost import Cost


def winners(costs: Sequence[Cost], bytes_per_step: Fraction) -> list[tuple[Fraction, int]]:
    """Return which cost is the least from which size on, ascending: the first from size 0.

    * ``costs``: at least one.
    * ``bytes_per_step``: alpha * B: how many bytes a node could send in the time that a step costs.

    Returns: pairs of a size in bytes and the place of a cost; of equal costs the first.
    """
    found: list[tuple[Fraction, int]] = []
    for place in sorted(range(len(costs)), key=lambda one: (costs[one].steps, costs[one].bandwidth, one)):
        cost, since = costs[place], Fraction(0)
        if found and cost.bandwidth >= costs[found[-1][1]].bandwidth:
            continue
        while found:
            least = costs[found[-1][1]]
            since = bytes_per_step * (cost.steps - least.steps) / (least.bandwidth - cost.bandwidth)
            if since > found[-1][0]:
                break
            found.pop()
        found.append((since if found else Fraction(0), place))
    return found
