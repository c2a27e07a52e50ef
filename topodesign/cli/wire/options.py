"""Options that commands about wirings share."""

from __future__ import annotations

import click

from topodesign.wiring.change.strength import MOST_NODES

throughput_option = click.option(
    "--throughput/--no-throughput",
    default=None,
    help=f"Tell connectivity and the best throughput of any schedule.  [default: up to {MOST_NODES} nodes]",
)
seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of the search."
)
