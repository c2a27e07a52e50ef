"""Documents about the program itself."""

from __future__ import annotations

from topodesign.report.schemas.shapes import array, declared, either, mapping, record, texts

EXAMPLES = either(
    record(
        {
            "examples": array(
                declared("base.shipped:Example"),
                "Those that there are.",
            )
        },
        "the list",
    ),
    record({"files": texts("Copies that were made.")}, "with NAMES"),
)
SCHEMA = record({"schemas": mapping({"type": "object"}, "The JSON Schema of each command that was named, or of all.")})
