"""NetBox: what fills it is taken by its rules, makes its traces, and is read back as it was."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.samples.inventories import inventory_of as room_of
from tests.samples.netbox import PROFILES, NetboxDouble
from tests.samples.plans import plan_of, plans
from tests.samples.wirings import behind_trunks, wired
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.topology.library import build
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.exports.export import export_wiring
from topodesign.wiring.exports.formats.netbox import to_netbox, to_netbox_cables
from topodesign.wiring.inventory.devices import (
    POLARITIES,
    Connector,
    Fixed,
    Host,
    Losses,
    Mode,
    Panel,
    PanelKind,
    PanelPort,
    Polarity,
    Port,
    interface_name,
    lanes_of,
)
from topodesign.wiring.inventory.fields import exact
from topodesign.wiring.inventory.files import format_inventory, read_inventory
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.netbox.model import as_objects
from topodesign.wiring.netbox.reading import inventory_of
from topodesign.wiring.netbox.tables import import_files, read_tables
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import make_plan

few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

decimals = st.builds(Fraction, st.integers(0, 5000), st.sampled_from([1, 10, 100, 1000]))
words = st.text("abcXYZ012 -_.:/()'äß=+@", min_size=1, max_size=12).filter(lambda s: s == s.strip())
sites = st.sampled_from(["", "lab", "Hall 2", "hall-2"])


@st.composite
def inventories(draw: st.DrawFn) -> Inventory:
    """Rooms with breakouts, circuit switches, blocked and duplex ports, fields, sites, racks, prewiring and a stock."""
    speed = Fraction(draw(st.sampled_from([10**9, 25 * 10**9, 106_250_000_000, 64_000])))
    names = draw(st.lists(words, min_size=2, max_size=7, unique_by=str.lower))
    size = draw(st.integers(1, len(names) - 1))
    place = st.tuples(sites, st.sampled_from(["r1", "r 2", "=r"]), st.integers(0, 130))
    connectors: st.SearchStrategy[Connector] = st.sampled_from(["LC", "MPO-12", "MPO-16", "MPO-24"])
    polarities: st.SearchStrategy[Polarity] = st.sampled_from(POLARITIES)
    pods = ["", "east", "pod 2"]
    hosts = []
    for name in names[:size]:
        ports = draw(st.lists(st.tuples(words, connectors), max_size=3, unique_by=lambda port: port[0]))
        made = tuple(Port(port, connector, speed, draw(polarities), draw(losses)) for port, connector in ports)
        hosts.append(Host(name, *draw(place), made, draw(st.sampled_from(pods))))
    near = sorted({(), *((host.pod,) for host in hosts if host.pod), *([("east", "pod 2")] if size > 1 else [])})
    panels = []
    kinds: st.SearchStrategy[PanelKind] = st.sampled_from(["patch panel", "ocs"])
    for name in names[size:]:
        kind = draw(kinds)
        labels = draw(st.lists(st.one_of(st.integers(1, 30).map(str), words), min_size=1, max_size=8, unique=True))
        ports_there = tuple(
            PanelPort(label, draw(st.sampled_from(["simplex", "duplex"])), draw(st.integers(0, 3)) == 0, draw(losses))
            for label in labels
        )
        shared = draw(st.booleans()) and kind == "patch panel"
        field = "all of them" if shared else name
        spare = draw(st.integers(0, len(ports_there)))
        panels.append(
            Panel(name, *draw(place), kind, ports_there, field, draw(st.sampled_from(near)), spare, draw(losses))
        )
    open_ports = [(panel.name, port.label) for panel in panels for port in panel.ports if not port.blocked]
    lanes = [(host.name, port.name, lane) for host in hosts for port, lane in lanes_of(host)]
    count = draw(st.integers(0, min(len(lanes), len(open_ports))))
    ends = draw(st.permutations(open_ports))[:count]
    pod, reach = {host.name: host.pod for host in hosts}, {panel.name: panel.pods for panel in panels}
    pairs = zip(draw(st.permutations(lanes))[:count], ends, strict=True)
    cabling = tuple(Fixed(*lane, *end) for lane, end in pairs if not reach[end[0]] or pod[lane[0]] in reach[end[0]])
    lost = Losses(draw(losses), draw(losses), draw(losses), draw(st.integers(0, 3)))
    racks = draw(st.dictionaries(sites, st.dictionaries(st.sampled_from(["r1", "r9"]), places, min_size=1), max_size=2))
    stock = draw(st.dictionaries(st.sampled_from(["LC simplex", "MPO-12 breakout"]), lengths, max_size=2))
    name = draw(st.one_of(st.just(""), words))
    return Inventory(tuple(hosts), tuple(panels), cabling, stock, racks, draw(decimals), name, losses=lost)


losses = st.one_of(st.none(), decimals)
places = st.tuples(decimals, decimals.map(lambda metres: -metres))
lengths = st.lists(decimals.map(lambda metres: metres + 1), min_size=1, max_size=3).map(sorted).map(tuple)


def written(directory: Path, files: dict[str, str]) -> Path:
    path = directory / f"d{len(list(directory.iterdir()))}"
    path.mkdir()
    for name, text in files.items():
        (path / name).write_text(text)
    return path


@few
@given(inventory=inventories(), mode=st.sampled_from(["simplex", "duplex", None]))
def test_an_inventory_goes_to_netbox_and_back(inventory: Inventory, mode: Mode | None, tmp_path: Path) -> None:
    try:
        files = import_files(as_objects(inventory, mode))
    except ParameterError as error:
        assume("rename" not in str(error))  # two ports that would be called alike
        raise
    NetboxDouble().load(files)
    assert inventory_of(read_tables(written(tmp_path, files))) == inventory


def files_of(plan: WiringPlan) -> dict[str, str]:
    files = to_netbox(plan)
    assert isinstance(files, dict)
    return files


@few
@given(plan=plans())
def test_netbox_takes_every_row_and_traces_every_link(plan: WiringPlan, tmp_path: Path) -> None:
    box = NetboxDouble()
    files = files_of(plan)
    box.load(files)
    lanes = {(host.name, port.name): port.lanes for host in plan.inventory.hosts for port in host.ports}
    for connect in plan.connects:
        a, b = (
            (end.host, interface_name(end.port, end.lane, lanes[end.host, end.port])) for end in (connect.a, connect.b)
        )
        assert box.trace(*a) == b
        assert plan.mode == "simplex" or box.trace(*b) == a
    path = written(tmp_path, files)
    assert check_wiring(plan, export=path).ok
    assert inventory_of(read_tables(path)) == plan.inventory


@pytest.mark.parametrize("mode", ["simplex", "duplex"])
@pytest.mark.parametrize("pods", [False, True])
@pytest.mark.parametrize("there", [False, True])
def test_rooms_with_trunks_go_to_netbox_and_back(mode: Mode, pods: bool, there: bool, tmp_path: Path) -> None:
    plan = behind_trunks(wired(build("circulant(6,1,2)"), 4, 2, mode=mode, kind="ocs"), pods)
    room = replace(plan.inventory, trunks=tuple(replace(one, loss_db=Fraction(3, 10)) for one in plan.inventory.trunks))
    plan = replace(plan, inventory=replace(room, cabling=plan.fixed if there else ()))
    files = files_of(plan)
    box = NetboxDouble()
    box.load(files)
    for connect in plan.connects:
        a, b = ((end.host, interface_name(end.port, end.lane, 4)) for end in (connect.a, connect.b))
        assert box.trace(*a) == b
        assert mode == "simplex" or box.trace(*b) == a
    path = written(tmp_path, files)
    assert check_wiring(plan, export=path).ok
    assert inventory_of(read_tables(path)) == plan.inventory
    for other in (mode, None):
        assert inventory_of(read_tables(written(tmp_path, import_files(as_objects(room, other))))) == room


@pytest.mark.parametrize("mode", ["simplex", "duplex"])
def test_a_trunk_that_netbox_has_not_as_connected_is_named(mode: Mode, tmp_path: Path) -> None:
    plan = behind_trunks(wired(build("circulant(6,1,2)"), 4, 2, mode=mode, kind="ocs"), pods=True)
    cables = to_netbox_cables(plan).replace(",planned,", ",connected,")
    path = tmp_path / "cables.csv"
    path.write_text(cables)
    assert check_wiring(plan, netbox=path).ok
    first = next(line for line in cables.splitlines() if ",T1" in line)
    path.write_text(cables.replace(first, first.replace(",connected,", ",planned,")))
    found = check_wiring(plan, netbox=path)
    assert {one.fault for one in found.findings} == {"unbuilt"}
    assert all("T1 is planned" in one.words for one in found.findings)


def test_a_lane_at_one_side_of_a_port_is_named_and_reaches_nothing(tmp_path: Path) -> None:
    plan = behind_trunks(wired(build("circulant(6,1,2)"), 4, 2, mode="simplex", kind="ocs"), pods=False)
    files = files_of(plan)
    lane = next(line for line in files["10-cables.csv"].splitlines() if ",F1-1," in line)
    end = plan.net.leads[plan.connects[0].a.place].end
    at = f"lab,{end.panel},dcim.rearport,{end.panel_port}A"
    moved = ",".join([*lane.split(",")[:4], at, *lane.split(",")[8:]]).replace(",planned,", ",connected,")
    path = written(tmp_path, files | {"10-cables.csv": files["10-cables.csv"].replace(lane, moved)})
    room = inventory_of(read_tables(path))
    assert room.notes == (f"NetBox has a lane at one side of a port: {end.panel} {end.panel_port}A",)
    assert not room.cabling
    faults = [one.words for one in check_wiring(plan, netbox=path).findings if one.fault == "cable"]
    assert faults == [*room.notes]


def test_the_shipped_room_with_trunks_goes_to_netbox_and_back(tmp_path: Path) -> None:
    room = read_inventory(Path(__file__).parents[2] / "configs" / "inventory_pods.yaml")
    plan = make_plan(build("circulant(32,3,4,5)"), room, mode="simplex")
    path = written(tmp_path, files_of(plan))
    assert check_wiring(plan, export=path).ok
    found = inventory_of(read_tables(path))
    assert found.trunks == plan.inventory.trunks
    assert found == plan.inventory
    again = tmp_path / "again.yaml"
    again.write_text(format_inventory(found))
    assert read_inventory(again) == found


def test_without_profiles_netbox_traces_no_simplex_panel() -> None:
    plan = plan_of(build("circulant(5,1,2)"))
    box = NetboxDouble()
    box.load(files_of(plan))
    for cable in box.objects["cables"]:
        del cable["profile"]
    assert all(box.trace(connect.a.host, connect.a.port) is None for connect in plan.connects)


def test_a_duplex_cord_is_one_cable_whose_length_counts_once(tmp_path: Path) -> None:
    plan = plan_of(build("hypercube(3)"), "duplex")
    simplex_ports = tuple(replace(port, mode="simplex") for port in plan.inventory.panels[0].ports)
    room = replace(plan.inventory, panels=(replace(plan.inventory.panels[0], ports=simplex_ports),))
    plan = replace(plan, inventory=room)
    box = NetboxDouble()
    box.load(files_of(plan))
    patches = [cable for cable in box.objects["cables"] if cable["side_a_type"] == "dcim.frontport"]
    assert len(patches) == len(plan.connects) == 12
    metres = plan.bill().metres
    assert metres is not None
    assert sum(Fraction(cable["length"]) for cable in box.objects["cables"]) == metres
    assert Counter(cable["profile"] for cable in box.objects["cables"]) == {"single-1c1p": 36}
    assert set(PROFILES) >= {cable["profile"] for cable in box.objects["cables"]}


def test_what_exists_is_connected_and_what_is_planned_is_not(tmp_path: Path) -> None:
    plan = plan_of(build("circulant(5,1,2)"))
    wired = replace(plan, inventory=replace(plan.inventory, cabling=plan.fixed))
    for one, there in ((plan, 0), (wired, 20)):
        path = written(tmp_path, files_of(one))
        room = inventory_of(read_tables(path))
        assert room == one.inventory
        assert len(room.cabling) == there


def test_the_cables_alone_are_the_last_of_the_files(tmp_path: Path) -> None:
    plan = plan_of(build("circulant(5,1,2)"), breakout=True)
    export_wiring(plan, "netbox", tmp_path / "all")
    export_wiring(plan, "netbox", tmp_path / "cables.csv")
    assert (tmp_path / "cables.csv").read_text() == (tmp_path / "all" / "10-cables.csv").read_text()
    assert to_netbox_cables(plan) == (tmp_path / "cables.csv").read_text()
    assert len(list((tmp_path / "all").iterdir())) == 10


def refused() -> list[tuple[Inventory, str]]:
    room = room_of(2, 1, (4,))
    host, panel = room.hosts[0], room.panels[0]
    ports = (PanelPort("1", "simplex"), PanelPort("1A", "duplex"))
    uneven = tuple(replace(one, ports=(Port("e", "LC", Fraction(10, 3)),)) for one in room.hosts)
    return [
        (replace(room, hosts=(replace(host, name="H1"), *room.hosts[1:])), "for the same name"),
        (replace(room, hosts=(replace(host, name="a,b"), *room.hosts[1:])), "comma"),
        (replace(room, hosts=(replace(host, name="x" * 65), *room.hosts[1:])), "64 letters"),
        (replace(room, name=" x"), "blanks around; rename it"),
        (replace(room, panels=(replace(panel, ports=ports),)), "twice"),
        (replace(room, hosts=uneven), "whole kilobits"),
    ]


@pytest.mark.parametrize(("room", "message"), refused(), ids=lambda value: value if isinstance(value, str) else "")
def test_what_netbox_cannot_hold_is_refused(room: Inventory, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        as_objects(room)


@given(value=st.fractions(max_denominator=10**6))
def test_exact_numbers_are_read_as_they_were(value: Fraction) -> None:
    assert Fraction(exact(value)) == value


def test_a_directory_that_lacks_a_table_is_refused(tmp_path: Path) -> None:
    files = import_files(as_objects(room_of(2, 4, (8,))))
    for name in files:
        kind = name.partition("-")[2].removesuffix(".csv")
        if kind in {"devices", "interfaces", "rear-ports", "front-ports"}:
            with pytest.raises(FileFormatError, match=f"there is no file of {kind}"):
                read_tables(written(tmp_path, {other: text for other, text in files.items() if other != name}))
    with pytest.raises(FileFormatError, match="not a directory"):
        read_tables(tmp_path / "none")
    with pytest.raises(FileFormatError, match="two files of racks"):
        read_tables(written(tmp_path, files | {"netbox_racks.csv": files["02-racks.csv"]}))
    with pytest.raises(FileFormatError, match=r"07-interfaces.csv: line 1: .* device, name, type"):
        read_tables(written(tmp_path, files | {"07-interfaces.csv": "name\nx\n"}))
