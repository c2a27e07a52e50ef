"""Shipped files: the index tells all of them, copies are equal, nothing is written over, and a wheel has them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import topodesign
from tests import extras
from tests.report.test_figures import COMMANDS
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.shipped import copy_examples, examples, find_shipped_folder
from topodesign.base.version import __version__
from topodesign.catalog.files import catalog_file, degrees, get_packed_path, whole_text
from topodesign.cli.main import program
from topodesign.fabrics.files import read_fabric

NAMES = [example.name for example in examples()]
ROOT = find_shipped_folder("catalog").parent
LARGEST_WHEEL = 10**7
"""Bytes of what everybody downloads who installs the package."""


def test_the_index_tells_every_file() -> None:
    assert sorted([*NAMES, "index.csv"]) == sorted(path.name for path in find_shipped_folder("configs").iterdir())
    assert sorted(NAMES) == NAMES
    for example in examples():
        assert example.path.is_file()
        assert 10 < len(example.about) <= 80


def test_the_catalog_is_shipped() -> None:
    assert len(list(find_shipped_folder("catalog").glob("degree_*.tsv"))) == 15


def test_an_installed_package_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "_data" / "configs").mkdir(parents=True)
    monkeypatch.setattr("topodesign.base.shipped._PACKAGE", tmp_path)
    assert find_shipped_folder("configs") == tmp_path / "_data" / "configs"
    assert find_shipped_folder("catalog") == tmp_path.parent / "catalog"
    with pytest.raises(FileFormatError, match="is the installation whole"):
        examples()


def built(target: str, source: Path, folder: Path) -> Path:
    """Build a wheel or an archive of the sources, as pip does."""
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=1200)
    (made,) = folder.iterdir()
    return made


def from_sources(folder: Path) -> Path:
    """Build the wheel that the archive of the sources gives."""
    shutil.unpack_archive(built("sdist", ROOT, folder / "sdist"), folder, filter="data")
    (source,) = folder.glob("topodesign-*")
    return built("wheel", source, folder / "wheel")


@pytest.mark.thorough
def test_a_wheel_has_the_catalog_packed(tmp_path: Path) -> None:
    wheel = from_sources(tmp_path)
    assert wheel.stat().st_size < LARGEST_WHEEL
    shutil.unpack_archive(wheel, tmp_path / "installed", "zip")
    data = tmp_path / "installed" / "topodesign" / "_data"
    there, here = data / "catalog", find_shipped_folder("catalog")
    assert degrees(there) == degrees(here)
    for degree in degrees(here):
        assert get_packed_path(there, degree).is_file()
        assert not catalog_file(there, degree).exists()
        assert whole_text(there, degree) == catalog_file(here, degree).read_bytes()
    prices = {path.name: path.read_bytes() for path in (*here.glob("all_to_all_*.tsv"), *here.glob("exchange_*.tsv"))}
    assert {path.name: path.read_bytes() for path in there.glob("*.tsv")} == prices
    assert {path.name for path in (data / "configs").iterdir()} == {*NAMES, "index.csv"}


@pytest.mark.thorough
def test_a_wheel_of_a_checkout_is_that_of_its_sources(tmp_path: Path) -> None:
    assert built("wheel", ROOT, tmp_path / "here").read_bytes() == from_sources(tmp_path).read_bytes()


@pytest.mark.thorough
def test_a_wheel_that_has_machine_code_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPODESIGN_MACHINE_CODE", "1")
    wheel = built("wheel", ROOT, tmp_path / "wheel")
    assert not wheel.name.endswith("-any.whl")
    assert wheel.stat().st_size < LARGEST_WHEEL
    home = tmp_path / "home"
    shutil.unpack_archive(wheel, home, "zip")
    kept = set(home.rglob("*.code"))
    assert {path.parent for path in kept} == {home / "topodesign" / "_data" / "machine_code"}
    assert not [path for path in kept if b"numba_" in path.read_bytes()]  # other versions may have them otherwise
    env = {name: value for name, value in os.environ.items() if name not in {"NUMBA_CACHE_DIR", "XDG_CACHE_HOME"}}
    for command in COMMANDS:
        run = [sys.executable, "-m", "topodesign", *command.split()]
        subprocess.run(run, env=env | {"HOME": str(home), "PYTHONPATH": str(home)}, cwd=tmp_path, check=True)
        assert set(home.rglob("*.code")) == kept, command


def test_copies_are_equal_and_never_overwrite(tmp_path: Path) -> None:
    some, other = NAMES[:2], NAMES[2]
    copied = copy_examples([*some, some[0]], tmp_path / "new" / "folder")
    assert [path.name for path in copied] == some
    assert [path.read_bytes() for path in copied] == [
        (find_shipped_folder("configs") / name).read_bytes() for name in some
    ]
    copied[0].write_text("mine")
    with pytest.raises(FileFormatError, match="already exists"):
        copy_examples([other, some[0]], copied[0].parent)
    assert copied[0].read_text() == "mine"
    assert not (copied[0].parent / other).exists()


def test_bad_requests_are_refused(tmp_path: Path) -> None:
    for name in ("index.csv", "../pyproject.toml", "", "nothing.yaml"):
        with pytest.raises(ParameterError, match="there is no example"):
            copy_examples([name], tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileFormatError):
        copy_examples(NAMES[:1], tmp_path / "file")


def test_a_missing_file_that_is_an_example_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"topodesign examples fabric_mi250\.yaml"):
        read_fabric(tmp_path / "fabric_mi250.yaml")
    with pytest.raises(FileFormatError) as caught:
        read_fabric(tmp_path / "mine.yaml")
    assert "examples" not in str(caught.value)


def test_command(tmp_path: Path) -> None:
    listed = CliRunner().invoke(program, ["examples"], standalone_mode=False)
    assert [line.split()[0] for line in listed.output.splitlines()] == NAMES
    document = json.loads(CliRunner().invoke(program, ["examples", "--json"], standalone_mode=False).output)
    assert [example["name"] for example in document["examples"]] == NAMES
    done = CliRunner().invoke(program, ["examples", NAMES[0], "-o", str(tmp_path), "--json"], standalone_mode=False)
    assert json.loads(done.output) == {"schema": "topodesign/examples/1", "files": [str(tmp_path / NAMES[0])]}
    assert CliRunner().invoke(program, ["examples", "-o", str(tmp_path)]).exit_code == 2


# -- one place says the version: that of the installed package --------------------------------------------------------


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert topodesign.__version__ == __version__ == project.get("version", __version__)


def test_the_tests_of_extras_are_there() -> None:
    assert [words[0] for words in extras.TESTS.values() if not (extras.ROOT / words[0]).exists()] == []
