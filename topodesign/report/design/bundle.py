"""Everything of a decision that goes to the bench and to the racks, in one directory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from topodesign.base.atomic import write_directory
from topodesign.base.errors import TopodesignError
from topodesign.base.tables import write_csv
from topodesign.compiler.compilation import compile_plan
from topodesign.plans.files import save_plan
from topodesign.plans.plan import Plan
from topodesign.topology.files import write_links
from topodesign.wiring.bringup.bringup import bringup
from topodesign.wiring.exports.export import export_wiring
from topodesign.wiring.plan.files import plan_text
from topodesign.wiring.plan.plan import WiringPlan

if TYPE_CHECKING:
    from topodesign.report.design.answer import Decision

_TARGET = "msccl"


class _Made(NamedTuple):
    """A file or directory, what it is for, and what it holds."""

    path: str
    about: str
    content: str | Callable[[Path], object]


def saved(found: Decision, directory: Path) -> Decision:
    """Write a new directory, whole or not at all; return the decision with the files in it."""
    from topodesign.report.design.answer import File  # noqa: PLC0415  which imports this module

    made = list(_files(found))
    told = replace(found, files=tuple(File(one.path, one.about) for one in made))
    decision = {"decision.json": json.dumps(told.record(), indent=2) + "\n", "decision.txt": f"{told}\n"}
    write_directory(directory, decision | {one.path: one.content for one in made})
    return told


def _files(found: Decision) -> Iterator[_Made]:
    wiring, lacking = found.wiring, []
    for place, part in enumerate(found.recommendation.parts, start=1):
        name, what = f"{place}-{part.share.collective}", part.share.collective
        yield _Made(f"{name}.npz", f"schedule of {what}, for 'topodesign verify' and 'simulate'", _schedule(part.plan))
        try:
            program = compile_plan(part.plan, _TARGET)
        except TopodesignError as error:
            lacking.append(f"{name}.xml: {error}")
        else:
            yield _Made(f"{name}.xml", f"program of {what} for {_TARGET}", program.save)
    yield _Made("links.json", "links of the recommendation", write_links(found.recommendation.topology, "json"))
    yield _Made("wiring.json", "wiring plan, for 'topodesign wire'", plan_text(wiring))
    items = [(one.kind, "" if one.length is None else float(one.length), one.count) for one in found.bill.items]
    yield _Made("bill.csv", "what to buy", write_csv([("type", "length_m", "count"), *items]))
    yield _Made("patches.csv", "patches, a row each", _export(wiring, "patches"))
    yield _Made("package.html", "work package for those who wire it", _export(wiring, "package"))
    try:
        bringup(wiring)
    except TopodesignError as error:
        lacking.append(f"bringup: {error}")
    else:
        yield _Made("bringup", "addresses, routes and link tests, a directory a host", _export(wiring, "bringup"))
    for one in found.growth:
        about = f"links of {one.nodes} nodes, for 'topodesign wire diff wiring.json'"
        yield _Made(f"grown-{one.nodes}.json", about, write_links(one.topology, "json"))
    if lacking:
        yield _Made("not-made.txt", "what could not be made, and why", "\n".join([*lacking, ""]))


def _schedule(plan: Plan) -> Callable[[Path], object]:
    return lambda path: save_plan(path, plan)


def _export(plan: WiringPlan, form: str) -> Callable[[Path], object]:
    return lambda path: export_wiring(plan, form, path)
