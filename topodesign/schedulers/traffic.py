"""Concurrent collectives that share links (TACOS, section VIII-G).

Every stream is synthesized as if it were alone, which settles over which links its data go and what waits for what.
Then one network decides when: event by event, each link takes the most urgent of the sends that wait for it, whichever
stream they are of (:mod:`~topodesign.schedulers.time_expanded.merging`). And because ways that are good alone may meet,
streams are synthesized again in view of the others, over links that are slower by the share of the time that others
have them; what is best in the end is kept.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import seal_array
from topodesign.base.errors import ParameterError
from topodesign.base.units import format_time
from topodesign.collectives import Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.groups import group_collective
from topodesign.fabrics.traffic import Stream, as_streams
from topodesign.plans.flow import Flow, Flows
from topodesign.plans.flow_ops import join_links
from topodesign.plans.link_times import LinkTimes, common_ticks
from topodesign.plans.plan import Plan
from topodesign.schedulers.method import Request, spec_of
from topodesign.schedulers.time_expanded.greedy import BoundedSends, synthesize
from topodesign.schedulers.time_expanded.merging import SharedLinks
from topodesign.schedulers.time_expanded.network import (
    Network,
    chunks_of,
    grain_of,
    list_missing,
    network_of,
    rounding,
    slower,
)
from topodesign.topology.topology import IntArray, Topology

_AGAIN = 3  # how often streams are synthesized in view of the others
_ORDERS = 12  # orders in which links take sends that are tried, each time
_LEAST_SHARE = 0.1  # what is left of a link's time at least, where others have it


class _Tenant(NamedTuple):
    """A stream on a network."""

    collective: Collective
    size: Fraction
    begin: int  # from which tick on
    wires: Network
    more: Fraction  # what times of links are longer by, at most, than their own


def plan_traffic(request: Request, place: Topology | Fabric, units: int) -> Plan:
    """Return the plan of all requested streams."""
    if request.group not in {"", ()} or request.only or request.root is not None:
        raise ParameterError(
            "--traffic cannot be combined with --group, --members or --root: it specifies groups, roots and sizes"
        )
    tenants = _tenants(request, place, units)
    alone = []
    for one in tenants:
        alone.append(_make_stream(request, one, one.wires, units))
        if request.progress is not None:
            request.progress(len(alone) / len(tenants) / (1 + _AGAIN))
    shared = _shared(tenants, tuple(made.timed for made in alone), request.seed or 0)
    topology = tenants[0].wires.topology
    if len(tenants) > 1:
        for number in range(_AGAIN):
            if request.progress is not None:
                request.progress((1 + number) / (1 + _AGAIN))
            if _quality(shared)[0] <= max(made.bound + one.begin for made, one in zip(alone, tenants, strict=True)):
                break
            streams = shared
            for at, one in enumerate(tenants):
                wires = slower(one.wires, _crowding(topology, streams, at))
                streams = (
                    *streams[:at],
                    _make_stream(request, one, wires, units, number + 1).timed,
                    *streams[at + 1 :],
                )
            shared = min(shared, _shared(tenants, streams, number + 1), key=_quality)
    return _add_notes(request, place, tenants, (alone, shared))


def _tenants(request: Request, place: Topology | Fabric, units: int) -> list[_Tenant]:
    """Return the streams with their link times on a network."""
    called = request.called if isinstance(place, Topology) else place
    topology = place if isinstance(place, Topology) else place.topology
    found = [one for stream in as_streams(request.traffic or ()) for one in _collectives(called, stream)]
    grain = grain_of(request)
    times = [request.but(size=stream.size).link_times(place, one, units, grain=grain) for stream, one in found]
    ready = request.ready_times
    others = (*(stream.begin for stream, _ in found), *ready, *(() if request.tick is None else (request.tick,)))
    latency = [int(ticks) * times[0].tick for ticks in times[0].latency.tolist()]
    per_unit = [int(ticks) * one.tick for one in times for ticks in one.per_unit.tolist()]
    exact = common_ticks(latency, per_unit, units, others)
    tenants = []
    more = max(one.more for one in times)
    for (stream, collective), row in zip(found, exact.per_unit.reshape(len(found), -1), strict=True):
        own = LinkTimes(exact.tick, exact.latency, seal_array(row.copy()))
        wires = network_of(topology, own, step=request.tick, ready=ready, overlap=request.overlap)
        tenants.append(_Tenant(collective, stream.size, int(stream.begin / exact.tick), wires, more))
    return tenants


def _collectives(fabric: Fabric, stream: Stream) -> list[tuple[Stream, Collective]]:
    """Return a stream as collectives, one per group size."""
    collective = stream.collective
    if collective.rooted and stream.root is None:
        raise ParameterError(f"{collective} requires a root; write it as GROUP={collective}:ROOT")
    single = group_collective(fabric, collective, stream.group, root=stream.root).single
    if len(single[0].group or ()) == len(fabric.compute):
        return [(stream, collective.at(single[0].root))]
    by_size: dict[int, list[Collective]] = {}
    for one in single:
        by_size.setdefault(len(one.group or ()), []).append(one)
    roots = [[one.root for one in those if one.root is not None] or None for those in by_size.values()]
    groups = [[one.group or () for one in those] for those in by_size.values()]
    return [(stream, collective.within(some, chosen)) for some, chosen in zip(groups, roots, strict=True)]


def _make_stream(request: Request, tenant: _Tenant, wires: Network, units: int, number: int = 0) -> BoundedSends:
    """Return a stream alone, over its own or slower links."""
    own = request.but(size=tenant.size, seed=(request.seed or 0) + number, progress=None)
    return synthesize(own, wires, tenant.collective, units)


def _shared(tenants: list[_Tenant], streams: tuple[Flow, ...], seed: int) -> tuple[Flow, ...]:
    """Return the streams with the best joint times found."""
    topology = tenants[0].wires.topology
    least = np.array([np.maximum(one.wires.opens, one.begin) for one in tenants])
    shared = SharedLinks(topology, streams, least)
    rng = np.random.default_rng(seed)
    longest = max(1, int(shared.remains.max(initial=1)))
    last = np.array([max(1, int(one.end.max(initial=1))) for one in streams])[shared.stream]
    begins = np.array([one.begin for one in tenants])[shared.stream]
    short_first = (longest - last) * 4 + shared.remains
    ranks = [shared.remains, shared.remains * (longest / last), shared.remains - last - begins, short_first]
    best = None
    for number in range(_ORDERS):
        rank = ranks[number % len(ranks)].astype(np.float64)
        if number >= len(ranks):  # some streams before others, and some sends before others
            favour = rng.uniform(0.6, 1.6, len(streams))[shared.stream]
            rank = (rank + longest) * favour + rng.uniform(0, 0.03 * longest, len(rank))
        found = shared.time_streams((rank * min(1.0, 2.0**50 / longest)).astype(np.int64))
        if best is None or _quality(found) < _quality(best):
            best = found
    return streams if best is None else best


def _quality(streams: tuple[Flow, ...]) -> tuple[int, int]:
    """Return the sort key of streams, by end times."""
    ends = [int(one.end.max(initial=0)) for one in streams]
    return max(ends), sum(ends)


def _crowding(topology: Topology, streams: tuple[Flow, ...], own: int) -> NDArray[np.float64]:
    """Return the slowdown of each link by other streams."""
    busy = np.zeros(len(topology.src))
    for at, one in enumerate(streams):
        if at != own:
            link = topology.link_index(one.src, one.dst)
            busy += np.bincount(link, weights=one.busy_until(link) - one.start, minlength=len(busy))
    share = busy / max(1, _quality(streams)[0])
    factor: NDArray[np.float64] = 1 / np.maximum(_LEAST_SHARE, 1 - share)
    return factor


def bound_together(tenants: list[_Tenant], alone: list[int], units: int) -> int:
    """Return a lower bound in ticks for all streams.

    It is the longest of what each needs alone from its beginning on, and what the links into, and out of, any node need
    to transmit all that must pass them, of all streams that have begun by then.
    """
    least = max(one.begin + ticks for one, ticks in zip(tenants, alone, strict=True))
    topology = tenants[0].wires.topology
    loads = [_loads(one.wires, one.collective, units) for one in tenants]
    first = tenants[0].wires.per_unit
    ratio = [Fraction(int(one.wires.per_unit[0]), int(first[0])) for one in tenants]
    real = topology.src != topology.dst
    for side, ends in ((0, topology.dst), (1, topology.src)):
        for node in range(topology.nodes):
            links = np.flatnonzero(real & (ends == node))
            rate = sum((Fraction(1, int(ticks)) for ticks in first[links].tolist()), Fraction(0))
            if not rate:
                continue
            for begin in {one.begin for one in tenants}:
                some = [at for at, one in enumerate(tenants) if one.begin >= begin and loads[at][side][node]]
                work = sum((int(loads[at][side][node]) * ratio[at] for at in some), Fraction(0))
                least = max(least, begin + -(-work // rate) if some else 0)
    return int(least)


def _loads(wires: Network, collective: Collective, units: int) -> tuple[IntArray, IntArray]:
    """Return the minimum units that enter and leave every node."""
    nodes = wires.topology.nodes
    into, out = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    for part in collective.parts:
        chunks = chunks_of(wires, part.dual if part.reduces else part, units)
        node, chunk = list_missing(chunks)
        sides = np.bincount(node, minlength=nodes), np.bincount(chunks.at[np.unique(chunk)], minlength=nodes)
        into, out = into + sides[part.reduces], out + sides[not part.reduces]
    return into, out


def _add_notes(
    request: Request,
    place: Topology | Fabric,
    tenants: list[_Tenant],
    made_of: tuple[list[BoundedSends], tuple[Flow, ...]],
) -> Plan:
    """Return the plan with notes on each stream."""
    alone, shared = made_of
    begun = zip(shared, tenants, strict=True)
    moved = Flows(tuple(join_links(one.having(clock=one.timing._replace(begin=own.begin))) for one, own in begun))
    tick = shared[0].timing.tick
    bound = bound_together(tenants, [made.bound for made in alone], shared[0].units) * tick
    notes = [f"lower bound for these streams and chunks: {format_time(bound)}"]
    if moved.time == bound:
        notes = ["optimal (proven): least time among plans of these streams and chunks"]
    elif bound:
        notes = [
            f"within {float(moved.time / bound - 1):.2%} of the lower bound for these streams: {format_time(bound)}"
        ]
    for number, (one, made, tenant) in enumerate(zip(shared, alone, tenants, strict=True)):
        begin = f" from {format_time(tenant.begin * tick)} on" if tenant.begin else ""
        took = format_time(one.time - tenant.begin * tick)
        notes.append(f"stream {number}: {one.collective}{begin} takes {took}, alone {format_time(made.timed.time)}")
    ends = Fraction(0)
    for tenant, made in sorted(zip(tenants, alone, strict=True), key=lambda pair: pair[0].begin):
        ends = max(ends, tenant.begin * tick) + made.timed.time
    notes.append(f"in sequence: {format_time(ends)}")
    notes += rounding(request, tenants[0].more)
    generator = {
        "method": "tacos",
        "seed": request.seed or 0,
        "tries": max(made.tries for made in alone),
        "chunks": shared[0].units,
        "bound": str(bound),
        "alone": [str(made.timed.time) for made in alone],
        "overlap": request.overlap,
        "tick": None if request.tick is None else str(request.tick),
    }
    claim = {"time": moved.time} | {f"time_{number}": one.time for number, one in enumerate(shared)}
    return Plan(place, moved, claim, spec_of(request), generator, tuple(notes))
