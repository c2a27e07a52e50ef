"""The manifest of programs by phase: what is written is read, and what makes no sense is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from topodesign import compile_phases, reconfigure
from topodesign.base.errors import FileFormatError
from topodesign.runtime.manifest import MANIFEST, Manifest, read_manifest

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
