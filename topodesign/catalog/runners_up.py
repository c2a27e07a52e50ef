"""What comes next to the fastest topology of a size, by one wish after the other: steps, cabling, symmetry, wiring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from topodesign.base.cost import Cost
from topodesign.base.declared import key
from topodesign.base.errors import ParameterError, TopodesignError
from topodesign.base.progress import Progress, each
from topodesign.base.records import Result, Several, Table, shortened
from topodesign.base.spec import Spec
from topodesign.base.units import format_excess, format_size, format_time
from topodesign.catalog.candidates import candidates
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.rows import Row
from topodesign.pricing.evaluation import price_both
from topodesign.pricing.workload import FACTORS, TIMES, Runtimes, Workload
from topodesign.topology.library import build

if TYPE_CHECKING:
    from topodesign.topology.topology import Topology


@dataclass(frozen=True, repr=False)
class RunnerUp(Result):
    """A topology that comes next to the fastest.

    * ``spec``, ``cost``, ``duplex``: the topology, what half of its allreduce costs, the mean of reduce-scatter and
      allgather, and whether duplex cabling wires it.
    """

    wish: str  # what it is good at
    place: int  # its place among those, from 1
    over: Fraction  # time at the first size over that of the fastest
    spec: Spec
    cost: Cost
    duplex: bool
    transitive: bool  # whether the construction proves that all nodes are alike
    patches: int  # patches to be plugged
    lengths: int  # different lengths of patches, with nodes in a circle by number
    allreduce: tuple[Fraction, ...]  # seconds, for each size of data of the ``workload``
    workload: Workload

    KEYS = (
        "wish place",
        key("spec", "What names and rebuilds it."),
        *FACTORS,
        key("simplex=not(duplex)", "Whether links go one way only."),
        "vertex_transitive=transitive patches cable_lengths=lengths",
        *TIMES,
        "over_fastest=float(over)",
    )
    ROW = "wish place spec steps=cost.steps bandwidth=cost.bandwidth duplex vertex_transitive=transitive patches"
    ROW += " lengths over"
    SHARED = "runner_up"

    @property
    def timed(self) -> Runtimes:
        """Seconds of an allreduce with their sizes."""
        return self.workload.timed(self.allreduce)


@dataclass(frozen=True, repr=False)
class RunnersUp(Several[RunnerUp]):
    """The next best topologies, wish by wish."""

    workload: Workload  # what times are for
    fastest: RunnerUp  # what they come next to, with the place 0
    entries: tuple[RunnerUp, ...]  # the topologies, in the order of :data:`WISHES`

    def heading(self) -> str:
        """Return what they are taken from."""
        return "runners-up among the rows of the catalog and the known families"

    ROWS = "entries"

    def table(self) -> Table:
        """Return the table that people see: each topology once, with all that it is next by."""
        size = format_size(self.workload.sizes[0])
        wishes: dict[Spec, list[str]] = {}
        for one in (self.fastest, *self.entries):
            wishes.setdefault(one.spec, []).append(one.wish if one.place < 2 else f"{one.wish} ({one.place})")
        first = {one.spec: one for one in (*self.entries[::-1], self.fastest)}
        rows = tuple(
            (
                ", ".join(wishes[one.spec]),
                str(one.cost.steps),
                f"{float(one.cost.bandwidth):.4f}",
                f"{format_time(one.allreduce[0])} {format_excess(one.over):>7}",
                str(one.patches),
                str(one.lengths),
                shortened(str(one.spec)),
            )
            for one in map(first.__getitem__, wishes)
        )
        return Table(
            self.heading(),
            ("next by", "steps", "y", size, "patches", "lengths", "topology"),
            rows,
            words=frozenset(("next by", "topology")),
            footnote="percentages are over the first row; (2) is the second place by a wish. wiring: by patches (a "
            "cord for two opposite links, one for a link of one way), then by lengths of cable where nodes stand "
            "in a circle by number; less than twice the time of the first row.",
        )


_Order = Callable[[RunnerUp], tuple[Any, ...]]


def _by_time(one: RunnerUp) -> tuple[Any, ...]:
    return (one.allreduce[0], *_by_steps(one))


def _by_steps(one: RunnerUp) -> tuple[Any, ...]:
    return one.cost.steps, one.cost.bandwidth, len(str(one.spec)), str(one.spec)


_ORDERS: dict[str, tuple[_Order, Callable[[RunnerUp], bool] | None]] = {
    "time": (_by_time, None),
    "steps": (_by_steps, None),
    "bandwidth": (lambda one: (one.cost.bandwidth, *_by_steps(one)), None),
    "duplex": (_by_time, lambda one: one.duplex),
    "vertex-transitive": (_by_time, lambda one: one.transitive),
    "wiring": (lambda one: (one.patches, one.lengths, *_by_time(one)), None),
}
_TOO_SLOW = 2
"""How many times longer than the fastest it may take and still be easy to wire: of rings nobody has to be told."""
WISHES = tuple(_ORDERS)
"""What a runner-up may be next in: the least time for the first size of data; the fewest steps; the least bandwidth
factor; the least time of those that duplex cabling wires, and of those proven to be vertex-transitive; and the fewest
patch cords, then the fewest lengths of cable, of those that take less than twice as long as the fastest."""


def runners_up(
    count: int,
    fastest: Spec,
    *,
    nodes: int,
    degree: int,
    workload: Workload,
    duplex: bool,
    catalog: Catalog,
    progress: Progress | None = None,
) -> RunnersUp:
    """Return the next best topologies of a size for every wish, of all rows of the catalog and all known families."""
    found = list(candidates(nodes, degree, duplex=duplex, catalog=catalog))
    rows = [row for spec, row in found if spec == fastest and row is not None]  # of one step and of two
    row = min(rows, key=lambda row: workload.allreduce(row.cost, row.allgather)[0], default=None)
    first = _known(fastest, row, nodes, degree, workload)
    if first is None:
        raise ParameterError(f"{fastest} is no topology of {nodes} nodes and degree {degree}")
    found = [pair for pair in found if pair[0] != fastest]
    known = []
    for spec, row in each(found, progress):
        one = _known(spec, row, nodes, degree, workload)
        if one is not None and (one.duplex or not duplex):
            known.append(one)
    least = first.allreduce[0]
    quick = [one for one in known if one.allreduce[0] < _TOO_SLOW * least]
    return RunnersUp(
        workload,
        first,
        tuple(
            replace(one, wish=wish, place=place, over=one.allreduce[0] / least)
            for wish, (order, suits) in _ORDERS.items()
            for place, one in enumerate(
                sorted(filter(suits, quick if wish == "wiring" else known), key=order)[:count], start=1
            )
        ),
    )


def _known(spec: Spec, row: Row | None, nodes: int, degree: int, workload: Workload) -> RunnerUp | None:
    """Return what there is to say of a topology; None if it cannot be built, is of another size, or not connected."""
    try:
        topology = build(spec)
        if (topology.nodes, topology.degree) != (nodes, degree):
            return None
        there, back = price_both(topology) if row is None else (row.cost, row.allgather)
    except TopodesignError:
        return None
    times = workload.allreduce(there, back)
    duplex, alike = topology.is_duplex, topology.vertex_transitive
    cost = there.averaged(back)
    return RunnerUp("fastest", 0, Fraction(1), spec, cost, duplex, alike, *wiring_of(topology), times, workload)


def wiring_of(topology: Topology) -> tuple[int, int]:
    """Return how many patch cords a topology takes, and how many lengths if its nodes stand in a circle in order.

    A pair of opposite links takes one patch, a link of one way one of its own, and a link of capacity c is c of them.
    Links from u to v and from s to t have cables of one length if u and v are as many places apart, either way round,
    as s and t.
    """
    real = topology.src != topology.dst
    u, v, c = topology.src[real], topology.dst[real], topology.capacity[real]
    apart = np.minimum((v - u) % topology.nodes, (u - v) % topology.nodes)
    there = dict(zip(zip(u.tolist(), v.tolist(), strict=True), c.tolist(), strict=True))
    one_way = sum(max(0, many - there.get((b, a), 0)) for (a, b), many in there.items())
    return one_way + (int(c.sum()) - one_way) // 2, len(np.unique(apart))
