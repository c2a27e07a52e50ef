"""``topodesign compile-set``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.base.doors import BACKENDS
from topodesign.cli.answers import Command, json_option, print_answer
from topodesign.cli.options import COLLECTIVES, SPEC, flag, offer, option, output_option
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import check_new, wired_place
from topodesign.compiler.options import SetOptions

if TYPE_CHECKING:
    from topodesign.collectives import Collective


@click.command(name="compile-set", cls=Command)
@click.argument("place", type=SPEC)
@option(
    "--collective collectives NAME...",
    "What to make plans of; may be repeated. Without it all collectives.",
    type=COLLECTIVES,
)
@option(
    "--target targets",
    "What gets programs, too; may be repeated.  [default: msccl]",
    words=[name for name, backend in BACKENDS.items() if not backend.directory],
    multiple=True,
)
@flag("--no-programs", "Plans alone, as for PyTorch.")
@offer(SetOptions)
@output_option("The directory to write; it is new or empty.", "DIR", required=True)
@json_option
def command(
    place: str,
    collectives: tuple[Collective, ...],
    targets: tuple[str, ...],
    no_programs: bool,
    output: Path,
    **options: Any,
) -> None:
    """Make a library of plans of one wiring: all collectives, for small and large data, with programs.

    PLACE is a spec (quote it), a file of links, a fabric, or a wiring plan of 'topodesign wire plan'. Of every
    collective several methods make plans; for which sizes each is the fastest, the model of time says, with --alpha and
    --bandwidth, which 'topodesign run' measures. All is verified, and written into one directory or not at all. Its
    index says which plan is for what, and for which wiring: PyTorch reads it, and for MSCCL and MSCCL++ there is a
    directory each with programs alone, for the same sizes.

    After a failure make the set again with --without, for what is left.

    Example: topodesign compile-set 'torus(4,4)' -o plans
    """
    if no_programs and targets:
        raise click.UsageError("--no-programs leaves out what --target asks for; give one of them")
    check_new(output)
    wired = wired_place(place)
    asked: dict[str, Any] = {"collectives": collectives} if collectives else {}
    with progress_bar("making plans") as progress:
        made = topodesign.compile_set(
            wired, targets=() if no_programs else targets or ("msccl",), progress=progress, **asked, **options
        )
    made.save(output)
    text = "\n".join([str(made), *made.notes, f"written to {output}"])
    print_answer(text, {**made.record(), "directory": str(output)}, made.to_records)
