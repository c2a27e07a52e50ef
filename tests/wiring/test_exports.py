"""Wiring plans in files: what is written says what was meant, to us and to those it is written for."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from lxml import etree

from tests.floors import reached
from tests.samples.inventories import inventory_of
from tests.samples.plans import plan_of, plans
from tests.samples.topologies import regular_digraphs
from tests.samples.wirings import switch_files
from topodesign.base.atomic import write_directory, write_whole
from topodesign.base.errors import FileFormatError, InfeasibleError, ParameterError, TopodesignError
from topodesign.cli.wire import check as check_command
from topodesign.cli.wire import export as export_command
from topodesign.topology.library import build
from topodesign.topology.topology import Topology
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.exports.cables import COLOURS
from topodesign.wiring.exports.export import export_wiring
from topodesign.wiring.exports.formats.graphs import to_graph
from topodesign.wiring.exports.formats.labels import PAGE_HEIGHT, PAGE_WIDTH, PER_SHEET, sheets
from topodesign.wiring.exports.pages import page
from topodesign.wiring.exports.trace import show_wiring
from topodesign.wiring.inventory.devices import Mode, PanelKind, PanelPort, PortLabels
from topodesign.wiring.inventory.files import read_inventory
from topodesign.wiring.inventory.inventory import distance, format_metres, length
from topodesign.wiring.plan.cross_connects import End
from topodesign.wiring.plan.decompose import without_loops
from topodesign.wiring.plan.files import load_wiring, plan_text, save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import make_plan
from topodesign.wiring.switches.kinds.scpi import port_lists
from topodesign.wiring.switches.switch import format_pairs

SWITCHES = ("sonic", "scpi")
COME_BACK = ("patches", "netbox", *SWITCHES)
TESTBED = build("circulant(12,2,3)")
few = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def exported(plan: WiringPlan, file_format: str, directory: Path) -> Path:
    endings = {"patches": ".csv", "netbox": ".csv", "graphml": ".graphml", "json": ".json", "dot": ".dot"}
    path = directory / f"{len(list(directory.iterdir()))}{endings.get(file_format, '')}"
    export_wiring(plan, file_format, path)
    return path


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


@few
@given(plan=plans())
def test_a_plan_file_holds_the_whole_plan(plan: WiringPlan, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    save_wiring(plan, path)
    again = load_wiring(path)
    assert again == plan
    assert plan_text(again) == path.read_text()


def test_a_plan_file_keeps_the_spec(tmp_path: Path) -> None:
    save_wiring(plan_of(TESTBED), tmp_path / "plan.json")
    assert load_wiring(tmp_path / "plan.json").topology.spec == TESTBED.spec


@pytest.mark.floor(read=8)
@few
@given(plan=plans(), file_format=st.sampled_from(COME_BACK))
def test_what_is_exported_is_read_back(plan: WiringPlan, file_format: str, tmp_path: Path) -> None:
    if file_format in SWITCHES and plan.inventory.panels[0].kind != "ocs":
        with pytest.raises(ParameterError, match="no circuit switch"):
            export_wiring(plan, file_format, tmp_path / "none")
        return
    reached("read")
    assert check_wiring(plan, export=exported(plan, file_format, tmp_path)).ok


@st.composite
def rooms(draw: st.DrawFn) -> WiringPlan:
    """Plans as the planner makes them: several panels or switches, fields, spare hosts, breakout and duplex ports."""
    topology = draw(regular_digraphs(7, 2))
    mode: Mode = draw(st.sampled_from(["simplex", "duplex"]))
    if mode == "duplex":
        links = [(u, v, c) for u, v, c in topology.links()]
        topology = Topology.from_links(topology.nodes, [*links, *((v, u, c) for u, v, c in links)])
    kind: PanelKind = draw(st.sampled_from(["patch panel", "ocs"]))
    field = draw(st.sampled_from([None, "hall"])) if kind == "patch panel" else None
    hosts = topology.nodes + draw(st.integers(0, 1))
    lanes = draw(st.sampled_from([topology.degree + topology.degree % 2, 4 * -(-topology.degree // 4)]))
    panels = draw(st.integers(1, 3))
    inventory = inventory_of(hosts, lanes, (hosts * lanes,) * panels, mode=mode, kind=kind, field=field, racks=True)
    return make_plan(topology, inventory, mode=mode)


@few
@given(plan=rooms(), file_format=st.sampled_from(COME_BACK))
def test_plans_of_several_panels_are_read_back(plan: WiringPlan, file_format: str, tmp_path: Path) -> None:
    assume(file_format not in SWITCHES or plan.inventory.panels[0].kind == "ocs")
    path = tmp_path / "plan.json"
    save_wiring(plan, path)
    assert load_wiring(path) == plan
    assert check_wiring(plan, export=exported(plan, file_format, tmp_path)).ok


@few
@given(plan=plans("patch panel"), data=st.data())
def test_two_swapped_patches_are_found(plan: WiringPlan, data: st.DataObject, tmp_path: Path) -> None:
    assume(len(plan.connects) >= 2)
    first, second = data.draw(
        st.lists(st.integers(0, len(plan.connects) - 1), min_size=2, max_size=2, unique=True), label="rows"
    )
    path = exported(plan, "netbox", tmp_path)
    table = rows(path)
    start = len(plan.fixed)
    one, other = table[start + first], table[start + second]
    for column in ("side_b_device", "side_b_name"):
        one[column], other[column] = other[column], one[column]
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    made = Counter({(u, v): c for u, v, c in check_wiring(plan, export=path).built.topology.links() if u != v})
    a, b = plan.connects[first], plan.connects[second]
    there = [plan.link_of(a), plan.link_of(b)]
    moved = [(there[0][0], there[1][1]), (there[1][0], there[0][1])]
    want = Counter({(u, v): c for u, v, c in without_loops(plan.topology).links()})
    for sign, links in ((-1, there), (1, moved)):
        for u, v in links:
            for link in {(u, v), (v, u)} if plan.mode == "duplex" else {(u, v)}:
                want[link] += sign
    assert made == Counter({link: count for link, count in want.items() if count and link[0] != link[1]})


def test_netbox_has_the_columns_of_its_form_and_values_it_knows(tmp_path: Path) -> None:
    table = rows(exported(plan_of(TESTBED, breakout=True), "netbox", tmp_path))
    ends = [f"side_{side}_{what}" for side in "ab" for what in ("site", "device", "type", "name")]
    assert list(table[0]) == [*ends, "profile", "type", "status", "label", "color", "length", "length_unit"]
    assert len(table) == 12 * 4 + 12 * 4
    types = Counter((row["side_a_type"], row["side_b_type"]) for row in table)
    assert types == {("dcim.interface", "dcim.rearport"): 48, ("dcim.frontport", "dcim.frontport"): 48}
    used = [(row[f"side_{s}_device"], row[f"side_{s}_type"], row[f"side_{s}_name"]) for row in table for s in "ab"]
    assert len(used) == len(set(used)), "a port takes one cable"
    assert all(re.fullmatch("[0-9a-f]{6}", row["color"]) for row in table)
    assert {row["status"] for row in table} == {"planned"}
    assert {row["type"] for row in table} == {"smf-os2"}
    assert {row["side_a_name"] for row in table[:4]} == {"eth0/1", "eth0/2", "eth0/3", "eth0/4"}


def test_netbox_refuses_what_it_would_take_for_two_names(tmp_path: Path) -> None:
    plan = plan_of(build("complete(3)"), hosts=("a,b", "c", "d"))
    with pytest.raises(ParameterError, match="comma"):
        export_wiring(plan, "netbox", tmp_path / "cables.csv")
    assert not list(tmp_path.iterdir())


def test_sonic_table_and_commands(tmp_path: Path) -> None:
    plan = plan_of(TESTBED, kind="ocs")
    path = exported(plan, "sonic", tmp_path)
    table = json.loads((path / "P1.json").read_text())["OCS_CROSS_CONNECT"]
    assert len(table) == 48
    for name, entry in table.items():
        assert name == f"{entry['a_side']}-{entry['b_side']}"
        assert re.fullmatch("[0-9]+A-[0-9]+B", name)
    assert len({entry["a_side"] for entry in table.values()}) == 48
    assert len({entry["b_side"] for entry in table.values()}) == 48
    first, *commands = (path / "P1.sh").read_text().splitlines()
    assert first.startswith("#!/bin/sh")
    assert commands == [f"sudo config ocs cross-connect add {name} update" for name in table]


def test_scpi_goes_from_the_first_half_of_the_ports_to_the_second(tmp_path: Path) -> None:
    plan = plan_of(build("hypercube(3)"), "duplex", kind="ocs")
    lines = (exported(plan, "scpi", tmp_path) / "P1.scpi").read_text().splitlines()
    pairs = [re.fullmatch(r":OXC:SWITch:CONNect:ADD \(@([0-9]+)\),\(@([0-9]+)\)", line) for line in lines]
    found = sorted((int(pair[1]), int(pair[2])) for pair in pairs if pair)
    assert len(found) == len(lines) == 24
    assert [a for a, _ in found] == list(range(1, 25))
    assert sorted(b for _, b in found) == list(range(25, 49))
    assert all((b - 24, a + 24) in found for a, b in found), "a duplex patch is two circuits, there and back"


def relabelled(plan: WiringPlan, label: str) -> WiringPlan:
    """The plan, with another label on the first port of its panel."""

    def end(old: End) -> End:
        return replace(old, panel_port=label) if old.panel_port == "1" else old

    (panel,) = plan.inventory.panels
    panel = replace(panel, ports=(replace(panel.ports[0], label=label), *panel.ports[1:]))
    return replace(
        plan,
        inventory=replace(plan.inventory, panels=(panel,)),
        fixed=(replace(plan.fixed[0], panel_port=label), *plan.fixed[1:]),
        connects=tuple(replace(connect, a=end(connect.a), b=end(connect.b)) for connect in plan.connects),
    )


@pytest.mark.parametrize(("label", "file_format"), [("p1", "sonic"), ("01", "sonic"), ("p1", "scpi"), ("7", "scpi")])
def test_switch_ports_must_be_numbers(label: str, file_format: str, tmp_path: Path) -> None:
    plan = relabelled(plan_of(build("complete(3)"), kind="ocs"), label)
    with pytest.raises(ParameterError, match=r"is not a number|labelled from 1"):
        export_wiring(plan, file_format, tmp_path / "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mode", ["simplex", "duplex"])
def test_patch_list_says_what_to_plug(mode: str, tmp_path: Path) -> None:
    plan = plan_of(build("hypercube(3)"), mode, breakout=True)  # type: ignore[arg-type]
    table = rows(exported(plan, "patches", tmp_path))
    assert len({row["cable"] for row in table}) == len(table)
    fixed, patches = table[: len(plan.fixed)], table[len(plan.fixed) :]
    assert fixed[1]["a_label"] == "R1-1-h0-eth0-2"
    assert fixed[1]["b_label"] == "R0-40-P1-2-A+B"
    assert fixed[1]["polarity"] == "Tx fibre 2 to A, Rx fibre 11 to B"
    labels = {(row["b_device"], row["b_port"]): row["a_label"] for row in fixed}
    for row in patches:
        assert row["sends"] == labels[row["a_device"], row["a_port"]]
        assert row["receives"] == labels[row["b_device"], row["b_port"]]
        assert (row["a_side"], row["b_side"]) == (("A", "B") if mode == "simplex" else ("A+B", "A+B"))
    assert {row["colour"] for row in table} <= set(COLOURS)


def test_lengths_come_from_the_stock(tmp_path: Path) -> None:
    plan = plan_of(TESTBED)  # racks 1.5 m apart, half a metre of slack, the panel in unit 40 of rack R0
    table = rows(exported(plan, "patches", tmp_path))
    assert {row["length_m"] for row in table if row["kind"] == "patch"} == {"5"}
    fixed = {row["a_rack"]: row["length_m"] for row in table if row["kind"] == "fixed"}
    assert fixed == {"R1": "5", "R2": "5", "R3": "5"}
    stock = {"LC duplex": (Fraction(2), Fraction(4)), "LC simplex": (Fraction(1),)}
    with pytest.raises(InfeasibleError, match=r"needs 5 m; the longest there is has 4 m"):
        replace(plan, inventory=replace(plan.inventory, stock=stock)).bill()
    loose = replace(plan.inventory, stock={"LC duplex": (Fraction(2), Fraction(7, 2), Fraction(6))})
    loosened = replace(plan, inventory=loose)
    lengths = {w.a.place.rack: loosened.net.length(w) for w in loosened.net.wires}
    assert lengths == {"R1": 2, "R2": Fraction(7, 2), "R3": 6, "R0": 1}
    for unknown in ({}, {"east": {"R0": (Fraction(0), Fraction(0))}}):
        nowhere = replace(plan.inventory, racks=unknown)
        assert set(replace(plan, inventory=nowhere).net.metres.values()) == {None}


def test_within_a_rack_a_cable_runs_from_unit_to_unit() -> None:
    plan = plan_of(TESTBED)
    assert distance(plan.inventory, "h0", "h3") == Fraction(3 * 4445, 100000)
    assert distance(plan.inventory, "h0", "h4") == Fraction(3, 2)


def test_lengths_never_come_out_short() -> None:
    assert format_metres(None) == ""
    assert [format_metres(Fraction(some)) for some in ("3", "100", "7/2", "1/3", "1234567")] == [
        "3",
        "100",
        "3.5",
        "0.34",
        "1234567",
    ]
    for exact in (Fraction(1, 3), Fraction(12345, 7), Fraction(99999999, 1000), Fraction(10**9, 7)):
        written = Fraction(format_metres(exact))
        assert exact <= written < exact + Fraction(1, 100)


def test_every_cable_can_be_bought() -> None:
    plan = plan_of(TESTBED)
    bare = replace(plan.inventory, stock={}, slack=Fraction(0))
    assert length(bare, "P1", "P1", "LC simplex") == 1, "a cord within a panel has a length, too"
    assert length(bare, "h0", "h4", "LC duplex") == 2
    assert length(replace(bare, slack=Fraction(5, 2)), "P1", "P1", "LC simplex") == 3
    for stock, slack in (({"LC duplex": ()}, 0), ({"LC duplex": (Fraction(0), Fraction(1))}, 0), ({}, -1)):
        with pytest.raises(ParameterError, match=r"LC duplex.* above zero|slack"):
            replace(bare, stock=stock, slack=Fraction(slack))


def test_networkx_reads_the_graphs(tmp_path: Path) -> None:
    plan = plan_of(TESTBED)
    for graph in (
        nx.read_graphml(exported(plan, "graphml", tmp_path), node_type=int),
        nx.node_link_graph(json.loads(exported(plan, "json", tmp_path).read_text()), edges="links"),
    ):
        assert {(u, v) for u, v in graph.edges} == {(u, v) for u, v, _ in TESTBED.links()}
        assert [graph.nodes[node]["host"] for node in range(12)] == list(plan.hosts)
        assert graph.nodes[5]["rack"] == "R2"
        names = [name for _, _, text in graph.edges(data="cables") for name in text.split()]
        assert sorted(names) == [connect.cable for connect in plan.connects]


@pytest.mark.parametrize("mode", ["simplex", "duplex"])
def test_graphviz_draws_the_graph(mode: str, tmp_path: Path) -> None:
    if shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    names = tuple(f'h"{node}\\' for node in range(8))  # quotes and backslashes
    plan = plan_of(build("hypercube(3)"), mode, hosts=names)  # type: ignore[arg-type]
    path = exported(plan, "dot", tmp_path)
    done = subprocess.run(["dot", "-Tjson", path], capture_output=True, text=True, timeout=600, check=True)
    drawn = json.loads(done.stdout)
    edges = Counter((edge["tail"], edge["head"]) for edge in drawn["edges"])
    number = {thing["_gvid"]: int(thing["name"]) for thing in drawn["objects"] if "nodes" not in thing}
    assert Counter((number[u], number[v]) for u, v in edges.elements()) == Counter(map(plan.link_of, plan.connects))


def test_label_sheets(tmp_path: Path) -> None:
    plan = plan_of(TESTBED)
    pages = [etree.parse(page).getroot() for page in sorted(exported(plan, "labels", tmp_path).iterdir())]
    assert len(pages) == -(-2 * 96 // PER_SHEET)
    texts = [text.text for page in pages for text in page.iter("{*}text")]
    for cable in plan.net.wires:
        assert texts.count(cable.name) == 2
        assert cable.a.label in texts
        assert cable.b.label in texts


def test_labels_stay_on_their_sheets_and_within_their_borders() -> None:
    plan = plan_of(build("complete(3)"), hosts=("a" * 60, "b", "c" * 200))
    for sheet in sheets(plan):
        corners = [(label.x, label.y) for label in sheet]
        assert len(set(corners)) == len(corners)
        for label in sheet:
            assert label.x >= 0
            assert label.x + 38.1 <= PAGE_WIDTH
            assert label.y + 21.2 <= PAGE_HEIGHT
            for line in label.lines:
                assert label.x < line.x
                assert line.x + 0.6 * line.size * len(line.text) <= label.x + 38.1
                assert label.y + line.size < line.y < label.y + 21.2


def test_circuits_need_no_labels(tmp_path: Path) -> None:
    plan = replace(plan_of(TESTBED, kind="ocs"), fixed=())
    with pytest.raises(ParameterError, match="no cables to label"):
        export_wiring(plan, "labels", tmp_path / "labels")


def test_pdf_labels(tmp_path: Path) -> None:
    pytest.importorskip("reportlab")
    plan = plan_of(TESTBED)
    path = tmp_path / "labels.pdf"
    export_wiring(plan, "labels", path)
    data = path.read_bytes()
    assert data.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type /Page\b", data)) == len(sheets(plan))
    with pytest.raises(ParameterError, match="SVG"):
        export_wiring(plan_of(build("complete(3)"), hosts=("日本", "b", "c")), "labels", path)
    assert path.read_bytes() == data


def jobs_of(page: Path) -> dict[str, list[list[str]]]:
    """The rows with a box to tick, by rack."""
    jobs: dict[str, list[list[str]]] = {}
    for section in etree.HTML(page.read_text()).iter("section"):
        rows = [row for row in section.iter("tr") if row.find("td[@class='done']") is not None]
        texts = [["".join(map(str, cell.itertext())) for cell in row.iter("td")] for row in rows]
        jobs[section.findtext("h2") or ""] = [cells[1:] for cells in texts]
    return jobs


def test_a_page_for_every_rack(tmp_path: Path) -> None:
    plan = plan_of(TESTBED, hosts=tuple(f"<b>{node}</b>&" for node in range(12)))
    page = exported(plan, "racks", tmp_path)
    assert not re.search(r"(src|href)=[\"'](?!#)", page.read_text()), "the page needs nothing from elsewhere"
    assert not list(etree.HTML(page.read_text()).iter("b"))
    wanted: dict[str, list[str]] = {}
    for cable in plan.net.wires:
        for rack in {cable.a.place.rack, cable.b.place.rack}:
            wanted.setdefault(f"Site east, rack {rack}", []).append(cable.name)
    assert {rack: [row[0] for row in jobs] for rack, jobs in jobs_of(page).items()} == wanted


def test_a_breakout_cable_has_one_plug_at_the_host_and_four_at_the_panel(tmp_path: Path) -> None:
    plan = plan_of(TESTBED, breakout=True)
    fixed = sorted(plan.fixed, key=lambda one: one.lane)  # in whatever order the cabling was given
    plan = replace(plan, fixed=tuple(fixed))
    jobs = jobs_of(exported(plan, "racks", tmp_path))
    assert [row[:3] for row in jobs["Site east, rack R1"]] == [
        [f"F{node + 1}", f"R1-{node + 1}-h{node}-eth0", f"R0-40-P1-{','.join(str(4 * node + i) for i in range(1, 5))}"]
        for node in range(4)
    ]
    legs = [row for row in jobs["Site east, rack R0"] if row[0].startswith("F")]
    assert [row[0] for row in legs] == [f"F{node}-{leg}" for node in range(1, 13) for leg in range(1, 5)]
    assert legs[1][1:5] == ["R0-40-P1-2-A+B", "R1-1-h0-eth0-2", "Tx fibre 2 to A, Rx fibre 11 to B", " orange"]
    texts = [label.lines[0].text for sheet in sheets(plan) for label in sheet]
    assert Counter(texts) == Counter(
        [f"F{node}" for node in range(1, 13)] + [row[0] for row in legs] + 2 * [c.cable for c in plan.connects]
    )


def test_legs_of_a_breakout_cable_are_as_long_as_the_cable() -> None:
    inventory = inventory_of(12, 4, (12,) * 4, racks=True, kind="patch panel")
    plan = make_plan(TESTBED, inventory, mode="simplex")
    lengths = {wire.name: plan.net.length(wire) for wire in plan.net.wires if wire.kind == "fixed"}
    assert set(lengths.values()) == {Fraction(2)}  # the last of the four panels stands 1.8 m away


def test_circuits_are_no_work_and_cables_that_exist_are_said_to(tmp_path: Path) -> None:
    plan = plan_of(TESTBED, kind="ocs", breakout=True)
    plan = replace(plan, inventory=replace(plan.inventory, cabling=plan.fixed))
    page = exported(plan, "racks", tmp_path)
    assert {row[0][0] for jobs in jobs_of(page).values() for row in jobs} == {"F"}
    text = page.read_text()
    assert "48 circuits (set by software" in text
    assert "fixed cables that exist, 48" in text
    assert set(map(plan.net.length, plan.net.wires)) == {None}


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"topodesign wiring plan"', '"plan"', "does not say"),
        ('"version": 1', '"version": 2', "version 2"),
        ('"mode": "simplex"', '"mode": "triplex"', "triplex"),
        ('"mode": "simplex"', '"mode": "duplex"', "two circuits use side|do not make the links"),
        ('"mode": "simplex"', '"mode": 1', "'mode' must be printable text"),
        ('"nodes": 3', '"nodes": 4', "has other links than"),
        ('"C0001"', '"C0002"', "two cables"),
        ('["C0001", "P1", "1", "P1", "3"]', '["C0001", "P1", "1", "P1", "4"]', "two circuits use side B"),
        ('["C0001", "P1", "1", "P1", "3"]', '["C0001", "P1", "1", "P1", "99"]', "no lane"),
        ('["C0001", "P1", "1", "P1", "3"]', '["C0001", "P1", "1", "P1", 3]', r"connects\[0\] must be a row"),
        ('["h0", "eth0", 1, "P1", "1"]', '["h0", "eth9", 1, "P1", "1"]', "no port 'eth9'"),
        ('\n"h1",', '\n"h2",', "host of its own"),
        ('"25000000000"', '"1/0"', "number"),
        ('"LC"', '"SC"', "SC"),
        ('"spec": "complete(3)"', '"spec": "complete(4)"', "has other links than"),
        ('"site": "east"', '"site": "\\ud800"', "'site' must be printable text"),
        ('"slack": "1/2"', '"slack": 0.5', "'slack' must be printable text"),
        ("}\n", "", "not JSON"),
    ],
)
def test_a_plan_file_that_is_wrong_is_refused(old: str, new: str, words: str, tmp_path: Path) -> None:
    text = plan_text(plan_of(build("complete(3)")))
    assert old in text
    with pytest.raises(FileFormatError, match=words):
        load_wiring(write(tmp_path / "plan.json", text.replace(old, new, 1)))


@given(data=st.binary(max_size=200))
@few
def test_anything_but_a_plan_is_refused_with_an_error_of_ours(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(data)
    with pytest.raises(FileFormatError):
        load_wiring(path)


@pytest.mark.dear
@pytest.mark.floor(read=1, refused=1)
@few
@given(plan=plans("ocs"), file_format=st.sampled_from(COME_BACK), data=st.data())
def test_damaged_exports_are_read_or_refused(
    plan: WiringPlan, file_format: str, data: st.DataObject, tmp_path: Path
) -> None:
    path = exported(plan, file_format, tmp_path)
    file = next(iter(sorted(path.iterdir()))) if path.is_dir() else path
    text = file.read_text()
    place = data.draw(st.integers(0, max(0, len(text) - 1)))
    file.write_text(text[:place] + data.draw(st.text(max_size=3)) + text[place + 1 :], errors="surrogatepass")
    try:
        found = check_wiring(plan, export=path).built.topology
    except TopodesignError:
        reached("refused")
        return
    reached("read")
    assert found.nodes == plan.topology.nodes


def test_files_appear_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "plan.dot"
    write_whole(path, "old")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for wrong in (pipe, tmp_path, tmp_path / "missing" / "plan.dot"):
        with pytest.raises(FileFormatError):
            write_whole(wrong, "new")
    with pytest.raises(ParameterError):
        export_wiring(plan_of(TESTBED), "sonic", path)
    assert path.read_text() == "old"
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["pipe", "plan.dot"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_directories_appear_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    write(tmp_path / "mine" / "thesis.txt", "years of work")
    plan = plan_of(TESTBED, kind="ocs")
    for path in (tmp_path / "mine", tmp_path / "mine" / "thesis.txt"):
        with pytest.raises(FileFormatError, match="already exists"):
            export_wiring(plan, "sonic", path)
    with pytest.raises(FileFormatError):
        export_wiring(plan, "sonic", tmp_path / "missing" / "sonic")
    with pytest.raises(ParameterError, match="rename"):
        write_directory(tmp_path / "new", {"a/b": "1", "a_b": "2"})
    with pytest.raises(UnicodeEncodeError):
        write_directory(tmp_path / "new", {"a": "1", "b": "\ud800"})
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == [
        "mine",
        "mine/thesis.txt",
    ]
    write_directory(tmp_path / "new", {"../a": "1"})
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["_._a"]


def test_commands(tmp_path: Path) -> None:
    plan = plan_of(TESTBED, kind="ocs")
    file, output = tmp_path / "plan.json", tmp_path / "switches"
    save_wiring(plan, file)
    run = CliRunner()
    options = [str(file), "--format", "sonic", "-o", str(output)]
    assert run.invoke(export_command.command, options, standalone_mode=False).exception is None
    options = [str(file), "--export", str(output), "--json"]
    result = run.invoke(check_command.command, options, standalone_mode=False)
    assert result.return_value == 0
    assert json.loads(result.stdout)["ok"]
    table = json.loads((output / "P1.json").read_text())
    name, entry = table["OCS_CROSS_CONNECT"].popitem()
    write(output / "P1.json", json.dumps(table))
    result = run.invoke(check_command.command, options, standalone_mode=False)
    assert result.return_value == 1
    [finding] = json.loads(result.stdout)["findings"]
    lanes = [plan.lane_name(plan.net.end["P1", entry[side][:-1]]) for side in ("a_side", "b_side")]
    assert finding["fault"] == "dark"
    assert all(lane in finding["words"] for lane in lanes), name


def test_a_list_of_patches_is_checked_row_by_row(tmp_path: Path) -> None:
    """What lacks is named; two cables at one place, and ends that are not there, are not passed over."""
    plan = plan_of(TESTBED, breakout=True)
    export_wiring(plan, "patches", tmp_path / "all.csv")
    lines = (tmp_path / "all.csv").read_text().splitlines()
    place = next(number for number, line in enumerate(lines) if ",patch," in line)
    for name, some in {"lacks.csv": lines[:place] + lines[place + 1 :], "twice.csv": [*lines, lines[place]]}.items():
        write(tmp_path / name, "\n".join(some) + "\n")
    lacking = check_wiring(plan, export=tmp_path / "lacks.csv")
    assert {finding.fault for finding in lacking.findings} == {"unbuilt"}
    cable = lines[place].partition(",")[0]
    assert all(f"in the list of patches {cable} is not there" in finding.words for finding in lacking.findings)
    [twice] = check_wiring(plan, export=tmp_path / "twice.csv").findings
    assert "has two cables at" in twice.words
    fixed = next(number for number, line in enumerate(lines) if ",fixed," in line)
    cells = lines[fixed].split(",")
    cells[lines[0].split(",").index("a_lane")] = "0"
    for number, wrong in (place, lines[place].replace(",P1,", ",P9,")), (fixed, ",".join(cells)):
        write(tmp_path / "other.csv", "\n".join([*lines[:number], wrong]) + "\n")
        with pytest.raises(FileFormatError, match=f"line {number + 1}: no cable of the plan"):
            check_wiring(plan, export=tmp_path / "other.csv")


def test_links_of_a_graph_rest_on_the_cabling_alone() -> None:
    wrong = replace(plan_of(TESTBED), topology=Topology.from_links(12, [(0, 1)]))
    found = to_graph(wrong).edges(data="capacity")
    assert Topology.from_links(12, [(u, v, count) for u, v, count in found]) == TESTBED


def test_a_plan_is_not_exported_over_itself(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    save_wiring(plan_of(build("circulant(4,1)")), path)
    before = path.read_bytes()
    with pytest.raises(ParameterError, match="name another file"):
        export_wiring(path, "json", path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("file_format", SWITCHES)
def test_a_switch_without_a_circuit_is_told_of(file_format: str, tmp_path: Path) -> None:
    inventory = inventory_of(4, 2, (8, 8), kind="ocs")
    first = replace(inventory, panels=inventory.panels[:1])
    plan = make_plan(build("circulant(4,1)"), first)
    assert export_wiring(plan, file_format, tmp_path / "one") == ()
    (note,) = export_wiring(replace(plan, inventory=inventory), file_format, tmp_path / "both")
    assert "'P1' gets no circuit" in note


def expanded(text: str) -> list[str]:
    """The circuits that a list of SONiC's means: ``1A-2B,4A..6A-7B..9B``, as the tests of sonic-mgmt read it."""
    found = []
    for part in text.split(","):
        if ".." in part:
            a, b = ([int(end[:-1]) for end in side.split("..")] for side in part.split("-"))
            assert a[1] - a[0] == b[1] - b[0] > 0
            found += [f"{x}A-{y}B" for x, y in zip(range(a[0], a[1] + 1), range(b[0], b[1] + 1), strict=True)]
        else:
            found.append(part)
    return found


@given(pairs=st.sets(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1))
def test_lists_and_ranges_mean_their_circuits(pairs: set[tuple[int, int]]) -> None:
    assert sorted(expanded(format_pairs(pairs))) == sorted(f"{a}A-{b}B" for a, b in pairs)
    a, b = (map(int, part.split(",")) for part in re.findall(r"\(@([0-9,]+)\)", port_lists(pairs, 9)))
    assert sorted(zip(a, b, strict=True)) == sorted((a, b + 9) for a, b in pairs)


def test_commands_for_switches_remove_what_is_stale_take_lists_and_label_ports(tmp_path: Path) -> None:
    plan = plan_of(TESTBED, kind="ocs", breakout=True)
    names = set(json.loads(switch_files("sonic", plan)["P1.json"])["OCS_CROSS_CONNECT"])

    def lines(name: str, file_format: str = "sonic", **style: Any) -> list[str]:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        export_wiring(plan, file_format, path, **style)
        assert check_wiring(plan, export=path).ok
        return (path / name).read_text().splitlines()

    first, command = lines("P1.sh", batch=True)
    assert first == "#!/bin/sh -e"
    match = re.fullmatch("sudo config ocs cross-connect add (.*) update", command)
    assert match is not None
    assert set(expanded(match[1])) == names
    match = re.fullmatch("sudo config ocs cross-connect add (.*) overwrite", lines("P1.sh", only=True)[1])
    assert match is not None
    assert set(expanded(match[1])) == names
    labelled = lines("P1.sh", labels=True)
    assert labelled[1:3] == ["sudo config ocs port label 1A h0:eth0/1:Tx", "sudo config ocs port label 1B h0:eth0/1:Rx"]
    assert len(labelled) == 1 + 2 * 48 + 48
    a, b = min(names).split("-")
    spelled = lines("P1.sh", spelling="yang", labels=True)
    assert spelled[1] == "sudo config ocs-port update 1A --label h0:eth0/1:Tx"
    assert f"sudo config ocs-cross-connect add {a}-{b} --a-side {a} --b-side {b}" in spelled
    (line,) = lines("P1.scpi", "scpi", only=True)
    (batch,) = lines("P1.scpi", "scpi", batch=True)
    assert line == batch.replace(":ADD", ":ONLY")


def test_a_script_generated_from_yang_leaves_only_its_circuits(tmp_path: Path) -> None:
    plan = plan_of(TESTBED, kind="ocs")
    names = sorted(json.loads(switch_files("sonic", plan)["P1.json"])["OCS_CROSS_CONNECT"])
    there = [names[0], "1A-99B", "99A-2B"]
    (tmp_path / "switch").write_text("".join(f"{name}\n" for name in there))
    stubs = {
        "sudo": '"$@"',
        "sonic-db-cli": f"while read id; do echo 'OCS_CROSS_CONNECT|'$id; done < {tmp_path}/switch",
        "config": f'case $2 in delete) echo "$3" >> {tmp_path}/gone ;; add) echo "$3" >> {tmp_path}/made ;; esac',
    }
    for name, text in stubs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    export_wiring(plan, "sonic", tmp_path / "out", only=True, spelling="yang")
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-e", str(tmp_path / "out" / "P1.sh")], env=environment, check=True, timeout=600)
    assert sorted((tmp_path / "gone").read_text().split()) == ["1A-99B", "99A-2B"]
    assert sorted((tmp_path / "made").read_text().split()) == names


@pytest.mark.parametrize(
    ("file_format", "style"),
    [("patches", {"only": True}), ("scpi", {"labels": True}), ("sonic", {"batch": True, "spelling": "yang"})],
)
def test_styles_that_a_format_lacks_are_refused(file_format: str, style: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        export_wiring(plan_of(TESTBED, kind="ocs"), file_format, tmp_path / "x", **style)
    assert not list(tmp_path.iterdir())


def test_labels_that_a_spreadsheet_took_for_numbers_are_read_and_told(tmp_path: Path) -> None:
    """LibreOffice saves 001 as 1; what then might be one of two labels is not guessed."""
    root = Path(__file__).parents[2] / "configs"
    plan = make_plan(build("circulant(32,3,4,5)"), read_inventory(root / "inventory_pods.yaml"), mode="duplex")
    export_wiring(plan, "patches", tmp_path / "patches.csv")
    with (tmp_path / "patches.csv").open(newline="") as file:
        rows = [[str(int(cell)) if cell.isdecimal() else cell for cell in row] for row in csv.reader(file)]
    with (tmp_path / "saved.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    found = check_wiring(plan, export=tmp_path / "saved.csv")
    assert found.ok
    assert "'1' of panel 'PA' is taken for '001'" in found.notes[0]
    assert found.notes[0] in str(found)
    assert not check_wiring(plan, export=tmp_path / "patches.csv").notes
    labels = PortLabels(plan.inventory.panel_port)
    assert (labels.read("PA", "001"), labels.read("PA", "0001"), labels.read("PA", "999")) == ("001", "001", "999")
    board = plan.inventory.panel["PA"]
    twice = replace(board, ports=(*board.ports, PanelPort("01", "simplex")))
    others = tuple(panel for panel in plan.inventory.panels if panel.name != "PA")
    with pytest.raises(FileFormatError, match="no port '1', and both '001' and '01'"):
        PortLabels(replace(plan.inventory, panels=(twice, *others)).panel_port).read("PA", "1")
    assert str(show_wiring(plan, "PA:1")) == str(show_wiring(plan, "PA:001"))


def test_a_page_runs_its_own_scripts_alone() -> None:
    text = page(
        "t", ["<script>one()</script>", "<script>two()</script>", f"<p>{escape('<script>evil()</script>')}</p>"]
    )
    (rule,) = re.findall(r'Security-Policy" content="([^"]*)"', text)
    for script, allowed in (("one()", True), ("two()", True), ("evil()", False)):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert (f"sha256-{digest}" in rule) == allowed
    assert "default-src &#x27;none&#x27;" in rule
    assert "script-src &#x27;none&#x27;" in page("t", [])
