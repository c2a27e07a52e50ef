"""What a report is made of: a document of sections, and sections of parts; all of it is data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from topodesign.base.declared import Declared, Key, key
from topodesign.base.records import Table
from topodesign.report.charts.chart import Chart, Drawing
from topodesign.topology.topology import IntArray


def _part(name: str) -> Key:
    return key("part", "Which kind of part.", kind=(name,), value=lambda _: name)


@dataclass(frozen=True)
class Words(Declared):
    """Paragraphs."""

    lines: tuple[str, ...]

    KEYS = (_part("words"), key("lines", "One each."))


@dataclass(frozen=True)
class Fact(Declared):
    """A figure."""

    name: str
    exact: str
    about: str
    proof: str

    KEYS = (
        key("name", "What it is called."),
        key("exact", "Its exact value."),
        key("about", "The same for people, and the bound."),
        key("proof", "What it rests on."),
    )


@dataclass(frozen=True)
class Facts(Declared):
    """Figures with their proofs."""

    facts: tuple[Fact, ...]

    KEYS = (_part("facts"), key("facts", "Figures."))


@dataclass(frozen=True)
class Listing(Declared):
    """A table."""

    table: Table
    chooses: bool = False  # whether its first rows are the choices of the document
    named: bool = False  # whether the last column says what a row is about: a page has it first

    KEYS = (
        _part("table"),
        "heading=table.heading columns=table.columns",
        key("rows=table.rows", "Cells, as they are shown."),
        "footnote=table.footnote",
    )


@dataclass(frozen=True)
class Plotted(Declared):
    """A plot."""

    chart: Chart
    chooses: bool = False

    KEYS = (_part("chart"), key("chooses", "Whether its first series are the choices of the document."), "*chart")


@dataclass(frozen=True, slots=True)
class Compact(Declared):
    """A drawing, short."""

    drawing: Drawing

    KEYS = (
        "kind=drawing.kind title=drawing.title note=drawing.note legend=drawing.legend",
        key("orbits=drawing.orbit_names", "What orbits of links are called; empty where they are not told apart."),
        key("orbit_of=drawing.orbits", "For every link the number of its orbit; empty likewise."),
        key(
            "nodes",
            "Nodes and switches: name, x from left to right, y from bottom to top, number of its group.",
            kind=list[tuple[str, float, float, int]],
            value=lambda one: [
                (spot.name, round(spot.x, 4), round(spot.y, 4), group)
                for spot, group in zip(one.drawing.spots, one.drawing.groups, strict=True)
            ],
        ),
        key(
            "links",
            "Links: from, to, 1 if it goes both ways, how thick, 1 if it stands out.",
            kind=list[tuple[int, int, int, float, int]],
            value=lambda one: [
                (*ends, int(line.duplex), round(line.weight, 4), int(line.marked))
                for ends, line in zip(one.drawing.links, one.drawing.lines, strict=True)
            ],
        ),
    )


@dataclass(frozen=True)
class Drawn(Declared):
    """Nodes and links."""

    drawing: Drawing

    KEYS = (_part("drawing"), "*compact")

    @property
    def compact(self) -> Compact:
        """The drawing, short."""
        return Compact(self.drawing)


@dataclass(frozen=True, slots=True)
class Block(Declared):
    """Data that are told apart."""

    name: str
    start: list[int] | None
    end: list[int] | None

    KEYS = (
        key("name", "Whose data it is."),
        key("from=start", "Who has it at the start; null for all members."),
        key("to=end", "Who has it at the end; null for all members."),
    )


@dataclass(frozen=True, slots=True)
class Sends(Declared):
    """Sends, in columns."""

    start: IntArray
    end: IntArray
    path: IntArray
    block: IntArray
    low: IntArray
    high: IntArray
    add: IntArray

    KEYS = (
        key("from=start", "Instants at which they start."),
        key("to=end", "Instants at which data have arrived."),
        key("path", "Their ways."),
        key("block", "Their blocks."),
        key("low", "First parts of the block."),
        key("high", "Ends of the parts."),
        key("add", "1 where the receiver adds."),
    )


@dataclass(frozen=True)
class Played(Declared):
    """A plan to play, step by step."""

    title: str
    drawing: Compact
    members: IntArray
    blocks: tuple[Block, ...]
    adds: bool
    units: int
    cuts: IntArray
    instants: tuple[str, ...]
    paths: tuple[tuple[int, ...], ...]
    sends: Sends
    note: str

    KEYS = (
        _part("player"),
        key("title", "What is played."),
        key("drawing", "Where."),
        key("members", "Nodes that take part."),
        key("blocks", "Data that are told apart."),
        key("adds", "Whether contributions are added up."),
        key("units", "Equal parts of a block."),
        key("cuts", "Units at which a block is cut into parts that move together."),
        key("instants", "What there is after each instant but the last: a step, or a time."),
        key("paths", "Ways that data go: vertices."),
        key("sends", "Sends, in columns."),
        key("note", "A line below."),
    )


@dataclass(frozen=True)
class Command(Declared):
    """A command line."""

    about: str
    command: str

    KEYS = (key("about", "What for."), key("command", "A command line."))


@dataclass(frozen=True)
class Commands(Declared):
    """What to type."""

    steps: tuple[tuple[str, str], ...]

    KEYS = (
        _part("commands"),
        key("steps", "In their order.", kind=list[Command], value=lambda one: [Command(*step) for step in one.steps]),
    )


@dataclass(frozen=True)
class Figure(Declared):
    """A figure that is read first."""

    name: str
    value: str
    about: str

    KEYS = (
        key("name", "What it is."),
        key("value", "It, rounded for reading as everywhere."),
        key("about", "What to hold it against."),
    )
    SHARED = "report_figure"


@dataclass(frozen=True)
class Summary(Declared):
    """What is read first, and printed on one page."""

    name: str
    spec: str
    figures: tuple[Figure, ...]
    price: tuple[str, ...]
    picture: Drawn | None

    KEYS = (
        key("name", "The answer, or what the report is on, by its short name."),
        key("spec", "The text that rebuilds it; the name where there is none."),
        key("figures", "Three figures."),
        key("price", "What it takes, a line each."),
        key("picture", "A picture of it; null where it is too large for one."),
    )


Part = Words | Facts | Listing | Plotted | Drawn | Played | Commands


@dataclass(frozen=True)
class Section(Declared):
    """A section of a report."""

    title: str
    parts: tuple[Part, ...]

    KEYS = (key("title", "Its title."), key("parts", "What there is in it."))
    SHARED = "report_section"


@dataclass(frozen=True)
class Choice(Declared):
    """One of several things that the page can be about."""

    name: str
    sections: tuple[Section, ...]

    KEYS = (key("name", "What it is called."), key("sections", "What is told of it alone."))


@dataclass(frozen=True)
class Document(Declared):
    """All that a page tells."""

    kind: Literal["answer", "decision", "topology", "fabric", "plan"]
    title: str
    setting: str
    verdict: str
    summary: Summary
    sections: tuple[Section, ...]
    choices: tuple[Choice, ...]
    chosen: int
    result: dict[str, Any]

    KEYS = (
        key("kind", "What it is on."),
        key("title", "What it is on, in words."),
        key("setting", "What times are for."),
        key("verdict", "The answer in a sentence or two."),
        key("summary", "What is read first."),
        key("sections", "What is told of all choices together."),
        key("choices", "What there is to choose from; one where the report is on one thing."),
        key("chosen", "Number of the choice that is shown first."),
        key(
            "result",
            "What the command about the same thing prints: pareto, design, evaluate, optimum, or verify and simulate.",
            kind=dict,
        ),
    )
