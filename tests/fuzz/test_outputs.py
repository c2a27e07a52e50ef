"""The same command gives the same bytes, whatever the hash seed of the process and however many processes there are."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import is_thorough
from tests.fuzz.outputs import COMMANDS, FEW, SLOW


def sums(folder: Path, seed: int, *words: str) -> str:
    """The checksums of all outputs, made in a process of its own."""
    command = [sys.executable, "-m", "tests.fuzz.outputs", str(folder), *words]
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.dear
def test_outputs_depend_on_no_hash_and_no_count_of_jobs(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    thorough = is_thorough(pytestconfig)
    runs = list(itertools.product(range(5), "123")) if thorough else [(0, "1"), (7, "2")]
    seen = {sums(tmp_path / f"{seed} {jobs}", seed, jobs, *([] if thorough else ["quick"])) for seed, jobs in runs}
    (said,) = seen
    lines = said.splitlines()
    ran = [line for line in lines if line[:2] in {"0 ", "1 "}]
    assert len(ran) == sum(thorough or not one.startswith(SLOW) for one in COMMANDS)  # none was refused
    assert len(lines) - len(ran) >= 20


@pytest.mark.budget(8)
def test_a_few_outputs_depend_on_no_hash(tmp_path: Path) -> None:
    first, second = (sums(tmp_path / str(seed), seed, "1", "few") for seed in (0, 7))
    assert first == second
    assert sum(line[:2] in {"0 ", "1 "} for line in first.splitlines()) == len(FEW)
