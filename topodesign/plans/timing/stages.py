"""The simulator of stages: each takes as long as its trees do, one after the other; exact.

A stage is timed as trees of groups at once are (:mod:`topodesign.plans.timing.trees`), with as many chunks as are
fastest for it, and begins when the one before is over everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import numpy as np

from topodesign.base.errors import ParameterError
from topodesign.plans.plan import Plan
from topodesign.plans.stages import Stages
from topodesign.plans.timing.chunked import PipelineSimulation, conditions_of_pipelines
from topodesign.plans.timing.conditions import Conditions
from topodesign.plans.timing.trees import simulate_trees


def run_stages(plan: Plan, stages: Stages, now: Conditions) -> PipelineSimulation:
    """Time the stages of a plan."""
    if now.failed:
        raise ParameterError("what failed links break is not told of stages; make the plan again with --without")
    asked = conditions_of_pipelines(plan, now)
    runs = []
    for number, trees in enumerate(stages.each):
        runs.append(simulate_trees(trees, **asked | {"size": now.size * stages.share(number)}))
    time = sum((one.time for one in runs), Fraction(0))
    busy = np.sum([one.utilisation * float(one.time) for one in runs], axis=0)
    return replace(
        runs[0],
        time=time,
        utilisation=busy / float(time or 1),
        how="in stages of",
        phase_ends=tuple(accumulate(one.time for one in runs)),
        chunks=max(one.chunks for one in runs),
        optimum=sum((one.optimum for one in runs), Fraction(0)),
        phases=tuple(phase for one in runs for phase in one.phases),
        smallest=min(one.smallest for one in runs),
        size=now.size,
        critical=tuple(way for one in runs for way in one.critical),
    )
