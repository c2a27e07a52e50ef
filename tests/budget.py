"""The budget of a test: CPU seconds of its setup and call, of all threads, of processes it ends, and of compilation.

What is set up for a whole module is shared among the tests of that module.

``python -m pytest --budget=0.5`` fails every test of the quick run that takes more than half a second, and lists the
dearest. A machine that does other things needs more, 1.5: caches are shared, so that the same work costs more there.
Tests marked ``thorough`` or ``dear`` have no budget.
"""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

LISTED = 10
HEAVY = (
    "highspy", "igraph", "jax", "llvmlite.binding", "lxml.etree", "matplotlib.pyplot", "networkx", "numba", "ortools",
    "pandas", "reportlab.pdfgen.canvas", "rich.console", "scipy.optimize", "scipy.sparse.csgraph", "sympy", "torch",
    "yaml",
)  # fmt: skip
"""What takes a part of a second to import: imported first, since it would count for whichever test comes first."""


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of those that it started and that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def compiled_kernels() -> set[str]:
    """Return the kernels that this process has compiled."""
    from topodesign.base.compiled import machine_code

    return {name for name, (compiled, _) in machine_code().items() if compiled}


class Budget:
    """The plugin that measures each test, fails those that take too much, and lists the dearest."""

    def __init__(self, seconds: float, *, thorough: bool) -> None:
        self._seconds, self._thorough = seconds, thorough
        self._begun, self._compiled = 0.0, set[str]()
        self._sharing: Counter[Path] = Counter()

    def pytest_collection(self) -> None:
        for name in HEAVY:
            with suppress(ImportError):
                importlib.import_module(name)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._sharing.update(item.path for item in session.items)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        self._begun, self._compiled = cpu_seconds(), compiled_kernels()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        ready = cpu_seconds()
        yield
        spent = cpu_seconds() - ready + (ready - self._begun) / self._sharing[item.path]
        kernels = sorted(compiled_kernels() - self._compiled)
        item.user_properties += [("cpu seconds", round(spent, 3)), ("compiled", len(kernels))]
        if spent > self._seconds and not self._thorough and not item.get_closest_marker("dear"):
            why = f"; it compiled {', '.join(kernels)}" if kernels else ""
            pytest.fail(f"{spent:.2f} CPU seconds, of {self._seconds:g} that a test has{why}", pytrace=False)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        found = [
            (dict(report.user_properties), report.nodeid)
            for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed"))
            if report.when == "call"
        ]
        costs = sorted(((float(str(known.get("cpu seconds", 0))), name) for known, name in found), reverse=True)
        terminalreporter.section("CPU seconds")
        terminalreporter.line(f"{sum(cost for cost, _ in costs):8.1f} all {len(costs)} tests")
        for cost, name in costs[:LISTED]:
            terminalreporter.line(f"{cost:8.2f} {name}")
        kernels = sum(int(str(known.get("compiled", 0))) for known, _ in found)
        terminalreporter.line(f"{kernels:8d} kernels compiled")
