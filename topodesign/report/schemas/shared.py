"""Shapes that several commands print."""

from __future__ import annotations

from topodesign.report.schemas.shapes import (
    Keys,
    Shape,
    array,
    declared,
    fraction,
    integer,
    number,
    record,
    shared,
    text,
)

COST: Keys = {
    "steps": integer("Communication steps; the latency is alpha times this."),
    "bandwidth": fraction("Bandwidth factor y: the data take y * M/B, with M bytes at B bytes per second of a node."),
}
MESSAGES: Keys = {
    "gap_s": number("Seconds between the starts of two messages at one port."),
    "hop_s": number("Seconds in a switch."),
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
SHARED: dict[str, Shape] = {
    "turn": declared("report.comparison.thresholds:Threshold"),
    "claim": declared("base.claims:Claim"),
    "better_size": declared("catalog.close_sizes:Better"),
    "runner_up": declared("catalog.runners_up:RunnerUp"),
    "runtime": declared("pricing.workload:Runtime"),
    "bounds": declared("catalog.all_to_all:Bounds"),
    "topology": declared("catalog.frontier:Entry"),
    "frontier": declared("catalog.frontier:Pareto"),
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
