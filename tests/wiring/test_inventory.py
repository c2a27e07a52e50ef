"""Inventories: what a file means, and the error for one that is wrong."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings

import topodesign
from tests.samples.inventories import inventory_of
from tests.wiring.test_netbox import inventories
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.wiring.inventory.answers import plain_inventory
from topodesign.wiring.inventory.devices import Fixed, Host, Panel, PanelPort, Port, Tray
from topodesign.wiring.inventory.fields import table_of
from topodesign.wiring.inventory.files import format_inventory, read_inventory
from topodesign.wiring.inventory.inventory import Inventory, InventoryError
from topodesign.wiring.netbox.model import as_objects
from topodesign.wiring.netbox.reading import inventory_of as read_objects
from topodesign.wiring.plan.planner import make_plan

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


@pytest.mark.dear("inventory_halls.yaml")
@pytest.mark.parametrize("path", sorted(CONFIGS.glob("inventory_*")), ids=lambda path: path.name)
def test_shipped_examples(path: Path) -> None:
    inventory = read_inventory(path)
    specs = {12: "circulant(12,2,3)", 32: "torus(8,4)", 1024: "genkautz(4,1024)"}
    if len(inventory.hosts) in specs:  # what a larger one carries, test_plant.py looks at
        make_plan(topodesign.build(specs[len(inventory.hosts)]), inventory)


# What to replace, by what, a text on the line at fault (after that), and the message; of YAML, then of tables.
WRONG = [
    ("name: small", "name: &x small", "&x", "anchors"),
    ("name: small", "name: !!str small", "!!str", "tags"),
    ("slack: 1.5m", "name: again", "again", "the field 'name' is there twice"),
    ("    unit: 40", "    units: 40", "units", "panels: unknown field 'units'; did you mean 'unit'"),
    ("big\n    rack: r2", "big", "big", "hosts: the field 'rack' is missing"),
    ("1.5m", "1.5", "1.5", "slack: '1.5' is not a length"),
    ("1.5m", "-1m", "slack", "slack: '-1m' is not a length"),
    ("LC duplex: [", "LC duplexx: [", "duplexx", "stock: unknown field 'LC duplexx'; did you mean 'LC duplex'"),
    ("connector: MPO-12", "connector: MPO-8", "MPO-8", "hosts.ports.connector: 'MPO-8' is not one of LC, MPO-12"),
    ("speed: 100Gbps", "speed: 100Gbps, polarity: D", "polarity", "hosts.ports.polarity: 'D' is not one of A, B, C"),
    ("speed: 100Gbps", "speed: 100Gbps, budget: -1dB", "budget", "hosts.ports.budget: '-1dB' is not a loss"),
    ("    unit: 40", "    spare: 8", "name: P", "panels.spare: panel 'P' has 7 ports, of which 8 cannot stay free"),
    ("    unit: 40", "    pods: x", "pods", "panels.pods: expected a list"),
    ("kind: ocs,", "kind: ocs, pods: [x],", "h[08", "cabling.panel: pod '' does not reach port '1' of 'S'; pods x do"),
    (
        "cabling:",
        "trunks: [{panel: S, panel_port: 1, near: P, near_port: A7}]\ncabling:",
        "trunks",
        "trunks.near_port: ",
    ),
    (
        "cabling:",
        "trunks: [{panel: P, panel_port: A1, near: S, near_port: 1}]\ncabling:",
        "trunks",
        "trunks.near: hosts",
    ),
    (
        "cabling:",
        "trunks: [{panel: P, panel_port: A1, near: P, near_port: A2}]\ncabling:",
        "trunks",
        "trunks.near: both",
    ),
    ("cabling:", "trunks: [{panel: S, panel_port: 1, near: P}]\ncabling:", "trunks", "trunks: the field 'near_port'"),
    ("cabling:", "losses: {fibre: 1}\ncabling:", "losses", "losses.fibre: '1' is not a loss such as 1.2dB"),
    ("100Gbps", "100", "MPO-12", "hosts.ports.speed: bandwidth '100' has no unit"),
    ("unit: 40", "unit: top", "top", "panels.unit: 'top' is not an integer"),
    ("kind: patch panel", "kind: switch", "switch", "panels.kind: 'switch' is not one of patch panel, ocs"),
    ("mode: duplex", "mode: both", "both", "panels.ports.mode: 'both' is not one of simplex, duplex"),
    ("0.5dB", "0.5", "0.5", "panels.ports.loss: '0.5' is not a loss"),
    ("[2-4]", "[2-5]", "h[08", "hosts: ranges of different lengths: name 3, unit 4"),
    ('h[08-10]"\n', 'h[08-10][1-2]"\n', "h[08", "hosts.name: 'h[08-10][1-2]' must have one range"),
    ("[2-4]", "[4-2]", "[4-2]", "hosts.unit: the range in '[4-2]' is empty"),
    ("[2-4]", "[2-4:0]", "[2-4:0]", "hosts.unit: the range in '[2-4:0]' is empty"),
    ("[2-4]", "[1-999999999]", "[1-", "hosts.unit: the range in '[1-999999999]' is empty or too long"),
    (
        '"r[1-2]", x: "[0-600:600]mm"',
        '"r1[1-1]", x: 0m}\n  - {rack: r11, x: 0m',
        "r1[",
        "racks: the field 'y' is missing",
    ),
    ("[1-2]", "[1-1]", "r[1", "racks: ranges of different lengths: rack 1, x 2"),
    ("name: big", "name: h09", "h09", "hosts.name: there are two hosts 'h09'"),
    ('"eth[0-1]"', "eth0, connector: LC, speed: 25Gbps}\n      - {name: eth0", "eth0", "hosts.ports.name: host 'h08'"),
    ("{name: S", "{name: big", "{name: big", "panels.name: there are two devices 'big'"),
    ("{label: B,", "{label: A2, mode: duplex}\n      - {label: B,", "A2", "panels.ports.label: panel 'P' has two"),
    ('"A[3-4]", B', "C", "blocked", "panels.blocked: there is no port 'C' to block"),
    ("kind: ocs", "kind: ocs, field: hall", "kind: ocs", "panels.field: a circuit switch is a field of its own"),
    ("host: big", "host: bog", "bog", "cabling.host: there is no host 'bog'"),
    ("port: q", "port: r", "port: r", "cabling.port: host 'big' has no port 'r'"),
    ("lane: ", 'lane: "[2-5]"} #', "[2-5]", "cabling: the field 'panel' is missing"),
    ('"[1-4]"', '"[2-5]"', "[2-5]", "cabling.lane: port 'q' has no lane 5"),
    ('S, panel_port: "[5-8]"', 'T, panel_port: "[5-8]"', "T,", "cabling.panel: there is no panel 'T'"),
    ("[5-8]", "[6-9]", "[6-9]", "cabling.panel_port: panel 'S' has no port '9'"),
    ("[5-8]", "[3-6]", "[3-6]", "cabling.panel_port: port '3' of 'S' takes two lanes"),
    ('S, panel_port: "[5-8]"', 'P, panel_port: "A[1-4]"', "A[1-4]", "cabling.panel_port: port 'A3' is blocked"),
    ('lane: "[1-4]"', "lane: 1", "lane", "cabling.lane: lane 1 of 'big', 'q' is cabled twice"),
]

WRONG_TABLES = [
    ("device,kind", "device,sort", "sort", "the header has columns"),
    (",blocked", "", "a,", "12 cells, the header has 11"),
    (",port,", ",", "device", "the header has columns"),
    ("5 6 7 8,,,", "5 6 7 8,,", "b,", "11 cells, the header has 12"),
    ("b,host,r1", "b,host,", "b,", "rack: the cell is empty"),
    ("b,host", 'b,"ho"st', "b,", "not CSV"),
    ("b,host", "b,hast", "b,", "kind: 'hast' is not one of host, patch panel, ocs"),
    ("P,ocs,r2,,2", "P,ocs,r3,,2", "r3", "rack: the first row of 'P' says otherwise"),
    ("5 6 7 8", "5 6 7", "b,", "panel_ports: expected a panel and a label for each of the 4 lanes of 'eth0'"),
    ("5 6 7 8", "4 5 6 7", "b,", "cabling.panel_port: port '4' of 'P' takes two lanes"),
    (",,8,,,,,simplex,,", ",,8,,,,,simplex,yes,", "b,", "cabling.panel_port: port '8' is blocked"),
    ("P,ocs,r2,,2", "P,ocs,r2,,1", "1dB", "panels.ports.label: panel 'P' has two ports labelled '1'"),
    ("4,eth0,MPO-12,4x25Gbps", "4,eth0,MPO-12,", "b,", "the field 'speed' is missing"),
    ("5 6 7 8,,,", "5 6 7 8,simplex,,", "b,", "mode: a host has none"),
]


@pytest.mark.parametrize(
    ("name", "case"), [*(("room.yaml", case) for case in WRONG), *(("ports.csv", case) for case in WRONG_TABLES)]
)
def test_errors_name_file_line_and_field(tmp_path: Path, name: str, case: tuple[str, str, str, str]) -> None:
    old, new, at, message = case
    text = TABLE if name == "ports.csv" else ROOM
    assert old in text
    wrong = text.replace(old, new, 1)
    lines = [line for line, content in enumerate(wrong.splitlines(), start=1) if at in content]
    path = written(tmp_path, wrong, name)
    with pytest.raises(FileFormatError) as caught:
        read_inventory(path)
    assert any(str(caught.value).startswith(f"{path}: line {line}: {message}") for line in lines), str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hosts: [", "line 2: not YAML"),
        ("- 1", "line 1: inventory: expected the fields"),
        ("", "this is an empty file, not an inventory"),
        ("name: a\n---\nname: b\n", "there is more than one document"),
        ("panels: []", "hosts.name: there are no hosts"),
    ],
)
def test_files_that_are_no_inventories(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(FileFormatError) as caught:
        read_inventory(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_the_file_at_fault_is_named(tmp_path: Path) -> None:
    table = written(tmp_path, TABLE.replace("5 6 7 8", "4 5 6 7"), "ports.csv")
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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ('"a\\tb"', r"'a\tb' has a character that cannot be printed, '\t'"),
        ('"a\\nb"', r"'a\nb' has a character that cannot be printed, '\n'"),
        ('"a\u202eb"', r"'a\u202eb' has a character that cannot be printed, '\u202e'"),
        ('" S"', "' S' begins or ends with a blank"),
        ("S" * 65, f"'{'S' * 20}...' has 65 letters; a label takes at most 64"),
        ('""', "expected text"),
        ("[S]", "expected text"),
    ],
)
def test_names_must_fit_on_a_label(tmp_path: Path, name: str, message: str) -> None:
    text = ROOM.replace("{name: S,", f"{{name: {name},").replace("panel: S", "panel: P")
    path = written(tmp_path, text)
    line = next(number for number, content in enumerate(text.splitlines(), start=1) if "kind: ocs" in content)
    with pytest.raises(FileFormatError) as caught:
        read_inventory(path)
    assert str(caught.value) == f"{path}: line {line}: panels.name: {message}"


@pytest.mark.parametrize("lengths", ["[]", "[0m, 2m]"])
def test_stock_has_lengths(tmp_path: Path, lengths: str) -> None:
    path = written(tmp_path, ROOM.replace("[5m, 200cm]", lengths))
    with pytest.raises(FileFormatError, match=r"line 4: stock\.LC duplex: expected at least one length"):
        read_inventory(path)


def test_an_inventory_is_not_changed_from_outside() -> None:
    made = plain_inventory(3, 2)
    hosts, stock = list(made.hosts), {"LC simplex": [Fraction(1), Fraction(2)]}
    racks = {"": {"r0": (Fraction(0), Fraction(0))}}
    inventory = Inventory(hosts, made.panels, stock=stock, racks=racks)  # type: ignore[arg-type]
    hosts.pop()
    stock["LC simplex"].pop()
    racks[""]["r1"] = (Fraction(1), Fraction(1))
    assert inventory.hosts == made.hosts
    assert inventory.stock == {"LC simplex": (Fraction(1), Fraction(2))}
    assert inventory.racks == {"": {"r0": (Fraction(0), Fraction(0))}}


# -- the table of fields: what is specified once is read, written, kept and documented everywhere ---------------------


PACKAGE = Path(topodesign.__file__).parent

few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

COLOURED = r"""
import importlib.abc, importlib.util, json, sys
from pathlib import Path

NAME = "topodesign.wiring.inventory.devices"
FIELD = '    colour: Annotated[str, fields.Text("colour of the jacket")] = ""\n\n'

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, Loader()) if name == NAME else None

class Loader(importlib.abc.InspectLoader):
    def get_source(self, name):
        text = (Path(sys.argv[1]) / "wiring/inventory/devices.py").read_text()
        place = text.index("    @property", text.index("class Port:"))
        return text[:place] + FIELD + text[place:]

sys.meta_path.insert(0, Finder())
from topodesign.wiring.inventory.devices import Port
from topodesign.wiring.inventory.fields import table_of
from topodesign.wiring.inventory.files import format_inventory, read_inventory
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.netbox.model import as_objects
from topodesign.wiring.netbox.reading import inventory_of

room = "hosts: [{name: a, rack: r, ports: [{name: 'e[1-2]', connector: LC, speed: 1Gbps, colour: red}]}]"
Path("room.yaml").write_text(room + "\npanels: [{name: P, kind: ocs, rack: r, ports: [{label: 1, mode: duplex}]}]")
Path("room.csv").write_text("device,kind,rack,port,connector,speed,colour,mode\n"
    "a,host,r,e1,LC,1Gbps,red,\na,host,r,e2,LC,1Gbps,red,\nP,ocs,r,1,,,,duplex\n")
read = read_inventory("room.yaml")
assert [port.colour for port in read.hosts[0].ports] == ["red", "red"]
assert read_inventory("room.csv") == read
assert "colour: red" in format_inventory(read)
Path("again.yaml").write_text(format_inventory(read))
assert read_inventory("again.yaml").hosts == read.hosts
every = table_of(Inventory)
assert every.load(json.loads(json.dumps(every.dump(read))), "inventory") == read
assert inventory_of(as_objects(read)) == read
colour = next(one for one in table_of(Port).fields if one.name == "colour")
assert (colour.describe(), colour.meaning) == ("text", "colour of the jacket")
"""


def test_a_new_field_is_one_line_in_one_file(tmp_path: Path) -> None:
    """A port gets a colour by a line in devices.py; all else follows, the page by the same table."""
    command = [sys.executable, "-c", COLOURED, str(PACKAGE)]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


@few
@given(inventory=inventories())
def test_rooms_are_kept_by_files_plans_and_netbox(inventory: Inventory, tmp_path: Path) -> None:
    trays = (Tray("", "r1", "x", Fraction(1, 2), Fraction(1), Fraction(3, 10)),) * 2
    room = replace(inventory, name=inventory.name or "room", trays=(*trays, Tray("lab", "r1", "r 2", *trays[0][3:])))
    every = table_of(Inventory)
    assert every.load(every.dump(room), "inventory") == room
    path = tmp_path / "room.yaml"
    path.write_text(format_inventory(room))
    assert read_inventory(path) == room
    try:
        objects = as_objects(room)
    except ParameterError as error:
        assume("rename" not in str(error))
        raise
    found = read_objects(objects)
    assert sorted(found.trays) == sorted(room.trays)
    assert replace(found, trays=room.trays) == room


def test_sides_of_switches_come_back_from_netbox() -> None:
    room = inventory_of(2, 2, (4,), kind="ocs", mode="duplex")
    ports = tuple(replace(port, side="1" if place < 2 else "2") for place, port in enumerate(room.panels[0].ports))
    room = replace(room, panels=(replace(room.panels[0], ports=ports),))
    assert read_objects(as_objects(room)) == room


def test_ports_are_blocked_one_by_one_or_in_a_list(tmp_path: Path) -> None:
    text = """
hosts: [{name: a, rack: r, ports: [{name: e, connector: LC, speed: 1Gbps}]}]
panels: [{name: P, kind: ocs, rack: r, ports: [{label: 1, mode: duplex}, {label: 2, mode: duplex}]}]
"""
    path = tmp_path / "room.yaml"
    path.write_text(text.replace("{label: 2,", "{label: 2, blocked: yes,"))
    alone = read_inventory(path)
    path.write_text(text.replace("rack: r, ports: [{label", "rack: r, blocked: [2], ports: [{label"))
    assert read_inventory(path) == alone
    assert [port.blocked for port in alone.panels[0].ports] == [False, True]
