"""Searching for topologies on which all-to-all takes less, where most is left to gain."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from topodesign.base.cost import Cost
from topodesign.base.errors import CatalogError, DisconnectedError, TopodesignError
from topodesign.base.progress import tell
from topodesign.base.spec import Spec, parse
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.exchange import EXCHANGE, Exchange, of_rows, unbeaten
from topodesign.catalog.exchange_quality import least_exchange
from topodesign.catalog.idle import idle_exchange
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.price import price_topology, wrong_bounds
from topodesign.catalog.quality import runtime
from topodesign.search.candidate import line_spec
from topodesign.search.target import Target

if TYPE_CHECKING:
    from topodesign.topology.topology import Topology

_CONTENT = 0.001  # sizes so close to the bound are not searched
_SAVE = 30.0  # seconds between writing the files


class ExchangeSearch:
    """What is known of a grid of sizes, searched turn by turn.

    * ``directory``: where the files are written; what is there is gone on from.
    * ``catalog``: whose rows, and what it keeps for all-to-all, are to be beaten.
    * ``grid``: numbers of nodes, degrees, and which cabling, duplex or not.
    * ``seed``: seed of all random choices.
    """

    def __init__(
        self,
        directory: Path,
        catalog: Catalog,
        grid: tuple[Sequence[int], Sequence[int], Sequence[bool]],
        seed: int,
    ) -> None:
        from topodesign.search.low_distances import orbits_to_search  # noqa: PLC0415  heavy

        nodes, degrees, wirings = grid
        self.directory, self.catalog, self.nodes, self.degrees, self.seed = directory, catalog, nodes, degrees, seed
        self.turns, self.new, self.gain = 0, list[Exchange](), 0.0
        self.known: dict[tuple[int, int], list[Exchange]] = {}
        self.tried: dict[Target, int] = defaultdict(int)
        self.orbits: dict[Target, list[int]] = {}
        self.kept: dict[int, dict[int, list[Exchange]]] = {}
        for degree in sorted({*degrees, *(degree - 1 for degree in degrees)}):  # those of a port less are not changed
            source = directory if EXCHANGE.path(directory, degree).exists() else catalog.directory
            self.kept[degree] = _by_nodes(EXCHANGE.known(source, degree))
        for degree in degrees:
            for n in nodes:
                self._found(n, degree)
                for duplex in wirings:
                    if some := orbits_to_search(target := Target(n, degree, duplex)):
                        self.orbits[target] = some
        self.bounds = {one: _least(one) for one in self.orbits}

    def gap(self, target: Target) -> float:
        """Return how far the fastest known is above the bound; much where nothing is known."""
        some = [_seconds(one) for one in self.known[target.size] if one.duplex or not target.duplex]
        return min(some) / self.bounds[target] - 1 if some else 1.0

    def go(self, seconds: float, progress: Callable[[float], None] | None = None) -> None:
        """Take turns until the time is used up; what is found is kept if that is interrupted."""
        start = saved = time.monotonic()
        self.close()
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
        finally:
            self.save()

    def close(self) -> None:
        """Keep what is known of a port less with one free where that takes less: its links and flows are the same."""
        for degree in sorted(self.degrees):
            for n in self.nodes:
                for base in self._found(n, degree - 1):
                    self._keep(idle_exchange(base, degree - 1), degree)

    def save(self) -> list[Path]:
        """Write the files."""
        return [
            EXCHANGE.write(self.directory, degree, (one for some in self.kept[degree].values() for one in some))
            for degree in self.degrees
        ]

    def turn(self, target: Target) -> None:
        """Look at what line graphs of other sizes give, then at one number of orbits after the other, ever longer."""
        from topodesign.search.low_distances import search_low_distances  # noqa: PLC0415  heavy

        number = self.tried[target]
        self.turns, self.tried[target] = self.turns + 1, number + 1
        if number == 0:
            self._expand(target)
        turn, place = divmod(number, len(self.orbits[target]))
        spec = search_low_distances(target, self.orbits[target][place], turn, seed=self.seed + turn)
        if spec is not None:
            self._offer(spec, target)

    def _expand(self, target: Target) -> None:
        """Offer line graphs."""
        nodes, degree = target.size
        for base in self._found(nodes // degree, degree) if nodes % degree == 0 else ():
            self._offer(line_spec(parse(base.spec)), target)

    def _found(self, nodes: int, degree: int) -> list[Exchange]:
        """Return what is known of a size, which may be none of the grid."""
        if (nodes, degree) not in self.known:
            self.known[nodes, degree] = [*self.kept[degree].get(nodes, ()), *self._of_rows(nodes, degree)]
        return self.known[nodes, degree]

    def _of_rows(self, nodes: int, degree: int) -> list[Exchange]:
        try:
            return of_rows(self.catalog.rows(degree, nodes, nodes))
        except CatalogError:
            return []

    def _offer(self, spec: Spec, target: Target) -> None:
        """Keep a topology that nothing known beats, which its distances alone can tell, and then its line graph."""
        draft, known = _draft(spec, target), self.known[target.size]
        if draft is None or not _new(draft.priced(Bounds(draft.least, draft.least)), known):
            return
        bounds = price_topology(draft.topology)
        longer = Target(target.nodes * target.degree, target.degree, duplex=False)
        if bounds is not None and self._keep(draft.priced(bounds), target.degree) and longer in self.orbits:
            self._offer(line_spec(spec), longer)

    def _keep(self, one: Exchange, degree: int) -> bool:
        """Keep something with its price, and return whether nothing that is known is as good."""
        known, own = self._found(one.nodes, degree), self.kept[degree]
        if not _new(one, known):
            return False
        self.known[one.nodes, degree] = unbeaten([*known, one])
        specs = {other.spec for other in (*own.get(one.nodes, ()), one)}
        own[one.nodes] = [other for other in self.known[one.nodes, degree] if other.spec in specs]
        self.new.append(one)
        return True


@dataclass(frozen=True)
class _Draft:
    """A topology that has no price yet."""

    spec: Spec
    topology: Topology
    steps: int
    least: Fraction
    """What all-to-all takes by the distances."""

    def priced(self, bounds: Bounds) -> Exchange:
        """Return it with a price."""
        return Exchange(self.topology.nodes, self.topology.is_duplex, self.steps, bounds, str(self.spec))


def _draft(spec: Spec, target: Target) -> _Draft | None:
    """Return what a spec builds; None if that is no connected topology of the size and cabling."""
    from topodesign.pricing.flows.arcs import own_distances  # noqa: PLC0415  heavy
    from topodesign.pricing.flows.quotient import quotient  # noqa: PLC0415
    from topodesign.topology.library import build  # noqa: PLC0415

    try:
        topology = build(spec)
        if (topology.nodes, topology.degree) != target.size or topology.is_duplex < target.duplex:
            return None
        return _Draft(spec, topology, _diameter(topology), own_distances(quotient(topology)))
    except TopodesignError:
        return None


def _seconds(one: Exchange) -> float:
    """Return what all-to-all of the smaller standard size takes."""
    return float(runtime(Cost(one.steps, one.all_to_all.upper)) / 2)


def _least(target: Target) -> float:
    """Return what :func:`_seconds` cannot undercut."""
    return float(runtime(least_exchange(*target.size, duplex=target.duplex)) / 2)


def _diameter(topology: Topology) -> int:
    """Return the largest distance, or raise DisconnectedError."""
    from topodesign.pricing.closed_form import distances  # noqa: PLC0415  heavy

    far = [distances(topology, source) for source in topology.representatives or range(topology.nodes)]
    if any((row < 0).any() for row in far):
        raise DisconnectedError("some nodes do not reach each other")
    return max(int(row.max()) for row in far)


def wrong_exchange(one: Exchange, degree: int) -> str | None:
    """Return what is wrong with something that is kept for all-to-all, built and priced again, or None."""
    from topodesign.topology.library import build  # noqa: PLC0415  heavy

    try:
        topology = build(one.spec)
        found = topology.nodes, topology.degree, topology.is_duplex, _diameter(topology)
        if found != (one.nodes, degree, one.duplex, one.steps):
            return f"N, d, duplex and steps {found}"
        return wrong_bounds(topology, one.all_to_all)
    except TopodesignError as error:
        return str(error)


def _new(one: Exchange, known: Sequence[Exchange]) -> bool:
    """Whether none that is known is as good, in whatever cabling it takes."""
    return not any(
        other.steps <= one.steps and other.all_to_all.upper <= one.all_to_all.upper and other.duplex >= one.duplex
        for other in known
    )


def _by_nodes(kept: Sequence[Exchange]) -> dict[int, list[Exchange]]:
    found: dict[int, list[Exchange]] = defaultdict(list)
    for one in kept:
        found[one.nodes].append(one)
    return found
