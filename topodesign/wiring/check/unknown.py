"""Receivers with unknown senders: possibly as planned, or not.

What is not known counts as planned unless something that is known speaks against it. That can be so even where names
are not known: a host that hears at its ports, whatever they are called, another host than planned is not as planned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from topodesign.wiring.check.evidence import Observed, Sighting
from topodesign.wiring.inventory.devices import Lane

Wanted = Mapping[Lane, tuple[Lane, str]]
"""The transmitter that a receiver should hear, and the patch between."""


@dataclass(frozen=True, slots=True)
class HostLinks:
    """Unplanned links between two hosts at ports with unknown names.

    Attributes
    ----------
    host, far
        The host that hears, and the one that it should hear, or hears (``there`` in words).
    receivers
        Where it should hear it, or may.
    seen, planned
        Numbers of links.
    """

    host: str
    far: str
    receivers: tuple[Lane, ...]
    seen: tuple[Sighting, ...]
    planned: int


class Unknown:
    """Unknown senders of a plan's receivers, and the consequences.

    Attributes
    ----------
    as_planned
        Receivers of which nothing certain is known, and which nothing speaks against: they count as planned.
    other
        Receivers that hear something of which not all is known, but which is not what was planned.
    links
        The same of hosts, where it is not known at which receiver.
    """

    def __init__(self, observed: Observed, wanted: Wanted, heard_by: Mapping[Lane, Lane]) -> None:
        self.observed, self.wanted, self._heard_by = observed, wanted, heard_by
        self.as_planned: dict[Lane, str] = {}
        self.other: dict[Lane, Sighting] = {}
        self.links: list[HostLinks] = []
        for receiver in wanted:
            unseen = receiver.host in observed.unseen and receiver not in observed.heard
            if (unseen or receiver in observed.unclear) and self._free(receiver):
                self.as_planned[receiver] = "unseen" if unseen else "unclear"
        elsewhere: dict[str, list[Sighting]] = defaultdict(list)
        for sighting in observed.sightings:
            receiver = sighting.receivers[0]
            if not sighting.known or sighting.whole:
                elsewhere[receiver.host].append(sighting)
            elif self._fits(sighting, receiver):
                self.as_planned[receiver] = "name"
            else:
                self.other[receiver] = sighting
        self.hidden: set[Lane] = set()  # receivers that may be the interfaces that are not known
        for host, sightings in elsewhere.items():
            self._match(host, sightings)

    def __contains__(self, receiver: Lane) -> bool:
        """Return whether the sender of a receiver is unknown."""
        return receiver in self.as_planned or receiver in self.other or receiver in self.hidden

    def _free(self, receiver: Lane) -> bool:
        """Return whether no other receiver hears the planned sender."""
        return self._heard_by.get(self.wanted[receiver][0], receiver) == receiver

    def _fits(self, sighting: Sighting, receiver: Lane) -> bool:
        """Return whether a sighting may be a receiver's planned sender."""
        if receiver not in self.wanted or not self._free(receiver):
            return False
        return sighting.senders is None or self.wanted[receiver][0] in sighting.senders

    def _match(self, host: str, sightings: list[Sighting]) -> None:
        """Classify a host's receivers by sightings at unknown ports."""
        lanes = [lane for lane in dict.fromkeys(n for one in sightings for n in one.receivers) if lane in self.wanted]
        whole = {lane for one in sightings if one.whole for lane in one.receivers}
        self.hidden |= {*lanes}
        spare = dict.fromkeys(lanes)
        others = [one for one in sightings if one.senders is None and not one.whole]  # of whom anybody may be heard
        for one in sorted(sightings, key=lambda one: len(one.senders or ())):
            if one.senders is None:
                continue
            fitting = [lane for lane in one.receivers if (one.whole or lane in spare) and self._fits(one, lane)]
            if not fitting:
                self.links.append(HostLinks(host, one.there, one.receivers, (one,), 0))
            for lane in fitting[:1] if not one.whole else ():
                del spare[lane]
                self.as_planned[lane] = "name"
        for lane in [lane for lane in spare if self._free(lane) and (lane in whole or len(spare) <= len(others))]:
            del spare[lane]
            self.as_planned[lane] = "name"
        if others and spare:
            self.links.append(HostLinks(host, "", tuple(spare), tuple(others), len(spare)))
            return
        missing: dict[str, list[Lane]] = defaultdict(list)
        for lane in spare:
            missing[self.wanted[lane][0].host].append(lane)
        for far, some in missing.items():
            group = [lane for lane in lanes if self.wanted[lane][0].host == far]
            seen = tuple(one for one in sightings if one.senders is not None and one.senders[0].host == far)
            self.links.append(HostLinks(host, far, tuple(group if seen else some), seen, len(group)))

    @property
    def decides_nothing(self) -> bool:
        """Whether unresolved deviations prevent a repair from being derived."""
        return bool(self.other or self.links)

    def touches(self, lanes: Collection[Lane]) -> bool:
        """Return whether the sender of any of the lanes is unknown."""
        return any(lane in self for lane in lanes)
