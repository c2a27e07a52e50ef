"""Expansions: graph map, claimed cost, and schedule lift if it exists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topodesign.base.cost import Basis, Cost
from topodesign.base.errors import ParameterError
from topodesign.base.spec import Spec
from topodesign.plans.flow import Flow
from topodesign.topology.family import Size, call_signature, inspect_call, takes_spec
from topodesign.topology.topology import Topology

Lift = Callable[..., Flow]
"""A map from schedules of the bases to one of the expansion: every topology is followed by its schedule."""


@dataclass(frozen=True)
class Base:
    """A topology to expand, with its SPFF cost for closed forms.

    The cost holds for reduce-scatter and allgather: it is the larger price of the topology and its transpose.
    """

    topology: Topology
    cost: Cost

    @property
    def nodes(self) -> int:
        """Number of nodes N."""
        return self.topology.nodes

    @property
    def degree(self) -> int:
        """Ports per node d."""
        return self.topology.degree

    @cached_property
    def simple(self) -> bool:
        """Whether it has neither self-loops nor parallel links."""
        return not self.topology.self_loops and int(self.topology.capacity.max()) == 1

    def distances(self, node: int) -> NDArray[np.float64]:
        """Return the distances of nodes from one, infinite if unreachable.

        Shape ``(nodes,)``.
        """
        graph, x, near = self.topology, 0, np.array([node])
        distance: NDArray[np.float64] = np.full(self.nodes, np.inf)
        place = np.empty(self.nodes, np.int64)
        while len(near):
            distance[near] = x
            first, last = graph.indptr[near], graph.indptr[near + 1]
            before = np.cumsum(last - first) - last  # less what stands before a row of links, and more its first
            ends = graph.dst[np.arange(before[-1] + last[-1]) - np.repeat(before, last - first)]
            new = ends[np.isinf(distance[ends])]
            number = np.arange(len(new))
            place[new] = number  # of several alike the last one's, which alone stays
            x, near = x + 1, new[place[new] == number]
        return distance

    @cached_property
    def returns(self) -> tuple[frozenset[int], ...]:
        """Distances from representatives to their in-neighbours.

        Including 0 for a self-loop.

        All representatives start at once: each has a bit, and every node those of the ones that reach it so far.
        """
        graph = self.topology
        sources = np.array(graph.representatives or range(graph.nodes))
        place = np.full(graph.nodes, -1)
        place[sources] = np.arange(len(sources))
        into = np.argsort(graph.dst, kind="stable")
        head, first = np.unique(graph.dst[into], return_index=True)
        link = np.flatnonzero(place[graph.dst] >= 0)
        source, tail = place[graph.dst[link]], graph.src[link]
        reached = np.zeros((graph.nodes, -(-len(sources) // 8)), np.uint8)
        reached[sources, place[sources] // 8] = 128 >> place[sources] % 8
        found: list[set[int]] = [set() for _ in sources]
        x = 0
        while len(source):
            there = (reached[tail, source // 8] << source % 8) & 128 > 0
            for one in np.unique(source[there]).tolist():
                found[one].add(x)
            source, tail, x = source[~there], tail[~there], x + 1
            more = reached.copy()
            more[head] |= np.bitwise_or.reduceat(reached[graph.src[into]], first, axis=0)
            if np.array_equal(more, reached):
                break  # some are out of reach
            reached = more
        return tuple(map(frozenset, found))


@dataclass(frozen=True)
class Claim:
    """A cost by closed form and what it rests on."""

    cost: Cost
    basis: Basis


@dataclass(frozen=True)
class Expansion:
    """A map from topologies to larger ones.

    Call it with topologies first and integers (or a group) after them.
    """

    name: str  # name in a spec
    graph: Callable[..., Topology]  # the graph map: topologies and integers -> Topology without a spec
    # the cost by closed form: a Base for each topology, and the integers -> Claim, or None if there is no closed form
    # for such bases
    claim: Callable[..., Claim | None]
    # the schedule: the arguments of graph with a schedule after every topology -> Flow of the expansion with the
    # claimed cost. All schedules are of one collective, allgather, reduce-scatter or allreduce, and so is the result.
    # Raises ScheduleError if a schedule does not fit its topology, sends anything twice, or is not of the kind that the
    # expansion needs. None if no schedule follows from those of the bases.
    lift: Lift | None
    size: Size = ("", "", "")  # nodes and ports by N and d of what it expands, and a small example

    @property
    def signature(self) -> str:
        """The call as a user would write it in a spec."""
        return self.name + call_signature(self.graph).removeprefix(self.graph.__name__)

    @property
    def takes_spec(self) -> bool:
        """Whether some argument is the spec of a group."""
        return takes_spec(self.graph)

    def claim_by_links(self, args: Iterable[Topology | int], price: Callable[[Topology], Cost]) -> Claim | None:
        """Return the closed form of bases whose cost a function gives, or None."""
        return self.claim(*(Base(one, price(one)) if isinstance(one, Topology) else one for one in args))

    def __call__(self, *args: Topology | Spec | int) -> Topology:
        """Expand, and set the spec if the bases have theirs."""
        inspect_call(self.graph, args)
        result = self.graph(*args)
        words: list[int | Spec] = []
        for argument in args:
            if not isinstance(argument, Topology):
                words.append(argument)
            elif argument.spec is None:
                return result
            else:
                words.append(argument.spec)
        return replace(result, spec=Spec(self.name, tuple(words)))


def require_base(value: object, signature: str) -> Topology:
    """Return the value if it is a topology without switches."""
    if not isinstance(value, Topology):
        raise ParameterError(f"{signature} requires a topology there, such as complete(5), not {value!r}")
    if value.switches:
        raise ParameterError(f"{signature} is for topologies without switches")
    return value


def require_count(value: object, signature: str, least: int = 1) -> int:
    """Return the value if it is an integer of at least ``least``."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ParameterError(f"{signature} requires an integer there, not {value}")
    number = int(value.__index__())
    if number < least:
        raise ParameterError(f"{signature} requires at least {least} there, not {number}")
    return number
