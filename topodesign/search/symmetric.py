"""Local search for better symmetric digraphs within a budget.

Of time or work.

A Cayley digraph is vertex-transitive, so one breadth-first search prices it; tens of thousands of connection sets a
second are priced, over every group of the right order that the library can build. Groups in which few elements commute
come first: their Cayley digraphs expand best. A voltage lift of a base with m nodes takes m searches, and serves sizes
whose groups are poor: N = 2p with p prime has lifts by the cyclic group of order p. A Cayley digraph is the lift of a
base with one node, so one climb does for both. It aims at a number of steps first, and where that is reached at the
least bandwidth.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from topodesign.base.compiled import LARGEST
from topodesign.base.cost import Cost, commuting_bound, lower_bound
from topodesign.base.deadline import Stopwatch
from topodesign.base.progress import tell
from topodesign.pricing.kernels import SCALE
from topodesign.search.cosets import CosetNumbering, number_group
from topodesign.search.groups import groups_to_search
from topodesign.search.lifted import (
    LARGEST_TWISTED,
    MAX_VOLTAGES,
    Links,
    duplex_base,
    make_twisted_base,
    simplex_base,
    spec_of,
)
from topodesign.search.screening_kernels import work_of_screening
from topodesign.search.target import FoundDigraph, Target, select_frontier
from topodesign.search.voltage_kernels import MAX_STEPS, Base, anneal_lifts, try_sets
from topodesign.topology.groups import Group
from topodesign.topology.topology import IntArray

MAX_LINKS = 16  # degrees up to this are searched
MAX_ORBITS = 64  # lifts of bases with up to so many nodes are searched
_FEW_ORBITS = 12  # all numbers of orbits up to this share a budget
_MAX_COUNTS = 4  # and if these are fewer, so many with larger ones
_TURN = 384  # walks through all links in one turn
_WORK = 2**27  # links that are looked at of the first of several sizes; of later ones fewer
_WORK_A_SECOND = 10**8  # about
_FEWEST_TURNS = 12  # that a budget of work is cut into
_TRIES = 100  # changes from a random start to the end, for each link of the base
_STARTS = 4  # random starts in one turn
_HOT = 1 << 16  # nodes missing, times 2**16, that annealing starts with
_TWISTED = 8  # smaller sets are better without symmetry of their own
_HOPELESS = 1 / 64  # where so large a share of the nodes is missed at best, no more turns are taken
_ENOUGH_TURNS, _ENOUGH_TURNS_OF_GROUPS = 4, 12  # after so many; Cayley digraphs of one group differ most from others
_SLOWEST = 4  # where steps alone are wanted, annealing takes twice as long after so few turns, this often at most
_SHY = 128  # how much less often a number of steps is aimed at for the share of nodes that the best try misses


def search_sizes(
    targets: Sequence[Target],
    seconds: float | None,
    *,
    seed: int = 0,
    known: Callable[[Target], Sequence[Cost]],
    progress: Callable[[float], None] | None = None,
) -> dict[Target, list[FoundDigraph]]:
    """Search Cayley digraphs of several sizes, the earlier ones longer.

    * ``seconds``: time budget. What is tried of a size depends on the seed alone, and more time only tries more. If
      None, a budget of work that takes some seconds.
    * ``known``: for a target, costs that need not be found again.
    * ``progress``: called now and then with the share of the budget that is used.

    Returns: for each target the digraphs found that no other found or known one dominates, by steps.
    """
    watch = Stopwatch()
    found: dict[Target, list[FoundDigraph]] = {}
    for place, target in enumerate(targets):
        if seconds is None:
            tell(progress, place / len(targets))
            found[target] = search_symmetric(target, _WORK // (place + 1), orbits=[1], seed=seed, known=known(target))
            continue
        left = sum(1 / (1 + other) for other in range(place, len(targets)))
        end = (used := watch()) + max(0.0, seconds - used) / (left * (place + 1))

        def goes_on(end: float = end, seconds: float = seconds) -> bool:
            tell(progress, (now := watch()) / seconds)
            return now < end

        work = int((end - used) * _WORK_A_SECOND)
        found[target] = search_symmetric(target, work, orbits=[1], seed=seed, known=known(target), goes_on=goes_on)
    return found


def search_symmetric(
    target: Target,
    work: int,
    *,
    orbits: Sequence[int] = (),
    seed: int = 0,
    known: Sequence[Cost] = (),
    steps: int | None = None,
    enough: Fraction = Fraction(1),
    goes_on: Callable[[], bool] | None = None,
) -> list[FoundDigraph]:
    """Search one size within a work budget, deterministically.

    * ``work``: links to look at. Compiled code looks at some 10^8 a second. Where that is enough for all connection
      sets of all groups, all are tried.
    * ``orbits``: what to search: 1 for Cayley digraphs, a divisor m > 1 of N for voltage lifts of bases with m nodes.
      The work is shared; what one does not need goes to the next. By default Cayley digraphs and the lifts of a few
      small bases.
    * ``steps``: search for so many steps alone, and be content with the first digraph that has no more, whatever its
      bandwidth factor. What misses too many nodes is given up early.
    * ``enough``: be content with so many times the optimal bandwidth factor.
    * ``goes_on``: asked before every turn in place of the work.

    Returns: the digraphs found that no other found or known one dominates, by steps.
    """
    counts = list(orbits) or [1, *orbit_counts(target.nodes, target.degree)]
    best: dict[int, FoundDigraph] = {}
    for place, count in enumerate(counts):
        if steps is not None and best:
            break
        waiting = len(counts) - place
        share = work * 2 // (waiting + 1) if count == 1 else work // waiting
        state = _Search(target, count, seed, [*known, *(found.cost for found in best.values())], steps, enough)
        work -= share - state.run(share, goes_on)
        best |= {found.cost.steps: found for found in state.results()}
    return select_frontier(best.values())


def orbit_counts(nodes: int, degree: int) -> list[int]:
    """Return the orbit numbers m > 1 of lifts worth searching, ascending."""
    most = min(MAX_ORBITS, MAX_VOLTAGES // degree, nodes // 3)
    counts = [m for m in range(2, most + 1) if nodes % m == 0]
    return [m for place, m in enumerate(counts) if m <= _FEW_ORBITS or place < _MAX_COUNTS]


@dataclass
class _Search:
    """The state of the search at one size."""

    target: Target
    orbits: int
    seed: int
    known: Sequence[Cost]
    steps: int | None = None
    enough: Fraction = Fraction(1)
    turns: int = 0
    finished: bool = False
    best: dict[int, FoundDigraph] = field(default_factory=dict)

    def __post_init__(self) -> None:
        nodes, degree = self.target.nodes, self.target.degree
        fits = nodes % self.orbits == 0 and degree < nodes and degree <= min(MAX_LINKS, MAX_VOLTAGES // self.orbits)
        if self.target.duplex:  # and of degree 2 it is a cycle
            fits = fits and degree > 2 and nodes * degree % 2 == 0
        if fits:
            self._set_limits(nodes, degree)
        else:
            self.finished = True

    def _set_limits(self, nodes: int, degree: int) -> None:
        self.content = int((nodes - 1) * SCALE * self.enough)
        self.fewest = lower_bound(nodes, degree, duplex=self.target.duplex).steps
        if self.orbits == 1 and all(base.abelian for base in groups_to_search(nodes)):
            self.fewest = max(self.fewest, commuting_bound(nodes, degree))
        optimal = [cost.steps for cost in self.known if cost.bandwidth == Fraction(nodes - 1, nodes)]
        most = min([*optimal, self.steps or 4 * self.fewest + 4, MAX_STEPS - 1])
        if self.steps is not None:
            self.fewest = max(self.fewest, self.steps)
        self.allowed = np.full(most + 1, 2**62, dtype=np.int64)
        for cost in self.known:
            if cost.steps <= most:
                limit = int(cost.bandwidth * nodes * SCALE)
                self.allowed[cost.steps :] = np.minimum(self.allowed[cost.steps :], limit)
        self.tried = [0] * (most + 1)
        self.missing = _random_shares(nodes, degree - 1 if self.target.duplex and degree > 1 else degree, most)
        self._check_finished()

    def _check_finished(self) -> None:
        """Stop where nothing better can exist or is wanted."""
        self.finished = not self._open() or (self.steps is not None and bool(self.best))

    def _hopeless(self) -> bool:
        """Return whether many turns missed the only wanted steps by far."""
        if self.steps is None or self.turns < (_ENOUGH_TURNS if self.orbits > 1 else _ENOUGH_TURNS_OF_GROUPS):
            return False
        return self.missing[self.steps] > _HOPELESS

    def _open(self) -> list[int]:
        """Return the target steps without a satisfactory bandwidth factor."""
        return [steps for steps in range(self.fewest, len(self.allowed)) if self.allowed[steps] > self.content]

    def run(self, work: int, goes_on: Callable[[], bool] | None = None) -> int:
        """Search within a work budget, or while it goes on; return the rest of it."""
        if self.orbits == 1 and (all_of_it := self.work_of_all(work)) <= work:
            self.try_all()
            work -= all_of_it
        slice_of_it = work // _FEWEST_TURNS if self.steps is None else work
        while (goes_on() if goes_on else work > 0) and not self.finished and not self._hopeless():
            work -= self.turn() if goes_on else self.turn(min(work, slice_of_it))
        return max(0, work)

    def turn(self, most: int = 2**62) -> int:
        """Climb for one turn with the next group and base; return the links used.

        At most about ``most``.
        """
        nodes, degree = self.target.nodes, self.target.degree
        index, self.turns = self.turns, self.turns + 1
        groups = groups_to_search(nodes // self.orbits)
        base = groups[_harmonic(index) % len(groups)]
        rng = np.random.Generator(np.random.PCG64([self.seed, nodes, degree, self.orbits, index]))
        group = number_group(base.spec)
        twist = _twist(base, self.target, rng) if self.orbits == 1 else None
        images = np.stack([np.arange(base.order), group.inverse, *([] if twist is None else map(group.image, twist))])
        links = self._base(images, rng)
        work = nodes * degree * _TURN
        if links is None:
            return work
        depth, size = self._aim(), len(links.tail)
        each = work_of_screening(group.turns, self.orbits, degree, depth)
        patience = _TRIES << (0 if self.steps is None else min(index // _ENOUGH_TURNS, _SLOWEST))
        work = min(most, max(work, _STARTS * patience * size * each))
        tries = max(size, min(patience * size, work // (2 * each)))
        before = self.allowed.copy()
        found = np.zeros((len(self.allowed), 2 * len(links.tail) + 1), dtype=np.int64)
        state = rng.integers(1, 2**63, size=1, dtype=np.uint64)
        involutions = 1 + np.flatnonzero(images[1, 1:] == images[0, 1:])
        lifted = Base(
            group.turns,
            images,
            involutions,
            links.tail,
            links.head,
            links.leader,
            links.image,
            self.orbits,
            self.target.duplex,
        )
        enough = self.content if self.steps is None else LARGEST
        looked, missing = anneal_lifts(lifted, depth, work, tries, _HOT, enough, state, self.allowed, found)
        share = missing / (nodes * self.orbits)
        self.missing[depth] = share if self.tried[depth] == 0 else min(share, self.missing[depth])
        self.tried[depth] += 1
        self._record(group, links, before, found)
        return int(looked)

    def work_of_all(self, most: int) -> int:
        """Return the links of all connection sets of all groups, up to ``most``."""
        nodes, degree = self.target.nodes, self.target.degree
        each = nodes * degree
        if self.finished or (nodes - 1) ** min(2, degree) // 2 * each > most:
            return most + 1
        total = 0
        for base in groups_to_search(nodes):
            inverse = base.inverses()
            for fixed, choice in _iterate_sets(base, inverse, duplex=self.target.duplex):
                total += each * _number_of_sets(inverse, len(fixed), choice, self.target)
                if total > most:
                    return total
        return total

    def try_all(self) -> None:
        """Price all connection sets of all groups, exhaustively."""
        degree, duplex = self.target.degree, self.target.duplex
        links = simplex_base(1, degree, np.random.Generator(np.random.PCG64(self.seed)))
        for base in groups_to_search(self.target.nodes):
            group = number_group(base.spec)
            for fixed, choice in _iterate_sets(base, base.inverses(), duplex=duplex):
                before = self.allowed.copy()
                found = np.zeros((len(self.allowed), 2 * degree + 1), dtype=np.int64)
                if len(fixed) <= degree:
                    sets = group.number[fixed], group.number[choice]
                    try_sets(group.turns, group.inverse, *sets, duplex, degree, self.allowed, found)
                self._record(group, links, before, found)
        self.finished = True

    def _base(self, images: IntArray, rng: np.random.Generator) -> Links | None:
        """Return a random base, or None if none fits."""
        degree = self.target.degree
        if len(images) > 2:
            return make_twisted_base(degree, len(images))
        if not self.target.duplex:
            return simplex_base(self.orbits, degree, rng)
        involutions = bool(np.any(images[1, 1:] == images[0, 1:]))
        return duplex_base(self.orbits, degree, involutions, rng)

    def _aim(self) -> int:
        """Return the steps of the next turn."""
        reached = min(self.best, default=len(self.allowed))

        def price(steps: int) -> tuple[float, int]:
            weight = (1 + _SHY * self.missing[steps]) * 4 ** max(0, steps - reached)
            return (1 + self.tried[steps]) * weight, steps

        return min(self._open(), key=price)

    def _record(self, group: CosetNumbering, links: Links, before: IntArray, found: IntArray) -> None:
        for steps in range(1, len(self.allowed)):
            cost = int(self.allowed[steps])
            if cost < before[steps] and cost < self.allowed[steps - 1]:
                spec = spec_of(group, links, found[steps], duplex=self.target.duplex)
                self.best[steps] = FoundDigraph(spec, Cost(steps, Fraction(cost, SCALE * self.target.nodes)))
                if cost <= self.content:
                    self.allowed = self.allowed[: steps + 1]
                    break
        self._check_finished()

    def results(self) -> list[FoundDigraph]:
        """Return what was found and is still undominated, by steps."""
        return select_frontier(self.best.values())


def _random_shares(nodes: int, growth: int, most: int) -> list[float]:
    """Return the share of nodes a random digraph misses within 0, 1, ... steps.

    A node is out of reach if all nodes with links to it were so one step before. There is no call to a library's power
    function, so that every machine rounds alike.
    """
    shares = [1 - 1 / nodes]
    for _ in range(most):
        shares.append(math.prod([shares[-1]] * growth))
    return [share if share * nodes > 0.1 else 0.0 for share in shares]


def _iterate_sets(base: Group, inverse: IntArray, *, duplex: bool) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield (fixed elements, choices), which cover all sets.

    Up to automorphism where that is easy.

    Multiplied by a unit, a set of residues holds a divisor of n, and no element with a smaller common divisor with n.
    """
    elements = base.elements()[1:]
    single = elements[elements <= inverse[1:]] if duplex else elements
    if base.spec.name != "cyclic":
        yield elements[:0], single
        return
    divisors = np.gcd(elements, base.order)
    for divisor in sorted(set(divisors.tolist())):
        fixed = sorted({divisor, base.order - divisor}) if duplex else [divisor]
        rest = single[divisors[single - 1] >= divisor]
        yield np.array(fixed), rest[rest != divisor]


def _number_of_sets(inverse: IntArray, fixed: int, choice: IntArray, target: Target) -> int:
    open_ports = target.degree - fixed
    if not target.duplex:
        return math.comb(len(choice), open_ports) if open_ports >= 0 else 0
    involutions = int(np.sum(inverse[choice] == choice))
    pairs = len(choice) - involutions
    return sum(
        math.comb(involutions, single) * math.comb(pairs, (open_ports - single) // 2)
        for single in range(open_ports % 2, open_ports + 1, 2)
    )


def _twist(base: Group, target: Target, rng: np.random.Generator) -> IntArray | None:
    """Return the powers of a random automorphism for sets, or None.

    Without the identity.

    A set that is a union of few orbits of automorphisms has few choices and evenly loaded links. Half of the time there
    is none, so that other sets are tried too.
    """
    fit = target.degree >= _TWISTED and base.order <= LARGEST_TWISTED and base.spec.name in {"cyclic", "metacyclic"}
    if not fit or rng.integers(0, 2):
        return None
    n = int(str(base.spec.args[0]))
    units = _units(n, target.degree)
    if target.duplex:
        units = [(unit, order) for unit, order in units if pow(unit, order // 2, n) == n - 1 and base.order == n]
    if not units:
        return None
    unit, order = units[int(rng.integers(0, len(units)))]
    rest, part = np.divmod(base.elements(), n)
    return np.stack([part * pow(unit, power, n) % n + n * rest for power in range(1, order)])


@functools.lru_cache(maxsize=256)
def _units(n: int, degree: int) -> list[tuple[int, int]]:
    """Return units modulo n of an order above one that divides the degree."""
    found = []
    for unit in range(2, n):
        power, order = unit, 1
        while power != 1 and order < degree:
            power, order = power * unit % n, order + 1
        if power == 1 and degree % order == 0 and math.gcd(unit, n) == 1:
            found.append((unit, order))
    return found


def _harmonic(index: int) -> int:
    """Return 0, 0 1, 0 1 2, ...: place k comes up 1/k as often as the first."""
    row = (math.isqrt(8 * index + 1) - 1) // 2
    return index - row * (row + 1) // 2
