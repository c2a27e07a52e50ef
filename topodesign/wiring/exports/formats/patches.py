"""The patch list: a CSV with one row for every cable and circuit, for people and spreadsheets, and read back.

``a`` and ``b`` are the two ends; the light of a simplex patch goes from ``a`` to ``b``. ``sends`` and ``receives`` are
the host lanes behind them. Lengths are in metres.
"""

from __future__ import annotations

from pathlib import Path

from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind
from topodesign.base.tables import named_columns, write_csv
from topodesign.base.text_files import read_text
from topodesign.topology.topology import Topology
from topodesign.wiring.exports.cables import colour_of, polarity_of
from topodesign.wiring.exports.format import Format
from topodesign.wiring.inventory.devices import Fixed, PortLabels, is_number
from topodesign.wiring.inventory.inventory import format_metres
from topodesign.wiring.plan.net import Termination
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import Circuit, topology_as_cabled

_END = ("label", "site", "rack", "unit", "device", "port", "lane", "side")
COLUMNS = (
    *("cable", "kind", *(f"{end}_{name}" for end in "ab" for name in _END)),
    *("sends", "receives", "polarity", "type", "length_m", "colour"),
)


def to_patches(plan: WiringPlan) -> str:
    """Return the patch list."""
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


def from_patches(path: Path, plan: WiringPlan, labels: PortLabels | None = None) -> Topology:
    """Return the links that a patch list makes by the fixed cabling in it.

    Labels of panel ports may have lost their zeros; ``labels`` takes note.
    """
    labels = labels or PortLabels(plan.inventory.panel_port)
    fixed: list[Fixed] = []
    led: dict[tuple[str, str], tuple[str, str]] = {}
    made: list[Circuit] = []
    for line, row in named_columns(read_text(path, (".csv",)), COLUMNS):
        a, b = ((row[f"{end}_device"], labels.read(row[f"{end}_device"], row[f"{end}_port"])) for end in "ab")
        sides = row["a_side"], row["b_side"]
        if row["kind"] == "fixed" and is_number(row["a_lane"]):
            fixed.append(Fixed(*a, int(row["a_lane"]), *b))
        elif row["kind"] == "trunk" and sides == ("A+B", "A+B"):
            led[a] = b
        elif row["kind"] in {"patch", "circuit"} and sides == ("A", "B"):
            made.append(Circuit(a, b))
        elif row["kind"] in {"patch", "circuit"} and sides == ("A+B", "A+B"):
            made += [Circuit(a, b), Circuit(b, a)]
        else:
            what = f"kind {row['kind']!r}, lane {row['a_lane']!r}, sides {sides}"
            raise FileFormatError(f"line {line}: no cable has {what}")
    return topology_as_cabled(made, fixed, led, plan)


FORMATS = {
    "patches": Format(
        "list of all cables and circuits (CSV)", to_patches, from_patches, reads_labels=True, kind=FileKind.PATCHES
    )
}
