"""Conversion of messages between any nodes to rounds on links."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.arrays import ranges
from topodesign.base.cost import Cost
from topodesign.base.errors import DisconnectedError, TooLargeError
from topodesign.collectives import GATHER, SCATTER, Collective
from topodesign.plans.build import Part, build_steps, check_rows
from topodesign.plans.flow import Flow
from topodesign.pricing.closed_form import distances
from topodesign.topology.topology import IntArray, Topology


class FormulaRounds(NamedTuple):
    """Rounds and their formula cost, None if it does not apply."""

    rounds: Flow
    formula: Cost | None


def formula(topology: Topology, steps: int, volume: Fraction) -> Cost:
    """Return the formula cost of steps and volume.

    ``volume`` is the sum over the steps of the load of the most loaded link, as a fraction of the whole data M.
    """
    return Cost(steps, topology.degree * volume)


def deliveries(collective: Collective, nodes: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return source, destination and block of all required deliveries.

    The collective must be a copying one.
    """
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
    topology: Topology, collective: Collective, parts: Iterable[Part], count: int, volume: Fraction, *, units: int = 1
) -> FormulaRounds:
    """Return messages in rounds, each starting after the previous one.

    Parts are columns (round, src, dst, block, lo, hi), rounds from 1 on, as
    :func:`topodesign.plans.build.build_steps` takes them. What a message carries its source has when the round
    begins. A round takes as many steps as its longest way has links, and hop j of all its messages is in step j. The
    formula of the algorithm, ``volume`` of the whole data in as many steps, holds where every message has a link of
    capacity one for itself.
    """
    tables = [np.broadcast_arrays(*map(np.asarray, part)) for part in parts]
    at, src, dst, block, lo, hi = (np.concatenate([table[i].ravel() for table in tables]) for i in range(6))
    at, src, dst = (column.astype(np.int64) for column in (at, src, dst))
    links = topology.link_index(src, dst)
    if links.min() >= 0:
        rounds = build_steps(collective, topology, units, count, [(at, src, dst, block, lo, hi)])
        return FormulaRounds(rounds, formula(topology, count, volume) if topology.capacity[links].max() == 1 else None)
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
    row, hop = ranges(0, repeat)
    start = np.cumsum(longest)
    place = first[pair][row] + hop
    columns = (start[at - 1][row] + hop + 1, hops[place, 0], hops[place, 1], block[row], lo[row], hi[row])
    return FormulaRounds(build_steps(collective, topology, units, int(start[-1]), [columns]), None)


def queue_messages(topology: Topology, collective: Collective, messages: Sequence[tuple[Path, int]]) -> Flow:
    """Return messages as rounds, with a queue at every link.

    Each message has a route and a block.

    A link of capacity c carries c blocks in a step. All are ready at the start; at a link they are served as they come,
    and of those that come in the same step the first of this list first.
    """
    check_rows(sum(len(way) - 1 for way, _ in messages))
    capacity = {(u, v): c for u, v, c in topology.links()}
    lines: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for number, (way, _) in enumerate(messages):
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
                rows.append((step, *link, messages[number][1]))
                moved.append((number, hop + 1))
            if not line:
                del lines[link]
        for number, hop in moved:
            way = messages[number][0]
            if hop + 1 < len(way):
                heapq.heappush(lines.setdefault((way[hop], way[hop + 1]), []), (step, number, hop))
    at, src, dst, block = np.array(rows, dtype=np.int64).T
    return build_steps(collective, topology, 1, step, [(at, src, dst, block, 0, 1)])


MAX_NODES = 2048  # largest topology whose distances are kept

Path = tuple[int, ...]  # the nodes on a way, its two ends included


class Router:
    """Shortest paths of a strongly connected topology, including switches."""

    def __init__(self, topology: Topology, names: Sequence[str] | None = None) -> None:
        if topology.nodes > MAX_NODES:
            raise TooLargeError(f"baselines route among at most {MAX_NODES} nodes, this topology has {topology.nodes}")
        self.topology = topology
        self.distance: IntArray = np.stack([distances(topology, node) for node in range(topology.nodes)])
        if self.distance.min() < 0:
            source, target = np.argwhere(self.distance < 0)[0].tolist()
            called = (f"node {target}", f"node {source}") if names is None else (names[target], names[source])
            raise DisconnectedError(f"{called[0]} cannot be reached from {called[1]}")
        self._towards = self.distance.T.tolist()
        self._out: list[list[tuple[int, int]]] = [[] for _ in range(topology.nodes)]
        for link, (source, target, _) in enumerate(topology.links()):
            if source != target:
                self._out[source].append((target, link))
        common = math.lcm(*topology.capacity.tolist())
        self._share = [common // capacity for capacity in topology.capacity.tolist()]

    def paths(self, pairs: Sequence[tuple[int, int]], widths: Sequence[int], *, by_step: bool = True) -> list[Path]:
        """Return a route for every message of given ends and units.

        One message after the other, the longest ways first, takes the shortest path whose fullest link is the least
        full; of several the one with the least load in all, then the first. Full are links by the messages that take
        them as their hop of the same number (of one round, hop j of all in step j), or without ``by_step`` by all.
        """
        load: dict[tuple[int, int], int] = {}
        found: list[Path] = [()] * len(pairs)
        order = sorted(range(len(pairs)), key=lambda i: (-self._towards[pairs[i][1]][pairs[i][0]], pairs[i]))
        for at in order:
            (source, target), width = pairs[at], widths[at]
            found[at], links = self._best(source, target, width, load, by_step=by_step)
            for hop, link in enumerate(links):
                step = hop if by_step else 0
                load[step, link] = load.get((step, link), 0) + width * self._share[link]
        return found

    def _best(
        self, source: int, target: int, width: int, load: dict[tuple[int, int], int], *, by_step: bool
    ) -> tuple[Path, tuple[int, ...]]:
        left = self._towards[target]
        layer: dict[int, tuple[int, int, Path, tuple[int, ...]]] = {source: (0, 0, (source,), ())}
        for hop in range(left[source]):
            step = hop if by_step else 0
            following: dict[int, tuple[int, int, Path, tuple[int, ...]]] = {}
            for node, (most, total, way, links) in layer.items():
                for other, link in self._out[node]:
                    if left[other] == left[node] - 1:
                        now = load.get((step, link), 0) + width * self._share[link]
                        new = (max(most, now), total + now, (*way, other), (*links, link))
                        if other not in following or new < following[other]:
                            following[other] = new
            layer = following
        _, _, way, links = layer[target]
        return way, links
