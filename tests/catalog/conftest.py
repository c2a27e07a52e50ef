"""What tests of the catalog share: the program, run in this process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from topodesign.cli.main import run


@pytest.fixture
def program(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command, and returns its exit status and what it prints to both streams."""

    def call(*args: object) -> tuple[int, str, str]:
        status = run([str(arg) for arg in args])
        return status, *capsys.readouterr()

    return call
