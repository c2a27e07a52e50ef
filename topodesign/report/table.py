"""Tables for the terminal."""

from __future__ import annotations

import io
from fractions import Fraction
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from topodesign.base.cost import Basis
from topodesign.base.units import format_bandwidth, format_size, format_time

if TYPE_CHECKING:
    from topodesign.base.cost import Cost
    from topodesign.base.spec import Spec
    from topodesign.catalog.pareto import Pareto
    from topodesign.pricing.baselines import Workload
    from topodesign.pricing.evaluation import Evaluation

_PLAIN_WIDTH = 160
_ORIGINS = {
    "catalog": "from the catalog",
    "search": "searched for",
    "catalog and search": "from the catalog and searched for",
}
_NAME_WIDTH = 40
"""Columns that a name of fair length takes."""
_LONGEST_SPEC = 240
"""Characters of a spec that a table shows whole."""


def pareto_text(result: Pareto) -> str:
    """Return the frontier as plain text, as a notebook or a pipe shows it."""
    stream = io.StringIO()
    print_pareto(result, Console(file=stream, color_system=None))
    return stream.getvalue().rstrip("\n")


def print_pareto(result: Pareto, console: Console) -> None:
    """Print the frontier, the bound and the baselines as one table.

    Parameters
    ----------
    result
        What :func:`topodesign.catalog.pareto.pareto` returned.
    console
        Where to print, and how wide.
    """
    work = result.workload
    kind = "duplex" if result.bidirectional else "simplex or duplex"
    if not console.is_terminal:
        console.width = _PLAIN_WIDTH  # a file or pipe has no width of its own
    console.print(
        f"{result.nodes} nodes of degree {result.degree} ({kind}); alpha {format_time(work.alpha)}, "
        f"{format_bandwidth(work.bandwidth)} per node; allreduce times; {_ORIGINS[result.origin]}",
        highlight=False,
    )
    rows = _rows(result)
    table = _frontier_table(result, rows, [name for _, name, _ in rows])
    narrow = console.width < _NAME_WIDTH + _width(table, console) - max(len(name) for _, name, _ in rows)
    if narrow:  # figures stay whole, names stand below
        table = _frontier_table(result, rows, [str(number) for number in range(1, len(rows) + 1)], narrow=True)
        terminal, console.width = console.width, _width(table, console)
        console.print(table)
        console.width = terminal
        names = Table.grid(padding=(0, 2))
        for number, (_, name, style) in enumerate(rows, start=1):
            names.add_row(str(number), name, style=style)
        console.print(names)
    else:
        console.print(table)
    console.print("* fastest of its column; percentages are over the lower bound", highlight=False, soft_wrap=True)


def _frontier_table(
    result: Pareto, rows: list[tuple[list[str | Text], str, str]], names: list[str], *, narrow: bool = False
) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, header_style="bold")
    for title in ("steps", "y", "y over bound", *(format_size(size) for size in result.workload.sizes)):
        if not (narrow and title == "y over bound"):
            table.add_column(title, justify="right", no_wrap=True)
    table.add_column("cabling", no_wrap=True)
    if not narrow:
        table.add_column("found", no_wrap=True)
    table.add_column("row" if narrow else "topology", overflow="fold")
    for (cells, _, style), name in zip(rows, names, strict=True):
        if cells is rows[len(result.entries)][0]:
            table.add_section()
        table.add_row(*(cells[:2] + cells[3:-1] if narrow else cells), name, style=style)
    return table


def _width(table: Table, console: Console) -> int:
    """Return how wide a table is if nothing is cut."""
    return Measurement.get(console, console.options.update(max_width=10_000), table).maximum


def _rows(result: Pareto) -> list[tuple[list[str | Text], str, str]]:
    """Return cells, name and style of every row: the entries, the bound, the baselines."""
    work = result.workload
    bounds = work.allreduce(result.bound)
    rows: list[tuple[list[str | Text], str, str]] = []
    for entry in result.entries:
        times = zip(entry.allreduce, bounds, entry.best, strict=True)
        cells = [Text(_time(t, bound, "*" if best else " "), "bold green" if best else "") for t, bound, best in times]
        cabling = ("duplex" if entry.duplex else "simplex") + (
            "" if entry.basis is Basis.LINKS else f", {entry.basis.words}"
        )
        rows.append(([*_cost(entry.cost, result.bound), *cells, cabling, entry.found], readable(entry.spec), ""))
    no_gap = " " * len(_time(bounds[0], bounds[0])[len(format_time(bounds[0])) :])
    times_of_bound = [format_time(time) + no_gap for time in bounds]
    rows.append(([*_cost(result.bound, result.bound), *times_of_bound, "", ""], "lower bound", "dim"))
    for baseline in result.baselines:
        cost = _cost(baseline.cost, result.bound) if baseline.cost else ("", "", "")
        plain = [_time(t, bound) for t, bound in zip(baseline.allreduce, bounds, strict=True)]
        rows.append(([*cost, *plain, "", ""], f"{baseline.name}: {baseline.model}", "dim"))
    return rows


def readable(spec: Spec) -> str:
    """Return a spec as tables show it: of one that is written out link by link, the beginning."""
    text = str(spec)
    if len(text) <= _LONGEST_SPEC:
        return text
    return f"{text[: _LONGEST_SPEC // 2]}... ({len(text)} characters; --json has them all)"


def print_evaluation(result: Evaluation, work: Workload, console: Console) -> None:
    """Print what is known of one topology."""
    graph, cost, bound = result.topology, result.cost, result.bound
    name = "topology" if graph.spec is None else str(graph.spec)
    over = cost.bandwidth / bound.bandwidth - 1
    symmetry = "vertex-transitive by construction" if graph.vertex_transitive else "not proven vertex-transitive"
    rows = [
        ("nodes", f"{graph.nodes}"),
        ("degree", f"{graph.degree}" + ("" if graph.is_regular else " (not regular: some ports are unused)")),
        ("steps", f"{cost.steps} (bound {bound.steps})"),
        (
            "bandwidth factor",
            f"{cost.bandwidth} = {float(cost.bandwidth):.6f} (bound {bound.bandwidth}, {_percent(over)})",
        ),
        ("cabling", "duplex: every link has its reverse" if graph.is_duplex else "simplex: one-way links"),
        ("symmetry", f"{symmetry}; priced from {result.sources} node(s)"),
        ("diameter, girth", f"{cost.steps}, {result.girth}"),
        ("nodes by distance", " ".join(map(str, result.distance_profile))),
        ("links", f"{len(graph.src)}" + (f", {graph.self_loops} ports lost to self-loops" if graph.self_loops else "")),
    ]
    if result.allgather != cost:
        other = result.allgather.bandwidth
        rows.insert(4, ("of the allgather", f"{other} = {float(other):.6f} ({_percent(other / bound.bandwidth - 1)})"))
    for size, time in zip(work.sizes, result.allreduce(work), strict=True):
        rows.append(
            (f"allreduce {format_size(size)}", f"{format_time(time)} (bound {format_time(_bound(work, bound, size))})")
        )
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(name, style="bold", highlight=False, soft_wrap=True)
    console.print(table, highlight=False)


def _bound(work: Workload, bound: Cost, size: Fraction) -> Fraction:
    return bound.allreduce(work.alpha, size, work.bandwidth)


def _cost(cost: Cost, bound: Cost) -> tuple[str, str, str]:
    return str(cost.steps), f"{float(cost.bandwidth):.4f}", _percent(cost.bandwidth / bound.bandwidth - 1)


def _time(time: Fraction, bound: Fraction, mark: str = " ") -> str:
    return f"{format_time(time)} {_percent(time / bound - 1):>7} {mark}"


def _percent(share: Fraction) -> str:
    percent = float(share) * 100
    return f"+{percent:.1f}%" if percent < 1000 else f"x{percent / 100 + 1:.1f}"
