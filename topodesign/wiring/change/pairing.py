"""Which fibres new patches take: those that are free, or those of patches that go.

Patches that take each other's fibres have to be moved together. They form alternating paths and cycles of patches that
go and patches that come; short ones let a change be split into many stages. So a path that comes back to a host, side
and field is cut there: the loop becomes a cycle of its own. Then none darkens two links of a host on one side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from topodesign.wiring.plan.cross_connects import End

Spot = tuple[str, str, str]
"""A host, a side (``A``, ``B`` or ``AB``) and a field of panels, among whose fibres there is a choice."""


class _Item(NamedTuple):
    """One end of a patch that comes (``new``) or goes (``old``), the first (0) or the second (1)."""

    kind: Literal["new", "old"]
    number: int
    end: int

    def other(self) -> _Item:
        return self._replace(end=1 - self.end)


class Pairing:
    """The choice of fibres, link by link.

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
        """Give a link these ends if both are still to be had; return whether they were."""
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
        """Give all other links ends, and return those of all."""
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
        """Pair ends that come with ends that go, from one end of a new patch as far as that leads."""
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
                self._leave(item)
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

    def _leave(self, item: _Item) -> None:
        """Give a new end a free fibre; an old one frees a fibre that nobody takes yet."""
        if item.kind == "new":
            self._chosen[item] = self._free[self._spots[item]].pop(0)
        else:
            self._waiting[item.kind, self._spots[item]][item] = None

    def _pair(self, pairs: Iterable[tuple[_Item, _Item]]) -> None:
        for one, two in pairs:
            new, old = (one, two) if one.kind == "new" else (two, one)
            self._chosen[new] = self._ends[old]
