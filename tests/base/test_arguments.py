"""Arguments of public functions: what is taken, and what is refused by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from topodesign.base.arguments import MAX_SEED, as_ascending, as_choice, as_integer, as_path, as_seed
from topodesign.base.errors import ParameterError


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_integers(value: object) -> None:
    found = as_integer("top", value, 1, 3)
    assert (found, type(found)) == (3, int)


@pytest.mark.parametrize("value", [0, 4, 3.0, "3", True, None, [3]])
def test_what_is_no_such_integer_is_refused(value: object) -> None:
    with pytest.raises(ParameterError, match=r"^top must be "):
        as_integer("top", value, 1, 3)


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        (5, [5]),
        (np.int64(5), [5]),
        (range(16, 65, 16), [16, 32, 48, 64]),
        (np.arange(16, 65, 16), [16, 32, 48, 64]),
        ((2, np.int32(7)), [2, 7]),
    ],
)
def test_numbers_that_ascend(value: object, numbers: list[int]) -> None:
    found = as_ascending("sizes", value)
    assert found == numbers
    assert all(type(one) is int for one in found)


@pytest.mark.parametrize(
    "value", [[], range(5, 5), [3, 2], [3, 3], range(9, 3, -2), np.array([1.5]), "16", [None], 2.0]
)
def test_what_does_not_ascend_is_refused(value: object) -> None:
    with pytest.raises(ParameterError, match=r"\bsizes\b"):
        as_ascending("sizes", value)


def test_seeds() -> None:
    assert as_seed(MAX_SEED) == MAX_SEED
    for wrong in (-1, MAX_SEED + 1, None):
        with pytest.raises(ParameterError, match=r"^seed must be "):
            as_seed(wrong)


def test_words_and_paths() -> None:
    assert as_choice("mode", "simplex", ("simplex", "duplex")) == "simplex"
    for wrong, hint in (("duplexx", "did you mean 'duplex'"), ("x", "known are simplex, duplex"), ([], "known are")):
        with pytest.raises(ParameterError, match=hint):
            as_choice("mode", wrong, ("simplex", "duplex"))
    assert as_path("a/b") == as_path(Path("a/b")) == Path("a/b")
    with pytest.raises(ParameterError, match="the path of a file"):
        as_path(3)
