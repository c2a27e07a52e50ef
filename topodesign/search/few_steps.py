"""Digraphs with few steps, from close sizes.

Whatever their bandwidth factor; nodes are inserted or deleted.

Of a topology with few steps deferred schedules make one with nearly optimal bandwidth, so that steps are all that has
to be found. A few nodes more or less bring few pairs of nodes too far apart, often none; links are exchanged until
those are near, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from topodesign.base.spec import LONGEST_SPEC, Spec
from topodesign.search.links import (
    aim_at_steps,
    anneal_links,
    ends_of,
    find_swap_spec,
    new_state,
    pairs_too_far,
)
from topodesign.search.resized import iterate_resized
from topodesign.search.target import Target
from topodesign.topology.topology import Topology

_HOT = 128  # 256 times the pairs by which it may get worse at first, on average
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


def search_near(target: Target, steps: int, bases: Iterable[Topology], work: int, *, seed: int = 0) -> Spec | None:
    """Search topologies of few steps among close sizes' with nodes changed.

    * ``steps``: steps that it may have at most.
    * ``bases``: regular topologies of its degree, duplex if it is to be, that have specs; those of its own size are
      taken as they are.
    * ``work``: words to look at in exchanges of links, with each start; some 3 * 10^8 take a second.

    Returns: none if none is found.
    """
    rng = np.random.Generator(np.random.PCG64([seed, target.nodes, target.degree, target.duplex, steps]))
    drafts: list[tuple[int, int, Topology]] = []
    for base in bases:
        least = _HOPELESS * target.nodes
        for number, start in enumerate(_starts(target, base, rng)):
            if number >= _FIRST_STARTS and least > _PROMISING:
                break
            far = pairs_too_far(start, steps)
            if far == 0 and len(str(start.spec)) <= LONGEST_SPEC:
                return start.spec
            least = min(least, far)
            drafts.append((far, len(drafts), start))
    most = _MOST_WORK // (_ANNEALED * _ROUNDS) + work
    for far, _, start in sorted(drafts)[:_ANNEALED]:
        if far > _HOPELESS * target.nodes:
            break
        ends, state = ends_of(start, duplex=target.duplex), new_state(rng)
        left = anneal_links(ends, aim_at_steps(steps), work, _HOT, state).far
        for turn in range(1, _ROUNDS + 1):
            if 0 < left <= _NEARLY:
                left = anneal_links(ends, aim_at_steps(steps), min(work * _LONGER**turn, most), _HOT, state).far
        if left == 0 and (spec := find_swap_spec(start, ends.out)) is not None:
            return spec
    return None


def _starts(target: Target, base: Topology, rng: np.random.Generator) -> Iterator[Topology]:
    change = base.nodes - target.nodes
    made: Iterable[Topology] = [base]
    if change:
        made = iterate_resized(base, target, max(_FEWEST_STARTS, _STARTS // change**2), rng)
    yield from (one for one in made if one.self_loops == 0 or target.nodes * target.degree % 2)
