"""Pictures of racks: every host and cable of the plan, texts within their boxes, lines between them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from lxml import etree

from tests.samples.inventories import inventory_of
from topodesign import build, plan_wiring, read_inventory
from topodesign.base.shipped import copy_examples
from topodesign.wiring.exports.formats.package import to_package
from topodesign.wiring.exports.rack_rows import MAX_RACKS, RackRows, draw_rack_rows, find_rack_rows
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import make_plan


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
