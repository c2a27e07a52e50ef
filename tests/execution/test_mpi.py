"""Plans under a real MPI, on loopback: exact results, MPI's own beside them, and an end to all when one rank fails.

Where there is no mpirun or no mpi4py these tests are skipped: Debian has ``openmpi-bin`` and ``libopenmpi-dev``, and
``pip install 'topodesign[mpi]'`` the other.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from topodesign import run_plan, save_plan, schedule
from topodesign.base.errors import MissingLibraryError
from topodesign.execution.processes import STARTERS, detect_launcher, speaks

MPIRUN = shutil.which("mpirun")
HAS_MPI4PY = importlib.util.find_spec("mpi4py") is not None
needs_mpi = pytest.mark.skipif(
    MPIRUN is None or not HAS_MPI4PY,
    reason="needs mpirun (apt install openmpi-bin libopenmpi-dev) and mpi4py (pip install 'topodesign[mpi]')",
)
PROGRAM = Path(__file__).parent / "mpi_plans.py"
ROOT = Path(__file__).parents[2]

Json = dict[str, Any]


def mpirun(ranks: int, *words: str) -> list[str]:
    """The command line of a run on so many ranks, whatever the number of cores and whoever runs it."""
    help_text = subprocess.run([MPIRUN or "mpirun", "--version"], capture_output=True, text=True, check=False).stdout
    more = ["--oversubscribe", "--allow-run-as-root"] if "Open MPI" in help_text else []
    return [MPIRUN or "mpirun", *more, "-n", str(ranks), sys.executable, *words]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def call(ranks: int, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        mpirun(ranks, *words), capture_output=True, text=True, timeout=600, check=False, env=environment()
    )


def run_plans(ranks: int, *plans: tuple[str, str, Json]) -> list[Json]:
    done = call(ranks, str(PROGRAM), json.dumps(plans))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


FOUR: list[tuple[str, str, Json]] = [
    ("biring(2,4)", "allgather", {}),
    ("biring(2,4)", "reduce-scatter", {}),
    ("biring(2,4)", "allreduce", {}),
    ("complete(4)", "all-to-all", {}),
    ("biring(2,4)", "all-to-all", {"group": ("0,1", "2,3")}),
    ("biring(2,4)", "broadcast", {"root": 2}),
    ("biring(2,4)", "reduce", {"root": 1}),
    ("biring(2,4)", "gather", {"root": 1}),
    ("biring(2,4)", "scatter", {"root": 3}),
    ("biring(2,4)", "allreduce", {"method": "tacos"}),
    ("biring(2,4)", "allreduce", {"method": "one-shot"}),
    ("biring(2,4)", "allgather", {"only": ("0,2",), "others": "forward"}),
]


@needs_mpi
def test_results_are_exact_and_mpi_does_the_same() -> None:
    found = run_plans(4, *FOUR)
    assert len(found) == len(FOUR)
    for one in found:
        assert one["right"], one["title"]
        assert one["transport"] == "mpi"
        assert [run["own"]["wrong_elements"] for run in one["runs"]] == [0, 0]
        assert all(run["time_s"] > 0 and run["own"]["time_s"] > 0 for run in one["runs"])


TWELVE = (
    "circulant(12,2,3)",
    "biring(2,12)",
    "uniring(1,12)",
    "torus(4,3)",
    "torus(3,2,2)",
    "kautz(3,1)",
    "kautz(2,2)",
    "genkautz(4,12)",
    "complete(12)",
    "bipartite(6)",
)


@needs_mpi
@pytest.mark.thorough
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
def test_ten_topologies(collective: str) -> None:
    found = run_plans(12, *((place, collective, {}) for place in TWELVE))
    assert len(found) == len(TWELVE)
    for one in found:
        assert one["right"], one["title"]
        assert not any(run["own"]["wrong_elements"] for run in one["runs"])


@needs_mpi
def test_the_command_under_mpirun(tmp_path: Path) -> None:
    path = save_plan(tmp_path / "plan.npz", schedule("uniring(1,2)", "allreduce"))
    answer = tmp_path / "answer.json"
    words = ["-m", "topodesign", "run", str(path), "--sweep", "1KiB..16KiB", "--iterations", "2", "-o", str(answer)]
    done = call(2, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("wrote ") == 1
    found = json.loads(answer.read_text())
    assert found["right"]
    assert found["ranks"] == 2
    assert any("all ranks are on one machine" in note for note in found["notes"])


@needs_mpi
def test_another_number_of_ranks_is_said_once(tmp_path: Path) -> None:
    path = save_plan(tmp_path / "plan.npz", schedule("biring(2,4)"))
    done = call(2, "-m", "topodesign", "run", str(path))
    assert done.returncode == 2
    assert done.stderr.count("topodesign: ") == 1
    assert "the plan is of 4 ranks, and MPI has started 2" in done.stderr
    assert "mpirun -n 4" in done.stderr
    assert done.stdout == ""


@needs_mpi
def test_one_failing_rank_ends_all() -> None:
    done = call(2, str(PROGRAM), json.dumps([("uniring(1,2)", "allreduce", {"fail": True})]))
    assert done.returncode != 0
    assert "topodesign: rank 1: OSError: the disk is on fire" in done.stderr


@needs_mpi
def test_an_interrupt_ends_all(tmp_path: Path) -> None:
    path = save_plan(tmp_path / "plan.npz", schedule("uniring(1,2)"))
    words = ["-m", "topodesign", "run", str(path), "--iterations", "1000000", "--size", "1KiB"]
    with subprocess.Popen(
        mpirun(2, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as running:
        time.sleep(1.5)
        assert running.poll() is None
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=600)
    assert running.returncode != 0
    assert "right" not in out


def test_who_is_started_by_what(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in STARTERS:
        monkeypatch.delenv(f"{name}_SIZE", raising=False)
        monkeypatch.delenv(f"{name}_RANK", raising=False)
    for name in ("RANK", "MASTER_ADDR"):
        monkeypatch.delenv(name, raising=False)
    assert detect_launcher() is None
    assert speaks()
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "2")
    assert detect_launcher() == "mpi"
    assert not speaks()
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "localhost"), ("MASTER_PORT", "1")):
        monkeypatch.setenv(name, value)
    assert detect_launcher() == "torch"
    assert speaks()


def test_without_mpi4py_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'topodesign\[mpi\]'"):
        run_plan(schedule("biring(2,4)"), transport="mpi")
