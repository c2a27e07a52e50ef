"""Bundle of all bench and rack files of a decision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from topodesign.base.deadline import OutOfTime, deadline
from topodesign.base.errors import InfeasibleError, TopodesignError
from topodesign.base.tables import write_csv
from topodesign.compiler.compilation import Compiled, compile_plan
from topodesign.plans.files import save_plan
from topodesign.plans.plan import Plan
from topodesign.pricing.mix import PRICED
from topodesign.report.design.parts import Offer, Stage
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.files import write_links
from topodesign.wiring.bringup.bringup import bringup
from topodesign.wiring.exports.export import export_wiring
from topodesign.wiring.plan.files import plan_text
from topodesign.wiring.plan.plan import WiringPlan

_TARGET = "msccl"
_SECONDS = 60.0  # for a program


class BundleFile(NamedTuple):
    """File or directory with its purpose and content."""

    path: str
    about: str
    content: str | Callable[[Path], object]


def files_of(best: Offer, wiring: WiringPlan, growth: Iterable[Stage]) -> Iterator[BundleFile]:
    """Yield the files and directories of a recommendation."""
    lacking = []
    for place, (what, plan, size) in enumerate(_plans(best), start=1):
        name = f"{place}-{what}"
        if plan is None:
            lacking.append(f"{name}.npz: no plan of it is known, or was made in time")
            continue
        yield BundleFile(f"{name}.npz", f"schedule of {what}, for 'topodesign verify' and 'simulate'", _schedule(plan))
        try:
            with deadline(_SECONDS):
                program, calls = _program(plan, size)
        except (OutOfTime, TopodesignError) as error:
            lacking.append(f"{name}.xml: {error}")
        else:
            yield BundleFile(f"{name}.xml", f"program of {what} for {_TARGET}{calls}", program.save)
    yield BundleFile("links.json", "links of the recommendation", write_links(best.topology, "json"))
    yield BundleFile("wiring.json", "wiring plan, for 'topodesign wire'", plan_text(wiring))
    items = [(one.kind, "" if one.length is None else float(one.length), one.count) for one in wiring.bill().items]
    yield BundleFile("bill.csv", "what to buy", write_csv([("type", "length_m", "count"), *items]))
    yield BundleFile("patches.csv", "patches, a row each", _export(wiring, "patches"))
    yield BundleFile("package.html", "work package for those who wire it", _export(wiring, "package"))
    try:
        bringup(wiring)
    except TopodesignError as error:
        lacking.append(f"bringup: {error}")
    else:
        yield BundleFile("bringup", "addresses, routes and link tests, a directory a host", _export(wiring, "bringup"))
    for one in growth:
        about = f"links of {one.nodes} nodes, for 'topodesign wire change wiring.json'"
        yield BundleFile(f"grown-{one.nodes}.json", about, write_links(one.topology, "json"))
    if lacking:
        yield BundleFile("not-made.txt", "what could not be made, and why", "\n".join([*lacking, ""]))


def _plans(best: Offer) -> list[tuple[str, Plan | None, tuple[Fraction, ...]]]:
    """Return plans with call sizes; of a model, only collectives of all nodes."""
    if best.step is None:
        return [(part.share.collective, part.plan, (part.share.size,)) for part in best.parts]
    sizes: dict[str, list[Fraction]] = {}
    for one in best.step.sent:
        if one.groups == 1 and one.sent.collective in PRICED:
            sizes.setdefault(one.sent.collective, []).append(one.sent.size)
    return [(what, schedule(best.place, what), tuple(some)) for what, some in sizes.items()]


def _program(plan: Plan, sizes: tuple[Fraction, ...]) -> tuple[Compiled, str]:
    """Return a program for the given call sizes, with a note."""
    try:
        made = compile_plan(plan, _TARGET, size=list(sizes))
    except InfeasibleError as error:
        return compile_plan(plan, _TARGET), f"; not for just the calls of the request: {error}"
    return made, f", {made.cut}"


def _schedule(plan: Plan) -> Callable[[Path], object]:
    return lambda path: save_plan(path, plan)


def _export(plan: WiringPlan, form: str) -> Callable[[Path], object]:
    return lambda path: export_wiring(plan, form, path)
