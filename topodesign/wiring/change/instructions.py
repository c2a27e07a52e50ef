"""Moves of patches in words that somebody at a panel can act on."""

from __future__ import annotations

from collections.abc import Iterable

from topodesign.wiring.inventory.inventory import interface_name
from topodesign.wiring.plan.cross_connects import CrossConnect, End, fibres
from topodesign.wiring.plan.plan import WiringPlan


def lane_name(plan: WiringPlan, end: End) -> str:
    """Return the host and the interface of a lane, such as ``h3 p0/2``."""
    port = next(port for port in plan.inventory.host[end.host].ports if port.name == end.port)
    return f"{end.host} {interface_name(end.port, end.lane, port.lanes)}"


def place_name(end: End, side: str) -> str:
    """Return the panel and the port, with the side where only one is meant, such as ``panel1 12B``."""
    return f"{end.panel} {end.panel_port}{side if len(side) == 1 else ''}"


def instructions(plan: WiringPlan, removed: Iterable[CrossConnect], made: Iterable[CrossConnect]) -> list[str]:
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
        light = f"({lane_name(plan, connect.a)} {_ARROW[connect.mode]} {lane_name(plan, connect.b)})"
        moved.add(connect.cable)
        lines.append(f"{connect.cable}: {_action(old.get(connect.cable), connect)} {light}")
    out = [connect for connect in removed if connect.cable not in moved]
    return [f"{connect.cable}: take out of {_ends(connect)}" for connect in out] + lines


_ARROW = {"simplex": "->", "duplex": "<->"}


def _ends(connect: CrossConnect) -> str:
    one, two = fibres(connect)
    return f"{place_name(connect.a, one.side)} and {place_name(connect.b, two.side)}"


def _action(old: CrossConnect | None, new: CrossConnect) -> str:
    if old is None:
        return f"plug into {_ends(new)}"
    places = dict(zip(fibres(old), (old.a, old.b), strict=True))
    come = [(f, e) for f, e in zip(fibres(new), (new.a, new.b), strict=True) if f not in places]
    gone = [(f, e) for f, e in places.items() if f not in fibres(new)]
    if not come:
        return f"plug in again at {_ends(new)}"
    steps = [
        f"move from {place_name(e1, f1.side)} to {place_name(e2, f2.side)}"
        for (f1, e1), (f2, e2) in zip(gone, come, strict=True)
    ]
    return ", ".join(steps)
