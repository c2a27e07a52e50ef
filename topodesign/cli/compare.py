"""``topodesign compare``."""

from __future__ import annotations

from typing import Any

import click

import topodesign
from topodesign.cli.answers import Command, csv_option, json_option, show
from topodesign.cli.options import SPEC, message_options, named_values, option, time_limit_option, work_options
from topodesign.cli.progress import progress_bar


@click.command(name="compare", cls=Command)
@click.argument("contenders", type=SPEC, nargs=-1, required=True)
@option("-n --nodes", "Number of nodes N, for everyday names.", type=int)
@option("-d --degree", "Ports out of (and into) each node, for everyday names.", type=int)
@work_options
@message_options
@option(
    "--price prices WHAT=PRICE...",
    "Price of a cable, a port of a node, a switch or a switch-port, with commas between: adds a column.",
    callback=named_values("cable=50"),
)
@option(
    "--workload step FILE",
    "Time a training step on each, too: a model, a list of collectives or layers, as of 'topodesign step'.",
    type=click.Path(),
)
@time_limit_option("60s", "For each contender; what takes longer is left out, and said so.")
@csv_option
@json_option
def command(contenders: tuple[str, ...], **options: Any) -> None:
    """Put designs side by side, every allreduce a verified plan.

    CONTENDERS are everyday names (best, ring, tree, torus, torus2d, torus3d, hypercube, hyperx, jellyfish, slimfly,
    dragonfly, fattree: the best of the kind with -n nodes of -d ports), topologies and fabrics (specs, presets, files),
    either with a method after an at sign, or schedule files. Topologies of more than 2^17 nodes times links are priced
    from their links without making the plan ("proof" in --json). Presets and files of fabrics have the bandwidths of
    their machines, all else has --bandwidth of a node.

    Example: topodesign compare best torus jellyfish fattree 'torus(10,20)@ring' -n 200 -d 6
    """
    with progress_bar("comparing") as progress:
        found = topodesign.compare(contenders, progress=progress, **options)
    show(found)
