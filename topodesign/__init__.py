"""topodesign: direct-connect network topologies for AI training, and what their collectives cost, exactly.

The names below are what a notebook needs; each is imported on first use, so that ``import topodesign`` is instant.

>>> from topodesign import build, pareto, price
>>> price(build("circulant(12,2,3)"))
Cost(steps=2, bandwidth=Fraction(11, 12))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from topodesign.base.version import __version__

if TYPE_CHECKING:
    from topodesign.base.cost import Cost as Cost
    from topodesign.base.cost import least_steps as least_steps
    from topodesign.base.cost import lower_bound as lower_bound
    from topodesign.base.cost import lower_bounds as lower_bounds
    from topodesign.base.cost import moore_bound as moore_bound
    from topodesign.base.plugins import plugins as plugins
    from topodesign.base.shipped import copy_examples as copy_examples
    from topodesign.base.shipped import examples as examples
    from topodesign.base.spec import Spec as Spec
    from topodesign.base.spec import parse as parse
    from topodesign.catalog.budgets import Effort as Effort
    from topodesign.catalog.build import build_catalog as build_catalog
    from topodesign.catalog.changes import compare_catalogs as compare_catalogs
    from topodesign.catalog.improve import improve_catalog as improve_catalog
    from topodesign.catalog.known import known_topologies as known_topologies
    from topodesign.catalog.lookup import Catalog as Catalog
    from topodesign.catalog.pareto import Pareto as Pareto
    from topodesign.catalog.pareto import pareto as pareto
    from topodesign.catalog.price import price_catalog as price_catalog
    from topodesign.catalog.ranking import rank as rank
    from topodesign.catalog.survey import survey as survey
    from topodesign.catalog.verify import verify_catalog as verify_catalog
    from topodesign.collectives import as_collective as as_collective
    from topodesign.collectives.collective import Collective as Collective
    from topodesign.compiler.compilation import compile_plan as compile_plan
    from topodesign.compiler.fitting import compile_fitting as compile_fitting
    from topodesign.compiler.several import compile_groups as compile_groups
    from topodesign.compiler.several import compile_roots as compile_roots
    from topodesign.execution.run import run_plan as run_plan
    from topodesign.fabrics.fabric import Fabric as Fabric
    from topodesign.fabrics.files import read_fabric as read_fabric
    from topodesign.fabrics.files import write_fabric as write_fabric
    from topodesign.fabrics.part import part_of as part_of
    from topodesign.fabrics.places import as_fabric as as_fabric
    from topodesign.fabrics.presets import build_fabric as build_fabric
    from topodesign.fabrics.unwinding import unwind as unwind
    from topodesign.optima.forest.fabric_optimum import optimum as optimum
    from topodesign.optima.forest.group_price import price_groups as price_groups
    from topodesign.optima.forest.purchase import upgrade as upgrade
    from topodesign.optima.forest.schedule import forest_schedule as forest_schedule
    from topodesign.optima.forest.throughput import throughput as throughput
    from topodesign.plans.files import load_plan as load_plan
    from topodesign.plans.files import save_plan as save_plan
    from topodesign.plans.orbit import OrbitRounds as OrbitRounds
    from topodesign.plans.paths import Paths as Paths
    from topodesign.plans.plan import Plan as Plan
    from topodesign.plans.replay.plans import verify as verify
    from topodesign.plans.rounds import Rounds as Rounds
    from topodesign.plans.timed import Timed as Timed
    from topodesign.plans.timing.plans import simulate as simulate
    from topodesign.plans.timing.plans import training_step as training_step
    from topodesign.plans.timing.timeline import timeline as timeline
    from topodesign.plans.together import Together as Together
    from topodesign.plans.trees import Trees as Trees
    from topodesign.pricing.all_to_all import all_to_all as all_to_all
    from topodesign.pricing.evaluation import evaluate as evaluate
    from topodesign.pricing.evaluation import price as price
    from topodesign.pricing.evaluation import price_deferred as price_deferred
    from topodesign.report.comparison.compare import compare as compare
    from topodesign.report.comparison.methods import compare_methods as compare_methods
    from topodesign.report.families import families as families
    from topodesign.report.page.page import report_page as report_page
    from topodesign.report.plots import plot as plot
    from topodesign.report.schemas.documents import json_schema as json_schema
    from topodesign.runtime.check import check_file as check_file
    from topodesign.runtime.doctor import doctor as doctor
    from topodesign.runtime.rules import runtime_rules as runtime_rules
    from topodesign.runtime.trace_check import check_traces as check_traces
    from topodesign.schedulers.exact_frontier import exact_frontier as exact_frontier
    from topodesign.schedulers.frontier import pipeline_frontier as pipeline_frontier
    from topodesign.schedulers.listing import methods as methods
    from topodesign.schedulers.scheduling import schedule as schedule
    from topodesign.search.layout import layout as layout
    from topodesign.search.synthesis import synthesize as synthesize
    from topodesign.topology.files import write_links as write_links
    from topodesign.topology.library import as_topology as as_topology
    from topodesign.topology.library import build as build
    from topodesign.topology.topology import Topology as Topology
    from topodesign.wiring.apply.apply import apply_wiring as apply_wiring
    from topodesign.wiring.apply.stage_files import export_stages as export_stages
    from topodesign.wiring.change.rewire import rewire as rewire
    from topodesign.wiring.change.sheets import write_change_sheets as write_change_sheets
    from topodesign.wiring.check.check import check_wiring as check_wiring
    from topodesign.wiring.exports.formats import export_wiring as export_wiring
    from topodesign.wiring.exports.read_back import import_wiring as import_wiring
    from topodesign.wiring.exports.trace import trace_wiring as trace_wiring
    from topodesign.wiring.failures.report import failure_impact as failure_impact
    from topodesign.wiring.inventory.files import read_inventory as read_inventory
    from topodesign.wiring.inventory.inventory import Inventory as Inventory
    from topodesign.wiring.inventory.plain import plain_inventory as plain_inventory
    from topodesign.wiring.plan.files import load_wiring as load_wiring
    from topodesign.wiring.plan.files import save_wiring as save_wiring
    from topodesign.wiring.plan.plan import WiringPlan as WiringPlan
    from topodesign.wiring.plan.wire import wire as wire
    from topodesign.wiring.start.answers import new_inventory as new_inventory
    from topodesign.wiring.start.discover import heard_hosts as heard_hosts
    from topodesign.wiring.start.source import read_netbox as read_netbox
    from topodesign.wiring.start.text import inventory_text as inventory_text

_HOMES = {
    "all_to_all": "pricing.all_to_all",
    "apply_wiring": "wiring.apply.apply",
    "as_collective": "collectives",
    "as_fabric": "fabrics.places",
    "as_topology": "topology.library",
    "build": "topology.library",
    "build_catalog": "catalog.build",
    "build_fabric": "fabrics.presets",
    "Catalog": "catalog.lookup",
    "check_file": "runtime.check",
    "check_traces": "runtime.trace_check",
    "doctor": "runtime.doctor",
    "runtime_rules": "runtime.rules",
    "check_wiring": "wiring.check.check",
    "Collective": "collectives.collective",
    "compare_catalogs": "catalog.changes",
    "compare_methods": "report.comparison.methods",
    "compare": "report.comparison.compare",
    "compile_fitting": "compiler.fitting",
    "compile_groups": "compiler.several",
    "compile_plan": "compiler.compilation",
    "compile_roots": "compiler.several",
    "copy_examples": "base.shipped",
    "Cost": "base.cost",
    "Effort": "catalog.budgets",
    "evaluate": "pricing.evaluation",
    "exact_frontier": "schedulers.exact_frontier",
    "examples": "base.shipped",
    "export_stages": "wiring.apply.stage_files",
    "export_wiring": "wiring.exports.formats",
    "Fabric": "fabrics.fabric",
    "families": "report.families",
    "failure_impact": "wiring.failures.report",
    "forest_schedule": "optima.forest.schedule",
    "heard_hosts": "wiring.start.discover",
    "import_wiring": "wiring.exports.read_back",
    "improve_catalog": "catalog.improve",
    "Inventory": "wiring.inventory.inventory",
    "inventory_text": "wiring.start.text",
    "json_schema": "report.schemas.documents",
    "known_topologies": "catalog.known",
    "load_plan": "plans.files",
    "load_wiring": "wiring.plan.files",
    "layout": "search.layout",
    "least_steps": "base.cost",
    "lower_bound": "base.cost",
    "lower_bounds": "base.cost",
    "methods": "schedulers.listing",
    "moore_bound": "base.cost",
    "new_inventory": "wiring.start.answers",
    "optimum": "optima.forest.fabric_optimum",
    "read_netbox": "wiring.start.source",
    "upgrade": "optima.forest.purchase",
    "OrbitRounds": "plans.orbit",
    "Pareto": "catalog.pareto",
    "pareto": "catalog.pareto",
    "parse": "base.spec",
    "part_of": "fabrics.part",
    "pipeline_frontier": "schedulers.frontier",
    "Paths": "plans.paths",
    "plain_inventory": "wiring.inventory.plain",
    "Plan": "plans.plan",
    "plot": "report.plots",
    "plugins": "base.plugins",
    "price": "pricing.evaluation",
    "price_catalog": "catalog.price",
    "price_deferred": "pricing.evaluation",
    "price_groups": "optima.forest.group_price",
    "rank": "catalog.ranking",
    "read_fabric": "fabrics.files",
    "read_inventory": "wiring.inventory.files",
    "report_page": "report.page.page",
    "rewire": "wiring.change.rewire",
    "run_plan": "execution.run",
    "Rounds": "plans.rounds",
    "save_plan": "plans.files",
    "save_wiring": "wiring.plan.files",
    "schedule": "schedulers.scheduling",
    "simulate": "plans.timing.plans",
    "Spec": "base.spec",
    "survey": "catalog.survey",
    "synthesize": "search.synthesis",
    "throughput": "optima.forest.throughput",
    "Timed": "plans.timed",
    "timeline": "plans.timing.timeline",
    "Together": "plans.together",
    "unwind": "fabrics.unwinding",
    "Topology": "topology.topology",
    "training_step": "plans.timing.plans",
    "trace_wiring": "wiring.exports.trace",
    "Trees": "plans.trees",
    "verify": "plans.replay.plans",
    "verify_catalog": "catalog.verify",
    "wire": "wiring.plan.wire",
    "WiringPlan": "wiring.plan.plan",
    "write_change_sheets": "wiring.change.sheets",
    "write_fabric": "fabrics.files",
    "write_links": "topology.files",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604  names of the table above


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'topodesign' has no attribute {name!r}")
    return getattr(importlib.import_module(f"topodesign.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
