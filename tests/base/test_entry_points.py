"""Built-in parts load, a package beside ours adds parts, and one that is broken is omitted."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from topodesign import plugins
from topodesign.base import entry_points
from topodesign.base.entry_points import GROUPS, Plugin
from topodesign.base.plugins import Group, Plugins

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "plugins.md").read_text()
BROKEN = {
    "missing": "no_such_module:thing",
    "number": "chordal_broken:number",
    "torus": "chordal_broken:number",
    "another": "topodesign_chordal:chordalring",
    "exits": "chordal_exits:thing",
}


def install(folder: Path, name: str, version: str, groups: dict[str, dict[str, str]], modules: dict[str, str]) -> None:
    """Lay out what pip leaves of a package."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [line for group, points in groups.items() for line in (f"[{group}]", *map(" = ".join, points.items()))]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the page, and one whose parts cannot be used."""
    folder = tmp_path_factory.mktemp("site")
    code = re.search(r"```python\n(\"\"\"Chordal rings.*?)```", PAGE, re.DOTALL)
    project = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert code
    assert project
    assert 'chordalring = "topodesign_chordal:chordalring"' in project[1]
    assert len([line for line in code[1].splitlines() if line]) <= 30
    points = {"topodesign.families": {"chordalring": "topodesign_chordal:chordalring"}}
    install(folder, "topodesign-chordal", "1.0", points, {"topodesign_chordal": code[1]})
    modules = {"chordal_broken": "number = 3\n", "chordal_exits": "raise SystemExit(5)\n"}
    install(folder, "chordal-broken", "0.1", {"topodesign.families": BROKEN}, modules)
    return folder


ALL = """
import contextlib, io, json, shlex, sys
from topodesign.cli.main import run
for line in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert run(shlex.split(line)) == 0, line
    print(json.dumps(out.getvalue()))
"""


def run(site: Path, *lines: str) -> tuple[list[str], str]:
    """Run command lines in one process that finds the packages of a folder; return what each prints, and errors."""
    paths = os.pathsep.join([str(site), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", ALL, *lines],
        text=True,
        capture_output=True,
        check=False,
        cwd=site,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr
    return list(map(json.loads, done.stdout.splitlines())), done.stderr


@pytest.mark.parametrize("group", entry_points.GROUPS, ids=lambda group: group.group)
def test_every_group_loads(group: entry_points.EntryPointGroup) -> None:
    assert list(group.own)
    for name in group.own:
        assert name in group
        assert getattr(group[name], "name", name) == name
    assert set(group) >= set(group.own)
    assert len(group) == len(list(group))
    assert "no such thing" not in group


@pytest.mark.budget(12)
def test_a_package_of_30_lines_comes_in(site: Path) -> None:
    (shown, evaluated, answered, *_), _ = run(
        site,
        "info families chordalring",
        "evaluate 'chordalring(16,5)' --json",
        "pareto -n 16 -d 3 --json",
        "evaluate --plot-kind structure 'line(chordalring(10,3))' -o ring.svg",
        "evaluate --plot-kind page 'chordalring(10,3)' -o page.html",
    )
    assert "chordalring(n,c)" in shown
    found = json.loads(evaluated)
    assert (found["nodes"], found["degree"], found["simplex"]) == (16, 3, False)
    answer = json.loads(answered)
    assert {one["found"] for one in answer["candidates"]} == {"topodesign-chordal"}
    assert "chordalring(16,5)" in {one["spec"] for one in answer["candidates"]}
    assert "chordalring(10,3)" in (site / "page.html").read_text()


def test_what_is_broken_is_named_and_left_out(site: Path) -> None:
    (listed, told), said = run(site, "info plugins --json", "info plugins")
    document = json.loads(listed)
    why = {one["name"]: one["error"] for one in document["plugins"]}
    assert why.pop("chordalring") is None
    assert why.keys() == BROKEN.keys()
    assert document["failed"] == len(BROKEN)
    assert "No module named 'no_such_module'" in why["missing"]
    assert why["number"] == "chordal_broken:number is no Family"
    assert why["torus"] == "the name is taken"
    assert why["another"] == "the entry point must be called chordalring"
    assert why["exits"] == "SystemExit: 5"
    for name in BROKEN:
        assert said.count(f"the plugin '{name}' (package chordal-broken 0.1) is omitted") == 1
    assert "omitted: the name is taken" in told


def test_our_own_names_need_no_look_at_packages(site: Path) -> None:
    assert not run(site, "evaluate 'line(torus(3,3))' --json", "evaluate 'catalog(12,4,1)' --json")[1]


def test_a_name_that_is_not_ours_is_looked_up() -> None:
    assert plugins().failed == ()
    assert entry_points.FAMILIES.get("no such family") is None
    assert entry_points.load("graphs.torus:torus") is entry_points.FAMILIES["torus"]


OTHERS = '''"""A format of another package."""

from topodesign.wiring.exports.format import Format

WORDS = Format("one word", lambda plan: "done\\n")
'''


def test_formats_of_others_are_used(tmp_path: Path) -> None:
    install(tmp_path, "others", "1.0", {"topodesign.exports": {"words": "others:WORDS"}}, {"others": OTHERS})
    run(
        tmp_path,
        "examples inventory_testbed.yaml",
        "wire plan 'circulant(12,2,3)' --simplex --inventory inventory_testbed.yaml -o plan.json",
        "wire export plan.json --format words -o words.txt",
    )
    assert (tmp_path / "words.txt").read_text() == "done\n"


# -- what is listed of plugins where there are none; with plugins see test_entry_points.py ----------------------------


def test_every_door_is_listed() -> None:
    found = plugins()
    assert [group.group for group in found.groups] == [group.group for group in GROUPS]
    assert all(group.own for group in found.groups)
    assert found.heading().endswith("6 groups")


def test_what_is_left_out_is_said() -> None:
    broken = Plugin("topodesign.families", "ring", "rings", "1", "rings:ring", "the name is taken")
    found = Plugins((Group("topodesign.families", "families of graphs", ("torus",)),), (broken,))
    assert found.failed == (broken,)
    assert found.heading() == "1 plugin, 1 omitted; 1 group"
    assert "omitted: the name is taken" in str(found)
    assert found.record()["plugins"][0]["error"] == "the name is taken"
    assert found.to_records()[0]["package"] == "rings"
