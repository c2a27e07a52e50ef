"""Explicit shortest-path-farthest-first (SPFF) schedules with the exact optimal cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from topodesign.columns import MAX_UNITS, assemble, canonical, reverse
from topodesign.errors import ParameterError, TopologyError
from topodesign.link_table import LinkTable
from topodesign.schedule import Collective, Schedule
from topodesign.solve.lp import best_split, node_blocks
from topodesign.solve.spff import layer_loads
from topodesign.topology import IntArray, Topology, require_at_least

MOST_ROWS = 2**27
"""Largest number of sends that is written out."""

_BATCH_ROWS = 2**22
Progress = Callable[[float], None]


def spff(
    topology: Topology,
    collective: Collective = "reduce-scatter",
    *,
    chunks: int | None = None,
    progress: Progress | None = None,
) -> Schedule:
    """Return an optimal SPFF reduce-scatter or allgather.

    Parameters
    ----------
    topology
        Strongly connected, without switches, at most 64 distinct neighbours a node.
    collective
        ``reduce-scatter``, or ``allgather``: the reduce-scatter of the transpose, reversed in time (Theorem 1).
    chunks
        Units per shard. None takes the smallest number that loses nothing; any other number gives the best schedule
        there is with so many: the least integer load of every link, so never worse than the rounding of Theorem 21.
    progress
        Called with the share of the work that is done.

    Returns
    -------
    Schedule
        Of diameter many steps; without ``chunks`` its bandwidth factor is that of :func:`topodesign.solve.spff.price`.

    Raises
    ------
    DisconnectedError, TopologyError
        As :func:`topodesign.solve.spff.price` does, and for too many neighbours or sends.
    ParameterError
        If ``chunks`` is below one or the collective another.

    References
    ----------
    Efficient Direct-Connect Topologies, section 6, equation (1) and appendix E.1.
    """
    if collective == "allgather":
        return reverse(spff(topology.transpose(), chunks=chunks, progress=progress))
    if collective != "reduce-scatter":
        raise ParameterError(f"an SPFF schedule is a reduce-scatter or an allgather, not {collective!r}")
    loads = layer_loads(topology)
    if int(np.diff(topology.indptr).max()) > 64:
        raise TopologyError("explicit SPFF schedules need at most 64 distinct neighbours a node")
    if topology.nodes * (topology.nodes - 1) > MOST_ROWS:
        raise TopologyError(f"a schedule of {topology.nodes} nodes has too many sends to write out")
    if chunks is None:
        units = math.lcm(*(load.denominator for load in loads))
        if int(topology.capacity.max()) > 1:
            units = _fewest_units(topology, loads, units)
    else:
        require_at_least("chunks", chunks, 1)
        units = chunks
    limits = _limits(topology, loads, units)
    return _schedule(topology, _rows(topology, units, limits, progress), units, len(loads))


def theorem_21_bound(topology: Topology, steps: int, chunks: int) -> Fraction:
    """Return by how much y may grow when shards are divided into at most so many chunks (Theorem 21)."""
    d, n = topology.degree, topology.nodes
    return Fraction(d * sum(d**i for i in range(steps)), chunks * n)


def spff_heterogeneous(
    topology: Topology, table: LinkTable, size: Fraction, collective: Collective = "reduce-scatter"
) -> Schedule:
    """Return the SPFF reduce-scatter or allgather that is fastest for links of unequal latency and bandwidth.

    Parameters
    ----------
    topology
        Strongly connected, without switches.
    table
        Latency and bandwidth of every link.
    size
        Total data M in bytes: the splits depend on it.
    collective
        ``reduce-scatter`` or ``allgather``.

    Returns
    -------
    Schedule
        Whose lock-step time is the sum of :func:`topodesign.solve.lp.heterogeneous_steps`. The splits are exact, so
        that units per shard can be many.

    Raises
    ------
    TopologyError
        If the common denominator of the splits is too large, besides what :func:`spff` raises.

    Notes
    -----
    Efficient Direct-Connect Topologies, appendix E.2.
    """
    if collective == "allgather":
        return reverse(spff_heterogeneous(topology.transpose(), table.transpose(), size))
    if collective != "reduce-scatter":
        raise ParameterError(f"an SPFF schedule is a reduce-scatter or an allgather, not {collective!r}")
    steps = len(layer_loads(topology))
    alpha, bandwidth = table.columns(topology)
    parts: list[tuple[int, int, int, int, Fraction, Fraction]] = []
    for node in range(topology.nodes):
        blocks, links = node_blocks(topology, node, alpha, bandwidth, size)
        for x, (block, destinations) in enumerate(blocks, start=1):
            for destination, shares in zip(destinations.tolist(), best_split(block).share, strict=True):
                low = Fraction(0)
                for link, share in zip(links, shares, strict=True):
                    if share:
                        parts.append((x, node, int(topology.dst[link]), destination, low, low + share))
                        low += share
    units = math.lcm(*(value.denominator for part in parts for value in part[4:]))
    if units >= MAX_UNITS:
        raise TopologyError("the exact splits have too large a common denominator; round latencies and bandwidths")
    rows = np.array([(*part[:4], int(part[4] * units), int(part[5] * units)) for part in parts], dtype=np.int64)
    return _schedule(topology, rows, units, steps)


def _schedule(topology: Topology, rows: IntArray, units: int, steps: int) -> Schedule:
    """Turn rows (distance, source, neighbour, destination, lo, hi) into columns: distance x goes at step D + 1 - x."""
    distance, source, neighbour, destination, lo, hi = rows.T
    block = (steps + 1 - distance, source, neighbour, destination, lo, hi)
    return canonical(assemble("reduce-scatter", topology.nodes, units, steps, [block]))


def _limits(topology: Topology, loads: list[Fraction], units: int) -> list[Fraction]:
    """Return for each distance the fewest units per unit of capacity for which an integer split exists.

    With links of capacity one this is the load rounded up: by max-flow/min-cut a split of integer units exists if and
    only if every set of links has integer room for what must pass it. With larger capacities a link has room for the
    limit times its capacity rounded down, and the smallest limit is looked for.
    """
    if int(topology.capacity.max()) == 1:
        return [Fraction(math.ceil(load * units)) for load in loads]
    common = math.lcm(*np.unique(topology.capacity).tolist())
    if common > 2**20:
        raise TopologyError("the link capacities have too large a common multiple")
    limits = []
    for x, load in enumerate(loads, start=1):
        low, high = math.ceil(load * units * common) - 1, math.ceil(load * units) * common
        while high - low > 1:  # high is enough, low is not (or below the load)
            middle = (low + high) // 2
            if _fits(topology, x, units, Fraction(middle, common), len(loads)):
                high = middle
            else:
                low = middle
        limits.append(Fraction(high, common))
    return limits


def _fewest_units(topology: Topology, loads: list[Fraction], enough: int) -> int:
    """Return the smallest number of units that loses nothing; it exists and is at most ``enough``."""
    for units in range(1, min(enough, 1000)):
        if all(_fits(topology, x, units, load * units, len(loads)) for x, load in enumerate(loads, start=1)):
            return units
    return enough


def _fits(topology: Topology, x: int, units: int, limit: Fraction, steps: int) -> bool:
    """Whether an integer split exists whose links carry at most ``limit`` units per unit of capacity at distance x."""
    unlimited = [Fraction(topology.nodes * units)] * steps
    unlimited[x - 1] = limit
    sources = np.array(topology.representatives or range(topology.nodes), dtype=np.int64)
    return _batch(topology, sources, units, unlimited) is not None


def _rows(topology: Topology, units: int, limits: list[Fraction], progress: Progress | None) -> IntArray:
    most = topology.nodes * int(np.diff(topology.indptr).max())
    batch = max(1, _BATCH_ROWS // most)
    parts = []
    for first in range(0, topology.nodes, batch):
        if progress is not None:
            progress(first / topology.nodes)
        sources = np.arange(first, min(first + batch, topology.nodes), dtype=np.int64)
        part = _batch(topology, sources, units, limits)
        if part is None:
            raise TopologyError("no split keeps to the limits, which would be a fault of the pricing")
        parts.append(part)
    return np.concatenate(parts)


def _batch(topology: Topology, sources: IntArray, units: int, limits: list[Fraction]) -> IntArray | None:
    """Return the rows of some sources, or None if the limits are too small."""
    from topodesign.solve import kernels  # noqa: PLC0415  compiled code, slow to import

    numerator = np.array([0, *(limit.numerator for limit in limits)], dtype=np.int64)
    denominator = np.array([1, *(limit.denominator for limit in limits)], dtype=np.int64)
    rows = np.empty((len(sources) * topology.nodes * int(np.diff(topology.indptr).max()), 6), dtype=np.int64)
    count = kernels.split_rows(
        sources, topology.indptr, topology.dst, topology.capacity, units, numerator, denominator, rows
    )
    return None if count < 0 else rows[:count].copy()
