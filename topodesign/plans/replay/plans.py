"""One verifier for all plans: what moves, what is claimed of it, and the spec that is said to rebuild the place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from topodesign.base.declared import Declared, key
from topodesign.base.errors import ParameterError, ScheduleError, SpecError
from topodesign.base.records import Result
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.files import as_plan, load_plan
from topodesign.plans.kinds import KINDS, kind_of
from topodesign.plans.plan import Plan
from topodesign.plans.replay.found import Found
from topodesign.topology.library import build, names_fabric

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
    found: Found  # all that the verifier of its kind of movement found

    KEYS = (
        "ok",
        key("kind=plan.kind", "How data move.", kind=tuple(KINDS)),
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
        """Return a row for every figure: what was claimed, and what was found."""
        names = [*self.figures, *(name for name in self.plan.claim if name not in self.figures)]
        return [
            {"figure": name, "claimed": self.plan.claim.get(name), "found": self.figures.get(name)} for name in names
        ]

    def heading(self) -> str:
        """Return the verdict."""
        return replace(self.found, problems=self.problems).said(self.plan.collective).splitlines()[0]

    def __str__(self) -> str:
        """Return the verdict and the problems, one a line."""
        return replace(self.found, problems=self.problems).said(self.plan.collective)


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
    kind = kind_of(plan)
    if isinstance(plan.place, Fabric) and kind.pace != "pipelines":  # whose shares keep limits
        plan.place.check_unshared(f"the verifier of {plan.kind}")
    found = kind.replayed()
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


def verified(plan: Plan, what: str = "the plan") -> Plan:
    """Return a plan that the verifier accepts; raises ScheduleError, with what it is called, if it does not."""
    report = verify(plan)
    if not report.ok:
        raise ScheduleError(f"{what} is wrong: {report.problems[0]}")
    return plan


def load_right(path: str | Path) -> Plan:
    """Read a plan file that the verifier accepts."""
    plan = load_plan(path)
    report = verify(plan)
    if not report.ok:
        problems = "".join(f"\n  {problem}" for problem in report.problems)
        raise ParameterError(f"{path} is no right schedule:{problems}")
    if plan.spec is None or isinstance(plan.place, Fabric):
        return plan
    return replace(plan, place=build(plan.spec))


def _spec_problems(plan: Plan) -> list[str]:
    """Say if the spec does not rebuild where the plan runs: a fabric's the fabric, and a topology's the links."""
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
    """Return all that a fabric is but its name and what sorts its links are of."""
    return fabric.names, fabric.topology, fabric.unit, fabric.multicast, fabric.aggregation, fabric.shared
