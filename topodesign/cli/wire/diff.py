"""``topodesign wire diff``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topodesign.cli.options import json_option, print_json, progress_bar
from topodesign.cli.wire.figures import figures_document, figures_in_words, tells_throughput, throughput_option

if TYPE_CHECKING:
    from topodesign.topology.topology import Topology
    from topodesign.wiring.change.change import Change
    from topodesign.wiring.change.stages import Stage
    from topodesign.wiring.failures.resilience import Figures


@click.command(name="diff")
@click.argument("plan", type=click.Path(path_type=Path))
@click.argument("wanted")
@click.option(
    "--max-dark", type=click.IntRange(1), default=1, show_default=True, metavar="K", help="Dark links a host at a time."
)
@click.option("--keep-hosts", is_flag=True, help="Leave every host the node that it is, or is in the other plan.")
@throughput_option
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of the search.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the new plan (.json).")
@json_option
def command(
    plan: Path,
    wanted: str,
    max_dark: int,
    keep_hosts: bool,
    throughput: bool | None,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Change a wiring into another with few patches moved, in stages that keep the fabric connected.

    PLAN is the wiring that exists, WANTED a topology (a spec such as 'torus(4,4)', quoted, or a file of links) or
    another plan. Hosts may become other nodes than before: that moves no cable.
    """
    from topodesign.base.errors import ParameterError  # noqa: PLC0415  heavy
    from topodesign.wiring.change.change import as_simplex, rewire  # noqa: PLC0415
    from topodesign.wiring.change.stages import stages  # noqa: PLC0415
    from topodesign.wiring.failures.resilience import figures  # noqa: PLC0415
    from topodesign.wiring.plan.files import read_plan, write_plan  # noqa: PLC0415

    before = read_plan(plan)
    topology, hosts = _wanted(wanted)
    if keep_hosts and hosts is None and topology.nodes != len(before.hosts):
        raise ParameterError(f"--keep-hosts: {topology.nodes} nodes are wanted, and {len(before.hosts)} are wired")
    before = before if topology.is_duplex else as_simplex(before)
    with progress_bar("looking for an order of the hosts"):
        change = rewire(before, topology, hosts=(hosts or before.hosts) if keep_hosts else None, seed=seed)
        steps = stages(change, max_dark)
    tell = tells_throughput(throughput, topology.nodes)
    speed = before.inventory.hosts[0].ports[0].speed
    with progress_bar("looking for the best throughput") as advance:
        told = []
        for number, step in enumerate(steps):
            advance(number / len(steps))
            told.append([figures(fabric, speed) if tell else None for fabric in (step.during, step.after)])
    if output is not None:
        write_plan(output, change.after)
    if as_json:
        print_json(_document(change, steps, told))
    else:
        click.echo("\n".join(_lines(change, steps, told)))


def _wanted(text: str) -> tuple[Topology, tuple[str, ...] | None]:
    """Return a topology, and the hosts if the text names a plan."""
    from topodesign.expand.library import as_topology  # noqa: PLC0415  heavy
    from topodesign.wiring.plan.files import read_plan  # noqa: PLC0415

    if _names_plan(Path(text)):
        other = read_plan(Path(text))
        return other.topology, other.hosts
    return as_topology(text), None


def _names_plan(path: Path) -> bool:
    """Return whether a file says that it is a wiring plan."""
    import json  # noqa: PLC0415

    from topodesign.base.errors import FileFormatError  # noqa: PLC0415  heavy
    from topodesign.base.text_files import read_text  # noqa: PLC0415
    from topodesign.wiring.plan.files import ENDING, FORMAT  # noqa: PLC0415

    try:
        document = json.loads(read_text(path, (ENDING,)))
    except (FileFormatError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("format") == FORMAT


def _lines(change: Change, steps: tuple[Stage, ...], told: list[list[Figures | None]]) -> list[str]:
    from topodesign.wiring.exports.moves import moves_in_words  # noqa: PLC0415  heavy

    if not change.moves:
        return ["nothing has to move", *_order(change)]
    kept = len(change.before.connects) - len(change.removed)
    proof = (
        "proven: fewer do not suffice" if change.fewest else f"fewer may suffice, but no fewer than {change.at_least}"
    )
    lines = [f"{_many(change.moves, 'move')}; {_many(kept, 'patch', 'patches')} of {kept + len(change.removed)} stay"]
    lines[0] += f" ({proof})"
    lines += _order(change)
    for number, (step, (during, after)) in enumerate(zip(steps, told, strict=True), start=1):
        count = max(len(step.removed), len(step.made))
        dark = f"a host has at most {_many(step.dark, 'dark link')}"
        lines += ["", f"stage {number} of {len(steps)}: {_many(count, 'move')}; {dark}"]
        lines += [f"  {word}: {figures_in_words(f)}" for word, f in (("meanwhile", during), ("then", after)) if f]
        lines += [f"  {line}" for line in moves_in_words(change.after, step.removed, step.made)]
    return lines


def _order(change: Change) -> list[str]:
    if change.after.hosts == change.before.hosts:
        return []
    return ["hosts in the order of the nodes: " + " ".join(change.after.hosts)]


def _many(count: int, one: str, more: str | None = None) -> str:
    return f"{count} {one if count == 1 else more or f'{one}s'}"


def _document(change: Change, steps: tuple[Stage, ...], told: list[list[Figures | None]]) -> dict[str, Any]:
    from topodesign.wiring.exports.moves import moves_in_words  # noqa: PLC0415  heavy

    return {
        "moves": change.moves,
        "proven_fewest": change.fewest,
        "at_least": change.at_least,
        "kept": len(change.before.connects) - len(change.removed),
        "hosts": list(change.after.hosts),
        "stages": [
            {
                "removed": [connect.cable for connect in step.removed],
                "made": [[c.cable, c.a.panel, c.a.panel_port, c.b.panel, c.b.panel_port] for c in step.made],
                "words": moves_in_words(change.after, step.removed, step.made),
                "dark": step.dark,
                "during": figures_document(during),
                "after": figures_document(after),
            }
            for step, (during, after) in zip(steps, told, strict=True)
        ],
    }
