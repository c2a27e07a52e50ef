"""Kernel compilation ahead of first use."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context

from topodesign.base import compiled
from topodesign.base.arguments import as_integer
from topodesign.base.errors import TopodesignError
from topodesign.base.processes import check_threads, end_with_parent
from topodesign.base.progress import Progress, tell
from topodesign.base.records import Result
from topodesign.base.wording import count_noun


@dataclass(frozen=True, repr=False)
class Warmed(Result):
    """Compiled kernels with the folders of their machine code.

    Attributes
    ----------
    compiled
        Names of the kernels that were compiled now.
    found
        Names of those that had been compiled before, here or for the package.
    folders
        Where machine code is kept.
    """

    compiled: tuple[str, ...]
    found: tuple[str, ...]
    folders: tuple[str, ...]

    KEYS = "compiled found folders"

    def heading(self) -> str:
        """Return the counts, and the folder of the machine code."""
        place = f"; kept below {os.path.commonpath(self.folders)}" if self.folders else ""
        return f"{count_noun(len(self.compiled), 'kernel')} compiled, {len(self.found)} had been before{place}"


def compile_kernels(*, workers: int | None = None, progress: Progress | None = None) -> Warmed:
    """Compile the kernels of the main commands ahead of first use.

    A kernel that is not compiled yet is on its first call, once on every machine, which takes up to 12 seconds each;
    here small questions make all commands call theirs, beside each other. What is compiled already, or came with the
    package, is left alone.

    Parameters
    ----------
    workers
        Processes; one a core by default.
    progress
        Called with the share that is done.

    Returns
    -------
    Warmed
        What was compiled, and where it is kept.

    Raises
    ------
    TopodesignError
        Where machine code cannot be kept.

    Examples
    --------
    >>> from topodesign import compile_kernels
    >>> compile_kernels()  # doctest: +SKIP
    <Warmed: 38 kernels compiled, 0 had been before; kept below ~/.venv/lib/topodesign>
    """
    count = os.cpu_count() or 1 if workers is None else as_integer("the number of workers", workers, 1)
    code: dict[str, tuple[bool, str | None]] = {}
    check_threads()
    pool = ProcessPoolExecutor(min(count, len(_USES)), mp_context=get_context("spawn"), initializer=_begin)
    try:
        tell(progress, 0)
        for done, future in enumerate(as_completed([pool.submit(_use, name) for name in _USES]), 1):
            for name, (fresh, folder) in future.result().items():
                code[name] = fresh or code.get(name, (False, None))[0], folder
            tell(progress, done / len(_USES))
    except BrokenProcessPool:
        raise TopodesignError("a process that compiles ended before its time; is memory short?") from None
    finally:
        pool.shutdown(cancel_futures=True)
    folders = {folder for _, folder in code.values()}
    if None in folders:
        raise TopodesignError("machine code cannot be kept: set NUMBA_CACHE_DIR to a folder that can be written")
    made = {name for name, (fresh, _) in code.items() if fresh}
    return Warmed(tuple(sorted(made)), tuple(sorted(code.keys() - made)), tuple(sorted(filter(None, folders))))


def _begin() -> None:
    end_with_parent()
    compiled.PATIENCE = 0.0  # no call is so small that it runs as plain Python


def _use(name: str) -> dict[str, tuple[bool, str | None]]:
    _USES[name]()
    return compiled.machine_code()


def _rounds() -> None:
    from topodesign.plans.verify.plans import verify  # noqa: PLC0415
    from topodesign.schedulers.evaluation import evaluate_topology  # noqa: PLC0415
    from topodesign.schedulers.scheduling import schedule  # noqa: PLC0415

    evaluate_topology("genkautz(3,20)")
    verify(schedule("genkautz(3,20)"))


def _search() -> None:
    from topodesign.finder.find import pareto  # noqa: PLC0415

    pareto(57, 4, catalog=False)  # sets of generators
    pareto(31, 4, search="0.1s", catalog=False)  # lifts


def _programs() -> None:
    from topodesign.compiler.compilation import compile_plan  # noqa: PLC0415
    from topodesign.schedulers.scheduling import schedule  # noqa: PLC0415

    for place, collective in (
        ("genkautz(3,20)", "allreduce"),
        ("torus(8,8)", "all-to-all"),  # of more than a megabyte, which is read as machine code
        ("dgx_a100(2)", "allreduce"),
        ("biring(2,8)", "allgather"),
    ):
        compile_plan(schedule(place, collective)).checked()
    compile_plan(schedule("biring(2,8)"), "mscclpp").checked()


def _plan_timed() -> None:
    from topodesign.plans.time.simulate import simulate  # noqa: PLC0415
    from topodesign.schedulers.scheduling import schedule  # noqa: PLC0415

    plan = schedule("torus(3,3)", "allgather", method="tacos")
    simulate(plan, failed=[(0, 1)])
    simulate(schedule("torus(3,3)", "reduce-scatter"), failed=[(0, 1)])
    schedule("torus(3,3,3)", "all-to-all", method="tacos")


def _fabrics() -> None:
    from topodesign.optima.optimum import optimum  # noqa: PLC0415
    from topodesign.pricing.all_to_all import all_to_all  # noqa: PLC0415
    from topodesign.schedulers.replan import repair_plan  # noqa: PLC0415
    from topodesign.schedulers.scheduling import schedule  # noqa: PLC0415

    repair_plan(schedule("mi250(2)"), "box0/gcd0")
    schedule("randomregular(12,3,0)", "all-to-all")
    optimum("randomregular(12,3,0)", "all-to-all")
    all_to_all("randomregular(12,3,0)", effort="approximate")


_USES: dict[str, Callable[[], None]] = {
    function.__name__: function for function in (_programs, _fabrics, _search, _rounds, _plan_timed)
}
"""Small questions that call the kernels of the main commands, the longest first."""
