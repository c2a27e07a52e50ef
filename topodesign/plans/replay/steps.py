"""The verifier of orbits, phases and routed rounds: what moves is replayed block by block, as rounds are; exact.

Of rounds kept as one orbit the blocks of the representatives alone are replayed. What is checked is the schedule that
the rows unfold to, and it is never unfolded:

* The generators are proven to be automorphisms of the topology, and every node to be the image of a representative.
* An automorphism takes a right movement of a block to a right movement of the block's image. So all blocks are right if
  those of the representatives are, and these are replayed as in :mod:`topodesign.plans.replay.rounds`.
* What a link carries in a step is added up over the images of all rows. If no permutation of the group but the identity
  leaves a node where it is, there is one image for every permutation of the group, and so every link carries what all
  links of its orbit carry of the representatives' rows. Otherwise the images are made one node after the other.

Of phases every port has one circuit at a time, and every send goes over a circuit of its own phase: over another, of
an earlier or later one, it has none. Routed rounds are right if and only if every route goes over links, through no
node twice, and the sends between the ends of routes do what the collective promises, on the graph of these ends.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.cost import Cost
from topodesign.base.declared import key, keys_of
from topodesign.base.errors import TooLargeError, TopologyError
from topodesign.plans.orbit import OrbitRounds, node_of
from topodesign.plans.replay.found import WASTED, Found, marked, wasteful
from topodesign.plans.replay.rounds import (
    RoundsReport,
    bad_links,
    claim_problems,
    find_links,
    fullest_of_steps,
    replay_problems,
    schedule_cost,
    verify_rounds,
)
from topodesign.plans.rounds import Phases, Rounds, Routed
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology


@dataclass(frozen=True, slots=True)
class PhasesFound(Cost):
    """What phases cost."""

    changes: int
    redundant: int
    refilled: int

    KEYS = (*keys_of(Cost.KEYS), key("changes", "Changes of circuits."), *WASTED)


def verify_phases(phases: Phases) -> Found:
    """Check the ports of every phase, every send and the postcondition, and recompute steps, y and changes.

    y = (d/n) * sum over steps of the largest units / (units * circuits) of a link, d being the ports of a node.
    """
    rounds = phases.rounds
    problems, factor = [], Fraction(0)
    link = np.full(len(rounds), -1, dtype=np.int64)
    now = phases.phase_of(rounds.step)
    for number in range(len(phases.first_step)):
        circuits = phases.circuits_of(number)
        problems += _port_problems(circuits, number, duplex=phases.duplex)
        graph = Topology.from_arrays(phases.nodes, circuits[:, 0], circuits[:, 2])
        mine = now == number
        part = rounds.rows(mine)
        link[mine] = find_links(graph, part)
        if len(part):
            cost = schedule_cost(graph, part, link[mine])
            factor += cost.bandwidth * Fraction(phases.ports, max(1, graph.degree))
    compute = np.ones(phases.nodes, dtype=np.bool_)
    whole = phases.union()
    members = rounds.collective.members(phases.nodes)
    known = np.isin(rounds.block, rounds.collective.blocks(members, phases.nodes))
    problems += bad_links(whole, rounds, link, compute, known)
    more, redundant, refilled = replay_problems(whole, rounds, (link >= 0) & known)
    problems += more
    cost = PhasesFound(rounds.steps, factor, len(phases.first_step) - 1, redundant, refilled)
    return Found(
        tuple(problems),
        {"steps": Fraction(cost.steps), "bandwidth": factor, "changes": Fraction(cost.changes)},
        cost,
        f"{cost.steps} steps, y = {factor}, {cost.changes} changes",
        wasteful(redundant, refilled),
    )


def _port_problems(circuits: IntArray, number: int, *, duplex: bool) -> list[str]:
    """Say which ports of a phase have two circuits, a circuit to themselves, or none back where there must be one."""
    problems: list[str] = []
    for ends, word in ((circuits[:, :2], "from"), (circuits[:, 2:], "to")):
        _, place, count = np.unique(ends, axis=0, return_inverse=True, return_counts=True)
        twice = count[place.ravel()] > 1

        def words(row: int, ends: IntArray = ends, word: str = word) -> str:
            return f"phase {number}: two circuits {word} port {ends[row, 1]} of node {ends[row, 0]}"

        problems += marked(twice, words, "ports with two circuits")
    problems += marked(
        circuits[:, 0] == circuits[:, 2],
        lambda row: f"phase {number}: a circuit from node {circuits[row, 0]} to itself",
        "circuits from a node to itself",
    )
    if duplex:
        there = set(map(tuple, circuits.tolist()))
        alone = np.array([(c, q, a, p) not in there for a, p, c, q in circuits.tolist()], dtype=np.bool_)
        problems += marked(
            alone,
            lambda row: f"phase {number}: no circuit back from node {circuits[row, 2]} to node {circuits[row, 0]}",
            "circuits without one back",
        )
    return problems


@dataclass(frozen=True, slots=True)
class RoutedFound(Cost):
    """What routed rounds cost."""

    hops: int
    redundant: int

    KEYS = ("steps", key("hops", "Links of the longest way of each step, added up."), "bandwidth", WASTED[0])


def replayed_routed(topology: Topology, moved: Routed) -> Found:
    """Replay routed rounds."""
    links = {(u, v): at for at, (u, v, _) in enumerate(topology.links()) if u != v}
    start = moved.hop_start.tolist()
    routes = [moved.hop[a:b].tolist() for a, b in itertools.pairwise(start)]
    over = [[links.get(pair, -1) for pair in itertools.pairwise(way)] for way in routes]
    missing = np.array([-1 in one for one in over], dtype=np.bool_)
    again = np.array([len(set(way)) < len(way) for way in routes], dtype=np.bool_)

    def words(number: int) -> str:
        return f"route {number}: {' -> '.join(map(str, routes[number]))}"

    problems = marked(missing, lambda at: f"{words(at)} goes where there is no link", "such routes")
    problems += marked(again, lambda at: f"{words(at)} meets a node twice", "such routes")
    if problems:
        return Found(tuple(problems))
    report = verify_rounds(moved.joined, moved.rounds)
    members = moved.collective.members(topology.nodes, topology.switches)
    share, shards = moved.collective.shares(moved.block, topology.nodes, len(members))
    carried: dict[tuple[int, int], int] = defaultdict(int)
    far: dict[int, int] = defaultdict(int)
    sent: dict[tuple[int, int], int] = defaultdict(int)
    widths = ((moved.hi - moved.lo) * share).tolist()
    for step, route, width in zip(moved.step.tolist(), moved.route.tolist(), widths, strict=True):
        sent[step, route] += width
    for (step, route), width in sent.items():
        far[step] = max(far[step], len(over[route]))
        for link in over[route]:
            carried[step, link] += width
    keys = np.array([*carried], dtype=np.int64).reshape(-1, 2)
    total = fullest_of_steps(keys[:, 0], topology.capacity[keys[:, 1]], np.array([*carried.values()], dtype=np.int64))
    y, hops = Fraction(topology.degree, shards * moved.units) * total, sum(far.values())
    return Found(
        report.problems,
        {"steps": Fraction(moved.steps), "hops": Fraction(hops), "bandwidth": y},
        RoutedFound(moved.steps, y, hops, report.redundant),
        f"{moved.steps} steps over {hops} links, y = {y}",
        report.found().notes,
    )


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
        first, used = orbit.symmetry.link_orbits(topology), link >= 0
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
