"""The verifier of rounds kept as one orbit: it replays the blocks of the representatives alone; exact all the same.

What is checked is the schedule that the rows unfold to, and it is never unfolded:

* The generators are proven to be automorphisms of the topology, and every node to be the image of a representative.
* An automorphism takes a right movement of a block to a right movement of the block's image. So all blocks are right if
  those of the representatives are, and these are replayed as in :mod:`topodesign.plans.replay.rounds`.
* What a link carries in a step is added up over the images of all rows. If no permutation of the group but the identity
  leaves a node where it is, there is one image for every permutation of the group, and so every link carries what all
  links of its orbit carry of the representatives' rows. Otherwise the images are made one node after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.cost import Cost
from topodesign.base.errors import TooLargeError, TopologyError
from topodesign.plans.orbit import OrbitRounds, node_of
from topodesign.plans.replay.rounds import (
    RoundsReport,
    bad_links,
    claim_problems,
    find_links,
    fullest_of_steps,
    replay_problems,
)
from topodesign.plans.rounds import Rounds
from topodesign.topology.symmetry import Symmetry, joined
from topodesign.topology.topology import Topology

MAX_LOADS = 2**27  # links times steps whose loads are held at a time: 1 GiB

Ints = NDArray[np.int64]


def verify_orbit(topology: Topology, orbit: OrbitRounds, claim: Cost | None = None) -> RoundsReport:
    """Check the symmetry, every send and the postcondition of the collective, and recompute the cost.

    Verdict, cost, redundant and refilled units are those of the unfolded schedule; examples of problems are of the
    representatives' blocks, by rows of the orbit. The topology's own symmetry is not looked at.
    """
    rounds, symmetry, collective = orbit.own, orbit.symmetry, orbit.collective
    link = find_links(topology, rounds)
    try:
        symmetry.check(topology)
    except TopologyError as error:
        problem = f"the symmetry is none of the topology: {error}"
        return RoundsReport(collective, Cost(rounds.steps, Fraction(0)), (problem,))
    compute = np.ones(topology.nodes, dtype=np.bool_)
    compute[list(topology.switches)] = False
    members = collective.members(topology.nodes, topology.switches)
    chosen = np.intersect1d(members, orbit.representatives)
    numbers = (chosen[:, None] * topology.nodes + members).ravel() if collective.pairwise else chosen
    known = np.isin(rounds.block, numbers)
    linked = (link >= 0) & compute[rounds.src] & compute[rounds.dst] & known
    problems = bad_links(topology, rounds, link, compute, known)
    redundant = refilled = 0
    for size, own in _by_orbit_size(symmetry, chosen):
        rows = np.isin(node_of(collective, rounds.block, rounds.nodes), own)
        blocks = numbers[np.isin(numbers // topology.nodes if collective.pairwise else numbers, own)]
        more, twice, again = replay_problems(topology, rounds.rows(rows), linked[rows], blocks)
        problems += more
        redundant += size * twice
        refilled += size * again
    cost = _cost(topology, orbit, link, len(members))
    problems += claim_problems(claim, cost)
    return RoundsReport(collective, cost, tuple(problems), redundant, refilled)


def _by_orbit_size(symmetry: Symmetry, chosen: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield the sizes of orbits and the representatives of those of each size."""
    sizes = np.bincount(symmetry.represented_by, minlength=symmetry.nodes)[chosen]
    for size in np.unique(sizes).tolist():
        yield size, chosen[sizes == size]


def _cost(topology: Topology, orbit: OrbitRounds, link: Ints, members: int) -> Cost:
    """Return the steps and y of all images of the rows; sends over links that do not exist carry nothing in it."""
    rounds, links = orbit.own, len(topology.src)
    if rounds.units * max(1, len(rounds)) * rounds.nodes >= 2**63:
        raise TooLargeError(f"{rounds.units} units per shard are too many for the images of {len(rounds)} sends")
    if rounds.steps * links > MAX_LOADS:
        raise TooLargeError(f"the loads of {links} links in {rounds.steps} steps are too many to hold")
    if not np.any(link >= 0):
        return Cost(rounds.steps, Fraction(0))
    loads = np.zeros((rounds.steps, links), dtype=np.int64)
    if orbit.symmetry.is_free:
        first = np.arange(links)
        for generator in orbit.generators:
            first = joined(first, topology.link_index(generator[topology.src], generator[topology.dst]))
        used = link >= 0
        np.add.at(loads, (rounds.step[used] - 1, first[link[used]]), (rounds.hi - rounds.lo)[used])
    else:
        _add_images(topology, orbit, link, loads)
    step, at = np.nonzero(loads)
    fullest = fullest_of_steps(step, topology.capacity[at], loads[step, at])
    return Cost(rounds.steps, Fraction(topology.degree, orbit.collective.shards(members) * rounds.units) * fullest)


def _add_images(topology: Topology, orbit: OrbitRounds, link: Ints, loads: Ints) -> None:
    """Add what all images of the rows carry to the loads by step and link."""
    rounds = orbit.own
    node = node_of(orbit.collective, rounds.block, rounds.nodes)
    for representative in np.unique(node).tolist():
        own, carried = _carried(rounds, (node == representative) & (link >= 0), link, len(topology.src))
        step, at = own // len(topology.src), own % len(topology.src)
        src, dst = topology.src[at], topology.dst[at]
        for _, permutation in orbit.symmetry.transversals(representative):
            loads[step - 1, topology.link_index(permutation[src], permutation[dst])] += carried


def _carried(rounds: Rounds, rows: NDArray[np.bool_], link: Ints, links: int) -> tuple[Ints, Ints]:
    """Return ``step * links + link``, each once, and the units that some rows carry there."""
    key, place = np.unique(rounds.step[rows].astype(np.int64) * links + link[rows], return_inverse=True)
    carried = np.zeros(len(key), dtype=np.int64)
    np.add.at(carried, place, (rounds.hi - rounds.lo)[rows])
    return key, carried
