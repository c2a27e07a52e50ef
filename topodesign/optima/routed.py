"""Which scheme is the fastest on a topology, for which size: those whose messages pass through, beside ours.

Ours send to neighbours alone: SPFF and deferred schedules, and the trees of the optimum, cut into parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from topodesign.base.arguments import as_choice
from topodesign.base.claims import FASTEST_FROM
from topodesign.base.cost import Cost, lower_bounds, moore_distances
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError, TopodesignError
from topodesign.base.progress import Progress, each
from topodesign.base.records import Result, Table
from topodesign.base.units import Quantity, format_size, format_time
from topodesign.collectives import as_collective
from topodesign.plans.measure import cost_of
from topodesign.plans.unroll import unroll
from topodesign.pricing.mix import PRICED
from topodesign.pricing.routed.grid import Grid, grid_of
from topodesign.pricing.routed.schemes import FORMULAS, SCHEMES
from topodesign.pricing.routed.spread import Counted, Roads, Send, count
from topodesign.pricing.workload import Workload, as_workload, winners
from topodesign.topology.library import TopologyLike, as_topology
from topodesign.topology.topology import Topology

PARTS = (1, 4, 16)
"""In how many parts data follow one another through trees."""
MOST_TREES = 128  # nodes whose trees are counted


@dataclass(frozen=True)
class Passing(Declared):
    """A way to do a collective."""

    name: str  # the scheme
    messages: str  # ``pass`` through nodes, or go to ``neighbours`` alone
    steps: int  # communication steps
    hops: int  # links of the longest way of each step, added up
    bandwidth: Fraction  # the factor y, counted link by link
    formula: Fraction | None = None  # y by the formula of the scheme; None where it has none for this topology
    twice: int = 0  # deliveries of what is there already, which a scheme would make here and that are left out

    KEYS = (
        "name",
        key("messages", "Whether messages pass through nodes.", kind=("pass", "neighbours")),
        "steps hops bandwidth formula twice",
    )

    def seconds(self, work: Workload, size: Fraction) -> Fraction:
        """Return the time for a size: steps alpha + hops hop + y M/B."""
        return self.steps * work.alpha + self.hops * work.hop + self.bandwidth * 8 * size / work.bandwidth

    def after(self, other: Passing) -> Passing:
        """Return both one after the other."""
        both = None if self.formula is None or other.formula is None else self.formula + other.formula
        return replace(
            self,
            steps=self.steps + other.steps,
            hops=self.hops + other.hops,
            bandwidth=self.bandwidth + other.bandwidth,
            formula=both,
            twice=self.twice + other.twice,
        )


@dataclass(frozen=True)
class Timed(Declared):
    """A way with its times.

    * ``way``: what it is.
    * ``times``: seconds for each size.
    """

    way: Passing
    times: tuple[Fraction, ...]

    KEYS = ("*way", key("times_s=float(times)", "Seconds for each size."))


@dataclass(frozen=True)
class Turn(Declared):
    """From which size on which way takes the least time of those that were compared."""

    size: Fraction  # in bytes
    name: str  # the way

    KEYS = (key("size_bytes=float(size)", "Bytes from which on it is so."), "name")


@dataclass(frozen=True, repr=False)
class Routed(Result):
    """Ways to do a collective on a topology whose nodes let messages pass.

    * ``nodes``, ``degree``: N and d.
    """

    name: str  # the topology
    nodes: int
    degree: int
    collective: str  # what is done
    workload: Workload  # latencies, sizes and bandwidth
    ways: tuple[Passing, ...]  # those that apply, the one with the least time for the first size first
    refused: tuple[str, ...]  # schemes that do not apply, and why
    least: tuple[Fraction, ...]  # what nothing undercuts, in seconds for each size

    KEYS = (
        "name nodes degree collective *workload",
        key("hop_s=float(workload.hop)", "Seconds for each link that a message goes over."),
        key("sizes_bytes=number(workload.sizes)", "Sizes in bytes."),
        key("ways=timed", "The ways, that with the least time for the first size first."),
        "turns refused",
        key("lower_bound_s=float(least)", "What nothing undercuts, in seconds for each size."),
    )

    @property
    def timed(self) -> tuple[Timed, ...]:
        """All ways with their times."""
        return tuple(
            Timed(way, tuple(way.seconds(self.workload, size) for size in self.workload.sizes)) for way in self.ways
        )

    @property
    def best(self) -> Passing:
        """The one with the least time for the first size."""
        return self.ways[0]

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Which takes the least time from which size on."""
        work = self.workload
        fixed = [one.steps * work.alpha + one.hops * work.hop for one in self.ways]
        common = math.lcm(*(one.denominator for one in fixed))
        costs = [Cost(int(time * common), one.bandwidth) for time, one in zip(fixed, self.ways, strict=True)]
        found = winners(costs, work.bandwidth / (8 * common))
        return tuple(Turn(size, self.ways[place].name) for size, place in found)

    def to_records(self) -> list[dict[str, object]]:
        """Return a row for every way."""
        return [
            {
                "name": one.way.name,
                "steps": one.way.steps,
                "hops": one.way.hops,
                "bandwidth": one.way.bandwidth,
                **{f"time_s_{at}": float(time) for at, time in enumerate(one.times)},
            }
            for one in self.timed
        ]

    def heading(self) -> str:
        """Return the question."""
        what = f"{self.collective} on {self.name}: {self.nodes} nodes of degree {self.degree}"
        return f"{what}; {self.workload.setting_with('hop')}"

    def table(self) -> Table:
        """Return a row for every way, then the bound."""
        work, timed = self.workload, self.timed
        fastest = [min(one.times[at] for one in timed) for at in range(len(work.sizes))]
        rows = []
        for one in timed:
            cells = [
                f"{format_time(time)} {'*' if time == best else ' '}"
                for time, best in zip(one.times, fastest, strict=True)
            ]
            way = one.way
            known = "" if way.formula is None else "=" if way.formula == way.bandwidth else "!"
            rows.append((way.name, str(way.steps), str(way.hops), f"{float(way.bandwidth):.4f} {known or ' '}", *cells))
        rows.append(("lower bound", "", "", "", *(f"{format_time(time)}  " for time in self.least)))
        turns = ", ".join(f"{format_size(Fraction(math.ceil(turn.size)))} {turn.name}" for turn in self.turns)
        lines = [f"{FASTEST_FROM}: {turns}", "= the formula of the scheme says the same", *self.refused]
        return Table(
            self.heading(),
            ("way", "steps", "hops", "y  ", *map(format_size, work.sizes)),
            tuple(rows),
            words=frozenset(("way",)),
            compared=len(timed),
            footnote="\n".join(lines),
        )


def ways_on(topology: Topology, collective: str, progress: Progress | None = None) -> tuple[list[Passing], list[str]]:
    """Return the ways to do a collective, and what does not apply."""
    if topology.switches:
        raise ParameterError(
            "messages pass through nodes here; of a fabric with switches, --hop of compare counts them"
        )
    if topology.nodes < 3:
        raise InfeasibleError("two nodes are neighbours; nothing passes through")
    if collective == "all-to-all":
        return list(_exchanges(topology)), []
    gathering = [topology] if topology.is_duplex else [topology, topology.transpose()]
    wanted = {"allgather": (0,), "reduce-scatter": (len(gathering) - 1,), "allreduce": (len(gathering) - 1, 0)}
    ways, refused = list(_neighbours(topology, collective)), list[str]()
    try:
        ways += _trees(topology, collective)
    except TopodesignError as error:
        refused.append(f"no trees: {error}")
    for name, scheme in each(SCHEMES.items(), progress):
        grid = grid_of(topology)
        try:
            parts = scheme(grid or Grid(topology, (topology.nodes,)))
            found = [count(Roads(one, grid), parts) for one in gathering]
        except InfeasibleError as error:
            refused.append(f"no {name}: {error}")
            continue
        formula = FORMULAS[name](grid.sides) if grid is not None and name in FORMULAS else None
        both = [_passing(name, one, formula) for one in found]
        chosen = [both[place] for place in wanted[collective]]
        ways.append(chosen[0] if len(chosen) == 1 else chosen[0].after(chosen[1]))
        whole = found[0].whole
        if collective == "allreduce" and whole is not None and topology.is_duplex:
            ways.append(Passing(f"{name}, whole", "pass", found[0].steps, found[0].hops, whole))
    return ways, refused


def _passing(name: str, one: Counted, formula: Fraction | None) -> Passing:
    messages = "neighbours" if name == "bucket" else "pass"
    twice = 0 if name == "bucket" else one.twice
    return Passing(name, messages, one.steps, one.hops, one.bandwidth, formula, twice)


def _neighbours(topology: Topology, collective: str) -> Iterator[Passing]:
    """Yield SPFF schedules, and deferred ones where they cost less: every message goes over one link."""
    from topodesign.pricing.evaluation import deferred_both, price_both  # noqa: PLC0415  heavy

    spff = price_both(topology)
    try:
        deferred = deferred_both(topology)
    except TopodesignError:
        deferred = spff
    for name, (there, back) in (("SPFF", spff), ("deferred", deferred)):
        costs = {"reduce-scatter": (there,), "allgather": (back,), "allreduce": (there, back)}[collective]
        steps, y = sum(cost.steps for cost in costs), sum((cost.bandwidth for cost in costs), Fraction(0))
        if name == "SPFF" or deferred != spff:
            yield Passing(name, "neighbours", steps, steps, y)


def _trees(topology: Topology, collective: str) -> Iterator[Passing]:
    """Yield the trees of ForestColl, whose data go in so many parts behind one another: over one link in every step."""
    from topodesign.optima.forest.schedule import allreduce_schedule, forest_schedule  # noqa: PLC0415  heavy

    if topology.nodes > MOST_TREES:
        raise TooLargeError(f"trees are counted here among at most {MOST_TREES} nodes")
    if collective == "allreduce":
        trees = allreduce_schedule(topology)[0].unfold()
    else:
        trees = forest_schedule(topology, as_collective(collective))
    for parts in PARTS:
        place, rounds = unroll(trees, parts)
        cost = cost_of(place, rounds)
        name = "trees" if parts == 1 else f"trees in {parts}"
        yield Passing(name, "neighbours", cost.steps, cost.steps, cost.bandwidth)


def _exchanges(topology: Topology) -> Iterator[Passing]:
    """Yield all messages at once over shortest paths."""
    nodes, grid = topology.nodes, grid_of(topology)
    load, longest = np.zeros(len(topology.src), dtype=np.int64), 0
    roads = Roads(topology, grid)
    legs = _by_sides(grid) if grid is not None else _by_offsets(nodes)
    for sends, weight in legs:
        hops = 0
        for send in sends:
            for leg in roads.legs(send):
                ends = leg.way[:, 1:] >= 0
                link = topology.link_index(leg.way[:, :-1][ends], leg.way[:, 1:][ends])
                np.add.at(load, link, (1 if leg.half else 2) * weight)
                hops = max(hops, int(ends.sum(axis=1).max(initial=0)))
        longest = longest + hops if grid is not None else max(longest, hops)
    fullest = max(Fraction(int(one), int(room)) for one, room in zip(load, topology.capacity, strict=True))
    y = topology.degree * fullest / (2 * nodes)
    formula = None
    if grid is not None and 2 not in grid.sides:
        formula = Fraction(topology.degree * max(side * side // 4 * nodes // side for side in grid.sides), 2 * nodes)
    yield Passing("dimension order" if grid is not None else "shortest paths", "pass", 1, longest, y, formula)


def _by_sides(grid: Grid) -> Iterator[tuple[list[Send], int]]:
    """Yield for each side the moves along it: as many messages make each as there are nodes in a ring of it."""
    node = np.arange(grid.topology.nodes)
    for side, length in enumerate(grid.sides):
        moves = [np.full(len(node), by) for by in range(1, length)]
        yield [Send(grid.moved(node, side, by), side, by) for by in moves], len(node) // length


def _by_offsets(nodes: int) -> Iterator[tuple[list[Send], int]]:
    for offset in range(1, nodes):
        yield [Send((np.arange(nodes) + offset) % nodes)], 1


def routed(
    topology: TopologyLike,
    collective: str = "allreduce",
    *,
    alpha: Quantity = "10us",
    hop: Quantity = "300ns",
    sizes: Quantity | Iterable[Quantity] = "1MiB",
    bandwidth: Quantity = "100Gbps",
    progress: Progress | None = None,
) -> Routed:
    """Compare published schemes whose messages pass through nodes with schedules from neighbour to neighbour.

    A step takes alpha, ``hop`` for every link of its longest way, and the bytes of its fullest link, counted exactly.

    Parameters
    ----------
    topology
        As :func:`topodesign.evaluate` takes it. On a torus, hypercube or ring messages go along the sides; else nodes
        are a ring by their numbers to the schemes, and messages go over shortest paths.
    collective
        allreduce, allgather, reduce-scatter or all-to-all.
    alpha, sizes, bandwidth
        As for :func:`topodesign.pareto`.
    hop
        Latency of a message for each link that it goes over, the first too.
    progress
        Called now and then with the share of the work that is done.

    Raises
    ------
    ParameterError, SpecError, UnitError, TooLargeError, DisconnectedError
        If an argument cannot be read, or the topology is too large or has switches.

    Examples
    --------
    >>> from topodesign import routed
    >>> found = routed("torus(8,8)", "allgather", alpha="1us")
    >>> swing = next(one for one in found.ways if one.name == "swing")
    >>> swing.steps, swing.hops, swing.bandwidth == swing.formula
    (6, 10, True)
    """
    place = as_topology(topology)
    asked = as_choice("collective", collective, PRICED)
    work = as_workload(alpha, sizes, bandwidth, hop=hop)
    ways, refused = ways_on(place, asked, progress)
    ways.sort(key=lambda one: (one.seconds(work, work.sizes[0]), one.steps))
    least = tuple(least_seconds(place, asked, work, size) for size in work.sizes)
    name = str(place.spec) if place.spec is not None else "a topology"
    return Routed(name, place.nodes, place.degree, asked, work, tuple(ways), tuple(refused), least)


def least_seconds(topology: Topology, collective: str, work: Workload, size: Fraction) -> Fraction:
    """Return what no way undercuts: each of the bounds of latency and bandwidth, whichever is more.

    In s steps a node hears of all others over at most s messages of one after another; with d ports and messages that
    pass on, one step may do. So alpha counts once (twice where data go there and back), hop as often as the
    nearest any N - 1 others can be, and bytes as for all schedules.
    """
    nodes, degree = topology.nodes, topology.degree
    times = 2 if collective == "allreduce" else 1
    diameter = _diameter_bound(nodes, degree)
    if collective == "all-to-all":
        y = moore_distances(nodes, degree, duplex=topology.is_duplex)
    else:
        y = times * min(cost.bandwidth for cost in lower_bounds(nodes, degree, duplex=topology.is_duplex))
    return work.alpha + diameter * work.hop + y * 8 * size / work.bandwidth


def _diameter_bound(nodes: int, degree: int) -> int:
    """Return how far the farthest of so many nodes is at least."""
    reached, layer, far = 1, 1, 0
    while reached < nodes:
        layer *= max(degree, 1)
        reached += layer
        far += 1
    return far
