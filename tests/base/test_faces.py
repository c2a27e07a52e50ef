"""Commands and functions: one rule of names, and both faces know both."""

from __future__ import annotations

import click
import pytest

import topodesign
from tests.cli.test_answers import ALL
from topodesign.base.faces import ALIASES, command_of, function_of
from topodesign.base.retired import RENAMED
from topodesign.cli.main import program, run

NONE = {"catalog status", "convert", "info"}
"""Commands without a function."""
WORDS = [" ".join(path) for path in ALL]


@pytest.mark.parametrize("command", WORDS)
def test_every_command_has_a_function_of_its_name(command: str) -> None:
    assert (function_of(command) in topodesign.__all__) == (command not in NONE)
    assert function_of(command) not in RENAMED


@pytest.mark.parametrize("command", [words for words in WORDS if " " in words and words not in NONE])
def test_the_name_of_a_function_calls_its_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    function = function_of(command)
    assert command_of(function) == command
    assert run([function.replace("_", "-"), "--help"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"Usage: topodesign {command} ")
    assert f"In Python: topodesign.{function}()" in printed


@pytest.mark.parametrize("command", ALIASES)
def test_an_alias_is_its_function(command: str) -> None:
    assert getattr(topodesign, command) is getattr(topodesign, ALIASES[command])
    assert command_of(ALIASES[command]) == command


@pytest.mark.parametrize("name", RENAMED)
def test_a_renamed_function_works_and_names_the_new_one(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"^topodesign\.{name} is topodesign\.{RENAMED[name]} now$"):
        assert getattr(topodesign, name) is getattr(topodesign, RENAMED[name])
    assert name not in topodesign.__all__


def test_old_names_call_today_s_commands() -> None:
    assert command_of("new-inventory") == "wire init"
    assert command_of("compare_catalogs") == "catalog diff"
    assert command_of("pareto") is None
    assert program.get_command(click.Context(program), "rewire") is None
