"""The catalog's gap to the all-to-all bound by distances."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from topodesign.base.cost import Cost, least_steps, moore_distances
from topodesign.base.declared import key
from topodesign.base.records import Result, ResultList, Table
from topodesign.base.units import format_size
from topodesign.catalog.all_to_all_rows import Exchange
from topodesign.catalog.quality import STANDARD, Ratio, ratio_columns, ratios_of
from topodesign.pricing.workload import Workload

JUDGED = 256  # nodes up to which all sizes have prices of all-to-all; more are judged where they are asked for


def least_exchange(nodes: int, degree: int, *, duplex: bool = False) -> Cost:
    """Return the lower bounds on steps and factor of any all-to-all of a size."""
    return Cost(least_steps(nodes, degree, duplex=duplex).steps, moore_distances(nodes, degree, duplex=duplex))


@dataclass(frozen=True, repr=False)
class ExchangeQuality(Result):
    """The gap of the fastest all-to-all of a degree to the bound."""

    degree: int  # ports of a node
    duplex: bool  # whether only duplex topologies were judged
    sizes: int  # how many N have a topology whose price of all-to-all is known
    work: Workload  # what the times are for
    ratios: tuple[Ratio, ...]  # over all these N, for each size of data
    met: Fraction  # share of N that reach the bound for the first size, so that nothing is faster

    KEYS = (
        "degree duplex sizes",
        key("mean_*", "Mean ratio of the fastest all-to-all of a size to the bound by distances.", kind=float),
        key("worst_*", "The largest ratio.", kind=float),
        key("worst_nodes_*", "Its N.", kind=int),
        "met=float(met)",
    )

    def to_records(self) -> list[dict[str, Any]]:
        """Return the JSON document as one flat row."""
        record: dict[str, Any] = {"degree": self.degree, "duplex": self.duplex, "sizes": self.sizes}
        for size, ratio in zip(self.work.sizes, self.ratios, strict=True):
            record |= ratio.named(format_size(size))
        return [record | {"met": float(self.met)}]


class ExchangeQualities(ResultList[ExchangeQuality]):
    """The gaps of all-to-all to the bound, a line per degree and cabling."""

    __slots__ = ()

    def table(self) -> Table:
        """Return the ratios with the sizes of the worst."""
        if not self:
            return Table("there is nothing in this range", (), ())
        work = self[0].work
        columns = ratio_columns(work)
        rows = tuple(
            (
                *(str(one.degree), str(one.sizes), *(cell for ratio in one.ratios for cell in ratio.cells)),
                *(f"{float(one.met):.1%}", "duplex" if one.duplex else "any"),
            )
            for one in self
        )
        return Table(
            f"best all-to-all over the bound by distances; {work.setting}",
            ("degree", "sizes", *columns, "met", "cabling"),
            rows,
            words=frozenset(("cabling",)),
            spare=frozenset(columns[2:]),
            footnote=f"met: share of N that reach the bound for {format_size(work.sizes[0])}",
        )


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


def exchange_qualities(degree: int, known: list[Exchange], work: Workload) -> Iterator[ExchangeQuality]:
    """Yield :func:`exchange_quality` of any and of duplex cabling, if any."""
    for duplex in (False, True):
        if one := exchange_quality(degree, known, duplex=duplex, work=work):
            yield one
