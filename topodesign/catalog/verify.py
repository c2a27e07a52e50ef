"""Verification of the catalog: rows rebuilt and priced from their links."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Generic, Literal, TypeAlias, TypeVar

import numpy as np

from topodesign.base.atomic import write_whole
from topodesign.base.declared import Declared, key
from topodesign.base.errors import CatalogError, FileFormatError
from topodesign.base.processes import check_threads, end_with_parent
from topodesign.base.records import Result
from topodesign.base.text_files import naming, read_text
from topodesign.base.wording import count_noun
from topodesign.catalog.all_to_all_rows import EXCHANGE, Exchange
from topodesign.catalog.audit import AuditedRow
from topodesign.catalog.files import get_stored_path
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.row_check import check_row
from topodesign.catalog.rows import Row, worth_keeping
from topodesign.catalog.sizes import NO_LIMIT

_CORES = os.cpu_count() or 1
_BATCH_WORK = 2**27  # links times sources of the rows that a process is handed at once; some seconds at most
_DEFERRED_WORK = 4  # how often a step of a deferred schedule is worked out, about
By = Literal["links", "sources", "audit", "plans"]
"""How rows are verified; see :func:`topodesign.verify_catalog`."""
Line = TypeVar("Line", Row, Exchange)
_HEADER = "# rows that topodesign catalog verify found right"


@dataclass(frozen=True)
class StoredLine(Generic[Line]):
    """A row, or something kept for all-to-all alone, and where it stands."""

    row: Line
    path: Path
    line: int


StoredRow: TypeAlias = StoredLine[Row]


@dataclass(frozen=True)
class Fault(Declared):
    """A row that is not true, and what came out instead."""

    place: StoredRow | StoredLine[Exchange]
    message: str  # what came out

    KEYS = (key("file=place.path", "Where.", kind=str), key("line=place.line", "Where."), "message")

    def __str__(self) -> str:
        """Return one line for people and one with the row."""
        return f"{self.place.path}:{self.place.line}: {self.message}\n  {self.place.row.line}"


@dataclass(frozen=True)
class Verified:
    """The state of a verification: rows done, share, faults in this batch."""

    done: int
    total: int
    share: float
    faults: tuple[Fault, ...]
    sampled: int = 0  # rows of this batch of which only some nodes were looked at


@dataclass(frozen=True, repr=False)
class Verification(Result):
    """What a verification came to."""

    rows: int  # rows that were to be verified
    verified_before: int  # how many of them an earlier run had found right
    faults: tuple[Fault, ...]  # rows that are not true
    by: By = "links"  # how rows were looked at
    sampled: int = 0  # rows too large to look at all nodes in an audit; some drawn at random were

    @property
    def ok(self) -> bool:
        """Whether all rows are true."""
        return not self.faults

    def heading(self) -> str:
        """Return how many rows and how many faults."""
        before = f", {self.verified_before} of them before" if self.verified_before else ""
        some = f", {self.sampled} by a sample of their nodes" if self.sampled else ""
        done = {"audit": f"audited{some}", "plans": "compared with plans"}.get(self.by, "rebuilt and priced")
        return (
            f"{self.rows} rows {done}{before}: {count_noun(len(self.faults), 'fault') if self.faults else 'no faults'}"
        )

    KEYS = "rows verified_before faults audited planned sampled"
    ROWS = "faults"

    @property
    def audited(self) -> bool:
        """Whether they were audited."""
        return self.by == "audit"

    @property
    def planned(self) -> bool:
        """Whether they were compared with the plans that can be made of them."""
        return self.by == "plans"


def read_stored_rows(catalog: Catalog, degrees: Iterable[int], first: int = 0, last: int = NO_LIMIT) -> list[StoredRow]:
    """Return the rows of degrees and a range of N with their positions."""
    return [
        StoredLine(row, get_stored_path(catalog.directory, degree), number)
        for degree in degrees
        for number, row in enumerate(catalog.rows(degree), start=2)
        if first <= row.nodes <= last
    ]


def read_stored_exchanges(
    catalog: Catalog, degrees: Iterable[int], nodes: range | None
) -> list[tuple[int, StoredLine[Exchange]]]:
    """Return the entries kept for all-to-all alone, in a range of N."""
    return [
        (degree, StoredLine(one, EXCHANGE.path(catalog.directory, degree), number))
        for degree in degrees
        for number, one in enumerate(EXCHANGE.known(catalog.directory, degree), start=2)
        if not nodes or nodes[0] <= one.nodes <= nodes[-1]
    ]


def draw(rows: Sequence[StoredRow], count: int, seed: int) -> list[StoredRow]:
    """Return a random sample without replacement; all if there are fewer."""
    rng = np.random.Generator(np.random.PCG64(seed))
    return [rows[index] for index in sorted(rng.permutation(len(rows))[:count].tolist())]


def find_misplaced(rows: Iterable[StoredRow]) -> list[Fault]:
    """Return the rows dominated within their size and file.

    Whole sizes must be given.
    """
    faults = []
    for _, group in itertools.groupby(rows, key=lambda place: (place.path, place.row.nodes)):
        same = list(group)
        every = [place.row for place in same]
        kept = {row.key for row in worth_keeping(every)}
        faults += [Fault(place, "another row of this size dominates it") for place in same if place.row.key not in kept]
    return faults


def verify(
    rows: Sequence[StoredRow],
    check: Callable[[Row], AuditedRow] | None = None,
    *,
    how: str = "",
    resume: Path | None = None,
    workers: int | None = None,
) -> Iterator[Verified]:
    """Check rows in several processes, dearest first.

    Parameters
    ----------
    rows
        What to verify.
    check
        What looks at a row, a function that other processes can be sent; by default rows are rebuilt and priced.
    how
        How it looks, as the first line of ``resume`` names it.
    resume
        File that keeps which rows were found right; those are not looked at again.
    workers
        Processes, one per core unless told otherwise; 1 stays in this one.

    Yields
    ------
    Verified
        After every batch.

    Raises
    ------
    FileFormatError
        If ``resume`` is not such a file, or cannot be written.
    CatalogError
        If a process ends before its time, as when memory is short.
    """
    kept = _Progress(resume, how) if resume is not None else None
    left = [place for place in rows if kept is None or _key(place.row) not in kept.rows]
    batches = list(_batches(sorted(left, key=lambda place: -_work(place.row))))
    total = sum(_work(place.row) for place in left) or 1
    done, work = len(rows) - len(left), 0
    yield Verified(done, len(rows), 0.0 if left else 1.0, ())
    for batch, found in _run(batches, check or rebuild_row, workers or _CORES):
        done += len(batch)
        work += sum(_work(place.row) for place in batch)
        answers = list(zip(batch, found, strict=True))
        if kept is not None:
            kept.add(place.row for place, one in answers if one.wrong is None)
        faults = tuple(Fault(place, one.wrong) for place, one in answers if one.wrong is not None)
        yield Verified(done, len(rows), work / total, faults, sum(one.sampled for one in found))


def _work(row: Row) -> int:
    """Return the work of pricing: links times sources, again for each deferred step."""
    once = row.nodes**2 * row.degree
    return once * (1 + _DEFERRED_WORK * row.cost.steps) if row.deferred else once


def _batches(rows: Iterable[StoredRow]) -> Iterator[list[StoredRow]]:
    """Yield rows in order, in batches worth a process."""
    batch: list[StoredRow] = []
    work = 0
    for place in rows:
        batch.append(place)
        work += _work(place.row)
        if work >= _BATCH_WORK:
            yield batch
            batch, work = [], 0
    if batch:
        yield batch


def _run(
    batches: Sequence[list[StoredRow]], check: Callable[[Row], AuditedRow], workers: int
) -> Iterator[tuple[list[StoredRow], list[AuditedRow]]]:
    """Yield finished batches with the faults of their rows."""
    if workers == 1 or len(batches) <= 1:
        for batch in batches:
            yield batch, [check(place.row) for place in batch]
        return
    check_threads()
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=end_with_parent)
    try:
        waiting = {pool.submit(_check_rows, check, [place.row for place in batch]): batch for batch in batches}
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    except BrokenProcessPool:
        raise CatalogError("a process that verifies rows ended before its time; is memory short?") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _check_rows(check: Callable[[Row], AuditedRow], rows: list[Row]) -> list[AuditedRow]:
    return [check(row) for row in rows]


def rebuild_row(row: Row, *, all_sources: bool = False) -> AuditedRow:
    """Return the fault of a row rebuilt and priced from its links, or None."""
    return AuditedRow(check_row(row, all_sources=all_sources))


class _Progress:
    """The rows found right so far, in a growing file."""

    def __init__(self, path: Path, how: str) -> None:
        self.path = path
        header = _HEADER + how
        try:
            with naming(path):
                text = read_text(path) if path.exists() else ""
            if text and text.partition("\n")[0] != header:
                raise FileFormatError(f"{path}:1: this is not a file of '{header.removeprefix('# ')}'")
            lines = text.split("\n")
            self.rows = set(lines[1:-1])  # what follows the last line break was torn off
            if not text or lines[-1]:
                write_whole(path, "\n".join([header, *lines[1:-1], ""]))
        except OSError as error:
            raise FileFormatError(f"{path}: {error.strerror or error}") from None

    def add(self, rows: Iterable[Row]) -> None:
        """Keep that rows were found right."""
        with self.path.open("a", encoding="utf-8") as stream:
            stream.writelines(f"{_key(row)}\n" for row in rows)


def _key(row: Row) -> str:
    """Return the key of a row with all it says: size, steps and check."""
    return f"{row.degree} {row.nodes} {row.cost.steps} {row.line[-8:]}"
