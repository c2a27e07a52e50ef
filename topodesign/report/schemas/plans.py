"""Documents about plans and programs."""

from __future__ import annotations

from topodesign.report.schemas.shapes import (
    Keys,
    array,
    declared,
    either,
    fraction,
    integer,
    nullable,
    record,
    text,
    texts,
    word,
)

_WRITTEN = {"verified": {"description": "Nothing else is written.", "const": True}, "file": text("What was written.")}
SCHEDULE = either(
    *(
        declared(f"report.scheduled:{kind}", how, more=_WRITTEN)
        for kind, how in {
            "InRounds": "in rounds",
            "OverTrees": "over trees",
            "OverPaths": "over paths",
            "InStages": "in stages",
            "InTimedSends": "in timed sends",
            "Several": "in timed sends of several collectives",
        }.items()
    )
)

_REPORT = "plans.replay.plans:Report"
VERIFY = either(
    declared("compiler.check_sets:SetReport", "a set of plans"),
    *(
        declared(_REPORT, f"a plan {how}", more=declared(found))
        for how, found in {
            "in rounds": "plans.replay.rounds:RoundsReport",
            "in phases": "plans.replay.steps:PhasesFound",
            "in routed rounds": "plans.replay.steps:RoutedFound",
            "over trees": "optima.forest.describe:TreeFacts",
            "over paths": "plans.replay.pipelines:PathsFound",
            "in stages": "plans.replay.pipelines:StagesFound",
            "in timed sends": "plans.replay.timed:TimedReport",
            "in timed sends of several collectives": "plans.replay.timed:TogetherFound",
        }.items()
    ),
    declared(
        _REPORT,
        "a plan over trees or paths that is wrong",
        more=record(
            {
                "fabric?": text("Of trees: what it is called."),
                "trees?": integer("Different trees; if all of them are trees."),
                "k?": fraction("Trees per root; as above."),
                "height?": fraction("Links of the longest way in a tree; as above."),
                "inv_x_star?": fraction("Seconds of a byte of a shard; as above."),
                "algorithmic_bandwidth?": fraction("Bytes per second; as above."),
            }
        ),
    ),
    declared("runtime.msccl.check:CheckReport", "a program"),
    declared("runtime.mscclpp.check:PlanReport", "an execution plan"),
    declared("runtime.jax.check:ModuleReport", "a module for JAX"),
    declared("runtime.chakra.check:TraceReport", "traces"),
    declared("runtime.phases:PhasesReport", "programs by phase"),
)
_MADE: Keys = {
    "fewer_trees?": nullable(text("What fewer trees cost, where the runtime takes no more; else null.")),
    "allreduce?": nullable(text("What is known of a better allreduce; else null.")),
    "notes": texts("How it came about, and what its runtime wants beside it."),
    "file": text("What was written; of traces the directory."),
}
COMPILE_SET = declared("compiler.sets:CompiledSet", more={"directory": text("What was written.")})
COMPILE = either(
    declared(
        "runtime.msccl.check:CheckReport",
        "one program",
        more={
            **_MADE,
            "threadblocks": declared("compiler.compilation:Sharing", "How sends and receives share threadblocks."),
        },
    ),
    declared("runtime.mscclpp.check:PlanReport", "an execution plan", more=_MADE),
    declared("runtime.jax.check:ModuleReport", "a module for JAX", more=_MADE),
    declared("runtime.chakra.check:TraceReport", "traces", more=_MADE),
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
                "One for each group, each phase, or each root.",
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
        "runs": array(declared("plans.timing.plans:Simulation"), "One for each --size."),
        "training?": declared("plans.timing.workload:TrainingStep", "With --training."),
    }
)
FRONTIER = declared(
    "schedulers.exact_frontier:ExactFrontier", more={"file": nullable(text("What -o wrote; null without it."))}
)
PIPELINE = declared("schedulers.frontier:PipelineFrontier")
METHODS = either(
    declared("report.comparison.methods:MethodComparison", "compared on a place"),
    record({"methods": array(declared("schedulers.listing:Listed"), "All there are.")}, "without a place"),
)
