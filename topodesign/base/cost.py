"""The cost of a collective: steps and exact bandwidth factor.

With the basis that tells how far it can be trusted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar

from topodesign.base.arguments import as_integer
from topodesign.base.declared import Declared, Keys
from topodesign.base.errors import ParameterError
from topodesign.base.moore import explain_impossible, moore_steps


@dataclass(frozen=True, slots=True)
class Cost(Declared):
    """Cost of an allgather or reduce-scatter.

    An allreduce costs twice as much.

    Attributes
    ----------
    steps
        Communication steps; the latency is alpha times this.
    bandwidth
        Bandwidth factor y: the data take y * M/B, with M bytes at B bytes per second of all links of a node.
    """

    steps: int
    bandwidth: Fraction

    KEYS: ClassVar[Keys] = "steps bandwidth"

    def runtime(self, alpha: Fraction, size: Fraction, bandwidth: Fraction) -> Fraction:
        """Return the time of one allgather or reduce-scatter in seconds.

        Parameters
        ----------
        alpha
            Latency of one communication step, in seconds.
        size
            Total data M, in bytes.
        bandwidth
            Egress bandwidth B of a node (not of a link), in bits per second.
        """
        return alpha * self.steps + self.bandwidth * 8 * size / bandwidth

    def allreduce(self, alpha: Fraction, size: Fraction, bandwidth: Fraction) -> Fraction:
        """Return the time of an allreduce (reduce-scatter, then allgather) in seconds."""
        return 2 * self.runtime(alpha, size, bandwidth)

    def average_with(self, other: Cost) -> Cost:
        """Return the mean with another cost of the same number of steps.

        An allreduce made of both takes twice the mean.

        A topology has the diameter of its transpose, so that its reduce-scatter and its allgather have as many steps.
        """
        return Cost(self.steps, (self.bandwidth + other.bandwidth) / 2)

    def dominates(self, other: Cost) -> bool:
        """Return whether this is at least as good in both terms."""
        return self.steps <= other.steps and self.bandwidth <= other.bandwidth


class Basis(StrEnum):
    """Basis of a cost, in the words of the catalog's files."""

    LINKS = "links"
    """It was computed from the links of the topology as it is built: that of its best SPFF schedule."""
    ORBITS = "orbits"
    """As by links, from one source of each orbit under automorphisms that its construction gives and that were not
    checked on the links."""
    THEOREM = "theorem"
    """A theorem gives this very SPFF cost; building and pricing gives the same."""
    BOUND = "bound"
    """A theorem says that the SPFF cost is at most this."""
    SCHEDULE = "schedule"
    """A lifted schedule has this cost; the best SPFF schedule may be better or worse."""
    DEFERRED = "deferred"
    """The deferred schedule of its links has this cost; the best SPFF schedule takes longer."""

    @property
    def words(self) -> str:
        """The basis in words for people and JSON documents.

        A closed form is worth a word; a schedule is the usual case.
        """
        return {
            Basis.ORBITS: "one source per orbit",
            Basis.THEOREM: "closed form",
            Basis.BOUND: "closed form, at most",
        }.get(self, self.value)


def digits(n: int, d: int) -> int:
    """Return the smallest k with d^k >= n, for d >= 2.

    That is the number of digits of numbers below n in base d.
    """
    count, reach = 1, d
    while reach < n:
        count, reach = count + 1, reach * d
    return count


def moore_bound(nodes: int, degree: int, *, duplex: bool = False) -> int:
    """Return the Moore bound on the steps of a given degree.

    Parameters
    ----------
    nodes
        Number of nodes N.
    degree
        Links out of each node d.
    duplex
        Every link has its reverse, so that only d-1 links of a node lead on (the undirected Moore bound).

    Raises
    ------
    ParameterError
        If no number of steps is enough (degree too small to connect the nodes).

    Notes
    -----
    Efficient Direct-Connect Topologies, Definition 11 and Table 4 (T_L* and T_L**).

    Examples
    --------
    >>> moore_bound(1024, 4), moore_bound(1024, 4, duplex=True)
    (5, 6)
    """
    check_size(nodes, degree)
    if degree == 1:
        if duplex and nodes > 2:
            raise ParameterError(f"{nodes} nodes cannot be connected by one duplex link each")
        return nodes - 1
    return moore_steps(nodes, degree, duplex=duplex)


def commuting_bound(nodes: int, degree: int) -> int:
    """Return the Moore bound if links commute.

    It holds for Cayley graphs of abelian groups.

    Within x steps there are as many nodes as ways to take each of d links some times, x times at most in all.
    """
    return next(x for x in itertools.count(1) if math.comb(x + degree, degree) >= nodes)


@dataclass(frozen=True, slots=True)
class LeastSteps:
    """The proven minimum of the steps of a topology."""

    steps: int  # no topology has fewer
    moore: int  # Moore's bound, of which it is one more where a theorem says that no topology reaches it
    why: str | None  # that theorem


def least_steps(nodes: int, degree: int, *, duplex: bool = False) -> LeastSteps:
    """Return the minimum steps by the Moore bound and the theorems near it.

    Errors are those of :func:`moore_bound`.

    Parameters
    ----------
    nodes, degree
        N >= 2 and d >= 1, the ports out of (and into) each node.
    duplex
        Whether every link has its reverse.

    References
    ----------
    See :func:`topodesign.base.moore.explain_impossible`.

    Examples
    --------
    >>> from topodesign import least_steps
    >>> least_steps(7, 2)
    LeastSteps(steps=3, moore=2, why="no digraph reaches Moore's bound (Plesnik and Znam 1974; Bridges and Toueg 1980)")
    >>> least_steps(10, 3, duplex=True).steps  # Petersen's graph
    2
    >>> least_steps(23, 5).steps, least_steps(23, 5, duplex=True).steps
    (2, 3)
    """
    moore = moore_bound(nodes, degree, duplex=duplex)
    if degree == 1 or (degree == 2 and duplex):
        return LeastSteps(moore, moore, None)
    why = explain_impossible(nodes, degree, moore, duplex=duplex)
    return LeastSteps(moore if why is None else moore + 1, moore, why)


def lower_bound(nodes: int, degree: int, *, duplex: bool = False) -> Cost:
    """Return the lower bound of every topology: :func:`least_steps`, y = (N-1)/N.

    Where N and d are odd a node of a duplex topology has a port that stays free, as a cable takes two: all that it
    gets comes over d-1 links, which takes d/(d-1) times as long.

    Parameters
    ----------
    nodes, degree
        N >= 2 and d >= 1, the ports out of (and into) each node.
    duplex
        Whether every link has its reverse.

    Notes
    -----
    Efficient Direct-Connect Topologies, Definition 11 and Theorem 4.

    Examples
    --------
    >>> lower_bound(1024, 4)
    Cost(steps=5, bandwidth=Fraction(1023, 1024))
    >>> lower_bound(9, 3, duplex=True)
    Cost(steps=3, bandwidth=Fraction(4, 3))
    """
    steps, bandwidth = least_steps(nodes, degree, duplex=duplex).steps, Fraction(nodes - 1, nodes)
    if keeps_port_free(nodes, degree, duplex=duplex):
        bandwidth *= Fraction(degree, degree - 1)
    return Cost(steps, bandwidth)


def lower_bounds(nodes: int, degree: int, *, duplex: bool = False) -> tuple[Cost, ...]:
    """Return costs that bound every topology from below.

    The fewest steps come first, the least y last. Every topology has at least one of them or more.

    Mostly that is :func:`lower_bound` alone. With more ports than other nodes one step is possible, but a pair of nodes
    has at most the whole part of d / (N - 1) links, and its shards come over these alone; unless that leaves nothing
    over, two steps at least are needed for the least y.

    Errors are those of :func:`moore_bound`.

    Parameters
    ----------
    nodes, degree
        N >= 2 and d >= 1, the ports out of (and into) each node.
    duplex
        Whether every link has its reverse.

    Examples
    --------
    >>> from topodesign import lower_bounds
    >>> lower_bounds(8, 12)
    (Cost(steps=1, bandwidth=Fraction(3, 2)), Cost(steps=2, bandwidth=Fraction(7, 8)))
    >>> lower_bounds(8, 14)
    (Cost(steps=1, bandwidth=Fraction(7, 8)),)
    """
    bound = lower_bound(nodes, degree, duplex=duplex)
    if bound.steps > 1:
        return (bound,)
    links = (degree - keeps_port_free(nodes, degree, duplex=duplex)) // (nodes - 1)
    direct = Cost(1, Fraction(degree, nodes * links))
    return (bound,) if direct == bound else (direct, Cost(2, bound.bandwidth))


def bound_in(steps: int, bounds: Sequence[Cost]) -> Cost:
    """Return the bound for a number of steps, from bounds by ascending steps."""
    return next((one for one in reversed(bounds) if one.steps <= steps), bounds[0])


@dataclass(frozen=True, slots=True)
class Rate(Declared):
    """How fast a collective is."""

    bandwidth: Fraction  # whole data over the time, without latency, in bytes per second

    KEYS = "algorithmic_bandwidth=bandwidth algorithmic_bandwidth_GBps=float(gigabytes)"

    @property
    def gigabytes(self) -> Fraction:
        """The same in units of 10^9 bytes per second."""
        return self.bandwidth / 10**9


@dataclass(frozen=True, slots=True)
class Bounds(Declared):
    """Lower bounds for all topologies of a size and degree."""

    by_steps: tuple[Cost, ...]  # what goes together: every topology has at least one of these or more. Mostly it is one

    KEYS: ClassVar[Keys] = "steps bandwidth by_steps"

    @property
    def steps(self) -> int:
        """The fewest communication steps."""
        return self.by_steps[0].steps

    @property
    def bandwidth(self) -> Fraction:
        """The least bandwidth factor y."""
        return self.by_steps[-1].bandwidth


def spare_factor(degree: int, k: int = 1) -> Fraction:
    """Return the factor that k free ports multiply bandwidth factors by."""
    return Fraction(degree + k, degree)


def keeps_port_free(nodes: int, degree: int, *, duplex: bool) -> bool:
    """Return whether a port stays free in every topology.

    So it is if the number of all ports is odd, because a cable takes two.

    A topology has a self-loop there, which uses a port and carries nothing.

    Examples
    --------
    >>> from topodesign.base.cost import keeps_port_free
    >>> keeps_port_free(9, 3, duplex=True), keeps_port_free(9, 3, duplex=False), keeps_port_free(9, 4, duplex=True)
    (True, False, False)
    """
    return duplex and nodes * degree % 2 == 1


def moore_distances(nodes: int, degree: int, *, duplex: bool = False) -> Fraction:
    """Return a lower bound on the bandwidth factor of any all-to-all.

    A node reaches d others at distance 1 at most, d**2 at distance 2 and so on; each link more on the way of a shard
    takes a share of the links. In a duplex topology a path of two links leads d - 1 ways on from every node; where N
    and d are odd, one node has a link less, and so have all of them together.

    Examples
    --------
    >>> from topodesign.base.cost import moore_distances
    >>> moore_distances(6, 2), moore_distances(23, 5), moore_distances(23, 5, duplex=True)
    (Fraction(4, 3), Fraction(39, 23), Fraction(750, 437))
    """
    direct = lower_bound(nodes, degree, duplex=duplex).bandwidth
    onward = degree - 1 if duplex else degree
    each = least_distances(nodes, degree, onward)
    if not keeps_port_free(nodes, degree, duplex=duplex):
        return Fraction(each, nodes)
    alone = least_distances(nodes, onward, onward)
    together = Fraction((nodes - 1) * each + alone, nodes * degree - 1) * Fraction(degree, nodes)
    return max(direct, together)


def least_distances(nodes: int, first: int, onward: int) -> int:
    """Return the least sum of distances from a node.

    Each of its links leads on over the given number of links.
    """
    left, layer, distance, total = nodes - 1, first, 1, 0
    while left > 0:
        if onward <= 1:  # layers of one size, all alike: sum them at once
            full, rest = divmod(left, layer)
            return total + layer * sum(range(distance, distance + full)) + rest * (distance + full)
        met = min(left, layer)
        total += distance * met
        left, layer, distance = left - met, layer * onward, distance + 1
    return total


def check_size(nodes: int, degree: int) -> None:
    """Raise ParameterError unless there are two nodes and one link per node."""
    as_integer("the number of nodes", nodes, -(2**63))
    as_integer("the degree", degree, -(2**63))
    if nodes < 2:
        raise ParameterError(f"a collective requires at least 2 nodes, not {nodes}")
    if degree < 1:
        raise ParameterError(f"every node requires at least one link, not degree {degree}")
