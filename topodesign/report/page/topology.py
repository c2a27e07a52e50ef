"""What a report tells of a topology: exact figures, a drawing or a plan to play, distances, loads, wiring, commands."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from topodesign.base.claims import Among, Of
from topodesign.base.cost import Cost
from topodesign.base.records import Table, shortened
from topodesign.base.units import format_bandwidth, format_excess, format_size, format_time
from topodesign.base.wording import counted
from topodesign.catalog.verdict import claims_on, verdict_on
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.replay.plans import Report, verify
from topodesign.pricing.baselines import baselines
from topodesign.pricing.evaluation import Evaluation
from topodesign.pricing.workload import Workload
from topodesign.report.charts.chart import Chart, Series
from topodesign.report.charts.distances import distances_chart
from topodesign.report.charts.link_use import link_use_chart
from topodesign.report.charts.links import pictures
from topodesign.report.charts.loads import loads_chart
from topodesign.report.charts.structure import structure_drawing
from topodesign.report.charts.times import SIZES, over_sizes
from topodesign.report.page.details import Cabling, Made, made_for
from topodesign.report.page.parts import (
    Choice,
    Commands,
    Document,
    Drawn,
    Fact,
    Facts,
    Listing,
    Part,
    Plotted,
    Section,
    Words,
)
from topodesign.report.page.player import player_of
from topodesign.topology.topology import Topology

if TYPE_CHECKING:
    from topodesign.plans.plan import Plan

MOST_WORK = 2**25  # nodes times links of a topology that is looked at from all sides
_MOST_DRAWN = (1100, 4400)  # nodes and links of a drawing that a browser shows at once


@dataclass(frozen=True)
class Priced:
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
        return self.reduce_scatter.averaged(self.allgather)

    @property
    def bound(self) -> Cost:
        """The fewest steps and the least bandwidth factor, which may not go together."""
        return Cost(self.bounds[0].steps, self.bounds[-1].bandwidth)


def topology_document(found: Evaluation, name: str) -> Document:
    """Return the report on a topology."""
    graph, work = found.topology, found.workload
    priced = Priced(
        *found.cheapest,
        found.bounds,
        graph.is_duplex,
        computed_from_links(graph, found.methods),
        (found.all_to_all.lower, found.all_to_all.upper),
    )
    sections = topology_sections(graph, name, work, priced, made_for(graph))
    return Document(
        "topology",
        shortened(name),
        f"{counted(graph.nodes, 'node')} of degree {graph.degree}; {setting(work)}",
        _verdict(work, priced),
        (Section("Time over message size", (Plotted(_times(found)),)),),
        (Choice(shortened(name), sections),),
        0,
        found.record(),
    )


def setting(work: Workload) -> str:
    """Return what times are for, in words."""
    return f"alpha {format_time(work.alpha)}, {format_bandwidth(work.bandwidth)} per node"


def computed_from_links(graph: Topology, methods: tuple[str, ...]) -> str:
    """Return how the price of a topology was found, and of which schedules it is."""
    known, by = graph.representatives, ""
    few = f"for the {counted(len(known or ()), 'node')} to which symmetry takes all others"
    if "deferred" in methods:
        known, by = None, f" by {'SPFF and ' if 'spff' in methods else ''}deferred schedules"
    nodes = "for every node" if known is None else few
    return f"computed from its {len(graph.src)} links{by}, {nodes}, in whole numbers"


def _verdict(work: Workload, priced: Priced) -> str:
    cost, bound = priced.cost, priced.bound
    offer = [("It", cost)]
    if cost == bound:
        return verdict_on(offer, priced.bounds[:1], work, Among.FOUND, duplex=priced.duplex)
    time, least = work.allreduce(cost)[0], work.fastest(priced.bounds)[0]
    claims = {claim.of: claim.verdict for claim in claims_on([cost], priced.bounds, duplex=priced.duplex)}
    fewest, smallest = claims.get(Of.STEPS), claims.get(Of.FACTOR)
    more, over = cost.steps - bound.steps, format_excess(cost.bandwidth / bound.bandwidth).removeprefix("+")
    return (
        f"It has {counted(cost.steps, 'step')}, {fewest or f'{more} more than the bound'}, and a bandwidth factor "
        f"{smallest or f'{over} over the bound'}: an allreduce of {format_size(work.sizes[0])} takes "
        f"{format_time(time)}, {format_excess(time / least).removeprefix('+')} over the lower bound."
    )


def _times(found: Evaluation) -> Chart:
    graph, work = found.topology, replace(found.workload, sizes=SIZES)
    return over_sizes(
        f"{shortened(found.name)}: allreduce over message size",
        [
            Series("this topology", SIZES, work.allreduce(*found.cheapest)),
            Series("lower bound", SIZES, work.fastest(found.bounds), role="bound"),
            *(
                Series(one.name, SIZES, one.allreduce, role="other")
                for one in baselines(graph.nodes, graph.degree, work)
            ),
        ],
    )


def topology_sections(graph: Topology, name: str, work: Workload, priced: Priced, made: Made) -> tuple[Section, ...]:
    """Return all that is told of one topology."""
    plan = made.plan
    checked = () if plan is None else (plan_fact(verify(plan)),)
    return tuple(
        Section(title, parts)
        for title, parts in (
            ("Exact figures", (Facts((*figures(work, priced), *checked)),)),
            ("Plan, step by step" if plan is not None else "Drawing", picture_of(graph, plan)),
            ("Distances, loads and the bottleneck", _loads(graph, plan, priced)),
            ("Wiring", _wiring(graph, name, made.cabling)),
            ("Commands", (loading(name),)),
        )
        if parts
    )


def figures(work: Workload, priced: Priced) -> tuple[Fact, ...]:
    """Return what a topology costs, exactly, with the bounds and what both rest on."""
    cost, bound = priced.cost, priced.bound
    facts = [
        Fact(
            "Steps", str(cost.steps), f"at least {bound.steps}",
            f"the largest distance of two nodes, {priced.basis}; the bound counts nodes, with theorems",
        )
    ]  # fmt: skip
    pairs = [("Bandwidth factor y", cost)]
    if priced.reduce_scatter != priced.allgather:
        pairs = [("y of the reduce-scatter", priced.reduce_scatter), ("y of the allgather", priced.allgather)]
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
    name, least = "y of an all-to-all", "prices of links prove that no flow takes less"
    if lower == upper:
        return Fact(name, str(upper), f"{float(lower):.6f}", f"a flow takes this, and {least}")
    if upper is None:
        return Fact(name, f"at least {lower}", f"at least {float(lower):.6f}", "the distances of nodes")
    about = f"{float(lower):.6f} to {float(upper):.6f}"
    return Fact(name, f"{lower} to {upper}", about, f"a flow takes the second, and {least} than the first")


def picture_of(place: Topology | Fabric, plan: Plan | None) -> tuple[Part, ...]:
    """Return a plan to play where it is small enough, else the drawing of where it runs; nothing if that is large."""
    links = place.topology if isinstance(place, Fabric) else place
    if links.nodes > _MOST_DRAWN[0] or len(links.src) > _MOST_DRAWN[1]:
        return ()
    played = None if plan is None else player_of(plan, structure_drawing(place))
    return tuple(map(Drawn, pictures(place))) if played is None else (played,)


def plan_fact(checked: Report) -> Fact:
    """Return what a plan claims, and that it was checked."""
    return Fact(
        "Plan",
        ", ".join(f"{name} {value}" for name, value in checked.plan.claim.items()),
        "right" if checked.ok else "WRONG",
        f"replayed by a verifier that shares no code with what made it: {checked.heading()}",
    )


def _loads(graph: Topology, plan: Plan | None, priced: Priced) -> tuple[Part, ...]:
    words = Words((bottleneck_of(graph, priced),))
    if graph.nodes * len(graph.src) > MOST_WORK:
        return (words,)
    use = () if plan is None else (Plotted(link_use_chart(plan)),)
    return (words, Plotted(distances_chart(graph)), Plotted(loads_chart(graph)), *use)


def bottleneck_of(graph: Topology, priced: Priced) -> str:
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
        rows.append(("Unused", f"{counted(graph.self_loops, 'port')} that a self-loop would take"))
    if cabling is not None:
        length = "" if cabling.metres is None else f", {float(cabling.metres):g} m in all with the hosts in a row"
        rows.append(("On one panel", f"{cabling.connects} cross-connects, checked to make these links"))
        rows.append(("Cables and cords", counted(cabling.cables, "cable") + length))
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
    """Return how to make a program of a collective on a place, and how to load it."""
    line = f"topodesign schedule {shlex.quote(name)} --collective {collective} -o plan.npz"
    return Commands((("Make the plan, and check it", line), *loading_plan("plan.npz").steps))


def loading_plan(name: str) -> Commands:
    """Return how to make a program of a plan file, and how to load it."""
    file = shlex.quote(name)
    return Commands((
        ("Check it again, by a replay", f"topodesign verify {file}"),
        ("Compile it; the program is executed before it is written", f"topodesign compile {file} -o program.xml"),
        ("Load it with microsoft/msccl",
         "MSCCL_XML_FILES=/path/program.xml NCCL_ALGO=MSCCL,RING,TREE NCCL_DEBUG=INFO ..."),
        ("With msccl-executor-nccl: alone in a directory", "MSCCL_ALGO_DIR=/path/dir ..."),
        ("With RCCL up to ROCm 7.12", "MSCCL_ALGO_DIR=/path/dir RCCL_MSCCL_FORCE_ENABLE=1 ..."),
    ))  # fmt: skip
