"""Digraphs of awkward sizes from good ones of close sizes.

A new node is put in the middle of d links; a deleted one has its in-links joined to its out-links. Either does damage:
some nodes are then a step farther from some others, and some have more to send than all others. So the best digraphs to
start from are not those with the least bandwidth factor but compact ones, most of whose nodes are near: they keep their
steps. What is left of the damage is moved about, and links are exchanged, while that makes it less.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from topodesign.base.cost import Cost, keeps_port_free
from topodesign.base.errors import DisconnectedError
from topodesign.graphs.expansions.line import line
from topodesign.pricing.closed_form import price
from topodesign.search.annealing import Draft, anneal_draft, start_draft
from topodesign.search.links import MAX_PORTS
from topodesign.search.order_degree import orbits_to_search, search_low_distances
from topodesign.search.resized import iterate_resized
from topodesign.search.target import FoundDigraph, Target, select_frontier
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

REACH = 8  # nodes that are inserted or deleted at most

_COMPACT_BASES = 4  # compact digraphs to start from, those of the nearest sizes that have any
_BEST_BASES, _ANNEALED = 6, 2  # bases that are tried more often, and drafts that are made better
_STARTS_SHARE = 3  # what part of the work, at most, the first starts take
_MAX_STARTS = 64
_STEP = Fraction(119, 1000)
"""Bandwidth factor that a step is worth when starts are compared: 10us against 1 MiB at 100 Gbps."""
_MANY = 10  # pairs of nodes too far apart that make it likely that some will stay so
_PRICING = 800  # what pricing takes for each source and link, in words


def search_neighbours(
    target: Target, bases: Sequence[Topology], work: int, *, seed: int = 0, known: Sequence[Cost] = ()
) -> list[FoundDigraph]:
    """Search digraphs made of close sizes by inserting or deleting nodes.

    * ``target``: the size; degrees beyond ``MAX_PORTS`` are left alone, unless they keep a port free: then what is
      made of the bases is priced as it is.
    * ``bases``: topologies of its degree with at most ``REACH`` nodes more or less; those that are not regular or have
      no spec are passed over. Compact digraphs of the nearest sizes are tried in any case.
    * ``work``: words to look at, some 3 * 10^8 a second. The search for compact digraphs comes on top of that, once for
      each size and process.

    Returns: what no other found or known one dominates, by steps.
    """
    few = 3 if target.duplex else 2
    if target.degree > MAX_PORTS and keeps_port_free(*target.size, duplex=target.duplex):
        return select_frontier(_vary_bases(target, bases, work, seed), known)
    if not few <= target.degree <= MAX_PORTS or target.nodes <= 2 * target.degree:
        return []
    rng = np.random.Generator(np.random.PCG64([seed, *target.size, target.duplex]))
    near = itertools.islice(_compact_neighbours(target, seed), _COMPACT_BASES)
    mixed = itertools.chain.from_iterable(itertools.zip_longest(bases, near))
    drafts: list[Draft] = []
    ranked: list[tuple[Fraction, int, Topology]] = []
    left = work
    for base in (base for base in mixed if base is not None and _serves(base, target)):
        if left < work - work // _STARTS_SHARE:
            break
        for draft in _drafts(base, target, 1, rng):
            left -= draft.work
            drafts.append(draft)
            ranked.append((_rank(draft), len(ranked), base))
    for _, _, base in sorted(ranked, key=lambda one: one[:2])[:_BEST_BASES]:
        again = min(_MAX_STARTS, left // (2 * _BEST_BASES * max(one.work for one in drafts)))
        for draft in _drafts(base, target, again, rng):
            left -= draft.work
            drafts.append(draft)
    found: list[FoundDigraph] = []
    chosen = _pick(drafts, _ANNEALED)
    for draft in chosen:
        found += anneal_draft(draft, max(0, left) // len(chosen), rng)
    return select_frontier(found, known)


def _vary_bases(target: Target, bases: Sequence[Topology], work: int, seed: int) -> Iterator[FoundDigraph]:
    """Yield bases with random insertions or deletions, a few times each."""
    rng = np.random.Generator(np.random.PCG64([seed, *target.size, target.duplex]))
    usable = [base for base in bases if _serves(base, target)]
    times = work // max(1, len(usable) * target.nodes * target.degree * _PRICING)
    for base in usable:
        for made in iterate_resized(base, target, max(1, min(_MAX_STARTS, times)), rng):
            if made.spec is not None:
                with contextlib.suppress(DisconnectedError):
                    yield FoundDigraph(made.spec, price(made))


def _drafts(base: Topology, target: Target, count: int, rng: np.random.Generator) -> Iterator[Draft]:
    """Yield drafts of the base with random insertions or deletions."""
    first_new = base.nodes if target.nodes > base.nodes else None
    for made in iterate_resized(base, target, count, rng):
        draft = start_draft(made, target, rng, first_new=first_new)
        if draft is not None:
            yield draft


def _pick(drafts: Sequence[Draft], count: int) -> list[Draft]:
    """Return the most promising, half of them with the fewest steps."""
    by_rank = sorted(drafts, key=_rank)
    by_steps = sorted(by_rank, key=lambda draft: draft.steps)
    mixed = {id(draft): draft for pair in zip(by_rank, by_steps, strict=True) for draft in pair}
    return list(mixed.values())[:count]


def _rank(draft: Draft) -> Fraction:
    """Return a rank by estimated result."""
    return (draft.steps + min(Fraction(1), Fraction(draft.far, _MANY))) * _STEP + draft.bandwidth


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


def _compact_neighbours(target: Target, seed: int) -> Iterator[Topology]:
    """Yield compact digraphs of close sizes, nearest first, and line graphs."""
    sizes = [target.nodes + change for shift in range(1, REACH + 1) for change in (-shift, shift)]
    degree = target.degree
    for nodes in sizes:
        fewer = None
        if nodes % degree == 0 and not target.duplex:
            fewer = compact(Target(nodes // degree, degree, duplex=False), seed)
        if fewer is not None:
            yield line(fewer)
        if not (target.duplex and nodes * degree % 2) and (base := compact(Target(nodes, degree, target.duplex), seed)):
            yield base


@functools.lru_cache(maxsize=256)
def compact(target: Target, seed: int) -> Topology | None:
    """Return a compact graph or digraph, with a rotation or none, or None.

    Most of its nodes are near.
    """
    counts = orbits_to_search(target) if target.nodes >= 2 * target.degree else []
    spec = search_low_distances(target, counts[0], 0, seed=seed) if counts else None
    return None if spec is None else build(str(spec))
