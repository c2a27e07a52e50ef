"""Documents about pictures: the numbers and words that are drawn."""

from __future__ import annotations

from topodesign.report.schemas.shapes import array, flag, number, record, shared, text, texts

CHART = record(
    {
        "kind": text("Which plot."),
        "title": text("What it shows."),
        "x": shared("axis"),
        "y": shared("axis"),
        "series": array(shared("series"), "What is shown, the most important first."),
        "marks": array(shared("mark"), "Places along x that matter."),
        "lanes": texts("Names of the lanes of spans, from y = 0 up; else empty."),
        "note": text("A line below."),
    }
)
DRAWING = record(
    {
        "kind": text("Which plot."),
        "title": text("What it shows."),
        "nodes": array(
            record(
                {
                    "name": text("Node or switch."),
                    "x": number("From left to right."),
                    "y": number("From bottom to top."),
                    "group": text("Its kind, for the legend."),
                }
            ),
            "Nodes and switches.",
        ),
        "links": array(
            record(
                {
                    "from": text("Its beginning."),
                    "to": text("Its end."),
                    "duplex": flag("Whether it is one line for both directions."),
                    "weight": number("How thick."),
                    "marked": flag("Whether it stands out."),
                }
            ),
            "Links.",
        ),
        "note": text("A line below."),
    }
)
