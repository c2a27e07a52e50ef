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
    text,
    texts,
    word,
)
from topodesign.report.schemas.shared import COST, RATES, WORK

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
_STREAM: Keys = {
    "collective": text("What is done."),
    "size_bytes": fraction("Data that it is for, in bytes."),
    "begin": fraction("Seconds until it begins."),
    "time": fraction("Seconds until all have all of it."),
}

SCHEDULE = either(
    *(
        declared(f"report.scheduled:{kind}", how, more=_WRITTEN)
        for kind, how in {
            "InRounds": "in rounds",
            "OverTrees": "over trees",
            "OverPaths": "over paths",
            "InTimedSends": "in timed sends",
            "Several": "in timed sends of several collectives",
        }.items()
    )
)

_REPORT: Keys = {
    "ok": flag("Whether it is right, and what it says of itself true."),
    "kind": text("How data move: rounds, orbit, trees, paths, timed, together."),
    "collective": text("What is done."),
    "spec": nullable(text("What names and rebuilds the place; null for links that have no spec.")),
    "nodes": integer("Nodes that take part."),
    "problems": texts("What is wrong."),
}
VERIFY = either(
    declared("compiler.check_sets:SetReport", "a set of plans"),
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
    declared("runtime.msccl.check:CheckReport", "a program"),
    declared("runtime.mscclpp.check:PlanReport", "an execution plan"),
    declared("runtime.jax.check:ModuleReport", "a module for JAX"),
    declared("runtime.chakra.check:TraceReport", "traces"),
)
_AS_ABOVE: Keys = {
    "fewer_trees?": nullable(text("As above.")),
    "allreduce?": nullable(text("As above.")),
    "notes": texts("As above."),
}
COMPILE_SET = declared("compiler.sets:CompiledSet", more={"directory": text("What was written.")})
COMPILE = either(
    declared(
        "runtime.msccl.check:CheckReport",
        "one program",
        more={
            "fewer_trees?": nullable(text("What fewer trees cost, where the runtime takes no more; else null.")),
            "allreduce?": nullable(text("What is known of a better allreduce; else null.")),
            "notes": texts("How it came about, and what its runtime wants beside it."),
            "threadblocks": declared("compiler.compilation:Sharing", "How sends and receives share threadblocks."),
            "file": text("What was written."),
        },
    ),
    declared(
        "runtime.mscclpp.check:PlanReport",
        "an execution plan",
        more={**_AS_ABOVE, "file": text("What was written.")},
    ),
    declared(
        "runtime.jax.check:ModuleReport",
        "a module for JAX",
        more={**_AS_ABOVE, "file": text("What was written.")},
    ),
    declared(
        "runtime.chakra.check:TraceReport",
        "traces",
        more={**_AS_ABOVE, "file": text("The directory that was written.")},
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


SIMULATE = record(
    {
        "collective": text("What is done."),
        "nodes": integer("Nodes, with switches."),
        "mode": word("lock-step", "asynchronous", about="Whether steps wait for each other."),
        "runs": array(
            declared("plans.timing.plans:Simulation"),
            "One for each --size.",
        ),
        "training?": declared("plans.timing.workload:TrainingStep", "With --training."),
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
    declared("report.comparison.methods:MethodComparison", "compared on a place"),
    record(
        {"methods": array(declared("schedulers.listing:Listed"), "All there are.")},
        "without a place",
    ),
)
