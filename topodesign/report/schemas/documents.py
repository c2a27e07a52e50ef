"""The schema of what each command prints, with its version."""

from __future__ import annotations

from typing import Any

from topodesign.base.arguments import as_choice
from topodesign.report.schemas.derived import Shapes, with_more
from topodesign.report.schemas.shapes import (
    Shape,
    array,
    declare_shape,
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
    variants,
    word,
)

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_FILE = {"file": nullable(text("What -o wrote; null without it."))}
_PARETO, _COMPARISON = "finder.pareto:Pareto", "report.comparison.compare:Comparison"
_CHART, _DRAWING = "report.charts.chart:Chart", "report.charts.chart:Drawing"

_CATALOG_LIST = {
    "degrees": array("catalog.quality:Coverage", "A row for each degree."),
    "quality?": array("catalog.quality:Quality", "With --compare-bound: the best and the bound."),
    "exchange?": array(
        "catalog.quality:ExchangeQuality",
        "With --compare-bound --collective all-to-all: how far the fastest are from the bound by distances.",
    ),
}
_PRICED = {
    "degree": integer("Ports of a node."),
    "priced": integer("Rows with a price of all-to-all."),
    "rows": integer("Rows."),
}

_SUBJECT = {"subject": text("Its name."), "about": text("What it is.")}
_ENDS = {"from": text("A node or switch."), "to": text("A node or switch.")}
_SWITCH = {
    "name": text("A switch."),
    "multicast?": flag("Whether it copies."),
    "aggregation?": flag("Whether it adds."),
    "memory?": flag("Whether it is memory, which copies."),
}
_LINK = {
    **_ENDS,
    "bandwidth": text("With its unit."),
    "duplex?": flag("Whether there is one back as well; false by default."),
    "class?": text("What upgrades and prices call it."),
}
_SHARED = {
    "name": text("What it is called."),
    "bandwidth": text("With its unit."),
    "links": array(record(_ENDS), "Which links."),
}
_PRICE = either(text("Of one more, or of so much bandwidth."), number("Of one more."))
_FABRIC = {
    "name": text("What it is called."),
    "nodes": texts("Nodes that compute."),
    "switches": array(either(text("A switch."), record(_SWITCH)), "Switches."),
    "links": array(record(_LINK), "Links; repeated ones add up."),
    "latency?": mapping(text("With its unit."), "Time that a message takes over a link, by class."),
    "prices?": mapping(_PRICE, "Price of links, by class."),
    "unequal?": flag("Whether nodes and switches may have more bandwidth in than out; false by default."),
    "shared?": array(record(_SHARED), "What several links may carry together."),
}

_WRITTEN = {"verified": {"description": "Nothing else is written.", "const": True}, "file": text("What was written.")}
_MADE = {
    "fewer_trees?": nullable(text("What fewer trees cost, where the runtime takes no more; else null.")),
    "allreduce?": nullable(text("What is known of a better allreduce; else null.")),
    "notes": texts("How it came about, and what its runtime wants beside it."),
    "file": text("What was written; of traces the directory."),
}
_CUT = {"cut": nullable(declare_shape("compiler.serving:Cut", "With --size: the chunks of its calls; else null."))}
_SHARING = declare_shape("compiler.compilation:Sharing", "How sends and receives share threadblocks.")
_PROGRAM = {
    "program": text("A line about it."),
    "ranks": texts("The node that each rank is."),
    "notes": texts("What else there is to say."),
    "file": text("What was written."),
}
_REPORT = "plans.verify.plans:Report"
_WRONG_TREES = {
    "fabric?": text("Of trees: what it is called."),
    "trees?": integer("Different trees; if all of them are trees."),
    "k?": fraction("Trees per root; as above."),
    "height?": fraction("Links of the longest way in a tree; as above."),
    "inv_x_star?": fraction("Seconds of a byte of a shard; as above."),
    "algorithmic_bandwidth?": fraction("Bytes per second; as above."),
}
_FOUND = {
    "in lock-step": "plans.verify.verdict:StepsFound",
    "over trees": "optima.forest.describe:TreeFacts",
    "over paths or in stages": "plans.verify.verdict:ChunksFound",
    "in timed sends": "plans.verify.verdict:ClockFound",
}
_UNSIZED_PROGRAMS = {
    "runtime.jax.check:ModuleReport": "a module for JAX",
    "runtime.chakra.check:TraceReport": "traces",
}

SHAPES: dict[str, Shape | str] = {
    "pareto": either(
        *variants(
            {
                _PARETO: "for one N and d",
                "wiring.change.growth:Growth": "with --near",
                "wiring.plant.answer:Carried": "with --inventory",
            },
            more={"against?": declare_shape(_COMPARISON, "With --add: the fastest beside others.")},
        ),
        declare_shape(
            "finder.survey:Survey",
            "for a range of N or d",
            more={"against?": array(_COMPARISON, "With --add: the fastest of each size beside others.")},
        ),
        *variants(
            {
                "report.boxes.frontier:BoxFrontier": "with --boxes",
                "report.boxes.frontier:BoxSurvey": "with --boxes, for a range of N or d",
                _CHART: "with --plot-kind",
                "report.page.page:Page": "with --plot-kind page",
            }
        ),
    ),
    "catalog show": either(
        declare_shape(_PARETO, "for one N"), declare_shape("finder.survey:Survey", "for a range of N")
    ),
    "catalog status": record(_CATALOG_LIST),
    "catalog build": record({"files": texts("The files that were written.")}),
    "catalog verify": "catalog.verify:Verification",
    "catalog improve": either(
        declare_shape("search.improve:Improvement", "a search"),
        record({"degrees": array(record(_PRICED), "A row for each degree.")}, "with --prices-only"),
    ),
    "catalog merge": record({"shares": array("catalog.merge:Share", "A row for each degree and catalog.")}),
    "catalog diff": record({"degrees": array("catalog.changes:Change", "Two rows for each degree.")}),
    "evaluate": either(
        *variants(
            {
                "schedulers.evaluation:Evaluation": "of a topology",
                "optima.optimum:Optimum": "throughput, of a fabric or with --collective",
                "optima.group_price:GroupPrice": "with --group",
                "optima.uneven:UnevenPrice": "with --traffic",
                _DRAWING: "with --plot-kind structure, boxes, bottleneck or orbits",
                _CHART: "with --plot-kind distances",
                "report.page.page:Page": "with --plot-kind page",
            }
        )
    ),
    "compare": _COMPARISON,
    "training": "report.comparison.steps:StepComparison",
    "design": "report.design.answer:Decision",
    "schedule": either(
        *variants(
            {
                "report.scheduled:InRounds": "in rounds",
                "report.scheduled:OverTrees": "over trees",
                "report.scheduled:OverPaths": "over paths",
                "report.scheduled:InStages": "in stages",
                "report.scheduled:InTimedSends": "in timed sends",
                "report.scheduled:InStreams": "in timed sends of several collectives",
            },
            more=_WRITTEN,
        ),
        declare_shape("schedulers.schedule_list:ScheduleList", "with --list", more=_FILE),
    ),
    "reconfigure": either(
        *variants(
            {
                "schedulers.circuits.reconfigure:Reconfiguration": "without --inventory",
                "wiring.plant.phases:CarriedPhases": "with --inventory",
            }
        )
    ),
    "verify": either(
        declare_shape("compiler.check_sets:SetReport", "a set of plans"),
        *(declare_shape(_REPORT, f"a plan {how}", more=declare_shape(found)) for how, found in _FOUND.items()),
        declare_shape(_REPORT, "a plan over trees or paths that is wrong", more=_WRONG_TREES),
        declare_shape("runtime.msccl.check:CheckReport", "a program"),
        declare_shape("runtime.mscclpp.check:PlanReport", "an execution plan"),
        *variants(_UNSIZED_PROGRAMS),
        declare_shape("runtime.phases:PhasesReport", "programs by phase"),
    ),
    "simulate": either(
        record(
            {
                "collective": text("What is done."),
                "nodes": integer("Nodes, with switches."),
                "mode": word("lock-step", "asynchronous", about="Whether steps wait for each other."),
                "runs": array("plans.time.simulate:Simulation", "One for each --size."),
                "training?": declare_shape("plans.time.workload:TrainingStep", "With --training."),
            },
            "of a plan",
        ),
        declare_shape(_CHART, "with --plot-kind"),
        declare_shape("report.page.page:Page", "with --plot-kind page"),
    ),
    "compile": either(
        declare_shape("runtime.msccl.check:CheckReport", "one program", more=_MADE | _CUT | {"threadblocks": _SHARING}),
        declare_shape("runtime.mscclpp.check:PlanReport", "an execution plan", more=_MADE | _CUT),
        *variants(_UNSIZED_PROGRAMS, more=_MADE),
        record(
            {"programs": array(record(_PROGRAM), "One for each group, each phase, or each root.")}, "several programs"
        ),
        declare_shape("compiler.library:Library", "with --for", more={"directory": text("What was written.")}),
    ),
    "doctor": either(
        declare_shape("runtime.diagnosis:Diagnosis", "of a log"),
        record({"calls": array("runtime.calls:CallCheck", "One for each --call.")}, "with --call"),
    ),
    "run": "execution.result:RunResult",
    "upgrade": "optima.purchase:Purchase",
    "failures": either(
        *variants(
            {
                "optima.failures:SingleFailures": "of a network",
                "schedulers.failure_plans:FailurePlans": "of a network, with -o",
                "wiring.failures.report:FailureReport": "of a wiring plan",
            }
        )
    ),
    "repair": either(
        declare_shape("schedulers.replan:Replanned", "of a plan", more={"file": text("What -o wrote.")}),
        declare_shape("wiring.failures.report:FailureReport", "of a wiring plan"),
    ),
    "convert": either(
        record(
            {
                "nodes": integer("Nodes N, numbered from 0."),
                "links": array(array(integer(), "From node, to node, capacity.", length=3), "All links."),
            },
            "links",
        ),
        record(_FABRIC, "a fabric"),
    ),
    "info": either(
        record({"subjects": array(record(_SUBJECT), "Those to ask about.")}, "without a subject"),
        declare_shape("report.families:Families", "families and fabrics"),
        record({"methods": array("schedulers.listing:Listed", "All, or the one named.")}, "algorithms"),
        declare_shape("runtime.rules:Rules", "runtimes"),
        declare_shape("base.plugins:Plugins", "plugins"),
        record(
            {"schemas": mapping({"type": "object"}, "The JSON Schema of each command that was named, or of all.")},
            "json",
        ),
    ),
    "examples": either(
        record({"examples": array("base.shipped:Example", "Those that there are.")}, "the list"),
        record({"files": texts("Copies that were made.")}, "with NAMES"),
    ),
    "kernels": "report.first_use:Warmed",
    "wire plan": "wiring.plan.plan:WiringPlan",
    "wire bill": "wiring.parts.bought:Purchase",
    "wire show": either(
        *variants(
            {
                "wiring.plan.plan:WiringPlan": "without NAME",
                "wiring.exports.trace:Traces": "with NAME",
                "wiring.plan.losses:LossBudget": "with --loss",
                "wiring.bringup.bringup:Bringup": "with --addresses",
            }
        )
    ),
    "wire change": "wiring.change.rewire:Rewiring",
    "wire check": "wiring.check.check:WiringCheck",
}
"""The shape of what a command prints, or the place of the class that declares it."""

VERSIONS: dict[str, int] = {"compile": 2, "verify": 2}
"""Versions of documents, which stand for what keys mean; 1 by default.

New keys leave a version as it is; where one goes or means something else, it grows.
"""
FILES = frozenset({"convert"})
"""Commands that print a file in a format of its own, which other commands read: it has no key ``schema``."""


def identifier(command: str) -> str:
    """Return the schema identifier: program, command and version."""
    return f"topodesign/{command.replace(' ', '-')}/{VERSIONS.get(command, 1)}"


def json_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a command's ``--json`` document.

    Documents name it under ``schema``. It is strict: this version of the program prints no other keys. Later ones may
    have more under the same name; one in which a key is gone, or means something else, has a higher number. So programs
    that read documents should pass over keys that they do not know.

    Parameters
    ----------
    command
        Such as ``"evaluate"`` or ``"wire plan"``.

    Raises
    ------
    ParameterError
        If no such command prints JSON.

    Examples
    --------
    >>> from topodesign import json_schema
    >>> schema = json_schema("catalog merge")
    >>> schema["$id"], list(schema["properties"])
    ('topodesign/catalog-merge/1', ['schema', 'shares'])
    """
    shape = SHAPES[as_choice("command", command, SHAPES)]
    maker = Shapes()
    shape = maker.resolve(declare_shape(shape) if isinstance(shape, str) else shape, whole=True)
    if command not in FILES:
        shape = with_more(record({"schema": {"description": "This schema.", "const": identifier(command)}}), shape)
    head = {"$schema": _DRAFT, "$id": identifier(command), "title": f"topodesign {command} --json"}
    shared = maker.collect_references(shape)
    return head | shape | ({"$defs": dict(sorted(shared.items()))} if shared else {})
