"""Groups of options: what is read, what is refused, and what help texts and signatures say of them."""

import inspect
from fractions import Fraction
from typing import Annotated, Any, TypedDict, Unpack

import pytest

from topodesign.base.errors import ParameterError, UnitError
from topodesign.base.options import (
    Amount,
    Choice,
    Flag,
    Option,
    Span,
    WholeKind,
    collect_options,
    read,
    takes,
    with_fields,
)
from topodesign.base.units import Quantity, as_size
from topodesign.base.work_options import OwnTimingOptions, TimingOptions


class Toy(TypedDict, total=False):
    colour: Annotated[str, Option("Which; see --most-turns.", Choice(("red", "blue")), default="red")]
    most_turns: Annotated[int | None, Option("How many.", WholeKind(1, 9, word="all"))]
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
    assert list(parameters) == ["game", *collect_options(Toy)]
    assert parameters["colour"].default == "blue"
    assert parameters["size"].annotation == "str | int | float | fractions.Fraction"
    said = inspect.getdoc(play) or ""
    assert "More." not in said
    assert "colour\n    Which; see most_turns." in said
    with pytest.raises(TypeError, match="argument 'games'; did you mean 'game'"):
        read(Toy, {"games": "chess"}, "play")


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
        collect_options(Wrong)
