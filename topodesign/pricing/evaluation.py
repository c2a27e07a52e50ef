"""Costs of both halves of an allreduce, by SPFF and deferral."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from topodesign.base.cost import Cost
from topodesign.base.progress import Progress, part
from topodesign.fabrics.places import as_topology
from topodesign.pricing import closed_form, split_deferral
from topodesign.topology.library import TopologyLike
from topodesign.topology.topology import Topology


def price(topology: TopologyLike, *, all_sources: bool = False, progress: Progress | None = None) -> Cost:
    """Return the exact cost of the dearer of reduce-scatter and allgather.

    By SPFF; an upper bound for both.

    Parameters and errors are those of :func:`evaluate`, which tells both.

    Parameters
    ----------
    topology
        A topology, spec, file of links or graph.
    all_sources
        Whether to look at every node, even if symmetry makes it needless.
    progress
        Called now and then with the share of the work that is done.

    Examples
    --------
    >>> from topodesign import price
    >>> price("line(circulant(16,3,4),3)")
    Cost(steps=6, bandwidth=Fraction(261, 256))
    """
    return dearer(*price_both(as_topology(topology), all_sources=all_sources, progress=progress))


def price_both(topology: Topology, *, all_sources: bool = False, progress: Progress | None = None) -> tuple[Cost, Cost]:
    """Return the SPFF costs of reduce-scatter and allgather.

    Raises as :func:`evaluate`.

    An allgather is a reduce-scatter on the transpose, backwards (Efficient Direct-Connect Topologies, Theorem 1).
    """
    return _price_both_ways(
        topology, progress, lambda graph, done: closed_form.price(graph, all_sources=all_sources, progress=done)
    )


def _price_both_ways(
    topology: Topology, progress: Progress | None, cost: Callable[[Topology, Progress | None], Cost]
) -> tuple[Cost, Cost]:
    """Return the costs on a topology and its transpose."""
    if topology.is_duplex:
        both = cost(topology, progress)
        return both, both
    return cost(topology, part(progress, 0, 0.5)), cost(topology.transpose(), part(progress, 0.5, 1))


def price_deferred(topology: TopologyLike, *, progress: Progress | None = None) -> Cost:
    """Return the dearer cost of deferred reduce-scatter and allgather.

    The best schedules found; exact.

    They have as many steps as SPFF's, or two where that has one, and mostly a smaller bandwidth factor where a topology
    is irregular. Where all nodes are alike SPFF may be cheaper, and is what is taken. A schedule with this cost is made
    by ``schedule(topology, collective, method="deferred")``, which says where it is SPFF's.

    Parameters
    ----------
    topology
        As :func:`evaluate` takes it.
    progress
        Called now and then with the share of the work that is done.

    Raises
    ------
    TooLargeError
        If there are more than 4096 nodes and not enough symmetry, or too much work.
    TopologyError
        If there are more than 61 links into or out of a node, or as :func:`evaluate`.
    SpecError, FileFormatError, ParameterError, DisconnectedError
        As :func:`evaluate`.

    Examples
    --------
    >>> from topodesign import price, price_deferred
    >>> spff, deferred = price("randomregular(64,4,1)"), price_deferred("randomregular(64,4,1)")
    >>> deferred.steps == spff.steps, deferred.bandwidth < spff.bandwidth
    (True, True)
    """
    graph = as_topology(topology)
    return dearer(*map(not_above, price_both(graph), price_both_deferred(graph, progress)))


def price_both_deferred(
    topology: Topology, progress: Progress | None = None, *, most: int | None = None
) -> tuple[Cost, Cost]:
    """Return the deferred costs, which may be above those of SPFF.

    Errors are those of :func:`price_deferred`. ``most`` is the work for each beyond which schedules without the known
    symmetry are not looked for.
    """
    return _price_both_ways(topology, progress, partial(split_deferral.price_deferred, most=most))


def not_above(spff: Cost, later: Cost) -> Cost:
    """Return the deferred cost, or SPFF's if it is cheaper in as many steps."""
    return cheaper(spff, later) if spff.steps == later.steps else later


def cheaper(one: Cost, other: Cost | None) -> Cost:
    """Return the cost with the smaller bandwidth factor, by default the first."""
    return one if other is None or one.bandwidth <= other.bandwidth else other


def dearer(one: Cost, other: Cost) -> Cost:
    """Return the cost with the larger bandwidth factor, of equal steps."""
    return one if one.bandwidth >= other.bandwidth else other
