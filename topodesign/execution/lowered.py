"""A plan lowered to the programs of its ranks, if it may be run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.memory import check_memory
from topodesign.base.units import format_size
from topodesign.execution.levels import Script, check_scripts, neighbours_of, scripts_of
from topodesign.execution.program import Program, programs_of
from topodesign.execution.result import Transport
from topodesign.execution.workspace import TYPES, bytes_of, coefficients, extent_of, shares_of
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric
from topodesign.plans.files import as_plan
from topodesign.plans.kinds import kind_of
from topodesign.plans.measure import cost_of
from topodesign.plans.plan import Plan
from topodesign.plans.replay.plans import verify
from topodesign.plans.timing.plans import simulate
from topodesign.plans.transfers import Transfers

LEAST_FITTED = 3  # sizes from which on a latency and a bandwidth are fitted: two of them any pair of times meets


@dataclass(frozen=True)
class Prepared:
    """All that a plan says, lowered; without the plan itself."""

    title: str
    collective: str
    kind: str
    spec: str | None
    transfers: tuple[Transfers, ...]
    programs: tuple[Program, ...]
    scripts: tuple[Script, ...]
    cost: tuple[Fraction, Fraction] | None
    place: tuple[int, int]
    notes: tuple[str, ...]


def lowered(
    plan: Plan | str | Path | Callable[[], Plan],
    parts: int,
    sizes: list[Fraction],
    dtype: str,
    transport: Transport,
    *,
    verified: bool,
    waits: bool = False,
) -> Prepared:
    """Return what a plan says to every rank, if it may be run; ``waits``: whether all wait where circuits change."""
    alone = transport != "threads"  # each has a process of its own
    made = as_plan(plan() if callable(plan) else plan)
    notes = []
    if verified:
        report = verify(made)
        if not report.ok:
            problems = "".join(f"\n  {one}" for one in report.problems)
            raise InfeasibleError(f"the plan is wrong, and was not run:{problems}")
    else:
        notes.append("the plan was not verified before")
    transfers = kind_of(made).transfers(parts)
    coefficients(transfers[0].ranks, 0)
    changes = kind_of(made).changes if waits else ()
    if waits and not changes:
        raise ParameterError("circuits do not change in this plan, so nothing is called between phases")
    programs = tuple(programs_of(transfers, changes))
    width = np.dtype(TYPES[dtype]).itemsize
    shares = shares_of(transfers)
    for size in sizes:
        extent, _ = extent_of(transfers, size, width)
        needed = [bytes_of(one, extent, shares, width, alone=alone) for one in programs]
        whose = "the data of a rank" if alone else f"the data of {len(programs)} ranks in one process"
        check_memory(max(needed) if alone else sum(needed), f"{format_size(size)}: {whose}")
    try:
        cost = _cost(made, parts) if len(set(sizes)) >= LEAST_FITTED else None
    except InfeasibleError as error:
        cost = None
        notes.append(f"no latency and bandwidth are fitted: {error}")
    topology = made.topology
    scripts: tuple[Script, ...] = ()
    if transport == "torch":
        scripts = tuple(scripts_of(programs))
        check_scripts(programs, scripts, neighbours_of(topology))
    return Prepared(
        made.heading(),
        made.collective.name,
        made.kind,
        made.spec,
        transfers,
        programs,
        scripts,
        cost,
        (topology.nodes, topology.degree),
        tuple(notes),
    )


def _cost(plan: Plan, parts: int) -> tuple[Fraction, Fraction]:
    """Return how often a plan takes the latency, and how often M/B."""
    place, topology = plan.place, plan.topology
    bandwidth = NODE_BANDWIDTH
    if isinstance(place, Fabric):
        egress = np.bincount(topology.src, topology.capacity, topology.nodes)
        if topology.switches or len(np.unique(egress)) > 1:
            raise InfeasibleError("the nodes of this fabric have no one bandwidth; take a plan on a topology")
        bandwidth = 8 * place.unit * int(egress[0])
    kind = kind_of(plan)
    if plan.collective.several:
        raise InfeasibleError("several collectives at the same time have no size in common")
    if kind.pace == "times":
        cost = cost_of(*kind.on_ranks())
        steps, y = Fraction(cost.steps), cost.bandwidth
    else:
        chunks = parts if kind.pace == "pipelines" else None
        size, rate = Fraction(2**40), None if isinstance(place, Fabric) else bandwidth
        run = partial(simulate, plan, size=size, bandwidth=rate, chunks=chunks)
        busy, late = run(alpha="0s").time, run(alpha="1s").time
        steps, y = late - busy, busy * bandwidth / (8 * size)
    if not steps or not y:
        raise InfeasibleError("nothing is sent")
    return steps, y
