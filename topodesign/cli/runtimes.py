"""``topodesign runtimes``."""

from __future__ import annotations

import click

import topodesign
from topodesign.cli.options import csv_option, json_option, print_csv, print_json, say
from topodesign.runtime.rules import COMMITS


@click.command(name="runtimes")
@click.argument("runtime", type=click.Choice(list(COMMITS)), required=False)
@csv_option
@json_option
def command(runtime: str | None, as_csv: bool, as_json: bool) -> None:
    """List what runtimes accept and do, each limit and rule with where it was read in their sources.

    Example: topodesign runtimes msccl-executor
    """
    rules = topodesign.runtime_rules(runtime)
    if as_json:
        print_json(rules.record())
    elif as_csv:
        print_csv(rules.to_records())
    else:
        say(str(rules))
