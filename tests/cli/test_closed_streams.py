"""Commands whose standard streams are closed, as under cron or a daemon: the answer and its status, or status 2."""

from __future__ import annotations

import itertools
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import few
from topodesign import save_plan, schedule

COMMANDS = [
    "evaluate circulant(12,2,3)", "evaluate circulant(12,2,3) --json", "pareto -n 12 -d 4", "pareto -n 12 -d 4 --csv",
    "convert --as links torus(3,3)", "info families torus", "evaluate dgx_a100(1)", "schedule torus(3,3)",
    "verify p.npz",
    "verify p.npz --json", "verify wrong.npz", "verify absent.npz", "simulate p.npz", "compile p.npz -o p.xml",
    "evaluate torus(3,3) -o p.svg", "evaluate circulant(12,2,3) -o p.html", "examples",
    "compare best ring -n 12 -d 4", "info json pareto", "compare torus(3,3) --algorithm all", "nonsense", "--help",
]  # fmt: skip
CLOSED = [kinds for many in (1, 2, 3) for kinds in itertools.combinations((0, 1, 2), many)]


def ended(words: str, folder: Path, closed: tuple[int, ...]) -> subprocess.CompletedProcess[bytes]:
    ends = " ".join(("0<&-", "1>&-", "2>&-")[number] for number in closed)
    command = ["sh", "-c", f'exec "$@" {ends}', "sh", sys.executable, "-m", "topodesign", *words.split()]
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=600, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("closed")
    plan = schedule("torus(3,3)")
    save_plan(made / "p.npz", plan)
    (made / "wrong.npz").write_bytes(b"no archive")
    return made


@cache
def usually(words: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    return ended(words, folder, ())


@pytest.mark.parametrize("closed", few(CLOSED, 3))
@pytest.mark.parametrize("words", few(COMMANDS, 9))
def test_closed_streams_change_no_answer(words: str, closed: tuple[int, ...], folder: Path) -> None:
    usual, done = usually(words, folder), ended(words, folder, closed)
    assert b"Traceback" not in done.stderr
    if 1 in closed:  # what cannot be printed is not lost in silence
        assert done.returncode in ({2} if usual.stdout else {usual.returncode})
        said = [line for line in done.stderr.splitlines() if not line.endswith(b" left")]  # what a slow machine adds
        assert 2 in closed or done.returncode != 2 or len(said) == 1
    else:
        assert (done.returncode, done.stdout) == (usual.returncode, usual.stdout)


def test_no_file_gets_the_number_of_a_closed_stream(folder: Path) -> None:
    done = ended("schedule torus(3,3) -o q.npz", folder, (2,))
    assert done.returncode == 0
    assert ended("verify q.npz --json", folder, (0, 2)).returncode == 0
