"""Annealing of small digraphs for few steps and bandwidth.

By SPFF, from links of a given one and random ones.

What guides the exchanges is smoother than the price, which is a sum of maxima: in each layer every source counts, the
more so the more it has to send.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.cost import Cost, moore_bound
from topodesign.base.errors import TopodesignError
from topodesign.base.spec import Spec
from topodesign.search.link_kernels import Ends
from topodesign.search.links import (
    MOST_PORTS,
    UNIT,
    Annealed,
    aim_at_layers,
    anneal_links,
    bandwidth_of,
    diameter_of,
    ends_of,
    find_swap_spec,
    mend,
    new_state,
    spec_of_links,
    steps_but_for,
)
from topodesign.search.target import Found, Target, select_frontier
from topodesign.topology.library import build
from topodesign.topology.topology import IntArray, Topology

_WRITTEN_OUT = 256
"""Digraphs with up to so many links are given link by link, larger ones by how they differ from where they started."""
_ROUNDS = 4  # after each of these loads are compared with what the fullest are then
_STARTS = 4
_HOT = Fraction(1, 10)  # shards over a link by which an exchange may be worse at first
_FAR, _FAR_OF_NEW = Fraction(1, 4), Fraction(2)
"""How many shards over a link a pair too far apart is as bad as, and where nodes were put in or taken out."""


@dataclass(frozen=True)
class Draft:
    """A digraph that links may be exchanged of.

    * ``steps``: what it aims at.
    * ``most``: steps that it has.
    * ``far``: pairs of nodes that are farther apart than is aimed at.
    * ``fullest``: its largest loads, layer by layer, in parts.
    """

    topology: Topology
    duplex: bool
    ends: Ends
    steps: int
    most: int
    far: int
    far_load: Fraction
    fullest: IntArray
    first_new: int

    @property
    def bandwidth(self) -> Fraction:
        """Bandwidth factor of the dearer collective."""
        return bandwidth_of(int(self.fullest.sum()), (self.topology.nodes, self.topology.degree))

    @property
    def work(self) -> int:
        """About how many words were looked at to get here."""
        nodes, degree = self.topology.nodes, self.topology.degree
        return self.most * nodes * (nodes + 63) // 64 * (degree + 2 + (1 << degree)) * 2


def start_draft(
    topology: Topology,
    target: Target,
    steps: int | None,
    rng: np.random.Generator,
    *,
    first_new: int | None = None,
) -> Draft | None:
    """Return a draft of a digraph, or None.

    None if it is not connected or needs far more steps than Moore's bound.

    * ``topology``: regular, of degree 2 to ``MOST_PORTS``; duplex if the target is.
    * ``steps``: what to aim at; None for the steps that leave few pairs of nodes too far apart.
    * ``first_new``: number of the first node that was inserted.
    """
    ends = ends_of(topology, duplex=target.duplex)
    state = new_state(rng)
    known = mend(ends, state) and diameter_of(
        ends, min(target.nodes, 2 * moore_bound(*target.size, duplex=target.duplex) + 4)
    )
    if not known:
        return None
    diameter, beyond = known
    far_load = _FAR if steps is not None else _FAR_OF_NEW
    steps = steps_but_for(beyond, Fraction(target.nodes, 20)) if steps is None else steps
    most = max(diameter, steps)
    nothing, first = np.zeros(most, dtype=np.int64), target.nodes if first_new is None else first_new
    aim = aim_at_layers(steps, most, nothing, far=far_load, first_new=first)
    seen = anneal_links(ends, aim, 0, 0, state)
    return Draft(topology, target.duplex, ends, steps, most, seen.far, far_load, seen.fullest, first)


def anneal_draft(draft: Draft, work: int, hot: Fraction, rng: np.random.Generator) -> list[Found]:
    """Anneal the links of a draft.

    If the target steps are not reached, with one step more in the end.

    Returns: what it has been that none with fewer steps beats, by steps.
    """
    state, steps, fullest = new_state(rng), draft.steps, draft.fullest
    found: list[Found] = []
    for turn in range(_ROUNDS):
        aim = aim_at_layers(steps, draft.most, fullest, far=draft.far_load, first_new=draft.first_new)
        heat = int(256 * hot * UNIT * (_ROUNDS - turn) / _ROUNDS)
        done = anneal_links(draft.ends, aim, work // _ROUNDS, heat, state, record=True)
        fullest = done.fullest
        found += _select_found(draft, done)
        if done.far and turn == _ROUNDS // 2 - 1 and not hot:
            steps = min(steps + 1, draft.most)
    return select_frontier(found)


def anneal(
    start: Topology,
    work: int,
    *,
    duplex: bool = False,
    steps: int | None = None,
    seed: int = 0,
    known: Sequence[Cost] = (),
) -> list[Found]:
    """Search small digraphs by annealing given and random links.

    * ``start``: a digraph of the size to search; degrees beyond ``MOST_PORTS`` are left alone. One that is not regular,
      or not duplex though that is asked for, only tells the size.
    * ``work``: words to look at, all in all; some 3 * 10^8 take a second.
    * ``duplex``: keep to duplex digraphs.
    * ``steps``: number of steps to aim at, Moore's bound by default; what has other numbers of steps is found by the
      way.

    Returns: what no other found or known one dominates, by steps.
    """
    target = Target(start.nodes, start.degree, duplex)
    few = 3 if duplex else 2  # a duplex digraph of degree 2 is a ring
    if not few <= target.degree <= MOST_PORTS or target.nodes <= target.degree + 1:
        return []
    rng = np.random.Generator(np.random.PCG64([seed, *target.size, duplex]))
    aim = moore_bound(*target.size, duplex=duplex) if steps is None else steps
    found: list[Found] = []
    for turn in range(_STARTS):
        fits = turn == 0 and start.is_regular and (start.is_duplex or not duplex)
        base = start if fits else _random(target, rng)
        draft = None if base is None else start_draft(base, target, aim, rng)
        if draft is not None:
            found += anneal_draft(draft, work // _STARTS, _HOT, rng)
    return select_frontier(found, known)


def _random(target: Target, rng: np.random.Generator) -> Topology | None:
    family = "randomregulargraph" if target.duplex else "randomregular"
    try:
        return build(Spec(family, (*target.size, int(rng.integers(2**31)))))
    except TopodesignError:
        return None  # there is none of that size


def _select_found(draft: Draft, done: Annealed) -> list[Found]:
    """Return the digraphs that none with fewer steps beats, by steps."""
    kept = []
    for steps in range(1, len(done.allowed)):
        if done.allowed[steps] < done.allowed[steps - 1]:
            out = done.found[steps]
            spec = spec_of_links(out) if out.size <= _WRITTEN_OUT else find_swap_spec(draft.topology, out)
            if spec is not None:
                size = draft.topology.nodes, draft.topology.degree
                kept.append(Found(spec, Cost(steps, bandwidth_of(int(done.allowed[steps]), size))))
    return kept
