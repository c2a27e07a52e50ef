"""Documents about the catalog."""

from __future__ import annotations

from topodesign.report.schemas.shapes import array, declared, either, flag, integer, number, record, texts

SHOW = either(
    declared("catalog.frontier:Pareto", "for one N"),
    record({"sizes": array(declared("catalog.frontier:Pareto"), "The answer for each N.")}, "for a range of N"),
)
LIST = record(
    {
        "degrees": array(declared("catalog.quality:Coverage"), "A row for each degree."),
        "quality?": array(
            record(
                {
                    "degree": integer("Ports of a node."),
                    "duplex": flag("Whether only duplex topologies were judged."),
                    "sizes": integer("How many N."),
                    "near_optimal": number("Share of N with a bandwidth-optimal topology within two steps of Moore."),
                    "records": integer("Known records of the degree/diameter problem in the range."),
                    "records_missed": integer("How many of these have fewer steps than the best topology here."),
                },
                patterns={
                    "^mean_[0-9]": number("Mean ratio of the best allreduce of a size to the bound."),
                    "^record_mean_": number("What it would be with the steps of the records and optimal bandwidth."),
                    "^worst_[0-9]": number("The largest ratio."),
                    "^worst_nodes_": integer("Its N."),
                },
            ),
            "With --quality: how far the best topologies are from the bound.",
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
COMPARE = record(
    {
        "degrees": array(declared("catalog.changes:Change"), "Two rows for each degree."),
    }
)
