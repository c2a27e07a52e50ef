"""Documents about the program itself."""

from __future__ import annotations

from topodesign.report.schemas.shapes import array, either, mapping, record, text, texts

EXAMPLES = either(
    record(
        {
            "examples": array(
                record({"name": text("The file."), "about": text("What it is."), "path": text("Where it is.")}),
                "Those that there are.",
            )
        },
        "the list",
    ),
    record({"files": texts("Copies that were made.")}, "with NAMES"),
)
SCHEMA = record({"schemas": mapping({"type": "object"}, "The JSON Schema of each command that was named, or of all.")})
