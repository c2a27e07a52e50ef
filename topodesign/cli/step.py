"""``topodesign step``."""

from __future__ import annotations

from typing import Any

import click

import topodesign
from topodesign.base.work_options import OwnWorkOptions, WorkOptions
from topodesign.cli.answers import Command, csv_option, json_option, show
from topodesign.cli.options import SPEC, message_options, named_values, offer, option, whole
from topodesign.cli.progress import progress_bar


@click.command(name="step", cls=Command)
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
    callback=named_values("tensor=8"),
)
@offer(WorkOptions, "alpha")
@offer(OwnWorkOptions, "bandwidth")
@message_options
@option(
    "--layouts", "Layouts of ranks on nodes that are priced on each network, at most.", type=whole(1, 10**4), default=4
)
@csv_option
@json_option
def command(model: str, on: tuple[str, ...], **options: Any) -> None:
    """Time a training step of a model on networks, and say what it waits for.

    MODEL is a YAML file of a model with its parallel degrees (examples: model_gpt3.yaml, model_mixtral.yaml), a list of
    collectives (workload_moe.yaml), or layers whose gradients are ready one after the other (workload_gpt2.csv). The
    model's tensor x pipeline x data are as many as the nodes. Of one network every collective is listed.

    Example: topodesign step model_gpt3.yaml --on 'torus(4,4,4)' --on fattree -d 6 --bandwidth 400Gbps
    """
    with progress_bar("pricing") as progress:
        found = topodesign.compare_steps(model, on, progress=progress, **options)
    show(found)
