"""The table of fields: what is specified once is read, written, kept and documented everywhere."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings

import topodesign
from tests.samples.inventories import inventory_of
from tests.wiring.test_netbox import inventories
from topodesign.base.errors import ParameterError
from topodesign.wiring.inventory.devices import Tray
from topodesign.wiring.inventory.fields import table_of
from topodesign.wiring.inventory.files import format_inventory, read_inventory
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.netbox.model import as_objects
from topodesign.wiring.netbox.reading import inventory_of as read_objects

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
