"""The tests are a mirror of the package: a folder of tests for every folder of it, and no module without tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import topodesign

ROOT = Path(topodesign.__file__).parent
TESTS = Path(__file__).parent
FOLDERS = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def modules(folder: str) -> dict[str, Path]:
    """The modules of a folder by their full names; the one that opens a folder has the folder's."""
    paths = sorted((ROOT / folder).rglob("*.py"))
    return {
        "topodesign." + ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in paths
    }


def public(path: Path) -> set[str]:
    """The public names that a module defines."""
    names: set[str] = set()
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return {name for name in names if not name.startswith("_")}


def imported(path: Path) -> set[str]:
    """What a file imports, inside functions too: ``from a import b`` is both ``a`` and ``a.b``."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_every_folder_has_its_folder_of_tests() -> None:
    assert {path.parent.name for path in TESTS.glob("*/__init__.py")} == {*FOLDERS, "samples", "fuzz", "claims"}
    for folder in FOLDERS:
        assert list((TESTS / folder).rglob("test_*.py")), f"tests/{folder} has no tests"


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_module_is_without_tests(folder: str) -> None:
    """The tests of its folder import a module or name something public of it, or one of the folder that is so uses it.

    One step and no more: what only an untested module uses is not tested.
    """
    files = list((TESTS / folder).rglob("test_*.py"))
    imports = set[str]().union(*map(imported, files))
    words = set(re.findall(r"\w+", " ".join(path.read_text() for path in files)))
    own = modules(folder)
    tested = {name for name, path in own.items() if name in imports or public(path) & words}
    left = {name for name in own.keys() - tested if own[name].name != "__init__.py"}
    untested = sorted(left.difference(*(imported(own[name]) for name in tested if left)))
    assert not untested, f"no test in tests/{folder} reaches {', '.join(untested)}"
