"""Quality of the catalog: coverage, and gaps to the lower bound."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import Any, ClassVar

from topodesign.base.cost import Cost, keeps_port_free, least_steps, lower_bounds, moore_distances
from topodesign.base.declared import key
from topodesign.base.memory import pause_collector
from topodesign.base.moore import explain_impossible, moore_steps
from topodesign.base.records import Result, ResultList, Table
from topodesign.base.units import format_size
from topodesign.catalog.all_to_all_rows import Exchange
from topodesign.catalog.records import get_record, record_orders
from topodesign.catalog.rows import Price, Row
from topodesign.catalog.sizes import MAX_NODES
from topodesign.pricing.workload import Workload

STANDARD = Workload(Fraction(1, 10**5), (Fraction(2**20), Fraction(100 * 2**20)), Fraction(10**11))
"""What the quality is measured for unless told otherwise: 10us, 1MiB and 100MiB, 100Gbps."""

JUDGED = 256  # nodes up to which all sizes have prices of all-to-all; more are judged where they are asked for
_SPARE_STEPS = 2


def runtime(cost: Cost) -> Fraction:
    """Return the allreduce time at the smaller standard size, in seconds."""
    return STANDARD.allreduce(cost)[0]


def least_exchange(nodes: int, degree: int, *, duplex: bool = False) -> Cost:
    """Return the lower bounds on steps and factor of any all-to-all of a size."""
    return Cost(least_steps(nodes, degree, duplex=duplex).steps, moore_distances(nodes, degree, duplex=duplex))


def least_runtime(nodes: int, degree: int, *, duplex: bool = False) -> Fraction:
    """Return the lower bound of :func:`runtime` for a size and degree."""
    return STANDARD.least(nodes, degree, duplex=duplex)[0]


@dataclass(frozen=True, repr=False)
class Coverage(Result):
    """What the catalog has of a degree."""

    degree: int  # ports of a node
    first: int  # the smallest N
    last: int  # the largest N
    sizes: int  # how many N there are rows for
    duplex_sizes: int  # how many of these have a duplex topology
    rows: int  # topologies
    found: dict[str, int]  # topologies by where they come from
    version: int  # version of the file

    KEYS = (
        "degree first last sizes duplex_sizes rows version",
        key("found_*=found", "Rows of a kind of construction."),
    )


class Coverages(ResultList[Coverage]):
    """What the catalog has, a line per degree."""

    __slots__ = ()

    def table(self) -> Table:
        """Return the counts in words."""
        rows = tuple(
            (
                *map(str, (one.degree, one.first, one.last, one.sizes, one.duplex_sizes, one.rows, one.version)),
                ", ".join(f"{word} {number}" for word, number in one.found.items()),
            )
            for one in self
        )
        titles = ("degree", "from N", "to N", "sizes", "duplex", "topologies", "version", "found")
        return Table("", titles, rows, words=frozenset(("found",)))


@dataclass(frozen=True)
class Ratio:
    """Best allreduce time over the bound: mean, worst and the N of the worst."""

    mean: float
    worst: Fraction
    worst_nodes: int

    def named(self, size: str) -> dict[str, Any]:
        """Return it by the keys of documents."""
        values = {"mean": self.mean, "worst": float(self.worst), "worst_nodes": self.worst_nodes}
        return {f"{word}_{size}": value for word, value in values.items()}

    @property
    def cells(self) -> tuple[str, str]:
        """What tables show."""
        return f"{self.mean:.3f}", f"{float(self.worst):.3f} (N={self.worst_nodes})"


@dataclass(frozen=True, repr=False)
class Quality(Result):
    """The gap of a degree's best topologies to the bound.

    * ``share``: of N with optimal bandwidth within two steps of Moore's bound; for all-to-all of those that reach the
      bound for the first size of data, so that nothing is faster.
    * ``of_records``: mean ratio to the bound, for each size of data, of topologies with the steps of the
      degree/diameter records and optimal bandwidth; none for all-to-all.
    * ``records``, ``missed``: how many of the records have an N in the range, and how many of these the topologies have
      more steps than; beyond the sizes that all have rows only those that have.
    """

    degree: int  # ports of a node
    duplex: bool  # whether it is about duplex topologies only, held against the bound for duplex topologies
    sizes: int  # how many N
    work: Workload  # what the runtimes are for
    ratios: tuple[Ratio, ...]  # over all these N, for each size of data
    share: Fraction
    of_records: tuple[float, ...] = ()
    records: int = 0
    missed: int = 0

    KEYS: ClassVar[Any] = (
        "degree",
        key("duplex", "Whether only duplex topologies were judged."),
        "sizes",
        key("record_mean_*", "What it would be with the steps of the records and optimal bandwidth.", kind=float),
        key("mean_*", "Mean ratio of the best allreduce of a size to the bound.", kind=float),
        key("worst_*", "The largest ratio.", kind=float),
        key("worst_nodes_*", "Its N.", kind=int),
        "near_optimal=float(share)",
        key("records", "Known records of the degree/diameter problem in the range."),
        key("records_missed=missed", "How many of these have fewer steps than the best topology here."),
    )

    def to_records(self) -> list[dict[str, Any]]:
        """Return the JSON document as one flat row, what is of one size together."""
        record: dict[str, Any] = {"degree": self.degree, "duplex": self.duplex, "sizes": self.sizes}
        for size, ratio, mean in itertools.zip_longest(map(format_size, self.work.sizes), self.ratios, self.of_records):
            record |= ({} if mean is None else {f"record_mean_{size}": mean}) | ratio.named(size)
        if not self.of_records:
            return [record | {"met": float(self.share)}]
        return [record | {"near_optimal": float(self.share), "records": self.records, "records_missed": self.missed}]


class ExchangeQuality(Quality):
    """The gap of the fastest all-to-all of a degree to the bound by distances."""

    KEYS = (
        "degree duplex sizes",
        key("mean_*", "Mean ratio of the fastest all-to-all of a size to the bound by distances.", kind=float),
        key("worst_*", "The largest ratio.", kind=float),
        key("worst_nodes_*", "Its N.", kind=int),
        "met=float(share)",
    )


class Qualities(ResultList[Quality]):
    """The gaps to the lower bound, a line per degree and cabling."""

    __slots__ = ()

    def table(self) -> Table:
        """Return the ratios with the sizes of the worst."""
        if not self:
            return Table("there is nothing in this range", (), ())
        work, first_size = self[0].work, format_size(self[0].work.sizes[0])
        columns = [f"{word} {format_size(size)}" for size in work.sizes for word in ("mean", "worst")]
        titles: tuple[str, ...]
        if self[0].of_records:
            heading, titles = "best allreduce over the lower bound", ("near-optimal", "records'", "missed")
            footnote = (
                "near-optimal: share of N with optimal bandwidth within two steps of Moore's bound\n"
                f"records': mean {first_size} with the steps of the degree/diameter records and optimal bandwidth\n"
                "missed: records with fewer steps than all topologies of their size here"
            )
        else:
            heading, titles = "best all-to-all over the bound by distances", ("met",)
            footnote = f"met: share of N that reach the bound for {first_size}"
        rows = []
        for one in self:
            steps = (f"{one.of_records[0]:.3f}", f"{one.missed} of {one.records}") if one.of_records else ()
            ratios = (cell for ratio in one.ratios for cell in ratio.cells)
            cabling = "duplex" if one.duplex else "any"
            rows.append((str(one.degree), str(one.sizes), *ratios, f"{float(one.share):.1%}", *steps, cabling))
        return Table(
            f"{heading}; {work.setting}",
            ("degree", "sizes", *columns, *titles, "cabling"),
            tuple(rows),
            words=frozenset(("cabling",)),
            spare=frozenset((*columns[2:], *(("sizes", "near-optimal") if self[0].of_records else ()))),
            footnote=footnote,
        )


def coverage(degree: int, rows: Sequence[Row]) -> Coverage:
    """Return the counts of a degree; rows as of :meth:`Catalog.rows`."""
    return Coverage(
        degree,
        rows[0].nodes if rows else 0,
        rows[-1].nodes if rows else 0,
        len({row.nodes for row in rows}),
        len({row.nodes for row in rows if row.duplex}),
        len(rows),
        dict(sorted(Counter(row.found for row in rows).items())),
        max((row.version for row in rows), default=0),
    )


@pause_collector()
def quality(degree: int, prices: Iterable[Price], *, duplex: bool = False, work: Workload = STANDARD) -> Quality | None:
    """Return the gap of a degree's best rows to the lower bound.

    :attr:`Row.price` of each, by ascending nodes.
    """
    times, near, steps = list[tuple[Times, Times, Times]](), 0, dict[int, int]()
    for nodes, some in itertools.groupby(filter(itemgetter(4), prices) if duplex else prices, key=itemgetter(0)):
        reached = [one[1:4] for one in some]
        least = _bounds(nodes, degree, duplex=duplex)
        fewest, (_, p, q) = least[0][0], least[-1]
        possible = get_record(nodes, degree, fewest, duplex=duplex)
        times.append((reached, least, least if possible == fewest else ((possible, p, q),)))
        steps[nodes] = min(reached)[0]
        for taken, n, d in reached:
            if taken <= fewest + _SPARE_STEPS and n * q == p * d:
                near += 1
                break
    if not times:
        return None
    judged = [ratios_of(list(steps), times, work.alpha, 8 * size / work.bandwidth) for size in work.sizes]
    ratios, means = tuple(ratio for ratio, _ in judged), tuple(mean for _, mean in judged)
    records = [
        (n, k)
        for n, k in record_orders(degree, max(steps), duplex=duplex)
        if n >= min(steps) and (n <= MAX_NODES or n in steps)
    ]
    missed = sum(steps.get(n, k + 1) > k for n, k in records)
    share = Fraction(near, len(times))
    return Quality(degree, duplex, len(times), work, ratios, share, means, len(records), missed)


def exchange_quality(
    degree: int, known: Iterable[Exchange], *, duplex: bool = False, work: Workload = STANDARD
) -> ExchangeQuality | None:
    """Return the gap of a degree's entries, in order of nodes, or None."""
    sizes, times, met = list[int](), [], 0
    for nodes, some in itertools.groupby((one for one in known if one.duplex or not duplex), lambda one: one.nodes):
        reached = [(one.steps, *one.all_to_all.upper.as_integer_ratio()) for one in some]
        cost = least_exchange(nodes, degree, duplex=duplex)
        least = cost.steps, *cost.bandwidth.as_integer_ratio()
        met += least in reached
        sizes.append(nodes)
        times.append((reached, [least], [least]))
    if not sizes:
        return None
    ratios = tuple(ratios_of(sizes, times, work.alpha, 8 * size / work.bandwidth)[0] for size in work.sizes)
    return ExchangeQuality(degree, duplex, len(sizes), work, ratios, Fraction(met, len(sizes)))


Times = Sequence[tuple[int, int, int]]  # steps, and numerator and denominator of a bandwidth factor


def _bounds(nodes: int, degree: int, *, duplex: bool) -> Times:
    """Return :func:`topodesign.lower_bounds`, in integers if of several steps."""
    if nodes <= degree + 1:
        bounds = lower_bounds(nodes, degree, duplex=duplex)
        return tuple((cost.steps, *cost.bandwidth.as_integer_ratio()) for cost in bounds)
    steps = moore_steps(nodes, degree, duplex=duplex)
    if degree > (2 if duplex else 1) and explain_impossible(nodes, degree, steps, duplex=duplex) is not None:
        steps += 1  # as least_steps says, of which words are not needed
    if keeps_port_free(nodes, degree, duplex=duplex):
        return ((steps, (nodes - 1) * degree, nodes * (degree - 1)),)
    return ((steps, nodes - 1, nodes),)


def ratios_of(
    sizes: Sequence[int], times: Iterable[tuple[Times, Times, Times]], alpha: Fraction, whole: Fraction
) -> tuple[Ratio, float]:
    """Return the ratios for a data size, and the mean possible one.

    * ``sizes``: numbers of nodes.
    * ``times``: of each the topologies, the bounds and what is possible.
    * ``whole``: what the data take over all links of a node, in seconds.

    All is in integers, for speed: quotients of these are rounded correctly, so that the largest one is among those
    whose rounded values are largest.
    """
    per_step, per_size = coefficients = alpha.numerator * whole.denominator, whole.numerator * alpha.denominator
    ratios, beyond, largest, worst = list[float](), list[float](), 0.0, list[tuple[int, int, int]]()
    for nodes, (front, bounds, possible) in zip(sizes, times, strict=True):
        steps, n, q = bounds[0]
        p = per_step * steps * q + per_size * n
        if len(bounds) > 1:
            p, q = _least(bounds, *coefficients)
        steps, n, s = front[0]
        r = per_step * steps * s + per_size * n
        if len(front) > 1:
            r, s = _least(front, *coefficients)
        ratio = r * q / (s * p)
        ratios.append(ratio)
        if ratio > largest:
            largest, worst = ratio, []
        if ratio == largest:
            worst.append((r * q, s * p, nodes))
        if possible is not bounds:
            r, s = _least(possible, *coefficients)
            beyond.append(r * q / (s * p))
    exact, nodes = max((Fraction(n, d), nodes) for n, d, nodes in worst)
    mean, of_records = math.fsum(ratios), math.fsum([*beyond, len(ratios) - len(beyond)])
    return Ratio(mean / len(ratios), exact, nodes), of_records / len(ratios)


def _least(costs: Times, per_step: int, per_size: int) -> tuple[int, int]:
    """Return the least time of steps and fractions, in a common unit."""
    least, unit = 0, 0
    for steps, n, d in costs:
        time = per_step * steps * d + per_size * n
        if not unit or time * unit < least * d:
            least, unit = time, d
    return least, unit
