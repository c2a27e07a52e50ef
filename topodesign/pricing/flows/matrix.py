"""A matrix of traffic routed so that the fullest link is as empty as can be: exact, or between two proven bounds.

Where few links look alike to few sources the linear program is solved (:mod:`~topodesign.pricing.flows.demands`).
Beyond, sources in turn shift a part of their traffic to the ways that are shortest in prices of the links, which are
the gradient of ``sum of capacity * (load/capacity)**p`` with p growing (Shahrokhi and Matula, The Maximum Concurrent
Flow Problem, 1990; Bienstock, Potential function methods, 2002). What is kept are whole numbers: so many parts of the
traffic of some sources over one tree, so that the load of each link is exact; and whole prices, in which all ways cost
so much that no routing is faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError
from topodesign.fabrics.fabric import Fabric
from topodesign.pricing.flows.demands import UnreachableError, demand_flow
from topodesign.topology.topology import IntArray, Topology

_MOST_COLUMNS = 4_000  # sources times links up to which the program is solved at once, in a second or so
_UNITS = 2**20  # parts of the traffic of a source
_LONGEST = 2**30  # length of the dearest link
_SAFE = 2**53
_TURNS, _BLOCKS = 60, 8  # rounds at most, and how many parts sources take turns in
_MOST_PAIRS = 2**22


@dataclass(frozen=True, eq=False)
class MatrixFlow:
    """Traffic that is routed, with what proves that it cannot be routed much better."""

    topology: Topology  # links with capacities, switches included
    demand: IntArray  # what goes from where to where, whole numbers of shape ``(nodes, nodes)``
    loads: tuple[Fraction, ...]  # what each link carries
    lower: Fraction  # load of a link over its capacity that no routing undercuts

    @property
    def upper(self) -> Fraction:
        """The largest load of a link over its capacity, which is reached."""
        rooms = self.topology.capacity.tolist()
        return max((load / room for load, room in zip(self.loads, rooms, strict=True)), default=Fraction(0))

    @property
    def exact(self) -> bool:
        """Whether the two bounds meet."""
        return self.lower == self.upper


def matrix_flow(
    topology: Topology, demand: IntArray, *, gap: Fraction = Fraction(1, 100), most: int | None = None
) -> MatrixFlow:
    """Return how a matrix of traffic is routed in little time.

    * ``topology``: links with capacities; all vertices pass on.
    * ``demand``: what goes from each vertex to each: whole numbers, shape ``(nodes, nodes)``.
    * ``gap``: part of the bound by which it may be above it, where it is not solved exactly; it is told if it is more.
    * ``most``: unknowns up to which it is solved exactly; some thousands if None.

    Raises
    ------
    UnreachableError
        If there is no way for some of it.

    Examples
    --------
    >>> import numpy as np
    >>> ring = Topology.from_links(3, [(0, 1, 2), (1, 2, 1), (2, 0, 1)])
    >>> matrix_flow(ring, 1 - np.eye(3, dtype=np.int64)).upper
    Fraction(3, 1)
    """
    demand = np.array(demand, dtype=np.int64)
    if demand.shape != (topology.nodes, topology.nodes) or (demand < 0).any():
        raise ParameterError(f"traffic is a matrix of {topology.nodes} x {topology.nodes} numbers, none negative")
    np.fill_diagonal(demand, 0)
    sources = np.flatnonzero(demand.any(axis=1))
    if not len(sources):
        return MatrixFlow(topology, demand, (Fraction(0),) * len(topology.src), Fraction(0))
    try:
        found = demand_flow(topology, sources, demand[sources], most=_MOST_COLUMNS if most is None else most)
    except TooLargeError:
        return _Balanced(topology, demand, sources).found(gap)
    amounts, common = found.flows()
    loads = tuple(Fraction(int(total), common) for total in amounts.astype(object).sum(axis=0))
    return MatrixFlow(topology, demand, loads, found.time)


def traffic_on(fabric: Fabric, demand: IntArray, *, most: int | None = None) -> MatrixFlow:
    """Return what :func:`matrix_flow` does on a fabric; the error names what cannot be reached."""
    try:
        return matrix_flow(fabric.topology, demand, most=most)
    except UnreachableError as error:
        names = fabric.names
        raise InfeasibleError(f"{names[error.goal]} cannot be reached from {names[error.source]}") from None


class _Balanced:
    """Traffic that is shifted to cheaper ways until it balances."""

    def __init__(self, topology: Topology, demand: IntArray, sources: IntArray) -> None:
        if np.count_nonzero(demand) > _MOST_PAIRS:
            raise TooLargeError(f"traffic between {np.count_nonzero(demand)} pairs is too much (at most {_MOST_PAIRS})")
        self.topology, self.demand = topology, demand
        used = np.flatnonzero(topology.src != topology.dst)  # self-loops carry nothing
        self.used, self.src, self.dst = used, topology.src[used], topology.dst[used]
        self.room = topology.capacity[used].astype(np.float64)
        self.link = np.zeros((topology.nodes, topology.nodes), dtype=np.int64)
        self.link[self.src, self.dst] = np.arange(len(used))
        self.parts = [part for part in np.array_split(sources, _BLOCKS) if len(part)]
        self.pairs = [np.nonzero(demand[part]) for part in self.parts]
        # Of every part of the sources: loads of the trees that it has used, and which share of its traffic each has.
        self.trees: list[list[IntArray]] = [[] for _ in self.parts]
        self.shares: list[list[float]] = [[] for _ in self.parts]

    def found(self, gap: Fraction) -> MatrixFlow:
        """Return the routing."""
        lengths = np.full(len(self.used), _LONGEST, dtype=np.int64)
        load, lower = np.zeros(len(self.used)), Fraction(0)
        flows = [np.zeros(len(self.used)) for _ in self.parts]
        exponent = 8.0
        for turn in range(_TURNS):
            bound = Fraction(0)
            for at in range(len(self.parts)):
                if turn:
                    lengths = self._lengths(load, exponent)
                tree = self._tree(at, lengths)
                step = 1.0 if not turn else self._step(load, tree - flows[at], exponent)
                load += step * (tree - flows[at])
                flows[at] += step * (tree - flows[at])
                self.shares[at] = [share * (1 - step) for share in self.shares[at]] + [step]
                self.trees[at].append(tree)
            if turn % 4 == 3 or not turn:
                lengths = self._lengths(load, exponent) if turn else lengths
                bound = self._bound(lengths)
                lower = max(lower, bound)
                fullest = float((load / self.room).max())
                if fullest <= float(lower) * (1 + float(gap) / 2):
                    break
                smooth = self._smooth(load, exponent)
                exponent = min(exponent * 2, 2048.0) if 1 - smooth > smooth - float(lower) / fullest else exponent
        return MatrixFlow(self.topology, self.demand, self._loads(), lower)

    def _lengths(self, load: NDArray[np.float64], exponent: float) -> IntArray:
        share = load / self.room
        lengths: IntArray = 1 + (_LONGEST * (share / share.max()) ** (exponent - 1)).astype(np.int64)
        return lengths

    def _smooth(self, load: NDArray[np.float64], exponent: float) -> float:
        """Return the mean load at prices of the loads, as a part of the fullest."""
        share = load / self.room / float((load / self.room).max())
        steep = self.room * share ** (exponent - 1)
        return float((steep * share).sum() / steep.sum())

    def _step(self, load: NDArray[np.float64], change: NDArray[np.float64], exponent: float) -> float:
        """Return which part of a change makes the sum of powers least."""
        low, high = 0.0, 1.0
        scale = float((load / self.room).max())
        for _ in range(24):
            middle = (low + high) / 2
            share = np.maximum(load + middle * change, 0) / self.room / scale
            slope = float((change / self.room * np.minimum(share, 1e3 ** (1 / exponent) * 2) ** (exponent - 1)).sum())
            low, high = (middle, high) if slope < 0 else (low, middle)
        return low

    def _distances(self, sources: IntArray, lengths: IntArray) -> tuple[NDArray[np.float64], IntArray]:
        from scipy.sparse import csr_array  # noqa: PLC0415  heavy
        from scipy.sparse.csgraph import dijkstra  # noqa: PLC0415

        nodes = self.topology.nodes
        graph = csr_array((lengths.astype(np.float64), (self.src, self.dst)), shape=(nodes, nodes))
        distance, before = dijkstra(graph, indices=sources, return_predecessors=True)
        return distance, before

    def _tree(self, at: int, lengths: IntArray) -> IntArray:
        """Return what links carry if some sources send everything over shortest paths."""
        sources, (row, goal) = self.parts[at], self.pairs[at]
        distance, before = self._distances(sources, lengths)
        lost = np.flatnonzero(np.isinf(distance[row, goal]))
        if len(lost):
            raise UnreachableError(int(sources[row[lost[0]]]), int(goal[lost[0]]))
        amount = self.demand[sources[row], goal]
        loads = np.zeros(len(self.used), dtype=np.int64)
        while len(row):
            former = before[row, goal]
            np.add.at(loads, self.link[former, goal], amount)
            going = former != sources[row]
            row, goal, amount = row[going], former[going], amount[going]
        return loads

    def _bound(self, lengths: IntArray) -> Fraction:
        """Return the load that prices prove: what all traffic pays at least, over what all links cost."""
        if int(lengths.max()) * self.topology.nodes >= _SAFE:
            return Fraction(0)
        paid = 0
        for sources in self.parts:
            distance, _ = self._distances(sources, lengths)
            row, goal = np.nonzero(self.demand[sources])
            each = distance[row, goal].astype(np.int64).astype(object)
            paid += int((each * self.demand[sources[row], goal].astype(object)).sum())
        cost = sum(map(int.__mul__, lengths.tolist(), self.topology.capacity[self.used].tolist()))
        return Fraction(paid, cost)

    def _loads(self) -> tuple[Fraction, ...]:
        """Return what links carry, of shares that are whole numbers of units."""
        total = np.zeros(len(self.used), dtype=object)
        for trees, shares in zip(self.trees, self.shares, strict=True):
            units = [int(share * _UNITS) for share in shares]
            units[int(np.argmax(units))] += _UNITS - sum(units)
            for tree, many in zip(trees, units, strict=True):
                if many:
                    total += tree.astype(object) * many
        loads = [Fraction(0)] * len(self.topology.src)
        for link, amount in zip(self.used.tolist(), total.tolist(), strict=True):
            loads[link] = Fraction(amount, _UNITS)
        return tuple(loads)
