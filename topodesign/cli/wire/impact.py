"""``topodesign wire impact``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topodesign.cli.options import json_option, print_json, progress_bar
from topodesign.cli.wire.figures import figures_document, figures_in_words, tells_throughput, throughput_option

if TYPE_CHECKING:
    from topodesign.wiring.failures.impact import Failure, FailureKind, State
    from topodesign.wiring.failures.resilience import Figures
    from topodesign.wiring.plan.plan import Plan

_KINDS: dict[str, FailureKind] = {"host": "host", "port": "port", "panel-port": "panel port", "cable": "cable"}


@click.command(name="impact")
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("--host", metavar="HOST", help="A dead host.")
@click.option("--port", metavar="DEVICE:PORT", help="A dead port of a host, with all its lanes, or of a panel.")
@click.option("--cable", metavar="CABLE", help="A dead patch.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(list(_KINDS)), help="Rank only these; may be repeated."
)
@click.option("--top", type=click.IntRange(1), default=3, show_default=True, help="How many of each kind to show.")
@throughput_option
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of the search.")
@json_option
def command(
    plan: Path,
    host: str | None,
    port: str | None,
    cable: str | None,
    kinds: tuple[str, ...],
    top: int,
    throughput: bool | None,
    seed: int,
    as_json: bool,
) -> None:
    """Say what a dead port, cable or host costs and how to patch around it; without one, rank all single failures.

    Steps and bandwidth factor y are those of the schedule made anew for what is left (SPFF), y in parts of the
    bandwidth that a host had before. Of failures that a symmetry of the wiring turns into each other one is shown.
    """
    from topodesign.wiring.failures.impact import intact  # noqa: PLC0415  heavy
    from topodesign.wiring.plan.files import read_plan  # noqa: PLC0415

    wiring = read_plan(plan)
    view = _View(wiring, tells_throughput(throughput, len(wiring.hosts)), seed)
    given = _given(wiring, host, port, cable)
    if given is None:
        groups = _groups(wiring, kinds)
    elif kinds:
        raise click.UsageError("--kind ranks failures; leave it out with a given one.")
    else:
        groups = {given.kind: [(given,)]}
    if as_json:
        print_json(
            {
                "failures": sum(len(alike) for group in groups.values() for alike in group),
                "before": view.state_document(intact(wiring)),
                "impacts": [view.impact_document(alike) for group in groups.values() for alike in group[:top]],
            }
        )
        return
    lines = [f"as it is: {view.state_in_words(intact(wiring))}"]
    for kind, group in groups.items():
        if given is None:
            lines += ["", f"{sum(map(len, group))} single failures of a {kind}; {_shown(len(group), top)}:"]
        for alike in group[:top]:
            lines += ["", *view.impact_in_words(alike)]
    click.echo("\n".join(lines))


def _given(plan: Plan, host: str | None, port: str | None, cable: str | None) -> Failure | None:
    from topodesign.wiring.failures.impact import Failure  # noqa: PLC0415  heavy

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


def _groups(plan: Plan, kinds: tuple[str, ...]) -> dict[FailureKind, list[tuple[Failure, ...]]]:
    """Return failures by kind, those that are alike together, the worst first."""
    from topodesign.wiring.failures.ranking import rank  # noqa: PLC0415  heavy

    groups: dict[FailureKind, list[tuple[Failure, ...]]] = {_KINDS[kind]: [] for kind in kinds or _KINDS}
    with progress_bar("pricing failures") as advance:
        for one in rank(plan, list(groups), advance):
            groups[one.failures[0].kind].append(one.failures)
    return groups


def _shown(groups: int, top: int) -> str:
    if groups == 1:
        return "all cost the same"
    return f"{groups} that differ, {'all' if groups <= top else f'the worst {top}'} shown"


class _View:
    """What to tell of a plan's failures."""

    def __init__(self, plan: Plan, throughput: bool, seed: int) -> None:
        self.plan = plan
        self.throughput = throughput
        self.seed = seed

    def impact_in_words(self, alike: tuple[Failure, ...]) -> list[str]:
        """Return what the first of failures that are alike does, and how to repair it."""
        from topodesign.wiring.exports.moves import moves_in_words  # noqa: PLC0415
        from topodesign.wiring.failures.impact import impact  # noqa: PLC0415  heavy
        from topodesign.wiring.failures.repair import best_repair  # noqa: PLC0415

        failure, plan = alike[0], self.plan
        found, repair = impact(plan, failure), best_repair(plan, failure, seed=self.seed)
        links = sum(1 if connect.mode == "simplex" else 2 for connect in found.lost)
        name = f"{failure}{f' (and {len(alike) - 1} alike)' if len(alike) > 1 else ''}"
        lines = [f"{name}: {links} link{'' if links == 1 else 's'} lost", f"  left: {self.state_in_words(found.state)}"]
        cut = [host for host in plan.hosts if host not in found.state.hosts and host != failure.device]
        lines += [f"  cut off: {' '.join(cut)}"] if cut else []
        if repair is None:
            return [*lines, "  no idle fibre that is left helps"]
        lines.append(f"  repaired: {'as it was' if repair.restored else self.state_in_words(repair.state)}")
        change = repair.change
        return lines + [f"    {line}" for line in moves_in_words(change.after, change.removed, change.made)]

    def impact_document(self, alike: tuple[Failure, ...]) -> dict[str, Any]:
        """Return the same for JSON."""
        from topodesign.wiring.exports.moves import moves_in_words  # noqa: PLC0415
        from topodesign.wiring.failures.impact import impact  # noqa: PLC0415  heavy
        from topodesign.wiring.failures.repair import best_repair  # noqa: PLC0415

        found, repair = impact(self.plan, alike[0]), best_repair(self.plan, alike[0], seed=self.seed)
        document: dict[str, Any] = {
            "failure": _failure_document(alike[0]),
            "alike": [_failure_document(failure) for failure in alike[1:]],
            "cables": [connect.cable for connect in found.lost],
            "after": self.state_document(found.state),
            "repair": None,
        }
        if repair is not None:
            change = repair.change
            document["repair"] = {
                "restored": repair.restored,
                "moves": change.moves,
                "words": moves_in_words(change.after, change.removed, change.made),
                "after": self.state_document(repair.state),
            }
        return document

    def state_in_words(self, state: State) -> str:
        """Return hosts, cost and what the fabric can do."""
        words = [f"{len(state.hosts)} hosts"]
        if state.cost is None:
            words.append("not connected")
        else:
            words.append(f"{state.cost.steps} steps, y {float(state.cost.bandwidth):.4f}")
            figures = self._figures(state)
            words += [figures_in_words(figures)] if figures is not None else []
        return ", ".join(words)

    def state_document(self, state: State) -> dict[str, Any]:
        """Return the same for JSON."""
        return {
            "hosts": len(state.hosts),
            "steps": None if state.cost is None else state.cost.steps,
            "bandwidth": None if state.cost is None else str(state.cost.bandwidth),
            "figures": figures_document(self._figures(state)),
        }

    def _figures(self, state: State) -> Figures | None:
        from topodesign.wiring.failures.impact import state_figures  # noqa: PLC0415  heavy

        return state_figures(self.plan, state) if self.throughput else None


def _failure_document(failure: Failure) -> dict[str, str]:
    return {"kind": failure.kind, "device": failure.device, "name": failure.name}
