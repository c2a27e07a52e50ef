"""Text wrapped to the width of the output without breaking words or numbers."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from typing import IO

_LEAST = 20  # columns that lines have at least


def columns_of(stream: IO[str]) -> int | None:
    """Return the columns of the output: COLUMNS, or those of the terminal."""
    told = os.environ.get("COLUMNS", "")
    if told.isascii() and told.isdigit() and len(told) < 5 and int(told):
        return int(told)
    return shutil.get_terminal_size().columns if stream.isatty() else None


def fit_lines(text: str, width: int) -> str:
    """Wrap lines that are too long, with continuation lines indented.

    See :func:`wrap_text`.

    What follows stands below the second column of a line that has columns (two blanks or more apart) in its first
    half, else two blanks in from where the line begins.

    Examples
    --------
    >>> print(fit_lines("allgather  354.133GB/s  over the links of box0 and box1", 30))
    allgather  354.133GB/s  over
               the links of box0
               and box1
    """
    width = max(width, _LEAST)
    lines = []
    for line in text.split("\n"):
        if len(line) <= width:
            lines.append(line)
            continue
        start = len(line) - len(line.lstrip())
        column = re.match(r" *\S+(?: \S+)*  +", line)
        indent = column.end() if column is not None and column.end() <= width // 2 else start + 2
        lines += wrap_text(line, width, min(indent, width // 2)) or [""]
    return "\n".join(lines)


def wrap_text(text: str, width: int, indent: int = 0) -> list[str]:
    """Wrap a text at blanks.

    Words longer than a line, such as specs, break at commas, slashes and bars.

    Examples
    --------
    >>> wrap_text("best: circulant(1021,3,4,55,78) is it", 20, indent=2)
    ['best:', '  circulant(1021,3,', '  4,55,78) is it']
    """
    return _Wrapper(
        width=max(width, _LEAST),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    ).wrap(text)


class _Wrapper(textwrap.TextWrapper):
    """Wrapper that breaks long words after commas, slashes and bars."""

    def _split(self, text: str) -> list[str]:
        room = self.width - len(self.subsequent_indent)
        return [
            part
            for chunk in super()._split(text)
            for part in (re.findall(r"[^,/|]*[,/|]|[^,/|]+", chunk) if len(chunk) > room else [chunk])
        ]
