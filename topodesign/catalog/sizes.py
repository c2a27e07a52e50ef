"""Sizes of the shipped catalog: all small ones, and common large ones."""

from __future__ import annotations

MAX_NODES = 2048  # every number of nodes up to this has rows; the smallest is 3

NO_LIMIT = 2**62  # more nodes than any row has

LARGE_SIZES = frozenset((*range(MAX_NODES + 64, 2**14 + 1, 64), 2**15, 2**16))
"""Beyond that: multiples of 64 to 16384, and powers of two to 65536."""

DEGREES = range(2, 17)  # degrees that the shipped catalog is built for


def covers(nodes: int, degree: int) -> bool:
    """Return whether the shipped catalog is built for a size."""
    return degree in DEGREES and (3 <= nodes <= MAX_NODES or nodes in LARGE_SIZES)


def sizes_among(nodes: range) -> list[int]:
    """Return the sizes of a range that a catalog has; a single one always."""
    return [n for n in nodes if n <= MAX_NODES or n in LARGE_SIZES] or list(nodes[:1])
