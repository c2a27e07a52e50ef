"""All-to-all on a topology: its exact cost or proven bounds, with a flow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from topodesign.base.arguments import as_choice
from topodesign.base.claims import Claim, Of, Proof, Scope
from topodesign.base.cost import moore_distances
from topodesign.base.declared import key, keys_of
from topodesign.base.errors import ParameterError
from topodesign.base.progress import Progress, tell
from topodesign.base.records import Result, Table, shorten_text
from topodesign.base.units import as_share, format_excess
from topodesign.fabrics.places import as_topology
from topodesign.pricing.efforts import EFFORTS, Effort
from topodesign.pricing.split_routes import bound_own_distances, equal_split
from topodesign.solve.flows.columns import tree_flow
from topodesign.solve.flows.concurrent import ConcurrentFlow
from topodesign.solve.flows.potentials import GAP, find_balanced_flow
from topodesign.topology.factors import factors_of
from topodesign.topology.library import TopologyLike
from topodesign.topology.quotient import quotient
from topodesign.topology.topology import IntArray, Topology

EXACT_ROWS = 520  # orbits of sources and links up to which ``auto`` is exact: 100 nodes of degree 4 without symmetry

QUICK_ROWS = 160  # the same for ``quick``, which takes a second or two at most: 32 nodes of degree 4 without symmetry

_QUICK_NODES = 2**13
_QUICK_TREES = 2**26  # nodes, and sources times links times rows, up to which ``quick`` is exact
_QUICK_FLOW = 2**20
_QUICK_BOUNDS = 2**24  # sources times links up to which ``quick`` balances flows, and looks at distances


@dataclass(frozen=True, repr=False)
class AllToAll(Result):
    """The cost of an all-to-all: every node sends a shard to every other.

    * ``lower``, ``upper``: bandwidth factors: no flow takes less than the first, and one is known that takes the second
      (None if none has been looked for). Time is y * M/B with M the data of one node, M/N for each node including
      itself, and B the bandwidth of a node's links together.
    * ``moore``, ``distances``: lower bounds by the distances of any topology of that many nodes and ports, and by those
      of this one.
    * ``equal_split``: what equal-cost multi-path routing takes, which parts traffic over all links on shortest paths
      alike.
    * ``flow``: a flow that takes ``upper``, and link prices that prove ``lower``; None where there are bounds alone, or
      where it is that of the ``factors`` of a Cartesian product.
    """

    topology: Topology  # the topology
    lower: Fraction
    upper: Fraction | None
    method: str  # how the price was found
    moore: Fraction
    distances: Fraction | None
    equal_split: Fraction | None
    flow: ConcurrentFlow | None
    factors: tuple[AllToAll, ...] = ()  # of a product that was taken dimension by dimension, the fastest running first

    KEYS = (
        "bandwidth",
        key("lower", "What no way of doing it beats, proved."),
        key("upper", "What a known way reaches; null if none is known."),
        "method",
        key("moore_bound=moore", "The bound by counting what a degree can reach."),
        key("distance_bound=distances", "The bound by the distances; null if it was not worked out."),
        key("equal_split", "With all shortest paths alike; null as above."),
        "shortest_paths",
    )
    ROW = ("spec=topology.spec nodes=topology.nodes degree=topology.degree", *keys_of(KEYS))

    @cached_property
    def shortest_paths(self) -> Fraction | None:
        """The best over shortest paths; None if that takes long to compute."""
        if self.flow is None:
            return None
        small = self.flow.quotient
        quick = len(small.sources) + len(small.room) <= QUICK_ROWS
        return tree_flow(small, shortest=True).upper if quick else None

    @cached_property
    def link_prices(self) -> IntArray:
        """Integer link prices that prove ``lower``.

        Empty if only other bounds are known.

        In a product they are those of the first factor that takes longest, on the links of its dimension.
        """
        graph = self.topology
        prices = np.zeros(len(graph.src), dtype=object)
        if self.flow is not None:
            small = self.flow.quotient
            prices[small.arcs] = np.array([int(price) for price in self.flow.prices], dtype=object)[small.kind]
        stride = 1
        for factor in self.factors:
            there = factor.topology
            tail, head = (end // stride % there.nodes for end in (graph.src, graph.dst))
            if factor.lower * graph.degree == self.lower * there.degree:
                along = np.flatnonzero(tail != head)
                prices[along] = factor.link_prices[there.link_index(tail[along], head[along])]
                break
            stride *= there.nodes
        return prices

    @property
    def exact(self) -> bool:
        """Whether the bounds meet."""
        return self.lower == self.upper

    @property
    def bandwidth(self) -> Fraction | None:
        """Bandwidth factor; None where only its bounds are known."""
        return self.upper if self.exact else None

    @property
    def gap(self) -> Fraction | None:
        """The gap between the bounds, as a share of the lower one."""
        return None if self.upper is None else self.upper / self.lower - 1

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims of the price: on this topology, and among all of its size.

        Proven or with a gap, if known.
        """
        if self.upper is None:
            return ()
        graph = self.topology
        flows = Proof.DUAL if self.exact else Proof.NONE
        moore = Proof.BOUND if self.upper == self.moore else Proof.NONE
        among = Scope.DUPLEX if graph.is_duplex else Scope.TOPOLOGIES
        return (
            Claim(Of.FACTOR, self.upper, Scope.FLOWS, flows, self.lower, "all-to-all, on this topology"),
            Claim(Of.FACTOR, self.upper, among, moore, self.moore, "all-to-all, by how many nodes can be how near"),
        )

    def heading(self) -> str:
        """Return the spec and the price."""
        return f"{self.name}, all-to-all {self.words()}"

    @property
    def name(self) -> str:
        """The spec, if it has one."""
        spec = self.topology.spec
        return "a topology without a spec" if spec is None else shorten_text(str(spec))

    def words(self) -> str:
        """Return the price in words: exact, with a gap, or a bound."""
        if self.upper is None:
            return f"at least {float(self.lower):.6f}"
        least = f"bound {_short(self.moore)}, {format_excess(self.upper / self.moore)}"
        if self.exact:
            return f"{_short(self.upper)} = {float(self.upper):.6f} ({least})"
        return f"{float(self.lower):.6f} to {float(self.upper):.6f} ({least})"

    def table(self) -> Table:
        """Return what is known in words, a line each."""
        rows = [
            ("all-to-all", self.words()),
            ("found by", self.method),
            ("bound by own distances", _format_known(self.distances)),
            ("equal split", _format_known(self.equal_split)),
            ("best shortest paths", _format_known(self.shortest_paths)),
        ]
        return Table(self.name, ("", " "), tuple(row for row in rows if row[1]), frozenset(("", " ")))


def all_to_all(
    topology: TopologyLike,
    *,
    effort: Effort = "auto",
    gap: Fraction | float | str = GAP,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> AllToAll:
    """Compute the cost of an all-to-all over any paths.

    Every node sends a shard to every other node, as fast as the links allow.

    Parameters
    ----------
    topology
        As :func:`topodesign.evaluate` takes it; direct-connect, strongly connected.
    effort
        ``exact``: the best flow, and link prices that prove it, whatever it takes; with symmetry that is little for
        thousands of nodes, without it minutes for some hundreds. ``approximate``: a flow within the gap, which is
        proved. ``auto`` is exact up to ``EXACT_ROWS`` orbits of sources and links, and approximate beyond; ``quick``
        stops where it would take more than about a second, and then tells bounds. ``bounds``: by distances and by
        equal split alone.
    gap
        What ``approximate`` may be above its lower bound, as a part of it: above zero.
    seconds
        Time after which ``exact`` and ``approximate`` return the best bounds so far.
    progress
        Called now and then with the ratio of the bounds, and with 1 in the end.

    Returns
    -------
    AllToAll
        Exact numbers; bounds that are not the optimum are proved none the less.

    Raises
    ------
    SpecError, FileFormatError, ParameterError
        As :func:`topodesign.as_topology`, and if an argument is out of range.
    DisconnectedError, TopologyError
        If there are switches or one node only, or some node does not reach some other.
    TooLargeError
        If the flows do not fit into memory.

    Notes
    -----
    Flows of all sources at once, added up over destinations; with symmetry one source of every orbit (Basu et al.,
    Efficient all-to-all collective communication schedules for direct-connect topologies, 2023, decompose the same
    linear program by sources).

    The flow of a large Cartesian product is that of its factors, dimension by dimension. With R nodes beside a factor's
    own, each of R copies of its links carries R times what it carries in the factor alone, and where those links have
    the prices that prove the factor's time, and all others none, no flow of the product takes less: the distance of two
    nodes is then that of their coordinates, for R^2 pairs, and R copies are paid.

    Examples
    --------
    >>> from topodesign import all_to_all
    >>> all_to_all("kautz(2,1)").bandwidth
    Fraction(13, 9)
    >>> print(all_to_all("circulant(12,2,3)"))
    circulant(12,2,3)
    all-to-all              14/9 = 1.555556 (bound 3/2, +3.7%)
    found by                shortest-path trees
    bound by own distances  3/2 = 1.500000
    equal split             5/3 = 1.666667
    best shortest paths     5/3 = 1.666667
    """
    graph = as_topology(topology)
    wanted = as_choice("effort", effort, EFFORTS)
    share, limit = as_share(gap, "gap"), _seconds(seconds)
    if share < Fraction(1, 10**4):
        raise ParameterError(f"gap must be 0.0001 or more, not {gap!r:.60}")
    small = quotient(graph)
    rows, size = len(small.sources) + len(small.room), len(small.sources) * len(small.arcs)
    moore = moore_distances(graph.nodes, graph.degree, duplex=graph.is_duplex)
    if wanted == "quick" and size > _QUICK_BOUNDS:
        tell(progress, 1.0)
        return AllToAll(graph, moore, None, "distances of any topology", moore, None, None, None)
    near, split = bound_own_distances(small), equal_split(small)
    bounds = AllToAll(graph, max(near, moore), split, "equal split", moore, near, split, None)
    few = rows <= QUICK_ROWS and graph.nodes <= _QUICK_NODES and size * rows <= _QUICK_TREES
    if wanted in {"exact", "auto", "quick"} and not (few if wanted == "quick" else rows <= EXACT_ROWS):
        product = _of_factors(graph, wanted, limit)
        if product:
            tell(progress, 1.0)
            value = max(one.lower * Fraction(graph.degree, one.topology.degree) for one in product)
            return replace(bounds, lower=value, upper=value, method="dimension by dimension", factors=product)
    ways: dict[str, Callable[[], ConcurrentFlow | None]] = {
        "exact": lambda: tree_flow(small, seconds=limit, progress=progress),
        "approximate": lambda: find_balanced_flow(small, gap=share, seconds=limit, progress=progress),
        "bounds": lambda: None,
    }
    if wanted == "quick":
        wanted = "exact" if few else "approximate" if size <= _QUICK_FLOW else "bounds"
    if wanted == "auto":
        wanted = "exact" if rows <= EXACT_ROWS else "approximate"
    flow = ways[wanted]()
    tell(progress, 1.0)
    if flow is None:
        return bounds
    return replace(bounds, lower=max(flow.lower, bounds.lower), upper=flow.upper, method=flow.method, flow=flow)


def exact_where_alike(graph: Topology) -> AllToAll | None:
    """Return the exact price by factors or symmetry, else None.

    * ``graph``: direct-connect, strongly connected.
    """
    moore = moore_distances(graph.nodes, graph.degree, duplex=graph.is_duplex)
    if product := _of_factors(graph, "auto", None):
        value = max(one.lower * Fraction(graph.degree, one.topology.degree) for one in product)
        return AllToAll(graph, value, value, "dimension by dimension", moore, None, None, None, product)
    if graph.symmetry is None or len(graph.symmetry.representatives) == graph.nodes:
        return None
    small = quotient(graph)
    if len(small.sources) + len(small.room) > EXACT_ROWS:
        return None
    flow = tree_flow(small)
    return AllToAll(graph, flow.lower, flow.upper, flow.method, moore, None, None, flow) if flow.exact else None


def _of_factors(graph: Topology, effort: Effort, seconds: float | None) -> tuple[AllToAll, ...]:
    """Return the prices of the factors of a product, if all are exact."""
    factors = tuple(all_to_all(factor, effort=effort, seconds=seconds) for factor in factors_of(graph))
    return factors if all(one.exact for one in factors) else ()


def _seconds(value: float | None) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ParameterError(f"seconds must be a number that is not negative, not {value!r:.60}")
    return float(value)


def _short(value: Fraction) -> str:
    return str(value) if value.denominator < 10**9 else f"{float(value):.9g}"


def _format_known(value: Fraction | None) -> str:
    return "" if value is None else f"{_short(value)} = {float(value):.6f}"
