"""Build the catalog: every task of the grid once, on cores or a cluster.

A journal has the results of tasks, one line each, so that a killed build goes on where it was.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import accumulate
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import Self

from topodesign.base.arguments import as_integer, as_path, as_several
from topodesign.base.errors import CatalogError, FileFormatError, ParameterError
from topodesign.base.processes import check_threads, end_with_parent
from topodesign.base.progress import tell
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import read_bytes
from topodesign.base.units import as_count
from topodesign.catalog.files import degrees_of_grid, get_stored_path, make_directory, read_rows, write_rows
from topodesign.catalog.rows import Row, read_row, worth_keeping
from topodesign.search.tasks import Effort, Stage, Task, needs, run_task, waves

_AHEAD = 3  # tasks handed out per worker, so that none waits for work
_PATIENCE = "10s"  # how long a cluster has to answer


def build_catalog(
    directory: str | Path,
    nodes: range,
    degrees: Sequence[int],
    *,
    effort: Effort | None = None,
    journal: Path | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    shard: tuple[int, int] | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Path]:
    """Build all sizes of a grid and write the file of every degree.

    Parameters
    ----------
    directory
        Where the files go; made if it is not there. Rows of other sizes that are there already stay.
    nodes, degrees
        The grid. What its sizes rest on is worked out too, but not written.
    effort
        Seed and budget of the searches, on which the result depends, and on nothing else; by default those of the
        shipped catalog.
    journal
        File of finished tasks; a build that was killed goes on from it. By default ``build.journal`` in the directory.
    jobs
        Processes, one per core unless told otherwise.
    scheduler
        Address of a Dask scheduler (``tcp://host:port``), whose workers then do the tasks.
    shard
        ``(k, K)``: only the k-th of K parts of the grid, each with a directory of its own, as tasks of a job array do;
        :func:`merge_catalog` of these is what one build would be. What sizes of other parts a part rests on it works
        out itself.
    progress
        Called after every task with the share of the work that is done.

    Returns
    -------
    list of Path
        The files written, one per degree.

    Raises
    ------
    CatalogError
        If the journal belongs to another build, a file there is damaged, or workers die.
    ParameterError
        If a size is too small, there is no such shard, or the cluster cannot be reached.

    Examples
    --------
    >>> from topodesign import Catalog, Effort, build_catalog
    >>> paths = build_catalog("mine", range(3, 6), [2], effort=Effort(percent=0), jobs=1)
    >>> [str(row.spec) for row in Catalog("mine").frontier(5, 2)]
    ['paley(5)']
    """
    directory, degrees = as_path(directory), degrees_of_grid(nodes, degrees)
    sizes = _of_shard(sorted({(degree, n) for degree in degrees for n in nodes}), shard)
    effort, journal = effort or Effort(), journal or directory / "build.journal"
    make_directory(directory)
    own = {degree: [n for other, n in sizes if other == degree] for degree in degrees}
    own = {degree: some for degree, some in own.items() if some}
    outside = {degree: _read_other_sizes(directory, degree, some) for degree, some in own.items()}
    plan = waves((n, degree) for degree, n in sizes)
    with Journal(journal, effort) as done:
        work = sum(_work(task) for wave in plan for task in wave)
        left = [[task for task in wave if task not in done.results] for wave in plan]
        ready = work - sum(_work(task) for wave in left for task in wave)
        with _workers(jobs, scheduler) as (executor, ahead):
            for wave in left:
                for task, rows in _results(executor, ahead, wave, done.results, effort):
                    done.add(task, rows)
                    ready += _work(task)
                    tell(progress, ready / work)
        return [
            write_rows(directory, degree, [*outside[degree], *_frontiers(done.results, some, degree)])
            for degree, some in own.items()
        ]


def _of_shard(sizes: list[tuple[int, int]], shard: tuple[int, int] | None) -> list[tuple[int, int]]:
    """Return the consecutive sizes (d, N) of a part of equal work."""
    if shard is None:
        return sizes
    numbers = [as_integer("a shard", number, 1) for number in as_several("a shard", shard)]
    if len(numbers) != 2 or numbers[0] > numbers[1]:
        raise ParameterError(f"a shard is a pair (k, K) with k from 1 to K, not {shard!r:.60}")
    place, count = numbers
    work = list(accumulate(_work(Task(n, degree, Stage.REFINE)) for degree, n in sizes))
    return [one for one, upto in zip(sizes, work, strict=True) if (upto - 1) * count // work[-1] == place - 1]


def _results(
    executor: Executor, ahead: int, wave: Sequence[Task], results: dict[Task, list[Row]], effort: Effort
) -> Iterator[tuple[Task, list[Row]]]:
    """Yield the results of a wave as they come, largest sizes first."""
    pending: dict[Future[list[Row]], Task] = {}
    queue = sorted(wave)
    try:
        while queue or pending:
            while queue and len(pending) < ahead:
                task = queue.pop()
                known = [row for need in needs(task) for row in results[need]]
                pending[executor.submit(run_task, task, known, effort)] = task
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                yield pending.pop(future), future.result()
    except BrokenProcessPool:
        raise CatalogError("a worker process died, perhaps for want of memory; start again with fewer --jobs") from None


@contextmanager
def _workers(jobs: int | None, scheduler: str | None) -> Iterator[tuple[Executor, int]]:
    """Yield where tasks can be submitted, and how many at once."""
    if scheduler is None:
        count = jobs or os.cpu_count() or 1
        check_threads()
        with ProcessPoolExecutor(count, get_context("spawn"), initializer=end_with_parent) as pool:
            try:
                yield pool, _AHEAD * count
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return
    try:
        from distributed import Client  # noqa: PLC0415  heavy, and an optional extra
    except ImportError:
        raise ParameterError("--scheduler requires Dask: pip install 'topodesign[cluster]'") from None
    try:
        client = Client(scheduler, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise ParameterError(f"no Dask scheduler answers at {scheduler}: {error}") from None
    with client:
        yield client.get_executor(pure=False), _AHEAD * max(1, sum(client.nthreads().values()))


def _work(task: Task) -> int:
    """Return about how long a task takes compared with others."""
    return task.nodes * task.degree + 200


def _read_other_sizes(directory: Path, degree: int, nodes: Collection[int]) -> list[Row]:
    """Return the rows of other sizes in the file of a degree."""
    if not get_stored_path(directory, degree).exists():
        return []
    return [row for row in read_rows(directory, degree) if row.nodes not in nodes]


def _frontiers(results: dict[Task, list[Row]], nodes: Iterable[int], degree: int) -> list[Row]:
    """Return the rows of a degree on the frontiers of their sizes."""
    rows: list[Row] = []
    for n in nodes:
        rows += worth_keeping(results[Task(n, degree, Stage.REFINE)])
    return rows


_VERSION = 1  # of what builds come to: those of one version find the same


class Journal:
    """A file with a line per finished task.

    A line that was cut off by a kill is not believed: its check fails, and the file ends before it again.

    * ``results``: rows of the tasks that are done.
    """

    def __init__(self, path: Path, effort: Effort) -> None:
        self.results: dict[Task, list[Row]] = {}
        head = json.dumps({"catalog": _VERSION, "seed": effort.seed, "effort": effort.percent})
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            good = self._read(path, head) if path.exists() else 0
            self._stream = path.open("ab")
            self._stream.truncate(good)
        except OSError as error:
            raise CatalogError(f"{path}: {error.strerror or error}") from None
        if not good:
            self._write(head)

    def _read(self, path: Path, head: str) -> int:
        """Read the results, and return the end of the valid lines."""
        good = 0
        try:
            lines = read_bytes(path).splitlines(keepends=True)
        except FileFormatError as error:
            raise CatalogError(f"{path}: {error}") from None
        for number, line in enumerate(lines):
            text = _check_line(line)
            if number == 0 and text is None and line.endswith(b"\n"):
                raise CatalogError(f"{path} is not the journal of a build; name another file")
            if number == 0 and text is not None and text != head:
                raise CatalogError(f"{path} is the journal of another build: {text}, not {head}; name another file")
            if text is None:
                break
            good += len(line)
            if number:
                task, rows = _result(text, f"{path}:{number + 1}")
                self.results[task] = rows
        return good

    def add(self, task: Task, rows: Iterable[Row]) -> None:
        """Note that a task is done."""
        self.results[task] = list(rows)
        self._write(json.dumps([task.nodes, task.degree, int(task.stage), *(row.line for row in self.results[task])]))

    def _write(self, text: str) -> None:
        data = text.encode()
        self._stream.write(b"%08x %s\n" % (zlib.crc32(data), data))
        self._stream.flush()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        os.fsync(self._stream.fileno())
        self._stream.close()


def _result(text: str, where: str) -> tuple[Task, list[Row]]:
    """Return the result of a line with the right check."""
    try:
        nodes, degree, stage, *rows = parse_json(text)
        return Task(as_count(nodes, "nodes"), as_count(degree, "degree"), Stage(stage)), [read_row(row) for row in rows]
    except (TypeError, ValueError, AttributeError) as error:
        why = f": {error}" if isinstance(error, FileFormatError) else ""
        raise CatalogError(f"{where}: this is not a result of a task{why}; remove the file to start again") from None


def _check_line(line: bytes) -> str | None:
    """Return the text of a line, or None if its check fails."""
    check, _, data = line[:-1].partition(b" ")
    return data.decode(errors="replace") if line.endswith(b"\n") and check == b"%08x" % zlib.crc32(data) else None
