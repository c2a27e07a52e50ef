"""Documents about plans and programs."""

from __future__ import annotations

from topodesign.report.schemas.shapes import (
    Keys,
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
    word,
)
from topodesign.report.schemas.shared import COST, MESSAGES, RATES, STEP, WORK

_WRITTEN = {
    "verified": {"description": "Nothing else is written.", "const": True},
    "file": text("What was written."),
}
_TREES: Keys = {
    "fabric": text("What it is called."),
    "nodes": integer("Nodes that compute."),
    "switches": integer("Switches."),
    "collective": text("What is done."),
    "method": text("How it was made."),
    "concurrent": flag("Whether both halves of an allreduce run at the same time."),
    "shards": nullable(mapping(integer(), "Sizes of shards by node, where --shards gave them; else null.")),
    "k": either(integer(), fraction(), about="Trees per root."),
    "trees": integer("Different trees."),
    "height": integer("Links of the longest way in a tree."),
    **RATES,
    "relays": texts("Switches that add or copy in trees."),
    "in_network": nullable(
        record(
            {
                "traffic_saved": fraction("Part of all traffic that switches which copy or add save."),
                "node_traffic_saved": fraction("The same of what nodes send."),
                "height": integer("Height of the trees then."),
            },
            "With switches that copy or add; null without.",
        )
    ),
}
_SCHEDULED: Keys = {
    "spec": nullable(text("What names and rebuilds the place; null for links that have no spec.")),
    "alias": nullable(text("The short spec that it was asked for by, with the version of the catalog.")),
    "nodes": integer("Nodes, with switches."),
    "degree": integer("Ports of a node, of the largest where they differ."),
    "collective": text("What is done."),
    "groups": nullable(array(array(integer()), "Members of each group; null for all nodes.")),
    "method": text("How it was made."),
}
_PROVED: Keys = {
    "proof?": word("bound", "search", "none", about="Of exact methods: why nothing is better."),
    "bound?": fraction("Of exact methods: what no plan beats."),
}

_STREAM: Keys = {
    "collective": text("What is done."),
    "size_bytes": fraction("Data that it is for, in bytes."),
    "begin": fraction("Seconds until it begins."),
    "time": fraction("Seconds until all have all of it."),
}

SCHEDULE = either(
    record(
        {
            **_SCHEDULED,
            **_PROVED,
            **COST,
            "bandwidth_float": number("The same, rounded."),
            "units_per_shard": integer("Parts that a shard is cut into."),
            "sends": integer("Sends."),
            "bandwidth_lost_by_chunks": fraction("What the number of units loses."),
            "bandwidth_lost_at_most": fraction("What it could lose, by Theorem 21."),
            "other_methods": array(
                record({"method": text("Its name."), **COST}), "Methods that are better in steps or bandwidth."
            ),
            "least_bandwidth": nullable(fraction("What no plan of so many steps beats; null if not known.")),
            "more_steps": array(record(COST), "What more steps would reach."),
            **_WRITTEN,
        },
        "in rounds",
    ),
    record(
        {
            **_TREES,
            "allreduce": nullable(text("What is known of a better allreduce; null for other collectives.")),
            **_WRITTEN,
        },
        "over trees",
    ),
    record(
        {
            **_SCHEDULED,
            "height": fraction("Links of the longest path."),
            "inv_x_star": RATES["inv_x_star"],
            "algorithmic_bandwidth": RATES["algorithmic_bandwidth"],
            **_WRITTEN,
        },
        "over paths",
    ),
    record({**_SCHEDULED, **_PROVED, "time": fraction("Seconds until all have all."), **_WRITTEN}, "in timed sends"),
    record(
        {
            **_SCHEDULED,
            "bound": fraction("What no plan of them beats."),
            "time": fraction("Seconds until all have all."),
            "streams": array(
                record(
                    {**_STREAM, "groups": nullable(array(array(integer()), "Members of each group; null for all."))}
                ),
                "The collectives.",
            ),
            **_WRITTEN,
        },
        "in timed sends of several collectives",
    ),
)

_REPORT: Keys = {
    "ok": flag("Whether it is right, and what it says of itself true."),
    "kind": text("How data move: rounds, orbit, trees, paths, timed, together."),
    "collective": text("What is done."),
    "spec": nullable(text("What names and rebuilds the place; null for links that have no spec.")),
    "nodes": integer("Nodes that take part."),
    "problems": texts("What is wrong."),
}
_CHECK: Keys = {
    "ok": flag("Whether the program is right on the runtime."),
    "verdict": text("ok, or the kind of the first mistake."),
    "findings": array(shared("finding"), "What is wrong."),
    "warnings": texts("What works, but is likely not meant."),
    "runtime": text("Whose rules were held."),
    "program": text("A line about it; nothing if it could not be read."),
    "modes": texts("In place, out of place, or both: what was run."),
    "root": nullable(integer("Of a collective that has one; else null.")),
    "interleavings": integer("Random orders run in each mode."),
    "seed": integer("Their first seed."),
    "usage": nullable(
        record(
            {
                name: integer(about)
                for name, about in {
                    "threadblocks_per_rank": "Threadblocks.",
                    "steps_per_threadblock": "Steps.",
                    "xml_nodes_per_rank": "What the parser counts.",
                    "channels": "Channels.",
                    "scratch_chunks": "Chunks of scratch.",
                    "links_per_rank": "Other ranks that one sends to.",
                    "sends_per_link": "Sends.",
                    "chunks_per_link": "Chunks.",
                    "longest_chain": "Steps that wait for each other.",
                }.items()
            },
            "The largest number of each over ranks or links; null where the program is illegal.",
        )
    ),
    "calls": nullable(
        record(
            {
                "smallest": integer("Bytes."),
                "largest": nullable(integer("Bytes; null without a limit.")),
                "scratch_share": fraction("Scratch memory of a rank over the size of a call."),
                "scratch_bytes": nullable(integer("The most scratch memory of a rank; null without a limit.")),
                "scratch_at_start": flag("Whether it is taken when the communicator starts."),
            },
            "What the runtime uses it for; null where the program is illegal.",
        )
    ),
    "safe_bytes": nullable(
        integer("Of a deadlock: bytes of the largest call for which it is right all the same, 0 for none; else null.")
    ),
}

_PLAN_CHECK: Keys = {
    "ok": flag("Whether the plan is right."),
    "verdict": text("ok, or the kind of the first mistake."),
    "findings": array(shared("finding"), "What is wrong."),
    "warnings": texts("What works, but is likely not meant."),
    "runtime": text("mscclpp."),
    "program": text("A line about it; nothing if it could not be read."),
    "modes": texts("In place or out of place: what was run."),
    "root": nullable(integer("Of a collective that has one; else null.")),
    "launches": integer("Launches run, one after the other without a barrier between ranks."),
    "interleavings": integer("Random orders run."),
    "seed": integer("Their first seed."),
    "usage": nullable(
        record(
            {
                name: integer(about)
                for name, about in {
                    "threadblocks_per_rank": "Threadblocks.",
                    "operations_per_threadblock": "Operations, those in pipelines included.",
                    "memory_channels_per_rank": "Ends of memory channels.",
                    "port_channels_per_rank": "Ends of port channels.",
                    "semaphores_per_rank": "Semaphores.",
                    "scratch_chunks": "Chunks of scratch.",
                    "chunks_per_pair": "Chunks that go from one rank to another.",
                }.items()
            },
            "The largest number of each over ranks or pairs; null where the plan is illegal.",
        )
    ),
    "calls": nullable(
        record(
            {
                "smallest": integer("Bytes."),
                "largest": nullable(integer("Bytes; null without a limit.")),
                "multiple": integer("Bytes that every size is a multiple of."),
                "scratch_share": fraction("Scratch memory of a rank over the size of a call."),
                "allocations": text("What must hold for the allocations that inputs lie in; empty if nothing."),
            },
            "What it can be used for; null where the plan is illegal.",
        )
    ),
}

_TRACES: Keys = {
    "ok": flag("Whether nothing is wrong."),
    "verdict": text("ok, or the kind of the first mistake."),
    "findings": array(shared("finding"), "What is wrong."),
    "warnings": texts("What works, but is likely not meant, or could not be checked."),
    "program": text("A line about the traces."),
    "ranks": integer("Ranks."),
    "messages": integer("Messages of all ranks."),
    "nodes": integer("Nodes of all traces."),
    "bytes": integer("Bytes of all messages."),
    "data": flag("Whether what messages carry was checked, too."),
    "interleavings": integer("Random orders of events that were replayed."),
    "seed": integer("Their first seed."),
    "network": nullable(
        record(
            {
                "shape": text("FullyConnected or Switch."),
                "ranks": integer("Ranks."),
                "bandwidth": number("Of a link, in 2^30 bytes per second."),
                "latency": number("Of a link, in nanoseconds."),
            },
            "What times are for; null where nothing was said.",
        )
    ),
    "times": nullable(
        record(
            {
                "simulator_ns": integer("When ASTRA-sim says that the last rank is done, in nanoseconds."),
                "exact_ns": fraction("The same without its rounding."),
            },
            "Null without a network, and where something is wrong.",
        )
    ),
}

VERIFY = either(
    record(
        {
            **_REPORT,
            **COST,
            "redundant": integer("Sends of what is there already."),
            "refilled": integer("Sends that overwrite the same."),
        },
        "a plan in rounds",
    ),
    record(
        {
            **_REPORT,
            **_TREES,
            "k": either(integer(), fraction(), about="Trees per root."),
        },
        "a plan over trees",
    ),
    record(
        {
            **_REPORT,
            "paths": integer("Paths."),
            "height": fraction("Links of the longest path."),
            "inv_x_star": RATES["inv_x_star"],
            "algorithmic_bandwidth": RATES["algorithmic_bandwidth"],
        },
        "a plan over paths",
    ),
    record(
        {
            **_REPORT,
            "time": fraction("Seconds until all have all."),
            "size_bytes": fraction("Data that it is for, in bytes."),
            "redundant": integer("Sends of what is there already."),
            "refilled": integer("Sends that overwrite the same."),
        },
        "a plan in timed sends",
    ),
    record(
        {
            **_REPORT,
            "time": fraction("Seconds until all have all."),
            "streams": array(
                record(
                    {
                        **_STREAM,
                        "redundant": integer("Sends of what is there already."),
                        "refilled": integer("Sends that overwrite the same."),
                    }
                ),
                "The collectives.",
            ),
        },
        "a plan in timed sends of several collectives",
    ),
    record(
        {
            **_REPORT,
            "fabric?": text("Of trees: what it is called."),
            "trees?": integer("Different trees; if all of them are trees."),
            **{
                f"{name}?": fraction(f"{about}; as above.")
                for name, about in {
                    "k": "Trees per root",
                    "height": "Links of the longest way in a tree",
                    "inv_x_star": "Seconds of a byte of a shard",
                    "algorithmic_bandwidth": "Whole data over the time, without latency, in bytes per second",
                }.items()
            },
        },
        "a plan over trees or paths that is wrong",
    ),
    record(_CHECK, "a program"),
    record(_PLAN_CHECK, "an execution plan"),
    record(_TRACES, "traces"),
)
COMPILE = either(
    record(
        {
            **_CHECK,
            "fewer_trees?": nullable(text("What fewer trees cost, where the runtime takes no more; else null.")),
            "allreduce?": nullable(text("What is known of a better allreduce; else null.")),
            "notes": texts("How it came about, and what its runtime wants beside it."),
            "threadblocks": record(
                {
                    "asked": text("`auto`, `merged` or `separate`."),
                    "most": integer("Threadblocks of the rank that has most."),
                    "shared": integer("Those of them that both send and receive."),
                    "apart": integer("How many there would be if none did."),
                },
                "How sends and receives share threadblocks.",
            ),
            "file": text("What was written."),
        },
        "one program",
    ),
    record(
        {
            **_PLAN_CHECK,
            "fewer_trees?": nullable(text("As above.")),
            "allreduce?": nullable(text("As above.")),
            "notes": texts("As above."),
            "file": text("What was written."),
        },
        "an execution plan",
    ),
    record(
        {
            **_TRACES,
            "fewer_trees?": nullable(text("As above.")),
            "allreduce?": nullable(text("As above.")),
            "notes": texts("As above."),
            "file": text("The directory that was written."),
        },
        "traces",
    ),
    record(
        {
            "programs": array(
                record(
                    {
                        "program": text("A line about it."),
                        "ranks": texts("The node that each rank is."),
                        "notes": texts("What else there is to say."),
                        "file": text("What was written."),
                    }
                ),
                "One for each group, or each root.",
            )
        },
        "several programs",
    ),
)

RUNTIMES = record(
    {
        "rules": array(
            record(
                {
                    "runtime": text("Whose rule it is."),
                    "rule": text("What it is about."),
                    "says": text("The number, or the rule."),
                    "source": text("Where it was read: repository, commit, file and line."),
                }
            ),
            "One for each rule of each runtime.",
        )
    }
)
DOCTOR = record(
    {
        "ok": flag("Whether the program ran all calls that it is for."),
        "verdict": word(
            "ran",
            "ran for some calls",
            "ran nothing",
            "loaded",
            "refused",
            "not connected",
            "not loaded",
            "no log",
            about="What became.",
        ),
        "runtime": text("Which runtime it is; nothing where no line tells."),
        "program": nullable(
            record(
                {
                    "name": text("What it calls itself."),
                    "collective": text("What it does, in small letters without hyphens."),
                    "ranks": nullable(integer("For how many.")),
                    "chunks": nullable(integer("A call has a multiple of them; null where it is not said.")),
                    "inplace": flag("Whether it serves calls in place."),
                    "outofplace": flag("Whether it serves calls out of place."),
                    "smallest": integer("Bytes of the smallest call."),
                    "largest": nullable(integer("Bytes of the largest; null without a limit.")),
                },
                "What the program of --program is for; null without it.",
            )
        ),
        "calls": array(
            record(
                {
                    "collective": text("As the log calls it, in small letters."),
                    "size": nullable(integer("Bytes of the whole data; null where they are not said.")),
                    "ranks": nullable(integer("Of the communicator; null as above.")),
                    "inplace": nullable(flag("Whether input and output share memory; null as above.")),
                    "by": text("program, another program, built-in, or nothing where the log does not say it."),
                    "count": integer("How many calls, of all processes."),
                    "why": text("Why the program cannot have run them; nothing where it could."),
                }
            ),
            "Kinds of calls, the most frequent first.",
        ),
        "symptoms": array(
            record(
                {
                    "line": integer("Where it is first said."),
                    "means": text("What it means."),
                    "remedy": text("What to do."),
                    "source": text("Where the line was read: repository, commit, file and line."),
                    "count": integer("How often it is said."),
                }
            ),
            "What is in the way.",
        ),
        "advice": texts("What to do next."),
        "events": mapping(integer(), "How often each kind of line is there."),
        "files": texts("Files and directories that the runtime names."),
        "environment": mapping(text(), "Variables that it names."),
        "lines": integer("Lines of the log."),
        "processes": integer("Processes that said any of this."),
    }
)

SIMULATE = record(
    {
        "collective": text("What is done."),
        "nodes": integer("Nodes, with switches."),
        "mode": word("lock-step", "asynchronous", about="Whether steps wait for each other."),
        "runs": array(
            declared("plans.timing.plans:Simulation"),
            "One for each --size.",
        ),
        "training?": record(
            {
                "finish_s": number("Seconds of the step."),
                "compute_s": number("Seconds of computing in it."),
                "exposed_s": number("Seconds that it waits for allreduces."),
                "allreduce_s": number("Seconds of all allreduces."),
            },
            "With --training.",
        ),
    }
)
_ONE = record(
    {
        "name": text("What is done."),
        "root": nullable(integer("Node.")),
        "group": nullable(array(integer(), "Members; null for all.")),
    },
    "of one group",
)
_SEVERAL = record(
    {
        "name": text("What is done."),
        "groups": array(array(integer()), "Members of each."),
        "roots": nullable(array(integer(), "Root of each.")),
    },
    "of several",
)
FRONTIER = record(
    {
        "spec": nullable(text("What names and rebuilds the place; null for links that have no spec.")),
        "collective": _ONE | {"description": "What is done."},
        "most_chunks": integer("Chunks that were asked for at most."),
        "most_steps": integer("Steps that were asked for at most."),
        "proven": flag("Whether all rows are proven."),
        **WORK,
        "sizes_bytes": array(number(), "Sizes of the data, in bytes."),
        "frontier": array(
            record(
                {
                    "chunks": integer("Equal parts of a block."),
                    "steps": COST["steps"],
                    "rounds": fraction("Rounds, in each of which a link carries a chunk."),
                    "bandwidth": COST["bandwidth"],
                    "bound": fraction("Rounds that no plan beats."),
                    "gap": number("Rounds over the bound, less 1."),
                    "proof": text("Why nothing is better, or that it is not proven."),
                    "fastest_from_bytes": nullable(number("Data from which it is the fastest; null if never.")),
                    "times_s": array(number(), "Seconds for each size."),
                }
            ),
            "Choices that none with as few chunks and steps beats.",
        ),
        "unsettled": array(
            record(
                {
                    "chunks": integer("Equal parts of a block."),
                    "steps": COST["steps"],
                    "bound": fraction("Rounds that no plan beats."),
                    "below": fraction("Rounds that a plan has already with as few of both."),
                }
            ),
            "What the time was not enough for.",
        ),
        "file": nullable(text("What -o wrote; null without it.")),
    }
)
PIPELINE = record(
    {
        "spec": nullable(text("What names and rebuilds the topology; null for links that have no spec.")),
        "collective": either(_ONE, _SEVERAL, about="What is sent."),
        "bound": fraction("Bandwidth factor that nothing beats: that of the least cut."),
        **WORK,
        "sizes_bytes": array(number(), "Sizes of the data, in bytes."),
        "frontier": array(
            record(
                {
                    **COST,
                    "bandwidth_float": number("The same, rounded."),
                    "way": text("Which trees."),
                    "chunks": integer("Chunks that follow one another."),
                    "times_s": array(number(), "Seconds for each size."),
                    "best": array(flag(), "Whether it is the fastest, for each size."),
                }
            ),
            "What every number of steps buys.",
        ),
    }
)
METHODS = either(
    record(
        {
            "place": text("What it is called."),
            "nodes": integer("Nodes that compute."),
            "collective": text("What is done."),
            "root": nullable(integer("Of a collective that has one; else null.")),
            **WORK,
            "alpha_s": nullable(number("Latency of a step, in seconds; null with --alpha fabric.")),
            **MESSAGES,
            "bound": record(
                {**COST, "times_s": array(number(), "Seconds for each size.")}, "What no plan beats, proved."
            ),
            "sizes_bytes": array(number(), "Sizes of the data, in bytes."),
            "methods": array(
                record(
                    {
                        "method": text("Its name."),
                        "kind": nullable(text("How data move; null if it made nothing.")),
                        "steps": nullable(integer("Steps, or height; null if it made nothing.")),
                        "bandwidth": nullable(fraction("Bandwidth factor; null for timed sends, or nothing made.")),
                        **STEP,
                        "times": array(fraction(), "Seconds for each size, exactly."),
                        "times_s": array(number(), "The same, rounded."),
                        "over_bound": nullable(number("Bandwidth factor over the bound; null if it made nothing.")),
                        "made_in_s": number("Seconds that it took."),
                        "verified": flag("Whether the plan was found right."),
                        "reason": nullable(text("Why it made nothing; null if it did.")),
                    }
                ),
                "The fastest at the first size first.",
            ),
        },
        "compared on a place",
    ),
    record(
        {"methods": array(record({"method": text("Its name."), "about": text("What it makes.")}), "All there are.")},
        "without a place",
    ),
)
