"""Documents about the catalog."""

from __future__ import annotations

from topodesign.report.schemas.shapes import array, declared, either, integer, record, texts

SHOW = either(
    declared("catalog.frontier:Pareto", "for one N"),
    record({"sizes": array(declared("catalog.frontier:Pareto"), "The answer for each N.")}, "for a range of N"),
)
LIST = record(
    {
        "degrees": array(declared("catalog.quality:Coverage"), "A row for each degree."),
        "quality?": array(
            declared("catalog.quality:Quality"), "With --quality: how far the best topologies are from the bound."
        ),
        "exchange?": array(
            declared("catalog.exchange_quality:ExchangeQuality"),
            "With --quality --collective all-to-all: how far the fastest are from the bound by distances.",
        ),
    }
)
BUILD = record({"files": texts("The files that were written.")})
VERIFY = declared("catalog.verify:Verification")
PRICE = record(
    {
        "degrees": array(
            record(
                {
                    "degree": integer("Ports of a node."),
                    "priced": integer("Rows with a price of all-to-all."),
                    "rows": integer("Rows."),
                }
            ),
            "A row for each degree.",
        )
    }
)
IMPROVE = declared("catalog.improve:Improvement")
MERGE = record({"shares": array(declared("catalog.merge:Share"), "A row for each degree and catalog.")})
COMPARE = record({"degrees": array(declared("catalog.changes:Change"), "Two rows for each degree.")})
