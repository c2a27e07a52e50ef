"""One form of everything that moves: pieces of blocks, sends of these pieces, and when they are sent.

A flow is what every plan comes to, whatever method makes it. Verifying, timing and compiling read it alone.

* A *piece* is some units of a block: ``block[p]``, from unit ``lo[p]`` to before unit ``hi[p]``.
* A *send* brings a piece from a node to another: send ``i`` takes ``piece[i]`` from ``src[i]``, which has it at the
  instant ``start[i]``, to ``dst[i]``, which has it at the instant ``end[i]``. A movement of the collective that adds
  sends partial sums, and the sender then has none; another one copies.
* The *timing model* says what instants are:

  ``steps``
      Rounds in lock-step. Step s begins at the instant s - 1 and ends at s; it takes as long as its fullest link.
  ``chunks``
      Pipelines. Every piece is cut into small chunks and has ``weight * rate`` of each link on its way for itself.
      Instants only order the sends of one piece.
  ``clock``
      Ticks. Every send has its link from ``start`` to ``end``, see :class:`Clock`.

* *Routes* say over which vertices a send goes, if not over the link from ``src`` to ``dst``.
* A *fold* is a symmetry: only the pieces of the representatives have rows, and the group makes the others.
* *Circuits* say which links there are at which instants, where they change.

Bytes: M bytes of the collective are ``whole_units`` units of equal size.
:func:`topodesign.plans.adapters.flows_of` makes flows of a plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import ranges
from topodesign.base.errors import ScheduleError
from topodesign.collectives.collective import Collective, Movement
from topodesign.fabrics.fabric import Fabric
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology

Column: TypeAlias = NDArray[np.integer[Any]]
"""Integers of any width: 6 million rounds need not be copied to 64 bits."""
Model: TypeAlias = Literal["steps", "chunks", "clock"]
COPY = Movement("each", "all")
"""What the sends of a one-shot allreduce do: each node copies all that it has to all others."""
PIECES, SENDS = ("block", "lo", "hi"), ("piece", "src", "dst", "start", "end", "part")


class Routes(NamedTuple):
    """Ways of sends over several links.

    Route r carries ``weight[r]`` of the piece of send ``send[r]`` (ascending) over the vertices
    ``hop[hop_start[r]:hop_start[r + 1]]``, at least two.
    """

    send: IntArray  # shape ``(routes,)``
    weight: IntArray  # of the weight of the piece in "chunks"; 1 where a send has one route
    hop_start: IntArray  # shape ``(routes + 1,)``
    hop: IntArray
    # of "clock": ticks in which every link of every route is taken, shape ``(links of all routes,)``, route by route
    start: IntArray | None = None
    end: IntArray | None = None
    # of "clock": a number for every link of every route, from 0; equal ones are one use of the link, of which a switch
    # makes several. None: all differ
    use: IntArray | None = None


class Circuits(NamedTuple):
    """Links that change: phase k has its circuits from the instant ``begin[k]`` on."""

    ports: int  # of every node, each at B/d
    delay: Fraction  # seconds of a change
    moving: bool  # whether only ports whose circuit changes are dark
    duplex: bool  # whether the circuit back joins the same ports
    begin: IntArray  # ascending from 0, shape ``(phases,)``
    phase: IntArray  # of every circuit
    src: IntArray
    src_port: IntArray
    dst: IntArray
    dst_port: IntArray


class Clock(NamedTuple):
    """What ticks mean.

    A message of u units takes link l for ``latency[l] + per_unit[l] * u`` ticks at least; sends over one link that
    start together and end together are one message.
    """

    tick: Fraction  # seconds of one tick
    size: Fraction  # bytes M that the times are for
    overlap: bool  # whether a link is free again while the latency of a message runs on
    latency: IntArray  # ticks of every link
    per_unit: IntArray  # ticks of one unit on every link
    # bytes per second of a link of capacity one that these times are for; None in files before 0.29
    bandwidth: Fraction | None = None
    begin: int = 0  # ticks until the collective begins


@dataclass(frozen=True, eq=False)
class Flow:
    """Pieces and their sends, in columns.

    Columns are integer arrays that nobody changes. Its form is checked when it is made, not its meaning: that is the
    verifier's.
    """

    collective: Collective  # one, with its root and groups
    place: Topology | Fabric
    model: Model
    units: int  # equal parts of a block; of a block of size one where ``sizes`` differ
    # of every piece, shape ``(pieces,)``
    block: Column
    lo: Column
    hi: Column
    # of every send, shape ``(sends,)``; ``part`` counts the movements of the collective
    piece: Column
    src: Column
    dst: Column
    start: Column
    end: Column
    part: Column
    steps: int = 0  # of "steps": how many there are, those without sends included
    weight: IntArray | None = None  # of "chunks": of every piece
    # of "chunks": capacity that a unit of weight takes of a link; None: so much that the fullest link or shared limit
    # is full
    rate: Fraction | None = None
    concurrent: bool = False  # of "chunks": whether all movements run at the same time and share the links
    # whether the sends of an allreduce copy, and every node adds up all that it has in the end. A block is then all
    # the data that its node has
    one_shot: bool = False
    # blocks that differ: block b has ``units * sizes[b]`` units, none where it is 0; shape ``(block numbers,)``
    sizes: IntArray | None = None
    # whether blocks are as large as what pieces happen to carry of them, as where a switch adds for all: the data then
    # count as equal blocks of all members
    free: bool = False
    routes: Routes | None = None
    fold: Symmetry | None = None
    circuits: Circuits | None = None
    clock: Clock | None = None

    def __post_init__(self) -> None:
        for names in (PIECES, SENDS):
            shape = (np.size(getattr(self, names[0])),)
            for name in names:
                column = getattr(self, name)
                if not isinstance(column, np.ndarray) or column.dtype.kind != "i" or column.shape != shape:
                    raise ScheduleError(f"column {name!r} of a flow must be an integer array of shape {shape}")
        nodes, parts = self.topology.nodes, len(self.movements)
        _check_range(self, "piece", len(self.block))
        _check_range(self, "src", nodes)
        _check_range(self, "dst", nodes)
        _check_range(self, "part", parts)
        _check_range(self, "block", self.collective.block_count(nodes))
        if len(self.lo) and (int(self.lo.min()) < 0 or np.any(self.lo >= self.hi)):
            raise ScheduleError("pieces must satisfy 0 <= lo < hi")
        if len(self.start) and (int(self.start.min()) < 0 or np.any(self.start >= self.end)):
            raise ScheduleError("sends must satisfy 0 <= start < end")
        if (self.model == "chunks") != (self.weight is not None) or (self.model == "clock") != (self.clock is not None):
            raise ScheduleError("chunks have weights, and ticks a clock")

    def __repr__(self) -> str:
        return f"<Flow {self.collective} in {self.model}, {len(self.block)} pieces, {len(self.piece)} sends>"

    def __len__(self) -> int:
        return len(self.piece)

    @property
    def topology(self) -> Topology:
        """The links, without names and bandwidths."""
        return self.place.topology if isinstance(self.place, Fabric) else self.place

    @property
    def movements(self) -> tuple[Movement, ...]:
        """What the sends of each part do."""
        return (COPY,) if self.one_shot else self.collective.movements

    @cached_property
    def members(self) -> IntArray:
        """The nodes that take part, ascending."""
        return self.collective.members(self.topology.nodes, self.topology.switches)

    @cached_property
    def team(self) -> IntArray:
        """The number of every vertex's group, -1 of those that take no part; shape ``(nodes,)``."""
        return self.collective.teams(self.topology.nodes, self.topology.switches)

    @cached_property
    def blocks(self) -> IntArray:
        """The numbers of all blocks that there are data of, ascending, those too that a symmetry stands for."""
        if self.sizes is not None:
            return np.flatnonzero(self.sizes)
        return self.collective.blocks(self.members, self.topology.nodes)

    def units_of(self, blocks: IntArray) -> IntArray:
        """Return how many units blocks have."""
        if self.sizes is None:
            return np.full(len(blocks), self.units, dtype=np.int64)
        return self.units * self.sizes[blocks]

    def share_of(self, blocks: Column) -> IntArray:
        """Return how many of the ``whole_units`` one unit of each block is: one, but where groups differ in size."""
        if self.one_shot or self.sizes is not None:
            return np.broadcast_to(np.int64(1), len(blocks))
        return self.collective.shares(blocks, self.topology.nodes, len(self.members))[0]

    @cached_property
    def whole_units(self) -> Fraction:
        """Units that all data are, M bytes; of blocks that differ in size those of all, of a group if there are some.

        In an all-to-all whose blocks differ, the blocks of a node to others count by their mean.
        """
        if self.sizes is not None:
            members = len(self.members)
            if self.collective.pairwise:
                others = self.sizes.reshape(self.topology.nodes, -1).copy()
                np.fill_diagonal(others, 0)
                return Fraction(self.units * int(others.sum()), max(1, members - 1))
            groups = sum(len(one) > 1 for one in self.collective.groups or ()) or 1
            return Fraction(self.units * int(self.sizes.sum()), groups)
        if self.one_shot:
            return Fraction(self.units)
        return Fraction(self.units * self.collective.shards(len(self.members)))

    def some(self, chosen: NDArray[np.bool_]) -> Flow:
        """Return the flow with some of its sends, by a mask; without routes."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in SENDS})

    def hops(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the send and the two ends of every link that a send goes over, route by route."""
        if self.routes is None:
            return np.arange(len(self)), self.src.astype(np.int64), self.dst.astype(np.int64)
        route, first = ranges(self.routes.hop_start[:-1], np.diff(self.routes.hop_start) - 1)
        return self.routes.send[route], self.routes.hop[first], self.routes.hop[first + 1]

    def find_links(self) -> tuple[IntArray, IntArray]:
        """Return the send and the number of the link of every hop, -1 where there is none or it leads to itself."""
        send, src, dst = self.hops()
        link = self.topology.link_index(src, dst)
        link[src == dst] = -1
        return send, link


def fastest_link(flow: Flow) -> Fraction:
    """Return the bytes per second of capacity one that the fastest link has by the times of a clock."""
    clock = flow.clock
    if clock is None or not len(clock.per_unit):
        return Fraction(0)
    least = min(
        ticks * ports for ticks, ports in zip(clock.per_unit.tolist(), flow.topology.capacity.tolist(), strict=True)
    )
    rate: Fraction = clock.size / (flow.whole_units * clock.tick * least)
    return rate


def _check_range(flow: Flow, name: str, count: int) -> None:
    column = getattr(flow, name)
    if len(column) and (int(column.min()) < 0 or int(column.max()) >= count):
        raise ScheduleError(f"column {name!r} of a flow must hold numbers from 0 to {count - 1}")
