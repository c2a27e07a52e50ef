"""Shapes that several commands print."""

from __future__ import annotations

from topodesign.report.schemas.shapes import (
    Keys,
    Shape,
    array,
    declared,
    flag,
    fraction,
    integer,
    nullable,
    number,
    record,
    shared,
    text,
)

COST: Keys = {
    "steps": integer("Communication steps; the latency is alpha times this."),
    "bandwidth": fraction("Bandwidth factor y: the data take y * M/B, with M bytes at B bytes per second of a node."),
}
BOUND: Keys = {
    "steps": integer("The fewest communication steps."),
    "bandwidth": fraction("The least bandwidth factor y."),
    "by_steps": array(
        record(COST), "What goes together: every topology has at least one of these or more. Mostly it is one."
    ),
}
MESSAGES: Keys = {
    "gap_s": number("Seconds between the starts of two messages at one port."),
    "hop_s": number("Seconds in a switch."),
}
TIMES: Keys = {
    "allreduce_s": number("Seconds of an allreduce of the first size."),
    "runtimes": array(shared("runtime"), "The same for every size."),
}
WORK: Keys = {
    "alpha_s": number("Latency of a step, in seconds."),
    "bandwidth_bps": number("Bandwidth of all links of a node, in bits per second."),
}
RATES: Keys = {
    "inv_x_star": fraction("Seconds that a byte of a shard takes at best: 1/x*."),
    "algorithmic_bandwidth": fraction("Whole data over the time, without latency, in bytes per second."),
    "algorithmic_bandwidth_GBps": number("The same in units of 10^9 bytes per second."),
}
CLAIMS: Keys = {"claims": array(shared("claim"), "What it is said to be the best of, and by which proof.")}
ROW: Keys = {"k": integer("Trees per root."), **RATES, "height": integer("Links of the longest way in a tree.")}
PARETO: Keys = {
    "nodes": integer("Nodes N."),
    "degree": integer("Ports d out of, and into, a node."),
    "bidirectional": flag("Whether only duplex topologies were asked for."),
    "origin": text("Where the topologies are from: the catalog, a search."),
    "catalog_version": nullable(text("Version of the catalog, in which short specs mean this; null without any.")),
    **WORK,
    "size_bytes": number("The first size, in bytes."),
    "lower_bound": record(
        {
            **BOUND,
            "moore_steps": integer("Moore's bound of the steps."),
            "theorem": nullable(text("Why no topology has so few, where the bound is one more; else null.")),
            **TIMES,
        },
        "What no topology beats.",
    ),
    "verdict": text("What to take, and why, in a sentence or two."),
    **CLAIMS,
    "better_size": nullable(shared("better_size"), "A size close by that is much better; null if there is none."),
    "runners_up": array(shared("runner_up"), "With --runners-up: what comes next to the fastest."),
    "topologies": array(shared("topology"), "The frontier, by ascending steps."),
    "baselines": array(shared("baseline"), "What rings and trees would take."),
}


TOPOLOGY: Keys = {
    "spec": text("What names and rebuilds it."),
    "name": nullable(
        text("A short spec of it, such as catalog(200,6,1); null if it is no row of the default catalog.")
    ),
    **COST,
    "bandwidth_float": number("The same, rounded."),
    "allgather_bandwidth": fraction("Bandwidth factor of the allgather alone."),
    "mean_bandwidth": fraction("The mean of both, which tables show as y: half an allreduce takes it."),
    "all_to_all": nullable(shared("bounds"), "All-to-all; null where it is not worked out."),
    **TIMES,
    "simplex": flag("Whether links go one way only, so that duplex cabling cannot wire it."),
    "found": text("The kind of construction or search that it is from."),
    "source": text("How the cost is known: from links, or by which theorem."),
    "best": flag("Whether it is the fastest at the first size."),
}

SHARED: dict[str, Shape] = {
    "turn": declared("report.comparison.thresholds:Threshold"),
    "claim": declared("base.claims:Claim"),
    "better_size": declared("catalog.close_sizes:Better"),
    "runner_up": record(
        {
            "wish": text("What it is good at."),
            "place": integer("Its place among those, from 1."),
            "spec": text("What names and rebuilds it."),
            **COST,
            "simplex": flag("Whether links go one way only."),
            "vertex_transitive": flag("Whether the construction proves that all nodes are alike."),
            "patches": integer("Patches to be plugged."),
            "cable_lengths": integer("Different lengths of patches, with nodes in a circle by number."),
            **TIMES,
            "over_fastest": number("Time at the first size over that of the fastest."),
        },
        "A topology that comes next to the fastest.",
    ),
    "runtime": declared("pricing.workload:Runtime"),
    "bounds": declared("catalog.all_to_all:Bounds"),
    "topology": record(TOPOLOGY, "A topology worth wiring."),
    "baseline": record(
        {
            "name": text("What it is called."),
            "steps": nullable(integer("Steps; null where the best depends on the size.")),
            "bandwidth": nullable(fraction("Bandwidth factor; null as above.")),
            **TIMES,
            "model": text("How it was counted."),
        },
        "What one would do anyway, by formula.",
    ),
    "frontier": record(PARETO, "The answer for one number of nodes."),
    "comparison": declared("report.comparison.compare:Comparison"),
    "contender": declared("report.comparison.contender:Contender"),
    "rates": record(RATES, "How fast a collective can be."),
    "trees": record({**ROW, "times_s": array(number(), "Seconds for each --size.")}, "What some trees per root reach."),
    "binding_link": declared("pricing.flows.flow_optimum:BindingLink"),
    "finding": declared("runtime.report:Finding"),
    "link": {
        "description": "A link: from node, to node, capacity.",
        "type": "array",
        "items": {"type": "integer", "minimum": 0},
        "minItems": 3,
        "maxItems": 3,
    },
    "ends": record({"from": text("A node or switch."), "to": text("A node or switch.")}, "Where a link is."),
}
