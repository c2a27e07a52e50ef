"""Outputs of more programs are read as what they say, and one that cannot be read leaves its host unseen."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.samples.inventories import inventory_of
from topodesign.base.errors import FileFormatError, InfeasibleError
from topodesign.topology.library import build
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.check.light import read_power
from topodesign.wiring.check.lldp import read_neighbours
from topodesign.wiring.check.names import KnownNames
from topodesign.wiring.inventory.devices import Lane
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import make_plan

NETWORKCTL = """\
LINK CHASSIS-ID        SYSTEM-NAME CAPS        PORT-ID PORT-DESCRIPTION
eth0 02:00:00:00:00:01 h1          .......a... eth1    n/a
eth1 02:00:00:00:00:02 n/a         .......a... eth0    to the left

Capability Flags:
a - Station

2 neighbor(s) listed.
"""
OLD_NETWORKCTL = (
    NETWORKCTL.replace("CHASSIS-ID", "CHASSIS ID")
    .replace("SYSTEM-NAME", "SYSTEM NAME")
    .replace("PORT-ID PORT-DESCRIPTION", "PORT ID PORT DESCRIPTION")
)
NETWORKCTL_JSON = json.dumps(
    {
        "Neighbors": [
            {
                "InterfaceIndex": 2,
                "InterfaceName": "eth0",
                "Neighbors": [{"ChassisID": "02:00:00:00:00:01", "PortID": "eth1", "SystemName": "h1"}],
            },
            {
                "InterfaceName": "eth1",
                "Neighbors": [{"ChassisID": "02:00:00:00:00:02", "PortID": "eth0", "PortDescription": "to the left"}],
            },
        ]
    }
)
XML = """\
<?xml version="1.0" encoding="UTF-8"?>
<lldp label="LLDP neighbors">
 <interface label="Interface" name="eth0" via="LLDP" rid="1" age="0 day, 00:00:41">
  <chassis label="Chassis"><id label="ChassisID" type="mac">02:00:00:00:00:01</id><name>h1</name></chassis>
  <port label="Port"><id label="PortID" type="ifname">eth1</id></port>
 </interface>
 <interface label="Interface" name="eth1" via="LLDP" rid="2" age="0 day, 00:00:41">
  <chassis label="Chassis"><id label="ChassisID" type="mac">02:00:00:00:00:02</id></chassis>
  <port label="Port"><id label="PortID" type="ifname">eth0</id><descr>to the left</descr></port>
 </interface>
</lldp>
"""
PDSH = "".join(f"h0: {line}\n" for line in NETWORKCTL.splitlines()) + "h7: bash: networkctl: command not found\n"
PORT_PAIRS = """\
CA     1  1 0x0000000000000001 4x NDR - CA     2  2 0x0000000000000011 ( 'h0 mlx5_0' - 'h1 mlx5_0' )
CA     2  2 0x0000000000000011 4x NDR - CA     1  1 0x0000000000000001 ( 'h1 mlx5_0' - 'h0 mlx5_0' )
CA     2  1 0x0000000000000012 4x NDR                                   'h1 mlx5_0'
SW     3  9 0x0000000000000021 4x NDR - CA     4  1 0x0000000000000022 ( 'leaf' - 'h2 mlx5_0' )
"""
LINKINFO = """\
CA: h0 mlx5_0:
      0x0000000000000001      1    1[  ] ==( 4X     106.25 Gbps Active/  LinkUp)==>       2    2[  ] "h1 mlx5_0" ( )
CA: h1 mlx5_0:
      0x0000000000000012      2    1[  ] ==(                Down/ Polling)==>             [  ] "" ( )
      0x0000000000000011      2    2[  ] ==( 4X     106.25 Gbps Active/  LinkUp)==>       1    1[  ] "h0 mlx5_0" ( )
"""
TWO = {("h0", "eth0", "h1", "eth1"), ("h0", "eth1", "", "eth0")}
CABLES = {("h0", "eth0", "h1", "eth1"), ("h1", "eth1", "h0", "eth0")}
INFINIBAND = {("h0", "mlx5_0", "h1", "mlx5_0/2"), ("h1", "mlx5_0/2", "h0", "mlx5_0")}
LAB = 'name: ring\ntopology:\n  links:\n    - endpoints: ["h0:eth0", "h1:eth1"]\n'
SONIC = "StartDevice,StartPort,EndDevice,EndPort,BandWidth\nh0,eth0,h1,eth1,200000\n"
SHEET = "Source,,,Destination,,\nHostname,Rack,Port,Hostname,Rack,Port,Cable\nh0,r1,eth0,h1,r2,eth1,DAC\n"


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("h0.txt", NETWORKCTL, TWO),
        ("h0.txt", OLD_NETWORKCTL, TWO),
        ("h0.json", NETWORKCTL_JSON, TWO),
        ("h0.txt", XML, TWO),
        ("h0.xml", XML, TWO),
        ("all.txt", PDSH, TWO),
        ("fabric.txt", PORT_PAIRS, INFINIBAND),
        ("fabric.txt", LINKINFO, INFINIBAND),
        ("ring.clab.yml", LAB, CABLES),
        ("links.csv", SONIC, CABLES),
        ("cut.csv", SHEET, CABLES),
        ("cut.csv", SHEET.replace(",", ";"), CABLES),
    ],
)
def test_what_programs_print_is_read(name: str, text: str, rows: set[tuple[str, ...]], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    told = read_neighbours(tmp_path / name)
    found = {(one.host, one.interface, "" if ":" in one.chassis else one.chassis, one.ports[0]) for one in told.entries}
    assert found == rows
    assert set(told.unread) == ({"h7"} if name == "all.txt" else set())


def test_a_tray_is_part_of_the_name_of_a_port(tmp_path: Path) -> None:
    (tmp_path / "cut.csv").write_text("Hostname,Tray,Port,Hostname,Tray,Port\nn1,1,2,n2,3,4\n")
    told = read_neighbours(tmp_path / "cut.csv")
    assert {(one.host, one.interface) for one in told.entries} == {("n1", "1-2"), ("n2", "3-4")}


def test_light_by_mlxlink_and_of_one_lane(tmp_path: Path) -> None:
    power = "Rx Power Current [dBm]             : -40,-1.25,0.5,-2 [-10.41..6]"
    (tmp_path / "h0.mlx5_0.mlxlink").write_text(f"Module Info\n-----------\n{power}\n")
    (tmp_path / "h1.eth0.ethtool").write_text('[{"rx_power": {"value": 1.0}}]')
    (tmp_path / "h2.eth0.ethtool").write_text("\tTransmitter technology  : 0xa0 (Copper cable unequalized)\n")
    told = read_power(tmp_path)
    assert {(one.host, one.interface, one.channel): one.dbm for one in told.powers} == {
        ("h0", "mlx5_0", 1): -40,
        ("h0", "mlx5_0", 2): -1.25,
        ("h0", "mlx5_0", 3): 0.5,
        ("h0", "mlx5_0", 4): -2,
        ("h1", "eth0", None): 0,
    }
    assert not math.isnan(told.powers[0].dbm)
    (words,) = told.unread
    assert "copper" in words


def ring(hosts: int = 4, lanes: int = 2) -> WiringPlan:
    return make_plan(
        build(f"biring(2,{hosts})"), inventory_of(hosts, lanes, (8 * hosts,), mode="duplex"), mode="duplex"
    )


def rows(plan: WiringPlan, **renamed: str) -> list[str]:
    """Rows of what hosts hear if all is as planned, with other names of interfaces."""
    ways = [way for connect in plan.connects for way in connect.ways]
    named = [(b.host, plan.interface(b), a.host, plan.interface(a)) for a, b in ways]
    return [",".join(renamed.get(cell, cell) for cell in row) for row in named]


HEAD = "host,port,neighbour_host,neighbour_port\n"


def test_a_table_maps_interfaces_and_hosts(tmp_path: Path) -> None:
    plan = ring()
    ports = sorted({lane.port for lane in plan.inventory.interfaces.values()})
    names = {port: f"enp{number}s0" for number, port in enumerate(ports)}
    told = rows(plan, **names, h3="gpu-3")
    (tmp_path / "heard.csv").write_text(HEAD + "\n".join(told))
    before = check_wiring(plan, lldp=tmp_path / "heard.csv")
    assert not before.ok
    assert not before.repair.made
    table = [f"*,{port},{name}" for port, name in names.items()]
    (tmp_path / "names.csv").write_text("host,port,interface\n" + "\n".join([*table, "h3,*,gpu-3"]))
    assert check_wiring(plan, lldp=tmp_path / "heard.csv", interfaces=tmp_path / "names.csv").ok


def test_a_wiring_that_waits_for_names_is_not_changed(tmp_path: Path) -> None:
    plan = ring(5)
    named = {port: f"enp{port}" for port in {lane.port for lane in plan.inventory.interfaces.values()}}
    told = [row.replace("h4,", "x,").replace("h2,", "h4,").replace("x,", "h2,") for row in rows(plan, **named)]
    (tmp_path / "heard.csv").write_text(HEAD + "\n".join(told))
    found = check_wiring(plan, lldp=tmp_path / "heard.csv")
    assert found.waits_for == "names"
    assert "link" in {finding.fault for finding in found.findings}
    with pytest.raises(InfeasibleError, match="interfaces"):
        found.as_wired()


def test_an_empty_file_is_a_host_that_is_not_seen(tmp_path: Path) -> None:
    plan = ring()
    for host in plan.hosts:
        told = [row for row in rows(plan) if row.startswith(f"{host},")]
        interfaces = []
        for row in told:
            _, port, other, far = row.split(",")
            body = {"chassis": {other: {"id": {"type": "mac", "value": "x"}}}, "port": {"id": {"value": far}}}
            interfaces.append({port: body})
        (tmp_path / f"{host}.json").write_text(json.dumps({"lldp": {"interface": interfaces}}))
    (tmp_path / "h1.json").write_text("")
    found = check_wiring(plan, lldp=tmp_path)
    (finding,) = found.findings
    assert finding.fault == "unseen"
    assert "empty" in finding.seen[0]
    assert not found.repair.made
    with pytest.raises(FileFormatError, match="empty"):
        check_wiring(plan, lldp=tmp_path / "h1.json")


@pytest.mark.parametrize(
    ("said", "lane"),
    [("eth0/2", 2), ("eth0s1", 2), ("eth0:3", 4), ("ETH0/1", 1), ("eth0_1", None), ("eth0.1", None), ("eth0s4", None)],
)
def test_spellings_of_lanes(said: str, lane: int | None) -> None:
    names = KnownNames(inventory_of(2, 4, (8,), mode="duplex"))
    assert names.lane("h0", said) == (None if lane is None else Lane("h0", "eth0", lane))


def test_lanes_that_a_host_numbers_from_one() -> None:
    names = KnownNames(inventory_of(2, 4, (8,), mode="duplex"))
    names.read_numbering([("h0", "eth0s1"), ("h0", "eth0s4"), ("h1", "eth0s0"), ("h1", "eth0s3")])
    assert names.lane("h0", "eth0s4") == Lane("h0", "eth0", 4)
    assert names.lane("h0", "eth0s1") == Lane("h0", "eth0", 1)
    assert names.lane("h1", "eth0s3") == Lane("h1", "eth0", 4)
    assert names.host("H0.lab.example") == "h0"
    assert names.host("h00") is None
