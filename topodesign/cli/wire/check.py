"""``topodesign wire check``."""

from __future__ import annotations

from pathlib import Path

import click

from topodesign.cli.options import json_option, print_json
from topodesign.cli.wire.options import seed_option
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.plan.files import save_wiring


@click.command(name="check")
@click.argument("plan", type=click.Path(path_type=Path))
@click.option(
    "--lldp",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="What hosts hear: a directory with 'lldpctl -f json' of each as HOST.json, one such file, or a CSV "
    "(host,port,neighbour_host,neighbour_port).",
)
@click.option(
    "--ocs",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The circuits of a switch: SONiC's OCS_CROSS_CONNECT (.json) or port lists (.scpi), or a directory of both.",
)
@seed_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the plan as it is after the repair, or with the order of the hosts with which nothing has to move.",
)
@json_option
def command(plan: Path, lldp: Path | None, ocs: Path | None, seed: int, output: Path | None, as_json: bool) -> int:
    """Hold what was wired against a plan, and say how few patches set it right.

    Exit status 1 if something is not as planned.

    Example: topodesign wire check plan.json --lldp observed_testbed.csv
    """
    if (lldp is None) == (ocs is None):
        raise click.UsageError("Give either --lldp or --ocs.")
    result = check_wiring(plan, lldp=lldp, ocs=ocs, seed=seed)
    if output is not None:
        save_wiring(result.proposal.after, output)
    if as_json:
        print_json(result.record())
    else:
        click.echo(str(result))
    return 0 if result.ok else 1
