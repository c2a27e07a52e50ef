"""``pareto --box``: the wirings of boxes that are worth it, with what each level proves, plans, and rails beside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from topodesign.base.arguments import as_integer
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError, TopodesignError
from topodesign.base.progress import Progress
from topodesign.base.records import Result, Table, shortened
from topodesign.base.spec import parse
from topodesign.base.units import Quantity, as_count, as_size, format_size, format_time
from topodesign.base.wording import counted
from topodesign.fabrics.boxes import Box, box_of, join, named_box
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.files import FABRIC_ENDINGS, read_fabric
from topodesign.optima.boxes import ANY_ORDER, BoxRates, box_rates, carries_anything, exchange_bound
from topodesign.optima.throughput import throughput
from topodesign.plans.plan import Plan
from topodesign.report.boxes.candidates import Graph, graphs_of
from topodesign.report.boxes.nics import Numbered, number_nics
from topodesign.schedulers.scheduling import schedule

_MOST_ALIKE = 2  # graphs of the same all-to-all that are looked at where the inside is narrow
COLLECTIVES = ("allgather", "reduce-scatter", "allreduce")  # whose lifted plans are timed


@dataclass(frozen=True, repr=False)
class BoxDesign(Result):
    """A wiring of boxes, or their rails.

    * ``name``: what it is: a graph of boxes, or rails.
    * ``fabric``: the fabric, whose name is its spec.
    * ``rates``: what it reaches, proved.
    * ``tried``: numberings of NICs that were priced; 1 where any is as good.
    * ``duplex``: whether duplex cables wire it.
    * ``sizes``: bytes that times are for.
    """

    name: str
    fabric: Fabric
    rates: BoxRates
    tried: int
    duplex: bool
    sizes: tuple[Fraction, ...]

    KEYS = (
        key("topology=name", "The graph of boxes, or rails."),
        key("fabric=fabric.name", "The spec of it all, which `optimum`, `schedule` and others take."),
        key("nodes=len(fabric.compute)", "Nodes of all boxes."),
        key("*rates"),
        key("nic_orders=tried", "Numberings of NICs that were priced; 1 where any is as good."),
        key("simplex=not(duplex)", "Whether cables go one way only."),
        key("plans=timed", "Lifted plans, verified, with their times."),
    )

    @cached_property
    def _plans(self) -> dict[tuple[str, Fraction], Plan]:
        return {}

    def plan(self, collective: str, size: Quantity) -> Plan:
        """Return the lifted plan of a collective for so many bytes, as ``schedule --method boxes`` makes it."""
        asked = collective, as_size(size)
        if asked not in self._plans:
            self._plans[asked] = schedule(self.fabric, collective, method="boxes", size=asked[1])
        return self._plans[asked]

    def time(self, collective: str, size: Quantity) -> Fraction:
        """Return the seconds of the lifted plan of an allgather, reduce-scatter or allreduce."""
        return self.plan(collective, size).claim["time"]

    @property
    def timed(self) -> tuple[PlanTime, ...]:
        """Times of lifted plans of every size."""
        return tuple(
            PlanTime(collective, size, self.time(collective, size)) for size in self.sizes for collective in COLLECTIVES
        )

    def heading(self) -> str:
        """Return what it is."""
        return self.fabric.name


@dataclass(frozen=True, slots=True)
class PlanTime(Declared):
    """The time of a plan."""

    collective: str
    size: Fraction
    time: Fraction

    KEYS = (
        key("collective", "What is done."),
        key("size_bytes=number(size)", "Data, in bytes."),
        key("time_s=float(time)", "Seconds, rounded."),
        key("time", "Seconds, exactly."),
    )


@dataclass(frozen=True, repr=False)
class BoxFrontier(Result):
    """Wirings of boxes that no other beats in steps between boxes and in all-to-all, the fastest all-to-all first.

    * ``box``: what the boxes are.
    * ``boxes``, ``ports``: how many, and cables of each.
    * ``entries``: the wirings.
    * ``rivals``: the same boxes with switches between their NICs.
    * ``compared``: graphs of boxes that were priced.
    * ``bound``: all-to-all that no graph of so many boxes and ports exceeds, in bytes per second.
    """

    box: Box
    boxes: int
    ports: int
    split: int
    entries: tuple[BoxDesign, ...]
    rivals: tuple[BoxDesign, ...]
    compared: int
    bound: Fraction

    KEYS = (
        key("box=box.name", "What the boxes are."),
        key("boxes", "How many."),
        key("degree=ports", "Cables out of, and into, each box."),
        key("split", "Ports of a NIC."),
        key("all_to_all_bound=bound", "All-to-all that no graph of as many boxes and ports exceeds, bytes per second."),
        key("topologies=entries", "Those that no other beats, the fastest all-to-all first."),
        key("rivals", "The same boxes with switches between NICs."),
        "compared verdict",
    )

    @property
    def best(self) -> BoxDesign:
        """The fastest all-to-all."""
        return self.entries[0]

    @property
    def verdict(self) -> str:
        """What the first is, and how much is left."""
        reached = self.best.rates.least
        if reached is None:
            return f"{shortened(self.best.name)}: whether the inside of {self.box.name} carries it is left open"
        left = self.bound / reached - 1
        room = "which meets the bound of any graph" if not left else f"any graph has at most {float(left):.1%} more"
        return f"{shortened(self.best.name)}: all-to-all {_rate(reached)} GB/s, {room}"

    def heading(self) -> str:
        """Return the question."""
        return f"{counted(self.boxes, 'box', 'boxes')} {self.box.name} with {counted(self.ports, 'cable')} each"

    def table(self) -> Table:
        """Return the wirings, then the rivals."""
        sizes = self.best.sizes
        columns = ("allgather GB/s", "all-to-all", *(f"{format_size(size)}" for size in sizes), "cabling", "boxes as")
        rows = []
        for one in (*self.entries, *self.rivals):
            times = []
            for size in sizes:
                try:
                    times.append(format_time(one.time("allreduce", size)))
                except TopodesignError:
                    times.append("-")
            cabling = "duplex" if one.duplex else "simplex"
            if one in self.rivals:
                cabling = "switched"
            rates = one.rates
            exchange = "-" if rates.least is None else _rate(rates.least)
            rows.append((f"{rates.allgather_gbps:.1f}", exchange, *times, cabling, shortened(one.name)))
        rows.append(("", _rate(self.bound), *("" for _ in sizes), "", "bound of any graph"))
        return Table(
            f"{self.heading()}; times of allreduce",
            columns,
            tuple(rows),
            words=frozenset(("cabling", "boxes as")),
            compared=len(self.entries),
            footnote=self.verdict,
        )


def _rate(rate: Fraction) -> str:
    return f"{float(rate / 10**9):.2f}"


def as_box(value: str | Path | Fabric | Box) -> Box:
    """Return a box: of a preset by its name, of a file, or the first of a fabric."""
    if isinstance(value, Box):
        return value
    if isinstance(value, Fabric):
        return box_of(value)
    if not isinstance(value, str | Path):
        raise ParameterError(f"a box is a preset such as dgx_h100, a fabric or its file, not {value!r:.60}")
    if isinstance(value, Path) or Path(value).suffix.lower() in FABRIC_ENDINGS:
        return box_of(read_fabric(Path(value)), str(value))
    return named_box(parse(value if "(" in value else f"{value}()"))


def pareto_boxes(
    box: str | Path | Fabric | Box,
    boxes: int,
    ports: int | None = None,
    *,
    split: int = 1,
    bidirectional: bool = False,
    sizes: Quantity | Sequence[Quantity] = "1MiB",
    candidates: Iterable[str] = (),
    seed: int = 0,
    progress: Progress | None = None,
) -> BoxFrontier:
    """Find the wirings of boxes that are worth it: which graph, which NIC has which cable, and which plan.

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
    sizes
        Data that plans are timed for.
    candidates
        Specs of further graphs of boxes.
    seed
        Of the search for the cables of NICs, where the inside of a box is narrow.
    progress
        Called now and then with the share of the work that is done.

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
    asked = tuple(map(as_size, [sizes] if isinstance(sizes, str | int | float | Fraction) else sizes))
    graphs = graphs_of(count, degree, duplex=bidirectional, own=candidates)
    if not graphs:
        raise InfeasibleError(f"no graph of {count} boxes with {degree} cables each is known; try other ports")
    kept = _unbeaten(graphs)
    entries = []
    for place, best in enumerate(kept):
        graph = best
        if progress is not None:
            progress(place / len(kept))
        found = _numbered(one, graph, split, duplex=bidirectional, seed=seed)
        if found.rates.inside != ANY_ORDER:  # of graphs that are as good for all-to-all one may fit the inside better
            for other in [other for other in graphs if other.upper == graph.upper and other is not graph][:_MOST_ALIKE]:
                more = _numbered(one, other, split, duplex=bidirectional, seed=seed)
                if (more.rates.least or 0) > (found.rates.least or 0):
                    graph, found = other, more
        fabric = join(one, graph.topology, split, found.shift, found.swaps)
        duplex = graph.topology.is_duplex and found.shift == 0
        entries.append(BoxDesign(graph.spec, fabric, found.rates, found.tried, duplex, asked))
    entries.sort(key=lambda entry: -(entry.rates.least or 0))
    whole = one.nic_bandwidth * degree / (most * len(one.nodes))
    bound = whole / exchange_bound(count, degree)
    return BoxFrontier(one, count, degree, split, tuple(entries), _rails(one, count, asked), len(graphs), bound)


def _numbered(box: Box, graph: Graph, split: int, *, duplex: bool, seed: int) -> Numbered:
    start = box_rates(box, graph.topology, split, known=(graph.lower, graph.upper))
    return number_nics(box, graph.topology, split, start, duplex=duplex, seed=seed)


def _unbeaten(graphs: Sequence[Graph]) -> list[Graph]:
    """Return the graphs that no other beats in diameter and all-to-all, those of the fastest all-to-all first."""
    from topodesign.pricing.closed_form import distances  # noqa: PLC0415  heavy

    kept: list[Graph] = []
    least: int | None = None
    for one in graphs:
        far = max(int(distances(one.topology, node).max()) for node in range(one.topology.nodes))
        if least is None or far < least:
            kept.append(one)
            least = far
    return kept


def _rails(box: Box, boxes: int, sizes: tuple[Fraction, ...]) -> tuple[BoxDesign, ...]:
    """Return the same boxes on the switches of their preset."""
    from topodesign.fabrics.presets import build_fabric  # noqa: PLC0415

    try:
        name, _, rest = box.name.partition("(")
        fabric = build_fabric(f"{name}({boxes}{',' + rest if rest else ')'}")
    except TopodesignError:
        return ()
    most = box.nic_bandwidth * boxes / ((boxes - 1) * len(box.nodes))
    same = carries_anything(box, most)
    rates = BoxRates(throughput(fabric).bandwidth, most if same else None, most, "as with cables" if same else "open")
    return (BoxDesign(f"{fabric.name}, switched", fabric, rates, 1, True, sizes),)
