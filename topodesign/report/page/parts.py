"""Parts of a report as data: a document of sections, each of parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from topodesign.base.declared import Declared, Key, key
from topodesign.base.records import Table
from topodesign.report.charts.chart import Chart, Drawing
from topodesign.topology.topology import IntArray
from topodesign.wiring.exports.rack_rows import RackRows


def _part(name: str) -> Key:
    return key("part", "Which kind of part.", kind=(name,), value=lambda _: name)


@dataclass(frozen=True)
class Words(Declared):
    """Paragraphs."""

    lines: tuple[str, ...]  # one each

    KEYS = (_part("words"), "lines")


@dataclass(frozen=True)
class Fact(Declared):
    """A figure."""

    name: str  # what it is called
    exact: str  # its exact value
    about: str  # the same for people, and the bound
    proof: str  # what it rests on

    KEYS = "name exact about proof"


@dataclass(frozen=True)
class Facts(Declared):
    """Figures with their proofs."""

    facts: tuple[Fact, ...]  # figures

    KEYS = (_part("facts"), "facts")


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
    chooses: bool = False  # whether its first series are the choices of the document

    KEYS = (_part("chart"), "chooses *chart")


@dataclass(frozen=True, slots=True)
class Compact(Declared):
    """A drawing, short."""

    drawing: Drawing

    KEYS = (
        "kind=drawing.kind title=drawing.title note=drawing.note legend=drawing.legend",
        key("orbits=drawing.orbit_names", "What orbits of links are called; empty if they are not distinguished."),
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
class Diagram(Declared):
    """Nodes and links."""

    drawing: Drawing

    KEYS = (_part("drawing"), "*compact")

    @property
    def compact(self) -> Compact:
        """The drawing, short."""
        return Compact(self.drawing)


@dataclass(frozen=True)
class Racked(Declared):
    """Racks of a room in their rows, with their cables."""

    rows: RackRows

    KEYS = (_part("racks"), "*rows")


@dataclass(frozen=True, slots=True)
class Block(Declared):
    """Data that are distinguished."""

    name: str  # whose data it is
    start: list[int] | None  # who has it at the start; null for all members
    end: list[int] | None  # who has it at the end; null for all members

    KEYS = "name from=start to=end"


@dataclass(frozen=True, slots=True)
class Sends(Declared):
    """Sends, in columns."""

    start: IntArray  # instants at which they start
    end: IntArray  # instants at which data have arrived
    path: IntArray  # their ways
    block: IntArray  # their blocks
    low: IntArray  # first parts of the block
    high: IntArray  # ends of the parts
    add: IntArray  # 1 where the receiver adds

    KEYS = "from=start to=end path block low high add"


@dataclass(frozen=True)
class Played(Declared):
    """A plan to play, step by step."""

    title: str  # what is played
    drawing: Compact  # where
    members: IntArray  # nodes that take part
    blocks: tuple[Block, ...]  # data that are distinguished
    adds: bool  # whether contributions are added up
    units: int  # equal parts of a block
    cuts: IntArray  # units at which a block is cut into parts that move together
    instants: tuple[str, ...]  # what there is after each instant but the last: a step, or a time
    paths: tuple[tuple[int, ...], ...]  # ways that data go: vertices
    sends: Sends  # sends, in columns
    note: str  # a line below

    KEYS = (_part("player"), "title drawing members blocks adds units cuts instants paths sends note")


@dataclass(frozen=True)
class Command(Declared):
    """A command line."""

    about: str  # what for
    command: str  # a command line

    KEYS = "about command"


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

    name: str  # what it is
    value: str  # it, rounded for reading as everywhere
    about: str  # what to hold it against

    KEYS = "name value about"
    SHARED = "report_figure"


@dataclass(frozen=True)
class Summary(Declared):
    """What is read first, and printed on one page."""

    name: str  # the answer, or what the report is on, by its short name
    spec: str  # the text that rebuilds it; the name where there is none
    figures: tuple[Figure, ...]  # three figures, or four where a collective was asked for
    price: tuple[str, ...]  # what it takes, a line each
    picture: Diagram | Racked | None  # a picture of it; null where it is too large for one

    KEYS = "name spec figures price picture"


Part = Words | Facts | Listing | Plotted | Diagram | Played | Commands


@dataclass(frozen=True)
class Section(Declared):
    """A section of a report."""

    title: str  # its title
    parts: tuple[Part, ...]  # what there is in it

    KEYS = "title parts"
    SHARED = "report_section"


@dataclass(frozen=True)
class Choice(Declared):
    """One of several things that the page can be about."""

    name: str  # what it is called
    sections: tuple[Section, ...]  # those on it alone

    KEYS = "name sections"


@dataclass(frozen=True)
class Document(Declared):
    """All that a page tells."""

    kind: Literal["answer", "decision", "topology", "fabric", "plan"]  # what it is on
    title: str  # what it is on, in words
    setting: str  # what times are for
    verdict: str  # the answer in a sentence or two
    summary: Summary  # what is read first
    sections: tuple[Section, ...]  # those on all choices together
    choices: tuple[Choice, ...]  # what there is to choose from; one where the report is on one thing
    chosen: int  # number of the choice that is shown first
    result: dict[str, Any]

    KEYS = (
        "kind title setting verdict summary sections choices chosen",
        key(
            "result",
            "What the command about the same thing prints: pareto, design, evaluate, or verify and simulate.",
            kind=dict,
        ),
    )
