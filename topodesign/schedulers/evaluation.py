"""Evaluation of a topology: costs, bounds and distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from topodesign.base.claims import Claim, Of, Proof, Scope
from topodesign.base.cost import Bounds, Cost, bound_in, least_steps, lower_bound, lower_bounds
from topodesign.base.declared import key
from topodesign.base.errors import ParameterError
from topodesign.base.progress import Progress, part
from topodesign.base.records import Result, Table, shorten_text
from topodesign.base.units import Quantity, format_excess, format_size, format_time
from topodesign.base.wording import count_noun
from topodesign.fabrics.places import PlaceLike, as_place, as_topology
from topodesign.pricing import closed_form
from topodesign.pricing.all_to_all import AllToAll
from topodesign.pricing.efforts import Effort
from topodesign.pricing.evaluation import dearer
from topodesign.pricing.least_in_steps import least_in_steps
from topodesign.pricing.workload import Runtimes, Workload, as_workload
from topodesign.schedulers.price import PlanPrices, price_all_to_all, price_plans
from topodesign.solve.flows.potentials import GAP
from topodesign.topology.library import TopologyLike
from topodesign.topology.topology import Topology

if TYPE_CHECKING:
    from topodesign.collectives import Collective
    from topodesign.fabrics.fabric import Fabric
    from topodesign.fabrics.groups import Groups
    from topodesign.optima.group_price import GroupPrice
    from topodesign.optima.optimum import Optimum
    from topodesign.optima.uneven import UnevenPrice
    from topodesign.pricing.traffic_matrix import MatrixLike


@dataclass(frozen=True, repr=False)
class Evaluation(Result, PlanPrices):
    """Costs, bounds and graph metrics of a topology.

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
        "spec=topology.spec alias=topology.alias nodes=topology.nodes degree=topology.degree *spff_cost",
        key("bandwidth_float=float(spff_cost.bandwidth)", "The same, rounded."),
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
        "spec=topology.spec nodes=topology.nodes degree=topology.degree *spff_cost",
        "bandwidth_float=float(spff_cost.bandwidth)",
        "reduce_scatter_bandwidth=reduce_scatter.bandwidth allgather_bandwidth=allgather.bandwidth",
        "deferred_reduce_scatter_bandwidth=deferred_reduce_scatter.bandwidth",
        "deferred_allgather_bandwidth=deferred_allgather.bandwidth",
        "bound_steps=bound.steps bound_bandwidth=bound.bandwidth duplex=topology.is_duplex",
        "vertex_transitive=topology.vertex_transitive girth undirected_girth allreduce_s_*=float(times.by_size)",
    )

    @property
    def bounds(self) -> tuple[Cost, ...]:
        """Lower-bound costs; every such topology costs at least one of them."""
        graph = self.topology
        return lower_bounds(graph.nodes, graph.degree, duplex=graph.is_duplex)

    @property
    def lower_bound(self) -> Bounds:
        """Lower bound for these nodes and ports."""
        return Bounds(self.bounds)

    @property
    def steps_over_bound(self) -> int:
        """Steps above the lower bound."""
        return self.cost.steps - self.bound.steps

    @property
    def bandwidth_over_bound(self) -> Fraction:
        """SPFF bandwidth factor over the bound, less 1."""
        return self.spff_cost.bandwidth / self.bound.bandwidth - 1

    @property
    def times(self) -> Runtimes:
        """Seconds of an allreduce."""
        return self.workload.timed(self.allreduce)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims on steps, minimum y and all-to-all, at this size.

        The y is that of the best schedules that were found, be they by SPFF or deferred, in as many steps or more.
        """
        graph, factor = self.topology, min(dearer(*pair).bandwidth for _, pair in self.ways)
        among = Scope.DUPLEX if graph.is_duplex else Scope.TOPOLOGIES
        least = least_steps(graph.nodes, graph.degree, duplex=graph.is_duplex)
        why = "Moore's bound" if least.why is None else least.why
        return (
            _claim(Of.STEPS, self.cost.steps, among, least.steps, why),
            _claim(Of.FACTOR, factor, among, self.bounds[-1].bandwidth, "allgather: all other shards must come in"),
            *self.all_to_all.claims,
        )

    @property
    def allreduce(self) -> tuple[Fraction, ...]:
        """Seconds of the cheapest reduce-scatter plus allgather, by workload size."""
        return self.allreduce_times(self.workload)

    @property
    def name(self) -> str:
        """Spec of the topology, or a placeholder."""
        return "a topology without a spec" if self.topology.spec is None else str(self.topology.spec)

    def heading(self) -> str:
        """Return a title with spec, steps and bandwidth factor."""
        return f"{shorten_text(self.name)}, {self.cost.steps} steps, bandwidth factor {self.cost.bandwidth}"

    def table(self) -> Table:
        """Return the results as text, one line each."""
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
            ("symmetry", f"{symmetry}; priced from {count_noun(self.sources, 'node')}"),
            ("diameter, girth", f"{cost.steps}, {self._shortest_cycle()}"),
            ("nodes by distance", " ".join(map(str, self.distance_profile))),
            ("links", f"{len(graph.src)}{loops}"),
        ]
        bounds = self.workload.fastest(self.bounds)
        for size, time, least in zip(self.workload.sizes, self.allreduce, bounds, strict=True):
            rows.append((f"allreduce {format_size(size)}", f"{format_time(time)} (bound {format_time(least)})"))
        return Table(f"{self.name}; {self.workload.setting}", ("", " "), tuple(rows), frozenset(("", " ")))

    def _shortest_cycle(self) -> str:
        """Return the girth as text, undirected for duplex topologies."""
        length = self.undirected_girth if self.topology.is_duplex else self.girth
        return "no cycle" if length is None else str(length)

    def _not_exact(self) -> str:
        """Return a hint to ``--effort exact`` for inexact all-to-all costs."""
        return "" if self.all_to_all.exact else "; exactly: --effort exact"

    def _not_deferred(self) -> list[tuple[str, str]]:
        """Return a row if useful deferred schedules were not searched."""
        if self.deferred_allgather is not None or self.spff_cost.bandwidth == self.bounds[-1].bandwidth:
            return []
        return [("  deferred", "not looked for; --set deferred=yes does, whatever it takes")]

    def _equal_split(self) -> list[tuple[str, str]]:
        """Return the row of all-to-all by equal-cost multi-path, if higher."""
        found = self.all_to_all
        if found.equal_split is None or found.equal_split == found.upper:
            return []
        return [("  by equal split", f"bandwidth factor {float(found.equal_split):.6f} over shortest paths")]

    def _factors(self) -> list[tuple[str, str]]:
        """Return bandwidth factor rows of both collectives."""
        shown = list(zip((self.reduce_scatter, self.allgather), self.cheapest, strict=True))
        if shown[0] == shown[1]:
            names, shown = ["bandwidth factor"], shown[:1]
        else:
            names = ["reduce-scatter", "allgather"]
        rows = []
        leasts = (self.least_reduce_scatter, self.least_allgather)
        for name, (spff, best), plans, least in zip(names, shown, self.plans, leasts, strict=False):
            rows.append((name, ("" if len(names) == 1 else "bandwidth factor ") + self._factor(spff)))
            if best != spff:
                rows.append((f"  {plans[0].method}", f"bandwidth factor {self._factor(best)}"))
            if least is not None and self.longer is None and least > bound_in(best.steps, self.bounds).bandwidth:
                over = format_excess(best.bandwidth / least)
                rows.append(("  on these links", f"at least {least} in {best.steps} steps, found {over}"))
        more = [plan for plans in self.plans[: len(names)] for plan in plans[1:]]
        rows += [(f"  in {one.cost.steps} steps", f"{self._factor(one.cost)}, {one.method}") for one in more]
        return rows

    def _factor(self, cost: Cost) -> str:
        least = bound_in(cost.steps, self.bounds).bandwidth
        over = format_excess(cost.bandwidth / least)
        return f"{cost.bandwidth} = {float(cost.bandwidth):.6f} (bound {least}, {over})"


@overload
def evaluate(
    network: TopologyLike, *, traffic: None = None, group: None = None, collective: None = None, **options: Any
) -> Evaluation: ...
@overload
def evaluate(network: PlaceLike, *, traffic: MatrixLike, **options: Any) -> UnevenPrice: ...
@overload
def evaluate(network: PlaceLike, *, group: Groups, **options: Any) -> GroupPrice: ...
@overload
def evaluate(network: PlaceLike, *, collective: Collective | str, **options: Any) -> Optimum: ...
@overload
def evaluate(network: Fabric, **options: Any) -> Optimum: ...
def evaluate(
    network: PlaceLike,
    *,
    traffic: MatrixLike | None = None,
    group: Groups | None = None,
    collective: Collective | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Evaluation | Optimum | GroupPrice | UnevenPrice:
    """Evaluate a network: cost of a topology, or throughput of a fabric.

    Parameters
    ----------
    network
        A topology or a fabric, the spec of one, a file, or a networkx graph.
    traffic
        Traffic matrix of an all-to-all: the result is that of :func:`topodesign.price_uneven`.
    group
        Groups that communicate concurrently: the result is that of :func:`topodesign.price_groups`.
    collective
        Collective whose throughput to compute, as by :func:`topodesign.optimum`. By default the cost of a topology is
        computed, and the throughput of an allreduce on a fabric.
    progress
        Called now and then with the share of the work that is done; not for groups.
    **options
        Of the function that computes the result: those of :func:`topodesign.evaluate_topology` for the cost of a
        topology; others of :func:`topodesign.optimum` ask for the throughput.

    Returns
    -------
    Evaluation, Optimum, GroupPrice or UnevenPrice
        Cost and bounds of a topology; throughput; cost in groups; or cost of the traffic.

    Raises
    ------
    ParameterError
        If ``traffic`` is combined with ``group`` or ``collective``.
    TopodesignError
        As of the function that computes the result.

    Examples
    --------
    >>> from topodesign import evaluate
    >>> evaluate("torus(4,4)").cost
    Cost(steps=4, bandwidth=Fraction(15, 16))
    >>> round(evaluate("dgx_a100(1)", collective="allgather").bandwidth / 10**9)
    343
    """
    if traffic is not None:
        for name, value in (("group", group), ("collective", collective)):
            if value is not None:
                raise ParameterError(f"{name} cannot be combined with traffic, which is an all-to-all; remove one")
        from topodesign.optima.uneven import price_uneven  # noqa: PLC0415  heavy

        return price_uneven(network, traffic, progress=progress, **options)
    if group is not None:
        from topodesign.optima.group_price import price_groups  # noqa: PLC0415  heavy

        return price_groups(network, collective or "allreduce", group, **options)
    place = as_place(network)
    if collective is None and isinstance(place, Topology) and options.keys() <= _OF_TOPOLOGY:
        return evaluate_topology(place, progress=progress, **options)
    from topodesign.optima.optimum import optimum  # noqa: PLC0415  heavy

    return optimum(place, collective or "allreduce", progress=progress, **options)


def evaluate_topology(
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
    """Compute the costs of a topology and compare them with lower bounds.

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
        proven gap where that takes a second or two at most, and elsewhere bounds are reported.
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
        As :func:`topodesign.pricing.closed_form.price`; if ``deferred`` is given, also as
        :func:`topodesign.price_deferred`.
    TooLargeError
        If ``deferred`` is given for a topology that is too large for it.

    Examples
    --------
    >>> from topodesign import evaluate_topology
    >>> print(evaluate_topology("torus(4,4)", sizes="1GB"))
    torus(4,4); alpha 10us, 100Gbps per node
    nodes              16
    degree             4
    steps              4 (bound 3)
    bandwidth factor   15/16 = 0.937500 (bound 15/16, +0.0%)
    all-to-all         bandwidth factor 2 = 2.000000 (bound 13/8, +23.1%)
    cabling            duplex: every link has its reverse
    symmetry           vertex-transitive by construction; priced from 1 node
    diameter, girth    4, 4
    nodes by distance  4 6 4 1
    links              64
    allreduce 1GB      150.1ms (bound 150.1ms)
    """
    graph, work = as_topology(topology), as_workload(alpha, sizes, bandwidth)
    prices = price_plans(graph, deferred, all_sources=all_sources, progress=part(progress, 0, 0.5))
    sources = None if all_sources else graph.representatives
    cycles = closed_form.compute_undirected_girth if graph.is_duplex else closed_form.girth
    shortest = cycles(graph, progress=part(progress, 0.5, 0.6))
    return Evaluation(
        prices.reduce_scatter,
        prices.allgather,
        prices.deferred_reduce_scatter,
        prices.deferred_allgather,
        prices.plans,
        graph,
        lower_bound(graph.nodes, graph.degree, duplex=graph.is_duplex),
        2 if graph.is_duplex else shortest,
        shortest if graph.is_duplex else None,
        tuple(np.bincount(closed_form.distances(graph, 0))[1:].tolist()),
        graph.nodes if sources is None else len(sources),
        work,
        price_all_to_all(graph, effort=effort, gap=gap, progress=part(progress, 0.6, 1)),
        *_least_of_both(graph, prices),
    )


_OF_TOPOLOGY = frozenset(evaluate_topology.__kwdefaults__ or ())
"""Options of :func:`evaluate_topology`."""


def _least_of_both(graph: Topology, prices: PlanPrices) -> tuple[Fraction | None, Fraction | None]:
    """Return lower bounds of both collectives in the deferred steps."""
    there, back = prices.deferred_reduce_scatter, prices.deferred_allgather
    if there is None or back is None:
        return None, None
    least = least_in_steps(graph, back.steps)
    return least if graph.is_duplex else least_in_steps(graph.transpose(), there.steps), least


def _claim(of: Of, value: Fraction | int, among: Scope, bound: Fraction | int, by: str) -> Claim:
    return Claim(of, value, among, Proof.BOUND if value == bound else Proof.NONE, bound, by)
