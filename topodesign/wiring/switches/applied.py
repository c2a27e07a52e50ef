"""What became of a plan in the switches: what there is now, what is not known, and what was done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from topodesign.base.declared import key
from topodesign.base.records import TextResult
from topodesign.wiring.switches.devices import Side
from topodesign.wiring.switches.steps import Difference, Step
from topodesign.wiring.switches.switch import Pair, listed_pairs, pair_name

Outcome = Literal["nothing to do", "dry run", "applied", "rolled back", "stopped"]

_WORDS: dict[Outcome, str] = {
    "nothing to do": "the switches make the circuits of the plan; nothing has to change",
    "dry run": "nothing was changed: this was a dry run",
    "applied": "applied: the switches make the circuits of the plan",
    "rolled back": "rolled back: what was changed is undone",
    "stopped": "stopped: the plan is not in the switches",
}


@dataclass(frozen=True)
class SwitchState:
    """A switch afterwards.

    ``name``, ``address``: which one. ``difference``: what the plan changes in it, as it was before. ``circuits``: what
    it was last read to have. ``unknown``: sides of ports of which that may not be true any more: commands that name
    them were sent since. ``gone``: why it does not answer; None if it does.
    """

    name: str
    address: str
    difference: Difference
    circuits: frozenset[Pair]
    unknown: frozenset[Side]
    gone: str | None

    KEYS = (
        key("switch=name", "Its name."),
        key("address", "Where it is."),
        key(
            "circuits",
            "What it was last read to have, such as 1A-2B.",
            kind=tuple[str, ...],
            value=lambda one: [*map(pair_name, sorted(one.circuits))],
        ),
        key(
            "unknown",
            "Sides of ports of which that may not be true any more, such as 1A.",
            kind=tuple[str, ...],
            value=lambda one: [f"{number}{side}" for side, number in sorted(one.unknown)],
        ),
        key("gone", "Why it does not answer any more; null if it does."),
    )


@dataclass(frozen=True, repr=False)
class Applied(TextResult):
    """What became of a plan in the switches."""

    outcome: Outcome  # how it ended; ``stopped`` if the plan is neither in the switches nor out of them again
    steps: tuple[Step, ...]  # what goes and comes in each stage
    done: int  # stages that are done and checked
    switches: tuple[SwitchState, ...]  # as they are now
    notes: tuple[str, ...]  # what went otherwise than hoped, in words
    journal: Path | None  # where it is written what was read and sent; None if nothing was to be sent

    KEYS = "outcome known done stages=steps switches notes journal"

    @property
    def ok(self) -> bool:
        """Whether the switches make the circuits of the plan."""
        return self.outcome in {"nothing to do", "applied"}

    @property
    def known(self) -> bool:
        """Whether the circuits of all switches are known."""
        return not any(state.unknown or state.gone for state in self.switches)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row a circuit that goes or comes, by stage."""
        return [
            {"stage": number, "switch": name, "do": word, "circuit": pair_name(pair)}
            for number, step in enumerate(self.steps, start=1)
            for word, part in (("remove", step.removed), ("add", step.made))
            for name, pairs in part.items()
            for pair in sorted(pairs)
        ]

    def heading(self) -> str:
        """Return how it ended."""
        return _WORDS[self.outcome]

    def __str__(self) -> str:
        """Return the differences, the stages, what happened and what there is."""
        lines = [line for state in self.switches for line in _difference(state)]
        for number, step in enumerate(self.steps, start=1):
            dark = f"; a host has at most {step.dark} dark link{'' if step.dark == 1 else 's'}" if step.dark else ""
            lines += ["", f"stage {number} of {len(self.steps)}{dark}"]
            lines += [
                f"  {name}: {word} {listed_pairs(pairs)}"
                for word, part in (("remove", step.removed), ("add", step.made))
                for name, pairs in part.items()
                if pairs
            ]
        lines += ["", *self.notes] if self.notes else []
        lines += ["", self.heading()]
        if self.outcome in {"rolled back", "stopped"}:
            lines += [line for state in self.switches for line in _now(state)]
        return "\n".join(lines)


def _difference(state: SwitchState) -> list[str]:
    found = state.difference
    goes, stays = len(found.stale | found.in_the_way), len(found.wanted & found.there)
    come = len(found.wanted) - stays
    lines = [f"switch {state.name} ({state.address}): {stays} circuits stay, {goes} go, {come} come"]
    if found.in_the_way:
        lines.append(f"  in the way, and not of the plan's ports: {listed_pairs(found.in_the_way)}")
    if found.left:
        lines.append(f"  left alone, as not of the plan's ports: {listed_pairs(found.left)}")
    return lines


def _now(state: SwitchState) -> list[str]:
    lines = [f"  {state.name}: {listed_pairs(state.circuits) or 'no circuits'}"]
    if state.gone is not None:
        lines[0] = f"{lines[0]} (last read; it does not answer any more: {state.gone})"
    if state.unknown:
        sides = ", ".join(f"{number}{side}" for side, number in sorted(state.unknown, key=lambda x: (x[1], x[0])))
        lines.append(f"  {state.name}: unknown, since commands were sent after that: {sides}")
    return lines
