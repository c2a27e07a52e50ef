"""The report on an answer of ``pareto``: frontier, times and topologies."""

from __future__ import annotations

from dataclasses import replace

from topodesign.base.cost import Cost
from topodesign.base.records import Table, shorten_text
from topodesign.base.units import format_factor, format_size, format_time
from topodesign.base.wording import with_article
from topodesign.finder.candidate import Entry
from topodesign.finder.pareto import Pareto
from topodesign.report.charts.chart import Chart
from topodesign.report.charts.times import frontier_chart, times_chart
from topodesign.report.page.details import Rivals, make_plan
from topodesign.report.page.parts import Choice, Document, Facts, Listing, Plotted, Section, Summary
from topodesign.report.page.topology import (
    MAX_WORK,
    TopologyPrice,
    describe_method,
    figures,
    headline_figures,
    loading,
    make_comparison,
    summary_of,
    topology_sections,
)
from topodesign.schedulers.price import price_plans


def answer_document(found: Pareto, others: Rivals | None) -> Document:
    """Return the report on a frontier."""
    listed = Listing(_without_verdict(found), chooses=True, named=True)
    sections = [Section("Topologies worth wiring", (listed,))]
    if found.question.objective.collective == "allreduce":
        frontier = Plotted(_frontier(found), chooses=True)
        sections = [Section("Topologies worth wiring", (frontier, listed))]
        sections.append(Section("Time over message size", (Plotted(times_chart(found)),)))
    more = (
        () if found.runners_up is None else (Section("Runners-up", (Listing(found.runners_up.table(), named=True),)),)
    )
    compared = () if others is None else (make_comparison(found.nodes, shorten_text(found.best.label), others),)
    own = {} if others is None else {"against": others.record}
    told = [_about(entry, found.bounds, duplex=found.bidirectional) for entry in found.entries]
    chosen = found.entries.index(found.best)
    return Document(
        "answer",
        f"{found.nodes} nodes of degree {found.degree}",
        found.heading(),
        headline(found),
        told[chosen][0],
        (*sections, *more, *compared),
        tuple(Choice(summary.name, sections) for summary, sections in told),
        chosen,
        found.record() | own,
    )


def headline(found: Pareto) -> str:
    """Return the recommendation at the first data size, then the verdict."""
    best, size = found.best, format_size(found.workload.sizes[0])
    collective = found.question.objective.collective
    what = "a step" if collective is None else f"{with_article(collective)} of {size}"
    takes = f"{what} takes {format_time(best.times[0])}"
    return f"Wire {shorten_text(best.short)}: {takes}. {found.verdict}"


def _without_verdict(found: Pareto) -> Table:
    table = found.table()
    names = [shorten_text(entry.short) for entry in found.entries]
    rows = [(*row[:-1], name) for row, name in zip(table.rows, names, strict=False)]
    rows += table.rows[len(names) :]
    return replace(table, heading="", rows=tuple(rows), footnote=table.footnote.splitlines()[0])


def _frontier(found: Pareto) -> Chart:
    """Return the plot of the frontier, with exact figures for every point."""
    chart = frontier_chart(found)
    first = format_size(found.workload.sizes[0])
    texts = [
        f"{shorten_text(one.short)}: {one.cost.steps} steps, {format_factor(one.mean.bandwidth)}, "
        f"allreduce of {first} in {format_time(one.allreduce[0])}"
        for one in found.entries
    ]
    return replace(chart, series=(replace(chart.series[0], texts=texts), *chart.series[1:]))


def _about(entry: Entry, bounds: tuple[Cost, ...], *, duplex: bool) -> tuple[Summary, tuple[Section, ...]]:
    """Return the sections on one topology of the frontier, rebuilt unless huge."""
    name, short = str(entry.spec), shorten_text(entry.short)
    exchange = None if entry.all_to_all is None else (entry.all_to_all.lower, entry.all_to_all.upper)
    if entry.nodes * entry.nodes * entry.degree > MAX_WORK:
        basis = "as the catalog says; building and pricing it again takes 'topodesign evaluate'"
        priced = TopologyPrice(entry.cost, entry.allgather, bounds, duplex, basis, exchange)
        links = (f"{entry.nodes * entry.degree} links, no switch",)
        return Summary(short, name, headline_figures(entry.workload, priced), links, None), (
            Section("Exact figures", (Facts(figures(entry.workload, priced)),)),
            Section("Commands", (loading(name),)),
        )
    graph = entry.build()
    prices = price_plans(graph, True if entry.deferred else None)
    methods, pair = prices.ways[-1 if entry.deferred else 0]
    priced = TopologyPrice(*pair, bounds, duplex, describe_method(graph, methods), exchange)
    made = make_plan(graph)
    return (
        summary_of(graph, short, entry.workload, priced, made),
        topology_sections(graph, short, entry.workload, priced, made, drawn=False),
    )
