"""What all tests share: how many samples are drawn, which tests wait for a thorough run, floors, and the workers.

``python -m pytest`` is the quick run: the same samples every time, so that a failure is one of the change at hand, and
a fifth of what a test says, but six where it says so many. Of a test marked ``once``, whose cases are all combinations
of its parameters, it takes as few as have every value of every parameter.
``python -m pytest --thorough`` (or ``TOPODESIGN_TESTS=thorough``) draws other samples every time and more of them, and
runs the tests marked ``thorough`` too. ``--hypothesis-profile=thorough`` draws more samples and nothing else.

A test marked ``dear`` takes longer than its budget, and smaller ones hold what it holds: it runs where its folder or
file is named, as one does who changed that, with ``--since COMMIT`` where its folder has changed since, and in a
thorough run. ``dear("a", "b-2")`` says this of some of its cases. ``--dear=60`` takes no more of them than 60: others
with every commit, so that all have their turn.
``--budget=0.5`` fails a test of the quick run that takes more than half a CPU second (``tests/budget.py``).
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings

from tests import budget, floors

TESTS = Path(__file__).parent
MORE = 10
"""How many times as many samples as a test says a thorough run draws."""

FEWER = 8
"""Floors of Hypothesis tests are for the samples that they say; a quick run has to reach so many times fewer."""
SAMPLES = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps how many samples a test draws."""

_Sample = TypeVar("_Sample")
_thorough = False

settings.register_profile("quick", deadline=None, derandomize=True)
settings.register_profile("thorough", deadline=None, print_blob=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help=f"run the slow tests too, and {MORE} times the samples")
    parser.addoption("--since", metavar="COMMIT", help="run dear tests, too, of folders that changed since a commit")
    parser.addoption("--dear", type=int, metavar="COUNT", help="of the dear tests of --since no more than this")
    words = "fail a test of the quick run that takes more CPU seconds than this, and list the dearest"
    parser.addoption("--budget", type=float, metavar="SECONDS", help=words)


def is_thorough(config: pytest.Config) -> bool:
    return bool(config.getoption("--thorough")) or os.environ.get("TOPODESIGN_TESTS") == "thorough"


def few(samples: Sequence[_Sample], step: int = 3) -> list[_Sample]:
    """Return every third of some samples, or all in a thorough run."""
    return list(samples if _thorough else samples[::step])


def pytest_configure(config: pytest.Config) -> None:
    global _thorough  # noqa: PLW0603  read by loops and lists of cases that know no configuration
    _thorough = is_thorough(config)
    config.addinivalue_line("markers", "thorough: too slow for every change; run with --thorough")
    config.addinivalue_line(
        "markers", "dear(*cases): over its budget; run where its folder is named, and with --thorough"
    )
    config.addinivalue_line("markers", "budget(times): what is many tests in one has so many times the budget of one")
    config.addinivalue_line("markers", "once: a quick run takes as few cases as have every value of every parameter")
    config.addinivalue_line("markers", "floor(**checks): the least number of samples that have to reach each check")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell does to what it runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "16"}  # before anything asks for a device
    quick = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"  # programs run once
    os.environ.setdefault("XLA_FLAGS", quick)
    sys.dont_write_bytecode = False  # workers, and the many commands that tests start, would compile all anew
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.pop("COLUMNS", None)  # workers inherit the width of a terminal; what tests print goes to none
    if (seconds := config.getoption("--budget")) is not None:
        config.pluginmanager.register(budget.Budget(seconds, thorough=is_thorough(config)))
    if not config.getoption("--hypothesis-profile"):
        settings.load_profile("thorough" if is_thorough(config) else "quick")


def pytest_xdist_auto_num_workers() -> int:
    """As many as the cores this process may use; xdist counts those of the machine, without hyperthreads."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Look for garbage once, and no more among what is there for good: modules, and thousands of tests.

    Of two workers one begins with the last modules, and each finds half of them with their assertions rewritten.
    """
    gc.disable()
    try:
        if os.environ.get("PYTEST_XDIST_WORKER", "").endswith(tuple("13579")) and session.config.args == ["tests"]:
            for path in sorted(session.config.rootpath.glob("tests/**/test_*.py"), reverse=True):
                importlib.import_module(".".join(path.relative_to(session.config.rootpath).with_suffix("").parts))
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not is_thorough(config) and not any("[" in name for name in config.args):
        everything = any(config.invocation_params.dir.joinpath(name).resolve() == TESTS for name in config.args)
        changed = changed_folders(config.getoption("--since")) if everything else set[str]()
        dear = [item for item in items if everything and is_dear(item)]
        taken = in_turn(
            [item.nodeid for item in dear if item.path.relative_to(TESTS).parts[0] in changed],
            config.getoption("--dear"),
        )
        left_out = {item for item in items if item.get_closest_marker("thorough")}
        left_out |= {item for item in dear if item.nodeid not in taken}
        quick = [item for item in items if item not in left_out]
        kept = {item.nodeid for item in _fewest(quick)}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
        items[:] = [item for item in items if item.nodeid in kept]
    for test in {id(item.obj): item.obj for item in items if isinstance(item, pytest.Function)}.values():
        own = getattr(test, SAMPLES, None)
        if isinstance(own, settings):
            setattr(test, SAMPLES, settings(own, max_examples=drawn(own.max_examples)))


def changed_folders(since: str | None) -> set[str]:
    """Return the folders of the package, and the files and folders of tests, that differ from a commit."""
    if since is None:
        return set()
    command = ["git", "-C", str(TESTS.parent), "diff", "--name-only", since, "--", "topodesign", "tests"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {Path(name).parts[1] for name in names}


def in_turn(names: list[str], count: int | None) -> set[str]:
    """Return so many of some names, or all: others with every commit, and the same for all who look at one."""
    if count is None or len(names) <= count:
        return set(names)
    command = ["git", "-C", str(TESTS.parent), "rev-parse", "HEAD"]
    commit = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    return set(sorted(names, key=lambda name: hashlib.sha256(f"{commit} {name}".encode()).digest())[:count])


def is_dear(item: pytest.Item) -> bool:
    """Whether a test, or this case of it, is marked as dear."""
    return any(not mark.args or item.name.partition("[")[2][:-1] in mark.args for mark in item.iter_markers("dear"))


def _fewest(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield all, but of the cases of a test marked ``once`` only some that have every value of every parameter."""
    cases: dict[tuple[str, str], list[tuple[set[tuple[int, str]], pytest.Item]]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("once"):
            values = set(enumerate(item.callspec._idlist))  # of every decorator, what it is called
            cases.setdefault((str(item.path), item.originalname), []).append((values, item))
        else:
            yield item
    for several in cases.values():
        new = set().union(*(values for values, _ in several))
        while new:
            values, item = max(several, key=lambda one: len(one[0] & new))
            new -= values
            yield item


def drawn(samples: int) -> int:
    """How many samples a Hypothesis test draws; a number of its own would otherwise outrank the profile's."""
    return MORE * samples if settings.get_current_profile_name() == "thorough" else max(min(6, samples), samples // 5)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that passes, but has looked at fewer samples than its floor."""
    floors.counted.clear()
    yield
    marker = item.get_closest_marker("floor")
    least = marker.kwargs if marker else {}
    if hasattr(getattr(item, "obj", None), SAMPLES):
        least = {check: count // FEWER for check, count in least.items()}
    if low := floors.shortfall(least):
        pytest.fail(f"too few samples were checked: {low}", pytrace=False)


@pytest.fixture
def program(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in this process, and returns its exit status and what it prints to both streams."""

    def call(*args: object) -> tuple[int, str, str]:
        from topodesign.cli.main import run

        status = run([str(arg) for arg in args])
        return status, *capsys.readouterr()

    return call
