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
    """Paragraphs.

    Attributes
    ----------
    lines
        One each.
    """

    lines: tuple[str, ...]

    KEYS = (_part("words"), "lines")


@dataclass(frozen=True)
class Fact(Declared):
    """A figure.

    Attributes
    ----------
    name
        What it is called.
    exact
        Its exact value.
    about
        The same for people, and the bound.
    proof
        What it rests on.
    """

    name: str
    exact: str
    about: str
    proof: str

    KEYS = "name exact about proof"


@dataclass(frozen=True)
class Facts(Declared):
    """Figures with their proofs.

    Attributes
    ----------
    facts
        Figures.
    """

    facts: tuple[Fact, ...]

    KEYS = (_part("facts"), "facts")


@dataclass(frozen=True)
class Listing(Declared):
    """A table.

    Attributes
    ----------
    table
        Titles and rows.
    chooses
        Whether its first rows are the choices of the document.
    named
        Whether the last column says what a row is about: a page has it first.
    """

    table: Table
    chooses: bool = False
    named: bool = False

    KEYS = (
        _part("table"),
        "heading=table.heading columns=table.columns",
        key("rows=table.rows", "Cells, as they are shown."),
        "footnote=table.footnote",
    )


@dataclass(frozen=True)
class Plotted(Declared):
    """A plot.

    Attributes
    ----------
    chart
        What is shown.
    chooses
        Whether its first series are the choices of the document.
    """

    chart: Chart
    chooses: bool = False

    KEYS = (_part("chart"), "chooses *chart")


@dataclass(frozen=True, slots=True)
class Compact(Declared):
    """A drawing, short."""

    drawing: Drawing

    KEYS = (
        "title=drawing.title note=drawing.note legend=drawing.legend",
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
    """Data that are told apart.

    Attributes
    ----------
    name
        Whose data it is.
    start
        Who has it at the start; None for all members.
    end
        Who has it at the end; None for all members.
    """

    name: str
    start: list[int] | None
    end: list[int] | None

    KEYS = "name from=start to=end"


@dataclass(frozen=True, slots=True)
class Sends(Declared):
    """Sends, in columns.

    Attributes
    ----------
    start
        Instants at which they start.
    end
        Instants at which data have arrived.
    path
        Their ways.
    block
        Their blocks.
    low
        First parts of the block.
    high
        Ends of the parts.
    add
        1 where the receiver adds.
    """

    start: IntArray
    end: IntArray
    path: IntArray
    block: IntArray
    low: IntArray
    high: IntArray
    add: IntArray

    KEYS = "from=start to=end path block low high add"


@dataclass(frozen=True)
class Played(Declared):
    """A plan to play, step by step.

    Attributes
    ----------
    title
        What is played.
    drawing
        Where.
    members
        Nodes that take part.
    blocks
        Data that are told apart.
    adds
        Whether contributions are added up.
    units
        Equal parts of a block.
    cuts
        Units at which a block is cut into parts that move together.
    instants
        What there is after each instant but the last: a step, or a time.
    paths
        Ways that data go: vertices.
    sends
        Sends, in columns.
    note
        A line below.
    """

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

    KEYS = (_part("player"), "title drawing members blocks adds units cuts instants paths sends note")


@dataclass(frozen=True)
class Command(Declared):
    """A command line.

    Attributes
    ----------
    about
        What for.
    command
        A command line.
    """

    about: str
    command: str

    KEYS = "about command"


@dataclass(frozen=True)
class Commands(Declared):
    """What to type.

    Attributes
    ----------
    steps
        In their order.
    """

    steps: tuple[tuple[str, str], ...]

    KEYS = (
        _part("commands"),
        key("steps", kind=list[Command], value=lambda one: [Command(*step) for step in one.steps]),
    )


Part = Words | Facts | Listing | Plotted | Drawn | Played | Commands


@dataclass(frozen=True)
class Section(Declared):
    """A section of a report.

    Attributes
    ----------
    title
        Its title.
    parts
        What there is in it.
    """

    title: str
    parts: tuple[Part, ...]

    KEYS = "title parts"
    SHARED = "report_section"


@dataclass(frozen=True)
class Choice(Declared):
    """One of several things that the page can be about.

    Attributes
    ----------
    name
        What it is called.
    sections
        What is told of it alone.
    """

    name: str
    sections: tuple[Section, ...]

    KEYS = "name sections"


@dataclass(frozen=True)
class Document(Declared):
    """All that a page tells.

    Attributes
    ----------
    kind
        What it is on.
    title
        What it is on, in words.
    setting
        What times are for.
    verdict
        The answer in a sentence or two.
    sections
        What is told of all choices together.
    choices
        What there is to choose from; one where the report is on one thing.
    chosen
        Number of the choice that is shown first.
    result
        What the command about the same thing prints: pareto, evaluate, optimum, or verify and simulate.
    """

    kind: Literal["answer", "topology", "fabric", "plan"]
    title: str
    setting: str
    verdict: str
    sections: tuple[Section, ...]
    choices: tuple[Choice, ...]
    chosen: int
    result: dict[str, Any]

    KEYS = ("kind title setting verdict sections choices chosen", key("result", kind=dict))
