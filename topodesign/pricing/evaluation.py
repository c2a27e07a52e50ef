"""One topology looked at from all sides: prices, bounds, diameter, girth, distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from topodesign.base.claims import Among, Claim, Of, Proof
from topodesign.base.cost import Bounds, Cost, bound_in, least_steps, lower_bound, lower_bounds
from topodesign.base.declared import key
from topodesign.base.errors import TooLargeError, TopologyError
from topodesign.base.progress import Progress, part
from topodesign.base.records import Result, Table, shortened
from topodesign.base.units import Quantity, format_excess, format_size, format_time
from topodesign.fabrics.places import as_topology
from topodesign.pricing import closed_form, deferral, split_deferral
from topodesign.pricing.all_to_all import AllToAll, all_to_all
from topodesign.pricing.efforts import Effort
from topodesign.pricing.flows.balanced import GAP
from topodesign.pricing.least_in_steps import least_in_steps
from topodesign.pricing.workload import Runtimes, Workload, as_workload
from topodesign.topology.library import TopologyLike
from topodesign.topology.topology import Topology

_QUICK_WORK = 2**27
"""Work, times ports, of the deferred schedules that are looked for unasked, in both directions: some two seconds."""


@dataclass(frozen=True)
class Prices:
    """What the two halves of an allreduce cost on a topology.

    * ``reduce_scatter``, ``allgather``: prices of its best SPFF reduce-scatter and allgather: as many steps, the
      diameter, but the bandwidth factors may differ where the topology is not isomorphic to its transpose.
    * ``deferred_reduce_scatter``, ``deferred_allgather``: prices of the best deferred schedules that were found, in as
      many steps, or two where SPFF takes one; in as many those of SPFF where they are cheaper, as :attr:`methods`
      tells. None where they were not looked for.
    """

    reduce_scatter: Cost
    allgather: Cost
    deferred_reduce_scatter: Cost | None
    deferred_allgather: Cost | None

    @property
    def cost(self) -> Cost:
        """Price of SPFF for the dearer of the two collectives, which holds for both."""
        return dearer(self.reduce_scatter, self.allgather)

    @property
    def cheapest(self) -> tuple[Cost, Cost]:
        """Prices of reduce-scatter and allgather, each by SPFF or deferred in as many steps, whichever is cheaper."""
        if self.longer is not None:
            return self.reduce_scatter, self.allgather
        return (
            cheaper(self.reduce_scatter, self.deferred_reduce_scatter),
            cheaper(self.allgather, self.deferred_allgather),
        )

    @property
    def longer(self) -> tuple[Cost, Cost] | None:
        """Prices of the deferred reduce-scatter and allgather where they take a step more than by SPFF, else None."""
        there, back = self.deferred_reduce_scatter, self.deferred_allgather
        if there is None or back is None or there.steps == self.reduce_scatter.steps == back.steps:
            return None
        return there, back

    @property
    def ways(self) -> tuple[tuple[tuple[str, ...], tuple[Cost, Cost]], ...]:
        """The methods and the prices of an allreduce: in the fewest steps first, and in more where that is known."""
        fewest = self.methods, self.cheapest
        return (fewest,) if self.longer is None else (fewest, (("deferred",), self.longer))

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that :attr:`cheapest` is by: ``spff``, ``deferred``, or both."""
        both = zip((self.reduce_scatter, self.allgather), self.cheapest, strict=True)
        return tuple(dict.fromkeys("spff" if spff == cost else "deferred" for spff, cost in both))


@dataclass(frozen=True, repr=False)
class Evaluation(Result, Prices):
    """What is known of a topology, beside its prices.

    * ``girth``: links of the shortest directed cycle but for self-loops, 2 of a duplex link; None if there is none.
    * ``least_reduce_scatter``, ``least_allgather``: bandwidth factors that no schedules on its links are below in as
      many steps as the deferred ones; None where those were not looked for.
    """

    topology: Topology  # the topology
    bound: Cost  # lower bound for its nodes and degree (with the duplex Moore bound if it is duplex)
    girth: int | None
    undirected_girth: int | None  # the same of cables, for duplex topologies; None for others
    distance_profile: tuple[int, ...]  # nodes at distance 1, 2, ... of node 0
    sources: int  # nodes that prices were worked out from; the others are alike
    workload: Workload  # what :attr:`allreduce` is for
    all_to_all: AllToAll  # all-to-all: time = y * M/B with M the data of one node
    least_reduce_scatter: Fraction | None
    least_allgather: Fraction | None

    KEYS = (
        "spec=topology.spec alias=topology.alias nodes=topology.nodes degree=topology.degree *cost",
        key("bandwidth_float=float(cost.bandwidth)", "The same, rounded."),
        key(
            "reduce_scatter_bandwidth=reduce_scatter.bandwidth",
            "Bandwidth factor of the reduce-scatter alone, by SPFF.",
        ),
        key("allgather_bandwidth=allgather.bandwidth", "Bandwidth factor of its allgather, by SPFF."),
        key(
            "deferred_steps=deferred_allgather.steps",
            "Steps of the deferred schedules; null where they were not looked for.",
        ),
        key(
            "deferred_reduce_scatter_bandwidth=deferred_reduce_scatter.bandwidth",
            "The same by a deferred schedule, in deferred_steps, or by SPFF if that is cheaper in as many; null where "
            "none was looked for.",
        ),
        key("deferred_allgather_bandwidth=deferred_allgather.bandwidth", "The same of the allgather."),
        key(
            "least_reduce_scatter", "Bandwidth factor that none on its links is below in deferred_steps; null likewise."
        ),
        key("least_allgather", "The same of the allgather."),
        key("methods", "By what both cost least in the fewest steps: spff, deferred, or one by each."),
        "lower_bound steps_over_bound bandwidth_over_bound",
        key("simplex=not(topology.is_duplex)", "Whether links go one way only."),
        "regular=topology.is_regular vertex_transitive=topology.vertex_transitive",
        key("diameter=cost.steps", "Longest distance of two nodes."),
        "girth undirected_girth distance_profile self_loop_ports=topology.self_loops",
        key("links=len(topology.src)", "Links, parallel ones as one."),
        "sources_priced=sources all_to_all claims *times",
    )
    ROW = (
        "spec=topology.spec nodes=topology.nodes degree=topology.degree *cost bandwidth_float=float(cost.bandwidth)",
        "reduce_scatter_bandwidth=reduce_scatter.bandwidth allgather_bandwidth=allgather.bandwidth",
        "deferred_reduce_scatter_bandwidth=deferred_reduce_scatter.bandwidth",
        "deferred_allgather_bandwidth=deferred_allgather.bandwidth",
        "bound_steps=bound.steps bound_bandwidth=bound.bandwidth duplex=topology.is_duplex",
        "vertex_transitive=topology.vertex_transitive girth undirected_girth allreduce_s_*=float(times.by_size)",
    )

    @property
    def bounds(self) -> tuple[Cost, ...]:
        """Costs of which every topology of so many nodes and ports has at least one or more."""
        graph = self.topology
        return lower_bounds(graph.nodes, graph.degree, duplex=graph.is_duplex)

    @property
    def lower_bound(self) -> Bounds:
        """What no topology of so many nodes and ports beats."""
        return Bounds(self.bounds)

    @property
    def steps_over_bound(self) -> int:
        """Steps beyond the bound."""
        return self.cost.steps - self.bound.steps

    @property
    def bandwidth_over_bound(self) -> Fraction:
        """Bandwidth factor over the bound, less 1."""
        return self.cost.bandwidth / self.bound.bandwidth - 1

    @property
    def times(self) -> Runtimes:
        """Seconds of an allreduce."""
        return self.workload.timed(self.allreduce)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """How its steps, its least y and its all-to-all stand among all topologies of as many nodes and ports.

        The y is that of the best schedules that were found, be they by SPFF or deferred, in as many steps or more.
        """
        graph, factor = self.topology, min(dearer(*pair).bandwidth for _, pair in self.ways)
        among = Among.DUPLEX if graph.is_duplex else Among.TOPOLOGIES
        least = least_steps(graph.nodes, graph.degree, duplex=graph.is_duplex)
        why = "Moore's bound" if least.why is None else least.why
        return (
            _claim(Of.STEPS, self.cost.steps, among, least.steps, why),
            _claim(Of.FACTOR, factor, among, self.bounds[-1].bandwidth, "allgather: all other shards must come in"),
            *self.all_to_all.claims,
        )

    @property
    def allreduce(self) -> tuple[Fraction, ...]:
        """Seconds of the cheapest reduce-scatter and the cheapest allgather after it, for each size of the workload."""
        return tuple(map(min, zip(*(self.workload.allreduce(*pair) for _, pair in self.ways), strict=True)))

    @property
    def name(self) -> str:
        """The spec, if it has one."""
        return "a topology without a spec" if self.topology.spec is None else str(self.topology.spec)

    def heading(self) -> str:
        """Return the spec and its price."""
        return f"{shortened(self.name)}, {self.cost.steps} steps, bandwidth factor {self.cost.bandwidth}"

    def table(self) -> Table:
        """Return what is known in words, a line each."""
        graph, cost, bound = self.topology, self.cost, self.bound
        symmetry = "vertex-transitive by construction" if graph.vertex_transitive else "not proven vertex-transitive"
        loops = f", {graph.self_loops} ports lost to self-loops" if graph.self_loops else ""
        rows = [
            *([] if graph.alias is None else [("short spec", graph.alias)]),
            ("nodes", f"{graph.nodes}"),
            ("degree", f"{graph.degree}" + ("" if graph.is_regular else " (not regular: some ports are unused)")),
            ("steps", f"{cost.steps} (bound {bound.steps})"),
            *self._factors(),
            *self._not_deferred(),
            ("all-to-all", f"bandwidth factor {self.all_to_all.words()}{self._not_exact()}"),
            *self._equal_split(),
            ("cabling", "duplex: every link has its reverse" if graph.is_duplex else "simplex: one-way links"),
            ("symmetry", f"{symmetry}; priced from {self.sources} node(s)"),
            ("diameter, girth", f"{cost.steps}, {self._shortest_cycle()}"),
            ("nodes by distance", " ".join(map(str, self.distance_profile))),
            ("links", f"{len(graph.src)}{loops}"),
        ]
        bounds = self.workload.fastest(self.bounds)
        for size, time, least in zip(self.workload.sizes, self.allreduce, bounds, strict=True):
            rows.append((f"allreduce {format_size(size)}", f"{format_time(time)} (bound {format_time(least)})"))
        return Table(self.name, ("", " "), tuple(rows), frozenset(("", " ")))

    def _shortest_cycle(self) -> str:
        """Return the girth in words; 2, as of every duplex topology, says nothing of it."""
        length = self.undirected_girth if self.topology.is_duplex else self.girth
        return "no cycle" if length is None else str(length)

    def _not_exact(self) -> str:
        """Return what tells an all-to-all price that was too dear to be worked out unasked."""
        return "" if self.all_to_all.exact else "; exactly: --exact"

    def _not_deferred(self) -> list[tuple[str, str]]:
        """Return that deferred schedules were not looked for, where SPFF leaves something to gain."""
        if self.deferred_allgather is not None or self.cost.bandwidth == self.bounds[-1].bandwidth:
            return []
        return [("  deferred", "not looked for; --deferred does, whatever it takes")]

    def _equal_split(self) -> list[tuple[str, str]]:
        """Return what all-to-all takes by equal-cost multi-path routing, where that is known and more."""
        found = self.all_to_all
        if found.equal_split is None or found.equal_split == found.upper:
            return []
        return [("  by equal split", f"bandwidth factor {float(found.equal_split):.6f} over shortest paths")]

    def _factors(self) -> list[tuple[str, str]]:
        """Return what the two collectives take by SPFF and, where that is cheaper, deferred; once if they are alike."""
        shown = list(zip((self.reduce_scatter, self.allgather), self.cheapest, strict=True))
        if shown[0] == shown[1]:
            names, shown = ["bandwidth factor"], shown[:1]
        else:
            names = ["reduce-scatter", "allgather"]
        rows = []
        leasts = (self.least_reduce_scatter, self.least_allgather)
        for name, (spff, best), least in zip(names, shown, leasts, strict=False):
            rows.append((name, ("" if len(names) == 1 else "bandwidth factor ") + self._factor(spff)))
            if best != spff:
                rows.append(("  deferred", f"bandwidth factor {self._factor(best)}"))
            if least is not None and self.longer is None and least > bound_in(best.steps, self.bounds).bandwidth:
                over = format_excess(best.bandwidth / least)
                rows.append(("  on these links", f"at least {least} in {best.steps} steps, found {over}"))
        if self.longer is not None:
            both = dearer(*self.longer)
            rows.append((f"  in {both.steps} steps", f"bandwidth factor {self._factor(both)}, deferred"))
        return rows

    def _factor(self, cost: Cost) -> str:
        least = bound_in(cost.steps, self.bounds).bandwidth
        over = format_excess(cost.bandwidth / least)
        return f"{cost.bandwidth} = {float(cost.bandwidth):.6f} (bound {least}, {over})"


def evaluate(
    topology: TopologyLike,
    *,
    alpha: Quantity = "10us",
    sizes: Quantity | Sequence[Quantity] = "1MiB",
    bandwidth: Quantity = "100Gbps",
    all_sources: bool = False,
    effort: Effort = "quick",
    gap: Fraction | float | str = GAP,
    deferred: bool | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Price a topology and set it against the bounds.

    Parameters
    ----------
    topology
        A topology, its spec, a file of links or a networkx graph; strongly connected, without switches, with at least
        two nodes.
    alpha, sizes, bandwidth
        Latency of a step, sizes of data and egress bandwidth of a node: text with a unit, or seconds, bytes and bits
        per second.
    all_sources
        Look at every node even if the topology's construction proves that some are enough.
    effort, gap
        How far to go for the price of all-to-all, as :func:`topodesign.all_to_all`. By default it is exact or within a
        proven gap where that takes a second or two at most, and elsewhere bounds are told.
    deferred
        Whether to look for deferred schedules, too; None for where SPFF leaves something to gain and that takes some
        two seconds at most, as it does up to some 800 nodes of degree 4, and more where there is symmetry. How much is
        looked at is counted, not timed, so that the answer is the same on every machine.
    progress
        Called now and then with the share of the work that is done.

    Raises
    ------
    SpecError, FileFormatError, ParameterError
        As :func:`topodesign.topology.library.as_topology`.
    UnitError
        If a quantity cannot be read.
    DisconnectedError, TopologyError
        As :func:`topodesign.pricing.closed_form.price`; if ``deferred`` is said, also as
        :func:`topodesign.price_deferred`.
    TooLargeError
        If ``deferred`` is said of a topology that is too large for it.

    Examples
    --------
    >>> from topodesign import evaluate
    >>> print(evaluate("torus(4,4)", sizes="1GB"))
    torus(4,4)
    nodes              16
    degree             4
    steps              4 (bound 3)
    bandwidth factor   15/16 = 0.937500 (bound 15/16, +0.0%)
    all-to-all         bandwidth factor 2 = 2.000000 (bound 13/8, +23.1%)
    cabling            duplex: every link has its reverse
    symmetry           vertex-transitive by construction; priced from 1 node(s)
    diameter, girth    4, 4
    nodes by distance  4 6 4 1
    links              64
    allreduce 1GB      150.1ms (bound 150.1ms)
    """
    graph, work = as_topology(topology), as_workload(alpha, sizes, bandwidth)
    prices = price_each(graph, deferred, all_sources=all_sources, progress=part(progress, 0, 0.5))
    sources = None if all_sources else graph.representatives
    cycles = closed_form.undirected_girth if graph.is_duplex else closed_form.girth
    shortest = cycles(graph, progress=part(progress, 0.5, 0.6))
    return Evaluation(
        prices.reduce_scatter,
        prices.allgather,
        prices.deferred_reduce_scatter,
        prices.deferred_allgather,
        graph,
        lower_bound(graph.nodes, graph.degree, duplex=graph.is_duplex),
        2 if graph.is_duplex else shortest,
        shortest if graph.is_duplex else None,
        tuple(np.bincount(closed_form.distances(graph, 0))[1:].tolist()),
        graph.nodes if sources is None else len(sources),
        work,
        all_to_all(graph, effort=effort, gap=gap, progress=part(progress, 0.6, 1)),
        *_least_of_both(graph, prices),
    )


def price(topology: TopologyLike, *, all_sources: bool = False, progress: Progress | None = None) -> Cost:
    """Return what the best SPFF reduce-scatter and allgather cost at most: the price of the dearer one, exactly.

    Parameters and errors are those of :func:`evaluate`, which tells both.

    Examples
    --------
    >>> from topodesign import price
    >>> price("line(circulant(16,3,4),3)")
    Cost(steps=6, bandwidth=Fraction(261, 256))
    """
    return dearer(*price_both(as_topology(topology), all_sources=all_sources, progress=progress))


def price_both(topology: Topology, *, all_sources: bool = False, progress: Progress | None = None) -> tuple[Cost, Cost]:
    """Return the prices of the best SPFF reduce-scatter and allgather; errors as :func:`evaluate`.

    An allgather is a reduce-scatter on the transpose, backwards (Efficient Direct-Connect Topologies, Theorem 1).
    """
    return _both_ways(
        topology, progress, lambda graph, done: closed_form.price(graph, all_sources=all_sources, progress=done)
    )


def _both_ways(
    topology: Topology, progress: Progress | None, cost: Callable[[Topology, Progress | None], Cost]
) -> tuple[Cost, Cost]:
    """Return what something costs on a topology and on its transpose, which is the same where links lead back."""
    if topology.is_duplex:
        both = cost(topology, progress)
        return both, both
    return cost(topology, part(progress, 0, 0.5)), cost(topology.transpose(), part(progress, 0.5, 1))


def price_deferred(topology: TopologyLike, *, progress: Progress | None = None) -> Cost:
    """Return what the best deferred reduce-scatter and allgather that were found cost at most: the dearer one, exactly.

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
    return dearer(*map(_not_above, price_both(graph), deferred_both(graph, progress)))


def deferred_both(
    topology: Topology, progress: Progress | None = None, *, most: int | None = None
) -> tuple[Cost, Cost]:
    """Return the prices of the deferred reduce-scatter and allgather, which SPFF's may be below.

    Errors are those of :func:`price_deferred`. ``most`` is the work for each beyond which schedules without the known
    symmetry are not looked for.
    """
    return _both_ways(topology, progress, partial(split_deferral.price_deferred, most=most))


def price_each(
    topology: Topology, deferred: bool | None = None, *, all_sources: bool = False, progress: Progress | None = None
) -> Prices:
    """Return the prices of both halves of an allreduce; parameters and errors are those of :func:`evaluate`."""
    there, back = price_both(topology, all_sources=all_sources, progress=part(progress, 0, 0.5))
    most = None
    if deferred is None:
        gain = dearer(there, back).bandwidth > Fraction(topology.nodes - 1, topology.nodes)
        ports = deferral.in_lowest_terms(topology)[1].degree
        most = _QUICK_WORK // (ports * (1 if topology.is_duplex else 2))
        looked = gain and deferral.why_not(topology, there.steps, most) is None
    else:
        looked = deferred
    try:
        later = deferred_both(topology, part(progress, 0.5, 1), most=most) if looked else None
    except (TooLargeError, TopologyError):  # such as for too many links of a node
        if deferred:
            raise
        later = None
    if later is None:
        return Prices(there, back, None, None)
    return Prices(there, back, *map(_not_above, (there, back), later))


def _not_above(spff: Cost, later: Cost) -> Cost:
    """Return the cost of a deferred schedule, or that of SPFF if it is cheaper in as many steps."""
    return cheaper(spff, later) if spff.steps == later.steps else later


def cheaper(one: Cost, other: Cost | None) -> Cost:
    """Return the cost with the smaller bandwidth factor; the first if there is no other."""
    return one if other is None or one.bandwidth <= other.bandwidth else other


def _least_of_both(graph: Topology, prices: Prices) -> tuple[Fraction | None, Fraction | None]:
    """Return what a reduce-scatter and an allgather take at least in as many steps as the deferred ones."""
    there, back = prices.deferred_reduce_scatter, prices.deferred_allgather
    if there is None or back is None:
        return None, None
    least = least_in_steps(graph, back.steps)
    return least if graph.is_duplex else least_in_steps(graph.transpose(), there.steps), least


def _claim(of: Of, value: Fraction | int, among: Among, bound: Fraction | int, by: str) -> Claim:
    return Claim(of, value, among, Proof.BOUND if value == bound else Proof.NONE, bound, by)


def dearer(one: Cost, other: Cost) -> Cost:
    """Return the cost with the larger bandwidth factor of two with as many steps."""
    return one if one.bandwidth >= other.bandwidth else other
