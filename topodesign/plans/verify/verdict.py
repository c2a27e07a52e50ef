"""Findings of the verifier, and their words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.cost import Cost
from topodesign.base.declared import Declared, key
from topodesign.plans.flow import Flow
from topodesign.plans.verify.data_kernels import SHOWN
from topodesign.topology.topology import IntArray

WASTED = (key("redundant", "Units that arrive where they are already."), key("refilled", "Units added to a new sum."))


@dataclass(frozen=True, slots=True)
class StepsFound(Declared):
    """What a plan in lock-step costs."""

    steps: int  # communication steps
    bandwidth: Fraction  # bandwidth factor y
    hops: int | None  # links of the longest way of each step, added up; None where every send takes one link
    changes: int | None  # changes of circuits; None where links stay
    redundant: int
    refilled: int

    KEYS = (
        "steps",
        key("hops?", "Links of the longest way of each step, added up; over routes alone."),
        "bandwidth",
        key("changes?", "Changes of circuits; where they change alone."),
        *WASTED,
    )


@dataclass(frozen=True, slots=True)
class TreesFound(Declared):
    """What trees reach."""

    trees: int  # different trees
    k: Fraction  # trees per root
    height: Fraction  # links of the longest way in a tree
    inv_x_star: Fraction  # seconds that a byte of a shard takes at best: 1/x*
    algorithmic_bandwidth: Fraction  # whole data over the time, without latency, in bytes per second

    KEYS = "trees k height inv_x_star algorithmic_bandwidth"


@dataclass(frozen=True, slots=True)
class ChunksFound(Declared):
    """What paths, or stages of trees, reach."""

    trees: int | None  # different trees
    paths: int | None
    stages: int | None  # one after the other
    height: Fraction  # sends from node to node on the longest way
    inv_x_star: Fraction | None  # seconds that a byte of a shard takes at best: 1/x*
    algorithmic_bandwidth: Fraction  # whole data over the time, without latency, in bytes per second

    KEYS = (
        key("trees?", "Different trees."),
        key("paths?", "Paths."),
        key("stages?", "Stages, one after the other."),
        "height",
        key("inv_x_star?", "Seconds that a byte of a shard takes at best: 1/x*."),
        "algorithmic_bandwidth",
    )


@dataclass(frozen=True, slots=True)
class StreamFound(Declared):
    """What one of several collectives takes."""

    collective: str  # what is done
    size_bytes: Fraction  # data that it is for
    begin: Fraction  # seconds until it begins
    time: Fraction  # seconds until all have all of it
    redundant: int
    refilled: int

    KEYS = ("collective size_bytes begin time", *WASTED)


@dataclass(frozen=True, slots=True)
class ClockFound(Declared):
    """What a plan of timed sends takes."""

    time: Fraction  # seconds until all have all
    size_bytes: Fraction | None  # data that it is for; None of several collectives
    redundant: int | None
    refilled: int | None
    streams: list[StreamFound] | None  # the collectives, where they are several

    KEYS = (
        "time",
        key("size_bytes?", "Data that it is for, in bytes; of one collective."),
        key("redundant?", "Units that arrive where they are already; of one collective."),
        key("refilled?", "Units added to a new sum; of one collective."),
        key("streams?", "The collectives, where they are several."),
    )


@dataclass(frozen=True)
class Verdict:
    """What the replay of a plan found."""

    problems: tuple[str, ...]  # what is wrong with what moves
    # what it costs, recomputed, by the names of a plan's claim; empty where it is unknown
    figures: Mapping[str, Fraction] = field(default_factory=dict)
    details: StepsFound | TreesFound | ChunksFound | ClockFound | None = (
        None  # what documents say of it beside problems
    )
    text: str = ""  # the same for people, without the problems
    notes: tuple[str, ...] = ()  # what is right but wasteful
    redundant: int = 0  # units that arrive where they are already
    refilled: int = 0  # units that are added where a partial sum of them has been sent before
    fullest: Fraction = Fraction(0)  # of pipelines: largest part of its capacity that a link gives

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def cost(self) -> Cost:
        """Steps and bandwidth factor of a plan in lock-step."""
        return Cost(int(self.figures["steps"]), self.figures["bandwidth"])

    def format(self, what: object) -> str:
        """Return checks, findings, problems and notes in lines."""
        head = f"{what}: {'WRONG' if self.problems else 'ok'}{', ' if self.text else ''}{self.text}"
        return "\n".join([head, *(f"  {problem}" for problem in self.problems), *(f"  note: {n}" for n in self.notes)])


def describe_waste(redundant: int, refilled: int) -> tuple[str, ...]:
    """Describe needless deliveries and sums."""
    notes = []
    if redundant:
        notes.append(f"{redundant} units are delivered to nodes that have them already")
    if refilled:
        notes.append(f"{refilled} units are added at nodes that have sent their partial sum before")
    return tuple(notes)


def list_examples(examples: list[str], count: int, kind: str) -> list[str]:
    """Return the examples, and a count of the rest."""
    return examples + ([f"... and {count - len(examples)} more {kind}"] if count > len(examples) else [])


def describe_marked(bad: NDArray[np.bool_], words: Callable[[int], str], kind: str) -> list[str]:
    """Return the first bad entries, and a count of the rest."""
    rows = np.flatnonzero(bad)
    return list_examples([words(row) for row in rows[:SHOWN].tolist()], len(rows), kind)


class Words:
    """Names of what is in a flow."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._names = getattr(flow.place, "names", None)

    def node(self, node: int) -> str:
        """Return the name of a vertex."""
        return str(node) if self._names is None else self._names[node]

    def block(self, block: int) -> str:
        """Return what a block is called."""
        if self._flow.collective.pairwise:
            source, goal = divmod(block, self._flow.topology.nodes)
            return f"the block from {self.node(source)} to {self.node(goal)}"
        return f"shard {self.node(block)}"

    def units(self, lo: int, hi: int, block: int) -> str:
        """Return what units of a block are called."""
        return f"units [{lo},{hi}) of {self.block(block)}"

    def describe_time(self, row: int) -> str:
        """Return when a send happens."""
        if self._flow.model == "steps":
            return f" in step {self._flow.end[row]}"
        return f" in ticks [{self._flow.start[row]},{self._flow.end[row]})" if self._flow.model == "clock" else ""

    def send(self, row: int) -> str:
        """Return what a send is called."""
        flow = self._flow
        piece = int(flow.piece[row])
        what = self.units(int(flow.lo[piece]), int(flow.hi[piece]), int(flow.block[piece]))
        own = f"send {row}" if flow.model != "chunks" else f"piece {piece}"
        ends = f"{self.node(int(flow.src[row]))} -> {self.node(int(flow.dst[row]))}"
        return f"{own}: {ends}{self.describe_time(row)}, {what}"

    def route(self, hops: IntArray) -> str:
        """Return a way."""
        return " -> ".join(self.node(hop) for hop in hops.tolist())

    def sends(self, bad: NDArray[np.bool_], why: Callable[[int], str] | str, kind: str) -> list[str]:
        """Return the first bad sends by start, and a count."""
        rows = np.flatnonzero(bad)
        first = rows[np.argsort(self._flow.start[rows], kind="stable")[:SHOWN]].tolist()
        said = [f"{self.send(row)}: {why if isinstance(why, str) else why(row)}" for row in first]
        return list_examples(said, len(rows), kind)
