"""What tests of commands share: a command that runs in this process, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from topodesign.cli.main import run


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it printed."""

    status: int
    out: str
    err: str

    def json(self, status: int = 0) -> Any:
        """The one document on standard output, with nothing on standard error."""
        assert (self.status, self.err) == (status, "")
        return json.loads(self.out, parse_constant=pytest.fail)  # no NaN, no Infinity

    def message(self, status: int = 2) -> str:
        """The one message on standard error: a line, and under it the text and a caret if a spec is at fault."""
        assert (self.status, self.out) == (status, "")
        assert "Traceback" not in self.err
        first, *rest = self.err.removesuffix("\n").split("\n")
        assert first.startswith("topodesign: ")
        assert len(rest) in {0, 2}
        if rest:
            assert rest[-1].strip() == "^"
        return first.removeprefix("topodesign: ")


Cli: TypeAlias = Callable[..., Ended]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    def call(*args: str | Path) -> Ended:
        status = run([str(arg) for arg in args])
        return Ended(status, *capsys.readouterr())

    return call
