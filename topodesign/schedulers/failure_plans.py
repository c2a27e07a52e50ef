"""Directory of plans for single failures.

``failures.json`` has ``format`` ("topodesign failure plans"), ``version`` (1), ``before`` (the set of the whole) and
``entries``, a list of objects of ``kind``, ``failures`` (all that are alike, as ``--fail`` takes them; the plan is
for the first, and its image is for another) and ``set``, null where nodes no longer reach each other. Each set is a
directory as :mod:`topodesign.plans.sets` describes, with one plan.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from topodesign.base.arguments import as_choice, as_path
from topodesign.base.atomic import write_directory
from topodesign.base.deadline import OutOfTime, Stopwatch, deadline
from topodesign.base.declared import Declared, key
from topodesign.base.errors import FileFormatError, InfeasibleError, ParameterError, TopologyError
from topodesign.base.progress import iterate_with_progress
from topodesign.base.records import Result, Table
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import naming, read_text
from topodesign.base.units import Quantity, as_time, format_rate
from topodesign.collectives import Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.part import Some, as_names, select_part
from topodesign.fabrics.places import PlaceLike, as_fabric
from topodesign.optima.failures import KIND, LEFT, alike_failures, failure_image, gigabytes, over_trees
from topodesign.optima.question import Question
from topodesign.optima.trees import bound_by_cuts
from topodesign.plans.chunk_ops import MAX_WEIGHT
from topodesign.plans.files import load_plan
from topodesign.plans.flow_ops import relabel
from topodesign.plans.plan import Plan
from topodesign.plans.sets import ForSizes, read_plan_set, save_plan_set
from topodesign.plans.step_ops import unfold
from topodesign.plans.verify.plans import load_right, verify, verify_or_raise
from topodesign.schedulers.replan import Replanned, repair_plan
from topodesign.schedulers.scheduling import schedule

INDEX = "failures.json"
FORMAT = "topodesign failure plans"
_NEAR = Fraction(99, 100)  # of what nothing exceeds: a repaired plan that has so much is not made anew


@dataclass(frozen=True)
class FailurePlan(Declared):
    """Plan for the first of several equivalent failures."""

    kind: str  # what fails: link (both ways), node or switch
    failures: tuple[str, ...]  # all of them, as --fail takes them
    bandwidth: Fraction | None  # algorithmic bandwidth of the plan, bytes per second; null where there is none
    bound: Fraction | None  # what nothing exceeds, by the cuts around nodes
    made: str  # repaired, from the plan before; the method that made it anew; or nothing, where there is none
    plan: Plan | None = None

    KEYS = (*KIND, "failures", *LEFT, "bound made")


@dataclass(frozen=True, repr=False)
class FailurePlans(Result):
    """Plans of a collective for every single failure, largest loss first."""

    fabric: str  # what it is called
    before: Plan  # the plan of the whole
    entries: tuple[FailurePlan, ...]  # what can fail

    KEYS = (
        "fabric",
        key("collective=before.collective.name", "Of what."),
        key("before_bandwidth", "Algorithmic bandwidth of the plan of the whole, bytes per second."),
        "entries",
    )
    ROWS = "entries"

    @property
    def before_bandwidth(self) -> Fraction:
        """Algorithmic bandwidth before the failures, in bytes per second."""
        return Fraction(self.before.claim["algorithmic_bandwidth"])

    def heading(self) -> str:
        """Return a one-line title."""
        rate = format_rate(self.before_bandwidth)
        return f"plans for single failures of {self.fabric}; {self.before.collective} at {rate} before"

    def table(self) -> Table:
        """Return a table of sets of equivalent failures."""
        rows = tuple(
            (
                one.failures[0],
                str(len(one.failures)),
                *(("none", "", "") if one.bandwidth is None or one.bound is None else self._rates(one)),
                one.made,
            )
            for one in self.entries
        )
        foot = "of bound: of what no plan exceeds, by the cuts around nodes"
        titles = ("fails", "alike", "GB/s", "", "of bound", "made")
        return Table(self.heading(), titles, rows, words=frozenset(("fails", "made")), footnote=foot)

    def _rates(self, one: FailurePlan) -> tuple[str, str, str]:
        rate, bound = one.bandwidth or Fraction(0), one.bound or Fraction(1)
        change = 100 * float(rate / self.before_bandwidth - 1)
        return f"{gigabytes(rate):.3f}", f"{change:+.1f}%", f"{100 * float(rate / bound):.1f}%"

    def save(self, folder: str | Path) -> None:
        """Write a new directory, completely or not at all."""
        sets: dict[str, Plan] = {"before": self.before}
        entries = []
        for number, one in enumerate(self.entries):
            name = None if one.plan is None else f"{number:02}"
            if name is not None and one.plan is not None:
                sets[name] = one.plan
            entries.append({"kind": one.kind, "failures": list(one.failures), "set": name})
        index = {"format": FORMAT, "version": 1, "before": "before", "entries": entries}
        files: dict[str, str | bytes | Callable[[Path], object]] = {
            name: partial(_save, plan) for name, plan in sets.items()
        }
        write_directory(as_path(folder), {**files, INDEX: json.dumps(index, indent=1) + "\n"})


def _save(plan: Plan, folder: Path) -> None:
    save_plan_set(folder, [ForSizes(plan)], alpha=0, bandwidth=float(8 * plan.fabric.unit * plan.topology.degree))


def failure_plans(
    place: PlaceLike,
    collective: Collective | str = "allgather",
    *,
    method: str = "auto",
    time_limit: Quantity = "10s",
    progress: Callable[[float], None] | None = None,
) -> FailurePlans:
    """Make a plan for every single link, node or switch failure.

    A link fails in both directions.

    Parameters
    ----------
    place
        A fabric or a topology, the spec of one, a file, or a networkx graph.
    collective
        Allgather, reduce-scatter or allreduce.
    method
        That of :func:`topodesign.schedule` for the plan of the whole and those that are made anew: ``auto``,
        ``forest``, or ``fluid`` for trees through switches that copy and add where the fabric has them.
    time_limit
        For each plan that is made anew: where a repair of the plan before has less than 99% of what nothing exceeds.
        The faster of the two is kept.
    progress
        Called with the share that is done.

    Raises
    ------
    ParameterError
        If the collective has a root, or is none that trees carry.

    Examples
    --------
    >>> [(one.kind, len(one.failures), one.made) for one in failure_plans("dgx_a100(1)").entries]
    [('link', 8, 'nothing'), ('switch', 1, 'nothing'), ('node', 8, 'repaired')]
    """
    fabric, kind, limit = (
        as_fabric(place),
        over_trees(collective, "plans for failures are of"),
        float(as_time(time_limit)),
    )
    as_choice("method", method, ("auto", "forest", "fluid"))
    make = partial(schedule, collective=kind, method=method, chunks=MAX_WEIGHT if method == "fluid" else None)
    before = make(fabric)
    entries = [
        _entry(before, what, names, make, limit)
        for what, names in iterate_with_progress(alike_failures(fabric), progress)
    ]
    entries.sort(key=lambda one: (one.bandwidth or 0, one.kind, one.failures))
    return FailurePlans(fabric.name, before, tuple(entries))


def _entry(
    before: Plan, what: str, names: tuple[str, ...], make: Callable[[Fabric], Plan], limit: float
) -> FailurePlan:
    """Return the repaired plan if near the bound, otherwise the fastest."""
    try:
        left = select_part(before.fabric, without=names[:1])
        bound = bound_by_cuts(Question(left, before.collective))
        found = {"repaired": repair_plan(before, names[:1]).plan} if before.trees is not None else {}
    except (InfeasibleError, TopologyError):
        return FailurePlan(what, names, None, None, "nothing")
    if not found or found["repaired"].claim["algorithmic_bandwidth"] < _NEAR * bound:
        try:
            with deadline(limit):
                made = make(left)
                if verify(made).ok:
                    found[str(made.generator["method"])] = made
        except (OutOfTime, InfeasibleError) as error:
            if not found:
                raise InfeasibleError(f"no plan without {names[0]}: {error}") from None
    word, plan = max(found.items(), key=lambda one: one[1].claim["algorithmic_bandwidth"])
    return FailurePlan(what, names, Fraction(plan.claim["algorithmic_bandwidth"]), bound, word, plan)


def repair(plan: Plan | str | Path, without: Some) -> Replanned:
    """Replan after a failure, starting from the previous plan.

    What survives of its trees stays. A route that has failed is spread over others between the same vertices, and where
    there are none the vertices that a root no longer reaches are joined again over the emptiest ways; and so
    is what went over torn paths.

    Parameters
    ----------
    plan
        Of a fabric or a topology, or its file: one over trees or paths is repaired, any other made anew. Or the
        directory of :meth:`FailurePlans.save`, in which the one failure is looked up.
    without
        What has failed, as :func:`topodesign.select_part` takes it.

    Raises
    ------
    FileFormatError
        If the file or directory cannot be read.
    ParameterError
        If the plan has several collectives at once, nothing has failed, or a name is unknown.
    InfeasibleError
        If nodes no longer reach each other.

    Examples
    --------
    >>> from topodesign import repair, schedule
    >>> print(repair(schedule("dgx_h100(2)", "allgather"), "box0/gpu0-rail0"))
    allgather on part of dgx_h100(2), without box0/gpu0-rail0: 480GB/s in 52 trees, 533.333GB/s before (-10.0%); ...

    References
    ----------
    ForestColl, section 4, for what trees are.
    """
    if isinstance(plan, Plan):
        return repair_plan(plan, without)
    path = as_path(plan)
    if not (path / INDEX).is_file():
        return repair_plan(load_right(path), without)
    begun, gone = Stopwatch(), tuple(map(str, as_names(without)))
    if len(gone) != 1:
        raise ParameterError(f"{path} has plans for one failure each; name one with --fail")
    entry = next((one for one in read_failures(path) if gone[0] in one["failures"]), None)
    before = _plan_of(path / "before")
    if entry is None:
        failure_image(before.fabric, gone[0], gone[0])  # says what there is instead
        raise FileFormatError(f"{path / INDEX}: it does not have {gone[0]}")
    if entry["set"] is None:
        raise InfeasibleError(f"without {gone[0]} some nodes no longer reach each other")
    found = _image(before.fabric, _plan_of(path / entry["set"]), entry["failures"][0], gone[0])
    return Replanned(found, gone, before.claim["algorithmic_bandwidth"], begun())


def _image(whole: Fabric, plan: Plan, first: str, failure: str) -> Plan:
    """Return the verified plan mapped from an equivalent failure."""
    image, left = failure_image(whole, first, failure), select_part(whole, without=(failure,))
    number = {name: at for at, name in enumerate(left.names)}
    order = (
        [] if image is None else [number.get(whole.names[image[whole.number(name)]], -1) for name in plan.fabric.names]
    )
    if sorted(order) != list(range(len(left.names))):
        raise FileFormatError(f"the plan for {first} is not for one that is like {failure}")
    moved = relabel(unfold(plan.flow), np.array(order, dtype=np.int64), left)
    return verify_or_raise(replace(plan, place=left, movement=moved, spec=None), "the image of the plan")


def _plan_of(folder: Path) -> Plan:
    return load_plan(folder / read_plan_set(folder).entries[0].plan)


def read_failures(folder: Path) -> list[dict[str, Any]]:
    """Return the entries of the index of a directory."""
    with naming(folder / INDEX):
        record = parse_json(read_text(folder / INDEX))
        if not isinstance(record, dict) or record.get("format") != FORMAT or record.get("version") != 1:
            raise FileFormatError(f"it is not an index of version 1 that says {FORMAT!r}")
        entries = record.get("entries")
        if not isinstance(entries, list):
            raise FileFormatError("it has no list of entries")
        for number, one in enumerate(entries):
            names = one.get("failures") if isinstance(one, dict) else None
            right = isinstance(names, list) and bool(names) and all(isinstance(name, str) for name in names)
            name = one.get("set") if right else ""
            if not right or not (name is None or (isinstance(name, str) and name.isdigit())):
                raise FileFormatError(f"entry {number} has no failures, or no set of theirs")
        return list(entries)
