"""Short searches of sizes beyond the catalog.

Cayley digraphs, lifts, neighbouring sizes, congruences.

All budgets are of work, none of time, unless seconds are asked for; so what is found depends on the question alone.

Linear congruential digraphs have few steps at every size, primes among them; :mod:`topodesign.search.congruential` says
why. Whether digits load links evenly depends on where N lies between two powers of d, hardly on the powers: walks of k
links lead to d^k numbers in a pattern that a link more repeats d times as wide. So what a search found for N/d nodes
serves N.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from topodesign.base.cost import Cost, digits, lower_bound
from topodesign.base.errors import ParameterError
from topodesign.base.progress import Progress
from topodesign.base.spec import Spec, parse
from topodesign.catalog.files import read_rows
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.quality import least_runtime, runtime
from topodesign.catalog.sizes import MAX_NODES
from topodesign.graphs.expansions.turn import turn
from topodesign.pricing.closed_form import price_at_least
from topodesign.search.candidate import Candidate
from topodesign.search.close_sizes import SMOOTH
from topodesign.search.resized import iterate_resized
from topodesign.search.symmetric import MAX_LINKS, orbit_counts, search_sizes, search_symmetric
from topodesign.search.target import FoundDigraph, Target, select_frontier, steps_of_most
from topodesign.search.thinned_lines import without_nodes
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

GOOD = Fraction(65, 64)
"""Times the least bandwidth factor that is good enough; with the fewest steps it makes a search needless."""
_FINE = Fraction(257, 256)  # bandwidth factor that lifts found in a hurry of large sizes seldom have
POOR = Fraction(6, 5)  # times the bound from which on digraphs a few nodes away, and what keeps a port free, are tried

_WORK = 2**25  # what searches look at; a few seconds
_SMALL = 10_000  # nodes of digraphs that are searched thoroughly: over all groups, and for the least bandwidth factor
_MAX_LINKS, _WORK_TIMES_SQUARE = 2**23, 2**31
"""Links of larger ones, and what searches of these look at, times the degree squared, since wide ones take longer."""
_WIDE, _FEWEST_ORBITS, _FEWEST_OF_WIDE = 8, 4, 2
"""Degree from which on pricing an orbit takes long, and the fewest orbits: the fewer, the more alike the nodes look."""
_MANY_ORBITS, _MAX_LIFTED = 3, 2**20
"""How many numbers of orbits are searched, and how many times the links, if that is more than one."""
_SCARCE, _WORK_ON_STEPS, _WORK_ON_MORE = 0.1, 2**30, 2**27
"""Scarcity up to which steps are looked for, how long, and how long for each number of more steps if that is vain."""
_MORE = 8  # share of the steps that there are more then, but for one at least
_MANY_BASES = 2  # sizes of bases of line graphs that are searched, the smallest ones
MAX_PRICED, _WORK_PRICING = 2**31, 2**28
"""Links times nodes of what has no symmetry: some seconds; and of several of these together."""
_NEXT_SIZES = 3  # multiples of the degree whose line graphs some nodes are taken out of
_SPARE_DRAWS = 8  # of nodes that go or places that new ones get, where some do not fit


def search_beyond(
    target: Target,
    front: Sequence[Candidate],
    known: Callable[[Target], Sequence[Cost]],
    limit: tuple[int, float | None],
    progress: Progress | None,
) -> dict[Target, list[FoundDigraph]]:
    """Search symmetric digraphs of a size, and bases of its line graphs.

    Those that the catalog does not reach.
    """
    seed, seconds = limit
    bound = lower_bound(*target.size, duplex=target.duplex)

    def good(cost: Cost) -> bool:
        return cost.steps == bound.steps and cost.bandwidth <= GOOD * bound.bandwidth

    def costs(size: Target) -> Sequence[Cost]:
        return [one.cost for one in front] if size == target else known(size)

    sizes = [] if seconds == 0 or any(good(one.cost) for one in front) else _sizes(target)
    if not sizes:
        return {}
    found: dict[Target, list[FoundDigraph]] = {}
    if seconds is not None:
        found = search_sizes(sizes, seconds, seed=seed, known=costs, progress=progress)
    for place, size in enumerate(reversed(sizes)):
        if progress is not None and seconds is None:
            progress(place / len(sizes))
        known_of = list(costs(size))
        if size.nodes * size.degree > _MAX_LIFTED:  # a long search, which very good line graphs make needless
            lines = (_bound_line_graph(one.cost, fewer, size) for fewer, some in found.items() for one in some)
            known_of += (one for one in lines if one.bandwidth <= _FINE)
        lifts = search_size(size, _WORK // len(sizes), seed=seed, known=known_of)
        found[size] = select_frontier([*found.get(size, ()), *lifts])
        if any(good(_bound_line_graph(one.cost, size, target)) for one in found[size]):
            break
    return found


def _bound_line_graph(cost: Cost, size: Target, target: Target) -> Cost:
    """Return approximate costs of line graphs with the target's nodes."""
    nodes, steps, bandwidth = size.nodes, cost.steps, cost.bandwidth
    while nodes < target.nodes:
        steps, bandwidth, nodes = steps + 1, bandwidth + Fraction(1, nodes), nodes * size.degree
    return Cost(steps, bandwidth)


def _sizes(target: Target) -> list[Target]:
    """Return the size and its line graph bases outside the catalog."""
    sizes = [target]
    fewer, rest = divmod(target.nodes, target.degree)
    while not target.duplex and target.degree > 1 and not rest and fewer > MAX_NODES:
        sizes.append(replace(target, nodes=fewer))
        fewer, rest = divmod(fewer, target.degree)
    return [size for size in [sizes[0], *sizes[1:][-_MANY_BASES:]] if size.degree <= MAX_LINKS]


def search_size(size: Target, work: int, *, seed: int = 0, known: Sequence[Cost] = ()) -> list[FoundDigraph]:
    """Search one size, first for few steps, then for bandwidth.

    Small sizes are searched for all kinds of symmetric digraphs, others for lifts of some numbers of orbits.
    """
    nodes, degree = size.size
    if nodes * degree > _MAX_LINKS or degree < (3 if size.duplex else 2):  # or only rings
        return []
    fewest = _FEWEST_ORBITS if degree < _WIDE else _FEWEST_OF_WIDE
    all_counts = [1, *orbit_counts(nodes, degree)]
    counts = [m for m in all_counts if m >= fewest][:_MANY_ORBITS] or all_counts[-1:]
    steps, bound = steps_of_most(size, _SCARCE), lower_bound(*size.size, duplex=size.duplex).bandwidth

    def good(costs: Iterable[Cost]) -> bool:
        return any(one.steps <= steps and one.bandwidth <= GOOD * bound for one in costs)

    found = [] if good(known) else _of_few_steps(size, counts, seed, known, steps)
    known = [*known, *(one.cost for one in found)]
    if nodes <= _SMALL:
        return [*found, *search_symmetric(size, work, seed=seed, known=known)]
    if good(known):
        return found
    orbits = counts[: max(1, _MAX_LIFTED // (nodes * degree))]
    work = _WORK_TIMES_SQUARE // degree**2
    return [*found, *search_symmetric(size, work, orbits=orbits, seed=seed, known=known, enough=GOOD)]


def _of_few_steps(
    size: Target, orbits: Sequence[int], seed: int, known: Sequence[Cost], steps: int
) -> list[FoundDigraph]:
    """Return a lift with so few steps.

    Where the size has few orbits, or groups that grow slowly, there is none, and more steps are looked for.
    """
    found = search_symmetric(size, _WORK_ON_STEPS, orbits=orbits, seed=seed, steps=steps)
    most = min((one.steps for one in known), default=size.nodes)
    while not found and (steps := steps + max(1, steps // _MORE)) < most:
        found = search_symmetric(size, _WORK_ON_MORE, orbits=orbits, seed=seed, steps=steps)
    return found


def is_poor(target: Target, front: Iterable[Candidate]) -> bool:
    """Return whether a size is served poorly."""
    bound = least_runtime(*target.size, duplex=target.duplex)
    return all(runtime(one.mean) >= POOR * bound for one in front)


def few_away(
    target: Target, front: Sequence[Candidate], bases: Callable[[Target], Iterator[Candidate]], seed: int
) -> Iterator[tuple[Spec, Topology]]:
    """Yield digraphs and specs made of some a few nodes away.

    For sizes that are served poorly.
    """
    nodes, degree = target.size
    if nodes * nodes * degree > MAX_PRICED or degree > MAX_LINKS:
        return
    if not target.duplex and nodes % degree and nodes * nodes * degree <= _WORK_PRICING:
        yield from _thin_lines(target, front, bases, seed)
    if not is_poor(target, front):
        return
    rng = np.random.Generator(np.random.PCG64([seed, nodes, degree, target.duplex]))
    fold = SMOOTH if target.duplex else degree
    near = {replace(target, nodes=fold * fewer) for fewer in {nodes // fold, -(-nodes // fold)}} - {target}
    work = nodes * nodes * degree
    times = max(1, _WORK_PRICING // work)
    for size in sorted(near, key=lambda one: abs(one.nodes - nodes))[: MAX_PRICED // work]:
        known = [(runtime(one.mean), str(one.spec)) for one in bases(size)]
        lifts = search_size(size, _WORK // len(near), seed=seed) if target.duplex else ()
        known += [(runtime(one.cost), str(one.spec)) for one in lifts]
        if known:
            made = ((one.spec, one) for one in iterate_resized(build(min(known)[1]), target, times + _SPARE_DRAWS, rng))
            yield from itertools.islice(((spec, one) for spec, one in made if spec is not None), times)


def remove_node(target: Target, base: Candidate, seed: int) -> Iterator[tuple[Spec, Topology]]:
    """Yield a topology of one node more without a random node, neighbours joined."""
    work = target.nodes**2 * target.degree
    if work > MAX_PRICED:
        return
    rng = np.random.Generator(np.random.PCG64([seed, *target.size, target.duplex]))
    for made in iterate_resized(build(base.spec), target, max(1, _WORK_PRICING // work), rng):
        if made.spec is not None:
            yield made.spec, made


def _thin_lines(
    target: Target, front: Sequence[Candidate], bases: Callable[[Target], Iterator[Candidate]], seed: int
) -> Iterator[tuple[Spec, Topology]]:
    """Yield line graphs of the next sizes without some nodes, if faster."""
    nodes, degree = target.size
    fastest = min((runtime(one.mean) for one in front), default=None)
    for fewer in range(-(-nodes // degree), -(-nodes // degree) + _NEXT_SIZES):
        lines = (one for one in bases(replace(target, nodes=degree * fewer)) if one.spec.name == "line")
        best = min(lines, key=lambda one: (runtime(one.mean), str(one.spec)), default=None)
        if best is None or (fastest is not None and runtime(best.mean) >= fastest):
            continue
        for one in without_nodes(build(best.spec), nodes, best.cost.steps, seed=seed):
            if one.topology.nodes == nodes:
                fastest = min(runtime(one.cost), fastest or runtime(one.cost))
                yield one.spec, one.topology


_REACH = 32  # sizes whose digits are tried are so many nodes away, at most,
_MAX_TRIED = 64  # and so many digraphs are made of these digits,
_GLANCE, _SOURCES = 4, 32  # of which a few nodes are looked at, and more where these show too little


def cyclic_covers(target: Target) -> Iterator[tuple[Spec, int]]:
    """Yield cyclic covers of generalized Kautz digraphs, with their steps.

    Walks of x links lead to one copy, those of x + 1 to the next, so that m copies take m - 1 steps more than one.
    """
    nodes, degree = target.size
    for copies in (2, 3):
        fewer, rest = divmod(nodes, copies)
        if not (target.duplex or rest) and 1 < degree < fewer:
            steps = digits(fewer, degree) + copies - 1
            if steps <= digits(nodes, degree) + 1:
                yield Spec("cover", (Spec("genkautz", (degree, fewer)), copies)), steps


def with_digits(target: Target, catalog: Catalog, fastest: Fraction | None) -> Topology | None:
    """Return the congruential digraph that loads links most evenly.

    With digits in a row, of about N/d^i nodes.

    Its self-loops are turned. None if none is found that has k steps, d^k being the first power that reaches N, or that
    may be faster by some than ``fastest``, seconds of an allreduce.
    """
    nodes, degree = target.size
    if target.duplex or degree not in catalog.degrees or nodes * nodes * degree > MAX_PRICED:
        return None
    least = Fraction(nodes - 1, nodes)
    if fastest is not None and runtime(Cost(digits(nodes, degree), GOOD * least)) >= fastest:
        return None
    best: Topology | None = None
    lowest: Fraction | None = None

    def is_of_use(there: Cost, back: Fraction) -> bool:
        mean = Cost(there.steps, (there.bandwidth + back) / 2)
        fast = fastest is None or runtime(mean) < fastest
        return fast and there.steps <= digits(nodes, degree) and (lowest is None or mean.bandwidth < lowest)

    for draft in _drafts(target, catalog):
        if not is_of_use(price_at_least(draft, _GLANCE), least):
            continue
        there = price_at_least(draft, _SOURCES)
        if not is_of_use(there, least):
            continue
        back = price_at_least(draft.transpose(), _SOURCES)
        if is_of_use(there, back.bandwidth) and back.steps <= digits(nodes, degree):
            best, lowest = draft, there.average_with(back).bandwidth
    return best


def _drafts(target: Target, catalog: Catalog) -> Iterator[Topology]:
    nodes, degree = target.size
    fewer = nodes
    while fewer > MAX_NODES:
        fewer = round(fewer / degree)
    rows = read_rows(catalog.directory, degree, fewer - _REACH, fewer + _REACH)
    near = sorted((row for row in rows if "congruential" in row.spec), key=lambda row: abs(row.nodes - fewer))
    bases = dict.fromkeys(spec for row in near if (spec := _resize_spec(parse(row.spec), nodes)))
    for base in itertools.islice(bases, _MAX_TRIED // 2):
        try:
            topology = build(base)
            made = [turn(topology, 0, places) for places in (1, 2)]
        except ParameterError:
            continue  # more links lead into some nodes than into others
        yield from (one for one in made if not one.self_loops and int(one.capacity.max()) == 1)


def _resize_spec(spec: Spec, nodes: int) -> Spec | None:
    """Return the digraph of another size with these digits, or None."""
    while spec.name in {"turn", "transpose"} and isinstance(spec.args[0], Spec):
        spec = spec.args[0]
    return Spec(spec.name, (nodes, *spec.args[1:])) if spec.name == "congruential" else None
