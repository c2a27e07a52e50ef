"""Schedulers: one algorithm a file; ``make_schedule`` chooses among them.

To add one, write a function (topology, collective) -> Schedule in a new file and list it in ``_MAKERS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from topodesign.columns import allreduce
from topodesign.cost import Cost
from topodesign.errors import InfeasibleError, ParameterError
from topodesign.link_table import LinkTable
from topodesign.schedule import Collective, Schedule
from topodesign.schedulers.lift import lifted
from topodesign.schedulers.measure import cost_of
from topodesign.schedulers.spff import Progress, spff, spff_heterogeneous
from topodesign.schedulers.stored import stored_schedule
from topodesign.topology import Topology

Method = Literal["auto", "spff", "lift", "stored"]
METHODS: tuple[Method, ...] = get_args(Method)

_MAKERS: dict[Method, Callable[[Topology, Collective], Schedule | None]] = {
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
        By how much y is larger than without the limit on chunks.
    """

    schedule: Schedule
    cost: Cost
    method: str
    lost: Fraction


@dataclass(frozen=True)
class Unequal:
    """Links that are not alike, and the data size in bytes that a schedule is made for."""

    table: LinkTable
    size: Fraction


def make_schedule(
    topology: Topology,
    collective: Collective,
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
        Most units per shard, for SPFF only.
    unequal
        Links of unequal latency and bandwidth and a data size, to make the SPFF schedule fastest for.
    progress
        Called with the share of the work that is done.

    Raises
    ------
    InfeasibleError
        If the method has no schedule for this topology.
    ParameterError
        If ``chunks`` or ``unequal`` is given with another method than SPFF, or both are.
    """
    if (chunks is not None or unequal is not None) and method not in {"auto", "spff"}:
        raise ParameterError("limits on chunks and unequal links are for the method spff")
    if chunks is not None and unequal is not None:
        raise ParameterError("a schedule for unequal links has the units that its splits need; leave the chunks out")

    def half(one: Collective) -> Made:
        if unequal is not None:
            schedule = spff_heterogeneous(topology, unequal.table, unequal.size, one)
            return Made(schedule, cost_of(topology, schedule), "spff for unequal links", Fraction(0))
        return _half(topology, one, method, chunks, progress)

    if collective != "allreduce":
        return half(collective)
    first, second = half("reduce-scatter"), half("allgather")
    return Made(
        allreduce(first.schedule, second.schedule),
        Cost(first.cost.steps + second.cost.steps, first.cost.bandwidth + second.cost.bandwidth),
        first.method if first.method == second.method else f"{first.method}, {second.method}",
        first.lost + second.lost,
    )


def _half(
    topology: Topology, collective: Collective, method: Method, chunks: int | None, progress: Progress | None
) -> Made:
    made = []
    if method in {"auto", "spff"}:
        schedule = spff(topology, collective, chunks=chunks, progress=progress)
        cost = cost_of(topology, schedule)
        lost = (
            Fraction(0) if chunks is None else cost.bandwidth - cost_of(topology, spff(topology, collective)).bandwidth
        )
        made.append(Made(schedule, cost, "spff", lost))
        if method == "spff" or chunks is not None or cost.bandwidth == Fraction(topology.nodes - 1, topology.nodes):
            return made[0]
    for name, make in _MAKERS.items():
        if method in {"auto", name} and (other := make(topology, collective)) is not None:
            made.append(Made(other, cost_of(topology, other), name, Fraction(0)))
    if not made:
        raise InfeasibleError(f"the method '{method}' has no schedule for this topology; try --method spff")
    return min(made, key=lambda one: (one.cost.steps, one.cost.bandwidth))
