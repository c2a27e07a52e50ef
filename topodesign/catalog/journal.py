"""The journal of a build: the results of tasks, one line each, so that a killed build goes on where it was."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from topodesign.base.errors import CatalogError, FileFormatError
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import read_bytes
from topodesign.base.units import as_count
from topodesign.catalog.budgets import Effort
from topodesign.catalog.rows import Row, read_row
from topodesign.catalog.tasks import Stage, Task

_VERSION = 1  # of what builds come to: those of one version find the same


class Journal:
    """A file to which a line is appended for every task that is done.

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
        """Take over the results, and return where the lines that can be believed end."""
        good = 0
        try:
            lines = read_bytes(path).splitlines(keepends=True)
        except FileFormatError as error:
            raise CatalogError(f"{path}: {error}") from None
        for number, line in enumerate(lines):
            text = _checked(line)
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
    """Return what a line with the right check says; it may be of another program all the same."""
    try:
        nodes, degree, stage, *rows = parse_json(text)
        return Task(as_count(nodes, "nodes"), as_count(degree, "degree"), Stage(stage)), [read_row(row) for row in rows]
    except (TypeError, ValueError, AttributeError) as error:
        why = f": {error}" if isinstance(error, FileFormatError) else ""
        raise CatalogError(f"{where}: this is no result of a task{why}; remove the file to start anew") from None


def _checked(line: bytes) -> str | None:
    """Return the text of a line, or None if it is not what was written."""
    check, _, data = line[:-1].partition(b" ")
    return data.decode(errors="replace") if line.endswith(b"\n") and check == b"%08x" % zlib.crc32(data) else None
