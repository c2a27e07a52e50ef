"""Whether what was wired is what was planned, and if not, what is wrong and how few patches set it right."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from topodesign.base.arguments import as_seed
from topodesign.base.claims import Among, Claim, Of
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.records import Result
from topodesign.topology.isomorphism import isomorphism
from topodesign.wiring.change.change import Change, fewest_moves, wired_topology
from topodesign.wiring.change.instructions import place_name
from topodesign.wiring.check.as_built import read_as_built
from topodesign.wiring.check.as_cabled import AsCabled, FixedNames, Ways, as_cabled
from topodesign.wiring.check.light import DARK
from topodesign.wiring.check.link_tests import read_link_tests
from topodesign.wiring.check.observed import Observed, read_dumps, read_light, read_lldp, read_switch
from topodesign.wiring.inventory.inventory import Lane
from topodesign.wiring.plan.cross_connects import CrossConnect, End
from topodesign.wiring.plan.decompose import without_loops
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.plan import WiringPlan

Fault = Literal[
    "swapped",
    "wrong port",
    "missing",
    "dark",
    "unexpected",
    "cabling",
    "circuit",
    "unclear",
    "outsider",
    "unseen",
    "unbuilt",
    "cable",
]


@dataclass(frozen=True)
class Finding(Declared):
    """Something that is not as planned.

    * ``fault``: ``swapped``: patches have each other's ends. ``wrong port``: a receiver hears another transmitter than
      planned. ``missing``: a receiver hears nothing, and its transmitter is heard elsewhere. ``dark``: nothing hears
      the transmitter. ``unexpected``: a receiver hears something and should hear nothing. ``cabling``: fixed cables are
      exchanged, or no patch can do this, and it is not known which fixed cables are not as recorded. ``circuit``: a
      switch joins other ports than planned. ``unclear``: several neighbours are heard, or one at several places, as if
      a hub were between. ``outsider``: something is told of hosts that the inventory lacks. ``unseen``: hosts have not
      told what they hear. ``unbuilt``: NetBox has not all cables of a link as connected. ``cable``: NetBox has one that
      no link can use, or the link test of a host found something that is not as written.
    * ``cables``: the planned patches that it concerns, or the fixed cables and trunks, and the patches behind them.
    * ``words``: what is wrong, and where to look.
    * ``seen``: what says so, if that is not in the words yet.
    """

    fault: Fault
    cables: tuple[str, ...]
    words: str
    seen: tuple[str, ...] = ()

    KEYS = "fault cables words seen"
    ROW = (
        "fault",
        key("cables", kind=str, value=lambda one: " ".join(one.cables)),
        "what=words",
        key("seen", kind=str, value=lambda one: "; ".join(one.seen)),
    )


@dataclass(frozen=True, repr=False)
class WiringCheck(Result):
    """What became of a plan.

    * ``findings``: what is wrong; none if everything is as planned.
    * ``built``: the wiring as it is, with the hosts of the plan as its nodes, and with the fixed cabling that there is.
      Receivers that are not seen count as planned.
    * ``to_plan``: patches to be made until every port is as planned.
    * ``repair``: the fewest patches that make the links of the plan, whatever the ports and with the fixed cabling that
      there is. Nothing if that is not known.
    * ``other_order``: the fewest patches found if hosts may be other nodes than planned. With none, its hosts are an
      order in which the wiring already is the wanted topology.
    * ``decided``: whether it is certain if such an order exists.
    * ``cabled``: whether it is known which lanes end at which panel ports, as far as it matters.
    * ``notes``: what was read for what, such as port ``1`` for ``001``, in words.
    """

    findings: tuple[Finding, ...]
    built: WiringPlan
    to_plan: int
    repair: Change
    other_order: Change
    decided: bool
    cabled: bool = True
    notes: tuple[str, ...] = ()

    KEYS = (
        "ok findings patches_to_plan=to_plan repair other_order claims notes",
        key(
            "isomorphic",
            "Whether no patch has to move then; null if undecided.",
            kind=bool | None,
            value=lambda one: not one.other_order.moves if one.decided else None,
        ),
    )
    ROWS = "findings"

    @property
    def proposal(self) -> Change:
        """What to do: nothing but take the other order of the hosts where that is the plan already, else the repair."""
        return self.repair if self.other_order.moves else self.other_order

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Whether other repairs need fewer patches; nothing where no patch is needed, or not known to be."""
        return (replace(self.repair.claim, of=Of.PATCHES, among=Among.REPAIRS),) if self.repair.moves else ()

    @property
    def ok(self) -> bool:
        """Whether everything was seen and is as planned."""
        return not self.findings

    def heading(self) -> str:
        """Return how much is wrong."""
        if self.ok:
            return f"as planned: {len(self.built.connects)} patches"
        count = len(self.findings)
        what = "1 thing is" if count == 1 else f"{count} things are"
        if not self.cabled:
            return f"{what} not as planned; first the fixed cabling has to be set right"
        return f"{what} not as planned; {self.repair.moves} patches make the links of the plan"

    def __str__(self) -> str:
        """Return what is wrong, and what to do about it."""
        if self.ok:
            return "\n".join([self.heading(), *self.notes])
        lines = []
        for finding in self.findings:
            lines += [f"{finding.fault}: {finding.words}", *(f"  {words}" for words in finding.seen)]
        return "\n".join([*lines, "", *self._advice(), *self.notes])

    def _advice(self) -> list[str]:
        """Return how to make the links of the plan, and every port if that takes more."""
        repair, other = self.repair, self.other_order
        if not self.cabled:
            return ["set the fixed cabling right, then check again: which patches are needed shows only then"]
        exact = [f"(all ports as planned: {self.to_plan} patches)"] if self.to_plan != len(repair.made) else []
        if not repair.moves:
            return ["the links between hosts are those of the plan all the same", *exact]
        places = "if the hosts take these places, in the order of the nodes:"
        order = "  " + " ".join(other.after.hosts)
        moves = [f"  {line}" for line in repair.instructions()]
        if not other.moves:
            return [f"nothing has to move {places}", order, "otherwise:", *moves, *exact]
        (claim,) = self.claims
        lines = [f"these patches make the links of the plan ({claim.verdict}):", *moves, *exact]
        if other.moves < repair.moves:
            lines += [f"{other.moves} would do {places}", order, *(f"  {line}" for line in other.instructions())]
        if not self.decided:
            lines.append("whether another order of the hosts needs no move at all is not decided")
        return lines


def check_wiring(
    plan: WiringLike,
    observed: Observed | None = None,
    *,
    lldp: str | Path | None = None,
    ocs: str | Path | None = None,
    dumps: str | Path | None = None,
    netbox: str | Path | None = None,
    links: str | Path | None = None,
    light: str | Path | None = None,
    seed: int = 0,
) -> WiringCheck:
    r"""Hold what was wired against a plan, and say how few patches set it right.

    Every link that is missing needs a patch of its own, so the repairs need no fewer than they name: as many as links
    are missing, for these hosts.

    Parameters
    ----------
    plan
        What was wanted, or the path of its file.
    observed
        What was seen.
    lldp, ocs, dumps
        Instead of it, what hosts hear, the circuits of switches, or a directory with both, as :func:`read_lldp`,
        :func:`read_switch` and :func:`read_dumps` of :mod:`topodesign.wiring.check.observed` read them.
    netbox
        Or what NetBox has as built: its address or a file, as
        :func:`topodesign.wiring.check.as_built.read_as_built` reads it.
    links
        Or what the link tests of hosts printed, as :func:`topodesign.wiring.check.link_tests.read_link_tests` reads it.
    light
        Beside these, what light arrives at receivers, as :func:`read_light` reads it.
    seed
        Of the search for another order of the hosts.

    Raises
    ------
    ParameterError
        If not exactly one of ``observed``, ``lldp``, ``ocs``, ``dumps``, ``netbox`` and ``links`` is given.
    FileFormatError
        If a file cannot be read.
    NetboxError
        If a server cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from topodesign import plain_inventory, wire
    >>> plan = wire("biring(2,3)", plain_inventory(3, 2), mode="simplex")
    >>> heard = ["host,port,neighbour_host,neighbour_port"]
    >>> heard += [f"{link.b.host},{link.b.port},{link.a.host},{link.a.port}" for link in plan.connects]
    >>> _ = Path("heard.csv").write_text("\n".join(heard))
    >>> check_wiring(plan, lldp="heard.csv")
    <WiringCheck: as planned: 6 patches>
    """
    plan, seed = as_wiring(plan), as_seed(seed)
    seen = _one_of(plan, observed, lldp=lldp, ocs=ocs, dumps=dumps, netbox=netbox, links=links)
    if light is not None:
        seen = replace(seen, light=read_light(light, plan))
    return replace(_checked(plan, seen, seed), notes=seen.notes)


def _checked(plan: WiringPlan, seen: Observed, seed: int) -> WiringCheck:
    real = as_cabled(plan, seen)
    view = _View(real)
    connects, findings = view.built(), tuple(view.findings())
    topology = wired_topology(plan.hosts, connects)
    built = replace(real.plan, topology=topology, connects=connects)
    pairs = {(connect.a.place, connect.b.place) for connect in connects}
    pairs |= {pair[::-1] for pair in pairs if plan.mode == "duplex"}
    to_plan = sum((connect.a.place, connect.b.place) not in pairs for connect in plan.connects)
    own = None if real.exchanges else real.plan  # its patches make its links, unless they end at other lanes
    try:
        repair = (
            None
            if view.astray
            else fewest_moves(built, plan.topology, hosts=plan.hosts, prefer=real.plan.connects, own=own)
        )
    except InfeasibleError:  # with cables exchanged as they are
        repair = None
    if repair is None:
        nothing = Change(built, built, (), (), at_least=0)
        return WiringCheck(findings, built, to_plan, nothing, nothing, decided=False, cabled=False)
    if not repair.made:
        return WiringCheck(findings, built, to_plan, repair, repair, decided=True)
    found = isomorphism(topology, without_loops(plan.topology))
    if found.place is not None:
        order = tuple(plan.hosts[place] for place in found.place)
        same = fewest_moves(built, plan.topology, hosts=order)
        return WiringCheck(findings, built, to_plan, repair, same, decided=True)
    other = fewest_moves(built, plan.topology, seed=seed, own=repair.after)
    other = other if other.moves < repair.moves else repair
    return WiringCheck(findings, built, to_plan, repair, other, found.decided or not other.made)


def _one_of(plan: WiringPlan, observed: Observed | None, **paths: str | Path | None) -> Observed:
    readers = {
        "lldp": read_lldp,
        "ocs": read_switch,
        "dumps": read_dumps,
        "netbox": read_as_built,
        "links": read_link_tests,
    }
    given = {name: path for name, path in paths.items() if path is not None}
    if len(given) == 1 and observed is None:
        ((name, path),) = given.items()
        return readers[name](path, plan)
    if not isinstance(observed, Observed) or given:
        raise ParameterError(
            "give exactly one of observed (what read_lldp and its like return), lldp, ocs, dumps, netbox and links"
        )
    return observed


class _View:
    """A plan with the fixed cabling that there is and what was seen of it, receiver by receiver."""

    def __init__(self, real: AsCabled) -> None:
        self.plan = plan = real.plan
        self.observed = observed = real.observed
        self.real = real
        self.end = {end.source: end for end in plan.end.values()}
        self.ways = Ways(plan, observed.circuits)
        self.wanted: dict[Lane, tuple[Lane, str]] = {}
        for connect in plan.connects:
            a, b = connect.a.source, connect.b.source
            self.wanted[b] = a, connect.cable
            if connect.mode == "duplex":
                self.wanted[a] = b, connect.cable
        self.receiver = {sender: receiver for receiver, (sender, _) in self.wanted.items()}
        self.heard_by = {sender: receiver for receiver, sender in observed.heard.items()}
        self.sides = ("A", "B") if plan.mode == "simplex" else ("AB", "AB")
        self.astray = {
            receiver: sender
            for receiver, sender in observed.heard.items()
            if {receiver.host, sender.host} <= plan.node.keys() and not self.ways.carries(sender, receiver)
        }

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong: first what no patch does, then rings of swapped patches, then the rest."""
        if self.observed.unseen:
            hosts = " ".join(sorted(self.observed.unseen))
            yield Finding("unseen", (), f"nothing is told of what these hear, which counts as planned: {hosts}")
        if self.observed.outsiders:
            names = " ".join(self.observed.outsiders)
            yield Finding("outsider", (), f"there is something told of hosts that the inventory lacks: {names}")
        for receiver, words in self.observed.unclear.items():
            advice = "is there a hub or a switch between, or an entry that has yet to age out? it counts as planned"
            yield Finding("unclear", self._cables(receiver), f"{self._at(receiver, 1)} {words}: {advice}")
        for words in self.observed.faults:
            yield Finding("cable", (), words)
        yield from self._once(list(self._circuits()))
        yield from self._exchanged()
        doubtful = {lane for doubt in self.real.doubts for one in doubt for lane in one.lanes}
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
        rings = list(self._rings(wrong))
        apart: dict[frozenset[str], list[Lane]] = {}
        for ring in sorted(rings, key=self._backward):  # duplex patches tell in both directions, so of two rings one
            apart.setdefault(frozenset(self.wanted[receiver][1] for receiver in ring), ring)
        for ring in apart.values():
            yield self._swapped(ring)
        ringed = {receiver for ring in rings for receiver in ring}
        yield from self._once(
            [self._misled(receiver, sender) for receiver, sender in wrong.items() if receiver not in ringed]
        )
        for receiver, words in self.observed.strangers.items():
            yield Finding(
                "wrong port",
                self._cables(receiver),
                f"{self._at(receiver, 1)} hears {words}, which the inventory lacks",
            )
        told = self.observed.heard.keys() | self.observed.strangers.keys() | self.observed.unclear.keys()
        silent = [receiver for receiver in self.wanted if receiver not in told]
        yield from self._once([self._silent(r) for r in silent if r.host not in self.observed.unseen])

    def built(self) -> tuple[CrossConnect, ...]:
        """Return the patches that are there, each with the name of the planned one that begins there."""
        heard = {r: s for r, s in self.observed.heard.items() if self.ways.carries(s, r)}
        taken = set(heard.values())
        for receiver, (sender, _) in self.wanted.items():
            unknown = receiver.host in self.observed.unseen or receiver in self.observed.unclear
            if unknown and receiver not in heard and sender not in taken:
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
            link = self.plan.node[sender.host], self.plan.node[receiver.host]
            connects.append(CrossConnect(name, self.plan.mode, link, self.end[sender], self.end[receiver]))
        return tuple(connects)

    def _rings(self, wrong: dict[Lane, Lane]) -> Iterator[list[Lane]]:
        """Yield receivers each of which hears what the next should hear, the last what the first should."""
        after = {receiver: self.receiver.get(sender) for receiver, sender in wrong.items()}
        done: set[Lane] = set()
        for start in wrong:
            trail: dict[Lane, None] = {}
            receiver: Lane | None = start
            while receiver in after and receiver not in done and receiver not in trail:
                trail[receiver] = None
                receiver = after[receiver]
            if receiver in trail:
                order = list(trail)
                yield order[order.index(receiver) :]
            done |= trail.keys()

    def _backward(self, ring: list[Lane]) -> int:
        """Return how many receivers are those at which their patch begins, by :meth:`built`."""
        return sum(receiver < self.observed.heard[receiver] for receiver in ring)

    def _once(self, findings: list[Finding]) -> Iterator[Finding]:
        """Yield findings, of duplex patches the first only: they are wrong in both directions."""
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
        """Return the fixed cables that look the same if they are exchanged, as two of a ring may in a duplex plan."""
        switch = self.end[ring[0]].panel in self.plan.inventory.switches
        if self.plan.mode == "simplex" or len(ring) > 2 or (switch and self.observed.circuits is not None):
            return ""
        sides = ring, [self.wanted[receiver][0] for receiver in ring]
        options = " or ".join(filter(None, map(self.names.likely, sides)))
        ask = "; its circuits tell which (--dumps)" if switch else ""
        return f", or else {options} are{ask}" if options else ""

    def _misled(self, receiver: Lane, sender: Lane) -> Finding:
        if receiver not in self.wanted:
            owner = self.receiver.get(sender)
            belongs = "" if owner is None else f"; the other end of that belongs at {self._at(owner, 1)}"
            words = f"{self._at(receiver, 1)} should hear nothing and hears {self._name(sender)}{belongs}"
            return Finding("unexpected", self._cables(owner), words)
        same = sender.host == self.wanted[receiver][0].host
        note = ": the right host, another lane" if same else ""
        place = place_name(self.end[receiver], self.sides[1])
        words = f"wrong fibre in {place}: {self._hears(receiver, sender)}{note}"
        return Finding("wrong port", self._cables(receiver), words)

    def _circuits(self) -> Iterator[Finding]:
        """Yield the circuits that are not as planned, where switches have told theirs beside what hosts hear."""
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

    def _light(self, receiver: Lane, sender: Lane) -> str:
        """Return which fibres of a link are dark, as far as light is told."""
        light = self.observed.light
        lanes = (receiver, sender) if self.plan.mode == "duplex" else (receiver,)
        lit = [lane for lane in lanes if light.get(lane, -math.inf) > DARK]
        dark = [lane for lane in lanes if lane in light and lane not in lit]
        if not lit and not dark:
            return ""
        power = ", ".join(f"{light[lane]:g} dBm at {self._name(lane)}" for lane in (*dark, *lit))
        if not dark:
            return f"; light arrives, so look at the ports and at what they say by LLDP ({power})"
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
        words = (
            f"no light from {self._at(sender, 0)} to {self._at(receiver, 1)}: is {cable} plugged in, clean and whole?"
        )
        return Finding("dark", (cable,), words + self._light(receiver, sender))

    def _impossible(self, receiver: Lane, sender: Lane) -> Finding:
        circuit = self.ways.patchable(sender, receiver)
        why = "the switch says another circuit" if circuit else "no patch can do that"
        words = f"{self._hears(receiver, sender)}; {why}, so the fixed cabling is not as recorded"
        return Finding("cabling", self._cables(receiver), words)

    @cached_property
    def names(self) -> FixedNames:
        """Names of fixed cables."""
        return FixedNames(self.plan)

    def _exchanged(self) -> Iterator[Finding]:
        """Yield the fixed cables that are in each other's places."""
        for doubt in self.real.doubts:
            names = dict.fromkeys(name for one in doubt for name in one.cables)
            words = " or ".join(one.words for one in doubt)
            seen = tuple(
                self._hears(receiver, sender)
                for receiver, sender in self.astray.items()
                if any({receiver, sender} & set(one.lanes) for one in doubt)
            )
            yield Finding("cabling", tuple(names), f"{words} are exchanged, as hosts hear what no patch brings", seen)
        for one in self.real.exchanges:
            advice = "exchange them back, or leave them: all else that is said here counts with them as they are"
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

    def _name(self, lane: Lane) -> str:
        return self.plan.lane_name(End(lane.host, lane.port, lane.lane, "", ""))

    def _at(self, lane: Lane, side: int) -> str:
        end = self.end.get(lane)
        return self._name(lane) + (f" ({place_name(end, self.sides[side])})" if end is not None else "")
