"""``topodesign wire bill``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from topodesign.base.atomic import check_not_input, write_whole
from topodesign.cli.answers import Command, json_option, tell
from topodesign.cli.options import PATH, option
from topodesign.cli.wire.options import table_option
from topodesign.wiring.parts.buy import bill_wiring
from topodesign.wiring.parts.ways import SINGLES, WAYS


@click.command(name="bill", cls=Command)
@click.argument("plan", type=PATH)
@option(
    "--parts FILE",
    "What can be bought, with lengths and prices: a YAML file such as the example parts_neutral.yaml.  [default: "
    "that which the inventory names]",
)
@option(
    "--way ways",
    "How fixed cables may go; may be repeated.  [default: all, the cheapest for every rack]",
    words=WAYS,
    multiple=True,
)
@option("--spares SHARE", "More of every line, rounded up.", default="0%")
@option(
    "--one-fibre",
    "Send both ways of a lane on one fibre: by circulators in the racks of hosts, or because optics do.",
    words=SINGLES,
)
@option("--since PLAN", "Buy only what is needed in addition to this plan, such as the one before a change.")
@table_option
@option("--runs FILE", "Write what every lane goes through, piece by piece and fibre by fibre (.csv).")
@json_option
def command(plan: Path, parts: Path | None, runs: Path | None, **options: Any) -> int:
    """Choose cables and print the bill of materials.

    Fixed cables go by breakouts or by trunks between cassettes; no leg is longer than it is sold, and what is sent
    comes out where it is received. Exit status 1 if a link loses more than its optics stand, as
    far as that is known, or if trays are too full.

    Example: topodesign wire bill plan.json --parts parts_neutral.yaml --spares 3%
    """
    options["ways"] = options["ways"] or WAYS
    options["tables"] = dict(options["tables"])
    if runs is not None:
        check_not_input(runs, plan)
        if parts is not None:
            check_not_input(runs, parts)
    found = bill_wiring(plan, parts, **options)
    if runs is not None:
        write_whole(runs, found.runs_text())
    tell(found)
    if runs is not None:
        click.echo(f"wrote {runs}", err=True)
    return 0 if found.ok else 1
