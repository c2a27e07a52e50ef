"""Next best topologies of a size for each criterion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from topodesign.base.declared import key
from topodesign.base.progress import Progress, iterate_with_progress
from topodesign.base.records import Result, ResultSequence, Table, shorten_text
from topodesign.base.units import format_excess, format_time
from topodesign.finder.candidate import Entry
from topodesign.pricing.workload import TIMES, Runtimes

if TYPE_CHECKING:
    from topodesign.topology.topology import Topology

_TOO_SLOW = 2
"""How many times longer than the fastest it may take and still count as easy to wire: slower rings need no mention."""


@dataclass(frozen=True, repr=False)
class RunnerUp(Result):
    """Next best topology by a criterion."""

    wish: str  # what it is good at
    place: int  # its place among those, from 1
    entry: Entry
    over: Fraction  # time for the first question over that of the fastest

    KEYS = (
        "wish place",
        key("spec=entry.spec", "What names and rebuilds it."),
        key("steps=entry.mean.steps", "Communication steps; the latency is alpha times this."),
        key("bandwidth=entry.mean.bandwidth", "Bandwidth factor y, the mean of reduce-scatter and allgather."),
        key("simplex=not(entry.duplex)", "Whether links go one way only."),
        "vertex_transitive=transitive patches cable_lengths=lengths",
        *TIMES,
        "over_fastest=float(over)",
    )
    ROW = "wish place spec=entry.spec steps=entry.mean.steps bandwidth=entry.mean.bandwidth duplex=entry.duplex"
    ROW += " vertex_transitive=transitive patches lengths over"
    SHARED = "runner_up"

    @property
    def timed(self) -> Runtimes:
        """Seconds of an allreduce, with sizes."""
        return self.entry.timed

    @property
    def transitive(self) -> bool:
        """Whether the construction proves vertex transitivity."""
        return bool(self.entry.topology.vertex_transitive)

    @cached_property
    def wiring(self) -> tuple[int, int]:
        """Numbers of patches and of cable lengths."""
        return count_patches(self.entry.topology)

    @property
    def patches(self) -> int:
        """Number of patches to plug."""
        return self.wiring[0]

    @property
    def lengths(self) -> int:
        """Number of different patch lengths, with nodes in a circle by number."""
        return self.wiring[1]


@dataclass(frozen=True, repr=False)
class RunnersUp(ResultSequence[RunnerUp]):
    """Next best topologies for each criterion."""

    fastest: RunnerUp  # what they come next to, with the place 0
    entries: tuple[RunnerUp, ...]  # the topologies, in the order of :data:`WISHES`
    among: str = "the catalog entries and the known families"  # what they are taken from

    ROWS = "entries"

    def heading(self) -> str:
        """Return the scope of the comparison."""
        return f"next best by each criterion, among {self.among}"

    def table(self) -> Table:
        """Return a table of topologies, each with all its criteria."""
        wishes: dict[str, list[str]] = {}
        for one in (self.fastest, *self.entries):
            wishes.setdefault(one.entry.spec, []).append(one.wish if one.place < 2 else f"{one.wish} #{one.place}")
        first = {one.entry.spec: one for one in (*self.entries[::-1], self.fastest)}
        rows = tuple(
            (
                ", ".join(wishes[one.entry.spec]),
                str(one.entry.cost.steps),
                f"{float(one.entry.factor):.4f}",
                f"{format_time(one.entry.times[0])} {format_excess(one.over):>7}",
                str(one.patches),
                str(one.lengths),
                shorten_text(one.entry.spec),
            )
            for one in map(first.__getitem__, wishes)
        )
        title = self.fastest.entry.question.objective.titles[0]
        return Table(
            self.heading(),
            ("next by", "steps", "BW factor", title, "patches", "lengths", "topology"),
            rows,
            words=frozenset(("next by", "topology")),
            footnote="percentages are over the first row; #2 is the second best by that criterion. wiring: fewest "
            "patches (a cord for two opposite links or one one-way link), then fewest lengths of cable with the nodes "
            "in a circle by number, at less than twice the time of the first row.",
        )


_Order = Callable[[RunnerUp], tuple[Any, ...]]


def _by_steps(one: RunnerUp) -> tuple[Any, ...]:
    return one.entry.cost.steps, one.entry.factor, len(one.entry.spec), one.entry.spec


def _by_time(one: RunnerUp) -> tuple[Any, ...]:
    return (one.entry.times[0], *_by_steps(one))


_ORDERS: dict[str, tuple[_Order, Callable[[RunnerUp], bool] | None]] = {
    "time": (_by_time, None),
    "steps": (_by_steps, None),
    "bandwidth": (lambda one: (one.entry.factor, *_by_steps(one)), None),
    "duplex": (_by_time, lambda one: one.entry.duplex),
    "vertex-transitive": (_by_time, lambda one: one.transitive),
    "wiring": (lambda one: (*one.wiring, *_by_time(one)), lambda one: one.over < _TOO_SLOW),
}
WISHES = tuple(_ORDERS)
"""What a runner-up may be next in: the least time for the first question; the fewest steps; the least bandwidth factor;
the least time of those that duplex cabling wires, and of those proven to be vertex-transitive; and the fewest patch
cords, then the fewest lengths of cable, of those that take less than twice as long as the fastest."""


def pick_runners_up(count: int, fastest: Entry, others: Iterable[Entry], progress: Progress | None = None) -> RunnersUp:
    """Return the next best entries of a size for every criterion."""
    least = fastest.times[0]
    known = [RunnerUp("", 1, one, one.times[0] / least) for one in others if one.spec != fastest.spec]
    found = []
    for wish, (order, suits) in iterate_with_progress(list(_ORDERS.items()), progress):
        best = sorted(filter(suits, known), key=order)[:count]
        found += [RunnerUp(wish, place, one.entry, one.over) for place, one in enumerate(best, start=1)]
    return RunnersUp(RunnerUp("fastest", 0, fastest, Fraction(1)), tuple(found))


def count_patches(topology: Topology) -> tuple[int, int]:
    """Count the patch cords and their lengths, with nodes in a circle.

    A pair of opposite links takes one patch, a link of one way one of its own, and a link of capacity c is c of them.
    Links from u to v and from s to t have cables of one length if u and v are as many places apart, either way round,
    as s and t.
    """
    import numpy as np  # noqa: PLC0415  heavy, and looking up needs none of it

    real = topology.src != topology.dst
    u, v, c = topology.src[real], topology.dst[real], topology.capacity[real]
    apart = np.minimum((v - u) % topology.nodes, (u - v) % topology.nodes)
    there = dict(zip(zip(u.tolist(), v.tolist(), strict=True), c.tolist(), strict=True))
    one_way = sum(max(0, many - there.get((b, a), 0)) for (a, b), many in there.items())
    return one_way + (int(c.sum()) - one_way) // 2, len(np.unique(apart))
