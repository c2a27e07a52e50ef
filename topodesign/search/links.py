"""Links by their ends: made, annealed and written."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.spec import LONGEST_SPEC, Spec
from topodesign.search import link_kernels as kernels
from topodesign.search.lifted import cayley_spec, lift_spec
from topodesign.search.link_kernels import PART, PROHIBITED, Aim, Ends
from topodesign.search.target import Target
from topodesign.topology.groups import group
from topodesign.topology.topology import IntArray, Topology

MAX_WRITTEN = 1500  # links of graphs that are written out link by link
MAX_PORTS = 8  # degrees up to this have loads that count: of every set of links
UNIT = PART * 2**16  # energy of one shard over a link, where loads count by layers
_MENDING = 64  # exchanges for each end of a link, to get rid of parallel links
_SHARPNESS = 4  # one shard more per port weighs as much as 2**4 sources with one less
_NONE = 2**62  # sum of loads of what is not there

State = NDArray[np.uint64]
"""Of the random generator of kernels."""


@dataclass(frozen=True)
class Annealed:
    """What annealing has come to.

    * ``far``: pairs of one node of each orbit with others that are farther apart than is aimed at.
    * ``left``: work that is left.
    * ``fullest``: of each set of loads the largest, in parts of a shard.
    * ``allowed``, ``found``: for each number of steps the least sum of the largest loads of all layers, and the links.
    """

    energy: int
    far: int
    left: int
    fullest: IntArray
    allowed: IntArray
    found: IntArray


def new_state(rng: np.random.Generator) -> State:
    """Draw a state of the random generator of kernels."""
    return rng.integers(1, 2**63, size=1, dtype=np.uint64)


def aim_at_distances(steps: int, more: int) -> Aim:
    """Return the aim of a low sum of distances.

    Pairs that are farther apart count as a step more, and ``more``.
    """
    weight = np.ones(steps + 1, dtype=np.int64)
    weight[steps] += more
    return _plain(steps, weight)


def aim_at_layers(steps: int, most: int, fullest: IntArray, *, far: Fraction, first_new: int) -> Aim:
    """Return the aim of few steps and little SPFF bandwidth.

    That takes what the fullest link has of each layer.

    * ``steps``: how far nodes should be apart.
    * ``most``: how far they may be.
    * ``fullest``: about the largest loads there are, in parts, of each layer.
    * ``far``: how many shards over a link a pair that is farther apart is as bad as.
    * ``first_new``: nodes from this one on were inserted.
    """
    weight = np.zeros(most + 1, dtype=np.int64)
    weight[steps] = int(far * UNIT)
    weight[most] = PROHIBITED
    sets = np.array([(x - 1, x, x - 1) for x in range(1, most + 1)], dtype=np.int64)
    table, zero = _weights()
    return Aim(steps, weight, sets, fullest, table, zero, PART // _SHARPNESS, first_new)


def aim_at_last(steps: int, windows: Sequence[int]) -> Aim:
    """Return the aim of small loads in some numbers of last steps."""
    weight = np.zeros(steps + 1, dtype=np.int64)
    weight[steps] = PROHIBITED
    sets = np.array([(steps - window, steps, steps - 1) for window in windows], dtype=np.int64)
    table, zero = _weights()
    return Aim(steps, weight, sets, np.zeros(len(sets), dtype=np.int64), table, zero, PART // _SHARPNESS, _NONE)


def _plain(steps: int, weight: IntArray) -> Aim:
    nothing = np.empty(0, dtype=np.int64)
    return Aim(steps, weight, np.empty((0, 3), dtype=np.int64), nothing, nothing, 0, 0, _NONE)


@functools.cache
def _weights() -> tuple[IntArray, int]:
    """Return the weights of loads around the largest, and its index.

    They are from 2^4 to 2^48, so that those of 2^13 nodes add up in 64 bits; the largest load has 2^30.
    """
    zero, top = 26 * PART // _SHARPNESS, 18 * PART // _SHARPNESS
    return np.array([_power(4 * PART + _SHARPNESS * i, PART) for i in range(zero + top + 1)], dtype=np.int64), zero


def _power(numerator: int, denominator: int) -> int:
    """Return 2^(numerator/denominator), linear between whole powers."""
    whole, rest = divmod(numerator, denominator)
    return (denominator + rest << whole) // denominator


def anneal_links(
    ends: Ends, aim: Aim, work: int, hot: int, state: State, *, enough: int = 0, record: bool = False
) -> Annealed:
    """Anneal the links of a graph in place to a low energy.

    * ``work``: words of 64 bits to look at, in all; some 3 * 10^8 take a second.
    * ``hot``: 256 times the worsening that is let pass at first, on average.
    * ``enough``: energy at which to stop.
    * ``record``: whether graphs are kept for each number of steps.
    """
    left, fullest = np.zeros(3, dtype=np.int64), np.zeros(len(aim.sets), dtype=np.int64)
    size = len(aim.weight) if record else 0
    allowed, found = np.full(size, _NONE, dtype=np.int64), np.zeros((size, *ends.out.shape), dtype=np.int64)
    energy = kernels.anneal(ends, aim, work, hot, enough, state, left, fullest, allowed, found)
    return Annealed(int(energy), int(left[0]), int(left[1]), fullest, allowed, found)


def mend(ends: Ends, state: State) -> bool:
    """Remove self-loops and parallel links; False if some remain."""
    return not kernels.mend(ends, _MENDING * len(ends.head), state)


def pairs_too_far(topology: Topology, steps: int) -> int:
    """Return the pairs of a regular topology that are too far apart."""
    return int(kernels.pairs_beyond(ends_out(topology), 1, steps)[steps])


def ends_out(topology: Topology) -> IntArray:
    """Return the ends of links out of each node, shape ``(N, d)``."""
    return np.repeat(topology.dst, topology.capacity).reshape(topology.nodes, -1).astype(np.int64)


def random_ends(target: Target, orbits: int, rng: np.random.Generator) -> Ends:
    """Return a random graph with a rotation; parallel links are possible."""
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
    return _write_ends(mate % starts // degree, turn, mate, target.size, order)


def ends_of(topology: Topology, *, duplex: bool) -> Ends:
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
    return _write_ends(head, np.zeros_like(head), mate, (topology.nodes, topology.degree), 1)


def unfold_ends(ends: Ends, times: int) -> Ends:
    """Return the graph with a rotation of a smaller order.

    Node (u, i) becomes (u, i mod times).
    """
    degree, order = ends.out.shape[1], ends.order
    residue = np.arange(times)
    moved = (ends.turn.reshape(-1, 1, degree) + residue[:, None]) % order
    head = (ends.head.reshape(-1, 1, degree) * times + moved % times).ravel()
    starts = ends.out.size // order
    port = ends.mate % degree + ends.mate // starts * starts * times  # of ends that links end at, behind the others
    mate = head * degree + np.broadcast_to(port.reshape(-1, 1, degree), moved.shape).ravel()
    return _write_ends(head, (moved // times).ravel(), mate, ends.out.shape, order // times)


def _write_ends(head: IntArray, turn: IntArray, mate: IntArray, shape: tuple[int, ...], order: int) -> Ends:
    """Return the link ends for an array of neighbours."""
    degree = shape[1]
    sides = head.reshape(-1, 1, degree) * order + (turn.reshape(-1, 1, degree) + np.arange(order)[:, None]) % order
    out, *into = (np.ascontiguousarray(side, dtype=np.int64) for side in sides.reshape(-1, *shape))
    head, turn, mate = (np.ascontiguousarray(one, dtype=np.int64) for one in (head, turn, mate))
    return Ends(head, turn, mate, out, into[0] if into else out, order)


def spec_of_ends(ends: Ends) -> Spec | None:
    """Return the spec of a graph, or None if it is too long."""
    nodes, degree = ends.out.shape
    order, starts = ends.order, ends.out.size // ends.order
    if order == 1:
        return spec_of_links(ends.out) if ends.out.size <= MAX_WRITTEN else None
    if order == nodes:
        elements = sorted(ends.turn[:starts].tolist())
        return cayley_spec(group(Spec("cyclic", (nodes,))), elements, duplex=ends.into is ends.out)
    return lift_spec(Spec("cyclic", (order,)), np.arange(starts) // degree, ends.head[:starts], ends.turn[:starts])


def spec_of_links(out: IntArray) -> Spec:
    """Return the spec of a graph with all its links."""
    return Spec("successors", (out.shape[1], *np.sort(out, axis=1).ravel().tolist()))


def find_swap_spec(base: Topology, out: IntArray) -> Spec | None:
    """Return a graph's spec as swaps of a topology, or None.

    None if it has none or is too long.
    """
    if base.spec is None:
        return None
    swaps = swaps_between(base, out)
    spec = Spec("swap", (base.spec, *swaps)) if swaps else base.spec
    return spec if len(str(spec)) <= LONGEST_SPEC else None


def swaps_between(topology: Topology, out: IntArray) -> list[int]:
    """Return swaps that give a topology other link heads.

    Four nodes each; the topology is regular.

    * ``topology``: a regular topology of degree d.
    * ``out``: shape ``(nodes, d)``, in any order; every node is a head as often as it is in the topology.
    """
    before = ends_out(topology)
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


def bandwidth_of(total: int, size: tuple[int, int]) -> Fraction:
    """Return the bandwidth factor of a total of largest loads, in parts."""
    nodes, degree = size
    return Fraction(total * degree, PART * nodes)


def steps_but_for(beyond: IntArray, pairs: Fraction) -> int:
    """Return the fewest steps with at most a number of far pairs."""
    return next(steps for steps in range(1, len(beyond)) if beyond[steps] <= pairs)


def diameter_of(ends: Ends, most: int) -> tuple[int, IntArray] | None:
    """Return the diameter and pairs beyond each step, or None.

    Pairs more than 0, 1, ... steps apart.
    """
    beyond = kernels.pairs_beyond(ends.out, ends.order, most)
    return None if beyond[-1] else (math.ceil(np.argmin(beyond > 0)), beyond)
