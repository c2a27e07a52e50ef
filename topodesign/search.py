"""Local search for Cayley digraphs that are better than what is known, within a time budget.

A Cayley digraph is vertex-transitive, so one breadth-first search prices it; tens of thousands of connection sets a
second are priced, over every group of the right order that the library can build. Groups in which few elements commute
come first: their Cayley digraphs expand best.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from topodesign.cost import Cost, moore_bound
from topodesign.errors import ParameterError
from topodesign.graphs.finite_field import prime_power
from topodesign.graphs.groups import Group, affine, cyclic, dicyclic, metacyclic
from topodesign.spec import Spec

MOST_LINKS = 16
"""Degrees up to this are searched."""

_POOL = 128
_TRIES = 2048
_PATIENCE = 100


@dataclass(frozen=True)
class Target:
    """A size to search at.

    Attributes
    ----------
    nodes, degree
        The exact size.
    duplex
        Only sets closed under inversion.
    """

    nodes: int
    degree: int
    duplex: bool


@dataclass(frozen=True)
class Found:
    """A Cayley digraph that search came upon, with the price that the search computed (of the dearer collective)."""

    spec: Spec
    cost: Cost


def search_cayley(
    targets: Sequence[Target],
    seconds: float,
    *,
    seed: int = 0,
    known: Callable[[Target], Sequence[Cost]] | None = None,
    progress: Callable[[float], None] | None = None,
) -> dict[Target, list[Found]]:
    """Search Cayley digraphs of several sizes at once, in turns.

    Parameters
    ----------
    targets
        Sizes; the earlier ones get more of the time.
    seconds
        Time budget. What is tried depends on the seed alone, and more time only tries more.
    seed
        Seed of all random choices.
    known
        For a target, costs that need not be found again.
    progress
        Called now and then with the share of the budget that is used.

    Returns
    -------
    dict
        For each target the digraphs found that no other found or known one dominates, by steps.
    """
    start = time.monotonic()
    hunts = [_Hunt(target, seed, () if known is None else known(target)) for target in targets]
    while (used := time.monotonic() - start) < seconds:
        ready = [(hunt.spent * (place + 1), place, hunt) for place, hunt in enumerate(hunts) if not hunt.finished]
        if not ready:
            break
        if progress is not None:
            progress(used / seconds)
        hunt = min(ready)[2]
        began = time.monotonic()
        hunt.step()
        hunt.spent += time.monotonic() - began
    return {hunt.target: hunt.results() for hunt in hunts}


@dataclass
class _Hunt:
    """The state of the search at one size."""

    target: Target
    seed: int
    known: Sequence[Cost]
    groups: list[Group] = field(init=False)
    turn: int = 0
    spent: float = 0.0
    finished: bool = False
    best: dict[int, Found] = field(default_factory=dict)

    def __post_init__(self) -> None:
        nodes, degree = self.target.nodes, self.target.degree
        self.groups = []
        if 1 <= degree <= MOST_LINKS and degree < nodes:
            self._set_limits(nodes, degree)
        else:
            self.finished = True

    def _set_limits(self, nodes: int, degree: int) -> None:
        from topodesign.solve.kernels import SCALE  # noqa: PLC0415  compiled code, slow to import

        optimum = (nodes - 1) * SCALE
        fewest = moore_bound(nodes, degree, duplex=self.target.duplex) if degree > 1 else nodes - 1
        optimal = [cost.steps for cost in self.known if cost.bandwidth == Fraction(nodes - 1, nodes)]
        most = min(optimal, default=4 * fewest + 4)
        self.fewest = fewest
        self.optimum = optimum
        self.allowed = np.full(most + 1, 2**62, dtype=np.int64)
        for cost in self.known:
            if cost.steps <= most:
                limit = int(cost.bandwidth * nodes * SCALE)
                self.allowed[cost.steps :] = np.minimum(self.allowed[cost.steps :], limit)
        self._check_finished()

    def _check_finished(self) -> None:
        """Stop where nothing better can exist: optimal bandwidth in the fewest steps."""
        self.finished = len(self.allowed) <= self.fewest or self.allowed[self.fewest] <= self.optimum

    def step(self) -> None:
        """Try one batch of connection sets of the next group."""
        from topodesign.solve import kernels  # noqa: PLC0415  compiled code, slow to import

        if not self.groups:
            self.groups = groups_of_order(self.target.nodes)
        index, self.turn = self.turn, self.turn + 1
        base = self.groups[_harmonic(index) % len(self.groups)]
        rng = np.random.Generator(np.random.PCG64([self.seed, self.target.nodes, self.target.degree, index]))
        pool = self._pool(base, rng)
        table = base.multiply(base.elements()[None, :], pool[:, None])
        where = {int(element): place for place, element in enumerate(pool)}
        inverse = np.array([where[element] for element in _inverses(base, pool).tolist()])
        found = np.zeros((len(self.allowed), self.target.degree), dtype=np.int64)
        before = self.allowed.copy()
        state = rng.integers(1, 2**63, size=1, dtype=np.uint64)
        kernels.climb_sets(
            table, inverse, self.target.duplex, self.target.degree, _TRIES, _PATIENCE, state, self.allowed, found
        )
        self._record(base, pool, before, found)

    def _pool(self, base: Group, rng: np.random.Generator) -> np.ndarray:
        if base.order - 1 <= _POOL:
            return np.arange(1, base.order, dtype=np.int64)
        drawn = rng.choice(np.arange(1, base.order, dtype=np.int64), size=_POOL // 2, replace=False)
        return np.unique(np.concatenate((drawn, _inverses(base, drawn))))

    def _record(self, base: Group, pool: np.ndarray, before: np.ndarray, found: np.ndarray) -> None:
        from topodesign.solve.kernels import SCALE  # noqa: PLC0415  compiled code, slow to import

        for steps in range(1, len(self.allowed)):
            cost = int(self.allowed[steps])
            if cost < before[steps] and cost < self.allowed[steps - 1]:
                elements = sorted(pool[found[steps]].tolist())
                y = Fraction(cost, SCALE * self.target.nodes)
                self.best[steps] = Found(cayley_spec(base, elements, duplex=self.target.duplex), Cost(steps, y))
                if cost <= self.optimum:
                    self.allowed = self.allowed[: steps + 1]
                    break
        self._check_finished()

    def results(self) -> list[Found]:
        """Return what was found and is still undominated, by steps."""
        kept: list[Found] = []
        for steps in sorted(self.best):
            if not kept or self.best[steps].cost.bandwidth < kept[-1].cost.bandwidth:
                kept.append(self.best[steps])
        return kept


def _harmonic(index: int) -> int:
    """Return 0, 0 1, 0 1 2, 0 1 2 3, ...: the k-th place comes up about 1/k as often as the first, and all do."""
    row = (math.isqrt(8 * index + 1) - 1) // 2
    return index - row * (row + 1) // 2


def cayley_spec(base: Group, elements: Sequence[int], *, duplex: bool) -> Spec:
    """Return the plainest spec of a Cayley digraph: a circulant where the group is cyclic."""
    n = base.order
    if base.spec.name != "cyclic":
        return Spec("cayley", (base.spec, *elements))
    if duplex and 2 * len(half := [a for a in elements if 2 * a < n]) == len(elements):
        return Spec("circulant", (n, *half))
    return Spec("dicirculant", (n, *elements))


def groups_of_order(order: int) -> list[Group]:
    """Return the groups of an order that are worth searching, those with the fewest commuting pairs first.

    All split metacyclic groups (cyclic, dihedral and Frobenius groups of prime degree among them), each once for every
    subgroup of multipliers, the dicyclic group and the affine group of a prime power.
    """
    ranked: list[tuple[Fraction, str, Group]] = []
    for n, m, r in _metacyclic_parameters(order):
        base = metacyclic(n, m, r) if m > 1 else cyclic(n)
        ranked.append((_commuting_share(n, m, r), str(base.spec), base))
    if order % 4 == 0 and order >= 8:
        base = dicyclic(order // 4)
        classes = order // 4 + 3  # of the dicyclic group of order 4n
        ranked.append((Fraction(classes, order), str(base.spec), base))
    root = math.isqrt(order) + 1
    if root * (root - 1) == order and _is_proper_prime_power(root):
        base = affine(root)
        ranked.append((Fraction(root, order), str(base.spec), base))  # AGL(1,q) has q classes
    return [base for *_, base in sorted(ranked, key=lambda row: row[:2])]


def _is_proper_prime_power(q: int) -> bool:
    try:
        return prime_power(q)[1] > 1
    except ParameterError:
        return False


def _metacyclic_parameters(order: int) -> Iterator[tuple[int, int, int]]:
    """Yield (n, m, r) of Z_n : Z_m with nm = order, one r for each subgroup that r generates in the units of Z_n."""
    for m in range(1, order + 1):
        n = order // m
        if order % m or (m > 1 and n < 2):
            continue
        seen: set[frozenset[int]] = set()
        for r in range(1, max(2, n)):
            if math.gcd(r, n) != 1 or pow(r, m, n) != 1 % n:
                continue
            subgroup = {1 % n}
            power = r % n
            while power not in subgroup:
                subgroup.add(power)
                power = power * r % n
            if (key := frozenset(subgroup)) not in seen and (len(subgroup) > 1 or m == 1 or math.gcd(n, m) > 1):
                seen.add(key)
                yield n, m, r % n if n > 1 else 0


def _commuting_share(n: int, m: int, r: int) -> Fraction:
    """Return the share of pairs that commute.

    (a,b) and (c,e) do if a(1 - r^e) = c(1 - r^b) modulo n, which n * gcd(n, 1 - r^e, 1 - r^b) pairs (a,c) solve.
    """
    powers = [pow(r, b, n) for b in range(m)] if n > 1 else [0] * m
    kinds: dict[int, int] = {}
    for power in powers:
        divisor = math.gcd(n, power - 1)
        kinds[divisor] = kinds.get(divisor, 0) + 1
    pairs = sum(i * j * math.gcd(x, y) for x, i in kinds.items() for y, j in kinds.items())
    return Fraction(pairs, n * m * m)


def _inverses(base: Group, elements: np.ndarray) -> np.ndarray:
    """Return the inverse of each element: the power with the exponent order - 1 (Lagrange)."""
    result = np.zeros_like(elements)
    square, exponent = elements, base.order - 1
    while exponent:
        if exponent & 1:
            result = base.multiply(result, square)
        square, exponent = base.multiply(square, square), exponent >> 1
    return result
