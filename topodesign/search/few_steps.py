"""Digraphs with few steps, whatever their bandwidth factor: nodes are put into good ones of close sizes or taken out.

Of a topology with few steps deferred schedules make one with nearly optimal bandwidth, so that steps are all that has
to be found. A few nodes more or less bring few pairs of nodes too far apart, often none; links are exchanged until
those are near, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from topodesign.base.spec import LONGEST_SPEC, Spec
from topodesign.graphs.expansions.insert import insert
from topodesign.search import near_kernels as kernels
from topodesign.search.annealing import swaps_between
from topodesign.search.near_kernels import rank_insertions
from topodesign.search.neighbours import drawn
from topodesign.search.target import Target
from topodesign.topology.topology import IntArray, Topology

_TEMPERATURE = 64
_STARTS, _FEWEST_STARTS = 240, 6
"""Tries with a base that has a node more or less, and with any; between, by the square of how many it has. A try takes
some milliseconds, and they differ: a node less made 8 to 52 pairs too far apart in a lift of 692 nodes of degree 8."""
_FIRST_STARTS, _PROMISING = 12, 32
"""After so many tries with a base there are more only if one of them left at most so many pairs too far apart."""
_ANNEALED = 3  # of these so many, with the fewest pairs too far apart, are made better
_HOPELESS = 4  # times the number of nodes: more pairs too far apart are not brought near
_NEARLY, _LONGER, _ROUNDS = 24, 4, 3
"""With so few pairs left it is worth so many times as many exchanges again, and that so often: from 8 pairs most
tries get to none, from 12 half of them, from 40 hardly any."""
_MOST_WORK = 4 * 10**9  # words that are looked at in all of them, at most: a few seconds


def search_near(target: Target, steps: int, bases: Iterable[Topology], exchanges: int, *, seed: int = 0) -> Spec | None:
    """Search for a topology of a size with few steps among those of close sizes with nodes more or less.

    * ``steps``: steps that it may have at most.
    * ``bases``: regular topologies of its degree, duplex if it is to be, that have specs; those of its own size are
      taken as they are.
    * ``exchanges``: of links, that are tried with each start.

    Returns: none if none is found.
    """
    rng = np.random.Generator(np.random.PCG64([seed, target.nodes, target.degree, target.duplex, steps]))
    drafts: list[tuple[int, int, Topology]] = []
    for base in bases:
        least = _HOPELESS * target.nodes
        for number, start in enumerate(_starts(target, steps, base, rng)):
            if number >= _FIRST_STARTS and least > _PROMISING:
                break
            far = _exchanged(start, steps, 0, target.duplex, rng)[0]
            if far == 0 and len(str(start.spec)) <= LONGEST_SPEC:
                return start.spec
            least = min(least, far)
            drafts.append((far, len(drafts), start))
    most = _MOST_WORK // (target.nodes**2 * target.degree // 64 * _ANNEALED * _ROUNDS) + exchanges
    for far, _, start in sorted(drafts)[:_ANNEALED]:
        if far > _HOPELESS * target.nodes:
            break
        left, out = _exchanged(start, steps, exchanges, target.duplex, rng)
        for turn in range(1, _ROUNDS + 1):
            if 0 < left <= _NEARLY:
                left = _bring_near(out, steps, min(exchanges * _LONGER**turn, most), target.duplex, rng)
        if left == 0 and start.spec is not None:
            spec = Spec("swap", (start.spec, *swaps_between(start, out.astype(np.int32))))
            if len(str(spec)) <= LONGEST_SPEC:
                return spec
    return None


def pairs_too_far(topology: Topology, steps: int) -> int:
    """Return how many pairs of nodes of a regular topology are more than some steps apart."""
    return _exchanged(topology, steps, 0, False, np.random.default_rng(0))[0]


def starts_into(out: IntArray) -> IntArray:
    """Return the starts of the links into each node, ascending, from the ends of those out of each; both ``(N, d)``."""
    nodes, degree = out.shape
    starts: IntArray = np.argsort(out.ravel(), kind="stable").reshape(nodes, degree) // degree
    return starts


def _starts(target: Target, steps: int, base: Topology, rng: np.random.Generator) -> Iterator[Topology]:
    change = base.nodes - target.nodes
    made: Iterable[Topology] = [base]
    if change == -1 and not base.self_loops and can_be_compared(target.degree, steps, duplex=target.duplex):
        made = best_insertions(base, steps, _STARTS)
    elif change:
        made = drawn(base, target, max(_FEWEST_STARTS, _STARTS // change**2), rng)
    yield from (one for one in made if one.self_loops == 0 or target.nodes * target.degree % 2)


def _exchanged(
    start: Topology, steps: int, exchanges: int, duplex: bool, rng: np.random.Generator
) -> tuple[int, IntArray]:
    """Return how many pairs are too far apart after exchanges, and the ends of the links out of each node."""
    out = np.repeat(start.dst, start.capacity).reshape(start.nodes, start.degree)
    return _bring_near(out, steps, exchanges, duplex, rng), out


def _bring_near(out: IntArray, steps: int, exchanges: int, duplex: bool, rng: np.random.Generator) -> int:
    """Exchange links, given by the ends of those out of each node, and return how many pairs are left too far apart."""
    into = starts_into(out)
    state = rng.integers(1, 2**63, size=1, dtype=np.uint64)
    return int(kernels.bring_near(out, into, steps, duplex, exchanges, _TEMPERATURE, state))


_LINKS = 2  # links in whose middle a node is put
_FEWEST_STEPS = 3


def can_be_compared(degree: int, steps: int, *, duplex: bool) -> bool:
    """Whether places for a node are few enough: with two-way links of degree 4, or 5 with a port left free."""
    return duplex and degree // 2 == _LINKS and steps >= _FEWEST_STEPS


def best_insertions(base: Topology, steps: int, count: int) -> Iterator[Topology]:
    """Yield a topology with a node more in so many places, the best first.

    * ``base``: duplex, of degree 4 or 5, without self-loops.
    * ``steps``: how far nodes may be apart, at least 3.
    * ``count``: how many at most.
    """
    out = np.repeat(base.dst, base.capacity).reshape(base.nodes, base.degree).astype(np.int64)
    first = np.array(base.representatives or range(base.nodes), dtype=np.int64)
    best = np.zeros((count, 5), dtype=np.int64)
    found = rank_insertions(out, first, steps, best)
    free = [base.nodes] * 2 * (base.degree % 2)
    for _, a, b, c, e in sorted(best[:found].tolist()):
        yield insert(base, a, b, b, a, c, e, e, c, *free)
