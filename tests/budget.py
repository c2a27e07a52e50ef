"""The budget of a test: CPU seconds of its setup and call, of all threads and of the processes that it ends.

What is set up for a whole module is shared among the tests of that module. A kernel is compiled by whichever test calls
it first, so that is added up for itself.

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
from typing import Any

import pytest

LISTED = 10
HEAVY = (
    "highspy", "igraph", "jax", "llvmlite.binding", "lxml.etree", "matplotlib.pyplot", "networkx", "numba", "ortools",
    "pandas", "reportlab.pdfgen.canvas", "rich.console", "scipy.optimize", "scipy.sparse.csgraph", "sympy", "torch",
    "yaml",
)  # fmt: skip
"""What takes a part of a second to import: imported first, since it would count for whichever test comes first."""
LENIENT = 5.0
"""A budget of so many CPU seconds has room for any import, so that nothing is imported that no test asks for."""


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of those that it started and that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


class Budget:
    """The plugin that measures each test, fails those that take too much, and lists the dearest."""

    def __init__(self, seconds: float, *, thorough: bool) -> None:
        self._seconds, self._thorough = seconds, thorough
        self._begun, self._compiling = 0.0, 0.0
        self._sharing: Counter[Path] = Counter()

    def pytest_collection(self) -> None:
        from topodesign.base import lowering

        def compile_and_count(*args: Any) -> Any:
            begun = cpu_seconds()
            try:
                return compile_kernel(*args)
            finally:
                self._compiling += cpu_seconds() - begun

        compile_kernel = lowering.object_code
        vars(lowering)["object_code"] = compile_and_count
        for name in HEAVY if self._seconds < LENIENT else ():
            with suppress(ImportError):
                importlib.import_module(name)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._sharing.update(item.path for item in session.items)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        self._begun, self._compiling = cpu_seconds(), 0.0
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        ready = cpu_seconds()
        yield
        spent = cpu_seconds() - ready + (ready - self._begun) / self._sharing[item.path] - self._compiling
        item.user_properties += [("cpu seconds", round(spent, 3)), ("compiling", round(self._compiling, 3))]
        more = item.get_closest_marker("budget")
        seconds = self._seconds * (more.args[0] if more else 1)
        if spent > seconds and not self._thorough and not item.get_closest_marker("dear"):
            pytest.fail(f"{spent:.2f} CPU seconds, of {seconds:g} that a test has", pytrace=False)

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
        compiling = sum(float(str(known.get("compiling", 0))) for known, _ in found)
        terminalreporter.line(f"{compiling:8.1f} kernels that were compiled")
