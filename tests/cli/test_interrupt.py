"""Interrupts, full disks and poor terminals: the program ends soon, with its status, one line and no remains."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import topodesign


def started(*args: str, wait: float = 0.0) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "topodesign", *args]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(wait)
    return process


def ended(process: subprocess.Popen[str], number: int) -> tuple[int, str]:
    process.send_signal(number)
    _, words = process.communicate(timeout=600)
    return process.returncode, words


@pytest.mark.budget(12)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_heard_inside_a_kernel(number: int) -> None:
    process = started("evaluate", "hypercube(17)", "--set", "all-sources=yes", wait=2)
    status, words = ended(process, number)
    assert status == 128 + number
    *estimate, said = words.splitlines()  # nobody watches a bar: there is one line once it takes long
    assert all(
        re.fullmatch(r"topodesign: pricing: about \d+ (seconds|minutes|hours|days) left", one) for one in estimate
    )
    assert len(estimate) <= 1
    assert said == "topodesign: interrupted"


AT_IMPORT = """
import signal, sys
class Point:
    def find_spec(self, name, *_):
        if name == MODULE:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Point())
from topodesign.__main__ import start
start()
"""


@pytest.mark.parametrize("module", ["topodesign.cli.main", "click", "topodesign.cli.evaluate", "numpy"])
def test_an_interrupt_while_the_program_is_loaded_is_no_traceback(module: str) -> None:
    words = [sys.executable, "-c", AT_IMPORT.replace("MODULE", repr(module))]
    done = subprocess.run(
        [*words, "evaluate", "hypercube(17)", "--set", "all-sources=yes"], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, b"topodesign: interrupted\n")


def test_an_interrupt_is_not_hidden_by_what_fails_after_it() -> None:
    words = (
        "import signal, sys, topodesign.cli.interrupt as i\ni.listen()\n"
        "try:\n with i.in_order():\n  try:\n   for number in map(int, sys.argv[1:]): signal.raise_signal(number)\n"
        "  finally:\n   raise ValueError\nexcept (i.Ended, ValueError) as error: print(repr(error))"
    )
    for numbers, said in (([], "ValueError()"), (["2"], "Ended(2)"), (["15"], "Ended(15)")):
        done = subprocess.run(
            [sys.executable, "-c", words, *numbers], check=True, capture_output=True, text=True, timeout=600
        )
        assert done.stdout == f"{said}\n"


def test_no_temporary_file_is_left(tmp_path: Path) -> None:
    words = (
        "import pathlib, signal, sys, time, topodesign.cli.interrupt as i, topodesign.base.atomic as a\n"
        "for number in (1, 2, 3, 15): signal.signal(number, signal.SIG_DFL)\n"  # what nohup starts ignores some
        "i.listen()\n"
        "a.write_whole(pathlib.Path(sys.argv[1]), lambda s: (print(1, flush=True), time.sleep(60)))"
    )
    command = [sys.executable, "-c", words, str(tmp_path / "x")]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
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
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=600, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith("topodesign: ")
        assert done.stderr.count("\n") == 1
        mute = subprocess.run([*words[:-1], "nonsense("], stdout=full, stderr=full, timeout=600, check=False)
        assert mute.returncode == 2


def test_letters_that_the_terminal_lacks_are_written_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "€.json"
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1:strict", "PYTHONUTF8": "0"}
    words = [sys.executable, "-m", "topodesign", "evaluate", str(path)]
    done = subprocess.run(words, capture_output=True, env=environment, timeout=600, check=False)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert b"\\u20ac" in done.stderr


WITHOUT_THREADS = """
import sys, threading
if __name__ == "__main__":
    def start(self):
        raise RuntimeError("can't start new thread")
    threading.Thread.start = start
    from topodesign.__main__ import start
    start()
"""


def without_threads(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """The program where the machine lets no thread be started."""
    script = folder / "program.py"
    script.write_text(WITHOUT_THREADS)
    words = [sys.executable, str(script), *args]
    return subprocess.run(words, capture_output=True, text=True, timeout=600, check=False, cwd=folder)


def test_where_no_thread_can_be_started_one_does_it_all(tmp_path: Path) -> None:
    done = without_threads(tmp_path, "evaluate", "randomregular(600,4,1)")
    assert (done.returncode, done.stderr) == (0, "")


def test_where_processes_need_threads_it_is_said(tmp_path: Path) -> None:
    done = without_threads(tmp_path, "catalog", "build", "-n", "3..4", "-d", "2", "--effort", "0", "-o", "made")
    assert done.returncode == 2
    assert done.stderr.startswith("topodesign: the machine lets no more threads be started; ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["build", "-n", "40..60", "-d", "4", "--jobs", "2", "-o", "."],
        pytest.param(
            ["verify", "-d", "4", "-n", "1000..1100", "--jobs", "2", "--all-sources"], marks=pytest.mark.thorough
        ),
    ],
)
def test_workers_end_with_their_parent_however_it_ends(words: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "topodesign", "catalog", *words]
    with Path(os.devnull).open("wb") as nowhere:
        process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True, stdout=nowhere, stderr=nowhere)
    wait_until(lambda: len(session(process.pid)) >= 4)  # two workers, and multiprocessing's own
    time.sleep(0.3)
    process.kill()
    process.wait()
    wait_until(lambda: not session(process.pid))


def test_every_pool_of_processes_ends_with_its_parent() -> None:
    files = Path(topodesign.__file__).parent.rglob("*.py")
    calls = [call for path in files for call in re.findall(r"ProcessPoolExecutor\(.*", path.read_text("utf-8"))]
    assert len(calls) == 3
    assert all(re.search("initializer=(end_with_parent|_begin)", call) for call in calls)  # the second calls the first


def session(leader: int) -> list[int]:
    """The processes that are alive of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # ended meanwhile
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                found.append(int(path.parent.name))
    return found


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 600
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)
