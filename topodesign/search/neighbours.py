"""Digraphs of awkward sizes from good ones with a few nodes more or less.

A new node is put in the middle of d links; a deleted one has its in-links joined to its out-links. Either does damage:
some nodes are then a step farther from some others, and some have more to send than all others. So the best digraphs to
start from are not those with the least bandwidth factor but compact ones, most of whose nodes are near: they keep their
steps. What is left of the damage is moved about, and links are swapped, while that makes it less.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from topodesign.base.cost import Cost, keeps_port_free
from topodesign.base.errors import DisconnectedError, ParameterError, TopodesignError
from topodesign.base.spec import Spec
from topodesign.graphs.expansions.delete import delete
from topodesign.graphs.expansions.insert import insert
from topodesign.graphs.expansions.line import line
from topodesign.graphs.loops import looped_nodes
from topodesign.pricing.closed_form import price
from topodesign.search import anneal_kernels as kernels
from topodesign.search.annealing import MOST_PORTS, Walk, start_walk
from topodesign.search.groups import groups_to_search
from topodesign.search.lifted import cayley_spec
from topodesign.search.target import Found, Target, undominated
from topodesign.topology.groups import Group
from topodesign.topology.library import build
from topodesign.topology.topology import IntArray, Topology

_Any = TypeVar("_Any")
_Ranked = tuple[Fraction, int, _Any]  # about what it will cost, the number of steps it aims at, and what it is

REACH = 8  # nodes that are inserted or deleted at most

_COMPACT_BASES = 8  # compact digraphs to start from, those of the nearest sizes that have any
_COMPACT_LINKS, _COMPACT_TRIES = 2**23, 4096
"""Links to look at in the search for one, and sets to try at most: about a tenth of a second."""
_POOL = 128
_PATIENCE = 200
_GROUPS = 4
_LOOSE = Fraction(8, 5)
"""Cayley digraphs whose sum of cubed distances is so much above the least possible are not compact."""
_NONE = 2**62  # what the search for compact digraphs returns if it finds none
_BEST_BASES, _WALKS = 6, 2
_STARTS_SHARE = 3  # what part of the work, at most, the first starts take
_MOST_STARTS = 64
_STEP = Fraction(119, 1000)
"""Bandwidth factor that a step is worth when starts are compared: 10us against 1 MiB at 100 Gbps."""
_MANY = 10  # pairs of nodes too far apart that make it likely that some will stay so
_PRICING = 8  # what pricing takes for each source and link: so many nodes changed in 1000
_START, _FILL = 5000, 20
"""What a start takes: units of work, and pairs of nodes whose distance takes as much time as one unit."""


def search_neighbours(
    target: Target, bases: Sequence[Topology], work: int, *, seed: int = 0, known: Sequence[Cost] = ()
) -> list[Found]:
    """Search digraphs of a size among those of neighbouring sizes with nodes inserted or deleted.

    * ``target``: the size; degrees beyond ``MOST_PORTS`` are left alone, unless they keep a port free: then what is
      made of the bases is priced as it is.
    * ``bases``: topologies of its degree with at most ``REACH`` nodes more or less; those that are not regular or have
      no spec are passed over. Compact Cayley digraphs of the nearest sizes are tried in any case.
    * ``work``: sources looked at and nodes changed, some 3 million a second. The search for compact digraphs comes on
      top of that, once for each size and process.

    Returns: what no other found or known one dominates, by steps.
    """
    few = 3 if target.duplex else 2
    if target.degree > MOST_PORTS and keeps_port_free(target.nodes, target.degree, duplex=target.duplex):
        return undominated(_changed(target, bases, work, seed), known)
    if not few <= target.degree <= MOST_PORTS or target.nodes <= 2 * target.degree:
        return []
    rng = np.random.Generator(np.random.PCG64([seed, target.nodes, target.degree, target.duplex]))
    fill = _START + 2 * target.nodes * target.nodes // _FILL
    affordable = max(2, work // (_STARTS_SHARE * fill))
    near = itertools.islice(_compact_neighbours(target, seed), min(_COMPACT_BASES, affordable))
    mixed = itertools.chain.from_iterable(itertools.zip_longest(bases, near))
    usable = [base for base in mixed if base is not None and _serves(base, target)][:affordable]
    walks: list[_Ranked[Walk]] = []
    tried: list[_Ranked[Topology]] = []
    for base in usable:
        for walk in _starts(base, target, 1, rng):
            tried.append((_rank(walk), walk.steps, base))
            walks = _pick([*walks, (_rank(walk), walk.steps, walk)], _WALKS)  # no more, as they take much memory
    work = max(0, work - fill * len(usable))
    again = min(_MOST_STARTS, work // (2 * fill * _BEST_BASES))
    for _, _, base in _pick(tried, _BEST_BASES):
        for walk in _starts(base, target, again, rng):
            walks = _pick([*walks, (_rank(walk), walk.steps, walk)], _WALKS)
    found: list[Found] = []
    for _, _, walk in walks:
        _improve(walk, (work - _BEST_BASES * again * fill) // _WALKS)
        found += walk.found()
    return undominated(found, known)


def _changed(target: Target, bases: Sequence[Topology], work: int, seed: int) -> Iterator[Found]:
    """Yield the bases with nodes inserted or deleted at random, a few times each."""
    rng = np.random.Generator(np.random.PCG64([seed, target.nodes, target.degree, target.duplex]))
    usable = [base for base in bases if _serves(base, target)]
    times = work // max(1, len(usable) * target.nodes * target.degree * _PRICING)
    for base in usable:
        for made in drawn(base, target, max(1, min(_MOST_STARTS, times)), rng):
            if made.spec is not None:
                with contextlib.suppress(DisconnectedError):
                    yield Found(made.spec, price(made))


def _pick(ranked: Sequence[_Ranked[_Any]], count: int) -> list[_Ranked[_Any]]:
    """Return the most promising, every other one of those that aim at the fewest steps."""
    by_rank = sorted(range(len(ranked)), key=lambda place: ranked[place][0])
    by_steps = sorted(by_rank, key=lambda place: ranked[place][1])
    mixed = dict.fromkeys(place for pair in zip(by_rank, by_steps, strict=True) for place in pair)
    return [ranked[place] for place in list(mixed)[:count]]


def _improve(walk: Walk, work: int) -> None:
    """Walk towards the fewest steps, then, if they are not reached, towards the least bandwidth with one more."""
    walk.run(work // 2)
    if walk.far:
        walk.aim(walk.steps + 1, Fraction(1, 4))
    walk.run(work // 2)


def _rank(walk: Walk) -> Fraction:
    """Return about what a walk will reach: a few pairs of nodes too far apart may come nearer, many will not."""
    return (walk.steps + min(Fraction(1), Fraction(walk.far, _MANY))) * _STEP + walk.bandwidth


def _serves(base: Topology, target: Target) -> bool:
    change = abs(target.nodes - base.nodes)
    loops = base.nodes * base.degree % 2  # one port of all stays free
    return (
        base.spec is not None
        and base.degree == target.degree
        and base.is_regular
        and 0 < change <= REACH
        and (not target.duplex or (base.is_duplex and (target.degree % 2 == 0 or base.self_loops == loops)))
    )


def _starts(base: Topology, target: Target, count: int, rng: np.random.Generator) -> Iterator[Walk]:
    """Yield walks from the base with nodes inserted or deleted at random."""
    first_new = base.nodes if target.nodes > base.nodes else None
    for made in drawn(base, target, count, rng):
        walk = start_walk(made, duplex=target.duplex, rng=rng, first_new=first_new)
        if walk is not None:
            walk.aim(walk.steps_but_for(Fraction(target.nodes, 20)), Fraction(2))
            yield walk


def drawn(base: Topology, target: Target, count: int, rng: np.random.Generator) -> Iterator[Topology]:
    """Yield the base with nodes inserted or deleted at random, so often or less."""
    change = target.nodes - base.nodes
    for _ in range(count):
        try:
            made = _inserted(base, change, target.duplex, rng) if change > 0 else _deleted(base, -change, target, rng)
        except TopodesignError:
            continue  # the draw does not fit
        if made.degree == target.degree and made.is_regular and (made.is_duplex or not target.duplex):
            yield made


def _inserted(base: Topology, count: int, duplex: bool, rng: np.random.Generator) -> Topology:
    """Put new nodes in the middle of random links, all at different nodes if possible.

    At odd degree a new duplex node has a port left, which stays free as a self-loop until the next one is put there.
    """
    degree = base.degree
    links = _links_apart(base, count * (degree // 2 if duplex else degree), duplex, rng)
    if not duplex:
        return insert(base, *(end for link in links for end in link))
    ends: list[int] = []
    free = looped_nodes(base).tolist() if degree % 2 else []
    for new in range(base.nodes, base.nodes + count):
        for _ in range(degree // 2):
            u, w = links.pop()
            ends += [u, w, w, u]
        if degree % 2:
            at, free = (free[0], []) if free else (new, [new])
            ends += [at, at]
    return insert(base, *ends)


def _links_apart(base: Topology, count: int, duplex: bool, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Draw different links, if possible without a common node."""
    order = rng.permutation(len(base.src))
    links = list(zip(base.src[order].tolist(), base.dst[order].tolist(), strict=True))
    if duplex:
        links = [(u, w) for u, w in links if u < w]
    apart: list[tuple[int, int]] = []
    others: list[tuple[int, int]] = []
    taken: set[int] = set()
    for link in links:
        (others if taken.intersection(link) else apart).append(link)
        if apart[-1:] == [link]:
            taken.update(link)
    if len(links) < count:
        raise ParameterError(f"{len(links)} links are too few to put {count} ends in")
    return (apart + others)[:count]


def _deleted(base: Topology, count: int, target: Target, rng: np.random.Generator) -> Topology:
    """Delete random nodes; the links of duplex ones are joined in pairs.

    At odd degree two neighbours go, or the node with a free port, or a node leaves one at a neighbour.
    """
    topology = base
    numbers: list[int] = []
    while count:
        v = int(rng.integers(topology.nodes))
        if not target.duplex:
            chosen = [(v, rng.permutation(target.degree).tolist())]
        elif target.degree % 2 == 0:
            chosen = [(v, _pairing(target.degree, None, rng))]
        elif len(free := looped_nodes(topology)):
            chosen = [(int(free[0]), _pairing(target.degree - 1, None, rng))]
        elif count == 1:
            chosen = [(v, _pairing(target.degree, int(rng.integers(target.degree)), rng))]
        else:
            heads = np.repeat(topology.neighbours(v), topology.capacity[topology.src == v])
            place = int(rng.integers(target.degree))
            w = int(heads[place])
            chosen = [(v, _pairing(target.degree, place, rng)), (w - (w > v), _pairing(target.degree - 1, None, rng))]
        step = [number for node, order in chosen for number in (node, _number(order))]
        topology = delete(topology, *step)
        numbers += step
        count -= len(chosen)
    return delete(base, *numbers)


def _pairing(size: int, single: int | None, rng: np.random.Generator) -> list[int]:
    """Return a random permutation that exchanges pairs, but for one place if the size is odd."""
    order = [place for place in rng.permutation(size).tolist() if place != single]
    image = list(range(size))
    for one, other in zip(order[::2], order[1::2], strict=True):
        image[one], image[other] = other, one
    return image


def _number(order: Sequence[int]) -> int:
    """Return the number of a permutation among all in lexicographic order."""
    left, number = list(range(len(order))), 0
    for value in order:
        number = number * len(left) + left.index(value)
        left.remove(value)
    return number


def _compact_neighbours(target: Target, seed: int) -> Iterator[Topology]:
    """Yield compact Cayley digraphs of neighbouring sizes, the nearest first, and the line graphs of such."""
    sizes = [target.nodes + change for shift in range(1, REACH + 1) for change in (-shift, shift)]
    degree = target.degree
    for nodes in sizes:
        if (
            nodes % degree == 0
            and not target.duplex
            and (base := compact(Target(nodes // degree, degree, False), seed))
        ):
            yield line(base)
        if not (target.duplex and nodes * degree % 2) and (base := compact(Target(nodes, degree, target.duplex), seed)):
            yield base


@functools.lru_cache(maxsize=256)
def compact(target: Target, seed: int) -> Topology | None:
    """Return a Cayley digraph most of whose nodes are near, None if none is found.

    Of the most promising groups, that with the best digraph after a few tries is searched.
    """
    if target.nodes < 2 * target.degree:
        return None
    tries = min(_COMPACT_TRIES, _COMPACT_LINKS // (target.nodes * target.degree))
    groups = groups_to_search(target.nodes)[:_GROUPS]
    drafts = [_climb(target, group, seed, tries // 16)[0] for group in groups]
    if not drafts or min(drafts) > _LOOSE * _least_sum(target):
        return None
    return build(str(_climb(target, groups[drafts.index(min(drafts))], seed, tries)[1]))


def _least_sum(target: Target) -> int:
    """Return the sum of the cubed distances from a node if as many nodes as possible are near."""
    total, left, layer, x = 0, target.nodes - 1, target.degree, 1
    while left > 0:
        total += min(left, layer) * x**3
        left, layer, x = left - layer, layer * (target.degree - target.duplex), x + 1
    return total


def _climb(target: Target, group: Group, seed: int, tries: int) -> tuple[int, Spec | None]:
    """Return the least sum of cubed distances that some tries find, and its Cayley digraph."""
    rng = np.random.Generator(np.random.PCG64([seed, target.nodes, target.degree]))
    elements = np.arange(1, group.order, dtype=np.int64)
    if len(elements) > _POOL:
        elements = np.sort(rng.choice(elements, size=_POOL, replace=False))
    if target.duplex:
        elements = np.unique(np.concatenate((elements, _inverses(group, elements))))
    places = np.arange(len(elements))
    partner = np.searchsorted(elements, _inverses(group, elements)) if target.duplex else places
    table = group.multiply(group.elements()[None, :], elements[:, None])
    chosen = np.zeros(target.degree, dtype=np.int64)
    state = rng.integers(1, 2**63, size=1, dtype=np.uint64)
    least = int(kernels.climb_compact(table, partner, target.degree, tries, _PATIENCE, state, chosen))
    if least == _NONE:
        return least, None
    return least, cayley_spec(group, sorted(elements[chosen].tolist()), duplex=target.duplex)


def _inverses(group: Group, elements: IntArray) -> IntArray:
    """Return the inverse of each element: the identity is 0."""
    products = group.multiply(elements[:, None], group.elements()[None, :])
    return np.asarray(np.argmax(products == 0, axis=1))
