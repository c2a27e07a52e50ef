"""Observations of a wiring: known neighbours and partly known frames.

An observation is a partial net with unknowns. Each entry says that frames arrive at an interface of a host, and whose
they are: where it names lanes of the inventory, both are known; else it is a *sighting*, with the lanes that each end
may be. In a duplex plan both fibres of a cable end at the same two lanes, so what one end does not say the other end
does. Nothing is made of names that are not known but a list of them, with the nearest that are.

An interface may have several neighbours: network cards speak LLDP themselves, without the name of their host, and what
has gone is remembered for some minutes. So hosts count rather than others, and of hosts the last to come. Where that
is not known, something may lie between that passes LLDP on; this is reported, and counts as planned.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from topodesign.base.errors import FileFormatError
from topodesign.wiring.check.names import KnownNames, is_address, sort_key
from topodesign.wiring.check.outputs import Neighbour, NeighbourOutput
from topodesign.wiring.inventory.devices import Lane
from topodesign.wiring.plan.plan import WiringPlan


@dataclass(frozen=True, slots=True)
class Sighting:
    """Frames that arrive at a host and are only partly known.

    Attributes
    ----------
    receivers
        Lanes at which they may arrive: one if the interface is known.
    senders
        Lanes whose light it may be; None if any.
    here, there
        The interface and the neighbour in words.
    known
        Whether it is known that they arrive at these lanes.
    whole
        Whether the interface is a port that is not split, and so stands for cables at several of its lanes.
    """

    receivers: tuple[Lane, ...]
    senders: tuple[Lane, ...] | None
    here: str
    there: str
    known: bool = True
    whole: bool = False


class UnknownName(NamedTuple):
    """Unknown name of an interface, or of a host if ``host`` is empty."""

    host: str
    said: str
    nearest: str  # what it may be in the inventory; empty if nothing is like it


@dataclass(frozen=True)
class Observed:
    """Observations of a wiring.

    ``unclear``: what a lane hears where several neighbours are reported, or one neighbour at several lanes, in words.
    ``light``: the power that arrives at a lane's receiver in dBm, as far as it is reported. ``circuits``: what hosts
    would hear by the circuits of the switches, where these are reported too, and what hosts without a report do hear
    then; None if they are not. ``unbuilt``: why a lane hears nothing, in words, where that is known of its cables.
    """

    heard: dict[Lane, Lane]  # the lane whose transmitter a lane's receiver hears; no entry for lanes that hear nothing
    sightings: tuple[Sighting, ...] = ()  # what else was heard, as far as it is known
    unseen: frozenset[str] = frozenset()  # hosts of which nothing is known
    unclear: dict[Lane, str] = field(default_factory=dict)
    outsiders: tuple[str, ...] = ()  # reported hosts that the inventory lacks
    light: dict[Lane, float] = field(default_factory=dict)
    circuits: dict[Lane, Lane] | None = None
    unbuilt: dict[Lane, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()  # what else is wrong, in words
    notes: tuple[str, ...] = ()  # what was read for what, and what was passed over, in words
    names: tuple[UnknownName, ...] = ()
    unread: tuple[str, ...] = ()  # why nothing is known of hosts, in words
    inferred: frozenset[Lane] = frozenset()  # lanes of ``heard`` of which the other end of the cable says it

    @property
    def whole(self) -> bool:
        """Whether all hosts reported everything relevant under known names."""
        silent = self.unseen if self.circuits is None else ()
        return not (self.sightings or silent or self.unclear or self.outsiders or self.inferred)


def place_neighbours(path: Path, told: NeighbourOutput, plan: WiringPlan, names: KnownNames) -> Observed:
    """Return the observations of hosts, with lanes resolved by name.

    Parameters
    ----------
    path
        Of the file or directory, for messages.
    told
        The entries, and the hosts that told them.
    plan
        Its lanes.
    names
        Of hosts and interfaces.

    Raises
    ------
    FileFormatError
        If no host is known.
    """
    return _Placing(path, told, plan, names).result()


class _Entry(NamedTuple):
    """Neighbour entry with its resolved ends."""

    host: str
    lane: Lane | None  # at which it was heard
    whole: tuple[Lane, ...]  # instead of it the lanes of a port that is not split
    far: str | None  # the host that is heard
    senders: tuple[Lane, ...] | None
    told: Neighbour

    @property
    def here(self) -> str:
        return f"{self.host} {self.told.interface}"

    @property
    def there(self) -> str:
        """Neighbour's name and port, as far as reported."""
        port = next((port for port in self.told.ports if port), "")
        if self.far is None and (not self.told.chassis or is_address(self.told.chassis)):
            said = self.told.identity or self.told.chassis or port
            return f"a neighbour without a name{f' ({said})' if said else ''}"
        return f"{self.far or self.told.chassis} {port}".strip()


class _Placing:
    """Resolver from neighbour entries to observations."""

    def __init__(self, path: Path, told: NeighbourOutput, plan: WiringPlan, names: KnownNames) -> None:
        self.plan, self.known = plan, names
        self.told = told
        self.hosts: set[str] = set()
        outsiders: dict[str, None] = {}
        for name in told.hosts:
            host = names.host(name)
            if host is None:
                outsiders[name] = None
            else:
                self.hosts.add(host)
        self.outsiders = tuple(outsiders)
        if not self.hosts:
            said = next(iter(outsiders))
            near = names.nearest_host(said, plan.hosts)
            hint = f"; the nearest is '{near}'" if near else ""
            raise FileFormatError(
                f"{path}: there is no host '{said[:40]}' in the inventory{hint}; name files or rows after its hosts, "
                "or map names by --interfaces, with rows such as HOST,*,NAME"
            )
        self.receivers = [lane for lane in plan.net.hears if lane.host in self.hosts]
        self.entries = list(self._entries())

    def _entries(self) -> Iterator[_Entry]:
        identities: defaultdict[str, set[str]] = defaultdict(set)
        numbered: list[tuple[str, str]] = []
        for one in self.told.entries:
            far = self.known.host(one.chassis)
            if far is not None and one.identity:
                identities[one.identity].add(far)
            numbered += [(self.known.host(one.host) or "", one.interface), *((far or "", port) for port in one.ports)]
        self.known.read_numbering(numbered)
        for one in self.told.entries:
            host = self.known.host(one.host)
            if host is None:
                continue
            far = self.known.host(one.chassis)
            if far is None and (not one.chassis or is_address(one.chassis)):
                same = identities.get(one.identity or one.chassis, ())
                far = next(iter(same)) if len(same) == 1 else None
            lane = self.known.lane(host, one.interface)
            whole = () if lane is not None else self.known.whole_port(host, one.interface)
            yield _Entry(host, lane, whole, far, None if far is None else self._senders(far, one.ports), one)

    def _senders(self, host: str, ports: Sequence[str]) -> tuple[Lane, ...]:
        """Return the lanes that match a neighbour's port names."""
        for port in ports:
            lane = self.known.lane(host, port)
            if lane is not None:
                return (lane,)
        for port in ports:
            if whole := self.known.whole_port(host, port):
                return whole
        room = self.plan.inventory.host[host]
        return tuple(Lane(host, port.name, lane) for port in room.ports for lane in range(1, port.lanes + 1))

    def result(self) -> Observed:
        heard, unclear = _latest(
            (one.told.age, one.lane, one.senders[0])
            for one in self.entries
            if one.lane is not None and one.senders is not None and len(one.senders) == 1
        )
        partly = self._partly(heard, unclear)
        unknown = [e for e in self.entries if e.lane is None]
        notes: list[str] = []
        told = {*heard}
        if self.plan.mode == "duplex":
            notes = self._mirror(heard, unclear, partly, unknown)
        sightings = [
            Sighting((lane,), entry.senders, f"{lane.host} {self.known.interface(lane)}", entry.there)
            for lane, entry in partly.items()
        ]
        sightings += self._elsewhere(unknown, {*heard, *unclear, *partly})
        open_ = {(one.receivers[0].host, one.there) for one in sightings}
        shown = [entry for entry in self.entries if (entry.host, entry.there) in open_]
        unread = [words for name, words in self.told.unread.items() if self.known.host(name) not in self.hosts]
        return Observed(
            heard,
            tuple(sightings),
            frozenset(set(self.plan.hosts) - self.hosts),
            unclear,
            self.outsiders,
            faults=tuple(self.told.faults),
            notes=tuple(notes),
            names=tuple(self._names(shown, sightings)),
            unread=tuple(unread),
            inferred=frozenset(heard.keys() - told),
        )

    def _partly(self, heard: dict[Lane, Lane], unclear: dict[Lane, str]) -> dict[Lane, _Entry]:
        """Return the most informative entry of each unresolved known lane."""
        found: dict[Lane, _Entry] = {}
        rank = [
            ((entry.far is None) + (entry.far is None and not entry.told.chassis), entry.told.age is None)
            for entry in self.entries
        ]
        order = sorted(range(len(rank)), key=lambda n: (*rank[n], self.entries[n].told.age or 0))
        for entry in (self.entries[n] for n in order):
            if entry.lane is not None and entry.lane not in heard and entry.lane not in unclear:
                found.setdefault(entry.lane, entry)
        return found

    def _mirror(
        self, heard: dict[Lane, Lane], unclear: dict[Lane, str], partly: dict[Lane, _Entry], unknown: list[_Entry]
    ) -> list[str]:
        """Infer neighbours from the cables' other ends; return notes."""
        for entry in list(unknown):
            sender = entry.senders[0] if entry.senders is not None and len(entry.senders) == 1 else None
            lane = None if sender is None else heard.get(sender)
            if sender is None or lane is None or lane.host != entry.host or lane in heard or lane in partly:
                continue
            if entry.whole and lane not in entry.whole:
                continue
            heard[lane] = sender
            unknown.remove(entry)
        taken, notes = set(heard.values()), []
        for sender, lane in list(heard.items()):  # a cable from its other end: `sender` hears `lane`
            if lane in heard or lane in unclear or sender in taken:
                continue
            part = partly.get(lane)
            if part is None and lane.host not in self.hosts:
                heard[lane] = sender
            elif part is not None and (part.senders is None or sender in part.senders):
                heard[lane] = sender
                del partly[lane]
                if part.far is None:
                    here, there = (f"{one.host} {self.known.interface(one)}" for one in (lane, sender))
                    notes.append(f"{here} hears {part.there}: it is {there}, which hears {here}")
        return notes

    def _elsewhere(self, unknown: Iterable[_Entry], placed: set[Lane]) -> list[Sighting]:
        """Return sightings at unknown interfaces that may be silent receivers."""
        free: defaultdict[str, list[Lane]] = defaultdict(list)
        for lane in self.receivers:
            if lane not in placed:
                free[lane.host].append(lane)
        unknown = list(unknown)
        # an interface that a host has beside all its receivers is none, on other hosts neither; and what is heard at
        # more places than a host has lanes is a switch
        beside = {entry.told.interface for entry in unknown if not free[entry.host]}
        strangers = Counter(entry.told.chassis for entry in unknown if entry.far is None and entry.told.chassis)
        most = max(host.lanes for host in self.plan.inventory.hosts)
        found = []
        for entry in unknown:
            whole = tuple(lane for lane in entry.whole if lane in free[entry.host])
            lanes = whole or tuple(free[entry.host])
            switch = entry.far is None and strangers[entry.told.chassis] > most
            if not lanes or (entry.whole and not whole):
                continue
            if whole or not (switch or entry.told.interface in beside):
                sure = bool(whole)
                found.append(Sighting(lanes, entry.senders, entry.here, entry.there, known=sure, whole=sure))
        return found

    def _names(self, entries: Sequence[_Entry], sightings: Sequence[Sighting]) -> Iterator[UnknownName]:
        """Yield each unknown name once, with the nearest known name."""
        interface = self.known.interface
        free: dict[str, list[Lane]] = {one.receivers[0].host: [*one.receivers] for one in sightings if not one.known}
        for host, words in self._unknown_interfaces(entries).items():
            lanes = free.get(host) or list(self._senders(host, ()))
            lanes.sort(key=lambda lane: sort_key(interface(lane)))
            said = sorted(words, key=sort_key)
            near = [self.known.nearest_lane(word, lanes) for word in said]
            if len(said) == len(lanes) and len(set(near)) < len(lanes):
                near = list(map(interface, lanes))
            yield from (UnknownName(host, *pair) for pair in zip(said, near, strict=True))
        named = {self.known.host(one.chassis) for one in self.told.entries}
        silent = [host for host in self.plan.hosts if host not in named]
        strangers = dict.fromkeys(
            e.told.chassis for e in entries if e.far is None and e.told.chassis and not is_address(e.told.chassis)
        )
        for word in strangers:
            yield UnknownName("", word, self.known.nearest_host(word, silent or self.plan.hosts))
        unseen = [host for host in self.plan.hosts if host not in self.hosts]
        for word in self.outsiders:
            yield UnknownName("", word, self.known.nearest_host(word, unseen))

    def _unknown_interfaces(self, entries: Iterable[_Entry]) -> dict[str, dict[str, None]]:
        """Return the unknown interface names by host."""
        said: dict[str, dict[str, None]] = defaultdict(dict)
        for entry in entries:
            if entry.lane is None and not entry.whole:
                said[entry.host][entry.told.interface] = None
            if entry.far is not None and len(entry.senders or ()) > 1:
                ports = [port for port in entry.told.ports if port and not is_address(port)]
                if ports and not any(self.known.whole_port(entry.far, port) for port in ports):
                    said[entry.far][ports[0]] = None
        return said


def _latest(told: Iterable[tuple[int | None, Lane, Lane]]) -> tuple[dict[Lane, Lane], dict[Lane, str]]:
    """Return the most recent sender of each lane, and unclear lanes.

    ``told``: for how long, which lane hears, and which it hears. Where ages do not tell, neither counts, and the second
    result says so of each lane in words.
    """
    unclear: dict[Lane, str] = {}
    by_lane: dict[Lane, tuple[Lane, int | None]] = {}
    for age, lane, sender in sorted(told, key=lambda one: (one[0] is None, one[0] or 0)):
        first, since = by_lane.setdefault(lane, (sender, age))
        if first != sender and (since is None or since == age):
            unclear.setdefault(lane, f"hears two neighbours, {_name(first)} and {_name(sender)}")
    by_sender: dict[Lane, Lane] = {}
    for lane, (sender, age) in by_lane.items():
        if lane in unclear:
            continue
        other = by_sender.setdefault(sender, lane)
        since = by_lane[other][1]
        if other != lane and (since is None or since == age):
            for here, there in ((other, lane), (lane, other)):
                unclear.setdefault(here, f"hears {_name(sender)}, as {_name(there)} does")
    return {lane: sender for sender, lane in by_sender.items() if lane not in unclear}, unclear


def _name(lane: Lane) -> str:
    return f"{lane.host} {lane.port}/{lane.lane}"
