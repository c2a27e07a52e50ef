"""The report on a topology: figures, drawing, distances, wiring, commands."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from topodesign.base.claims import Of, Scope
from topodesign.base.cost import Cost
from topodesign.base.records import Table, shorten_text
from topodesign.base.units import format_excess, format_size, format_time
from topodesign.base.wording import count_noun
from topodesign.catalog.lookup import Catalog
from topodesign.fabrics.fabric import Fabric
from topodesign.finder.question import Objective
from topodesign.finder.verdict import claims_on, verdict_on
from topodesign.plans.verify.plans import Report, verify
from topodesign.pricing.baselines import baselines
from topodesign.pricing.mix import questions
from topodesign.pricing.workload import Workload
from topodesign.report.charts.chart import Chart, Series, name_of
from topodesign.report.charts.distances import distances_chart
from topodesign.report.charts.links import picture_of
from topodesign.report.charts.structure import structure_drawing
from topodesign.report.charts.timeline import link_use_chart
from topodesign.report.charts.times import SIZES, over_sizes
from topodesign.report.page.details import Cabling, PlanAndCabling, Rivals, make_plan
from topodesign.report.page.parts import (
    Choice,
    Commands,
    Diagram,
    Document,
    Fact,
    Facts,
    Figure,
    Listing,
    Part,
    Plotted,
    Section,
    Summary,
    Words,
)
from topodesign.report.page.player import player_of
from topodesign.schedulers.evaluation import Evaluation
from topodesign.topology.topology import Topology

if TYPE_CHECKING:
    from topodesign.plans.plan import Plan

MAX_WORK = 2**25  # nodes times links of a topology that is looked at from all sides
_SHOWN = {"orbits": ": links by orbit", "boxes": ": box by box"}
_MAX_DRAWN = (1100, 8800)  # nodes and links of a drawing that a browser shows at once


@dataclass(frozen=True)
class TopologyPrice:
    """What a topology costs, and what that rests on."""

    # reduce_scatter, allgather: their prices
    reduce_scatter: Cost
    allgather: Cost
    bounds: tuple[Cost, ...]  # those of topodesign.base.cost.lower_bounds
    duplex: bool  # whether these are of duplex topologies
    basis: str  # how the prices were found, and of which schedules they are, in words
    # what the bandwidth factor of an all-to-all is at least and at most, the second None where that is not known;
    # None if neither is
    all_to_all: tuple[Fraction, Fraction | None] | None

    @property
    def cost(self) -> Cost:
        """The mean of the two: half an allreduce."""
        return self.reduce_scatter.average_with(self.allgather)

    @property
    def bound(self) -> Cost:
        """The fewest steps and the least bandwidth factor, separately."""
        return Cost(self.bounds[0].steps, self.bounds[-1].bandwidth)


def topology_document(found: Evaluation, name: str, objective: Objective, others: Rivals | None) -> Document:
    """Return the report on a topology, with a collective and rivals if any."""
    graph, work = found.topology, found.workload
    priced = TopologyPrice(
        *found.cheapest,
        found.bounds,
        graph.is_duplex,
        describe_method(graph, found.methods),
        (found.all_to_all.lower, found.all_to_all.upper),
    )
    short, made = shorten_text(short_name(name, graph)), make_plan(graph)
    sections = topology_sections(graph, short if graph.spec else name, work, priced, made, drawn=True)
    summary, verdict = summary_of(graph, short, work, priced, made), _verdict(work, priced)
    if objective.collective != "allreduce":
        asked = _compute_figure(found, objective)
        summary = replace(summary, figures=(asked, *summary.figures))
        verdict = f"{asked.name} takes {asked.value}, {asked.about}."
    compared = () if others is None else (make_comparison(graph.nodes, short, others),)
    return Document(
        "topology",
        short,
        f"{count_noun(graph.nodes, 'node')} of degree {graph.degree}; {work.setting}",
        verdict,
        summary,
        (Section("Time over message size", (Plotted(_times(found, objective)),)), *compared),
        (Choice(short, sections),),
        0,
        found.record() | ({} if others is None else {"against": others.record}),
    )


def _compute_figure(found: Evaluation, objective: Objective) -> Figure:
    """Return the cost of a collective beside its lower bound."""
    graph, exchange = found.topology, found.all_to_all
    time = objective.times(*found.cheapest, exchange.upper or exchange.lower)[0]
    least = objective.least(graph.nodes, graph.degree, duplex=graph.is_duplex)[0]
    words = "at least " if objective.exchanges and exchange.upper is None else ""
    size = format_size(objective.work.sizes[0])
    title = f"{str(objective.collective).capitalize()} of {size}"
    return Figure(title, f"{words}{format_time(time)}", f"at least {format_time(least)}, {format_excess(time / least)}")


def make_comparison(nodes: int, name: str, others: Rivals) -> Section:
    """Return the comparison: table at the given sizes, and plot over others."""
    series = [
        Series(shorten_text(title), others.sizes, times, role="other" if place else "ours")
        for place, (title, times) in enumerate(zip(others.names, others.times, strict=True))
    ]
    series.append(Series("lower bound without switches", others.sizes, others.bound, role="bound"))
    chart = over_sizes(f"{nodes} nodes: {name} beside others", series)
    return Section(
        "Beside what one would do anyway", (Listing(replace(others.table, heading=""), named=True), Plotted(chart))
    )


def short_name(name: str, graph: Topology) -> str:
    """Return the page's name of a topology: as given, or its catalog row."""
    return Catalog().short(name, graph.nodes, graph.degree) if name == str(graph.spec) else name


def summary_of(graph: Topology, name: str, work: Workload, priced: TopologyPrice, made: PlanAndCabling) -> Summary:
    """Return the summary of a topology: figures, wiring and a picture."""
    spec = name if graph.spec is None else str(graph.spec)
    return Summary(name, spec, headline_figures(work, priced), price_of(graph, made.cabling), find_drawing(graph, name))


def headline_figures(work: Workload, priced: TopologyPrice) -> tuple[Figure, ...]:
    """Return what an allreduce and an all-to-all take, against the bounds."""
    cost, bound = priced.cost, priced.bound
    time, least = work.allreduce(priced.reduce_scatter, priced.allgather)[0], work.fastest(priced.bounds)[0]
    figures = [
        Figure(
            f"Allreduce of {format_size(work.sizes[0])}",
            format_time(time),
            f"at least {format_time(least)}, {format_excess(time / least)}",
        ),
        Figure(
            "Steps and BW factor per phase",
            f"{cost.steps} and {float(cost.bandwidth):.4f}",
            f"at least {bound.steps} and {float(bound.bandwidth):.4f}",
        ),
    ]
    if priced.all_to_all is not None:
        exchange = _exchange(*priced.all_to_all)
        figures.append(Figure(exchange.name, exchange.about, exchange.proof))
    return tuple(figures)


def price_of(graph: Topology, cabling: Cabling | None) -> tuple[str, ...]:
    """Return what wiring takes, in words."""
    if cabling is None:
        return (f"{count_noun(len(graph.src), 'link')}, no switch",)
    return (f"cables and cords: {cabling}", f"{cabling.connects} cross-connects on one panel, no switch")


def describe_method(graph: Topology, methods: tuple[str, ...]) -> str:
    """Return how the price of a topology was found, and for which schedules."""
    known, by = graph.representatives, ""
    few = f"for the {count_noun(len(known or ()), 'node')} to which symmetry takes all others"
    if "deferred" in methods:
        known, by = None, f" by {'SPFF and ' if 'spff' in methods else ''}deferred schedules"
    nodes = "for every node" if known is None else few
    return f"computed from its {len(graph.src)} links{by}, {nodes}, in whole numbers"


def _verdict(work: Workload, priced: TopologyPrice) -> str:
    cost, bound = priced.cost, priced.bound
    offer = [("It", cost)]
    if cost == bound:
        return verdict_on(offer, priced.bounds[:1], work, Scope.FOUND, duplex=priced.duplex)
    time, least = work.allreduce(cost)[0], work.fastest(priced.bounds)[0]
    claims = {claim.of: claim.verdict for claim in claims_on([cost], priced.bounds, duplex=priced.duplex)}
    fewest, smallest = claims.get(Of.STEPS), claims.get(Of.FACTOR)
    more, over = cost.steps - bound.steps, format_excess(cost.bandwidth / bound.bandwidth).removeprefix("+")
    return (
        f"It has {count_noun(cost.steps, 'step')}, {fewest or f'{more} more than the bound'}, and a bandwidth factor "
        f"{smallest or f'{over} over the bound'}: an allreduce of {format_size(work.sizes[0])} takes "
        f"{format_time(time)}, {format_excess(time / least).removeprefix('+')} over the lower bound."
    )


def _times(found: Evaluation, objective: Objective) -> Chart:
    graph, work = found.topology, replace(found.workload, sizes=SIZES)
    title = f"{shorten_text(found.name)}: {objective.collective} over message size"
    if objective.collective == "allreduce":
        times, least = work.allreduce(*found.cheapest), work.fastest(found.bounds)
        rings = baselines(graph.nodes, graph.degree, work)
        usual = [Series(one.name, SIZES, one.allreduce, role="other") for one in rings]
    else:
        asked = Objective(questions(str(objective.collective), None, SIZES), work, objective.collective)
        times = asked.times(*found.cheapest, found.all_to_all.upper or found.all_to_all.lower)
        least, usual = asked.least(graph.nodes, graph.degree, duplex=graph.is_duplex), []
    return over_sizes(
        title, [Series("this topology", SIZES, times), Series("lower bound", SIZES, least, role="bound"), *usual]
    )


def topology_sections(
    graph: Topology, short: str, work: Workload, priced: TopologyPrice, made: PlanAndCabling, *, drawn: bool
) -> tuple[Section, ...]:
    """Return the sections on one topology, under a short name.

    ``drawn`` is whether the summary of the page has its picture.
    """
    name = short if graph.spec is None else str(graph.spec)
    plan = made.plan
    checked = () if plan is None else (plan_fact(verify(plan)),)
    return tuple(
        Section(title, parts)
        for title, parts in (
            ("Exact figures", (Facts((*_spec(graph), *figures(work, priced), *checked)),)),
            make_picture(graph, plan, short, drawn=drawn),
            ("Distances and the bottleneck", _loads(graph, plan, priced, short)),
            ("Wiring", _wiring(graph, name, made.cabling)),
            ("Commands", (loading(name),)),
        )
        if parts
    )


def _spec(graph: Topology) -> tuple[Fact, ...]:
    if graph.spec is None:
        return ()
    return (Fact("Spec", shorten_text(str(graph.spec)), f"{graph.nodes} nodes", "rebuilds the same links, everywhere"),)


def make_picture(
    place: Topology | Fabric, plan: Plan | None, name: str, *, drawn: bool = True
) -> tuple[str, tuple[Part, ...]]:
    """Return the second picture and its title: a plan to play, or a drawing."""
    if plan is not None and _is_drawn(place):
        played = player_of(plan, structure_drawing(place))
        if played is not None:
            return "Plan, step by step", (played,)
    picture = None if drawn else find_drawing(place, name)
    return "Links", () if picture is None else (picture,)


def figures(work: Workload, priced: TopologyPrice) -> tuple[Fact, ...]:
    """Return the exact cost of a topology, with bounds and their basis."""
    cost, bound = priced.cost, priced.bound
    facts = [
        Fact(
            "Steps", str(cost.steps), f"at least {bound.steps}",
            f"the largest distance of two nodes, {priced.basis}; the bound counts nodes, with theorems",
        )
    ]  # fmt: skip
    pairs = [("Bandwidth factor", cost)]
    if priced.reduce_scatter != priced.allgather:
        pairs = [
            ("BW factor of reduce-scatter", priced.reduce_scatter),
            ("BW factor of allgather", priced.allgather),
        ]
    facts += [
        Fact(
            title, str(one.bandwidth),
            f"{float(one.bandwidth):.6f}; at least {bound.bandwidth}, {format_excess(one.bandwidth / bound.bandwidth)}",
            f"{priced.basis}; the bound is what a node has to receive over its own links",
        )
        for title, one in pairs
    ]  # fmt: skip
    seconds = work.allreduce(priced.reduce_scatter, priced.allgather)
    times = zip(work.sizes, seconds, work.fastest(priced.bounds), strict=True)
    facts += [
        Fact(
            f"Allreduce of {format_size(size)}", f"{time} s",
            f"{format_time(time)}; at least {format_time(least)}, {format_excess(time / least)}",
            "alpha * steps + y * M/B, for the reduce-scatter and for the allgather",
        )
        for size, time, least in times
    ]  # fmt: skip
    if priced.all_to_all is not None:
        facts.append(_exchange(*priced.all_to_all))
    return tuple(facts)


def _exchange(lower: Fraction, upper: Fraction | None) -> Fact:
    name = "BW factor of all-to-all"
    if lower == upper:
        return Fact(name, str(upper), f"{float(lower):.6g}", "optimal (proven): a flow equals the bound by link prices")
    if upper is None:
        return Fact(name, f"at least {lower}", f"at least {float(lower):.6g}", "lower bound by distances of nodes")
    about = f"{float(lower):.6g} to {float(upper):.6g}"
    return Fact(name, f"{lower} to {upper}", about, "lower bound by link prices, to the flow that was found")


def find_drawing(place: Topology | Fabric, name: str) -> Diagram | None:
    """Return the drawing of a place called ``name``, or None if it is large."""
    if not _is_drawn(place):
        return None
    picture = picture_of(place)
    return Diagram(replace(picture, title=f"{name}{_SHOWN.get(picture.kind, '')}"))


def _is_drawn(place: Topology | Fabric) -> bool:
    links = place.topology if isinstance(place, Fabric) else place
    return links.nodes <= _MAX_DRAWN[0] and len(links.src) <= _MAX_DRAWN[1]


def plan_fact(checked: Report) -> Fact:
    """Return what a plan claims, and that it was checked."""
    return Fact(
        "Plan",
        ", ".join(f"{name} {value}" for name, value in checked.plan.claim.items()),
        "right" if checked.ok else "WRONG",
        f"replayed by a verifier that shares no code with what made it: {checked.heading()}",
    )


def _loads(graph: Topology, plan: Plan | None, priced: TopologyPrice, name: str) -> tuple[Part, ...]:
    words = Words((bottleneck_of(graph, priced),))
    if graph.nodes * len(graph.src) > MAX_WORK:
        return (words,)
    use = () if plan is None else (Plotted(link_use_chart(plan)),)
    chart = distances_chart(graph)
    return (words, Plotted(replace(chart, title=chart.title.replace(name_of(graph), name))), *use)


def bottleneck_of(graph: Topology, priced: TopologyPrice) -> str:
    """Return in words what keeps collectives from being faster."""
    cost, bound = priced.cost, priced.bound
    if cost.bandwidth == bound.bandwidth:
        return (
            f"The bottleneck is every node itself: its {graph.degree} links in have to bring in the {graph.nodes - 1} "
            "shards of the others, and they do so without a pause: the cut around a node allows no smaller y."
        )
    over = format_excess(cost.bandwidth / bound.bandwidth).removeprefix("+")
    return (
        f"The cut around a node would let {graph.nodes - 1} shards in over {graph.degree} links at a factor of "
        f"{bound.bandwidth}. Here some links carry more than their share at some step, and all others wait for "
        f"them, which costs {over}."
    )


def _wiring(graph: Topology, name: str, cabling: Cabling | None) -> tuple[Part, ...]:
    kind = "duplex: every link has its reverse" if graph.is_duplex else "simplex: links go one way"
    rows = [("Links", f"{len(graph.src)}, {kind}"), ("Ports", f"{graph.degree} out and {graph.degree} in at each node")]
    if graph.self_loops:
        rows.append(("Unused", f"{count_noun(graph.self_loops, 'port')} that a self-loop would take"))
    if cabling is not None:
        rows.append(("On one panel", f"{cabling.connects} cross-connects, checked to make these links"))
        rows.append(("Cables and cords", str(cabling)))
    table = Table("", ("what", "how much"), tuple(rows), frozenset(("what", "how much")))
    line = f"topodesign wire plan {shlex.quote(name)} --inventory hosts.yaml -o wiring.json"
    return (
        Listing(table),
        Commands((
            ("Plan the patches for your own hosts and panels", line),
            ("Write them for those who patch", "topodesign wire export wiring.json --format patches -o patches.csv"),
        )),
    )  # fmt: skip


def loading(name: str, *, collective: str = "allreduce") -> Commands:
    """Return how to compile a collective on a place, and load the program."""
    line = f"topodesign schedule {shlex.quote(name)} --collective {collective} -o plan.npz"
    return Commands((("Make the plan, and check it", line), *loading_plan("plan.npz").steps))


def loading_plan(name: str) -> Commands:
    """Return how to compile a plan file, and load the program."""
    file = shlex.quote(name)
    return Commands((
        ("Check it again, by a replay", f"topodesign verify {file}"),
        ("Compile it; the program is executed before it is written", f"topodesign compile {file} -o program.xml"),
        ("Load it with microsoft/msccl",
         "MSCCL_XML_FILES=/path/program.xml NCCL_ALGO=MSCCL,RING,TREE NCCL_DEBUG=INFO ..."),
        ("With msccl-executor-nccl: alone in a directory", "MSCCL_ALGO_DIR=/path/dir ..."),
        ("With RCCL up to ROCm 7.12", "MSCCL_ALGO_DIR=/path/dir RCCL_MSCCL_FORCE_ENABLE=1 ..."),
    ))  # fmt: skip
