"""Exchanged fixed cables, inferred from what hosts hear.

Light that no patch can carry (from one field of panels to another, or past the circuit that a switch says it has)
tells that a fixed cable is not where it was planned. Mostly two of them have been exchanged: two legs of a breakout,
or two trunks. So exchanges are looked for with which all light goes by the panels again, or with which clearly fewer
patches are other than planned; what several exchanges explain alike is left open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from topodesign.wiring.check.comparison import Comparison, Exchange, find_cycles, is_one_breakout
from topodesign.wiring.check.evidence import Observed
from topodesign.wiring.inventory.devices import Fixed, Lane, Trunk, lanes_of
from topodesign.wiring.plan.plan import WiringPlan

_MAX_OPTIONS = 4  # exchanges that a doubt may be between; what more would explain, none of them tells

_NOBODY = Lane("", "", 0), Lane("", "", 0)

_Gain = tuple[int, int]
"""By how much an exchange changes the receivers that hear what no patch brings, and those not as planned."""


def compare_nets(plan: WiringPlan, observed: Observed) -> Comparison:
    """Compare a planned net with what is observed, over the fixed cabling that explains it."""
    search = _Search(plan, observed)
    search.run()
    return search.result()


class _Search:
    """Search for exchanged lanes, by the slot planned for each."""

    def __init__(self, plan: WiringPlan, observed: Observed) -> None:
        self.plan = plan
        self.observed = observed
        self.planned = Comparison(plan, observed)
        self.end = self.planned.end
        self.wanted = {receiver: sender for receiver, (sender, _) in plan.net.hears.items()}
        self.heard = {
            receiver: sender
            for receiver, sender in observed.heard.items()
            if {receiver.host, sender.host} <= plan.node.keys()
        }
        self.heard_by = {sender: receiver for receiver, sender in self.heard.items()}
        self.joined_by = {sender: receiver for receiver, sender in (observed.circuits or {}).items()}
        self.slot: dict[Lane, Lane] = {}
        self.occupant: dict[Lane, Lane] = {}
        self.disordered: set[tuple[str, str]] = set()
        self.instead: dict[frozenset[Lane], list[tuple[Lane, Lane]]] = {}

    def run(self) -> None:
        """Exchange lanes while that explains more observations."""
        odd = [receiver for receiver in self.heard if self._odd(receiver)[0]]
        left = len(odd) + 1
        while left > len(odd):  # every exchange leaves fewer
            left = len(odd)
            for receiver in odd:
                options = self._options(receiver) if self._odd(receiver)[0] else []
                likelier = [pair for pair in options if self._unlikely(pair) == self._unlikely(options[0])]
                if len(likelier) == 1:
                    self._exchange(*options[0])
                    self.disordered |= {lane[:2] for lane in options[0]}
                    self.instead[frozenset(options[0])] = options[1:]
            odd = [receiver for receiver in odd if self._odd(receiver)[0]]
        for port in dict.fromkeys(receiver[:2] for receiver in self.heard):
            self._sort_legs(port)

    def _sort_legs(self, port: tuple[str, str]) -> None:
        """Exchange breakout legs if that leaves clearly fewer wrong patches."""
        while True:
            legs = [Lane(*port, number) for number in self._numbers(port)]
            wrong = [lane for lane in legs if lane in self.heard and self._odd(lane)[1]]
            gains = [(self._gain(a, b), a, b) for a in wrong for b in wrong if a < b]
            least, a, b = min(((gain[1], a, b) for gain, a, b in gains if not gain[0]), default=(0, *_NOBODY))
            # one exchange of legs against as many of patches: these are easier, unless legs have been mixed up anyway
            enough = 4 if port in self.disordered else 6
            if least * (1 if self.plan.mode == "duplex" else 2) > -enough:
                return
            far = min(self.heard[a], self.heard[b]), max(self.heard[a], self.heard[b])
            alike = is_one_breakout(far) and self._gain(*far) == (0, least)
            self._exchange(a, b)
            self.disordered.add(port)
            self.instead[frozenset((a, b))] = [far] if alike else []

    def _numbers(self, port: tuple[str, str]) -> range:
        return range(1, self.plan.inventory.port[port].lanes + 1)

    def _options(self, receiver: Lane) -> list[tuple[Lane, Lane]]:
        """Return the best exchanges for a receiver, most likely first."""
        pairs = dict.fromkeys(self._candidates(receiver))
        ranked = sorted((self._gain(*pair), self._unlikely(pair), pair) for pair in pairs)
        return [pair for gain, _, pair in ranked if gain[0] < 0 and gain == ranked[0][0]]

    def _doubts(self) -> Iterator[tuple[tuple[Lane, Lane], ...]]:
        """Yield sets of exchanges that explain neighbours equally well."""
        found: list[dict[tuple[Lane, Lane], None]] = []
        for receiver in (receiver for receiver in self.heard if self._odd(receiver)[0]):
            options = dict.fromkeys(self._options(receiver))
            near = [some for some in found if some.keys() & options.keys()]
            found = [some for some in found if some not in near]
            found.append({pair: None for some in (*near, options) for pair in some})
        yield from (tuple(sorted(options)) for options in found if 0 < len(options) <= _MAX_OPTIONS)

    def _unlikely(self, pair: tuple[Lane, Lane]) -> int:
        """Return the rank of an exchange; lower is more likely."""
        return 0 if is_one_breakout(pair) else 1 if all(map(self._is_led, pair)) else 2

    def _is_led(self, lane: Lane) -> bool:
        """Return whether a lane is planned to end behind a trunk."""
        lead = self.plan.net.leads.get(self.end[lane].place) if lane in self.end else None
        return lead is not None and lead.trunk is not None

    def _candidates(self, receiver: Lane) -> Iterator[tuple[Lane, Lane]]:
        sender = self.heard[receiver]
        here, there = self._slot(receiver), self._slot(sender)
        circuits = self.observed.circuits or {}
        slots = [
            *((receiver, source.get(there)) for source in (self.planned.receiver, self.joined_by)),
            *((sender, source.get(here)) for source in (self.wanted, circuits)),
        ]
        pairs = [(lane, self._occupant(slot)) for lane, slot in slots if slot is not None]
        for lane in (receiver, sender):
            pairs += [(lane, Lane(lane.host, lane.port, number)) for number in self._numbers(lane[:2])]
        for a, b in pairs:
            if a != b and self._reach(a, self._slot(b)) and self._reach(b, self._slot(a)):
                yield min(a, b), max(a, b)

    def _reach(self, lane: Lane, slot: Lane) -> bool:
        """Return whether a lane can be at a slot, by pods or trunks."""
        if slot not in self.end or lane[:2] == slot[:2]:
            return True
        room = self.plan.inventory
        pods = room.pods_of(*self.end[slot].place)
        led = self._is_led(slot) and self._is_led(self._slot(lane))
        return led or not pods or room.host[lane.host].pod in pods

    def _gain(self, a: Lane, b: Lane) -> _Gain:
        touched = {lane for lane in (a, b) if lane in self.heard}
        touched |= {self.heard_by[lane] for lane in (a, b) if lane in self.heard_by}
        before = [self._odd(lane) for lane in touched]
        self._exchange(a, b)
        after = [self._odd(lane) for lane in touched]
        self._exchange(a, b)
        impossible, other = (sum(one[i] for one in after) - sum(one[i] for one in before) for i in (0, 1))
        return impossible, other

    def _odd(self, receiver: Lane) -> tuple[bool, bool]:
        """Return whether a receiver's neighbour is impossible, and whether unplanned."""
        sender, there = self._slot(self.heard[receiver]), self._slot(receiver)
        return not self.planned.carries(sender, there), self.wanted.get(there) != sender

    def _slot(self, lane: Lane) -> Lane:
        return self.slot.get(lane, lane)

    def _occupant(self, slot: Lane) -> Lane:
        return self.occupant.get(slot, slot)

    def _exchange(self, a: Lane, b: Lane) -> None:
        for lane, slot in ((a, self._slot(b)), (b, self._slot(a))):
            self.slot[lane] = slot
            self.occupant[slot] = lane

    def result(self) -> Comparison:
        """Return the comparison with corrected lanes, and the exchanges in words."""
        names = self.planned.names
        cycles = list(map(tuple, find_cycles({lane: slot for lane, slot in sorted(self.slot.items()) if lane != slot})))
        doubts = tuple(
            tuple(Exchange(names.all(pair), pair, names.words(pair)) for pair in options) for options in self._doubts()
        )
        if not cycles:
            return Comparison(self.plan, self._with_circuits(), (), doubts)
        room = self.plan.inventory
        before = {(one.panel, one.panel_port): one for one in room.trunks}
        trunks = dict(before)
        exchanges = []
        for lanes in cycles:
            if names.trunks(lanes) and not is_one_breakout(lanes):  # hosts plug in where they did
                for lane in lanes:
                    old, new = before[self.end[lane].place], self.end[self.slot[lane]].place
                    trunks[new] = Trunk(*new, old.near, old.near_port, old.loss_db)
            where = ", ".join(f"{self.plan.lane_name(one)} is at {self._place(self.slot[one])}" for one in lanes)
            others = self.instead.get(frozenset(lanes), [])[:_MAX_OPTIONS]
            instead = "".join(f", or else {names.words(pair)}" for pair in others)
            known = dict.fromkeys(name for some in (lanes, *others) for name in names.all(some))
            words = f"{names.words(lanes)} are exchanged{instead}: {where}"
            exchanges.append(Exchange(tuple(known), lanes, words))
        order = {Lane(h.name, port.name, lane): n for h in room.hosts for n, (port, lane) in enumerate(lanes_of(h))}
        rank = {host.name: row for row, host in enumerate(room.hosts)}
        rows = [Fixed(*self._occupant(lane), *end.place) for lane, end in self.end.items()]
        rows.sort(key=lambda one: (rank[one.host], order[one.source]))
        room = replace(
            room,
            cabling=tuple(rows) if room.cabling else (),
            trunks=tuple(trunks[one.panel, one.panel_port] for one in room.trunks),
        )
        plan = replace(self.plan, inventory=room, fixed=tuple(rows))
        end = plan.net.end
        connects = tuple(replace(one, a=end[one.a.place], b=end[one.b.place]) for one in plan.connects)
        return Comparison(replace(plan, connects=connects), self._with_circuits(), tuple(exchanges), doubts)

    def _with_circuits(self) -> Observed:
        """Return the observations with missing neighbours filled from circuits."""
        seen = self.observed
        if seen.circuits is None:
            return seen
        circuits = {self._occupant(r): self._occupant(s) for r, s in seen.circuits.items()}
        taken = set(seen.heard.values())
        fill = {r: s for r, s in circuits.items() if r.host in seen.unseen and r not in seen.heard and s not in taken}
        return replace(seen, heard=fill | seen.heard, circuits=circuits, unseen=frozenset())

    def _place(self, slot: Lane) -> str:
        if slot not in self.end:
            return "no panel"
        return ", ".join(map(" ".join, self.plan.net.leads[self.end[slot].place].places))
