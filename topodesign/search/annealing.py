"""Walks from one digraph to the next by exchanging the heads of links, with the SPFF price updated where it changes.

What guides a walk is smoother than the price, which is a sum of maxima: in each layer every source counts, the more so
the more it has to send.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.cost import Cost, moore_bound
from topodesign.base.errors import TopodesignError
from topodesign.base.spec import LONGEST_SPEC, Spec
from topodesign.search import anneal_kernels as kernels
from topodesign.search.anneal_kernels import UNIT, Rules, Side
from topodesign.search.target import Found, undominated
from topodesign.topology.library import build
from topodesign.topology.topology import IntArray, Topology

MOST_PORTS = 8  # degrees up to this can be annealed: nodes are counted for every set of ports

_WRITTEN_OUT = 256
"""Digraphs with up to so many links are given link by link, larger ones by how they differ from where they started."""
_SHARPNESS = 4  # one shard more per port weighs as much as 2**4 sources with one less
_ROUNDS = 8
_STARTS = 4


@dataclass(eq=False)
class Walk:
    """A digraph on its way, and the cheapest that it has been for each number of steps; all of it changes.

    * ``side``, ``other``: its loads and those of its transpose; the same for a walk among duplex ones.
    * ``allowed``, ``best``: for each number of steps what a digraph must cost less than to be kept, and the heads of
      its links.
    """

    topology: Topology  # where it started
    side: Side
    other: Side
    rules: Rules  # what makes an exchange good or bad
    duplex: bool  # exchange pairs of opposite links
    first_new: int  # nodes from this one on were inserted, and what goes through them can slide elsewhere
    state: NDArray[np.uint64]  # of the random generator
    allowed: IntArray
    best: NDArray[np.int32]

    @property
    def steps(self) -> int:
        """Steps that the walk aims at."""
        return self.rules.allowed

    @property
    def far(self) -> int:
        """Pairs of nodes that are farther apart than the steps aimed at."""
        return int(self.side.far[0])

    @property
    def bandwidth(self) -> Fraction:
        """Bandwidth factor of the dearer collective as it is now."""
        return self._bandwidth(max(kernels.side_cost(self.side)[1], kernels.side_cost(self.other)[1]))

    def steps_but_for(self, pairs: Fraction) -> int:
        """Return the fewest steps that leave at most so many pairs of nodes too far apart."""
        by_distance: list[int] = self.side.census.sum(axis=(0, 2)).tolist()
        steps, beyond = len(by_distance) - 1, 0
        while steps > 1 and beyond + by_distance[steps] <= pairs:
            beyond += by_distance[steps]
            steps -= 1
        return steps

    def aim(self, steps: int, far_load: Fraction) -> None:
        """Take another aim: a pair of nodes too far apart is as bad as so many shards per port."""
        for side in (self.side, self.other):
            side.far[0] = side.census[:, steps + 1 :].sum()
        energy = int(far_load * _unit(self.topology.degree))
        self.rules = self.rules._replace(allowed=steps, far_energy=energy)

    def run(self, work: int, hot: Fraction = Fraction(0)) -> None:
        """Walk on, colder and colder.

        * ``work``: sources looked at and nodes changed, all in all; some 3 million take a second.
        * ``hot``: at first an exchange may be worse by so many shards per port on average.
        """
        for turn in range(_ROUNDS):
            temperature = int(hot * _unit(self.topology.degree) * (_ROUNDS - 1 - turn) / _ROUNDS)
            kernels.walk(
                self.side, self.other, self.rules, self.duplex, self.first_new, work // _ROUNDS, temperature,
                self.state, self.allowed, self.best,
            )  # fmt: skip

    def found(self) -> list[Found]:
        """Return the digraphs it has been that none with fewer steps beats, by steps."""
        kept = []
        for steps in range(1, len(self.allowed)):
            if self.allowed[steps] < self.allowed[steps - 1]:
                spec = self._spec(self.best[steps])
                if spec is not None:
                    kept.append(Found(spec, Cost(steps, self._bandwidth(int(self.allowed[steps])))))
        return kept

    def _bandwidth(self, total: int) -> Fraction:
        degree = self.topology.degree
        return Fraction(total * degree, math.lcm(*range(1, degree + 1)) * self.topology.nodes)

    def _spec(self, out: NDArray[np.int32]) -> Spec | None:
        """Return the spec of a digraph of this walk, None if it is too long or there is none to start from."""
        if out.size <= _WRITTEN_OUT:
            return Spec("successors", (out.shape[1], *np.sort(out, axis=1).ravel().tolist()))
        swaps = swaps_between(self.topology, out)
        if self.topology.spec is None or not swaps:
            return self.topology.spec
        spec = Spec("swap", (self.topology.spec, *swaps))
        return spec if len(str(spec)) <= LONGEST_SPEC else None


def start_walk(
    topology: Topology, *, duplex: bool, rng: np.random.Generator, first_new: int | None = None
) -> Walk | None:
    """Return a walk from a digraph that aims at no number of steps yet.

    * ``topology``: a regular digraph of degree 2 to ``MOST_PORTS``; duplex if the walk is to be.
    * ``duplex``: keep to duplex ones.
    * ``rng``: gives the seed of the walk.
    * ``first_new``: number of the first node that was inserted.

    Returns: none if it is not connected, or needs far more steps than Moore's bound.
    """
    nodes, degree = topology.nodes, topology.degree
    out = np.repeat(topology.dst, topology.capacity).reshape(nodes, degree).astype(np.int32)
    into = (np.argsort(out.ravel(), kind="stable") // degree).reshape(nodes, degree).astype(np.int32)
    layers = min(nodes, 2 * moore_bound(nodes, degree, duplex=duplex) + 4)
    rules = _rules(degree, layers)
    side = kernels.make_side(out, into, layers)
    other = side if duplex else kernels.make_side(into, out, layers)
    state = rng.integers(1, 2**63, size=1, dtype=np.uint64)
    if not kernels.fill_side(side, rules) or not (duplex or kernels.fill_side(other, rules)):
        return None
    allowed, best = np.full(layers, 2**62, dtype=np.int64), np.zeros((layers, nodes, degree), dtype=np.int32)
    return Walk(topology, side, other, rules, duplex, nodes if first_new is None else first_new, state, allowed, best)


def anneal(
    start: Topology,
    work: int,
    *,
    duplex: bool = False,
    steps: int | None = None,
    seed: int = 0,
    known: Sequence[Cost] = (),
) -> list[Found]:
    """Search digraphs of a small size by exchanging links of a given one and of random ones.

    * ``start``: a digraph of the size to search; degrees beyond ``MOST_PORTS`` are left alone. One that is not regular,
      or not duplex though that is asked for, only tells the size.
    * ``work``: sources looked at and nodes changed, all in all; some 3 million take a second.
    * ``duplex``: keep to duplex digraphs.
    * ``steps``: number of steps to aim at, Moore's bound by default; what has other numbers of steps is found by the
      way.

    Returns: what no other found or known one dominates, by steps.
    """
    nodes, degree = start.nodes, start.degree
    few = 3 if duplex else 2  # a duplex digraph of degree 2 is a ring
    if not few <= degree <= MOST_PORTS or nodes <= degree + 1:
        return []
    rng = np.random.Generator(np.random.PCG64([seed, nodes, degree, duplex]))
    aim = moore_bound(nodes, degree, duplex=duplex) if steps is None else steps
    found: list[Found] = []
    for turn in range(_STARTS):
        fits = turn == 0 and start.is_regular and (start.is_duplex or not duplex)
        walk = start_walk(start, duplex=duplex, rng=rng) if fits else _random_walk(nodes, degree, duplex, rng)
        if walk is not None:
            walk.aim(aim, Fraction(1, 4))
            walk.run(work // _STARTS, Fraction(1, 10))
            found += walk.found()
    return undominated(found, known)


def swaps_between(topology: Topology, out: NDArray[np.int32]) -> list[int]:
    """Return swaps, four nodes each, that give a regular topology other heads of the links out of each node.

    * ``topology``: a regular topology of degree d.
    * ``out``: shape ``(nodes, d)``, in any order; every node is a head as often as it is in the topology.
    """
    before = np.repeat(topology.dst, topology.capacity).reshape(out.shape)
    changed: list[tuple[int, int, int]] = []
    for node in np.flatnonzero(np.any(np.sort(before, axis=1) != np.sort(out, axis=1), axis=1)).tolist():
        old, new = Counter(before[node].tolist()), Counter(out[node].tolist())
        pairs = zip(sorted((old - new).elements()), sorted((new - old).elements()), strict=True)
        changed += [(node, lost, gained) for lost, gained in pairs]
    swaps: list[int] = []
    while changed:
        tail, lost, gained = changed.pop()
        if lost != gained:
            place = next(place for place, one in enumerate(changed) if one[1] == gained)
            giver, _, wanted = changed[place]
            swaps += [tail, lost, giver, gained]
            changed[place] = (giver, lost, wanted)
    return swaps


def _random_walk(nodes: int, degree: int, duplex: bool, rng: np.random.Generator) -> Walk | None:
    family = "randomregulargraph" if duplex else "randomregular"
    try:
        topology = build(Spec(family, (nodes, degree, int(rng.integers(2**31)))))
    except TopodesignError:
        return None  # there is none of that size
    return start_walk(topology, duplex=duplex, rng=rng)


def _unit(degree: int) -> int:
    """Return the energy of one shard per port."""
    return math.lcm(*range(1, degree + 1)) * UNIT


def _rules(degree: int, layers: int) -> Rules:
    scale = math.lcm(*range(1, degree + 1))
    sizes = [ports.bit_count() for ports in range(1, 1 << degree)]
    # weights from 2^4 to 2^48, so that those of 2^13 sources add up in 64 bits; the largest loads have 2^30
    zero, top = 26 * scale // _SHARPNESS, 18 * scale // _SHARPNESS
    return Rules(
        np.array([0, *(scale // size for size in sizes)], dtype=np.int64),
        np.array([_power(4 * scale + _SHARPNESS * place, scale) for place in range(zero + top + 1)], dtype=np.int64),
        zero,
        np.zeros(layers, dtype=np.int64),
        scale // _SHARPNESS,
        layers,
        0,
    )


def _power(numerator: int, denominator: int) -> int:
    """Return 2^(numerator/denominator), exact for whole powers and linear between them."""
    whole, rest = divmod(numerator, denominator)
    return (denominator + rest << whole) // denominator
