"""The way of somebody who moves patches: which panel after which, and how many metres that is.

At a panel everything that begins there is done. Panels are visited in the order that makes the shortest way, for up to
``MOST_EXACT`` of them exactly and for more as good as is found; an end that moves to a panel in another rack is carried
there and back besides. Circuit switches are not walked to.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from topodesign.wiring.change.patches import Change, Job, Patches, Spot, jobs
from topodesign.wiring.inventory.inventory import Inventory, distance
from topodesign.wiring.plan.cross_connects import CrossConnect, End
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import check_plan

MOST_EXACT = 9  # panels of which all orders are compared

_TURNS = 40  # of the search that turns parts of a way round
_MOST_STARTS = 12


@dataclass(frozen=True)
class Walk:
    """The way through the panels of a stage."""

    visits: tuple[tuple[str, tuple[str, ...]], ...]  # panels in their order, with what is begun there, line by line
    metres: Fraction | None  # of the way, from the first panel on; None where nobody says where they stand

    @property
    def lines(self) -> list[str]:
        """What to do, in order."""
        return [line for _, lines in self.visits for line in lines]


def walk_of(plan: WiringPlan, removed: Iterable[CrossConnect], made: Iterable[CrossConnect]) -> Walk:
    """Return the way of who takes patches out and makes others."""
    return walk_of_jobs(plan.inventory, jobs(plan, removed, made))


def walk_of_jobs(inventory: Inventory, todo: Sequence[Job]) -> Walk:
    """Return the way of who does these jobs."""
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
    """Return the metres between panels; None if some are unknown. In a rack nobody walks."""
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
    """Return the order of a short open way through all places."""
    if len(apart) <= MOST_EXACT:
        return _exact(apart)
    ways = (_turned(_nearest(apart, start), apart) for start in range(min(len(apart), _MOST_STARTS)))
    return min(ways, key=lambda way: _metres(way, apart))


def _metres(way: Sequence[int], apart: Table) -> Fraction:
    return sum((apart[a][b] for a, b in itertools.pairwise(way)), Fraction(0))


def _exact(apart: Table) -> list[int]:
    """Return the shortest way, by the shortest ways through all sets of places (Held and Karp)."""
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
    """Return the way that goes to the nearest place left each time."""
    way, left = [start], set(range(len(apart))) - {start}
    while left:
        way.append(min(left, key=lambda place: (apart[way[-1]][place], place)))
        left.remove(way[-1])
    return way


def _turned(way: list[int], apart: Table) -> list[int]:
    """Turn parts of a way round as long as that makes it shorter."""
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


_MOST_SWAPS = 600  # that are tried to walk less


def with_less_way(change: Change) -> Change:
    """Return a change with the same hosts and moves, new patches of a host taking fibres so that less is walked.

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
    tries = _MOST_SWAPS
    better = metres is not None
    while better and metres is not None:
        better = False
        for places in spots.values():
            for one, other in itertools.combinations(places, 2):
                if (tries := tries - 1) < 0:
                    return best
                swapped = _swapped([(connect.a, connect.b) for connect in best.made], one, other)
                candidate = wiring.with_ends(best, swapped)
                less = walk_of(candidate.after, candidate.removed, candidate.made).metres
                if less is not None and less < metres:
                    best, metres, better = candidate, less, True
    if best is not change:
        check_plan(best.after)
    return best


def _swapped(ends: list[tuple[End, End]], one: tuple[int, int], other: tuple[int, int]) -> list[tuple[End, End]]:
    found = [list(pair) for pair in ends]
    (i, j), (k, m) = one, other
    found[i][j], found[k][m] = found[k][m], found[i][j]
    return [(a, b) for a, b in found]
