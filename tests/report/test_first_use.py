"""What is compiled at once is what the commands of a first use call, and is found again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import topodesign
from topodesign.base.compiled import machine_code
from topodesign.base.errors import ParameterError, TopodesignError
from topodesign.report import first_use

COMMANDS = (
    "schedule genkautz(4,200) -o large.npz",
    "verify large.npz",
    "pareto -n 1999 -d 4 --catalog none",
    "evaluate genkautz(4,2000)",
    "evaluate randomregular(300,4,0)",
    "compile genkautz(4,50) -o large.xml",
    "schedule mi250(2) -o boxes.npz",
    "schedule torus(6,6) --collective all-to-all --algorithm tacos -o timed.npz",
)


@pytest.mark.dear
def test_of_one_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_use, "_USES", {"_plan_timed": first_use._USES["_plan_timed"]})
    shares: list[float] = []
    warmed = topodesign.compile_kernels(workers=1, progress=shares.append)
    assert "topodesign.schedulers.time_expanded.forward_kernels.forward" in (*warmed.compiled, *warmed.found)
    assert all(Path(folder).is_dir() for folder in warmed.folders)
    assert shares == [0, 1]
    again = topodesign.compile_kernels(workers=1)
    assert not again.compiled
    assert set(again.found) == {*warmed.compiled, *warmed.found}
    assert str(len(again.found)) in again.heading()


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="number of workers"):
        topodesign.compile_kernels(workers=0)
    monkeypatch.setattr(first_use, "_use", _kept_nowhere)
    with pytest.raises(TopodesignError, match="NUMBA_CACHE_DIR"):
        topodesign.compile_kernels(workers=1)


def _kept_nowhere(_name: str) -> dict[str, tuple[bool, str | None]]:
    return {"kernel": (True, None)}


def test_machine_code_says_where_it_is() -> None:
    topodesign.verify(topodesign.schedule("biring(2,5)"))
    assert all(folder is None or Path(folder).is_dir() for _, folder in machine_code().values())


@pytest.mark.thorough
def test_commands_compile_nothing_afterwards(tmp_path: Path) -> None:
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "code")}

    def run(command: str) -> None:
        subprocess.run([sys.executable, "-m", "topodesign", *command.split()], env=env, cwd=tmp_path, check=True)

    run("kernels")
    kept = set(tmp_path.glob("code/*/*"))
    for command in COMMANDS:
        run(command)
        assert set(tmp_path.glob("code/*/*")) == kept, command
