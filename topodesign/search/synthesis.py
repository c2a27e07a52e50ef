"""Small topologies made from nothing but N and d: the best uniform throughput, and what is proven of it.

Every link of the N nodes is free to choose, as in appendix H of Efficient Direct-Connect Topologies. Uniform throughput
is all-to-all: a node sends as much to each other node, over any paths, as the links allow. The shorter the distances,
the less the links have to carry, y >= (sum of all distances) / N^2; and where these are the least that there can be and
the load is even, y is that. So the search swaps links for short distances, and prices those it finds exactly.

What no topology undercuts is proven: by counting how many nodes can be how near (Moore); by going through all digraphs
whose distances are short enough, which also finds better ones (:mod:`~topodesign.search.enumeration`); or, where these
are too many, by CP-SAT, which bounds the sum of distances of all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from topodesign.base.arguments import as_choice, as_integer, as_seed
from topodesign.base.claims import Among, Claim, Of
from topodesign.base.claims import Proof as ClaimProof
from topodesign.base.cost import least_distances, least_steps, lower_bound
from topodesign.base.deadline import Stopwatch
from topodesign.base.declared import key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.progress import tell
from topodesign.base.records import Result
from topodesign.base.units import Quantity, as_time
from topodesign.pricing.all_to_all import all_to_all
from topodesign.pricing.closed_form import price
from topodesign.search.enumeration import Enumeration
from topodesign.search.link_swaps import Pairs, Swaps, distance_sum, least_sum
from topodesign.topology.topology import Topology

MOST_NODES = 16  # largest number of nodes: beyond, nothing is proven in any time, and ``pareto`` finds better ones
_PRICED = 200  # topologies that are priced exactly: circulants, and of others those with the least sum of distances
_SHARE = 0.25  # part of the time for swapping links; the rest is for the proof
_ALL = 0.7  # part of that for going through all digraphs; the rest is for the sum of distances

Wanted = Literal["all-to-all", "allgather"]
Proof = Literal["bound", "search", "none"]


@dataclass(frozen=True, repr=False)
class Synthesis(Result):
    """A topology, and what is known of all others of its size.

    * ``proof``: why none is better: ``bound`` by counting, ``search`` through all of them; ``none`` if y is above the
      bound, or the diameter of an allgather above Moore's.
    """

    topology: Topology  # the best one found
    collective: Wanted  # whose throughput is the highest
    bandwidth: Fraction  # bandwidth factor y of that collective
    diameter: int  # longest distance of two nodes
    distances: int  # sum of the distances of all pairs, each in its order
    bound: Fraction  # what no topology beats of so many nodes and ports, each two of which have one link at most
    proof: Proof
    bidirectional: bool = False  # whether only topologies were asked for in which every link has its reverse

    KEYS = (
        "nodes=topology.nodes degree=topology.degree collective bandwidth bound diameter distances proof",
        "gap=float(gap) claims",
        key("links=topology.links", "All links: from, to, capacity."),
    )
    ROW = "bandwidth bound diameter distances proof"

    @property
    def gap(self) -> Fraction:
        """Bandwidth factor over the bound, less 1."""
        return self.bandwidth / self.bound - 1

    def heading(self) -> str:
        """Return the size and what is proven."""
        size = f"{self.topology.nodes} nodes of degree {self.topology.degree} for {self.collective}"
        return f"{size}: {'; '.join(map(str, self.claims))}"

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What is proven of its y; and, for an allgather, of its steps.

        A bound by counting holds for all topologies; a search is through those whose links all have other ends.
        """
        scope = (Among.DUPLEX, Among.SIMPLE_DUPLEX) if self.bidirectional else (Among.TOPOLOGIES, Among.SIMPLE)
        nodes, degree = self.topology.nodes, self.topology.degree
        if self.collective == "allgather":
            factor = ClaimProof.BOUND if self.bandwidth == self.bound else ClaimProof.NONE
            least = least_steps(nodes, degree, duplex=self.bidirectional)
            steps = ClaimProof.BOUND if self.diameter == least.steps else ClaimProof.NONE
            return (
                Claim(Of.FACTOR, self.bandwidth, scope[0], factor, self.bound),
                Claim(Of.STEPS, self.diameter, scope[0], steps, least.steps, least.why or "Moore's bound"),
            )
        why = {"bound": "a bound by counting is reached", "search": "all others were searched", "none": ""}[self.proof]
        among = scope[self.proof != "bound"]
        return (Claim(Of.FACTOR, self.bandwidth, among, ClaimProof(self.proof), self.bound, why),)


def synthesize(
    nodes: int,
    degree: int,
    *,
    collective: Wanted = "all-to-all",
    bidirectional: bool = False,
    time_limit: Quantity = "60s",
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Synthesis:
    """Make the topology of a size with the best uniform throughput, and then the least diameter.

    Parameters
    ----------
    nodes, degree
        Number of nodes N, up to 16, and of ports d out of (and into) each, below N.
    collective
        ``all-to-all``: the least y of all-to-all. ``allgather``: the least y of an SPFF allgather and reduce-scatter,
        and of these the fewest steps.
    bidirectional
        Whether every link has its reverse.
    time_limit
        For search and proof together.
    seed
        Where swapping begins.
    progress
        Called with the share of the time that has gone.

    Raises
    ------
    ParameterError, UnitError
        If a number is out of range, or both numbers are odd where every link has its reverse.
    InfeasibleError
        If no topology was found in the time.

    Notes
    -----
    Efficient Direct-Connect Topologies, appendix H. No two links have the same ends, and none is a loop.

    Examples
    --------
    >>> found = synthesize(10, 3, bidirectional=True)
    >>> found.bandwidth, found.diameter, found.proof
    (Fraction(3, 2), 2, 'bound')
    """
    nodes = as_integer("nodes", nodes, 2, MOST_NODES)
    degree = as_integer("degree", degree, 1, nodes - 1)
    as_choice("collective", collective, ("all-to-all", "allgather"))
    if bidirectional and (nodes * degree % 2 or (degree == 1 and nodes > 2)):
        raise ParameterError(f"{nodes} nodes with {degree} two-way links each make no topology; change one of them")
    seconds = float(as_time(time_limit))
    if seconds <= 0:
        raise ParameterError("time_limit must be above zero")
    watch = Stopwatch()
    moore = nodes * least_distances(nodes, degree, degree - bidirectional)
    random = np.random.default_rng(as_seed(seed))
    kinds = [bidirectional]
    if not bidirectional and nodes * degree % 2 == 0 and degree > 1:
        kinds.append(True)  # of all links the best may be two-way ones, such as those of Petersen's graph
    searches = [Swaps(nodes, degree, duplex, random) for duplex in kinds]
    best: tuple[Fraction, int, int, Topology] | None = None
    until = _SHARE * seconds
    seen: set[Pairs] = set()
    steps = lower_bound(nodes, degree, duplex=bidirectional)
    floor = (Fraction(moore, nodes**2) if collective == "all-to-all" else steps.bandwidth), steps.steps
    for pairs in itertools.chain(searches[0].circulants(), _by_turns([one.found(watch, until) for one in searches])):
        if best is not None and (watch() > until or len(seen) > _PRICED or best[:2] <= floor):
            break
        if pairs in seen:
            continue
        seen.add(pairs)
        key = _rank(Topology.from_links(nodes, sorted(pairs)), collective)
        if best is None or key[:3] < best[:3]:
            best = key
        tell(progress, watch() / seconds)
    if best is None:
        raise InfeasibleError("no topology was found in the time; raise --time-limit")
    topology, bound, proof = _proven(best, floor, collective, (moore, bidirectional, lambda: seconds - watch()))
    bandwidth, diameter, distances, _ = _rank(topology, collective)
    return Synthesis(topology, collective, bandwidth, diameter, distances, bound, proof, bidirectional)


def _proven(
    best: tuple[Fraction, int, int, Topology],
    floor: tuple[Fraction, int],
    collective: Wanted,
    limits: tuple[int, bool, Callable[[], float]],
) -> tuple[Topology, Fraction, Proof]:
    """Return the best topology that turns up when all are gone through, what none undercuts, and why.

    * ``best``: the best so far, as :func:`_rank` returns it.
    * ``floor``: bandwidth factor and diameter that nothing undercuts.
    * ``collective``: what it is for.
    * ``limits``: the least sum of all distances there can be, whether all links have their reverse, and the seconds
      left.
    """
    bandwidth, diameter, distances, topology = best
    moore, duplex, left = limits
    nodes, degree = topology.nodes, topology.degree
    if (bandwidth, diameter) <= floor or (collective == "all-to-all" and bandwidth == floor[0]):
        return topology, floor[0], "bound"
    if collective == "allgather":
        return topology, floor[0], "none"
    every = Enumeration(nodes, degree, duplex=duplex)
    until = (1 - _ALL) * left()
    for better in every.undercutting(bandwidth, lambda one: _rank(one, collective)[0], lambda: left() > until):
        bandwidth, topology = better
        distances = _rank(topology, collective)[2]
    if every.finished:
        return topology, bandwidth, "search"
    least = least_sum(nodes, degree, duplex, (moore, distances), left())
    bound = max(floor[0], Fraction(least, nodes**2))
    return topology, bound, "search" if bandwidth == bound else "none"


def _by_turns(several: list[Iterator[Pairs]]) -> Iterator[Pairs]:
    """Yield what each of several yields, by turns, until one has no more."""
    for found in zip(*several, strict=False):
        yield from found


def _rank(topology: Topology, collective: Wanted) -> tuple[Fraction, int, int, Topology]:
    """Return what is better the smaller it is, exactly, and the topology."""
    out = [sum(1 << v for v in topology.neighbours(u).tolist()) for u in range(topology.nodes)]
    total, diameter = distance_sum(out)
    if collective == "all-to-all":
        found = all_to_all(topology, effort="exact").bandwidth
        if found is None:
            raise InfeasibleError("the best flow of a topology was not found, which would be our fault")
        return found, diameter, total, topology
    cost = max(
        (price(way, all_sources=True) for way in (topology, topology.transpose())), key=lambda one: one.bandwidth
    )
    return cost.bandwidth, diameter, total, topology
