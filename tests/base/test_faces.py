"""Commands and functions of different names: each of the table is there, and both faces know both."""

from __future__ import annotations

import click
import pytest

import topodesign
from tests.cli.test_answers import ALL
from topodesign.base.faces import COMMANDS, FUNCTIONS
from topodesign.cli.main import program, run


@pytest.mark.parametrize("command", FUNCTIONS)
def test_both_are_there(command: str) -> None:
    assert tuple(command.split()) in ALL
    assert FUNCTIONS[command] in topodesign.__all__
    assert FUNCTIONS[command].replace("_", "-") != command


@pytest.mark.parametrize(("function", "command"), COMMANDS.items())
def test_the_name_of_a_function_calls_its_command(
    function: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert function not in program.list_commands(click.Context(program))
    assert run([function, "--help"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"Usage: topodesign {command} ")
    assert f"In Python: topodesign.{FUNCTIONS[command]}()" in said


def test_the_name_of_a_command_leads_to_its_function() -> None:
    with pytest.raises(AttributeError, match=r"the command 'training' is compare_steps\(\) here"):
        topodesign.training  # type: ignore[attr-defined]  # noqa: B018
