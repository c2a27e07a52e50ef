"""``topodesign doctor``."""

from __future__ import annotations

from pathlib import Path

import click

import topodesign
from topodesign.cli.answers import Command, json_option, tell
from topodesign.cli.options import PATH, option
from topodesign.cli.progress import progress_bar


@click.command(name="doctor", cls=Command)
@click.argument("log", type=PATH)
@option(
    "--program",
    "The program that should have run, MSCCL XML or an MSCCL++ plan: each kind of calls is held against it.",
    type=PATH,
)
@json_option
def command(log: Path, program: Path | None) -> int:
    """Read the log of a run: was a program loaded, which calls did it run, and if none, why not.

    LOG is what NCCL, RCCL, msccl or MSCCL++ wrote, with lines of others in between. Run with NCCL_DEBUG=INFO and
    NCCL_DEBUG_SUBSYS=INIT,ENV,COLL,TUNING, or with MSCCLPP_LOG_LEVEL=INFO for MSCCL++. Exit status 1 unless the program
    ran all calls that it is for.

    Example: topodesign doctor run.log --program ar.xml
    """
    with progress_bar("reading"):
        found = topodesign.doctor(log, program)
    tell(found)
    return 0 if found.ok else 1
