"""The catalog closed under its operations.

No expansion of a row of another size beats the rows of a size.

What an operation gives is priced by theorem first, so that a look at all rows takes a minute and builds nothing. Every
operation leads to more nodes or more ports, so that one sweep of the sizes in ascending order finds what follows from
what, to the end.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from topodesign.base.cost import Basis, Cost, lower_bound, spare_factor
from topodesign.base.declared import Declared, key
from topodesign.base.errors import TooLargeError, TopologyError
from topodesign.base.progress import Progress, iterate_with_progress, tell
from topodesign.base.records import Result, shorten_text
from topodesign.base.spec import LONGEST_SPEC, Spec, parse
from topodesign.base.units import format_factor
from topodesign.catalog.all_to_all_rows import EXCHANGE
from topodesign.catalog.idle import idle_row, with_idle_ports
from topodesign.catalog.lookup import Catalog, as_catalog
from topodesign.catalog.price import price_topology
from topodesign.catalog.quality import runtime
from topodesign.catalog.rows import Row
from topodesign.pricing.deferral import explain_no_deferral
from topodesign.pricing.evaluation import price_both_deferred
from topodesign.search.all_to_all_state import ExchangeState, iterate_expansions, lines
from topodesign.search.candidate import line_spec
from topodesign.search.links import pairs_too_far
from topodesign.search.resized import iterate_resized
from topodesign.search.state import SearchState, by_spff, make_deferred_row
from topodesign.search.target import Target

TOLERANCE = Fraction(1, 100)
"""By how much an operation may beat the rows of a size in a catalog that counts as closed."""
WORTH_KEEPING = Fraction(1, 1000)
"""The same for what is kept: below that a row is not worth its spec."""
_MAX_WORK = 2**32  # steps times receivers times links of a deferred schedule that is looked for: half a minute
_WORK_A_SECOND = 2**27  # of that, about, on one core
_MAX_PARALLEL = 8
_DRAWS, _PRICED = 128, 6  # nodes without which a topology is looked at, and of how many of these it is priced
_IDLE, _LINE, _PARALLEL, _ALL_TO_ALL = "spare", "line", "parallel", "kept for all-to-all"


@dataclass(frozen=True)
class ClosureFault(Declared):
    """A violation of closure: an expansion that beats its size."""

    target: Target  # its size, and whether it is duplex
    collective: str  # what it is better for: allreduce or all-to-all
    operation: str  # the expansion that gives a better topology
    cost: Cost
    spec: str  # the topology

    KEYS = (
        "nodes=target.nodes degree=target.degree",
        key("duplex=target.duplex", "Whether it is about duplex topologies alone."),
        "collective operation",
        key("steps=cost.steps", "Its steps, by a theorem."),
        key(
            "bandwidth=cost.bandwidth",
            "Its bandwidth factor, at most: for allreduce the mean of both collectives, by a theorem.",
        ),
        "spec",
    )

    def __str__(self) -> str:
        """Return one line for people."""
        cabling = "duplex" if self.target.duplex else "simplex"
        return (
            f"{self.target.nodes}/{self.target.degree} {cabling}, {self.collective}: {self.operation} has "
            f"{self.cost.steps} steps, {format_factor(self.cost.bandwidth)}: {shorten_text(self.spec)}"
        )


@dataclass(frozen=True)
class Offer:
    """What an operation makes of a row."""

    target: Target  # its size, and whether it is duplex
    mean: Cost  # what theorems say that half of an allreduce takes at most
    operation: str  # the name of the expansion
    row: Row  # what it expands

    @property
    def spec(self) -> Spec:
        """The topology."""
        base = parse(self.row.spec)
        if self.operation == _IDLE:
            return with_idle_ports(base)
        return (
            line_spec(base)
            if self.operation == _LINE
            else Spec(_PARALLEL, (base, self.target.degree // self.row.degree))
        )

    @property
    def work(self) -> int:
        """What it takes to defer its schedules without symmetry, about."""
        return self.mean.steps * self.target.degree * self.target.nodes**2


@dataclass(frozen=True, repr=False)
class Closure(Result):
    """What is left to close of a catalog."""

    sizes: int  # pairs of N and d with rows
    tolerance: Fraction  # what counts as better: no row has as few steps and a y at most so much larger
    violations: tuple[ClosureFault, ...]  # where an operation gives a better topology; empty if the catalog is closed

    @property
    def ok(self) -> bool:
        """Whether the catalog is closed."""
        return not self.violations

    def heading(self) -> str:
        """Return the counts."""
        many = len(self.violations) or "none"
        return f"{self.sizes} sizes: {many} where an operation on rows is over {float(self.tolerance):.1%} better"

    KEYS = "sizes tolerance violations"
    ROWS = "violations"


def verify_closure(
    catalog: Catalog | str | Path | None = None,
    *,
    degrees: Iterable[int] | None = None,
    nodes: range | None = None,
    progress: Progress | None = None,
) -> Closure:
    """Search for sizes where expansions of other rows beat all rows.

    For allreduce and for all-to-all.

    Prices are those of theorems, but for all-to-all on line graphs: where distances do not decide it, it is computed.

    Parameters
    ----------
    catalog
        Which, or its directory; the shipped one by default.
    degrees, nodes
        Only these degrees, and only a range of N, for the rows and for what they expand to; for all-to-all also smaller
        ones are expanded.
    progress
        Called now and then with the share of the sizes that is done.

    Returns
    -------
    Closure
        Expansions that are better by over a percent: with free ports, line graphs, and parallel links; for all-to-all
        products as well, and the line graphs of so few nodes that their prices take seconds. Topologies that are kept
        for all-to-all alone, and have fewer steps than all rows, too.

    Raises
    ------
    CatalogError
        If a file is missing, truncated or edited.

    Examples
    --------
    >>> from topodesign import verify_closure
    >>> verify_closure(degrees=[2, 3], nodes=range(3, 12)).ok
    True
    """
    source = as_catalog(catalog)
    span = (nodes[0], nodes[-1]) if nodes else ()
    wanted = source.select_degrees(degrees)
    rows = {degree: source.rows(degree, *span) for degree in wanted}
    state = SearchState({row.nodes for several in rows.values() for row in several}, rows, source)
    sizes, best = sorted(state.rows), dict[Target, Offer]()
    kept = [
        ClosureFault(target, "allreduce", _ALL_TO_ALL, by_spff(target, spec).mean, str(spec))
        for size in sizes
        for target, spec in iterate_kept(state, size, nearer=True)
    ]
    for size in sizes:
        for offer in better(state, size, TOLERANCE):
            if offer.target not in best or runtime(offer.mean) < runtime(best[offer.target].mean):
                best[offer.target] = offer
    left = [ClosureFault(one.target, "allreduce", one.operation, one.mean, str(one.spec)) for one in best.values()]
    left += kept
    exchange = ExchangeState(source, wanted, nodes)
    own = [size for size in exchange.sizes if size[1] in wanted]
    left += [one for size in iterate_with_progress(own, progress) for one in exchange_left(exchange, size)]
    return Closure(len({*sizes, *own}), TOLERANCE, tuple(sorted(left, key=lambda one: (one.target, one.collective))))


def exchange_left(state: ExchangeState, size: tuple[int, int]) -> Iterator[ClosureFault]:
    """Yield expansions with a faster all-to-all than is known, per cabling.

    The fastest of the size.

    Sizes without any are no matter of closing.
    """
    nodes, degree = size
    made = list(iterate_expansions(state, size, TOLERANCE))
    for draft in lines(state, size, TOLERANCE):
        bounds = price_topology(draft.topology)
        made += [] if bounds is None else [(_LINE, draft.add_price(bounds))]
    for duplex in (False, True):
        better = [
            (Cost(one.steps, one.all_to_all.upper), operation, one.spec)
            for operation, one in made
            if one.duplex >= duplex and state.beats(replace(one, duplex=duplex), degree, TOLERANCE)
        ]
        if better and any(one.duplex >= duplex for one in state.known(size)):
            cost, operation, spec = min(better, key=lambda one: (runtime(one[0]), one[2]))
            yield ClosureFault(Target(nodes, degree, duplex), "all-to-all", operation, cost, spec)


def close_exchange(state: ExchangeState, sizes: Iterable[tuple[int, int]], seconds: float | None = None) -> None:
    """Keep expansions with a faster all-to-all, by ascending links.

    Each has more links than its base.

    Line graphs, which have to be built and priced, as far as the seconds go.
    """
    start = time.monotonic()
    for nodes, degree in sorted(sizes, key=lambda size: (size[0] * size[1], size)):
        for _, one in iterate_expansions(state, (nodes, degree)):
            if len(one.spec) <= LONGEST_SPEC:
                state.keep(one, degree)
        if seconds is None or time.monotonic() - start < seconds:
            for draft in lines(state, (nodes, degree)):
                state.settle(draft)


def close(
    state: SearchState,
    *,
    seconds: float | None = None,
    save: Callable[[], object] | None = None,
    progress: Progress | None = None,
) -> int:
    """Apply operations to rows to a fixed point; return the new rows' number.

    Free ports need nothing built. All else is built and priced from its links, what is kept for all-to-all alone first,
    then what gains most for its work, as far as the seconds go; what schedules are then deferred that could gain.

    * ``save``: called now and then.
    """
    start, tried, less, count = time.monotonic(), set[str](), set[str](), _with_free_ports(state)
    for target, spec in [found for size in sorted(state.rows) for found in iterate_kept(state, size)]:
        if seconds is not None and time.monotonic() - start > seconds:
            return count + _with_free_ports(state)
        before = state.rows[target.size]
        state.keep(target, [spec], most=_MAX_WORK)
        count += len([row for row in state.rows[target.size] if row not in before])
    while True:
        waiting = [
            offer
            for size in sorted(state.rows)
            for offer in better(state, size, WORTH_KEEPING, lifted=True)
            if offer.operation != _IDLE and str(offer.spec) not in tried
        ]
        waiting.sort(key=lambda offer: _gain(state, offer) / offer.work, reverse=True)
        came = 0
        for place, offer in enumerate(waiting):
            if seconds is not None and time.monotonic() - start > seconds:
                return count + came + _with_free_ports(state)
            tell(progress, place / len(waiting))
            if str(offer.spec) not in tried and _beats(offer.mean, state.means(offer.target), WORTH_KEEPING):
                tried.add(str(offer.spec))
                came += keep(state, offer)
                if save is not None:
                    save()
        came += _delete_nodes(state, None if seconds is None else start + seconds, less)
        came += _with_free_ports(state)
        count += came
        if not came:
            return count


def iterate_kept(state: SearchState, size: tuple[int, int], *, nearer: bool = False) -> Iterator[tuple[Target, Spec]]:
    """Yield what is kept of a size for all-to-all alone, per cabling that has rows.

    * ``nearer``: only what has fewer steps than these.
    """
    known = {row.spec for row in state.rows[size]}
    for duplex in (False, True):
        target = Target(*size, duplex)
        fewest = min((row.cost.steps for row in state.front(target)), default=0)
        for one in EXCHANGE.known(state.source.directory, size[1], size[0], size[0]) if fewest else ():
            if one.duplex == duplex and one.spec not in known and (one.steps < fewest or not nearer):
                yield target, parse(one.spec)


def _delete_nodes(state: SearchState, end: float | None, tried: set[str]) -> int:
    """Keep node deletions of one node more where faster; return how often.

    * ``end``: time after which no further size is looked at.
    * ``tried``: topologies that nodes were taken out of already.
    """
    count = 0
    for nodes, degree in sorted(state.rows, reverse=True):
        for target in (Target(nodes, degree, duplex) for duplex in (False, True) if nodes in state.nodes):
            base = state.fastest(replace(target, nodes=nodes + 1))
            if base is None or f"{target} {base.spec}" in tried or (end is not None and time.monotonic() > end):
                continue
            tried.add(f"{target} {base.spec}")
            seconds = None if end is None else end - time.monotonic()
            while without_a_node(state, target, seconds) > 0:  # again with fewer steps or little bandwidth in mind
                count += 1
    return count


def without_a_node(state: SearchState, target: Target, seconds: float | None = None) -> float:
    """Keep the fastest topology without a node, if faster; return the gain.

    Its neighbours are joined.

    A few nodes are drawn at random, always the same. With seconds, no deferred schedule is made that may take longer.
    """
    own, base = state.fastest(target), state.fastest(replace(target, nodes=target.nodes + 1))
    if own is None or base is None or runtime(base.mean) * (1 + WORTH_KEEPING) > runtime(own.mean):
        return 0.0
    optimum = lower_bound(*target.size, duplex=target.duplex).bandwidth
    steps = own.cost.steps
    while runtime(Cost(steps, optimum)) >= runtime(own.mean):
        steps -= 1
    gain, rng = 0.0, np.random.Generator(np.random.PCG64([*target.size, target.duplex]))
    work = _MAX_WORK if seconds is None else min(_MAX_WORK, int(max(0.0, seconds) * _WORK_A_SECOND))
    fit = (made for made in iterate_resized(base.build(), target, _DRAWS, rng) if not pairs_too_far(made, steps))
    for made in itertools.islice(fit, _PRICED):
        spec = made.spec
        if spec is not None and len(str(spec)) <= LONGEST_SPEC and not explain_no_deferral(made, steps, work):
            gain += state.keep_deferred(target, spec)
    return gain


def better(state: SearchState, size: tuple[int, int], tolerance: Fraction, *, lifted: bool = False) -> Iterator[Offer]:
    """Yield expansions of a size's rows that beat the rows there.

    Once for each cabling that it is for.
    """
    for row in state.rows[size]:
        for offer in offers(row, state.has, lifted=lifted):
            for duplex in {False, offer.target.duplex}:
                target = replace(offer.target, duplex=duplex)
                if _beats(offer.mean, state.means(target), tolerance):
                    yield replace(offer, target=target)


def offers(row: Row, wanted: Callable[[Target], bool], *, lifted: bool = False) -> Iterator[Offer]:
    """Yield expansions of a row with bounds by theorems.

    By SPFF or, with free ports, by any schedule.

    With ``lifted`` line graphs and trunks of rows with deferred schedules are among them, which have lifted schedules
    of that price, but perhaps no deferred ones.

    * ``wanted``: which sizes.
    """
    nodes, degree, exact = row.nodes, row.degree, row.basis is Basis.LINKS
    wider, longer = Target(nodes, degree + 1, row.duplex), Target(nodes * degree, degree, duplex=False)
    mean = row.mean
    if (exact or row.deferred) and wanted(wider):
        yield Offer(wider, Cost(mean.steps, mean.bandwidth * spare_factor(degree)), _IDLE, row)
    if row.deferred and not lifted:
        return
    if wanted(longer):
        yield Offer(longer, Cost(mean.steps + 1, mean.bandwidth + Fraction(1, nodes)), _LINE, row)
    for times in range(2, _MAX_PARALLEL + 1):
        if wanted(trunks := Target(nodes, times * degree, row.duplex)):
            yield Offer(trunks, mean, _PARALLEL, row)


def keep(state: SearchState, offer: Offer) -> int:
    """Build, price and defer offers; keep undominated ones; return how many."""
    if len(str(offer.spec)) > LONGEST_SPEC:
        return 0
    if offer.operation == _IDLE:
        return _put(state, [idle_row(offer.row)])
    target = offer.target
    row = by_spff(target, offer.spec)
    rows = [row]
    topology = row.build()
    if row.mean.bandwidth > lower_bound(*target.size).bandwidth and not explain_no_deferral(
        topology, row.cost.steps, _MAX_WORK
    ):
        state.deferred.add(row.either_way)
        with contextlib.suppress(TooLargeError, TopologyError):  # for which there are none
            rows += [found for found in [make_deferred_row(row, *price_both_deferred(topology))] if found is not None]
    return _put(state, rows)


def _with_free_ports(state: SearchState) -> int:
    """Keep rows with a free port where they are better, by ascending degree."""
    count = 0
    for size in sorted(state.rows):
        offered = [offer for offer in better(state, size, WORTH_KEEPING) if offer.operation == _IDLE]
        for offer in sorted(offered, key=lambda one: (one.mean.bandwidth, one.mean.steps)):
            if _beats(offer.mean, state.means(offer.target), WORTH_KEEPING):  # also after those before it
                count += keep(state, offer)
    return count


def _put(state: SearchState, rows: Sequence[Row]) -> int:
    """Add rows of one size, and return how many are kept."""
    size = rows[0].nodes, rows[0].degree
    before = {(row.spec, row.basis) for row in state.rows[size]}
    state.add(rows)
    return len({(row.spec, row.basis) for row in state.rows[size]} - before)


def _beats(mean: Cost, rows: Sequence[Cost], tolerance: Fraction) -> bool:
    """Return whether no row has as few steps and nearly as small a y.

    Larger by at most the tolerance.

    Sizes without a row are no matter of closing: these are searched when they are asked for.
    """
    most = mean.bandwidth * (1 + tolerance)
    return bool(rows) and not any(row.steps <= mean.steps and row.bandwidth <= most for row in rows)


def _gain(state: SearchState, offer: Offer) -> Fraction:
    """Return the gain of an offer at 1 MiB allreduce; 0 if none."""
    fastest = state.fastest(offer.target)
    return Fraction(1) if fastest is None else max(Fraction(0), 1 - runtime(offer.mean) / runtime(fastest.mean))
