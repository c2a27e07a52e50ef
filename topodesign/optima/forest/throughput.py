"""How fast a collective can be on a fabric, which links keep it from being faster, and what more of them would buy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.claims import Among, Claim, Of
from topodesign.base.errors import ParameterError
from topodesign.base.latency import USUAL, Latency
from topodesign.base.wording import with_article
from topodesign.collectives import ALLGATHER, Collective
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.fabrics.places import PlaceLike, as_fabric
from topodesign.optima.forest import schedule as forest
from topodesign.optima.forest.allreduce import AllreduceOptimum, allreduce_optimum, not_looked_for
from topodesign.optima.forest.fixed import smallest_trees
from topodesign.optima.forest.in_network import InNetworkOptimum, in_network_optimum, narrowest
from topodesign.optima.forest.optimum import Gain, Optimum, optimum, sensitivity, shard_sizes
from topodesign.plans.measure import tree_figures
from topodesign.plans.timing.trees import simulate_trees
from topodesign.plans.trees import Trees
from topodesign.solve.maxflow import worst_ratio
from topodesign.topology.topology import Topology


@dataclass(frozen=True)
class Throughput:
    """The best throughput of a collective, with what proves it.

    Attributes
    ----------
    collective
        Which one.
    bandwidth
        Algorithmic bandwidth: bytes of the whole data (all shards together, or what the root has) per second.
    inverse_rate
        1/x*: seconds per byte of a shard, of the mean one where they differ (of the whole data for ``broadcast`` and
        ``reduce``). An allreduce is a reduce-scatter and an allgather, whose times add up.
    bound
        Algorithmic bandwidth that none of its kind exceeds, with switches that only forward (an allreduce that is a
        reduce-scatter and then an allgather); the same, unless switches have unequal bandwidth in and out, where the
        proof may miss it by a hair.
    trees
        Trees per root that surely reach it (Proposition 3); the larger number of the halves of an allreduce.
    cut
        Vertices on the sending side of a bottleneck: of the slower half of an allreduce, the allgather if equal. Empty
        where no cut alone proves the bound, as may be at switches with unequal bandwidth in and out.
    owners
        Nodes whose shards have to cross the cut: those inside it if shards are sent out, as in an allgather; those
        outside if partial results are, as in a reduce-scatter.
    binding
        Places, in ``fabric.links()``, of the links that bind: those out of the cut, or those that have a price in the
        proof where there is none.
    """

    collective: Collective
    bandwidth: Fraction
    inverse_rate: Fraction
    bound: Fraction
    trees: int
    cut: frozenset[int]
    owners: tuple[int, ...]
    binding: tuple[int, ...]

    def links(self, fabric: Fabric) -> list[FabricLink]:
        """Return the links that bind."""
        every = fabric.links()
        return [every[place] for place in self.binding]


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
    """What a schedule with a given number of trees per root reaches: the best throughput, and low trees.

    Attributes
    ----------
    trees
        k.
    bandwidth, inverse_rate
        As in :class:`Throughput`.
    height
        Tree edges on the longest way between a root and a node; of an allreduce those of both halves.
    times
        Seconds that each of the sizes asked for takes, latency included, in as many chunks as are best.
    """

    trees: int
    bandwidth: Fraction
    inverse_rate: Fraction
    height: int
    times: tuple[Fraction, ...] = ()


@dataclass(frozen=True)
class BestAllreduce:
    """The best allreduce that need not be a reduce-scatter followed by an allgather.

    Switches of the fabric that can copy or add do so.

    Attributes
    ----------
    bandwidth
        Algorithmic bandwidth that can be reached.
    bound
        What none exceeds.
    composed
        Algorithmic bandwidth of a reduce-scatter followed by an allgather.
    in_network
        Whether switches copy and add in what can be reached.
    among
        What the bound is about.
    missed
        What was not looked for; empty where all of that was.
    """

    bandwidth: Fraction
    bound: Fraction
    composed: Fraction
    in_network: bool = False
    among: Among = Among.TREES
    missed: str = ""

    @property
    def claim(self) -> Claim:
        """What is said of the bandwidth that can be reached."""
        return Claim.to_bound(Of.RATE, self.bandwidth, self.among, self.bound, missed=self.missed)

    @property
    def composed_claim(self) -> Claim:
        """What is said of a reduce-scatter followed by an allgather, among all ways."""
        return Claim.to_bound(Of.RATE, self.composed, self.among, self.bound, missed=self.missed)

    @property
    def proven(self) -> bool:
        """Whether it is proven that nothing exceeds what can be reached."""
        return self.bandwidth == self.bound

    @property
    def composed_is_best(self) -> bool:
        """Whether it is proven that nothing beats a reduce-scatter followed by an allgather."""
        return self.composed == self.bound


@dataclass(frozen=True)
class Pass:
    """One pass of trees: on the fabric, or turned round to reduce.

    Attributes
    ----------
    topology
        The links, turned round if it reduces.
    weights
        Sizes of the shards that move.
    order
        Links of the fabric in the order of those of the topology.
    reduces
        Whether partial results move towards the roots.
    """

    topology: Topology
    weights: list[int]
    order: NDArray[np.int64]
    reduces: bool


def throughput(
    fabric: PlaceLike,
    collective: Collective | str = ALLGATHER,
    *,
    root: str | None = None,
    shards: Sequence[int] | None = None,
) -> Throughput:
    """Return the best throughput over trees, with switches that only forward (ForestColl, section 4).

    Of an allreduce it is that of a reduce-scatter and then an allgather; see :func:`best_allreduce`.

    Parameters
    ----------
    fabric
        Any.
    collective
        Which one.
    root
        Name of the node that has the data of a broadcast, or gets that of a reduce; None for the others.
    shards
        Relative shard sizes of the nodes, in their order; equal if None.

    Raises
    ------
    ParameterError
        If the root is missing, superfluous or no node, or the shards do not fit.
    InfeasibleError
        If some node cannot be reached; the message names it.

    Examples
    --------
    >>> from topodesign import build_fabric, throughput
    >>> throughput(build_fabric("dgx_a100(2)")).bandwidth
    Fraction(1040000000000, 3)
    """
    fabric = as_fabric(fabric)
    phases = _phases(fabric, collective, root, shards)
    optima = [optimum(phase.topology, weights=phase.weights, names=fabric.names) for phase in phases]
    whole = sum(phases[0].weights) * fabric.unit
    bandwidth = whole / sum(best.inverse_rate for best in optima)
    slow = max(range(len(phases)), key=lambda row: (optima[row].inverse_rate, row))
    binding = tuple(sorted(phases[slow].order[list(optima[slow].binding)].tolist()))
    cut, owners = _sending_side(fabric, phases[slow], optima[slow], binding)
    return Throughput(
        forest.spanning(collective, _root(fabric, root)),
        bandwidth,
        inverse_rate=(len(fabric.compute) if root is None else 1) / bandwidth,
        bound=whole / sum(best.bound for best in optima),
        trees=max(best.trees for best in optima),
        cut=cut,
        owners=owners,
        binding=binding,
    )


def cut_bound(
    fabric: Fabric,
    collective: Collective | str = ALLGATHER,
    *,
    root: str | None = None,
    shards: Sequence[int] | None = None,
) -> Fraction:
    """Return the algorithmic bandwidth that nothing exceeds whatever switches can do: what the narrowest cut lets by.

    Of an allreduce the whole data have to cross every cut between nodes, both ways.

    Raises
    ------
    ParameterError, InfeasibleError
        As :func:`throughput`.
    """
    collective = forest.spanning(collective, _root(fabric, root))
    if len(collective.parts) > 1:
        return narrowest(fabric.topology) * fabric.unit
    phase = first_pass(fabric, collective, root=root, shards=shards)
    sizes = np.array(phase.weights, dtype=np.int64)
    return int(sizes.sum()) * fabric.unit / worst_ratio(phase.topology, phase.topology.capacity, sizes)


def upgrades(
    fabric: Fabric,
    collective: Collective | str = ALLGATHER,
    *,
    root: str | None = None,
    shards: Sequence[int] | None = None,
) -> list[Upgrade]:
    """Return what more bandwidth would buy, for each class of links in the order of their names.

    Raises
    ------
    ParameterError, InfeasibleError
        As :func:`throughput`.
    """
    kinds = sorted(set(fabric.classes))
    members = [np.array([word == kind for word in fabric.classes]) for kind in kinds]
    phases = _phases(fabric, collective, root, shards)
    gains = [sensitivity(p.topology, [those[p.order] for those in members], weights=p.weights) for p in phases]
    whole = sum(phases[0].weights) * fabric.unit
    return [_upgrade(kind, whole, halves) for kind, *halves in zip(kinds, *gains, strict=True)]


def smallest_number_of_trees(
    fabric: Fabric,
    collective: Collective | str = ALLGATHER,
    *,
    root: str | None = None,
    shards: Sequence[int] | None = None,
) -> int:
    """Return the smallest number of trees per root that reaches the optimum, in both halves of an allreduce.

    Raises
    ------
    ParameterError, InfeasibleError
        As :func:`throughput`.
    """
    phases = _phases(fabric, collective, root, shards)
    return max(smallest_trees(phase.topology, weights=phase.weights) for phase in phases)


def limited(
    fabric: Fabric,
    trees: Iterable[int],
    collective: Collective | str = ALLGATHER,
    *,
    root: str | None = None,
    shards: Sequence[int] | None = None,
    latency: Latency = USUAL,
    sizes: Sequence[Fraction] = (),
) -> list[Limited]:
    """Return the best throughput for each of several numbers of trees per root (ForestColl, section 5.5).

    Every row is that of a schedule that was made; an allreduce is a reduce-scatter and then an allgather.

    Parameters
    ----------
    fabric, collective, root, shards
        As for :func:`throughput`.
    trees
        Numbers of trees per root, and per unit of shard size where those differ.
    latency, sizes
        What messages take beside their bytes, and bytes of the whole data, for :attr:`Limited.times`.

    Raises
    ------
    ParameterError, InfeasibleError
        As :func:`throughput`; also if a number is below one.
    """
    number = _root(fabric, root)

    def made(k: int) -> Limited:
        schedule = forest.forest_schedule(fabric.topology, collective, k=k, root=number, shard=shards)
        return _measured(fabric, k, schedule, latency, sizes)

    return [made(k) for k in trees]


def trade_offs(
    fabric: Fabric,
    collective: Collective | str = ALLGATHER,
    *,
    root: str | None = None,
    shards: Sequence[int] | None = None,
    latency: Latency = USUAL,
    sizes: Sequence[Fraction] = (),
) -> list[Limited]:
    """Return which numbers of trees per root pay: those that no other beats in both throughput and height.

    Parameters
    ----------
    fabric, collective, root, shards, latency, sizes
        As for :func:`limited`.

    Returns
    -------
    list of Limited
        Fastest first, of the numbers that :func:`topodesign.optima.forest.schedule.trade_offs` tries.

    Raises
    ------
    ParameterError, InfeasibleError
        As :func:`throughput`.
    """
    rows = forest.trade_offs(fabric.topology, None, collective, root=_root(fabric, root), shard=shards)
    return [_measured(fabric, row.k, row.schedule, latency, sizes) for row in rows]


def best_allreduce(fabric: Fabric) -> BestAllreduce:
    """Return the best allreduce of any kind (ForestColl, appendix F), up to ``MOST_NODES`` nodes; beyond, only a bound.

    Where switches copy or add it is that of :mod:`topodesign.optima.forest.in_network`.

    Raises
    ------
    InfeasibleError
        As :func:`throughput`.
    """
    fabric.check_unshared("a packing of trees")
    found: AllreduceOptimum | InNetworkOptimum
    capable = bool(fabric.multicast | fabric.aggregation)
    if capable:
        found = in_network_optimum(fabric.topology, fabric.multicast, fabric.aggregation)
    else:
        found = allreduce_optimum(fabric.topology)
    bandwidth, bound, composed = (rate * fabric.unit for rate in (found.throughput, found.bound, found.composed))
    return BestAllreduce(
        bandwidth,
        bound,
        composed,
        in_network=isinstance(found, InNetworkOptimum) and bool(found.families),
        among=Among.CAPABLE_TREES if capable else Among.TREES,
        missed=not_looked_for(fabric.topology, capable=capable),
    )


def compute_node(fabric: Fabric, root: str) -> int:
    """Return the number of a node that is to be a root.

    Raises
    ------
    ParameterError
        If there is none of that name, or it is a switch.
    """
    if fabric.number(root) not in fabric.compute:
        raise ParameterError(f"the root '{root}' is a switch")
    return fabric.number(root)


def _root(fabric: Fabric, root: str | None) -> int | None:
    return None if root is None else compute_node(fabric, root)


def _measured(fabric: Fabric, k: int, schedule: Trees, latency: Latency, sizes: Sequence[Fraction]) -> Limited:
    """Return what a schedule reaches."""
    reached = tree_figures(fabric, schedule)
    own = fabric.link_latencies() if latency.alpha is None else None
    times = tuple(
        simulate_trees(schedule, latency=latency, size=size, unit=8 * fabric.unit, of_links=own).time for size in sizes
    )
    return Limited(k, reached.bandwidth, reached.inverse_rate, reached.height, times)


def first_pass(
    fabric: Fabric, collective: Collective, *, root: str | None = None, shards: Sequence[int] | None = None
) -> Pass:
    """Return the first pass of trees of a collective, all of it but of an allreduce.

    Raises
    ------
    ParameterError
        As :func:`throughput`.
    """
    return _phases(fabric, collective, root, shards)[0]


def _phases(fabric: Fabric, collective: Collective | str, root: str | None, shards: Sequence[int] | None) -> list[Pass]:
    fabric.check_unshared("a packing of trees")
    collective = forest.spanning(collective)
    if (root is not None) != collective.rooted:
        verb, article = ("needs", "a") if collective.rooted else ("has", "no")
        raise ParameterError(f"{collective} {verb} {article} root")
    if root is None:
        weights = shard_sizes(fabric.topology, shards).tolist()
    else:
        if shards is not None:
            raise ParameterError(f"the only shard of {with_article(collective)} is its root's; leave shard sizes out")
        number = compute_node(fabric, root)
        weights = [int(node == number) for node in fabric.compute]
    topology = fabric.topology
    forth = Pass(topology, weights, np.arange(len(topology.src)), reduces=False)
    back = Pass(topology.transpose(), weights, np.lexsort((topology.src, topology.dst)), reduces=True)
    return [back if one.adds else forth for one in collective.movements]


def _sending_side(
    fabric: Fabric, phase: Pass, best: Optimum, binding: tuple[int, ...]
) -> tuple[frozenset[int], tuple[int, ...]]:
    """Return the cut as the data crosses it in the fabric, and the nodes whose shards do; nothing if others bind."""
    side = frozenset(range(len(fabric.names))) - best.cut if phase.reduces else best.cut
    if binding != tuple(at for at, (u, v, _) in enumerate(fabric.topology.links()) if u in side and v not in side):
        return frozenset(), ()
    return side, tuple(node for node, w in zip(fabric.compute, phase.weights, strict=True) if w and node in best.cut)


def _upgrade(kind: str, whole: Fraction, halves: Sequence[Gain]) -> Upgrade:
    doubled = whole / sum(half.doubled for half in halves)
    factors = [half.useful_factor for half in halves]
    known = [factor for factor in factors if factor is not None]
    if len(known) < len(factors):
        return Upgrade(kind, doubled, None, None)
    return Upgrade(kind, doubled, whole / sum(half.limit for half in halves), max(known))
