"""Kinds of files: whatever we write is known by its content, and every reader names a wrong one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from topodesign import load_plan, read_fabric, read_inventory
from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind, expecting, kind_of, refuse_others
from topodesign.cli.main import run
from topodesign.plans.time.workload import load_workload
from topodesign.pricing.mix import read_mix

MADE = {
    "plan.npz": ("schedule circulant(12,2,3) -o plan.npz", FileKind.PLAN),
    "program.xml": ("compile biring(2,4) -o program.xml", FileKind.PROGRAM),
    "program.json": ("compile biring(2,4) --target mscclpp -o program.json", FileKind.PROGRAM),
    "program.py": ("compile biring(2,4) --target jax -o program.py", FileKind.PROGRAM),
    "fabric.yaml": ("convert --as fabric dgx_a100(1) -o fabric.yaml", FileKind.FABRIC),
    "fabric.json": ("convert --as fabric dgx_a100(1) -o fabric.json", FileKind.FABRIC),
    "links.json": ("convert --as links torus(3,3) --format json -o links.json", FileKind.LINKS),
    "links.csv": ("convert --as links torus(3,3) --format csv -o links.csv", FileKind.LINKS),
    "links.graphml": ("convert --as links torus(3,3) --format graphml -o links.graphml", FileKind.LINKS),
    "wiring.json": (
        "wire plan circulant(12,2,3) --inventory inventory_testbed.yaml -o wiring.json",
        FileKind.WIRING,
    ),
    "answer.json": ("evaluate torus(3,3) --json -o answer.json", FileKind.ANSWER),
    "page.svg": ("", FileKind.PICTURE),
}
SHIPPED = {
    "fabric": FileKind.FABRIC,
    "inventory": FileKind.INVENTORY,
    "model": FileKind.MODEL,
    "observed": FileKind.NEIGHBOURS,
    "parts": FileKind.PARTS,
    "request": FileKind.REQUEST,
}
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kinds")
    for path in (ROOT / "configs").iterdir():
        shutil.copy(path, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line, _ in MADE.values():
            if line:
                assert run(line.split()) == 0, line
    (folder / "page.svg").write_text('<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>')
    (folder / "empty.yaml").write_text("\n")
    return folder


def test_what_we_write_and_ship_is_known(folder: Path) -> None:
    for name, (_, kind) in MADE.items():
        assert kind_of(folder / name) is kind, name
    for path in (ROOT / "configs").glob("*_*"):
        found = kind_of(path)
        if path.name.startswith("workload"):
            assert found is (FileKind.COLLECTIVES if path.suffix == ".yaml" else FileKind.LAYERS), path
        else:
            assert found is SHIPPED[path.name.partition("_")[0]], path
    assert kind_of(ROOT / "catalog") is FileKind.CATALOG
    assert kind_of(folder) is FileKind.DIRECTORY
    assert kind_of(folder / "empty.yaml") is FileKind.EMPTY
    assert kind_of(folder / "index.csv") is kind_of(folder / "missing") is kind_of(Path("x" * 5000)) is None


READERS: list[tuple[Callable[[Path], object], set[FileKind], str]] = [
    (load_plan, {FileKind.PLAN}, "a schedule"),
    (read_fabric, {FileKind.FABRIC, FileKind.LINKS}, "a fabric or a list of links"),
    (read_mix, {FileKind.COLLECTIVES}, "a list of collectives"),
    (load_workload, {FileKind.LAYERS}, "a list of layers"),
]


@pytest.mark.parametrize(("read", "kinds", "wanted"), READERS, ids=lambda value: getattr(value, "__name__", ""))
def test_readers_say_what_a_wrong_file_is(
    read: Callable[[Path], object], kinds: set[FileKind], wanted: str, folder: Path
) -> None:
    for path in (*folder.iterdir(), folder):
        kind = kind_of(path)
        if kind is None or kind in kinds:
            continue
        with pytest.raises(FileFormatError) as caught:
            read(path)
        said = str(caught.value)
        assert said.startswith(f"{path}: this is {kind.one}, not {wanted}"), said
        assert "\n" not in said


def test_a_file_of_the_right_kind_keeps_what_is_wrong_with_it(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text("nodes: [a]\nlinks: []\ncolour: red\n")
    with pytest.raises(FileFormatError, match="unknown field 'colour'"):
        read_fabric(path)
    with pytest.raises(
        FileFormatError, match=r"f\.yaml: this is a fabric, not a schedule; 'topodesign schedule' writes one"
    ):
        refuse_others(path, FileKind.PLAN)
    refuse_others(path, FileKind.PLAN, FileKind.FABRIC)
    with pytest.raises(FileFormatError, match=r"^[^ ]*f\.yaml: no$"), expecting(path, FileKind.FABRIC):
        raise FileFormatError("no")


def test_a_missing_file_gets_the_name_of_one_like_it(tmp_path: Path) -> None:
    (tmp_path / "inventory.yaml").write_text("")
    with pytest.raises(FileFormatError, match=r"did you mean 'inventory\.yaml'"):
        read_inventory(tmp_path / "inventry.yaml")
    with pytest.raises(FileFormatError, match=r"No such file or directory$"):
        read_inventory(tmp_path / "other.yaml")
