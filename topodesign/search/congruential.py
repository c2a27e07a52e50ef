"""Linear congruential digraphs with few steps and even loads.

With near links turned or not.

Of N <= d^k nodes generalized Kautz digraphs have k steps, fewer than nearly all others of such sizes, but nodes close
to a fixed point of x -> -dx - a get next to nothing over one of their ports. With other digits, all residues modulo d,
most digraphs that are not too close to d^k nodes have as few steps, and some of them have no such nodes; and so does
turning the links between near nodes (:mod:`topodesign.graphs.expansions.turn`). Their bipartite double covers
(:mod:`topodesign.graphs.expansions.cover`) have k steps for up to 2 d^(k-1) nodes and no fixed points: half of all
shards come a step earlier, each by the one walk there is, and the other half by any of d. For odd N a node is put into
such a cover or taken out. Candidates are drawn, at random and close to the best ones so far, and compared by the loads
of the last steps, which are much cheaper than a deferred schedule.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from topodesign.base.errors import DisconnectedError
from topodesign.base.spec import LONGEST_SPEC, Spec
from topodesign.graphs.congruential import congruential
from topodesign.graphs.expansions.cover import cover
from topodesign.graphs.expansions.turn import turn
from topodesign.pricing.closed_form import price_at_least
from topodesign.search.link_kernels import PART
from topodesign.search.links import MAX_PORTS, aim_at_last, anneal_links, ends_of
from topodesign.search.resized import iterate_resized
from topodesign.search.target import Target
from topodesign.topology.topology import IntArray, Topology

_FARTHEST = 3  # times d by which digits are moved at most
_MAX_NODES = 2**13  # more are not searched, since memory is for the square of them
_SHARE = 2  # near links are those of at most N / (2d)
_SOURCES = 32  # nodes that wide digraphs are priced from
_WINDOWS, _CARRIED = 2, Fraction(1, 4)
"""For how many numbers of last steps loads count, from the first that carry at least such a share of all."""


@dataclass(frozen=True)
class _Draft:
    """A draft: multiplier d or -d; digit i is i plus a multiple of d."""

    sign: int
    digits: tuple[int, ...]
    near: int  # how long links are that are turned, -1 for none
    places: int
    copies: int = 1  # 2 for a bipartite double cover

    def key(self, nodes: int) -> tuple[object, ...]:
        """Return the invariant of drafts that differ only by node numbers."""
        degree, least = len(self.digits), min(self.digits)
        first = least % math.gcd(self.sign * degree - 1, nodes // self.copies)
        places = self.places if self.near >= 0 else 0
        digits = tuple(sorted(digit - least for digit in self.digits))
        return self.copies, self.sign, digits, first, self.near, places

    def build(self, nodes: int) -> Topology:
        """Return the topology."""
        made = congruential(nodes // self.copies, self.sign * len(self.digits), *self.digits)
        if self.copies > 1:
            made = cover(made, self.copies)
        return made if self.near < 0 else turn(made, self.near, self.places)


def search_congruential(target: Target, steps: int, tries: int, *, seed: int = 0, most: int = 4) -> list[Spec]:
    """Search congruential digraphs of a size with few steps and even loads.

    * ``target``: the size. None is found of duplex ones.
    * ``steps``: steps that it may have at most.
    * ``tries``: candidates to draw, beside double covers with digits in a row, which are looked at in any case.
    * ``most``: how many to return at most.

    Returns: the most promising ones, best first; none if no candidate has so few steps.
    """
    nodes, degree = target.nodes, target.degree
    if target.duplex or degree < 2 or steps < 2 or degree**steps < nodes or not 2 * degree < nodes <= _MAX_NODES:
        return []
    rng = np.random.Generator(np.random.PCG64([seed, nodes, degree, steps]))
    best: list[tuple[Fraction, int, Topology]] = []

    def offer(topology: Topology, number: int) -> None:
        if int(topology.capacity.max()) == 1 and (score := _score(topology, steps)) is not None:
            best.append((score, number, topology))
            best.sort(key=lambda one: one[:2])
            del best[most:]

    drafts: list[_Draft] = []
    seen = set()
    plain = list(_plain_covers(target))
    for number in range(len(plain) + tries):
        near = [drafts[one] for _, one, _ in best]
        if number < len(plain):
            draft = plain[number]
        elif near and number % 2:
            draft = _vary_draft(near[int(rng.integers(len(near)))], nodes, rng)
        else:
            draft = _draw_draft(target, rng)
        drafts.append(draft)
        key = draft.key(nodes)
        if key not in seen and (draft.near != 0 or draft.copies == 1):  # covers have no self-loops to turn
            seen.add(key)
            offer(draft.build(nodes), number)
    if nodes % 2:
        for number, topology in enumerate(_vary_covers(target, tries, rng)):
            offer(topology, len(drafts) + number)
    specs = [topology.spec for _, _, topology in best]
    return [spec for spec in specs if spec is not None and len(str(spec)) <= LONGEST_SPEC]


def _plain_covers(target: Target) -> Iterator[_Draft]:
    """Yield double covers with digits in a row, mostly the best of a size."""
    if target.nodes % 2 == 0:
        for sign in (1, -1):
            for first in range(target.degree + 1):
                yield _Draft(sign, tuple(range(first, first + target.degree)), -1, 1, 2)


def _vary_covers(target: Target, tries: int, rng: np.random.Generator) -> Iterator[Topology]:
    """Yield double covers with a node inserted or deleted, at random."""
    for size in (target.nodes - 1, target.nodes + 1):
        base = _Draft(-1, tuple(range(target.degree)), -1, 1, 2).build(size)
        for topology in iterate_resized(base, target, tries // 2, rng):
            if not topology.self_loops:
                yield topology


def _draw_draft(target: Target, rng: np.random.Generator) -> _Draft:
    """Draw a draft."""
    nodes, degree = target.nodes, target.degree
    moved = rng.integers(0, 1 + int(rng.integers(0, _FARTHEST + 1)), degree)
    first = int(rng.integers(0, degree + 1))
    digits = tuple((first + np.arange(degree) + degree * moved).tolist())
    copies = 1 if nodes % 2 else int(rng.integers(1, 3))
    near, places = _draw_turns(nodes, degree, rng)
    if copies == 2 and rng.integers(2):
        near = -1  # there are no self-loops, and few need others than near links
    return _Draft(1 - 2 * int(rng.integers(2)), digits, near, places, copies)


def _draw_turns(nodes: int, degree: int, rng: np.random.Generator) -> tuple[int, int]:
    """Draw which near links are turned, and by how many places."""
    power = int(rng.integers(-2, (nodes // (_SHARE * degree)).bit_length()))
    return -1 if power == -2 else 0 if power == -1 else 2**power, int(rng.integers(1, degree))


def _vary_draft(draft: _Draft, nodes: int, rng: np.random.Generator) -> _Draft:
    """Draw a candidate that is close to another."""
    degree = len(draft.digits)
    if rng.integers(2):
        digits = list(draft.digits)
        digits[int(rng.integers(degree))] += degree * (1 - 2 * int(rng.integers(2)))
        return replace(draft, digits=tuple(digits))
    near, places = _draw_turns(nodes, degree, rng)
    if rng.integers(2) and draft.near > 0:
        near = min(draft.near + draft.near * int(rng.integers(-4, 5)) // 8, (nodes - 1) // 2)
    return replace(draft, near=near, places=places)


def _score(topology: Topology, steps: int) -> Fraction | None:
    """Return by how much loads are above even ones, or None if nodes are too far apart.

    Of few ports those of the last steps count, which deferred schedules cannot spread; of more the price by SPFF of
    some nodes.
    """
    if topology.degree <= MAX_PORTS:
        above = above_goals(topology, steps)
        return None if above is None else Fraction(above)
    try:
        both = [price_at_least(one, _SOURCES) for one in (topology, topology.transpose())]
    except DisconnectedError:
        return None
    return both[0].average_with(both[1]).bandwidth if max(one.steps for one in both) <= steps else None


def above_goals(topology: Topology, steps: int) -> int | None:
    """Return by how many parts the fullest link of the last steps is above the goals.

    None if some nodes are more steps apart.

    * ``topology``: regular, at most 8 links out of each node and none twice.
    """
    windows, goals = _goals(topology.nodes, topology.degree, steps)
    ends, aim = ends_of(topology, duplex=False), aim_at_last(steps, windows)
    done = anneal_links(ends, aim, 0, 0, np.ones(1, dtype=np.uint64))
    return None if done.far else int((done.fullest - goals).max())


def _goals(nodes: int, degree: int, steps: int) -> tuple[range, IntArray]:
    """Return the last steps whose loads count, with goals per link.

    If earlier steps are full.

    What few last steps carry less of than their share is omitted: earlier ones do not have to be so full then.
    """
    every = Fraction(nodes - 1, degree)
    goals = [every - Fraction(degree ** (steps - window) - 1, degree - 1) for window in range(1, steps + 1)]
    first = next(place for place, goal in enumerate(goals) if goal >= every * _CARRIED)
    wanted = range(first, min(first + _WINDOWS, steps))
    return range(first + 1, wanted.stop + 1), np.array([int(PART * goals[place]) for place in wanted], dtype=np.int64)
