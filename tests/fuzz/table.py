"""The table of readers and defects: how many broken inputs each was given, and how many it refused."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.fuzz.defects import DEFECTS
from tests.fuzz.readers import READERS, Reader
from topodesign.base.errors import TopodesignError

LONGEST = 10.0
"""Seconds of processor time that reading one broken input may take."""


class Cell(NamedTuple):
    """How often a reader was tried with one kind of defect, and how often it refused."""

    tried: int
    refused: int


class ReaderError(Exception):
    """A reader did something else than taking or refusing."""


def tried(reader: Reader, path: Path) -> bool:
    """Whether the reader takes a file; it fails in no other way than it says, or finds that it is wrong."""
    try:
        return reader.read(path) is not False
    except TopodesignError as error:
        return not str(error)


def cell(reader: Reader, defect: str, folder: Path, *, rounds: int, seed: int) -> Cell:
    """Give a reader files with a defect.

    Raises
    ------
    ReaderError
        If it takes what it must refuse, takes too long, or raises another error than ours.
    """
    sample, path = reader.sample(), folder / reader.name
    random = Random(f"{reader.module} {reader.name} {defect} {seed}")  # noqa: S311
    count = refused = 0
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for must in DEFECTS[defect](reader, path, sample, random, rounds):
        start = time.process_time()
        try:
            taken = tried(reader, path)
        except Exception as error:
            raise ReaderError(f"{reader.module} {reader.name}, {defect}: {type(error).__name__}: {error}") from error
        if (must and taken) or time.process_time() - start > LONGEST:
            raise ReaderError(f"{reader.module} {reader.name}, {defect}: {'is taken' if taken else 'takes too long'}")
        count += 1
        refused += not taken
    return Cell(count, refused)


def text(rows: Iterable[tuple[Reader, dict[str, Cell]]]) -> str:
    """Return the table: refused of tried."""
    lines = [["reader", *DEFECTS]]
    total = {defect: Cell(0, 0) for defect in DEFECTS}
    for reader, cells in rows:
        lines.append([f"{reader.module} {reader.name}", *(f"{one.refused}/{one.tried}" for one in cells.values())])
        total = {name: Cell(*map(sum, zip(one, cells[name], strict=True))) for name, one in total.items()}
    lines.append(["all", *(f"{one.refused}/{one.tried}" for one in total.values())])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in enumerate(pairs))
        for pairs in (zip(line, widths, strict=True) for line in lines)
    )


def rows(folder: Path, *, rounds: int, seed: int) -> Iterable[tuple[Reader, dict[str, Cell]]]:
    """Yield every reader with its cells."""
    for number, reader in enumerate(READERS):
        yield (
            reader,
            {
                defect: cell(reader, defect, folder / str(number) / str(place), rounds=rounds, seed=seed)
                for place, defect in enumerate(DEFECTS)
            },
        )
