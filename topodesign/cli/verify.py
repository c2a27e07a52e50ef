"""``topodesign verify``."""

from __future__ import annotations

from pathlib import Path

import click

from topodesign.cli.options import json_option, print_json, progress_bar, runtime_option


@click.command(name="verify")
@click.argument("file", type=click.Path(path_type=Path))
@runtime_option
@click.option(
    "--interleavings",
    type=click.IntRange(0, 10_000),
    default=20,
    show_default=True,
    help="Random orders in which an XML file is executed, besides the exact analysis.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the random orders.")
@json_option
def command(file: Path, runtime: str, interleavings: int, seed: int, as_json: bool) -> int:
    """Check a schedule (.npz) or an MSCCL program (.xml): right, or what is wrong with it.

    Which of them FILE is, its first bytes tell. A schedule is replayed symbolically (of one of trees, every tree, route
    and link load is checked), its cost recomputed and its topology rebuilt. An XML file, ours or not, is read as
    strictly as the runtime does and executed on real integers under its limits; deadlocks, races and wrong results are
    reported. Exit status 1 if it is wrong.
    """
    from topodesign.cli.sources import kind_of  # noqa: PLC0415  heavy
    from topodesign.plans.trees_file import is_tree_file  # noqa: PLC0415

    if kind_of(file) == "program":
        return _xml(file, runtime, interleavings, seed, as_json)
    if is_tree_file(file):
        return _trees(file, as_json)
    return _schedule(file, as_json)


def _xml(file: Path, runtime: str, interleavings: int, seed: int, as_json: bool) -> int:
    from topodesign.runtime.check import check_file  # noqa: PLC0415  heavy

    with progress_bar("checking"):
        report = check_file(file, runtime, interleavings=interleavings, seed=seed)
    if as_json:
        print_json(report.record())
    else:
        click.echo(str(report))
    return 0 if report.ok else 1


def _trees(file: Path, as_json: bool) -> int:
    from topodesign.cli.trees.files import trees_of  # noqa: PLC0415  heavy
    from topodesign.cli.trees.words import headline, record, summary  # noqa: PLC0415

    with progress_bar("verifying"):
        fabric, schedule, header, report = trees_of(file)
    if as_json:
        found = record(fabric, schedule) if report.ok else {"fabric": fabric.name, "collective": report.collective.name}
        print_json({"ok": report.ok, **found, "spec": header.spec, "problems": list(report.problems)})
    else:
        lines = [headline(fabric), f"{report.collective.name}: {'ok' if report.ok else 'WRONG'}"]
        lines += [summary(fabric, schedule)] if report.ok else [f"  {problem}" for problem in report.problems]
        click.echo("\n".join(lines))
    return 0 if report.ok else 1


def _schedule(file: Path, as_json: bool) -> int:
    from topodesign.cli.sources import schedule_of  # noqa: PLC0415  heavy

    with progress_bar("verifying"):
        topology, _, header, report = schedule_of(file)
    if as_json:
        print_json(
            {
                "ok": report.ok,
                "collective": report.collective.name,
                "spec": header.spec,
                "nodes": topology.nodes,
                "steps": report.cost.steps,
                "bandwidth": str(report.cost.bandwidth),
                "problems": list(report.problems),
                "redundant": report.redundant,
                "refilled": report.refilled,
            }
        )
    else:
        name = "a topology without a spec" if topology.spec is None else topology.spec
        click.echo(f"{name}, {topology.nodes} nodes\n{report}")
    return 0 if report.ok else 1
