"""Inventories: what a file means, and what is said about one that is wrong."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import topodesign
from topodesign.errors import FileFormatError
from topodesign.wiring.inventory import Fixed, Host, Inventory, InventoryError, Panel, PanelPort, Port
from topodesign.wiring.inventory_file import read_inventory
from topodesign.wiring.planner import make_plan

CONFIGS = Path(topodesign.__file__).parent.parent / "configs"

ROOM = """\
name: small
slack: 1.5m
stock:
  LC duplex: [5m, 200cm]
racks:
  - {site: lab, rack: "r[1-2]", x: "[0-600:600]mm", y: -1m}
hosts:
  - name: "h[08-10]"
    site: lab
    rack: r1
    unit: "[2-4]"
    ports:
      - {name: "eth[0-1]", connector: LC, speed: 25Gbps}
  - name: big
    rack: r2
    ports:
      - {name: q, connector: MPO-12, speed: 100Gbps}
panels:
  - name: P
    kind: patch panel
    rack: r2
    unit: 40
    field: hall
    ports:
      - {label: "A[1-6]", mode: simplex, loss: 0.5dB}
      - {label: B, mode: duplex}
    blocked: ["A[3-4]", B]
  - {name: S, kind: ocs, rack: r2, ports: [{label: "[1-8]", mode: simplex}]}
cabling:
  - {host: "h[08-10]", port: eth0, panel: S, panel_port: "[1-3]"}
  - {host: big, port: q, lane: "[1-4]", panel: S, panel_port: "[5-8]"}
"""

TABLE = (
    """\
device,kind,rack,unit,port,connector,speed,panel,panel_ports,mode,blocked,loss
a,host,r1,3,eth0,MPO-12,4x25Gbps,P,1 2 3 4,,,
b,host,r1,4,eth0,MPO-12,4x25Gbps,P,5 6 7 8,,,
,,,,,,,,,,,
P,ocs,r2,,1,,,,,simplex,,
P,ocs,r2,,2,,,,,simplex,,1dB
P,,r2,,3,,,,,simplex,,
""".replace("P,,r2", "P,ocs,r2")
    + "".join(f"P,ocs,r2,,{n},,,,,simplex,,\n" for n in range(4, 9))
)


def written(directory: Path, text: str, name: str = "room.yaml") -> Path:
    path = directory / name
    path.write_text(text)
    return path


def test_yaml(tmp_path: Path) -> None:
    inventory = read_inventory(written(tmp_path, ROOM))
    gigabits = Fraction(25 * 10**9)
    pair = (Port("eth0", "LC", gigabits), Port("eth1", "LC", gigabits))
    assert inventory.hosts == (
        Host("h08", "lab", "r1", 2, pair),
        Host("h09", "lab", "r1", 3, pair),
        Host("h10", "lab", "r1", 4, pair),
        Host("big", "", "r2", 1, (Port("q", "MPO-12", gigabits),)),
    )
    assert [host.lanes for host in inventory.hosts] == [2, 2, 2, 4]
    first, second = inventory.panels
    assert first.field == "hall"
    assert second == Panel("S", "", "r2", 1, "ocs", tuple(PanelPort(str(n), "simplex") for n in range(1, 9)), "S")
    assert [port.label for port in first.ports if port.blocked] == ["A3", "A4", "B"]
    assert {port.loss_db for port in first.ports} == {Fraction(1, 2), None}
    assert inventory.cabling[:1] == (Fixed("h08", "eth0", 1, "S", "1"),)
    assert inventory.cabling[-1:] == (Fixed("big", "q", 4, "S", "8"),)
    assert inventory.racks == {"lab": {"r1": (Fraction(0), Fraction(-1)), "r2": (Fraction(3, 5), Fraction(-1))}}
    assert inventory.stock == {"LC duplex": (Fraction(2), Fraction(5))}
    assert (inventory.name, inventory.slack) == ("small", Fraction(3, 2))


def test_port_table_alone_and_named_in_yaml(tmp_path: Path) -> None:
    alone = read_inventory(written(tmp_path, TABLE, "ports.csv"))
    assert [host.name for host in alone.hosts] == ["a", "b"]
    assert alone.cabling == tuple(
        Fixed(host, "eth0", lane, "P", str(lane + shift))
        for host, shift in (("a", 0), ("b", 4))
        for lane in range(1, 5)
    )
    assert [port.loss_db for port in alone.panels[0].ports] == [None, Fraction(1), *[None] * 6]
    named = read_inventory(written(tmp_path, "name: ports\nport_table: ports.csv\n"))
    assert named == alone


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("inventory_*")), ids=lambda path: path.name)
def test_shipped_examples(path: Path) -> None:
    inventory = read_inventory(path)
    assert len(inventory.hosts) in {12, 1024}
    assert all(host.lanes == 4 for host in inventory.hosts)
    spec = "circulant(12,2,3)" if len(inventory.hosts) == 12 else "genkautz(4,1024)"
    make_plan(topodesign.build(spec), inventory)


def replaced(old: str, new: str, text: str = ROOM) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


WRONG = {
    "not YAML": ("hosts: [", "line 1: not YAML"),
    "a list": ("- 1", "line 1: inventory: expected the fields"),
    "empty": ("", "the file is empty"),
    "alias": (replaced("name: small", "name: &x small"), "line 1: anchors"),
    "tag": (replaced("name: small", "name: !!str small"), "line 1: tags"),
    "field twice": (replaced("slack: 1.5m", "name: again"), "line 2: the field 'name' is there twice"),
    "no hosts": ("panels: []", "hosts.name: there are no hosts"),
    "unknown field": (replaced("    unit: 40", "    units: 40"), "line 21: panels: unknown field 'units'; did you mean 'unit'"),
    "missing field": (replaced("big\n    rack: r2", "big"), "line 14: hosts: the field 'rack' is missing"),
    "length": (replaced("1.5m", "1.5"), "line 2: slack: '1.5' is no length"),
    "negative": (replaced("1.5m", "-1m"), "line 2: slack: '-1m' is no length"),
    "cable": (replaced("LC duplex: [", "LC triplex: ["), "line 4: stock: unknown field 'LC triplex'; did you mean 'LC duplex'"),
    "connector": (replaced("connector: MPO-12", "connector: MPO-16"), "line 17: hosts.ports.connector: 'MPO-16' is none of"),
    "speed": (replaced("100Gbps", "100"), "line 17: hosts.ports.speed: bandwidth '100' has no unit"),
    "unit": (replaced("unit: 40", "unit: top"), "line 21: panels.unit: 'top' is no integer"),
    "kind": (replaced("kind: patch panel", "kind: switch"), "line 19: panels.kind: 'switch' is none of patch panel, ocs"),
    "mode": (replaced("{label: B, mode: duplex}", "{label: B, mode: both}"), "line 25: panels.ports.mode: 'both' is none of"),
    "ranges": (replaced('unit: "[2-4]"', 'unit: "[2-5]"'), "line 8: hosts: ranges of different lengths: name 3, unit 4"),
    "two ranges": (replaced('"h[08-10]"\n', '"h[08-10][1-2]"\n'), "line 8: hosts.name: 'h[08-10][1-2]' should have one range"),
    "empty range": (replaced('unit: "[2-4]"', 'unit: "[4-2]"'), "line 11: hosts.unit: the range in '[4-2]' is empty"),
    "endless range": (replaced('unit: "[2-4]"', 'unit: "[2-4:0]"'), "line 11: hosts.unit: the range"),
    "huge range": (replaced('unit: "[2-4]"', 'unit: "[1-999999999]"'), "line 11: hosts.unit: the range"),
    "rack twice": (replaced('"r[1-2]"', '"r[1-1]"').replace('"[0-600:600]mm"', "0m").replace("hosts:", "  - {site: lab, rack: r1, x: 0m, y: 0m}\nhosts:", 1), "line 7: racks.rack: there are two racks 'r1'"),
    "host twice": (replaced("name: big", "name: h09").replace("host: big", "host: h09"), "line 14: hosts.name: there are two hosts 'h09'"),
    "port twice": (replaced('"eth[0-1]"', '"eth0[0-1]"').replace("- {name: q,", "- {name: q, connector: LC, speed: 25Gbps}\n      - {name: q,"), "line 18: hosts.ports.name: host 'big' has two ports 'q'"),
    "mixed speeds": (replaced("100Gbps", "400Gbps"), "line 17: hosts.ports.speed: mixed speeds: 'q' has 100Gbps a lane, ports before 25Gbps"),
    "device twice": (replaced("- {name: S,", "- {name: big,"), "line 27: panels.name: there are two devices 'big'"),
    "label twice": (replaced("label: B,", "label: A2,"), "line 25: panels.ports.label: panel 'P' has two ports labelled 'A2'"),
    "blocked": (replaced('["A[3-4]", B]', "[C]"), "line 26: panels.blocked: there is no port 'C' to block"),
    "ocs field": (replaced("kind: ocs,", "kind: ocs, field: hall,"), "line 27: panels.field: a circuit switch is a field of its own"),
    "host missing": (replaced("host: big", "host: bog"), "line 30: cabling.host: there is no host 'bog'"),
    "port missing": (replaced("port: q", "port: r"), "line 30: cabling.port: host 'big' has no port 'r'"),
    "lane missing": (replaced('lane: "[1-4]"', 'lane: "[2-5]"'), "line 30: cabling.lane: port 'q' has no lane 5"),
    "panel missing": (replaced('panel: S, panel_port: "[5-8]"', 'panel: T, panel_port: "[5-8]"'), "line 30: cabling.panel: there is no panel 'T'"),
    "panel port missing": (replaced('"[5-8]"', '"[6-9]"'), "line 30: cabling.panel_port: panel 'S' has no port '9'"),
    "panel port taken": (replaced('"[5-8]"', '"[3-6]"'), "line 30: cabling.panel_port: port '3' of 'S' takes two lanes"),
    "panel port blocked": (replaced('panel: S, panel_port: "[5-8]"', 'panel: P, panel_port: "A[1-4]"'), "line 30: cabling.panel_port: port 'A3' is blocked"),
    "cabled twice": (replaced('lane: "[1-4]"', "lane: 1"), "line 30: cabling.lane: lane 1 of 'big', 'q' is cabled twice"),
}  # fmt: skip

WRONG_TABLES = {
    "header": (replaced("device,kind", "device,sort", TABLE), "line 1: the header has columns"),
    "column missing": ("device,kind,rack\n", "line 1: the header"),
    "cells": (replaced("5 6 7 8,,,", "5 6 7 8,,", TABLE), "line 3: 11 cells, the header has 12"),
    "empty cell": (replaced("b,host,r1,4", "b,host,,4", TABLE), "line 3: rack: the cell is empty"),
    "quotes": (replaced("b,host", 'b,"ho"st', TABLE), "line 3: not CSV"),
    "kind": (replaced("b,host", "b,hast", TABLE), "line 3: kind: 'hast' is none of host, patch panel, ocs"),
    "disagree": (replaced("P,ocs,r2,,2", "P,ocs,r3,,2", TABLE), "line 6: rack: the first row of 'P' says otherwise"),
    "labels": (replaced("5 6 7 8", "5 6 7", TABLE), "line 3: panel_ports: expected a panel and a label for each of 4 lane(s)"),
    "taken": (replaced("5 6 7 8", "4 5 6 7", TABLE), "line 3: cabling.panel_port: port '4' of 'P' takes two lanes"),
    "blocked": (replaced("8,,,,,simplex,,", "8,,,,,simplex,yes,", TABLE), "line 3: cabling.panel_port: port '8' is blocked"),
    "label twice": (replaced("P,ocs,r2,,2", "P,ocs,r2,,1", TABLE), "line 6: panels.ports.label: panel 'P' has two ports labelled '1'"),
    "speeds": (replaced("b,host,r1,4,eth0,MPO-12,4x25Gbps", "b,host,r1,4,eth0,MPO-12,4x10Gbps", TABLE), "line 3: hosts.ports.speed: mixed speeds"),
    "no speed": (replaced("b,host,r1,4,eth0,MPO-12,4x25Gbps", "b,host,r1,4,eth0,MPO-12,", TABLE), "line 3: the field 'speed' is missing"),
    "mode of a host": (replaced("5 6 7 8,,,", "5 6 7 8,simplex,,", TABLE), "line 3: mode: a host has none"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message", "name"),
    [
        *(pytest.param(*case, "room.yaml", id=name) for name, case in WRONG.items()),
        *(pytest.param(*case, "ports.csv", id=f"table, {name}") for name, case in WRONG_TABLES.items()),
    ],
)
def test_errors_name_file_line_and_field(tmp_path: Path, text: str, message: str, name: str) -> None:
    path = written(tmp_path, text, name)
    with pytest.raises(FileFormatError) as caught:
        read_inventory(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_the_file_at_fault_is_named(tmp_path: Path) -> None:
    table = written(tmp_path, WRONG_TABLES["taken"][0], "ports.csv")
    path = written(tmp_path, "port_table: ports.csv\n")
    with pytest.raises(FileFormatError, match=r"ports\.csv: line 3: cabling\.panel_port"):
        read_inventory(path)
    table.unlink()
    with pytest.raises(FileFormatError, match=r"ports\.csv: No such file"):
        read_inventory(path)
    with pytest.raises(FileFormatError, match="unknown ending"):
        read_inventory(written(tmp_path, ROOM, "room.txt"))


def test_inventories_made_in_python_are_checked_too() -> None:
    port = Port("e", "LC", Fraction(1))
    host = Host("h", "", "r", 1, (port,))
    panel = Panel("P", "", "r", 1, "ocs", (PanelPort("1", "simplex"),), "P")
    Inventory((host,), (panel,))
    with pytest.raises(InventoryError, match=r"hosts\[1\]\.name: there are two hosts 'h'"):
        Inventory((host, host), (panel,))
    with pytest.raises(InventoryError, match="there are no panels"):
        Inventory((host,), ())
