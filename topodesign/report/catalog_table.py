"""Tables of the catalog for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from topodesign.base.units import format_bandwidth, format_size, format_time
from topodesign.report.table import readable

if TYPE_CHECKING:
    from topodesign.catalog.pareto import Pareto
    from topodesign.catalog.quality import Coverage, Quality

_PLAIN_WIDTH = 160


def print_range(results: Sequence[Pareto], console: Console) -> None:
    """Print the fastest topology of each of several sizes, for the first size of data."""
    work, size = results[0].workload, format_size(results[0].workload.sizes[0])
    kind = "duplex" if results[0].bidirectional else "simplex or duplex"
    console.print(
        f"degree {results[0].degree} ({kind}); alpha {format_time(work.alpha)}, "
        f"{format_bandwidth(work.bandwidth)} per node; fastest allreduce of {size}; from the catalog",
        highlight=False,
        soft_wrap=True,
    )
    table = _table(("nodes", "steps", "y", "y over bound", size, "over bound"), ("cabling", "found", "topology"))
    for result in results:
        best = result.best
        bound = work.allreduce(result.bound)[0]
        table.add_row(
            str(result.nodes),
            str(best.cost.steps),
            f"{float(best.cost.bandwidth):.4f}",
            _percent(best.cost.bandwidth / result.bound.bandwidth),
            format_time(best.allreduce[0]),
            _percent(best.allreduce[0] / bound),
            "duplex" if best.duplex else "simplex",
            best.found,
            readable(best.spec),
        )
    _print(table, console)


def print_coverage(covered: Sequence[Coverage], console: Console) -> None:
    """Print what the catalog has, a line per degree."""
    table = _table(("degree", "from N", "to N", "sizes", "duplex", "topologies", "version"), ("found",))
    for one in covered:
        counts = (one.first, one.last, one.sizes, one.duplex_sizes, one.rows, one.version)
        found = ", ".join(f"{word} {number}" for word, number in one.found.items())
        table.add_row(str(one.degree), *map(str, counts), found)
    _print(table, console)


def print_quality(judged: Sequence[Quality], console: Console) -> None:
    """Print how far the catalog is from the lower bound, a line per degree and cabling."""
    if not judged:
        console.print("there is nothing in this range", highlight=False)
        return
    work = judged[0].work
    console.print(
        f"best allreduce over the lower bound; alpha {format_time(work.alpha)}, "
        f"{format_bandwidth(work.bandwidth)} per node",
        highlight=False,
        soft_wrap=True,
    )
    columns = [f"{word} {format_size(size)}" for size in work.sizes for word in ("mean", "worst")]
    table = _table(("degree", "sizes", *columns, "near-optimal"), ("cabling",))
    for one in judged:
        ratios = (
            cell
            for ratio in one.ratios
            for cell in (f"{ratio.mean:.3f}", f"{float(ratio.worst):.3f} (N={ratio.worst_nodes})")
        )
        share = f"{float(one.near_optimal):.1%}"
        table.add_row(str(one.degree), str(one.sizes), *ratios, share, "duplex" if one.duplex else "any")
    _print(table, console)
    console.print(
        "near-optimal: share of N with optimal bandwidth within two steps of Moore's bound",
        highlight=False,
        soft_wrap=True,
    )


def _table(numbers: Sequence[str], words: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, header_style="bold")
    for title in numbers:
        table.add_column(title, justify="right", no_wrap=True)
    for title in words:
        table.add_column(title, overflow="fold")
    return table


def _print(table: Table, console: Console) -> None:
    if not console.is_terminal:
        console.width = _PLAIN_WIDTH  # a file or pipe has no width of its own
    console.print(table)


def _percent(ratio: Fraction) -> str:
    return f"+{float(ratio - 1):.1%}"
