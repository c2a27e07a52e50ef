"""Documents about topologies."""

from __future__ import annotations

from topodesign.report.schemas.shapes import (
    array,
    declared,
    either,
    flag,
    fraction,
    integer,
    nullable,
    number,
    record,
    shared,
    text,
    word,
)
from topodesign.report.schemas.shared import CLAIMS, PARETO, TOPOLOGY, WORK

_RANKED = {
    "spec": text("What names and rebuilds it."),
    "steps": integer("Steps of a reduce-scatter."),
    "bandwidth": fraction("Bandwidth factor y of reduce-scatter or allgather, whichever is more."),
    "all_to_all": shared("bounds", "All-to-all."),
    "simplex": flag("Whether links go one way only."),
    "found": text("The kind of construction or search that it is from."),
    "times_s": array(number(), "Seconds of each question."),
    "least_s": array(number(), "What each takes at least, by the bounds of all-to-all."),
    "best": flag("Whether it is the best for the first question."),
}

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
    record(
        {
            "nodes": integer("Nodes N."),
            "degree": integer("Ports d out of, and into, a node."),
            "bidirectional": flag("Whether only duplex topologies were asked for."),
            **WORK,
            "questions": array(
                declared("pricing.mix:Mix"),
                "What the topologies are ranked for: each size, or a training step.",
            ),
            "lower_bound_s": array(number(), "What no topology beats, for each question."),
            "topologies": array(record(_RANKED), "The best first."),
            "proven": flag("Whether the first is proven to be the best of those known."),
            **CLAIMS,
            "allreduce_best": text("The spec that is best for an allreduce."),
            "verdict": text("What to take, and why."),
        },
        "with --collective or --workload",
    ),
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
