"""``topodesign compare`` and ``training``: designs side by side."""

from __future__ import annotations

from typing import Any

import click

import topodesign
from topodesign.base.options import flag_of
from topodesign.base.work_options import OwnWorkOptions, WorkOptions
from topodesign.cli.answers import Command, csv_option, json_option, show
from topodesign.cli.options import (
    SPEC,
    MethodChoice,
    collective_option,
    message_options,
    offer,
    option,
    parse_named_values,
    root_option,
    whole,
    without_option,
    work_options,
)
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import get_given_options

_OF_DESIGNS = {"nodes", "degree", "prices", "step"}
_OF_ALGORITHMS = {"collective", "root", "without"}


@click.command(name="compare", cls=Command)
@click.argument("networks", metavar="NETWORK[@ALGORITHM]...", type=SPEC, nargs=-1, required=True)
@option("-n --nodes", "Number of nodes N, for everyday names.", type=int)
@option("-d --degree", "Ports out of (and into) each node, for everyday names.", type=int)
@option(
    "--algorithm algorithms NAME|all...",
    "Compare algorithms for a collective on one network: these, or all but the searches exact and tacos-ilp. "
    "Repeatable.",
    type=MethodChoice("all"),
)
@collective_option
@root_option
@without_option
@work_options
@message_options
@option(
    "--prices WHAT=PRICE...",
    "Price of a cable, a port of a node, a switch or a switch-port, with commas between: adds a column.",
    callback=parse_named_values("cable=50"),
)
@option(
    "--workload step FILE",
    "Time a training step on each, too: a model, a list of collectives or layers, as of 'topodesign training'.",
    type=click.Path(),
)
@option("--time-limit TIME", "Time for each row.  [default: 60s, of algorithms 10s]")
@csv_option
@json_option
def compare(networks: tuple[str, ...], **options: Any) -> None:
    """Compare designs, or algorithms on one network.

    NETWORK is an everyday name (best, ring, tree, torus, torus2d, torus3d, hypercube, hyperx, jellyfish, slimfly,
    dragonfly, fattree: the best of the kind with -n nodes of -d ports), topologies and fabrics (specs, presets, files),
    either with a method after an at sign, or schedule files. Topologies of more than 2^17 nodes times links are priced
    from their links without making the plan ("proof" in --json). Presets and files of fabrics have the bandwidths of
    their machines, all else has --bandwidth of a node.

    With --algorithm every plan is verified and timed exactly, and algorithms that do not apply are listed with the
    reason.

    Examples: topodesign compare best torus jellyfish fattree 'torus(10,20)@ring' -n 200 -d 6,
    topodesign compare 'torus(4,4)' --algorithm all --size 64KiB --size 64MiB
    """
    given = get_given_options(click.get_current_context())
    algorithms = options.pop("algorithms")
    limit = options.pop("time_limit")
    wrong = given & (_OF_DESIGNS if algorithms else _OF_ALGORITHMS)
    if wrong:
        names = ", ".join("--workload" if name == "step" else flag_of(name) for name in sorted(wrong))
        raise click.UsageError(f"{names} {'cannot be combined with' if algorithms else 'requires'} --algorithm.")
    if algorithms:
        if len(networks) != 1:
            raise click.UsageError(f"--algorithm requires one NETWORK, not {len(networks)}.")
        asked = {name: options[name] for name in ("sizes", "gap", "hop", "root", "without")}
        asked |= {name: options[name] for name in ("alpha", "bandwidth") if name in given}
        with progress_bar("comparing") as progress:
            show(
                topodesign.compare_methods(
                    networks[0],
                    options["collective"],
                    methods=() if "all" in algorithms else algorithms,
                    time_limit=limit or "10s",
                    progress=progress,
                    **asked,
                )
            )
        return
    for name in _OF_ALGORITHMS:
        options.pop(name)
    with progress_bar("comparing") as progress:
        found = topodesign.compare(networks, time_limit=limit or "60s", progress=progress, **options)
    show(found)


@click.command(name="training", cls=Command)
@click.argument("model", type=click.Path())
@option(
    "--on SPEC...",
    "A network: a spec (quote it), a fabric or its file, or an everyday name as of 'topodesign compare'; give it "
    "several times to compare.",
    type=SPEC,
    required=True,
)
@option("-d --degree", "Ports out of (and into) each node, for everyday names.", type=int)
@option(
    "--set changes FIELD=VALUE...",
    "Another value of a field of the model, such as tensor=8,data=25, with commas between.",
    callback=parse_named_values("tensor=8"),
)
@offer(WorkOptions, "alpha")
@offer(OwnWorkOptions, "bandwidth")
@message_options
@option(
    "--placements layouts N",
    "Maximum placements of ranks on nodes to try on each network.",
    type=whole(1, 10**4),
    default=4,
)
@csv_option
@json_option
def training(model: str, on: tuple[str, ...], **options: Any) -> None:
    """Compute the time of a training step on networks.

    MODEL is a YAML file of a model with its parallel degrees (examples: model_gpt3.yaml, model_mixtral.yaml), a list of
    collectives (workload_moe.yaml), or layers whose gradients are ready one after the other (workload_gpt2.csv). The
    model's tensor x pipeline x data are as many as the nodes. Of one network every collective is listed.

    Example: topodesign training model_gpt3.yaml --on 'torus(4,4,4)' --on fattree -d 6 --bandwidth 400Gbps
    """
    with progress_bar("pricing") as progress:
        found = topodesign.compare_steps(model, on, progress=progress, **options)
    show(found)
