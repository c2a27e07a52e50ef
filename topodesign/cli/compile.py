"""``topodesign compile``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import click
from click.core import ParameterSource

from topodesign.base.errors import ParameterError
from topodesign.cli.options import (
    collective_option,
    json_option,
    method_options,
    print_json,
    progress_bar,
    tree_options,
)
from topodesign.cli.sources import check_ending, names_schedule
from topodesign.cli.trees.plan import AnyMethod, Wanted, goes_over_trees
from topodesign.cli.trees.plan import plan as plan_trees
from topodesign.collectives import Collective
from topodesign.compiler.backends import BACKENDS
from topodesign.compiler.compilation import Compiled, compile_plan
from topodesign.compiler.fitting import Settings, compile_fitting
from topodesign.compiler.ir import PROTOCOLS, Protocol
from topodesign.expand.library import as_topology
from topodesign.plans.plan import Plan
from topodesign.plans.trees import Trees
from topodesign.schedulers import Method, make_schedule
from topodesign.verification.plans import load_right

_FOR_TREES = "--parts is for trees; leave it out"
_RUNTIMES = list(dict.fromkeys(name for backend in BACKENDS.values() for name in backend.runtimes))


@click.command(name="compile")
@click.argument("source")
@collective_option
@method_options
@tree_options
@click.option(
    "--target", type=click.Choice(list(BACKENDS)), default="msccl", show_default=True, help="What reads the program."
)
@click.option(
    "--runtime",
    type=click.Choice(_RUNTIMES),
    help="Whose limits the program has to keep; without it those of the first runtime of the target, msccl for msccl.",
)
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
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
    target: str,
    runtime: str | None,
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
    check_ending(output, "program")
    settings: Settings = {
        "runtime": runtime,
        "protocol": protocol,
        "inplace": inplace,
        "channels": channels,
        "parts": parts,
        "min_size": min_size or 0,
        "max_size": max_size,
    }
    wanted = Wanted(source, collective, **of_trees)
    if names_schedule(source):
        _refuse_choices(context, source, ("collective", "method", "chunks", *of_trees))
        plan = _right_plan(Path(source))
        if parts > 1 and not isinstance(plan.movement, Trees):
            raise ParameterError(_FOR_TREES)
        with progress_bar("compiling"):
            made = compile_plan(plan, target, **settings)
    elif goes_over_trees(wanted, method):
        if chunks is not None:
            raise ParameterError("--chunks is for schedules of steps; use --fixed-k and --parts for trees")
        with progress_bar("scheduling and compiling"):
            made = _compile_trees(wanted, target, settings)
    else:
        if parts > 1:
            raise ParameterError(_FOR_TREES)
        plan = _plan_rounds(source, collective, cast("Method", method), chunks)
        with progress_bar("compiling"):
            made = compile_plan(plan, target, **settings)
    with progress_bar("checking"):
        made = made.checked()
    made.save(output)
    _print(made, output, as_json)


def _refuse_choices(context: click.Context, source: str, names: tuple[str, ...]) -> None:
    """Refuse options that a schedule has decided."""
    given = [name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given:
        words = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ParameterError(f"{source} is a schedule already, which decides {words}; leave that out")


def _right_plan(path: Path) -> Plan:
    """Read a schedule file that the verifier accepts."""
    with progress_bar("verifying"):
        return load_right(path)


def _plan_rounds(source: str, collective: Collective, method: Method, chunks: int | None) -> Plan:
    """Make a schedule of steps."""
    topology = as_topology(source)
    with progress_bar("scheduling") as progress:
        made = make_schedule(topology, collective, method=method, chunks=chunks, progress=progress)
    return Plan(topology, made.schedule)


def _compile_trees(wanted: Wanted, target: str, settings: Settings) -> Compiled:
    """Make as good trees as fit and compile them; if it is said how many, those."""

    def make_plan(k: int | None) -> Plan:
        made = plan_trees(wanted if k is None else replace(wanted, fixed_k=k))
        return Plan(made.fabric, made.schedule, notes=() if made.kind is None else (made.kind,))

    if wanted.fixed_k is not None:
        return compile_plan(make_plan(None), target, **settings)
    return compile_fitting(make_plan, target, **settings)


def _print(made: Compiled, output: Path, as_json: bool) -> None:
    """Print what was found out about the program, and where it is."""
    notes = made.notes or made.plan.notes
    if not as_json:
        found = made.heading() if made.report is None else str(made.report)
        click.echo("\n".join([found, *notes, f"written to {output}"]))
        return
    about: dict[str, Any] = {"program": made.heading()} if made.report is None else made.report.record()
    if isinstance(made.plan.movement, Trees):
        about["fewer_trees"] = made.notes[0] if made.notes else None
        about["allreduce"] = made.plan.notes[0] if made.plan.notes and not made.notes else None
    print_json({**about, "file": str(output)})
