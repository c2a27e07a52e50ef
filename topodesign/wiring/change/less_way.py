"""A change whose new patches make less way through the room."""

from __future__ import annotations

import itertools
from collections import defaultdict

from topodesign.wiring.change.pairing import Spot
from topodesign.wiring.change.patches import Change, Patches
from topodesign.wiring.change.walk import walk_of
from topodesign.wiring.plan.cross_connects import End
from topodesign.wiring.plan.proof import check_plan

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
    """Return ends of patches, two of them exchanged."""
    found = [list(pair) for pair in ends]
    (i, j), (k, m) = one, other
    found[i][j], found[k][m] = found[k][m], found[i][j]
    return [(a, b) for a, b in found]
