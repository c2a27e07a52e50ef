"""As-built checks: what is observed is read whole, every fault is named, and the repair is the smallest."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.topologies import regular_digraphs
from tests.samples.wirings import bare, switch_files, wired
from topodesign import build
from topodesign.base.errors import FileFormatError
from topodesign.cli.wire.check import command
from topodesign.wiring.change.change import fewest_moves
from topodesign.wiring.change.patches import make_topology
from topodesign.wiring.check.cables import read_switch
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.check.evidence import Observed, Sighting
from topodesign.wiring.check.exchanges import compare_nets
from topodesign.wiring.check.observed import known_names, light_with_notes, read_dumps, read_lldp
from topodesign.wiring.inventory.devices import Lane
from topodesign.wiring.inventory.files import read_inventory
from topodesign.wiring.plan.decompose import without_loops
from topodesign.wiring.plan.files import load_wiring, save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import make_plan
from topodesign.wiring.plan.proof import check_plan

Heard = dict[Lane, Lane]


def heard_by(plan: WiringPlan) -> Heard:
    """What hosts hear if all is as planned."""
    heard = {}
    for connect in plan.connects:
        a, b = (Lane(end.host, end.port, end.lane) for end in (connect.a, connect.b))
        heard[b] = a
        if connect.mode == "duplex":
            heard[a] = b
    return heard


def seen(heard: Heard) -> Observed:
    return Observed(heard)


def interface(lane: Lane) -> str:
    return f"{lane.port}/{lane.lane}"


def chassis(lane: Lane) -> dict[str, Any]:
    return {lane.host: {"id": {"type": "mac", "value": "00:16:3e:00:00:01"}, "descr": "Debian", "mgmt-ip": "10.0.0.1"}}


def port(lane: Lane) -> dict[str, Any]:
    return {"id": {"type": "ifname", "value": interface(lane)}, "descr": interface(lane), "ttl": "120"}


def keyed(heard: Heard, host: str) -> dict[str, Any]:
    """One object an interface, as ``lldpctl -f json`` prints several."""
    bodies = {lane: {"via": "LLDP", "chassis": chassis(sender), "port": port(sender)} for lane, sender in heard.items()}
    rows = {interface(lane): body for lane, body in bodies.items() if lane.host == host}
    return {"lldp": {"interface": rows}}


def listed(heard: Heard, host: str) -> dict[str, Any]:
    """A list of objects with one interface each; the port by its MAC address, and its name as description."""
    rows = []
    for receiver, sender in heard.items():
        if receiver.host == host:
            body = port(sender) | {"id": {"type": "mac", "value": "00:16:3e:00:00:02"}}
            rows.append({interface(receiver): {"via": "LLDP", "chassis": chassis(sender), "port": body}})
    return {"lldp": {"interface": rows}}


def verbose(heard: Heard, host: str) -> dict[str, Any]:
    """The ``json0`` format: lists everywhere, and interfaces with a name."""
    rows = [
        {
            "name": interface(receiver),
            "via": "LLDP",
            "chassis": [{"id": [{"type": "mac", "value": "00:16:3e:00:00:01"}], "name": [{"value": sender.host}]}],
            "port": [{"id": [{"type": "ifname", "value": interface(sender)}], "descr": [{"value": "uplink"}]}],
        }
        for receiver, sender in heard.items()
        if receiver.host == host
    ]
    return {"lldp": [{"interface": rows}]}


def write_csv(path: Path, heard: Heard, hosts: tuple[str, ...]) -> None:
    lines = ["host,port,neighbour_host,neighbour_port", *(f"{host},eth9,," for host in hosts)]
    lines += [f"{r.host},{interface(r)},{s.host},{interface(s)}" for r, s in heard.items()]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("shape", [keyed, listed, verbose])
def test_lldpctl_files_are_read(tmp_path: Path, shape: Callable[[Heard, str], dict[str, Any]]) -> None:
    plan = wired(build("circulant(12,2,3)"), 4)
    heard = heard_by(plan)
    for host in plan.hosts:
        (tmp_path / f"{host}.json").write_text(json.dumps(shape(heard, host)))
    assert read_lldp(tmp_path, plan) == seen(heard)
    assert check_wiring(plan, read_lldp(tmp_path, plan)).ok
    (tmp_path / "h3.json").write_text('{"lldp": {}}')
    (tmp_path / "h4.json").unlink()
    found = read_lldp(tmp_path, plan)
    assert found.unseen == {"h4"}
    assert found.heard == {lane: sender for lane, sender in heard.items() if lane.host not in {"h3", "h4"}}
    faults = Counter(finding.fault for finding in check_wiring(plan, found).findings)
    assert faults == {"unseen": 1, "dark": 4}


def test_csv_is_read(tmp_path: Path) -> None:
    plan = wired(build("circulant(12,2,3)"), 4, mode="duplex")
    path = tmp_path / "seen.csv"
    write_csv(path, heard_by(plan), plan.hosts)
    assert check_wiring(plan, read_lldp(path, plan)).ok
    path.write_text(path.read_text().replace("neighbour", "neighbor").replace("h1,", "h1.lab.example,"))
    assert check_wiring(plan, read_lldp(path, plan)).ok


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "host,port,neighbour_host\n", "line 1: the column neighbour_port"),
        ("a.csv", "host,port,neighbour_host,neighbour_port\nh0,p0/1,h1\n", "line 2: expected 4 cells"),
        ("a.csv", "host,port,neighbour_host,neighbour_port\nx,p0/1,h1,p0/1\n", "there is no host 'x' in the inventory"),
        ("h0.json", "{}", "lldpctl"),
        ("h0.json", '{"lldp": {"interface": {"p0/1": {"chassis": {}, "port": 3}}}}', "lldpctl"),
        ("h0.json", '{"lldp": {"interface": {"p0/1": {"port": 3}}}}', "interface 'p0/1'.*lldpctl"),
        ("h0.json", '{"lldp": [3]}', "lldpctl"),
        ("h0.json", '{"lldp":\n}', "line 2: not JSON"),
        ("h0.json", "[" * 10**5, "not JSON"),
        ("a.csv", "host,port,neighbour_host,neighbour_port\n", "nothing in it; expected rows"),
        ("x.json", '{"lldp": {}}', "there is no host 'x'"),
        ("h0.txt", "", "an empty file"),
    ],
)
def test_bad_observations_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    plan = wired(build("biring(2,4)"), 2)
    with pytest.raises(FileFormatError, match=r"nothing in it; expected files HOST\.json"):
        read_lldp(tmp_path, plan)
    (tmp_path / name).write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read_lldp(tmp_path / name, plan)


def neighbour(name: str | None, port: str, age: str) -> dict[str, Any]:
    """One neighbour as ``lldpctl -f json`` prints it: a chassis without a name is not under a key."""
    body = {"id": {"type": "mac", "value": "0c:42:a1:00:00:01"}, "mgmt-ip": ["10.0.0.1", "fe80::1"]}
    described = {"id": {"type": "mac", "value": "0c:42:a1:00:00:02"}, "descr": port, "ttl": "120"}
    return {"via": "LLDP", "rid": "1", "age": age, "chassis": body if name is None else {name: body}, "port": described}


def test_a_port_that_the_inventory_lacks_is_a_finding(tmp_path: Path) -> None:
    plan = wired(build("biring(2,4)"), 2)
    path = tmp_path / "heard.csv"
    rows = [f"{r.host},{r.port}/{r.lane},{s.host},{s.port}/{s.lane}" for r, s in heard_by(plan).items()]
    receiver, sender = next(iter(heard_by(plan).items()))
    rows[0] = f"{receiver.host},{receiver.port}/{receiver.lane},{sender.host},Ethernet9"
    path.write_text("\n".join(["host,port,neighbour_host,neighbour_port", *rows]))
    (finding, *others) = check_wiring(plan, read_lldp(path, plan)).findings
    assert not others
    assert finding.fault == "name"
    assert finding.seen[0].startswith(sender.host)
    assert "Ethernet9" in finding.seen[0]
    assert "--interfaces" in finding.words


def test_several_neighbours_of_an_interface(tmp_path: Path) -> None:
    plan = wired(build("biring(2,4)"), 2)
    rows = [
        {"p0/1": neighbour(None, "Interface 0 as 100000", "33 days, 21:52:50")},  # the card itself
        {"p0/1": neighbour("h1.lab.example", "p0/2", "0 day, 02:39:50")},
        {"p0/1": neighbour("h2", "p0/1", "1 day, 00:00:02")},  # has gone since
        {"eno1": neighbour("switch7", "Ethernet3", "2 days, 00:00:00")},  # management
        {"eno1": neighbour("h2", "eno1", "2 days, 00:00:00")},
        {"p0s1": neighbour(None, "Interface 1 as 100000", "3 days, 00:00:00")},  # lane 2, as Linux calls it
    ]
    path = tmp_path / "h0.json"
    path.write_text(json.dumps({"lldp": {"interface": rows}}))
    found = read_lldp(path, plan)
    assert found.heard == {Lane("h0", "p0", 1): Lane("h1", "p0", 2)}
    (sighting,) = found.sightings
    assert sighting.receivers == (Lane("h0", "p0", 2),)
    assert "0c:42:a1:00:00:01" in sighting.there
    assert found.unseen == {"h1", "h2", "h3"}
    path.write_text(
        json.dumps({"lldp": {"interface": [{"p0/1": [body for row in rows for body in row.values()][:3]}]}})
    )
    assert read_lldp(path, plan).heard == found.heard
    rows[2]["p0/1"]["age"] = rows[1]["p0/1"]["age"]
    path.write_text(json.dumps({"lldp": {"interface": rows}}))
    found = read_lldp(path, plan)
    assert found.unclear == {Lane("h0", "p0", 1): "hears two neighbours, h1 p0/2 and h2 p0/1"}
    assert not found.heard


def test_the_later_of_two_that_hear_one_transmitter_counts(tmp_path: Path) -> None:
    plan = wired(build("biring(2,4)"), 2)
    ages = {"h0": "0 day, 00:10:00", "h1": "0 day, 00:00:09"}
    for host, age in ages.items():
        rows = {"p0/1": neighbour("h3", "p0/1", age)}
        (tmp_path / f"{host}.json").write_text(json.dumps({"lldp": {"interface": rows}}))
    assert read_lldp(tmp_path, plan).heard == {Lane("h1", "p0", 1): Lane("h3", "p0", 1)}


def test_a_hub_between_is_a_finding_and_counts_as_planned(tmp_path: Path) -> None:
    plan = wired(build("biring(2,4)"), 2)
    heard = heard_by(plan)
    (first, sender), (second, other), *_ = heard.items()
    path = tmp_path / "heard.csv"
    write_csv(path, heard, plan.hosts)
    with path.open("a") as file:  # each of two hears the other's neighbour as well
        file.write(f"{first.host},{interface(first)},{other.host},{interface(other)}\n")
    result = check_wiring(plan, lldp=path)
    assert {finding.fault for finding in result.findings} == {"unclear"}
    assert "hub" in result.findings[0].words
    assert not result.repair.made
    heard[second] = sender  # one transmitter at two receivers
    write_csv(path, heard, plan.hosts)
    result = check_wiring(plan, lldp=path)
    assert [finding.fault for finding in result.findings] == ["unclear", "unclear"]
    assert not result.repair.made


def test_hosts_that_the_inventory_lacks_are_a_finding(tmp_path: Path) -> None:
    plan = wired(build("biring(2,4)"), 2)
    path = tmp_path / "heard.csv"
    write_csv(path, heard_by(plan), (*plan.hosts, "router7"))
    (finding,) = check_wiring(plan, lldp=path).findings
    assert finding.fault == "outsider"
    assert "router7" in finding.words


@pytest.mark.parametrize(
    ("here", "there", "words"),
    [
        ("-40", "-2.5", "the fibre to {here} is dark, the other is lit"),
        ("-2.5", "", "the fibre to {there} is dark, the other is lit"),
        ("-inf", "-41", "each fibre to {here} and {there} is dark"),
        ("-1", "0.5", "light arrives"),
    ],
)
def test_light_says_which_fibre_is_dark(tmp_path: Path, here: str, there: str, words: str) -> None:
    plan = wired(build("biring(2,4)"), 2, mode="duplex")
    heard = heard_by(plan)
    lane, other = next(iter(heard.items()))
    for gone in (lane, other):
        del heard[gone]
    light = tmp_path / "light.csv"
    rows = [f"{one.host},{interface(one)},{power}" for one, power in ((lane, here), (other, there))]
    light.write_text("\n".join(["host,port,rx_dbm", *rows, "elsewhere,eth0,-3"]) + "\n")
    (finding,) = check_wiring(plan, seen(heard), light=light).findings
    assert finding.fault == ("silent" if "arrives" in words else "dark")
    names = {"here": f"{lane.host} {interface(lane)}", "there": f"{other.host} {interface(other)}"}
    if "each" in words:
        names = dict(zip(("here", "there"), sorted(names.values()), strict=True))
        assert all(name in finding.words for name in names.values())
        assert "each fibre" in finding.words
    else:
        assert words.format(**names) in finding.words


@pytest.mark.parametrize("power", ["much", "nan", "99", "inf"])
def test_powers_that_are_none_are_refused(tmp_path: Path, power: str) -> None:
    plan = wired(build("biring(2,4)"), 2)
    path = tmp_path / "light.csv"
    path.write_text(f"host,port,rx_dbm\nh0,p0/1,{power}\n")
    with pytest.raises(FileFormatError, match=r"light\.csv.*line 2.*not a power in dBm"):
        light_with_notes(path, known_names(plan))


def test_a_directory_of_all_that_hosts_and_switches_tell(tmp_path: Path) -> None:
    plan = wired(build("circulant(12,2,3)"), 4, 2, kind="ocs")
    for name, text in switch_files("scpi", plan).items():
        if name.endswith(".scpi"):
            (tmp_path / name).write_text(text)
    assert check_wiring(plan, dumps=tmp_path).ok  # circuits alone
    heard = heard_by(plan)
    for host in plan.hosts:
        (tmp_path / f"{host}.json").write_text(json.dumps(keyed(heard, host)))
    assert check_wiring(plan, dumps=tmp_path).ok
    first, second = (receiver for receiver in list(heard)[:3:2])
    heard[first], heard[second] = heard[second], heard[first]
    for host in plan.hosts:
        (tmp_path / f"{host}.json").write_text(json.dumps(keyed(heard, host)))
    faults = {finding.fault for finding in check_wiring(plan, dumps=tmp_path).findings}
    assert faults
    assert "circuit" not in faults  # the switches do as planned, so that it is the cabling of hosts
    with pytest.raises(FileFormatError, match="not a directory"):
        read_dumps(tmp_path / "h0.json", plan)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileFormatError, match="nothing in it"):
        read_dumps(tmp_path / "empty", plan)


def test_circuits_that_are_not_as_planned_are_named(tmp_path: Path) -> None:
    plan = wired(build("circulant(12,2,3)"), 4, 2, kind="ocs")
    planned = read_switch_of(plan, tmp_path)
    first, _, _, _, _, second, *_ = planned
    moved = planned | {first: planned[second], second: planned[first]}
    found = check_wiring(plan, replace(seen(moved), circuits=moved))
    assert Counter(finding.fault for finding in found.findings) == {"circuit": 2, "swapped": 1}
    assert found.repair.moves == 2
    found = check_wiring(plan, replace(seen(heard_by(plan)), circuits=moved))
    assert {finding.fault for finding in found.findings} == {"circuit", "cabling"}  # fibres are crossed as well
    assert not found.cabled


def read_switch_of(plan: WiringPlan, directory: Path) -> Heard:
    for name, text in switch_files("scpi", plan).items():
        (directory / name).write_text(text)
    return read_switch(directory, plan).heard


def test_circuits_of_switches_are_read(tmp_path: Path) -> None:
    plan = wired(build("circulant(12,2,3)"), 4, 2, kind="ocs")
    for name, text in {**switch_files("sonic", plan), **switch_files("scpi", plan)}.items():
        (tmp_path / name).write_text(text)
    sonic, scpi = tmp_path / "sonic", tmp_path / "scpi"
    for folder, ending in ((sonic, ".json"), (scpi, ".scpi")):
        folder.mkdir()
        for panel in plan.inventory.panels:
            (folder / (panel.name + ending)).write_text((tmp_path / (panel.name + ending)).read_text())
        assert read_switch(folder, plan) == seen(heard_by(plan))
    with pytest.raises(FileFormatError, match="no file for switch 'panel1'"):
        read_switch(sonic / "panel0.json", plan)
    for text, message in (
        ("{}", "OCS_CROSS_CONNECT"),
        ('{"OCS_CROSS_CONNECT": {"x": {"a_side": "99A", "b_side": "1B"}}}', "no port '99'"),
        ('{"OCS_CROSS_CONNECT": {"x": {"a_side": "1B", "b_side": "1A"}}}', "from a side like 1A"),
        (
            '{"OCS_CROSS_CONNECT": {"x": {"a_side": "1A", "b_side": "2B"}, "y": {"a_side": "3A", "b_side": "2B"}}}',
            "two circuits use 2B",
        ),
        ("{", "line 1: not JSON"),
    ):
        (sonic / "panel0.json").write_text(text)
        with pytest.raises(FileFormatError, match=message):
            read_switch(sonic, plan)
    for text, message in (("ERROR\n", "line 1: expected port lists"), ("(@1,2),(@30)", "line 1: 2 ports in and 1 ")):
        (scpi / "panel1.scpi").write_text(text)
        with pytest.raises(FileFormatError, match=message):
            read_switch(scpi, plan)
    (scpi / "panel1.scpi").write_text("(@),(@)\n")
    faults = Counter(finding.fault for finding in check_wiring(plan, read_switch(scpi, plan)).findings)
    assert faults == {"dark": 24}
    with pytest.raises(FileFormatError, match="only patch panels"):
        read_switch(scpi, wired(build("circulant(12,2,3)"), 4))


def test_patches_beside_a_switch_count_as_planned(tmp_path: Path) -> None:
    plan = wired(build("circulant(12,2,3)"), 4, 2, kind="ocs")
    boards = (plan.inventory.panels[0], replace(plan.inventory.panels[1], kind="patch panel"))
    mixed = replace(plan, inventory=replace(plan.inventory, panels=boards))
    path = tmp_path / "dump.json"
    path.write_text(switch_files("sonic", mixed)["panel0.json"])
    assert check_wiring(mixed, read_switch(path, mixed)).ok


def test_a_swapped_pair_is_found_and_named() -> None:
    plan = wired(build("circulant(12,2,3)"), 4)
    heard = heard_by(plan)
    one, two = Lane("h0", "p0", 1), Lane("h5", "p0", 3)
    heard[one], heard[two] = heard[two], heard[one]
    found = check_wiring(plan, seen(heard))
    (finding,) = found.findings
    assert finding.fault == "swapped"
    ends = {(connect.b.host, connect.b.port, connect.b.lane): connect for connect in plan.connects}
    assert set(finding.cables) == {ends[one].cable, ends[two].cable}
    for end in (ends[one].b, ends[two].b):
        assert f"{end.panel} {end.panel_port}B" in finding.words
    assert (found.to_plan, found.repair.moves, found.repair.fewest) == (2, 2, True)
    assert {connect.b for connect in found.repair.made} == {ends[one].b, ends[two].b}
    assert set(found.repair.after.connects) == set(plan.connects)


def test_faults_are_told_apart() -> None:
    plan = wired(build("circulant(12,2,3)"), 8)
    receivers = list(heard_by(plan))
    dark, misled, missing = receivers[0], receivers[10], receivers[20]
    heard = heard_by(plan)
    sender = heard.pop(dark)
    heard[misled] = Lane("h7", "p1", 4)  # a spare transmitter
    spare = Lane("h9", "p1", 4)
    heard[spare] = heard.pop(missing)
    found = check_wiring(plan, seen(heard))
    # what `misled` should hear is heard nowhere, which is what the wrong fibre in it already says
    assert [finding.fault for finding in found.findings] == ["wrong port", "unexpected", "dark", "missing"]
    assert interface(sender) in found.findings[2].words
    assert found.to_plan == found.repair.moves == 3
    check_plan(found.repair.after)
    assert found.repair.after.topology == plan.topology


def test_light_of_a_host_that_is_not_in_the_plan() -> None:
    plan = fewest_moves(bare(6, 2), build("biring(2,4)"), hosts=["h0", "h1", "h2", "h3"]).after
    heard = heard_by(plan)
    receiver = next(iter(heard))
    found = check_wiring(plan, seen(heard | {receiver: Lane("h5", "p0", 1)}))
    assert [finding.fault for finding in found.findings] == ["wrong port"]
    assert "hears h5 p0/1 instead of" in found.findings[0].words
    assert found.repair.moves == 1


def test_strangers_and_impossible_light() -> None:
    plan = wired(build("circulant(12,2,3)"), 4, 4)
    heard = heard_by(plan)
    receiver = next(iter(heard))
    other = next(sender for sender in heard.values() if sender.lane != receiver.lane)
    odd = check_wiring(plan, seen(heard | {receiver: other}))
    assert odd.findings[0].fault == "cabling"
    del heard[receiver]
    stranger = Sighting((receiver,), None, f"{receiver.host} {interface(receiver)}", "switch7 Ethernet3")
    strange = check_wiring(plan, Observed(heard, (stranger,)))
    assert not strange.repair.made, "it may be another name of the host"


@settings(max_examples=40, deadline=None)
@given(regular_digraphs(8, 3), st.data())
def test_the_repair_is_the_smallest(topology: Any, data: st.DataObject) -> None:
    plan = wired(topology, topology.degree)
    heard = heard_by(plan)
    receivers = sorted(heard)
    order = data.draw(st.permutations(range(len(receivers))))
    lost = data.draw(st.sets(st.sampled_from(receivers), max_size=2)) if receivers else set()
    built = {
        receiver: heard[receivers[place]]
        for receiver, place in zip(receivers, order, strict=True)
        if receiver not in lost
    }
    found = check_wiring(plan, seen(built))
    assert found.ok == (built == heard)
    exchanged = {lane for one in compare_nets(plan, seen(built)).exchanges for lane in one.lanes}
    apart = sum(built.get(receiver) != sender for receiver, sender in heard.items())
    assert found.to_plan <= apart
    assert exchanged or found.to_plan == apart
    wanted = Counter({(u, v): c for u, v, c in without_loops(topology).links()})
    have = Counter({(u, v): c for u, v, c in found.built.topology.links()})
    assert have == Counter((plan.node[s.host], plan.node[r.host]) for r, s in built.items())
    assert len(found.repair.made) == (wanted - have).total() <= found.to_plan
    assert found.repair.fewest
    assert found.other_order.moves <= found.repair.moves
    if found.repair.made and topology.nodes <= 5:
        orders = itertools.permutations(range(topology.nodes))
        renamed = (Counter({(p[u], p[v]): count for (u, v), count in wanted.items()}) for p in orders)
        assert len(found.other_order.made) == min((one - have).total() for one in renamed)
    for change in (found.repair, found.other_order):
        check_plan(change.after)
        assert change.after.topology == topology
    told = {cable for finding in found.findings for cable in finding.cables}
    where = {c.cable: Lane(c.b.host, c.b.port, c.b.lane) for c in plan.connects}
    assert told >= {cable for cable, lane in where.items() if built.get(lane) != heard[lane]}


@pytest.mark.parametrize("mode", ["simplex", "duplex"])
def test_another_order_of_the_hosts_is_found(mode: Any) -> None:
    wanted = build("torus(4,5)")
    plan = wired(wanted, 4, mode=mode)
    hosts = [plan.hosts[place] for place in np.random.default_rng(5).permutation(20)]
    other = dict(zip(plan.hosts, hosts, strict=True))
    heard = {r._replace(host=other[r.host]): s._replace(host=other[s.host]) for r, s in heard_by(plan).items()}
    found = check_wiring(plan, seen(heard))
    assert not found.ok
    assert found.decided
    assert found.repair.moves > 0
    assert found.other_order.moves == 0
    assert found.proposal is found.other_order
    assert make_topology(found.other_order.after.hosts, found.built.connects) == wanted


def test_a_swapped_duplex_patch_is_told_once() -> None:
    plan = wired(build("circulant(12,2,3)"), 4, mode="duplex")
    heard = heard_by(plan)
    one, two = plan.connects[0], plan.connects[9]
    b, d = (Lane(end.host, end.port, end.lane) for end in (one.b, two.b))
    a, c = heard[b], heard[d]
    heard |= {b: c, c: b, d: a, a: d}
    found = check_wiring(plan, seen(heard))
    (finding,) = found.findings
    assert (finding.fault, set(finding.cables)) == ("swapped", {one.cable, two.cable})
    assert found.repair.moves == 2
    # the words and the repair are about the same two ends
    old = {connect.cable: connect for connect in found.repair.removed}
    ends = [end for c in found.repair.made for end in {c.a, c.b} - {old[c.cable].a, old[c.cable].b}]
    assert len(ends) == 2
    assert all(f"{end.panel} {end.panel_port}" in finding.words for end in ends)
    del heard[b]
    assert {finding.fault for finding in check_wiring(plan, seen(heard)).findings} == {
        "swapped",
        "wrong port",
        "missing",
    }


def test_the_observed_testbed_has_one_swapped_pair() -> None:
    configs = Path(__file__).parents[2] / "configs"
    plan = make_plan(
        build("circulant(12,2,3)"), read_inventory(configs / "inventory_testbed.yaml"), mode="simplex", seed=0
    )
    found = check_wiring(plan, read_lldp(configs / "observed_testbed.csv", plan))
    (finding,) = found.findings
    assert finding.fault == "swapped"
    assert set(finding.cables) == {connect.cable for connect in found.repair.made}
    assert (found.repair.moves, found.repair.fewest, found.decided) == (2, True, True)


def test_command(tmp_path: Path) -> None:
    plan = wired(build("circulant(12,2,3)"), 4)
    save_wiring(plan, tmp_path / "plan.json")
    heard = heard_by(plan)
    write_csv(tmp_path / "seen.csv", heard, plan.hosts)
    arguments = [str(tmp_path / "plan.json"), "--lldp", str(tmp_path / "seen.csv")]
    good = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert (good.return_value, good.output) == (0, "as planned: 48 patches\n")
    one, two = next(iter(heard)), list(heard)[-1]
    heard[one], heard[two] = heard[two], heard[one]
    write_csv(tmp_path / "seen.csv", heard, plan.hosts)
    bad = CliRunner().invoke(command, [*arguments, "-o", str(tmp_path / "new.json")], standalone_mode=False)
    assert bad.return_value == 1
    assert bad.output.startswith("swapped: ")
    assert "restore the links of the plan, optimal (proven)" in bad.output
    assert load_wiring(tmp_path / "new.json").topology == plan.topology
    document = json.loads(CliRunner().invoke(command, [*arguments, "--json"], standalone_mode=False).stdout)
    assert (document["ok"], document["repair"]["moves"], document["isomorphic"]) == (False, 2, False)
