"""Deferred schedules, with loads balanced over all steps.

See :mod:`topodesign.pricing.deferral` for what is deferred and why that is better.
"""

from __future__ import annotations

from dataclasses import replace

from topodesign.base.errors import ParameterError, TopologyError
from topodesign.base.units import format_factor
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.plans.build import build_steps, check_rows
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import reverse
from topodesign.plans.flow_ops import reverse as reverse_flow
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import canonical, unfold_steps
from topodesign.pricing.closed_form import price
from topodesign.pricing.deferral import Deferral, explain_no_deferral
from topodesign.pricing.split_deferral import SplitDeferral, best_deferral
from topodesign.schedulers.method import Method, Progress, Request, cost_in, plan_rounds
from topodesign.schedulers.spff import spff
from topodesign.topology.symmetry import map_to_representatives
from topodesign.topology.topology import Topology

_MAX_WORK = 2**29  # steps times nodes times links up to which it is tried without being named


def defer_schedule(topology: Topology, collective: Collective = ALLGATHER, *, progress: Progress | None = None) -> Flow:
    """Return a deferred allgather or reduce-scatter, split by links if cheaper."""
    if _backwards(collective):
        return reverse(defer_schedule(topology.transpose(), progress=progress))
    check_rows(topology.nodes * (topology.nodes - 1))
    found = best_deferral(topology, progress)
    if len(found.receivers) < topology.nodes:
        return unfold_steps(_orbit(topology, found))
    moves = found.moves
    return canonical(build_steps(ALLGATHER, topology, moves.units, len(found.loads), [moves[1:]]))


def defer_folded(topology: Topology, collective: Collective = ALLGATHER, *, progress: Progress | None = None) -> Flow:
    """Return the deferred schedule of a symmetric topology, folded.

    Parameters and errors are those of :func:`defer_schedule`.
    """
    if _backwards(collective):
        return reverse_flow(defer_folded(topology.transpose(), progress=progress), topology)
    found = best_deferral(topology, progress, by_orbits=True)
    if len(found.receivers) == topology.nodes:
        raise TopologyError("few orbits are enough only where a known symmetry moves all nodes or none")
    return _orbit(topology, found)


def _backwards(collective: Collective) -> bool:
    """Return whether to plan in reverse, for a reduce-scatter."""
    if collective not in ALLREDUCE.parts:
        raise ParameterError(f"a deferred schedule is a reduce-scatter or an allgather, not {collective}")
    return collective.reduces


def _orbit(topology: Topology, found: Deferral | SplitDeferral) -> Flow:
    """Return the flow of the representatives' shards."""
    symmetry = topology.symmetry
    if symmetry is None:
        raise TopologyError("there are no images without a symmetry")
    moves = found.moves
    block, sender, receiver = map_to_representatives(symmetry, moves.shard, moves.sender, moves.receiver)
    table = (moves.step, sender, receiver, block, moves.start, moves.stop)
    rounds = canonical(build_steps(ALLGATHER, topology, moves.units, len(found.loads), [table]))
    fold = replace(symmetry, representatives=tuple(found.receivers.tolist()))
    return rounds.having(fold=fold)


def _make(request: Request) -> list[Plan]:
    """Return the deferred plan, a cheaper SPFF plan, or none."""
    if not _within(request, None):
        return []
    topology, collective = request.topology, request.collective
    plan = plan_rounds(topology, defer_schedule(topology, collective, progress=request.progress), "deferred")
    least, found = price(topology if collective.reduces else topology.transpose()), cost_in(plan)
    if found.steps == least.steps and found.bandwidth > least.bandwidth:
        note = f"by SPFF, which is cheaper than the deferred schedule that was found ({format_factor(found.bandwidth)})"
        plan = replace(plan_rounds(topology, spff(topology, collective), "spff"), notes=(note,))
    return [plan]


def _within(request: Request, most: int | None) -> bool:
    topology = request.topology
    return explain_no_deferral(topology, price(topology).steps, most) is None


METHOD = Method(
    "deferred", frozenset(), (ALLGATHER, REDUCE_SCATTER), _make, soon=lambda asked: _within(asked, _MAX_WORK)
)
