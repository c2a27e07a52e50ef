"""Digraphs with few steps whose links can be loaded evenly: links of known ones exchange their ends.

Between 2 d^(k-1) and d^k nodes the digraphs known to have k steps are linear congruential ones, in which some nodes get
far more of the last step over one link than over another. Most exchanges of links bring nodes too far apart, but up to
about 5/2 d^(k-1) nodes enough do not, and a few dozen of these make most of that even. Which these are is found by
annealing: a thousand times as many exchanges can be looked at as schedules could be found.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.base.compiled import LARGEST
from topodesign.base.spec import LONGEST_SPEC, Spec
from topodesign.search import evenness_kernels as kernels
from topodesign.search.annealing import swaps_between
from topodesign.search.few_steps import starts_into
from topodesign.topology.library import build
from topodesign.topology.topology import IntArray, Topology

MOST_LINKS = 8  # links out of a node; more have too many sets
_TEMPERATURE = Fraction(1, 1024)
"""Share of the energy by which it may rise at the start, with odd seeds; with even ones it always falls, which takes
fewer exchanges."""
_WINDOWS, _SHARE = 2, Fraction(1, 4)
"""For how many numbers of last steps links are evened out, from the first that carry at least such a share of all."""


def search_even(base: Topology, steps: int, exchanges: int, *, seed: int = 0) -> Spec | None:
    """Search for a topology of so many steps whose links can be loaded more evenly than those of a given one.

    * ``base``: regular, at most 8 links out of each node and none twice, and with a spec.
    * ``steps``: that it may have at most, as the base has.
    * ``exchanges``: of links, that are tried.

    Returns: none if none is found, or the base is not of this kind.
    """
    nodes, degree = base.nodes, base.degree
    fits = base.spec is not None and base.is_regular and int(base.capacity.max(initial=0)) == 1
    if not fits or not 2 <= degree <= MOST_LINKS or not degree < nodes or steps < 2:
        return None
    out = base.dst.reshape(nodes, degree).astype(np.int64)
    into = starts_into(out)
    rng = np.random.Generator(np.random.PCG64([seed, nodes, degree, steps]))
    state = rng.integers(1, 2**63, size=1, dtype=np.uint64)
    before, temperature = out.copy(), int(_TEMPERATURE * kernels.COLDNESS) if seed % 2 else 0
    if kernels.even_out(out, into, _goals(nodes, degree, steps), exchanges, temperature, steps, state) < 0:
        return None
    return None if np.array_equal(before, out) else _spec(base, out)


def _goals(nodes: int, degree: int, steps: int) -> IntArray:
    """Return what a link carries in the last step, in the last two and so on, if earlier ones carry all that they can.

    What few last steps carry less of than their share is left out: earlier ones do not have to be so full then. That
    goal is LARGEST, and so are those of more steps than matter.
    """
    every = Fraction(nodes - 1, degree)
    goals = [every - Fraction(degree ** (steps - window) - 1, degree - 1) for window in range(1, steps + 1)]
    first = next(place for place, goal in enumerate(goals) if goal >= every * _SHARE)
    wanted = range(first, first + _WINDOWS)
    few = [int(kernels.PART * goal) if place in wanted else LARGEST for place, goal in enumerate(goals)]
    return np.array(few[: first + _WINDOWS])


def _spec(base: Topology, out: IntArray) -> Spec | None:
    """Return the spec of a topology with these ends of links, told from what the base was swapped from."""
    inner = base
    while (spec := inner.spec) is not None and spec.name == "swap":
        inner = build(str(spec.args[0]))
    if spec is None:
        return None
    swaps = swaps_between(inner, out.astype(np.int32))
    swapped = Spec("swap", (spec, *swaps)) if swaps else spec
    listed = Spec("successors", (out.shape[1], *np.sort(out, axis=1).ravel().tolist()))
    made = min(swapped, listed, key=lambda one: len(str(one)))
    return made if len(str(made)) <= LONGEST_SPEC else None
