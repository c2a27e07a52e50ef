"""The list of methods has all that may be asked for."""

from __future__ import annotations

import pytest

from topodesign import methods
from topodesign.cli.main import run
from topodesign.schedulers import SCHEDULERS
from topodesign.schedulers.scheduling import METHODS


def test_all_are_listed_in_order() -> None:
    found = methods()
    assert [one.method for one in found] == list(SCHEDULERS)
    assert {one.method for one in found} <= set(METHODS)
    assert all(one.about for one in found)
    assert found.record() == {"methods": found.to_records()}


@pytest.mark.parametrize("command", ["schedule", "compile"])
def test_help_points_to_the_list_and_stays_short(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "topodesign info algorithms" in out
    assert "halving-doubling" not in out
    assert run([command, "torus(3,3)", "--algorithm", "spf", "-o", "x.npz"]) == 2
    assert "Did you mean 'spff'?" in capsys.readouterr().err


def test_the_list_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", "algorithms"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n{name} " in out for name in SCHEDULERS)
