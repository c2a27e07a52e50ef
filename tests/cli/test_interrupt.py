"""Interrupts, full disks and poor terminals: the program ends soon, with its status, one line and no remains."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SOON = 2.0
"""Seconds: the program needs less than one, the machine may be busy."""


def started(*args: str, wait: float = 0.0) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "topodesign", *args]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(wait)
    return process


def ended(process: subprocess.Popen[str], number: int) -> tuple[int, str, float]:
    process.send_signal(number)
    start = time.monotonic()
    _, words = process.communicate(timeout=60)
    return process.returncode, words, time.monotonic() - start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_heard_inside_a_kernel(number: int) -> None:
    process = started("evaluate", "hypercube(17)", "--all-sources", wait=6)
    status, words, seconds = ended(process, number)
    assert status == 128 + number
    estimate, said = words.splitlines()  # nobody watches a bar: there is one line once it takes long
    assert re.fullmatch(r"topodesign: pricing: about \d+ (seconds|minutes|hours) left", estimate)
    assert said == "topodesign: interrupted"
    assert seconds < SOON


def test_an_interrupt_while_the_program_is_loaded_is_no_traceback() -> None:
    for wait in (0.12, 0.2, 0.3):
        process = started("evaluate", "hypercube(17)", "--all-sources", wait=wait)
        status, words, _ = ended(process, signal.SIGINT)
        assert (status == 130 and words == "topodesign: interrupted\n") or "topodesign" not in words


def test_no_temporary_file_is_left(tmp_path: Path) -> None:
    words = (
        "import pathlib, sys, time, topodesign.cli.interrupt as i, topodesign.base.atomic as a\ni.listen()\n"
        "a.write_whole(pathlib.Path(sys.argv[1]), lambda s: (print(1, flush=True), time.sleep(60)))"
    )
    command = [sys.executable, "-c", words, str(tmp_path / "x")]
    for number in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        assert len(list(tmp_path.iterdir())) == 1
        ended(process, number)
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("spec", ["circulant(4,1)", "circulant(4000,1)"])
def test_a_full_disk_is_a_failure(spec: str) -> None:
    with Path("/dev/full").open("wb") as full:
        words = [sys.executable, "-m", "topodesign", "links", spec]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith("topodesign: ")
        assert done.stderr.count("\n") == 1
        mute = subprocess.run([*words[:-1], "nonsense("], stdout=full, stderr=full, timeout=60, check=False)
        assert mute.returncode == 2


def test_letters_that_the_terminal_lacks_are_written_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "€.json"
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1:strict", "PYTHONUTF8": "0"}
    words = [sys.executable, "-m", "topodesign", "evaluate", str(path)]
    done = subprocess.run(words, capture_output=True, env=environment, timeout=60, check=False)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert b"\\u20ac" in done.stderr
