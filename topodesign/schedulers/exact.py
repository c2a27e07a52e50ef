"""Proven optimal schedules of small topologies.

If times of links or late nodes are specified, and on fabrics with switches, it makes timed sends, the fastest of whole
chunks (:mod:`~topodesign.schedulers.exact_time`); otherwise, of all schedules of the fewest steps, one of the fewest
rounds (:mod:`~topodesign.schedulers.exact_rounds`). An allreduce is a reduce-scatter
and then an allgather, each proven to be the best of its kind; that no allreduce is better is not proven by that.

More steps cost latency, more chunks cost sends, and more rounds for each chunk cost bandwidth: the (C, S, R) of SCCL
(Synthesizing Optimal Collective Algorithms), where rounds of a step are whole; here a link of two lanes takes a chunk
in half a round. :func:`search_counts` goes through numbers of steps and chunks up to limits, for one plan or for a list
of all that no other beats.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from fractions import Fraction
from functools import partial

from topodesign.base.arguments import as_integer
from topodesign.base.claims import Claim, Of, Proof, Scope
from topodesign.base.cost import Cost
from topodesign.base.deadline import Stopwatch
from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.base.progress import iterate_with_progress
from topodesign.base.units import format_time
from topodesign.base.wording import count_noun
from topodesign.collectives import ALLGATHER, REDUCE_SCATTER, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.optima.flows import fabric_limits
from topodesign.optima.group_price import in_turn_of
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import join_links
from topodesign.plans.measure import cost_claim, cost_of
from topodesign.plans.plan import Plan
from topodesign.plans.verify.plans import check_movement
from topodesign.schedulers import tacos
from topodesign.schedulers.demands import (
    ONE_MOVEMENT,
    SECONDS,
    NumberedDemand,
    Send,
    Setting,
    collect_demand,
    setting_of,
)
from topodesign.schedulers.demands import Proof as Reason
from topodesign.schedulers.exact_rounds import FewestRounds, fewest_rounds, fewest_steps
from topodesign.schedulers.exact_time import fastest
from topodesign.schedulers.method import Listing, Method, Request, spec_of
from topodesign.schedulers.schedule_list import ListedSchedule, ScheduleList, Unsettled
from topodesign.schedulers.steps_bound import lower_bound_lp
from topodesign.topology.topology import Topology

_MAX_LINEAR = 2_000
"""Largest product of nodes, links and steps for which a linear program bounds all numbers of chunks at once."""
MAX_LIMIT = 64  # largest limit of a list on chunks, and on steps beyond the fewest
_CHUNKS = 6  # the limit of a list on chunks, if none is given
_SHARES = 3  # A search may take so many times its even share of the time that is left
_WHY = {
    "bound": "a bound that needs no search is reached",
    "search": "a search through all others, in integers, found nothing better",
}


def search_counts(
    there: NumberedDemand, steps: range, most_chunks: int, request: Request
) -> tuple[list[ListedSchedule], list[Unsettled]]:
    """Return the schedules Pareto-optimal in chunks, steps and rounds.

    All numbers of steps in a range, and of chunks up to a limit, are gone through, the smallest first. For each the
    search is for fewer rounds than all before it, so that what is not found is proven not to be there.

    Parameters
    ----------
    there
        Where and what, of one movement.
    steps, most_chunks
        Numbers of steps, and of equal parts of a block at most.
    request
        Time limit, number of threads and seed of the search, and the function to call with its progress.

    Returns
    -------
    tuple
        The schedules, those of the fewest steps first and then of the fewest chunks; and where the time was not enough.

    Raises
    ------
    InfeasibleError
        If the steps are too few, or nothing was found in the time.
    TooLargeError
        If there is too much to choose from for the fewest steps and one chunk.
    """
    topology, collective = there.topology, there.collective
    limits = fabric_limits(there.where) if isinstance(there.where, Fabric) else []
    watch, seconds = Stopwatch(), float(SECONDS if request.time_limit is None else request.time_limit)
    cells = [(number, chunks) for number in steps for chunks in range(1, most_chunks + 1)]
    rounds_of_y = Fraction(collective.shards(topology.nodes), topology.degree)
    several = len(cells) > 1  # for one search bounds on all do not pay
    least = in_turn_of(topology, collective, "forward") * rounds_of_y if several else Fraction(0)  # in any steps
    fluid: dict[int, Fraction] = {}
    found: list[ListedSchedule] = []
    unsettled: list[Unsettled] = []
    for place, (number, chunks) in enumerate(iterate_with_progress(cells, request.progress)):
        known = (one.bandwidth for one in found if one.steps <= number and one.chunks <= chunks)
        below = min((y * rounds_of_y for y in known), default=None)
        if below is not None and least >= below:
            continue
        if number not in fluid:
            y = _fluid(topology, collective, number) if several else None
            fluid[number] = least if y is None else max(least, y * rounds_of_y)
        most = None if below is None else below * chunks
        one = FewestRounds(None, None, fluid[number] * chunks, "none")
        left = (seconds - watch()) * min(1.0, _SHARES / (len(cells) - place))
        try:
            if left > 0:
                one = fewest_rounds(
                    topology,
                    collective,
                    steps=number,
                    chunks=chunks,
                    least=one.bound,
                    below=most,
                    limits=limits,
                    seconds=left,
                    jobs=request.jobs or 1,
                    seed=request.seed or 0,
                )
        except TooLargeError:
            if not found:
                raise
        if one.schedule is not None and one.rounds is not None:
            found.append(
                ListedSchedule(
                    chunks=chunks,
                    steps=number,
                    bandwidth=one.rounds / chunks / rounds_of_y,
                    make=partial(_plan, there, one.schedule, one.rounds, one.bound, one.proof),
                    rounds=one.rounds,
                    bound=one.bound,
                    proof=one.proof,
                )
            )
        elif one.proof == "none" and most is not None and one.bound < most:
            unsettled.append(Unsettled(chunks, number, one.bound, most))
    if not found:
        raise InfeasibleError("the time was not enough to find a schedule; raise --time-limit, or use --algorithm spff")
    return found, unsettled


def _fluid(topology: Topology, collective: Collective, steps: int) -> Fraction | None:
    """Return a quick linear-programming bound on y, or None."""
    if topology.nodes * len(topology.src) * steps > _MAX_LINEAR or not collective.like(ALLGATHER, REDUCE_SCATTER):
        return None
    with contextlib.suppress(TooLargeError):
        return lower_bound_lp(topology, collective, steps=steps)
    return None


def _plan(there: NumberedDemand, schedule: Flow, rounds: Fraction, bound: Fraction, proof: Reason) -> Plan:
    """Return the plan of a schedule, with its proven claims."""
    least = fewest_steps(there.topology, there.collective)
    shortest = Proof.BOUND if schedule.steps == least else Proof.NONE
    steps = Claim(Of.STEPS, schedule.steps, Scope.SCHEDULES, shortest, least)
    why = f"the bound is {bound}" if proof == "none" else _WHY[proof]
    claim = Claim(Of.ROUNDS, rounds, Scope.CHUNKS, Proof(proof), bound, why)
    head = f"{schedule.steps} steps{f', {steps.verdict}' if steps.proven else ''}"
    note = f"{head}; {rounds} rounds for {count_noun(schedule.units, 'chunk')} of a shard; {claim}"
    made = {"method": "exact", "proof": proof, "rounds": str(rounds), "bound": str(bound)}
    cost = cost_of(there.topology, schedule)
    if isinstance(there.where, Fabric) and there.where.shared:  # which rounds count, and links alone do not
        shards = there.collective.shards(there.topology.nodes)
        cost = Cost(cost.steps, rounds / schedule.units * there.topology.degree / shards)
    return Plan(there.where, schedule, cost_claim(cost), generator=made, notes=(note,))


def _rounds(request: Request) -> list[Plan]:
    there = collect_demand(request)
    steps = fewest_steps(there.topology, there.collective) if request.steps is None else request.steps
    found, unsettled = search_counts(there, range(steps, steps + 1), request.chunks or 1, request)
    plan = found[-1].plan
    return [replace(plan, notes=(*plan.notes, *(f"not settled: {one}" for one in unsettled)))]


def _list(request: Request) -> ScheduleList:
    where, topology, collective = there = collect_demand(request)
    chunks = as_integer("chunks", _CHUNKS if request.chunks is None else request.chunks, 1, MAX_LIMIT)
    least = fewest_steps(topology, collective)
    most = least + 2 if request.steps is None else as_integer("steps", request.steps, 1, least + MAX_LIMIT)
    if most < least:
        raise InfeasibleError(f"{collective} requires at least {least} steps on this topology, not {most}")
    found, unsettled = search_counts(there, range(least, most + 1), chunks, request)
    bound = in_turn_of(topology, collective, "forward")
    return ScheduleList(where, collective, "exact", chunks, most, bound, tuple(found), tuple(unsettled))


def _make_timed(request: Request) -> list[Plan]:
    where, setting = setting_of(request)
    units = setting.units
    known, quick = _greedy(request, setting)
    seconds = float(SECONDS if request.time_limit is None else request.time_limit)
    found = fastest(setting, known=known, seconds=seconds, jobs=request.jobs or 1, seed=request.seed or 0)
    timed, bound, proof = min(found.timed, quick or found.timed, key=lambda one: one.time), found.bound, found.proof
    if timed.time < found.timed.time:
        proof = "search" if timed.time == bound else "none"
    made = {"method": "exact", "proof": proof, "bound": str(bound)}
    what = "whole shards" if units == 1 else f"whole chunks, {units} of a shard, each for itself"
    what += ", over one way through switches from node to node without a stop," if setting.topology.switches else ""
    why = f"plans that send {what} take {format_time(bound)} or more"
    if proof != "none":
        why = f"{_WHY[proof]}; {why}"
    elif timed is not found.timed:
        why = f"TACOS-Greedy's plan, with sends of several chunks or stops in switches; {why}"
    claim = Claim(Of.TIME, timed.time, Scope.WHOLE, Proof(proof), bound if timed.time >= bound else None, why)
    return [Plan(where, join_links(timed), {"time": timed.time}, spec_of(request), generator=made, notes=(str(claim),))]


def _greedy(request: Request, setting: Setting) -> tuple[list[Send] | None, Flow | None]:
    """Return TACOS-Greedy's sends and its plan.

    Where its plan sends several chunks as one it is not made of such sends, and may be faster than all that are. It is
    None if the verifier refuses it, as where partial sums overtake each other in a switch.
    """
    (plan,) = tacos.METHOD.make(request.but(time_limit=None))
    quick = plan.flow.over_links()
    return setting.sends(quick), quick if check_movement(setting.place, join_links(quick)).ok else None


_LIMITS = frozenset({"chunks", "root", "without", "time_limit", "jobs", "seed", "link_table", "alpha", "bandwidth"})
_OPTIONS = _LIMITS | {"overlap", "ready", "unwind", "group", "only", "placement", "tries"}
SENDS = Method("exact", _OPTIONS, ONE_MOVEMENT, _make_timed, movement="sends", fabrics=True, auto=False)
TACOS_ILP = replace(SENDS, name="tacos-ilp")
METHOD = Method(
    "exact",
    _LIMITS | {"steps", "overlap"},
    ONE_MOVEMENT,
    _rounds,
    fabrics=True,
    auto=False,
    timed=SENDS,
    listing=Listing(_LIMITS - {"link_table"} | {"steps"}, _list),
)
