"""Times that were measured of plans: a CSV table by collective, method and size, which choose in place of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, UnitError
from topodesign.base.tables import fixed_columns
from topodesign.base.text_files import naming, read_text
from topodesign.base.units import format_size, parse_size, parse_time
from topodesign.collectives import COLLECTIVES

_COLUMNS = ("collective", "method", "size", "time")
_ROW = "a row such as allreduce,ring,1MiB,250us"
Measured = Mapping[str, Mapping[str, Mapping[int, Fraction]]]
"""Seconds by collective, method, and bytes of the whole data."""


def read_measured(path: str | Path, methods: Sequence[str]) -> Measured:
    """Read a table with the header ``collective,method,size,time``, of these methods.

    Raises
    ------
    FileFormatError
        If a row cannot be read, is there twice, or the methods of a collective have not the same two sizes or more.
    """
    path = as_path(path)
    found: dict[str, dict[str, dict[int, Fraction]]] = {}
    with naming(path):
        for line, (collective, method, size, time) in fixed_columns(read_text(path), _COLUMNS, _ROW):
            for word, known in ((collective, COLLECTIVES), (method, methods)):
                if word not in known:
                    raise FileFormatError(f"line {line}: {word!r:.40} is not known; known are {', '.join(known)}")
            try:
                many, seconds = parse_size(size), parse_time(time)
            except UnitError as error:
                raise FileFormatError(f"line {line}: {error}") from None
            of_method = found.setdefault(collective, {}).setdefault(method, {})
            if many.denominator != 1 or int(many) in of_method:
                why = "is there already" if many.denominator == 1 else "is no whole number of bytes"
                raise FileFormatError(f"line {line}: the size {size} {why}")
            of_method[int(many)] = seconds
        for collective, by_method in found.items():
            sizes = set.union(*map(set, by_method.values()))
            for method, times in by_method.items():
                lacking = sorted(sizes - times.keys())
                if lacking or len(sizes) < 2:
                    what = format_size(lacking[0]) if lacking else "a second size"
                    raise FileFormatError(f"{collective} by {method} lacks {what}; all methods need the same sizes")
    return found


def between(times: Mapping[int, Fraction], size: int) -> Fraction:
    """Return the time for a size: on the straight line between the two sizes around it, or by the first or last two."""
    sizes = sorted(times)
    low, high = next((pair for pair in pairwise(sizes) if size <= pair[1]), tuple(sizes[-2:]))
    slope = (times[high] - times[low]) / (high - low)
    return max(times[low] + slope * (size - low), Fraction(0))
