"""The verifier of paths: real links from every source to every destination, all of every block, nothing twice; exact.

It shares no code with what makes the paths. They are right if and only if

* every path goes from the source of its block to the destination over links, and meets no vertex twice;
* the weights of the paths of a block add up to its units, for every block of the collective, and there are no others.
  A block whose source is its destination has none. Where blocks differ in size, each has as many units as
  its pieces have together.

What the fullest link carries, over its capacity, or the fullest limit that links share, over what it lets through, is
then the time of all of them together, since every path may have its share of every link on its way to itself.
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
from topodesign.plans.replay.found import Found, marked
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
    place = np.minimum(np.searchsorted(moved, paths.block), max(0, len(moved) - 1))
    known = moved[place] == paths.block if len(moved) else np.zeros(len(paths), dtype=np.bool_)
    wanted = _pieces(paths, blocks)[source != goal] * paths.units
    carried = np.zeros(len(moved), dtype=np.int64)
    np.add.at(carried, place[known], paths.weight[known])

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
