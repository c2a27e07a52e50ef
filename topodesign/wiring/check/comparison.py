"""Comparison of a planned net with what is observed of it, receiver by receiver."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from topodesign.base.declared import Declared, key
from topodesign.base.wording import count_noun
from topodesign.wiring.change.patches import place_name
from topodesign.wiring.check.evidence import Observed, Sighting
from topodesign.wiring.check.light import DARK
from topodesign.wiring.check.unknown import HostLinks, Unknown
from topodesign.wiring.inventory.devices import Lane
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.plan import WiringPlan

Fault = Literal[
    "swapped",
    "wrong port",
    "missing",
    "dark",
    "silent",
    "unexpected",
    "cabling",
    "circuit",
    "unclear",
    "name",
    "unsplit",
    "link",
    "outsider",
    "unseen",
    "unbuilt",
    "cable",
]


@dataclass(frozen=True)
class Finding(Declared):
    """Finding of a wiring check.

    * ``fault``: ``swapped``: patches have each other's ends. ``wrong port``: a receiver hears another transmitter than
      planned. ``missing``: a receiver hears nothing, and its transmitter is heard elsewhere. ``dark``: a host or switch
      reports no frames or no light, and nothing shows that the cable is in. ``silent``: the cable is in, by the light
      that arrives or by what the other end hears, but no frames are reported. ``unexpected``: a receiver hears
      something and should hear nothing. ``cabling``: fixed cables are exchanged, or no patch can do this, and it is not
      known which fixed cables are not as recorded. ``circuit``: a switch joins other ports than planned. ``unclear``:
      several neighbours are heard, or one at several places, as if a hub were between. ``name``: the inventory lacks
      the names of neighbours or of interfaces. ``unsplit``: a port of several lanes is reported as one interface.
      ``link``: whatever its ports are called, a host hears other hosts than planned. ``outsider``: there are reports
      of hosts that the inventory lacks. ``unseen``: hosts have not reported what they hear. ``unbuilt``: NetBox or an
      export lacks cables of a link. ``cable``: it has one that no link can use, or the link test of a host found
      something that is not as written.
    * ``cables``: the planned patches that it concerns, or the fixed cables and trunks, and the patches behind them.
    """

    fault: Fault
    cables: tuple[str, ...]
    words: str  # what is wrong, and where to look
    seen: tuple[str, ...] = ()  # what says so, if that is not in the words yet

    KEYS = "fault cables words seen"
    ROW = (
        "fault",
        key("cables", kind=str, value=lambda one: " ".join(one.cables)),
        "what=words",
        key("seen", kind=str, value=lambda one: "; ".join(one.seen)),
    )


@dataclass(frozen=True, slots=True)
class Exchange:
    """Exchange of fixed cables between their places."""

    cables: tuple[str, ...]  # their names: legs of breakouts, and the trunks behind them where each has one
    lanes: tuple[Lane, ...]  # their lanes: each is where the next was planned, the last where the first was
    words: str  # what is where


class FixedNames:
    """Names of fixed cables of lanes, and of the trunks behind them."""

    def __init__(self, plan: WiringPlan) -> None:
        self._net = plan.net
        self._trunk = {one.end.source: one.trunk.name for one in plan.net.leads.values() if one.trunk is not None}

    def fixed(self, lanes: Sequence[Lane]) -> tuple[str, ...]:
        """Return the names of legs and cables of lanes, if any."""
        return tuple(filter(None, map(self._net.cable_of, lanes)))

    def trunks(self, lanes: Sequence[Lane]) -> tuple[str, ...]:
        """Return the trunks behind lanes if every lane has one."""
        found = tuple(self._trunk[lane] for lane in lanes if lane in self._trunk)
        return found if len(found) == len(lanes) else ()

    def all(self, lanes: Sequence[Lane]) -> tuple[str, ...]:
        """Return the names of fixed cables and trunks."""
        return (*self.fixed(lanes), *self.trunks(lanes))

    def likely(self, lanes: Sequence[Lane]) -> str | None:
        """Return the likely exchange: legs of one breakout, or trunks."""
        trunks = self.trunks(lanes)
        if is_one_breakout(lanes):
            return f"the legs {_and(self.fixed(lanes))} of {' '.join(lanes[0][:2])}"
        return f"the trunks {_and(trunks)}" if trunks else None

    def words(self, lanes: Sequence[Lane]) -> str:
        """Return the exchange and its equivalents in words."""
        behind, cables_ = self.trunks(lanes), f"the cables {_and(self.fixed(lanes))}"
        if is_one_breakout(lanes):
            return f"{self.likely(lanes)}{f' (or the trunks {_and(behind)})' if behind else ''}"
        return f"{self.likely(lanes)} (or {cables_})" if behind else cables_


class Comparison:
    """Planned net beside what is observed of it.

    Attributes
    ----------
    plan
        The patches at the panel ports of the plan, with the lanes that end there, as far as known; its topology is that
        wanted.
    observed
        What was seen, as far as it rests on the fixed cabling told anew.
    exchanges
        Fixed cables that are not where they were planned.
    doubts
        Exchanges of which one or the other must have been made; the plan is without them.
    """

    def __init__(
        self,
        plan: WiringPlan,
        observed: Observed,
        exchanges: tuple[Exchange, ...] = (),
        doubts: tuple[tuple[Exchange, ...], ...] = (),
    ) -> None:
        self.plan, self.observed, self.exchanges, self.doubts = plan, observed, exchanges, doubts
        self._name = plan.lane_name
        self.end = {end.source: end for end in plan.fixed}
        self.wanted = plan.net.hears
        self.receiver = {sender: receiver for sender, (receiver, _) in plan.net.sends.items()}
        self.heard_by = {sender: receiver for receiver, sender in observed.heard.items()}
        self.sides = ("A", "B") if plan.mode == "simplex" else ("AB", "AB")

    @cached_property
    def unknown(self) -> Unknown:
        """Receivers with unknown senders."""
        return Unknown(self.observed, self.wanted, self.heard_by)

    @cached_property
    def astray(self) -> dict[Lane, Lane]:
        """Receivers of light that no patch can bring, and its senders."""
        nodes = self.plan.node.keys()
        heard = self.observed.heard.items()
        return {r: s for r, s in heard if {r.host, s.host} <= nodes and not self.carries(s, r)}

    def patchable(self, sender: Lane, receiver: Lane) -> bool:
        """Return whether a patch can connect two lanes of nodes.

        Both lanes must end in one field of panels, at opposite sides if ports have sides.
        """
        a, b = self.end.get(sender), self.end.get(receiver)
        if a is None or b is None or not {sender.host, receiver.host} <= self.plan.node.keys():
            return False
        room = self.plan.inventory
        sides = [room.panel_port[one.place].side for one in (a, b)]
        return room.panel[a.panel].field == room.panel[b.panel].field and not sides[0] == sides[1] != ""

    def carries(self, sender: Lane, receiver: Lane) -> bool:
        """Return whether light can pass from a sender to a receiver.

        The lanes must be patchable, and no reported circuit may contradict it.
        """
        circuits, end = self.observed.circuits, self.end.get(receiver)
        if circuits is not None and end is not None and end.panel in self.plan.inventory.switches:
            return circuits.get(receiver) == sender and self.patchable(sender, receiver)
        return self.patchable(sender, receiver)

    def findings(self) -> Iterator[Finding]:
        """Yield the findings: non-patch faults, swapped patches, then others."""
        if self.observed.unseen:
            hosts = " ".join(sorted(self.observed.unseen))
            words = f"no report of what these hosts hear, which counts as planned: {hosts}"
            yield Finding("unseen", (), words, self.observed.unread)
        if self.observed.outsiders:
            names = " ".join(self.observed.outsiders)
            yield Finding("outsider", (), f"there are reports of hosts that the inventory lacks: {names}")
        yield from self._unnamed()
        for receiver, words in self.observed.unclear.items():
            advice = "is there a hub or a switch between, or an entry that has yet to age out? it counts as planned"
            yield Finding("unclear", self._cables(receiver), f"{self._at(receiver, 1)} {words}: {advice}")
        for words in self.observed.faults:
            yield Finding("cable", (), words)
        yield from self._once(list(self._circuits()))
        yield from self._exchanged()
        doubtful = {lane for doubt in self.doubts for one in doubt for lane in one.lanes}
        yield from (
            self._impossible(receiver, sender)
            for receiver, sender in self.astray.items()
            if not doubtful & {receiver, sender}
        )
        wrong = {
            receiver: sender
            for receiver, sender in self.observed.heard.items()
            if self.wanted.get(receiver, (None, ""))[0] != sender
            and receiver.host in self.plan.node
            and receiver not in self.astray
        }
        rings = list(find_cycles({receiver: self.receiver.get(sender) for receiver, sender in wrong.items()}))
        apart: dict[frozenset[str], list[Lane]] = {}
        heard = self.observed.heard
        # duplex patches tell in both directions, so of two rings one: that with fewer ends at which patches begin
        for ring in sorted(rings, key=lambda ring: sum(receiver < heard[receiver] for receiver in ring)):
            apart.setdefault(frozenset(self.wanted[receiver][1] for receiver in ring), ring)
        for ring in apart.values():
            yield self._swapped(ring)
        ringed = {receiver for ring in rings for receiver in ring}
        yield from self._once(
            [self._misled(r, sender, self._name(sender)) for r, sender in wrong.items() if r not in ringed]
        )
        for receiver, sighting in self.unknown.other.items():
            yield self._misled(receiver, None, sighting.there)
        yield from map(self._link, self.unknown.links)
        told = self.observed.heard.keys() | self.observed.unclear.keys()
        silent = [receiver for receiver in self.wanted if receiver not in told and receiver not in self.unknown]
        yield from self._once([self._silent(receiver) for receiver in silent])

    def built(self) -> tuple[CrossConnect, ...]:
        """Return the installed patches, named like planned ones if possible."""
        heard = {r: s for r, s in self.observed.heard.items() if self.carries(s, r)}
        taken = set(heard.values())
        for receiver, (sender, _) in self.wanted.items():
            supposed = receiver in self.unknown.as_planned or self._is_lit(receiver)
            if supposed and receiver not in heard and sender not in taken:
                heard[receiver] = sender
        pairs = [(sender, receiver) for receiver, sender in heard.items()]
        if self.plan.mode == "duplex":
            pairs = [pair for pair in pairs if pair[0] < pair[1] and heard.get(pair[0]) == pair[1]]
        begins = dict(self.wanted.values())
        names = {connect.cable for connect in self.plan.connects}
        used: set[str] = set()
        connects = []
        for pair in sorted(pairs):
            second = self.plan.inventory.panel_port[self.end[pair[0]].place].side == "2"  # patches begin at side 1
            sender, receiver = pair[::-1] if second else pair
            ends = (sender, receiver) if self.plan.mode == "duplex" else (sender,)
            name = next((begins[lane] for lane in ends if lane in begins and begins[lane] not in used), "")
            name = name or next(f"U{i}" for i in range(1, len(pairs) + 2) if f"U{i}" not in names | used)
            used.add(name)
            connects.append(CrossConnect(name, self.plan.mode, self.end[sender], self.end[receiver]))
        return tuple(connects)

    def _once(self, findings: list[Finding]) -> Iterator[Finding]:
        """Yield findings, only one of two per duplex patch."""
        told = set()
        for finding in findings:
            key = finding.fault, finding.cables
            if self.plan.mode == "simplex" or not finding.cables or key not in told:
                yield finding
            told.add(key)

    def _swapped(self, ring: list[Lane]) -> Finding:
        cables = tuple(self.wanted[receiver][1] for receiver in ring)
        places = " and ".join(place_name(self.end[receiver], self.sides[1]) for receiver in ring)
        act = "exchange the two" if len(ring) == 2 else "each end belongs where the one before it in this list is now"
        seen = tuple(self._hears(receiver, self.observed.heard[receiver]) for receiver in ring)
        return Finding("swapped", cables, f"the ends in {places} are swapped ({act}){self._or_else(ring)}", seen)

    def _or_else(self, ring: list[Lane]) -> str:
        """Return the fixed cables whose exchange would look the same."""
        switch = self.end[ring[0]].panel in self.plan.inventory.switches
        if self.plan.mode == "simplex" or len(ring) > 2 or (switch and self.observed.circuits is not None):
            return ""
        sides = ring, [self.wanted[receiver][0] for receiver in ring]
        options = " or ".join(filter(None, map(self.names.likely, sides)))
        ask = "; its circuits tell which (--dumps)" if switch else ""
        return f", or else {options} are{ask}" if options else ""

    def _misled(self, receiver: Lane, sender: Lane | None, there: str) -> Finding:
        """Return a finding that a receiver hears an unplanned sender."""
        if receiver not in self.wanted:
            owner = None if sender is None else self.receiver.get(sender)
            belongs = "" if owner is None else f"; the other end of that belongs at {self._at(owner, 1)}"
            words = f"{self._at(receiver, 1)} should hear nothing and hears {there}{belongs}"
            return Finding("unexpected", self._cables(owner), words)
        wanted = self.wanted[receiver][0]
        note = ": the right host, another lane" if sender is not None and sender.host == wanted.host else ""
        place = place_name(self.end[receiver], self.sides[1])
        words = f"wrong fibre in {place}: {self._name(receiver)} hears {there} instead of {self._name(wanted)}{note}"
        return Finding("wrong port", self._cables(receiver), words)

    def _circuits(self) -> Iterator[Finding]:
        """Yield reported switch circuits that differ from the plan."""
        if self.observed.circuits is None:
            return
        for receiver, (sender, cable) in self.wanted.items():
            end = self.end[receiver]
            there = self.observed.circuits.get(receiver)
            if end.panel not in self.plan.inventory.switches or there == sender:
                continue
            instead = "nothing" if there is None else place_name(self.end[there], self.sides[0])
            planned = place_name(self.end[sender], self.sides[0])
            words = f"the switch joins {instead} to {place_name(end, self.sides[1])}; planned is {planned}"
            yield Finding("circuit", (cable,), words)

    def _is_lit(self, receiver: Lane) -> bool:
        """Return whether evidence shows that a silent receiver's cable is in.

        Arriving light shows it unless the other fibre of a duplex cable is dark; so does a neighbour at the other end.
        """
        sender, light = self.wanted[receiver][0], self.observed.light
        if self.plan.mode == "simplex":
            return light.get(receiver, -math.inf) > DARK
        if self.observed.heard.get(sender) == receiver or self.unknown.as_planned.get(sender) == "name":
            return True
        powers = [light[lane] for lane in (receiver, sender) if lane in light]
        return bool(powers) and min(powers) > DARK and self.observed.heard.get(sender, receiver) == receiver

    def _light(self, receiver: Lane, sender: Lane) -> str:
        """Return the dark fibres of a link in words, if reported."""
        light = self.observed.light
        lanes = (receiver, sender) if self.plan.mode == "duplex" else (receiver,)
        lit = [lane for lane in lanes if light.get(lane, -math.inf) > DARK]
        dark = [lane for lane in lanes if lane in light and lane not in lit]
        if not lit and not dark:
            return ""
        power = ", ".join(f"{light[lane]:g} dBm at {self._name(lane)}" for lane in (*dark, *lit))
        if not dark:
            return f"; light arrives ({power})"
        fibre = "the fibre" if lit else "each fibre" if len(dark) > 1 else "that fibre"
        to = " and ".join(map(self._name, dark))
        return f"; {fibre} to {to} is dark{', the other is lit' if lit else ''} ({power})"

    def _silent(self, receiver: Lane) -> Finding:
        sender, cable = self.wanted[receiver]
        elsewhere = self.heard_by.get(sender)
        if elsewhere is not None:
            words = f"{self._at(receiver, 1)} hears nothing; its light from {self._name(sender)} ends at "
            return Finding("missing", (cable,), words + self._at(elsewhere, 1))
        if receiver in self.observed.unbuilt:
            words = f"{self._name(sender)} is not joined to {self._name(receiver)}: {self.observed.unbuilt[receiver]}"
            return Finding("unbuilt", (cable,), words)
        light = self._light(receiver, sender)
        if self._is_lit(receiver):
            other = "" if light else f"; the other end, {self._name(sender)}, hears something over it"
            look = f"look at the ports, and at what {sender.host} says there by LLDP"
            words = f"{self._at(receiver, 1)} tells of no neighbour, and {cable} is in{light}{other}: {look}"
            return Finding("silent", (cable,), words)
        words = (
            f"no light from {self._at(sender, 0)} to {self._at(receiver, 1)}: is {cable} plugged in, clean and whole?"
        )
        return Finding("dark", (cable,), words + light)

    def _unnamed(self) -> Iterator[Finding]:
        """Yield findings about unknown names, and how to map them."""
        seen = self.observed
        interfaces = [one for one in seen.names if one.host]
        hidden = {lane for one in seen.sightings if not one.whole for lane in one.receivers}
        cables = self._of(hidden)
        if interfaces:
            count = len([one for one in seen.sightings if not one.whole])
            words = (
                f"{count_noun(count, 'neighbour is', 'neighbours are')} reported by names of interfaces that the "
                "inventory lacks, so the cables are lit, and count as planned where hosts allow it; name them in a "
                "table (--interfaces, columns host,port,interface), by the nearest names so:"
            )
            yield Finding("name", cables, words, tuple(self._rows()))
        for name in (one for one in seen.names if not one.host and one.said not in seen.outsiders):
            heard = [here.here for here in seen.sightings if here.there.partition(" ")[0] == name.said]
            hosts = name.nearest or "the host that it is"
            words = (
                f"{name.said}, which the inventory lacks, is heard by {', '.join(heard)}; if that is right, the table "
                f"(--interfaces) needs a row {hosts},*,{name.said}, and else these cables go elsewhere"
            )
            yield Finding("name", self._of(self._at_names(name.said)), words)
        nameless = [one for one in seen.sightings if one.there.startswith("a neighbour without a name")]
        if nameless:
            at = ", ".join(one.here for one in nameless)
            words = f"neighbours tell no name, and count as planned where nothing speaks against it: heard by {at}"
            yield Finding("name", self._of(lane for one in nameless for lane in one.receivers), words)
        ports: dict[str, list[Sighting]] = {}
        for one in seen.sightings:
            if one.whole:
                ports.setdefault(one.here, []).append(one)
        for here, told in ports.items():
            lanes = dict.fromkeys(lane for one in told for lane in one.receivers)
            words = (
                f"{here} is reported as one interface, and the plan uses {', '.join(map(self._name, lanes))}: the port "
                "is not split yet; what it hears counts as planned where hosts allow it"
            )
            yield Finding("unsplit", self._of(lanes), words, tuple(f"{here} hears {one.there}" for one in told))

    def _at_names(self, said: str) -> Iterator[Lane]:
        for one in self.observed.sightings:
            if one.there.partition(" ")[0] == said:
                yield from one.receivers

    def _rows(self) -> Iterator[str]:
        """Yield table rows that map unknown interfaces to the nearest names."""
        rows: dict[tuple[str, str], list[str]] = {}
        for one in self.observed.names:
            if one.host:
                rows.setdefault((one.nearest, one.said), []).append(one.host)
        for (nearest, said), hosts in rows.items():
            if not nearest:
                yield f"{' '.join(hosts)}: {said}, like none of its ports"
            elif len(hosts) == len(self.plan.hosts):
                yield f"*,{nearest},{said}"
            else:
                yield from (f"{host},{nearest},{said}" for host in hosts)

    def _of(self, receivers: Iterable[Lane]) -> tuple[str, ...]:
        """Return the planned patches of receivers, in order."""
        wanted = {self.wanted[lane][1] for lane in receivers if lane in self.wanted}
        return tuple(connect.cable for connect in self.plan.connects if connect.cable in wanted)

    def _link(self, link: HostLinks) -> Finding:
        lanes = ", ".join(self._name(lane) for lane in link.receivers)
        seen = tuple(f"{one.here} hears {one.there}" for one in link.seen)
        if not link.planned:
            words = f"{seen[0]}, which is planned at none of the ports that it may be ({lanes})"
            return Finding("link", self._of(link.receivers), words)
        if not link.far:
            words = f"{link.host} hears less than {count_noun(link.planned, 'neighbour')} at {lanes}, under other names"
        else:
            words = f"{link.host} hears {link.far} {len(link.seen)} of {link.planned} times; planned is {lanes}"
        return Finding("link", self._of(link.receivers), words, seen)

    def _impossible(self, receiver: Lane, sender: Lane) -> Finding:
        circuit = self.patchable(sender, receiver)
        why = "the switch says another circuit" if circuit else "no patch can do that"
        words = f"{self._hears(receiver, sender)}; {why}, so the fixed cabling is not as recorded"
        return Finding("cabling", self._cables(receiver), words)

    @cached_property
    def names(self) -> FixedNames:
        """Names of fixed cables."""
        return FixedNames(self.plan)

    def _exchanged(self) -> Iterator[Finding]:
        """Yield findings about exchanged fixed cables."""
        for doubt in self.doubts:
            names = dict.fromkeys(name for one in doubt for name in one.cables)
            words = " or ".join(one.words for one in doubt)
            seen = tuple(
                self._hears(receiver, sender)
                for receiver, sender in self.astray.items()
                if any({receiver, sender} & set(one.lanes) for one in doubt)
            )
            yield Finding("cabling", tuple(names), f"{words} are exchanged, as hosts hear what no patch brings", seen)
        for one in self.exchanges:
            advice = "exchange them back, or leave them: all other findings here count with them as they are"
            ends = (end for lane in one.lanes for end in (lane, self.receiver.get(lane)))
            patches = dict.fromkeys(name for end in ends for name in self._cables(end))
            seen = tuple(
                f"{self._name(lane)} hears {self._name(self.observed.heard[lane])}"
                for lane in one.lanes
                if lane in self.observed.heard
            )
            yield Finding("cabling", (*one.cables, *patches), f"{one.words} ({advice})", seen)

    def _cables(self, receiver: Lane | None) -> tuple[str, ...]:
        return (self.wanted[receiver][1],) if receiver in self.wanted else ()

    def _hears(self, receiver: Lane, sender: Lane) -> str:
        wanted = self.wanted.get(receiver)
        instead = "" if wanted is None else f" instead of {self._name(wanted[0])}"
        return f"{self._name(receiver)} hears {self._name(sender)}{instead}"

    def _at(self, lane: Lane, side: int) -> str:
        end = self.end.get(lane)
        return self._name(lane) + (f" ({place_name(end, self.sides[side])})" if end is not None else "")


def is_one_breakout(lanes: Sequence[Lane]) -> bool:
    """Return whether lanes belong to one port."""
    return len({lane[:2] for lane in lanes}) == 1


def find_cycles(after: Mapping[Lane, Lane | None]) -> Iterator[list[Lane]]:
    """Yield the cycles of lanes, each of which leads to the next."""
    done: set[Lane] = set()
    for start in after:
        trail: dict[Lane, None] = {}
        lane: Lane | None = start
        while lane is not None and lane in after and lane not in done and lane not in trail:
            trail[lane] = None
            lane = after[lane]
        if lane in trail:
            order = list(trail)
            yield order[order.index(lane) :]
        done |= trail.keys()


def _and(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
