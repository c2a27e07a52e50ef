"""Graphs and digraphs of a given order and degree with few steps, and of these with low distances on average.

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
from topodesign.search import order_degree_kernels as kernels
from topodesign.search.annealing import swaps_between
from topodesign.search.lifted import cayley_spec, lift_spec
from topodesign.search.neighbours import drawn
from topodesign.search.order_degree_kernels import Ends
from topodesign.search.target import Target, steps_of_most
from topodesign.topology.groups import group
from topodesign.topology.library import build
from topodesign.topology.topology import IntArray, Topology

MOST_NODES = 2048
_MOST_WRITTEN = 1500  # links of graphs that are written out link by link
_MOST_NUMBERS = 2400  # that say what a lift is
_SOURCES = 64  # of so many a row is one word
_WEIGHT = 4  # of a pair that is too far apart, in steps
_HOT, _WARM = 128, 32
"""256 times the worsening that is let pass at first, for each step and neighbour; and where a rotation is given up."""
_MENDING = 64  # exchanges for each end of a link, to get rid of parallel links


@dataclass(frozen=True)
class Ordered:
    """A graph that the search has come upon."""

    spec: Spec  # what rebuilds it
    far: int  # pairs of nodes that are farther apart than was asked for
    total: int  # sum of the distances of all pairs, those farther apart counted as one step more


def orders(nodes: int, degree: int, *, duplex: bool = True) -> list[int]:
    """Return the numbers of orbits of rotations that leave enough to choose and have specs, ascending.

    All nodes, which stands for no rotation, is among them where such a graph has a spec.
    """
    if keeps_port_free(nodes, degree, duplex=duplex):
        return [nodes] if nodes * degree <= _MOST_WRITTEN else []
    return [
        orbits
        for orbits in range(1, nodes + 1)
        if nodes % orbits == 0
        and (not duplex or orbits * degree % 2 == 0 or nodes // orbits % 2 == 0)
        and (nodes * degree <= _MOST_WRITTEN if orbits == nodes else 2 * orbits * degree <= _MOST_NUMBERS)
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
    """Search for a graph of a size with so few steps, and the lowest distances.

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
    state = rng.integers(1, 2**63, size=1, dtype=np.uint64)
    ends = _random(target, orbits, rng) if start is None else _of(start, duplex=target.duplex)
    if kernels.mend(ends, _MENDING * len(ends.head), state):
        return None
    hot = _HOT if start is None else _WARM
    stages = [orbits, *then]
    for turn, count in enumerate(stages):
        if turn:
            base, hot = ends, _WARM
            ends = unfolded(base, count // stages[turn - 1])
        far, total = lower(ends, steps, work // len(stages), hot, state)
    copies = target.nodes // stages[-1]
    specs = [_spec(ends)]
    if stages[-1] == target.nodes and (start is not None or len(stages) > 1):
        specs.append(_swapped(_spec(base) if start is None else start.spec, ends))
    spec = min((one for one in specs if one is not None), key=_length, default=None)
    return None if spec is None or _length(spec) > LONGEST_SPEC else Ordered(spec, far * copies, total * copies)


def lower(ends: Ends, steps: int, work: int, hot: int, state: np.typing.NDArray[np.uint64]) -> tuple[int, int]:
    """Lower the distances of a graph in place.

    Returns: pairs of one node of each orbit with others that are too far apart, and the sum of the distances, those
    counted as one step more.
    """
    nodes, degree = ends.out.shape
    left = np.zeros(2, np.int64)
    sources = nodes // ends.order
    enough = sources * least_distances(nodes, degree, degree - (ends.into is ends.out))
    heat = hot * steps * degree
    energy = int(kernels.lower_distances(ends, steps, _WEIGHT, work, heat, enough, state, left))
    return int(left[0]), energy - _WEIGHT * int(left[0])


def unfolded(ends: Ends, times: int) -> Ends:
    """Return the same graph with a rotation of an order so many times smaller; node (u, i) becomes (u, i mod times)."""
    degree, order = ends.out.shape[1], ends.order
    residue = np.arange(times)
    moved = (ends.turn.reshape(-1, 1, degree) + residue[:, None]) % order
    head = (ends.head.reshape(-1, 1, degree) * times + moved % times).ravel()
    starts = ends.out.size // order
    port = ends.mate % degree + ends.mate // starts * starts * times  # of ends that links end at, behind the others
    mate = head * degree + np.broadcast_to(port.reshape(-1, 1, degree), moved.shape).ravel()
    return _written(head, (moved // times).ravel(), mate, ends.out.shape, order // times)


def _written(head: IntArray, turn: IntArray, mate: IntArray, shape: tuple[int, ...], order: int) -> Ends:
    """Return the ends of links with the neighbours, of such a shape, that they stand for."""
    degree = shape[1]
    sides = head.reshape(-1, 1, degree) * order + (turn.reshape(-1, 1, degree) + np.arange(order)[:, None]) % order
    out, *into = (np.ascontiguousarray(side, dtype=np.int64) for side in sides.reshape(-1, *shape))
    head, turn, mate = (np.ascontiguousarray(one, dtype=np.int64) for one in (head, turn, mate))
    return Ends(head, turn, mate, out, into[0] if into else out, order)


def _random(target: Target, orbits: int, rng: np.random.Generator) -> Ends:
    """Return a random graph with a rotation, which may have parallel links."""
    degree = target.degree
    order, starts = target.nodes // orbits, orbits * degree
    if target.duplex:
        ports = rng.permutation(starts)[starts % 2 :]
        one, other = ports[::2], ports[1::2]
    else:
        one, other = np.arange(starts), starts + rng.permutation(starts)
    mate = np.arange(starts if target.duplex else 2 * starts)
    mate[one], mate[other] = other, one
    turn = rng.integers(0, order, len(mate))
    number = np.arange(len(mate))
    turn = np.where(number < mate, turn, np.where(number > mate, -turn[mate] % order, order // 2))
    return _written(mate % starts // degree, turn, mate, target.size, order)


def _of(topology: Topology, *, duplex: bool) -> Ends:
    """Return a regular topology as a graph without a rotation."""
    src, dst = (np.repeat(one, topology.capacity).astype(np.int64) for one in (topology.src, topology.dst))
    links = len(src)
    mate = np.empty(links if duplex else 2 * links, np.int64)
    if duplex:
        mate[np.lexsort((dst, src))] = np.lexsort((src, dst))
    else:
        mate[links:] = np.lexsort((src, dst))
        mate[mate[links:]] = links + np.arange(links)
    head = mate % links // topology.degree
    return _written(head, np.zeros_like(head), mate, (topology.nodes, topology.degree), 1)


def _spec(ends: Ends) -> Spec | None:
    """Return the spec of a graph; None if it is too large to be written out."""
    nodes, degree = ends.out.shape
    order, starts = ends.order, ends.out.size // ends.order
    if order == 1:
        heads = np.sort(ends.out, axis=1).ravel().tolist()
        return Spec("successors", (degree, *heads)) if len(heads) <= _MOST_WRITTEN else None
    if order == nodes:
        return cayley_spec(
            group(Spec("cyclic", (nodes,))), sorted(ends.turn[:starts].tolist()), duplex=ends.into is ends.out
        )
    return lift_spec(Spec("cyclic", (order,)), np.arange(starts) // degree, ends.head[:starts], ends.turn[:starts])


def _swapped(base: Spec | None, ends: Ends) -> Spec | None:
    """Return a graph without a rotation by how it differs from one with the same nodes."""
    if base is None:
        return None
    swaps = swaps_between(build(str(base)), ends.out.astype(np.int32))
    return Spec("swap", (base, *swaps)) if swaps else base


def _length(spec: Spec) -> int:
    return len(str(spec))


_WORK, _MOST_TIMES = 3 * 10**7, 6  # of a first turn, a tenth of a second, and how often at most it is doubled
_MOST, _MIDDLE, _COUNTS = 32, 8, 4
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
    """Return the numbers of orbits that are worth searching, the most promising first."""
    nodes, degree = target.size
    if not is_searched(target):
        return []
    counts = orders(nodes, degree, duplex=target.duplex)
    several = [m for m in counts if m <= min(_MOST, nodes - 1)]
    several.sort(key=lambda m: max(m, _MIDDLE) / min(m, _MIDDLE))
    return several[:_COUNTS] + [m for m in counts if m == nodes <= _FREE]


def search_low_distances(target: Target, orbits: int, turn: int, *, seed: int = 0) -> Spec | None:
    """Search for few steps and low distances, in every other turn for a step less; later turns search longer."""
    return _searched(target, orbits, turn, None, seed)


def search_near(target: Target, base: Topology, turn: int, *, seed: int = 0) -> Spec | None:
    """Search among what exchanged links make of a topology of the size, or of one with a few nodes more or less."""
    rng = np.random.Generator(np.random.PCG64([seed, *target.size, target.duplex, turn]))
    drafts = [base] if base.nodes == target.nodes else drawn(base, target, _DRAWS, rng)
    start = next((one for one in drafts if one.is_regular and one.is_duplex >= target.duplex), None)
    return None if start is None else _searched(target, target.nodes, turn, start, seed)


def _searched(target: Target, orbits: int, turn: int, start: Topology | None, seed: int) -> Spec | None:
    most = steps_of_most(target, _RARE)
    steps = max(2, steps_of_most(target, _RARE * target.nodes), most - turn % 2)
    work = _WORK << min(turn, _MOST_TIMES)
    found = search_order_degree(target, steps, work, orbits=orbits, start=start, seed=seed)
    return None if found is None else found.spec
