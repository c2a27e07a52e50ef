"""Common parts of schedule lifts: checks, and lifts to all collectives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from topodesign.base.errors import ScheduleError
from topodesign.collectives import ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.graphs.expansions.expansion import Lift, require_base
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import concatenate, halves, relabel, reverse
from topodesign.plans.step_ops import canonical, find_links, is_lean
from topodesign.topology.topology import IntArray, Topology


def lift_both_ways(
    signature: str, numbering: Callable[[Topology], IntArray] | None = None
) -> Callable[[Callable[..., Flow]], Lift]:
    """Make a lift of reduce-scatters a lift of all collectives.

    An allgather is lifted as the reduce-scatter that it is backwards, on the transposed bases, and an allreduce half by
    half. All arguments are checked and the result is in canonical form.

    * ``signature``: the call in a spec, for messages.
    * ``numbering``: if the expansion of the transposed base is the transpose of the expansion up to the names of nodes:
      base -> names in the latter of the nodes of the former.

    References
    ----------
    Efficient Direct-Connect Topologies, Corollary 2.
    """

    def extend(lift: Callable[..., Flow]) -> Lift:
        @functools.wraps(lift)
        def lifted(*args: Any) -> Flow:
            collective = _check(args, signature)
            if collective == ALLREDUCE:
                parts = [halves(argument) if isinstance(argument, Flow) else (argument,) * 2 for argument in args]
                return concatenate(*(lifted(*part) for part in zip(*parts, strict=True)))
            if collective == REDUCE_SCATTER:
                return canonical(lift(*args))
            result = reverse(lift(*(_reverse_argument(argument) for argument in args)))
            return canonical(result if numbering is None else relabel(result, numbering(args[0])))

        return lifted

    return extend


def _reverse_argument(argument: Any) -> Any:
    if isinstance(argument, Topology):
        return argument.transpose()
    return reverse(argument) if isinstance(argument, Flow) else argument  # or a parameter of the expansion


def _check(args: tuple[Any, ...], signature: str) -> Collective:
    """Check that each topology is followed by its schedule."""
    collectives: list[Collective] = []
    for place, argument in enumerate(args):
        if isinstance(argument, Topology):
            schedule: Any = args[place + 1] if place + 1 < len(args) else None
            require_schedule(argument, schedule, signature)
            collectives.append(schedule.collective)
    if len(set(collectives)) != 1:
        found = ", ".join(map(str, collectives))
        raise ScheduleError(f"schedules of {signature} are lifted from one collective, not from {found or 'none'}")
    return collectives[0]


def require_schedule(base: object, schedule: object, signature: str) -> IntArray:
    """Return the base link of each row, shape ``(rows,)``."""
    topology = require_base(base, signature)
    if not isinstance(schedule, Flow):
        raise ScheduleError(f"a lift to {signature} requires a schedule after every topology, not {schedule!r}")
    links = find_links(topology, schedule)
    if not is_lean(schedule):
        raise ScheduleError("only a schedule that sends everything once can be lifted; use step_ops.prune first")
    return links
