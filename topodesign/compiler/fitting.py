"""Fallback compilation with fewer trees per root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Unpack

from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError
from topodesign.base.options import takes
from topodesign.compiler.compilation import Compiled, compile_plan
from topodesign.compiler.options import CompileOptions
from topodesign.plans.measure import compute_claim, per_root
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import adds_at_ranks, list_relays


@takes(CompileOptions)
def compile_fitting(
    make_plan: Callable[[int | None], Plan], target: str = "msccl", **options: Unpack[CompileOptions]
) -> Compiled:
    """Compile the best plan that fits, reducing trees per root.

    What switches copy or add, and concurrent phases of an allreduce, are given up first, then the number of trees is
    halved again and again.

    Parameters
    ----------
    make_plan
        Makes the plan with so many trees per root, and the best one with None.
    target
        As for :func:`~topodesign.compiler.compilation.compile_plan`.
    **options
        Likewise.

    Returns
    -------
    Compiled
        Its notes say how and why its trees differ from the best, if they do.

    Raises
    ------
    InfeasibleError, TooLargeError
        If nothing fits, as :func:`~topodesign.compiler.compilation.compile_plan` says of the smallest.
    TopodesignError
        As ``make_plan`` and :func:`~topodesign.compiler.compilation.compile_plan`.

    Examples
    --------
    >>> from topodesign import compile_fitting, schedule
    >>> compile_fitting(lambda k: schedule("dgx_a100(1)", "allgather", fixed_k=k), inplace=True)
    <Compiled: allgather of 8 ranks in place for msccl, ... bytes>
    """
    if not callable(make_plan):
        raise ParameterError(f"a function that makes a plan is needed, not {make_plan!r:.60}")
    best = plan = make_plan(None)
    why = None
    while True:
        try:
            made = compile_plan(plan, target, **options)
        except (InfeasibleError, TooLargeError) as error:
            fewer = _fewer(plan)
            if not fewer:
                raise
            why = why or str(error)
            plan = make_plan(fewer)
        else:
            if why is None or not plan.has_trees:
                return made
            turn = ", one phase after the other" if _concurrent(best) else ""
            note = f"with {per_root(plan.flow)}{turn}, since of the best ones {why}"
            return replace(made, notes=(note, *made.notes), fewer_trees=note)


def _fewer(plan: Plan) -> int:
    """Return a smaller number of trees per root, or 0."""
    if _concurrent(plan) or len(list_relays(plan)):
        from topodesign.optima.question import Question  # noqa: PLC0415
        from topodesign.optima.trees import smallest_number_of_trees  # noqa: PLC0415  seldom wanted

        return smallest_number_of_trees(Question(plan.fabric, plan.collective))
    return int(compute_claim(plan)["k"]) // 2 if plan.has_trees and not adds_at_ranks(plan) else 0


def _concurrent(plan: Plan) -> bool:
    return plan.has_trees and plan.flow.concurrent
