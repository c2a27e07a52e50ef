"""``topodesign compile``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from topodesign.cli.options import (
    collective_option,
    json_option,
    method_options,
    print_json,
    progress_bar,
    runtime_option,
)
from topodesign.errors import ParameterError

if TYPE_CHECKING:
    from topodesign.compile.ir import Protocol
    from topodesign.schedule import Collective, Schedule
    from topodesign.schedulers import Method
    from topodesign.topology import Topology

_LARGEST_CALL = 2**63 - 1


@click.command(name="compile")
@click.argument("source")
@collective_option
@method_options
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
    help="Split every chunk over so many channels.",
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
    source: str,
    collective: Collective,
    method: Method,
    chunks: int | None,
    runtime: str,
    protocol: Protocol,
    inplace: bool,
    channels: int,
    min_size: str | None,
    max_size: str | None,
    output: Path,
    as_json: bool,
) -> None:
    """Compile a schedule to an MSCCL program.

    SOURCE is a spec (quote it), a file of links, or a schedule file (.npz), which decides on the collective, method and
    chunks itself. The program is checked as `topodesign verify` does before it is written.

    Example: topodesign compile 'circulant(12,2,3)' --collective allreduce --inplace -o allreduce.xml
    """
    from topodesign.cli.files import write_whole  # noqa: PLC0415
    from topodesign.cli.sources import check_ending, names_schedule, topology_of  # noqa: PLC0415  heavy
    from topodesign.compile.msccl import compile_schedule  # noqa: PLC0415
    from topodesign.runtime.check import check_program  # noqa: PLC0415
    from topodesign.runtime.parse import parse_xml  # noqa: PLC0415
    from topodesign.runtime.profiles import get_profile  # noqa: PLC0415
    from topodesign.schedulers import make_schedule  # noqa: PLC0415
    from topodesign.units import parse_size  # noqa: PLC0415

    check_ending(output, "program")
    if names_schedule(source):
        names = ("collective", "method", "chunks")
        given = [f"--{name}" for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
        if given:
            raise ParameterError(f"{source} is a schedule already, which decides {', '.join(given)}; leave that out")
        with progress_bar("verifying"):
            graph, schedule = _read(Path(source))
    else:
        graph = topology_of(source)
        with progress_bar("scheduling") as progress:
            schedule = make_schedule(graph, collective, method=method, chunks=chunks, progress=progress).schedule
    with progress_bar("compiling"):
        text = compile_schedule(
            graph,
            schedule,
            runtime=runtime,
            protocol=protocol,
            inplace=inplace,
            channels=channels,
            min_bytes=0 if min_size is None else int(parse_size(min_size)),
            max_bytes=_LARGEST_CALL if max_size is None else int(parse_size(max_size)),
        )
        profile = get_profile(runtime)
        check = check_program(parse_xml(text, profile), profile, interleavings=3)
    if not check.ok:
        raise click.ClickException(f"the compiled program fails its check, and nothing was written:\n{check}")
    write_whole(output, text)
    if as_json:
        print_json({**check.record(), "file": str(output)})
        return
    click.echo(f"{check}\nwritten to {output}")


def _read(path: Path) -> tuple[Topology, Schedule]:
    """Read a schedule file that the verifier accepts; what the schedule does not need is left out."""
    from topodesign.cli.sources import schedule_of  # noqa: PLC0415  heavy
    from topodesign.columns import prune  # noqa: PLC0415
    from topodesign.verify import verify  # noqa: PLC0415

    topology, schedule, _, report = schedule_of(path)
    if report.ok and (report.redundant or report.refilled):  # right, but the compiler wants everything to move once
        schedule = prune(schedule)
        report = verify(topology, schedule)
    if not report.ok:
        raise ParameterError(f"{path} is no right schedule:\n{report}")
    return topology, schedule
