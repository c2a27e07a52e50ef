"""Cartesian product: links along one coordinate at a time."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from topodesign.base.cost import Basis, Cost
from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError, TooLargeError
from topodesign.collectives import REDUCE_SCATTER
from topodesign.graphs.expansions.expansion import Base, Claim, Expansion, require_base
from topodesign.graphs.expansions.lifting import lift_both_ways
from topodesign.plans.build import build_steps, check_rows, check_units
from topodesign.plans.flow import Flow
from topodesign.plans.step_ops import canonical, find_links
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology, check_buildable

_SIGNATURE = "product(G,H,...)"


def graph(*factors: Topology) -> Topology:
    """Return the Cartesian product; node (u1, u2, ...) is u1 + N1*(u2 + N2*(...)).

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 5.
    """
    if len(factors) < 2:
        raise ParameterError(f"{_SIGNATURE} requires at least two topologies")
    bases = [require_base(factor, _SIGNATURE) for factor in factors]
    nodes = math.prod(base.nodes for base in bases)
    check_buildable(nodes, sum(len(base.src) * (nodes // base.nodes) for base in bases))
    sources, targets, capacities = [], [], []
    place = 1
    for base in bases:
        low = np.arange(place)[:, None, None]
        high = np.arange(nodes // (place * base.nodes))[None, None, :] * (place * base.nodes)
        sources.append((low + base.src[None, :, None] * place + high).ravel())
        targets.append((low + base.dst[None, :, None] * place + high).ravel())
        shape = (place, len(base.src), high.size)
        capacities.append(np.broadcast_to(base.capacity[None, :, None], shape).ravel())
        place *= base.nodes
    return Topology.from_arrays(
        nodes, np.concatenate(sources), np.concatenate(targets), np.concatenate(capacities), symmetry=_symmetry(bases)
    )


def _symmetry(bases: list[Topology]) -> Symmetry | None:
    """Return the factors' automorphisms, each on one coordinate."""
    count = math.prod(len(base.representatives or range(base.nodes)) for base in bases)
    if count == math.prod(base.nodes for base in bases):
        return None
    result = np.zeros(1, dtype=np.int64)
    place = 1
    for base in bases:
        own = np.array(base.representatives or range(base.nodes), dtype=np.int64)
        result = (result[None, :] + own[:, None] * place).ravel()
        place *= base.nodes
    return Symmetry(place, tuple(result.tolist()), lambda: _on_coordinates(bases))


def _on_coordinates(bases: list[Topology]) -> Iterator[IntArray]:
    node = np.arange(math.prod(base.nodes for base in bases))
    place = 1
    for base in bases:
        own = node // place % base.nodes
        for generator in () if base.symmetry is None else base.symmetry.generators:
            yield node + (generator[own].astype(np.int64) - own) * place
        place *= base.nodes


def claim(*factors: Base) -> Claim | None:
    """Return the closed-form cost: steps add up and y is optimal.

    If it is for every factor and all are simple.

    Otherwise there is no closed form and the result is None.

    References
    ----------
    Efficient Direct-Connect Topologies, Theorem 14.
    """
    if not all(base.simple and base.cost.bandwidth == Fraction(base.nodes - 1, base.nodes) for base in factors):
        return None
    nodes = math.prod(base.nodes for base in factors)
    return Claim(Cost(sum(base.cost.steps for base in factors), Fraction(nodes - 1, nodes)), Basis.THEOREM)


@lift_both_ways(_SIGNATURE)
def lift(*factors: Any) -> Flow:
    """Return the schedule of distances, split over all factors.

    Every node sends each shard at the step of its distance.

    Arguments are G, a schedule of G, H, a schedule of H, ... Where a shard is at home in the same place as the sender
    but for one coordinate, it goes as in that factor's schedule. Else a part r of it goes as in the one and the rest as
    in the other factor's, with the r for each distance that loads all links equally. More than two factors are
    multiplied one by one.

    References
    ----------
    Efficient Direct-Connect Topologies, Theorem 14, equations (16) to (19).
    """
    bases, schedules = factors[::2], factors[1::2]
    if len(bases) < 2:
        raise ParameterError(f"{_SIGNATURE} requires at least two topologies")
    parts = [_Layers.of(base, schedule) for base, schedule in zip(bases, schedules, strict=True)]
    whole: _Layers = functools.reduce(_multiply, parts)
    return whole.schedule.having(place=graph(*bases))


@dataclass(frozen=True)
class _Layers:
    """A reduce-scatter with one step per shard and equal loads per step."""

    degree: int  # ports per node
    schedule: Flow  # the reduce-scatter
    sizes: IntArray  # sizes[x] is the number of shards that every node sends in step steps + 1 - x, and 1 for x = 0
    distance: IntArray  # that x for each sender and owner, shape (nodes, nodes); 0 on the diagonal

    @classmethod
    def of(cls, base: Topology, schedule: Flow) -> _Layers:
        """Return the layers of a schedule, or raise ScheduleError."""
        nodes, top = base.nodes, schedule.steps + 1
        distance = np.where(np.eye(nodes, dtype=np.bool_), 0, top)
        layer = top - schedule.step.astype(np.int64)
        distance[schedule.src, schedule.block] = layer
        if (
            np.any(distance[schedule.src, schedule.block] != layer)
            or np.any(np.diag(distance))
            or distance.max() == top
        ):
            raise ScheduleError(
                f"{_SIGNATURE} requires schedules in which every node sends each shard in a single step"
            )
        counts = np.zeros((nodes, top), dtype=np.int64)
        np.add.at(counts, (np.arange(nodes)[:, None], distance), 1)
        loads = np.zeros((len(base.src), top), dtype=np.int64)
        np.add.at(loads, (find_links(base, schedule), layer), schedule.hi - schedule.lo)
        if nodes * base.degree * schedule.units >= 2**63:
            raise TooLargeError(f"{schedule.units} units per shard are too many for {nodes} nodes")
        fair = counts[0] * schedule.units * base.capacity[:, None]
        if np.any(counts != counts[0]) or np.any((loads * base.degree)[:, 1:] != fair[:, 1:]):
            raise ScheduleError(f"{_SIGNATURE} requires schedules that are bandwidth-optimal: all links equally full")
        return cls(base.degree, schedule, counts[0], distance)


def _multiply(one: _Layers, other: _Layers) -> _Layers:
    first, second = one.schedule, other.schedule
    check_rows(len(first) * second.nodes**2 + len(second) * first.nodes**2)
    parts = _parts(one, other)
    needed = [(r / first.units).denominator for r in parts] + [((1 - r) / second.units).denominator for r in parts]
    units = math.lcm(first.units, second.units, *needed)
    check_units(units)
    middle = np.array([int(r * units) for r in parts], dtype=np.int64)
    low, high = np.arange(first.nodes), np.arange(second.nodes) * first.nodes
    blocks = []
    # In the first factor's rows the pairs (sender, owner) of second coordinates run along two new axes, and vice versa.
    for own, distance, size, here, there, begin, end in (
        (first, other.distance, second.nodes, 1, high, np.zeros_like(middle), middle),
        (second, one.distance, first.nodes, first.nodes, low, middle, np.full_like(middle, units)),
    ):
        step, src, dst, owner, lo, hi = (column[:, None, None].astype(np.int64) for column in own.table().values())
        layer = own.steps + 1 - step + distance
        same = distance == 0
        start = np.where(same, 0, begin[layer])
        scale = np.where(same, units, (end - begin)[layer]) // own.units
        sender, home = np.broadcast_to(there[:, None], (size, size)), there
        blocks.append(
            (
                first.steps + second.steps + 1 - layer,
                src * here + sender,
                dst * here + sender,
                owner * here + home,
                start + lo * scale,
                start + hi * scale,
            )
        )
    nodes = first.nodes * second.nodes
    product_schedule = build_steps(REDUCE_SCATTER, nodes, units, first.steps + second.steps, blocks)
    total = other.distance[:, None, :, None] + one.distance[None, :, None, :]
    return _Layers(
        one.degree + other.degree,
        canonical(product_schedule),
        np.convolve(one.sizes, other.sizes),
        total.reshape(nodes, nodes),
    )


def _parts(one: _Layers, other: _Layers) -> list[Fraction]:
    """Return for each distance the part that follows the first factor."""
    pairs = np.convolve(one.sizes[1:], other.sizes[1:]).tolist()  # both coordinates differ, distance 2 and more
    parts = [Fraction(0), Fraction(0)]
    for x in range(1, len(one.sizes) + len(other.sizes) - 1):
        n1 = int(one.sizes[x]) if x < len(one.sizes) else 0
        n2 = int(other.sizes[x]) if x < len(other.sizes) else 0
        mixed = pairs[x - 2] if x > 1 else 0
        balance = one.degree * (n2 + mixed) - other.degree * n1
        total = (one.degree + other.degree) * mixed
        if not 0 <= balance <= total:
            raise InfeasibleError(
                f"{_SIGNATURE} has no schedule of this kind with all links equally full at distance {x}"
            )
        if x > 1:
            parts.append(Fraction(balance, total) if total else Fraction(0))
    return parts


product = Expansion(
    "product", graph, claim, lift, size=("product of all N", "sum of all d", "product(complete(3),complete(4))")
)
