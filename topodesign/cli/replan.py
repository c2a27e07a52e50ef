"""``topodesign replan``."""

from __future__ import annotations

from pathlib import Path

import click

import topodesign
from topodesign.cli.answers import Command, json_option, print_answer
from topodesign.cli.options import PATH, output_option, without_option
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import check_ending


@click.command(name="replan", cls=Command)
@click.argument("plan", type=PATH)
@without_option
@output_option("File to write (.npz).", required=True)
@json_option
def command(plan: Path, without: tuple[str, ...], output: Path) -> None:
    """Make a plan for what a failure leaves, from the plan before.

    PLAN is a file of 'topodesign schedule' with trees or paths: those that survive stay, and torn ones are joined
    again over the emptiest ways, in a second at most for 512 GPUs where a new plan may take minutes. Or it is a
    directory of 'topodesign optimum --failures --plans DIR', and the one failure is looked up there. Either is
    verified before it is written.

    Example: topodesign replan boxes.npz --without box0/gpu0-rail0 -o left.npz
    """
    check_ending(output, "schedule")
    with progress_bar("repairing"):
        found = topodesign.replan(plan, without)
        found.save(output)
    print_answer(f"{found}\nwritten to {output}", {**found.record(), "file": str(output)}, found.to_records)
