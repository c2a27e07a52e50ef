"""``topodesign reconfigure``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.work_options import WorkOptions
from topodesign.cli.answers import Command, csv_option, json_option, tell
from topodesign.cli.options import FOLDER, PATH, flag, offer, option, output_option
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import check_ending
from topodesign.fabrics.options import GroupOptions
from topodesign.wiring.switches.kinds import FORMATS, SPELLINGS


@click.command(name="reconfigure", cls=Command)
@option("-n --nodes", "Number of nodes N.", type=int, required=True)
@option("-d --degree", "Ports of each node.", type=int, required=True)
@option(
    "--collective",
    "What is done.",
    words=["all-to-all", "allgather", "reduce-scatter", "allreduce"],
    default="all-to-all",
)
@option("--delay TIME", "How long a change of circuits takes.", default="10us")
@option("--size SIZE", "Data M.", default="1MiB")
@offer(WorkOptions, "alpha", "bandwidth")
@flag("--duplex/--simplex", "Whether a circuit connects both directions.", default=False)
@option(
    "--dark",
    "Which ports send nothing during a change: all, or those alone whose circuit is another.",
    words=["all", "moved"],
    default="all",
)
@offer(GroupOptions)
@output_option("File to write the fastest plan to (.npz).")
@option(
    "--circuits DIR",
    "Directory for the links of every phase of the fastest plan: phase_0.csv and so on, which 'topodesign wire' takes.",
    type=FOLDER,
)
@option(
    "--inventory plant FILE",
    "Hosts, lanes and circuit switches that there are: the fastest plan whose phases these carry.",
    type=PATH,
)
@option(
    "--commands DIR",
    "Directory for the commands of every phase for the switches of --inventory, and its wiring plans.",
    type=FOLDER,
)
@option("--format file_format", "Of the commands.", words=FORMATS)
@option("--spelling", "Of SONiC's commands.", words=SPELLINGS, default=SPELLINGS[0])
@json_option
@csv_option
def command(
    nodes: int,
    degree: int,
    collective: str,
    output: Path | None,
    circuits: Path | None,
    plant: Path | None,
    duplex: bool,
    **options: Any,
) -> None:
    """Schedule a collective with changing circuits, with lower bounds.

    N nodes have d ports each, joined to circuit switches. Every plan that is shown is verified block by block:
    what was found, schemes that are published, and topologies that never change. With --inventory
    those are shown that its switches support, and why faster ones are not supported.

    Example: topodesign reconfigure -n 64 -d 2 --delay 10us --size 64MiB -o plan.npz
    """
    if output is not None:
        check_ending(output, "schedule")
    commands, file_format, spelling = (options.pop(name) for name in ("commands", "file_format", "spelling"))
    if (commands is None) != (file_format is None) or (commands is not None and plant is None):
        raise click.UsageError("--commands and --format require each other and --inventory.")
    for directory in (circuits, commands):
        if directory is not None and directory.exists():
            raise click.UsageError(f"{directory} already exists; use a new directory.")
    with progress_bar("looking for circuits") as progress:
        found = topodesign.reconfigure(
            nodes, degree, collective, cabling="duplex" if duplex else "simplex", progress=progress, **options
        )
    if plant is not None:
        with progress_bar("looking for circuits on the plant") as progress:
            found = topodesign.carry_phases(found, plant, progress=progress)
        if commands is not None:
            found.write_commands(commands, file_format, spelling=spelling)
    if output is not None:
        topodesign.save_plan(output, found.plan)
    if circuits is not None:
        found.write_circuits(circuits)
    tell(found)
