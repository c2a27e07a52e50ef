"""``topodesign repair``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.file_kinds import FileKind, kind_of
from topodesign.cli.answers import Command, json_option, print_answer, tell
from topodesign.cli.options import PATH, flag, option, output_option, seed_option
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import check_ending, get_given_options


@click.command(name="repair", cls=Command)
@click.argument("plan", type=PATH)
@option(
    "--fail --degrade without PART...",
    "Failed link A-B (A>B for one direction), node, switch, host, port or cable; A-B=0.5 for a link with that share "
    "left. Repeatable.",
)
@output_option("Plan file to write (.npz); required for a plan.")
@flag("--throughput/--no-throughput", "For a wiring plan: compute connectivity and throughput.", default=None)
@seed_option("Random seed of the search for patches.")
@json_option
def command(plan: Path, without: tuple[str, ...], output: Path | None, **options: Any) -> None:
    """Repair a plan or a wiring after a failure.

    PLAN is a plan of 'topodesign schedule'. Trees and paths that survive stay, and broken ones are connected again over
    the least loaded routes; plans of rounds and timed sends are made from scratch. It can be a directory of 'topodesign
    failures -o DIR', where the failure is looked up. The new plan is verified before it is written. For a wiring plan,
    --fail is a host, a port (HOST:PORT or PANEL:PORT) or a cable, and the patches to move are printed.

    Examples: topodesign repair boxes.npz --fail box0/gpu0-rail0 -o left.npz,
    topodesign repair plan.json --fail host03
    """
    given = get_given_options(click.get_current_context())
    if kind_of(plan) is FileKind.WIRING:
        _of_wiring(plan, without, output, options)
        return
    wrong = sorted(given & set(options))
    if wrong:
        raise click.UsageError(f"--{wrong[0]} applies to wiring plans only; remove it.")
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    check_ending(output, "schedule")
    with progress_bar("repairing"):
        found = topodesign.repair(plan, without)
        found.save(output)
    print_answer(f"{found}\nwritten to {output}", {**found.record(), "file": str(output)}, found.to_records)


def _of_wiring(plan: Path, failed: tuple[str, ...], output: Path | None, options: dict[str, Any]) -> None:
    """Print the cost of a wiring failure and the patches to move."""
    from topodesign.wiring.failures.report import failure_named  # noqa: PLC0415  not for help
    from topodesign.wiring.plan.files import load_wiring  # noqa: PLC0415

    if len(failed) != 1:
        raise click.UsageError("a wiring plan requires one --fail PART: a host, HOST:PORT, PANEL:PORT or a cable.")
    if output is not None:
        raise click.UsageError("-o cannot be combined with a wiring plan, whose patches are printed.")
    wiring = load_wiring(plan)
    with progress_bar("pricing failures"):
        tell(topodesign.failure_impact(wiring, failure_named(wiring, failed[0]), **options))
