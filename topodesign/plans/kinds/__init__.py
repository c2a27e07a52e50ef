"""Kinds of movement, with one protocol: :class:`Kind`.

``kind_of(plan)`` is what a plan's kind says of it. To add a kind, write its columns and its subclass of ``Kind`` into a
file of its own, what it is as a flow into ``plans/adapters.py`` if its rounds do not say it, and list it in ``KINDS``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from topodesign.base.errors import ScheduleError

if TYPE_CHECKING:
    from topodesign.plans.kinds.kind import Kind
    from topodesign.plans.plan import Plan

KINDS = {
    "rounds": "topodesign.plans.kinds.flows:OfFlow",
    "trees": "topodesign.plans.kinds.pipelines:OfChunks",
    "orbittrees": "topodesign.plans.kinds.pipelines:OfChunks",
    "orbitrounds": "topodesign.plans.kinds.flows:OfFlow",
    "paths": "topodesign.plans.kinds.pipelines:OfChunks",
    "timed": "topodesign.plans.kinds.flows:OfFlow",
    "routed": "topodesign.plans.kinds.flows:OfFlow",
    "together": "topodesign.plans.kinds.flows:OfFlows",
    "phases": "topodesign.plans.kinds.flows:OfFlow",
    "stages": "topodesign.plans.kinds.pipelines:OfStages",
}
"""The kinds by name: where their protocol is, which is loaded when a plan of the kind is met."""


def kind_named(name: str) -> type[Kind[Any]]:
    """Return the protocol of a kind of ``KINDS``."""
    module, _, own = KINDS[name].partition(":")
    found: type[Kind[Any]] = getattr(importlib.import_module(module), own)
    return found


def kind_of(plan: Plan) -> Kind[Any]:
    """Return what the kind of a plan says of it."""
    if plan.kind not in KINDS:
        raise ScheduleError(f"a plan is of {', '.join(KINDS)}, not of {plan.kind}")
    return kind_named(plan.kind)(plan)
