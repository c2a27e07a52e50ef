"""The table of runtimes: it says what the profiles say, and where that was read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from topodesign import compile_phases, reconfigure
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.runtime.manifest import MANIFEST, Manifest, read_manifest
from topodesign.runtime.msccl.profiles import PROFILES
from topodesign.runtime.rules import COMMITS, runtime_rules


def test_every_rule_has_a_source() -> None:
    rows = runtime_rules().to_records()
    assert len(rows) >= 80
    assert {row["runtime"] for row in rows} == set(COMMITS)
    assert len({(row["runtime"], row["rule"]) for row in rows}) == len(rows)
    for row in rows:
        assert re.fullmatch(r"[\w-]+/[\w+-]+ [0-9a-f]{7} .*[\w/.]+\.(h|hpp|cc|cpp|mk)(:[\d, -]+)?", row["source"])
        assert row["says"]


def test_numbers_are_those_of_the_profiles() -> None:
    said = {(one.runtime, one.rule): one.says for one in runtime_rules().rules}
    for name in ("msccl", "msccl-executor", "rccl"):
        assert said[name, "steps of a threadblock"] == str(PROFILES[name].steps_per_threadblock)
        assert said[name, "threadblocks of a rank"] == str(PROFILES[name].threadblocks_per_rank)
    assert said["msccl", "reduce-scatter is called"] == "reduce_scatter"
    assert said["rccl", "reduce-scatter is called"] == "reducescatter"


def test_one_runtime() -> None:
    assert {one.runtime for one in runtime_rules("astra-sim").rules} == {"astra-sim"}
    assert "steps of a threadblock" in str(runtime_rules("msccl"))
    with pytest.raises(ParameterError, match="did you mean 'rccl'"):
        runtime_rules("rcll")


# -- The manifest of programs by phase: what is written is read, and what makes no sense is refused


WRONG: dict[str, Any] = {
    "ranks": -1,
    "target": "jax",
    "phases": [],
    "collective": {"name": "gather"},
    "delay_s": "1/0",
    "runtime": "../x",
    "version": 2,
}


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return compile_phases(reconfigure(8, 1, "allreduce", delay="1us", alpha="1us", size="64MiB").plan).manifest


def test_what_is_written_is_read(manifest: Manifest, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(manifest.text())
    assert read_manifest(tmp_path / MANIFEST) == manifest


@pytest.mark.parametrize("name", WRONG)
def test_what_makes_no_sense_is_refused(name: str, manifest: Manifest, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps(json.loads(manifest.text()) | {name: WRONG[name]}))
    with pytest.raises(FileFormatError, match="programs by phase"):
        read_manifest(tmp_path / MANIFEST)
