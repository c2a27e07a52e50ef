"""Wirings for ``pareto --boxes``: proven rates, plans and switched rails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from topodesign.base.arguments import as_ascending, as_integer
from topodesign.base.declared import Declared, key, row_of
from topodesign.base.dominance import find_unbeaten
from topodesign.base.errors import InfeasibleError, ParameterError, TopodesignError
from topodesign.base.options import read, takes
from topodesign.base.progress import Progress, iterate_with_progress
from topodesign.base.records import Result, ResultSequence, Table, shorten_text
from topodesign.base.spec import parse
from topodesign.base.units import Quantity, as_count, as_size, format_size, format_time
from topodesign.base.wording import count_noun, with_article
from topodesign.collectives import ALL_TO_ALL
from topodesign.fabrics.boxes import Box, BoxSpec, box_of, get_box, join
from topodesign.fabrics.fabric import OWN_LATENCIES, Fabric
from topodesign.fabrics.files import read_fabric
from topodesign.fabrics.networks import names_file
from topodesign.fabrics.places import as_topology
from topodesign.finder.options import BoxOptions
from topodesign.finder.survey import Missing
from topodesign.optima.boxes import ANY_ORDER, BoxRates, box_rates, carries_anything, exchange_bound
from topodesign.optima.optimum import solve
from topodesign.optima.question import make_question
from topodesign.plans.plan import Plan
from topodesign.plans.time.simulate import simulate
from topodesign.pricing.mix import PRICED, Mix, read_mix
from topodesign.pricing.workload import as_workload
from topodesign.report.boxes.candidates import Graph, NicNumbering, graphs_of, number_nics
from topodesign.report.comparison.compare import Missing as MissingName
from topodesign.report.comparison.contender import found_contender, why_unfit
from topodesign.report.comparison.everyday import SWITCHED
from topodesign.schedulers.method import sizes_of
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.library import TopologyLike
from topodesign.topology.topology import Topology

Shown: TypeAlias = "tuple[tuple[Fraction, ...], Mix | None, None, str]"
"""What times of wirings are of: sizes, a workload, no cables yet, and a collective."""

_ALLREDUCE: Shown = ((), None, None, "allreduce")
_MAX_ALIKE = 2  # graphs of the same all-to-all that are looked at where the inside is narrow


@dataclass(frozen=True, repr=False)
class BoxDesign(Result):
    """Wiring of boxes, or their switched rails."""

    name: str  # the graph of boxes, or rails
    fabric: Fabric  # the fabric, whose name is its spec
    rates: BoxRates  # what it reaches, proved
    tried: int  # numberings of NICs that were priced; 1 where any is as good
    duplex: bool  # whether duplex cables wire it
    sizes: tuple[Fraction, ...]  # bytes that times are for
    workload: Mix | None = None  # what a step sends that wirings are ranked for, if one was given
    boxed: BoxSpec | None = None  # which NIC has which cable; None of rails
    collective: str = "allreduce"  # what the times in tables are of
    method: str = "boxes"  # how plans are made
    switched: bool = False  # whether there are switches between NICs

    KEYS = (
        "topology=name",
        key("fabric=fabric.name", "The spec of it all, which `optimum`, `schedule` and others take."),
        key("nodes=len(fabric.compute)", "Nodes of all boxes."),
        key("*rates"),
        "nic_orders=tried",
        key("simplex=not(duplex)", "Whether cables go one way only."),
        "plans=timed step_s?=step_s",
    )

    @cached_property
    def _plans(self) -> dict[tuple[str, Fraction | None], Plan]:
        return {}

    def plan(self, collective: str, size: Quantity) -> Plan:
        """Return the lifted plan of a collective for a size in bytes.

        ``schedule --algorithm boxes`` returns the same plan.
        """
        asked = collective, None if collective == ALL_TO_ALL.name else as_size(size)  # a flow is for any size
        if asked not in self._plans:
            self._plans[asked] = schedule(self.fabric, collective, method=self.method, size=as_size(size))
        return self._plans[asked]

    def time(self, collective: str, size: Quantity) -> Fraction:
        """Return the seconds of a lifted plan, including message gaps."""
        return time_lifted(self.plan(collective, size), as_size(size))

    @property
    def timed(self) -> tuple[PlanTime, ...]:
        """Lifted plans with times, for collectives that have one."""
        asked = [] if self.workload is None else [(one.size, one.collective) for one in self.workload.shares]
        asked += [(size, collective) for size in self.sizes for collective in PRICED]
        found = []
        for size, collective in asked:
            with contextlib.suppress(TopodesignError):  # which has no lifted plan
                found.append(PlanTime(collective, size, self.time(collective, size)))
        return tuple(found)

    @cached_property
    def step(self) -> Fraction | None:
        """Seconds of a step of the workload; None without all lifted plans.

        Collectives run in sequence.
        """
        if self.workload is None:
            return None
        try:
            return sum((one.count * self.time(one.collective, one.size) for one in self.workload.shares), Fraction(0))
        except TopodesignError:
            return None

    @property
    def step_s(self) -> float | None:
        """With --workload: seconds of a step; null without all lifted plans."""
        return None if self.step is None else float(self.step)

    def beats(self, others: Sequence[BoxDesign]) -> bool:
        """Return whether all others are slower in the step or collective."""
        try:
            return all(self.pace < one.pace for one in others)
        except TopodesignError:
            return False

    @cached_property
    def pace(self) -> Fraction:
        """Seconds of the step, or of the collective at the largest size."""
        if self.workload is None:
            return self.time(self.collective, max(self.sizes))
        return Fraction(10**9) if self.step is None else self.step

    def order(self, *, by_pace: bool) -> tuple[bool, Fraction, Fraction]:
        """Return a sort key: the fastest first, then the fastest all-to-all."""
        exchange = -(self.rates.least or Fraction(0))
        try:
            unknown = self.workload is not None and self.step is None
            return unknown, self.pace if by_pace else Fraction(0), exchange
        except TopodesignError:
            return True, Fraction(0), exchange

    def heading(self) -> str:
        """Return the spec of the wiring."""
        return self.fabric.name


def time_lifted(plan: Plan, size: Fraction) -> Fraction:
    """Return the seconds of a lifted plan at the boxes' or the usual latencies."""
    if "time" in plan.claim:
        return plan.claim["time"]
    return simulate(plan, size=size, alpha=OWN_LATENCIES if plan.fabric.latency else None).time


@dataclass(frozen=True, slots=True)
class PlanTime(Declared):
    """Time of a plan."""

    collective: str  # what is done
    size: Fraction  # data, in bytes
    time: Fraction

    KEYS = (
        "collective size_bytes=number(size)",
        key("time_s=float(time)", "Seconds, rounded."),
        key("time", "Seconds, exactly."),
    )


@dataclass(frozen=True, repr=False)
class BoxFrontier(Result):
    """Pareto-optimal wirings in steps and all-to-all, plus quicker ones.

    The first has the fastest step of the workload, or else the fastest all-to-all.

    * ``boxes``, ``ports``: how many, and cables of each.
    """

    box: Box  # what the boxes are
    boxes: int
    ports: int
    split: int  # ports of a NIC
    entries: tuple[BoxDesign, ...]  # those that no other beats: the fastest step first, or else the fastest all-to-all
    rivals: tuple[BoxDesign, ...]  # the same boxes with switches between their NICs
    compared: int  # graphs of boxes that were priced
    bound: Fraction  # all-to-all that no graph of as many boxes and ports exceeds, bytes per second
    workload: Mix | None = None  # with --workload: what a step sends
    missing: tuple[MissingName, ...] = ()  # with --add: names of which there is nothing of this size

    KEYS = (
        key("box=box.name", "What the boxes are."),
        key("boxes", "How many."),
        key("degree=ports", "Cables out of, and into, each box."),
        "split all_to_all_bound=bound workload? topologies=entries",
        key("rivals", "The same boxes with switches between NICs."),
        "compared verdict missing?=or_null(missing)",
    )
    SHARED = "box_frontier"

    @property
    def best(self) -> BoxDesign:
        """First wiring."""
        return self.entries[0]

    @property
    def verdict(self) -> str:
        """First wiring, with its gap to the bound."""
        if self.workload is not None:
            return self._step_verdict()
        reached = self.best.rates.least
        if reached is None:
            return f"{shorten_text(self.best.name)}: whether the inside of {self.box.name} carries it is left open"
        left = self.bound / reached - 1
        room = "which meets the bound of any graph" if not left else f"any graph has at most {float(left):.1%} more"
        return f"{shorten_text(self.best.name)}: all-to-all {_rate(reached)} GB/s, {room}{self._quicker()}"

    def _quicker(self) -> str:
        """Describe a quicker wiring for the largest size, if any."""
        try:
            quickest = min(self.entries, key=lambda one: one.pace)
        except TopodesignError:
            return ""
        if quickest.pace == self.best.pace:
            return ""
        what = with_article(quickest.collective)
        less, size = float(1 - quickest.pace / self.best.pace), format_size(max(self.best.sizes))
        return f"; {shorten_text(quickest.name)} takes {less:.1%} less for {what} of {size}"

    def _step_verdict(self) -> str:
        """Describe the first wiring's step time and its rivals."""
        if self.best.step is None:
            return f"no wiring has lifted plans of all of {self.workload.words if self.workload else ''}"
        words = f"{shorten_text(self.best.name)}: a step takes {format_time(self.best.step)}"
        for one in self.rivals:
            if one.step is not None:
                share = float(one.step / self.best.step - 1)
                words += f"; {shorten_text(one.name)} {abs(share):.1%} {'more' if share >= 0 else 'less'}"
        return words

    def heading(self) -> str:
        """Return the question."""
        return f"{count_noun(self.boxes, 'box', 'boxes')} {self.box.name} with {count_noun(self.ports, 'cable')} each"

    def table(self) -> Table:
        """Return a table of wirings and their rivals."""
        sizes = self.best.sizes
        asked = ["step"] * (self.workload is not None) + [format_size(size) for size in sizes]
        columns = ("allgather GB/s", "all-to-all", *asked, "cabling", "boxes as")
        rows = []
        for one in (*self.entries, *self.rivals):
            times = ["-" if one.step is None else format_time(one.step)] if self.workload is not None else []
            for size in sizes:
                try:
                    times.append(format_time(one.time(one.collective, size)))
                except TopodesignError:
                    times.append("-")
            cabling = "duplex" if one.duplex else "simplex"
            if one.switched:
                cabling = "switched"
            rates = one.rates
            exchange = "-" if rates.least is None else _rate(rates.least)
            rows.append((f"{rates.allgather_gbps:.1f}", exchange, *times, cabling, shorten_text(one.name)))
        rows.append(("", _rate(self.bound), *("" for _ in asked), "", "bound of any graph"))
        what = f"times of {self.best.collective}" if self.workload is None else f"a step is {self.workload.words}"
        return Table(
            f"{self.heading()}; {what}",
            columns,
            tuple(rows),
            words=frozenset(("cabling", "boxes as")),
            compared=len(self.entries),
            footnote="\n".join([self.verdict, *(f"{one.name}: {one.why}" for one in self.missing)]),
        )


@dataclass(frozen=True, repr=False)
class BoxSurvey(ResultSequence[BoxFrontier]):
    """Best wirings for several numbers of boxes or of cables per box."""

    frontiers: tuple[BoxFrontier, ...]  # the answer for every size that there is something of
    missing: tuple[Missing, ...]  # sizes without a wiring

    KEYS = (key("sizes=frontiers", "The answer for each size."), "missing")
    MEMBERS = "frontiers"

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for the best wiring of every size."""
        return [row_of(one.best) | {"boxes": one.boxes, "degree": one.ports} for one in self.frontiers]

    def heading(self) -> str:
        """Return the question."""
        return f"the best wiring of boxes {self.frontiers[0].box.name}, of each number of boxes and cables"

    def table(self) -> Table:
        """Return a table of the first wiring and rivals per size."""
        tables = [one.table() for one in self.frontiers]
        rows = []
        for one, table in zip(self.frontiers, tables, strict=True):
            kept = [table.rows[0], *table.rows[len(one.entries) : len(one.entries) + len(one.rivals)]]
            rows += [(str(one.boxes), str(one.ports), *row) for row in kept]
        without = [f"{one.nodes} boxes: {one.why}" for one in self.missing]
        columns, words = ("boxes", "cables", *tables[0].columns), tables[0].words
        return Table(self.heading(), columns, tuple(rows), words, footnote="\n".join(without))


def survey_boxes(
    box: str | Path | Fabric | Box,
    boxes: int | Iterable[int],
    ports: int | Iterable[int] | None = None,
    *,
    candidates: Iterable[TopologyLike] = (),
    **options: Any,
) -> BoxSurvey:
    """Find the best wirings over a grid of box and cable counts.

    Parameters
    ----------
    box
        As for :func:`topodesign.pareto_boxes`.
    boxes, ports
        One of each, or several that ascend.
    candidates
        Graphs of boxes, each of one of the numbers of boxes.
    **options
        As for :func:`topodesign.pareto_boxes`.

    Raises
    ------
    InfeasibleError
        If there is no wiring of any of the sizes.

    Examples
    --------
    >>> from topodesign import survey_boxes
    >>> [one.best.rates.gbps for one in survey_boxes("dgx_h100", range(3, 5))]
    [75.0, 62.5]
    """
    cables = [None] if ports is None else as_ascending("degree", ports)
    own = [as_topology(one) for one in candidates]
    found, missing = list[BoxFrontier](), list[Missing]()
    for count in as_ascending("number of boxes", boxes):
        for degree in cables:
            try:
                mine = [one for one in own if one.nodes == count]
                found.append(pareto_boxes(box, count, degree, candidates=mine, **options))
            except (ParameterError, InfeasibleError) as error:
                missing.append(Missing(count, degree, str(error)))
    if not found:
        raise InfeasibleError(f"there is no wiring of any of these sizes; {missing[0].why}")
    return BoxSurvey(tuple(found), tuple(missing))


def _rate(rate: Fraction) -> str:
    return f"{float(rate / 10**9):.2f}"


def as_box(value: str | Path | Fabric | Box) -> Box:
    """Return a box from a preset, file or fabric."""
    if isinstance(value, Box):
        return value
    if isinstance(value, Fabric):
        return box_of(value)
    if not isinstance(value, str | Path):
        raise ParameterError(f"a box is a preset such as dgx_h100, a fabric or its file, not {value!r:.60}")
    if isinstance(value, Path) or names_file(value):
        return box_of(read_fabric(Path(value)), str(value))
    return get_box(parse(value if "(" in value else f"{value}()"))


@takes(BoxOptions)
def pareto_boxes(
    box: str | Path | Fabric | Box,
    boxes: int,
    ports: int | None = None,
    *,
    split: int = 1,
    bidirectional: bool = False,
    candidates: Iterable[TopologyLike] = (),
    against: Iterable[str] = (),
    progress: Progress | None = None,
    **options: Unpack[BoxOptions],
) -> BoxFrontier:
    """Find the best wirings of boxes: graph, NIC cables and plan.

    Parameters
    ----------
    box
        A preset without the number of boxes (``dgx_h100``), a fabric, of which it is the first box, or the file of one,
        whose NICs are links to a switch named ``network``.
    boxes
        How many.
    ports
        Cables out of, and into, each box; one for each port of its NICs if None.
    split
        Ports that each NIC is split into.
    bidirectional
        Only graphs that duplex cables can wire.
    candidates
        Further graphs of boxes: specs, topologies, networkx graphs or arrays.
    against
        Everyday names or specs to compare with: topologies of boxes, and switched fabrics between all accelerators.
    progress
        Called now and then with the share of the work that is done.
    **options
        Collective or workload that lifted plans are timed and ranked by, sizes, and the seed of the search for the
        cables of NICs, where the inside of a box is narrow.

    Raises
    ------
    ParameterError, SpecError, FileFormatError
        If the box is none, or an argument does not fit.
    InfeasibleError
        If no graph of this size is known.

    Examples
    --------
    >>> from topodesign import pareto_boxes
    >>> found = pareto_boxes("dgx_h100", 4)
    >>> print(found.best.fabric.name, found.best.rates.gbps)
    boxes(dgx_h100,dicirculant(4,1,1,1,2,2,3,3,3)) 62.5
    """
    one, count = as_box(box), as_count(boxes, "number of boxes")
    most = len(one.nics) * as_integer("split", split, 1, 16)
    degree = most if ports is None else as_integer("degree", ports, 1, 2**20)
    if degree > most:
        raise ParameterError(f"{one.name} has {most} ports, not {degree}; split each NIC into more, or ask for fewer")
    if count < 2:
        raise ParameterError("boxes are wired to each other: give two or more")
    given = read(BoxOptions, options, "pareto_boxes")
    workload, seed, collective = given["workload"], given["seed"] or 0, given["collective"] or "allreduce"
    mix = None if workload is None else workload if isinstance(workload, Mix) else read_mix(workload)
    timed = mix is None or "sizes" in options or given["collective"] is not None
    asked = sizes_of(given["sizes"]) if timed else ()
    shown = (asked, mix, None, collective)
    wirings, compared = find_wirings(
        one, count, degree, split=split, duplex=bidirectional, own=candidates, seed=seed, shown=shown, progress=progress
    )
    entries = list[BoxDesign]()
    for design, kept in wirings:
        if kept or design.beats(entries):
            entries.append(design)
    by_pace = mix is not None or given["collective"] is not None
    entries.sort(key=lambda entry: entry.order(by_pace=by_pace))
    whole = one.nic_bandwidth * degree / (most * len(one.nodes))
    bound = whole / exchange_bound(count, degree)
    rivals, without = list(find_rails(one, count, shown)), list[MissingName]()
    for name in against:
        try:
            rivals.append(_rival(one, count, degree, name, shown))
        except InfeasibleError as error:
            without.append(MissingName(name, str(error)))
    return BoxFrontier(one, count, degree, split, tuple(entries), tuple(rivals), compared, bound, mix, tuple(without))


def find_wirings(
    box: Box,
    boxes: int,
    ports: int,
    *,
    split: int = 1,
    duplex: bool = False,
    own: Iterable[TopologyLike] = (),
    seed: int = 0,
    shown: Shown = _ALLREDUCE,
    progress: Progress | None = None,
) -> tuple[list[tuple[BoxDesign, bool]], int]:
    """Return wirings of boxes and the number of graphs compared.

    No plans are made.

    Each says whether no other beats it in steps between boxes and all-to-all; the one that is not is the last, and may
    be quicker for large data.

    Raises
    ------
    InfeasibleError
        If no graph of this size is known.
    """
    graphs = graphs_of(boxes, ports, duplex=duplex, own=own)
    if not graphs:
        raise InfeasibleError(f"no graph of {boxes} boxes with {ports} cables each is known; try other ports")
    kept = find_unbeaten(graphs, lambda graph: (graph.factor, graph.diameter), lambda graph: len(graph.spec))
    wirings: list[tuple[BoxDesign, bool]] = []
    for best in iterate_with_progress([*kept, *_even(graphs, kept)], progress):
        graph = best
        found = _number_box(box, graph, split, duplex=duplex, seed=seed)
        if found.rates.inside != ANY_ORDER:  # of graphs that are as good for all-to-all one may fit the inside better
            alike = [other for other in graphs if other.factor == graph.factor and other is not graph]
            for other in alike[:_MAX_ALIKE]:
                more = _number_box(box, other, split, duplex=duplex, seed=seed)
                if (more.rates.least or 0) > (found.rates.least or 0):
                    graph, found = other, more
        boxed = BoxSpec(box, graph.topology, split, found.shift, found.swaps)
        both = graph.topology.is_duplex and found.shift == 0
        sizes, mix, _, collective = shown
        design = BoxDesign(graph.spec, boxed.fabric, found.rates, found.tried, both, sizes, mix, boxed, collective)
        wirings.append((design, best in kept))
    return wirings, len(graphs)


def _number_box(box: Box, graph: Graph, split: int, *, duplex: bool, seed: int) -> NicNumbering:
    start = box_rates(box, graph.topology, split, known=(graph.lower, graph.upper))
    return number_nics(box, graph.topology, split, start, duplex=duplex, seed=seed)


def _even(graphs: Sequence[Graph], kept: Sequence[Graph]) -> list[Graph]:
    """Return the graph of minimum bandwidth, then steps, unless already kept."""
    from topodesign.pricing.closed_form import price  # noqa: PLC0415  heavy

    costs = [(price(one.topology), one) for one in graphs]
    even = min(costs, key=lambda one: (one[0].bandwidth / one[1].used, one[0].steps))[1]
    return [] if even in kept else [even]


def _rival(box: Box, boxes: int, ports: int, name: str, shown: Shown) -> BoxDesign:
    """Return boxes on another topology, or all accelerators on a fabric."""
    work = as_workload(bandwidth=box.nic_bandwidth * 8 / len(box.nodes))
    accelerators = boxes * len(box.nodes)
    size = (accelerators, 1) if name in SWITCHED else (boxes, ports)
    place = found_contender(name, work, *size)[1].place
    reason = why_unfit(place, boxes if isinstance(place, Topology) else accelerators, ports)
    if reason is not None:
        raise InfeasibleError(reason)
    if isinstance(place, Topology):
        return BoxDesign(name, join(box, place), box_rates(box, place), 1, place.is_duplex, *shown)
    most = box.nic_bandwidth * boxes / ((boxes - 1) * len(box.nodes))
    rates = BoxRates(solve(make_question(place)).bandwidth, None, most, "open")
    return BoxDesign(f"{name}, switched", place, rates, 1, True, *shown, "auto", switched=True)


def find_rails(box: Box, boxes: int, shown: Shown = _ALLREDUCE) -> tuple[BoxDesign, ...]:
    """Return the same boxes on the switches of their preset."""
    from topodesign.fabrics.presets import build_fabric  # noqa: PLC0415

    try:
        name, _, rest = box.name.partition("(")
        fabric = build_fabric(f"{name}({boxes}{',' + rest if rest else ')'}")
    except TopodesignError:
        return ()
    most = box.nic_bandwidth * boxes / ((boxes - 1) * len(box.nodes))
    same = carries_anything(box, most)
    rates = BoxRates(
        solve(make_question(fabric)).bandwidth, most if same else None, most, "as with cables" if same else "open"
    )
    return (BoxDesign(f"{fabric.name}, switched", fabric, rates, 1, True, *shown, switched=True),)
