"""Files given where others are wanted: the message says what they are, and what is wanted."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.samples.wirings import wired
from topodesign import build
from topodesign.base.file_kinds import kind_of
from topodesign.cli.main import program
from topodesign.wiring.exports.export import export_wiring
from topodesign.wiring.plan.files import save_wiring

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
