"""Documents about topologies."""

from __future__ import annotations

from topodesign.report.schemas.shapes import (
    array,
    declared,
    either,
    flag,
    integer,
    nullable,
    number,
    record,
    shared,
    text,
    word,
)
from topodesign.report.schemas.shared import PARETO, TOPOLOGY, WORK

FAMILIES = declared("report.families:Families")
ANSWER = either(
    record(
        {
            **PARETO,
            "candidates?": array(declared("catalog.own:Own"), "With --candidates, and families of other packages."),
            "against?": shared("comparison", "With --against: the fastest beside others."),
        },
        "of allreduces",
    ),
    declared("catalog.ranking:Ranking", "with --collective or --workload"),
    declared("catalog.routed_ranking:RoutedRanking", "with --hop"),
    declared("wiring.change.growth:Growth", "with --grow-from"),
    declared("wiring.plant.answer:Carried", "with --plant"),
    declared("report.boxes.frontier:BoxFrontier", "with --box"),
    record(
        {
            **WORK,
            "bandwidth_of": word("node", "port", about="What that is the bandwidth of."),
            "bidirectional": flag("Whether only duplex topologies were asked for."),
            "verdict": text("Which size to take, and why."),
            "sizes": array(
                record(
                    {
                        "nodes": integer("Nodes N."),
                        "degree": integer("Ports d out of, and into, a node."),
                        "catalog_version": nullable(text("Version of the catalog that short specs are of.")),
                        **TOPOLOGY,
                        "gain": nullable(number("What part of the time of the row before it saves; null without one.")),
                    }
                ),
                "The fastest topology of each size.",
            ),
            "missing": array(
                record(
                    {
                        "nodes": integer("Nodes N."),
                        "degree": integer("Ports d out of, and into, a node."),
                        "why": text("Why there is none."),
                    }
                ),
                "Sizes without a topology.",
            ),
        },
        "for a range of N or d",
    ),
)
EVALUATE = declared("pricing.evaluation:Evaluation")
COMPARE = declared("report.comparison.compare:Comparison")
LINKS = record({"nodes": integer("Nodes N, numbered from 0."), "links": array(shared("link"), "All links.")})
SYNTHESIZE = declared("search.synthesis:Synthesis", more={"file": nullable(text("What -o wrote; null without it."))})
