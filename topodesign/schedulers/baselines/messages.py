"""From messages between any two nodes to rounds on the links that there are."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.arguments import as_integer
from topodesign.base.cost import Cost
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, BROADCAST, GATHER, SCATTER, Collective
from topodesign.plans.measure import cost_claim
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import Part, allreduce, assemble, check_rows, prune, reverse
from topodesign.schedulers.baselines.routing import Path, Router
from topodesign.schedulers.method import Request, planned
from topodesign.topology.topology import IntArray, Topology

FORWARD = (ALLGATHER, ALL_TO_ALL, BROADCAST, SCATTER)
"""Collectives that are made as they are; the others are the duals of these, backwards in time."""


class Made(NamedTuple):
    """Rounds, and what they cost by the formula of the algorithm; None where that does not hold."""

    rounds: Rounds
    formula: Cost | None


Maker = Callable[[Topology, Collective], Made]
"""Makes one of ``FORWARD``, with its root if it has one."""


def root_of(request: Request) -> int | None:
    """Return the number of the root on a topology of nodes alone.

    Raises
    ------
    ParameterError
        If there is no such node.
    """
    root = request.root
    if isinstance(root, str):
        if not root.isdecimal():
            raise ParameterError(f"the root is a node's number, not {root!r:.60}")
        root = int(root)
    return None if root is None else as_integer("root", root, 0, request.topology.nodes - 1)


def plans(request: Request, name: str, make: Maker, forward: tuple[Collective, ...] = FORWARD) -> list[Plan]:
    """Return the plan of a baseline, of a collective of one movement or of an allreduce.

    Parameters
    ----------
    request
        On a topology of at least two nodes, without switches.
    name
        What the method is called.
    make, forward
        Makes these collectives; the others are their duals on the transpose, backwards in time. Where that adds up, a
        node that passes a partial sum on adds its own to it, so that nothing goes a way twice.

    Raises
    ------
    InfeasibleError
        If there is only one node.
    """
    topology = request.topology
    if topology.nodes < 2:
        raise InfeasibleError(f"one node alone needs no {name}")
    collective = request.collective.at(root_of(request))
    halves = [_one(topology, part, make, forward) for part in collective.parts]
    rounds = halves[0].rounds if len(halves) == 1 else allreduce(halves[0].rounds, halves[1].rounds)
    costs = [half.formula for half in halves if half.formula is not None]
    plan = planned(topology, rounds, name)
    if len(costs) < len(halves):
        return [plan]
    cost = Cost(sum(cost.steps for cost in costs), sum((cost.bandwidth for cost in costs), Fraction(0)))
    return [replace(plan, claim=cost_claim(cost))]


def _one(topology: Topology, collective: Collective, make: Maker, forward: tuple[Collective, ...]) -> Made:
    if collective.like(*forward):
        return make(topology, collective)
    rounds, formula = make(topology if topology.is_duplex else topology.transpose(), collective.dual)
    return Made(reverse(prune(rounds) if collective.reduces else rounds), formula)


def formula(topology: Topology, steps: int, volume: Fraction) -> Cost:
    """Return the cost of so many steps, whose fullest links carry so much of the whole data M one after another."""
    return Cost(steps, topology.degree * volume)


def deliveries(collective: Collective, nodes: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return source, destination and block of all that a copying collective has to bring from one node to another."""
    if collective.root is not None:
        away = np.delete(np.arange(nodes), collective.root)
        root = np.full(nodes - 1, collective.root, dtype=np.int64)
        if collective.like(GATHER):
            return away, root, away
        return root, away, away if collective.like(SCATTER) else root
    source, target = np.divmod(np.arange(nodes * nodes), nodes)
    apart = source != target
    source, target = source[apart], target[apart]
    return source, target, source * nodes + target if collective.pairwise else source


def in_rounds(
    topology: Topology, collective: Collective, units: int, count: int, parts: Iterable[Part]
) -> tuple[Rounds, bool]:
    """Return messages in rounds, each of which begins when the one before is over; and whether nothing is in the way.

    Parameters
    ----------
    topology, collective, units
        Where, what for, and the units of a block.
    count
        Number of rounds R.
    parts
        Columns (round, src, dst, block, lo, hi), rounds from 1 to R, as :func:`topodesign.plans.rounds_ops.assemble`
        takes them. What a message carries its source has when the round begins.

    Returns
    -------
    tuple
        The rounds: one takes as many steps as its longest way has links, and hop j of all its messages is in step j.
        And whether every message has a link of capacity one for itself, as the formulas of the algorithms have it.
    """
    tables = [np.broadcast_arrays(*map(np.asarray, part)) for part in parts]
    at, src, dst, block, lo, hi = (np.concatenate([table[i].ravel() for table in tables]) for i in range(6))
    at, src, dst = (column.astype(np.int64) for column in (at, src, dst))
    links = topology.link_index(src, dst)
    if links.min() >= 0:
        rounds = assemble(collective, topology.nodes, units, count, [(at, src, dst, block, lo, hi)])
        return rounds, bool(topology.capacity[links].max() == 1)
    router = Router(topology)
    pairs, pair = np.unique((at * topology.nodes + src) * topology.nodes + dst, return_inverse=True)
    widths = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(widths, pair, hi - lo)
    ends = pairs // topology.nodes % topology.nodes, pairs % topology.nodes
    bounds = np.searchsorted(pairs // topology.nodes**2, np.arange(1, count + 2)).tolist()
    ways: list[Path] = []
    longest = [0]
    for begin, end in itertools.pairwise(bounds):
        wanted = list(zip(ends[0][begin:end].tolist(), ends[1][begin:end].tolist(), strict=True))
        ways += router.paths(wanted, widths[begin:end].tolist())
        longest.append(max((len(way) - 1 for way in ways[begin:end]), default=0))
    length = np.array([len(way) - 1 for way in ways], dtype=np.int64)
    first = np.cumsum(length) - length
    hops = np.array([hop for way in ways for hop in itertools.pairwise(way)], dtype=np.int64)
    repeat = length[pair]
    check_rows(int(repeat.sum()))
    row = np.repeat(np.arange(len(pair)), repeat)
    hop = np.arange(len(row)) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    start = np.cumsum(longest)
    place = first[pair][row] + hop
    columns = (start[at - 1][row] + hop + 1, hops[place, 0], hops[place, 1], block[row], lo[row], hi[row])
    return assemble(collective, topology.nodes, units, int(start[-1]), [columns]), False


def queued(topology: Topology, collective: Collective, letters: Sequence[tuple[Path, int]]) -> Rounds:
    """Return messages of one block each that stand in line at every link, which carries one at a time.

    Parameters
    ----------
    topology, collective
        Where and what for. A link of capacity c carries c blocks in a step.
    letters
        The way of each message and its block. All are ready at the start; at a link they are served as they come, and
        of those that come in the same step the first of this list first.
    """
    check_rows(sum(len(way) - 1 for way, _ in letters))
    capacity = {(u, v): c for u, v, c in topology.links()}
    lines: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for number, (way, _) in enumerate(letters):
        lines.setdefault((way[0], way[1]), []).append((0, number, 0))
    rows: list[tuple[int, int, int, int]] = []
    step = 0
    while lines:
        step += 1
        moved: list[tuple[int, int]] = []
        for link in list(lines):
            line = lines[link]
            for _ in range(min(capacity[link], len(line))):
                _, number, hop = heapq.heappop(line)
                rows.append((step, *link, letters[number][1]))
                moved.append((number, hop + 1))
            if not line:
                del lines[link]
        for number, hop in moved:
            way = letters[number][0]
            if hop + 1 < len(way):
                heapq.heappush(lines.setdefault((way[hop], way[hop + 1]), []), (step, number, hop))
    at, src, dst, block = np.array(rows, dtype=np.int64).T
    return assemble(collective, topology.nodes, 1, step, [(at, src, dst, block, 0, 1)])
