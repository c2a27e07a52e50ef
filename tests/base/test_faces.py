"""Commands and functions have names by one rule."""

from __future__ import annotations

import pytest

import topodesign
from tests.cli.test_answers import ALL
from topodesign.cli.answers import function_of
from topodesign.cli.main import run

NONE = {"catalog status", "convert", "info"}
"""Commands without a function."""


@pytest.mark.parametrize("command", [" ".join(path) for path in ALL])
def test_every_command_has_a_function_by_one_rule(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    function = function_of(command)
    assert (function in topodesign.__all__) == (command not in NONE)
    assert run([*command.split(), "--help"]) == 0
    assert (f"In Python: topodesign.{function}()" in capsys.readouterr().out) == (command not in NONE)
