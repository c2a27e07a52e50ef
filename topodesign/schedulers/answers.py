"""What plans of all methods have in common: the spec that rebuilds their place, their root, and plans over trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from topodesign.base.errors import ParameterError
from topodesign.base.units import Quantity, as_size
from topodesign.collectives import Collective
from topodesign.fabrics.places import named_preset
from topodesign.plans.measure import tree_figures
from topodesign.plans.orbit_trees import OrbitTrees
from topodesign.plans.plan import Plan
from topodesign.plans.trees import Trees
from topodesign.schedulers.method import Request


def spec_of(request: Request) -> str | None:
    """Return what rebuilds the place that is asked about, where all of it takes part as it is."""
    return None if request.only or request.without or request.unwind else named_preset(request.place)


def check_root(collective: Collective, root: str | int | None) -> None:
    """Refuse a collective without the root that it needs, or with one that it does not have."""
    if (root is None and collective.roots is None) == collective.rooted:
        raise ParameterError(f"{collective} {'needs a' if collective.rooted else 'has no'} root")


def sizes_of(sizes: Quantity | Iterable[Quantity]) -> tuple[Fraction, ...]:
    """Return bytes of one size of data or several."""
    return tuple(map(as_size, [sizes] if isinstance(sizes, str | int | float | Fraction) else sizes))


def fabric_root(request: Request) -> int | None:
    """Return the number that the root has in the fabric that is asked about, of which it is a compute node."""
    from topodesign.fabrics.part import compute_node  # noqa: PLC0415  heavy

    return None if request.root_name is None else compute_node(request.fabric, request.root_name)


def tree_plan(request: Request, trees: Trees | OrbitTrees, made: Mapping[str, Any], *notes: str) -> Plan:
    """Return the plan over trees of the fabric that is asked about, with what they reach as its claim."""
    figures = tree_figures(request.fabric, trees)
    return Plan(request.fabric, trees, figures.claim(), spec_of(request), dict(made), notes)
