"""The journal of a build: the results of tasks, one line each, so that a killed build goes on where it was."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from topodesign.base.errors import CatalogError
from topodesign.catalog.budgets import Effort
from topodesign.catalog.rows import VERSION, Row, read_row
from topodesign.catalog.tasks import Stage, Task


class Journal:
    """A file to which a line is appended for every task that is done.

    A line that was cut off by a kill is not believed: its check fails, and the file ends before it again.

    Parameters
    ----------
    path
        The file; made if it is not there.
    effort
        What the results depend on; a journal of another effort is refused.

    Attributes
    ----------
    results
        Rows of the tasks that are done.

    Raises
    ------
    CatalogError
        If the file cannot be used, or belongs to another build.
    """

    def __init__(self, path: Path, effort: Effort) -> None:
        self.results: dict[Task, list[Row]] = {}
        head = json.dumps({"catalog": VERSION, "seed": effort.seed, "effort": effort.percent})
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
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True)):
            text = _checked(line)
            if number == 0 and text is None and line.endswith(b"\n"):
                raise CatalogError(f"{path} is not the journal of a build; name another file")
            if number == 0 and text is not None and text != head:
                raise CatalogError(f"{path} is the journal of another build: {text}, not {head}; name another file")
            if text is None:
                break
            good += len(line)
            if number:
                nodes, degree, stage, *rows = json.loads(text)
                self.results[Task(nodes, degree, Stage(stage))] = [read_row(row) for row in rows]
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


def _checked(line: bytes) -> str | None:
    """Return the text of a line, or None if it is not what was written."""
    check, _, data = line[:-1].partition(b" ")
    return data.decode() if line.endswith(b"\n") and check == b"%08x" % zlib.crc32(data) else None
