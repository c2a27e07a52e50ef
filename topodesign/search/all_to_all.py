"""Search for topologies with a faster all-to-all, where most is to gain."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from topodesign.base.cost import Cost
from topodesign.base.progress import tell
from topodesign.base.spec import Spec
from topodesign.catalog.all_to_all_quality import least_exchange
from topodesign.catalog.all_to_all_rows import Exchange
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.quality import runtime
from topodesign.search.all_to_all_state import ExchangeState
from topodesign.search.candidate import line_spec
from topodesign.search.closure import close_exchange
from topodesign.search.target import Target

_CONTENT = 0.001  # sizes so close to the bound are not searched
_CLOSE, _NEAR = 2, 3  # how many nodes more or less topologies may have that are searched near, and how many of them are
_CLOSING = 0.25  # of the time, what line graphs may take beside it
_SAVE = 30.0  # seconds between writing the files


class ExchangeSearch:
    """The known topologies of a grid of sizes, searched turn by turn.

    * ``directory``: where the files are written; what is there is gone on from.
    * ``catalog``: whose rows, and what it keeps for all-to-all, are to be beaten.
    * ``grid``: numbers of nodes, degrees, and which cabling, duplex or not.
    * ``seed``: seed of all random choices.
    """

    def __init__(
        self, directory: Path, catalog: Catalog, grid: tuple[Sequence[int], Sequence[int], Sequence[bool]], seed: int
    ) -> None:
        from topodesign.search.order_degree import is_searched, orbits_to_search  # noqa: PLC0415  heavy

        nodes, degrees, wirings = grid
        self.directory, self.seed = directory, seed
        self.sizes = [(n, degree) for degree in degrees for n in nodes]
        self.state = ExchangeState(catalog, degrees, (min(nodes), max(nodes)), directory)
        self.turns, self.gain = 0, 0.0
        self.tried: dict[Target, int] = defaultdict(int)
        self.orbits: dict[Target, list[int]] = {}
        for size in self.sizes:
            for duplex in wirings:
                if is_searched(target := Target(*size, duplex)):
                    self.orbits[target] = orbits_to_search(target)
        self.bounds = {one: _least(one) for one in self.orbits}

    def gap(self, target: Target) -> float:
        """Return the gap of the fastest known topology; large if none is known."""
        some = [_seconds(one) for one in self.state.known(target.size) if one.duplex or not target.duplex]
        return min(some) / self.bounds[target] - 1 if some else 1.0

    def go(self, seconds: float, progress: Callable[[float], None] | None = None) -> None:
        """Take turns until the time is up, then close.

        What is found is kept if that is interrupted.
        """
        start = saved = time.monotonic()
        gaps = {one: self.gap(one) for one in self.orbits}
        try:
            while (now := time.monotonic()) - start < seconds:
                if now - saved > _SAVE:
                    self.save()
                    saved = now
                tell(progress, (now - start) / seconds)
                worth = {one: gap / (1 + self.tried[one]) for one, gap in gaps.items() if gap > _CONTENT}
                if not worth:
                    break
                target = max(worth, key=worth.__getitem__)
                self.turn(target)
                for duplex in (False, True):  # what is duplex may be the best of all
                    if (one := replace(target, duplex=duplex)) in gaps:
                        before, gaps[one] = gaps[one], self.gap(one)
                        self.gain += before - gaps[one]
            self.close(seconds * _CLOSING)
        finally:
            self.save()

    def close(self, seconds: float | None = None) -> None:
        """Keep expansions of known topologies that are faster."""
        close_exchange(self.state, self.sizes, seconds)

    def save(self) -> list[Path]:
        """Write the files."""
        return self.state.save(self.directory)

    def turn(self, target: Target) -> None:
        """Search numbers of orbits, and near the best of close sizes, ever longer."""
        from topodesign.search.order_degree import search_low_distances, search_near  # noqa: PLC0415  heavy
        from topodesign.topology.library import build  # noqa: PLC0415

        number = self.tried[target]
        self.turns, self.tried[target] = self.turns + 1, number + 1
        orbits, near = self.orbits[target], self._near(target)
        if number == 0:
            for one in self.state.known(target.size):
                self.state.refine(one, target.degree)
        turn, place = divmod(number, max(1, len(orbits) + len(near)))
        seed = self.seed + turn
        spec = None
        if place < len(orbits):
            spec = search_low_distances(target, orbits[place], turn, seed=seed)
        elif near:
            spec = search_near(target, build(near[place - len(orbits)].spec), turn, seed=seed)
        if spec is not None:
            self._offer(spec, target)

    def _near(self, target: Target) -> list[Exchange]:
        """Return the fastest of a size and of close sizes, by gap."""
        found = list[tuple[float, Exchange]]()
        for nodes in range(max(2, target.nodes - _CLOSE), target.nodes + _CLOSE + 1):
            near = replace(target, nodes=nodes)
            some = [one for one in self.state.known(near.size) if one.duplex >= target.duplex]
            if some:
                one = min(some, key=lambda one: (_seconds(one), one.spec))
                found.append((_seconds(one) / _least(near), one))
        return [one for _, one in sorted(found, key=lambda each: each[0])[:_NEAR]]

    def _offer(self, spec: Spec, target: Target) -> None:
        """Keep an undominated topology, and then its line graph."""
        longer = Target(target.nodes * target.degree, target.degree, duplex=False)
        if self.state.offer(spec, target.degree, duplex=target.duplex) and longer in self.orbits:
            self._offer(line_spec(spec), longer)


def _seconds(one: Exchange) -> float:
    """Return what all-to-all of the smaller standard size takes."""
    return float(runtime(Cost(one.steps, one.all_to_all.upper)) / 2)


def _least(target: Target) -> float:
    """Return what :func:`_seconds` cannot undercut."""
    return float(runtime(least_exchange(*target.size, duplex=target.duplex)) / 2)
