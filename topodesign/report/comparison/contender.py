"""Contenders: networks with a plan of a collective, and measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, TypeAlias

from topodesign.base.declared import Declared, Keys, key, keys_of, without
from topodesign.base.entry_points import SCHEDULERS
from topodesign.base.errors import InfeasibleError, ParameterError, SpecError, TooLargeError
from topodesign.base.wording import suggest
from topodesign.collectives import ALLREDUCE
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.places import PlaceLike, as_place
from topodesign.optima.optimum import optimum
from topodesign.plans.files import load_plan
from topodesign.plans.measure import step_costs
from topodesign.plans.plan import Plan
from topodesign.plans.time.chunks import PipelineSimulation
from topodesign.plans.time.conditions import Run
from topodesign.plans.time.models import compute_claim
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.plans import verify
from topodesign.pricing.workload import Workload
from topodesign.report.comparison.everyday import EVERYDAY, NetworkChoice, everyday
from topodesign.report.comparison.measures import Counts, counts, widest_known
from topodesign.report.comparison.timing import Phase, Timing
from topodesign.schedulers.group_ways import Wires
from topodesign.schedulers.price import price_all_to_all, price_plans
from topodesign.schedulers.scheduling import schedule_all
from topodesign.schedulers.step import StepTime
from topodesign.topology.library import generator
from topodesign.topology.topology import Topology

ContenderLike: TypeAlias = "PlaceLike | Plan"
"""What can be compared: an everyday name, whatever names a topology or fabric, also with a method, or a plan."""

_MAX_PLANNED = 2**17  # nodes times links up to which a plan is made and verified; beyond, links are priced
_MAX_FLOW = 64  # nodes of a switched fabric up to which its all-to-all is worked out

PRICED = ("cable", "port", "switch", "switch-port")  # what can have a price


@dataclass(frozen=True, slots=True)
class Interval(Declared):
    """Range between two bounds."""

    lower: Fraction | None
    upper: Fraction | None

    KEYS: ClassVar[Keys] = (
        key("lower", "What nothing goes below, proved; null if it is not worked out, as of large fabrics."),
        key("upper", "What is reached; null if it is not worked out."),
    )


class Factor(Interval):
    """Bandwidth factor between two bounds."""

    __slots__ = ()

    KEYS = (*keys_of(Interval.KEYS), key("bandwidth"))

    @property
    def bandwidth(self) -> Fraction | None:
        """Bandwidth factor; None if only its bounds are known."""
        return self.lower if self.lower == self.upper else None


@dataclass(frozen=True)
class Contender(Declared):
    """Network under comparison, with its plan, times and counts."""

    name: str  # what it was called
    place: Topology | Fabric  # a topology, or a fabric
    method: str  # how its plan is made
    plan: Plan | None  # its plan, verified; None where the place is so large that its links were priced instead
    timing: Timing  # what its times are made of; empty of timed sends
    workload: Workload  # what its times are for, with its own bandwidth of a node
    times: tuple[Fraction, ...]  # seconds of the collective for each size
    chunks: tuple[int, ...]  # the fastest number of chunks for each size; 1 of what is no pipeline
    all_to_all: Factor  # all-to-all
    bisection: Interval  # the narrowest half: capacity to the other half, as a part of what its nodes have in all
    counts: Counts  # cables, ports, switches, and failures survived
    cost: Fraction | None  # price, if prices were given; otherwise None
    step: StepTime | None = None  # a training step, where one was given; else None
    seconds: float | None = None  # seconds that making the plan took; None where designs are compared

    KEYS = (
        "name spec=what method kind=plan.kind proof nodes steps=number(steps) bandwidth *timing chunks all_to_all",
        "bisection *counts",
        key("simplex=not(topology.is_duplex)", "Whether links go one way only."),
        "cost=float(cost)",
        key("times", "Seconds of the collective for each size, exactly."),
        "times_s=float(times_by_size) made_in_s=seconds",
        key("step_s=float(step.seconds)", "Seconds of the training step; null without --workload."),
    )
    ROW = (
        *without(KEYS, "all_to_all", "bisection", "times", "times_s", "step_s"),
        "all_to_all_*=all_to_all bisection_*=bisection time_s_*=float(times_by_size)",
        "step_s?=float(step.seconds)",
    )
    SHARED = "contender"

    @property
    def times_by_size(self) -> dict[int | float, Fraction]:
        """Seconds of the collective by size in bytes."""
        return self.workload.by_size(self.times)

    @property
    def passing(self) -> bool:
        """Whether messages of the plan pass through nodes."""
        return self.plan is not None and "hops" in self.plan.claim

    def wires(self, degree: int | None) -> Wires:
        """Return the links for training steps, on nodes with ``degree`` ports."""
        work, place = self.workload, self.place
        used = Fraction(place.degree, degree) if degree is not None and isinstance(place, Topology) else 1
        return Wires.of(place, work.latency, work.bandwidth * used)

    @property
    def steps(self) -> int | Fraction | None:
        """Steps per allreduce phase, or tree height; null for timed schedules."""
        steps = self.timing.steps
        return steps.numerator if steps is not None and steps.denominator == 1 else steps

    @property
    def bandwidth(self) -> Fraction | None:
        """Bandwidth factor, per phase of an allreduce; null for timed schedules."""
        return self.timing.bandwidth

    @property
    def topology(self) -> Topology:
        """Links of the topology or fabric."""
        return links_of(self.place)

    @property
    def nodes(self) -> int:
        """Number of nodes N, without switches."""
        return self.topology.nodes - len(self.topology.switches)

    @property
    def what(self) -> str:
        """Spec of the topology, or name of the fabric."""
        if isinstance(self.place, Fabric):
            return self.place.name
        return "its own links" if self.place.spec is None else str(self.place.spec)

    @property
    def proof(self) -> str:
        """Source of the time: a verified plan, or link costs."""
        return "links priced" if self.plan is None else "plan verified"


def contender(
    what: ContenderLike,
    workload: Workload,
    nodes: int | None = None,
    degree: int | None = None,
    prices: Mapping[str, Fraction] | None = None,
) -> Contender:
    """Build a contender from a name, spec, file, network or plan."""
    name, found = found_contender(what, workload, nodes, degree)
    plan, method = (found, "auto") if isinstance(found, Plan) else (None, found.method)
    place = found.place
    links = links_of(place)
    own = links.nodes - len(links.switches)
    reason = why_unfit(place, nodes, degree)
    if reason is not None:
        raise ParameterError(f"{name}: {reason}; compare what has as many")
    if isinstance(place, Fabric):
        workload = replace(workload, bandwidth=node_bandwidth(place))
        ports = Fraction(1)
    else:
        ports = Fraction(degree or place.degree, place.degree)  # those that it leaves unused carry nothing
    made: list[Plan] = []
    if plan is not None:
        plan = replace(plan, place=place)
        _check_allreduce(plan, name)
        made = [plan]
    elif own * len(links.src) <= _MAX_PLANNED or method != "auto" or isinstance(place, Fabric):
        made = schedule_all(place, ALLREDUCE, method=method)
        if made[0].claim.get("steps") != 2:  # one in each half, where auto takes the fewest and others may be faster
            made = made[:1]
    if made:
        timed = [
            (one, time_plan(verified(one), None if isinstance(place, Fabric) else ports, workload)) for one in made
        ]
        plan, timing = min(timed, key=lambda one: one[1].times(workload)[0])
        method = plan.generator.get("method", method)
    elif isinstance(place, Topology):
        method, timing = _of_links(place, ports, workload)
    number = counts_of(place)
    lower, upper = _all_to_all(place, ports, workload)
    return Contender(
        name,
        place,
        method,
        plan,
        timing,
        workload,
        timing.times(workload),
        timing.chunks(workload),
        Factor(lower, upper),
        _bisection(links, upper, ports),
        number,
        None if prices is None else sum_of(number, prices),
    )


def links_of(place: Topology | Fabric) -> Topology:
    """Return the links of a topology or fabric."""
    return place.topology if isinstance(place, Fabric) else place


def why_unfit(place: Topology | Fabric, nodes: int | None, degree: int | None) -> str | None:
    """Return why a network has another size, or None."""
    links = links_of(place)
    own = links.nodes - len(links.switches)
    if nodes is not None and own != nodes:
        return f"it has {own} nodes, not {nodes}"
    if degree is not None and isinstance(place, Topology) and place.degree > degree:
        return f"it needs {place.degree} ports a node, not {degree}"
    return None


def found_contender(
    what: ContenderLike, work: Workload, nodes: int | None, degree: int | None
) -> tuple[str, NetworkChoice | Plan]:
    """Return the name of a contender, and its network or plan."""
    if isinstance(what, Plan):
        return what.spec or "a plan", what
    if isinstance(what, str | Path) and str(what).endswith(".npz"):
        return str(what), load_plan(what)
    if not isinstance(what, str):
        place = as_place(what)
        return place.name if isinstance(place, Fabric) else str(place.spec or "a topology"), NetworkChoice(place)
    text, at, method = what.rpartition("@")
    if not at:
        text, method = what, "auto"
    elif method not in SCHEDULERS:
        raise ParameterError(f"{method!r} in {what!r} is not a method; {suggest(method, SCHEDULERS)}")
    if text.strip() in EVERYDAY:
        if nodes is None or degree is None:
            raise ParameterError(f"'{text}' is a kind, not a size; say how many nodes and ports (-n, -d)")
        found = everyday(text.strip(), nodes, degree, work)
        return what, found if method == "auto" else found._replace(method=method)
    try:
        return what, NetworkChoice(as_place(text), method)
    except SpecError:
        near = suggest(text.partition("(")[0].strip(), EVERYDAY, "")
        if not near or generator(text.partition("(")[0].strip()):
            raise
        raise ParameterError(f"{text!r:.60} is neither an everyday name nor a spec; {near}") from None


def node_bandwidth(fabric: Fabric) -> Fraction:
    """Return the maximum node bandwidth of a fabric, in bits per second."""
    return 8 * fabric.unit * max(int(fabric.topology.out_ports[node]) for node in fabric.compute)


def counts_of(place: Topology | Fabric, *, failures: bool = True) -> Counts:
    """Count the cables, ports, switches and survivable failures of a network.

    Capacities of a fabric are bandwidths, so a linked pair counts as one cable.
    """
    if not isinstance(place, Fabric):
        return counts(place, failures=failures)
    links = place.topology
    return counts(Topology.from_arrays(links.nodes, links.src, links.dst, switches=links.switches), failures=failures)


def _check_allreduce(plan: Plan, name: str) -> None:
    if not plan.collective.like(ALLREDUCE) or plan.collective.group is not None:
        raise ParameterError(f"{name} is a plan of {plan.collective}; allreduces are compared")


def _of_links(topology: Topology, ports: Fraction, work: Workload) -> tuple[str, Timing]:
    """Return the cheapest allreduce methods and their timing, by links."""
    methods, pair = min(price_plans(topology).ways, key=lambda way: work.allreduce(*way[1])[0])
    return ", ".join(methods), Timing(tuple(Phase(one.steps, 1, 0, one.bandwidth * ports) for one in pair))


def time_plan(plan: Plan, ports: Fraction | None, work: Workload) -> Timing:
    """Return the timing of a plan for the latencies and the node bandwidth of a workload.

    ``ports`` is the ports of a node over those of the topology, or None on a fabric, which has its own bandwidths.
    """
    used = work.bandwidth / node_bandwidth(plan.fabric) if ports is None else ports
    claim = plan.claim or compute_claim(plan)
    if "hops" in claim:
        costs = step_costs(plan.flow)
        steps = zip(costs.longest, costs.factors, strict=True)
        return Timing(tuple(Phase(1, 1, links, factor * used) for links, factor in steps))
    run = None
    if "steps" not in claim:
        rate = None if ports is None else work.bandwidth / ports
        run = simulate(plan, size=work.sizes[0], bandwidth=rate, **work.model).run
    return timing_of(plan, run, work.bandwidth, used)


def timing_of(plan: Plan, run: Run | None, bandwidth: Fraction, ports: Fraction = Fraction(1)) -> Timing:
    """Return the timing of a plan for a node bandwidth in bits/s.

    It is empty for timed sends that were not run.
    """
    halves = 2 if plan.collective.like(ALLREDUCE) else 1
    if isinstance(run, PipelineSimulation):
        return Timing.of_run(run, bandwidth, halves)
    if "steps" in plan.claim and "bandwidth" in plan.claim:
        return Timing((Phase(int(plan.claim["steps"]), 1, 0, plan.claim["bandwidth"] * ports),), None, halves)
    return Timing((), None, halves)


def verified(plan: Plan) -> Plan:
    """Return a plan that replays as it says; raise InfeasibleError for any other."""
    verdict = verify(plan)
    if not verdict.ok:
        raise InfeasibleError(f"the {plan.collective} of {plan.spec} is invalid: {verdict}")
    return plan


def _all_to_all(place: Topology | Fabric, ports: Fraction, work: Workload) -> tuple[Fraction | None, Fraction | None]:
    """Return bounds on the all-to-all bandwidth factor."""
    if isinstance(place, Topology):
        found = price_all_to_all(place)
        return found.lower * ports, None if found.upper is None else found.upper * ports
    if len(place.compute) > _MAX_FLOW:
        return None, None
    try:
        best = optimum(place, "all-to-all")
    except TooLargeError:
        return None, None
    whole = work.bandwidth / 8
    return whole / best.bound, whole / best.bandwidth


def _bisection(topology: Topology, factor: Fraction | None, ports: Fraction) -> Interval:
    """Return bounds on the bisection, from all-to-all and a cut.

    Of an all-to-all (N/2)^2 shards cross from half to half, in y M/B: so the capacity is at least N/(4y) of B.
    """
    half = topology.nodes // 2
    lower = None if factor is None or topology.switches else Fraction(topology.nodes - half, topology.nodes) / factor
    found = widest_known(topology)
    return Interval(lower, None if found is None else found[1] / (half * topology.degree * ports))


def sum_of(number: Counts, prices: Mapping[str, Fraction]) -> Fraction:
    """Sum the cost or power of everything counted."""
    amounts: Sequence[int] = (number.cables, number.ports, number.switches, number.switch_ports)
    return sum((prices.get(name, Fraction(0)) * many for name, many in zip(PRICED, amounts, strict=True)), Fraction(0))
