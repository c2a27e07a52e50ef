"""Documents about reports: all that a page holds, section by section."""

from __future__ import annotations

from topodesign.report.schemas.shapes import (
    Keys,
    Shape,
    array,
    either,
    flag,
    integer,
    nullable,
    number,
    record,
    shared,
    text,
    texts,
    tuple_of,
    word,
)

_DRAWING: Keys = {
    "title": text("What it shows."),
    "note": text("A line below."),
    "legend": texts("What the groups of nodes are."),
    "nodes": array(
        tuple_of(text("Name."), number("From left to right."), number("From bottom to top."), integer("Group.")),
        "Nodes and switches: name, x, y, group.",
    ),
    "links": array(
        tuple_of(
            integer("Beginning."), integer("End."), integer("1 if it goes both ways."), number("How thick."),
            integer("1 if it stands out."),
        ),
        "Links: from, to, duplex, weight, marked.",
    ),
}  # fmt: skip


def _part(kind: str, about: str, keys: Keys) -> Shape:
    return record({"part": word(kind, about="Which kind of part."), **keys}, about)


def _numbers(about: str) -> Shape:
    return array(integer(), about)


SECTION = record(
    {
        "title": text("Its title."),
        "parts": array(
            either(
                _part("words", "Paragraphs.", {"lines": texts("One each.")}),
                _part(
                    "facts",
                    "Figures with their proofs.",
                    {
                        "facts": array(
                            record(
                                {
                                    "name": text("What it is called."),
                                    "exact": text("Its exact value."),
                                    "about": text("The same for people, and the bound."),
                                    "proof": text("What it rests on."),
                                }
                            ),
                            "Figures.",
                        )
                    },
                ),
                _part(
                    "table",
                    "A table.",
                    {
                        "heading": text("A line above."),
                        "columns": texts("Titles."),
                        "rows": array(texts(), "Cells, as they are shown."),
                        "footnote": text("Lines below."),
                    },
                ),
                _part(
                    "chart",
                    "A plot.",
                    {
                        "chooses": flag("Whether its first series are the choices of the document."),
                        "kind": text("Which plot."),
                        "title": text("What it shows."),
                        "x": shared("axis"),
                        "y": shared("axis"),
                        "series": array(shared("series"), "What is shown."),
                        "marks": array(shared("mark"), "Places along x that matter."),
                        "lanes": texts("Names of the lanes of spans."),
                        "note": text("A line below."),
                    },
                ),
                _part("drawing", "Nodes and links.", _DRAWING),
                _part(
                    "player",
                    "A plan to play.",
                    {
                        "title": text("What is played."),
                        "drawing": record(_DRAWING, "Where."),
                        "members": _numbers("Nodes that take part."),
                        "blocks": array(
                            record(
                                {
                                    "name": text("Whose data it is."),
                                    "from": nullable(_numbers("Who has it at the start; null for all members.")),
                                    "to": nullable(_numbers("Who has it at the end; null for all members.")),
                                }
                            ),
                            "Data that are told apart.",
                        ),
                        "adds": flag("Whether contributions are added up."),
                        "units": integer("Equal parts of a block."),
                        "cuts": _numbers("Units at which a block is cut into parts that move together."),
                        "instants": texts("What there is after each instant but the last: a step, or a time."),
                        "paths": array(_numbers("Vertices."), "Ways that data go."),
                        "sends": record(
                            {
                                "from": _numbers("Instants at which they start."),
                                "to": _numbers("Instants at which data have arrived."),
                                "path": _numbers("Their ways."),
                                "block": _numbers("Their blocks."),
                                "low": _numbers("First parts of the block."),
                                "high": _numbers("Ends of the parts."),
                                "add": _numbers("1 where the receiver adds."),
                            },
                            "Sends, in columns.",
                        ),
                        "note": text("A line below."),
                    },
                ),
                _part(
                    "commands",
                    "What to type.",
                    {
                        "steps": array(
                            record({"about": text("What for."), "command": text("A command line.")}), "In their order."
                        )
                    },
                ),
            ),
            "What there is in it.",
        ),
    },
    "A section of a report.",
)
REPORT = record(
    {
        "program": text("Name and version of the program."),
        "kind": word("answer", "topology", "fabric", "plan", about="What it is on."),
        "title": text("What it is on, in words."),
        "setting": text("What times are for."),
        "verdict": text("The answer in a sentence or two."),
        "sections": array(shared("report_section"), "What is told of all choices together."),
        "choices": array(
            record(
                {
                    "name": text("What it is called."),
                    "sections": array(shared("report_section"), "What is told of it alone."),
                }
            ),
            "What there is to choose from; one where the report is on one thing.",
        ),
        "chosen": integer("Number of the choice that is shown first."),
        "result": {
            "description": "What the command about the same thing prints: pareto, evaluate, optimum, or verify and "
            "simulate.",
            "type": "object",
        },
    }
)
