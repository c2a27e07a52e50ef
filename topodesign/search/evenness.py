"""Digraphs with few steps and even loads, by exchanges of link ends.

Between 2 d^(k-1) and d^k nodes the digraphs known to have k steps are linear congruential ones, in which some nodes get
far more of the last step over one link than over another. Most exchanges of links bring nodes too far apart, but up to
about 5/2 d^(k-1) nodes enough do not, and a few dozen of these make most of that even. Which these are is found by
annealing: a thousand times as many exchanges can be looked at as schedules could be found.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.base.spec import LONGEST_SPEC, Spec
from topodesign.search.link_kernels import PART
from topodesign.search.links import (
    MOST_PORTS,
    aim_at_last,
    anneal_links,
    ends_of,
    find_swap_spec,
    new_state,
    pairs_too_far,
    spec_of_links,
)
from topodesign.topology.library import build
from topodesign.topology.topology import IntArray, Topology

_HOT = Fraction(1, 64)
"""Share of the energy by which it may rise at the start, with odd seeds; with even ones it always falls, which takes
fewer exchanges."""
_FINEST = PART // 4  # what links are above the goals by less than this is not halved
_WINDOWS, _SHARE = 2, Fraction(1, 4)
"""For how many numbers of last steps links are evened out, from the first that carry at least such a share of all."""


def search_even(base: Topology, steps: int, work: int, *, seed: int = 0) -> Spec | None:
    """Search for a topology of given steps with more even loads.

    What is aimed at is to halve by how much the fullest link is above the goals, then to halve it again and so on.
    Nodes without such links are left alone, so that few exchanges are enough.

    * ``base``: regular, at most 8 links out of each node and none twice, and with a spec.
    * ``steps``: that it may have at most, as the base has.
    * ``work``: words to look at; some 3 * 10^8 take a second.

    Returns: none if none is found, or the base is not of this kind.
    """
    nodes, degree = base.nodes, base.degree
    fits = base.spec is not None and base.is_regular and int(base.capacity.max(initial=0)) == 1
    if not fits or not 2 <= degree <= MOST_PORTS or not degree < nodes or steps < 2 or pairs_too_far(base, steps):
        return None
    windows, goals = _goals(nodes, degree, steps)
    rng = np.random.Generator(np.random.PCG64([seed, nodes, degree, steps]))
    ends, state, left = ends_of(base, duplex=False), new_state(rng), work
    before = now = ends.out.copy()
    fullest = anneal_links(ends, aim_at_last(steps, windows, goals), 0, 0, state).fullest
    while left > 0 and (above := int((fullest - goals).max())) >= _FINEST:
        aim = aim_at_last(steps, windows, goals + above // 2)
        energy = anneal_links(ends, aim, 0, 0, state).energy
        done = anneal_links(ends, aim, left, int(256 * _HOT * energy) if seed % 2 else 0, state)
        left, fullest, now = done.left, done.fullest, ends.out.copy()
        if done.energy:
            break
    return None if np.array_equal(before, now) else _spec(base, now)


def above_goals(topology: Topology, steps: int) -> int | None:
    """Return by how many parts the fullest link of the last steps is above the goals.

    None if some nodes are more steps apart.

    * ``topology``: regular, at most 8 links out of each node and none twice.
    """
    windows, goals = _goals(topology.nodes, topology.degree, steps)
    ends, aim = ends_of(topology, duplex=False), aim_at_last(steps, windows, goals)
    done = anneal_links(ends, aim, 0, 0, np.ones(1, dtype=np.uint64))
    return None if done.far else int((done.fullest - goals).max())


def _goals(nodes: int, degree: int, steps: int) -> tuple[range, IntArray]:
    """Return the last steps whose loads count, with goals per link.

    If earlier steps are full.

    What few last steps carry less of than their share is omitted: earlier ones do not have to be so full then.
    """
    every = Fraction(nodes - 1, degree)
    goals = [every - Fraction(degree ** (steps - window) - 1, degree - 1) for window in range(1, steps + 1)]
    first = next(place for place, goal in enumerate(goals) if goal >= every * _SHARE)
    wanted = range(first, min(first + _WINDOWS, steps))
    return range(first + 1, wanted.stop + 1), np.array([int(PART * goals[place]) for place in wanted], dtype=np.int64)


def _spec(base: Topology, out: IntArray) -> Spec | None:
    """Return the spec of given link ends, as swaps of the base."""
    inner = base
    while (spec := inner.spec) is not None and spec.name == "swap":
        inner = build(str(spec.args[0]))
    made = min((one for one in (find_swap_spec(inner, out), spec_of_links(out)) if one), key=lambda one: len(str(one)))
    return made if len(str(made)) <= LONGEST_SPEC else None
