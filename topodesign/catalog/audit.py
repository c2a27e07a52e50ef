"""Audits of rows against their links, by independent code.

Of the topology only the links are read, and generators of its symmetry, which are held against the links before they
are believed. Distances, the bandwidth factors of SPFF, regularity and cabling are worked out here, in plain NumPy. A
deferred schedule is made again and replayed: every piece comes over a link from somebody who has it by then.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.cost import Basis
from topodesign.base.errors import TopodesignError
from topodesign.catalog.all_to_all_rows import Exchange
from topodesign.catalog.flow_audit import wrong_flow
from topodesign.catalog.replayed import Digraph, Ints, InvalidScheduleError, Orbits, orbits_of, replay
from topodesign.catalog.rows import Row
from topodesign.pricing.split_deferral import best_deferral
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

_MAX_WORK = 2**33  # nodes looked at times nodes times ports; beyond, some nodes are a sample
_CELLS = 2**27  # distances that are held at once
_SUBSETS = 2**21  # counts of subsets that are held at once
_MAX_NEIGHBOURS = 20
_SEED = 0  # of the sample of nodes


class AuditedRow(NamedTuple):
    """What came of the audit of a row.

    * ``sampled``: whether only some of the nodes were looked at, drawn at random: then nothing that was seen costs more
      than the row says.
    """

    wrong: str | None  # what is not true of it; None if everything is
    sampled: bool = False


class SampledFigures(NamedTuple):
    """Figures from some nodes: largest distance, SPFF factor, distance sums."""

    steps: int
    bandwidth: Fraction
    sums: Ints


def audit_row(row: Row) -> AuditedRow:
    """Return the faults of a row, and whether only a sample was checked."""
    try:
        return _audit_row(row)
    except TopodesignError as error:
        return AuditedRow(f"it cannot be rebuilt: {str(error).splitlines()[0]}")
    except InvalidScheduleError as error:
        return AuditedRow(f"audited it has {error}")


def _audit_row(row: Row) -> AuditedRow:
    topology, links, orbits = _links(row.spec)
    turned = links.reverse()
    duplex = links.is_same(turned)
    wrong = _wrong_form(row, links, duplex)
    roots = orbits.roots
    count = max(1, _MAX_WORK // (links.nodes * row.degree))
    sampled = len(roots) > count
    looked = np.sort(np.random.default_rng(_SEED).permutation(roots)[:count]) if sampled else roots
    there = spff(links, row.degree, looked)
    back = there if duplex else spff(turned, row.degree, looked)
    fewer = there.steps < row.cost.steps and not (sampled or row.deferred)  # a deferred schedule may take more
    if there.steps > row.cost.steps or fewer:
        wrong.append(f"steps {there.steps}, not {row.cost.steps}")
    factors = [there.bandwidth, back.bandwidth]
    if row.deferred:
        again = [_price_deferred(topology.transpose(), turned, row, orbits)]
        again.append(again[0] if duplex else _price_deferred(topology, links, row, orbits))
        factors = [min(pair) for pair in zip(factors, again, strict=True)] if not sampled else again
    at_most = row.deferred or row.basis is Basis.BOUND or sampled
    for name, found, said in zip(("bandwidth", "allgather"), factors, (row.cost, row.allgather), strict=True):
        if found > said.bandwidth or (found != said.bandwidth and not at_most):
            wrong.append(f"{name} {found}, {'above' if at_most else 'not'} {said.bandwidth}")
    if row.allgather.bandwidth > row.cost.bandwidth:
        wrong.append("an allgather that costs more than the reduce-scatter")
    if row.all_to_all is not None and not sampled:
        untrue = wrong_flow(topology, links, orbits, row.degree, row.all_to_all)
        wrong += [] if untrue is None else [untrue]
    return AuditedRow("audited it has " + ", ".join(wrong) if wrong else None, sampled)


def audit_exchange(one: Exchange, degree: int) -> str | None:
    """Return the fault of an all-to-all entry, or None."""
    try:
        wrong = _wrong_exchange(one, degree)
    except TopodesignError as error:
        return f"it cannot be rebuilt: {str(error).splitlines()[0]}"
    except InvalidScheduleError as error:
        wrong = str(error)
    return None if wrong is None else f"audited it has {wrong}"


def _wrong_exchange(one: Exchange, degree: int) -> str | None:
    topology, links, orbits = _links(one.spec)
    ports = np.concatenate([np.bincount(ends, links.capacity, links.nodes) for ends in (links.src, links.dst)])
    far = distances(links, orbits.roots)
    found = links.nodes, int(ports.min()), int(ports.max()), links.is_same(links.reverse()), int(far.max())
    if found != (one.nodes, degree, degree, one.duplex, one.steps) or (far < 0).any():
        return f"nodes, ports from and to, duplex and steps {found}"
    return wrong_flow(topology, links, orbits, degree, one.all_to_all)


def _links(spec: str) -> tuple[Topology, Digraph, Orbits]:
    """Return a spec's topology, links, and symmetry checked against the links."""
    topology = build(spec)
    columns = (np.array(column, dtype=np.int64) for column in (topology.src, topology.dst, topology.capacity))
    links = Digraph.of(topology.nodes, *columns)
    return topology, links, orbits_of(links, () if topology.symmetry is None else topology.symmetry.generators)


def _wrong_form(row: Row, links: Digraph, duplex: bool) -> list[str]:
    """Return the fault of a row's size, ports or cabling, or None."""
    ports = [np.bincount(ends, links.capacity, links.nodes).astype(np.int64) for ends in (links.src, links.dst)]
    wrong = [] if links.nodes == row.nodes else [f"nodes {links.nodes}, not {row.nodes}"]
    if max(int(one.max()) for one in ports) != row.degree:
        wrong.append(f"degree {max(int(one.max()) for one in ports)}, not {row.degree}")
    if not all((one == one[0]).all() for one in ports):
        wrong.append("nodes with fewer ports than others")
    if duplex != row.duplex:
        wrong.append(f"wiring {'duplex' if duplex else 'simplex'}, not {row.wiring}")
    return wrong


def distances(links: Digraph, sources: Ints) -> NDArray[np.int32]:
    """Return distances from some nodes, -1 if unreachable.

    A bit per source at every node.
    """
    into = _pad_links(links)
    place = np.arange(len(sources))
    seen = np.zeros((links.nodes, -(-len(sources) // 8)), np.uint8)
    seen[sources, place >> 3] = (1 << (place & 7)).astype(np.uint8)
    far = np.full((len(sources), links.nodes), -1, np.int32)
    far[place, sources] = 0
    fresh, step = seen.copy(), 0
    while fresh.any():
        step += 1
        coming = np.zeros_like(seen)
        for column in into:
            coming |= fresh[column]
        fresh = coming & ~seen
        seen |= fresh
        node, byte = np.nonzero(fresh)
        bits = fresh[node, byte]
        for bit in range(8):
            hit = (bits >> bit & 1).astype(bool)
            far[8 * byte[hit] + bit, node[hit]] = step
    return far


def _pad_links(links: Digraph) -> Ints:
    """Return in-neighbours in equally many rows, padded with the node itself."""
    order = np.argsort(links.dst, kind="stable")
    count = np.bincount(links.dst, minlength=links.nodes)
    row = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    into = np.tile(np.arange(links.nodes), (int(count.max()), 1))
    into[row, links.dst[order]] = links.src[order]
    return into


def spff(links: Digraph, degree: int, nodes: Ints) -> SampledFigures:
    """Return what some nodes show of the reduce-scatter by SPFF.

    What a node must send to those at distance x goes over its links on shortest ways: a link carries at least what all
    can carry together that some of them have to, and by max-flow/min-cut no more than the most of these.
    """
    first = np.searchsorted(links.src, np.arange(links.nodes + 1))
    most: list[Fraction] = []
    sums = []
    at_once = max(1, _CELLS // (links.nodes * (1 + degree)))
    if links.nodes**2 <= _CELLS:
        at_once = len(nodes)
    for start in range(0, len(nodes), at_once):
        some = nodes[start : start + at_once]
        near = np.concatenate([some, *(links.dst[first[one] : first[one + 1]] for one in some)])
        sources, where = np.unique(near, return_inverse=True)
        far = distances(links, sources)
        if (far < 0).any():
            raise InvalidScheduleError("nodes that others do not reach")
        at = len(some)
        for place, node in enumerate(some.tolist()):
            ends, capacity = links.dst[first[node] : first[node + 1]], links.capacity[first[node] : first[node + 1]]
            own, hops = far[where[place]], where[at : at + len(ends)]
            at += len(ends)
            proper = ends != node
            loads = _loads(own, far[hops[proper]], capacity[proper])
            most += [Fraction(0)] * (len(loads) - len(most))
            most[: len(loads)] = map(max, most, loads)
            sums.append(int(own.sum()))
    return SampledFigures(len(most), Fraction(degree, links.nodes) * sum(most), np.array(sums, dtype=np.int64))


def _loads(own: NDArray[np.int32], hops: NDArray[np.int32], capacity: Ints) -> list[Fraction]:
    """Return the largest load per capacity over all subsets, by distance.

    * ``own``: distances from the node.
    * ``hops``: distances from its neighbours.
    """
    count, steps = len(hops), int(own.max())
    if count > _MAX_NEIGHBOURS:
        raise InvalidScheduleError(
            f"{count} neighbours at a node, more than the {_MAX_NEIGHBOURS} that an audit can count"
        )
    key = np.zeros(len(own), np.int64)
    for bit, row in enumerate(hops):
        key |= (row == own - 1).astype(np.int64) << bit
    key = (key + ((own.astype(np.int64) - 1) << count))[own > 0]
    ways = np.bincount(key, minlength=steps << count).astype(np.int32).reshape(steps, 1 << count)
    low = count // 2
    order, begin, sizes = _by_capacity(tuple(capacity.tolist()), low)
    found = []
    at_once = max(1, _SUBSETS >> count)
    for start in range(0, steps, at_once):
        part = ways[start : start + at_once].reshape(-1, 1 << (count - low), 1 << low).copy()
        _add_subsets(part, count - low)
        part = np.ascontiguousarray(part.transpose(0, 2, 1))
        _add_subsets(part, low)
        within = np.maximum.reduceat(part.reshape(len(part), -1)[:, order], begin, axis=1)
        found += [max(map(Fraction, row, sizes)) for row in within.tolist()]
    return found


@lru_cache(maxsize=256)
def _by_capacity(capacity: tuple[int, ...], low: int) -> tuple[Ints, Ints, list[int]]:
    """Return nonempty link sets by capacity, with offsets and capacities.

    The first ``low`` of the links count most in the number of a set.
    """
    turned = [*capacity[low:], *capacity[:low]]
    weight = np.zeros(1, np.int64)
    for size in turned:
        weight = np.concatenate([weight, weight + size])
    order = np.argsort(weight, kind="stable")[1:]
    begin = np.flatnonzero(np.diff(weight[order], prepend=0))
    return order, begin, weight[order][begin].tolist()


def _add_subsets(counts: NDArray[np.int32], bits: int) -> None:
    """Add to the count of each set those of its subsets, in place."""
    layers, _, width = counts.shape
    for bit in range(bits):
        view = counts.reshape(layers, 1 << (bits - 1 - bit), 2, (1 << bit) * width)
        view[:, :, 1] += view[:, :, 0]


def _price_deferred(topology: Topology, links: Digraph, row: Row, orbits: Orbits) -> Fraction:
    """Return the factor of a deferred allgather, made again and replayed."""
    found = best_deferral(topology)
    few = len(found.receivers) < links.nodes
    if few and not np.array_equal(np.sort(found.receivers), orbits.roots):
        raise InvalidScheduleError("a schedule of nodes that do not stand for all others")
    if few and not orbits.are_free():
        raise InvalidScheduleError("a schedule by a symmetry that leaves nodes where they are")
    return replay(links, found.moves, row.cost.steps, orbits if few else None) * Fraction(row.degree, links.nodes)
