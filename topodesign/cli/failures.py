"""``topodesign failures``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.base.file_kinds import FileKind, kind_of
from topodesign.base.options import collect_options, format_flags
from topodesign.cli.answers import Command, directory, json_option, show, tell
from topodesign.cli.options import SPEC, collective_option, flag, offer, option, seed_option, whole
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import get_given_options
from topodesign.fabrics.options import PartOptions
from topodesign.schedulers.options import ShapeOptions

if TYPE_CHECKING:
    from topodesign.collectives import Collective

_KINDS = ("host", "port", "panel-port", "cable")
_OF_NETWORKS = ("collective", "only", "others", "without", "bandwidth", "method", "shards")
_OF_WIRINGS = ("kinds", "top", "throughput", "seed")


class _Command(Command):
    """A command whose -o may name a directory for a plan of each failure."""

    def takes_directory(self, context: click.Context) -> bool:
        """Whether there are plans to write."""
        return not _is_wiring(context.params["network"])


@click.command(name="failures", cls=_Command)
@click.argument("network", type=SPEC)
@collective_option
@offer(PartOptions)
@offer(ShapeOptions, "shards")
@option("--kind kinds", "For a wiring plan: rank only these parts. Repeatable.", words=_KINDS, multiple=True)
@option("--top", "For a wiring plan: failures to show of each kind.", type=whole(1), default=3)
@option("--bandwidth RATE", "Bandwidth of a node over all its links.  [default: 100Gbps; fabrics have their own]")
@option(
    "--algorithm method",
    "How the throughput of a network is computed: trees of nodes, or a fluid of what switches add and copy.",
    words=["auto", "forest", "fluid"],
    default="auto",
)
@flag("--throughput/--no-throughput", "For a wiring plan: compute connectivity and throughput.", default=None)
@seed_option("Random seed of the search for repairs.")
@json_option
def command(network: str, collective: Collective, **options: Any) -> None:
    """Rank single failures by their cost.

    NETWORK is a fabric such as 'dgx_a100(2)' (quote it), a topology, a file, or a wiring plan. For a network -o DIR
    writes a plan for each failure, which 'topodesign repair' reads. For a wiring plan each failure is shown with a way
    to patch around it. Failures that are equivalent by symmetry are listed once.

    Examples: topodesign failures 'dgx_a100(1)', topodesign failures plan.json --kind host
    """
    given = get_given_options(click.get_current_context())
    if _is_wiring(network):
        _refuse(given, {*_OF_NETWORKS, *collect_options(PartOptions)}, "a wiring plan")
        _of_wiring(network, options)
        return
    _refuse(given, set(_OF_WIRINGS), "a network")
    place = topodesign.as_fabric(network, options["bandwidth"])
    part = topodesign.select_part(place, options["only"], options["others"], options["without"])
    target, shards = directory(), options["shards"]
    if target is None:
        with progress_bar("pricing failures") as progress:
            show(
                topodesign.single_failures(part, collective, shards=shards, method=options["method"], progress=progress)
            )
        return
    _refuse(given, {"shards"}, "plans for failures")
    with progress_bar("making plans") as progress:
        made = topodesign.failure_plans(part, collective, method=options["method"], progress=progress)
    made.save(target)
    show(made)


def _is_wiring(text: str) -> bool:
    """Return whether a text names the file of a wiring plan."""
    return kind_of(Path(text)) is FileKind.WIRING


def _refuse(given: set[str], others: set[str], what: str) -> None:
    """Raise UsageError for options that mean nothing for this network."""
    wrong = sorted(given & others)
    if wrong:
        raise click.UsageError(f"{format_flags([name.removesuffix('s') for name in wrong])} does not apply to {what}.")


def _of_wiring(plan: str, options: dict[str, Any]) -> None:
    """Print which failures of a wiring cost most."""
    from topodesign.wiring.plan.files import load_wiring  # noqa: PLC0415  not for help

    kinds: list[Any] = [kind.replace("-", " ") for kind in options["kinds"] or _KINDS]
    with progress_bar("pricing failures") as progress:
        report = topodesign.failure_impact(
            load_wiring(plan),
            kinds=kinds,
            top=options["top"],
            throughput=options["throughput"],
            seed=options["seed"],
            progress=progress,
        )
    tell(report)
