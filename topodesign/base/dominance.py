"""Dominance: values that no other equals or beats in all objectives."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def find_unbeaten(
    values: Iterable[T], merit: Callable[[T], tuple[Any, Any]], tie: Callable[[T], Any] = lambda _: 0
) -> list[T]:
    """Return the values that no other equals or beats in both objectives.

    Sorted by the first objective.

    Parameters
    ----------
    values
        Candidates.
    merit
        Function that returns two things that should be small.
    tie
        Function that returns what decides among values of equal merit; the first of them is kept by default.

    Examples
    --------
    >>> find_unbeaten([(3, 1), (1, 2), (2, 2), (1, 3)], merit=lambda pair: pair)
    [(1, 2), (3, 1)]
    """
    kept: list[T] = []
    for value in sorted(values, key=lambda value: (*merit(value), tie(value))):
        if not kept or merit(value)[1] < merit(kept[-1])[1]:
            kept.append(value)
    return kept


def is_beaten(own: tuple[Any, ...], others: Iterable[tuple[Any, ...]]) -> bool:
    """Return whether another value is as small in all and smaller in one.

    Examples
    --------
    >>> is_beaten((1, 2, 3), [(1, 2, 3), (0, 9, 0)]), is_beaten((1, 2, 3), [(1, 2, 2)])
    (False, True)
    """
    return any(other != own and all(map(operator.le, other, own)) for other in others)
