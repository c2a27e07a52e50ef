"""What a name in a plan stands for: the ways told are those of the light."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.conftest import few
from tests.samples.inventories import inventory_of
from tests.samples.wirings import wired
from topodesign import build, save_wiring, show_wiring
from topodesign.base.errors import ParameterError
from topodesign.base.file_kinds import kind_of
from topodesign.cli.main import program, run
from topodesign.wiring.exports.cables import plugs
from topodesign.wiring.exports.export import export_wiring
from topodesign.wiring.inventory.devices import Mode
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import make_plan


def plan_of(mode: Mode, spec: str = "circulant(12,2,3)") -> WiringPlan:
    return make_plan(build(spec), inventory_of(12, 4, (24, 28), racks=True), mode=mode)


@pytest.mark.parametrize("mode", ["simplex", "duplex"])
def test_ways_of_a_host_are_its_links(mode: Mode) -> None:
    plan = plan_of(mode)
    for name, node in plan.node.items():
        ways = show_wiring(plan, name).ways
        sent = Counter(way.receiver.split()[0] for way in ways if way.sender.split()[0] == name)
        heard = Counter(way.sender.split()[0] for way in ways if way.receiver.split()[0] == name)
        links = Counter(plan.hosts[v] for u, v, count in plan.topology.links() if u == node for _ in range(count))
        assert sent == links
        assert heard == (Counter() if mode == "duplex" else links)  # the topology is its own reverse


@pytest.mark.parametrize("mode", ["simplex", "duplex"])
def test_everything_with_a_name_is_found_and_lies_on_its_ways(mode: Mode) -> None:
    plan = plan_of(mode)
    for cable in few([*plan.net.wires]):
        ways = show_wiring(plan, cable.name).ways
        assert ways
        assert all(cable.name in way.through for way in ways)
        assert set(ways) <= {*show_wiring(plan, cable.a.label).ways, *show_wiring(plan, cable.b.label).ways}
    assert all(show_wiring(plan, plug.here).ways for plug in few([*plugs(plan)]))
    for connect in few(plan.connects):
        (way,) = show_wiring(plan, connect.cable).ways
        assert way.sender == f"{connect.a.host} {connect.a.port}/{connect.a.lane}"
        assert way.receiver == f"{connect.b.host} {connect.b.port}/{connect.b.lane}"
        side = "A" if mode == "simplex" else ""
        assert way in show_wiring(plan, f"{connect.a.panel}:{connect.a.panel_port}{side}").ways


def test_ways_there_and_back_begin_where_was_asked() -> None:
    plan = plan_of("duplex")
    for connect in plan.connects:
        for end in (connect.a, connect.b):
            (way,) = show_wiring(plan, f"{end.host}:{end.port}/{end.lane}").ways
            assert way.sender == f"{end.host} {end.port}/{end.lane}"


def test_what_is_free_blocked_or_not_there_is_said() -> None:
    plan = plan_of("simplex", "genkautz(4,12)")
    loops = [spare.end for spare in plan.spare]
    notes = {way.note for end in loops for way in show_wiring(plan, f"{end.host}:{end.port}/{end.lane}").ways}
    assert notes == {"free to send", "free to receive"}
    assert str(show_wiring(plan, "P1:28")) == "P1:28: not cabled"
    with pytest.raises(ParameterError, match=r"no host, port or cable 'h12'; did you mean h1"):
        show_wiring(plan, "h12")


def test_zeros_before_the_number_of_a_cable_may_lack() -> None:
    plan = plan_of("duplex")
    assert {"C05", "F5"} <= plan.net.index.keys()
    assert show_wiring(plan, "C5") == show_wiring(plan, "C05")
    assert show_wiring(plan, "C005") == show_wiring(plan, "C05")
    with pytest.raises(ParameterError, match="no host, port or cable 'C99'"):
        show_wiring(plan, "C99")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_of("duplex")
    path = tmp_path / "plan.json"
    save_wiring(plan, path)
    assert run(["wire", "show", str(path), "C01", "h3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 4
    assert run(["wire", "show", str(path), "C01", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["traces"] == [show_wiring(plan, "C01").record()]
    assert run(["wire", "show", str(path)]) == 0
    assert capsys.readouterr().out.strip() == str(plan)
    assert run(["wire", "show", str(path), "nothing"]) != 0


# -- Files given where others are wanted: the message says what they are, and what is wanted


CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A file of every kind."""
    plan = wired(build("circulant(6,1,2)"), 4)
    made = {name: tmp_path / name for name in ("plan.json", "patches.csv", "cables.csv", "links.csv", "sheet.csv")}
    save_wiring(plan, made["plan.json"])
    export_wiring(plan, "patches", made["patches.csv"])
    export_wiring(plan, "netbox", made["cables.csv"])
    made["links.csv"].write_text("src,dst\n0,1\n1,0\n")
    with zipfile.ZipFile(made["sheet.csv"], "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    shipped = ("inventory_testbed.yaml", "inventory_testbed.csv", "observed_testbed.csv", "fabric_dgx_h100.yaml")
    return made | {name: CONFIGS / name for name in shipped}


KINDS = {
    "plan.json": "a wiring plan",
    "patches.csv": "a list of patches",
    "cables.csv": "a table of NetBox",
    "links.csv": "a list of links",
    "sheet.csv": "a spreadsheet",
    "inventory_testbed.yaml": "an inventory",
    "inventory_testbed.csv": "an inventory",
    "observed_testbed.csv": "a list of neighbours",
    "fabric_dgx_h100.yaml": "a fabric",
}
COMMANDS = {
    "wire show {}": ("a wiring plan", {"plan.json"}),
    "wire check {} --lldp x.csv": ("a wiring plan", {"plan.json"}),
    "wire check plan.json --lldp {}": ("a list of neighbours", {"observed_testbed.csv"}),
    "wire check plan.json --netbox {}": ("a table of NetBox", {"cables.csv"}),
    "wire change plan.json {}": ("a fabric or a list of links", {"plan.json", "links.csv", "fabric_dgx_h100.yaml"}),
    "wire plan 'biring(2,4)' --inventory {}": ("an inventory", {"inventory_testbed.yaml", "inventory_testbed.csv"}),
    "wire plan {} --inventory x.yaml": ("a fabric or a list of links", {"links.csv", "fabric_dgx_h100.yaml"}),
    "wire check plan.json --export {}": ("a list of patches", {"patches.csv", "cables.csv"}),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds_are_told_by_what_is_in_a_file(files: dict[str, Path], name: str) -> None:
    told = kind_of(files[name])
    assert told is not None
    assert told.one.startswith(KINDS[name])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_of_another_kind_is_named_with_what_is_wanted(files: dict[str, Path], command: str) -> None:
    wanted, own = COMMANDS[command]
    for name in KINDS.keys() - own:
        words = [str(files[word]) if word in files else word for word in command.format(name).replace("'", "").split()]
        result = CliRunner().invoke(program, words)
        assert result.exit_code != 0
        assert f"this is {KINDS[name]}" in str(result.exception)
        assert f", not {wanted}" in str(result.exception)


def test_a_missing_file_is_told_with_those_beside_it(files: dict[str, Path]) -> None:
    path = files["plan.json"].with_name("plam.json")
    result = CliRunner().invoke(program, ["wire", "show", str(path)])
    assert str(result.exception).endswith("did you mean 'plan.json'?")
