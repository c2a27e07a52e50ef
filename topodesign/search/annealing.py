"""Annealing of resized digraphs, for few steps and bandwidth by SPFF.

What guides the exchanges is smoother than the price, which is a sum of maxima: in each layer every source counts, the
more so the more it has to send.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.cost import Cost, moore_bound
from topodesign.search.link_kernels import Ends
from topodesign.search.links import (
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
from topodesign.search.target import FoundDigraph, Target, select_frontier
from topodesign.topology.topology import IntArray, Topology

_WRITTEN_OUT = 256
"""Digraphs with up to so many links are given link by link, larger ones by how they differ from where they started."""
_ROUNDS = 4  # after each of these loads are compared with what the fullest are then
_FAR = Fraction(2)  # shards over a link that a pair too far apart is as bad as


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
    topology: Topology, target: Target, rng: np.random.Generator, *, first_new: int | None = None
) -> Draft | None:
    """Return a draft of a digraph that aims at few pairs of nodes too far apart.

    None if it is not connected or needs far more steps than Moore's bound.

    * ``topology``: regular, of degree 2 to ``MAX_PORTS`` of links; duplex if the target is.
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
    steps = steps_but_for(beyond, Fraction(target.nodes, 20))
    most = max(diameter, steps)
    nothing, first = np.zeros(most, dtype=np.int64), target.nodes if first_new is None else first_new
    aim = aim_at_layers(steps, most, nothing, far=_FAR, first_new=first)
    seen = anneal_links(ends, aim, 0, 0, state)
    return Draft(topology, target.duplex, ends, steps, most, seen.far, seen.fullest, first)


def anneal_draft(draft: Draft, work: int, rng: np.random.Generator) -> list[FoundDigraph]:
    """Anneal the links of a draft.

    If the target steps are not reached, with one step more in the end.

    Returns: what it has been that none with fewer steps beats, by steps.
    """
    state, steps, fullest = new_state(rng), draft.steps, draft.fullest
    found: list[FoundDigraph] = []
    for turn in range(_ROUNDS):
        aim = aim_at_layers(steps, draft.most, fullest, far=_FAR, first_new=draft.first_new)
        done = anneal_links(draft.ends, aim, work // _ROUNDS, 0, state, record=True)
        fullest = done.fullest
        found += _select_found(draft, done)
        if done.far and turn == _ROUNDS // 2 - 1:
            steps = min(steps + 1, draft.most)
    return select_frontier(found)


def _select_found(draft: Draft, done: Annealed) -> list[FoundDigraph]:
    """Return the digraphs that none with fewer steps beats, by steps."""
    kept = []
    for steps in range(1, len(done.allowed)):
        if done.allowed[steps] < done.allowed[steps - 1]:
            out = done.found[steps]
            spec = spec_of_links(out) if out.size <= _WRITTEN_OUT else find_swap_spec(draft.topology, out)
            if spec is not None:
                size = draft.topology.nodes, draft.topology.degree
                kept.append(FoundDigraph(spec, Cost(steps, bandwidth_of(int(done.allowed[steps]), size))))
    return kept
