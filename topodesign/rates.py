"""How fast a collective can be on a fabric, which links keep it from being faster, and what more of them would buy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from topodesign.errors import ParameterError
from topodesign.fabric import Fabric, FabricLink
from topodesign.forest.fixed import scan, smallest_trees
from topodesign.forest.optimum import Gain, Optimum, optimum, sensitivity
from topodesign.topology import Topology

FabricCollective = Literal["allgather", "reduce-scatter", "allreduce", "broadcast", "reduce"]
FABRIC_COLLECTIVES: tuple[FabricCollective, ...] = get_args(FabricCollective)
_ROOTED = ("broadcast", "reduce")


@dataclass(frozen=True)
class Throughput:
    """The best throughput of a collective, with the cut that proves it.

    Attributes
    ----------
    collective
        Which one.
    bandwidth
        Algorithmic bandwidth: bytes of the whole data (all shards together, or what the root has) per second.
    inverse_rate
        1/x*: seconds per byte of a shard (of the whole data for ``broadcast`` and ``reduce``). An allreduce is a
        reduce-scatter and an allgather, whose times add up.
    trees
        Trees per root that surely reach it (Proposition 3); the larger number of the halves of an allreduce.
    cut
        Vertices on the sending side of a bottleneck: of the slower half of an allreduce, the allgather if equal.
    owners
        Nodes whose shards have to cross the cut: those inside it if shards are sent out, as in an allgather; those
        outside if partial results are, as in a reduce-scatter.
    """

    collective: FabricCollective
    bandwidth: Fraction
    inverse_rate: Fraction
    trees: int
    cut: frozenset[int]
    owners: tuple[int, ...]

    def links(self, fabric: Fabric) -> list[FabricLink]:
        """Return the links out of the cut, which bind."""
        inside = {fabric.names[vertex] for vertex in self.cut}
        return [link for link in fabric.links() if link.src in inside and link.dst not in inside]


@dataclass(frozen=True)
class Upgrade:
    """What more bandwidth on one class of links would buy.

    Attributes
    ----------
    kind
        The class; ``""`` for links that have none.
    doubled
        Algorithmic bandwidth with twice the bandwidth on all of its links.
    limit
        Algorithmic bandwidth when other links bind; None if no others ever do.
    useful_factor
        Least factor that reaches the limit; None with that.
    """

    kind: str
    doubled: Fraction
    limit: Fraction | None
    useful_factor: Fraction | None


@dataclass(frozen=True)
class Limited:
    """The best throughput with a given number of trees per root.

    Attributes
    ----------
    trees
        k.
    bandwidth, inverse_rate
        As in :class:`Throughput`.
    """

    trees: int
    bandwidth: Fraction
    inverse_rate: Fraction


@dataclass(frozen=True)
class BestAllreduce:
    """The best allreduce that need not be a reduce-scatter followed by an allgather, with switches that only forward.

    Attributes
    ----------
    bandwidth
        Algorithmic bandwidth that can be reached.
    bound
        What none exceeds.
    composed_is_best
        Whether it is proven that nothing beats a reduce-scatter followed by an allgather.
    """

    bandwidth: Fraction
    bound: Fraction
    composed_is_best: bool


@dataclass(frozen=True)
class _Phase:
    """One pass of trees: on the fabric, or turned round to reduce."""

    topology: Topology
    weights: tuple[int, ...] | None
    order: NDArray[np.int64]  # links of the fabric in the order of those of the topology
    reduces: bool


def throughput(fabric: Fabric, collective: FabricCollective = "allgather", *, root: str | None = None) -> Throughput:
    """Return the best throughput that any schedule without in-network computation can have (ForestColl, section 4).

    Parameters
    ----------
    fabric
        Any.
    collective
        Which one.
    root
        Name of the node that has the data of a broadcast, or gets that of a reduce; None for the others.

    Raises
    ------
    ParameterError
        If the root is missing, superfluous or no node.
    InfeasibleError
        If some node cannot be reached; the message names it.
    """
    phases = _phases(fabric, collective, root)
    optima = [optimum(phase.topology, weights=phase.weights, names=fabric.names) for phase in phases]
    inverse = sum(best.inverse_rate for best in optima) / fabric.unit
    slow = max(range(len(phases)), key=lambda row: (optima[row].inverse_rate, row))
    cut, owners = _sending_side(fabric, phases[slow], optima[slow])
    return Throughput(
        collective, _shards(fabric, root) / inverse, inverse, max(best.trees for best in optima), cut, owners
    )


def upgrades(fabric: Fabric, collective: FabricCollective = "allgather", *, root: str | None = None) -> list[Upgrade]:
    """Return what more bandwidth would buy, for each class of links in the order of their names.

    Raises
    ------
    ParameterError, InfeasibleError
        As :func:`throughput`.
    """
    kinds = sorted(set(fabric.classes))
    members = [np.array([word == kind for word in fabric.classes]) for kind in kinds]
    phases = _phases(fabric, collective, root)
    gains = [sensitivity(p.topology, [those[p.order] for those in members], weights=p.weights) for p in phases]
    shards = _shards(fabric, root) * fabric.unit
    return [_upgrade(kind, shards, halves) for kind, *halves in zip(kinds, *gains, strict=True)]


def smallest_number_of_trees(
    fabric: Fabric, collective: FabricCollective = "allgather", *, root: str | None = None
) -> int:
    """Return the smallest number of trees per root that reaches the optimum, in both halves of an allreduce.

    Raises
    ------
    ParameterError, InfeasibleError
        As :func:`throughput`.
    """
    return max(smallest_trees(phase.topology, weights=phase.weights) for phase in _phases(fabric, collective, root))


def limited(
    fabric: Fabric, trees: Iterable[int], collective: FabricCollective = "allgather", *, root: str | None = None
) -> list[Limited]:
    """Return the best throughput for each of several numbers of trees per root (ForestColl, section 5.5).

    Raises
    ------
    ParameterError, InfeasibleError
        As :func:`throughput`; also if a number is below one.
    """
    phases, numbers = _phases(fabric, collective, root), list(trees)
    scans = [scan(phase.topology, numbers, weights=phase.weights) for phase in phases]
    result = []
    for k, *halves in zip(numbers, *scans, strict=True):
        inverse = sum((half.inverse_rate for half in halves), Fraction(0)) / fabric.unit
        result.append(Limited(k, _shards(fabric, root) / inverse, inverse))
    return result


def best_allreduce(fabric: Fabric) -> BestAllreduce | None:
    """Return the best allreduce of any kind (ForestColl, appendix F), None if there are too many nodes to find it.

    Raises
    ------
    InfeasibleError
        As :func:`throughput`.
    """
    from topodesign.forest.allreduce import MOST_NODES, allreduce_optimum  # noqa: PLC0415  scipy is heavy

    if len(fabric.compute) > MOST_NODES:
        return None
    best = allreduce_optimum(fabric.topology)
    return BestAllreduce(best.throughput * fabric.unit, best.bound * fabric.unit, best.composed_is_best)


def _phases(fabric: Fabric, collective: FabricCollective, root: str | None) -> list[_Phase]:
    if (root is not None) != (collective in _ROOTED):
        raise ParameterError(
            f"{collective} {'needs' if collective in _ROOTED else 'has'} {'a' if root is None else 'no'} root"
        )
    weights = None
    if root is not None:
        if fabric.number(root) not in fabric.compute:
            raise ParameterError(f"the root '{root}' is a switch")
        weights = tuple(int(fabric.names[node] == root) for node in fabric.compute)
    topology = fabric.topology
    forth = _Phase(topology, weights, np.arange(len(topology.src)), reduces=False)
    back = _Phase(topology.transpose(), weights, np.lexsort((topology.src, topology.dst)), reduces=True)
    return {"allgather": [forth], "broadcast": [forth], "allreduce": [back, forth]}.get(collective, [back])


def _shards(fabric: Fabric, root: str | None) -> int:
    return len(fabric.compute) if root is None else 1


def _sending_side(fabric: Fabric, phase: _Phase, best: Optimum) -> tuple[frozenset[int], tuple[int, ...]]:
    """Return the cut as the data crosses it in the fabric, and the nodes whose shards do."""
    weights = phase.weights or (1,) * len(fabric.compute)
    owners = tuple(node for node, w in zip(fabric.compute, weights, strict=True) if w and node in best.cut)
    return (frozenset(range(len(fabric.names))) - best.cut if phase.reduces else best.cut), owners


def _upgrade(kind: str, shards: Fraction, halves: Sequence[Gain]) -> Upgrade:
    doubled = shards / sum(half.doubled for half in halves)
    factors = [half.useful_factor for half in halves]
    known = [factor for factor in factors if factor is not None]
    if len(known) < len(factors):
        return Upgrade(kind, doubled, None, None)
    return Upgrade(kind, doubled, shards / sum(half.limit for half in halves), max(known))
