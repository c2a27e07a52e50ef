"""Moves of patches in words that somebody at a panel can act on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from topodesign.wiring.plan.cross_connects import CrossConnect, End, fibres
from topodesign.wiring.plan.plan import WiringPlan


def place_name(end: End, side: str) -> str:
    """Return the panel and the port, with the side where only one is meant, such as ``panel1 12B``."""
    return f"{end.panel} {end.panel_port}{side if len(side) == 1 else ''}"


def instructions(plan: WiringPlan, removed: Iterable[CrossConnect], made: Iterable[CrossConnect]) -> list[str]:
    """Return what to do at the panels, a line a patch.

    A new patch with the name of one that is taken out is the same cable.
    """
    return [job.words for job in jobs(plan, removed, made)]


class Job(NamedTuple):
    """What to do with one patch.

    ``words``: in a line. ``panels``: where something is plugged or unplugged. ``carries``: from which panel to which
    other each end moves that is moved.
    """

    words: str
    panels: tuple[str, ...]
    carries: tuple[tuple[str, str], ...]


def jobs(plan: WiringPlan, removed: Iterable[CrossConnect], made: Iterable[CrossConnect]) -> list[Job]:
    """Return what to do at the panels, patch by patch: those that go, then those that move or come."""
    made = list(made)
    old = {connect.cable: connect for connect in removed}
    moved = {connect.cable for connect in made}
    found = [
        Job(
            f"{connect.cable}: take out of {_ends(connect)}",
            _panels([connect.a, connect.b]),
            (),
        )
        for connect in old.values()
        if connect.cable not in moved
    ]
    for connect in made:
        light = f"({plan.lane_name(connect.a)} {_ARROW[connect.mode]} {plan.lane_name(connect.b)})"
        before = old.get(connect.cable)
        moves = [] if before is None else _moves(before, connect)
        ends = [end for move in moves for end, _ in move] if moves else [connect.a, connect.b]
        carries = tuple((a.panel, b.panel) for (a, _), (b, _) in moves if a.panel != b.panel)
        found.append(Job(f"{connect.cable}: {_action(before, connect)} {light}", _panels(ends), carries))
    return found


def _panels(ends: Iterable[End]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(end.panel for end in ends))


_ARROW = {"simplex": "->", "duplex": "<->"}


def _ends(connect: CrossConnect) -> str:
    one, two = fibres(connect)
    return f"{place_name(connect.a, one.side)} and {place_name(connect.b, two.side)}"


def _action(old: CrossConnect | None, new: CrossConnect) -> str:
    if old is None:
        return f"plug into {_ends(new)}"
    moves = _moves(old, new)
    if not moves:
        return f"plug in again at {_ends(new)}"
    return ", ".join(f"move from {place_name(*gone)} to {place_name(*come)}" for gone, come in moves)


def _moves(old: CrossConnect, new: CrossConnect) -> list[tuple[tuple[End, str], tuple[End, str]]]:
    """Return from where to where the ends of a patch move, with the sides."""
    places = dict(zip(fibres(old), (old.a, old.b), strict=True))
    come = [(end, fibre.side) for fibre, end in zip(fibres(new), (new.a, new.b), strict=True) if fibre not in places]
    gone = [(end, fibre.side) for fibre, end in places.items() if fibre not in fibres(new)]
    return list(zip(gone, come, strict=True))
