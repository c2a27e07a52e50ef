"""What a kind of turn is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from topodesign.catalog.standing import Standing
from topodesign.search.target import Target


@dataclass(frozen=True)
class Draw:
    """What tells one turn of a kind at a size from another.

    Attributes
    ----------
    orbits
        Number of orbits, 0 where there are none.
    number
        How many turns were taken before.
    seed
        Seed of all random choices.
    """

    orbits: int
    number: int
    seed: int


@dataclass(frozen=True)
class Turn:
    """A kind of turn: a short search at a size.

    Attributes
    ----------
    name
        As ``catalog improve --only`` has it.
    orbits
        With which numbers of orbits it is taken at a size: 0 for a search that has none, nothing where it cannot be.
    left
        By how much the ratio to the bound at a size is above what such a search could find.
    search
        Takes it, keeps what is found, and returns what that gains.
    """

    name: str
    orbits: Callable[[Target], Sequence[int]]
    left: Callable[[Standing, Target], float]
    search: Callable[[Standing, Target, Draw], float]
