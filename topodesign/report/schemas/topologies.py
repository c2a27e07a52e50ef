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
    texts,
    word,
)
from topodesign.report.schemas.shared import BOUND, BOUNDS, CLAIMS, COMPARISON, COST, PARETO, TIMES, TOPOLOGY, WORK

_SHARE = {
    "collective": text("What is done."),
    "size_bytes": number("Data of a node, in bytes."),
    "count": integer("How often in a step."),
}
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

FAMILIES = record(
    {
        "families": array(
            record(
                {
                    "name": text("What specs begin with."),
                    "kind": word("family", "expansion", "everyday", "catalog", "fabric", about="What sort it is."),
                    "call": text("How it is written, with its arguments."),
                    "nodes": text("Nodes, by the arguments."),
                    "degree": text("Ports of a node, by the arguments."),
                    "example": text("A small one."),
                    "about": text("What it is, in a line."),
                    "source": text("Where it is from; empty if nobody is named."),
                    "text": text("All that there is to say."),
                    "example_nodes": integer("Nodes of the example."),
                    "example_degree": nullable(integer("Its ports; null for fabrics.")),
                    "example_steps": nullable(integer("Communication steps on it; null for fabrics.")),
                    "example_bandwidth": nullable(fraction("Its bandwidth factor; null for fabrics.")),
                    "picture": texts("Its links in half blocks, two rows of nodes a line; empty if it has many nodes."),
                }
            ),
            "What specs may begin with.",
        )
    }
)
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
                record({"name": text("What it is called."), "collectives": array(record(_SHARE), "What it does.")}),
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
EVALUATE = record(
    {
        "spec": nullable(text("What names and rebuilds it; null for links that have no spec.")),
        "alias": nullable(text("The short spec that it was asked for by, with the version of the catalog.")),
        "nodes": integer("Nodes N."),
        "degree": integer("Ports d out of, and into, a node."),
        **COST,
        "bandwidth_float": number("The same, rounded."),
        "reduce_scatter_bandwidth": fraction("Bandwidth factor of the reduce-scatter alone, by SPFF."),
        "allgather_bandwidth": fraction("Bandwidth factor of the allgather alone, by SPFF."),
        "deferred_steps": nullable(integer("Steps of the deferred schedules; null where they were not looked for.")),
        "deferred_reduce_scatter_bandwidth": nullable(
            fraction("The same by a deferred schedule, in deferred_steps; null where none was looked for.")
        ),
        "deferred_allgather_bandwidth": nullable(fraction("The same of the allgather.")),
        "lower_bound": record(BOUND, "What no topology of so many nodes and ports beats."),
        "steps_over_bound": integer("Steps beyond the bound."),
        "bandwidth_over_bound": fraction("Bandwidth factor over the bound, less 1."),
        "simplex": flag("Whether links go one way only."),
        "regular": flag("Whether all nodes have as many links out and in."),
        "vertex_transitive": flag("Whether the construction proves that all nodes are alike."),
        "diameter": integer("Longest distance of two nodes."),
        "girth": nullable(integer("Links of the shortest directed cycle, 2 of a duplex link; null if none.")),
        "undirected_girth": nullable(integer("The same of cables, for duplex topologies; null for others.")),
        "distance_profile": array(integer(), "Nodes at distance 1, 2, ... of the node priced first."),
        "self_loop_ports": integer("Ports that self-loops use up."),
        "links": integer("Links, parallel ones as one."),
        "sources_priced": integer("Nodes that prices were worked out from; the others are alike."),
        **CLAIMS,
        "all_to_all": record(
            {
                **BOUNDS,
                "method": text("How the price was found."),
                "moore_bound": fraction("The bound by counting what a degree can reach."),
                "distance_bound": nullable(fraction("The bound by the distances; null if it was not worked out.")),
                "equal_split": nullable(fraction("With all shortest paths alike; null as above.")),
                "shortest_paths": nullable(fraction("The best over shortest paths; null where that takes long.")),
            },
            "All-to-all: time = y * M/B with M the data of one node.",
        ),
        **TIMES,
    }
)
COMPARE = record(COMPARISON)
LINKS = record({"nodes": integer("Nodes N, numbered from 0."), "links": array(shared("link"), "All links.")})
SYNTHESIZE = record(
    {
        "nodes": integer("Nodes N."),
        "degree": integer("Ports d out of, and into, a node."),
        "collective": word("all-to-all", "allgather", about="Whose throughput is the highest."),
        "bandwidth": fraction("Bandwidth factor y of that collective."),
        "bound": fraction("What no topology beats."),
        "diameter": integer("Longest distance of two nodes."),
        "distances": integer("Sum of the distances of all pairs."),
        **CLAIMS,
        "proof": word("bound", "search", "none", about="Why nothing is better, or that it is not proven."),
        "gap": number("Bandwidth factor over the bound, less 1."),
        "links": array(shared("link"), "All links."),
        "file": nullable(text("What -o wrote; null without it.")),
    }
)
