"""Order of patch moves in stages.

A new patch needs its two fibres, so the patches plugged in there go first, and moves hang together in chains. A stage
takes whole chains as long as no host has too many links dark, but for those that the fabric would not survive. Where no
chain can be taken as a whole, a part of one is moved; the rest of that is then done before another is begun. Where some
outage is allowed, everything is one stage.

Within a stage there is the way of somebody who moves patches: which panel after which, and how many metres that is. At
a panel everything that begins there is done. Panels are visited in the order that makes the shortest way, for up to
``MAX_EXACT`` of them exactly and for more as good as is found; an end that moves to a panel in another rack is carried
there and back besides. Circuit switches are not walked to.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.wording import count_noun
from topodesign.topology.topology import Topology
from topodesign.wiring.change.patches import Change, Job, Key, Patches, Spot, jobs
from topodesign.wiring.change.strength import Strength, strength
from topodesign.wiring.inventory.inventory import Inventory, distance
from topodesign.wiring.plan.cross_connects import CrossConnect, End, fibres
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import check_plan


@dataclass(frozen=True)
class Stage(Declared):
    """Patches that are moved in one stage.

    * ``removed``, ``made``: what is taken out first, and what is plugged in then.
    * ``walk``: the way through the panels.
    * ``dark``: most links of a host, out or in, that are dark meanwhile: that are taken out, or were before and have
      not got others in their place yet.
    * ``during``, ``after``: the links that are lit meanwhile and afterwards, between the hosts that are in both
      wirings, afterwards with those that have come and reach all of them, and after the last stage between all of the
      new one; numbered in its order.
    """

    removed: tuple[CrossConnect, ...]
    made: tuple[CrossConnect, ...]
    walk: Walk
    dark: int
    during: Topology
    after: Topology
    lit_during: Strength | None = None  # while it is done; None if not asked for
    lit_after: Strength | None = None  # when it is done; None if not asked for

    KEYS = (
        key(
            "removed",
            "Patches to be pulled.",
            kind=tuple[str, ...],
            value=lambda one: [c.cable for c in one.removed],
        ),
        key(
            "made",
            "Patches to be plugged: name, and panel and port of both ends.",
            kind=tuple[tuple[str, str, str, str, str], ...],
            value=lambda one: [(c.cable, *c.a.place, *c.b.place) for c in one.made],
        ),
        key("words=walk.lines", "What to do."),
        key(
            "panels",
            "Panels in the order in which to go to them.",
            kind=tuple[str, ...],
            value=lambda one: [panel for panel, _ in one.walk.visits],
        ),
        key("walk_m=walk.metres", "Metres of that way; null where they are not known."),
        key("dark", "Links that a host lacks meanwhile, at most."),
        key("hosts=after.nodes", "Hosts that reach each other when it is done, of those in the new wiring."),
        "during=lit_during after=lit_after",
    )

    def with_strengths(self, speed: Fraction) -> Stage:
        """Return the stage with what its lit links of ``speed`` bit/s can do."""
        return replace(self, lit_during=strength(self.during, speed), lit_after=strength(self.after, speed))


def stages(change: Change, most_dark: int | None) -> tuple[Stage, ...]:
    """Split a change into stages.

    Of a host, ``most_dark`` links may be dark at a time, out and in counted apart; None if all may be, in one stage and
    whether the fabric stays connected or not.
    """
    if most_dark is not None and most_dark < 1:
        raise ParameterError(f"at least one link of a host must go dark to be moved, not {most_dark}")
    work = _Work(change)
    if most_dark is None:
        jobs = [job for chain in work.chains for job in chain]
        return (work.move(jobs),) if jobs else ()
    found = []
    while work.open or work.chains:
        found.append(work.stage(most_dark))
    return tuple(found)


class _Work:
    """Lit links and remaining work.

    Patches are given by number, those that exist first. A job is a new patch, or none, with the patches that have to go
    for it; jobs and the keys of fibres (a host and a side) have numbers, too.
    """

    def __init__(self, change: Change) -> None:
        self.hosts = tuple(host for host in change.after.hosts if host in change.before.node)
        self.wanted, self.last_hosts = change.after, change.after.hosts
        self.patches = [*change.before.connects, *change.made]
        old = len(change.before.connects)
        self.lit = np.arange(len(self.patches)) < old
        places = [fibres(connect) for connect in self.patches]
        ends = [(connect.a.host, connect.b.host) for connect in self.patches]
        keys: dict[Key, int] = {}
        self.keys = [
            tuple(keys.setdefault((host, place.side), len(keys)) for host, place in zip(pair, two, strict=True))
            for pair, two in zip(ends, places, strict=True)
        ]
        wanted = {place for two in places[old:] for place in two}
        self.replaced = [tuple(place in wanted for place in two) for two in places]
        removed = set(map(fibres, change.removed))
        user = {place: number for number, two in enumerate(places[:old]) if two in removed for place in two}
        self.filled = [tuple(place in user for place in two) for two in places]
        self.made: list[int | None] = list(range(old, len(self.patches)))
        self.needs = [sorted({user[place] for place in two if place in user}) for two in places[old:]]
        needed = {number for some in self.needs for number in some}
        for number in sorted(set(user.values()) - needed):
            self.made.append(None)
            self.needs.append([number])
        self.dark = [0] * len(keys)
        self.chains = sorted(_chains(self.needs), key=len, reverse=True)
        self.open: list[int] = []  # jobs of a chain that is begun
        self.graph = _Graph(self.hosts, self.patches)
        self.whole = _Graph(self.last_hosts, self.patches)

    def stage(self, most_dark: int) -> Stage:
        """Choose and move the next patches."""
        chains = [self.open, *self.chains] if self.open else self.chains
        whole = self._few_dark(chains, most_dark)
        if self.graph.is_connected(self.lit):
            jobs = _join_chains(self._survivors(whole)) or self._part(chains, most_dark)
        else:  # what is not connected cannot stay so
            jobs = _join_chains(whole) or next(filter(None, (self._few(chain, most_dark) for chain in chains)), [])
        if not jobs:
            raise InfeasibleError(
                f"no order of the moves is found with at most {count_noun(most_dark, 'dark link')} a host and a fabric "
                f"that stays connected ({sum(map(len, chains))} moves are left); allow more dark links, or downtime"
            )
        return self.move(jobs)

    def move(self, jobs: list[int]) -> Stage:
        """Move the patches of some jobs in one stage."""
        gone = self._list_removed(jobs)
        self.lit[gone] = False
        self._darken(gone, 1)
        during, dark = self.graph.topology(self.lit), max(self.dark, default=0)
        made = [number for number in (self.made[job] for job in jobs) if number is not None]
        self.lit[made] = True
        for number in gone:  # a fibre that nothing is plugged into again is not missed any longer
            for fibre, again in zip(self.keys[number], self.replaced[number], strict=True):
                self.dark[fibre] -= not again
        for number in made:
            for fibre, filled in zip(self.keys[number], self.filled[number], strict=True):
                self.dark[fibre] -= filled
        done = set(jobs)
        left = [[job for job in chain if job not in done] for chain in self.chains]
        self.open = [job for job in self.open if job not in done]
        for chain, rest in zip(self.chains, left, strict=True):
            if rest and len(rest) < len(chain):
                self.open += rest
        self.chains = [rest for chain, rest in zip(self.chains, left, strict=True) if len(rest) == len(chain)]
        hosts = self._connect_hosts() if self.open or self.chains else self.last_hosts
        known = next((graph for graph in (self.graph, self.whole) if graph.hosts == hosts), None)
        after = (known or _Graph(hosts, self.patches)).topology(self.lit)
        removed, come = (tuple(self.patches[number] for number in some) for some in (gone, made))
        return Stage(removed, come, walk_of(self.wanted, removed, come), dark, during, after)

    def _connect_hosts(self) -> tuple[str, ...]:
        """Return the common hosts, with connected new hosts."""
        if len(self.hosts) == len(self.last_hosts) or not self.hosts or not self.graph.is_connected(self.lit):
            return self.hosts
        part = self.whole.parts(self.lit)
        return tuple(host for host, number in part.items() if number == part[self.hosts[0]])

    def _few_dark(self, chains: Iterable[list[int]], most_dark: int) -> list[list[int]]:
        """Return chains that jointly darken few enough links."""
        chosen: list[list[int]] = []
        gone: dict[int, None] = {}
        for chain in chains:
            new = [number for number in self._list_removed(chain) if number not in gone]
            self._darken(new, 1)
            if any(self.dark[key] > most_dark for number in new for key in self.keys[number]):
                self._darken(new, -1)
            else:
                chosen.append(chain)
                gone |= dict.fromkeys(new)
        self._darken(gone, -1)
        return chosen

    def _few(self, chain: list[int], most_dark: int) -> list[int]:
        """Return a chain's jobs that jointly darken few links."""
        order = sorted(chain, key=lambda job: len(self._list_removed([job])))
        return _join_chains(self._few_dark([[job] for job in order], most_dark))

    def _part(self, chains: list[list[int]], most_dark: int) -> list[int]:
        """Return the movable part of one chain."""
        for chain in chains:
            part = _join_chains(self._survivors([[job] for job in self._few(chain, most_dark)]))
            if part:
                return part
        return []

    def _survivors(self, chains: list[list[int]]) -> list[list[int]]:
        """Return chains that jointly leave the fabric connected."""
        taken: list[list[int]] = []
        found = self._take_chains(chains, taken)
        for gone in taken:
            self.lit[gone] = True
        return found

    def _take_chains(self, chains: list[list[int]], taken: list[list[int]]) -> list[list[int]]:
        """Take chains that the fabric survives, by halving."""
        gone = self._list_removed(_join_chains(chains))
        self.lit[gone] = False
        if self.graph.is_connected(self.lit):
            taken.append(gone)
            return chains
        self.lit[gone] = True
        if len(chains) <= 1:
            return []
        half = len(chains) // 2
        first = self._take_chains(chains[:half], taken)
        return first + self._take_chains(chains[half:], taken)

    def _list_removed(self, jobs: Iterable[int]) -> list[int]:
        """Return the patches to remove for some jobs."""
        return [n for n in dict.fromkeys(n for job in jobs for n in self.needs[job]) if self.lit[n]]

    def _darken(self, patches: Iterable[int], sign: int) -> None:
        for number in patches:
            for fibre in self.keys[number]:
                self.dark[fibre] += sign


class _Graph:
    """Links of patches between some hosts."""

    def __init__(self, hosts: Sequence[str], patches: Sequence[CrossConnect]) -> None:
        node = {host: number for number, host in enumerate(hosts)}
        both = [(a.host, b.host, number) for number, connect in enumerate(patches) for a, b in connect.ways]
        links = [(node[u], node[v], number) for u, v, number in both if u in node and v in node]
        table = np.array(sorted(links), dtype=np.int64).reshape(-1, 3)
        self.hosts, self.nodes = tuple(hosts), len(hosts)
        self.src, self.dst, self.patch = table.T

    def topology(self, lit: NDArray[np.bool_]) -> Topology:
        """Return the links of lit patches."""
        there = lit[self.patch]
        return Topology.from_arrays(self.nodes, self.src[there], self.dst[there])

    def is_connected(self, lit: NDArray[np.bool_]) -> bool:
        """Return whether lit patches connect all hosts."""
        return not self.nodes or len(set(self.parts(lit).values())) == 1

    def parts(self, lit: NDArray[np.bool_]) -> dict[str, int]:
        """Return each host's strong component over lit patches."""
        from scipy.sparse import csr_array  # noqa: PLC0415  heavy
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

        there = lit[self.patch]
        starts = np.searchsorted(self.src[there], np.arange(self.nodes + 1))
        target = self.dst[there]
        matrix = csr_array((np.ones(len(target)), target, starts), shape=(self.nodes, self.nodes))
        matrix.sum_duplicates()  # of parallel links, which the search for components does not survive
        return dict(zip(self.hosts, connected_components(matrix, connection="strong")[1].tolist(), strict=True))


def _join_chains(chains: Iterable[list[int]]) -> list[int]:
    return [job for chain in chains for job in chain]


def _chains(needs: list[list[int]]) -> list[list[int]]:
    """Group jobs that need the same patches removed."""
    users: dict[int, list[int]] = defaultdict(list)
    for job, patches in enumerate(needs):
        for number in patches:
            users[number].append(job)
    found, done = [], set()
    for first in range(len(needs)):
        if first in done:
            continue
        done.add(first)
        chain, todo = [], [first]
        while todo:
            job = todo.pop()
            chain.append(job)
            new = dict.fromkeys(user for number in needs[job] for user in users[number] if user not in done)
            done.update(new)
            todo += new
        found.append(chain)
    return found


MAX_EXACT = 9  # panels of which all orders are compared

_TURNS = 40  # of the search that turns parts of a way round
_MAX_STARTS = 12


@dataclass(frozen=True)
class Walk:
    """Walk through the panels of a stage."""

    visits: tuple[tuple[str, tuple[str, ...]], ...]  # panels in their order, with what is begun there, line by line
    metres: Fraction | None  # of the way, from the first panel on; None where nobody says where they stand

    @property
    def lines(self) -> list[str]:
        """Instructions, in order."""
        return [line for _, lines in self.visits for line in lines]


def walk_of(plan: WiringPlan, removed: Iterable[CrossConnect], made: Iterable[CrossConnect]) -> Walk:
    """Return the walk to remove and plug given patches."""
    return walk_of_jobs(plan.inventory, jobs(plan, removed, made))


def walk_of_jobs(inventory: Inventory, todo: Sequence[Job]) -> Walk:
    """Return the walk for given jobs."""
    touched = dict.fromkeys(panel for job in todo for panel in job.panels)
    by_hand = [panel for panel in inventory.panel if panel in touched and panel not in inventory.switches]
    others = [panel for panel in inventory.switches if panel in touched]
    others += [panel for panel in touched if panel not in inventory.panel]  # which are no longer there
    apart = _distances(inventory, by_hand)
    order = by_hand if apart is None else [by_hand[place] for place in _shortest(apart)]
    metres = None
    if apart is not None:
        metres = sum((apart[by_hand.index(a)][by_hand.index(b)] for a, b in itertools.pairwise(order)), Fraction(0))
        ways = ((a, b) for job in todo for a, b in job.carries if {a, b} <= inventory.panel.keys())
        carried = ((a, b) for a, b in ways if inventory.place(a)[:2] != inventory.place(b)[:2])
        metres += sum((2 * (distance(inventory, *way) or 0) for way in carried), 0)
    place = {panel: number for number, panel in enumerate((*order, *others))}
    lines: dict[str, list[str]] = {panel: [] for panel in place}
    for job in todo:
        lines[min(job.panels, key=place.__getitem__)].append(job.words)
    return Walk(tuple((panel, tuple(some)) for panel, some in lines.items() if some), metres)


Table = tuple[tuple[Fraction, ...], ...]  # metres from each place to each


def _distances(inventory: Inventory, panels: Sequence[str]) -> Table | None:
    """Return the metres between panels, 0 within a rack."""
    table = []
    for a in panels:
        row = []
        for b in panels:
            same = inventory.place(a)[:2] == inventory.place(b)[:2]
            metres = Fraction(0) if same else distance(inventory, a, b)
            if metres is None:
                return None
            row.append(metres)
        table.append(tuple(row))
    return tuple(table)


@lru_cache(maxsize=64)  # changes that are compared have the same panels
def _shortest(apart: Table) -> list[int]:
    """Return the order of a short open route."""
    if len(apart) <= MAX_EXACT:
        return _exact(apart)
    ways = (_shorten_route(_nearest(apart, start), apart) for start in range(min(len(apart), _MAX_STARTS)))
    return min(ways, key=lambda way: _metres(way, apart))


def _metres(way: Sequence[int], apart: Table) -> Fraction:
    return sum((apart[a][b] for a, b in itertools.pairwise(way)), Fraction(0))


def _exact(apart: Table) -> list[int]:
    """Return the shortest route by dynamic programming (Held-Karp)."""
    best: dict[tuple[int, int], tuple[Fraction, tuple[int, ...]]] = {
        (1 << place, place): (Fraction(0), (place,)) for place in range(len(apart))
    }
    for _ in range(1, len(apart)):
        longer: dict[tuple[int, int], tuple[Fraction, tuple[int, ...]]] = {}
        for (been, last), (metres, way) in best.items():
            for place in range(len(apart)):
                if not been >> place & 1:
                    key, value = (been | 1 << place, place), (metres + apart[last][place], (*way, place))
                    longer[key] = min(longer.get(key, value), value)
        best = longer
    return list(min(best.values())[1]) if best else []


def _nearest(apart: Table, start: int) -> list[int]:
    """Return the nearest-neighbour route from a start."""
    way, left = [start], set(range(len(apart))) - {start}
    while left:
        way.append(min(left, key=lambda place: (apart[way[-1]][place], place)))
        left.remove(way[-1])
    return way


def _shorten_route(way: list[int], apart: Table) -> list[int]:
    """Reverse segments of a route while that shortens it."""
    for _ in range(_TURNS):
        metres = _metres(way, apart)
        for i, j in itertools.combinations(range(len(way) + 1), 2):
            other = way[:i] + way[i:j][::-1] + way[j:]
            if j - i > 1 and _metres(other, apart) < metres:
                way = other
                break
        else:
            break
    return way


_MAX_SWAPS = 600  # that are tried to walk less


def with_less_way(change: Change) -> Change:
    """Return an equal change with less walking.

    New patches of a host exchange their fibres.

    Two new patches that end at fibres of one host, side and field take each other's as long as that shortens the way
    through all panels. The same change comes back if nothing is known about where panels stand, or nothing is found.
    """
    ends = [(connect.a, connect.b) for connect in change.made]
    if len({end.panel for pair in ends for end in pair}) < 2:
        return change
    wiring = Patches(change.before)
    wiring.removed = list(change.removed)
    best, metres = change, walk_of(change.after, change.removed, change.made).metres
    spots: dict[Spot, list[tuple[int, int]]] = defaultdict(list)
    for number, pair in enumerate(ends):
        for place, (end, side) in enumerate(zip(pair, wiring.spots, strict=True)):
            spots[end.host, side, wiring.field[end.panel]].append((number, place))
    tries = _MAX_SWAPS
    better = metres is not None
    while better and metres is not None:
        better = False
        for places in spots.values():
            for one, other in itertools.combinations(places, 2):
                if (tries := tries - 1) < 0:
                    return best
                swapped = _swap_ends([(connect.a, connect.b) for connect in best.made], one, other)
                candidate = wiring.with_ends(best, swapped)
                less = walk_of(candidate.after, candidate.removed, candidate.made).metres
                if less is not None and less < metres:
                    best, metres, better = candidate, less, True
    if best is not change:
        check_plan(best.after)
    return best


def _swap_ends(ends: list[tuple[End, End]], one: tuple[int, int], other: tuple[int, int]) -> list[tuple[End, End]]:
    found = [list(pair) for pair in ends]
    (i, j), (k, m) = one, other
    found[i][j], found[k][m] = found[k][m], found[i][j]
    return [(a, b) for a, b in found]
