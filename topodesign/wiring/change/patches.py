"""Patches under change, with fibres and names of new ones.

New patches take fibres that are free, or those of patches that go. Patches that take each other's fibres have to be
moved together. They form alternating paths and cycles of patches that go and patches that come; short ones let a change
be split into many stages. So a path that comes back to a host, side and field is cut there: the loop becomes a cycle of
its own. Then none darkens two links of a host on one side.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from topodesign.base.claims import Claim, Of, Proof, Scope
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError
from topodesign.topology.topology import Topology
from topodesign.wiring.plan.cross_connects import CrossConnect, End, Fibre, fibres
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import check_plan

Spot = tuple[str, str, str]
"""A host, a side (``A``, ``B`` or ``AB``) and a field of panels, among whose fibres there is a choice."""


class _Item(NamedTuple):
    """One end of a ``new`` or ``old`` patch."""

    kind: Literal["new", "old"]
    number: int
    end: int

    def other(self) -> _Item:
        return self._replace(end=1 - self.end)


class Pairing:
    """Choice of fibres, link by link.

    ``new``: the spots of the two ends of every link to be made. ``old``: the same of the patches that go, with their
    ends. ``free``: ends whose fibres are free already, by spot.
    """

    def __init__(
        self,
        new: Sequence[tuple[Spot, Spot]],
        old: Sequence[tuple[tuple[Spot, End], tuple[Spot, End]]],
        free: dict[Spot, list[End]],
    ) -> None:
        self._spots = {_Item("new", i, k): pair[k] for i, pair in enumerate(new) for k in (0, 1)}
        self._ends = {_Item("old", i, k): pair[k][1] for i, pair in enumerate(old) for k in (0, 1)}
        self._spots |= {_Item("old", i, k): pair[k][0] for i, pair in enumerate(old) for k in (0, 1)}
        self._free = free
        self._waiting: dict[tuple[str, Spot], dict[_Item, None]] = defaultdict(dict)
        for item, spot in self._spots.items():
            self._waiting[item.kind, spot][item] = None
        self._chosen: dict[_Item, End] = {}
        self._count = len(new)

    def wish(self, number: int, ends: tuple[End, End]) -> bool:
        """Assign ends to a link if available; return success."""
        items = _Item("new", number, 0), _Item("new", number, 1)
        found = [self._find(item, end) for item, end in zip(items, ends, strict=True)]
        if not all(found):
            return False
        for item, end in zip(items, ends, strict=True):
            source = self._find(item, end)
            if isinstance(source, _Item):
                self._remove(source)
            else:
                self._free[self._spots[item]].remove(end)
            self._remove(item)
            self._chosen[item] = end
        return True

    def settle(self) -> list[tuple[End, End]]:
        """Assign ends to the remaining links; return all."""
        for item in [item for item in self._spots if item.kind == "new"]:
            if item in self._waiting[item.kind, self._spots[item]]:
                self._remove(item)
                self._walk(item)
        return [(self._chosen[_Item("new", i, 0)], self._chosen[_Item("new", i, 1)]) for i in range(self._count)]

    def _find(self, item: _Item, end: End) -> _Item | Literal[True] | None:
        spot = self._spots[item]
        if end in self._free.get(spot, ()):
            return True
        return next((old for old in self._waiting["old", spot] if self._ends[old] == end), None)

    def _remove(self, item: _Item) -> None:
        del self._waiting[item.kind, self._spots[item]][item]

    def _walk(self, item: _Item) -> None:
        """Pair new ends with old ends along a path."""
        trail: list[tuple[_Item, _Item]] = []
        seen: dict[tuple[str, Spot], int] = {}
        while True:
            place = item.kind, self._spots[item]
            if place in seen:  # cut the loop off
                start = seen[place]
                first, partner = trail[start]
                self._pair([(item, partner), *trail[start + 1 :]])
                for one, _ in trail[start:]:
                    del seen[one.kind, self._spots[one]]
                del trail[start:]
                item = first
                continue
            options = self._waiting["old" if item.kind == "new" else "new", place[1]]
            if not options:
                if item.kind == "new":
                    self._chosen[item] = self._free[self._spots[item]].pop(0)
                else:  # it frees a fibre that nobody takes yet
                    self._waiting[item.kind, self._spots[item]][item] = None
                break
            partner = next(iter(options))
            self._remove(partner)
            seen[place] = len(trail)
            trail.append((item, partner))
            item = partner.other()
            if item not in self._waiting[item.kind, self._spots[item]]:
                break
            self._remove(item)
        self._pair(trail)

    def _pair(self, pairs: Iterable[tuple[_Item, _Item]]) -> None:
        for one, two in pairs:
            new, old = (one, two) if one.kind == "new" else (two, one)
            self._chosen[new] = self._ends[old]


Key = tuple[str, str]  # where links are counted: a host and a side

Pair = tuple[str, str]  # the hosts of a patch, from the first to the second


@dataclass(frozen=True)
class Change(Declared):
    """Change of a plan: the patches to move.

    * ``before``, ``after``: the wiring that exists, and the one wanted.
    * ``removed``, ``made``: patches that go and patches that come. Where a cable only moves one end, the new patch has
      its name.
    """

    before: WiringPlan
    after: WiringPlan
    removed: tuple[CrossConnect, ...]
    made: tuple[CrossConnect, ...]
    at_least: int  # moves that are proven to be needed, whatever the order of the hosts if that was free
    placed: bool = False  # whether it was not: the hosts were settled before
    proof: Proof = Proof.BOUND  # how it is known that so many are needed

    KEYS = (
        "moves",
        key("hosts=after.hosts", "The host that is each node afterwards."),
        key("words=instructions", "What to do, a line for each patch."),
    )
    SHARED = "change"

    @property
    def claim(self) -> Claim:
        """Whether other changes need fewer moves."""
        proof, by = self.proof, "a link that is missing takes a patch, and one too many leaves"
        if not self.placed:
            by = (
                "all orders of the hosts were searched" if proof is Proof.SEARCH else "no order of the hosts keeps more"
            )
        among = Scope.PLACED_CHANGES if self.placed else Scope.CHANGES
        if self.fewest:
            return Claim(Of.MOVES, self.moves, among, proof, self.at_least, by)
        return Claim(Of.MOVES, self.moves, among, Proof.NONE, self.at_least)

    @property
    def fewest(self) -> bool:
        """Whether the number of moves is proven minimum."""
        return self.moves == self.at_least

    @property
    def moves(self) -> int:
        """Number of patches to move, plug in or remove."""
        return max(len(self.removed), len(self.made))

    @property
    def new(self) -> int:
        """Number of patches that are new: no removed one has their name."""
        return len({connect.cable for connect in self.made} - {connect.cable for connect in self.removed})

    @property
    def gone(self) -> int:
        """Number of patches that are taken out and not plugged in again."""
        return len({connect.cable for connect in self.removed} - {connect.cable for connect in self.made})

    @property
    def least_so(self) -> int:
        """Minimum moves with present hosts, ignoring panels."""
        before, after = (
            Counter(
                (c.a.host, c.b.host) if plan.mode == "simplex" else tuple(sorted((c.a.host, c.b.host)))
                for c in plan.connects
            )
            for plan in (self.before, self.after)
        )
        return max(before.total(), after.total()) - (before & after).total()

    @property
    def kept(self) -> int:
        """Number of patches that stay."""
        return len(self.before.connects) - len(self.removed)

    def instructions(self) -> list[str]:
        """Return the instructions, one line per patch."""
        return [job.words for job in jobs(self.after, self.removed, self.made)]


def make_topology(hosts: Sequence[str], connects: Iterable[CrossConnect]) -> Topology:
    """Return the links of patches between given hosts."""
    number = {host: node for node, host in enumerate(hosts)}
    both = [(a.host, b.host) for connect in connects for a, b in connect.ways]
    links = [(number[u], number[v]) for u, v in both if u in number and v in number]
    return Topology.from_links(len(hosts), links)


def as_simplex(plan: WiringPlan) -> WiringPlan:
    """Return a plan with one-way patches, two per duplex one."""
    if plan.mode == "simplex":
        return plan
    stuck = next(
        (end for c in plan.connects for end in (c.a, c.b) if not plan.inventory.panel_port[end.place].takes("simplex")),
        None,
    )
    if stuck is not None:
        raise InfeasibleError(f"port '{stuck.panel_port}' of '{stuck.panel}' cannot be patched one way")
    connects = [
        CrossConnect(f"{connect.cable}-{number}", "simplex", *way)
        for connect in plan.connects
        for number, way in enumerate(connect.ways, start=1)
    ]
    return replace(plan, mode="simplex", connects=tuple(connects))


class Patches:
    """Patches under change: kept, removed and usable ends."""

    def __init__(self, plan: WiringPlan) -> None:
        self.plan = plan
        self.field = {panel.name: panel.field for panel in plan.inventory.panels}
        self.sides = ("A", "B") if plan.mode == "simplex" else ("AB", "AB")
        self.spots = ("1", "2") if plan.inventory.two_sided else self.sides  # what distinguishes the ends of a link
        self.ends = [end for end in plan.net.end.values() if plan.inventory.panel_port[end.place].takes(plan.mode)]
        self.position = {end: row for row, end in enumerate(plan.inventory.panel_port)}
        self.kept: list[CrossConnect] = []
        self.removed: list[CrossConnect] = []

    def place(self, connect: CrossConnect) -> int:
        """Return a patch's sort position, by its first end."""
        return self.position[connect.a.place]

    def keep(self, links: Counter[tuple[Pair, str]], connects: Iterable[CrossConnect]) -> list[tuple[Pair, str]]:
        """Keep the patches that links need; return missing links.

        Patches are considered in order.
        """
        missing = Counter(links)
        for connect in connects:
            pair, field = (connect.a.host, connect.b.host), self.field[connect.a.panel]
            if self.spots == ("AB", "AB") and not missing[pair, field]:
                pair = pair[::-1]
            if missing[pair, field]:
                missing[pair, field] -= 1
                self.kept.append(connect)
            else:
                self.removed.append(connect)
        self.removed.sort(key=self.place)
        return list(missing.elements())

    def patches(self, links: list[tuple[Pair, str]], prefer: Iterable[CrossConnect]) -> list[CrossConnect]:
        """Return patches for links, with their fibres and names."""
        spots = [self._spots(pair, field) for pair, field in links]
        old = []
        for connect in self.removed:
            one, two = self._spots((connect.a.host, connect.b.host), self.field[connect.a.panel])
            old.append(((one, connect.a), (two, connect.b)))
        pairing = Pairing(spots, old, self._free_ends())
        wishes = _wishes(prefer)
        wished: dict[int, str] = {}
        for number, (pair, _) in enumerate(links):
            wish = next((one for one in wishes[pair] if pairing.wish(number, one[1:])), None)
            if wish is not None:
                wishes[pair].remove(wish)
                wished[number] = wish[0]
        return self.name_patches(pairing.settle(), wished)

    def name_patches(self, ends: list[tuple[End, End]], wished: dict[int, str]) -> list[CrossConnect]:
        """Return patches between given ends."""
        names = self._names(ends, wished)
        return [CrossConnect(name, self.plan.mode, *pair) for name, pair in zip(names, ends, strict=True)]

    def make_change(
        self, wanted: Topology, hosts: tuple[str, ...], made: Iterable[CrossConnect], at_least: int
    ) -> Change:
        """Return the checked change to the kept and new patches."""
        new = tuple(made)
        connects = tuple(sorted((*self.kept, *new), key=self.place))
        after = WiringPlan(self.plan.inventory, wanted, hosts, self.plan.mode, connects, self.plan.fixed)
        check_plan(after)
        return Change(self.plan, after, tuple(self.removed), new, at_least)

    def with_ends(self, change: Change, ends: list[tuple[End, End]]) -> Change:
        """Return a change with other ends for new patches.

        New patches have the names of cables that are plugged in there.
        """
        names = self._names(ends, {})
        made = tuple(
            replace(connect, cable=name, a=a, b=b)
            for connect, name, (a, b) in zip(change.made, names, ends, strict=True)
        )
        new = {id(connect) for connect in change.made}
        kept = (connect for connect in change.after.connects if id(connect) not in new)
        after = replace(change.after, connects=tuple(sorted((*kept, *made), key=self.place)))
        return replace(change, after=after, made=made)

    def _names(self, ends: list[tuple[End, End]], wished: dict[int, str]) -> list[str]:
        """Return patch names: plugged cables, wishes, then new names."""
        plugged = {fibre: connect.cable for connect in self.removed for fibre in fibres(connect)}
        options: list[dict[str, None]] = []
        for pair in ends:
            places = (Fibre(*end.place, side) for end, side in zip(pair, self.sides, strict=True))
            options.append(dict.fromkeys(plugged[fibre] for fibre in places if fibre in plugged))
        found = _assign_distinct(options)
        used = {connect.cable for connect in self.plan.connects}
        fresh = (name for name in map("C{}".format, itertools.count(len(used) + 1)) if name not in used)
        for number in range(len(ends)):
            if number not in found:
                wish = wished.get(number)
                found[number] = next(fresh) if wish is None or wish in used else wish
                used.add(found[number])
        return [found[number] for number in range(len(ends))]

    def _spots(self, pair: Pair, field: str) -> tuple[Spot, Spot]:
        (a, b), (one, two) = pair, self.spots
        return (a, one, field), (b, two, field)

    def _free_ends(self) -> dict[Spot, list[End]]:
        """Return the ends whose fibres are free."""
        taken = {fibre for connect in self.plan.connects for fibre in fibres(connect)}
        free: dict[Spot, list[End]] = defaultdict(list)
        for end in self.ends:
            mine = self.plan.inventory.panel_port[end.place].side
            for side, spot in dict(zip(self.spots, self.sides, strict=True)).items():
                if mine in {"", side} and Fibre(*end.place, spot) not in taken:
                    free[end.host, side, self.field[end.panel]].append(end)
        return free


def _wishes(prefer: Iterable[CrossConnect]) -> dict[Pair, list[tuple[str, End, End]]]:
    wishes: dict[Pair, list[tuple[str, End, End]]] = defaultdict(list)
    for connect in prefer:
        for a, b in connect.ways:
            wishes[a.host, b.host].append((connect.cable, a, b))
    return wishes


def _assign_distinct(options: list[dict[str, None]]) -> dict[int, str]:
    """Assign distinct options to numbers, as many as possible.

    The number is maximum if no option is wanted more than twice.
    """
    users: dict[str, list[int]] = defaultdict(list)
    for number, names in enumerate(options):
        for name in names:
            users[name].append(number)
    found: dict[int, str] = {}
    queue = deque(number for number, names in enumerate(options) if len(names) == 1)
    for number in range(len(options)):
        queue.append(number)
        while queue:
            chooser = queue.popleft()
            if chooser in found or not options[chooser]:
                continue
            found[chooser] = name = next(iter(options[chooser]))
            for user in users[name]:
                options[user].pop(name, None)
                if len(options[user]) == 1:
                    queue.appendleft(user)
    return found


def place_name(end: End, side: str) -> str:
    """Return panel, port and single side, as in ``panel1 12B``."""
    return f"{end.panel} {end.panel_port}{side if len(side) == 1 else ''}"


class Job(NamedTuple):
    """Work at one patch."""

    words: str  # in a line
    panels: tuple[str, ...]  # where something is plugged or unplugged
    carries: tuple[tuple[str, str], ...]  # from which panel to which other each end moves that is moved


def jobs(plan: WiringPlan, removed: Iterable[CrossConnect], made: Iterable[CrossConnect]) -> list[Job]:
    """Return the jobs at the panels, removals first.

    A new patch with the name of one that is taken out is the same cable.
    """
    made = list(made)
    old = {connect.cable: connect for connect in removed}
    moved = {connect.cable for connect in made}
    found = [
        Job(f"{connect.cable}: take out of {_ends(connect)}", _panels([connect.a, connect.b]), ())
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
    """Return the old and new places of moved ends."""
    places = dict(zip(fibres(old), (old.a, old.b), strict=True))
    come = [(end, fibre.side) for fibre, end in zip(fibres(new), (new.a, new.b), strict=True) if fibre not in places]
    gone = [(end, fibre.side) for fibre, end in places.items() if fibre not in fibres(new)]
    return list(zip(gone, come, strict=True))
