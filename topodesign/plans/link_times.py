"""Latencies and rates of unequal links, in common ticks."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import seal_array
from topodesign.base.errors import ParameterError, TooLargeError
from topodesign.collectives import Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.flow import MAX_TICKS, Clock, Flow, fastest_link
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import IntArray, Topology


class LinkTimes(NamedTuple):
    """How long links take."""

    tick: Fraction  # seconds of one tick, the longest of which all times are multiples
    # latency, per_unit: ticks of every link, and of every unit on it, int64 arrays of shape ``(links,)``
    latency: IntArray
    per_unit: IntArray
    # seconds by which a latency, or the time of a unit, may be longer than the link's own: above zero only where that
    # was asked for
    more: Fraction = Fraction(0)


def link_times(
    topology: Topology,
    collective: Collective,
    units: int,
    *,
    size: Fraction,
    alpha: Fraction,
    bandwidth: Fraction,
    links: LinkTable | None = None,
    grain: Fraction | None = None,
) -> LinkTimes:
    """Return the exact times of all links.

    Seconds, bytes of the whole data M, and bits per second of all links of a node; ``links`` are other values of
    single ones. Where the exact times have no common tick that can be counted, they are rounded up to multiples of
    ``grain`` seconds; None refuses them.
    """
    table = LinkTable({}, {}) if links is None else links.on(topology)
    if size <= 0 or bandwidth <= 0 or min([alpha, *table.alpha.values()]) < 0:
        raise ParameterError("alpha must not be negative, size and bandwidth must be above zero")
    bits = 8 * Fraction(size) / (collective.shards(len(collective.members(topology.nodes, topology.switches))) * units)
    port = bandwidth / max(1, topology.degree)
    pairs = [(u, v) for u, v, _ in topology.links()]
    latency = [Fraction(table.alpha.get(pair, alpha)) for pair in pairs]
    own = {ports: port * ports for ports in set(topology.capacity.tolist())}
    ends = zip(pairs, topology.capacity.tolist(), strict=True)
    rates = [table.bandwidth.get(pair, own[ports]).as_integer_ratio() for pair, ports in ends]
    seconds = {rate: bits / Fraction(*rate) for rate in set(rates)}  # links have few, and Fractions are slow keys
    per_unit = [seconds[rate] for rate in rates]
    try:
        return common_ticks(latency, per_unit, units)
    except TooLargeError:
        if grain is None:
            raise
        latency, per_unit = ([-(-time // grain) * grain for time in times] for times in (latency, per_unit))
        return common_ticks(latency, per_unit, units)._replace(more=grain)


def common_ticks(
    latency: list[Fraction], per_unit: list[Fraction], units: int, others: tuple[Fraction, ...] = ()
) -> LinkTimes:
    """Return link times as multiples of the longest common tick."""
    values = {value.as_integer_ratio() for value in (*latency, *per_unit, *others)}
    below = math.lcm(*(denominator for _, denominator in values))
    parts = {(many, denominator): many * (below // denominator) for many, denominator in values}
    longest = math.gcd(*parts.values()) or 1
    waits, sends = ([parts[time.as_integer_ratio()] // longest for time in times] for times in (latency, per_unit))
    if units * max(sends, default=1) + max(waits, default=1) >= MAX_TICKS:
        raise TooLargeError(
            "the times of the links have no common tick that 64 bits can count; use rounder numbers, or "
            "--set tick=1us of --algorithm tacos, which rounds them up and says by how much"
        )
    return LinkTimes(
        Fraction(longest, below),
        seal_array(np.array(waits, dtype=np.int64)),
        seal_array(np.array(sends, dtype=np.int64)),
    )


def flow_in_ticks(
    place: Topology | Fabric,
    collective: Collective,
    data: tuple[int, Fraction],
    times: LinkTimes,
    columns: tuple[NDArray[np.integer[Any]], ...],
    *,
    part: NDArray[np.integer[Any]] | None = None,
    overlap: bool,
) -> Flow:
    """Return sends over links as a clock flow of given blocks and bytes.

    ``columns`` are start, end, src, dst, block, lo and hi, and become the flow's own; ``part`` is the first movement if
    None. Its times are for the bandwidth of the fastest link.
    """
    start, end, src, dst, block, lo, hi = columns
    clock = Clock(times.tick, data[1], overlap, times.latency, times.per_unit)
    part = np.zeros(len(start), dtype=np.int8) if part is None else part
    sends = np.arange(len(start), dtype=np.int32), src, dst, start, end, part
    made = Flow(collective, place, "clock", data[0], block, lo, hi, *sends, clock=clock)
    return replace(made, clock=clock._replace(bandwidth=fastest_link(made)))
