"""How fast a collective can be on a fabric over trees, and which links keep it from being faster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.cost import Rate
from topodesign.base.declared import Declared, key
from topodesign.base.units import format_rate
from topodesign.collectives import Collective
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.fabrics.places import PlaceLike
from topodesign.fabrics.wording import links_in_words, names_in_words
from topodesign.optima.flow_optimum import across
from topodesign.optima.forest.bottleneck import Optimum, narrowest, optimum
from topodesign.optima.question import Pass, Question, asked
from topodesign.solve.maxflow import worst_ratio


@dataclass(frozen=True)
class Throughput(Declared):
    """How fast a collective can be, with what proves it."""

    collective: Collective  # which one
    # algorithmic bandwidth: bytes of the whole data (all shards together, or what the root has) per second
    bandwidth: Fraction
    # 1/x*: seconds per byte of a shard, of the mean one where they differ (of the whole data for ``broadcast``
    # and ``reduce``). An allreduce is a reduce-scatter and an allgather, whose times add up.
    inverse_rate: Fraction
    # algorithmic bandwidth that none of its kind exceeds, with switches that only forward (an allreduce that is a
    # reduce-scatter and then an allgather); the same, unless switches have unequal bandwidth in and out, where
    # the proof may miss it by a hair
    bound: Fraction
    trees: int  # trees per root that surely reach it (Proposition 3); the larger number of the halves of an allreduce
    # vertices on the sending side of a bottleneck: of the slower half of an allreduce, the allgather if equal.
    # Empty where no cut alone proves the bound, as may be at switches with unequal bandwidth in and out.
    cut: frozenset[int]
    # nodes whose shards have to cross the cut: those inside it if shards are sent out, as in an allgather; those
    # outside if partial results are, as in a reduce-scatter
    owners: tuple[int, ...]
    # places, in ``fabric.links()``, of the links that bind: those out of the cut, or those that have a price in
    # the proof where there is none
    binding: tuple[int, ...]

    KEYS = (key("inv_x_star=inverse_rate", "Seconds that a byte of a shard takes at best: 1/x*."), "*rate")
    SHARED = "rates"

    @property
    def rate(self) -> Rate:
        """The bandwidth."""
        return Rate(self.bandwidth)

    def links(self, fabric: Fabric) -> list[FabricLink]:
        """Return the links that bind."""
        every = fabric.links()
        return [every[place] for place in self.binding]


def throughput(
    fabric: PlaceLike,
    collective: Collective | str = "allgather",
    *,
    root: str | None = None,
    shards: Sequence[int] | None = None,
) -> Throughput:
    """Return the best throughput over trees, with switches that only forward (ForestColl, section 4).

    Of an allreduce it is that of a reduce-scatter and then an allgather; :func:`topodesign.optimum` asks for more.

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
    return best_throughput(asked(fabric, collective, root=root, shards=shards).for_trees())


def best_throughput(question: Question) -> Throughput:
    """Return the best throughput over trees."""
    fabric, passes = question.fabric, question.passes
    optima = [optimum(one.topology, weights=one.weights, names=fabric.names) for one in passes]
    whole = sum(passes[0].weights) * fabric.unit
    bandwidth = whole / sum(best.inverse_rate for best in optima)
    slow = max(range(len(passes)), key=lambda row: (optima[row].inverse_rate, row))
    binding = tuple(sorted(passes[slow].order[list(optima[slow].binding)].tolist()))
    cut, owners = _sending_side(fabric, passes[slow], optima[slow], binding)
    return Throughput(
        question.collective,
        bandwidth,
        inverse_rate=(len(fabric.compute) if question.root is None else 1) / bandwidth,
        bound=whole / sum(best.bound for best in optima),
        trees=max(best.trees for best in optima),
        cut=cut,
        owners=owners,
        binding=binding,
    )


def _sending_side(
    fabric: Fabric, phase: Pass, best: Optimum, binding: tuple[int, ...]
) -> tuple[frozenset[int], tuple[int, ...]]:
    """Return the cut as the data crosses it in the fabric, and the nodes whose shards do; nothing if others bind."""
    side = frozenset(range(len(fabric.names))) - best.cut if phase.reduces else best.cut
    if binding != tuple(at for at, (u, v, _) in enumerate(fabric.topology.links()) if u in side and v not in side):
        return frozenset(), ()
    return side, tuple(node for node, w in zip(fabric.compute, phase.weights, strict=True) if w and node in best.cut)


def cut_bound(question: Question) -> Fraction:
    """Return the algorithmic bandwidth that nothing exceeds whatever switches can do: what the narrowest cut lets by.

    Of an allreduce the whole data have to cross every cut between nodes, both ways.
    """
    fabric = question.fabric
    if question.composed:
        return narrowest(fabric.topology) * fabric.unit
    topology, weights, *_ = question.passes[0]
    sizes = np.array(weights, dtype=np.int64)
    return int(sizes.sum()) * fabric.unit / worst_ratio(topology, topology.capacity, sizes)


def bottleneck_in_words(fabric: Fabric, result: Throughput) -> str:
    """Say which links bind and what has to cross them, as the side with fewer nodes sees it.

    Nodes whose names begin alike, up to a ``/``, ``.``, ``:``, ``_`` or ``-``, are a group, called by that beginning.
    Where no cut alone is the reason, switches are that have more bandwidth in than out, or the reverse.
    """
    if not result.cut:
        return _balance_in_words(fabric, result)
    said, out, side = across(fabric, result.cut, result.links(fabric))
    own = set(result.owners) <= set(side)
    number = len(result.owners)
    owners = "its {} nodes" if own else "the {} other nodes"
    whose = owners.format(number) if number > 1 else names_in_words(fabric, result.owners)
    data = "the data of" if own is out else "its share of the sums for" if out else "the others' share of the sums for"
    return f"{said} {data} {whose}"


def _balance_in_words(fabric: Fabric, result: Throughput) -> str:
    """Say at which switches and links bandwidth is lost since what comes in must go out."""
    unequal = fabric.unequal(sorted(fabric.topology.switches))
    others = f" (and {len(unequal) - 1} more are unequal)" if len(unequal) > 1 else ""
    reason = f"{fabric.imbalance(unequal[0])}{others}, and a switch has to pass on what it gets"
    if result.bandwidth < result.bound:
        return f"{reason}, which leaves {format_rate(result.bound)} or less"
    links = result.links(fabric)
    rate = sum((link.bandwidth for link in links), Fraction(0))
    together = f"{links_in_words(links)}, {format_rate(rate)} in all," if len(links) > 1 else links_in_words(links)
    return f"{reason}; so {together} {'bind' if len(links) > 1 else 'binds'}"
