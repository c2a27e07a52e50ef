"""Moves of patches in words that somebody at a panel can act on."""

from __future__ import annotations

from collections.abc import Iterable

from topodesign.wiring.change.change import fibres
from topodesign.wiring.exports.netbox import interface_name
from topodesign.wiring.plan.plan import CrossConnect, End, Plan


def lane_in_words(plan: Plan, end: End) -> str:
    """Return the host and the interface of a lane, such as ``h3 p0/2``."""
    port = next(port for port in plan.inventory.host[end.host].ports if port.name == end.port)
    return f"{end.host} {interface_name(end.port, end.lane, port.lanes)}"


def place_in_words(end: End, side: str) -> str:
    """Return the panel and the port, with the side where only one is meant, such as ``panel1 12B``."""
    return f"{end.panel} {end.panel_port}{side if len(side) == 1 else ''}"


def moves_in_words(plan: Plan, removed: Iterable[CrossConnect], made: Iterable[CrossConnect]) -> list[str]:
    """Return what to do at the panels, a line a patch.

    Parameters
    ----------
    plan
        Whose hosts and panels are meant.
    removed, made
        Patches to take out and then to make; a new patch of the same name is the same cable.
    """
    old = {connect.cable: connect for connect in removed}
    lines = []
    moved = set()
    for connect in made:
        light = f"({lane_in_words(plan, connect.a)} {_ARROW[connect.mode]} {lane_in_words(plan, connect.b)})"
        moved.add(connect.cable)
        lines.append(f"{connect.cable}: {_action(old.get(connect.cable), connect)} {light}")
    out = [connect for connect in removed if connect.cable not in moved]
    return [f"{connect.cable}: take out of {_ends(connect)}" for connect in out] + lines


_ARROW = {"simplex": "->", "duplex": "<->"}


def _ends(connect: CrossConnect) -> str:
    one, two = fibres(connect)
    return f"{place_in_words(connect.a, one.side)} and {place_in_words(connect.b, two.side)}"


def _action(old: CrossConnect | None, new: CrossConnect) -> str:
    if old is None:
        return f"plug into {_ends(new)}"
    places = dict(zip(fibres(old), (old.a, old.b), strict=True))
    come = [(f, e) for f, e in zip(fibres(new), (new.a, new.b), strict=True) if f not in places]
    gone = [(f, e) for f, e in places.items() if f not in fibres(new)]
    if not come:
        return f"plug in again at {_ends(new)}"
    steps = [
        f"move from {place_in_words(e1, f1.side)} to {place_in_words(e2, f2.side)}"
        for (f1, e1), (f2, e2) in zip(gone, come, strict=True)
    ]
    return ", ".join(steps)
