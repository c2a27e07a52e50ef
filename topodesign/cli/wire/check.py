"""``topodesign wire check``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from topodesign.base.options import flag_of
from topodesign.cli.answers import Command, json_option, tell
from topodesign.cli.options import PATH, offer, option
from topodesign.cli.wire.options import seed_option
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.check.options import SOURCES, Observations
from topodesign.wiring.plan.files import save_wiring


@click.command(name="check", cls=Command)
@click.argument("plan", type=PATH)
@offer(Observations)
@seed_option
@option(
    "-o --output FILE",
    "Write the plan as it is after the repair, or with the order of the hosts with which nothing has to move.",
)
@json_option
def command(plan: Path, seed: int, output: Path | None, **options: Any) -> int:
    """Compare the observed wiring with a plan and list the minimum repairs.

    Exit status 1 if something differs from the plan.

    Example: topodesign wire check plan.json --lldp observed_testbed.csv
    """
    if sum(options[name] is not None for name in SOURCES) != 1:
        raise click.UsageError(f"Use one of {', '.join(map(flag_of, SOURCES))}.")
    result = check_wiring(plan, seed=seed, **options)
    if output is not None:
        save_wiring(result.proposal.after, output)
    tell(result)
    return 0 if result.ok else 1
