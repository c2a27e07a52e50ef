"""Programs by phase, run one after another on one memory by an interpreter of the tests' own, do the collective."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import defaultdict, deque
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from topodesign import compile_phases, compile_plan, reconfigure, schedule, simulate
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.collectives import as_collective
from topodesign.runtime.manifest import MANIFEST
from topodesign.schedulers.circuits import search

CASES = [
    ("all-to-all", 8, 1, "simplex"),
    ("all-to-all", 9, 2, "duplex"),
    ("allgather", 12, 2, "simplex"),
    ("reduce-scatter", 9, 2, "simplex"),
    ("allreduce", 5, 1, "duplex"),
    ("allreduce", 8, 1, "simplex"),
]


def changing(collective: str, nodes: int, degree: int, cabling: str) -> Any:
    with mock.patch.object(search, "_LONG", 2**20):  # any plan will do
        found = reconfigure(nodes, degree, collective, delay="0s", alpha="1us", cabling=cabling, size="64MiB")
    assert found.best.changes
    return found.plan


def run_xml(text: str, memory: np.ndarray) -> set[tuple[int, int]]:
    """Run a program on the memory of all ranks, a row each; return who sent to whom."""
    blocks = []
    for gpu in ET.fromstring(text).iter("gpu"):  # noqa: S314  our own
        assert gpu.get("s_chunks") == "0"
        blocks += [(int(gpu.get("id", "")), tb, list(tb.iter("step"))) for tb in gpu.iter("tb")]
    done = {(rank, int(tb.get("id", ""))): 0 for rank, tb, _ in blocks}
    queues: dict[Any, deque[np.ndarray]] = defaultdict(deque)
    pairs, moved = set(), True
    while moved:
        moved = False
        for rank, tb, steps in blocks:
            at = done[rank, int(tb.get("id", ""))]
            while at < len(steps):
                say = steps[at].get
                kind, size = say("type", ""), int(say("cnt", ""))
                if int(say("depid", "")) >= 0 and done[rank, int(say("depid", ""))] <= int(say("deps", "")):
                    break
                here = queues[int(tb.get("recv", "")), rank, tb.get("chan")]
                if kind[0] == "r" and kind != "re" and not here:
                    break
                source = slice(int(say("srcoff", "")), int(say("srcoff", "")) + size)
                target = slice(int(say("dstoff", "")), int(say("dstoff", "")) + size)
                value = here.popleft() if kind[0] == "r" and kind != "re" else np.zeros(size, dtype=np.int64)
                if kind in {"s", "cpy", "re", "rrc", "rrs", "rrcs"}:
                    assert say("srcbuf") == "o"
                    value = value + memory[rank, source]
                if kind in {"r", "rcs", "rrc", "rrcs", "cpy"}:
                    assert say("dstbuf") == "o"
                    memory[rank, target] = value
                elif kind == "re":
                    memory[rank, target] += value
                if kind in {"s", "rcs", "rrs", "rrcs"}:
                    queues[rank, int(tb.get("send", "")), tb.get("chan")].append(value.copy())
                    pairs.add((rank, int(tb.get("send", ""))))
                at += 1
                moved = True
            done[rank, int(tb.get("id", ""))] = at
    assert all(done[rank, int(tb.get("id", ""))] == len(steps) for rank, tb, steps in blocks)
    assert not any(queues.values())
    return pairs


@pytest.mark.once
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_programs_one_after_another_do_the_collective(case: tuple[str, int, int, str], inplace: bool) -> None:
    name, ranks = case[:2]
    plan = changing(*case)
    made = compile_phases(plan, inplace=inplace).checked()
    circuits_of, how, one = plan.flow.switching.rows, made.manifest, as_collective(name)
    block = how.chunks // one.shards(ranks)
    memory = np.full((ranks, how.workspace), -(10**12), dtype=np.int64)

    def data(rank: int, number: int) -> np.ndarray:
        return 10**6 * (rank + 1) + 10**3 * number + np.arange(block)

    for rank in range(ranks):
        for at, number in enumerate(one.inputs(rank, ranks)):
            start = how.inputs[rank] + at * block
            memory[rank, start : start + block] = data(rank, number)
    for number, program in enumerate(made.programs):
        circuits = {(a, b) for a, _, b, _ in circuits_of(number).tolist()}
        assert run_xml(program.text, memory) <= circuits
    for rank in range(ranks):
        for at, number in enumerate(one.outputs(rank, ranks)):
            start = how.outputs[rank] + at * block
            if one.reduces:
                right = sum(data(other, number) for other in range(ranks))
            else:
                source = number // ranks if name == "all-to-all" else number
                right = data(source, number)
            assert np.array_equal(memory[rank, start : start + block], right)


@pytest.mark.parametrize("target", ["msccl", "mscclpp", "chakra"])
def test_all_targets_pass_their_own_readers(target: str, tmp_path: Path) -> None:
    plan = changing("allreduce", 5, 1, "duplex")
    made = compile_phases(plan, target).checked()
    assert made.report is not None
    assert made.report.ok
    files = made.save(tmp_path / "programs")
    assert files[0].name == MANIFEST
    assert len(files) == len(made.programs) + 1
    said = json.loads(files[0].read_text())
    assert said["delay_s"] == "0"
    assert len(said["phases"]) == len(made.programs)


def test_simulated_phases_and_changes_add_up_to_the_time_of_the_plan() -> None:
    plan = changing("all-to-all", 8, 1, "simplex")
    made = compile_phases(plan, "chakra", size="1MiB", alpha="1us", bandwidth="8.589934592Gbps")  # 1 GiB/s
    each = [json.loads(one.files["expected.json"]) for one in made.programs]
    time = simulate(plan, size="1MiB", alpha="1us", bandwidth="8.589934592Gbps").time
    assert abs(sum(one["simulator_ns"] for one in each) - time * 10**9) < 2 * len(each)


def test_what_has_no_meaning_is_refused() -> None:
    plan = changing("allgather", 12, 2, "simplex")
    with pytest.raises(InfeasibleError, match="do not change"):
        compile_phases(schedule("biring(2,4)"))
    with pytest.raises(ParameterError, match="a module for jax has stages"):
        compile_phases(plan, "jax")
    with pytest.raises(ParameterError, match="omit all sizes"):
        compile_phases(plan, max_size="1MiB")
    assert "does not wait for them" in compile_plan(plan).notes[-1]
