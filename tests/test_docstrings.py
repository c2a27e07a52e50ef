"""Examples in docstrings are tests, and what the package offers to the outside has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import topodesign
from tests.pages import empty_directory

ROOT = Path(topodesign.__file__).parent
SHOWN = [path for path in sorted(ROOT.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("name", [module_name(path) for path in SHOWN])
def test_examples_show_what_is_printed(name: str) -> None:
    with empty_directory():
        done = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert done.attempted, f"{name} has examples that no test finds"
    assert not done.failed, "see what is printed above"


def test_every_public_function_has_an_example() -> None:
    functions = (getattr(topodesign, name) for name in topodesign.__all__)
    without = [one.__name__ for one in functions if inspect.isfunction(one) and ">>> " not in (one.__doc__ or "")]
    assert not without, f"no example: {', '.join(without)}"
