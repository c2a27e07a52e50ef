"""Patch list: a CSV with one row per cable and circuit.

``a`` and ``b`` are the two ends; the light of a simplex patch goes from ``a`` to ``b``. ``sends`` and ``receives`` are
the host lanes behind them. Lengths are in metres.
"""

from __future__ import annotations

from topodesign.base.tables import write_csv
from topodesign.wiring.exports.cables import colour_of, polarity_of
from topodesign.wiring.exports.format import Format
from topodesign.wiring.inventory.inventory import format_metres
from topodesign.wiring.plan.net import Termination
from topodesign.wiring.plan.plan import WiringPlan

_END = ("label", "site", "rack", "unit", "device", "port", "lane", "side")
COLUMNS = (
    *("cable", "kind", *(f"{end}_{name}" for end in "ab" for name in _END)),
    *("sends", "receives", "polarity", "type", "length_m", "colour"),
)


def to_patches(plan: WiringPlan) -> str:
    """Return the patch list (CSV)."""
    rows: list[tuple[object, ...]] = [COLUMNS]
    joined = {path.cross.name: path for path in plan.net.paths}
    for wire in plan.net.wires:
        size, ends = format_metres(plan.net.length(wire)), (*_cells(wire.a), *_cells(wire.b))
        path = joined.get(wire.name)
        lanes = ("", "") if path is None else (path.sender.fixed.a.label, path.receiver.fixed.a.label)
        tail = (*lanes, polarity_of(plan, wire), wire.sort or "", size, colour_of(wire))
        rows.append((wire.name, wire.kind, *ends, *tail))
    return write_csv(rows)


def _cells(end: Termination) -> tuple[str | int, ...]:
    lane = "" if end.lane is None else end.lane
    return end.label, *end.place, end.device, end.port, lane, end.side


FORMATS = {"patches": Format("list of all cables and circuits (CSV)", to_patches)}
