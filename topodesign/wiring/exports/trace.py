"""Optical paths through a named cable, port, host or label.

A way of a simplex plan goes in the direction of the light, one of a duplex plan there and back. Lanes without a
cross-connect end at the panel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from topodesign.base.arguments import as_text
from topodesign.base.declared import Declared, key
from topodesign.base.errors import ParameterError
from topodesign.base.records import Result
from topodesign.base.wording import nearest
from topodesign.wiring.inventory.devices import PortLabels
from topodesign.wiring.inventory.inventory import format_metres
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.net import OpenPath, Path
from topodesign.wiring.plan.plan import WiringPlan


@dataclass(frozen=True, slots=True)
class Way:
    """Path from a host lane to another, or to a panel."""

    sender: str  # where the light comes from, as ``HOST PORT/LANE``
    through: tuple[str, ...]  # names of cables and panel ports in between, in order
    receiver: str  # where it goes to; null in JSON, and else empty, where nothing is patched
    metres: str  # metres of cable on the way, as far as they are known; else null in JSON
    note: str = ""  # what else there is to say: that it is free

    KEYS = "from=sender through to=or_null(receiver) cable_m=or_null(metres) note"
    ROW = (
        "from=sender",
        key("through", kind=str, value=lambda way: " ".join(way.through)),
        "to=or_null(receiver) cable_m=or_null(metres) note",
    )


@dataclass(frozen=True, repr=False)
class WiringTrace(Result):
    """Paths through a named cable, port or host."""

    name: str  # what was asked for
    duplex: bool  # whether the light goes there and back
    ways: tuple[Way, ...]  # at least one, or the note says why there is none
    note: str = ""  # on the thing itself: its place, or that it is blocked

    KEYS = "name note ways"
    ROWS = "ways"

    def heading(self) -> str:
        """Return the traced name and its note."""
        return f"{self.name}: {self.note}" if self.note else self.name

    def __str__(self) -> str:
        arrow = " - " if self.duplex else " > "
        lines = []
        for way in self.ways:
            line = arrow.join(filter(None, (way.sender, *way.through, way.receiver)))
            tail = ", ".join(filter(None, (f"{way.metres} m" if way.metres else "", way.note)))
            lines.append(f"{line} ({tail})" if tail else line)
        return "\n".join(lines or [self.heading()])


@dataclass(frozen=True, slots=True)
class Traces(Declared):
    """Traces of the given names."""

    traces: tuple[WiringTrace, ...]  # one for each NAME

    KEYS = "traces"


def show_wiring(plan: WiringLike, name: str) -> WiringTrace:
    """Trace the paths through a cable, port, label or host.

    Ports are those of hosts and panels. A host gives the paths of all its ports.

    Parameters
    ----------
    plan
        A plan, or the path of its file.
    name
        A cable as ``C11``, ``F1`` or ``F1-2``; a host; a port as ``host01:eth0`` or ``host01:eth0/2``, of a panel as
        ``panel:4`` or one side of it as ``panel:4B``; or what is printed on a label. Zeros before a number may lack.

    Raises
    ------
    ParameterError
        If the plan has nothing of that name; the message names what is near.
    FileFormatError
        If the plan cannot be read, or the number of a port may be that of several.

    Examples
    --------
    >>> from topodesign import plain_inventory, plan_wiring
    >>> plan = plan_wiring("circulant(6,1,2)", plain_inventory(6, 4))
    >>> print(show_wiring(plan, "h1:eth0"))
    h1 eth0 - F5 - P0:5 - C01 - P0:1 - F1 - h0 eth0 (3 m)
    """
    wiring, wanted = as_wiring(plan), as_text("name", name).strip()
    known = wiring.net.index
    found = known.get(wanted)
    if found is None:
        panel, _, said = wanted.rpartition(":")
        label = said.rstrip("AB")
        wanted = f"{panel}:{PortLabels(wiring.inventory.panel_port).read(panel, label)}{said[len(label) :]}"
        found = known.get(wanted)
    if found is None:
        wanted = as_text("name", name).strip()
        cable = re.fullmatch(r"([CF])0*([1-9]\d*)", wanted)  # zeros before the number of a cable may lack, too
        same = [] if cable is None else [one for one in known if re.fullmatch(f"{cable[1]}0*{cable[2]}", one)]
        wanted, found = (same[0], known[same[0]]) if len(same) == 1 else (wanted, None)
    if found is None:
        near = nearest(wanted, known)
        advice = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ParameterError(f"the plan has no host, port or cable '{wanted[:60]}'{advice}")
    return WiringTrace(
        wanted,
        wiring.mode == "duplex",
        tuple(_way(wiring, path, wanted) for path in found),
        "" if found and wanted not in wiring.inventory.host else _note(wiring, wanted),
    )


def _way(plan: WiringPlan, path: Path | OpenPath, name: str) -> Way:
    """Return a path by names; duplex paths start at ``name``."""
    lengths = map(plan.net.length, path.wires)
    known = [metres for metres in lengths if metres is not None]
    metres = format_metres(sum(known, Fraction(0)) if known else None)
    sender = plan.lane_name(path.sender.end)
    if isinstance(path, Path):
        receiver, through = plan.lane_name(path.receiver.end), path.through
        if plan.mode == "duplex" and name in path.receiver.lane_names and name not in path.sender.lane_names:
            return Way(receiver, through[::-1], sender, metres)
        return Way(sender, through, receiver, metres)
    note = {"A": "free to send", "B": "free to receive", "AB": "free"}[path.side]
    note = note if path.sender.end.host in plan.node else "free: the host is not a node"
    return Way(sender, path.through, "", metres, note)


def _note(plan: WiringPlan, name: str) -> str:
    """Return a host's node and place, or a panel port's status."""
    inventory = plan.inventory
    if name in inventory.host:
        place = inventory.place(name)
        node = f"node {plan.node[name]}" if name in plan.node else "no node"
        return f"{node}, rack {place.rack}, unit {place.unit}"
    panel, _, label = name.rpartition(":")
    port = inventory.panel_port.get((panel, label)) or inventory.panel_port.get((panel, label[:-1]))
    if port is None:
        return ""
    return "blocked" if port.blocked else "not cabled"
