"""Documents about fabrics, and about groups on them."""

from __future__ import annotations

from topodesign.report.schemas.shapes import (
    array,
    declared,
    either,
    flag,
    fraction,
    integer,
    mapping,
    nullable,
    number,
    record,
    shared,
    text,
    texts,
)
from topodesign.report.schemas.shared import CLAIMS, MESSAGES, RATES

_FABRIC = {
    "fabric": text("What it is called."),
    "nodes": integer("Nodes that compute."),
    "switches": integer("Switches."),
    "links": integer("Links."),
    "collective": text("Whose bottleneck is told."),
}
_PROOF = {
    "bound": fraction("Bytes per second that none of what proof_covers names exceeds, an allreduce of any kind too."),
    "proven": flag("Whether the bandwidth reaches the bound."),
    "proof_covers": text("What the bound holds for."),
    **CLAIMS,
    "bottleneck_cut": texts("Nodes and switches on the sending side of the tightest cut."),
    "bottleneck_links": array(shared("binding_link"), "The links out of it."),
    "bottleneck": text("The same in words."),
}
_DOUBLED = {
    "class": text("The class of links."),
    "doubled": fraction("Bytes per second with these links twice as fast."),
    "doubled_gain": number("That over what it is now, less 1."),
}

OPTIMUM = either(
    record(
        {
            **_FABRIC,
            "shards": nullable(mapping(integer(), "Sizes of shards by node, where --shards gave them; else null.")),
            "k": integer("Trees per root that reach the optimum; with --fixed-k so many."),
            **RATES,
            **_PROOF,
            "proposition_3_k": integer("Trees per root by the formula of the paper's Proposition 3."),
            "collectives": mapping(
                shared("rates"), "The best of each collective, an allreduce as a reduce-scatter and then an allgather."
            ),
            "sensitivity": array(
                record(
                    {
                        **_DOUBLED,
                        "useful_factor": nullable(fraction("More than this is of no use; null: all is of use.")),
                        "limit": nullable(fraction("Bytes per second at that factor; null as above.")),
                    }
                ),
                "What more bandwidth would buy.",
            ),
            "best_allreduce?": record(
                {
                    "algorithmic_bandwidth": RATES["algorithmic_bandwidth"],
                    "algorithmic_bandwidth_GBps": RATES["algorithmic_bandwidth_GBps"],
                    "bound": nullable(fraction("Bytes per second that nothing beats; null if not asked for.")),
                    "proven": flag("Whether the bound is reached."),
                    "proof_covers": text("What the bound holds for."),
                    "composed": shared("rates", "A reduce-scatter and then an allgather."),
                    "composed_is_best": nullable(flag("Whether nothing beats that; null if not asked for.")),
                    "in_network": flag("Whether switches copy and add in it (--method in-network)."),
                    "in_words": text("The same in words."),
                },
                "What is known of any allreduce.",
            ),
            "optimum?": record(
                {"k": integer("Trees per root."), **RATES},
                "With --fixed-k: what any number of trees reaches.",
            ),
            "height?": integer("With --fixed-k: links of the longest way in a tree."),
            "times_s?": array(number(), "With --fixed-k: seconds for each --size."),
            "scan?": array(shared("trees"), "With --scan."),
            "frontier?": array(shared("trees"), "With --frontier: those that pay."),
            "alpha_s?": nullable(number("With --size: latency of a step, in seconds; null with --alpha fabric.")),
            **{f"{key}?": shape for key, shape in MESSAGES.items()},
            "sizes_bytes?": array(number(), "With --size: the sizes, in bytes."),
            "before?": shared("rates", "With --without: before the failure."),
        },
        "over trees",
    ),
    declared("pricing.flows.flow_optimum:FlowOptimum", "of all-to-all, scatter and gather"),
    declared("optima.fluid.fluid_optimum:FluidOptimum", "with --method fluid"),
    declared("optima.purchase:Purchase", "with --upgrade"),
    declared("optima.failures:SingleFailures", "with --failures"),
    declared("schedulers.failure_plans:FailurePlans", "with --failures and --plans"),
)
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
                    "from": text("A node or switch."),
                    "to": text("A node or switch."),
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
                    "links": array(shared("ends"), "Which links."),
                }
            ),
            "What several links may carry together.",
        ),
    }
)
LAYOUT = declared("search.layout:Layout", more={"file": nullable(text("What -o wrote; null without it."))})
