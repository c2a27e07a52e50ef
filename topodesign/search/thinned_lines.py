"""Line graphs without a few nodes, for sizes the degree does not divide.

A node of a line graph is a link u -> v of its base. If it goes, its in-links w -> u lead straight on to its out-links
v -> z, and whatever led over it needs another way. Up to about d^k / 2 nodes most pairs of nodes of a base of k - 1
steps have two walks of that length; with k = 3 it is enough if u has another to v and to all z, and all w have another
to v. What the links carry grows least where none leads back from v to u: nothing new would come over what is led on
from there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.cost import Cost, lower_bound
from topodesign.base.spec import LONGEST_SPEC, Spec
from topodesign.graphs.expansions.delete import delete
from topodesign.graphs.expansions.line import line
from topodesign.pricing.closed_form import larger, largest_loads
from topodesign.search.links import pairs_too_far
from topodesign.search.symmetric import search_symmetric
from topodesign.search.target import Target
from topodesign.topology.library import build
from topodesign.topology.topology import IntArray, Topology

GOOD = Fraction(17, 16)  # times the optimal bandwidth factor that a base may have

_DRAWN, _ENOUGH = 64, 4  # nodes that are looked at for each that goes, until so many could go
_WORK, _SEARCHES, _BASES = 2**20, 12, 2  # of one search for bases, how many there are, and how many bases are taken
_SAMPLE = 24  # nodes of line graphs of which so many could go
_PERMUTATIONS = 720  # ways to join the links of a node that goes, the first ones, since their numbers are short

_Loads = tuple[IntArray, IntArray]


@functools.lru_cache(maxsize=64)
def bases_of_lines(size: Target, steps: int, seed: int) -> tuple[Topology, ...]:
    """Return the simplex digraphs whose line graphs spare most nodes.

    Most digraphs of few steps and little bandwidth that are found, within a second or so, have line graphs all of whose
    nodes somebody needs.

    * ``size``, ``steps``: of the bases; steps at most.
    """
    rng = np.random.Generator(np.random.PCG64([seed, *size.size]))
    most = GOOD * lower_bound(*size.size).bandwidth
    found: dict[str, tuple[int, Fraction, str, Topology]] = {}
    for number in range(_SEARCHES):
        for one in search_symmetric(size, _WORK, seed=seed * _SEARCHES + number):
            spec = str(one.spec)
            if one.cost.steps <= steps and one.cost.bandwidth <= most and spec not in found:
                base = build(spec)
                found[spec] = -_removable(line(base), steps + 1, rng), one.cost.bandwidth, spec, base
    return tuple(base for removable, *_, base in sorted(found.values(), key=lambda one: one[:3])[:_BASES] if removable)


def _removable(topology: Topology, steps: int, rng: np.random.Generator) -> int:
    """Return how many of some nodes could go."""
    some = _single_nodes(topology, rng)[:_SAMPLE].tolist()
    permutations = rng.integers(_permutations(topology), size=len(some)).tolist()
    return sum(_can_do_without(topology, v, m, steps) is not None for v, m in zip(some, permutations, strict=True))


@dataclass(frozen=True)
class ThinnedDigraph:
    """A digraph with some nodes taken out.

    * ``loads``: what links carry by distance in either direction, as numerators and denominators; about, as only what
      is near a gap was looked at, when it was made.
    """

    spec: Spec  # of what is left
    topology: Topology  # the same, without its spec
    loads: tuple[_Loads, _Loads]

    @property
    def cost(self) -> Cost:
        """Return about what it costs, the mean of both directions."""
        total = sum((Fraction(int(p), int(q)) for one in self.loads for p, q in zip(*one, strict=True)), Fraction())
        steps = max(len(numerators) for numerators, _ in self.loads)
        return Cost(steps, total * self.topology.degree / self.topology.nodes / 2)


def without_nodes(base: Topology, fewest: int, steps: int, *, seed: int = 0) -> Iterator[ThinnedDigraph]:
    """Remove nodes one by one, keeping distances and even link loads.

    * ``base``: regular, simplex, without self-loops and parallel links, with a spec: a line graph.
    * ``fewest``: how many nodes are to be left in the end.
    * ``steps``: how far they may be apart.

    Yields: with one node less each. They end where none is found that could go.
    """
    spec = base.spec
    if spec is None:
        return
    rng = np.random.Generator(np.random.PCG64([seed, base.nodes, base.degree]))
    every = np.array(base.representatives or range(base.nodes), dtype=np.int64)
    best = ThinnedDigraph(Spec("delete", (spec,)), base, _loads(base, every))
    while best.topology.nodes > fewest:
        several = list(_next(best, steps, rng))
        if not several:
            return
        best = min(several, key=lambda one: one.cost.bandwidth)
        if len(str(best.spec)) > LONGEST_SPEC:
            return
        yield best


def _next(thinned: ThinnedDigraph, steps: int, rng: np.random.Generator) -> Iterator[ThinnedDigraph]:
    """Yield some digraphs with one node less."""
    topology, found = thinned.topology, 0
    permutations = _permutations(topology)
    for v in _single_nodes(topology, rng)[:_DRAWN].tolist():
        m = int(rng.integers(permutations))
        if (less := _can_do_without(topology, v, m, steps)) is None:
            continue
        near = np.append(topology.neighbours(v), topology.src[topology.dst == v])
        near = np.unique(near - (near > v))
        there, back = _loads(less, near)
        loads = larger(thinned.loads[0], there), larger(thinned.loads[1], back)
        yield ThinnedDigraph(Spec("delete", (*thinned.spec.args, v, m)), less, loads)
        found += 1
        if found == _ENOUGH:
            return


def _permutations(topology: Topology) -> int:
    return min(_PERMUTATIONS, math.factorial(topology.degree))


def _can_do_without(topology: Topology, v: int, m: int, steps: int) -> Topology | None:
    """Return a topology without a node, or None if that is invalid."""
    less = delete(topology, v, m)
    plain = not less.self_loops and int(less.capacity.max()) == 1
    return less if plain and not pairs_too_far(less, steps) else None


def _single_nodes(topology: Topology, rng: np.random.Generator) -> IntArray:
    """Return in random order the nodes that are on no cycle of two links."""
    nodes, src, dst = topology.nodes, topology.src.astype(np.int64), topology.dst.astype(np.int64)
    paired = np.unique(src[np.isin(src * nodes + dst, dst * nodes + src)])
    single: IntArray = rng.permutation(np.setdiff1d(np.arange(nodes), paired))
    return single


def _loads(topology: Topology, sources: IntArray) -> tuple[_Loads, _Loads]:
    return largest_loads(topology, sources), largest_loads(topology.transpose(), sources)
