"""The values that plots show: charts of series, and drawings of graphs.

They hold numbers and words and no colours, so that a file, a page and a notebook show the same, and ``--json`` and
``--csv`` give what is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from topodesign.base.declared import Declared, key
from topodesign.base.records import Result, shorten_text

if TYPE_CHECKING:
    from topodesign.topology.topology import Topology

Number = int | float | Fraction
Style = Literal["line", "points", "steps", "bars", "spans", "level"]
"""How a series is shown: ``steps`` is a line that stays until the next point, ``spans`` are bars along x from ``x`` to
``until`` in the lanes ``y``, and ``level`` is one y for all x."""
Scale = Literal["linear", "log", "log2"]
Role = Literal["ours", "bound", "other"]
"""What a series is there for: what is offered, what nothing can beat, and what there is to compare with."""


@dataclass(frozen=True, slots=True)
class Axis(Declared):
    """An axis."""

    label: str  # what it is, with its unit
    scale: Scale  # how it is divided

    KEYS = "label scale"
    SHARED = "axis"


@dataclass(frozen=True, slots=True)
class Mark(Declared):
    """A place along x."""

    x: Number  # where
    text: str  # what is there

    KEYS = "x=float(x) text"
    SHARED = "mark"


@dataclass(frozen=True)
class Series(Declared):
    """Points of one kind.

    * ``x``, ``y``: as many numbers each, exact where they can be.
    """

    name: str  # for the legend; nothing if it needs no words
    x: Sequence[Number]
    y: Sequence[Number]
    style: Style = "line"  # how it is drawn
    role: Role = "ours"  # what it is there for
    until: Sequence[Number] = ()  # where spans end; else empty
    texts: Sequence[str] = ()  # what there is to say of each point, or nothing

    KEYS = "name role style x=float(x) y=float(y) until=float(until) texts"
    SHARED = "series"


@dataclass(frozen=True, repr=False)
class Chart(Result):
    """Series over two axes.

    * ``x_label``, ``y_label``: what the axes are, with units.
    * ``x_scale``, ``y_scale``: how the axes are divided.
    """

    kind: str  # which plot, as of ``--plot-kind``
    title: str  # what it shows, in one line
    x_label: str
    y_label: str
    series: tuple[Series, ...]  # what is shown, the most important first
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    marks: tuple[tuple[Number, str], ...] = ()  # places along x that matter, with words
    lanes: tuple[str, ...] = ()  # names of the lanes of spans, from y = 0 up; else empty
    note: str = ""  # a line below, or nothing

    KEYS = (
        "kind title",
        key("x", "Along.", kind=Axis, value=lambda chart: Axis(chart.x_label, chart.x_scale)),
        key("y", "Upwards.", kind=Axis, value=lambda chart: Axis(chart.y_label, chart.y_scale)),
        "series",
        key("marks", kind=tuple[Mark, ...], value=lambda chart: [Mark(*one) for one in chart.marks]),
        "lanes note",
    )

    def heading(self) -> str:
        """Return the title."""
        return self.title

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row per point: series, x, y, and until and text if present."""
        rows = []
        for one in self.series:
            for place, (x, y) in enumerate(zip(one.x, one.y, strict=True)):
                row: dict[str, Any] = {"series": one.name, "x": x, "y": y}
                if self.lanes:
                    row["lane"] = self.lanes[int(y)]
                if one.until:
                    row["until"] = one.until[place]
                if one.texts:
                    row["text"] = one.texts[place]
                rows.append(row)
        return rows


@dataclass(frozen=True, slots=True)
class Spot(Declared):
    """A node of a drawing."""

    name: str  # node or switch
    x: float  # from left to right
    y: float  # from bottom to top
    group: str  # its kind, for the legend

    KEYS = "name x y group"


@dataclass(frozen=True, slots=True)
class Line(Declared):
    """A link of a drawing."""

    begin: str  # a node or switch
    end: str  # a node or switch
    duplex: bool  # whether it is one line for both directions
    weight: float  # how thick
    marked: bool  # whether it stands out
    orbit: str | None = None

    KEYS = (
        "from=begin to=end duplex weight marked",
        key("orbit", "A link that symmetry takes to it, the same for all of its orbit; null where not told apart."),
    )


@dataclass(frozen=True, repr=False)
class Drawing(Result):
    """Nodes and links.

    * ``kind``: which plot. ``orbits`` have a picture for each of ``orbit_names``.
    * ``x``, ``y``: where they are, from -1 to 1.
    * ``orbits``: for every link the number of its orbit in ``orbit_names``; empty if orbits are not distinguished.
    """

    kind: str
    title: str  # what it shows
    names: tuple[str, ...]  # what the nodes are called
    x: tuple[float, ...]
    y: tuple[float, ...]
    groups: tuple[int, ...]  # for every node what it is of: an index into ``legend``
    legend: tuple[str, ...]  # what the groups are
    links: tuple[tuple[int, int], ...]  # pairs (u, v) of node numbers; duplex ones once, with ``u < v``
    duplex: tuple[bool, ...]  # for every link whether it goes both ways
    weights: tuple[float, ...]  # for every link how much of it there is, as a share of the thickest
    marked: tuple[bool, ...]  # for every link whether it is one of those that the drawing is about
    note: str = ""  # a line below
    orbits: tuple[int, ...] = ()
    orbit_names: tuple[str, ...] = ()

    KEYS = "kind title nodes=spots links=lines note"
    ROWS = "lines"

    @property
    def spots(self) -> list[Spot]:
        """Nodes and switches."""
        groups = [self.legend[group] for group in self.groups]
        return list(map(Spot, self.names, self.x, self.y, groups))

    @property
    def lines(self) -> list[Line]:
        """Links."""
        begins, ends = ([self.names[link[side]] for link in self.links] for side in (0, 1))
        orbits: list[str | None] = [self.orbit_names[orbit] for orbit in self.orbits]
        orbits = orbits or [None] * len(self.links)
        return list(map(Line, begins, ends, self.duplex, self.weights, self.marked, orbits))

    def heading(self) -> str:
        """Return the title."""
        return self.title


def name_of(topology: Topology) -> str:
    """Return what a topology is called in a title."""
    return f"topology of {topology.nodes} nodes" if topology.spec is None else shorten_text(str(topology.spec))
