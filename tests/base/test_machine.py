"""Machine code on disk: found again without the compiler, and what is damaged, missing or of other sources is not."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from topodesign.base import atomic, compiled
from topodesign.base.compiled import Ints, Kernel, Masks, next_random
from topodesign.base.errors import FileFormatError
from topodesign.base.machine import Entrance, portable


@compiled.compile_kernel
def _double(number: int) -> int:
    return 2 * number


@compiled.compile_kernel
def _triple(number: int) -> int:
    return number + _double(number)


@compiled.compile_kernel
def _doubles(values: Ints) -> Ints:
    return values + values


def fresh(kernel: Kernel[[int], int] = _triple) -> Entrance:
    """A kernel's machine code as a new process has it."""
    entrance = Kernel(kernel._source, None).machine
    assert isinstance(entrance, Entrance)
    return entrance


def comes_from_disk(kernel: Kernel[[int], int] = _triple) -> bool:
    entrance = fresh(kernel)
    assert entrance(7) == 21
    return not entrance.compiled


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("left", [0, 1, 40, -1])
def test_a_damaged_file_is_passed_by_and_mended(folder: Path, left: int) -> None:
    assert not fresh().is_kept
    assert not comes_from_disk()
    assert comes_from_disk()
    assert fresh().is_kept
    (file,) = folder.rglob("*.code")
    file.write_bytes(file.read_bytes()[:left])
    assert not comes_from_disk()
    assert comes_from_disk()


def test_a_full_disk_does_no_harm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise FileFormatError("No space left on device")

    monkeypatch.setattr(atomic, "write_whole", full)
    assert not comes_from_disk()
    assert not list(folder.rglob("*.code"))


def test_a_folder_that_cannot_be_written_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert not comes_from_disk()
    entrance = fresh()
    entrance(1)
    assert entrance.folder is None


def test_what_is_beside_the_package_is_found_where_it_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    source = FunctionType(_double._source.__code__.replace(co_filename=str(tmp_path / "code.py")), {"__name__": "code"})

    def made(text: str) -> Entrance:
        entrance = Entrance(source, text, lambda: source)
        assert entrance(2) == 4
        return entrance

    first = made("")
    assert (first.compiled, first.folder) == (True, str(tmp_path / "__pycache__"))
    monkeypatch.setattr(atomic, "write_whole", _only_below(tmp_path / "own"))
    again, other = made(""), made("other")
    assert (again.compiled, again.folder) == (False, str(tmp_path / "__pycache__"))
    assert (other.compiled, other.folder) == (True, str(tmp_path / "own" / "topodesign"))
    assert not made("other").compiled


def _only_below(folder: Path) -> Callable[[Path, bytes], None]:
    def write(path: Path, content: bytes) -> None:
        if folder not in path.parents:
            raise FileFormatError("Permission denied")
        path.write_bytes(content)

    return write


def test_another_source_is_another_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the kernel, of one that it calls, of a number that it uses."""

    def fourfold(number: int) -> int:
        return 4 * number

    multiplied = FunctionType(
        compile("def multiplied(number): return FACTOR * number", "code.py", "exec").co_consts[0], {"__name__": "code"}
    )
    assert Kernel(_triple._source, None).machine(5) == 15
    monkeypatch.setitem(_triple._source.__globals__, "_double", compiled.compile_kernel(fourfold))
    assert Kernel(_triple._source, None).machine(5) == 25
    for value in (3, 7):
        multiplied.__globals__["FACTOR"] = value
        assert Kernel(multiplied, None).machine(5) == 5 * value
    assert len(list(folder.rglob("*.code"))) == 4


@pytest.mark.dear
def test_each_form_of_arguments_is_told_apart(folder: Path) -> None:
    def total(values: Any, times: Any) -> Any:
        found = values[0] - values[0]
        for value in values:
            found += value * times
        return found

    kernel = compiled.compile_kernel(total)
    numbers = np.arange(12)
    frozen = np.arange(12)
    frozen.flags.writeable = False
    for _ in range(2):
        for values in (numbers, frozen, numbers[::2], numbers.astype(np.int32), numbers.astype(np.float64)):
            for times in (2, np.int64(2), True):
                assert kernel.machine(values, times) == kernel.plain(values, times), (values, times)
        assert kernel.machine(numbers, 0.5) == 33
    assert len(list(folder.rglob("*.code"))) == 11


def test_numbers_of_more_than_64_bits_and_other_things_are_refused(folder: Path) -> None:
    kernel = fresh()
    for value in (2**63, -(2**63) - 1):
        with pytest.raises(OverflowError):
            kernel(value)
    assert kernel(-1) == -3
    with pytest.raises(OverflowError):
        kernel(2**63)
    with pytest.raises(TypeError, match="numbers, arrays and tuples"):
        kernel("seven")


def test_what_a_kernel_raises_comes_out(folder: Path) -> None:
    @compiled.compile_kernel
    def empty(size: int) -> Ints:
        return np.empty(size, np.int64)

    assert len(empty.machine(2)) == 2
    with pytest.raises(ValueError, match="negative dimensions"):
        empty.machine(-1)


def test_arrays_keep_what_they_are_on(folder: Path) -> None:
    @compiled.compile_kernel
    def parts(values: Ints) -> tuple[Ints, Ints, Ints]:
        return values, values[1:], values + 1

    given = np.arange(10**5)
    first, rest, more = parts.machine(given)
    assert first is given
    assert np.shares_memory(rest, given)
    del first, given
    spare = [np.zeros(10**5, np.int64) for _ in range(8)]
    assert (rest == np.arange(1, 10**5)).all()
    assert (more == np.arange(1, 10**5 + 1)).all()
    assert not any(map(np.any, spare))


def test_memory_is_given_back(folder: Path) -> None:
    @compiled.compile_kernel
    def make(values: Ints) -> tuple[Ints, Ints]:
        return values[1:], np.ones(10**6, np.int64)

    resource = pytest.importorskip("resource")
    given = np.arange(10)
    make.machine(given)
    count, before = sys.getrefcount(given), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(100):
        make.machine(given)
    assert sys.getrefcount(given) == count
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 100 * 1024


def test_other_threads_run_meanwhile(folder: Path) -> None:
    @compiled.compile_kernel
    def draw(rounds: int, state: Masks) -> Any:
        last = state[0]
        for _ in range(rounds):
            last = next_random(state)
        return last

    state = np.ones(1, np.uint64)
    draw.machine(1, state)
    thread = threading.Thread(target=draw.machine, args=(10**8, state))
    thread.start()
    naps = 0
    while thread.is_alive():
        time.sleep(0.001)
        naps += 1
    assert naps > 3


@pytest.mark.dear
def test_many_processes_compile_the_same_at_once(folder: Path) -> None:
    code = "from tests.base.test_machine import fresh; print(fresh()(7))"
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    runs = [
        subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert [run.communicate()[0] for run in runs] == ["21\n"] * 2
    assert len(list(folder.rglob("*"))) == 2  # a folder and a file
    assert comes_from_disk()


_ALONE = """
import sys
from pathlib import Path
import numpy as np
from llvmlite import binding
from topodesign.base import machine
from tests.base.test_machine import _doubles

def refuse(event, args):
    if event == "import" and args[0] == "numba":
        raise ImportError("no compiler")

sys.addaudithook(refuse)
machine._SHIPPED, lacking = Path(sys.argv[1]), sys.argv[2:]
features = binding.get_host_cpu_features()
features.update(dict.fromkeys(lacking, False))
binding.get_host_cpu_features = lambda: features
try:
    print(_doubles._kept, _doubles.machine(np.arange(3)), Path(_doubles.machine.folder).name)
except ImportError as error:
    print(_doubles._kept, error)
"""


@pytest.mark.dear
def test_a_file_of_a_wheel_is_loaded_without_the_compiler_where_the_processor_has_what_it_needs(tmp_path: Path) -> None:
    def run(code: str, *args: str, **settings: str) -> str:
        env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / args[0])} | settings
        command = [sys.executable, "-c", code, str(tmp_path / "made" / "topodesign"), *args[1:]]
        return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout

    name, features = portable()
    make = "import numpy; from tests.base.test_machine import _doubles; print(_doubles.machine(numpy.arange(3)))"
    assert run(make, "made", NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES=features) == "[0 2 4]\n"
    if name != "generic":
        assert run(_ALONE, "own", "avx2") == "False no compiler\n"
    assert run(_ALONE, "own") == "True [0 2 4] topodesign\n"
    run(make, "own")
    assert len(list(tmp_path.rglob("*.code"))) == 2  # one for this processor, which it finds alone


@pytest.mark.dear
def test_commands_whose_kernels_are_on_disk_do_not_load_the_compiler() -> None:
    code = (
        "import sys; from topodesign.base import compiled; compiled.PATIENCE = 0.0\n"
        "from topodesign import compile_plan, evaluate, schedule\n"
        "evaluate('genkautz(3,20)'); compile_plan(schedule('torus(4,4)', 'all-to-all')).checked()\n"
        "print(len(compiled.machine_code()) > 4, 'numba' in sys.modules)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True) for _ in range(2)]
    assert runs[1].stdout == "True False\n"
