"""The order/degree problem: few steps and low mean distance.

Cables a-b and c-d are exchanged for a-c and b-d, or a-d and b-c, colder and colder; links from a to b and from c to d
for a to d and c to b. Large graphs keep a rotation of some order s, by which whole orbits of links are exchanged at
once: N/s of the nodes price the graph, and their links write it down. Later the rotation may be given up for one of
smaller order, which leaves more to choose.

Low distances bound what all-to-all takes: every shard takes up as many links as its way is long, so it takes at least
the mean distance; and as much where links can be loaded evenly, which a rotation makes easy. Some eight orbits under it
are best for their time: fewer leave little to choose, more take long to look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topodesign.base.cost import keeps_port_free, least_distances
from topodesign.base.spec import LONGEST_SPEC, Spec
from topodesign.search.links import (
    MAX_WRITTEN,
    aim_at_distances,
    anneal_links,
    ends_of,
    find_swap_spec,
    mend,
    new_state,
    random_ends,
    spec_of_ends,
    unfold_ends,
)
from topodesign.search.resized import iterate_resized
from topodesign.search.target import Target, steps_of_most
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

MAX_NODES = 2048
_MAX_NUMBERS = 2400  # that say what a lift is
_WEIGHT = 4  # of a pair that is too far apart, in steps
_HOT, _WARM = 128, 32
"""256 times the worsening that is let pass at first, for each step and neighbour; and where a rotation is given up."""


@dataclass(frozen=True)
class Ordered:
    """A graph that the search has come upon."""

    spec: Spec  # what rebuilds it
    far: int  # pairs of nodes that are farther apart than was asked for
    total: int  # sum of the distances of all pairs, those farther apart counted as one step more


def orders(nodes: int, degree: int, *, duplex: bool = True) -> list[int]:
    """Return feasible numbers of orbits of rotations, ascending.

    All nodes, which stands for no rotation, is among them where such a graph has a spec.
    """
    if keeps_port_free(nodes, degree, duplex=duplex):
        return [nodes] if nodes * degree <= MAX_WRITTEN else []
    return [
        orbits
        for orbits in range(1, nodes + 1)
        if nodes % orbits == 0
        and (not duplex or orbits * degree % 2 == 0 or nodes // orbits % 2 == 0)
        and (nodes * degree <= MAX_WRITTEN if orbits == nodes else 2 * orbits * degree <= _MAX_NUMBERS)
    ]


def search_order_degree(
    target: Target,
    steps: int,
    work: int,
    *,
    orbits: int,
    then: Sequence[int] = (),
    start: Topology | None = None,
    seed: int = 0,
) -> Ordered | None:
    """Search a graph of a size for few steps and the lowest distances.

    * ``target``: the size and its cabling.
    * ``steps``: how far nodes may be apart.
    * ``work``: words of 64 bits to look at, in all; some 3 * 10^8 take a second.
    * ``orbits``: of nodes under the rotation, out of :func:`orders`.
    * ``then``: larger numbers of orbits, each a multiple of the one before, of rotations to go on with.
    * ``start``: a regular topology of the size and cabling to start with, where there is no rotation; a random graph
      otherwise.

    Returns: the best one, or none if there is none or it is too long to write down.
    """
    rng = np.random.Generator(np.random.PCG64([seed, target.nodes, target.degree, steps, orbits]))
    state = new_state(rng)
    ends = random_ends(target, orbits, rng) if start is None else ends_of(start, duplex=target.duplex)
    if not mend(ends, state):
        return None
    hot = (_HOT if start is None else _WARM) * steps * target.degree
    stages, aim = [orbits, *then], aim_at_distances(steps, _WEIGHT)
    least = least_distances(*target.size, target.degree - target.duplex)
    for turn, count in enumerate(stages):
        if turn:
            base, hot = spec_of_ends(ends), _WARM * steps * target.degree
            ends = unfold_ends(ends, count // stages[turn - 1])
        found = anneal_links(ends, aim, work // len(stages), hot, state, enough=count * least)
    copies = target.nodes // stages[-1]
    specs = [spec_of_ends(ends)]
    if stages[-1] == target.nodes and (start is not None or len(stages) > 1):
        if start is None and base is not None:
            start = build(str(base))
        specs.append(None if start is None else find_swap_spec(start, ends.out))
    spec = min((one for one in specs if one is not None), key=_length, default=None)
    total = found.energy - _WEIGHT * found.far
    return None if spec is None or _length(spec) > LONGEST_SPEC else Ordered(spec, found.far * copies, total * copies)


def _length(spec: Spec) -> int:
    return len(str(spec))


_WORK, _MAX_TIMES = 3 * 10**7, 6  # of a first turn, a tenth of a second, and how often at most it is doubled
_MAX, _MIDDLE, _COUNTS = 32, 8, 4
"""Numbers of orbits under a rotation: the most, what is tried first, and how many are tried."""
_FREE = 400  # nodes of the largest topologies that are searched without a rotation
_LARGEST = 2**13  # nodes
_DRAWS = 8  # tries to put nodes in or to take them out
_RARE = 1.0  # scarcity up to which topologies with so few steps are looked for


def is_searched(target: Target) -> bool:
    """Whether there is more than rings, and not all are neighbours."""
    nodes, degree = target.size
    return (degree >= 3 or not target.duplex) and degree + 1 < nodes <= _LARGEST


def orbits_to_search(target: Target) -> list[int]:
    """Return the numbers of orbits to search, most promising first."""
    nodes, degree = target.size
    if not is_searched(target):
        return []
    counts = orders(nodes, degree, duplex=target.duplex)
    several = [m for m in counts if m <= min(_MAX, nodes - 1)]
    several.sort(key=lambda m: max(m, _MIDDLE) / min(m, _MIDDLE))
    return several[:_COUNTS] + [m for m in counts if m == nodes <= _FREE]


def search_low_distances(target: Target, orbits: int, turn: int, *, seed: int = 0) -> Spec | None:
    """Search for few steps and low distances in alternating turns.

    Every other turn aims at a step less; later turns search longer.
    """
    return _search_orbits(target, orbits, turn, None, seed)


def search_near(target: Target, base: Topology, turn: int, *, seed: int = 0) -> Spec | None:
    """Search near topologies of the size or close sizes by exchanges."""
    rng = np.random.Generator(np.random.PCG64([seed, *target.size, target.duplex, turn]))
    drafts = [base] if base.nodes == target.nodes else iterate_resized(base, target, _DRAWS, rng)
    start = next((one for one in drafts if one.is_regular and one.is_duplex >= target.duplex), None)
    return None if start is None else _search_orbits(target, target.nodes, turn, start, seed)


def _search_orbits(target: Target, orbits: int, turn: int, start: Topology | None, seed: int) -> Spec | None:
    most = steps_of_most(target, _RARE)
    steps = max(2, steps_of_most(target, _RARE * target.nodes), most - turn % 2)
    work = _WORK << min(turn, _MAX_TIMES)
    found = search_order_degree(target, steps, work, orbits=orbits, start=start, seed=seed)
    return None if found is None else found.spec
