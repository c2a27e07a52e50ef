"""The timing models: of each its claim, its clock, and what pages show of it."""

from __future__ import annotations

from fractions import Fraction

from topodesign.base.errors import ParameterError
from topodesign.plans.flow import Flow
from topodesign.plans.measure import Loads, find_step_loads
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_rounds
from topodesign.plans.time.chunks import CHUNKS
from topodesign.plans.time.circuits import STEPS
from topodesign.plans.time.conditions import Busy, Moments, TimingModel
from topodesign.plans.time.ticks import CLOCK

MODELS: dict[str, TimingModel] = {"steps": STEPS, "chunks": CHUNKS, "clock": CLOCK}
"""By ``Plan.model``. Their forms are in :mod:`topodesign.plans.flow`, their checks in
:mod:`topodesign.plans.verify.plans`."""


def compute_claim(plan: Plan) -> dict[str, Fraction]:
    """Return the cost of a plan from its columns, by the names of a claim."""
    return MODELS[plan.model].claim(plan)


def list_busy(plan: Plan, size: Fraction, alpha: Fraction, bandwidth: Fraction) -> tuple[list[Busy], str]:
    """Return when links are busy, and what the times mean.

    Sends by the clock say it themselves. Steps run in lock-step, with ``size`` bytes of data, latency ``alpha`` and
    ``bandwidth`` in bits/s of a node over all its links. Pipelines of chunks have no such times.
    """
    return MODELS[plan.model].busy(plan, size, alpha, bandwidth)


def load_steps(plan: Plan) -> tuple[Flow, Loads]:
    """Return the sends of a plan in steps, and what links carry in each."""
    if plan.model != "steps":
        raise ParameterError(f"link use by step is for plans in rounds, not in {plan.kind}; plot its timeline")
    flow = list_rounds(plan)
    return flow, find_step_loads(flow)


def list_moments(plan: Plan) -> Moments:
    """Return the sends of a plan one after the other; of pipelines those of the first chunks."""
    return MODELS[plan.model].moments(plan)
