"""The script for a GPU, as far as it goes without one: it adds up what ranks say, and names jobs that did not end."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from benchmarks import gpu


def jobs(count: int) -> list[gpu.Job]:
    return [{"plan": f"plan{at}", "size": 64} for at in range(count)]


def follow(said: str, listed: list[gpu.Job], ranks: int) -> int:
    """Let the ranks say something and end."""
    reading, writing = os.pipe()
    os.write(writing, said.encode())
    os.close(writing)
    try:
        return gpu.follow(reading, listed, ranks, time.time() + 60)
    finally:
        os.close(reading)


def test_every_rank_counts() -> None:
    listed = jobs(2)
    assert follow("job 0 1 0 0 0 7.5\njob 0 0 0 0 0 6.0\njob 1 0 3 2 9 4.0\njob 1 1 1 5 0 4.5\n", listed, 2) == 2
    assert [job["wrong"] for job in listed] == [0, 4]
    assert [job["microseconds"] for job in listed] == [7.5, 4.5]  # the slowest rank


@pytest.mark.parametrize(("last", "fault"), [("", "ended"), ("fault 1 no memory\n", "no memory")])
def test_the_job_that_did_not_end_is_named(last: str, fault: str) -> None:
    listed = jobs(3)
    assert follow("job 0 0 0 0 0 1.0\njob 0 1 0 0 0 1.0\njob 1 0 0 0 0 1.0\n" + last, listed, 2) == 1
    assert [job.get("fault") for job in listed] == [None, fault, None]


def test_sizes_are_those_that_the_executor_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses what is no multiple of 16 bytes times the chunks."""
    monkeypatch.setattr(gpu, "NETWORKS", ("complete({})",))
    monkeypatch.setattr(gpu, "COLLECTIVES", ("allgather", "reduce-scatter"))
    gpu.make(tmp_path, 3, wide=False, own=[])
    listed = json.loads((tmp_path / "jobs.json").read_text())
    assert len({job["plan"] for job in listed}) == 8  # of both protocols, in place and out of place
    for job in listed:
        for rank in json.loads((tmp_path / f"{job['plan']}.json").read_text())["gpus"]:
            sends = job["size"] // (3 if job["collective"] == "allgather" else 1)
            receives = job["size"] // (3 if job["collective"] == "reduce-scatter" else 1)
            assert sends % (16 * rank["input_chunks"]) == receives % (16 * rank["output_chunks"]) == 0
