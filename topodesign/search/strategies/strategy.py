"""Strategies of improvement, and the gap each could close."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from topodesign.base.cost import Cost, lower_bound
from topodesign.catalog.quality import least_runtime, runtime
from topodesign.catalog.records import record_bounds
from topodesign.search.state import WORTHWHILE, SearchState
from topodesign.search.target import Target, scarcity


@dataclass(frozen=True)
class Draw:
    """The seed and count that distinguish turns of a strategy at a size."""

    orbits: int  # number of orbits, 0 where there are none
    number: int  # how many turns were taken before
    seed: int  # seed of all random choices


class State(Protocol):
    """What is known of a grid of sizes while it is searched."""

    @property
    def new(self) -> Sequence[object]:
        """What has come in."""

    @property
    def degrees(self) -> Sequence[int]:
        """Of the grid."""

    @property
    def nodes(self) -> Collection[int] | None:
        """Numbers of nodes of the grid."""

    def save(self, directory: Path) -> list[Path]:
        """Write the files."""


S = TypeVar("S", bound=State)


@dataclass(frozen=True)
class Strategy(Generic[S]):
    """A short search for better topologies of a size: one turn."""

    name: str  # as catalog improve --strategy has it
    # with which numbers of orbits it is taken at a size: 0 for a search that has none, nothing where it cannot be
    orbits: Callable[[Target], Sequence[int]]
    # by how much the ratio to the bound at a size is above what such a search could find
    gap: Callable[[S, Target], float]
    search: Callable[[S, Target, Draw], float]  # takes it, keeps what is found, and returns what that gains
    rank: int = 100  # the order in which strategies are tried that have found nothing yet


def gap_to_records(state: SearchState, target: Target) -> float:
    """Return the gap to the known steps at optimal bandwidth."""
    return state.ratio(target) - _possible(target)


def gap_in_steps(state: SearchState, target: Target, steps: int) -> float:
    """Return that gap for some steps, without what is not worth it."""
    return state.ratio(target) - possible_in(target, steps) - WORTHWHILE


def steps_to_search(state: SearchState, target: Target, rarest: float) -> int | None:
    """Return the steps to search for, or None.

    One less than the fastest topology's if such are not too scarce, else as many.
    """
    fastest, fewer = state.fastest(target), state.fewer(target)
    if fewer is not None and scarcity(target, fewer) < rarest:
        return fewer
    return None if fastest is None else fastest.cost.steps


@functools.cache
def _possible(target: Target) -> float:
    record = min(map(runtime, record_bounds(*target.size, duplex=target.duplex)))
    return float(record / least_runtime(*target.size, duplex=target.duplex))


@functools.cache
def possible_in(target: Target, steps: int) -> float:
    """Return the ratio to the bound of given steps at optimal bandwidth."""
    optimum = lower_bound(*target.size, duplex=target.duplex).bandwidth
    return float(runtime(Cost(steps, optimum)) / least_runtime(*target.size, duplex=target.duplex))
