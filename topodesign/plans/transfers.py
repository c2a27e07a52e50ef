"""What any plan sends from rank to rank, in one table: the form from which programs of ranks are made.

Switches have no rank: what goes through them is a send from node to node, and nodes are numbered without them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.errors import ScheduleError
from topodesign.collectives import Collective
from topodesign.plans.journeys import journeys
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import blocks_named, renamed
from topodesign.plans.timed import Timed
from topodesign.plans.unroll import numbers_without
from topodesign.topology.topology import IntArray


@dataclass(frozen=True, eq=False)
class Transfers:
    """The sends of one collective between ranks.

    Row i says: what ``src[i]`` has of the units ``lo[i] <= unit < hi[i]`` of ``block[i]`` at the instant ``start[i]``
    is at ``dst[i]`` at the instant ``end[i]``, and can be sent on then. In a movement of the collective that adds it is
    a partial sum, which the sender then has no longer; else it is stored.

    * ``start``, ``end``, ``part``, ``src``, ``dst``, ``block``, ``lo``, ``hi``: int64 arrays of shape ``(rows,)``;
      ``start < end``, in steps or ticks; ``part`` counts the movements of the collective.
    * ``amounts``: pieces of every block in the order of their numbers, None where all are of one size.
    * ``sums``: where ranks add up for themselves, what, as :func:`topodesign.plans.added.added` says; else None.
    """

    collective: Collective  # among ranks, which are the nodes in ascending order, without switches
    ranks: int  # how many there are
    units: int  # number of equal parts of a block
    share: Fraction  # part of all data that is this collective's: 1 unless several run at the same time
    start: IntArray
    end: IntArray
    part: IntArray
    src: IntArray
    dst: IntArray
    block: IntArray
    lo: IntArray
    hi: IntArray
    amounts: tuple[int, ...] | None = None
    sums: IntArray | None = None

    @property
    def shards(self) -> int:
        """How many blocks all data are."""
        return 1 if self.sums is not None else self.collective.shards(len(self.collective.members(self.ranks)))

    @property
    def mean(self) -> Fraction:
        """Pieces of a block to another rank, in the mean."""
        return Fraction(1) if self.amounts is None else Fraction(sum(self.amounts), self.ranks * (self.ranks - 1))


def transfers_of_rounds(rounds: Rounds, switches: Collection[int]) -> Transfers:
    """Return what rounds send."""
    step = rounds.step.astype(np.int64)
    part = (step > rounds.reduce_steps).astype(np.int64) * (len(rounds.collective.movements) - 1)
    return _among_ranks(rounds, switches, Fraction(1), (step - 1, step, part))


def transfers_of_timed(timed: Timed, switches: Collection[int], share: Fraction) -> Transfers:
    """Return what timed sends send, of so much of all data."""
    whole = journeys(timed, switches).whole(timed)
    return _among_ranks(whole, switches, share, (whole.start, whole.end, whole.part.astype(np.int64)))


def _among_ranks(
    moved: Rounds | Timed, switches: Collection[int], share: Fraction, times: tuple[IntArray, IntArray, IntArray]
) -> Transfers:
    """Return sends with the numbers of ranks in place of those of nodes."""
    number, computes = numbers_without(moved.nodes, switches)
    count = int(computes.sum())
    if not np.all(computes[moved.src] & computes[moved.dst]):
        raise ScheduleError("a send begins or ends at a switch, which is no rank")
    return Transfers(
        renamed(moved.collective, number.tolist()),
        count,
        moved.units,
        share,
        *times,
        number[moved.src],
        number[moved.dst],
        blocks_named(moved.collective, moved.block, number, count),
        moved.lo,
        moved.hi,
    )
