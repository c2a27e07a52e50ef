"""Reports on a fabric and on a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import NamedTuple

from topodesign.base.errors import ParameterError
from topodesign.base.records import Table, shorten_text
from topodesign.base.units import format_rate, format_size, format_time
from topodesign.base.wording import count_noun
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.fabrics.wording import change_in_words
from topodesign.optima.optimum import Optimum
from topodesign.plans.plan import Plan
from topodesign.plans.time.simulate import Simulation, simulate
from topodesign.plans.verify.plans import Report, verify
from topodesign.pricing.workload import Workload
from topodesign.report.charts.boxes import cut_drawing
from topodesign.report.charts.chart import Chart, Drawing, Series
from topodesign.report.charts.structure import structure_drawing
from topodesign.report.charts.timeline import link_use_chart, timeline_chart
from topodesign.report.charts.times import over_sizes
from topodesign.report.page.details import plan_for
from topodesign.report.page.parts import (
    Choice,
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
from topodesign.report.page.topology import find_drawing, loading, loading_plan, make_picture, plan_fact
from topodesign.topology.topology import Topology

_SIZES = tuple(Fraction(4**power) for power in range(6, 16))  # from 4 KiB to 1 GiB
_RATE = "whole data over time"
_MAX_LINKS = 24  # links of a bottleneck that are listed


def fabric_document(found: Optimum, work: Workload, name: str) -> Document:
    """Return the report on a fabric."""
    fabric, collective, words = found.fabric, found.collective, found.solution.bottleneck
    told = _of_flow(found) if found.trees is None else _of_trees(found)
    plan = plan_for(fabric, collective)
    picture = cut_drawing(found)
    checked = () if plan is None else (plan_fact(verify(plan)),)
    sections = [
        *told.first,
        Section("The bottleneck", (Words((f"{words[:1].upper()}{words[1:]}.",)), _binding(found.solution.links))),
        Section("What more bandwidth would buy", (_upgrades(found),)),
        *_of_plan(plan, work, structure_drawing(fabric)),
        Section("Exact figures", (Facts((*told.facts, *checked)),)),
        Section("What it is made of", (_links(fabric),)),
        Section("Commands", (loading(name, collective=collective.name),)),
    ]
    return Document(
        "fabric",
        str(fabric),
        f"{collective}; alpha {format_time(work.alpha)}, the fabric's own bandwidths",
        f"A{'n' if collective.name[0] in 'aeiou' else ''} {collective} reaches {told.verdict}",
        Summary(name, name, told.figures, (_amount(fabric),), Diagram(picture)),
        (),
        (Choice(fabric.name, tuple(sections)),),
        0,
        found.record(),
    )


class _OptimumReport(NamedTuple):
    """The report on one kind of optimum alone."""

    verdict: str
    figures: tuple[Figure, ...]
    facts: tuple[Fact, ...]
    first: tuple[Section, ...] = ()


def _of_trees(found: Optimum) -> _OptimumReport:
    best, other = found.solution, found.best_allreduce
    rate, own = best.bandwidth, found.claims[0]
    if other is not None and other.bandwidth > rate:
        rate, own = other.bandwidth, other.claim
    bound = "the bottleneck" if found.proven else "cuts, in whole numbers"
    how = "max-flows in whole numbers find what binds; no schedule gets around it"
    every = [Figure(one.collective.name, format_rate(one.bandwidth), _RATE) for one in found.collectives]
    return _OptimumReport(
        f"{format_rate(rate)}; {own}."
        + (f" {count_noun(found.trees or 0, 'tree')} per root are enough for it." if rate == best.bandwidth else ""),
        (*every[:2], Figure("Bound", format_rate(found.bound), bound)),
        (
            Fact("Throughput", f"{best.bandwidth} B/s", format_rate(best.bandwidth), how),
            Fact("1/x*", f"{best.inverse_rate} s", "for a byte of every shard", "the same, the other way round"),
            Fact("Bound", f"{found.bound} B/s", format_rate(found.bound), bound),
            Fact("Trees per root", str(found.trees), "so many reach it", "Proposition 3 of ForestColl"),
        ),
        (Section("Throughput", (_collectives(found),)),),
    )  # fmt: skip


def _of_flow(found: Optimum) -> _OptimumReport:
    cut = found.solution.cut
    proof = "a cut that all blocks have to cross" if cut else "prices of links, which no flow gets around"
    return _OptimumReport(
        f"{format_rate(found.bandwidth)}; {found.claims[0]}.",
        (Figure(found.collective.name, format_rate(found.bandwidth), _RATE),),
        (
            Fact("Throughput", f"{found.bandwidth} B/s", format_rate(found.bandwidth), f"a flow, and {proof}"),
            Fact("1/x*", f"{found.inverse_rate} s", "for a byte of every block", "the same, the other way round"),
        ),
    )  # fmt: skip


def _list_remaining(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], words: tuple[str, ...]) -> Listing:
    return Listing(Table("", columns, tuple(rows), frozenset(words)))


def _collectives(found: Optimum) -> Listing:
    rows = [
        (one.collective.name, format_rate(one.bandwidth), str(one.bandwidth), str(one.inverse_rate))
        for one in found.collectives
    ]
    columns = ("collective", "whole data over time", "bytes per second, exactly", "1/x*, seconds per byte of a shard")
    return _list_remaining(columns, rows, ("collective",))


def _binding(links: Sequence[FabricLink]) -> Listing:
    rows = [(link.src, link.dst, format_rate(link.bandwidth), link.kind) for link in links[:_MAX_LINKS]]
    if len(links) > _MAX_LINKS:
        rows.append((f"and {len(links) - _MAX_LINKS} more", "", "", ""))
    return _list_remaining(("from", "to", "bandwidth", "class"), rows, ("from", "to", "class"))


def _upgrades(found: Optimum) -> Listing:
    columns, rows = ["all links of a class", "doubled", "gain"], []
    for one in found.upgrades:
        kind, gain = one.kind or "links of no class", change_in_words(one.doubled, found.bandwidth)
        row = [kind, format_rate(one.doubled), gain]
        if one.useful is not None:
            factor, limit = one.useful.useful_factor, one.useful.limit
            row.append("any factor" if factor is None else f"{float(factor):.4g}")
            row.append("" if limit is None else format_rate(limit))
            columns[3:] = ["of use up to", "then"]
        rows.append(tuple(row))
    return _list_remaining(tuple(columns), rows, ("all links of a class",))


def _of_plan(plan: Plan | None, work: Workload, drawing: Drawing) -> list[Section]:
    """Return the plan as it is played, and its times."""
    if plan is None:
        return []
    played = player_of(plan, drawing)
    parts: list[Part] = [] if played is None else [played]
    parts.append(Plotted(plan_times(plan, work)))
    return [Section("Plan, step by step" if played else "Time over message size", tuple(parts))]


def plan_times(plan: Plan, work: Workload) -> Chart:
    """Return the plot of a plan's times over sizes, with the best chunks."""
    rate = None if isinstance(plan.place, Fabric) else work.bandwidth
    times = [simulate(plan, size=size, bandwidth=rate, **work.model).time for size in _SIZES]
    title = f"{plan.collective} on {plan.spec or plan.fabric.name}: time over message size"
    return over_sizes(title, [Series("this plan", _SIZES, times)], collective=plan.collective.name)


def _amount(fabric: Fabric) -> str:
    switches = len(fabric.topology.switches)
    return (
        f"{count_noun(len(fabric.compute), 'node')}, {count_noun(switches, 'switch', 'switches')}, links by class below"
    )


def _links(fabric: Fabric) -> Listing:
    count = Counter((link.kind, link.bandwidth) for link in fabric.links())
    rows = [
        (kind or "no class", format_rate(rate), str(number), format_rate(rate * number))
        for (kind, rate), number in sorted(count.items(), key=lambda item: (item[0][0], -item[0][1]))
    ]
    return _list_remaining(("class", "bandwidth of a link", "links, one-way", "together"), rows, ("class",))


_MAX_LANES = 64


def plan_document(plan: Plan, work: Workload, name: str) -> Document:
    """Return the report on a plan."""
    checked = verify(plan)
    rate = work.bandwidth if isinstance(plan.place, Topology) else None
    runs = [simulate(plan, size=size, bandwidth=rate, **work.model) for size in work.sizes]
    told = checked.heading() if checked.ok else "; ".join((checked.heading(), *checked.problems[:3]))
    where = shorten_text(str(plan.spec or plan.fabric.name))
    title, picture = make_picture(plan.place, plan, where)
    sections = [
        *([Section(title, picture)] if picture else []),
        Section("Times", (_times(runs), *_charts(plan, work))),
        Section("Exact figures", (_figures(checked, runs),)),
        *([Section("Notes", (Words(plan.notes),))] if plan.notes else []),
        Section("Commands", (loading_plan(name),)),
    ]
    return Document(
        "plan",
        f"{plan.collective} on {plan.spec or plan.fabric.name}",
        f"{plan.heading()}; {work.setting}",
        f"{'The plan is right' if checked.ok else 'The plan is WRONG'}: {told}. {runs[0].heading()}.",
        Summary(name, name, _headline(checked, runs), (plan.heading(),), find_drawing(plan.place, where)),
        (),
        (Choice(plan.spec or plan.fabric.name, tuple(sections)),),
        0,
        {"verify": checked.record(), "simulate": [run.record() for run in runs]},
    )


def _headline(checked: Report, runs: list[Simulation]) -> tuple[Figure, ...]:
    """Return the headline: time at the first size, and two figures of the plan."""
    size = format_size(runs[0].conditions.size)
    time = Figure(f"Time of {size}", format_time(runs[0].time), f"exactly {runs[0].time} s")
    own = [
        Figure({"bandwidth": "BW factor"}.get(name, name), f"{float(value):.6g}", "by replay")
        for name, value in checked.figures.items()
    ]
    return (time, *own[:2])


def _times(runs: list[Simulation]) -> Listing:
    rows = tuple((format_size(run.conditions.size), format_time(run.time), f"{run.time} s") for run in runs)
    return Listing(Table("", ("data", "time", "exactly"), rows))


def _charts(plan: Plan, work: Workload) -> tuple[Plotted, ...]:
    """Return the plots of a plan: times, link use, and timeline if links are few."""
    charts = [plan_times(plan, work)] if plan.size is None else []  # else its times are of one size
    with suppress(ParameterError):
        charts.append(link_use_chart(plan))
    if len(plan.topology.src) <= _MAX_LANES:
        with suppress(ParameterError):
            charts.append(timeline_chart(plan, size=work.sizes[0], alpha=work.alpha, bandwidth=work.bandwidth))
    return tuple(map(Plotted, charts))


def _figures(checked: Report, runs: list[Simulation]) -> Facts:
    found = [
        Fact(name, str(value), f"{float(value):.6g}", "recomputed by the verifier's replay, and equal to the claim")
        for name, value in checked.figures.items()
        if checked.ok
    ]
    times = [
        Fact(f"Time of {format_size(run.conditions.size)}", f"{run.time} s", format_time(run.time), "simulated exactly")
        for run in runs
    ]
    return Facts((plan_fact(checked), *found, *times))
