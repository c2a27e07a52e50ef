"""The optimum of a fabric: throughput, bottleneck, upgrades."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Unpack

from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.claims import FASTEST_OF_COLUMN, Claim, Of, Scope
from topodesign.base.cost import Rate
from topodesign.base.declared import Declared, key
from topodesign.base.entry_points import load
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.latency import USUAL, Latency
from topodesign.base.records import TextResult
from topodesign.base.units import Quantity, as_share, as_size, format_rate, format_size, format_time
from topodesign.base.wording import count_noun
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.node_values import Costs, as_latency, latency_words
from topodesign.fabrics.places import PlaceLike
from topodesign.fabrics.wording import FABRIC_KEYS, change_in_words, in_columns
from topodesign.optima.flows import FLOWS, solve_flow
from topodesign.optima.fluid.decomposition import Progress
from topodesign.optima.fluid.problem import FluidSolution, Work, solve_fluid
from topodesign.optima.question import Question, QuestionOptions, make_question
from topodesign.optima.solution import BindingLimit, BindingLink, Solution, Upgrade
from topodesign.optima.trees import (
    BestAllreduce,
    TreeChoice,
    TreeSolution,
    best_allreduce,
    limit_trees,
    solve_trees,
    trade_off_trees,
)

METHODS = ("auto", "forest", "fluid")  # who can be asked for an optimum
MAX_SCANNED = 1000  # largest number of trees per root that a scan goes to
_MAX_LINKS = 8  # links of a bottleneck that are shown one by one
_IN_TURN = "reduce-scatter, then allgather"


def solve(
    question: Question,
    method: str = "auto",
    *,
    gap: Fraction = Fraction(0),
    mirrored: bool = True,
    listener: Callable[[Progress], None] | None = None,
) -> Solution:
    """Compute the throughput by an algorithm; see :func:`optimum`."""
    as_choice("method", method, METHODS)
    if question.collective.like(*FLOWS):
        return solve_flow(question)
    if method == "fluid" or (method == "auto" and question.fabric.shared):
        return solve_fluid(question, gap=gap, mirrored=mirrored, listener=listener)
    return solve_trees(question)


class TreeOptions(QuestionOptions, total=False):
    """Options of trees: numbers to compare, sizes and latency."""

    fixed_k: int | None
    scan: int
    compare: bool
    sizes: Quantity | Sequence[Quantity]
    alpha: Quantity


_FLAGS = {
    "shards": "--shards",
    "fixed_k": "--set trees=",
    "scan": "--set max-trees=",
    "compare": "--set pareto=yes",
    "sizes": "--size",
}
"""Options that are for trees alone."""


@dataclass(frozen=True, slots=True)
class _Unlimited(Declared):
    """The throughput with any number of trees."""

    trees: int
    best: Solution

    KEYS = (key("k=trees", "Trees per root."), "*best")


@dataclass(frozen=True, repr=False)
class Optimum(TextResult):
    """The best throughput of a collective, with bound and upgrades.

    What costs more than the throughput is computed when it is asked for; ``print`` asks for all.
    """

    solution: Solution  # what an algorithm found
    # the same of the whole fabric, where only a part of it is left and the whole had one
    before: Solution | None = None
    fixed_k: int | None = None  # which numbers of trees per root were asked for
    scan: int = 0
    compare: bool = False
    sizes: tuple[Fraction, ...] = ()  # bytes, and what messages take beside these, for the times of numbers of trees
    latency: Latency = USUAL
    asks_for_proof: bool = True  # whether the best allreduce of any kind was asked for

    KEYS = (
        *FABRIC_KEYS,
        key("collective=collective.name", "Whose bottleneck is reported."),
        key("root=question.root", "The node of a collective that has one; null for others."),
        key("method=solution.METHOD", "The algorithm that found it.", kind=("forest", "flow", "fluid")),
        key("plan_method=solution.plan_method", "The --algorithm of 'topodesign schedule' whose plan reaches it."),
        key("shards", "Sizes of shards by node, where --shards gave them; else null."),
        key("k", "Trees per root that reach the optimum; with --set trees= so many; null where it is not by trees."),
        key("inv_x_star=reached.inverse_rate", "Seconds that a byte of a shard takes at best: 1/x*."),
        "*rate",
        key("bound", "Bytes per second that none of what proof_covers names exceeds, an allreduce of any kind too."),
        key("proven"),
        key("proof_covers=str(solution.among)", "What the bound holds for.", kind=str),
        "claims",
        key("proposition_3_k?", "Over trees: trees per root by the formula of the paper's Proposition 3."),
        "bottleneck_cut bottleneck_links",
        key("bottleneck=solution.bottleneck", "Which links bind and what has to cross them, in words."),
        key(
            "bottleneck_limits?",
            "With --algorithm fluid or shared limits: limits that bind, one of those that are alike.",
        ),
        key("*work"),
        key(
            "collectives",
            "The best of each collective, an allreduce as a reduce-scatter and then an allgather.",
            kind=dict[str, Solution],
            value=lambda one: {other.collective.name: other for other in one.collectives},
        ),
        key("sensitivity=upgrades", "The gain of more bandwidth, for each class of links."),
        key("best_allreduce?", "What is known of any allreduce."),
        key("optimum?=unlimited", "With --set trees=: what any number of trees reaches."),
        key("height?=fixed.height", "With --set trees=: links of the longest way in a tree."),
        key("times_s?=float(fixed.times)", "With --set trees=: seconds for each --size."),
        key("scan?", "With --set max-trees=.", kind=list[TreeChoice], value=lambda one: one.scanned or None),
        key(
            "frontier?",
            "With --set pareto=yes: those that pay.",
            kind=list[TreeChoice],
            value=lambda one: one.trade_offs if one.compare else None,
        ),
        "*told_latency",
        key("sizes_bytes?=number(told_sizes)", "With --size: the sizes, in bytes."),
        key("cost?=solution.least_cost", "With --prices: the least cost at that speed."),
        key("before?", "With --fail: before the failure."),
    )

    @property
    def question(self) -> Question:
        """The collective on its fabric."""
        return self.solution.question

    @property
    def fabric(self) -> Fabric:
        """The nodes, switches and links that take part."""
        return self.question.fabric

    @property
    def collective(self) -> Collective:
        """The collective, with its root."""
        return self.question.collective

    @property
    def shards(self) -> dict[str, int] | None:
        """Relative shard sizes by name, where they differ."""
        if self.question.shards is None:
            return None
        names = (self.fabric.names[node] for node in self.fabric.compute)
        return dict(zip(names, self.question.shards, strict=True))

    @property
    def bandwidth(self) -> Fraction:
        """Algorithmic bandwidth in bytes per second, for any trees."""
        return self.solution.bandwidth

    @property
    def inverse_rate(self) -> Fraction:
        """1/x*: seconds per byte of a shard or block."""
        return self.solution.inverse_rate

    @property
    def cost(self) -> Fraction | None:
        """The least cost at that speed per byte, if costs were given."""
        return self.solution.cost

    @property
    def reached(self) -> Solution | TreeChoice:
        """The best for the requested number of trees, or any."""
        return self.fixed or self.solution

    @property
    def rate(self) -> Rate:
        """The bandwidth of that."""
        return self.reached.rate

    # -- proof

    @cached_property
    def bound(self) -> Fraction:
        """The upper bound within the scope of :attr:`proof_covers`."""
        return self.solution.bound if self.best_allreduce is None else self.best_allreduce.bound

    @property
    def proven(self) -> bool:
        """Whether the throughput and any cost are proven optimal."""
        return all(claim.proven for claim in self.claims if claim.of is Of.COST) and self.claims[0].proven

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of throughput, cost and allreduce."""
        best, other, cost = self.solution, self.best_allreduce, self.solution.least_cost
        if other is None:
            claims = [best.claim]
        else:
            claims = [Claim.to_bound(Of.RATE, best.bandwidth, best.among, other.bound, missed=other.missed)]
        if cost is not None:
            claims.append(Claim.to_bound(Of.COST, cost.total, Scope.AS_FAST, cost.bound, missed=best.missed))
        if isinstance(best, TreeSolution) and self.question.composed and self.question.shards is None:
            claims.append(best.in_turn)
        return (*claims, *(() if other is None else (other.claim,)))

    @cached_property
    def best_allreduce(self) -> BestAllreduce | None:
        """The best allreduce of any kind, or None if not computed."""
        asks = self.asks_for_proof and self.question.composed and isinstance(self.solution, TreeSolution)
        return best_allreduce(self.fabric) if asks and self.question.shards is None else None

    # -- what binds, and what would help

    @property
    def bottleneck_cut(self) -> list[str]:
        """Nodes and switches on the sending side of the tightest cut."""
        return [self.fabric.names[vertex] for vertex in sorted(self.solution.cut)]

    @property
    def bottleneck_links(self) -> list[BindingLink]:
        """The links out of the cut, or all priced links."""
        return [BindingLink(*link) for link in self.solution.links]

    @property
    def bottleneck_limits(self) -> list[BindingLimit] | None:
        """The binding limits of the program or of shared links."""
        return self.solution.limits

    @property
    def work(self) -> Work | None:
        """How much a fluid program took."""
        return self.solution.work if isinstance(self.solution, FluidSolution) else None

    @cached_property
    def upgrades(self) -> list[Upgrade]:
        """The gain of more bandwidth on each class of links."""
        return self.solution.find_upgrades()

    def plan(self) -> Any:
        """Return a plan that reaches the bandwidth; see :func:`topodesign.schedule`."""
        question = self.question
        return load("schedulers.scheduling:schedule")(
            self.fabric,
            question.collective.name,
            root=question.root,
            shards=self.shards,
            method=self.solution.plan_method,
        )

    # -- collectives and numbers of trees

    @cached_property
    def collectives(self) -> list[Solution]:
        """The best of the tree collectives, or the given one."""
        if self.question.root is not None or not isinstance(self.solution, TreeSolution):
            return [self.solution]
        found: list[Solution] = []
        for one in (ALLGATHER, REDUCE_SCATTER, ALLREDUCE):
            try:
                found.append(solve_trees(replace(self.question, collective=one, before=None)))
            except InfeasibleError:  # where links failed one way, nodes without a shard may get data and send none
                continue
        return found

    @property
    def trees(self) -> int | None:
        """The fewest trees per root that reach the optimum."""
        return self.solution.smallest if isinstance(self.solution, TreeSolution) else None

    @property
    def proposition_3_k(self) -> int | None:
        """Trees per root that surely reach it."""
        return self.solution.trees if isinstance(self.solution, TreeSolution) else None

    @property
    def k(self) -> int | None:
        """Trees per root."""
        return self.trees if self.fixed is None else self.fixed.trees

    @cached_property
    def fixed(self) -> TreeChoice | None:
        """What ``fixed_k`` trees per root reach, if that was asked for."""
        if self.fixed_k is None:
            return None
        return limit_trees(self.question, [self.fixed_k], latency=self.latency, sizes=self.sizes)[0]

    @property
    def unlimited(self) -> _Unlimited | None:
        """The optimum of any number of trees, if one was given."""
        return None if self.fixed is None or self.trees is None else _Unlimited(self.trees, self.solution)

    @cached_property
    def scanned(self) -> list[TreeChoice]:
        """What 1 to ``scan`` trees per root reach."""
        return limit_trees(self.question, range(1, self.scan + 1), latency=self.latency, sizes=self.sizes)

    @cached_property
    def trade_offs(self) -> list[TreeChoice]:
        """The undominated numbers of trees by bandwidth and height."""
        return trade_off_trees(self.question, latency=self.latency, sizes=self.sizes)

    @property
    def told_latency(self) -> Latency | None:
        """The latency of the reported times, if there are any."""
        return self.latency if self.sizes else None

    @property
    def told_sizes(self) -> tuple[Fraction, ...] | None:
        """The sizes, if there are any."""
        return self.sizes or None

    # -- text

    def heading(self) -> str:
        """Return the throughput."""
        return f"{self.collective} on {self.fabric.name}: {format_rate(self.bandwidth)}"

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for each collective."""
        rows = []
        for one in self.collectives:
            composed = one.question.composed and self.best_allreduce is not None
            bound = self.bound if composed else one.bound
            row = {
                "collective": one.collective.name,
                "algorithmic_bandwidth": one.bandwidth,
                "inv_x_star": one.inverse_rate,
                "bound": bound,
            }
            rows.append(row if one.cost is None else row | {"cost": one.cost})
        return rows

    def __str__(self) -> str:
        fabric, best, now = self.fabric, self.solution, self.bandwidth
        over_trees = isinstance(best, TreeSolution)
        turn = over_trees and self.question.composed
        time = f"1/x* = {format_time(best.inverse_rate * 10**9)} per GB of {best.PIECE}"
        rows = [
            [one.collective.name, format_rate(one.bandwidth), _IN_TURN if one.question.composed else ""]
            for one in self.collectives
        ]
        lines = [str(fabric), ""]
        lines += in_columns(rows) if over_trees else [f"  {best.collective}  {format_rate(now)}, {time}"]
        if self.best_allreduce is not None:
            lines += ["", self.best_allreduce.describe()]
        elif turn and self.asks_for_proof:
            lines += ["", "whether an allreduce of another kind is faster is not known: not asked with --shards"]
        elif not turn and not (self.claims[0].proven and best.cut):
            lines += ["", f"{best.collective}: {self.claims[0]}"]
        if self.before is not None:
            before = self.before.bandwidth
            lines += ["", f"before: {format_rate(before)}; {change_in_words(now, before)} now"]
        unit = "" if self.shards is None else " and unit of shard size"
        reach = ""
        if self.trees is not None:
            number, verb = count_noun(self.trees, "tree"), "reaches" if self.trees == 1 else "reach"
            reach = f" ({number} per root{unit} {verb} {'that' if turn else 'the optimum'})"
        lines += ["", f"bottleneck of {best.collective}{reach}", f"  {best.bottleneck}"]
        shown = [[f"  {name}", *cells] for name, *cells in best.bottleneck_rows()]
        lines += in_columns(shown[:_MAX_LINKS])
        lines += [f"    and {len(shown) - _MAX_LINKS} more"] if len(shown) > _MAX_LINKS else []
        lines += ["", "more bandwidth on all links of a class"]
        lines += in_columns([upgrade.describe() for upgrade in self.upgrades])
        if best.cost is not None:
            claim = next(one for one in self.claims if one.of is Of.COST)
            total = f"{float(best.cost):.12g}"
            lines += ["", f"cost at that speed: {total} per unit of data in a {best.PIECE}, {claim.verdict}"]
        in_turn = "; a reduce-scatter, then an allgather" if turn else ""
        given = [*self.scanned, *([] if self.fixed is None else [self.fixed])]
        if given:
            lines += ["", f"with a given number of trees per root{unit}{in_turn}", *self._describe_choices(given)]
        if self.compare:
            pay = f"numbers of trees per root{unit} that pay{in_turn}"
            lines += ["", pay, *self._describe_choices(self.trade_offs)]
        return "\n".join(lines)

    def _describe_choices(self, rows: list[TreeChoice]) -> list[str]:
        """Return a line per number of trees, starring the fastest."""
        titles = ["k", "bandwidth", "", "height", *map(format_size, self.sizes)]
        cells = [
            [
                str(row.trees),
                format_rate(row.bandwidth),
                change_in_words(row.bandwidth, self.bandwidth),
                str(row.height),
            ]
            + [
                f"{format_time(time)}{' *' if time == min(other.times[at] for other in rows) else '  '}"
                for at, time in enumerate(row.times)
            ]
            for row in rows
        ]
        widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
        lines = [
            "  " + "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in [titles, *cells]
        ]
        if self.sizes:
            lines.append(f"  {FASTEST_OF_COLUMN}; {latency_words(self.latency, self.fabric)}")
        return lines


def optimum(
    place: PlaceLike,
    collective: Collective | str = "allgather",
    *,
    method: str = "auto",
    proof: bool = True,
    costs: Costs = (),
    gap: Quantity | Fraction = 0,
    mirrored: bool = True,
    progress: Callable[[float], None] | None = None,
    **options: Unpack[TreeOptions],
) -> Optimum:
    """Compute the best throughput of collectives on a fabric.

    Parameters
    ----------
    place
        A fabric or a topology, the spec of one, a file, or a networkx graph.
    collective
        Whose bottleneck and number of trees to tell.
    method
        ``forest``: trees of nodes, with switches that only forward; ``fluid``: a program in which memory and switches
        copy and add as the fabric says, and links share limits; ``auto``: ``forest``, but where links share limits.
        What is neither copied nor added up is a flow for all three, which keeps shared limits.
    proof
        Whether to ask if any allreduce beats reduce-scatter and then allgather; above 128 nodes by cuts alone.
    costs
        What a unit of data costs on links of a class, such as ``{"NVLink": 1}``: tells the least cost of an all-to-all,
        scatter or gather at the best throughput, and with the method ``fluid`` that of any collective.
    gap
        For ``fluid``: part of the time, and of the cost, by which the answer may miss what is proven.
    mirrored
        For ``fluid``: whether what automorphisms exchange is solved once (else the time of both can be compared).
    progress
        For ``fluid``: called with the share of the best time that is proven.
    root
        Name or number of the node of a collective that has one.
    shards, only, others, without
        Relative shard sizes, who takes part and what has failed, as for :func:`topodesign.schedulers.schedule`.
    bandwidth
        Bandwidth of a node over all its links, for a place that says none: text, or bits per second.
    fixed_k, scan, compare
        Numbers of trees per root to look at: this one, 1 to this one, and those that pay.
    sizes, alpha
        Data sizes for which to tell the time of each number of trees, and the latency of a step, or ``fabric`` for
        what the fabric says of its links.

    Returns
    -------
    Optimum
        Its rate, bound, bottleneck, upgrades and plan. What costs more than the throughput is computed when it is asked
        for; ``print`` asks for all.

    Raises
    ------
    SpecError, FileFormatError, UnitError, TopologyError
        If the place or a quantity cannot be read, or makes no fabric.
    ParameterError
        If the root or the shards do not fit, or a number is out of range.
    InfeasibleError
        If some node cannot be reached; the message names it.
    TooLargeError
        If a fabric is too large and irregular for an exact all-to-all.

    Examples
    --------
    >>> best = optimum("dgx_a100(2)")
    >>> best
    <Optimum: allgather on dgx_a100(2): 346.667GB/s>
    >>> best.trees
    13
    >>> optimum("dgx_a100(2)", "all-to-all")
    <Optimum: all-to-all on dgx_a100(2): 50GB/s>
    >>> optimum("dgx_h100(1)", "allreduce", method="fluid")
    <Optimum: allreduce on dgx_h100(1): 450GB/s>
    """
    as_choice("method", method, METHODS)
    words: dict[str, Any] = dict(options)
    trees = {name: words.pop(name) for name in ("fixed_k", "scan", "compare", "sizes", "alpha") if name in words}
    question = make_question(place, collective, costs=costs, **words)
    kind, part = question.collective, as_share(gap, "the tolerance")
    fluid = method == "fluid" or (method == "auto" and bool(question.fabric.shared))
    flags = [flag for flag_name, flag in _FLAGS.items() if options.get(flag_name)]
    if fluid and kind.like(ALLGATHER, REDUCE_SCATTER) and "--shards" in flags:
        flags.remove("--shards")
    for_trees = next(iter(flags), None)
    if for_trees is not None and fluid:
        raise ParameterError(f"{for_trees} is for --algorithm forest, not for fluid; remove it")
    if part and not fluid:
        raise ParameterError("--tolerance is for --algorithm fluid; remove it")
    over_trees = for_trees or (None if mirrored else "--set symmetry=no")
    if over_trees is not None and kind.like(*FLOWS):
        raise ParameterError(f"{over_trees} is for collectives over trees, not for {kind}; remove it")
    if costs and not fluid and not kind.like(*FLOWS):
        raise ParameterError(
            f"--prices is for {', '.join(map(str, FLOWS))}, not for {kind}; remove it, or use --algorithm fluid"
        )
    choices = _read_choices(**trees)
    by: dict[str, Any] = {"gap": part, "mirrored": mirrored}
    listener = None if progress is None else (lambda now: progress(float(1 - now.gap)))
    found, before = solve(question, method, listener=listener, **by), None
    if question.before is not None:
        with contextlib.suppress(InfeasibleError, ParameterError):
            before = solve(question.before, method, **by)
    return Optimum(found, before, asks_for_proof=proof, **choices)


def _read_choices(
    *,
    fixed_k: int | None = None,
    scan: int = 0,
    compare: bool = False,
    sizes: Quantity | Sequence[Quantity] = (),
    alpha: Quantity = "10us",
) -> dict[str, Any]:
    """Return the options of trees as values."""
    many = [sizes] if isinstance(sizes, str | int | float | Fraction) else sizes
    return {
        "fixed_k": None if fixed_k is None else as_integer("fixed_k", fixed_k, 1, 10**6),
        "scan": as_integer("scan", scan, 0, MAX_SCANNED),
        "compare": compare,
        "sizes": tuple(map(as_size, many)),
        "latency": as_latency(alpha),
    }
