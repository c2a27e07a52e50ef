"""The best schedule of a small topology, with a proof: fastest for times of links, or fewest steps and then rounds.

Where something is said of the time that links take or of nodes that are late, and on fabrics with switches, it makes
timed sends, the fastest of whole chunks (:mod:`~topodesign.schedulers.exact_time`); else, of all schedules of the
fewest steps, one of the fewest rounds (:mod:`~topodesign.schedulers.exact_rounds`). An allreduce is a reduce-scatter
and then an allgather, each proven to be the best of its kind; that no allreduce is better is not proven by that.
"""

from __future__ import annotations

from typing import Any

from topodesign.base.claims import Among, Claim, Of, Proof
from topodesign.base.cost import Cost
from topodesign.base.errors import InfeasibleError
from topodesign.base.units import format_time
from topodesign.plans.measure import cost_claim, cost_of
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.schedulers.demands import ONE_MOVEMENT, SECONDS, asked_of, setting_of
from topodesign.schedulers.exact_rounds import FewestRounds, fewest_rounds, fewest_steps, least_rounds
from topodesign.schedulers.exact_time import fastest
from topodesign.schedulers.method import Method, Request, spec_of
from topodesign.schedulers.tacos_ilp import greedy

_WHY = {
    "bound": "a bound that needs no search is reached",
    "search": "a search through all others, in integers, found nothing better",
}


def rounds_claim(found: FewestRounds) -> Claim:
    """Return what is proven of a schedule's rounds."""
    rounds, bound, _ = found.known
    why = f"the bound is {bound}" if found.proof == "none" else _WHY[found.proof]
    return Claim(Of.ROUNDS, rounds, Among.CHUNKS, Proof(found.proof), bound, why)


def _timed(request: Request) -> list[Plan]:
    where, setting = setting_of(request)
    units = setting.units
    known, quick = greedy(request, setting)
    found = fastest(setting, known=known, **_limits(request))
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
    claim = Claim(Of.TIME, timed.time, Among.WHOLE, Proof(proof), bound, why)
    return [Plan(where, timed, {"time": timed.time}, spec_of(request), generator=made, notes=(str(claim),))]


def _rounds(request: Request) -> list[Plan]:
    where, topology, collective = asked_of(request)
    least = fewest_steps(topology, collective)
    steps = least if request.steps is None else request.steps
    found: list[tuple[Cost, FewestRounds, Rounds]] = []
    for chunks in range(1, (request.chunks or 1) + 1):
        one = fewest_rounds(topology, collective, steps=steps, chunks=chunks, **_limits(request))
        if one.schedule is not None:
            found.append((cost_of(topology, one.schedule), one, one.schedule))
        if one.rounds == chunks * least_rounds(topology, collective):
            break  # which no number of chunks undercuts
    if not found:
        raise InfeasibleError("the time was not enough to find a schedule; raise --time-limit, or use --method spff")
    cost, best, schedule = min(found, key=lambda one: one[0].bandwidth)
    far = Claim(Of.STEPS, steps, Among.SCHEDULES, Proof.BOUND if steps == least else Proof.NONE, least)
    head = f"{cost.steps} steps{f', {far.verdict}' if far.proven else ''}"
    head = f"{head}; {best.rounds} rounds for {schedule.units} chunk(s) of a shard"
    made = {"method": "exact", "proof": best.proof, "rounds": str(best.rounds), "bound": str(best.bound)}
    return [Plan(where, schedule, cost_claim(cost), generator=made, notes=(f"{head}; {rounds_claim(best)}",))]


def _limits(request: Request) -> dict[str, Any]:
    return {
        "seconds": float(SECONDS if request.time_limit is None else request.time_limit),
        "jobs": request.jobs or 1,
        "seed": request.seed or 0,
    }


_LIMITS = frozenset({"chunks", "root", "without", "time_limit", "jobs", "seed", "link_table", "alpha", "bandwidth"})
_OPTIONS = _LIMITS | {"overlap", "ready", "unwind", "group", "only", "placement"}
SENDS = Method("exact", _OPTIONS, ONE_MOVEMENT, _timed, movement="sends", fabrics=True, auto=False)
METHOD = Method("exact", _LIMITS | {"steps", "overlap"}, ONE_MOVEMENT, _rounds, fabrics=True, auto=False, timed=SENDS)
