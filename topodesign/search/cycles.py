"""Duplex graphs with few steps for any size: several cycles.

One rotation turns cycles of unequal length.

A voltage lift by a cyclic group needs a divisor of the number of nodes. Primes and their small multiples have none that
is of use, but are sums of cycles of p, p/2, p/3, ... nodes, which a rotation of order p keeps as well.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from topodesign.base.cost import keeps_port_free
from topodesign.base.spec import LONGEST_SPEC, Spec
from topodesign.search.cycle_kernels import Cycles, bring_near, join
from topodesign.search.target import Target

MAX_NODES = 2048
_MAX_CYCLES = 64  # of so many a word says which are near
_FEWEST_CYCLES = 3  # two cycles have few different ways between them, as all turns commute
_SHORTEST = 8  # of the full cycles
_MAX_SHORTER = 6


@functools.lru_cache(maxsize=1024)
def cycles_of(target: Target) -> dict[int, tuple[int, ...]]:
    """Return cycle lengths that sum to a size, by their number.

    The full ones, then the fewest shorter ones.
    """
    nodes, degree = target.size
    if not target.duplex or degree < 3 or not degree < nodes <= MAX_NODES:
        return {}
    if keeps_port_free(nodes, degree, duplex=True):
        return {}
    chosen: dict[int, tuple[int, ...]] = {}
    for p in range(_SHORTEST, nodes // _FEWEST_CYCLES + 1):
        shorter = [p // h for h in range(2, degree + 1) if p % h == 0 and _count_ports(degree, h, p // h)]
        for full in range(nodes // p, max(_FEWEST_CYCLES, nodes // p - 2) - 1, -1):
            rest = _fewest(nodes - full * p, shorter)
            if rest is None or (full * degree % 2 and p % 2):
                continue
            lengths = (p,) * full + rest
            known = chosen.get(len(lengths))
            if len(lengths) <= _MAX_CYCLES and (known is None or known.count(known[0]) <= full):
                chosen[len(lengths)] = lengths
            break
    return dict(sorted(chosen.items()))


def _count_ports(degree: int, h: int, length: int) -> int:
    """Return the ports of a short cycle that stand for h links each."""
    for count in range(degree // h, 0, -1):
        rest = degree - count * h
        if (rest % 2 == 0 or length % 2 == 0) and rest < length:
            return count
    return 0


def _fewest(total: int, parts: list[int]) -> tuple[int, ...] | None:
    """Return the fewest parts with a sum, descending, or None."""
    if total == 0:
        return ()
    if not parts or total % math.gcd(*parts):
        return None
    for count in range(-(-total // parts[0]), min(_MAX_SHORTER, total // parts[-1]) + 1):
        for chosen in itertools.combinations_with_replacement(parts, count):
            if sum(chosen) == total:
                return chosen
    return None


def search_cycles(target: Target, steps: int, work: int, lengths: tuple[int, ...], *, seed: int = 0) -> Spec | None:
    """Search for a multicirculant graph with so few steps.

    * ``target``: the size, duplex.
    * ``steps``: how far nodes may be apart.
    * ``work``: words of 64 bits to look at, in all; some 10^9 take a second.
    * ``lengths``: of the cycles, out of :func:`cycles_of`.

    Returns: one, or None if none was found or its spec is too long.
    """
    rng = np.random.Generator(np.random.PCG64([seed, target.nodes, target.degree, steps, len(lengths)]))
    cycles = random_cycles(target.degree, lengths, rng)
    state = rng.integers(1, 2**63, size=1, dtype=np.uint64)
    changes = work // (steps * (target.degree + 2) * len(lengths) * lengths[0])
    if cycles is None or bring_near(cycles, steps, changes, state):
        return None
    spec = spec_of(target.degree, cycles)
    return spec if len(str(spec)) <= LONGEST_SPEC else None


def random_cycles(degree: int, lengths: tuple[int, ...], rng: np.random.Generator) -> Cycles | None:
    """Return random full cycles with shorter ones attached, or None.

    None if ports do not suffice.
    """
    full = lengths.count(lengths[0])
    attached = [_count_ports(degree, lengths[0] // length, length) for length in lengths[full:]]
    own = [degree - count * lengths[0] // length for count, length in zip(attached, lengths[full:], strict=True)]
    ports = [degree] * full + [count + rest for count, rest in zip(attached, own, strict=True)]
    first = np.cumsum([0, *ports])
    cycles = Cycles(
        np.array(lengths, dtype=np.int64),
        first.astype(np.int64),
        np.repeat(np.arange(len(lengths)), ports),
        np.arange(first[-1]),
        np.zeros(first[-1], dtype=np.int64),
        full * degree,
    )
    free = rng.permutation(full * degree).tolist()
    if len(free) < sum(attached):
        return None
    for start, count, rest in zip(first[full:].tolist(), attached, own, strict=False):
        for port in range(start, start + count):
            join(cycles, port, free.pop(), int(rng.integers(lengths[0])))
        inner = list(range(start + count, start + count + rest))
        if rest % 2:
            join(cycles, inner[-1], inner.pop(), 0)
        for number, port in enumerate(inner[::2]):
            join(cycles, port, inner[2 * number + 1], number + 1)
    if len(free) % 2:
        join(cycles, free[-1], free.pop(), 0)
    while free:
        join(cycles, free.pop(), free.pop(), int(rng.integers(1, lengths[0])))
    return cycles


def spec_of(degree: int, cycles: Cycles) -> Spec:
    """Return the spec of a graph."""
    lengths = cycles.length.tolist()
    numbers = list[int]()
    for port, mate in enumerate(cycles.mate.tolist()):
        i, j = int(cycles.cycle[port]), int(cycles.cycle[mate])
        length = max(lengths[i], lengths[j])
        turn = int(cycles.turn[port]) % length
        if port <= mate or (i == j and 2 * turn == length):  # two such ports are parallel links
            numbers += [i, j, turn]
    return Spec("multicirculant", (degree, len(lengths), *lengths, *numbers))
