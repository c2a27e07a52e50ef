"""What a report tells of a plan: whether it is right, its times, link use, and the plan step by step."""

from __future__ import annotations

from topodesign.base.records import Table, shortened
from topodesign.base.units import format_size, format_time
from topodesign.plans.kinds import kind_of
from topodesign.plans.plan import Plan
from topodesign.plans.replay.plans import Report, verify
from topodesign.plans.timing.plans import Simulation, simulate
from topodesign.pricing.workload import Workload
from topodesign.report.charts.timeline import link_use_chart, timeline_chart
from topodesign.report.page.fabric import plan_times
from topodesign.report.page.parts import (
    Choice,
    Document,
    Fact,
    Facts,
    Figure,
    Listing,
    Plotted,
    Section,
    Summary,
    Words,
)
from topodesign.report.page.topology import loading_plan, pictured, pictures_of, plan_fact
from topodesign.topology.topology import Topology

_MOST_LANES = 64


def plan_document(plan: Plan, work: Workload, name: str) -> Document:
    """Return the report on a plan."""
    checked = verify(plan)
    rate = work.bandwidth if isinstance(plan.place, Topology) else None
    runs = [simulate(plan, size=size, bandwidth=rate, **work.model) for size in work.sizes]
    told = checked.heading() if checked.ok else "; ".join((checked.heading(), *checked.problems[:3]))
    where = shortened(str(plan.spec or plan.fabric.name))
    drawings = pictures_of(plan.place, where)
    title, picture = pictured(plan.place, plan, where)
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
        Summary(name, name, _headline(checked, runs), (plan.heading(),), drawings[0] if drawings else None),
        (),
        (Choice(plan.spec or plan.fabric.name, tuple(sections)),),
        0,
        {"verify": checked.record(), "simulate": [run.record() for run in runs]},
    )


def _headline(checked: Report, runs: list[Simulation]) -> tuple[Figure, ...]:
    """Return what is read first: the time of the first size, and two figures of the plan."""
    size = format_size(runs[0].conditions.size)
    time = Figure(f"Time of {size}", format_time(runs[0].time), f"exactly {runs[0].time} s")
    own = [Figure(name, f"{float(value):.6g}", "by a replay") for name, value in checked.figures.items()]
    return (time, *own[:2])


def _times(runs: list[Simulation]) -> Listing:
    rows = tuple((format_size(run.conditions.size), format_time(run.time), f"{run.time} s") for run in runs)
    return Listing(Table("", ("data", "time", "exactly"), rows))


def _charts(plan: Plan, work: Workload) -> tuple[Plotted, ...]:
    """Return what there is to plot: times over sizes, link use of rounds, and a timeline where links are few."""
    pace = kind_of(plan).pace
    charts = [] if pace == "times" else [plan_times(plan, work)]
    if pace == "steps":
        charts.append(link_use_chart(plan))
    if pace != "pipelines" and len(plan.topology.src) <= _MOST_LANES:
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
