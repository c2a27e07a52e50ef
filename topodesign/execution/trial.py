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
    """Programs for one size of the data."""

    programs: Mapping[int, Program]  # by rank; a process that is one rank needs its own alone
    ranks: int  # how many there are
    # extent, shares, dtype: as a :class:`~topodesign.execution.workspace.Workspace` takes them
    extent: Extent
    shares: tuple[Mapping[int, int], ...]
    dtype: str
    # warmup, iterations: how often it is run without being timed, and then with; every result is checked
    warmup: int
    iterations: int
    collective: Collective | None  # what it is, among ranks; None of several at the same time

    def workspace(self, rank: int) -> Workspace:
        """Return the memory of a rank."""
        return Workspace(self.programs[rank], self.extent, self.shares, self.dtype)


@dataclass(frozen=True)
class Outcome:
    """What came of a trial."""

    times: tuple[int, ...]  # nanoseconds of every iteration that was timed: until the last rank was done
    wrong: int  # elements that were not what they must be, of all ranks and iterations
    first: str  # the first of them in words; empty if there are none
    own: Outcome | None = None  # the same for the transport's own collective; None where it has none

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
