"""Plans among processes of PyTorch: exact results over links alone, and training that goes as it does under gloo.

Where there is no PyTorch these tests are skipped: ``pip install 'topodesign[torch]'``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from topodesign import reconfigure, run_plan, save_plan, schedule
from topodesign.base.errors import MissingLibraryError, ParameterError
from topodesign.plans.sets import ForSizes, save_plan_set

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs PyTorch: pip install 'topodesign[torch]'"
)
RING = "biring(2,4)"

Json = dict[str, Any]


def started(*words: str, patience: int = 600) -> subprocess.CompletedProcess[str]:
    """Run a program; a warning of PyTorch is no error here."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
    }
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=patience, check=False, env=environment
    )


@pytest.fixture(scope="module")
def looks(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """What ``torch_ranks.py`` prints, by look."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch")
    plans = [
        ForSizes(schedule(RING, "allreduce", method="one-shot"), 0, 2**10),
        ForSizes(schedule(RING, "allreduce", method="forest"), 2**10),
        *(ForSizes(schedule(RING, name)) for name in ("allgather", "reduce-scatter", "all-to-all")),
        ForSizes(schedule(RING, "broadcast", root=0)),
        ForSizes(schedule(RING, "allreduce", only=("0,1",))),
        ForSizes(schedule(RING, "allgather", only=("0,1",))),
        *(ForSizes(schedule(RING, name, root=1)) for name in ("reduce", "gather", "scatter")),
    ]
    folder = tmp_path_factory.mktemp("torch") / "plans"
    save_plan_set(folder, plans, alpha=1e-5, bandwidth=1e11)
    path = folder.with_name("plans.json")
    path.write_text(json.dumps(FOUR))
    done = started("-m", "tests.execution.torch_ranks", str(folder), str(path))
    assert done.returncode == 0, done.stderr[-4000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    called = path.with_name("log").read_text()
    return {one["look"]: one for one in found if "look" in one} | {
        "found": found, "stderr": done.stderr, "called": called,
    }  # fmt: skip


@needs_torch
def test_reductions_are_pytorch_s_own(looks: Json) -> None:
    assert looks["reductions"]["result"] == (4 * 5 + 5 * 7) * 2
    assert looks["moves"]["result"] == 11 * 6
    assert looks["uneven_reductions"]["result"] == 7
    assert looks["rooted"]["result"] == 11 + 6 * 7
    assert looks["asynchronous"]["result"] == 0
    assert looks["functional"]["result"] == [6, 0, 1, 2, 3, 6]


@needs_torch
def test_processes_wait_for_what_is_called_between_phases(looks: Json) -> None:
    """Once by one of them, before all go on."""
    plan = reconfigure(4, 1, "allreduce", delay="0s", alpha="1us", size="64MiB")
    assert plan.best.changes
    assert looks["called"].split() == 2 * [str(phase) for phase in range(plan.best.changes + 1)]


@needs_torch
def test_plans_are_chosen_by_size_and_group(looks: Json) -> None:
    used, _ = looks["refusals"]["ranks"][0]
    names = ["allreduce", "allreduce", "allgather", "reduce-scatter", "all-to-all", "broadcast"]
    numbered = [*enumerate(names), *enumerate(["reduce", "gather", "scatter"], start=8)]
    assert {name for name in used if name.endswith(".npz")} == {f"{number:03}-{name}.npz" for number, name in numbered}
    assert looks["groups"]["result"]["name"] == "topodesign"
    assert looks["groups"]["result"]["pair"] == {"006-allreduce.npz": 1}


@needs_torch
def test_what_has_no_plan_is_said_once(looks: Json) -> None:
    lines = [line for line in looks["stderr"].splitlines() if line.startswith("topodesign: ")]
    assert len(lines) == len(set(lines))
    assert sum("no plan for allreduce of 4B among ranks 1, 2, 3; gloo does it" in line for line in lines) == 1
    assert sum("no plan for reduce to rank 2 of" in line for line in lines) == 1


@needs_torch
def test_links_alone_are_used(looks: Json) -> None:
    for rank, (_, sent) in enumerate(looks["training"]["ranks"]):
        assert set(map(int, sent)) == {(rank - 1) % 4, (rank + 1) % 4}


@needs_torch
@pytest.mark.parametrize("how", ["ddp", "fsdp1", "fsdp2", "hook", "double", "two"])
def test_training_is_that_of_gloo(looks: Json, how: str) -> None:
    """Sums of two are the same in any order, bit for bit; of four they differ by roundings."""
    ours, gloo = looks["training"]["result"][how]
    assert len(ours) == 4
    assert ours == pytest.approx(gloo, rel={"double": 1e-12, "two": 0}.get(how, 1e-5), abs=0)
    assert ours[-1] != ours[0]


@needs_torch
def test_what_is_refused(looks: Json) -> None:
    found = looks["refusals"]["result"]
    assert found["options"].startswith("ParameterError: pg_options of the backend topodesign are PlanOptions")
    assert "index.json" in found["folder"]


FOUR: list[tuple[str, str, Json]] = [
    (RING, "allgather", {}),
    (RING, "reduce-scatter", {}),
    (RING, "allreduce", {"method": "tacos"}),
    (RING, "allreduce", {"method": "one-shot"}),
    ("complete(4)", "all-to-all", {}),
    (RING, "all-to-all", {"group": ("0,1", "2,3")}),
    (RING, "broadcast", {"root": 2}),
    (RING, "reduce", {"root": 1}),
    (RING, "gather", {"root": 1}),
    (RING, "scatter", {"root": 3}),
    (RING, "allgather", {"only": ("0,2",), "others": "forward"}),
]


MANY = {
    8: "biring(2,8) uniring(1,8) hypercube(3) circulant(8,1,3) genkautz(2,8) debruijn(2,3) complete(8)",
    12: "circulant(12,2,3) torus(4,3) kautz(2,2) kautz(3,1) genkautz(4,12) bipartite(6) biring(2,12)",
    16: "torus(4,4) hypercube(4) genkautz(4,16) debruijn(2,4) circulant(16,3,4) dgx_a100(2)",
}


@needs_torch
@pytest.mark.thorough
@pytest.mark.parametrize("ranks", MANY)
def test_two_hundred_plans(ranks: int, tmp_path: Path) -> None:
    plans: list[tuple[str, str, Json]] = []
    for place in MANY[ranks].split():
        root: Json = {"root": "box0/gpu3" if place.startswith("dgx") else 3}
        plans += [(place, name, {}) for name in ("allgather", "reduce-scatter", "allreduce", "all-to-all")]
        plans += [(place, name, root) for name in ("broadcast", "reduce", "gather", "scatter")]
        plans += [(place, "allreduce", {"method": "one-shot", "by_ranks": True})]
        if place.startswith("dgx"):
            plans += [(place, "allreduce", {"method": "two-level", "size": size}) for size in ("1KiB", "16MiB")]
        plans += [(place, "allreduce", {"method": "tacos"}), (place, "allgather", {"method": "forest"})]
    run_all(ranks, plans, tmp_path)


@needs_torch
def test_plans_are_exact_over_links_alone(looks: Json) -> None:
    check([one for one in looks["found"] if "look" not in one], len(FOUR))


def run_all(ranks: int, plans: list[tuple[str, str, Json]], tmp_path: Path) -> None:
    """Run plans in one group of processes, and check what is printed."""
    path = tmp_path / "plans.json"
    path.write_text(json.dumps(plans))
    done = started("-m", "tests.execution.torch_plans", str(ranks), str(path), patience=150 + 20 * len(plans))
    assert done.returncode == 0, done.stderr[-4000:]
    check([json.loads(line) for line in done.stdout.splitlines()], len(plans))


def check(found: list[Json], plans: int) -> None:
    """Hold what was printed of so many plans to be right, and over links alone."""
    assert len(found) == plans
    for one in found:
        assert one["right"], one["title"]
        assert one["transport"] == "torch"
        assert one["pairs"]
        assert one["stray"] == []
        assert [run["own"]["wrong_elements"] for run in one["runs"]] == [0, 0]


@needs_torch
@pytest.mark.thorough
def test_the_command_under_torchrun(tmp_path: Path) -> None:
    path = save_plan(tmp_path / "plan.npz", schedule("uniring(1,2)", "allreduce"))
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node", "2")
    done = started(*torchrun, "-m", "topodesign", "run", str(path), "--size", "1KiB", "--iterations", "2")
    assert done.returncode == 0, done.stderr
    assert "2 processes of torchrun (PyTorch " in done.stdout
    assert "time/gloo" in done.stdout
    assert done.stdout.count("every result was checked: right") == 1


@pytest.mark.dear
@needs_torch
def test_without_torchrun_it_is_said_how(monkeypatch: pytest.MonkeyPatch) -> None:
    from topodesign.execution.torch.world import TorchWorld

    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with pytest.raises(ParameterError, match="start them: torchrun --nproc-per-node RANKS -m topodesign run PLAN"):
        run_plan(schedule(RING), transport="torch")
    with pytest.raises(ParameterError, match="requires a process per rank"):
        TorchWorld()


@needs_torch
def test_what_begins_anew_changes_nothing() -> None:
    """Of every type and operation: what is left where a partial sum was sent from, and what cannot be done here."""
    import torch

    from topodesign.execution.torch import PlanGroup, PlanOptions, allreduce_hook, register
    from topodesign.execution.torch.engine import Engine
    from topodesign.execution.torch.links import Op, reduction_of

    register()  # again
    assert all(one.__doc__ for one in (Engine, PlanGroup, PlanOptions, allreduce_hook))
    done = 0
    for dtype in (torch.float32, torch.bfloat16, torch.int8, torch.uint8, torch.int64, torch.complex64, torch.bool):
        for op in (Op.SUM, Op.AVG, Op.PRODUCT, Op.MIN, Op.MAX, Op.BAND, Op.BOR, Op.BXOR, Op.PREMUL_SUM):
            by = reduction_of(op, dtype)
            if by is None:
                continue
            data = torch.tensor([1, 2, 100]).to(dtype)
            kept = data.clone()
            by.into(data, torch.empty_like(data).fill_(by.nothing))
            assert torch.equal(data, kept), (op, dtype)
            done += 1
    assert done == 2 * 5 + 3 * 7 + 3


def test_without_pytorch_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("topodesign.execution.torch", "torch"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "torch.distributed", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'topodesign\[torch\]'"):
        run_plan(schedule(RING), transport="torch")
