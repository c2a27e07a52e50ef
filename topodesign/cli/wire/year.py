"""``topodesign wire year``."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import click

from topodesign.cli.answers import Command, json_option, show
from topodesign.cli.options import PATH, option
from topodesign.cli.progress import progress_bar
from topodesign.wiring.failures.year import PIECES, PieceKind, expected_year

_KINDS = {kind.replace(" ", "-"): kind for kind in PIECES}
_Value = TypeVar("_Value")


def _by_kind(read: Callable[[str], _Value], example: str) -> Callable[..., dict[PieceKind, _Value]]:
    """Return what reads values of the form KIND=NUMBER."""

    def callback(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[PieceKind, _Value]:
        del context, option
        found = {}
        for value in values:
            kind, _, number = value.partition("=")
            plain = number.isascii() and number.replace(".", "", 1).isdigit() and len(number) <= 12
            if kind not in _KINDS or not plain or ("." in number and read is int):
                words = f"{value[:60]!r} should be a kind and a number, such as {example}; {', '.join(_KINDS)}"
                raise click.BadParameter(words)
            found[_KINDS[kind]] = read(number)
        return found

    return callback


@click.command(name="year", cls=Command)
@click.argument("plan", type=PATH)
@option(
    "--fails KIND=FIT...",
    f"Failures of a piece in 10^9 hours, by kind: {', '.join(_KINDS)}; may be repeated.",
    required=True,
    callback=_by_kind(Fraction, "port=400"),
)
@option(
    "--spare spares KIND=NUMBER...",
    "Spares in stock of a kind; may be repeated.  [default: none]",
    callback=_by_kind(int, "port=2"),
)
@option("--swap TIME", "To swap a piece when a spare is there.", default="4h")
@option("--lead TIME", "Until a piece that was ordered comes.", default="720h")
@json_option
def command(plan: Path, fails: dict[PieceKind, Fraction], spares: dict[PieceKind, int], swap: str, lead: str) -> None:
    """Say what a fabric does over an average year as pieces fail, with spares and without.

    The mean of what all hosts together put into allreduces, with the best schedule for what works at each time, is held
    between two numbers.

    Example: topodesign wire year plan.json --fails port=400 --fails cable=50 --spare port=2
    """
    with progress_bar("pricing failures") as progress:
        found = expected_year(plan, fails, spares=spares, swap=swap, lead=lead, progress=progress)
    show(found)
