"""Close sizes that are served much better.

As next to a prime number of nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from topodesign.base.cost import Cost
from topodesign.base.declared import Declared, key
from topodesign.base.units import format_time
from topodesign.catalog.files import read_prices, read_rows
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.rows import Row
from topodesign.catalog.sizes import MAX_NODES
from topodesign.pricing.workload import Workload

if TYPE_CHECKING:
    from topodesign.search.candidate import Candidate
    from topodesign.search.target import Target

_REACH = 50  # sizes up to N/50 away are close

SMOOTH = 8  # sizes that this divides have groups in which few elements commute, and lifts over them

_VERY_POOR = Fraction(3, 2)  # times the bound from which on it is worth some seconds to look at another size

_WORTH = Fraction(21, 20)
"""How many times faster a size has to be, and how far from its bound the other, to be worth a word."""


@dataclass(frozen=True)
class Better(Declared):
    """A size close by whose best allreduce is faster.

    * ``nodes``, ``other``: the size that was asked for, and the one close by.
    * ``time``, ``other_time``: seconds of the fastest allreduce at both, for the first size of data.
    """

    nodes: int
    other: int
    time: Fraction
    other_time: Fraction

    KEYS = (
        key("nodes=other", "Its number of nodes."),
        key("allreduce_s=float(other_time)", "Seconds of its fastest allreduce."),
        "speedup=float(speedup)",
    )
    SHARED = "better_size"

    @property
    def speedup(self) -> Fraction:
        """How many times faster it is."""
        return self.time / self.other_time

    def __str__(self) -> str:
        """Return the advice in words."""
        why = "is prime" if _is_prime(self.nodes) else "is an awkward size"
        times = f"{format_time(self.other_time)} for an allreduce, not {format_time(self.time)}"
        return f"{self.nodes} {why}; {self.other} is {float(self.speedup):.2f}x better ({times})"


def better_size(catalog: Catalog, front: Sequence[Row | Candidate], target: Target, work: Workload) -> Better | None:
    """Return the size within 2% with the fastest allreduce, if much faster.

    If the frontier is poor. Beyond the sizes that all have rows, line graphs of rows count as well.
    """
    nodes, degree = target.size
    if degree not in catalog.degrees or not front:
        return None
    own = min(work.allreduce(row.mean)[0] for row in front)
    if own < _WORTH * work.least(nodes, degree, duplex=target.duplex)[0]:
        return None
    step, factor = (work.allreduce(Cost(*unit))[0] for unit in ((1, Fraction(0)), (0, Fraction(1))))
    per_step, per_factor = step.numerator * factor.denominator, factor.numerator * step.denominator
    best = (own.numerator * step.denominator * factor.denominator, own.denominator), 0, nodes
    for size, steps, n, d in _iterate_close(catalog, target):  # times are compared as integers, since rows are many
        time, (least, unit) = per_step * steps * d + per_factor * n, best[0]
        far = abs(size - nodes)
        if (time * unit, far, size) < (least * d, *best[1:]):
            best = (time, d), far, size
    (time, d), _, other = best
    other_time = Fraction(time, d * step.denominator * factor.denominator)
    return Better(nodes, other, own, other_time) if own >= _WORTH * other_time else None


def _iterate_close(catalog: Catalog, target: Target) -> Iterator[tuple[int, int, int, int]]:
    """Yield close sizes with steps and mean bandwidth, as numerator and denominator.

    Of rows, and beyond the sizes that all have rows of their line graphs by a theorem, which is about SPFF.
    """
    nodes, degree, duplex = target.nodes, target.degree, target.duplex
    reach = nodes // _REACH
    for size, steps, n, d, is_duplex in read_prices(catalog.directory, degree, nodes - reach, nodes + reach):
        if is_duplex or not duplex:
            yield size, steps, n, d
    fold, more, added = degree, 1, Fraction(1)
    while nodes > MAX_NODES and not duplex and nodes + reach >= 3 * fold:
        first, last = -(-(nodes - reach) // fold), min((nodes + reach) // fold, MAX_NODES)
        for row in read_rows(catalog.directory, degree, first, last) if first <= last else ():
            if not row.deferred:
                y = row.mean.bandwidth + added / row.nodes
                yield row.nodes * fold, row.cost.steps + more, y.numerator, y.denominator
        fold, more, added = fold * degree, more + 1, added + Fraction(1, fold)


def better_smooth(
    front: Sequence[Candidate], target: Target, work: Workload, find: Callable[[Target], Sequence[Candidate]]
) -> Better | None:
    """Return the nearest size that divides well, if much faster.

    If the frontier is very poor.
    """
    other = replace(target, nodes=round(Fraction(target.nodes, SMOOTH)) * SMOOTH)
    if not front or other == target:
        return None
    bound = work.least(*target.size, duplex=target.duplex)[0]
    times = [work.allreduce(one.cost, one.allgather)[0] for one in front]
    if min(times) < _VERY_POOR * bound:
        return None
    others = [work.allreduce(one.cost, one.allgather)[0] for one in find(other)]
    poor = bool(others) and min(times) >= _WORTH * min(others)
    return Better(target.nodes, other.nodes, min(times), min(others)) if poor else None


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % factor for factor in range(2, math.isqrt(number) + 1))
