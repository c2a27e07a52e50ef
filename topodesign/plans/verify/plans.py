"""One verifier for all plans: movement, claim and spec."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from topodesign.base.declared import Declared, key
from topodesign.base.errors import ParameterError, ScheduleError, SpecError, TopologyError
from topodesign.base.records import Result
from topodesign.base.units import format_rate, format_size, format_time
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.files import as_plan, load_plan
from topodesign.plans.flow import KINDS, Clock, Flow, Flows, fastest_link
from topodesign.plans.plan import Plan
from topodesign.plans.verify.data import replay_data
from topodesign.plans.verify.links import (
    check_clock,
    check_links,
    check_shared,
    cost_chunks,
    cost_steps,
    describe_clock,
    find_height,
    find_links,
    rate_chunks,
)
from topodesign.plans.verify.stages import Stages
from topodesign.plans.verify.verdict import ChunksFound, ClockFound, StreamFound, Verdict, Words, describe_waste
from topodesign.topology.library import build, names_fabric
from topodesign.topology.topology import Topology

WORDS = MappingProxyType(
    {
        "k": "trees per root",
        "inv_x_star": "1/x* in seconds per byte of shard",
        "algorithmic_bandwidth": "algorithmic bandwidth in bytes per second",
    }
)
"""What messages call figures whose name in a claim does not tell."""


@dataclass(frozen=True, repr=False)
class Report(Result):
    """Whether a plan is right."""

    plan: Plan  # what was checked
    problems: tuple[str, ...]  # what is wrong with it, readable; empty if it is right
    figures: Mapping[str, Fraction]  # what it costs, recomputed by the verifier, by the names of a claim
    found: Verdict  # all that the replay found

    KEYS = (
        "ok",
        key("kind=plan.kind", "How data move.", kind=KINDS),
        key("collective=plan.collective.name", "What is done."),
        key("spec=plan.spec", "What names and rebuilds the place; null for links that have no spec."),
        "nodes *details",
        key("problems", "What is wrong."),
    )

    @property
    def nodes(self) -> int:
        """Nodes that take part."""
        return len(self.plan.collective.members(self.plan.topology.nodes, self.plan.topology.switches))

    @property
    def details(self) -> Declared | None:
        """What documents say beside: as the replay of each kind declares."""
        return self.found.details

    @property
    def ok(self) -> bool:
        """Whether it is right, and what it says of itself true."""
        return not self.problems

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row per figure: claimed and found."""
        names = [*self.figures, *(name for name in self.plan.claim if name not in self.figures)]
        return [
            {"figure": name, "claimed": self.plan.claim.get(name), "found": self.figures.get(name)} for name in names
        ]

    def heading(self) -> str:
        """Return the verdict."""
        return replace(self.found, problems=self.problems).format(self.plan.collective).splitlines()[0]

    def __str__(self) -> str:
        """Return the verdict and the problems, one a line."""
        return replace(self.found, problems=self.problems).format(self.plan.collective)


def verify(plan: Plan | str | Path) -> Report:
    """Replay a plan and check all that it says about itself.

    Parameters
    ----------
    plan
        Any, or the file of one. What moves is replayed independently of what made it: every send has its data and its
        link, nothing is lost or added twice, everybody has what the collective promises, and links carry what they can.
        Claims are compared with what the replay costs, exactly. A spec must rebuild the links, and a fabric's its names
        and bandwidths too.

    Returns
    -------
    Report
        With problems in words.

    Raises
    ------
    ScheduleError
        If nobody knows how to verify such a movement.
    TooLargeError
        If the replay would not fit into memory.

    Examples
    --------
    >>> from topodesign import schedule, verify
    >>> print(verify(schedule("circulant(12,2,3)", "allgather")))
    allgather: ok, 2 steps, BW factor 11/12 (0.9167)
    """
    plan = as_plan(plan)
    if (known := vars(plan).get("_report")) is not None:  # a plan is a value, so it is replayed once
        return known  # type: ignore[no-any-return]
    flows = plan.flows
    if isinstance(plan.place, Fabric) and flows[0].model != "chunks":  # whose shares keep limits
        plan.place.check_unshared(f"the verifier of {plan.kind}")
    found = check_flows(flows, several=isinstance(plan.movement, Flows))
    problems = list(found.problems)
    if not problems:
        problems += [
            f"the claimed {WORDS.get(name, name)} is {claimed}, but the schedule has {found.figures[name]}"
            for name, claimed in plan.claim.items()
            if name in found.figures and claimed != found.figures[name]
        ]
        unknown = [name for name in plan.claim if name not in found.figures]
        problems += [f"it claims {name!r}, which a plan of {plan.kind} has not" for name in unknown]
    problems += _spec_problems(plan)
    vars(plan)["_report"] = report = Report(plan, tuple(problems), found.figures, found)
    return report


def check_movement(
    place: Topology | Fabric,
    movement: Flow | Flows,
    *,
    multicast: Collection[int] = (),
    aggregation: Collection[int] = (),
) -> Verdict:
    """Replay a movement without claims, with switch abilities."""
    flows = Plan(place, movement).flows
    if multicast or aggregation:
        whole = Plan(place, movement).fabric
        able = whole.multicast | frozenset(multicast), whole.aggregation | frozenset(aggregation)
        whole = replace(whole, multicast=able[0], aggregation=able[1])
        flows = tuple(replace(flow, place=whole) for flow in flows)
    return check_flows(flows, several=isinstance(movement, Flows))


def check_flows(flows: tuple[Flow, ...], *, several: bool = False) -> Verdict:
    """Replay flows: one, simultaneous ones, or stages.

    ``several`` says that they are streams or stages, even if there is one alone.
    """
    if flows[0].fold is not None:
        try:
            flows[0].fold.check(flows[0].topology)
        except TopologyError as error:
            return Verdict((f"the symmetry is none of the topology: {error}",))
    return CHECKS[flows[0].model](flows, several)


def _check_steps(flows: tuple[Flow, ...], _several: bool) -> Verdict:
    (flow,) = flows
    links = find_links(flow)
    problems, there = check_links(flow, links)
    data = replay_data(flow, there)
    wasted = data.redundant, data.refilled
    figures, details, text = cost_steps(flow, links, wasted)
    return Verdict((*problems, *data.problems), figures, details, text, describe_waste(*wasted), *wasted)


def _check_chunks(flows: tuple[Flow, ...], several: bool) -> Verdict:
    if several:
        return _check_stages(flows)
    (flow,) = flows
    if not len(flow.block):
        return Verdict(("it has no paths" if flow.rate is None else "it has no trees",))
    links = find_links(flow)
    problems, there = check_links(flow, links)
    data = replay_data(flow, there)
    rate = rate_chunks(flow, links)
    problems += data.problems + rate.problems
    if problems or rate.time is None:
        return Verdict(tuple(problems), fullest=rate.fullest)
    figures, details, text = cost_chunks(flow, rate)
    return Verdict((), figures, details, text, fullest=rate.fullest)


def _check_stages(flows: tuple[Flow, ...]) -> Verdict:
    stages = Stages(flows[0].collective.members(flows[0].topology.nodes, flows[0].topology.switches))
    height, time, problems = 0, Fraction(0), list[str]()
    for number, flow in enumerate(flows):
        links = find_links(flow)
        found, there = check_links(flow, links)
        data, rate = replay_data(flow, there), rate_chunks(flow, links)
        found += data.problems + rate.problems
        found += [] if found else stages.follow(flow)
        if found or rate.time is None:
            problems += [f"stage {number}: {problem}" for problem in found]
            break
        height += find_height(flow)
        time += rate.time * stages.size
    else:
        problems += stages.finish(Words(flows[0]))
    if problems:
        return Verdict(tuple(problems))
    trees = sum(len(flow.block) for flow in flows)
    figures = {"height": Fraction(height), "algorithmic_bandwidth": cast("Fabric", flows[0].place).unit / time}
    details = ChunksFound(trees, None, len(flows), figures["height"], None, figures["algorithmic_bandwidth"])
    return Verdict((), figures, details, f"{len(flows)} stages of height {height}, {trees} trees")


def _check_clocks(flows: tuple[Flow, ...], together: bool) -> Verdict:
    problems: list[str] = []
    messages, streams, times, texts = [], [], [], []
    redundant = refilled = 0
    for number, flow in enumerate(flows):
        clock = cast("Clock", flow.clock)
        links = find_links(flow)
        found, there = check_links(flow, links)
        more, sent = check_clock(flow, links)
        data = replay_data(flow, there)
        of = f"stream {number}: " if together else ""
        problems += [of + problem for problem in (*found, *more, *data.problems)]
        time, text = describe_clock(flow)
        begin = clock.begin * clock.tick
        streams.append(StreamFound(flow.collective.name, clock.size, begin, time, data.redundant, data.refilled))
        messages.append(sent)
        times.append(time)
        texts.append(f"{flow.collective} of {format_size(clock.size)} by {format_time(time)}" if of else text)
        redundant, refilled = redundant + data.redundant, refilled + data.refilled
    last = max(times)
    notes = [*describe_waste(redundant, refilled), *_unknown_bandwidth(flows)]
    if not together:
        details = ClockFound(last, streams[0].size_bytes, redundant, refilled, None)
        return Verdict(tuple(problems), {"time": last}, details, texts[0], tuple(notes), redundant, refilled)
    problems += check_shared(flows, messages)
    figures = {"time": last} | {f"time_{number}": time for number, time in enumerate(times)}
    text = f"{sum(map(len, flows))} sends in {format_time(last)}: {', '.join(texts)}"
    details = ClockFound(last, None, None, None, streams)
    return Verdict(tuple(problems), figures, details, text, tuple(notes), redundant, refilled)


def _unknown_bandwidth(flows: tuple[Flow, ...]) -> list[str]:
    """Return a note if times name no bandwidth (before 0.29)."""
    flow = flows[0]
    rate = fastest_link(flow)
    if flow.timing.bandwidth is not None or isinstance(flow.place, Fabric) or rate is None:
        return []
    rate *= flow.topology.degree
    return [f"the plan does not say its bandwidth: times are right for {format_rate(rate)} of a node or more"]


CHECKS: dict[str, Callable[[tuple[Flow, ...], bool], Verdict]] = {
    "steps": _check_steps,
    "chunks": _check_chunks,
    "clock": _check_clocks,
}
"""By timing model: what is legal, of flows that may be several."""


def verify_or_raise(plan: Plan, what: str = "the plan") -> Plan:
    """Return a verified plan, or raise ScheduleError."""
    report = verify(plan)
    if not report.ok:
        raise ScheduleError(f"{what} is invalid: {report.problems[0]}")
    return plan


def load_right(path: str | Path) -> Plan:
    """Read a plan file that the verifier accepts."""
    plan = load_plan(path)
    report = verify(plan)
    if not report.ok:
        problems = "".join(f"\n  {problem}" for problem in report.problems)
        raise ParameterError(f"{path} is not a correct schedule:{problems}")
    if plan.spec is None or isinstance(plan.place, Fabric):
        return plan
    return replace(plan, place=build(plan.spec))


def _spec_problems(plan: Plan) -> list[str]:
    """Describe a spec that does not rebuild the place."""
    if plan.spec is None or (plan.topology.spec is not None and str(plan.topology.spec) == plan.spec):
        return []
    text = repr(plan.spec[:100])
    what = "fabric" if isinstance(plan.place, Fabric) else "links"
    try:
        if names_fabric(plan.spec):
            from topodesign.fabrics.presets import build_fabric  # noqa: PLC0415  links do without

            same = isinstance(plan.place, Fabric) and _physical(build_fabric(plan.spec)) == _physical(plan.place)
        else:
            same = build(plan.spec) == plan.topology
    except SpecError as error:
        wrong = "does not give the fabric in the file" if what == "fabric" else "cannot be built"
        return [f"the spec {text} in the file {wrong}: {error.message}"]
    return [] if same else [f"the spec {text} in the file does not give the {what} in the file"]


def _physical(fabric: Fabric) -> tuple[object, ...]:
    """Return all properties of a fabric but names."""
    return fabric.names, fabric.topology, fabric.unit, fabric.multicast, fabric.aggregation, fabric.shared
