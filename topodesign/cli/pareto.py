"""``topodesign pareto``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.base.options import flagged
from topodesign.catalog.own import read_candidates
from topodesign.cli.answers import Command, directory, form, json_option, print_json, show
from topodesign.cli.options import (
    PATH,
    bidirectional_option,
    catalog_option,
    degrees_option,
    flag,
    nodes_option,
    number_or_range,
    option,
    seed_option,
    whole,
    work_options,
)
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import given_options
from topodesign.pricing.mix import PRICED

if TYPE_CHECKING:
    from topodesign.catalog.frontier import Pareto
    from topodesign.catalog.ranking import Ranking
    from topodesign.catalog.survey import Survey
    from topodesign.report.boxes.frontier import BoxFrontier
    from topodesign.wiring.change.growth import Growth


def _number_of_seconds(_context: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is not a number of seconds.")
    return value


class _Command(Command):
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
@flag("--no-catalog", "Search afresh, whatever the catalog has.")
@option(
    "--search SECONDS",
    "Time to search Cayley digraphs for more than the catalog has; 0 looks at the known families and their "
    "expansions only. Without it the catalog's answer is enough; where it has none, 3 seconds.",
    type=click.FloatRange(0, 86400),
    callback=_number_of_seconds,
)
@seed_option("Seed of the search.  [default: 0]", None)
@option(
    "--collective",
    "Rank by another collective: the topologies of the catalog and of the known families, fastest first.",
    words=PRICED,
    default="allreduce",
)
@option(
    "--workload FILE",
    "Rank by all that a training step sends: a list of collectives with sizes and counts (YAML or JSON), such as the "
    "example workload_moe.yaml.",
)
@option(
    "--against NAMES...",
    "Compare the fastest with what one would do anyway: everyday names such as torus,jellyfish,fattree, specs or "
    "schedule files, as for 'topodesign compare'; may be repeated.",
)
@option(
    "--runners-up K",
    "Show K topologies next to the fastest for each wish: time, steps, bandwidth, duplex, vertex-transitive, and "
    "easiest wiring.",
    type=whole(0, 100),
    default=0,
    show_default=False,
)
@option(
    "--candidates FILE",
    "Set topologies of your own beside the others: a file with a spec or the path of a file of links a line.",
)
@option(
    "--grow-from PLAN",
    "Topologies near the wiring of a plan, which has fewer nodes: those that move few patches, or are fast; -o DIR "
    "writes the links of each, for 'topodesign wire diff'.",
    type=PATH,
)
@option("--links DIR", "The same as -o DIR with --grow-from.", hidden=True)
@flag("--per-port", "Of a range of degrees: --bandwidth is that of a port, and more ports have more.")
@option(
    "--plant INVENTORY",
    "What these hosts, panels and switches can carry, each topology with its circuits; -o DIR writes the plans. N is "
    "all hosts and d all lanes if nothing is said.",
    type=PATH,
)
@option(
    "--box BOX",
    "The nodes are boxes of accelerators, wired to each other directly: a preset such as dgx_h100, or the file of a "
    "box whose NICs are links to a switch named network. N boxes with d cables each.",
)
@option("--split K", "Of a --box: each NIC is split into K ports.  [default: 1]", type=whole(1, 16))
@json_option
def command(
    nodes: int | range | None,
    degrees: int | range | None,
    alpha: str,
    sizes: tuple[str, ...],
    bandwidth: str,
    bidirectional: bool,
    **options: Any,
) -> None:
    """Find every topology worth wiring for N nodes of degree d.

    Prints the Pareto frontier of steps against bandwidth factor y, cheapest latency first, with allreduce times for
    your latency, data sizes and bandwidth, the lower bound, and what rings and double binary trees would take. Of a
    range of N or d it prints the fastest topology of each size.

    Example: topodesign pareto -n 1024 -d 4 --size 1MiB --size 100MiB
    """
    if options["box"] is not None:
        show(_boxed(nodes, degrees, sizes, bidirectional, options))
        return
    if options["split"] is not None:
        raise click.UsageError("--split is for the NICs of a --box; give both.")
    _check(options, several=isinstance(nodes, range) or isinstance(degrees, range))
    if options["plant"] is not None:
        _carry(nodes, degrees, {"alpha": alpha, "sizes": sizes, "bandwidth": bandwidth}, bidirectional, options)
        return
    if nodes is None or degrees is None:
        context = click.get_current_context()
        missing = "nodes" if nodes is None else "degrees"
        option = next(one for one in context.command.params if one.name == missing)
        raise click.MissingParameter("A --plant has both; else give them.", context, option)
    question = {"bidirectional": bidirectional, "alpha": alpha, "sizes": sizes, "bandwidth": bandwidth}
    shown: list[Any]
    if options["grow_from"] is not None and isinstance(nodes, int) and isinstance(degrees, int):
        shown = [_growth(nodes, degrees, question, options)]
    elif isinstance(nodes, range) or isinstance(degrees, range):
        shown = [_survey(nodes, degrees, question, options)]
    elif options["workload"] is not None or options["collective"] != "allreduce":
        shown = [_ranking(nodes, degrees, question, options)]
    else:
        answer = _frontier(nodes, degrees, question, options)
        beside = _beside(answer, options["against"]) if options["against"] else None
        if form() != "text":
            document = answer.record() | ({} if beside is None else {"against": beside.record()})
            print_json(document, answer.to_records)
            return
        shown = [one for one in (answer, answer.runners_up, beside) if one is not None]
    for place, one in enumerate(shown):
        if place:
            click.echo()
        show(one)


def _boxed(
    nodes: Any, degree: Any, sizes: tuple[str, ...], bidirectional: bool, options: dict[str, Any]
) -> BoxFrontier:
    """Return wirings of boxes; options that say something of nodes that are none are refused."""
    known = {"box", "split", "seed", "candidates", "workload"}
    given = given_options(click.get_current_context()) & ({"alpha", "bandwidth", "collective"} | set(options)) - known
    if given:
        raise click.UsageError(f"--box has latencies and bandwidths of its own; leave {flagged(sorted(given))} out.")
    if not isinstance(nodes, int) or isinstance(degree, range):
        raise click.UsageError("--box takes one number of boxes (-n 16), and one of cables a box (-d 8) or none.")
    own = [] if options["candidates"] is None else read_candidates(options["candidates"])
    said = "sizes" in given_options(click.get_current_context())
    if options["workload"] is not None and said:
        raise click.UsageError("--workload has sizes of its own; leave --size out.")
    with progress_bar("wiring boxes") as progress:
        return topodesign.pareto_boxes(
            options["box"],
            nodes,
            degree,
            split=options["split"] or 1,
            bidirectional=bidirectional,
            sizes=sizes if said else None,
            workload=options["workload"],
            candidates=own,
            seed=options["seed"] or 0,
            progress=progress,
        )


def _check(options: dict[str, Any], *, several: bool) -> None:
    """Raise UsageError for options that exclude each other."""
    searched = options["no_catalog"] or options["search"] is not None or options["seed"] is not None
    ranked = options["workload"] is not None or options["collective"] != "allreduce"
    if options["plant"] is not None:
        _check_plant(options, several=several)
        return
    if options["catalog"] is not None and options["no_catalog"]:
        raise click.UsageError("--catalog and --no-catalog exclude each other.")
    if several and (options["against"] or options["runners_up"] or options["candidates"] or ranked):
        raise click.UsageError(
            "A range shows the fastest allreduce of each size; leave --against, --runners-up, --candidates, "
            "--collective and --workload out."
        )
    if options["links"] is not None and options["grow_from"] is None:
        raise click.UsageError("--links writes what --grow-from finds; give both.")
    if options["links"] is not None and directory() is not None:
        raise click.UsageError("-o and --links both name the directory for links; give -o alone.")
    if options["grow_from"] is not None and (
        several or ranked or searched or options["against"] or options["runners_up"] or options["candidates"]
    ):
        raise click.UsageError(
            "--grow-from is for one N and one d, and ranks by moves and allreduce; leave ranges, --collective, "
            "--workload, --search, --no-catalog, --seed, --against, --runners-up and --candidates out."
        )
    if options["per_port"] and not several:
        raise click.UsageError("--per-port compares numbers of ports; give a range, as in -d 4..8.")
    if ranked and searched:
        raise click.UsageError("--collective and --workload rank what is known, without --search and --no-catalog.")
    if ranked and (options["against"] or options["runners_up"] or options["candidates"]):
        raise click.UsageError(
            "--against, --runners-up and --candidates are for allreduces; leave --collective and --workload out."
        )


def _growth(nodes: int, degree: int, question: dict[str, Any], options: dict[str, Any]) -> Growth:
    """Return topologies that a wiring can grow to."""
    work = {name: question[name] for name in ("alpha", "sizes", "bandwidth")}
    with progress_bar("looking for topologies near the wiring") as progress:
        found = topodesign.grow(options["grow_from"], nodes, degree, progress=progress, **work)
    target = options["links"] or directory()
    if target is not None:
        found.save(target)
    return found


def _check_plant(options: dict[str, Any], *, several: bool) -> None:
    """Raise UsageError for options that a plant does not go with."""
    names = ("against", "runners_up", "per_port", "no_catalog")
    given = [f"--{name.replace('_', '-')}" for name in names if options[name]]
    if several or given:
        raise click.UsageError(f"--plant takes one N and one d, and no {', '.join(given) or 'range'}.")


def _carry(nodes: Any, degree: Any, work: dict[str, Any], bidirectional: bool, options: dict[str, Any]) -> None:
    """Print what a plant carries, and write the plans."""
    target = directory()
    own = [] if options["candidates"] is None else read_candidates(options["candidates"])
    asked = {name: options[name] for name in ("collective", "workload", "search", "catalog")}
    with progress_bar("searching") as progress:
        found = topodesign.carry(
            options["plant"],
            nodes,
            degree,
            bidirectional=bidirectional,
            candidates=own,
            seed=options["seed"] or 0,
            progress=progress,
            **asked,
            **work,
        )
    if target is not None:
        found = found.write(target)
    show(found)
    if target is not None and form() == "text":
        click.echo(f"wrote {target}", err=True)


def _ranking(nodes: int, degree: int, question: dict[str, Any], options: dict[str, Any]) -> Ranking:
    """Return topologies ranked by another collective, or by all that is sent."""
    asked = {name: options[name] for name in ("collective", "workload", "catalog")}
    with progress_bar("pricing") as progress:
        return topodesign.rank(nodes, degree, progress=progress, **asked, **question)


def _searched(options: dict[str, Any]) -> dict[str, Any]:
    """Return where to look, and how long to search."""
    catalog = not options["no_catalog"] if options["catalog"] is None else options["catalog"]
    return {"search": options["search"], "seed": options["seed"], "catalog": catalog}


def _survey(nodes: int | range, degrees: int | range, question: dict[str, Any], options: dict[str, Any]) -> Survey:
    """Return the fastest topology of each size."""
    with progress_bar("searching", once_told=True) as progress:
        return topodesign.survey(
            nodes, degrees, per_port=options["per_port"], progress=progress, **question, **_searched(options)
        )


def _frontier(nodes: int, degree: int, question: dict[str, Any], options: dict[str, Any]) -> Pareto:
    """Return the frontier of a size; what is wrong with the catalog is said."""
    own = [] if options["candidates"] is None else read_candidates(options["candidates"])
    more = {"runners_up": options["runners_up"], "candidates": own}
    with progress_bar("searching", once_told=True) as progress:
        found = topodesign.pareto(nodes, degree, **more, progress=progress, **question, **_searched(options))
    if found.catalog_error is not None:
        click.echo(f"topodesign: {found.catalog_error}; so this was searched for", err=True)
    return found


def _beside(result: Pareto, against: tuple[str, ...]) -> Any:
    """Return the fastest topology beside others."""
    names = [name for text in against for name in (text.split(",") if "(" not in text else [text])]
    work = result.workload
    with progress_bar("comparing") as progress:
        return topodesign.compare(
            [str(result.best.spec), *names],
            nodes=result.nodes,
            degree=result.degree,
            alpha=work.alpha,
            sizes=work.sizes,
            bandwidth=work.bandwidth,
            progress=progress,
        )
