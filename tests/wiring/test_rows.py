"""Rooms as they are: pods, trunks, spare ports, several speeds, idle hosts, array cables, and the light they lose."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tests.samples.inventories import SPEED, inventory_of
from tests.wiring.test_plan import traced, wanted
from topodesign import build, plan_wiring, read_inventory, show_wiring
from topodesign.base.errors import InfeasibleError, ParameterError, TopologyError
from topodesign.base.shipped import copy_examples
from topodesign.cli.main import run
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.exports.cables import ROWS, far_fibre, fibres_at_host, fibres_of_lane
from topodesign.wiring.exports.export import export_wiring
from topodesign.wiring.exports.formats.package import to_package
from topodesign.wiring.exports.rack_rows import MAX_RACKS, RackRows, draw_rack_rows, find_rack_rows
from topodesign.wiring.inventory.devices import LANES, POLARITIES, Fixed, Losses, Polarity, Port, Trunk
from topodesign.wiring.inventory.inventory import Inventory, distance
from topodesign.wiring.plan.files import load_wiring, save_wiring
from topodesign.wiring.plan.losses import LinkLoss, LossBudget
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import make_plan
from topodesign.wiring.plan.proof import check_plan


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Inventory:
    [path] = copy_examples(["inventory_pods.yaml"], tmp_path_factory.mktemp("rows"))
    return read_inventory(path)


@pytest.fixture(scope="module")
def plan(rows: Inventory) -> WiringPlan:
    return plan_wiring("circulant(32,3,4,5)", rows)


def test_links_within_a_row_stay_in_it_and_others_go_through_the_switch(rows: Inventory, plan: WiringPlan) -> None:
    assert traced(plan) == wanted(plan.topology)
    assert {connect.a.panel for connect in plan.connects} == {"PA", "PB", "ocs"}
    for connect in plan.connects:
        pods = {rows.host[end.host].pod for end in (connect.a, connect.b)}
        assert len(pods) == 1 or connect.a.panel == "ocs"


def test_a_trunk_is_part_of_the_way(plan: WiringPlan, tmp_path: Path) -> None:
    connect = next(one for one in plan.connects if one.a.panel == "ocs")
    [way] = show_wiring(plan, connect.cable).ways
    near = [plan.inventory.find_plugged(end.panel, end.panel_port) for end in (connect.a, connect.b)]
    assert way.through[1] == ":".join(near[0])
    assert way.through[-2] == ":".join(near[1])
    assert [name[0] for name in way.through] == ["F", "X", "T", "o", "C", "o", "T", "X", "F"]
    assert way in show_wiring(plan, way.through[2]).ways  # by the name of the trunk
    export_wiring(plan, "patches", tmp_path / "patches.csv")
    assert check_wiring(plan, export=tmp_path / "patches.csv").ok


def test_cables_go_to_the_panel_where_hosts_plug_in(plan: WiringPlan) -> None:
    sizes = {item.length for item in plan.bill().items if item.kind == "MPO-16 breakout"}
    runs = {distance(plan.inventory, fixed.host, "XA" if fixed.host[0] == "a" else "XB") for fixed in plan.fixed}
    assert all(run is not None and any(size is not None and size >= run + 3 for size in sizes) for run in runs)
    assert sizes == {Fraction(7)}  # the switch in the other row would need 10 m


def test_plan_files_keep_everything(rows: Inventory, plan: WiringPlan, tmp_path: Path) -> None:
    save_wiring(plan, tmp_path / "plan.json")
    again = load_wiring(tmp_path / "plan.json")
    assert again == plan
    assert again.inventory.losses == rows.losses
    assert again.inventory.trunks == rows.trunks
    assert {port.polarity for host in again.inventory.hosts for port in host.ports} == {"B"}


def test_the_fastest_lanes_are_used_if_they_do(rows: Inventory) -> None:
    assert rows.speeds == (Fraction(50 * 10**9), Fraction(10 * 10**9))
    fast, slow = (plan_wiring("uniring(1,32)", rows, speed=speed) for speed in (None, "10Gbps"))
    assert (fast.speed, slow.speed) == rows.speeds
    assert {fixed.port for fixed in fast.fixed} == {"fab0"}
    assert {fixed.port for fixed in slow.fixed} == {"mgmt0"}
    with pytest.raises(ParameterError, match="no lane has 25Gbps; there are 50Gbps and 10Gbps"):
        plan_wiring("torus(8,4)", rows, speed="25Gbps")
    with pytest.raises(InfeasibleError, match=r"with 50Gbps a lane, .*; with 10Gbps a lane, too few ports"):
        plan_wiring("complete(32)", rows)
    with pytest.raises(TopologyError, match="one speed"):
        check_plan(replace(fast, inventory=rows))


def test_lanes_that_are_cabled_decide_the_speed() -> None:
    room = inventory_of(4, 2, (20,))
    hosts = tuple(replace(host, ports=(*host.ports, Port("fast", "LC", 2 * SPEED))) for host in room.hosts)
    cabling = tuple(
        Fixed(f"h{host}", f"eth{lane}", 1, "P0", str(2 * host + lane + 1)) for host, lane in product(range(4), range(2))
    )
    made = plan_wiring("biring(2,4)", replace(room, hosts=hosts, cabling=cabling))
    assert made.speed == SPEED
    assert made.fixed == cabling


def test_idle_hosts_are_cabled_only_if_asked() -> None:
    room = inventory_of(8, 2, (20,))
    assert {fixed.host for fixed in plan_wiring("biring(2,6)", room).fixed} == {f"h{host}" for host in range(6)}
    assert len(plan_wiring("biring(2,6)", room, idle=True).fixed) == 16
    assert len(plan_wiring("biring(2,6)", inventory_of(8, 2, (14,)), idle=True).fixed) == 12  # no room for all


def test_spare_ports_stay_free() -> None:
    room = inventory_of(6, 2, (8, 8))
    kept = replace(room, panels=tuple(replace(panel, spare=2) for panel in room.panels))
    made = plan_wiring("biring(2,6)", kept)
    assert traced(made) == wanted(made.topology)
    assert max(Counter(fixed.panel for fixed in made.fixed).values()) == 6
    more = replace(room, panels=tuple(replace(panel, spare=3) for panel in room.panels))
    with pytest.raises(InfeasibleError, match="6 hosts need 12, there are 10; 6 stay free as spares"):
        plan_wiring("biring(2,6)", more)
    with pytest.raises(TopologyError, match="fewer than 3 ports left free"):
        check_plan(replace(made, inventory=more))


def test_what_no_order_of_hosts_can_do_is_proven(rows: Inventory) -> None:
    alone = replace(rows, panels=rows.panels[:2], trunks=())  # nothing joins the rows
    with pytest.raises(InfeasibleError, match=r"impossible: .*proven"):
        plan_wiring("biring(2,32)", alone)


@given(st.sampled_from(list(LANES)), st.sampled_from(POLARITIES), st.data())
def test_array_cables_lose_no_fibre(connector: str, polarity: Polarity, data: st.DataObject) -> None:
    kind = next(known for known in LANES if known == connector)
    fibres = range(1, ROWS[kind][0] * ROWS[kind][1] + 1)
    there = [far_fibre(kind, polarity, fibre) for fibre in fibres]
    assert sorted(there) == list(fibres)
    assert [far_fibre(kind, polarity, fibre) for fibre in there] == list(fibres)  # each type is its own reverse
    used = [fibre for lane in range(1, LANES[kind] + 1) for fibre in fibres_at_host(kind, lane)]
    assert len(set(used)) == 2 * LANES[kind]
    assert set(used) <= set(fibres)
    lane = data.draw(st.integers(1, LANES[kind]))
    words = fibres_of_lane(Port("p", kind, SPEED, polarity), lane)
    assert ("Tx fibre" in words) == (kind != "LC")


def test_fibres_of_the_standards() -> None:
    """Four lanes send on 1 to 4 and receive on 12 to 9 (IEEE 802.3, 86.10.3.3); the types as TIA-568.3 lists them."""
    assert [fibres_at_host("MPO-12", lane) for lane in range(1, 5)] == [(1, 12), (2, 11), (3, 10), (4, 9)]
    assert [far_fibre("MPO-12", "B", fibre) for fibre in (1, 2, 12)] == [12, 11, 1]
    assert [far_fibre("MPO-12", "C", fibre) for fibre in (1, 2, 11, 12)] == [2, 1, 12, 11]
    assert fibres_of_lane(Port("q", "MPO-12", SPEED, "B"), 1) == "Tx fibre 1 comes out at 12: A, Rx fibre 12 at 1: B"


def test_losses_add_up(plan: WiringPlan) -> None:
    """Worked by hand: 7 m of fibre at 3 dB/km each way, ports of 0.3 (behind: 0.2) dB, trunks 0.3, the circuit 1.2."""
    found = {link.cable: link for link in plan.loss_budget().links}
    for connect in plan.connects:
        cables = 2 * 7 * Fraction(3, 1000)
        across = 2 * Fraction("0.8") + Fraction("1.2")
        beside = 2 * Fraction("0.3") + 3 * Fraction(3, 1000)
        link = found[connect.cable]
        assert link.loss == cables + (across if connect.a.panel == "ocs" else beside)
        assert (link.budget, link.unknown) == (Fraction("3.5"), ())


def test_a_budget_that_does_not_hold(plan: WiringPlan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hosts = [
        replace(host, ports=tuple(replace(port, budget_db=Fraction(2)) for port in host.ports)) if number == 0 else host
        for number, host in enumerate(plan.inventory.hosts)
    ]
    weak = replace(plan, inventory=replace(plan.inventory, hosts=tuple(hosts)))
    over = weak.loss_budget().over
    assert over
    assert {plan.inventory.hosts[0].name} <= {name for link in over for name in (link.sender, link.receiver)}
    assert all(plan.inventory.hosts[0].name in {link.sender, link.receiver} for link in over)
    save_wiring(weak, tmp_path / "weak.json")
    assert run(["wire", "show", "--loss", str(tmp_path / "weak.json")]) == 1
    assert f"{len(over)} of 96 links exceed their loss budget" in capsys.readouterr().out
    unknown = replace(weak, inventory=replace(weak.inventory, losses=Losses()))
    assert unknown.loss_budget().links[0].unknown == ("fibre",)
    assert not unknown.loss_budget().known
    exact = LinkLoss("C1", "a", "b", Fraction(2), (), Fraction(2))
    bare = replace(exact, budget=None)
    assert (exact.margin, exact.problem) == (Fraction(0), "")
    assert [LossBudget((exact, one)).known for one in (exact, bare, replace(exact, unknown=("fibre",)))] == [1, 0, 0]
    assert [LossBudget((bare, one)).budgeted for one in (exact, bare)] == [True, False]


def test_the_plan_command_says_whether_the_light_suffices(
    rows: Inventory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [path] = copy_examples(["inventory_pods.yaml"], tmp_path)
    command = ["wire", "plan", "torus(8,4)", "--inventory", str(path), "-o", str(tmp_path / "plan.json")]
    assert run(command) == 0
    assert re.search(r"all within the loss budget: C\d+ loses 2.84 dB of 3.5 dB", capsys.readouterr().out)
    path.write_text(path.read_text().replace("budget: 3.5dB", "budget: 2.5dB"))
    assert run(command) == 1
    switched = sum(connect.a.panel == "ocs" for connect in load_wiring(tmp_path / "plan.json").connects)
    assert f"{switched} of 64 links exceed their" in capsys.readouterr().out


def test_port_tables_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "ports.csv"
    path.write_text(
        "device,kind,rack,port,connector,speed,mode,pod,pods,spare,circuit,polarity,budget\n"
        "h,host,r,e,MPO-24,12x50Gbps,,north,,,,C,2dB\n"
        "P,ocs,r,1,,,simplex,,north south,1,1.5dB,,\n"
        "P,,r,2,,,simplex,,,,,,\n".replace("P,,r,2", "P,ocs,r,2")
    )
    inventory = read_inventory(path)
    assert inventory.hosts[0].pod == "north"
    assert inventory.hosts[0].ports == (Port("e", "MPO-24", 50 * Fraction(10**9), "C", Fraction(2)),)
    [panel] = inventory.panels
    assert (panel.pods, panel.spare, panel.circuit_db) == (("north", "south"), 1, Fraction(3, 2))


def test_trunks_lead_somewhere_else() -> None:
    room = inventory_of(4, 2, (8, 8), kind="patch panel")
    led = replace(room, trunks=tuple(Trunk("P0", str(port), "P1", str(port)) for port in range(1, 9)))
    made = plan_wiring("biring(2,4)", led)
    assert {fixed.panel for fixed in made.fixed} == {"P0"}
    with pytest.raises(ParameterError, match="port '1' of 'P1' leads to port '1' of 'P0'; name that one"):
        replace(led, cabling=(Fixed("h0", "eth0", 1, "P1", "1"),))
    with pytest.raises(InfeasibleError, match="there are 8; 8 only lead to others"):
        plan_wiring(build("biring(2,5)"), replace(led, hosts=inventory_of(5, 2, (1,)).hosts))


# -- pictures of racks: every host and cable of the plan, texts within their boxes, lines between them ----------------


def room_of(racks: int, rows: int, panels: int = 1, name: str = "r") -> WiringPlan:
    """A plan of 36 hosts in so many racks, which stand in rows; panels are in the last racks."""
    inventory = inventory_of(36, 4, (-(-144 // panels),) * panels, kind="patch panel")
    hosts = tuple(replace(host, site="", rack=f"{name}{n * racks // 36}") for n, host in enumerate(inventory.hosts))
    boards = tuple(
        replace(panel, site="", rack=f"{name}{racks - 1 - n % racks}") for n, panel in enumerate(inventory.panels)
    )
    side = -(-racks // rows)
    places = {f"{name}{n}": (Fraction(n % side) * 6 / 10, Fraction(3 * (n // side))) for n in range(racks)}
    room = replace(inventory, hosts=hosts, panels=boards, racks={"": places}, name="hall")
    return make_plan(build("circulant(36,2,3)"), room)


def found_in(plan: WiringPlan) -> RackRows:
    found = find_rack_rows(plan)
    assert found is not None
    return found


@pytest.mark.parametrize(("racks", "rows", "panels"), [(2, 1, 1), (6, 2, 1), (9, 3, 4), (24, 4, 2)])
def test_bundles_are_the_cables_of_the_plan(racks: int, rows: int, panels: int) -> None:
    plan = room_of(racks, rows, panels)
    found, place = found_in(plan), plan.inventory.place
    assert len({rack.row for rack in found.racks}) == rows
    assert {host: rack.name for rack in found.racks for host in rack.hosts} == {h: place(h).rack for h in plan.hosts}
    cables: dict[frozenset[str], dict[str, Fraction | None]] = {}
    for wire in plan.net.wires:
        pair = frozenset((wire.a.place.rack, wire.b.place.rack))
        cables.setdefault(pair, {})[wire.breakout or wire.name] = plan.net.length(wire)
    assert {frozenset((one.a, one.b)): one.cables for one in found.bundles} == {k: len(v) for k, v in cables.items()}
    for one in found.bundles:
        assert one.metres == sum((metres or 0 for metres in cables[frozenset((one.a, one.b))].values()), Fraction(0))
    if panels == 1:  # no breakout cable leads to two racks
        assert sum(one.metres or 0 for one in found.bundles) == plan.bill().metres


@pytest.mark.parametrize(
    ("racks", "rows", "panels", "name"),
    [
        (2, 1, 1, "r"),
        (6, 1, 1, "r"),
        (9, 3, 4, "rack-east-"),
        (12, 3, 4, "<b>"),
        (24, 4, 2, "a very long name of a rack "),
    ],
)
def test_texts_are_within_boxes_and_lines_between_them(racks: int, rows: int, panels: int, name: str) -> None:
    plan = room_of(racks, rows, panels, name)
    found = found_in(plan)
    svg = etree.fromstring(draw_rack_rows(found).encode())
    wide, high = map(float, (svg.get("viewBox") or "").split()[2:])
    assert wide <= 390
    boxes = [tuple(float(one.get(key) or 0) for key in ("x", "y", "width", "height")) for one in svg.iter("{*}rect")]
    assert len(boxes) == racks
    assert all(x > 0 and x + width < wide and y > 0 and y + height < high for x, y, width, height in boxes)
    texts = [
        (float(one.get("x") or 0), float(one.get("y") or 0), float(one.get("font-size") or 0), one.text or "")
        for one in svg.iter("{*}text")
    ]
    said = Counter(text for *_, text in texts)
    for bundle in found.bundles:
        assert said[bundle.words]
    for rack in found.racks:
        assert said[rack.name] == 1
        assert set(rack.panels) <= set(" ".join(said).split())
    for x, y, size, text in texts:
        home = [box for box in boxes if box[0] < x < box[0] + box[2] and box[1] < y < box[1] + box[3]]
        assert home or text.startswith("row ")
        assert all(x + 0.6 * size * len(text) <= box[0] + box[2] for box in home)
    for line in svg.iter("{*}path"):
        if line.get("class") == "bundle":
            points = [tuple(map(float, one.split())) for one in re.split("[ML]", line.get("d") or "")[1:]]
            for (x1, y1), (x2, y2) in pairwise(points):
                assert x1 == x2 or y1 == y2
                assert 0 <= min(x1, x2) <= max(x1, x2) <= wide
                assert max(y1, y2) <= high
                for x, y, width, height in boxes:
                    apart = max(x1, x2) <= x or min(x1, x2) >= x + width
                    assert apart or max(y1, y2) <= y + 0.01 or min(y1, y2) >= y + height - 0.01


def test_hosts_are_named_or_counted() -> None:
    names = [" ".join(draw.split()) for draw in texts_of(draw_rack_rows(found_in(room_of(3, 1))))]
    assert sum(len(re.findall(r"\bh\d+", name)) for name in names) + counted(names) == 36
    names = texts_of(draw_rack_rows(found_in(room_of(18, 3))))
    assert set(room_of(18, 3).hosts) <= set(" ".join(names).split())


def texts_of(svg: str) -> list[str]:
    return [one.text or "" for one in etree.fromstring(svg.encode()).iter("{*}text")]


def counted(names: list[str]) -> int:
    return sum(int(found[1]) for found in (re.fullmatch(r"\+ (\d+) hosts", name) for name in names) if found)


def test_trunks_are_apart_from_cables(tmp_path_factory: pytest.TempPathFactory) -> None:
    [path] = copy_examples(["inventory_pods.yaml"], tmp_path_factory.mktemp("rows"))
    plan = plan_wiring("circulant(32,3,4,5)", read_inventory(path))
    words = {(one.a, one.words) for one in found_in(plan).bundles}
    assert words == {
        ("a1", "16 to a5, 112 m"), ("b1", "16 to b5, 112 m"), ("a5", "24 trunks to b5"),
        ("b5", "24 trunks here"), ("b5", "36 here, 108 m"), ("a5", "36 here, 108 m"),
    }  # fmt: skip
    page = to_package(plan)
    assert isinstance(page, str)
    assert page.index('class="racks"') < page.index("<h2>What to do and to buy")
    assert 'aria-label="the topology"' not in page


def test_one_rack_or_too_many_have_the_drawing_of_the_topology() -> None:
    assert find_rack_rows(room_of(1, 1)) is None
    assert 'aria-label="the topology"' in str(to_package(room_of(1, 1)))
    assert find_rack_rows(room_of(MAX_RACKS + 1, 1)) is None
