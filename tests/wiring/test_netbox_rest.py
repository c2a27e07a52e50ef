"""NetBox over REST: recorded answers make their room again, and no fault hangs or tells the token."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.samples.netbox import ANSWERS, GOOD_TOKEN, Asked, answer, recorded, serving
from tests.wiring.test_netbox import files_of
from topodesign.base.errors import FileFormatError, ParameterError, TopodesignError
from topodesign.topology.library import build
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.exports.formats.netbox import to_netbox_cables
from topodesign.wiring.inventory.files import read_inventory
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.netbox import rest
from topodesign.wiring.netbox.model import NetboxObjects
from topodesign.wiring.netbox.reading import inventory_of
from topodesign.wiring.netbox.rest import NetboxError, read_rest
from topodesign.wiring.netbox.tables import read_tables
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.wire import plan_wiring

pytest.importorskip("pynetbox")

Fault = Callable[[Asked, dict[str, Any]], bool]

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETBOX_TOKEN", GOOD_TOKEN)


def room() -> Inventory:
    return read_inventory(ANSWERS / "room.yaml")


def plan() -> WiringPlan:
    with patch("topodesign.wiring.plan.planner.turn_along_ring", lambda patches, *_, **__: patches):
        return plan_wiring("circulant(4,1)", room(), mode="simplex")  # as it was planned when the answers were recorded


def same(found: NetboxObjects) -> bool:
    got, want = inventory_of(found), room()
    alike = all(getattr(got, part) == getattr(want, part) for part in ("hosts", "panels", "stock", "racks", "slack"))
    return alike and got.name == want.name and sorted(map(str, got.cabling)) == sorted(map(str, want.cabling))


@pytest.mark.parametrize("page", [2, 1000])
def test_recorded_answers_make_the_room(page: int) -> None:
    with serving(recorded(), page=page) as address:
        assert same(read_rest(address))
        assert same(read_rest(f"{address}/api/"))


def test_what_netbox_exports_makes_the_room() -> None:
    assert same(read_tables(ANSWERS))


def test_answers_of_a_version_before_4_5_make_the_room() -> None:
    answers = recorded()
    names = {one["id"]: one["name"] for one in answers["rear-ports"]}
    for front in answers["front-ports"]:
        (pair,) = front.pop("rear_ports")
        front["rear_port"] = {"id": pair["rear_port"], "name": names[pair["rear_port"]]}
        front["rear_port_position"] = pair["rear_port_position"]
    for cable in answers["cables"]:
        del cable["profile"]
    with serving(answers) as address:
        assert same(read_rest(address))


def test_a_token_of_the_first_kind_is_sent_as_such() -> None:
    first = "0123456789abcdef" * 2
    with serving(recorded(), token=first) as address:
        assert same(read_rest(address, first))


def test_one_site_alone() -> None:
    with serving(recorded()) as address:
        found = read_rest(address, site="lab")
        assert {device.name for device in found.devices} == {"big1", "big2", "lc1", "lc2", "P"}
        with pytest.raises(ParameterError, match=r"no site 'Lab'; sites there are: \(no site\), lab"):
            read_rest(address, site="Lab")


def test_the_check_tells_what_netbox_has_not_as_connected(tmp_path: Path) -> None:
    with serving(recorded()) as address:
        found = check_wiring(plan(), netbox=address)
    for source in (ANSWERS, ANSWERS / "netbox_cables.csv"):
        assert check_wiring(plan(), netbox=source).record() == found.record()
    assert [(finding.fault, finding.cables) for finding in found.findings] == [
        ("unbuilt", ("C2",)),
        ("unbuilt", ("C5",)),
    ]
    assert "C2 is planned" in found.findings[0].words
    assert found.repair.moves == 2
    files = files_of(plan())
    (tmp_path / "all.csv").write_text(files["10-cables.csv"].replace(",planned,", ",connected,"))
    assert check_wiring(plan(), netbox=tmp_path / "all.csv").ok


def test_the_check_finds_a_swap_a_foreign_cable_and_one_that_carries_no_light(tmp_path: Path) -> None:
    rows = [line.split(",") for line in to_netbox_cables(plan()).replace(",planned,", ",connected,").splitlines()]
    patches = [row for row in rows if row[2] == "dcim.frontport"]
    patches[0][4:8], patches[1][4:8] = patches[1][4:8], patches[0][4:8]
    patches[2][0:4], patches[3][4:8] = patches[3][4:8], patches[2][0:4]
    (tmp_path / "c.csv").write_text("\n".join(",".join(row) for row in rows) + "\n")
    found = check_wiring(plan(), netbox=tmp_path / "c.csv")
    faults = [finding.fault for finding in found.findings]
    assert faults.count("swapped") == 1
    assert faults.count("cable") == 2
    assert found.repair.moves == 4
    rows[0][3] = "nothing"
    (tmp_path / "c.csv").write_text(f"{','.join(rows[0][:3])},x\n")
    with pytest.raises(FileFormatError, match=r"c.csv: line 1: a table of cables has the columns"):
        check_wiring(plan(), netbox=tmp_path / "c.csv")


def elsewhere(handler: Asked, body: dict[str, Any]) -> bool:
    body["next"] = "http://127.0.0.1:9/api/dcim/sites/?offset=1"
    body["count"] = 3
    body["results"] = body["results"][:1]
    return False


def again(handler: Asked, body: dict[str, Any]) -> bool:
    body["next"] = f"http://{handler.headers['host']}{handler.path}"
    return False


def many(handler: Asked, body: dict[str, Any]) -> bool:
    body["count"] = 10**9
    return False


def more(handler: Asked, body: dict[str, Any]) -> bool:
    body["count"] += 1
    return False


def redirected(handler: Asked, body: dict[str, Any]) -> bool:
    handler.send_response(301)
    handler.send_header("location", f"http://127.0.0.1:9{handler.path}")
    handler.send_header("content-length", "0")
    handler.end_headers()
    return True


def dripping(handler: Asked, body: dict[str, Any]) -> bool:
    handler.send_response(200)
    handler.end_headers()
    try:
        for _ in range(100):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)
    except OSError:
        pass
    handler.close_connection = True
    return True


def silent(handler: Asked, body: dict[str, Any]) -> bool:
    handler.ended.wait(3)
    return False


def status(number: int, body: object) -> Fault:
    def fault(handler: Asked, _: dict[str, Any]) -> bool:
        answer(handler, number, body)
        return True

    return fault


def cut(handler: Asked, body: dict[str, Any]) -> bool:
    answer(handler, 200, body, short=20)
    return True


FAULTS: dict[str, tuple[Fault, str]] = {
    "elsewhere": (elsewhere, "points to another address"),
    "again": (again, "more pages than objects"),
    "many": (many, "read one site only"),
    "more": (more, "told of 3 sites and sent others"),
    "redirected": (redirected, "redirects to another address"),
    "dripping": (dripping, "in time"),
    "silent": (silent, "in time"),
    "cut": (cut, "cannot be read"),
    "500": (status(500, f"oh {GOOD_TOKEN}"), "refused with status 500"),
    "401": (status(401, {"detail": GOOD_TOKEN}), "does not know the token"),
    "403": (status(403, {}), "may not read dcim"),
    "404": (status(404, ""), "no REST API"),
    "429": (status(429, ""), "too often"),
    "html": (status(200, "<html>login</html>"), "does not answer as NetBox does"),
    "half": (status(200, '{"count": 1, "next": nu'), "does not answer as NetBox does"),
    "list": (status(200, []), "another shape|sent others|no site"),
    "empty": (status(200, {}), "another shape"),
    "no results": (status(200, {"count": 1, "next": None, "results": None}), "another shape"),
    "numbers": (status(200, {"count": 1, "next": None, "results": [1]}), "another shape"),
    "deep": (status(200, "[" * 100_000), "another shape|does not answer"),
    "bare": (status(200, {"count": 1, "next": None, "results": [{"id": 1}]}), "another shape"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "_ANSWER", 0.4)
    fault, words = FAULTS[name]
    with serving(recorded(), fault=fault) as address, pytest.raises(TopodesignError, match=words) as caught:
        read_rest(address)
    assert GOOD_TOKEN not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("kind", sorted(recorded()))
def test_an_answer_that_lacks_a_field_is_told(kind: str) -> None:
    answers = recorded()
    for key in sorted({key for one in answers[kind] for key in one} - {"profile", "id", "rear_ports"}):
        lacking = answers | {kind: [{k: v for k, v in one.items() if k != key} for one in answers[kind]]}
        with serving(lacking) as address, pytest.raises(NetboxError, match="another shape"):
            read_rest(address)


def test_wrong_addresses_and_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(recorded()) as address:
        with pytest.raises(NetboxError, match="refuses the token"):
            read_rest(address, GOOD_TOKEN[:-1] + "x")
        with pytest.raises(NetboxError, match="over TLS"):
            read_rest(address.replace("http:", "https:"))
        with pytest.raises(NetboxError, match="no REST API"):
            read_rest(f"{address}/netbox")
    with pytest.raises(NetboxError, match="cannot be read"):
        read_rest(address)
    for wrong in ("ftp://x", "https://", "https://me:secret@x", "https://x/?a=b", "netbox"):
        with pytest.raises(ParameterError, match="address of NetBox is like") as caught:
            read_rest(wrong)
        assert "secret" not in str(caught.value)
    with pytest.raises(ParameterError, match="copied whole"):
        read_rest(address, "a\nb")
    monkeypatch.delenv("NETBOX_TOKEN")
    with pytest.raises(ParameterError, match="NETBOX_TOKEN"):
        read_rest(address)


def test_a_plan_of_other_devices_is_refused() -> None:
    other = plan_wiring(build("circulant(4,1)"), read_inventory(CONFIGS / "inventory_testbed.yaml"))
    with pytest.raises(FileFormatError, match="no cable of the devices of the plan"):
        check_wiring(other, netbox=ANSWERS)
