"""One verifier for all plans: what moves, what is claimed of it, and the spec that is said to rebuild the place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from topodesign.base.cost import Cost
from topodesign.base.errors import ParameterError, ScheduleError, SpecError
from topodesign.base.records import Result
from topodesign.base.units import exact_rate, format_rate, format_size, format_time
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.presets import build_fabric
from topodesign.plans.files import as_plan, load_plan
from topodesign.plans.orbit import OrbitRounds
from topodesign.plans.paths import Paths
from topodesign.plans.plan import Plan
from topodesign.plans.replay.orbit import verify_orbit
from topodesign.plans.replay.paths import verify_paths
from topodesign.plans.replay.rounds import RoundsReport, verify_rounds
from topodesign.plans.replay.timed import SHOWN, verify_timed
from topodesign.plans.replay.together import verify_together
from topodesign.plans.replay.trees import loads_of, verify_trees
from topodesign.plans.rounds import Rounds
from topodesign.plans.timed import Timed
from topodesign.plans.together import Together
from topodesign.plans.trees import Trees
from topodesign.topology.library import build, names_fabric
from topodesign.topology.topology import IntArray

WORDS = MappingProxyType(
    {
        "k": "trees per root",
        "inv_x_star": "1/x* in seconds per byte of shard",
        "algorithmic_bandwidth": "algorithmic bandwidth in bytes per second",
    }
)
"""What messages call figures whose name in a claim does not tell."""


@dataclass(frozen=True)
class Found:
    """What the verifier of one kind of movement found.

    Attributes
    ----------
    problems
        What is wrong with what moves.
    figures
        What it costs, recomputed, by the names of a plan's claim; empty where nothing can be said.
    details
        What else there is to say, as JSON holds it.
    text
        The same for people, without the problems: a line or several.
    """

    problems: tuple[str, ...]
    figures: Mapping[str, Fraction]
    details: Mapping[str, Any]
    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Report(Result):
    """Whether a plan is right.

    Attributes
    ----------
    plan
        What was checked.
    problems
        What is wrong with it, readable; empty if it is right.
    figures
        What it costs, recomputed by the verifier, by the names of a claim.
    found
        All that the verifier of its kind of movement found.
    """

    plan: Plan
    problems: tuple[str, ...]
    figures: Mapping[str, Fraction]
    found: Found

    @property
    def ok(self) -> bool:
        """Whether the plan is right, and what it says about itself true."""
        return not self.problems

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for every figure: what was claimed, and what was found."""
        names = [*self.figures, *(name for name in self.plan.claim if name not in self.figures)]
        return [
            {"figure": name, "claimed": self.plan.claim.get(name), "found": self.figures.get(name)} for name in names
        ]

    def heading(self) -> str:
        """Return the verdict."""
        return (
            f"{self.plan.collective}: {'ok' if self.ok else 'WRONG'}{', ' if self.found.text else ''}{self.found.text}"
        )

    def __str__(self) -> str:
        """Return the verdict and the problems, one a line."""
        notes = [f"  note: {note}" for note in self.found.notes]
        return "\n".join([self.heading(), *(f"  {problem}" for problem in self.problems), *notes])

    def record(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {
            "ok": self.ok,
            "kind": self.plan.kind,
            "collective": self.plan.collective.name,
            "spec": self.plan.spec,
            "nodes": len(self.plan.collective.members(self.plan.topology.nodes, self.plan.topology.switches)),
            **self.found.details,
            "problems": list(self.problems),
        }


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
    allgather: ok, 2 steps, y = 11/12
    """
    plan = as_plan(plan)
    check = CHECKS.get(type(plan.movement))
    if check is None:
        raise ScheduleError(f"there is no verifier of {type(plan.movement).__name__}")
    if isinstance(plan.place, Fabric) and not isinstance(plan.movement, Trees | Paths):
        plan.place.check_unshared(f"the verifier of {plan.kind}")
    found = check(plan, plan.movement)
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
    return Report(plan, tuple(problems), found.figures, found)


def load_right(path: str | Path) -> Plan:
    """Read a plan file that the verifier accepts.

    Returns
    -------
    Plan
        Where the file's spec rebuilds its links, they are those of the spec, with its symmetry.

    Raises
    ------
    FileFormatError
        If it cannot be read.
    ParameterError
        If the plan in it is wrong.
    """
    plan = load_plan(path)
    report = verify(plan)
    if not report.ok:
        problems = "".join(f"\n  {problem}" for problem in report.problems)
        raise ParameterError(f"{path} is no right schedule:{problems}")
    if plan.spec is None or isinstance(plan.place, Fabric):
        return plan
    return replace(plan, place=build(plan.spec))


def _rounds(plan: Plan, rounds: Rounds) -> Found:
    return _in_steps(verify_rounds(plan.topology, rounds, _claimed(plan)))


def _orbit(plan: Plan, orbit: OrbitRounds) -> Found:
    return _in_steps(verify_orbit(plan.topology, orbit, _claimed(plan)))


def _claimed(plan: Plan) -> Cost | None:
    """Return what a plan of steps claims to cost, if it claims all of it."""
    if {"steps", "bandwidth"} <= plan.claim.keys() and plan.claim["steps"].denominator == 1:
        return Cost(int(plan.claim["steps"]), plan.claim["bandwidth"])
    return None


def _in_steps(report: RoundsReport) -> Found:
    cost = report.cost
    return Found(
        report.problems,
        {"steps": Fraction(cost.steps), "bandwidth": cost.bandwidth},
        {
            "steps": cost.steps,
            "bandwidth": str(cost.bandwidth),
            "redundant": report.redundant,
            "refilled": report.refilled,
        },
        f"{cost.steps} steps, y = {cost.bandwidth}",
        report.notes,
    )


def _trees(plan: Plan, trees: Trees) -> Found:
    fabric = plan.fabric
    report = verify_trees(trees, names=fabric.names, multicast=fabric.multicast, aggregation=fabric.aggregation)
    if not report.ok or report.inverse_rate is None:
        return Found(report.problems or ("it has no trees",), {}, {}, "")
    overloaded = _overloaded(fabric, loads_of(trees), trees.rate)
    if overloaded:
        return Found(overloaded, {}, {}, "")
    owners = trees.collective.shards(len(fabric.compute))
    shards = owners if trees.shard is None else sum(trees.shard)
    weights = [int(phase.sum()) for phase in (trees.weight[: trees.reduce_trees], trees.weight[trees.reduce_trees :])]
    bandwidth = shards * fabric.unit / report.inverse_rate
    figures = {
        "k": Fraction(max(weights), shards),
        "height": Fraction(report.height),
        "inv_x_star": owners / bandwidth,
        "algorithmic_bandwidth": bandwidth,
    }
    text = f"{report.trees} trees of height {report.height}, 1/x = {report.inverse_rate}"
    return Found((), figures, {"trees": report.trees, **{name: str(value) for name, value in figures.items()}}, text)


def _overloaded(fabric: Fabric, loads: IntArray, rate: Fraction) -> tuple[str, ...]:
    """Say which limits that links share are exceeded by the weights on links in some phase."""
    problems = []
    for limit, links in zip(fabric.shared, fabric.shared_links(), strict=True):
        most = max(sum(phase[list(links)].tolist()) for phase in loads) * rate * fabric.unit
        if most > limit.bandwidth:
            problems.append(
                f"the links of the shared limit '{limit.name}' carry {exact_rate(most)} together, more than its "
                f"{exact_rate(limit.bandwidth)}"
            )
    return tuple(problems[:SHOWN])


def _paths(plan: Plan, paths: Paths) -> Found:
    fabric = plan.fabric
    limits = [
        (links, limit.bandwidth / fabric.unit)
        for limit, links in zip(fabric.shared, fabric.shared_links(), strict=True)
    ]
    report = verify_paths(paths, names=fabric.names, limits=limits)
    if not report.ok or not report.inverse_rate:
        return Found(report.problems or ("it has no paths",), {}, {}, "")
    members = len(paths.collective.members(plan.topology.nodes, plan.topology.switches))
    inverse = report.inverse_rate / fabric.unit
    figures = {
        "height": Fraction(report.height),
        "inv_x_star": inverse,
        "algorithmic_bandwidth": paths.collective.shards(members) / inverse,
    }
    text = f"{report.paths} paths of height {report.height}, {format_rate(figures['algorithmic_bandwidth'])}"
    return Found((), figures, {"paths": report.paths, **{name: str(value) for name, value in figures.items()}}, text)


def _timed(plan: Plan, timed: Timed) -> Found:
    report = verify_timed(plan.topology, timed)
    problems = report.problems
    if report.ok:
        problems = tuple(_too_quick(plan, timed))
    details = {
        "time": str(report.time),
        "size_bytes": str(timed.size),
        "redundant": report.redundant,
        "refilled": report.refilled,
    }
    text = f"{len(timed)} sends of {format_size(timed.size)} in {format_time(report.time)}"
    return Found(problems, {"time": report.time}, details, text, report.notes)


def _too_quick(plan: Plan, timed: Timed) -> list[str]:
    """Return the links of a fabric that timed sends take for faster than they are."""
    if not isinstance(plan.place, Fabric):
        return []
    members = len(timed.collective.members(timed.nodes, plan.topology.switches))
    unit_bytes = timed.size / (timed.collective.shards(members) * timed.units)
    speeds = zip(plan.topology.links(), timed.per_unit.tolist(), strict=True)
    quick = [(u, v) for (u, v, ports), ticks in speeds if ticks * timed.tick * ports * plan.place.unit < unit_bytes]
    names = plan.place.names
    return [f"the plan takes {names[u]} -> {names[v]} for faster than the fabric's link" for u, v in quick[:SHOWN]]


def _together(plan: Plan, moved: Together) -> Found:
    report = verify_together(plan.topology, moved)
    problems = report.problems
    if report.ok:
        problems = tuple(problem for one in moved.streams for problem in _too_quick(plan, one))
    streams = [
        {"collective": one.collective.name, "size_bytes": str(one.size), "begin": str(begin * one.tick)}
        | {"time": str(found.time), "redundant": found.redundant, "refilled": found.refilled}
        for one, begin, found in zip(moved.streams, moved.begins, report.streams, strict=True)
    ]
    figures = {"time": report.time} | {f"time_{number}": one.time for number, one in enumerate(report.streams)}
    each = ", ".join(
        f"{one.collective} of {format_size(one.size)} by {format_time(found.time)}"
        for one, found in zip(moved.streams, report.streams, strict=True)
    )
    text = f"{len(moved)} sends in {format_time(report.time)}: {each}"
    return Found(problems, figures, {"time": str(report.time), "streams": streams}, text, report.notes)


CHECKS: Mapping[type, Callable[[Plan, Any], Found]] = MappingProxyType(
    {
        Rounds: _rounds,
        OrbitRounds: _orbit,
        Trees: _trees,
        Paths: _paths,
        Timed: _timed,
        Together: _together,
    }
)
"""The verifiers by kind of movement."""


def _spec_problems(plan: Plan) -> list[str]:
    """Say if the spec does not rebuild where the plan runs: a fabric's the fabric, and a topology's the links."""
    if plan.spec is None or (plan.topology.spec is not None and str(plan.topology.spec) == plan.spec):
        return []
    text = repr(plan.spec[:100])
    what = "fabric" if isinstance(plan.place, Fabric) else "links"
    try:
        if names_fabric(plan.spec):
            same = isinstance(plan.place, Fabric) and _physical(build_fabric(plan.spec)) == _physical(plan.place)
        else:
            same = build(plan.spec) == plan.topology
    except SpecError as error:
        wrong = "does not give the fabric in the file" if what == "fabric" else "cannot be built"
        return [f"the spec {text} in the file {wrong}: {error.message}"]
    return [] if same else [f"the spec {text} in the file does not give the {what} in the file"]


def _physical(fabric: Fabric) -> tuple[object, ...]:
    """Return all that a fabric is but its name and what sorts its links are of."""
    return fabric.names, fabric.topology, fabric.unit, fabric.multicast, fabric.aggregation, fabric.shared
