"""Tree schedule files, read and checked."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

from topodesign.base.errors import ParameterError, SpecError
from topodesign.expand.library import build
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.presets import FABRICS, build_fabric
from topodesign.plans.measure import TreeFigures, tree_figures
from topodesign.plans.trees import Trees
from topodesign.plans.trees_file import TreeHeader, load_trees
from topodesign.verification.trees import TreeReport, verify_trees


def trees_of(path: Path) -> tuple[Fabric, Trees, TreeHeader, TreeReport]:
    """Read a tree schedule file and check all that it says: the schedule, what it is said to reach, and the spec."""
    fabric, schedule, header = load_trees(path)
    report = verify_trees(schedule, names=fabric.names)
    problems = list(report.problems)
    if report.ok and report.inverse_rate is not None:
        problems += _false_claims(header.claim, tree_figures(fabric, schedule, (report.inverse_rate, report.height)))
    if header.spec is not None and not _rebuilds(header.spec, fabric):
        problems.append(f"the spec {header.spec[:100]!r} in the file does not give the fabric in the file")
    return fabric, schedule, header, replace(report, ok=not problems, problems=tuple(problems))


_FIGURES = {
    "k": "trees per root",
    "height": "height",
    "inverse_rate": "1/x* in seconds per byte of shard",
    "bandwidth": "algorithmic bandwidth in bytes per second",
}


def _false_claims(claim: TreeFigures, own: TreeFigures) -> list[str]:
    """Say which figures in a file are not those of its schedule."""
    pairs = [(_FIGURES[field.name], getattr(claim, field.name), getattr(own, field.name)) for field in fields(own)]
    return [f"the claimed {what} is {said}, but the schedule has {is_}" for what, said, is_ in pairs if said != is_]


def _rebuilds(spec: str, fabric: Fabric) -> bool:
    """Return whether a spec gives a fabric, or if it is that of a topology, the links."""
    try:
        if spec.partition("(")[0] in FABRICS:
            return _physical(build_fabric(spec)) == _physical(fabric)
        return build(spec) == fabric.topology
    except SpecError:
        return False


def _physical(fabric: Fabric) -> tuple[object, ...]:
    """Return all that a file keeps of a fabric but its name."""
    return fabric.names, fabric.topology, fabric.unit, fabric.multicast, fabric.aggregation


def right_trees(path: Path) -> tuple[Fabric, Trees]:
    """Read a tree schedule file that the verifier accepts.

    Raises
    ------
    ParameterError
        If it does not.
    """
    fabric, schedule, _, report = trees_of(path)
    if not report.ok:
        problems = "".join(f"\n  {problem}" for problem in report.problems)
        raise ParameterError(f"{path} is no right schedule:{problems}")
    return fabric, schedule
