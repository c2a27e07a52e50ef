"""Text in lines that are no longer than a terminal is wide, so that it breaks no word and no number."""

from __future__ import annotations

import re
import textwrap

_LEAST = 20
"""Columns that lines have at least."""


def fitted(text: str, width: int) -> str:
    """Break lines that are too long at blanks, and set in what follows; words without blanks stay whole.

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
        wrapped = textwrap.wrap(
            line,
            width,
            subsequent_indent=" " * min(indent, width // 2),
            break_long_words=False,
            break_on_hyphens=False,
            replace_whitespace=False,
        )
        lines += wrapped or [""]
    return "\n".join(lines)
