"""Inventories to begin with: what is written is read as it was meant, and plans at once."""

from __future__ import annotations

import csv
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, assume, given, settings

from tests.samples.netbox import ANSWERS, GOOD_TOKEN, recorded, serving
from tests.wiring.test_netbox import inventories
from topodesign.base.errors import FileFormatError, ParameterError, TopodesignError
from topodesign.cli.main import program
from topodesign.wiring.check.lldp import hosts_from_lldp
from topodesign.wiring.inventory.answers import init_wiring, plain_inventory
from topodesign.wiring.inventory.files import format_inventory, read_inventory
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.netbox.reading import read_netbox
from topodesign.wiring.plan.wire import plan_wiring

CONFIGS = Path(__file__).parent.parent.parent / "configs"
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def run(*arguments: str) -> Result:
    """Run the command as a user does, its errors told in a line."""
    found = CliRunner().invoke(program, ["wire", "init", *arguments])
    if isinstance(found.exception, TopodesignError):
        found.stderr_bytes, found.exit_code = str(found.exception).encode(), 2
    return found


@few
@given(inventory=inventories())
def test_the_text_says_the_inventory(inventory: Inventory, tmp_path: Path) -> None:
    assume(all(len(stock) for stock in inventory.stock.values()))
    path = tmp_path / "room.yaml"
    path.write_text(format_inventory(inventory))
    want = replace(inventory, name=inventory.name or path.stem)
    assert read_inventory(path) == want


def test_sides_of_switches_are_kept(tmp_path: Path) -> None:
    plain = plain_inventory(2, 2, kind="ocs", mode="duplex")
    ports = tuple(replace(port, side="1" if port.label < "3" else "2") for port in plain.panels[0].ports)
    inventory = replace(plain, panels=(replace(plain.panels[0], ports=ports),))
    path = tmp_path / "room.yaml"
    path.write_text(format_inventory(inventory))
    assert read_inventory(path) == inventory


@pytest.mark.parametrize("name", ["inventory_testbed.yaml", "inventory_room1024.yaml", "inventory_testbed.csv"])
def test_ranges_are_found_again(name: str, tmp_path: Path) -> None:
    inventory = read_inventory(CONFIGS / name)
    text = format_inventory(inventory)
    path = tmp_path / name.replace(".csv", ".yaml")
    path.write_text(text)
    assert read_inventory(path) == inventory
    assert len(text.splitlines()) < 150, "a thousand hosts are not a thousand lines"


def test_what_a_file_cannot_say_is_refused() -> None:
    room = init_wiring(2)
    odd = replace(room, hosts=(replace(room.hosts[0], name="a[0]"), *room.hosts[1:]))
    with pytest.raises(ParameterError, match="begins a range"):
        format_inventory(odd)
    with pytest.raises(ParameterError, match="not a decimal"):
        format_inventory(replace(room, slack=Fraction(1, 3)))


@pytest.mark.parametrize(
    ("options", "spec"),
    [
        ("--hosts 12", "circulant(12,2,3)"),
        ("--hosts 8 --ports 3 --connector LC --speed 400Gbps --kind ocs --panels 3", "hypercube(3)"),
        ("--hosts 40 --mode duplex --panels 2", "torus(5,8)"),
        ("--hosts 6 --panels 5 --panel-ports 9", "circulant(6,1,2)"),
    ],
)
def test_answers_make_a_file_that_plans_at_once(options: str, spec: str, tmp_path: Path) -> None:
    path = tmp_path / "room.yaml"
    found = run(*options.split(), "-o", str(path))
    assert found.exit_code == 0, found.output
    assert f"wrote {path}" in found.stderr
    assert path.read_text().count("\n#") >= 6
    room = read_inventory(path)
    plan = plan_wiring(spec, room)
    assert plan.topology.nodes == len(room.hosts)
    assert plan.bill().metres is not None
    again = run(*options.split(), "-o", str(path))
    assert again.exit_code == 2
    assert "there is such a file" in again.stderr
    assert run(*options.split()).stdout == path.read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", "requires --hosts"),
        ("--hosts 0", "0 is not in the range"),
        ("--hosts 4 --panel-ports 3", "have no room for 16 lanes"),
        ("--hosts 1000000", "hosts"),
        ("--hosts 100000 --ports 100", "lanes of all hosts"),
        ("--hosts 4 --speed fast", "fast"),
        ("--hosts 4 --site x", "require --netbox"),
        ("--lldp a --netbox b", "--lldp cannot be combined"),
        ("--lldp a --hosts 3", "--hosts cannot be combined with --lldp"),
        ("--netbox a --panel-ports 3", "--panel-ports cannot be combined with --netbox"),
        ("--hosts 4 -o room.csv", "use the ending .yaml"),
        ("--netbox nowhere", "not a directory"),
    ],
)
def test_wrong_answers_are_told(options: str, words: str) -> None:
    found = run(*options.split())
    assert found.exit_code == 2
    assert words in found.stderr


def test_a_terminal_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "room.yaml"
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "topodesign", "wire", "init", "--panels", "2", "-o", str(path)]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        os.close(theirs)
        os.write(ours, b"5\n2\nLC\n\nocs\n\n")
        said = child.communicate(timeout=600)
        os.close(ours)
    assert child.returncode == 0, said
    assert not said[0]
    assert said[1].count(b"]: ") == 6
    room = read_inventory(path)
    assert (len(room.hosts), len(room.panels), room.panels[0].kind) == (5, 2, "ocs")
    assert [port.connector for port in room.hosts[0].ports] == ["LC", "LC"]


def test_hosts_are_found_by_what_they_hear() -> None:
    room = read_inventory(CONFIGS / "inventory_testbed.yaml")
    hosts = hosts_from_lldp(CONFIGS / "observed_testbed.csv")
    assert [host.name for host in hosts] == [host.name for host in room.hosts]
    assert all(host.ports == room.hosts[0].ports for host in hosts)
    assert len(init_wiring(hosts).panels[0].ports) == 48


def test_slots_are_no_lanes_and_switches_no_hosts(tmp_path: Path) -> None:
    rows = [
        ("a", "enp1s0", "b", "enp1s0"),
        ("a", "enp2s0", "b", "enp2s0"),
        ("a", "mgmt", "tor", "7"),
        ("b", "swp1s0", "a", "swp1s3"),
        ("b", "mgmt", "tor", "8"),
    ]
    path = tmp_path / "heard.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([("host", "port", "neighbour_host", "neighbour_port"), *rows])
    hosts = hosts_from_lldp(path, "400Gbps")
    for host in hosts:
        assert {port.name: port.connector for port in host.ports} == {"enp1s0": "LC", "enp2s0": "LC", "swp1": "MPO-12"}
        assert all(port.speed * port.lanes == 400 * 10**9 for port in host.ports)
    path.write_text("host,port,neighbour_host,neighbour_port\na,mgmt,tor,7\n")
    with pytest.raises(FileFormatError, match="no host hears another"):
        hosts_from_lldp(path)


def test_netbox_makes_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pynetbox")
    monkeypatch.setenv("NETBOX_TOKEN", GOOD_TOKEN)
    want = run("--netbox", str(ANSWERS)).stdout
    with serving(recorded()) as address:
        assert run("--netbox", address).stdout == want
        alone = run("--netbox", address, "--site", "lab")
    assert alone.exit_code == 0
    assert alone.stdout == run("--netbox", str(ANSWERS), "--site", "lab").stdout
    path = tmp_path / "room.yaml"
    path.write_text(want)
    assert read_inventory(path) == read_netbox(ANSWERS)


def changed(kind: str, change: Callable[[dict[str, Any]], object]) -> dict[str, list[dict[str, Any]]]:
    answers = recorded()
    for one in answers[kind]:
        change(one)
    return answers


def read(answers: dict[str, list[dict[str, Any]]], **options: Any) -> Inventory:
    with serving(answers) as address:
        return read_netbox(address, token=GOOD_TOKEN, **options)


def test_a_room_that_others_entered_is_read() -> None:
    pytest.importorskip("pynetbox")
    roles = {"host": "GPU server", "patch panel": "Panel"}
    answers = changed("devices", lambda one: one["role"].update(name=roles[one["role"]["name"]]))
    assert read(answers) == read(recorded())
    assert read(answers, roles=["gpu server", "PANEL"]) == read(recorded())
    with pytest.raises(FileFormatError, match="roles there are: GPU server, Panel"):
        read(answers, roles=["router"])
    with pytest.raises(FileFormatError, match="there is no panel"):
        read(answers, roles=["GPU server"])
    with pytest.raises(FileFormatError, match="there is no host"):
        read(recorded(), speed="10Gbps")
    lc_only = read(recorded(), speed="25Gbps")
    assert [(host.name, len(host.ports)) for host in lc_only.hosts] == [("lc1", 2), ("lc2", 2)]
    assert {one.host for one in lc_only.cabling} == {"lc1", "lc2"}
    taken = {port.label for port in lc_only.panels[0].ports if port.blocked}
    assert taken == {"1", "2", "3", "6", "7"}, "what is cabled to other ports is not free"


def test_types_tell_connectors_and_speeds_and_copper_does_not_count() -> None:
    pytest.importorskip("pynetbox")

    def change(one: dict[str, Any]) -> None:
        big = one["device"]["name"].startswith("big")
        sort = "400gbase-dr4" if big and one["name"] == "eth0/4" else "1000base-t" if big else "100gbase-x-qsfp28"
        one.update(speed=None, label="", type={"value": sort, "label": ""})

    answers = changed("interfaces", change) | {"cables": []}
    room = read(answers)
    assert [[(port.name, port.connector) for port in host.ports] for host in room.hosts] == [
        [("eth0/4", "MPO-12")],
        [("eth0/4", "MPO-12")],
        [("p1", "LC"), ("p2", "LC")],
        [("p1", "LC"), ("p2", "LC")],
    ]
    assert {port.speed for host in room.hosts for port in host.ports} == {Fraction(10**11)}
    with pytest.raises(FileFormatError, match="neither its speed nor a type"):
        read(changed("interfaces", lambda one: one.update(speed=None, type={"value": "other", "label": ""})))
