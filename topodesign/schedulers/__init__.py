"""Schedulers: one algorithm a file; ``make_schedule`` chooses among them.

To add one, write a function (topology, collective) -> Rounds in a new file and list it in ``_MAKERS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from topodesign.base.cost import Cost
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.collectives import ALLREDUCE, Collective, as_collective
from topodesign.plans.measure import cost_of
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import allreduce
from topodesign.pricing.closed_form import price
from topodesign.schedulers.lift import lifted
from topodesign.schedulers.spff import Progress, spff, theorem_21_bound, unequal_spff
from topodesign.schedulers.stored import stored_schedule
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology

Method = Literal["auto", "spff", "lift", "stored"]

_MAKERS: dict[Method, Callable[[Topology, Collective], Rounds | None]] = {
    "stored": lambda topology, collective: stored_schedule(topology.spec, collective),
    "lift": lifted,
}


@dataclass(frozen=True)
class Made:
    """A schedule and how it came about.

    Attributes
    ----------
    schedule
        The schedule.
    cost
        Of the whole schedule; for an allreduce that of both halves together.
    method
        Which way it was made; both, if the halves of an allreduce differ.
    lost
        By how much y is larger than without the limit on chunks. For unequal links, whose schedule is made to be fast
        and not for y, it may be below zero.
    lost_at_most
        What Theorem 21 promises about ``lost``; 0 without a limit on chunks.
    others
        The other methods that were tried and that this schedule does not dominate, and what they cost: fewer
        bandwidth for more steps.
    """

    schedule: Rounds
    cost: Cost
    method: str
    lost: Fraction = Fraction(0)
    lost_at_most: Fraction = Fraction(0)
    others: tuple[tuple[str, Cost], ...] = ()


@dataclass(frozen=True)
class Unequal:
    """Links that are not alike, and the data size in bytes that a schedule is made for."""

    table: LinkTable
    size: Fraction


def make_schedule(
    topology: Topology,
    collective: Collective | str,
    *,
    method: Method = "auto",
    chunks: int | None = None,
    unequal: Unequal | None = None,
    progress: Progress | None = None,
) -> Made:
    """Schedule a collective.

    Parameters
    ----------
    topology
        Strongly connected, without switches.
    collective
        An allreduce is a reduce-scatter followed by an allgather.
    method
        ``spff``; ``lift`` an expansion's bases; a ``stored`` schedule; or ``auto``: the one of these with the fewest
        steps, then the least bandwidth factor.
    chunks
        Most units per shard, for SPFF only; with unequal links their exact splits are rounded to it.
    unequal
        Links of unequal latency and bandwidth and a data size, to make the SPFF schedule fastest for.
    progress
        Called with the share of the work that is done.

    Raises
    ------
    InfeasibleError
        If the method has no schedule for this topology.
    ParameterError
        If ``chunks`` or ``unequal`` is given with another method than SPFF, or ``chunks`` is out of range.
    """
    if (chunks is not None or unequal is not None) and method not in {"auto", "spff"}:
        raise ParameterError("limits on chunks and unequal links are for the method spff")

    def options(one: Collective) -> list[Made]:
        if unequal is not None:
            return [_unequal(topology, one, unequal, chunks)]
        return _options(topology, one, method, chunks, progress)

    collective = as_collective(collective)
    if collective != ALLREDUCE:
        made = options(collective)
        chosen = min(made, key=_rank)
        costs = [(one.method, one.cost) for one in made]
    else:
        first, second = (options(part) for part in ALLREDUCE.parts)
        chosen = _joined(min(first, key=_rank), min(second, key=_rank))
        costs = [(a.method, _both(a.cost, b.cost)) for a in first for b in second if a.method == b.method]
    return replace(chosen, others=tuple(pair for pair in costs if not chosen.cost.dominates(pair[1])))


def _rank(made: Made) -> tuple[int, Fraction]:
    return made.cost.steps, made.cost.bandwidth


def _both(first: Cost, second: Cost) -> Cost:
    return Cost(first.steps + second.steps, first.bandwidth + second.bandwidth)


def _joined(first: Made, second: Made) -> Made:
    """Return the allreduce of a reduce-scatter and an allgather."""
    return Made(
        allreduce(first.schedule, second.schedule),
        _both(first.cost, second.cost),
        first.method if first.method == second.method else f"{first.method}, {second.method}",
        first.lost + second.lost,
        first.lost_at_most + second.lost_at_most,
    )


def _options(
    topology: Topology, collective: Collective, method: Method, chunks: int | None, progress: Progress | None
) -> list[Made]:
    """Return one schedule for each method that is asked for and has one."""
    made = []
    if method in {"auto", "spff"}:
        schedule = spff(topology, collective, chunks=chunks, progress=progress)
        cost = cost_of(topology, schedule)
        if chunks is not None:
            best = price(topology if collective.reduces else topology.transpose())
            bound = theorem_21_bound(topology, cost.steps, chunks)
            return [Made(schedule, cost, "spff", cost.bandwidth - best.bandwidth, bound)]
        made.append(Made(schedule, cost, "spff"))
        if method == "spff" or cost.bandwidth == Fraction(topology.nodes - 1, topology.nodes):
            return made
    for name, make in _MAKERS.items():
        if method in {"auto", name} and (other := make(topology, collective)) is not None:
            made.append(Made(other, cost_of(topology, other), name))
    if not made:
        raise InfeasibleError(f"the method '{method}' has no schedule for this topology; try --method spff")
    return made


def _unequal(topology: Topology, collective: Collective, unequal: Unequal, chunks: int | None) -> Made:
    schedule, exact = unequal_spff(topology, unequal.table, unequal.size, collective, chunks)
    cost = cost_of(topology, schedule)
    bound = Fraction(0) if chunks is None else theorem_21_bound(topology, cost.steps, chunks)
    return Made(schedule, cost, "spff for unequal links", cost.bandwidth - exact, bound)
