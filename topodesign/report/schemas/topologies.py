"""Documents about topologies."""

from __future__ import annotations

from topodesign.report.schemas.shapes import array, declared, either, integer, nullable, record, text

COMPARISON = "report.comparison.compare:Comparison"
FAMILIES = declared("report.families:Families")
ANSWER = either(
    declared(
        "catalog.frontier:Pareto",
        "of allreduces",
        more={"against?": declared(COMPARISON, "With --against: the fastest beside others.")},
    ),
    declared("catalog.ranking:Ranking", "with --collective or --workload"),
    declared("catalog.routed_ranking:RoutedRanking", "with --hop"),
    declared("wiring.change.growth:Growth", "with --grow-from"),
    declared("wiring.plant.answer:Carried", "with --plant"),
    declared("report.boxes.frontier:BoxFrontier", "with --box"),
    declared("catalog.survey:Survey", "for a range of N or d"),
)
EVALUATE = declared("pricing.evaluation:Evaluation")
COMPARE = declared(COMPARISON)
LINKS = record(
    {
        "nodes": integer("Nodes N, numbered from 0."),
        "links": array(array(integer(), "From node, to node, capacity.", length=3), "All links."),
    }
)
SYNTHESIZE = declared("search.synthesis:Synthesis", more={"file": nullable(text("What -o wrote; null without it."))})
