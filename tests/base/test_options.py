"""Groups of options: what is read, what is refused, and what help texts and signatures say of them."""

from __future__ import annotations

import inspect
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack

import numpy as np
import pytest

import topodesign
from topodesign.base.arguments import MOST_SEED, as_ascending, as_choice, as_integer, as_path, as_seed
from topodesign.base.errors import ParameterError, UnitError
from topodesign.base.options import Amount, Choice, Flag, Option, Span, Whole, declared, read, takes, with_fields
from topodesign.base.units import Quantity, as_size
from topodesign.base.version import __version__
from topodesign.base.work_options import OwnTimingOptions, TimingOptions


class Toy(TypedDict, total=False):
    colour: Annotated[str, Option("Which; see --most-turns.", Choice(("red", "blue")), default="red")]
    most_turns: Annotated[int | None, Option("How many.", Whole(1, 9, word="all"))]
    size: Annotated[Quantity, Option("How much.", Amount(as_size), default="1KiB")]
    patience: Annotated[Quantity | None, Option("How long.", Span())]
    loud: Annotated[bool, Option("Whether.", Flag(), default=False)]


def test_values_are_read_and_defaults_too() -> None:
    nothing = {"colour": "red", "most_turns": None, "size": 1024, "patience": None, "loud": False}
    assert read(Toy, {}, "play") == nothing
    given = {"most_turns": "all", "patience": "2us", "loud": 1, "size": 5}
    assert read(Toy, given, "play") == nothing | given | {"patience": Fraction(1, 500000), "loud": True}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            {"most_turn": 3},
            TypeError,
            r"play\(\) got an unexpected keyword argument 'most_turn'; did you mean 'most_turns'",
        ),
        ({"most_turns": 10}, ParameterError, "most_turns must be from 1 to 9, not 10"),
        ({"most_turns": "none"}, ParameterError, "most_turns must be an integer"),
        ({"colour": "bleu"}, ParameterError, "colour 'bleu' is not known; did you mean 'blue'"),
        ({"patience": 0}, ParameterError, "patience must be above zero"),
        ({"size": "much"}, UnitError, "size 'much'"),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        read(Toy, given, "play")


def test_what_is_priced_has_the_usual_defaults() -> None:
    priced = read(TimingOptions, {}, "compare")
    assert priced == {"alpha": "10us", "sizes": "1MiB", "bandwidth": "100Gbps", "gap": None, "hop": None}
    assert read(OwnTimingOptions, {}, "compare_methods") == priced | {"bandwidth": None}


def test_signatures_and_help_know_every_option() -> None:
    @takes(Toy, colour="blue")
    def play(game: str, **options: Unpack[Toy]) -> None:
        """Play.

        Parameters
        ----------
        game
            Which.
        **options
            More.
        """

    parameters = inspect.signature(play).parameters
    assert list(parameters) == ["game", *declared(Toy)]
    assert parameters["colour"].default == "blue"
    assert parameters["size"].annotation == "str | int | float | fractions.Fraction"
    said = inspect.getdoc(play) or ""
    assert "More." not in said
    assert "colour\n    Which; see most_turns." in said


def test_fields_have_what_is_read_of_defaults() -> None:
    @with_fields(Toy)
    class Asked:
        size: int = 7

    assert Asked.size == 7
    assert Asked.colour == "red"  # type: ignore[attr-defined]


def test_a_field_without_an_option_is_no_group() -> None:
    class Wrong(TypedDict):
        size: int

    with pytest.raises(TypeError, match="size of Wrong"):
        declared(Wrong)


# -- Arguments of public functions: what is taken, and what is refused by name


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
    assert as_seed(MOST_SEED) == MOST_SEED
    for wrong in (-1, MOST_SEED + 1, None):
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


# -- One place says the version: that of the installed package


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert topodesign.__version__ == __version__ == project.get("version", __version__)
