"""Sets of plans: a directory for one wiring, with an index.

``index.json`` has ``format`` ("topodesign plan set"), ``version`` (2), ``topology`` (the spec, or null), ``nodes``,
``wiring`` (see :func:`wiring_digest`), ``alpha_s`` and ``bandwidth_bps`` (what the plans were chosen for) and
``entries``, a list of objects of

``collective``, ``group``, ``root``
    What it is for: ``group`` is a list of nodes, or null for all; ``root`` null where it has none.
``from_bytes``, ``to_bytes``
    For which whole data M: at least the first, and less than the second, which is null where there is no end.
``plan``
    The plan file.
``steps``, ``bandwidth``
    What the plan claims, an integer and "p/q"; null where plans of its kind claim no such thing.
``time_s``, ``measured``
    Seconds at the least size that it was timed for, null if nothing is known, and whether such times were measured, or
    are those of the model: by them plans were chosen. Version 1 has neither.
``programs``
    By target of ``compile``, with ``-inplace`` for calls in place, the file with the program: all of a target are in a
    directory of its name, which has nothing else; where ranks load different ones, in one of the first rank's there,
    ``rank0`` and so on. Of a program of several files, the directory with these.

All paths are below the directory. A key that is not known is refused, as in plan files; what is new gets a new version.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from topodesign.base.arguments import as_path
from topodesign.base.atomic import file_name, write_directory
from topodesign.base.errors import FileFormatError, InfeasibleError, ParameterError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import read_text
from topodesign.base.wording import count_noun
from topodesign.collectives import COLLECTIVES
from topodesign.plans.files import load_plan, save_plan
from topodesign.plans.plan import Plan
from topodesign.topology.topology import MAX_NODES, Topology

FORMAT = "topodesign plan set"
VERSION = 2
INDEX = "index.json"
_FIELDS = ("format", "version", "topology", "nodes", "wiring", "alpha_s", "bandwidth_bps", "entries")
_MAX_BYTES = 2**63 - 1
_FRACTION = re.compile(r"[0-9]{1,1000}(/[0-9]{1,1000})?")


@dataclass(frozen=True)
class PlanEntry:
    """A plan of a set, and what it is for."""

    # collective, group, root: what it does, among which nodes (None for all), from or to which
    collective: str
    group: tuple[int, ...] | None
    root: int | None
    # from_bytes, to_bytes: for which whole data M: at least the first, less than the second (None: no end)
    from_bytes: int
    to_bytes: int | None
    plan: str  # its file, below the directory of the set
    # steps, bandwidth: what it claims; None where plans of its kind claim no such thing
    steps: int | None
    bandwidth: Fraction | None
    programs: Mapping[str, str] = field(default_factory=dict)  # by target: file or directory, below that of the set
    time_s: float | None = None  # seconds at the least size that it was timed for; None if nothing is known
    measured: bool = False  # whether it was chosen by measured times, else by those of the model

    def serves(self, collective: str, size: int, group: tuple[int, ...] | None, root: int | None) -> bool:
        """Return whether it is for this."""
        fits = self.from_bytes <= size and (self.to_bytes is None or size < self.to_bytes)
        return fits and (self.collective, self.group, self.root) == (collective, group, root)


@dataclass(frozen=True)
class PlanSet:
    """Plans of one wiring, by collective, size, group and root."""

    folder: Path  # where the files are
    topology: str | None  # spec of the wiring, if it has one
    nodes: int  # nodes of it, switches included
    wiring: str  # its digest, see :func:`wiring_digest`
    # alpha, bandwidth: seconds of a step, and bits per second of a node, for which the plans were chosen
    alpha: float
    bandwidth: float
    entries: tuple[PlanEntry, ...]

    def choose(
        self, collective: str, size: int, group: Collection[int] | None = None, root: int | None = None
    ) -> PlanEntry | None:
        """Return the first suitable entry, or None.

        Parameters
        ----------
        collective
            Name of the collective.
        size
            Whole data M in bytes.
        group
            Nodes that take part; None, or all nodes, for all.
        root
            Of a collective that has one.
        """
        members = None if group is None else tuple(sorted(group))
        if members == tuple(range(self.nodes)):
            members = None
        return next((one for one in self.entries if one.serves(collective, size, members, root)), None)

    def load(self, entry: PlanEntry) -> Plan:
        """Return the plan of an entry.

        Raises
        ------
        InfeasibleError
            If it is of another wiring than the set.
        FileFormatError
            If it cannot be read, or is for something else than the index says.
        """
        path = self.folder / entry.plan
        plan = load_plan(path)
        self.check(plan.topology, str(path))
        one = plan.collective
        if (one.name, one.group, one.root) != (entry.collective, entry.group, entry.root) or one.groups or one.several:
            raise FileFormatError(f"{path}: this is {one!r}, and {INDEX} has it for another; make the set again")
        return plan

    def check(self, topology: Topology, what: str = "what is wired") -> None:
        """Raise InfeasibleError for a topology of another wiring."""
        found = wiring_digest(topology)
        if found != self.wiring:
            own = self.topology or count_noun(self.nodes, "node")
            raise InfeasibleError(
                f"{what} is of another wiring ({found[:19]}) than the plans of {self.folder} ({own}, "
                f"{self.wiring[:19]}); make the set for it"
            )


def wiring_digest(topology: Topology) -> str:
    """Return the digest of nodes, switches and links: "sha256:...".

    Links are sorted by source and destination, a line being "source destination capacity"; specs and
    self-loops, which carry nothing, do not matter.

    Examples
    --------
    >>> from topodesign import build
    >>> wiring_digest(build("biring(2,4)")) == wiring_digest(build("circulant(4,1)"))
    True
    """
    columns = (topology.src.tolist(), topology.dst.tolist(), topology.capacity.tolist())
    lines = [f"{topology.nodes} {','.join(map(str, sorted(topology.switches)))}"]
    lines += [f"{src} {dst} {capacity}" for src, dst, capacity in zip(*columns, strict=True) if src != dst]
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()


@dataclass(frozen=True)
class ForSizes:
    """A plan in a set, with its sizes and programs."""

    plan: Plan
    from_bytes: int = 0
    to_bytes: int | None = None
    # by target of ``compile`` the files of the program, by name
    programs: Mapping[str, Mapping[str, str | bytes]] = field(default_factory=dict)
    # seconds at the least size that it was timed for, and whether that was measured
    time_s: float | None = None
    measured: bool = False


def program_names(plans: Sequence[ForSizes]) -> tuple[list[dict[str, str]], frozenset[str]]:
    """Return program paths by target, and runtimes with other ranks.

    Equal programs, as groups have, are one file. Where groups have programs of their own, every rank of the runtime
    has a directory with those that it loads; the name is then that of the first rank.
    """
    stems = [f"{number:03}-{one.plan.collective.name}" for number, one in enumerate(plans)]
    by_rank = set()
    alike: dict[tuple[object, ...], object] = {}
    for one in plans:
        what = one.plan.collective.name, one.from_bytes, one.to_bytes, len(one.plan.collective.group or ())
        for kind, made in one.programs.items():
            if one.plan.collective.group is not None and alike.setdefault((kind, *what), made) != made:
                by_rank.add(kind.partition("-")[0])
    found: list[dict[str, str]] = []
    known: dict[tuple[str, str | bytes], str] = {}
    for stem, one in zip(stems, plans, strict=True):
        names = {}
        for kind, made in one.programs.items():
            runtime, _, variant = kind.partition("-")
            if len(made) > 1:
                names[kind] = file_name(f"{stem}.{kind}")
                continue
            ((ending, content),) = made.items()
            name = file_name(f"{stem}{variant and '-'}{variant}{PurePosixPath(f'program{ending}').suffix}")
            if runtime in by_rank:
                names[kind] = f"{runtime}/rank{_ranks(one.plan)[0]}/{name}"
            else:
                names[kind] = known.setdefault((runtime, content), f"{runtime}/{name}")
        found.append(names)
    return found, frozenset(by_rank)


def _ranks(plan: Plan) -> list[int]:
    """Return the ranks of a plan, numbered without switches."""
    topology = plan.topology
    members = plan.collective.members(topology.nodes, topology.switches).tolist()
    return [node - sum(switch < node for switch in topology.switches) for node in members]


def save_plan_set(
    folder: str | Path,
    plans: Iterable[ForSizes],
    *,
    alpha: float,
    bandwidth: float,
    extra: Mapping[str, str | bytes] | None = None,
) -> PlanSet:
    """Write a new directory of plans and index, whole or not at all.

    Parameters
    ----------
    folder
        Where; it is new or empty.
    plans
        In the order in which they are looked through: the first that fits is taken.
    alpha, bandwidth
        What they were chosen for: seconds of a step, and bits per second of a node.
    extra
        Other files of the directory, by name.

    Raises
    ------
    ParameterError
        If there is no plan, or one is of several groups or collectives at once.
    InfeasibleError
        If one is of another wiring than the first.
    FileFormatError
        If the directory cannot be written, or is there.
    """
    given, target = list(plans), as_path(folder)
    if not given or any(one.plan.collective.groups or one.plan.collective.several for one in given):
        raise ParameterError("a set has at least one plan, each of one collective in one group")
    first = given[0].plan
    files: dict[str, str | bytes | Callable[[Path], object]] = dict(extra or {})
    entries = []
    alone: dict[str, dict[str, str | bytes]] = {}
    names, by_rank = program_names(given)
    for number, one in enumerate(given):
        collective, claim = one.plan.collective, one.plan.claim
        stem = f"{number:03}-{collective.name}"
        files[f"{stem}.npz"] = partial(save_plan, plan=one.plan)
        programs = names[number]
        for kind, made in one.programs.items():
            runtime, path = kind.partition("-")[0], PurePosixPath(programs[kind])
            if len(made) > 1:
                files[programs[kind]] = partial(_write_all, made)
                continue
            ((_, content),) = made.items()
            folders = [f"rank{rank}/" for rank in _ranks(one.plan)] if runtime in by_rank else [""]
            alone.setdefault(runtime, {}).update({f"{place}{path.name}": content for place in folders})
        entries.append(
            PlanEntry(
                collective.name,
                collective.group,
                collective.root,
                one.from_bytes,
                one.to_bytes,
                f"{stem}.npz",
                int(claim["steps"]) if "steps" in claim else None,
                claim.get("bandwidth"),
                programs,
                one.time_s,
                one.measured,
            )
        )
    files |= {runtime: partial(_write_all, made) for runtime, made in alone.items()}
    topology = first.topology
    made_set = PlanSet(
        target, first.spec, topology.nodes, wiring_digest(topology), float(alpha), float(bandwidth), tuple(entries)
    )
    for one in given:
        made_set.check(one.plan.topology, f"the {one.plan.collective} on {one.plan.spec or 'a topology'}")
    files[INDEX] = json.dumps(_record(made_set), indent=1, allow_nan=False) + "\n"
    write_directory(target, files)
    return made_set


def read_plan_set(folder: str | Path) -> PlanSet:
    """Read a set's index; plans are read on demand.

    Parameters
    ----------
    folder
        The directory, or its index.

    Raises
    ------
    FileFormatError
        If it cannot be read, is damaged, or of another version.

    Examples
    --------
    >>> from topodesign import schedule
    >>> plans = [ForSizes(schedule("biring(2,4)"), 0, 2**16), ForSizes(schedule("biring(2,4)", method="tacos"), 2**16)]
    >>> _ = save_plan_set("ring", plans, alpha=1e-5, bandwidth=1e11)
    >>> read_plan_set("ring").choose("allreduce", 2**20).plan
    '001-allreduce.npz'
    """
    path = as_path(folder)
    path = path if path.name == INDEX else path / INDEX
    with expecting(path, FileKind.PLAN_SET):
        return _read(path.parent, parse_json(read_text(path)))


def _write_all(files: Mapping[str, str | bytes], folder: Path) -> None:
    folder.mkdir()
    for name, content in files.items():
        place, _, own = name.rpartition("/")
        path = folder / place / file_name(own)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def _record(made: PlanSet) -> dict[str, Any]:
    entries = [
        {name: getattr(one, name) for name in _ENTRY}
        | {"bandwidth": None if one.bandwidth is None else str(one.bandwidth), "programs": dict(one.programs)}
        for one in made.entries
    ]
    values = (FORMAT, VERSION, made.topology, made.nodes, made.wiring, made.alpha, made.bandwidth, entries)
    return dict(zip(_FIELDS, values, strict=True))


def _read(folder: Path, record: Any) -> PlanSet:
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise FileFormatError(f"it does not say {FORMAT!r}")
    if record.get("version") not in range(1, VERSION + 1) or type(record["version"]) is not int:
        raise FileFormatError(f"it has format version {record.get('version')!r:.20}, this program reads 1 to {VERSION}")
    _check_keys(record, _FIELDS, "the set")
    for name, right in (
        ("topology", record["topology"] is None or isinstance(record["topology"], str)),
        ("nodes", _is_count(record["nodes"], 1, MAX_NODES)),
        ("wiring", isinstance(record["wiring"], str)),
        ("alpha_s", _is_rate(record["alpha_s"])),
        ("bandwidth_bps", _is_rate(record["bandwidth_bps"])),
        ("entries", isinstance(record["entries"], list)),
    ):
        if not right:
            raise FileFormatError(f"{name!r} of the set cannot be {record[name]!r:.60}")
    before = _TIMES if record["version"] == 1 else {}
    entries = tuple(_entry(one, number, record["nodes"], before) for number, one in enumerate(record["entries"]))
    alpha, bandwidth = record["alpha_s"], record["bandwidth_bps"]
    return PlanSet(folder, record["topology"], record["nodes"], record["wiring"], alpha, bandwidth, entries)


_TIMES = {"time_s": None, "measured": False}  # what version 1 does not say
_ENTRY = ("collective", "group", "root", "from_bytes", "to_bytes", "plan", "steps", "bandwidth", *_TIMES, "programs")


def _entry(record: Any, number: int, nodes: int, before: Mapping[str, Any]) -> PlanEntry:
    where = f"entry {number}"
    if not isinstance(record, dict):
        raise FileFormatError(f"{where} must be an object")
    _check_keys(record, tuple(name for name in _ENTRY if name not in before), where)
    record = {**record, **before}
    group, bandwidth, programs = record["group"], record["bandwidth"], record["programs"]
    members = isinstance(group, list) and all(_is_count(one, 0, nodes - 1) for one in group)
    for name, right in (
        ("collective", record["collective"] in tuple(COLLECTIVES)),
        ("group", group is None or (members and bool(group) and group == sorted(set(group)))),
        ("root", record["root"] is None or _is_count(record["root"], 0, nodes - 1)),
        ("from_bytes", _is_count(record["from_bytes"], 0, _MAX_BYTES)),
        ("to_bytes", record["to_bytes"] is None or _is_count(record["to_bytes"], 0, _MAX_BYTES)),
        ("plan", _is_below(record["plan"])),
        ("steps", record["steps"] is None or _is_count(record["steps"], 0, _MAX_BYTES)),
        ("time_s", record["time_s"] is None or _is_rate(record["time_s"])),
        ("measured", isinstance(record["measured"], bool)),
        ("programs", isinstance(programs, dict) and all(map(_is_below, programs.values()))),
    ):
        if not right:
            raise FileFormatError(f"{name!r} of {where} cannot be {record[name]!r:.60}")
    try:
        y = None if bandwidth is None else Fraction(bandwidth if _FRACTION.fullmatch(bandwidth) else "none")
    except (TypeError, ValueError, ZeroDivisionError):
        raise FileFormatError(f"'bandwidth' of {where} must be \"p/q\" or null") from None
    return PlanEntry(**record | {"group": None if group is None else tuple(group), "bandwidth": y})


def _check_keys(record: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    different = sorted(record.keys() ^ set(known))
    if different:
        problem = "lacks the field" if different[0] in known else "has the unknown field"
        raise FileFormatError(f"{where} {problem} '{different[0][:50]}'")


def _is_count(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _is_rate(value: object) -> bool:
    return type(value) in {int, float} and 0 <= value < float("inf")  # type: ignore[operator]


def _is_below(value: object) -> bool:
    """Return whether a path stays below its start."""
    if not isinstance(value, str) or not value or "\\" in value or "\0" in value:
        return False
    path = PurePosixPath(value)
    return not path.is_absolute() and ".." not in path.parts
