"""What all baselines have in common: collectives made of one movement, duals backwards in time, plans with claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from topodesign.base.cost import Cost
from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, BROADCAST, SCATTER, Collective
from topodesign.plans.measure import cost_claim
from topodesign.plans.paths import PATH_COLLECTIVES
from topodesign.plans.plan import Plan
from topodesign.plans.rounds_ops import allreduce, prune, reverse
from topodesign.schedulers.baselines.messages import Made
from topodesign.schedulers.baselines.spanning import Shape, path_plan, spanning_plan
from topodesign.schedulers.method import Method, Request, planned
from topodesign.topology.topology import Topology

FORWARD = (ALLGATHER, ALL_TO_ALL, BROADCAST, SCATTER)
"""Collectives that are made as they are; the others are the duals of these, backwards in time."""

Maker = Callable[[Topology, Collective], Made]
"""Makes the collectives that a baseline makes as they are, with their root, on a topology of nodes alone."""


def baseline(
    name: str,
    collectives: Sequence[Collective],
    rounds: Maker | None = None,
    *,
    trees: Shape | None = None,
    forward: Sequence[Collective] = FORWARD,
) -> Method:
    """Return a baseline as a method: in rounds on topologies, and over trees, or single paths, on fabrics.

    What makes no rounds goes over trees everywhere, and then among some of the nodes, too.
    """
    options = {"root"} if any(one.rooted for one in collectives) else set()
    if rounds is None:
        options |= {"only", "without"}

    def make(request: Request) -> list[Plan]:
        if rounds is not None and (trees is None or isinstance(request.where, Topology)):
            return [_in_rounds(request, name, rounds, forward)]
        if len(request.fabric.compute) < 2:
            raise InfeasibleError(f"one node alone needs no {name}")
        if trees is None or request.collective.like(*PATH_COLLECTIVES):
            return [path_plan(request, name)]
        return [spanning_plan(request, name, trees)]

    movement, fabrics = "trees" if rounds is None else "rounds", trees is not None
    return Method(name, frozenset(options), tuple(collectives), make, movement=movement, fabrics=fabrics, auto=False)


def _in_rounds(request: Request, name: str, make: Maker, forward: Sequence[Collective]) -> Plan:
    """Return the plan of a collective of one movement or of an allreduce, which claims what the formula says."""
    topology = request.topology
    if topology.nodes < 2:
        raise InfeasibleError(f"one node alone needs no {name}")
    collective = request.collective.at(request.root_number)
    halves = [_movement(topology, part, make, forward) for part in collective.parts]
    rounds = halves[0].rounds if len(halves) == 1 else allreduce(halves[0].rounds, halves[1].rounds)
    plan = planned(topology, rounds, name)
    costs = [half.formula for half in halves if half.formula is not None]
    if len(costs) < len(halves):
        return plan
    cost = Cost(sum(cost.steps for cost in costs), sum((cost.bandwidth for cost in costs), Fraction(0)))
    return replace(plan, claim=cost_claim(cost))


def _movement(topology: Topology, collective: Collective, make: Maker, forward: Sequence[Collective]) -> Made:
    """Return one movement: as it is, or its dual on the transpose, backwards.

    Where that adds up, a node that passes a partial sum on adds its own to it, so that nothing goes a way twice.
    """
    if collective.like(*forward):
        return make(topology, collective)
    rounds, formula = make(topology if topology.is_duplex else topology.transpose(), collective.dual)
    return Made(reverse(prune(rounds) if collective.reduces else rounds), formula)
