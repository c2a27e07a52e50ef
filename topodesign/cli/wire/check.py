"""``topodesign wire check``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from topodesign.cli.answers import Command, json_option, tell
from topodesign.cli.options import PATH, option
from topodesign.cli.wire.options import interfaces_option, seed_option, source_options
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.plan.files import save_wiring


@click.command(name="check", cls=Command)
@click.argument("plan", type=PATH)
@source_options
@option(
    "--light FILE",
    "The power that arrives, which says which of two fibres is dark: a CSV (host,port,rx_dbm), or what 'ethtool -m' "
    "prints as HOST.INTERFACE.ethtool, or HOST.ethtool with the interface before each, or 'mlxlink -m' as "
    "HOST.INTERFACE.mlxlink; a file or a directory.",
)
@interfaces_option
@seed_option
@option(
    "-o --output FILE",
    "Write the plan as it is after the repair, or with the order of the hosts with which nothing has to move.",
)
@json_option
def command(
    plan: Path, light: Path | None, interfaces: Path | None, seed: int, output: Path | None, **sources: Any
) -> int:
    """Hold what was wired against a plan, and say how few patches set it right.

    Exit status 1 if something is not as planned.

    Example: topodesign wire check plan.json --lldp observed_testbed.csv
    """
    if sum(path is not None for path in sources.values()) != 1:
        raise click.UsageError("Give one of --lldp, --ocs, --dumps, --netbox and --links.")
    result = check_wiring(plan, light=light, interfaces=interfaces, seed=seed, **sources)
    if output is not None:
        save_wiring(result.proposal.after, output)
    tell(result)
    return 0 if result.ok else 1
