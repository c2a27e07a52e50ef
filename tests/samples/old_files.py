"""Schedule files as earlier programs wrote them, and what the reader makes of them in their terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.samples.tree_tables import Trees
from topodesign.base.cost import Cost
from topodesign.base.errors import ScheduleError
from topodesign.base.version import __version__
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.archive import LINK_COLUMNS, write_archive
from topodesign.plans.files import load_plan
from topodesign.plans.flow import Flow
from topodesign.plans.measure import flow_claim
from topodesign.topology.topology import Topology

TREE_FIELDS = ("rate", "reduce_trees", "shard", "concurrent")
TREE_TABLES = {"trees": "root", "edges": "tree", "routes": "route_edge", "hop_start": "hop_start", "hops": "hop"}
"""A column of every table, which says how many rows that has."""
FILE_COLUMNS = ("step", "src", "dst", "owner", "lo", "hi")


@dataclass(frozen=True)
class Header:
    version: int
    spec: str | None
    claim: Cost | None
    generator: Mapping[str, Any]


def save_schedule(
    path: str | Path,
    schedule: Flow,
    topology: Topology,
    *,
    spec: str | None = None,
    claim: Cost | None = None,
    generator: Mapping[str, Any] | None = None,
) -> None:
    """Version 1."""
    if not schedule.fits(topology):
        raise ScheduleError(f"the schedule is for {schedule.nodes} nodes, the topology has {topology.nodes}")
    if schedule.units >= 2**63:
        raise ScheduleError(f"a schedule file holds at most {2**63 - 1} units")
    fields = {
        "format": "topodesign schedule",
        "version": 1,
        "collective": schedule.collective.name,
        "nodes": schedule.nodes,
        **{name: getattr(schedule, name) for name in ("units", "steps", "reduce_steps")},
        "rows": len(schedule),
        "links": len(topology.src),
        "switches": sorted(topology.switches),
        "spec": str(topology.spec) if spec is None and topology.spec is not None else spec,
        "claim": None if claim is None else {"steps": claim.steps, "bandwidth": str(claim.bandwidth)},
        "generator": {"program": f"topodesign {__version__}", **(generator or {})},
    }
    columns = dict(zip(FILE_COLUMNS, schedule.table().values(), strict=True))
    write_archive(Path(path), fields, columns | _links(topology))


def save_trees(
    path: str | Path,
    schedule: Trees | Flow,
    fabric: Fabric,
    *,
    spec: str | None = None,
    generator: Mapping[str, Any] | None = None,
) -> None:
    """Version 2."""
    topology = fabric.topology
    schedule = Trees.of(schedule) if isinstance(schedule, Flow) else schedule
    claim = flow_claim(schedule.on(fabric))
    counts = {name: len(getattr(schedule, column)) for name, column in TREE_TABLES.items()}
    fields = {
        "format": "topodesign tree schedule",
        "version": 2,
        "collective": schedule.collective.name,
        "claim": {**{name: str(value) for name, value in claim.items()}, "height": int(claim["height"])},
        **{name: getattr(schedule, name) for name in TREE_FIELDS},
        "rate": str(schedule.rate),
        **counts,
        "nodes": topology.nodes,
        "switches": sorted(topology.switches),
        "links": len(topology.src),
        "fabric": fabric.name,
        "names": fabric.names,
        "unit": str(fabric.unit),
        "spec": str(topology.spec) if spec is None and topology.spec is not None else spec,
        "multicast": sorted(fabric.multicast),
        "aggregation": sorted(fabric.aggregation),
        "generator": {"program": f"topodesign {__version__}", **(generator or {})},
    }
    write_archive(Path(path), fields, schedule.columns() | _links(topology))


def load_schedule(path: str | Path) -> tuple[Topology, Flow, Header]:
    plan = load_plan(path)
    claim = Cost(int(plan.claim["steps"]), Fraction(plan.claim["bandwidth"])) if plan.claim else None
    return plan.topology, plan.rounds, Header(1, plan.spec, claim, plan.generator)


def load_trees(path: str | Path) -> tuple[Fabric, Trees, Any]:
    plan = load_plan(path)
    assert isinstance(plan.place, Fabric)
    return plan.place, Trees.of(plan), SimpleNamespace(claim=plan.claim, spec=plan.spec, generator=plan.generator)


def _links(topology: Topology) -> dict[str, Any]:
    return dict(zip(LINK_COLUMNS, (topology.src, topology.dst, topology.capacity), strict=True))
