"""``topodesign wire check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topodesign.cli.options import json_option, print_json

if TYPE_CHECKING:
    from topodesign.wiring.change.change import Change
    from topodesign.wiring.check.check import Check


@click.command(name="check")
@click.argument("plan", type=click.Path(path_type=Path))
@click.option(
    "--lldp",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="What hosts hear: a directory with 'lldpctl -f json' of each as HOST.json, one such file, or a CSV "
    "(host,port,neighbour_host,neighbour_port).",
)
@click.option(
    "--ocs",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The circuits of a switch: SONiC's OCS_CROSS_CONNECT (.json) or port lists (.scpi), or a directory of both.",
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of the search.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the plan as it is after the repair, or with the order of the hosts with which nothing has to move.",
)
@json_option
def command(plan: Path, lldp: Path | None, ocs: Path | None, seed: int, output: Path | None, as_json: bool) -> int:
    """Hold what was wired against a plan, and say how few patches set it right.

    Exit status 1 if something is not as planned.

    Example: topodesign wire check plan.json --lldp observed_testbed.csv
    """
    from topodesign.wiring.check.check import check  # noqa: PLC0415  heavy
    from topodesign.wiring.check.observed import read_lldp, read_switch  # noqa: PLC0415
    from topodesign.wiring.plan.files import read_plan, write_plan  # noqa: PLC0415

    wanted = read_plan(plan)
    if lldp is not None and ocs is None:
        seen = read_lldp(lldp, wanted)
    elif ocs is not None and lldp is None:
        seen = read_switch(ocs, wanted)
    else:
        raise click.UsageError("Give either --lldp or --ocs.")
    result = check(wanted, seen, seed=seed)
    if output is not None:
        write_plan(output, result.proposal.after)
    if as_json:
        print_json(_document(result))
    else:
        click.echo("\n".join(_lines(result)))
    return 0 if result.ok else 1


def _lines(result: Check) -> list[str]:
    if result.ok:
        return [f"as planned: {len(result.built.connects)} patches"]
    lines = []
    for finding in result.findings:
        lines += [f"{finding.fault}: {finding.words}", *(f"  {words}" for words in finding.seen)]
    lines.append("")
    if not result.repair.moves:
        return [*lines, "the links between hosts are those of the plan all the same", *_to_plan(result)]
    other = result.other_order
    if not other.moves:
        lines += ["nothing has to move if the hosts take these places, in the order of the nodes:"]
        return [*lines, "  " + " ".join(other.after.hosts), "otherwise:", *_moves(result.repair), *_to_plan(result)]
    these = "these patches, and no fewer," if result.repair.fewest else "these patches"
    lines += [f"{these} make the links of the plan between its hosts:", *_moves(result.repair)]
    lines += _to_plan(result)
    if other.moves < result.repair.moves:
        lines += [
            f"{other.moves} would do if the hosts take these places, in the order of the nodes:",
            "  " + " ".join(other.after.hosts),
            *_moves(other),
        ]
    if not result.decided:
        lines += ["whether another order of the hosts needs no move at all is not decided"]
    return lines


def _moves(change: Change) -> list[str]:
    from topodesign.wiring.exports.moves import moves_in_words  # noqa: PLC0415  heavy

    return [f"  {line}" for line in moves_in_words(change.after, change.removed, change.made)]


def _to_plan(result: Check) -> list[str]:
    if result.to_plan == len(result.repair.made):
        return []
    return [f"(all ports as planned: {result.to_plan} patches)"]


def _document(result: Check) -> dict[str, Any]:
    from topodesign.wiring.exports.moves import moves_in_words  # noqa: PLC0415  heavy

    def change(one: Change) -> dict[str, Any]:
        return {
            "moves": one.moves,
            "hosts": list(one.after.hosts),
            "words": moves_in_words(one.after, one.removed, one.made),
        }

    return {
        "ok": result.ok,
        "findings": [
            {
                "fault": finding.fault,
                "cables": list(finding.cables),
                "words": finding.words,
                "seen": list(finding.seen),
            }
            for finding in result.findings
        ],
        "patches_to_plan": result.to_plan,
        "repair": change(result.repair),
        "other_order": change(result.other_order),
        "isomorphic": not result.other_order.moves if result.decided else None,
    }
