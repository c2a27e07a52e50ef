"""The patch list: a CSV with one row for every cable and circuit, for people and spreadsheets.

``a`` and ``b`` are the two ends; the light of a simplex patch goes from ``a`` to ``b``. ``sends`` and ``receives`` are
the host lanes behind them. Lengths are in metres.
"""

from __future__ import annotations

import csv
import io

from topodesign.wiring.exports.cables import Termination, cables
from topodesign.wiring.inventory.lengths import format_metres
from topodesign.wiring.plan.plan import Plan

_END = ("label", "site", "rack", "unit", "device", "port", "lane", "side")
COLUMNS = (
    "cable",
    "kind",
    *(f"a_{name}" for name in _END),
    *(f"b_{name}" for name in _END),
    "sends",
    "receives",
    "polarity",
    "type",
    "length_m",
    "colour",
)


def to_patches(plan: Plan) -> str:
    """Return the patch list."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for cable in cables(plan):
        ends = (*_cells(cable.a), *_cells(cable.b))
        tail = (
            cable.sends,
            cable.receives,
            cable.polarity,
            cable.sort or "",
            format_metres(cable.length),
            cable.colour,
        )
        writer.writerow((cable.name, cable.kind, *ends, *tail))
    return out.getvalue()


def _cells(end: Termination) -> tuple[str | int, ...]:
    lane = "" if end.lane is None else end.lane
    return end.label, *end.place, end.device, end.port, lane, end.side
