"""All-to-all, scatter and gather in rounds.

What has one source and one destination is stored and passed on, a link a step. The best flow of so many steps
(:mod:`topodesign.schedulers.flow_in_time`), taken apart into ways, is the best plan, of as many units as its fractions
need. Where few chunks are wanted, or the program is too large, blocks are spread over paths instead
(:mod:`topodesign.schedulers.balanced_paths`), which may begin with the ways of the flow, the ends of their parts
rounded, and the loss by that is reported. A gather is a scatter of the transpose, backwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import ranges, seal_array
from topodesign.base.errors import DisconnectedError, InfeasibleError, ParameterError, TooLargeError, TopologyError
from topodesign.base.wording import with_article
from topodesign.collectives import ALL_TO_ALL, GATHER, SCATTER, Collective, as_collective
from topodesign.plans.build import Part, build_steps, check_rows
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import reverse
from topodesign.plans.measure import cost_of
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import canonical, rescale
from topodesign.pricing.closed_form import distances
from topodesign.schedulers.balanced_paths import MAX_HOPS, balance_paths, hops_of
from topodesign.schedulers.flow_in_time import FlowInTime, FlowProgram, ways_of
from topodesign.schedulers.method import Method, Request, plan_rounds
from topodesign.schedulers.spff import check_chunks
from topodesign.topology.quotient import Quotient, quotient
from topodesign.topology.topology import IntArray, Topology

COLLECTIVES = (ALL_TO_ALL, SCATTER, GATHER)  # those whose blocks have one source and one destination

MAX_COLUMNS = 100_000  # columns of the largest linear program: some seconds
MAX_UNITS = 2**20
"""Units per block of a plan that rounds no part, and of one that does if nobody says how many it may have."""
FEW = 16  # units per block that are few enough to look for no fewer
_SPREADS = (1, 2, 3, 4, 6, 8)
_FAR = 2**31  # more links than any way has
_QUICK = 20_000  # columns of a program that is solved for other numbers of steps, too


@dataclass(frozen=True)
class Exchange:
    """Rounds of a plan, with their bound and proof."""

    rounds: Flow  # who sends what
    bound: Fraction  # no plan of so many steps has a smaller bandwidth factor (exact)
    proven: bool  # whether the bound is that of the best flow, and not of the distances alone


def exchange(
    topology: Topology,
    collective: Collective | str,
    *,
    steps: int | None = None,
    chunks: int | None = None,
    capacity: IntArray | None = None,
) -> Exchange:
    """Schedule an all-to-all, scatter or gather at near-minimum bandwidth.

    As few steps as there can be, if nobody says how many. ``chunks`` are the most units per block; ``capacity`` is what
    links are to be taken for, integers above zero, where that is not their capacity.
    """
    collective = as_collective(collective)
    check_chunks(chunks)
    if collective.like(GATHER):
        if capacity is not None:
            capacity = capacity[np.lexsort((topology.src, topology.dst))]
        turned = exchange(topology.transpose(), collective.dual, steps=steps, chunks=chunks, capacity=capacity)
        return Exchange(canonical(reverse(turned.rounds)), turned.bound, turned.proven)
    return _Maker(topology, collective, capacity).make(steps, chunks)


def distance_bound(topology: Topology) -> Fraction:
    """Return the distance bound on the all-to-all bandwidth factor."""
    maker = _Maker(topology, ALL_TO_ALL, None)
    return maker.scale * maker.least_total


def frontier(topology: Topology, collective: Collective | str, steps: int, more: int = 3) -> list[tuple[int, Fraction]]:
    """Return improving pairs (steps, y) above ``steps``.

    Empty where the programs are large; parameters as for :func:`exchange`.
    """
    collective = as_collective(collective)
    if collective.like(GATHER):
        topology, collective = topology.transpose(), collective.dual
    maker = _Maker(topology, collective, None)
    found: list[tuple[int, Fraction]] = []
    least: Fraction | None = None
    for count in range(steps, steps + more + 1):
        program = FlowProgram(maker.quotient, maker.from_sources, count)
        if not maker.is_small(program, _QUICK):
            break
        _, total = program.solve()
        if least is None or 0 < total < least:
            least = total
            if count > steps:
                found.append((count, maker.scale * total))
        if least <= maker.least_total:
            break
    return found


@dataclass(frozen=True)
class _Maker:
    """Shared data of plans for any number of steps and chunks."""

    topology: Topology
    collective: Collective
    capacity: IntArray | None

    def __post_init__(self) -> None:
        if not self.collective.like(ALL_TO_ALL, SCATTER):
            known = ", ".join(map(str, COLLECTIVES))
            raise ParameterError(f"ways through time are for {known}, not for {self.collective}")
        if self.topology.switches:
            raise TopologyError(f"{with_article(self.collective)} in rounds requires a topology without switches")
        self.collective.members(self.topology.nodes)

    @cached_property
    def quotient(self) -> Quotient:
        """Sources and links up to symmetry."""
        topology, root = self.topology, self.collective.root
        if topology.nodes < 2:
            raise TopologyError("a collective requires at least 2 nodes")
        if root is None:
            whole = quotient(topology, symmetric=self.capacity is None)
            return whole if self.capacity is None else replace(whole, room=seal_array(self.capacity[whole.arcs]))
        if len(lost := np.flatnonzero(distances(topology, root) < 0)):
            raise DisconnectedError(
                f"the data of node {lost[0]} have no way between it and the root {root}, so this collective does not "
                "run on this topology"
            )
        arcs = np.flatnonzero(topology.src != topology.dst)
        room = (topology.capacity if self.capacity is None else self.capacity)[arcs]
        one = np.ones(1, dtype=np.int64)
        return Quotient(topology, None, *map(seal_array, (np.array([root]), one, arcs, np.arange(len(arcs)), room)))

    @cached_property
    def distance(self) -> IntArray:
        """Link distances, shape ``(nodes, nodes)``; ``_FAR`` if unreachable."""
        return self._distances(range(self.topology.nodes))

    @cached_property
    def from_sources(self) -> IntArray:
        """Distance rows of the representative sources."""
        return self._distances(self.quotient.sources.tolist())

    def _distances(self, sources: Iterable[int]) -> IntArray:
        found = np.stack([distances(self.topology, source) for source in sources])
        return np.where(found < 0, _FAR, found)

    @cached_property
    def room(self) -> IntArray:
        """Capacity assumed for every arc."""
        return (self.topology.capacity if self.capacity is None else self.capacity)[self.quotient.arcs]

    @cached_property
    def scale(self) -> Fraction:
        """Factor from a sum of largest loads to a bandwidth factor."""
        return Fraction(self.topology.degree, self.topology.nodes)

    @cached_property
    def least_total(self) -> Fraction:
        """Lower bound on the sum of largest loads, from distances."""
        hops = int(self.quotient.weight @ self.from_sources.sum(axis=1))
        through = Fraction(hops, int(self.room.sum()))
        if self.collective.root is None:
            return through
        leaving = int(self.room[self.quotient.src == self.collective.root].sum())
        return max(through, Fraction(self.topology.nodes - 1, leaving))

    def make(self, steps: int | None, chunks: int | None) -> Exchange:
        """Return the best plan tried; parameters as for :func:`exchange`."""
        least = int(self.from_sources.max())
        steps = least if steps is None else steps
        if steps < least:
            raise InfeasibleError(f"{self.collective} takes at least {least} steps here, not {steps}")
        flow, bound, proven = None, self.least_total, False
        program = FlowProgram(self.quotient, self.from_sources, steps)
        if self.is_small(program):
            flow, found = program.solve()
            proven = found >= bound
            bound = max(found, bound)
        best: tuple[Fraction, Flow] | None = None
        for make in self._candidates(flow, steps, chunks):
            rounds = make()
            total = self._total(rounds)
            if best is None or (total, rounds.units) < (best[0], best[1].units):
                best = total, rounds
            if total == bound:
                break
        if best is None:
            raise TooLargeError(f"{self.collective} of {self.topology.nodes} nodes in {steps} steps is too large")
        return Exchange(best[1], self.scale * bound, proven or best[0] == bound)

    def is_small(self, program: FlowProgram, most: int | None = None) -> bool:
        """Return whether a program is quick to solve."""
        ways, most = self.quotient, MAX_COLUMNS if most is None else most
        columns = len(ways.sources) * program.steps * (len(ways.arcs) + self.topology.nodes)
        return columns <= (4 if ways.symmetry is None else 20) * most and program.size <= most

    def _total(self, rounds: Flow) -> Fraction:
        """Return the sum of largest loads at the assumed capacities."""
        if self.capacity is None:
            return cost_of(self.topology, rounds).bandwidth / self.scale
        taken = Topology.from_arrays(self.topology.nodes, self.topology.src, self.topology.dst, self.capacity)
        return cost_of(taken, rounds).bandwidth * taken.nodes / taken.degree

    def _candidates(self, flow: FlowInTime | None, steps: int, chunks: int | None) -> Iterator[Callable[[], Flow]]:
        """Yield makers of rounds, fewest units first if known."""
        most = MAX_UNITS if chunks is None else chunks
        if flow is not None and flow.units <= min(most, FEW):
            yield lambda: self._peel(flow, steps, flow.units)
            return
        count = self.topology.nodes - 1 if self.collective.root is not None else self.topology.nodes**2
        tried = [units for units in _SPREADS if units <= most and count * units * steps <= MAX_HOPS]
        if chunks is None and flow is not None:  # that is as good as can be, so only few units are of use
            tried = tried[:2] if count <= 2**12 else []
        for units in tried if count <= 2**14 else tried[:2]:
            yield lambda units=units: self._spread_blocks(flow, steps, units)  # type: ignore[misc]
        if flow is not None:
            yield lambda: self._peel(flow, steps, min(flow.units, most))

    def _peel(self, flow: FlowInTime, steps: int, units: int) -> Flow:
        """Return a flow as rounds, with part ends rounded if needed."""
        topology, ways = self.topology, self.quotient
        parts: list[Part] = []
        for number, source in enumerate(ways.sources.tolist()):
            rows = [
                (step, arc, to, low * units // flow.units, high * units // flow.units)
                for to, low, high, hops in ways_of(flow, number)
                for step, arc in hops
            ]
            step, arc, to, low, high = np.array(rows, dtype=np.int64).reshape(-1, 5).T
            src, dst = ways.src[arc], ways.dst[arc]
            if self.collective.root is not None:
                parts.append((step, src, dst, to, low, high))
                continue
            if ways.symmetry is None:
                images, nodes = np.arange(topology.nodes)[None, :], np.array([source])
            else:
                nodes, moved = ways.symmetry.images(source, np.arange(topology.nodes))
                images = moved.astype(np.int64)
            check_rows(len(nodes) * len(step))
            block = nodes[:, None] * topology.nodes + images[:, to]
            parts.append((step[None, :], images[:, src], images[:, dst], block, low[None, :], high[None, :]))
        return canonical(build_steps(self.collective, topology, units, steps, parts))

    def _paths(self, rounds: Flow, pairs: IntArray, block: IntArray) -> NDArray[np.int32]:
        """Return the paths of all units of rounds."""
        place = np.zeros(int(block.max()) + 1, dtype=np.int64)
        place[block] = np.arange(len(block))
        nodes, ways = self.topology.nodes, self.quotient
        arc = np.searchsorted(ways.src * nodes + ways.dst, rounds.src.astype(np.int64) * nodes + rounds.dst)
        paths = np.full((rounds.units, len(pairs), rounds.steps), -1, dtype=np.int32)
        row, unit = ranges(np.asarray(rounds.lo, dtype=np.int64), rounds.hi - rounds.lo)
        paths[unit, place[rounds.block[row]], rounds.step[row] - 1] = arc[row]
        return paths

    def _spread_blocks(self, flow: FlowInTime | None, steps: int, units: int) -> Flow:
        """Return the rounds of blocks spread over shortest paths."""
        nodes, ways = self.topology.nodes, self.quotient
        if self.collective.root is None:
            pairs = np.argwhere(~np.eye(nodes, dtype=bool))
            block = pairs[:, 0] * nodes + pairs[:, 1]
        else:
            block = np.flatnonzero(np.arange(nodes) != self.collective.root)
            pairs = np.column_stack((np.full(nodes - 1, self.collective.root), block))
        arcs = ways.src, ways.dst, self.room
        found = balance_paths(
            self.distance, arcs, pairs, steps=steps, chunks=units, aim=() if flow is None else flow.fullest
        )
        if flow is not None and found.total > flow.total:
            start = self._paths(rescale(self._peel(flow, steps, units), units), pairs, block)
            other = balance_paths(self.distance, arcs, pairs, steps=steps, chunks=units, aim=flow.fullest, start=start)
            found = min(found, other, key=lambda one: one.total)
        chunk, pair, step, arc = hops_of(found.paths)
        check_rows(len(chunk))
        rows = (step, ways.src[arc], ways.dst[arc], block[pair], chunk, chunk + 1)
        return canonical(build_steps(self.collective, self.topology, units, steps, [rows]))


def _make(request: Request) -> list[Plan]:
    topology, collective = request.topology, request.collective.at(request.root_number)
    capacity = None if request.unequal is None else _rates(topology, request.unequal.columns(topology)[1])
    made = exchange(topology, collective, steps=request.steps, chunks=request.chunks, capacity=capacity)
    more: dict[str, Any] = {"chunks": request.chunks}
    if capacity is None:
        lost = cost_of(topology, made.rounds).bandwidth - made.bound
        more |= {"least": str(made.bound), "lost": str(lost)}
        if request.steps is None and request.chunks is None:
            longer = frontier(topology, collective, made.rounds.steps)
            more["more_steps"] = [{"steps": steps, "bandwidth": str(least)} for steps, least in longer]
    return [plan_rounds(topology, made.rounds, "peel", **more)]


def _rates(topology: Topology, bandwidth: list[Fraction]) -> IntArray:
    """Return bandwidths as proportional integers, rounded if too large."""
    least = min(one for one, loop in zip(bandwidth, topology.src == topology.dst, strict=True) if not loop)
    shares = [one / least for one in bandwidth]
    common = math.lcm(*(share.denominator for share in shares))
    if common * max(shares) > MAX_UNITS:
        common = max(1, int(MAX_UNITS / max(shares)))
    return np.array([max(1, round(share * common)) for share in shares], dtype=np.int64)


METHOD = Method("peel", frozenset({"chunks", "link_table", "root", "steps"}), COLLECTIVES, _make)
