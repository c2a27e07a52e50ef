"""``topodesign pareto``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.options import format_flags
from topodesign.base.units import as_bandwidth, as_time
from topodesign.cli.answers import directory, form, json_option, print_json, show
from topodesign.cli.drawing import PAGE, DrawingCommand, get_plot_kind, give, plot_option
from topodesign.cli.options import (
    PATH,
    bidirectional_option,
    catalog_option,
    degrees_option,
    nodes_option,
    number_or_range,
    offer,
    option,
    work_options,
)
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import get_given_options
from topodesign.finder.candidate import Entry
from topodesign.finder.options import FindOptions
from topodesign.finder.sources import read_candidates

_LIMITS = ("max_steps", "within")
_ASKED = ("collective", "workload", "search", "seed", "runners_up", "alpha", "sizes", "bandwidth", *_LIMITS)
"""Options that all answers take."""
_OF_BOXES = {"nodes", "degrees", "bidirectional", "box", "candidates", "against", "plot_kind"}
_OF_BOXES |= {"sizes", "collective", "workload", "seed"}


def _number_of_seconds(_context: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    """Read a time such as 20s."""
    if value is None:
        return None
    seconds = float(as_time(value))
    if seconds > 86400:
        raise click.BadParameter(f"{value!r:.40} is over a day; the maximum is 24h.")
    return seconds


class _Command(DrawingCommand):
    """A command whose -o names a directory if there is a plant or a plan to grow from."""

    def takes_directory(self, context: click.Context) -> bool:
        """Whether there are plans or links to write."""
        return context.params["plant"] is not None or context.params["grow_from"] is not None


@click.command(name="pareto", cls=_Command)
@nodes_option(
    "Number of nodes N, or a range such as 190..210 or 16..64..16 for a table of the fastest.", number_or_range
)
@degrees_option(
    "Ports out of (and into) each node, or a range such as 4..8: what one port more or less buys.", number_or_range
)
@work_options
@bidirectional_option
@catalog_option
@option(
    "--time-limit search TIME",
    "Time to search Cayley digraphs for more than the catalog has; 0 looks at the known families and their expansions "
    "only. Without it the catalog's answer is enough; where it has none, 3 seconds.",
    callback=_number_of_seconds,
)
@offer(FindOptions, "seed", "collective", "workload")
@option(
    "--add against NAMES...",
    "Compare the fastest with what one would do anyway: everyday names such as torus,jellyfish,fattree, specs or "
    "schedule files, as for 'topodesign compare'; may be repeated.",
)
@offer(FindOptions, "runners_up", "max_steps", "within")
@option(
    "--candidates FILE",
    "Set topologies of your own beside the others: a file with a spec or the path of a file of links a line.",
)
@option(
    "--near grow_from PLAN",
    "Topologies near the wiring of a plan, which has fewer nodes: those that move few patches, or are fast; -o DIR "
    "writes the links of each, for 'topodesign wire change'.",
    type=PATH,
)
@option(
    "--inventory plant FILE",
    "What these hosts, panels and switches can carry, each topology with its circuits; -o DIR writes the plans. By "
    "default N is all hosts and d all lanes.",
    type=PATH,
)
@option(
    "--boxes box BOX[/K]",
    "The nodes are boxes of accelerators, wired to each other directly: a preset such as dgx_h100, or the file of a "
    "box whose NICs are links to a switch named network. N boxes with d cables each.",
)
@plot_option("frontier", "times", "sizes", "construction")
@json_option
def command(
    nodes: int | range | None, degrees: int | range | None, bidirectional: bool, plot_kind: str | None, **options: Any
) -> None:
    """Find the best topologies for N nodes with d ports each.

    Prints the Pareto frontier of steps against bandwidth factor y, cheapest latency first, with allreduce times for
    your latency, data sizes and bandwidth, the lower bound, and what rings and double binary trees would take. Of a
    range of N or d it prints the fastest topology of each size. -o FILE.html writes a report, -o FILE.svg a plot.

    Example: topodesign pareto -n 1024 -d 4 --size 1MiB --size 100MiB
    """
    given = get_given_options(click.get_current_context())
    _read_compounds(options)
    kind = get_plot_kind(plot_kind, "sizes" if isinstance(nodes, range) else "frontier")
    names = [name for text in options["against"] for name in (text.split(",") if "(" not in text else [text])]
    asked: dict[str, Any] = {name: options[name] for name in _ASKED if name in given}
    asked["candidates"] = [] if options["candidates"] is None else read_candidates(options["candidates"])
    asked["bidirectional"] = bidirectional
    by_size = kind in {"sizes", "winners"}
    if kind is not None:
        _check_plot(kind, nodes, degrees, options, by_size=by_size)
    several = isinstance(nodes, range) or isinstance(degrees, range) or by_size
    find: Any = topodesign.survey if several else topodesign.pareto
    if options["box"] is not None:
        _check_boxes(nodes, given)
        find = topodesign.survey_boxes if several else topodesign.pareto_boxes
        find = partial(find, options["box"], split=options["split"], against=names)
    else:
        _require_size(nodes, degrees, options)
        asked["catalog"] = options["catalog"]
        answer: Any = topodesign.pareto
        if options["plant"] is not None:
            answer = partial(topodesign.carry, options["plant"], near=options["grow_from"])
        elif options["grow_from"] is not None:
            answer = partial(topodesign.grow, options["grow_from"])
        find = partial(topodesign.survey, answer=answer, per_port=options["per_port"]) if several else answer
        if options["per_port"] and isinstance(degrees, int) and not several:
            asked["bandwidth"] = as_bandwidth(options["bandwidth"]) * degrees
    with progress_bar("searching", once_told=True) as progress:
        found = find(nodes, degrees, progress=progress, **asked)
    if kind is not None:
        give(topodesign.report_page(found, against=names) if kind == PAGE else topodesign.plot(found, kind))
        return
    target = directory()
    if target is not None:
        found = _write(found, target, several=several)
    _show(found, [] if options["box"] is not None else names)
    if target is not None and options["plant"] is not None and form() == "text":
        click.echo(f"wrote {target}", err=True)


def _read_compounds(options: dict[str, Any]) -> None:
    """Read ``--catalog none``, ``--bandwidth RATE/port`` and ``--boxes BOX/K``."""
    options |= {"per_port": False, "split": 1, "catalog": options["catalog"] or True}
    if str(options["catalog"]) == "none":
        options["catalog"] = False
    rate, slash, unit = options["bandwidth"].rpartition("/")
    if slash and unit == "port":
        options["bandwidth"], options["per_port"] = rate, True
    if options["box"] is not None:
        box, slash, ports = options["box"].rpartition("/")
        if slash and ports.isdecimal():
            if not 1 <= int(ports) <= 16:
                raise click.UsageError(f"--boxes {options['box']}: ports of a NIC must be 1 to 16.")
            options["box"], options["split"] = box, int(ports)


def _check_plot(kind: str, nodes: Any, degrees: Any, options: dict[str, Any], *, by_size: bool) -> None:
    """Raise UsageError for answers that there is no such plot of."""
    wrong = [name for name in ("plant", "grow_from", "box") if options[name] is not None and not by_size]
    if wrong or options["box"] is not None:
        raise click.UsageError(f"{format_flags(wrong or ['box'])} cannot be combined with a plot; remove it.")
    if nodes is None or not isinstance(degrees, int):
        raise click.UsageError("a plot requires -n and one -d.")
    if isinstance(nodes, range) and not by_size:
        raise click.UsageError(f"--plot-kind {kind} requires one N.")


def _require_size(nodes: Any, degrees: Any, options: dict[str, Any]) -> None:
    """Raise UsageError if a number of nodes or ports is missing, which only a room has."""
    if options["per_port"] and degrees is None:
        raise click.UsageError("--bandwidth RATE/port requires the number of ports; use -d.")
    if options["plant"] is None and (nodes is None or degrees is None):
        context = click.get_current_context()
        missing = "nodes" if nodes is None else "degrees"
        parameter = next(one for one in context.command.params if one.name == missing)
        raise click.MissingParameter("A --inventory has both; else give them.", context, parameter)


def _write(found: Any, target: Path, *, several: bool) -> Any:
    """Write plans or links, and return the answer with their names."""
    if several:
        raise click.UsageError("-o requires one N and one d; remove the range.")
    if hasattr(found, "write"):
        return found.write(target)
    found.save(target)
    return found


def _show(found: Any, names: list[str]) -> None:
    """Print the answer, the next best rows, and rivals."""
    several = hasattr(found, "frontiers")
    answers = found.frontiers if several else [found]
    for one in answers:
        if getattr(one, "catalog_error", None) is not None:
            click.echo(f"topodesign: {one.catalog_error}; so this was searched for", err=True)
    with progress_bar("comparing") as progress:
        beside = [_compare(one.fastest, names, progress) for one in answers if names]
    if form() != "text":
        more = {"against": [one.record() for one in beside] if several else beside[0].record()} if beside else {}
        print_json(found.record() | more, found.to_records)
        return
    show(found)
    for one in (*(getattr(answer, "runners_up", None) for answer in answers), *beside):
        if one is not None:
            click.echo()
            show(one)


def _compare(entry: Entry, names: list[str], progress: Any) -> Any:
    """Return the fastest topology beside others."""
    from topodesign.report.comparison.compare import compare_beside  # noqa: PLC0415  heavy

    return compare_beside(entry, names, entry.question.objective, progress=progress)


def _check_boxes(nodes: Any, given: set[str]) -> None:
    """Raise UsageError for options that boxes settle themselves."""
    refused = sorted("time_limit" if name == "search" else name for name in given - _OF_BOXES)
    if refused:
        raise click.UsageError(
            f"{format_flags(refused)} cannot be combined with --boxes, which sets latencies and bandwidths; "
            "remove these or --boxes."
        )
    if nodes is None:
        raise click.UsageError("--boxes requires -n, the number of boxes.")
