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
    from topodesign.base.cost import lower_bound as lower_bound
    from topodesign.base.cost import moore_bound as moore_bound
    from topodesign.base.shipped import copy_examples as copy_examples
    from topodesign.base.shipped import examples as examples
    from topodesign.base.spec import Spec as Spec
    from topodesign.base.spec import parse as parse
    from topodesign.catalog.budgets import Effort as Effort
    from topodesign.catalog.build import build_catalog as build_catalog
    from topodesign.catalog.known import known_topologies as known_topologies
    from topodesign.catalog.lookup import Catalog as Catalog
    from topodesign.catalog.pareto import Pareto as Pareto
    from topodesign.catalog.pareto import pareto as pareto
    from topodesign.catalog.verify import verify_catalog as verify_catalog
    from topodesign.expand.library import as_topology as as_topology
    from topodesign.expand.library import build as build
    from topodesign.fabrics.fabric import Fabric as Fabric
    from topodesign.fabrics.files import read_fabric as read_fabric
    from topodesign.fabrics.presets import build_fabric as build_fabric
    from topodesign.forest.schedule import forest_schedule as forest_schedule
    from topodesign.forest.throughput import throughput as throughput
    from topodesign.plans.rounds import Rounds as Rounds
    from topodesign.pricing.evaluation import evaluate as evaluate
    from topodesign.pricing.evaluation import price as price
    from topodesign.topology.files import write_links as write_links
    from topodesign.topology.topology import Topology as Topology


_HOMES = {
    "as_topology": "expand.library",
    "build": "expand.library",
    "Catalog": "catalog.lookup",
    "build_catalog": "catalog.build",
    "Effort": "catalog.budgets",
    "verify_catalog": "catalog.verify",
    "copy_examples": "base.shipped",
    "examples": "base.shipped",
    "known_topologies": "catalog.known",
    "write_links": "topology.files",
    "Cost": "base.cost",
    "lower_bound": "base.cost",
    "moore_bound": "base.cost",
    "evaluate": "pricing.evaluation",
    "Fabric": "fabrics.fabric",
    "read_fabric": "fabrics.files",
    "build_fabric": "fabrics.presets",
    "forest_schedule": "forest.schedule",
    "Pareto": "catalog.pareto",
    "pareto": "catalog.pareto",
    "Rounds": "plans.rounds",
    "price": "pricing.evaluation",
    "Spec": "base.spec",
    "parse": "base.spec",
    "throughput": "forest.throughput",
    "Topology": "topology.topology",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604  names of the table above


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'topodesign' has no attribute {name!r}")
    return getattr(importlib.import_module(f"topodesign.{_HOMES[name]}"), name)
