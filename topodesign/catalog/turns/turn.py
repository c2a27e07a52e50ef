"""What a kind of turn is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from topodesign.catalog.standing import Standing
from topodesign.search.target import Target


@dataclass(frozen=True)
class Draw:
    """What tells one turn of a kind at a size from another."""

    orbits: int  # number of orbits, 0 where there are none
    number: int  # how many turns were taken before
    seed: int  # seed of all random choices


@dataclass(frozen=True)
class Turn:
    """A kind of turn: a short search at a size."""

    name: str  # as catalog improve --only has it
    # with which numbers of orbits it is taken at a size: 0 for a search that has none, nothing where it cannot be
    orbits: Callable[[Target], Sequence[int]]
    # by how much the ratio to the bound at a size is above what such a search could find
    left: Callable[[Standing, Target], float]
    search: Callable[[Standing, Target, Draw], float]  # takes it, keeps what is found, and returns what that gains
