"""Check of a plan set: index, plans, programs and wiring.

Plans are replayed, and programs executed, as each is alone. Beside that a program has to be of the collective, the
placement and the sizes of its entry, and to join ranks that a link joins (or links through switches alone) and no
others; an entry that is never chosen, a claim that is not the plan's, and a file among programs that the index does not
name are problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from topodesign.base.declared import Declared
from topodesign.base.errors import TopodesignError
from topodesign.base.progress import iterate_with_progress
from topodesign.base.records import Result, Table
from topodesign.base.wording import count_noun
from topodesign.collectives import COLLECTIVES
from topodesign.execution.levels import neighbours_of
from topodesign.fabrics.places import PlaceLike, as_place
from topodesign.plans.plan import Plan
from topodesign.plans.sets import PlanEntry, PlanSet, read_plan_set
from topodesign.plans.verify.plans import verify
from topodesign.runtime.check import check_file
from topodesign.topology.topology import Topology


@dataclass(frozen=True)
class SetProblem(Declared):
    """Something that is wrong in a set."""

    file: str  # the plan, program or index, below the directory
    message: str  # what is wrong with it

    KEYS = "file message"

    def __str__(self) -> str:
        return f"{self.file}: {self.message}"


@dataclass(frozen=True, repr=False)
class SetReport(Result):
    """Report of the check of a plan set."""

    directory: str  # where it is
    topology: str | None  # the spec of its wiring, if it has one
    wiring: str  # the digest of its links
    plans: int  # how many were checked
    programs: int  # how many files of programs were checked
    problems: tuple[SetProblem, ...]  # what is wrong; empty if it is right

    KEYS = "ok directory topology wiring plans programs problems"
    ROWS = "problems"

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def heading(self) -> str:
        """Return the verdict with the number of plans and programs."""
        many = f"{count_noun(self.plans, 'plan')} and {count_noun(self.programs, 'program')}"
        return f"{'ok' if self.ok else 'WRONG'}: {many} for {self.topology or 'a wiring'} ({self.wiring[:19]})"

    def table(self) -> Table:
        """Return a line for every problem."""
        return Table(self.heading(), ("file", "what is wrong"), tuple((one.file, one.message) for one in self.problems))

    def __str__(self) -> str:
        return "\n".join([self.heading(), *(f"  {one}" for one in self.problems)])


def check_plan_set(
    folder: str | Path,
    place: PlaceLike | None = None,
    *,
    runtime: str = "msccl",
    progress: Callable[[float], None] | None = None,
) -> SetReport:
    """Check a set of plans as ``compile --for`` makes them.

    Parameters
    ----------
    folder
        The directory, or its index.
    place
        What is wired, if the set has to be for that.
    runtime
        Whose rules MSCCL programs have to keep.
    progress
        Called with the share of the work that is done.

    Raises
    ------
    FileFormatError
        If the index cannot be read.

    Examples
    --------
    >>> from topodesign import check_plan_set, compile_library
    >>> _ = compile_library("biring(2,4)", "allreduce").save("checked")
    >>> print(check_plan_set("checked", "torus(2,4)"))
    WRONG: 2 plans and 4 programs for biring(2,4) (sha256:1bf98fc6c635)
      index.json: what is wired is of another wiring ...
    """
    plans = read_plan_set(folder)
    problems: list[SetProblem] = []

    def wrong(file: str, messages: Iterator[str]) -> None:
        try:
            problems.extend(SetProblem(file, message) for message in messages)
        except (TopodesignError, OSError) as error:
            problems.append(SetProblem(file, str(error).removeprefix(f"{plans.folder / file}: ")))

    wrong("index.json", _of_index(plans, place))
    programs = 0
    for entry in iterate_with_progress(plans.entries, progress):
        found: list[Plan] = []
        wrong(entry.plan, _of_plan(plans, entry, found))
        for target, name in entry.programs.items():
            path = plans.folder / name
            topology = found[0].topology if found else None
            for file in sorted(path.iterdir()) if path.is_dir() else [path]:
                programs += 1
                wrong(str(file.relative_to(plans.folder)), _of_program(file, entry, target, topology, runtime))
    return SetReport(str(plans.folder), plans.topology, plans.wiring, len(plans.entries), programs, tuple(problems))


def _of_index(plans: PlanSet, place: PlaceLike | None) -> Iterator[str]:
    for number, one in enumerate(plans.entries):
        end = one.to_bytes
        if end is not None and end <= one.from_bytes:
            yield f"{one.plan} is for no size"
            continue
        before = [entry for entry in plans.entries[:number] if _key(entry) == _key(one)]
        ends = [entry.to_bytes for entry in before if entry.to_bytes is not None]
        points = [one.from_bytes, *(at for at in ends if at > one.from_bytes and (end is None or at < end))]
        if all(any(entry.serves(one.collective, at, one.group, one.root) for entry in before) for at in points):
            yield f"{one.plan} is never chosen: those before it are for all its sizes"
    named = {plans.folder / name for one in plans.entries for name in one.programs.values()}
    inside = [path.relative_to(plans.folder) for path in named if path.parent != plans.folder]
    folders = {plans.folder / path.parts[0] for path in inside}
    copies = {(path.parts[0], path.name) for path in inside if len(path.parts) > 2}
    for folder in sorted(folders):
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path not in named and not path.is_dir() and (folder.name, path.name) not in copies:
                yield f"it does not name {path.relative_to(plans.folder)}, which a runtime would load"
    if place is not None:
        found = as_place(place)
        plans.check(found if isinstance(found, Topology) else found.topology)


def _key(entry: PlanEntry) -> tuple[object, ...]:
    return entry.collective, entry.group, entry.root


def _of_plan(plans: PlanSet, entry: PlanEntry, found: list[Plan]) -> Iterator[str]:
    """Yield the problems of a plan, appended to ``found``."""
    plan = plans.load(entry)
    found.append(plan)
    yield from verify(plan).problems
    for name, said in (("steps", entry.steps), ("bandwidth", entry.bandwidth)):
        claimed = plan.claim.get(name)
        if said != claimed:
            yield f"the index has {name} {said} for it, and the plan {claimed}"


def _of_program(path: Path, entry: PlanEntry, target: str, topology: Topology | None, runtime: str) -> Iterator[str]:
    report = check_file(path, runtime)
    yield from map(str, report.findings)
    about = report.calls
    if not report.ok or about is None:
        return
    kind, _, variant = target.partition("-")
    names = {name.replace("-", ""): name for name in COLLECTIVES}
    if names[about.collective] != entry.collective or not (about.inplace if variant else about.outofplace):
        own, said = ("in place" if one else "out of place" for one in (about.inplace, variant))
        yield f"it is of {names[about.collective]} {own}, and the index has it for {entry.collective} {said}"
    end = entry.to_bytes
    longer = end is not None and (about.largest is None or about.largest >= end)
    if kind != "jax" and (longer or about.smallest < entry.from_bytes):  # modules are called by hand
        yield f"{str(about).partition(';')[0]}, and the index has it for fewer"
    if topology is None:
        return
    pairs, linked = about.pairs, neighbours_of(topology)
    if entry.group is not None:
        pairs = frozenset((entry.group[one], entry.group[other]) for one, other in pairs)
    if kind == "mscclpp":
        linked = linked | {pair[::-1] for pair in linked}  # signals go back where data come from
    for source, destination in sorted(pairs - linked)[:1]:
        yield f"rank {source} sends to rank {destination}, and no link joins them"
