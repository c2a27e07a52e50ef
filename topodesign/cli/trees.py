"""What the commands do with fabrics and the trees on them."""

from __future__ import annotations

import csv
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from topodesign.cli.options import counted
from topodesign.cli.sources import fabric_of, names_fabric, nodes_named, part_of
from topodesign.errors import FileFormatError, InfeasibleError, ParameterError, SpecError, TooLargeError
from topodesign.fabric import Fabric
from topodesign.fabrics import FABRICS, build_fabric
from topodesign.forest.multicast import Pruned, prune
from topodesign.library import build
from topodesign.rates import compute_node, smallest_number_of_trees
from topodesign.report.bottleneck import listed, speed
from topodesign.schedulers import Method
from topodesign.simulate import Loss
from topodesign.simulate_trees import TreeSimulation, simulate_trees
from topodesign.topology_file import read_text
from topodesign.tree_file import TreeFigures, TreeHeader, load_trees, tree_figures
from topodesign.tree_schedule import TreeCollective, TreeSchedule
from topodesign.units import format_time
from topodesign.verify_trees import TreeReport, verify_trees

AnyMethod = Method | Literal["forest"]
ROOTED = frozenset({"broadcast", "reduce"})
_SHOWN = 3
"""Examples given of what a failure breaks."""
_SIZE = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15}|/[0-9]{1,15})?")
_SIZES_HELP = "write 2,1,1,... for the nodes in their order, NODE=SIZE,..., or the name of a .csv file"


@dataclass(frozen=True)
class Wanted:
    """Which trees a user asks for, as the options of a command say it."""

    source: str
    collective: TreeCollective
    root: str | None = None
    fixed_k: int | None = None
    shards: str | None = None
    only: tuple[str, ...] = ()
    others: Literal["vanish", "forward"] = "vanish"
    without: tuple[str, ...] = ()

    def given(self) -> list[str]:
        """Return the options in use that are for trees alone."""
        names = ("root", "fixed_k", "shards", "only", "without")
        return [f"--{name.replace('_', '-')}" for name in names if getattr(self, name) not in {None, ()}]


@dataclass(frozen=True)
class Planned:
    """A schedule and its fabric; of an allreduce also which of its kinds was chosen and why."""

    fabric: Fabric
    schedule: TreeSchedule
    kind: str | None

    def spec(self, wanted: Wanted) -> str | None:
        """Return what rebuilds the whole fabric, if it has a generator."""
        generated = wanted.source.partition("(")[0].strip() in FABRICS and not wanted.only and not wanted.without
        return self.fabric.name if generated else None


def goes_over_trees(wanted: Wanted, method: AnyMethod) -> bool:
    """Return whether a schedule is to be made of trees.

    Raises
    ------
    ParameterError
        If options exclude each other.
    """
    collective = wanted.collective
    trees = method == "forest" or (method == "auto" and (collective in ROOTED or names_fabric(wanted.source)))
    if not trees:
        if collective in ROOTED:
            raise ParameterError(f"{collective} goes over trees; use --method forest")
        for option in wanted.given()[:1]:
            raise ParameterError(f"{option} is for trees; use --method forest")
    elif (wanted.root is None) == (collective in ROOTED):
        verb, what = ("needs", "give one with --root") if wanted.root is None else ("has no", "leave --root out")
        raise ParameterError(f"{collective} {verb} root; {what}")
    return trees


def plan(wanted: Wanted) -> Planned:
    """Read or build a fabric and make the schedule."""
    from topodesign.forest.schedule import allreduce_schedule, forest_schedule  # noqa: PLC0415  heavy

    fabric = part_of(fabric_of(wanted.source), wanted.only, wanted.others, wanted.without)
    root = None if wanted.root is None else compute_node(fabric, wanted.root)
    shard = None if wanted.shards is None else read_shards(fabric, wanted.shards)
    if root is not None and shard is not None:
        raise ParameterError(f"the only shard of a {wanted.collective} is its root's; leave --shards out")
    fixed = " and ".join(option for option in wanted.given() if option in {"--fixed-k", "--shards"})
    if wanted.collective == "allreduce" and not fixed:
        return Planned(fabric, *allreduce_schedule(fabric.topology, names=fabric.names))
    kind = None
    if wanted.collective == "allreduce":
        kind = f"a reduce-scatter and then an allgather; with {fixed} no allreduce of another kind is looked for"
    schedule = forest_schedule(
        fabric.topology, wanted.collective, k=wanted.fixed_k, root=root, shard=shard, names=fabric.names
    )
    return Planned(fabric, schedule, kind)


def plan_that_fits(
    wanted: Wanted, compile_schedule: Callable[[TreeSchedule], str]
) -> tuple[str, dict[str, str | None]]:
    """Make a schedule that compiles: without ``fixed_k`` with fewer trees per root where the best has too many.

    Concurrent phases of an allreduce are given up first.

    Returns
    -------
    tuple
        The program, and notes where there are any: ``fewer_trees`` says how and why its trees differ from the best,
        and ``allreduce`` of which kind it is.
    """
    best = made = plan(wanted)
    why = None
    while True:
        try:
            text = compile_schedule(made.schedule)
        except (InfeasibleError, TooLargeError) as error:
            k = tree_figures(made.fabric, made.schedule).k
            if made.schedule.concurrent:
                fewer = smallest_number_of_trees(made.fabric, wanted.collective)
            else:
                fewer = int(k) // 2
            if wanted.fixed_k is not None or not fewer:
                raise
            why = why or str(error)
            made = plan(replace(wanted, fixed_k=fewer))
        else:
            if why is None:
                return text, {"fewer_trees": None, "allreduce": best.kind}
            turn = ", one phase after the other" if best.schedule.concurrent else ""
            fewer_trees = f"with {_per_root(made.fabric, made.schedule)}{turn}, since of the best ones {why}"
            return text, {"fewer_trees": fewer_trees, "allreduce": None}


def read_shards(fabric: Fabric, text: str) -> tuple[int, ...]:
    """Read relative shard sizes of the nodes of a fabric.

    Parameters
    ----------
    text
        One size for each node in their order, ``NODE=SIZE`` with names or patterns, with commas between, or the name of
        a .csv file with the columns ``node,size``. Sizes are exact numbers such as 2, 0.5 or 2/3; nodes that are not
        named have 1, and of several that fit a node the last counts.

    Returns
    -------
    tuple of int
        The sizes as integers without a common factor.

    Raises
    ------
    ParameterError, FileFormatError
        If the text or the file cannot be read, names no node, or gives all nodes nothing.
    """
    words = [word.strip() for word in text.split(",")]
    if text.lower().endswith(".csv"):
        pairs = list(_sizes_in_file(Path(text)))
    elif all("=" in word for word in words):
        pairs = [(name.strip(), size.strip()) for name, _, size in (word.rpartition("=") for word in words)]
    else:
        if not all(map(_SIZE.fullmatch, words)):
            raise ParameterError(f"--shards {text[:100]!r}: {_SIZES_HELP}")
        if len(words) != len(fabric.compute):
            nodes = counted(len(fabric.compute), "node")
            raise ParameterError(f"--shards has {counted(len(words), 'size')} for {nodes}")
        pairs = [(fabric.names[node], size) for node, size in zip(fabric.compute, words, strict=True)]
    sizes = {fabric.names[node]: Fraction(1) for node in fabric.compute}
    for name, size in pairs:
        sizes |= dict.fromkeys(nodes_named(fabric, name), _size(size, name))
    if not any(sizes.values()):
        raise ParameterError("--shards gives no node any data")
    common = math.lcm(*(size.denominator for size in sizes.values()))
    whole = [int(size * common) for size in sizes.values()]
    return tuple(size // math.gcd(*whole) for size in whole)


def _size(text: str, name: str) -> Fraction:
    try:
        if _SIZE.fullmatch(text):
            return Fraction(text)
    except ZeroDivisionError:
        pass
    raise ParameterError(f"the shard size {text[:30]!r} of {name[:100]} is no number such as 2, 0.5 or 2/3")


def _sizes_in_file(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the rows of a .csv file."""
    try:
        rows = list(csv.reader(read_text(path, (".csv",)).splitlines()))
    except (FileFormatError, csv.Error) as error:
        raise FileFormatError(f"{path}: {error}") from None
    if not rows or [cell.strip().lower() for cell in rows[0]] != ["node", "size"]:
        raise FileFormatError(f"{path}, line 1: expected the header node,size")
    for line, row in enumerate(rows[1:], start=2):
        if row and len(row) != 2:
            raise FileFormatError(f"{path}, line {line}: expected a row such as gpu0,2, not {','.join(row)[:40]!r}")
        if row:
            yield row[0].strip(), row[1].strip()


def trees_of(path: Path) -> tuple[Fabric, TreeSchedule, TreeHeader, TreeReport]:
    """Read a tree schedule file and check all that it says: the schedule, what it is said to reach, and the spec."""
    fabric, schedule, header = load_trees(path)
    report = verify_trees(schedule, names=fabric.names)
    problems = list(report.problems)
    if report.ok and report.inverse_rate is not None:
        problems += _false_claims(header.claim, tree_figures(fabric, schedule, (report.inverse_rate, report.height)))
    if header.spec is not None and not _rebuilds(header.spec, fabric):
        problems.append(f"the spec {header.spec[:100]!r} in the file does not give the fabric in the file")
    return fabric, schedule, header, replace(report, ok=not problems, problems=tuple(problems))


_FIGURES = {
    "k": "trees per root",
    "height": "height",
    "inverse_rate": "1/x* in seconds per byte of shard",
    "bandwidth": "algorithmic bandwidth in bytes per second",
}


def _false_claims(claim: TreeFigures, own: TreeFigures) -> list[str]:
    """Say which figures in a file are not those of its schedule."""
    pairs = [(_FIGURES[field.name], getattr(claim, field.name), getattr(own, field.name)) for field in fields(own)]
    return [f"the claimed {what} is {said}, but the schedule has {is_}" for what, said, is_ in pairs if said != is_]


def _rebuilds(spec: str, fabric: Fabric) -> bool:
    """Return whether a spec gives a fabric, or if it is that of a topology, the links."""
    try:
        if spec.partition("(")[0] in FABRICS:
            return _physical(build_fabric(spec)) == _physical(fabric)
        return build(spec) == fabric.topology
    except SpecError:
        return False


def _physical(fabric: Fabric) -> tuple[object, ...]:
    """Return all that a file keeps of a fabric but its name."""
    return fabric.names, fabric.topology, fabric.unit, fabric.multicast, fabric.aggregation


def right_trees(path: Path) -> tuple[Fabric, TreeSchedule]:
    """Read a tree schedule file that the verifier accepts.

    Raises
    ------
    ParameterError
        If it does not.
    """
    fabric, schedule, _, report = trees_of(path)
    if not report.ok:
        problems = "".join(f"\n  {problem}" for problem in report.problems)
        raise ParameterError(f"{path} is no right schedule:{problems}")
    return fabric, schedule


def record(fabric: Fabric, schedule: TreeSchedule) -> dict[str, Any]:
    """Return what there is to say about a schedule, for JSON."""
    reached = tree_figures(fabric, schedule)
    pruned = _in_network(fabric, schedule)
    return {
        "fabric": fabric.name,
        "nodes": len(fabric.compute),
        "switches": len(fabric.topology.switches),
        "collective": schedule.collective,
        "method": "forest",
        "concurrent": schedule.concurrent,
        "shards": _shards(fabric, schedule),
        "k": int(reached.k) if reached.k.denominator == 1 else str(reached.k),
        "trees": len(schedule),
        "height": reached.height,
        "inv_x_star": str(reached.inverse_rate),
        "algorithmic_bandwidth": str(reached.bandwidth),
        "algorithmic_bandwidth_GBps": float(reached.bandwidth / 10**9),
        "in_network": None
        if pruned is None
        else {
            "traffic_saved": str(pruned.saved),
            "node_traffic_saved": str(pruned.saved_at_nodes),
            "height": pruned.height,
        },
    }


def summary(fabric: Fabric, schedule: TreeSchedule) -> str:
    """Return the same for people."""
    reached = tree_figures(fabric, schedule)
    time = format_time(reached.inverse_rate * 10**9)
    lines = [
        f"algorithmic bandwidth {speed(reached.bandwidth)}, 1/x* = {time} per GB of shard",
        f"{_per_root(fabric, schedule)}, {len(schedule)} different ones, height {reached.height}",
    ]
    pruned = _in_network(fabric, schedule)
    return "\n".join(lines if pruned is None else [*lines, str(pruned)])


def headline(fabric: Fabric) -> str:
    """Return the name and the size of a fabric."""
    switches = counted(len(fabric.topology.switches), "switch", "switches")
    return f"{fabric.name}: {counted(len(fabric.compute), 'node')}, {switches}"


def _per_root(fabric: Fabric, schedule: TreeSchedule) -> str:
    k = tree_figures(fabric, schedule).k
    unit = "" if schedule.shard is None else " and unit of shard size"
    return f"{k} {'tree' if k == 1 else 'trees'} per root{unit}"


def _shards(fabric: Fabric, schedule: TreeSchedule) -> dict[str, int] | None:
    if schedule.shard is None:
        return None
    return {fabric.names[node]: size for node, size in zip(fabric.compute, schedule.shard, strict=True)}


def _in_network(fabric: Fabric, schedule: TreeSchedule) -> Pruned | None:
    if not fabric.multicast | fabric.aggregation:
        return None
    return prune(schedule, fabric.multicast, fabric.aggregation)


@dataclass(frozen=True)
class Timed:
    """How long the schedule in a file takes for data of one size, and what links that are down prevent."""

    fabric: Fabric
    schedule: TreeSchedule
    result: TreeSimulation

    @property
    def finishes(self) -> bool:
        """Whether all data arrive."""
        return self.result.loss is None or not len(self.result.loss.pairs)

    def record(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        result, loss = self.result, self.result.loss
        down = [] if loss is None else loss.links
        return {
            "size_bytes": float(result.size),
            "time_s": float(result.time),
            "time": str(result.time),
            "bandwidth_time_s": float(result.optimum),
            "algorithmic_bandwidth_GBps": float(result.size / result.time / 10**9) if self.finishes else None,
            "chunks": result.chunks,
            "phase_ends_s": [float(end) for end in result.phase_ends],
            "utilisation_mean": float(result.utilisation.mean()),
            "utilisation_max": float(result.utilisation.max()),
            "utilisation_min": float(result.utilisation.min()),
            "down": [{"from": self.fabric.names[u], "to": self.fabric.names[v]} for u, v in down],
            "completes": self.finishes,
            "incomplete_nodes": [] if loss is None else list(self._lacking(loss)),
            "text": str(self),
        }

    def __str__(self) -> str:
        """Return times, utilisation and longest ways, and before them what does not arrive."""
        times = replace(self.result, loss=None).describe(self.fabric.names.__getitem__)
        if self.result.loss is None:
            return times
        return "\n".join([*self._broken(self.result.loss), *([] if self.finishes else ["of what still goes:"]), times])

    def _lacking(self, loss: Loss) -> dict[str, list[str]]:
        """Return for each node that never has all it should which shards, or whose parts of its sum, are missing."""
        lacking = defaultdict(list)
        for owner, node in loss.pairs.tolist():
            at, missing = (owner, node) if loss.reduces_only else (node, owner)
            lacking[self.fabric.names[at]].append(self.fabric.names[missing])
        return lacking

    def _broken(self, loss: Loss) -> Iterator[str]:
        down = listed([f"{self.fabric.names[u]} -> {self.fabric.names[v]}" for u, v in loss.links])
        collective = self.schedule.collective
        if self.finishes:
            yield f"with {down} down the {collective} finishes all the same"
            return
        lacking = self._lacking(loss)
        what, of = ("their whole sum", "the parts of") if loss.reduces_only else ("all data", "the shards of")
        verb = "never gets" if len(lacking) == 1 else "never get"
        some = f"{len(lacking)} of {counted(len(self.fabric.compute), 'node')} {verb} {what}"
        yield f"with {down} down the {collective} does not finish: {some}"
        for node in list(lacking)[:_SHOWN]:
            yield f"  {node} lacks {of} {listed(lacking[node])}"
        if len(lacking) > _SHOWN:
            yield f"  and so on for {len(lacking) - _SHOWN} more"
        yield "'topodesign schedule' makes another one for what is left, with --without A-B"


def simulate_file(
    path: Path,
    alpha: Fraction,
    sizes: tuple[Fraction, ...],
    bandwidth: Fraction | None,
    failed: tuple[str, ...],
    without: tuple[str, ...],
) -> list[Timed]:
    """Time the schedule in a file.

    Parameters
    ----------
    bandwidth
        Bits per second of a node over all its links, for a topology without bandwidths of its own; None keeps what the
        file says.
    failed
        Links that are down in one direction, as ``A,B`` with names.
    without
        Links ``A-B`` that are down in both, and nodes and switches.
    """
    fabric, schedule = right_trees(path)
    unit = 8 * fabric.unit
    if bandwidth is not None:
        if fabric.names != tuple(map(str, range(len(fabric.names)))):
            raise ParameterError(f"{path} has bandwidths of its own; leave out --bandwidth")
        unit = bandwidth / max(1, int(fabric.topology.out_ports[list(fabric.compute)].max()))
    down = [*(_link(fabric, text) for text in failed), *_dead(fabric, without)]
    return [
        Timed(fabric, schedule, simulate_trees(schedule, alpha=alpha, size=size, unit=unit, failed_links=down))
        for size in sizes
    ]


def _link(fabric: Fabric, text: str) -> tuple[int, int]:
    ends = [end.strip() for end in text.split(",")]
    if len(ends) != 2:
        raise ParameterError(f"a failed link is written A,B with the names of its ends, not {text[:100]!r}")
    u, v = map(fabric.number, ends)
    if v not in fabric.topology.neighbours(u):
        raise ParameterError(f"there is no link {ends[0]} -> {ends[1]}")
    return u, v


def _dead(fabric: Fabric, without: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return the links that what is left does not have."""
    left = {(link.src, link.dst) for link in part_of(fabric, (), "vanish", without).links()}
    links = zip(fabric.topology.links(), fabric.links(), strict=True)
    return [(u, v) for (u, v, _), link in links if (link.src, link.dst) not in left]
