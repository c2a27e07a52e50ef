"""Plots as matplotlib pictures, readable without colour vision."""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topodesign.base.atomic import write_whole
from topodesign.base.errors import ParameterError
from topodesign.base.records import Result
from topodesign.base.units import format_size, format_time
from topodesign.report.charts.chart import Chart, Drawing, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".svg", ".png", ".pdf")
TELLING = "telling-"
"""Beginning of the identifiers of points of which there is something to say: the numbers of series and point follow."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#5E3C99", "#7F7F7F")
"""Colours of Okabe and Ito, in an order in which their lightness differs from one to the next."""
_OTHERS = ("#4D4D4D", "#8C8C8C", "#6B6B6B", "#A6A6A6")
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2, 2, 2)))
_HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--")
_INK = "#333333"
_BOUND = "#000000"
_RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.edgecolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "topodesign",  # the same picture is the same file
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "text.parse_math": False,  # a name with dollars is a name
}
_IN_PAGE: Any = {**_RC, "svg.fonttype": "none", "legend.fontsize": 9}  # a page has fonts of its own, also on phones
_HEAD: Any = {"mutation_scale": 14, "shrinkA": 0, "shrinkB": 0}  # of arrows
_MAX_NAMED = 12  # points that have their texts beside them
_MAX_NUMBERED = 150  # nodes that have their names in them
_LONGEST_NAME = 34
_NARROW = 22  # letters of names that have a column of half a page's chart
_WIDE = 88  # letters of a title or note in a line


@dataclass(frozen=True, repr=False)
class Picture(Result):
    """Chart or drawing for notebooks and files."""

    shown: Chart | Drawing  # what it shows, in numbers and words

    KEYS = "*shown"

    def heading(self) -> str:
        """Return the title."""
        return self.shown.title

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for every point of a chart or link of a drawing."""
        return self.shown.to_records()

    def figure(self) -> Figure:
        """Return a matplotlib figure to modify; it belongs to no window."""
        return _figure(self.shown)

    def svg(self, *, in_page: bool = False) -> str:
        """Return an SVG element; ``in_page`` omits title and note."""
        text = self._content("svg", in_page=in_page).decode()
        return text[text.index("<svg") :]

    def save(self, path: str | Path) -> None:
        """Write the picture as ``.svg``, ``.png`` or ``.pdf``, by suffix.

        The same picture always gives the same file.
        """
        target = Path(path)
        check_picture(target)
        write_whole(target, self._content(target.suffix.lower()[1:]))

    def _content(self, kind: str, *, in_page: bool = False) -> bytes:
        stream = io.BytesIO()
        with _style(_IN_PAGE if in_page else _RC):
            dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
            about = None if dated is None else {**dated, "Title": self.shown.title}
            _figure(self.shown, in_page=in_page).savefig(stream, format=kind, dpi=160, metadata=about)
        return stream.getvalue()

    def _repr_html_(self) -> str:
        """Return the picture for a notebook."""
        return self.svg()


def check_picture(path: Path) -> None:
    """Raise ParameterError unless the suffix is a picture format."""
    if path.suffix.lower() not in ENDINGS:
        raise ParameterError(f"a picture is written as {', '.join(ENDINGS)}, unlike '{path}'")


@contextmanager
def _style(settings: Any = _RC) -> Iterator[None]:
    import matplotlib as mpl  # noqa: PLC0415  heavy

    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # a name in letters that its font lacks is drawn as boxes
        yield


def _figure(picture: Chart | Drawing, *, in_page: bool = False) -> Figure:
    with _style(_IN_PAGE if in_page else _RC):
        from matplotlib.figure import Figure  # noqa: PLC0415  heavy

        if isinstance(picture, Drawing) and picture.kind == "orbits":
            return _orbits(picture)
        if isinstance(picture, Drawing):
            wide, high = (max(places) - min(places) for places in (picture.x, picture.y))
            drawn = Figure(figsize=(6.4, 1.2 + 5.2 * max(0.35, high / max(wide, high, 1e-9))), layout="constrained")
            _draw(drawn.add_subplot(), picture)
            return drawn
        height = 4.0 if len(picture.lanes) < 20 else min(4.0 + 0.11 * (len(picture.lanes) - 20), 20.0)
        size = (4.5, height - 0.8) if in_page else (7.2, height)
        drawn = Figure(figsize=size, layout="constrained", frameon=not in_page)
        _chart(drawn.add_subplot(), picture, in_page=in_page)
        return drawn


def _orbits(drawing: Drawing) -> Figure:
    """Draw a picture per orbit of links; highlight its first link."""
    from matplotlib.figure import Figure  # noqa: PLC0415  heavy

    high = max(drawing.y) - min(drawing.y)
    across = min(3, len(drawing.orbit_names)) if high > 0.7 else 1
    down = -(-len(drawing.orbit_names) // across)
    shown = Figure(figsize=(max(2.6 * across, 5), 0.8 + max(2.75 if across > 1 else 2.5 * high, 0.8) * down),
                   layout="constrained")  # fmt: skip
    for orbit, name in enumerate(drawing.orbit_names):
        places = [place for place, own in enumerate(drawing.orbits) if own == orbit]
        axes = shown.add_subplot(down, across, orbit + 1)
        axes.set_axis_off()
        axes.set_aspect("equal")
        axes.plot(drawing.x, drawing.y, "o", color="#9A9A9A", markersize=1.5)
        for place in places:
            points = _curve(drawing, place)
            first = place == places[0]
            axes.plot(*zip(*points, strict=True), color=_INK if first else COLOURS[orbit % len(COLOURS)],
                      linewidth=1.6 if first else 0.5, zorder=2 if first else 1)  # fmt: skip
        axes.set_title(name, fontsize=9)
    shown.suptitle("\n".join(textwrap.wrap(drawing.title, _WIDE)), fontsize=10, x=0.01, ha="left")
    shown.supxlabel(
        "\n".join(textwrap.wrap(drawing.note, max(30 * across, 60))), fontsize=8, color=_INK, x=0.01, ha="left"
    )
    return shown


def _words(axes: Axes, picture: Chart | Drawing) -> None:
    axes.set_title("\n".join(textwrap.wrap(picture.title, _WIDE)), loc="left")
    if picture.note:
        note = "\n".join(textwrap.wrap(picture.note, _WIDE + 12))
        axes.figure.supxlabel(note, fontsize=8, color=_INK, x=0.01, ha="left")


def _chart(axes: Axes, chart: Chart, *, in_page: bool) -> None:
    """Draw series: results in colour, bounds black and dashed, others grey."""
    ours = cycle(zip(COLOURS, _MARKS, (_DASHES * 2)[: len(COLOURS)], _HATCHES, strict=True))
    others = cycle(zip(_OTHERS, _MARKS[4:], _DASHES[1:], [""] * len(_OTHERS), strict=True))
    _scales(axes, chart)
    few = sum(len(one.x) for one in chart.series if one.texts) <= _MAX_NAMED
    for number, one in enumerate(chart.series):
        if few and one.style == "points" and not in_page:
            _name_points(axes, one)
        told = f"{TELLING}{number}" if in_page and one.texts else ""
        if one.role == "bound":
            _bound(axes, one)
        elif one.role == "other":
            _series(axes, one, next(others), told)
        else:
            _series(axes, one, next(ours), told)
    for x, text in chart.marks:
        axes.axvline(float(x), color=_INK, linestyle=":", linewidth=1)
        axes.annotate(
            text, (float(x), 0.5), (-3, 0), xycoords=("data", "axes fraction"), textcoords="offset points", ha="right",
            va="center", rotation=90, fontsize=8, color=_INK,
        )  # fmt: skip
    if chart.lanes:
        axes.set_yticks(range(len(chart.lanes)), chart.lanes, fontsize=7 if len(chart.lanes) > 12 else 8)
        axes.set_ylim(len(chart.lanes) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
    named = [one for one in chart.series if one.name]
    if len(named) > 1 and not (chart.lanes and len(named) > 2 * len(COLOURS)):
        if in_page:
            _legend_below(axes, max(len(_short(one.name)) for one in named), len(named))
        elif chart.lanes:
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
        else:
            # before the lines of marks, which else go through its words
            behind = {"frameon": True, "edgecolor": "none", "framealpha": 0.9} if chart.marks else {}
            axes.legend(loc="best", ncols=1 if len(named) <= 8 else 2, **behind)
    if not in_page:
        _words(axes, chart)


def _legend_below(axes: Axes, longest: int, names: int) -> None:
    """Place the legend below a page's chart, in a taller figure."""
    columns = 1 if longest > _NARROW else 2
    figure = axes.figure.figure
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + 0.18 * -(-names // columns))
    figure.legend(loc="outside lower left", ncols=columns)


def _scales(axes: Axes, chart: Chart) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  heavy

    axes.set_xlabel(_name_axis(chart.x_label))
    axes.set_ylabel(_name_axis(chart.y_label))
    if chart.x_scale != "linear":
        axes.set_xscale("log", base=2 if chart.x_scale == "log2" else 10)
    if chart.y_scale != "linear":
        axes.set_yscale("log", base=2 if chart.y_scale == "log2" else 10)
    for axis, label, scale in ((axes.xaxis, chart.x_label, chart.x_scale), (axes.yaxis, chart.y_label, chart.y_scale)):
        if "bytes" in label:
            axis.set_major_formatter(lambda value, _: format_size(_exact(value)))
        elif label == "seconds":
            axis.set_major_formatter(lambda value, _: format_time(_exact(value)) if value >= 0 else "")
        elif label in {"step", "distance in links"} or "steps" in label:
            axis.set_major_locator(MaxNLocator(integer=True))
        elif scale != "linear":
            axis.set_major_formatter(lambda value, _: f"1/{1 / value:.3g}" if 0 < value < 1 else f"{value:.3g}")


def _name_axis(label: str) -> str:
    """Return the label of an axis, without the unit if its ticks have theirs."""
    return "time" if label == "seconds" else label.removesuffix(", bytes")


def _exact(value: float) -> Any:
    from fractions import Fraction  # noqa: PLC0415  for ticks alone

    return Fraction(value).limit_denominator(10**12)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 3] + "..."


def _floats(numbers: Any) -> list[float]:
    return [float(number) for number in numbers]


def _series(axes: Axes, one: Series, look: tuple[str, str, Any, str], told: str) -> None:
    """Draw a series; identify its points by ``told`` and number if given."""
    colour, mark, dash, hatch = look
    x, y = _floats(one.x), _floats(one.y)
    label = _short(one.name) or "_"
    if one.style == "bars":
        axes.bar(x, y, 0.7, color=colour, hatch=hatch, edgecolor="white", label=label)
    elif one.style == "spans":
        widths = [float(end - start) for start, end in zip(one.x, one.until, strict=True)]
        bars = axes.barh(y, widths, 0.8, x, color=colour, hatch=hatch, edgecolor="white", linewidth=0.5, label=label)
        for place, bar in enumerate(bars.patches if told else ()):
            bar.set_gid(f"{told}-{place}")
    elif one.style == "points" and told:
        for place, point in enumerate(zip(x, y, strict=True)):
            name = "_" if place else label
            axes.plot(
                *point, mark, color=colour, markersize=7, markeredgecolor="white", label=name, gid=f"{told}-{place}"
            )
    elif one.style == "points":
        many = len(x) > 2 * _MAX_NAMED
        axes.plot(
            x, y, mark, color=colour, markersize=3 if many else 6, markeredgecolor="white", markeredgewidth=0.4,
            label=label,
        )  # fmt: skip
    elif one.style == "level":
        axes.axhline(y[0], color=colour, linestyle=dash, linewidth=1.2, label=label)
    else:
        every = max(1, len(x) // 10)
        drawn = "steps-post" if one.style == "steps" else "default"
        axes.plot(
            x, y, color=colour, linestyle=dash, marker=mark, markevery=every, markersize=4, linewidth=1.5,
            drawstyle=drawn, label=label,
        )  # fmt: skip


def _name_points(axes: Axes, one: Series) -> None:
    """Write the labels of points, the last one to the left."""
    for place, (x, y, text) in enumerate(zip(_floats(one.x), _floats(one.y), one.texts, strict=False)):
        last = place and place == len(one.x) - 1
        axes.annotate(
            _short(text), (x, y), (-6 if last else 6, 5), textcoords="offset points", fontsize=7.5, color=_INK,
            ha="right" if last else "left",
        )  # fmt: skip


def _bound(axes: Axes, one: Series) -> None:
    x, y = _floats(one.x), _floats(one.y)
    if one.style == "level":
        axes.axhline(y[0], color=_BOUND, linestyle=":", linewidth=1, label=one.name or "_")
    elif one.style == "points":
        axes.plot(x, y, "*", color=_BOUND, markersize=9, label=one.name or "_")
    else:
        axes.plot(x, y, color=_BOUND, linestyle=(0, (4, 2)), linewidth=1.2, label=one.name or "_")


def _draw(axes: Axes, drawing: Drawing) -> None:
    """Draw links, with arrows if one-way, then nodes and fitting names."""
    from matplotlib.collections import LineCollection  # noqa: PLC0415  heavy

    axes.set_axis_off()
    axes.set_aspect("equal")
    nodes = len(drawing.names)
    about = any(drawing.marked)
    size = max(2.0, min(17.0, 130 / math.sqrt(nodes)))
    plain = [place for place in range(len(drawing.links)) if not (about and drawing.marked[place])]
    strong = [place for place in range(len(drawing.links)) if about and drawing.marked[place]]
    for places, colour, thick in ((plain, "#9A9A9A", 0.6), (strong, "#D55E00", 1.8)):
        lines = [_curve(drawing, place) for place in places]
        widths = [thick + thick * drawing.weights[place] for place in places]
        fade = 1.0 if len(drawing.links) < 400 or places is strong else 0.35
        axes.add_collection(LineCollection(lines, colors=colour, linewidths=widths, alpha=fade, zorder=1))
        for place, line in zip(places, lines, strict=True):
            if not drawing.duplex[place] and len(drawing.links) <= 1000:
                tip, tail = line[-1 - len(line) // 3], line[-2 - len(line) // 3]
                axes.annotate(
                    "", tip, tail, zorder=1,
                    arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 0, **_HEAD},
                )  # fmt: skip
    for group, name in enumerate(drawing.legend):
        members = [node for node in range(nodes) if drawing.groups[node] == group]
        if members:
            axes.plot(
                [drawing.x[node] for node in members], [drawing.y[node] for node in members],
                "s" if "switch" in name else "o", color=COLOURS[group % len(COLOURS)], markersize=size,
                markeredgecolor="white", zorder=2, label=name,
            )  # fmt: skip
    if nodes <= _MAX_NUMBERED:
        longest = max(map(len, drawing.names))
        fits = longest <= 3
        for name, x, y in zip(drawing.names, drawing.x, drawing.y, strict=True):
            if fits:
                axes.annotate(name, (x, y), ha="center", va="center", fontsize=size * 0.5, color="white", zorder=3)
            elif nodes <= _MAX_NUMBERED // 3:
                axes.annotate(name, (x, y), (0, -size * 0.75), textcoords="offset points", ha="center", va="top",
                              fontsize=6.5, color=_INK, zorder=3)  # fmt: skip
    if len(drawing.legend) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(0, 0), ncols=min(4, len(drawing.legend)), markerscale=0.7)
    axes.autoscale_view()
    axes.margins(0.08)
    _words(axes, drawing)


def _curve(drawing: Drawing, place: int) -> list[tuple[float, float]]:
    """Return the points of a link, curved if one-way or over nodes."""
    u, v = drawing.links[place]
    (x0, y0), (x1, y1) = (drawing.x[u], drawing.y[u]), (drawing.x[v], drawing.y[v])
    bend = 0.0 if drawing.duplex[place] and not _is_covered(drawing, u, v) else 0.16
    mx, my = (x0 + x1) / 2 + bend * (y1 - y0), (y0 + y1) / 2 - bend * (x1 - x0)
    parts = 16
    return [
        ((1 - t) ** 2 * x0 + 2 * t * (1 - t) * mx + t * t * x1, (1 - t) ** 2 * y0 + 2 * t * (1 - t) * my + t * t * y1)
        for t in (step / parts for step in range(parts + 1))
    ]


def _is_covered(drawing: Drawing, u: int, v: int) -> bool:
    """Return whether a straight line crosses a third node, in small drawings."""
    if len(drawing.names) > _MAX_NUMBERED:
        return False
    dx, dy = drawing.x[v] - drawing.x[u], drawing.y[v] - drawing.y[u]
    length = dx * dx + dy * dy
    for node, (x, y) in enumerate(zip(drawing.x, drawing.y, strict=True)):
        if node in {u, v} or not length:
            continue
        along = ((x - drawing.x[u]) * dx + (y - drawing.y[u]) * dy) / length
        off = abs((x - drawing.x[u]) * dy - (y - drawing.y[u]) * dx) / math.sqrt(length)
        if 0 < along < 1 and off < 1 / (4 * math.sqrt(len(drawing.names))):
            return True
    return False
