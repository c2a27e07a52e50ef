"""What a name on a label stands for: the way of the light from host to host, through the cable, port or host asked for.

A way of a simplex plan goes in the direction of the light, one of a duplex plan there and back. Lanes without a
cross-connect end at the panel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from topodesign.base.arguments import as_text
from topodesign.base.declared import Declared, key
from topodesign.base.errors import ParameterError
from topodesign.base.records import Result
from topodesign.base.wording import nearest
from topodesign.wiring.exports.cables import Cable, breakout_of, cables
from topodesign.wiring.inventory.devices import PortLabels
from topodesign.wiring.inventory.inventory import format_metres
from topodesign.wiring.plan.cross_connects import End, Fibre, fibres
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.plan import WiringPlan


@dataclass(frozen=True, slots=True)
class Way:
    """From a lane of a host to another, or to a panel."""

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
    """The ways that go through something."""

    name: str  # what was asked for
    duplex: bool  # whether the light goes there and back
    ways: tuple[Way, ...]  # at least one, or the note says why there is none
    note: str = ""  # what is to be said of the thing itself: its place, or that it is blocked

    KEYS = "name note ways"
    ROWS = "ways"

    def heading(self) -> str:
        """Return what was asked for, and what it is."""
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
    """With NAME: where each leads."""

    traces: tuple[WiringTrace, ...]  # one for each NAME

    KEYS = "traces"


def trace_wiring(plan: WiringLike, name: str) -> WiringTrace:
    """Say where something of a plan leads: a cable, a port of a host or a panel, a label, or a host with all its ports.

    Parameters
    ----------
    plan
        A plan, or the path of its file.
    name
        A cable as ``C11``, ``F1`` or ``F1-2``; a host; a port as ``host01:eth0`` or ``host01:eth0/2``, of a panel as
        ``panel:4`` or one side of it as ``panel:4B``, where zeros before a number may lack; or what is printed on a
        label.

    Raises
    ------
    ParameterError
        If the plan has nothing of that name; the message names what is near.
    FileFormatError
        If the plan cannot be read, or the number of a port may be that of several.

    Examples
    --------
    >>> from topodesign import plain_inventory, wire
    >>> plan = wire("circulant(6,1,2)", plain_inventory(6, 4))
    >>> print(trace_wiring(plan, "h1:eth0"))
    h1 eth0 - F5 - P0:5 - C01 - P0:1 - F1 - h0 eth0 (3 m)
    """
    wiring, wanted = as_wiring(plan), as_text("name", name).strip()
    if "_ways" not in vars(wiring):  # which are those of all names
        vars(wiring)["_ways"] = _index(wiring)
    known: dict[str, tuple[Way, ...]] = vars(wiring)["_ways"]
    found = known.get(wanted)
    if found is None:
        panel, _, said = wanted.rpartition(":")
        label = said.rstrip("AB")
        wanted = f"{panel}:{PortLabels(wiring.inventory.panel_port).read(panel, label)}{said[len(label) :]}"
        found = known.get(wanted)
    if found is None:
        wanted = as_text("name", name).strip()
        near = nearest(wanted, known)
        advice = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ParameterError(f"the plan has no host, port or cable '{wanted[:60]}'{advice}")
    duplex = wiring.mode == "duplex"
    return WiringTrace(
        wanted, duplex, tuple(_seen_from(wanted, way, duplex=duplex) for way in found), _note(wiring, wanted)
    )


def _seen_from(name: str, way: Way, *, duplex: bool) -> Way:
    """Turn a way that goes there and back so that it begins where was asked for."""
    ends = way.receiver.partition(" ")[0], way.receiver.replace(" ", ":")
    if (
        duplex
        and name in {*ends, ends[1].rpartition("/")[0]}
        and name not in {way.sender, way.sender.partition(" ")[0]}
    ):
        return replace(way, sender=way.receiver, receiver=way.sender, through=way.through[::-1])
    return way


def _index(plan: WiringPlan) -> dict[str, tuple[Way, ...]]:
    """Return the ways through everything that has a name."""
    index: defaultdict[str, dict[Way, None]] = defaultdict(dict)
    for name in (*plan.inventory.host, *(f"{panel}:{port}" for panel, port in plan.inventory.panel_port)):
        index[name] = {}
    for way, names in (*_patched(plan), *_open(plan)):
        for name in names:
            index[name][way] = None
    return {name: tuple(ways) for name, ways in index.items()}


def _patched(plan: WiringPlan) -> Iterator[tuple[Way, list[str]]]:
    """Yield the way of each cross-connect, with all names of what is on it."""
    lead, cross = _cables(plan)
    for connect in plan.connects:
        begin, end = fibres(connect)
        here, there, patch = lead[begin[:2]], lead[end[:2]], cross[connect.cable]
        through = (*_led(here, *begin), patch.name, *reversed(_led(there, *end)))
        way = Way(plan.lane_name(connect.a), through, plan.lane_name(connect.b), _metres(*here, patch, *there))
        yield way, [*_names(*here, patch, *there), *_ends(connect.a, begin.side), *_ends(connect.b, end.side)]


def _open(plan: WiringPlan) -> Iterator[tuple[Way, list[str]]]:
    """Yield the ways that end at a panel, with all names of what is on them."""
    lead, _ = _cables(plan)
    patched = {fibre for connect in plan.connects for fibre in fibres(connect)}
    for place, end in plan.end.items():
        for side in ("A", "B") if plan.mode == "simplex" else ("AB",):
            if (*place, side) in patched:
                continue
            note = {"A": "free to send", "B": "free to receive", "AB": "free"}[side]
            note = note if end.host in plan.node else "free: the host is no node"
            some = lead[place]
            way = Way(plan.lane_name(end), _led(some, *place, side), "", _metres(*some), note)
            yield way, [*_names(*some), *_ends(end, side)]


def _cables(plan: WiringPlan) -> tuple[dict[tuple[str, str], tuple[Cable, ...]], dict[str, Cable]]:
    """Return the cables from a host to a panel port by that port, and cross-connects by name."""
    known = list(cables(plan))
    fixed: dict[tuple[str, str], tuple[Cable, ...]] = {
        (cable.b.device, cable.b.port): (cable,) for cable in known if cable.kind == "fixed"
    }
    for cable in known:
        if cable.kind == "trunk":
            fixed[cable.b.device, cable.b.port] = (*fixed[cable.a.device, cable.a.port], cable)
    return fixed, {cable.name: cable for cable in known if cable.kind in {"patch", "circuit"}}


def _led(some: tuple[Cable, ...], panel: str, label: str, side: str) -> tuple[str, ...]:
    """Return the names of cables from a host to a panel port, and of the ports after each."""
    first = [name for cable in some[:-1] for name in (cable.name, Fibre(cable.b.device, cable.b.port, side).name)]
    return (*first, some[-1].name, Fibre(panel, label, side).name)


def _ends(end: End, side: str) -> Iterator[str]:
    """Yield the names of a host, its port and lane, and the panel port."""
    yield end.host
    yield f"{end.host}:{end.port}"
    yield f"{end.host}:{end.port}/{end.lane}"
    yield f"{end.panel}:{end.panel_port}"
    for letter in side:
        yield f"{end.panel}:{end.panel_port}{letter}"


def _names(*some: Cable) -> Iterator[str]:
    """Yield the names of cables, of breakout cables of which they are legs, and what their labels say."""
    for cable in some:
        yield from (cable.name, cable.a.label, cable.b.label)
        breakout = breakout_of(cable)
        if breakout is not None:  # what its plug at the host says
            yield from (breakout, f"{cable.a.where}-{cable.a.port}")


def _metres(*some: Cable) -> str:
    lengths = [cable.length for cable in some if cable.length is not None]
    return format_metres(sum(lengths[1:], lengths[0])) if lengths else ""


def _note(plan: WiringPlan, name: str) -> str:
    """Return where a host stands and which node it is, or what keeps a panel port from being used."""
    inventory = plan.inventory
    if name in inventory.host:
        place = inventory.place(name)
        node = f"node {plan.node[name]}" if name in plan.node else "no node"
        return f"{node}, rack {place.rack}, unit {place.unit}"
    panel, _, label = name.rpartition(":")
    port = inventory.panel_port.get((panel, label)) or inventory.panel_port.get((panel, label[:-1]))
    if port is None:
        return ""
    return "blocked" if port.blocked else "" if (panel, port.label) in plan.end else "not cabled"
