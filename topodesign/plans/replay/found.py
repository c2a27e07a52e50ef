"""What a replay finds, whatever moves in the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.declared import Declared, key

SHOWN = 3  # examples given of each kind of problem
WASTED = (key("redundant", "Sends of what is there already."), key("refilled", "Sends that overwrite the same."))
"""Keys of what :func:`wasteful` says."""


@dataclass(frozen=True)
class Found:
    """What the replay of a plan found."""

    problems: tuple[str, ...]  # what is wrong with what moves
    # what it costs, recomputed, by the names of a plan's claim; empty where nothing can be said
    figures: Mapping[str, Fraction] = field(default_factory=dict)
    details: Declared | None = None  # what documents say of it beside problems; None where nothing can be said
    text: str = ""  # the same for people, without the problems: a line or several
    notes: tuple[str, ...] = ()  # what is right but wasteful

    def said(self, what: object) -> str:
        """Return what was checked, whether it is right and what was found, and problems and notes, one a line."""
        head = f"{what}: {'WRONG' if self.problems else 'ok'}{', ' if self.text else ''}{self.text}"
        return "\n".join([head, *(f"  {problem}" for problem in self.problems), *(f"  note: {n}" for n in self.notes)])


def wasteful(redundant: int, refilled: int) -> tuple[str, ...]:
    """Say what is right but wasteful: so many units delivered in vain, and so many added to a new sum."""
    notes = []
    if redundant:
        notes.append(f"{redundant} units are delivered to nodes that have them already")
    if refilled:
        notes.append(f"{refilled} units are added at nodes that have sent their partial sum before")
    return tuple(notes)


def listed(examples: list[str], count: int, kind: str) -> list[str]:
    """Return the examples, and a line with the number of the rest."""
    return examples + ([f"... and {count - len(examples)} more {kind}"] if count > len(examples) else [])


def marked(bad: NDArray[np.bool_], words: Callable[[int], str], kind: str) -> list[str]:
    """Return the first bad entries in words, and a line with the number of the rest."""
    rows = np.flatnonzero(bad)
    return listed([words(row) for row in rows[:SHOWN].tolist()], len(rows), kind)
