"""The Python face: every name is there, listed once, lazily imported, and wrong arguments get our errors."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest

import topodesign
from tests.cli.test_answers import ALL
from topodesign.base.errors import TopodesignError
from topodesign.cli.answers import function_of
from topodesign.cli.main import run

NAMES = [name for name in topodesign.__all__ if name != "__version__"]


def needed(name: str) -> int:
    """How many arguments a function cannot do without."""
    parameters = inspect.signature(getattr(topodesign, name)).parameters.values()
    return sum(one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters)


FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(topodesign, name)) and needed(name)]


def test_the_stub_names_everything_once() -> None:
    """Type checkers read the stub, and the package takes its names from it."""
    tree = ast.parse(Path(topodesign.__file__).with_suffix(".pyi").read_text())
    lines = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    names = [alias.name for node in lines for alias in node.names]
    assert [alias.asname for node in lines for alias in node.names] == names
    assert len(set(names)) == len(names) == len(lines)
    seconds = [ast.unparse(node.targets[0]) for node in tree.body if isinstance(node, ast.Assign)]
    assert {*names, *seconds} == set(topodesign.__all__)
    assert not {*names} & {*seconds}
    assert dir(topodesign) == sorted(topodesign.__all__)


def test_every_name_is_there_and_documented() -> None:
    for name in NAMES:
        value = getattr(topodesign, name)
        assert value.__doc__, name
        if callable(value) and hasattr(value, "__module__"):
            assert getattr(importlib.import_module(value.__module__), value.__name__) is value


def test_no_name_hides_a_module() -> None:
    home = Path(topodesign.__file__).parent
    for name in NAMES:
        assert not (home / name).exists()
        assert not (home / f"{name}.py").exists()


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'song'"):
        topodesign.song  # type: ignore[attr-defined]  # noqa: B018


WRONG: list[Any] = [3, None, object(), "no such thing", [], 1.5]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_arguments_get_our_errors(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any argument may be anything: the function works, or says what is wrong in an error of ours."""
    monkeypatch.chdir(tmp_path)
    function = getattr(topodesign, name)
    for wrong in WRONG:
        try:
            function(*[wrong] * needed(name))
        except TopodesignError:
            continue
        except Exception as error:  # noqa: BLE001  that is what is looked for
            pytest.fail(f"{name}({wrong!r}) raises {type(error).__name__}: {error}")


@pytest.mark.parametrize(
    "call",
    [
        lambda: topodesign.evaluate("torus(4,4)"),
        lambda: topodesign.pareto(64, 4, sizes=25e6, alpha=1e-5, bandwidth=1e11),
        lambda: topodesign.pareto(64, 4, sizes=["1MiB", 2**30]),
        lambda: topodesign.price("complete(4)"),
    ],
)
def test_text_and_numbers_are_taken(call: Any) -> None:
    assert repr(call())


# -- commands and functions have names by one rule --------------------------------------------------------------------


NONE = {"catalog status", "convert", "info"}
"""Commands without a function."""


@pytest.mark.parametrize("command", [" ".join(path) for path in ALL])
def test_every_command_has_a_function_by_one_rule(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    function = function_of(command)
    assert (function in topodesign.__all__) == (command not in NONE)
    assert run([*command.split(), "--help"]) == 0
    assert (f"In Python: topodesign.{function}()" in capsys.readouterr().out) == (command not in NONE)
