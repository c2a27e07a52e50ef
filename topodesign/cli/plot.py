"""``topodesign plot``: a command for every plot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

import topodesign
from topodesign.base.work_options import WorkOptions
from topodesign.cli.answers import Group, csv_option, form, json_option, show
from topodesign.cli.options import (
    SPEC,
    bidirectional_option,
    catalog_option,
    collective_option,
    nodes_option,
    offer,
    option,
    output_option,
    whole,
    work_options,
)
from topodesign.cli.sources import names_schedule
from topodesign.report.figures import check_picture
from topodesign.schedulers.options import TimeOptions

_Function = TypeVar("_Function", bound=Callable[..., Any])


@click.group(name="plot", cls=Group)
def command() -> None:
    """Draw frontiers, times, topologies, plans and bottlenecks.

    Every plot is written with -o FILE as .svg, .png or .pdf; --csv and --json print its numbers.

    Example: topodesign plot times -n 200 -d 6 -o times.svg
    """


def _output(function: _Function) -> _Function:
    """Add where the plot goes to a command."""
    return output_option("Picture: .svg, .png or .pdf.")(csv_option(json_option(function)))


def _give(picture: Any, output: Path | None) -> None:
    """Write or print a plot."""
    if form() != "text":
        show(picture)
    if output is not None:
        picture.save(output)
        click.echo(f"wrote {output}: {picture.heading()}", err=form() != "text")


def _check(output: Path | None) -> None:
    """Raise UsageError, before anything is computed, if it is not said where the plot goes, or cannot go there."""
    if output is not None:
        check_picture(output)
    if output is None and form() == "text":
        raise click.UsageError(
            "Say where the picture goes: -o FILE.svg (or .png, .pdf), or print it with --csv, --json."
        )


def _timed_options(function: _Function) -> _Function:
    """Add what the times of rounds depend on to a command."""
    size = offer(TimeOptions, "size", section="Work")
    return offer(WorkOptions, "alpha")(size(offer(WorkOptions, "bandwidth")(function)))


def _of_a_question(name: str, short_help: str, its_help: str) -> None:
    @command.command(name=name, help=its_help, short_help=short_help)
    @option("-n --nodes", "Number of nodes N.", type=int, required=True)
    @option("-d --degree", "Ports out of (and into) each node.", type=int, required=True)
    @offer(WorkOptions, "alpha", "bandwidth")
    @bidirectional_option
    @catalog_option
    @_output
    def draw(nodes: int, degree: int, catalog: Path | None, output: Path | None, **more: Any) -> None:
        _check(output)
        found = topodesign.pareto(nodes, degree, catalog=True if catalog is None else catalog, **more)
        _give(topodesign.plot(found, name), output)


def _of_sizes(name: str, short_help: str, its_help: str) -> None:
    @command.command(name=name, help=its_help, short_help=short_help)
    @nodes_option("Numbers of nodes, as 5..2000.", required=True)
    @option("-d --degree", "Ports out of (and into) each node.", type=whole(1), required=True)
    @work_options
    @bidirectional_option
    @catalog_option
    @_output
    def draw(nodes: range, degree: int, output: Path | None, **more: Any) -> None:
        _check(output)
        _give(topodesign.plot(topodesign.known_topologies(nodes, degree, **more), name), output)


def _of_a_place(name: str, short_help: str, its_help: str) -> None:
    @command.command(name=name, help=its_help, short_help=short_help)
    @click.argument("place", type=SPEC)
    @_output
    def draw(place: str, output: Path | None) -> None:
        _check(output)
        _give(topodesign.plot(place, name), output)


def _of_a_plan(name: str, short_help: str, its_help: str, options: Callable[[Any], Any]) -> None:
    @command.command(name=name, help=its_help, short_help=short_help)
    @click.argument("plan", type=SPEC)
    @collective_option
    @options
    @_output
    def draw(plan: str, collective: Any, output: Path | None, **more: Any) -> None:
        _check(output)
        found = topodesign.load_plan(plan) if names_schedule(plan) else topodesign.schedule(plan, collective)
        _give(topodesign.plot(found, name, **more), output)


_of_a_question(
    "frontier",
    short_help="Steps against bandwidth factor, with bounds.",
    its_help="Steps against bandwidth factor of all topologies worth wiring, with the bounds.\n\n"
    "Example: topodesign plot frontier -n 200 -d 6 -o frontier.svg",
)
_of_a_question(
    "times",
    short_help="Time over message size.",
    its_help="Time of an allreduce over message size, 1 KiB to 1 GiB, with the sizes at which another topology becomes "
    "the fastest, the lower bound, and what rings and trees take.\n\n"
    "Example: topodesign plot times -n 200 -d 6 --alpha 5us -o times.svg",
)
_of_sizes(
    "sizes",
    short_help="Time over the number of nodes.",
    its_help="Time of an allreduce over the number of nodes, from the catalog, with the lower bound, rings and "
    "trees.\n\n"
    "Example: topodesign plot sizes -n 5..2000 -d 4 -o sizes.svg",
)
_of_sizes(
    "winners",
    short_help="The fastest construction at each size.",
    its_help="Which kind of construction is the fastest at each number of nodes, from the catalog.\n\n"
    "Example: topodesign plot winners -n 5..2000 -d 4 --size 100MiB -o winners.png",
)
_of_a_place(
    "structure",
    short_help="A topology or fabric as it is built.",
    its_help="A topology or fabric, its nodes where their structure puts them. PLACE is a spec or a file.\n\n"
    "Example: topodesign plot structure 'torus(6,6)' -o torus.svg",
)
_of_a_place(
    "orbits",
    short_help="Links by what symmetry takes to what.",
    its_help="The links of each orbit in a picture of its own: symmetry takes each of them to every other one there. "
    "PLACE is the spec of a topology with symmetry.\n\n"
    "Example: topodesign plot orbits 'catalog(200,6,2)' -o orbits.svg",
)
_of_a_place(
    "boxes",
    short_help="A fabric box by box.",
    its_help="A fabric box by box: every box with its name, and what joins two of them as one line. PLACE is a preset "
    "or a file in which names such as box0/gpu3 tell boxes.\n\n"
    "Example: topodesign plot boxes 'dgx_h100(4)' -o boxes.svg",
)
_of_a_place(
    "distances",
    short_help="How far nodes are from each other.",
    its_help="How far nodes are from each other, beside the best that any topology could do.\n\n"
    "Example: topodesign plot distances 'genkautz(4,300)' -o distances.svg",
)
_of_a_plan(
    "timeline",
    short_help="When each link is busy with what.",
    its_help="When each link is busy with what. PLAN is a schedule file, or a spec that is scheduled.\n\n"
    "Example: topodesign plot timeline 'circulant(12,2,3)' --size 1MiB -o timeline.svg",
    options=_timed_options,
)
_of_a_plan(
    "use",
    short_help="How full links are at each step.",
    its_help="How full links are at each step. PLAN is a schedule file, or a spec that is scheduled.\n\n"
    "Example: topodesign plot use 'circulant(12,2,3)' -o use.svg",
    options=lambda function: function,
)


@command.command(name="cut", short_help="What keeps a fabric from being faster.")
@click.argument("fabric", type=SPEC)
@collective_option
@_output
def cut(fabric: str, collective: Any, output: Path | None) -> None:
    """Draw the bottleneck of a fabric: its two sides, and the links that bind. FABRIC is a preset, spec or file.

    Example: topodesign plot cut 'dgx_a100(2)' --collective allgather -o cut.svg
    """
    _check(output)
    _give(topodesign.plot(topodesign.optimum(fabric, collective), "cut"), output)
