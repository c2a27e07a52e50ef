"""Shapes that several commands print."""

from __future__ import annotations

from topodesign.report.schemas.reports import SECTION
from topodesign.report.schemas.shapes import (
    Keys,
    Shape,
    array,
    declared,
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
    word,
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
STEP: Keys = {
    "pipelined": flag("Whether data follow one another in chunks."),
    "phases": integer(
        "Pipelines one after the other: 2 of an allreduce in halves, 1 of one at once; 0 of timed sends."
    ),
    "gaps": integer("Messages that follow another at the busiest port, in a step."),
    "hops": integer("Switches that data pass at most from node to node."),
    "chunks": array(integer(), "The fastest number of chunks for each size."),
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
BOUNDS: Keys = {
    "bandwidth": nullable(fraction("Bandwidth factor; null where only its bounds are known.")),
    "lower": fraction("What no way of doing it beats, proved."),
    "upper": nullable(fraction("What a known way reaches; null if none is known.")),
}
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
COMPARISON: Keys = {
    "nodes": integer("Nodes N."),
    **WORK,
    **MESSAGES,
    "sizes_bytes": array(number(), "Sizes of the data, in bytes."),
    "lower_bound": record(
        {**BOUND, "times_s": mapping(number(), "Seconds of an allreduce by size in bytes.")}, "What no topology beats."
    ),
    "contenders": array(shared("contender"), "The designs, in the order in which they were named."),
    "turns": array(shared("turn"), "Values of gap and hop that decide who is the fastest."),
    "missing": array(
        record({"name": text("The name."), "why": text("Why there is none.")}),
        "Names of which there is no design, or none in time.",
    ),
}
_CHANGE: Keys = {
    "moves": integer("Ends of patches to be plugged elsewhere."),
    "hosts": texts("The host that is each node afterwards."),
    "words": texts("What to do, a line for each patch."),
}
_PLACE: Keys = {
    "hosts": integer("Hosts that take part."),
    "steps": nullable(integer("Communication steps; null where the rest does not hang together.")),
    "bandwidth": nullable(fraction("Bandwidth factor, in parts of what a host had before; null as above.")),
    "figures": nullable(shared("strength"), "What links are left; null where --no-throughput leaves it out."),
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
    "pipeline": record(
        {
            "height": integer("Sends from node to node on the longest way."),
            "starts": integer("Messages that the busiest port starts in a step."),
            "switches": integer("Switches that data pass at most from node to node."),
            "bandwidth_time_s": number("Seconds by bandwidth alone."),
        },
        "Data that follow one another in chunks.",
    ),
    "turn": record(
        {
            "parameter": word("gap", "hop", about="Which latency."),
            "value_s": number("Seconds."),
            "side": word("above", "below", about="On which side of it another one is the fastest."),
            "fastest": text("Who is the fastest as it is."),
            "then": text("Who is on the other side."),
        },
        "A value that decides who is the fastest.",
    ),
    "report_section": SECTION,
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
    "runtime": record(
        {"size_bytes": number("Data, in bytes."), "allreduce_s": number("Seconds.")}, "The time for one size."
    ),
    "bounds": record(BOUNDS, "What all-to-all costs: time = y * M/B with M the data of one node."),
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
    "comparison": record(COMPARISON, "Designs side by side."),
    "contender": record(
        {
            "name": text("What it was called."),
            "spec": text("What it is: a spec, fabric or file."),
            "method": text("How its allreduce is made."),
            "proof": text("How the time is known."),
            "nodes": integer("Nodes N."),
            **COST,
            "steps": number("Communication steps of half an allreduce, or height of the trees of it."),
            **STEP,
            "all_to_all": record(
                {
                    "bandwidth": nullable(fraction("Bandwidth factor; null where only its bounds are known.")),
                    "lower": nullable(fraction("What nothing beats, proved; null if not worked out.")),
                    "upper": nullable(fraction("What is reached; null if not worked out.")),
                },
                "All-to-all.",
            ),
            "bisection": record(
                {
                    "lower": nullable(fraction("Proved; null for fabrics.")),
                    "upper": nullable(fraction("Of a cut that was found; null for fabrics.")),
                },
                "The narrowest half: capacity to the other half, as a part of what its nodes have in all.",
            ),
            "cables": integer("Cables."),
            "ports": integer("Ports of nodes."),
            "switches": integer("Switches."),
            "switch_ports": integer("Ports of switches."),
            "failures_survived": nullable(integer("Links that may fail, whichever they are; null if not worked out.")),
            "simplex": flag("Whether links go one way only."),
            "cost": nullable(number("Price, where --price says what things cost; else null.")),
            "times_s": mapping(number(), "Seconds of an allreduce by size in bytes."),
        },
        "A design, with a verified plan of its allreduce.",
    ),
    "rates": record(RATES, "How fast a collective can be."),
    "trees": record({**ROW, "times_s": array(number(), "Seconds for each --size.")}, "What some trees per root reach."),
    "binding_link": record(
        {
            "from": text("Its beginning."),
            "to": text("Its end."),
            "bandwidth": fraction("Bytes per second."),
            "class": text("The class that the fabric gives it; nothing if none."),
        },
        "A link of the bottleneck.",
    ),
    "finding": record(
        {
            "verdict": text("Which kind of mistake."),
            "message": text("What is wrong."),
            "rank": nullable(integer("Where; null if nowhere in particular.")),
            "threadblock": nullable(integer("Where; null as above.")),
            "step": nullable(integer("Where; null as above.")),
        },
        "A mistake of a program.",
    ),
    "link": {
        "description": "A link: from node, to node, capacity.",
        "type": "array",
        "items": {"type": "integer", "minimum": 0},
        "minItems": 3,
        "maxItems": 3,
    },
    "series": record(
        {
            "name": text("For the legend; nothing if it needs no words."),
            "role": word("ours", "bound", "other", about="What it is there for."),
            "style": word("line", "points", "steps", "bars", "spans", "level", about="How it is drawn."),
            "x": array(number(), "Places."),
            "y": array(number(), "As many values."),
            "until": array(number(), "Where spans end; else empty."),
            "texts": texts("What there is to say of each point, or nothing."),
        },
        "Points of one kind.",
    ),
    "ends": record({"from": text("A node or switch."), "to": text("A node or switch.")}, "Where a link is."),
    "mark": record({"x": number("Where."), "text": text("What is there.")}, "A place along x."),
    "axis": record(
        {"label": text("What it is, with its unit."), "scale": word("linear", "log", "log2", about="How divided.")},
        "An axis.",
    ),
    "spare": record(
        {
            "host": text("Host."),
            "port": text("Its port."),
            "lane": integer("Lane of the port."),
            "panel": text("Panel."),
            "panel_port": text("Port of the panel."),
            "transmit": flag("Whether its transmitter is free."),
            "receive": flag("Whether its receiver is free."),
            "self_loop": flag("Whether a self-loop of the topology uses it up."),
        },
        "A lane that is left over.",
    ),
    "trunk": record(
        {"from": text("Host."), "to": text("Host."), "links": integer("How many.")}, "Links of the same two hosts."
    ),
    "change": record(_CHANGE, "Patches to be moved."),
    "strength": record(
        {
            "links": integer("Links that work."),
            "connectivity": integer("Links that have to fail before hosts are cut off."),
            "allgather": nullable(fraction("Bytes per second of the best schedule; null if cut off.")),
            "allreduce": nullable(fraction("The same of an allreduce.")),
        },
        "What a wiring is worth.",
    ),
    "rest": record(_PLACE, "What is left, and what it costs."),
    "failure": record(
        {
            "kind": text("What fails: host, port, panel port, cable."),
            "device": text("The host or panel, or the cable."),
            "name": text("The port; nothing for others."),
        },
        "Something that fails.",
    ),
}
