"""``topodesign compare``."""

from __future__ import annotations

import click

import topodesign
from topodesign.cli.completion import SPEC
from topodesign.cli.options import (
    csv_option,
    json_option,
    message_options,
    print_csv,
    print_for_people,
    print_json,
    progress_bar,
    workload_options,
)


def _prices(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, str] | None:
    """Return prices by what they are of."""
    prices: dict[str, str] = {}
    for text in (part for value in values for part in value.split(",")):
        name, equals, price = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r} is not such as cable=50.")
        prices[name.strip()] = price.strip()
    return prices or None


@click.command(name="compare")
@click.argument("contenders", type=SPEC, nargs=-1, required=True)
@click.option("-n", "--nodes", type=int, help="Number of nodes N, for everyday names.")
@click.option("-d", "--degree", type=int, help="Ports out of (and into) each node, for everyday names.")
@workload_options
@message_options
@click.option(
    "--price",
    "prices",
    multiple=True,
    callback=_prices,
    metavar="WHAT=PRICE",
    help="Price of a cable, a port of a node, a switch or a switch-port, with commas between: adds a column.",
)
@click.option(
    "--time-limit",
    default="60s",
    show_default=True,
    metavar="TIME",
    help="For each contender; what takes longer is left out, and said so.",
)
@csv_option
@json_option
def command(
    contenders: tuple[str, ...],
    nodes: int | None,
    degree: int | None,
    alpha: str,
    sizes: tuple[str, ...],
    bandwidth: str,
    gap: str | None,
    hop: str | None,
    prices: dict[str, str] | None,
    time_limit: str,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Put designs side by side, every allreduce a verified plan with the same bandwidth of a node.

    CONTENDERS are everyday names (best, ring, tree, torus, torus2d, torus3d, hypercube, hyperx, jellyfish, slimfly,
    dragonfly, fattree: the best of the kind with -n nodes of -d ports), topologies and fabrics (specs, presets, files),
    either with a method after an at sign, or schedule files. Topologies of more than 2^17 nodes times links are priced
    from their links without making the plan ("proof" in --json).

    Example: topodesign compare best torus jellyfish fattree 'torus(10,20)@ring' -n 200 -d 6
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other.")
    with progress_bar("comparing") as progress:
        found = topodesign.compare(
            contenders,
            nodes=nodes,
            degree=degree,
            alpha=alpha,
            sizes=sizes,
            bandwidth=bandwidth,
            gap=gap,
            hop=hop,
            prices=prices,
            time_limit=time_limit,
            progress=progress,
        )
    if as_csv:
        print_csv(found.to_records())
    elif as_json:
        print_json(found.record())
    else:
        print_for_people(found)
