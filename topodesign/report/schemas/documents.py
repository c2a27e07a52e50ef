"""The schema of what each command prints, with its version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from topodesign.base.arguments import as_choice
from topodesign.report.schemas import catalogs, fabrics, plans, topologies
from topodesign.report.schemas.derived import Shapes, loaded
from topodesign.report.schemas.shapes import Shape, array, declared, either, mapping, nullable, record, text, texts

DRAFT = "https://json-schema.org/draft/2020-12/schema"
EXAMPLES = either(
    record({"examples": array(declared("base.shipped:Example"), "Those that there are.")}, "the list"),
    record({"files": texts("Copies that were made.")}, "with NAMES"),
)
SCHEMA = record({"schemas": mapping({"type": "object"}, "The JSON Schema of each command that was named, or of all.")})
CHART, DRAWING = declared("report.charts.chart:Chart"), declared("report.charts.chart:Drawing")
ROUTES = declared("wiring.routes.routes:Routes", more={"file": nullable(text("What -o wrote; null without it."))})
REPLAN = declared("schedulers.replan:Replanned", more={"file": text("What -o wrote.")})
SHAPES: dict[str, tuple[Shape, int]] = {
    "pareto": (topologies.ANSWER, 1),
    "synthesize": (topologies.SYNTHESIZE, 1),
    "catalog show": (catalogs.SHOW, 1),
    "catalog list": (catalogs.LIST, 1),
    "catalog build": (catalogs.BUILD, 1),
    "catalog verify": (catalogs.VERIFY, 1),
    "catalog price": (catalogs.PRICE, 1),
    "catalog improve": (catalogs.IMPROVE, 1),
    "catalog merge": (catalogs.MERGE, 1),
    "catalog compare": (catalogs.COMPARE, 1),
    "evaluate": (topologies.EVALUATE, 1),
    "compare": (topologies.COMPARE, 1),
    "step": (declared("report.comparison.steps:StepComparison"), 1),
    "design": (declared("report.design.answer:Decision"), 1),
    "families": (topologies.FAMILIES, 1),
    "links": (topologies.LINKS, 1),
    "optimum": (fabrics.OPTIMUM, 1),
    "fabric": (fabrics.FABRIC, 1),
    "schedule": (plans.SCHEDULE, 1),
    "replan": (REPLAN, 1),
    "frontier": (plans.FRONTIER, 1),
    "pipeline": (plans.PIPELINE, 1),
    "groups": (declared("optima.group_price:GroupPrice"), 1),
    "uneven": (declared("optima.uneven:UnevenPrice"), 1),
    "reconfigure": (
        either(
            declared("schedulers.circuits.reconfigure:Reconfiguration") | {"description": "without --plant"},
            declared("wiring.plant.phases:CarriedPhases") | {"description": "with --plant"},
        ),
        1,
    ),
    "layout": (fabrics.LAYOUT, 1),
    "methods": (plans.METHODS, 1),
    "verify": (plans.VERIFY, 1),
    "simulate": (plans.SIMULATE, 1),
    "compile": (plans.COMPILE, 1),
    "compile-set": (plans.COMPILE_SET, 1),
    "runtimes": (declared("runtime.rules:Rules"), 1),
    "doctor": (declared("runtime.diagnosis:Diagnosis"), 1),
    "run": (declared("execution.result:RunResult"), 1),
    **{f"plot {name}": (CHART, 1) for name in ("frontier", "times", "sizes", "winners")},
    **{f"plot {name}": (DRAWING, 1) for name in ("structure", "matrix", "orbits", "boxes")},
    **{f"plot {name}": (CHART, 1) for name in ("distances", "loads", "timeline", "use")},
    "plot cut": (DRAWING, 1),
    "report": (declared("report.page.page:Page"), 1),
    "examples": (EXAMPLES, 1),
    "schema": (SCHEMA, 1),
    "plugins": (declared("base.plugins:Plugins"), 1),
    "warm": (declared("report.first_use:Warmed"), 1),
    "routed": (declared("optima.routed:Routed"), 1),
    "routes": (ROUTES, 1),
    "wire plan": (declared("wiring.plan.plan:WiringPlan"), 1),
    "wire buy": (declared("wiring.parts.bought:Purchase"), 1),
    "wire loss": (declared("wiring.plan.losses:LossBudget"), 1),
    "wire show": (
        either(
            declared("wiring.plan.plan:WiringPlan") | {"description": "without NAME"},
            declared("wiring.exports.trace:Traces") | {"description": "with NAME"},
        ),
        1,
    ),
    "wire addresses": (declared("wiring.bringup.bringup:Bringup"), 1),
    "wire import": (declared("wiring.exports.read_back:ReadBack"), 1),
    "wire diff": (declared("wiring.change.rewire:Rewiring"), 1),
    "wire apply": (declared("wiring.switches.apply:Applied"), 1),
    "wire check": (declared("wiring.check.check:WiringCheck"), 1),
    "wire impact": (declared("wiring.failures.report:FailureReport"), 1),
    "wire repairs": (declared("wiring.failures.order:RepairOrder"), 1),
    "wire year": (declared("wiring.failures.year:Year"), 1),
}
"""The shape of what a command prints, from the other modules of this folder, and its version.

A version stands for what keys mean: new keys leave it as it is; where one goes or means something else, it grows.
"""
FILES = frozenset({"links", "fabric"})
"""Commands that print a file in a format of its own, which other commands read: it has no key ``schema``."""


def identifier(command: str) -> str:
    """Return what documents of a command have under ``schema``: the program, the command and the version."""
    return f"topodesign/{command.replace(' ', '-')}/{SHAPES[command][1]}"


def json_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of what a command prints with ``--json``.

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
    >>> schema = json_schema("catalog price")
    >>> schema["$id"], list(schema["properties"])
    ('topodesign/catalog-price/1', ['schema', 'degrees'])
    """
    shape, _ = SHAPES[as_choice("command", command, SHAPES)]
    maker = Shapes()
    shape = _resolved(shape, maker, whole=True)
    if command not in FILES:
        shape = _with_more(record({"schema": {"description": "This schema.", "const": identifier(command)}}), shape)
    head = {"$schema": DRAFT, "$id": identifier(command), "title": f"topodesign {command} --json"}
    shared = _shared(shape, maker)
    return head | shape | ({"$defs": dict(sorted(shared.items()))} if shared else {})


def _resolved(shape: Any, maker: Shapes, *, whole: bool = False) -> Any:
    """Return a shape with those of classes in their places; ``whole`` ones are there even if they are shared."""
    if isinstance(shape, list):
        return [_resolved(one, maker, whole=whole) for one in shape]
    if not isinstance(shape, dict):
        return shape
    if "$class" not in shape:
        return {name: _resolved(one, maker, whole=whole and name == "anyOf") for name, one in shape.items()}
    kind, more, about = loaded(shape["$class"]), shape.get("$more"), shape.get("description", "")
    if not (whole or more):
        return maker.of_class(kind, about)
    found = maker.of_keys(kind.KEYS, kind, about)
    return _with_more(found, _resolved(more, maker, whole=True)) if more else found


def _with_more(shape: Shape, more: Shape) -> Shape:
    """Return a shape of objects with the keys of another one after its own; there may be several of either."""
    if "anyOf" in shape:
        return shape | {"anyOf": [_with_more(one, more) for one in shape["anyOf"]]}
    if "anyOf" in more:
        return more | {"anyOf": [_with_more(shape, one) for one in more["anyOf"]]}
    properties = shape["properties"] | more["properties"]
    required = [*dict.fromkeys([*shape["required"], *more["required"]])]
    return more | shape | {"properties": properties, "required": required}


def _shared(shape: Shape, maker: Shapes) -> dict[str, Shape]:
    """Return the shared shapes that one refers to, and those that these do."""
    found: dict[str, Shape] = {}
    new = set(_references(shape))
    while new:
        for name in new:
            found[name] = maker.shared[name]
        new = {inner for name in new for inner in _references(found[name])} - set(found)
    return found


def _references(shape: Any) -> Iterator[str]:
    if isinstance(shape, dict):
        if "$ref" in shape:
            yield shape["$ref"].rsplit("/", 1)[1]
        for inside in shape.values():
            yield from _references(inside)
    elif isinstance(shape, list):
        for inside in shape:
            yield from _references(inside)
