"""Sheets for technicians: every cable is where it is plugged in, every address leads somewhere, and stages add up."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tests.samples.inventories import inventory_of
from tests.samples.plans import plan_of
from tests.samples.topologies import regular_digraphs
from topodesign import build, change_wiring, plan_wiring, read_inventory, show_wiring, write_change
from topodesign.base.errors import ParameterError
from topodesign.base.shipped import copy_examples
from topodesign.cli.main import run
from topodesign.topology.topology import Topology
from topodesign.wiring.exports.cables import plugs
from topodesign.wiring.exports.change import to_change_page
from topodesign.wiring.exports.export import export_wiring
from topodesign.wiring.exports.formats import package
from topodesign.wiring.exports.formats.labels import PAGE_HEIGHT, PAGE_WIDTH, sheets
from topodesign.wiring.exports.formats.package import drawing_of, to_package
from topodesign.wiring.exports.formats.panels import figure_of, marks_of, panel_views, to_panels
from topodesign.wiring.exports.formats.racks import between_racks, to_racks
from topodesign.wiring.exports.pages import cell, table
from topodesign.wiring.inventory.answers import plain_inventory
from topodesign.wiring.inventory.devices import PanelPort
from topodesign.wiring.plan.cross_connects import fibres
from topodesign.wiring.plan.files import save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import make_plan


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> WiringPlan:
    [path] = copy_examples(["inventory_pods.yaml"], tmp_path_factory.mktemp("rows"))
    return plan_wiring("circulant(32,3,4,5)", read_inventory(path))


def texts(svg: str) -> Counter[str]:
    """What a picture says."""
    return Counter(text.text or "" for text in etree.fromstring(svg.encode()).iter("{*}text"))


@given(regular_digraphs(7, 2), st.booleans())
def test_every_patch_is_where_it_is_plugged_in(topology: Topology, duplex: bool) -> None:
    if duplex:
        links = topology.links()
        topology = Topology.from_links(topology.nodes, [*links, *((v, u, c) for u, v, c in links)])
    lanes = topology.degree
    plan = make_plan(topology, inventory_of(topology.nodes, lanes, (topology.nodes * lanes,) * 2))
    shown = {panel.name: texts(svg) for panel, svg in panel_views(plan)}
    for name, count in shown.items():
        wanted = Counter(connect.cable for connect in plan.connects for place in fibres(connect) if place.panel == name)
        assert Counter({word: count[word] for word in wanted}) == wanted
        cabled = Counter(fixed.host for fixed in plan.fixed if fixed.panel == name)
        assert Counter({word: count[word] for word in cabled}) == cabled


def test_ports_that_cannot_be_used_say_so(rows: WiringPlan) -> None:
    inventory = rows.inventory
    [first, *others] = inventory.panels
    ports = tuple(replace(port, blocked=port.label == "104") for port in first.ports)
    plan = replace(rows, inventory=replace(inventory, panels=(replace(first, ports=ports), *others)))
    pictures = to_panels(plan)
    assert set(pictures) == {"PA.svg", "PB.svg", "XA.svg", "XB.svg", "ocs.svg"}
    patched = sum([connect.a.panel, connect.b.panel].count("PA") for connect in rows.connects)
    assert f"104 ports, {patched} patched, 1 blocked" in pictures["PA.svg"]
    assert pictures["PA.svg"].count('stroke="#606060"') == 1
    assert texts(pictures["XA.svg"])["ocs:1"] == 1


def page_of(plan: WiringPlan) -> str:
    page = to_package(plan)
    assert isinstance(page, str)
    return page


def test_the_package_leads_from_every_label_to_its_row(rows: WiringPlan) -> None:
    page = etree.HTML(page_of(rows))
    ids = Counter(element.get("id") for element in page.iter() if element.get("id"))
    assert set(ids.values()) == {1}
    wanted = {f"{plug.name}.{plug.end}" for plug in plugs(rows) if plug.cable.kind != "circuit"}
    assert wanted <= set(ids)
    addresses = [(element.get("href") or "")[1:] for element in page.iter("a") if element.get("href")]
    assert set(addresses) <= set(ids)
    assert not re.search(r"(src|href)=[\"'](?!#)", page_of(rows))


@pytest.mark.parametrize("small", [False, True])
def test_the_pages_of_a_directory_hold_what_the_one_page_holds(
    rows: WiringPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, small: bool
) -> None:
    if small:
        monkeypatch.setattr(package, "MAX_ROWS", 20)
        monkeypatch.setattr(package, "MAX_PORTS", 50)
    export_wiring(rows, "package", tmp_path / "work")
    pages = {file.name: file.read_text() for file in (tmp_path / "work").iterdir()}
    listed, named = (json.loads(line.partition(" = ")[2][:-1]) for line in pages.pop("places.js").splitlines())
    places = {name: page for page, names in enumerate(named) for short in names for name in unfolded(short)}
    assert sum(len(list(unfolded(short))) for names in named for short in names) == len(places)
    assert sum("<h1>" in text and ": Panel ocs" in text for text in pages.values()) == (3 if small else 1)
    found = {
        name: Counter(one.get("id") for one in etree.HTML(text).iter() if one.get("id")) for name, text in pages.items()
    }
    assert all(set(ids.values()) <= {1} for ids in found.values())
    assert set(listed) == set(pages) - {"index.html"}
    assert all(name in found[listed[page]] for name, page in places.items())
    whole = etree.HTML(page_of(rows))
    ids = [one.get("id") or "" for one in whole.iter()]
    wanted = {name for name in ids if re.fullmatch(r".+\.[ab]", name)}
    assert wanted | set(rows.hosts) | set(rows.inventory.panel) == set(places)
    for name in found["index.html"]:
        assert name in {"find", "found"}
    links = re.findall(r'(?:src|href)="([^"#]+)"', "".join(pages.values()))
    assert set(links) == set(listed) | {"index.html", "places.js"}
    [section] = [section for section in whole.iter("section") if section.get("id") == "lanes"]
    lanes = {"".join(map(str, row.itertext())) for row in section.iter("tr")}
    told = {"".join(map(str, row.itertext())) for text in pages.values() for row in etree.HTML(text).iter("tr")}
    assert len(lanes - told) == 1  # the head, which names the table


def unfolded(short: str | list[str | int]) -> list[str]:
    """The names that one of places.js stands for."""
    if isinstance(short, str):
        return [short]
    before, first, last, step, digits, after = short
    return [f"{before}{n:0{digits}}{after}" for n in range(int(first), int(last) + 1, int(step) or 1)]


@pytest.mark.dear
def test_a_package_of_thousands_of_hosts_is_no_page(tmp_path: Path) -> None:
    plan = make_plan(build("biring(8,1100)"), inventory_of(1100, 8, (8800,)))
    with pytest.raises(ParameterError, match="8800 lanes is more than browsers draw well; a path without an ending"):
        export_wiring(plan, "package", tmp_path / "work.html")
    export_wiring(plan, "package", tmp_path / "work")
    assert max(file.stat().st_size for file in (tmp_path / "work").iterdir()) < 1_000_000


@pytest.mark.parametrize("racks", [1, 2, 7])
def test_what_leads_from_rack_to_rack(racks: int) -> None:
    inventory = inventory_of(28, 4, (112,), kind="patch panel")
    hosts = tuple(replace(host, rack=f"r{number * racks // 28}") for number, host in enumerate(inventory.hosts))
    plan = make_plan(build("genkautz(4,28)"), replace(inventory, hosts=hosts))
    place = {name: plan.inventory.place(name).rack for name in (*plan.inventory.host, *plan.inventory.panel)}
    wanted = [Counter[frozenset[str]](), Counter[frozenset[str]]()]
    for one in plan.fixed:
        wanted[0][frozenset((place[one.host], place[one.panel]))] += 1
    for connect in plan.connects:
        wanted[0][frozenset((place[connect.a.panel], place[connect.b.panel]))] += 1
        wanted[1][frozenset((place[connect.a.host], place[connect.b.host]))] += 1
    made = "".join(between_racks(plan))
    assert bool(made) == (len(set(place.values())) > 1)
    rows = etree.HTML(made or "<p/>").iter("tr")
    lines = [["".join(map(str, one.itertext())) for one in row.iter("td")] for row in rows]
    cells = {row[0]: row[1:] for row in lines if row}
    names = list(cells)
    for number, found in enumerate(wanted):
        for here in cells:
            told: dict[frozenset[str], int] = {}
            total, _, words = cells[here][number].rpartition(": ")
            for part in filter(None, words.split("; ")):
                count, several, others = re.fullmatch(r"(\d+)( each)? to (.+)", part).groups()  # type: ignore[union-attr]
                some = []
                for name in others.split(", "):
                    first, _, last = name.replace("this rack", here).partition(" \u2013 ")
                    some += names[names.index(first) : names.index(last or first) + 1]
                assert (len(some) > 1) == bool(several)
                told |= {frozenset((here, name)): int(count) for name in some}
            assert told == {pair: count for pair, count in found.items() if here in pair}
            assert not total or int(total) == sum(told.values())


def test_the_lookup_says_what_a_trace_says(rows: WiringPlan) -> None:
    page = etree.HTML(page_of(rows))
    [lanes] = [section for section in page.iter("section") if section.get("id") == "lanes"]
    found = {}
    for row in lanes.iter("tr"):
        cells = ["".join(map(str, one.itertext())) for one in row.iter("td")]
        if cells:
            found[cells[0]] = cells[1:]
    assert len(found) == len(rows.fixed)
    for connect in rows.connects:
        [way] = show_wiring(rows, connect.cable).ways
        for lane, other in ((way.sender, way.receiver), (way.receiver, way.sender)):
            fixed, _, *links = found[lane]
            assert fixed in way.through
            assert links == [connect.cable, other] * 2


def test_a_drawing_has_every_host_and_every_link(rows: WiringPlan) -> None:
    drawing = drawing_of(rows)
    assert drawing is not None
    svg = etree.fromstring(drawing.encode())
    assert Counter(title.text for title in svg.iter("{*}title")) == Counter(rows.hosts)
    assert len(list(svg.iter("{*}path"))) == len(
        {frozenset(link) for u, v, _ in rows.topology.links() for link in [(u, v)]}
    )
    assert {text.text for text in svg.iter("{*}text")} == {*rows.hosts}
    assert drawing_of(make_plan(build("torus(12,14)"), inventory_of(168, 4, (672,)))) is None


def test_stages_leave_and_take_what_the_pictures_mark() -> None:
    plan = make_plan(build("circulant(12,2,3)"), inventory_of(12, 4, (48,), kind="patch panel"), mode="simplex")
    change = change_wiring(plan, "genkautz(4,12)", keep_hosts=True)
    assert len(change.stages) > 1
    taken = {place: connect.cable for connect in plan.connects for place in fibres(connect)}
    for stage in change.stages:
        pull, plug = marks_of(stage.removed, stage.made)
        assert set(pull.values()) <= {"pull"}
        assert pull.keys() <= taken.keys()
        for place in pull:
            del taken[place]
        assert not plug.keys() & taken.keys()
        names = {place: connect.cable for connect in stage.made for place in fibres(connect)}
        taken |= {place: names[place] for place in plug}
    assert taken == {place: connect.cable for connect in change.after.connects for place in fibres(connect)}
    page = to_change_page(change)
    boxes = len(re.findall('class="done"', page))
    assert boxes == len(change.to_records())
    assert len(re.findall("<figure>", page)) == 2 * len(change.stages)


def test_nothing_to_move_is_a_page_too(tmp_path: Path) -> None:
    plan = make_plan(build("biring(2,4)"), inventory_of(4, 2, (8,)))
    write_change(change_wiring(plan, "biring(2,4)"), tmp_path / "none")
    assert "nothing has to move" in (tmp_path / "none" / "sheets.html").read_text()


def test_labels_of_a_device_follow_one_another(rows: WiringPlan) -> None:
    where = {end.where for plug in plugs(rows) for end in (plug.cable.a, plug.cable.b)}
    said = [
        "".join(line.text for line in label.lines[1:]).partition("to")[0] for sheet in sheets(rows) for label in sheet
    ]
    devices = [max((name for name in where if words.startswith(name)), key=len) for words in said]
    assert len(list(groupby(devices))) == len(set(devices))


@pytest.mark.dear
def test_codes_can_be_read_and_lead_to_the_rows_of_the_package(rows: WiringPlan) -> None:
    reader = pytest.importorskip("zxingcpp", reason="needs zxing-cpp: pip install 'topodesign[dev]'")
    url = "https://dc.example/fabric/work.html"
    page = sheets(rows, url)[1]
    scale = 12  # dots a millimetre: a printer has as many
    image = np.full((int(PAGE_HEIGHT * scale), int(PAGE_WIDTH * scale)), 255, dtype=np.uint8)
    for label in page:
        assert min(x for x, _, _ in label.code) > max(line.x + 0.6 * line.size * len(line.text) for line in label.lines)
        for x, y, width in label.code:
            top, left = round(y * scale), round(x * scale)
            image[top : round((y + label.module) * scale), left : round((x + width) * scale)] = 0
    read = {found.text for found in reader.read_barcodes(image)}
    assert len(read) == len(page)
    ids = {element.get("id") for element in etree.HTML(page_of(rows)).iter() if element.get("id")}
    assert {text.removeprefix(f"{url}#") for text in read} <= ids


@pytest.mark.parametrize("room", ["Hall 2, row B", "", 'a "b" </style><b>\\ 機房'])
def test_every_sheet_names_the_room_and_the_job(tmp_path: Path, room: str) -> None:
    before = make_plan(build("torus(4,3)"), replace(inventory_of(12, 4, (48,), kind="patch panel"), name=room))
    change = change_wiring(before, "circulant(12,2,3)", throughput=False)
    plan, named = change.after, f"{room}: " if room else ""
    export_wiring(plan, "package", tmp_path / "work")
    texts = [page_of(plan), to_racks(plan), *(page.read_text() for page in (tmp_path / "work").glob("*.html"))]
    for page in texts:
        check_title(page, f"{named}wiring of circulant(12,2,3)")
    assert len(texts) > 4
    check_title(to_change_page(change), f"{named}rewiring of torus(4,3) to circulant(12,2,3)")
    export_wiring(plan, "labels", tmp_path / "labels")
    pictures = [etree.parse(path).getroot() for path in sorted((tmp_path / "labels").iterdir())]
    for number, picture in enumerate(pictures, start=1):
        title = f"{named}labels of circulant(12,2,3)"
        assert picture.findtext("{*}title") == title
        head = next(picture.iter("{*}text"))
        assert head.text == f"{title}, sheet {number} of {len(pictures)}"
        assert float(head.get("x") or 0) + float(head.get("textLength") or 0) <= PAGE_WIDTH - float(head.get("x") or 0)
        assert 5 < float(head.get("y") or 0) < min(line.y for label in sheets(plan)[0] for line in label.lines) - 5


def check_title(page: str, title: str) -> None:
    """Check what a page and each of its printed sheets are called."""
    html = etree.HTML(page)
    assert (html.findtext(".//title") or "").startswith(title)
    assert (html.findtext(".//h1") or "").startswith(title)
    style = next(html.iter("style"))
    [header] = re.findall(r'@top-left { content: "([^"]*)"', style.text or "")
    assert re.sub(r"\\([0-9a-f]{6})", lambda code: chr(int(code[1], 16)), header).startswith(title)
    assert not list(html.iter("b"))


def test_an_address_that_no_small_code_holds(rows: WiringPlan, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="a code this small takes at most 120"):
        sheets(rows, "https://example.org/" + "x" * 120)
    with pytest.raises(ParameterError, match="patches takes no --url"):
        export_wiring(rows, "patches", tmp_path / "p.csv", url="https://example.org")


def test_names_are_words_on_every_page() -> None:
    plan = plan_of(build("circulant(12,2,3)"), hosts=tuple(f"<b>{node}</b>&" for node in range(12)))
    for page in (to_package(plan), to_racks(plan), *to_panels(plan).values()):
        assert "<b>" not in page
    assert cell("<i>", "a") == '<td data-of="a">&lt;i&gt;</td>'
    assert not list(table("nothing", ("a",), []))


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.json"
    save_wiring(make_plan(build("circulant(12,2,3)"), inventory_of(12, 4, (48,), kind="patch panel")), path)
    for name, ending in (("package", "package.html"), ("panels", "panels")):
        assert run(["wire", "export", str(path), "--format", name, "-o", str(tmp_path / ending)]) == 0
    assert (tmp_path / "panels" / "P0.svg").exists()
    sheet = tmp_path / "change"
    assert run(["wire", "change", str(path), "torus(4,3)", "--no-throughput", "-o", str(sheet)]) == 0
    assert "Stage 1 of" in (sheet / "sheets.html").read_text()
    assert "moves" in capsys.readouterr().out


def test_high_panels_are_printed_in_strips_that_have_each_row_once() -> None:
    plan = plan_wiring("circulant(12,2,3)", plain_inventory(12, 4))
    (panel,) = plan.inventory.panels
    ports = tuple(PanelPort(f"{n}", "simplex") for n in range(24 * 30))
    high = replace(panel, ports=(*ports[:-1], replace(ports[-1], blocked=True)))
    low = figure_of(*next(iter(panel_views(plan))))
    assert "strip" not in low
    tall = replace(plan, inventory=replace(plan.inventory, panels=(high,)))
    ((_, svg),) = panel_views(tall)
    found = figure_of(high, svg)
    views = [list(map(int, one.split())) for one in re.findall(r'viewBox="([^"]+)"><text[^/]+</text><use', found)]
    assert len(views) == 3
    rows = [int(y) for y in re.findall(r'<rect x="6" y="(\d+)" width="56"', svg)]
    for y in rows:  # the frame of the first port of each row
        assert sum(top <= y and y + 52 <= top + down for _, top, _, down in views) == 1
    parts = re.findall(r'<use href="#P0.rows(\d+)"', found)
    assert [found.count(f'<g id="P0.rows{number}">') for number in parts] == [1, 1, 1]
    free = replace(plan, inventory=replace(plan.inventory, panels=(replace(panel, ports=ports),)))
    ((_, svg),) = panel_views(free)
    assert "free from 72 on, not drawn" in svg
    assert svg.count('height="52"') == 72
