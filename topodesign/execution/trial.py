"""What transports run: the programs of all ranks for one size of the data, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from topodesign.collectives import Collective
from topodesign.execution.program import Program
from topodesign.execution.workspace import Extent, Workspace


@dataclass(frozen=True, eq=False)
class Trial:
    """Programs for one size of the data.

    Attributes
    ----------
    programs
        By rank; a process that is one rank needs its own alone.
    ranks
        How many there are.
    extent, shares, dtype
        As a :class:`~topodesign.execution.workspace.Workspace` takes them.
    warmup, iterations
        How often it is run without being timed, and then with; every result is checked.
    collective
        What it is, among ranks; None of several at the same time.
    """

    programs: Mapping[int, Program]
    ranks: int
    extent: Extent
    shares: tuple[Mapping[int, int], ...]
    dtype: str
    warmup: int
    iterations: int
    collective: Collective | None

    def workspace(self, rank: int) -> Workspace:
        """Return the memory of a rank."""
        return Workspace(self.programs[rank], self.extent, self.shares, self.dtype)


@dataclass(frozen=True)
class Outcome:
    """What came of a trial.

    Attributes
    ----------
    times
        Nanoseconds of every iteration that was timed: until the last rank was done.
    wrong
        Elements that were not what they must be, of all ranks and iterations.
    first
        The first of them in words; empty if there are none.
    own
        The same for the transport's own collective; None where it has none.
    """

    times: tuple[int, ...]
    wrong: int
    first: str
    own: Outcome | None = None

    @property
    def median(self) -> Fraction:
        """The middle time, in seconds."""
        ordered = sorted(self.times)
        middle = len(ordered) // 2
        pair = ordered[middle - (len(ordered) % 2 == 0) : middle + 1]
        return Fraction(sum(pair), len(pair) * 10**9)

    @property
    def least(self) -> Fraction:
        """The shortest time, in seconds."""
        return Fraction(min(self.times), 10**9)

    @property
    def most(self) -> Fraction:
        """The longest time, in seconds."""
        return Fraction(max(self.times), 10**9)
