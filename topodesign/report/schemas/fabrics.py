"""Documents about fabrics, and about groups on them."""

from __future__ import annotations

from topodesign.report.schemas.shapes import (
    array,
    declared,
    either,
    flag,
    mapping,
    nullable,
    number,
    record,
    text,
    texts,
)

OPTIMUM = either(
    declared("optima.tree_optimum:FabricOptimum", "over trees"),
    declared("pricing.flows.flow_optimum:FlowOptimum", "of all-to-all, scatter and gather"),
    declared("optima.fluid.fluid_optimum:FluidOptimum", "with --method fluid"),
    declared("optima.purchase:Purchase", "with --upgrade"),
    declared("optima.failures:SingleFailures", "with --failures"),
    declared("schedulers.failure_plans:FailurePlans", "with --failures and --plans"),
)
_ENDS = {"from": text("A node or switch."), "to": text("A node or switch.")}
FABRIC = record(
    {
        "name": text("What it is called."),
        "nodes": texts("Nodes that compute."),
        "switches": array(
            either(
                text("A switch."),
                record(
                    {
                        "name": text("A switch."),
                        "multicast?": flag("Whether it copies."),
                        "aggregation?": flag("Whether it adds."),
                        "memory?": flag("Whether it is memory, which copies."),
                    }
                ),
            ),
            "Switches.",
        ),
        "links": array(
            record(
                {
                    **_ENDS,
                    "bandwidth": text("With its unit."),
                    "duplex?": flag("Whether there is one back as well; false if not said."),
                    "class?": text("What upgrades and prices call it."),
                }
            ),
            "Links; repeated ones add up.",
        ),
        "latency?": mapping(text("With its unit."), "Time that a message takes over a link, by class."),
        "prices?": mapping(
            either(text("Of one more, or of so much bandwidth."), number("Of one more.")), "Price of links, by class."
        ),
        "unequal?": flag("Whether nodes and switches may have more bandwidth in than out; false if not said."),
        "shared?": array(
            record(
                {
                    "name": text("What it is called."),
                    "bandwidth": text("With its unit."),
                    "links": array(record(_ENDS), "Which links."),
                }
            ),
            "What several links may carry together.",
        ),
    }
)
LAYOUT = declared("optima.layout:Layout", more={"file": nullable(text("What -o wrote; null without it."))})
