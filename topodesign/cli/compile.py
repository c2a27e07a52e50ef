"""``topodesign compile``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from click.core import ParameterSource

from topodesign.base.errors import ParameterError
from topodesign.cli.options import (
    collective_option,
    json_option,
    method_options,
    print_json,
    progress_bar,
    runtime_option,
    tree_options,
)

if TYPE_CHECKING:
    from topodesign.cli.trees.plan import AnyMethod, Wanted
    from topodesign.collectives import Collective
    from topodesign.compiler.ir import Protocol
    from topodesign.plans.rounds import Rounds
    from topodesign.schedulers import Method
    from topodesign.topology.topology import Topology


@click.command(name="compile")
@click.argument("source")
@collective_option
@method_options
@tree_options
@runtime_option
@click.option(
    "--protocol",
    type=click.Choice(["Simple", "LL", "LL128"]),
    default="Simple",
    show_default=True,
    help="Wire protocol: Simple for large messages, LL and LL128 for small ones.",
)
@click.option("--inplace/--out-of-place", default=False, show_default=True, help="Which calls the program is for.")
@click.option(
    "--channels",
    type=click.IntRange(1, 32),
    default=1,
    show_default=True,
    help="Split every chunk over so many channels; of trees, share them out among so many.",
)
@click.option(
    "--parts",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Of trees: parts of the data of a tree that follow one another.",
)
@click.option("--min-size", default=None, metavar="SIZE", help="Smallest call that the runtime uses the program for.")
@click.option("--max-size", default=None, metavar="SIZE", help="Largest call that the runtime uses the program for.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="File to write (.xml)."
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    source: str,
    collective: Collective,
    method: AnyMethod,
    chunks: int | None,
    runtime: str,
    protocol: Protocol,
    inplace: bool,
    channels: int,
    parts: int,
    min_size: str | None,
    max_size: str | None,
    output: Path,
    as_json: bool,
    **of_trees: Any,
) -> None:
    """Compile a schedule to an MSCCL program.

    SOURCE is a spec (quote it), a file of links, a fabric (a file or a spec such as 'dgx_a100(2)'), or a schedule file
    (.npz), which decides on the collective and how it is done itself. The program is checked as `topodesign verify`
    does before it is written. Where the best trees of a fabric are too many for the runtime, fewer are taken, and it
    is said. --root, --fixed-k, --shards, --only, --without and --parts are for trees.

    Example: topodesign compile 'circulant(12,2,3)' --collective allreduce --inplace -o allreduce.xml
    """
    from topodesign.base.atomic import write_whole  # noqa: PLC0415
    from topodesign.cli.sources import check_ending, names_schedule  # noqa: PLC0415  heavy
    from topodesign.cli.trees.plan import Wanted, goes_over_trees  # noqa: PLC0415
    from topodesign.plans.trees_file import is_tree_file  # noqa: PLC0415
    from topodesign.runtime.check import check_program  # noqa: PLC0415
    from topodesign.runtime.parse import parse_xml  # noqa: PLC0415
    from topodesign.runtime.profiles import get_profile  # noqa: PLC0415

    check_ending(output, "program")
    options: dict[str, Any] = {
        "runtime": runtime,
        "protocol": protocol,
        "inplace": inplace,
        "channels": channels,
        "min_size": 0 if min_size is None else min_size,
        "max_size": max_size,
    }
    made = names_schedule(source)
    wanted = Wanted(source, collective, **of_trees)
    if made:
        names = ("collective", "method", "chunks", *of_trees)
        given = [name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
        if given:
            words = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise ParameterError(f"{source} is a schedule already, which decides {words}; leave that out")
        trees = is_tree_file(Path(source))
    else:
        trees = goes_over_trees(wanted, method)
    notes: dict[str, str | None] = {}
    if trees:
        if chunks is not None:
            raise ParameterError("--chunks is for schedules of steps; use --fixed-k and --parts for trees")
        text, notes = _trees(source, None if made else wanted, {**options, "parts": parts})
    elif parts > 1:
        raise ParameterError("--parts is for trees; leave it out")
    else:
        steps = None if made else (collective, cast("Method", method), chunks)
        text = _steps(source, steps, options)
    profile = get_profile(runtime)
    with progress_bar("checking"):
        check = check_program(parse_xml(text, profile), profile, interleavings=3)
    if not check.ok:
        raise click.ClickException(f"the compiled program fails its check, and nothing was written:\n{check}")
    write_whole(output, text)
    if as_json:
        print_json({**check.record(), **notes, "file": str(output)})
        return
    click.echo("\n".join([str(check), *filter(None, notes.values()), f"written to {output}"]))


def _steps(source: str, wanted: tuple[Collective, Method, int | None] | None, options: dict[str, Any]) -> str:
    """Compile a schedule of steps, read from a file if it is not said which is wanted."""
    from topodesign.compiler.compilation import compile_plan  # noqa: PLC0415
    from topodesign.expand.library import as_topology  # noqa: PLC0415  heavy
    from topodesign.plans.plan import Plan  # noqa: PLC0415
    from topodesign.schedulers import make_schedule  # noqa: PLC0415

    if wanted is None:
        with progress_bar("verifying"):
            graph, schedule = _read(Path(source))
    else:
        collective, method, chunks = wanted
        graph = as_topology(source)
        with progress_bar("scheduling") as progress:
            schedule = make_schedule(graph, collective, method=method, chunks=chunks, progress=progress).schedule
    with progress_bar("compiling"):
        return compile_plan(Plan(graph, schedule), **options).text


def _trees(source: str, wanted: Wanted | None, options: dict[str, Any]) -> tuple[str, dict[str, str | None]]:
    """Compile a schedule of trees likewise; also return what there is to say about it."""
    from topodesign.cli.trees.files import right_trees  # noqa: PLC0415  heavy
    from topodesign.cli.trees.plan import plan  # noqa: PLC0415
    from topodesign.compiler.compilation import compile_plan  # noqa: PLC0415
    from topodesign.compiler.fitting import compile_fitting  # noqa: PLC0415
    from topodesign.plans.plan import Plan  # noqa: PLC0415

    if wanted is None:
        fabric, schedule = right_trees(Path(source))
        with progress_bar("compiling"):
            return compile_plan(Plan(fabric, schedule), **options).text, {"fewer_trees": None}

    def make_plan(k: int | None) -> Plan:
        made = plan(wanted if k is None else replace(wanted, fixed_k=k))
        return Plan(made.fabric, made.schedule, notes=() if made.kind is None else (made.kind,))

    with progress_bar("scheduling and compiling"):
        if wanted.fixed_k is not None:
            made = compile_plan(make_plan(None), **options)
        else:
            made = compile_fitting(make_plan, **options)
    fewer = made.notes[0] if made.notes else None
    kind = made.plan.notes[0] if made.plan.notes and fewer is None else None
    return made.text, {"fewer_trees": fewer, "allreduce": kind}


def _read(path: Path) -> tuple[Topology, Rounds]:
    """Read a schedule file that the verifier accepts; what the schedule does not need is left out."""
    from topodesign.cli.sources import schedule_of  # noqa: PLC0415  heavy
    from topodesign.plans.rounds_ops import prune  # noqa: PLC0415
    from topodesign.verification.rounds import verify  # noqa: PLC0415

    topology, schedule, _, report = schedule_of(path)
    if report.ok and (report.redundant or report.refilled):  # right, but the compiler wants everything to move once
        schedule = prune(schedule)
        report = verify(topology, schedule)
    if not report.ok:
        raise ParameterError(f"{path} is no right schedule:\n{report}")
    return topology, schedule
