"""A library of plans: for one wiring all collectives, for small and large data, with programs of runtimes.

Of every collective several methods make plans, and the model of time says which is fastest for which sizes. What
changes at a size is where the times of two plans meet: exact for rounds, whose time is a straight line; between two of
the sizes that are looked at for trees. The plans, and programs for the same sizes, go into one directory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from topodesign.base.arguments import as_path
from topodesign.base.declared import Declared
from topodesign.base.doors import BACKENDS
from topodesign.base.errors import (
    FileFormatError,
    InfeasibleError,
    ParameterError,
    ScheduleError,
    TooLargeError,
    TopologyError,
    UnitError,
)
from topodesign.base.options import read, takes
from topodesign.base.progress import each
from topodesign.base.records import Result, Table
from topodesign.base.tables import fixed_columns
from topodesign.base.text_files import naming, read_text
from topodesign.base.units import as_bandwidth, as_time, format_size, format_time, parse_size, parse_time
from topodesign.base.wording import counted
from topodesign.collectives import ALLREDUCE, COLLECTIVES, Collective, as_collective
from topodesign.compiler.compilation import Compiled
from topodesign.compiler.fitting import compile_fitting
from topodesign.compiler.options import SetOptions
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.groups import as_groups
from topodesign.fabrics.part import nodes_named
from topodesign.fabrics.places import PlaceLike, as_fabric, as_place, working
from topodesign.plans.plan import Plan
from topodesign.plans.sets import ForSizes, PlanSet, save_plan_set, wiring_digest
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.for_size import MOST_NODES
from topodesign.schedulers.method import Progress
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.topology import Topology

SUMS = ("one-shot", "two-level")
"""Those in which ranks add up for themselves, for little data; here no switch does, as ranks alone run the plans."""
CANDIDATES = ("auto", "forest", "ring", "direct", "binomial", *SUMS)
"""Methods whose plans are compared: few steps, full bandwidth, and plain ones for what lies between. All are fast."""
SIZES = tuple(4**power for power in range(5, 17))
"""Whole data in bytes at which plans are timed: 1 KiB to 4 GiB."""
Group: TypeAlias = tuple[int, ...] | None
_MEASURED = ("collective", "method", "size", "time")
_MEASURED_ROW = "a row such as allreduce,ring,1MiB,250us"
Measured = Mapping[str, Mapping[str, Mapping[int, Fraction]]]
"""Seconds by collective, method, and bytes of the whole data."""


@dataclass(frozen=True)
class Chosen(Declared):
    """A plan of a set, and for what it is the fastest."""

    collective: str  # what it does
    group: tuple[int, ...] | None  # the nodes that take part; null for all
    root: int | None  # of a collective that has one
    from_bytes: int  # the least whole data that it is for
    to_bytes: int | None  # the whole data from which on another one is for it; null without an end
    method: str  # what made it
    kind: str  # what moves in it, such as rounds
    time_s: float  # at the least size that it is for, 1 KiB at least, in seconds
    measured: bool  # whether measured times chose it, else those of the model
    programs: tuple[str, ...]  # targets that it has programs for

    KEYS = "collective group root from_bytes to_bytes method kind time_s measured programs"


@dataclass(frozen=True, repr=False)
class CompiledSet(Result):
    """Plans of one wiring, and their programs, in the order in which they are looked through.

    * ``alpha``, ``bandwidth``: seconds of a step, and bits per second of a node, for which it was chosen.
    """

    topology: str | None  # the spec of the wiring, if it has one
    wiring: str  # digest of its links; a set is for this wiring and no other
    ranks: tuple[str, ...]  # names of the nodes that take part, in the order of ranks
    alpha: Fraction
    bandwidth: Fraction
    entries: tuple[Chosen, ...]  # the plans
    notes: tuple[str, ...]  # what was left out, and why
    plans: tuple[ForSizes, ...]

    KEYS = ("topology wiring ranks alpha_s=float(alpha) bandwidth_bps=float(bandwidth) entries", "notes")
    ROWS = "entries"

    def heading(self) -> str:
        """Return what it is for."""
        plans, nodes = counted(len(self.entries), "plan"), counted(len(self.ranks), "node")
        return f"{plans} for {self.topology or 'a wiring'} of {nodes}"

    def table(self) -> Table:
        """Return a line for every plan."""
        rows = tuple(
            (
                one.collective + ("" if one.group is None else f" of {len(one.group)}"),
                format_size(one.from_bytes),
                "" if one.to_bytes is None else format_size(one.to_bytes),
                one.method,
                format_time(one.time_s) + "*" * one.measured,
                ", ".join(one.programs),
            )
            for one in self.entries
        )
        return Table(self.heading(), ("collective", "from", "below", "method", "time", "programs"), rows)

    def save(self, folder: str | Path) -> PlanSet:
        """Write a new directory, all of it or nothing; see :mod:`topodesign.plans.sets`."""
        return save_plan_set(folder, self.plans, alpha=float(self.alpha), bandwidth=float(self.bandwidth))


@takes(SetOptions)
def compile_set(
    place: PlaceLike,
    *,
    collectives: Iterable[Collective | str] = tuple(COLLECTIVES),
    targets: Sequence[str] = ("msccl",),
    progress: Progress | None = None,
    **options: Unpack[SetOptions],
) -> CompiledSet:
    """Make the plans of a wiring for all collectives and sizes, and programs of them.

    Parameters
    ----------
    place
        A topology or a fabric, the spec of one, a file, or a networkx graph.
    collectives
        Which; those that no method makes there are left out, and a note says so.
    targets
        Runtimes that get programs, of ``BACKENDS``: of every collective without a root, since none looks at it, among
        all nodes; out of place and in place where that differs. All are checked.
    progress
        Called with the share of the work that is done.
    **options
        As :class:`~topodesign.compiler.options.SetOptions` says.

    Raises
    ------
    ParameterError, UnitError
        If a name is unknown, or a quantity cannot be read.
    InfeasibleError
        If no plan can be made, as where what is left is not connected.

    Examples
    --------
    >>> made = compile_set("biring(2,4)", collectives=["allgather", "broadcast"], targets=[])
    >>> print(made)
    3 plans for biring(2,4) of 4 nodes
    ...
    >>> made.save("ring").choose("allgather", 2**20).plan
    '000-allgather.npz'
    """
    said = read(SetOptions, options, "compile_set")
    asked = [as_collective(one) for one in collectives]
    for target in targets:
        if target not in BACKENDS or BACKENDS[target].directory:
            known = ", ".join(name for name, backend in BACKENDS.items() if not backend.directory)
            raise ParameterError(f"a set has no programs for {target!r}; known are {known}")
    found = as_place(place)
    maker = _Maker(found, said, targets)
    groups: list[Group] = [None]
    if said["group"]:
        groups += as_groups(maker.fabric, said["group"], said["placement"])
    jobs = [
        (one, group, root)
        for group in groups
        for one in asked
        for root in (maker.roots(said["roots"], group) if one.rooted else [None])
    ]
    for job in each(jobs, progress):
        maker.make(*job)
    return maker.done()


class _Maker:
    """Makes plans one after another."""

    def __init__(self, place: Topology | Fabric, said: Mapping[str, Any], targets: Sequence[str]) -> None:
        self.plain = isinstance(place, Topology)
        self._alpha = as_time(said["alpha"], latency=True)
        if not self.plain and (said["bandwidth"] is not None or said["group"]):
            word = "--group" if said["group"] else "--bandwidth"
            raise ParameterError(f"{word} of a set is for plain topologies; leave it out for {as_fabric(place).name}")
        rate = None if said["bandwidth"] is None else as_bandwidth(said["bandwidth"])
        self.place, self.fabric, self.bandwidth = working(place, said["without"], rate)
        self._targets = targets
        self._measured: Measured = {} if said["measured"] is None else read_measured(said["measured"], CANDIDATES)
        self._plans: list[ForSizes] = []
        self._chosen: list[Chosen] = []
        self._notes: list[str] = []

    def roots(self, said: Sequence[str | int], group: Group) -> list[int]:
        """Return the roots that are asked for; without any the first member of the group."""
        members = self.fabric.compute if group is None else group
        words = [word.strip() for text in said for word in str(text).split(",")]
        named = [self.fabric.number(name) for word in words for name in nodes_named(self.fabric, word)]
        return [one for one in dict.fromkeys(named) if one in members] if said else [members[0]]

    def make(self, collective: Collective, group: Group, root: int | None) -> None:
        options: dict[str, Any] = {} if root is None else {"root": self.fabric.names[root]}
        if group is not None:
            options["group"] = (",".join(map(str, group)),)
        plans: list[Plan] = []
        times: list[list[Fraction]] = []
        why: dict[str, str] = {}
        known = self._measured.get(collective.name) if group is None else None
        sizes = SIZES if known is None else sorted(next(iter(known.values())))
        for method in CANDIDATES if known is None else known:
            for more in self._ways(method, collective):
                try:
                    plan = schedule(self.place, collective, method=method, **options, **more)
                    timed = [self._time(plan, size) if known is None else known[method][size] for size in sizes]
                except (InfeasibleError, ParameterError, ScheduleError, TooLargeError, TopologyError) as error:
                    why[method] = str(error)
                    continue
                if plan.collective.group == group and verify(plan).ok:  # not on a part of its own
                    plans.append(plan)
                    times.append(timed)
        if not plans:
            self._notes.append(f"no {collective}: {why.get('auto', 'no schedule is right')}")
        for first, end, number in fastest(sizes, times):
            at = max(first, sizes[0])
            time = self._time(plans[number], at)
            if known is not None:
                time = between(dict(zip(sizes, times[number], strict=True)), at)
            self._add(plans[number], ForSizes(plans[number], first, end, {}, float(time), known is not None))

    def _ways(self, method: str, collective: Collective) -> list[dict[str, Any]]:
        """Return the options that a method is asked with, one after the other."""
        if method not in SUMS:
            return [{"by_ranks": True}] if self._adds(method, collective) else [{}]
        if not collective.like(ALLREDUCE) or len(self.fabric.compute) > MOST_NODES:
            return []
        alpha = {} if self.plain else {"alpha": self._alpha}
        sizes = (SIZES[0], 2**20) if method == "two-level" else SIZES[:1]  # by which it chooses how
        return [{"by_ranks": True, "size": size, **alpha} for size in sizes]

    def _adds(self, method: str, collective: Collective) -> bool:
        """Return whether a plan may be through switches that copy or add, which ranks alone cannot run."""
        capable = not self.plain and bool(self.fabric.multicast | self.fabric.aggregation)
        return method == "auto" and collective.like(ALLREDUCE) and capable

    def _time(self, plan: Plan, size: int) -> Fraction:
        return simulate(plan, size=size, alpha=self._alpha, bandwidth=self.bandwidth if self.plain else None).time

    def _add(self, plan: Plan, chosen: ForSizes) -> None:
        collective, first, end = plan.collective, chosen.from_bytes, chosen.to_bytes
        programs: dict[str, dict[str, bytes]] = {}
        for target in self._targets if collective.group is None and not collective.rooted else ():
            for inplace in (False, True) if BACKENDS[target].inplace else (False,):
                try:
                    made = self._program(plan, target, first, end, inplace=inplace)
                except (InfeasibleError, ParameterError, TooLargeError) as error:
                    what = f"no program of the {collective} from {format_size(first)} on for {target}"
                    self._notes.append(f"{what}: {error}")
                    break
                programs[f"{target}-inplace" if inplace else target] = dict(made.files)
        self._plans.append(replace(chosen, programs=programs))
        of = collective.name, collective.group, collective.root
        method = str(plan.generator.get("method", "auto"))
        found = tuple(dict.fromkeys(name.partition("-")[0] for name in programs))
        self._chosen.append(Chosen(*of, first, end, method, plan.kind, chosen.time_s or 0.0, chosen.measured, found))

    def _program(self, plan: Plan, target: str, first: int, end: int | None, *, inplace: bool) -> Compiled:
        """Return a checked program, of trees with fewer of them where the best are too many."""

        def make_plan(k: int | None) -> Plan:
            return plan if k is None else schedule(self.place, plan.collective, method="forest", fixed_k=k)

        options: dict[str, Any] = {"inplace": inplace}
        if "min_size" in BACKENDS[target].takes:
            options |= {"min_size": first, "max_size": None if end is None else end - 1}
        return compile_fitting(make_plan, target, **options).checked(interleavings=1)

    def done(self) -> CompiledSet:
        if not self._plans:
            raise InfeasibleError(f"no plan can be made; {self._notes[0]}" if self._notes else "nothing was asked for")
        topology = self._plans[0].plan.topology
        names = tuple(self.fabric.names[node] for node in self.fabric.compute)
        spec = None if self._plans[0].plan.spec is None else str(self._plans[0].plan.spec)
        return CompiledSet(
            spec,
            wiring_digest(topology),
            names,
            self._alpha,
            self.bandwidth,
            tuple(self._chosen),
            tuple(self._notes),
            tuple(self._plans),
        )


def fastest(sizes: Sequence[int], times: Sequence[Sequence[Fraction]]) -> list[tuple[int, int | None, int]]:
    """Return ranges of sizes, from 0 on, with the number of the candidate that is the fastest there.

    Each range is (first size, the size after its last or None, candidate); of equal ones the first is taken. Between
    two of the sizes the times are taken for straight lines.

    Examples
    --------
    >>> fastest([0, 10], [[Fraction(0), Fraction(10)], [Fraction(3), Fraction(5)], [Fraction(9), Fraction(9)]])
    [(0, 4, 0), (4, None, 1)]
    """
    if not times:
        return []
    found: list[tuple[int, int]] = []
    for at, (low, high) in enumerate(pairwise(sizes)):
        lines = [(one[at], (one[at + 1] - one[at]) / (high - low)) for one in times]
        x, best = Fraction(0), min(range(len(lines)), key=lambda one: (*lines[one], one))
        while True:
            if not found or found[-1][1] != best:
                found.append((low + math.ceil(x) if found else 0, best))
            here, slope = lines[best]
            meets = [((a - here) / (slope - b), b, number) for number, (a, b) in enumerate(lines) if b < slope]
            later = [one for one in meets if one[0] < high - low]
            if not later:
                break
            x, _, best = min(later)
    # Where two begin at one size, the later one is the faster.
    kept = [one for one, after in pairwise([*found, (-1, -1)]) if one[0] != after[0]]
    ends: list[int | None] = [first for first, _ in kept[1:]]
    return [(first, end, number) for (first, number), end in zip(kept, [*ends, None], strict=True)]


def read_measured(path: str | Path, methods: Sequence[str]) -> Measured:
    """Read a table with the header ``collective,method,size,time``, of these methods.

    Raises
    ------
    FileFormatError
        If a row cannot be read, is there twice, or the methods of a collective have not the same two sizes or more.
    """
    path = as_path(path)
    found: dict[str, dict[str, dict[int, Fraction]]] = {}
    with naming(path):
        for line, (collective, method, size, time) in fixed_columns(read_text(path), _MEASURED, _MEASURED_ROW):
            for word, known in ((collective, COLLECTIVES), (method, methods)):
                if word not in known:
                    raise FileFormatError(f"line {line}: {word!r:.40} is not known; known are {', '.join(known)}")
            try:
                many, seconds = parse_size(size), parse_time(time)
            except UnitError as error:
                raise FileFormatError(f"line {line}: {error}") from None
            of_method = found.setdefault(collective, {}).setdefault(method, {})
            if many.denominator != 1 or int(many) in of_method:
                why = "is there already" if many.denominator == 1 else "is no whole number of bytes"
                raise FileFormatError(f"line {line}: the size {size} {why}")
            of_method[int(many)] = seconds
        for collective, by_method in found.items():
            sizes = set.union(*map(set, by_method.values()))
            for method, times in by_method.items():
                lacking = sorted(sizes - times.keys())
                if lacking or len(sizes) < 2:
                    what = format_size(lacking[0]) if lacking else "a second size"
                    raise FileFormatError(f"{collective} by {method} lacks {what}; all methods need the same sizes")
    return found


def between(times: Mapping[int, Fraction], size: int) -> Fraction:
    """Return the time for a size: on the straight line between the two sizes around it, or by the first or last two."""
    sizes = sorted(times)
    low, high = next((pair for pair in pairwise(sizes) if size <= pair[1]), tuple(sizes[-2:]))
    slope = (times[high] - times[low]) / (high - low)
    return max(times[low] + slope * (size - low), Fraction(0))
