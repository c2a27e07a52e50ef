"""Jobs on hosts as brought up: gloo and MPI with the variables as written, and plans whose data stay on their links."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from tests.samples.namespaces import Namespaces, cables_of, namespaces, refused
from tests.samples.plans import plan_of
from topodesign import bringup, export_wiring, schedule
from topodesign.plans.files import save_plan
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_transfers
from topodesign.topology.library import build
from topodesign.wiring.plan.plan import WiringPlan

FIVE = plan_of(build("circulant(5,1,2)"), "duplex")
SIXTEEN = "circulant(16,3,4)"
ITERATIONS, SIZE = 10, 4 * 2**20
BESIDE = 2**19  # bytes in one direction of a cable that are no data of plans: start, barriers, answers
NO_NAMESPACES = refused()
pytestmark = [pytest.mark.thorough, pytest.mark.skipif(NO_NAMESPACES is not None, reason=str(NO_NAMESPACES))]
_MISSING = {
    "torch": None if importlib.util.find_spec("torch") else "needs PyTorch",
    "mpi": None if shutil.which("mpirun") and importlib.util.find_spec("mpi4py") else "needs mpirun and mpi4py",
}
transports = pytest.mark.parametrize(
    "transport",
    [pytest.param(name, marks=pytest.mark.skipif(bool(why), reason=str(why))) for name, why in _MISSING.items()],
)

_GLOO = """
import os, torch, torch.distributed as dist
rank, ranks = int(os.environ["NODE_RANK"]), int(os.environ["NNODES"])
dist.init_process_group("gloo", rank=rank, world_size=ranks)
data = torch.full((4096,), float(rank + 1))
dist.all_reduce(data)
assert (data == ranks * (ranks + 1) / 2).all()
dist.barrier()
print("right")
"""


@pytest.fixture(autouse=True)
def found_by_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a host needs beside its variables: where the package is."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@contextmanager
def brought_up(plan: WiringPlan, directory: Path) -> Iterator[Namespaces]:
    """The hosts of a plan, set up by what is written into a directory."""
    export_wiring(plan, "bringup", directory)
    with namespaces(plan.hosts, cables_of(bringup(plan))) as made:
        made.all_at_once({host: ["sh", str(directory / host / "apply.sh")] for host in plan.hosts})
        yield made


def started(made: Namespaces, directory: Path, transport: str, words: str) -> str:
    """What a Python program prints that runs on every host, its ranks in the order of the list that is written."""
    command = f"{sys.executable} {words}"
    if transport == "mpi":
        return made.mpirun(directory, command)
    hosts = [row.partition("# ")[2] for row in (directory / "ranks").read_text().splitlines()]
    start = f"WORLD_SIZE={len(hosts)} exec {command}"
    jobs = {host: made.job(host, directory, f"RANK={rank} {start}") for rank, host in enumerate(hosts)}
    return "".join(made.all_at_once(jobs).values())


@transports
def test_the_command_runs_among_hosts_as_written(transport: str, tmp_path: Path) -> None:
    """Both the plan and the library's own collective, which goes by hosts between where it has to."""
    plan = save_plan(tmp_path / "plan.npz", schedule("circulant(5,1,2)", "allreduce"))
    with brought_up(FIVE, tmp_path / "up") as made:
        words = f"-m topodesign run {plan} --transport {transport} --size 64KiB"
        said = started(made, tmp_path / "up", transport, words)
    assert "every result was checked: right" in said
    assert "ranks are on 5 machines" in said


def carried(plan: Plan) -> Counter[tuple[int, int]]:
    """How many bytes of payload a plan sends over each link in an iteration of so much data."""
    (one,) = list_transfers(plan)
    found: Counter[tuple[int, int]] = Counter()
    for u, v, units in zip(one.src.tolist(), one.dst.tolist(), (one.hi - one.lo).tolist(), strict=True):
        found[u, v] += Fraction(SIZE * units, one.units * one.shards)  # type: ignore[assignment]
    return found


@transports
def test_data_of_plans_stay_on_their_links(transport: str, tmp_path: Path) -> None:
    """Sixteen hosts: each direction of every cable carries what the plans send over it, and little else.

    What went by another cable would be missing on its own, and be too much on the other.
    """
    wiring = plan_of(build(SIXTEEN), "duplex")
    plans = [schedule(SIXTEEN, "allreduce"), schedule(SIXTEEN, "broadcast", root=3)]
    paths = " ".join(str(save_plan(tmp_path / f"{number}.npz", plan)) for number, plan in enumerate(plans))
    wanted = carried(plans[0]) + carried(plans[1])
    with brought_up(wiring, tmp_path / "up") as made:
        before, passed = made.sent(), made.forwarded()
        words = f"-m tests.wiring.bringup_ranks {transport} {SIZE} {ITERATIONS} {paths}"
        said = started(made, tmp_path / "up", transport, words)
        after, passed = made.sent(), made.forwarded() - passed
    results = [json.loads(row) for row in said.splitlines() if row.startswith("{")]
    assert [(one["right"], one["transport"], one["ranks"]) for one in results] == [(True, transport, 16)] * 2
    assert [run["wrong_elements"] for one in results for run in one["runs"]] == [0, 0]
    assert [run["own"] for one in results for run in one["runs"]] == [None, None]
    data, beside = 0, 0
    for line in bringup(wiring).lines:
        for here, there in ((line.a, line.b), (line.b, line.a)):
            sent = after[here.host, here.interface] - before[here.host, here.interface]
            payload = int(ITERATIONS * wanted.pop((wiring.node[here.host], wiring.node[there.host])))
            assert payload <= sent <= 1.01 * payload + BESIDE, (here, payload, sent)  # 1 % are headers
            data, beside = data + payload, beside + sent - payload
    assert not wanted
    assert beside < data / 20
    print(f"{transport}: {data} bytes of data, {beside} beside; {passed} packets passed on")


def test_gloo_runs_with_the_variables_as_written(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "job.py").write_text(_GLOO)
    with brought_up(FIVE, tmp_path / "up") as made:
        job = f"exec {sys.executable} {tmp_path / 'job.py'}"
        said = made.all_at_once({host: made.job(host, tmp_path / "up", job) for host in FIVE.hosts})
    assert set(said.values()) == {"right\n"}
