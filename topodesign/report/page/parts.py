"""What a report is made of: a document of sections, and sections of parts; all of it is data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from topodesign.base.records import Table
from topodesign.report.charts.chart import Chart, Drawing


@dataclass(frozen=True)
class Words:
    """Paragraphs."""

    lines: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {"part": "words", "lines": list(self.lines)}


@dataclass(frozen=True)
class Fact:
    """A figure: what it is called, the exact value, the same for people, and how it is proven."""

    name: str
    exact: str
    about: str
    proof: str


@dataclass(frozen=True)
class Facts:
    """Figures, exact, with their proofs."""

    facts: tuple[Fact, ...]

    def record(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        rows = [{"name": one.name, "exact": one.exact, "about": one.about, "proof": one.proof} for one in self.facts]
        return {"part": "facts", "facts": rows}


@dataclass(frozen=True)
class Listing:
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

    def record(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        table = self.table
        return {
            "part": "table",
            "heading": table.heading,
            "columns": list(table.columns),
            "rows": [list(row) for row in table.rows],
            "footnote": table.footnote,
        }


@dataclass(frozen=True)
class Plotted:
    """A chart; ``chooses`` says whether the points of its first series are the choices of the document."""

    chart: Chart
    chooses: bool = False

    def record(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {"part": "chart", "chooses": self.chooses, **self.chart.record()}


@dataclass(frozen=True)
class Drawn:
    """A drawing of nodes and links."""

    drawing: Drawing

    def record(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {"part": "drawing", **compact(self.drawing)}


@dataclass(frozen=True)
class Played:
    """A plan that can be played step by step: what :func:`topodesign.report.page.player.player_of` returned."""

    data: dict[str, Any]

    def record(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {"part": "player", **self.data}


@dataclass(frozen=True)
class Commands:
    """What to type, each with what it is for."""

    steps: tuple[tuple[str, str], ...]

    def record(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {"part": "commands", "steps": [{"about": about, "command": line} for about, line in self.steps]}


Part = Words | Facts | Listing | Plotted | Drawn | Played | Commands


@dataclass(frozen=True)
class Section:
    """Parts under a title."""

    title: str
    parts: tuple[Part, ...]

    def record(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {"title": self.title, "parts": [part.record() for part in self.parts]}


@dataclass(frozen=True)
class Choice:
    """One of several things that the page can be about, with all that is told of it alone."""

    name: str
    sections: tuple[Section, ...]

    def record(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {"name": self.name, "sections": [section.record() for section in self.sections]}


@dataclass(frozen=True)
class Document:
    """All that a page tells.

    Attributes
    ----------
    kind
        ``answer``, ``topology``, ``fabric`` or ``plan``.
    title, setting
        What it is about, and what times are for.
    verdict
        The answer in a sentence or two.
    sections
        What is told of all choices together.
    choices
        What there is to choose from; a document about one thing has one.
    chosen
        Number of the choice that is shown first.
    result
        What the command about the same thing prints with ``--json``.
    """

    kind: str
    title: str
    setting: str
    verdict: str
    sections: tuple[Section, ...]
    choices: tuple[Choice, ...]
    chosen: int
    result: dict[str, Any]

    def record(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {
            "kind": self.kind,
            "title": self.title,
            "setting": self.setting,
            "verdict": self.verdict,
            "sections": [section.record() for section in self.sections],
            "choices": [choice.record() for choice in self.choices],
            "chosen": self.chosen,
            "result": self.result,
        }


def compact(drawing: Drawing) -> dict[str, Any]:
    """Return a drawing as JSON, short: nodes as [name, x, y, group], links as [u, v, duplex, weight, marked]."""
    return {
        "title": drawing.title,
        "note": drawing.note,
        "legend": list(drawing.legend),
        "nodes": [
            [name, round(x, 4), round(y, 4), group]
            for name, x, y, group in zip(drawing.names, drawing.x, drawing.y, drawing.groups, strict=True)
        ],
        "links": [
            [u, v, int(duplex), round(weight, 4), int(marked)]
            for (u, v), duplex, weight, marked in zip(
                drawing.links, drawing.duplex, drawing.weights, drawing.marked, strict=True
            )
        ],
    }
