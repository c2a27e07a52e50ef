"""The two values that plots show: a chart of series over two axes, and a drawing of nodes and links.

They hold numbers and words and no colours, so that a file, a page and a notebook show the same, and ``--json`` and
``--csv`` give what is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from topodesign.base.records import Result, shortened

if TYPE_CHECKING:
    from topodesign.topology.topology import Topology

Number = int | float | Fraction
Style = Literal["line", "points", "steps", "bars", "spans", "level"]
"""How a series is shown: ``steps`` is a line that stays until the next point, ``spans`` are bars along x from ``x`` to
``until`` in the lanes ``y``, and ``level`` is one y for all x."""
Scale = Literal["linear", "log", "log2"]
Role = Literal["ours", "bound", "other"]
"""What a series is there for: what is offered, what nothing can beat, and what there is to compare with."""


@dataclass(frozen=True)
class Series:
    """Points of one kind.

    Attributes
    ----------
    name
        What they are, for the legend; nothing if it needs no words.
    x, y
        As many numbers each, exact where they can be.
    style, role
        How they are shown, and what for.
    until
        Where spans end.
    texts
        What there is to say of each point, or nothing.
    """

    name: str
    x: Sequence[Number]
    y: Sequence[Number]
    style: Style = "line"
    role: Role = "ours"
    until: Sequence[Number] = ()
    texts: Sequence[str] = ()


@dataclass(frozen=True, repr=False)
class Chart(Result):
    """Series over two axes.

    Attributes
    ----------
    kind
        Which plot it is, as in ``topodesign plot KIND``.
    title
        What it shows, in one line.
    x_label, y_label
        What the axes are, with units.
    series
        What is shown, the most important first.
    x_scale, y_scale
        How the axes are divided.
    marks
        Places on the x axis with words.
    lanes
        Names for y = 0, 1, ..., where y says which of several things it is.
    note
        A line below, or nothing.
    """

    kind: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    marks: tuple[tuple[Number, str], ...] = ()
    lanes: tuple[str, ...] = ()
    note: str = ""

    def heading(self) -> str:
        """Return the title."""
        return self.title

    def to_records(self) -> list[dict[str, Any]]:
        """Return one row for every point: series, x, y, and until and text where there is one."""
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

    def record(self) -> dict[str, Any]:
        """Return the JSON document; numbers are floats, since they are for drawing."""
        return {
            "kind": self.kind,
            "title": self.title,
            "x": {"label": self.x_label, "scale": self.x_scale},
            "y": {"label": self.y_label, "scale": self.y_scale},
            "series": [
                {
                    "name": one.name,
                    "role": one.role,
                    "style": one.style,
                    "x": [float(x) for x in one.x],
                    "y": [float(y) for y in one.y],
                    "until": [float(x) for x in one.until],
                    "texts": list(one.texts),
                }
                for one in self.series
            ],
            "marks": [{"x": float(x), "text": text} for x, text in self.marks],
            "lanes": list(self.lanes),
            "note": self.note,
        }


@dataclass(frozen=True, repr=False)
class Drawing(Result):
    """Nodes and links.

    Attributes
    ----------
    kind, title, note
        As those of a chart.
    names
        What the nodes are called.
    x, y
        Where they are, from -1 to 1.
    groups
        For every node what it is of: an index into ``legend``.
    legend
        What the groups are.
    links
        Pairs (u, v) of node numbers; duplex ones once, with ``u < v``.
    duplex
        For every link whether it goes both ways.
    weights
        For every link how much of it there is, as a share of the thickest.
    marked
        For every link whether it is one of those that the drawing is about.
    """

    kind: str
    title: str
    names: tuple[str, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    groups: tuple[int, ...]
    legend: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    duplex: tuple[bool, ...]
    weights: tuple[float, ...]
    marked: tuple[bool, ...]
    note: str = ""

    def heading(self) -> str:
        """Return the title."""
        return self.title

    def to_records(self) -> list[dict[str, Any]]:
        """Return one row for every link: its ends, whether it is duplex, its weight, and whether it is marked."""
        return [
            {"from": self.names[u], "to": self.names[v], "duplex": duplex, "weight": weight, "marked": marked}
            for (u, v), duplex, weight, marked in zip(self.links, self.duplex, self.weights, self.marked, strict=True)
        ]

    def record(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {
            "kind": self.kind,
            "title": self.title,
            "nodes": [
                {"name": name, "x": x, "y": y, "group": self.legend[group]}
                for name, x, y, group in zip(self.names, self.x, self.y, self.groups, strict=True)
            ],
            "links": self.to_records(),
            "note": self.note,
        }


def name_of(topology: Topology) -> str:
    """Return what a topology is called in a title."""
    return f"topology of {topology.nodes} nodes" if topology.spec is None else shortened(str(topology.spec))
