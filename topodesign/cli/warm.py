"""``topodesign warm``."""

from __future__ import annotations

import click

import topodesign
from topodesign.cli.answers import Command, json_option, tell
from topodesign.cli.options import jobs_option
from topodesign.cli.progress import progress_bar


@click.command(name="warm", cls=Command)
@jobs_option
@json_option
def command(jobs: int | None) -> None:
    """Compile once, after installing, what the main commands run as machine code.

    Without it each command compiles what it needs on its first use, which takes up to a quarter of a minute. What is
    compiled already, or came with the package, is left alone; another version of the program or of Numba, or another
    processor, needs it again.

    Example: topodesign warm
    """
    with progress_bar("compiling") as progress:
        warmed = topodesign.warm(workers=jobs, progress=progress)
    tell(warmed, warmed.heading())
