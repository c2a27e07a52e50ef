"""What could be found at a size, and how likely it is."""

from __future__ import annotations

import functools

from topodesign.base.cost import Cost, lower_bound
from topodesign.catalog.quality import least_runtime, runtime
from topodesign.catalog.records import record_bounds
from topodesign.catalog.standing import WORTHWHILE, Standing
from topodesign.search.target import Target


def left_by_records(standing: Standing, target: Target) -> float:
    """Return by how much the ratio is above as few steps as are known to be possible with optimal bandwidth."""
    return standing.ratio(target) - _possible(target)


def left_with(standing: Standing, target: Target, steps: int) -> float:
    """Return the same for so many steps, but for what would not be worth it."""
    return standing.ratio(target) - possible_in(target, steps) - WORTHWHILE


@functools.cache
def _possible(target: Target) -> float:
    record = min(map(runtime, record_bounds(*target.size, duplex=target.duplex)))
    return float(record / least_runtime(*target.size, duplex=target.duplex))


@functools.cache
def possible_in(target: Target, steps: int) -> float:
    """Return the ratio to the bound of a topology of so many steps with optimal bandwidth."""
    optimum = lower_bound(*target.size, duplex=target.duplex).bandwidth
    return float(runtime(Cost(steps, optimum)) / least_runtime(*target.size, duplex=target.duplex))
