"""Reports common to all checkers: findings and their words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Literal, TypeVar

from topodesign.base.declared import Declared
from topodesign.base.errors import ParameterError

Verdict = Literal[
    "ok", "illegal", "mismatch", "out-of-bounds", "deadlock", "race", "uninitialised read", "wrong result"
]

MAX_FINDINGS = 10  # findings of one kind that are kept

T = TypeVar("T")


def first(items: Iterable[T]) -> list[T]:
    """Return the first MAX_FINDINGS of what is found."""
    return list(islice(items, MAX_FINDINGS))


def place(rank: int | None, threadblock: int | None = None, step: int | None = None) -> str:
    """Return ``rank 0, threadblock 1, step 2: `` as far as known."""
    words = (("rank", rank), ("threadblock", threadblock), ("step", step))
    text = ", ".join(f"{word} {number}" for word, number in words if number is not None)
    return f"{text}: " if text else ""


@dataclass(frozen=True, slots=True)
class Finding(Declared):
    """A mistake of a program."""

    verdict: Verdict  # which kind of mistake
    message: str  # what is wrong
    rank: int | None = None  # where; null if nowhere in particular
    threadblock: int | None = None  # where; null as above
    step: int | None = None  # where; null as above

    KEYS = "verdict message rank threadblock step"
    SHARED = "finding"

    def __str__(self) -> str:
        return f"{place(self.rank, self.threadblock, self.step)}{self.message}"


@dataclass(frozen=True)
class Report(Declared):
    """What a checker found."""

    verdict: Verdict  # ``ok``, or the kind of the first finding
    findings: tuple[Finding, ...] = ()  # what is wrong, a few of a kind
    warnings: tuple[str, ...] = ()  # what works but is likely not meant, or could not be checked
    program: str = ""  # a line about the program; empty if it could not be read

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.verdict == "ok"

    def head(self) -> str:
        """Return the verdict, and what it is about."""
        return f"{self.verdict}: {self.program}" if self.program else self.verdict

    def details(self) -> Iterator[str]:
        """Yield what there is to say between findings and warnings."""
        yield from ()

    def __str__(self) -> str:
        warnings = (f"warning: {warning}" for warning in self.warnings)
        return "\n  ".join([self.head(), *map(str, self.findings), *self.details(), *warnings])


@dataclass(frozen=True)
class ProgramReport(Report):
    """What a checker of programs for a runtime found.

    * ``modes``: which of ``in place`` and ``out of place`` were run; what went wrong in a run did so in the last one.
    * ``usage``: what the program takes, the largest number over ranks, threadblocks or links; None where it is illegal.
    """

    runtime: str = ""  # whose rules were held
    modes: tuple[str, ...] = ()
    root: int | None = None  # of a collective that has one, which no file says: found out, or given; else None
    usage: Any = None
    calls: Any = None  # what it can be used for; None where it is illegal

    def agreement(self) -> str:
        """Return what was found right."""
        raise NotImplementedError

    def details(self) -> Iterator[str]:
        """Yield what was found right, and what the program takes."""
        if self.ok:
            yield self.agreement()
        if self.root is not None:
            yield f"root {self.root}"
        if self.usage is not None:
            yield from (f"{name.replace('_', ' ')}: {number}" for name, number in asdict(self.usage).items())
        if self.calls is not None:
            yield str(self.calls)


def require_root(root: int | None, ranks: int) -> None:
    """Raise an error for a root that is none of the ranks."""
    if root is not None and not 0 <= root < ranks:
        raise ParameterError(f"root must be from 0 to {ranks - 1}, not {root}")
