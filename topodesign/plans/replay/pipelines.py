"""The verifier of paths, and of stages of trees; it shares no code with what makes them; exact.

Paths are right if and only if

* every path goes from the source of its block to the destination over links, and meets no vertex twice;
* the weights of the paths of a block add up to its units, for every block of the collective, and there are no others.
  A block whose source is its destination has none. Where blocks differ in size, each has as many units as
  its pieces have together.

What the fullest link carries, over its capacity, or the fullest limit that links share, over what it lets through, is
then the time of all of them together, since every path may have its share of every link on its way to itself.

The trees of every stage are checked as those of any plan are. Then every node's part of the data is followed, and how
often it has added up what each node began with: in a reduce-scatter and a one-shot the counts of all members are added,
in an allgather they must be alike. In the end every node must have all of the data, and count everybody once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.declared import Declared
from topodesign.base.errors import TooLargeError
from topodesign.base.units import format_rate
from topodesign.collectives import Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.paths import Paths
from topodesign.plans.replay.found import SHOWN, Found, marked
from topodesign.plans.replay.trees import loads_of, overloaded, verify_trees
from topodesign.plans.stages import DOES, Stages
from topodesign.plans.trees import Trees
from topodesign.topology.topology import IntArray


@dataclass(frozen=True, slots=True)
class PathsReport:
    """What the verifier found."""

    collective: Collective  # what it was checked to be
    # paths, height: number of paths, and sends of the longest, switches left out
    paths: int
    height: int
    # load of the fullest link over its capacity, or of the fullest limit over its room, in blocks; None if something
    # is wrong
    inverse_rate: Fraction | None
    # what is wrong, readable, at most ``SHOWN`` examples of each kind and the number of them
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether all is right."""
        return not self.problems

    def __str__(self) -> str:
        """Return the verdict and the problems, one a line."""
        text = f"{self.paths} paths of height {self.height}, 1/x = {self.inverse_rate}" if self.ok else ""
        return Found(self.problems, text=text).said(self.collective)


@dataclass(frozen=True, slots=True)
class PathsFound(Declared):
    """What paths reach."""

    paths: int  # paths
    height: Fraction  # links of the longest path
    inv_x_star: Fraction  # seconds that a byte of a shard takes at best: 1/x*
    algorithmic_bandwidth: Fraction  # whole data over the time, without latency, in bytes per second

    KEYS = "paths height inv_x_star algorithmic_bandwidth"


def replayed_paths(fabric: Fabric, paths: Paths) -> Found:
    """Replay the paths of a plan, with limits that links of its fabric share."""
    limits = [
        (links, limit.bandwidth / fabric.unit) for limit, links in zip(fabric.shared, fabric.shared_links, strict=True)
    ]
    report = verify_paths(paths, names=fabric.names, limits=limits)
    if not report.ok or not report.inverse_rate:
        return Found(report.problems or ("it has no paths",))
    members = len(paths.collective.members(paths.topology.nodes, paths.topology.switches))
    inverse = report.inverse_rate / fabric.unit
    figures = {
        "height": Fraction(report.height),
        "inv_x_star": inverse,
        "algorithmic_bandwidth": paths.collective.shards(members) / inverse,
    }
    text = f"{report.paths} paths of height {report.height}, {format_rate(figures['algorithmic_bandwidth'])}"
    return Found((), figures, PathsFound(report.paths, **figures), text)


def verify_paths(
    paths: Paths, *, names: Sequence[str] | None = None, limits: Iterable[tuple[Sequence[int], Fraction]] = ()
) -> PathsReport:
    """Check every path and every block, and find the fullest link or limit.

    Limits are on what links carry together: their places among the topology's, and how much, in units of capacity.
    """
    topology, called = paths.topology, names if names is not None else list(map(str, range(paths.topology.nodes)))
    members = paths.collective.members(topology.nodes, topology.switches)
    shards = paths.collective.shards(len(members))
    if int(paths.weight.max(initial=0)) * shards * len(paths.hop) >= 2**62:
        raise TooLargeError("the weights of the paths are too large to be added up")
    blocks = paths.collective.blocks(members, topology.nodes)
    source, goal = paths.collective.places(paths.collective.movements[0], paths.block, topology.nodes)
    start, stop = paths.hop_start[:-1], paths.hop_start[1:] - 1
    inside = np.ones(len(paths.hop), dtype=np.bool_)
    inside[stop] = False
    first = np.flatnonzero(inside)
    keys = np.append(topology.src * topology.nodes + topology.dst, -1)
    wanted = paths.hop[first] * topology.nodes + paths.hop[first + 1]
    link = np.searchsorted(keys[:-1], wanted)
    real = keys[link] == wanted
    owner = np.repeat(np.arange(len(paths.block)), np.diff(paths.hop_start))

    def words(path: int) -> str:
        hops = paths.hop[start[path] : stop[path] + 1].tolist()
        return (
            f"path {path} of {_called(paths, int(paths.block[path]), called)}: {' -> '.join(called[at] for at in hops)}"
        )

    bad = {
        "goes where there is no link": _marked(len(paths), owner[first[~real]]),
        "is of no block of the collective": ~np.isin(paths.block, blocks) | (source == goal),
        "does not lead from its source to its destination": (paths.hop[start] != source) | (paths.hop[stop] != goal),
        "meets a vertex twice": _marked(len(paths), _repeated(owner, paths.hop)),
    }
    problems = []
    for why, which in bad.items():
        problems += marked(which, lambda path, why=why: f"{words(path)} {why}", "such paths")  # type: ignore[misc]
    problems += _share_problems(paths, blocks, called)
    if problems:
        return PathsReport(paths.collective, len(paths), 0, None, tuple(problems))
    loads = np.zeros(len(topology.src), dtype=np.int64)
    share, _ = paths.collective.shares(paths.block, topology.nodes, len(members))
    np.add.at(loads, link, (paths.weight * share)[owner[first]])
    fullest = [Fraction(load, room) for load, room in zip(loads.tolist(), topology.capacity.tolist(), strict=True)]
    fullest += [sum(loads[list(links)].tolist()) / room for links, room in limits]
    sends = np.zeros(len(paths), dtype=np.int64)
    np.add.at(sends, owner[first], ~np.isin(paths.hop[first], list(topology.switches)))
    time = max(fullest, default=Fraction(0)) / paths.units
    if paths.amounts is not None:  # data of a node are counted by the mean of the blocks that move
        pairs = len(members) * (len(members) - 1)
        time *= Fraction(pairs, int(_pieces(paths, blocks)[blocks % (topology.nodes + 1) != 0].sum()))
    return PathsReport(paths.collective, len(paths), int(sends.max(initial=0)), time, ())


def _share_problems(paths: Paths, blocks: IntArray, called: Sequence[str]) -> list[str]:
    """Return the blocks of which not all units have one path."""
    source, goal = paths.collective.places(paths.collective.movements[0], blocks, paths.topology.nodes)
    moved = blocks[source != goal]
    known = np.isin(paths.block, moved)
    wanted = _pieces(paths, blocks)[source != goal] * paths.units
    carried = np.zeros(len(moved), dtype=np.int64)
    np.add.at(carried, np.searchsorted(moved, paths.block[known]), paths.weight[known])

    def words(at: int) -> str:
        what = _called(paths, int(moved[at]), called)
        return f"the paths of {what} carry {carried[at]} of its {wanted[at]} units"

    return marked(carried != wanted, words, "such blocks")


def _pieces(paths: Paths, blocks: IntArray) -> IntArray:
    """Return the pieces of blocks, all of them in order: one each, if nothing is said."""
    return np.ones(len(blocks), dtype=np.int64) if paths.amounts is None else np.array(paths.amounts, dtype=np.int64)


def _repeated(owner: IntArray, hop: IntArray) -> IntArray:
    """Return the paths with a vertex that they meet twice."""
    order = np.lexsort((hop, owner))
    same = (owner[order][1:] == owner[order][:-1]) & (hop[order][1:] == hop[order][:-1])
    repeated: IntArray = owner[order][1:][same]
    return repeated


def _marked(count: int, which: IntArray) -> NDArray[np.bool_]:
    marks = np.zeros(count, dtype=np.bool_)
    marks[which] = True
    return marks


def _called(paths: Paths, block: int, called: Sequence[str]) -> str:
    source, goal = paths.collective.places(paths.collective.movements[0], np.array([block]), paths.topology.nodes)
    return f"the block from {called[int(source[0])]} to {called[int(goal[0])]}"


@dataclass(frozen=True, slots=True)
class StagesFound(Declared):
    """What stages reach."""

    stages: int  # one after the other
    trees: int  # different trees
    height: Fraction  # sends from node to node on the longest way
    algorithmic_bandwidth: Fraction  # whole data over the time, without latency, in bytes per second

    KEYS = "stages trees height algorithmic_bandwidth"


def replayed_stages(fabric: Fabric, stages: Stages) -> Found:
    """Replay the trees of a plan's stages, with what switches of its fabric can do and limits that links share."""
    problems: list[str] = []
    height, busy = 0, Fraction(0)
    follow = _Follower(stages.collective.members(stages.topology.nodes, stages.topology.switches))
    for number, (trees, does) in enumerate(zip(stages.each, stages.does.tolist(), strict=True)):
        report = verify_trees(trees, names=fabric.names, multicast=fabric.multicast, aggregation=fabric.aggregation)
        found = [*report.problems, *overloaded(fabric, loads_of(trees), trees.rate)]
        found += [] if found else follow.after(trees, DOES[does].name)
        problems += [f"stage {number}: {problem}" for problem in found]
        if found:
            break
        height += report.height
        busy += follow.size / (_group_weight(trees) * trees.rate)
    else:
        problems += follow.unfinished(fabric.names)
    if problems:
        return Found(tuple(problems))
    figures = {"height": Fraction(height), "algorithmic_bandwidth": fabric.unit / busy}
    count = len(stages.does)
    text = f"{count} stages of height {height}, {len(stages)} trees"
    return Found((), figures, StagesFound(count, len(stages), **figures), text)


def _group_weight(trees: Trees) -> int:
    """Return the weight of the trees of a group: they have been checked to be alike in that."""
    group = (trees.collective.groups or (trees.collective.group or (),))[0]
    return int(trees.weight[np.isin(trees.root, group)].sum())


class _Follower:
    """What every node has."""

    def __init__(self, nodes: IntArray) -> None:
        self._place = {node: at for at, node in enumerate(nodes.tolist())}
        self._counts = np.eye(len(nodes), dtype=np.int64)
        self._part = {node: (Fraction(0), Fraction(1)) for node in self._place}
        self.size = Fraction(0)  # what the roots of a group send in all, of the whole data

    def after(self, trees: Trees, does: str) -> list[str]:
        """Go through a stage; return what is wrong."""
        counts = self._counts.copy()
        for group in trees.collective.groups or (trees.collective.group or (),):
            places = [self._place[node] for node in group]
            parts = [self._part[node] for node in group]
            low, wide = parts[0][0], parts[0][1] - parts[0][0]
            wanted = [(low + at * wide, low + (at + 1) * wide) for at in range(len(group))]
            if parts != (wanted if does == "allgather" else [parts[0]] * len(group)):
                return [f"nodes {group} do not have the parts of the data that {does} is of"]
            if does == "allgather":
                if np.any(self._counts[places] != self._counts[places[0]]):
                    return [f"nodes {group} have not added up the same"]
                new = [(low, low + len(group) * wide)] * len(group)
            else:
                counts[places] = self._counts[places].sum(axis=0)
                cut = wide / len(group)
                new = [(low + at * cut, low + (at + 1) * cut) for at in range(len(group))]
                new = new if does == "reduce-scatter" else parts
            self._part |= dict(zip(group, new, strict=True))
            self.size = wide if does == "reduce-scatter" else wide * len(group)
        self._counts = counts
        if len({hi - lo for lo, hi in self._part.values()}) > 1:
            return ["nodes have parts of different sizes"]
        return []

    def unfinished(self, names: tuple[str, ...]) -> list[str]:
        """Say which nodes lack data in the end, or have not added up everybody once."""
        wrong = []
        for node, at in self._place.items():
            if self._part[node] != (Fraction(0), Fraction(1)):
                wrong.append(
                    f"node {names[node]} has {self._part[node][1] - self._part[node][0]} of the data in the end"
                )
            elif np.any(self._counts[at] != 1):
                other = int(np.flatnonzero(self._counts[at] != 1)[0])
                who = names[list(self._place)[other]]
                wrong.append(f"node {names[node]} has added up what {who} has {self._counts[at, other]} times")
        return wrong[:SHOWN]
