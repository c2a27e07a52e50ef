"""Library of a job: fastest plans and programs by size.

Of every collective several methods make plans, and the model of time says which is fastest for which sizes. What
changes at a size is where the times of two plans meet: exact for rounds, whose time is a straight line; between two of
the sizes that are looked at for trees. The plans, and programs for the same sizes, go into one directory.

A library for a workload has the calls of a training step: of all ranks, and of the groups of its parallel axes. There
the runtime's own algorithm competes, which is a ring in the order of the ranks, or sends straight to all others, over
links that are there. Programs are cut so that they serve these very calls.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from topodesign.base.arguments import as_path
from topodesign.base.declared import Declared
from topodesign.base.entry_points import BACKENDS
from topodesign.base.errors import (
    FileFormatError,
    InfeasibleError,
    ParameterError,
    ScheduleError,
    TooLargeError,
    TopologyError,
    UnitError,
)
from topodesign.base.latency import GAP, HOP, Latency
from topodesign.base.options import read, takes
from topodesign.base.progress import iterate_with_progress
from topodesign.base.records import Result, Table
from topodesign.base.tables import read_fixed_columns
from topodesign.base.text_files import naming, read_text
from topodesign.base.units import as_bandwidth, as_time, format_size, format_time, parse_size, parse_time
from topodesign.base.wording import count_noun
from topodesign.collectives import ALLREDUCE, COLLECTIVES, Collective, as_collective
from topodesign.compiler.backends.backend import Files
from topodesign.compiler.compilation import Compiled
from topodesign.compiler.fitting import compile_fitting
from topodesign.compiler.library_use import Use, call_script, uses_of
from topodesign.compiler.limits import find_first
from topodesign.compiler.options import LibraryOptions
from topodesign.compiler.several import compile_groups
from topodesign.execution.levels import neighbours_of
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.groups import along, as_groups, as_placement
from topodesign.fabrics.part import nodes_named
from topodesign.fabrics.places import PlaceLike, as_fabric, as_place, working
from topodesign.plans.group_ops import carried_over
from topodesign.plans.measure import cost_claim, cost_of
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import split_groups
from topodesign.plans.sets import ForSizes, PlanSet, save_plan_set, wiring_digest
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.plans import verify
from topodesign.pricing.training.traffic import ENDS, SEND
from topodesign.runtime.calls import width_of
from topodesign.schedulers.for_size import MAX_NODES
from topodesign.schedulers.group_ways import Wires, time_built_in
from topodesign.schedulers.method import Progress
from topodesign.schedulers.scheduling import schedule
from topodesign.schedulers.step import StepLike, as_step
from topodesign.topology.topology import Topology

SUMS = ("one-shot", "two-level")
"""Those in which ranks add up for themselves, for little data; here no switch does, as ranks alone run the plans."""
CANDIDATES = ("auto", "forest", "ring", "direct", "binomial", *SUMS)
"""Methods whose plans are compared: few steps, full bandwidth, and plain ones for what lies between. All are fast."""
BUILT_IN = "built-in"
"""What the runtime does by itself, as a method."""
ALL = "all"
SIZES = tuple(4**power for power in range(5, 17))
"""Whole data in bytes at which plans are timed: 1 KiB to 4 GiB."""
_MEASURED = ("collective", "method", "size", "time")
_MEASURED_ROW = "a row such as allreduce,ring,1MiB,250us"
_NOT_COMPILED = (InfeasibleError, ParameterError, TooLargeError)
_NOT_MADE = (*_NOT_COMPILED, ScheduleError, TopologyError)
Measured = Mapping[str, Mapping[str, Mapping[int, Fraction]]]
"""Seconds by collective, method, and bytes of the whole data."""
Work: TypeAlias = "StepLike | Sequence[Collective | str]"
"""A training step or its file; names of collectives, as a list or with commas between; or ``all``."""


@dataclass(frozen=True)
class SizedCall(Declared):
    """Calls of one size in a workload."""

    size: int  # bytes of the whole data
    count: int  # how often a step has it

    KEYS = "size count"


@dataclass(frozen=True)
class LibraryRow(Declared):
    """Fastest plan and programs for a range of sizes."""

    collective: str  # what is done
    group: tuple[int, ...] | None  # the nodes that take part; null for all
    root: int | None  # of a collective that has one
    from_bytes: int  # the least whole data that it is for
    to_bytes: int | None  # the whole data from which on another one is for it; null without an end
    method: str  # what made the plan; `built-in` where the runtime is left to itself
    time_s: float  # at the least size that it is for, or the first call of a workload in it, in seconds
    built_in_s: float | None  # what the runtime's own algorithm takes there; null where it has no way, or is not asked
    measured: bool  # whether measured times chose it, else those of the model
    calls: tuple[SizedCall, ...]  # calls of the workload in this range; none where there is no workload
    plan: Plan | None  # None of what is built in
    files: Mapping[str, Files]  # of its programs, by target, with ``-inplace`` for calls in place

    KEYS = "collective group root from_bytes to_bytes method kind time_s built_in_s measured calls programs"

    @property
    def kind(self) -> str | None:
        """What moves in the plan, such as rounds; null of what is built in."""
        return None if self.plan is None else self.plan.kind

    @property
    def programs(self) -> tuple[str, ...]:
        """Targets that it has programs for."""
        return tuple(dict.fromkeys(name.partition("-")[0] for name in self.files))

    def serves(self, call: SizedCall) -> bool:
        """Return whether a call is in its range."""
        return self.from_bytes <= call.size and (self.to_bytes is None or call.size < self.to_bytes)


@dataclass(frozen=True, repr=False)
class Library(Result):
    """Plans of one wiring with their programs, in lookup order.

    * ``alpha``, ``bandwidth``: seconds of a step, and bits per second of a node, for which it was chosen.
    * ``extra``: other files of the directory, by name.
    """

    topology: str | None  # the spec of the wiring, if it has one
    work: str  # what it is for: the name of a workload, or the collectives
    wiring: str  # digest of its links; a library is for this wiring and no other
    ranks: tuple[str, ...]  # names of the nodes that take part, in the order of ranks
    alpha: Fraction
    bandwidth: Fraction
    entries: tuple[LibraryRow, ...]  # what runs what
    notes: tuple[str, ...]  # what was omitted, and why
    use: tuple[Use, ...]  # how runtimes load it, and how to see that it was used
    extra: Mapping[str, str] = field(default_factory=dict)

    KEYS = ("topology work wiring ranks alpha_s=float(alpha) bandwidth_bps=float(bandwidth) entries", "notes use")
    ROWS = "entries"

    @property
    def plans(self) -> tuple[ForSizes, ...]:
        """Plans in lookup order, with their sizes and programs."""
        return tuple(
            ForSizes(row.plan, row.from_bytes, row.to_bytes, row.files, row.time_s, row.measured)
            for row in self.entries
            if row.plan is not None
        )

    def heading(self) -> str:
        """Return the number of plans and the topology as text."""
        plans, nodes = count_noun(len(self.plans), "plan"), count_noun(len(self.ranks), "node")
        return f"{plans} for {self.topology or 'a wiring'} of {nodes}"

    def table(self) -> Table:
        """Return a table of size ranges; equal groups share a row."""
        shown: dict[tuple[object, ...], list[LibraryRow]] = {}
        for row in self.entries:
            members = None if row.group is None else len(row.group)
            shown.setdefault((row.collective, members, row.from_bytes, row.root, row.method, row.calls), []).append(row)
        asked = any(row.calls for row in self.entries)
        rows = []
        for same in shown.values():
            row = same[0]
            many = "" if len(same) == 1 else f"{len(same)} x "
            calls = ", ".join(f"{call.count} x {format_size(call.size)}" for call in row.calls)
            built = "" if row.built_in_s is None else format_time(row.built_in_s)
            cells = (
                row.collective + ("" if row.group is None else f" of {many}{len(row.group)}"),
                format_size(row.from_bytes),
                "" if row.to_bytes is None else format_size(row.to_bytes),
                *((calls,) if asked else ()),
                row.method,
                format_time(row.time_s) + "*" * row.measured,
                *((built,) if asked else ()),
                ", ".join(row.programs),
            )
            rows.append(cells)
        more = ("calls",), ("built-in",)
        first, second = more if asked else ((), ())
        columns = ("collective", "from", "below", *first, "method", "time", *second, "programs")
        return Table(self.heading(), columns, tuple(rows), frozenset(("collective", "calls", "method", "programs")))

    def save(self, folder: str | Path) -> PlanSet:
        """Write a new directory atomically; see :mod:`topodesign.plans.sets`."""
        return save_plan_set(
            folder, self.plans, alpha=float(self.alpha), bandwidth=float(self.bandwidth), extra=self.extra
        )


@dataclass(frozen=True)
class _Job:
    """Collective of a library: groups, root, and calls by size."""

    collective: Collective
    groups: tuple[tuple[int, ...], ...] | None = None
    root: int | None = None
    calls: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Candidate:
    """Candidate plan for all groups, with times by size."""

    method: str
    plan: Plan | None  # None of what is built in
    times: tuple[Fraction, ...]


@dataclass(frozen=True)
class _Span:
    """Size range, its fastest candidate and the timed sizes."""

    first: int
    end: int | None  # the size after the last; None without an end
    best: int
    sizes: tuple[int, ...]
    measured: bool

    def serves(self, size: int) -> bool:
        """Return whether a size is in it."""
        return self.first <= size and (self.end is None or size < self.end)

    def time(self, candidate: _Candidate, size: int) -> Fraction:
        """Return a candidate's time for a size, interpolated."""
        return between(dict(zip(self.sizes, candidate.times, strict=True)), size)


@takes(LibraryOptions)
def compile_library(
    place: PlaceLike,
    work: Work = ALL,
    *,
    targets: Sequence[str] = ("msccl",),
    progress: Progress | None = None,
    **options: Unpack[LibraryOptions],
) -> Library:
    """Compile a library of the fastest plans, with loading instructions.

    Parameters
    ----------
    place
        A topology or a fabric, the spec of one, a file, or a networkx graph.
    work
        A training step: a model or a list of collectives, or the file of one, or layers (.csv), as
        :func:`topodesign.price_step` takes them. Or names of collectives, each for all sizes, and ``all`` for all of
        them. What no method makes is omitted, and a note says so.
    targets
        Runtimes that get programs, of ``BACKENDS``: of every collective without a root, since none looks at it. All
        are checked. For a workload they are for calls as frameworks make them, in place or not, of its sizes; else out
        of place and in place.
    progress
        Called with the share of the work that is done.
    **options
        As :class:`~topodesign.compiler.options.LibraryOptions` says.

    Raises
    ------
    ParameterError, UnitError
        If a name is unknown, a quantity cannot be read, or the ranks of a step are not those of the wiring.
    InfeasibleError
        If no plan can be made, as where what is left is not connected.

    Examples
    --------
    >>> made = compile_library("biring(2,4)", "allgather,broadcast", targets=[])
    >>> print(made)
    3 plans for biring(2,4) of 4 nodes
    ...
    >>> made.save("ring").choose("allgather", 2**20).plan
    '000-allgather.npz'
    """
    said = read(LibraryOptions, options, "compile_library")
    for target in targets:
        if target not in BACKENDS or BACKENDS[target].directory:
            known = ", ".join(name for name, backend in BACKENDS.items() if not backend.directory)
            raise ParameterError(f"a library has no programs for {target!r}; known are {known}")
    names = _collectives(work)
    maker = _Maker(as_place(place), said, targets, None if names else as_step(work))  # type: ignore[arg-type]
    for job in iterate_with_progress(list(maker.jobs(names)), progress):
        maker.make(job)
    return maker.finish()


def _collectives(work: Work) -> tuple[Collective, ...]:
    """Return the named collectives, none for a training step."""
    if isinstance(work, str):
        words = [word.strip() for word in work.split(",")]
        if words == [ALL]:
            return tuple(COLLECTIVES.values())
        return tuple(map(as_collective, words)) if all(word in COLLECTIVES for word in words) else ()
    if isinstance(work, Sequence):
        return tuple(as_collective(one) for one in work)
    return ()


class _Maker:
    """Makes plans one after another."""

    def __init__(self, place: Topology | Fabric, said: Mapping[str, Any], targets: Sequence[str], step: Any) -> None:
        self.plain = isinstance(place, Topology)
        self.alpha = as_time(said["alpha"], latency=True)
        if not self.plain and (said["bandwidth"] is not None or said["group"]):
            word = "--group" if said["group"] else "--bandwidth"
            raise ParameterError(f"{word} of a library is for plain topologies; omit it for {as_fabric(place).name}")
        if step is not None and (said["group"] or said["roots"]):
            raise ParameterError("a workload sets the groups of its calls and has no roots; omit --group and --root")
        rate = None if said["bandwidth"] is None else as_bandwidth(said["bandwidth"])
        self.place, self.fabric, self.bandwidth = working(place, said["without"], rate)
        self.said, self.targets, self.step = said, targets, step
        runtimes = [name for target in targets for name in BACKENDS[target].runtimes]
        if said["runtime"] is not None and said["runtime"] not in runtimes:
            known = ", ".join(runtimes) or "none without targets"
            raise ParameterError(f"unknown runtime {said['runtime']!r:.40} of {', '.join(targets)}; known are {known}")
        self.width = width_of(said["dtype"])
        methods = (*CANDIDATES, BUILT_IN)
        self.measured: Measured = {} if said["measured"] is None else read_measured(said["measured"], methods)
        self.rows: list[LibraryRow] = []
        self.notes: list[str] = []
        self.wires = Wires(self.place, self.fabric, Latency(self.alpha, GAP, HOP))
        self.joined = neighbours_of(self.fabric.topology)

    def jobs(self, names: Sequence[Collective]) -> Iterator[_Job]:
        """Yield the jobs, by collectives or calls."""
        if self.step is not None:
            yield from self._jobs_of_step()
            return
        groups: list[tuple[int, ...] | None] = [None]
        if self.said["group"]:
            groups += as_groups(self.fabric, self.said["group"], self.said["placement"])
        for group in groups:
            for one in names:
                for root in self._roots(group) if one.rooted else [None]:
                    yield _Job(one, None if group is None else (group,), root)

    def _jobs_of_step(self) -> Iterator[_Job]:
        placement, shape = self.said["placement"], self.step.shape
        order = None if placement is None else as_placement(self.fabric, placement)
        calls: dict[tuple[str, tuple[int, ...]], dict[int, int]] = {}
        for sent, count in self.step.counts.items():
            if sent.collective in {SEND, ENDS}:
                self.notes.append(f"{sent.collective} of {sent.use} is between two ranks: no program is needed")
                continue
            sizes = calls.setdefault((sent.collective, sent.axes), {})
            size = math.ceil(sent.size)
            sizes[size] = sizes.get(size, 0) + count
        for (name, axes), sizes in calls.items():
            groups = tuple(along(self.fabric, shape, axes or range(len(shape)), order)) if shape else ()
            if not groups or len(groups[0]) > 1:
                yield _Job(as_collective(name), groups if len(groups) > 1 else None, None, dict(sorted(sizes.items())))

    def _roots(self, group: tuple[int, ...] | None) -> list[int]:
        """Return the requested roots, by default the group's first member."""
        members = self.fabric.compute if group is None else group
        words = [word.strip() for text in self.said["roots"] for word in str(text).split(",")]
        named = [self.fabric.number(name) for word in words for name in nodes_named(self.fabric, word)]
        return [one for one in dict.fromkeys(named) if one in members] if words else [members[0]]

    def make(self, job: _Job) -> None:
        """Add a job's rows: plans by size range, and programs."""
        known = self.measured.get(job.collective.name) if job.groups is None else None
        sizes = sorted({*SIZES, *job.calls}) if known is None else sorted(next(iter(known.values())))
        candidates, why = self._candidates(job, sizes, known)
        if not any(one.plan for one in candidates):
            self.notes.append(f"no {job.collective}: {why or 'no schedule is right'}")
            return
        for first, end, number in fastest(sizes, [one.times for one in candidates]):
            self._add(job, candidates, _Span(first, end, number, tuple(sizes), known is not None))

    def _candidates(
        self, job: _Job, sizes: Sequence[int], known: Mapping[str, Mapping[int, Fraction]] | None
    ) -> tuple[list[_Candidate], str | None]:
        """Return the candidates, built-in first, and any failure reason."""
        found: list[_Candidate] = []
        why: dict[str, str] = {}
        if known is None and job.calls:
            times = [self._time_built_in(job, size) for size in sizes]
        else:
            times = [(known or {}).get(BUILT_IN, {}).get(size) for size in sizes]
        if None not in times:
            found.append(_Candidate(BUILT_IN, None, tuple(time for time in times if time is not None)))
        options: dict[str, Any] = {} if job.root is None else {"root": self.fabric.names[job.root]}
        if job.groups is not None:
            options["group"] = tuple(",".join(map(str, group)) for group in job.groups)
        for method in CANDIDATES if known is None else known:
            for more in self._ways(method, job.collective) if method != BUILT_IN else ():
                try:
                    plan = schedule(self.place, job.collective, method=method, **options, **more)
                    timed = [self._time(plan, size) if known is None else known[method][size] for size in sizes]
                    if job.groups is not None:
                        list(_split_plan(plan, job.groups))  # raises where a group cannot be had by itself
                except _NOT_MADE as error:
                    why[method] = str(error)
                    continue
                own_groups = plan.collective.groups or (plan.collective.group and (plan.collective.group,))
                wanted = None if job.groups is None else tuple(tuple(sorted(group)) for group in job.groups)
                if (own_groups or None) == wanted and verify(plan).ok:  # not on a part of its own
                    found.append(_Candidate(method, plan, tuple(timed)))
        return found, why.get("auto")

    def _time_built_in(self, job: _Job, size: int) -> Fraction | None:
        """Return the built-in algorithm's time, None if links are missing."""
        groups = job.groups or (tuple(self.fabric.compute),)
        return time_built_in(self.wires, job.collective.name, groups, Fraction(size), self.joined)

    def _ways(self, method: str, collective: Collective) -> list[dict[str, Any]]:
        """Return the option sets of a method, in order."""
        if method not in SUMS:
            return [{"by_ranks": True}] if self._adds(method, collective) else [{}]
        if not collective.like(ALLREDUCE) or len(self.fabric.compute) > MAX_NODES:
            return []
        alpha = {} if self.plain else {"alpha": self.alpha}
        sizes = (SIZES[0], 2**20) if method == "two-level" else SIZES[:1]  # by which it chooses how
        return [{"by_ranks": True, "size": size, **alpha} for size in sizes]

    def _adds(self, method: str, collective: Collective) -> bool:
        """Return whether a plan may use in-network operations."""
        capable = not self.plain and bool(self.fabric.multicast | self.fabric.aggregation)
        return method == "auto" and collective.like(ALLREDUCE) and capable

    def _time(self, plan: Plan, size: int) -> Fraction:
        return simulate(plan, size=size, alpha=self.alpha, bandwidth=self.bandwidth if self.plain else None).time

    def _add(self, job: _Job, candidates: Sequence[_Candidate], span: _Span) -> None:
        """Add one or more rows for a size range."""
        best = candidates[span.best]
        calls = tuple(SizedCall(size, count) for size, count in job.calls.items() if span.serves(size))
        at = calls[0].size if calls else max(span.first, span.sizes[0])
        built = candidates[0] if candidates[0].plan is None else None
        built_s = None if built is None else float(span.time(built, at))
        measured = span.measured or best.plan is None
        time = span.time(best, at) if measured or best.plan is None else self._time(best.plan, at)
        programs: list[dict[str, Files]] = [{} for _ in job.groups or (None,)]
        for target in self.targets if best.plan is not None and not job.collective.rooted else ():
            try:
                if self.step is None:
                    self._compile_for_all(job, best, target, span, programs)
                elif calls:
                    self._compile_for(job, candidates, target, span, programs)
            except _NOT_COMPILED as error:
                if len(calls) > 1:
                    cut = calls[len(calls) // 2].size
                    self._add(job, candidates, replace(span, end=cut))
                    self._add(job, candidates, replace(span, first=cut))
                    return
                what = f"no program of the {job.collective} from {format_size(span.first)} on for {target}"
                self.notes.append(f"{what}: {error}")
        plans = [None] * len(programs) if best.plan is None else list(_split_plan(best.plan, job.groups))
        for plan, group, own in zip(plans, job.groups or (None,), programs, strict=True):
            method = BUILT_IN if plan is None else str(plan.generator.get("method", "auto"))
            about = job.collective.name, group, job.root, span.first, span.end, method
            self.rows.append(LibraryRow(*about, float(time), built_s, span.measured, calls, plan, own))

    def _compile_for_all(
        self, job: _Job, best: _Candidate, target: str, span: _Span, programs: Sequence[dict[str, Files]]
    ) -> None:
        """Add programs for any size, in-place ones only if different."""
        if job.groups is None and best.plan is not None:
            for inplace in (False, True) if BACKENDS[target].inplace else (False,):
                (made,) = self._programs(job, best.plan, target, span, inplace=inplace)
                programs[0][f"{target}-inplace" if inplace else target] = dict(made.files)

    def _compile_for(
        self,
        job: _Job,
        candidates: Sequence[_Candidate],
        target: str,
        span: _Span,
        programs: Sequence[dict[str, Files]],
    ) -> None:
        """Add each group's programs for its calls, best plan first.

        Raises what compiling raises where no plan has one that is faster than what is built in.
        """
        best = candidates[span.best]
        rest = [one for one in candidates if one is not best]
        sizes = tuple(filter(span.serves, job.calls))
        order = (best, *sorted(rest, key=lambda one: span.time(one, sizes[0])))
        faster = takewhile(lambda one: one[1] is not None, ((one.method, one.plan) for one in order))

        def make(one: tuple[str, Any]) -> list[Compiled]:
            return self._programs(job, one[1], target, span, sizes, inplace=None)

        (method, _), made, why = find_first(faster, make, _NOT_COMPILED)
        for own, compiled in zip(programs, made, strict=True):
            own[f"{target}-inplace" if compiled.options.inplace else target] = dict(compiled.files)
        cuts = {str(compiled.cut) for compiled in made if compiled.cut is not None and compiled.cut.loss}
        self.notes += [f"{job.collective} {cut}" for cut in sorted(cuts)]
        if why is not None:
            other = f"its program for {target} is of {method}, since of {best.method} {why}"
            self.notes.append(f"{job.collective} from {format_size(span.first)} on: {other}")

    def _programs(
        self, job: _Job, plan: Plan, target: str, span: _Span, calls: tuple[int, ...] = (), *, inplace: bool | None
    ) -> list[Compiled]:
        """Return each group's checked programs, with fewer trees if needed."""
        options: dict[str, Any] = {"inplace": inplace}
        if self.said["runtime"] in BACKENDS[target].runtimes:
            options["runtime"] = self.said["runtime"]
        if "min_size" in BACKENDS[target].takes:
            options |= {"min_size": span.first, "max_size": None if span.end is None else span.end - 1}
        if calls and "dtype" in BACKENDS[target].takes:
            options |= {"size": calls, "dtype": self.said["dtype"]}

        def make_plan(k: int | None) -> Plan:
            return plan if k is None else schedule(self.place, plan.collective, method="forest", fixed_k=k)

        if job.groups is None:
            return [compile_fitting(make_plan, target, **options).checked()]
        name = f"topodesign-{job.collective}-groups-{len(job.groups[0])}"
        return [part.compiled.checked() for part in compile_groups(plan, target, name=name, **options)]

    def finish(self) -> Library:
        """Return all that was made."""
        chosen = [row.plan for row in self.rows if row.plan is not None]
        if not chosen:
            if self.rows:
                raise InfeasibleError("nothing is written: no program is faster than what the runtime does by itself")
            raise InfeasibleError(f"no plan can be made; {self.notes[0]}" if self.notes else "nothing was asked for")
        self._drop_ambiguous()
        first, spec = chosen[0], chosen[0].spec
        work = ", ".join(dict.fromkeys(row.collective for row in self.rows)) if self.step is None else self.step.name
        made = Library(
            topology=None if spec is None else str(spec),
            work=work,
            wiring=wiring_digest(first.topology),
            ranks=tuple(self.fabric.names[node] for node in self.fabric.compute),
            alpha=self.alpha,
            bandwidth=self.bandwidth,
            entries=tuple(self.rows),
            notes=tuple(dict.fromkeys(self.notes)),
            use=(),
        )
        calls = tuple((row.collective, row.group, call.size) for row in self.rows for call in row.calls)
        if not calls:
            return made
        saved = [_compute_saving(row) for row in self.rows if row.plan is not None]
        use = uses_of(made.plans, saved, calls, len(made.ranks), self.said["dtype"], runtime=self.said["runtime"])
        extra = {"calls.py": call_script(calls, self.said["dtype"]), "USE.md": "\n".join(map(str, use)) + "\n"}
        return replace(made, use=use, extra=extra)

    def _drop_ambiguous(self) -> None:
        """Remove group programs that would run other groups' calls.

        A runtime knows a communicator by its number of ranks alone, so a program of one group is used for every other
        one of as many ranks that has a rank in common with it.
        """
        clash = set()
        for number, row in enumerate(self.rows):
            for other in self.rows:
                if not row.programs or row.group is None or other.group is None or row.collective != other.collective:
                    continue
                alike = row.group != other.group and len(row.group) == len(other.group)
                if alike and not set(row.group).isdisjoint(other.group) and any(map(row.serves, other.calls)):
                    clash.add(number)
        for number in sorted(clash):
            row = self.rows[number]
            self.rows[number] = replace(row, files={})
            size = "" if row.group is None else f" of {len(row.group)} ranks"
            self.notes.append(
                f"no program of the {row.collective}{size} from {format_size(row.from_bytes)} on: other groups of as "
                "many ranks have calls of these sizes, and a runtime cannot tell them apart; PyTorch's backend can"
            )


def _compute_saving(row: LibraryRow) -> float:
    """Return the seconds saved per step, or spent."""
    each_call = row.time_s if row.built_in_s is None else row.built_in_s - row.time_s
    return each_call * sum(call.count for call in row.calls)


def _split_plan(plan: Plan, groups: tuple[tuple[int, ...], ...] | None) -> Iterator[Plan]:
    """Yield each group's part as a plan of the wiring."""
    if groups is None or len(groups) == 1:
        yield plan
        return
    for one, alone in zip(plan.collective.single, split_groups(plan), strict=True):
        moved = carried_over(alone.rounds, one.group or (), plan.topology)
        claim = cost_claim(cost_of(plan.topology, moved))
        yield Plan(plan.place, moved, claim, plan.spec, plan.generator)


def fastest(sizes: Sequence[int], times: Sequence[Sequence[Fraction]]) -> list[tuple[int, int | None, int]]:
    """Return size ranges from 0 with their fastest candidates.

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
        for line, (collective, method, size, time) in read_fixed_columns(read_text(path), _MEASURED, _MEASURED_ROW):
            for word, known in ((collective, COLLECTIVES), (method, methods)):
                if word not in known:
                    raise FileFormatError(f"line {line}: {word!r:.40} is not known; known are {', '.join(known)}")
            try:
                many, seconds = parse_size(size), parse_time(time)
            except UnitError as error:
                raise FileFormatError(f"line {line}: {error}") from None
            of_method = found.setdefault(collective, {}).setdefault(method, {})
            if many.denominator != 1 or int(many) in of_method:
                why = "is there already" if many.denominator == 1 else "is not a whole number of bytes"
                raise FileFormatError(f"line {line}: the size {size} {why}")
            of_method[int(many)] = seconds
        for collective, by_method in found.items():
            sizes = set.union(*map(set, by_method.values()))
            for method, times in by_method.items():
                lacking = sorted(sizes - times.keys())
                if lacking or len(sizes) < 2:
                    what = format_size(lacking[0]) if lacking else "a second size"
                    raise FileFormatError(f"{collective} by {method} lacks {what}; all methods require the same sizes")
    return found


def between(times: Mapping[int, Fraction], size: int) -> Fraction:
    """Interpolate or extrapolate the time for a size linearly."""
    sizes = sorted(times)
    low, high = next((pair for pair in pairwise(sizes) if size <= pair[1]), tuple(sizes[-2:]))
    slope = (times[high] - times[low]) / (high - low)
    return max(times[low] + slope * (size - low), Fraction(0))
