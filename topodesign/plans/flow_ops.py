"""Operations on flows: reverse, concatenate, rename and join."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from topodesign.base.arrays import ranges
from topodesign.base.errors import InfeasibleError, ScheduleError, TooLargeError
from topodesign.base.wording import with_article
from topodesign.collectives import ALLREDUCE
from topodesign.collectives.collective import Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.build import blocks_named, check_units, lay_out, renamed
from topodesign.plans.chunk_ops import MAX_WEIGHT, find_parts, routes_of, sort_sends, take_sends
from topodesign.plans.flow import PIECES, SENDS, Circuits, Column, Flow, Routes, equal, has_same_fold
from topodesign.topology.topology import IntArray, Topology


def reverse(flow: Flow, place: Topology | Fabric | None = None) -> Flow:
    """Return a flow reversed in time: the dual collective, as fast.

    In steps or by the clock, over reversed links.

    Of what is sent nothing may be superfluous: a delivery of what a node has already would become a partial sum that it
    does not have any more.

    Parameters
    ----------
    place
        The links turned round; None for the transpose of the flow's topology.

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 8 and Theorem 1.
    """
    if flow.model == "chunks":
        return _reverse_chunks(flow, flow.topology.transpose() if place is None else place)
    last, block, clock = _last(flow), flow.block, flow.clock
    if flow.collective.pairwise:  # what went from s to t now goes from t to s
        source, target = np.divmod(block, flow.nodes)
        block = (target * flow.nodes + source).astype(block.dtype)
    if clock is not None:
        turned = np.lexsort((flow.topology.src, flow.topology.dst))
        clock = clock._replace(latency=clock.latency[turned], per_unit=clock.per_unit[turned])
    return replace(
        flow,
        collective=flow.collective.dual,
        place=flow.topology.transpose() if place is None else place,
        block=block,
        src=flow.dst,
        dst=flow.src,
        start=last - flow.end,
        end=last - flow.start,
        part=(len(flow.movements) - 1 - flow.part).astype(flow.part.dtype),
        routes=None if flow.routes is None else _reverse_routes(flow.routes, last),
        circuits=None if flow.circuits is None else _reverse_circuits(flow.circuits, flow.steps),
        clock=clock,
    )


def _reverse_chunks(flow: Flow, place: Topology | Fabric) -> Flow:
    """Return trees reversed in time: out-trees become in-trees."""
    if flow.rate is None:
        raise ScheduleError("paths are not reversed")
    flow = sort_sends(flow)
    routes, pieces, sends = routes_of(flow), len(flow.block), len(flow)
    length = np.diff(routes.hop_start)[::-1]
    cuts = np.concatenate(([0], np.cumsum(length))).astype(np.int64)
    ways = Routes(sends - 1 - routes.send[::-1], routes.weight[::-1].copy(), cuts, routes.hop[::-1].copy())
    columns: dict[str, Any] = {name: getattr(flow, name)[::-1].copy() for name in (*PIECES, "weight", *SENDS)}
    columns |= {"src": columns["dst"], "dst": columns["src"], "piece": pieces - 1 - columns["piece"]}
    columns |= {"part": len(flow.movements) - 1 - columns["part"], "start": np.arange(sends)}
    columns["end"] = columns["start"] + 1
    return lay_out(replace(flow, collective=flow.collective.dual, place=place, routes=ways, **columns))


def _last(flow: Flow) -> int:
    """Return the instant at which a flow is over."""
    return flow.steps if flow.model == "steps" else int(flow.end.max(initial=0))


def _reverse_routes(routes: Routes, last: int) -> Routes:
    at = _backwards(routes.hop_start)
    found = routes._replace(hop=routes.hop[at])
    if routes.start is None or routes.end is None:
        return found
    link = _backwards(routes.hop_start - np.arange(len(routes.hop_start)))
    return found._replace(start=last - routes.end[link], end=last - routes.start[link])


def _backwards(cut: IntArray) -> IntArray:
    """Return the places of each part's entries, last first."""
    owner, at = ranges(cut[:-1], np.diff(cut))
    found: IntArray = cut[owner] + cut[owner + 1] - 1 - at
    return found


def _reverse_circuits(circuits: Circuits, steps: int) -> Circuits:
    ends = np.append(circuits.begin[1:], steps)
    return circuits._replace(
        begin=steps - ends[::-1],
        phase=circuits.changes - circuits.phase,
        src=circuits.dst,
        src_port=circuits.dst_port,
        dst=circuits.src,
        dst_port=circuits.src_port,
    )


def concatenate(
    first: Flow,
    second: Flow,
    *,
    begin: int | None = None,
    collective: Collective | None = None,
    concurrent: bool = False,
) -> Flow:
    """Return an allreduce of its halves, or another collective of two parts.

    In steps, units of blocks are as many as both count; by the clock both have the same units and clock. Circuits are
    joined by whoever knows what stays in the middle.

    Parameters
    ----------
    begin
        Instant from which the second counts its own; None for when all of the first is over.
    collective
        What both are together; None for the allreduce of their nodes.
    concurrent
        Of trees: whether both share the links at the same time.
    """
    if first.kind != second.kind or first.kind == "paths":
        both = first.kind if first.kind == second.kind else f"{first.kind} and {second.kind}"
        raise InfeasibleError(f"plans in {both} are not put after one another")
    allreduce = replace(first.collective, name=ALLREDUCE.name, movements=ALLREDUCE.movements, labels=ALLREDUCE.labels)
    whole = collective or allreduce
    if (first.collective, second.collective) != whole.parts:
        parts = " and ".join(with_article(part) for part in whole.parts)
        raise ScheduleError(
            f"{with_article(whole)} is made of {parts}, not of {first.collective} and {second.collective}"
        )
    if first.rate is not None:
        return _join_trees(first, second, whole, concurrent=concurrent)
    if first.nodes != second.nodes:
        raise ScheduleError(f"flows among {first.nodes} and {second.nodes} nodes are not put after one another")
    heads = [(None if one.model == "steps" else one.topology, one.routes is None) for one in (first, second)]
    if heads[0] != heads[1] or first.circuits is not None:
        raise ScheduleError("only flows over the same links are put after one another")
    if first.clock is not None and not (first.units == second.units and equal(first.clock, second.clock)):
        raise ScheduleError("only plans for the same links, units and sizes are put after one another")
    if not has_same_fold(first.fold, second.fold):
        raise InfeasibleError("plans of different symmetries are not put after one another")
    units = math.lcm(first.units, second.units)
    check_units(units)
    pieces = {name: np.concatenate((getattr(first, name), getattr(second, name))) for name in PIECES}
    scale = np.repeat([units // first.units, units // second.units], [len(first.block), len(second.block)])
    middle = _last(first) if begin is None else begin
    shift = {"piece": len(first.block), "start": middle, "end": middle, "part": 1, "src": 0, "dst": 0}
    sends: dict[str, Any] = {
        name: np.concatenate((getattr(first, name), getattr(second, name) + shift[name])) for name in SENDS
    }
    routes = first.routes
    if routes is not None and second.routes is not None:
        routes = _join_routes(routes, second.routes, len(first), middle)
    columns: dict[str, Any] = {"block": pieces["block"], "lo": pieces["lo"] * scale, "hi": pieces["hi"] * scale}
    return replace(
        first, collective=whole, units=units, steps=first.steps + second.steps, routes=routes, **columns, **sends
    )


def halves(flow: Flow) -> tuple[Flow, Flow]:
    """Return the reduce-scatter and the allgather of an allreduce in steps or by trees."""
    if not flow.collective.like(ALLREDUCE):
        raise ScheduleError(f"only an allreduce has halves, not {flow.collective}")
    found, middle = list[Flow](), flow.reduce_steps
    for number, one in enumerate(flow.collective.parts):
        if flow.model == "chunks":
            flow = sort_sends(flow)
            pieces, sends = np.flatnonzero(find_parts(flow) == number), np.flatnonzero(flow.part == number)
            zeros = np.zeros(len(sends), dtype=np.int64)
            found.append(lay_out(take_sends(flow, pieces, sends, collective=one, part=zeros)))
            continue
        own, begin = flow.some((flow.step > middle) == number), middle * number
        times = {"start": own.start - begin, "end": own.end - begin, "part": np.zeros_like(own.part)}
        steps = flow.steps - middle if number else middle
        found.append(own.having(collective=one, steps=steps, **times))
    return found[0], found[1]


def _join_trees(first: Flow, second: Flow, whole: Collective, *, concurrent: bool) -> Flow:
    """Return the allreduce of in-trees and out-trees, at their common rate."""
    parts = [sort_sends(one) for one in (first, second)]
    rates = [one.rate or Fraction(1) for one in parts]
    common = math.lcm(*(rate.denominator for rate in rates))
    rate = Fraction(math.gcd(*(int(rate * common) for rate in rates)), common)
    factors, weights = [int(one / rate) for one in rates], [np.asarray(one.weight) for one in parts]
    if max(factor * int(weight.max()) for factor, weight in zip(factors, weights, strict=True)) > MAX_WEIGHT:
        raise TooLargeError("the rates of reduce-scatter and allgather have no common part large enough; fix k")
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(one, name) for one in parts]) for name in (*PIECES, *SENDS)
    }
    columns["piece"][len(parts[0]) :] += len(parts[0].block)
    columns["part"][len(parts[0]) :] += 1
    ways = [routes_of(one) for one in parts]
    ways = [one._replace(weight=one.weight * factor) for one, factor in zip(ways, factors, strict=True)]
    weight = np.concatenate([weight * factor for weight, factor in zip(weights, factors, strict=True)])
    routes = _join_routes(ways[0], ways[1], len(parts[0]), 0)
    joined = replace(
        parts[0], collective=whole, rate=rate, weight=weight, routes=routes, concurrent=concurrent, **columns
    )
    return lay_out(joined)


def _join_routes(first: Routes, second: Routes, sends: int, middle: int) -> Routes:
    """Return the routes of two flows, the second after the first."""
    joined = Routes(
        np.concatenate((first.send, second.send + sends)),
        np.concatenate((first.weight, second.weight)),
        np.concatenate((first.hop_start, second.hop_start[1:] + len(first.hop))),
        np.concatenate((first.hop, second.hop)),
    )
    if first.start is None or first.end is None or second.start is None or second.end is None:
        return joined
    return joined._replace(
        start=np.concatenate((first.start, second.start + middle)),
        end=np.concatenate((first.end, second.end + middle)),
    )


def join_links(flow: Flow) -> Flow:
    """Return a clock flow with sends through switches joined to routes.

    A switch has no data of its own: it passes on what arrives, as it arrives. A send from a switch goes on with the
    send to it that brought the same units, the earlier first. Where more sends leave than have arrived, as a switch
    copies, all the remaining ones go on with the last; they share a piece. Sends that begin or end at a switch, since
    nothing goes on with them, stay as they are; the verifier refuses them.
    """
    switches = flow.topology.switches
    if not switches or flow.routes is not None:
        return flow
    before, rows = _find_sources(flow), np.arange(len(flow))
    switch = np.zeros(flow.nodes, dtype=np.bool_)
    switch[list(switches)] = True
    last = np.flatnonzero(~switch[flow.dst])
    chain, chains = last, [last]  # of every send to a node those before it, back to a node
    for _ in range(len(switches)):  # no send meets a switch twice and leaves time to do so
        if not (before[chain] >= 0).any():
            break
        chain = np.where(before[chain] >= 0, before[chain], chain)
        chains.append(chain)
    begins = ~switch[flow.src[chain]]
    back = np.stack(chains, axis=1)[begins][:, ::-1]
    new = np.diff(back, axis=1, prepend=-1) != 0
    alone = np.setdiff1d(rows, back)
    last, first = np.concatenate((last[begins], alone)), np.concatenate((chain[begins], alone))
    length = np.concatenate((new.sum(axis=1), np.ones(len(alone), dtype=np.int64)))
    use = np.concatenate((back[new], alone))
    hop_start = np.concatenate(([0], np.cumsum(length + 1)))
    inner = np.ones(len(use) + len(last), dtype=np.bool_)
    inner[hop_start[1:] - 1] = False
    hop = np.empty(len(inner), dtype=np.int64)
    hop[inner], hop[~inner] = flow.src[use], flow.dst[last]
    times = flow.start[use], flow.end[use]
    routes = Routes(np.arange(len(last)), np.ones(len(last), dtype=np.int64), hop_start, hop, *times)
    # Sends with a first link in common are of one piece, which a switch copies.
    starts, piece = np.unique(first, return_inverse=True)
    columns: dict[str, Any] = {name: flow.of_sends(getattr(flow, name))[starts] for name in PIECES}
    columns |= {"piece": piece.ravel(), "src": flow.src[first], "dst": flow.dst[last], "part": flow.part[last]}
    late = np.maximum(flow.end[last], flow.start[first] + 1)  # others are among the problems, as too early
    return replace(flow, start=flow.start[first], end=late, routes=routes, **columns)


def _find_sources(flow: Flow) -> IntArray:
    """Return the send that each link use continues, -1 if none."""
    switch = np.zeros(flow.nodes, dtype=np.bool_)
    switch[list(flow.topology.switches)] = True
    into, out = np.flatnonzero(switch[flow.dst]), np.flatnonzero(switch[flow.src])
    what = [flow.part, *(flow.of_sends(getattr(flow, name)) for name in PIECES)]

    def keys(rows: IntArray, at: Column) -> IntArray:
        """Return what sends carry at a switch, with a count of repeats."""
        same = np.stack((at[rows], *(column[rows] for column in what))).astype(np.int64)
        order = np.lexsort((flow.start[rows], *same[::-1]))
        new = np.append(True, np.any(np.diff(same[:, order], axis=1) != 0, axis=0))[: len(rows)]
        turn = np.empty(len(rows), dtype=np.int64)
        turn[order] = np.arange(len(rows)) - np.maximum.accumulate(np.where(new, np.arange(len(rows)), 0))
        return np.vstack((same, turn))

    arriving, leaving = keys(into, flow.dst), keys(out, flow.src)
    _, number = np.unique(np.hstack((arriving, leaving))[:-1], axis=1, return_inverse=True)
    came, went = np.split(number.ravel(), [len(into)])
    many = np.bincount(came, minlength=int(number.max(initial=-1)) + 1)
    place = into[np.lexsort((arriving[-1], came))]
    before, found = np.full(len(flow), -1), many[went] > 0
    at = (np.cumsum(many) - many)[went] + np.minimum(leaving[-1], many[went] - 1)
    before[out[found]] = place[at[found]]
    return before


def relabel(flow: Flow, order: IntArray, place: Topology | Fabric | None = None) -> Flow:
    """Return a flow with node v called ``order[v]``, on ``place`` or its renamed links."""
    if order.shape != (flow.nodes,) or not np.array_equal(np.sort(order), np.arange(flow.nodes)):
        raise ScheduleError(f"relabelling requires a permutation of the nodes 0 to {flow.nodes - 1}")
    if flow.fold is not None:
        raise InfeasibleError(f"a plan in {flow.kind} has no image under {len(order)} names")
    routes, circuits, sizes, here = flow.routes, flow.circuits, flow.sizes, flow.topology
    if place is None:
        switches = [int(order[switch]) for switch in here.switches]
        place = Topology.from_arrays(here.nodes, order[here.src], order[here.dst], here.capacity, switches=switches)
    block = blocks_named(flow.collective, flow.block, order).astype(flow.block.dtype)
    if flow.model == "chunks":
        there = place.topology if isinstance(place, Fabric) else place
        images = there.link_index(order[here.src], order[here.dst])
        if np.any(images < 0) or not np.array_equal(there.capacity[images], here.capacity):
            raise ScheduleError("the permutation does not keep the links, so that trees have no image")
    if sizes is not None:
        named, old = np.zeros_like(sizes), np.arange(len(sizes))
        named[blocks_named(flow.collective, old, order)] = sizes
        sizes = named
    return replace(
        flow,
        collective=renamed(flow.collective, order.tolist()),
        place=place,
        block=block,
        sizes=sizes,
        src=order[flow.src].astype(flow.src.dtype),
        dst=order[flow.dst].astype(flow.dst.dtype),
        routes=None if routes is None else routes._replace(hop=order[routes.hop]),
        circuits=None if circuits is None else circuits._replace(src=order[circuits.src], dst=order[circuits.dst]),
    )
