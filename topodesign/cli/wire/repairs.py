"""``topodesign wire repairs``."""

from __future__ import annotations

from pathlib import Path

import click

from topodesign.cli.answers import Command, json_option, show
from topodesign.cli.options import PATH, option
from topodesign.cli.progress import progress_bar
from topodesign.wiring.failures.impact import KINDS, FailureKind
from topodesign.wiring.failures.order import repair_order

_KINDS = {kind.replace(" ", "-"): kind for kind in KINDS}


def _times(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[FailureKind, str]:
    del context, option
    found = {}
    for value in values:
        kind, sign, time = value.partition("=")
        if not sign or kind not in _KINDS:
            raise click.BadParameter(f"{value!r} should be a kind and a time, such as cable=30min; {', '.join(_KINDS)}")
        found[_KINDS[kind]] = time
    return found


@click.command(name="repairs", cls=Command)
@click.argument("plan", type=PATH)
@option("--host hosts HOST...", "A dead host; may be repeated.")
@option("--port ports DEVICE:PORT...", "A dead port of a host or panel; may be repeated.")
@option("--cable cables CABLE...", "A dead patch; may be repeated.")
@option(
    "--takes KIND=TIME...",
    f"How long the repair of a kind takes: {', '.join(_KINDS)}; may be repeated.  [default: all as long]",
    callback=_times,
)
@json_option
def command(
    plan: Path, hosts: tuple[str, ...], ports: tuple[str, ...], cables: tuple[str, ...], takes: dict[FailureKind, str]
) -> None:
    """Say in which order to repair what is broken, so that the fabric does as much as it can meanwhile.

    Orders are compared by what all hosts together put into allreduces from the first repair's begin to the last one's
    end, with the best schedule for what works at each time. Up to eight failures the best of all orders is found.

    Example: topodesign wire repairs plan.json --host host03 --cable C01 --cable C14
    """
    with progress_bar("comparing orders") as progress:
        found = repair_order(plan, hosts=hosts, ports=ports, cables=cables, takes=takes, progress=progress)
    show(found)
