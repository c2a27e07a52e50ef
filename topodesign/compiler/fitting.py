"""Fallback compilation with fewer trees per root."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Unpack

from topodesign.base.errors import ParameterError
from topodesign.base.options import takes
from topodesign.compiler.compilation import Compiled, compile_plan
from topodesign.compiler.limits import find_first
from topodesign.compiler.options import CompileOptions
from topodesign.plans.measure import per_root
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import adds_at_ranks, list_relays
from topodesign.plans.time.models import compute_claim


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
        If nothing fits, as :func:`~topodesign.compiler.compilation.compile_plan` says of the best.
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
    best = make_plan(None)
    plan, made, why = find_first(_list_plans(best, make_plan), lambda plan: compile_plan(plan, target, **options))
    if why is None or plan.trees is None:
        return made
    turn = ", one phase after the other" if best.trees is not None and best.flow.concurrent else ""
    note = f"with {per_root(plan.flow)}{turn}, since of the best ones {why}"
    return replace(made, notes=(note, *made.notes), fewer_trees=note)


def _list_plans(plan: Plan, make_plan: Callable[[int | None], Plan]) -> Iterator[Plan]:
    """Yield a plan, then others with fewer and fewer trees per root."""
    while True:
        yield plan
        if (plan.trees is not None and plan.flow.concurrent) or len(list_relays(plan)):
            from topodesign.optima.question import Question  # noqa: PLC0415
            from topodesign.optima.trees import smallest_number_of_trees  # noqa: PLC0415  seldom wanted

            fewer = smallest_number_of_trees(Question(plan.fabric, plan.collective))
        else:
            fewer = int(compute_claim(plan)["k"]) // 2 if plan.trees is not None and not adds_at_ranks(plan) else 0
        if not fewer:
            return
        plan = make_plan(fewer)
