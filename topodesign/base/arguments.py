"""Checks of the arguments of public functions."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from topodesign.base.errors import ParameterError
from topodesign.base.wording import suggest

_Word = TypeVar("_Word", bound=str)

MAX_SEED = 2**31 - 1  # the largest seed, which every generator takes


def as_integer(name: str, value: object, least: int, most: int | None = None) -> int:
    """Return an integer, NumPy's too."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None:
        raise ParameterError(f"{name} must be an integer, not {value!r:.60}")
    if number < least or (most is not None and number > most):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ParameterError(f"{name} must be {bounds}, not {number}")
    return number


def as_seed(value: object) -> int:
    """Return a seed: an integer from 0 to ``MAX_SEED``."""
    return as_integer("seed", value, 0, MAX_SEED)


def as_choice(name: str, value: object, known: Iterable[_Word]) -> _Word:
    """Return one of some known words."""
    words = list(known)
    for word in words:
        if word == value:
            return word
    raise ParameterError(f"{name} {value!r:.60} is not known; {suggest(value, words, most=1)}")


def as_path(value: object) -> Path:
    """Return a path."""
    if isinstance(value, str | Path):
        return Path(value)
    raise ParameterError(f"the path of a file is needed, not {value!r:.60}")


def as_several(name: str, value: object) -> list[object]:
    """Return several values as a list."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return list(value)
    raise ParameterError(f"{name} must be several, not {value!r:.60}")


def as_ascending(name: str, value: object) -> list[int]:
    """Return ascending integers from one number, a range or several numbers.

    Examples
    --------
    >>> as_ascending("nodes", range(16, 65, 16))
    [16, 32, 48, 64]
    """
    several = as_several(name, value) if isinstance(value, Iterable) else [value]
    numbers = [as_integer(f"the {name}", one, -MAX_SEED) for one in several]
    if not numbers or any(later <= before for before, later in itertools.pairwise(numbers)):
        raise ParameterError(f"several of the {name} ascend, unlike {value!r:.60}")
    return numbers


def as_text(what: str, value: object) -> str:
    """Return a text."""
    if isinstance(value, str):
        return value
    raise ParameterError(f"{what} is text, not {value!r:.60}")


def require_at_least(name: str, value: int, least: int) -> None:
    """Raise ParameterError unless the named parameter is at least ``least``."""
    if value < least:
        raise ParameterError(f"{name} must be at least {least}, not {value}")
