"""Text in lines that are no longer than there is room for, so that it breaks no word and no number."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from typing import IO

_LEAST = 20  # columns that lines have at least


def columns_of(stream: IO[str]) -> int | None:
    """Return how many columns there are where text is printed: what COLUMNS says, else what a terminal has."""
    told = os.environ.get("COLUMNS", "")
    if told.isascii() and told.isdigit() and len(told) < 5 and int(told):
        return int(told)
    return shutil.get_terminal_size().columns if stream.isatty() else None


def fitted(text: str, width: int) -> str:
    """Break lines that are too long, and set in what follows, as :func:`wrapped` does.

    What follows stands below the second column of a line that has columns (two blanks or more apart) in its first
    half, else two blanks in from where the line begins.

    Examples
    --------
    >>> print(fitted("allgather  354.133GB/s  over the links of box0 and box1", 30))
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
        lines += wrapped(line, width, min(indent, width // 2)) or [""]
    return "\n".join(lines)


def wrapped(text: str, width: int, indent: int = 0) -> list[str]:
    """Return a text in lines, broken at blanks; a word too long for one, such as a spec, at commas, slashes and bars.

    Examples
    --------
    >>> wrapped("best: circulant(1021,3,4,55,78) is it", 20, indent=2)
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
    """Breaks words that have no room in a line behind commas, slashes and bars."""

    def _split(self, text: str) -> list[str]:
        room = self.width - len(self.subsequent_indent)
        return [
            part
            for chunk in super()._split(text)
            for part in (re.findall(r"[^,/|]*[,/|]|[^,/|]+", chunk) if len(chunk) > room else [chunk])
        ]
