"""Known all-to-all prices by size, while searched or closed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from topodesign.base.cost import Cost, spare_factor
from topodesign.base.errors import TopodesignError
from topodesign.base.spec import Spec, parse
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.all_to_all_rows import EXCHANGE, Exchange, of_rows, unbeaten
from topodesign.catalog.idle import with_idle_ports
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.price import FINE, price_topology, rough_bound
from topodesign.catalog.quality import least_exchange, runtime
from topodesign.catalog.row_check import diameter
from topodesign.catalog.sizes import NO_LIMIT
from topodesign.search.candidate import line_spec, product_spec
from topodesign.search.target import Target

if TYPE_CHECKING:
    from topodesign.topology.topology import Topology

_MAX_FINE = 2**18  # nodes times links of what is priced within less than a percent: some seconds
_MAX_LINE = 256  # nodes of the line graphs that are built and priced to close a size


@dataclass(frozen=True)
class Draft:
    """A topology that has no price yet."""

    spec: Spec
    topology: Topology
    steps: int
    least: Fraction  # what all-to-all takes by the distances

    def add_price(self, bounds: Bounds) -> Exchange:
        """Return it with a price."""
        return Exchange(self.topology.nodes, self.topology.is_duplex, self.steps, bounds, str(self.spec))


class ExchangeState:
    """What is known of some degrees and of those below.

    * ``catalog``: whose rows, and what it keeps for all-to-all, are known.
    * ``degrees``: those that change.
    * ``nodes``: the numbers of nodes that are looked at; all by default.
    * ``directory``: what is there is known in place of what the catalog keeps for all-to-all, degree by degree.
    """

    def __init__(
        self,
        catalog: Catalog,
        degrees: Iterable[int],
        nodes: Collection[int] | None = None,
        directory: Path | None = None,
    ) -> None:
        self.degrees, self.nodes, self.new = sorted(degrees), nodes, list[Exchange]()
        self.kept: dict[tuple[int, int], list[Exchange]] = defaultdict(list)
        self._known: dict[tuple[int, int], list[Exchange]] = defaultdict(list)
        for degree in range(1, max(self.degrees) + 1):
            own = directory if directory and EXCHANGE.path(directory, degree).exists() else catalog.directory
            for one in EXCHANGE.known(own, degree):
                self.kept[one.nodes, degree].append(one)
                self._known[one.nodes, degree].append(one)
            for one in (
                of_rows(catalog.rows(degree, 0, max(nodes) if nodes else NO_LIMIT)) if degree in catalog.degrees else ()
            ):
                self._known[one.nodes, degree].append(one)
        self._known = defaultdict(list, {size: unbeaten(some) for size, some in self._known.items()})
        self.sizes = sorted(size for size in self._known if nodes is None or size[0] in nodes)
        self._fastest: dict[Target, Exchange | None] = {}

    def has(self, target: Target) -> bool:
        """Whether a size is looked at."""
        return target.degree in self.degrees and (self.nodes is None or target.nodes in self.nodes)

    def fastest(self, target: Target) -> Exchange | None:
        """Return what has the fastest all-to-all of a size, or None."""
        if target not in self._fastest:
            several = [one for one in self.known(target.size) if one.duplex >= target.duplex]
            self._fastest[target] = min(several, key=lambda one: (_runtime(one), one.spec), default=None)
        return self._fastest[target]

    def ratio(self, target: Target) -> float:
        """Return the fastest all-to-all over the bound; 2 if there is none."""
        one = self.fastest(target)
        least = runtime(least_exchange(*target.size, duplex=target.duplex))
        return 2.0 if one is None else float(_runtime(one) / least)

    def known(self, size: tuple[int, int]) -> list[Exchange]:
        """Return the undominated topologies of a size, which may be off the grid."""
        return self._known.get(size, [])

    def beats(self, one: Exchange, degree: int, tolerance: Fraction = Fraction(0)) -> bool:
        """Return whether no topology of its size and cabling is as good.

        Or dearer by no more than a tolerance.
        """
        most = one.all_to_all.upper * (1 + tolerance)
        return not any(
            other.steps <= one.steps and other.all_to_all.upper <= most and other.duplex >= one.duplex
            for other in self.known((one.nodes, degree))
        )

    def keep(self, one: Exchange, degree: int) -> bool:
        """Add a topology if no known topology dominates it; return whether."""
        if not self.beats(one, degree):
            return False
        size = one.nodes, degree
        self._known[size] = unbeaten([*self._known[size], one])
        specs = {other.spec for other in (*self.kept[size], one)}
        self.kept[size] = [other for other in self._known[size] if other.spec in specs]
        self.new.append(one)
        for duplex in (False, True):
            self._fastest.pop(Target(*size, duplex), None)
        return True

    def offer(self, spec: Spec, degree: int, *, duplex: bool = False) -> bool:
        """Add an undominated topology, screened by distances; return whether."""
        draft = draft_spec(spec, degree)
        if draft is None or draft.topology.is_duplex < duplex:
            return False
        return self.beats(draft.add_price(Bounds(draft.least, draft.least)), degree) and self.settle(draft)

    def settle(self, draft: Draft) -> bool:
        """Price a topology and add it if undominated; return whether."""
        bounds, degree = price_topology(draft.topology), draft.topology.degree
        if bounds is None or not self.beats(draft.add_price(Bounds(bounds.lower, bounds.lower)), degree):
            return False
        finer = None if bounds.exact else _finer(draft.topology)
        return self.keep(draft.add_price(finer or bounds), degree)

    def refine(self, one: Exchange, degree: int) -> None:
        """Refine the price of a known topology with a wide gap."""
        if one.all_to_all.upper > one.all_to_all.lower * (1 + FINE):
            draft = draft_spec(parse(one.spec), degree)
            bounds = None if draft is None else _finer(draft.topology)
            if bounds is not None:
                self.keep(replace(one, all_to_all=bounds), degree)

    def save(self, directory: Path) -> list[Path]:
        """Write the files."""
        return [
            EXCHANGE.write(
                directory, degree, (one for size, some in self.kept.items() if size[1] == degree for one in some)
            )
            for degree in self.degrees
        ]


def _runtime(one: Exchange) -> Fraction:
    return runtime(Cost(one.steps, one.all_to_all.upper))


def iterate_expansions(
    state: ExchangeState, size: tuple[int, int], tolerance: Fraction = Fraction(0)
) -> Iterator[tuple[str, Exchange]]:
    """Yield specs of expansions that beat what is known, with bounds.

    Their flows are those of what they expand, and so are the prices of links that prove them. Links that are doubled
    carry twice as much; in a product the flow of each factor goes on dimension by dimension, and the slowest counts.
    """
    nodes, degree = size
    for expand, parts in _expansions(state, nodes, degree):
        lower, upper = (
            max(getattr(one.all_to_all, bound) * more for one, more in parts) for bound in ("lower", "upper")
        )
        steps, duplex = sum(one.steps for one, _ in parts), all(one.duplex for one, _ in parts)
        found = Exchange(nodes, duplex, steps, Bounds(lower, upper), "")
        if state.beats(found, degree, tolerance):
            spec = expand(*(parse(one.spec) for one, _ in parts))
            yield spec.name, replace(found, spec=str(spec))


def _expansions(
    state: ExchangeState, nodes: int, degree: int
) -> Iterator[tuple[Callable[..., Spec], tuple[tuple[Exchange, Fraction], ...]]]:
    """Yield expansions of a topology, with their factor of time."""
    for one in state.known((nodes, degree - 1)):
        yield with_idle_ports, ((one, spare_factor(degree - 1)),)
    for times in (times for times in range(2, degree + 1) if degree % times == 0):
        for one in state.known((nodes, degree // times)):
            yield partial(_parallel, times), ((one, Fraction(1)),)
    for few in (few for few in range(2, nodes) if few * few <= nodes and nodes % few == 0):
        for ports in range(1, degree):
            more = Fraction(degree, ports), Fraction(degree, degree - ports)
            for pair in product(state.known((few, ports)), state.known((nodes // few, degree - ports))):
                yield product_spec, tuple(zip(pair, more, strict=True))


def _parallel(times: int, base: Spec) -> Spec:
    return Spec("parallel", (base, times))


def lines(state: ExchangeState, size: tuple[int, int], tolerance: Fraction = Fraction(0)) -> Iterator[Draft]:
    """Yield the line graphs of a size that may beat what is known.

    A node there is a link u -> v of what is expanded, and lets through what it takes in but for shards that are for it:
    so a flow there is one here with d^2 shards a pair, but for one less back over every link, which are no more than
    all-to-all as often as the most links are parallel. Only of so few nodes that prices take seconds.
    """
    nodes, degree = size
    bases = state.known((nodes // degree, degree)) if nodes % degree == 0 and nodes <= _MAX_LINE else []
    priced = {one.spec for one in state.known(size)}
    for one in bases:
        draft = None if str(spec := line_spec(parse(one.spec))) in priced else draft_spec(spec, degree)
        if draft is None:
            continue
        through = one.all_to_all.lower * (1 - Fraction(_most_parallel(one.spec), degree**2))
        least = max(draft.least, through + 1 - Fraction(1, nodes))
        if state.beats(draft.add_price(Bounds(least, least)), degree, tolerance):
            least = rough_bound(draft.topology)
            if state.beats(draft.add_price(Bounds(least, least)), degree, tolerance):
                yield draft


def _finer(topology: Topology) -> Bounds | None:
    """Return a price with a gap below a percent, or None if that takes long."""
    return price_topology(topology, gap=FINE) if topology.nodes**2 * topology.degree <= _MAX_FINE else None


def _most_parallel(spec: str) -> int:
    from topodesign.topology.library import build  # noqa: PLC0415  heavy

    topology = build(spec)
    return int(topology.capacity[topology.src != topology.dst].max())


def draft_spec(spec: Spec, degree: int) -> Draft | None:
    """Build a spec; None unless connected and of the degree."""
    from topodesign.pricing.split_routes import bound_own_distances  # noqa: PLC0415  heavy
    from topodesign.topology.library import build  # noqa: PLC0415
    from topodesign.topology.quotient import quotient  # noqa: PLC0415

    try:
        topology = build(spec)
        if topology.degree != degree:
            return None
        return Draft(spec, topology, diameter(topology), bound_own_distances(quotient(topology)))
    except TopodesignError:
        return None
