"""``topodesign wire impact``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topodesign.cli.options import json_option, print_json, progress_bar
from topodesign.cli.wire.figures import figures_document, figures_in_words

if TYPE_CHECKING:
    from topodesign.wiring.figures import Figures
    from topodesign.wiring.impact import Failure, FailureKind, Impact, Repair, State
    from topodesign.wiring.plan import Plan

_KINDS: dict[str, FailureKind] = {"host": "host", "port": "port", "panel-port": "panel port", "cable": "cable"}


@click.command(name="impact")
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("--host", metavar="HOST", help="A dead host.")
@click.option("--port", metavar="DEVICE:PORT", help="A dead port of a host, with all its lanes, or of a panel.")
@click.option("--cable", metavar="CABLE", help="A dead patch.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(list(_KINDS)), help="Rank only these; may be repeated."
)
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="How many of the worst to show.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of the search.")
@json_option
def command(
    plan: Path,
    host: str | None,
    port: str | None,
    cable: str | None,
    kinds: tuple[str, ...],
    top: int,
    seed: int,
    as_json: bool,
) -> None:
    """Say what a dead port, cable or host costs and how to patch around it; without one, rank all single failures.

    Steps and bandwidth are those of the schedule made anew for what is left (SPFF); with them, the best that any
    schedule can reach.
    """
    from topodesign.wiring.impact import impact as impact_of  # noqa: PLC0415
    from topodesign.wiring.impact import intact, rank  # noqa: PLC0415  heavy
    from topodesign.wiring.plan_file import read_plan  # noqa: PLC0415

    wiring = read_plan(plan)
    given = _given(wiring, host, port, cable)
    if given and kinds:
        raise click.UsageError("--kind ranks failures; leave it out with a given one.")
    if given is not None:
        ranked = [impact_of(wiring, given)]
    else:
        with progress_bar("pricing failures"):
            ranked = rank(wiring, [_KINDS[kind] for kind in kinds or _KINDS])
    rows = [_row(wiring, one, seed) for one in ranked[:top]]
    before = intact(wiring)
    if as_json:
        print_json(
            {
                "failures": len(ranked),
                "before": _state_document(wiring, before),
                "impacts": [_row_document(wiring, *row) for row in rows],
            }
        )
        return
    lines = [f"as it is: {_state_in_words(wiring, before)}"]
    if given is None:
        lines += [f"{len(ranked)} single failures; the worst {len(rows)}:"]
    for row in rows:
        lines += ["", *_row_in_words(wiring, *row)]
    click.echo("\n".join(lines))


def _given(plan: Plan, host: str | None, port: str | None, cable: str | None) -> Failure | None:
    from topodesign.wiring.impact import Failure  # noqa: PLC0415  heavy

    if sum(text is not None for text in (host, port, cable)) > 1:
        raise click.UsageError("Give one of --host, --port and --cable.")
    if host is not None:
        return Failure("host", host, "")
    if cable is not None:
        return Failure("cable", "", cable)
    if port is None:
        return None
    for index, character in enumerate(port):
        device, name = port[:index], port[index + 1 :]
        if character == ":" and device in plan.inventory.host:
            return Failure("port", device, name)
        if character == ":" and device in plan.inventory.panel:
            return Failure("panel port", device, name)
    raise click.UsageError(f"--port {port[:80]}: write HOST:PORT or PANEL:PORT, with names of the inventory.")


def _row(plan: Plan, one: Impact, seed: int) -> tuple[Impact, Repair | None]:
    from topodesign.wiring.impact import best_repair  # noqa: PLC0415  heavy

    return one, best_repair(plan, one.failure, seed=seed)


def _row_in_words(plan: Plan, one: Impact, repair: Repair | None) -> list[str]:
    from topodesign.wiring.words import moves_in_words  # noqa: PLC0415  heavy

    cut = [host for host in plan.hosts if host not in one.state.hosts and host != one.failure.device]
    links = sum(1 if connect.mode == "simplex" else 2 for connect in one.lost)
    lines = [f"{one.failure}: {links} link{'' if links == 1 else 's'} lost; {_state_in_words(plan, one.state)}"]
    lines += [f"  cut off: {' '.join(cut)}"] if cut else []
    if repair is None:
        return [*lines, "  no idle fibre that is left helps"]
    lines += [f"  repair{' to what it was' if repair.restored else ''}: {_state_in_words(plan, repair.state)}"]
    change = repair.change
    return lines + [f"    {line}" for line in moves_in_words(change.after, change.removed, change.made)]


def _state_in_words(plan: Plan, state: State) -> str:
    figures = _figures(plan, state)
    if state.cost is None:
        return f"{len(state.hosts)} hosts, {figures_in_words(figures)}"
    cost = f"{state.cost.steps} steps, y {float(state.cost.bandwidth):.4f}"
    return f"{len(state.hosts)} hosts, {cost}, {figures_in_words(figures)}"


def _figures(plan: Plan, state: State) -> Figures:
    from topodesign.wiring.impact import state_figures  # noqa: PLC0415  heavy

    return state_figures(plan, state)


def _state_document(plan: Plan, state: State) -> dict[str, Any]:
    return {
        "hosts": len(state.hosts),
        "steps": None if state.cost is None else state.cost.steps,
        "bandwidth": None if state.cost is None else str(state.cost.bandwidth),
        "figures": figures_document(_figures(plan, state)),
    }


def _row_document(plan: Plan, one: Impact, repair: Repair | None) -> dict[str, Any]:
    from topodesign.wiring.words import moves_in_words  # noqa: PLC0415  heavy

    document: dict[str, Any] = {
        "failure": {"kind": one.failure.kind, "device": one.failure.device, "name": one.failure.name},
        "cables": [connect.cable for connect in one.lost],
        "after": _state_document(plan, one.state),
        "repair": None,
    }
    if repair is not None:
        change = repair.change
        document["repair"] = {
            "restored": repair.restored,
            "moves": change.moves,
            "words": moves_in_words(change.after, change.removed, change.made),
            "after": _state_document(plan, repair.state),
        }
    return document
