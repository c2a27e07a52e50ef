"""``topodesign run``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

import topodesign
from topodesign.base.errors import InfeasibleError, ParameterError, TopodesignError
from topodesign.base.work_options import WorkOptions
from topodesign.cli.answers import Command, json_option, print_answer
from topodesign.cli.options import SPEC, offer, option, schedule_options, whole
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import get_given_options, names_schedule, refuse_choices

if TYPE_CHECKING:
    from fractions import Fraction

    from topodesign.collectives import Collective
    from topodesign.execution.result import Transport
    from topodesign.plans.plan import Plan

_MAX_SIZES = 64


def _sweep(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[Fraction, Fraction] | None:
    """Read sizes such as ``1KiB..64MiB``."""
    if value is None:
        return None
    from topodesign.base.units import parse_size  # noqa: PLC0415  not for help

    first, dots, last = value.partition("..")
    if not dots:
        raise click.BadParameter(f"{value!r:.60} is not a range of sizes; expected 1KiB..64MiB.")
    ends = parse_size(first), parse_size(last)
    if ends[0] > ends[1]:
        raise click.BadParameter(f"{value!r:.60} must increase.")
    return ends


@click.command(name="run", cls=Command)
@click.argument("source", type=SPEC)
@schedule_options
@offer(WorkOptions, "sizes")
@option(
    "--sweep A..B",
    "Sizes from A to B, each --factor times the one before; latency and bandwidth are fitted to their times.",
    callback=_sweep,
)
@option("--factor", "Of --sweep.", type=whole(2, 1024), default=4)
@option("--iterations", "How often each size is timed.", type=whole(1, 10**6), default=20)
@option("--warmup", "How often it is run before that.", type=whole(0, 10**6), default=5)
@option("--dtype", "Type of the elements.", words=["float32", "float64", "int32", "int64"], default="float32")
@option(
    "--parts", "Of trees and paths: parts of the data of each that follow one another.", type=whole(1, 10**6), default=1
)
@option(
    "--transport",
    "What carries messages; auto takes what has started this, mpirun or torchrun, and threads elsewhere.",
    words=["auto", "threads", "mpi", "torch"],
    default="auto",
)
@option(
    "--between COMMAND",
    "Of plans whose circuits change: run by rank 0 with the number of the phase that comes, from 0, as its last "
    "argument, while all others wait; it may take a minute.",
)
@option(
    "--verify/--no-verify verified", "Refuse a plan that is wrong, or run it to see what comes of it.", default=True
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    source: str,
    collective: Collective,
    sizes: tuple[str, ...],
    sweep: tuple[Fraction, Fraction] | None,
    factor: int,
    transport: str,
    **options: Any,
) -> int:
    """Run a plan with real data and check every result.

    Ranks are threads, or processes under mpirun.

    SOURCE is a schedule file (.npz), which decides on the collective and how it is done, or a spec (quote it), a file
    of links or a fabric, which is scheduled first. A rank is a node. By itself this starts a thread for each; started
    by mpirun -n N it is one of N processes, and MPI's own collective is timed beside it; pip install 'topodesign[mpi]'.
    Under torchrun the same with PyTorch and gloo, or NCCL, by batches of sends to neighbours; 'topodesign[torch]'.

    Rates are those that nccl-tests prints. Exit status 1 if the plan or a result is wrong.

    Under MPI: mpirun -n 12 topodesign run ring.npz --sweep 1KiB..64MiB

    Under PyTorch: torchrun --nproc-per-node 12 -m topodesign run ring.npz

    Example: topodesign run ring.npz --size 64MiB
    """
    from topodesign.execution.processes import ElsewhereError, detect_launcher, speaks  # noqa: PLC0415  NumPy

    given = get_given_options(context)
    run = {name: options.pop(name) for name in ("iterations", "warmup", "dtype", "parts", "verified", "between")}
    if sweep is not None and "sizes" in given:
        raise ParameterError("--size cannot be combined with --sweep, which sets the sizes; remove one")
    if sweep is None and "factor" in given:
        raise ParameterError("--factor requires --sweep; add --sweep or remove --factor")
    how = cast("Transport", (detect_launcher() or "threads") if transport == "auto" else transport)

    def plan() -> Plan:
        if not names_schedule(source):
            return topodesign.schedule(source, collective, **options)
        refuse_choices(context, source, ("collective", *sorted(options)))
        return topodesign.load_plan(source)

    try:
        with progress_bar("running") as progress:
            result = topodesign.run_plan(
                plan, size=sizes if sweep is None else _swept(*sweep, factor), transport=how, progress=progress, **run
            )
    except ElsewhereError as error:
        context.exit(1 if error.infeasible else 2)
    except TopodesignError as error:
        if how != "threads" and not speaks():  # rank 0 says the same
            context.exit(1 if isinstance(error, InfeasibleError) else 2)
        raise
    if result.rank:
        context.exit(0 if result.right else 1)
    document = result.record()
    print_answer(str(result), document, lambda: document["runs"])
    return 0 if result.right else 1


def _swept(first: Fraction, last: Fraction, factor: int) -> list[Fraction]:
    sizes = [first]
    while sizes[-1] * factor <= last:
        sizes.append(sizes[-1] * factor)
        if len(sizes) > _MAX_SIZES:
            raise ParameterError(f"a sweep has {_MAX_SIZES} sizes at most; take a larger --factor")
    return sizes
