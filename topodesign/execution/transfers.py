"""What any plan sends from node to node, in one table: the form from which programs of ranks are made.

Switches have no rank: what goes through them is a send from node to node, and nodes are numbered without them. A switch
that adds or copies in trees has no one to do its work, so that such plans are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.collectives import Collective
from topodesign.plans.journeys import journeys
from topodesign.plans.orbit import OrbitRounds
from topodesign.plans.paths import Paths
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.timed import Timed
from topodesign.plans.together import Together
from topodesign.plans.trees import Trees
from topodesign.plans.unroll import block_numbers, renumbered, unroll, unroll_paths
from topodesign.topology.topology import IntArray


@dataclass(frozen=True, eq=False)
class Transfers:
    """The sends of one collective between ranks.

    Row i says: what ``src[i]`` has of the units ``lo[i] <= unit < hi[i]`` of ``block[i]`` at the instant ``start[i]``
    is at ``dst[i]`` at the instant ``end[i]``, and can be sent on then. In a movement of the collective that adds it is
    a partial sum, which the sender then has no longer; else it is stored.

    Attributes
    ----------
    collective
        Among ranks, which are the nodes in ascending order, without switches.
    ranks
        How many there are.
    units
        Number of equal parts of a block.
    share
        Part of all data that is this collective's: 1 unless several run at the same time.
    start, end, part, src, dst, block, lo, hi
        int64 arrays of shape ``(rows,)``; ``start < end``, in steps or ticks; ``part`` counts the movements of the
        collective.
    """

    collective: Collective
    ranks: int
    units: int
    share: Fraction
    start: IntArray
    end: IntArray
    part: IntArray
    src: IntArray
    dst: IntArray
    block: IntArray
    lo: IntArray
    hi: IntArray


def transfers_of(plan: Plan, parts: int = 1) -> tuple[Transfers, ...]:
    """Return what a plan sends, by its collectives.

    Parameters
    ----------
    plan
        Any, right or wrong.
    parts
        Of trees and paths: chunks that the data of each is cut into, which follow one another.

    Raises
    ------
    ScheduleError
        If nobody knows how to run such a movement, or parts are for another.
    InfeasibleError
        If a switch adds or copies, or shards differ in size.
    """
    lower = _KINDS.get(type(plan.movement))
    if lower is None:
        raise ScheduleError(f"nobody knows how to run {type(plan.movement).__name__}")
    if parts != 1 and not isinstance(plan.movement, Trees | Paths):
        raise ScheduleError(f"parts that follow one another are of trees and paths, not of {plan.kind}; leave them out")
    return lower(plan, plan.movement, parts)


def _of_rounds(plan: Plan, movement: Rounds, _: int) -> tuple[Transfers, ...]:
    return (_from_rounds(movement, plan.topology.switches),)


def _of_orbit(plan: Plan, movement: OrbitRounds, _: int) -> tuple[Transfers, ...]:
    return (_from_rounds(movement.unfold(), plan.topology.switches),)


def _of_trees(plan: Plan, movement: Trees, parts: int) -> tuple[Transfers, ...]:
    if len(movement.relays):
        name = plan.fabric.names[int(movement.relays[0])]
        raise InfeasibleError(
            f"switch {name} adds or copies in these trees, and a switch is no rank; schedule without in-network trees"
        )
    return (_from_rounds(unroll(movement, parts)[1], plan.topology.switches),)


def _of_paths(_: Plan, movement: Paths, parts: int) -> tuple[Transfers, ...]:
    return (_from_rounds(unroll_paths(movement, parts)[1], ()),)


def _of_timed(plan: Plan, movement: Timed, _: int) -> tuple[Transfers, ...]:
    return (_from_timed(plan, movement, Fraction(1)),)


def _of_together(plan: Plan, movement: Together, _: int) -> tuple[Transfers, ...]:
    return tuple(_from_timed(plan, one, one.size / movement.size) for one in movement.streams)


_KINDS: Mapping[type, Callable[[Plan, Any, int], tuple[Transfers, ...]]] = MappingProxyType(
    {
        Rounds: _of_rounds,
        OrbitRounds: _of_orbit,
        Trees: _of_trees,
        Paths: _of_paths,
        Timed: _of_timed,
        Together: _of_together,
    }
)


def _from_rounds(rounds: Rounds, switches: Any) -> Transfers:
    step = rounds.step.astype(np.int64)
    part = np.zeros(len(step), dtype=np.int64)
    if len(rounds.collective.movements) > 1:
        part[step > rounds.reduce_steps] = 1
    return _among_ranks(rounds, switches, Fraction(1), (step - 1, step, part))


def _from_timed(plan: Plan, timed: Timed, share: Fraction) -> Transfers:
    switches = plan.topology.switches
    whole = journeys(timed, switches).whole(timed)
    times = (whole.start, whole.end, whole.part.astype(np.int64))
    return _among_ranks(whole, switches, share, times)


def _among_ranks(
    moved: Rounds | Timed, switches: Any, share: Fraction, times: tuple[NDArray[np.int64], ...]
) -> Transfers:
    """Return sends with the numbers of ranks in place of those of nodes.

    Raises
    ------
    ScheduleError
        If one is from or to a switch.
    """
    computes = np.ones(moved.nodes, dtype=np.bool_)
    computes[list(switches)] = False
    number = np.cumsum(computes) - 1
    if not np.all(computes[moved.src] & computes[moved.dst]):
        raise ScheduleError("a send begins or ends at a switch, which is no rank")
    return Transfers(
        renumbered(moved.collective, number),
        int(computes.sum()),
        moved.units,
        share,
        times[0],
        times[1],
        times[2],
        number[moved.src],
        number[moved.dst],
        block_numbers(moved.collective, moved.block, number),
        moved.lo,
        moved.hi,
    )
