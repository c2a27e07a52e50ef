"""One form of every movement: pieces of blocks, sends, and their times.

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
:mod:`topodesign.plans.flow_ops` reverses, joins and renames flows, :mod:`topodesign.plans.plan_ops` makes rounds or
transfers of plans, and :mod:`topodesign.plans.flow_files` is how files hold them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import ranges
from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.base.units import format_time
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER
from topodesign.collectives.collective import Collective, Movement, join_collectives
from topodesign.fabrics.fabric import Fabric
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology

Column: TypeAlias = NDArray[np.integer[Any]]
"""Integers of any width: 6 million rounds need not be copied to 64 bits."""
Model: TypeAlias = Literal["steps", "chunks", "clock"]
COPY = Movement("each", "all")
"""What the sends of a one-shot allreduce do: each node copies all that it has to all others."""
PIECES, SENDS = ("block", "lo", "hi"), ("piece", "src", "dst", "start", "end", "part")
KINDS = (
    "rounds", "trees", "orbittrees", "orbitrounds", "paths", "timed", "routed", "together", "phases", "stages",
)  # fmt: skip
"""What plans are called by the form of their flows."""
MAX_PORTS = 2**12  # of a node whose circuits change
MAX_TICKS = 2**62  # ticks until the end; twice as many still fit into 64 bits


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

    def check(self, nodes: int, sends: int) -> None:
        """Raise ScheduleError unless each route has a send and two vertices."""
        cut, count = self.hop_start, len(self.send)
        if len(cut) != count + 1 or cut[0] != 0 or cut[-1] != len(self.hop) or np.any(np.diff(cut) < 2):
            raise ScheduleError("column 'hop_start' must cut 'hop' into routes of at least two vertices")
        for times in (self.start, self.end):
            if times is not None and len(times) != len(self.hop) - count:
                raise ScheduleError("routes by the clock require two instants for each of their links")
        if len(self.weight) != count or np.any(np.diff(self.send) < 0):
            raise ScheduleError("routes require a weight each, and come in the order of their sends")
        for name, column, most in (("route_send", self.send, sends), ("hop", self.hop, nodes)):
            if len(column) and not 0 <= int(column.min()) <= int(column.max()) < most:
                raise ScheduleError(f"column {name!r} must hold numbers from 0 to {most - 1}")

    @property
    def lengths(self) -> IntArray:
        """Links of every route."""
        return np.diff(self.hop_start) - 1


class Circuits(NamedTuple):
    """Changing links: phase k has its circuits from ``begin[k]`` on.

    Every node has so many ports. In a phase a port has at most one circuit to a port of another node and at most one
    from one. Between two phases circuits change, which takes ``delay`` seconds: of all ports, or of those alone whose
    circuit is another, which then begin to move as soon as nothing more is to be sent over their old circuit, while
    the others go on.

    References
    ----------
    To Reconfigure or Not, arXiv:2602.10468; Bridge, arXiv:2605.12766, where all ports are dark; SWOT, arXiv:2510.19322,
    where some go on.
    """

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

    @classmethod
    def of(
        cls,
        circuits: list[IntArray],
        first_step: IntArray,
        *,
        ports: int,
        delay: Fraction = Fraction(0),
        moving: bool = False,
        duplex: bool = False,
    ) -> Circuits:
        """Return circuits from each phase's rows: node, port, other node, port."""
        phase = np.repeat(np.arange(len(circuits)), [len(rows) for rows in circuits])
        ends = np.concatenate(circuits).astype(np.int64).T
        return cls(
            ports, delay, moving, duplex, first_step.astype(np.int64) - 1, phase, *map(np.ascontiguousarray, ends)
        )

    @property
    def changes(self) -> int:
        """How often circuits change: once less than there are phases."""
        return len(self.begin) - 1

    @property
    def first_step(self) -> IntArray:
        """The step with which each phase begins, from 1."""
        return self.begin + 1

    def phase_of(self, step: NDArray[np.integer[Any]]) -> IntArray:
        """Return the phases of steps, which count from 1."""
        found: IntArray = np.searchsorted(self.first_step, step, side="right") - 1
        return found

    def rows(self, phase: int) -> IntArray:
        """Return the rows of a phase: node, port, other node, port."""
        found: IntArray = np.stack((self.src, self.src_port, self.dst, self.dst_port), axis=1)[self.phase == phase]
        return found

    def links(self, phase: int, nodes: int) -> Topology:
        """Return the links among nodes in a phase."""
        here = self.phase == phase
        return Topology.from_arrays(nodes, self.src[here], self.dst[here])

    def union(self, nodes: int) -> Topology:
        """Return all links of any phase, each at its greatest width."""
        every = [self.links(phase, nodes) for phase in range(len(self.begin))]
        key = np.concatenate([one.src * nodes + one.dst for one in every])
        width = np.concatenate([one.capacity for one in every])
        order = np.lexsort((width, key))
        last = np.append(np.diff(key[order]) > 0, True)[: len(key)]
        src, dst = np.divmod(key[order][last], nodes)
        return Topology.from_arrays(nodes, src, dst, width[order][last])

    def check(self, nodes: int, steps: int) -> None:
        """Raise ScheduleError for invalid phases, steps or ports."""
        if self.delay < 0 or not 1 <= self.ports <= MAX_PORTS:
            raise ScheduleError(f"phases require a delay from 0 and 1 to {MAX_PORTS} ports")
        begin = self.begin
        if not len(begin) or begin[0] != 0 or np.any(np.diff(begin) < 1) or begin[-1] >= max(1, steps):
            raise ScheduleError("the first steps of phases must ascend from 1 and end with a step that there is")
        for name, most in zip(self._fields[5:], (len(begin), nodes, self.ports, nodes, self.ports), strict=True):
            column = getattr(self, name)
            if len(column) != len(self.phase) or (
                len(column) and not 0 <= int(column.min()) <= int(column.max()) < most
            ):
                raise ScheduleError(f"{name!r} of circuits must hold {len(self.phase)} numbers from 0 to {most - 1}")


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

    def check(self, flow: Flow) -> None:
        """Raise ScheduleError unless numbers and times are in range."""
        if self.tick <= 0 or self.size <= 0 or flow.units < 1:
            raise ScheduleError("timed sends require at least one unit, and a tick and a size above zero")
        links = (len(flow.topology.src),)
        for name in ("latency", "per_unit"):
            column = getattr(self, name)
            if not isinstance(column, np.ndarray) or column.dtype != np.int64 or column.shape != links:
                raise ScheduleError(f"column {name!r} of a clock must be an int64 array with a number for every link")
            column.setflags(write=False)
        if links[0] and (int(self.latency.min()) < 0 or int(self.per_unit.min()) < 1):
            raise ScheduleError("a link requires a latency from 0 and at least one tick for a unit")
        slowest = int(self.latency.max(initial=0)) + flow.units * int(self.per_unit.max(initial=0))
        if max(slowest, int(flow.end.max(initial=0)), self.begin + 1) >= MAX_TICKS or self.begin < 0:
            raise ScheduleError(f"times must be below {MAX_TICKS} ticks; use longer ones")
        if "each" in flow.collective.ends and len(set(map(len, flow.collective.groups or ()))) > 1:
            raise ScheduleError("timed sends in several groups are of groups with as many members each")
        if len(flow.hi) and int(flow.hi.max()) > flow.units:
            raise ScheduleError(f"pieces must satisfy hi <= {flow.units}")


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
        self._check_columns()
        if (self.model == "chunks") != (self.weight is not None) or (self.model == "clock") != (self.clock is not None):
            raise ScheduleError("chunks have weights, and ticks a clock")
        if self.model != "chunks" and self.sizes is not None:
            raise ScheduleError("only chunks are of blocks that differ in size")
        if self.model not in FORMS:
            raise ScheduleError(f"unknown timing model {self.model!r:.40}; use {', '.join(FORMS)}")
        FORMS[self.model](self)
        if self.routes is not None:
            self.routes.check(self.nodes, len(self.piece))
        if self.circuits is not None:
            self.circuits.check(self.nodes, self.steps)
        if self.fold is not None:
            self._check_fold(self.fold)

    def _check_columns(self) -> None:
        """Raise ScheduleError unless columns are of one length and in range."""
        if not isinstance(self.collective, Collective):
            raise ScheduleError(f"the collective of a plan is a value of topodesign.collectives: {self.collective!r}")
        for names in (PIECES, SENDS):
            shape = (np.size(getattr(self, names[0])),)
            for name in names:
                column = getattr(self, name)
                if not isinstance(column, np.ndarray) or column.dtype.kind != "i" or column.shape != shape:
                    raise ScheduleError(f"column {name!r} of a flow must be an integer array of shape {shape}")
                column.setflags(write=False)
        if self.units < 1 or self.steps < 0:
            raise ScheduleError(f"a flow has {self.units} units per block and {self.steps} steps; use at least 1 and 0")
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

    def _check_fold(self, fold: Symmetry) -> None:
        """Raise ScheduleError unless the fold reaches all blocks."""
        one = self.collective
        if fold.nodes != self.nodes:
            raise ScheduleError(f"generators must be of {self.nodes} nodes, not of {fold.nodes}")
        if one.group is not None or one.rooted or one.several:
            raise ScheduleError(f"flows are folded of all nodes, none of which stands out, not of {one!r}")
        chosen = np.array(fold.representatives, dtype=np.int64)
        if not np.array_equal(fold.represented_by[chosen], chosen):
            raise ScheduleError("the representatives must be nodes of different orbits")
        if not np.all(np.isin(one.owners(self.block, self.nodes), chosen)):
            raise ScheduleError("only what moves of the representatives has rows of its own")
        if self.sizes is not None:
            table = self.sizes.reshape((self.nodes,) * (2 if one.pairwise else 1))
            if any(not np.array_equal(table[np.ix_(*[names] * table.ndim)], table) for names in fold.generators):
                raise ScheduleError("a symmetry takes blocks to blocks of the same size")

    def __repr__(self) -> str:
        return f"<Flow {self.collective} in {self.model}, {len(self.block)} pieces, {len(self.piece)} sends>"

    def __len__(self) -> int:
        return len(self.piece)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Flow):
            return NotImplemented
        return all(equal(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))

    def __hash__(self) -> int:
        return hash((self.collective, self.model, self.src.tobytes(), self.dst.tobytes()))

    @property
    def kind(self) -> str:
        """What plans in this form are called."""
        if self.model == "steps":
            if self.circuits is not None:
                return "phases"
            return "routed" if self.routes is not None else "rounds" if self.fold is None else "orbitrounds"
        if self.model == "chunks":
            return "paths" if self.rate is None else "trees" if self.fold is None else "orbittrees"
        return "timed" if self.model == "clock" else self.model

    def fits(self, topology: Topology) -> bool:
        """Return whether it suits a topology: its nodes, or its very links."""
        if self.nodes != topology.nodes or (self.clock is not None and len(self.topology.src) != len(topology.src)):
            return False
        return self.circuits is None or self.circuits.union(topology.nodes) == topology

    def table(self) -> dict[str, NDArray[Any]]:
        """Return the columns of its sends, with what each carries.

        Of steps the step in place of two instants; by the clock a row for every link that a send goes over.
        """
        one = self.over_links()
        times = {"step": one.end} if one.model == "steps" else {"start": one.start, "end": one.end}
        part = {"part": one.part} if one.model == "clock" else {}
        what = {name: one.of_sends(getattr(one, name)) for name in PIECES}
        return times | part | {"src": one.src, "dst": one.dst} | what

    @property
    def switching(self) -> Circuits:
        """Its circuits; raises InfeasibleError where links stay as they are."""
        if self.circuits is None:
            raise InfeasibleError("the links of this plan stay as they are; it has no circuits that change")
        return self.circuits

    @property
    def nodes(self) -> int:
        """Number of vertices, switches included."""
        return self.topology.nodes

    @property
    def sends(self) -> int:
        """Number of sends, those too that a symmetry stands for."""
        if self.fold is None:
            return len(self)
        known = self.fold.represented_by
        owner = self.collective.owners(self.block, self.nodes)[self.piece]
        return sum(np.bincount(owner, minlength=self.nodes)[known[known >= 0]].tolist())

    def of_sends(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a column of pieces by send."""
        pieces, sends = len(self.block), len(self)
        if pieces == sends and np.array_equal(self.piece, np.arange(sends, dtype=self.piece.dtype)):
            return column
        return column[self.piece]

    @property
    def step(self) -> Column:
        """In steps: that of every send, from 1."""
        return self.end

    @property
    def reduce_steps(self) -> int:
        """Steps before the copying sends, of a flow in steps."""
        if len(self.movements) == 1:
            return self.steps if self.movements[0].adds else 0
        return int(self.start[self.part == 1].min(initial=self.steps))

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
        """The group of every vertex, -1 outside; shape ``(nodes,)``."""
        return self.collective.teams(self.topology.nodes, self.topology.switches)

    @cached_property
    def blocks(self) -> IntArray:
        """The numbers of all blocks with data, ascending, with images."""
        if self.sizes is not None:
            return np.flatnonzero(self.sizes)
        return self.collective.blocks(self.members, self.topology.nodes)

    def units_of(self, blocks: Column) -> IntArray:
        """Return how many units blocks have."""
        if self.sizes is None:
            return np.full(len(blocks), self.units, dtype=np.int64)
        return self.units * self.sizes[blocks]

    def share_of(self, blocks: Column) -> IntArray:
        """Return the units of ``whole_units`` that a unit of each block is.

        One, unless groups differ in size.
        """
        if self.one_shot or self.sizes is not None:
            return np.broadcast_to(np.int64(1), len(blocks))
        return self.collective.shares(blocks, self.topology.nodes, len(self.members))[0]

    @cached_property
    def whole_units(self) -> Fraction:
        """Units of all data, M bytes; of a group if there are several.

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

    @property
    def time(self) -> Fraction:
        """By the clock: seconds until the last data have arrived."""
        return int(self.end.max(initial=0)) * self.timing.tick

    @property
    def timing(self) -> Clock:
        """The meaning of ticks; ScheduleError if sends have no times."""
        if self.clock is None:
            raise ScheduleError(f"{self!r} has no times of its own")
        return self.clock

    def having(self, **changes: Any) -> Flow:
        """Return a copy with other fields."""
        return replace(self, **changes)

    def some(self, chosen: NDArray[Any]) -> Flow:
        """Return some sends by mask or numbers, each with its own piece."""
        names = (*PIECES, "weight") if self.weight is not None else PIECES
        columns = {name: self.of_sends(getattr(self, name))[chosen] for name in names}
        columns |= {name: getattr(self, name)[chosen] for name in SENDS}
        columns["piece"] = np.arange(len(columns["src"]), dtype=np.int32)
        return replace(self, **columns, routes=None)

    @cached_property
    def uses(self) -> IntArray:
        """A number per hop; equal ones are one use, which a switch copies.

        Those are hops of one piece over one link at one time, before the last switch of their routes.
        """
        send, src, dst = self.hops()
        routes, number = self.routes, np.arange(len(send))
        if routes is None or routes.start is None or routes.end is None or len(np.unique(self.piece)) == len(self):
            return number
        last = np.zeros(len(send), dtype=np.bool_)
        last[np.cumsum(routes.lengths) - 1] = True
        columns = self.piece[send], src, dst, routes.start, routes.end, np.where(last, number, -1)
        _, first, same = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
        return np.unique(first[same.ravel()], return_inverse=True)[1].ravel()

    def busy_until(self, link: IntArray) -> IntArray:
        """Return when each send's link is free again, of single-link sends."""
        return self.end - (self.timing.latency[link] if self.timing.overlap else 0)

    def over_links(self) -> Flow:
        """Return a clock flow with a send for every use of a link."""
        routes = self.routes
        if routes is None or routes.start is None or routes.end is None:
            return self
        send, src, dst = self.hops()
        row = np.unique(self.uses, return_index=True)[1]
        found = self.some(send[row])
        return replace(found, src=src[row], dst=dst[row], start=routes.start[row], end=routes.end[row])

    def hops(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the send and ends of every link, route by route."""
        if self.routes is None:
            return np.arange(len(self)), self.src.astype(np.int64), self.dst.astype(np.int64)
        route, first = ranges(self.routes.hop_start[:-1], np.diff(self.routes.hop_start) - 1)
        return self.routes.send[route], self.routes.hop[first], self.routes.hop[first + 1]

    def find_links(self) -> tuple[IntArray, IntArray]:
        """Return the send and link number of every hop, -1 if there is none."""
        send, src, dst = self.hops()
        link = self.topology.link_index(src, dst)
        link[src == dst] = -1
        return send, link


@dataclass(frozen=True, eq=False)
class Flows:
    """Several flows of one plan, of one timing model.

    By the clock they are collectives at the same time, on shared links: each has a size and units of its own, and
    begins when its clock says. In chunks they are the *stages* of an allreduce, one after another: each is a collective
    of groups, of the data that those have after the stage before it.
    """

    each: tuple[Flow, ...]

    def __post_init__(self) -> None:
        if not self.each:
            raise ScheduleError("there must be at least one stream")
        if self.model == "clock":
            self._check_streams()
        else:
            self._check_stages()

    def _check_streams(self) -> None:
        """Raise ScheduleError unless all share nodes, ticks and latencies."""
        first = self.each[0].timing
        for one in self.each[1:]:
            alike = (one.nodes, one.timing.tick, one.timing.overlap) == (self.nodes, first.tick, first.overlap)
            if not alike or not np.array_equal(one.timing.latency, first.latency):
                raise ScheduleError("streams of one plan have the same nodes, ticks and latencies of links")

    def _check_stages(self) -> None:
        """Raise ScheduleError unless all are trees of groups of all nodes."""
        everyone = ALLREDUCE.members(self.nodes, self.each[0].topology.switches).tolist()
        for one in self.each:
            if one.model != "chunks" or one.rate is None or one.fold is not None or one.nodes != self.nodes:
                raise ScheduleError(f"stages are trees of all their groups, with the same nodes, not {one!r}")
            if not one.collective.like(REDUCE_SCATTER, ALLREDUCE, ALLGATHER) or one.collective.several:
                raise ScheduleError(f"a stage is a reduce-scatter, a one-shot allreduce or an allgather, not {one!r}")
            if one.one_shot != one.collective.like(ALLREDUCE) or sorted(one.members.tolist()) != everyone:
                raise ScheduleError("stages are of all nodes, and an allreduce among them is one-shot")

    def __repr__(self) -> str:
        if self.model == "chunks":
            return f"<Flows {self.collective}, {', '.join(one.collective.name for one in self.each)}>"
        return f"<Flows {self.collective}, {len(self)} sends, {format_time(self.time)}>"

    def __len__(self) -> int:
        return sum(len(one.over_links()) for one in self.each)

    @property
    def sends(self) -> int:
        """Number of sends of all."""
        return len(self)

    def __eq__(self, other: object) -> bool:
        return self.each == other.each if isinstance(other, Flows) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.each)

    @property
    def kind(self) -> str:
        """What plans in this form are called."""
        return "together" if self.model == "clock" else "stages"

    @property
    def model(self) -> Model:
        """Their timing model."""
        return self.each[0].model

    @cached_property
    def collective(self) -> Collective:
        """All collectives as one value; of stages the allreduce."""
        return join_collectives(one.collective for one in self.each) if self.model == "clock" else ALLREDUCE

    @property
    def nodes(self) -> int:
        """Number of vertices, switches included."""
        return self.each[0].nodes

    @property
    def time(self) -> Fraction:
        """By the clock: seconds until the last data of all have arrived."""
        return max(one.time for one in self.each)

    def fits(self, topology: Topology) -> bool:
        """Return whether it is for as many nodes and links."""
        return self.each[0].fits(topology)

    def table(self) -> dict[str, NDArray[Any]]:
        """Return the columns of its sends, and the stream or stage of each."""
        tables = [one.table() for one in self.each]
        name = "stream" if self.model == "clock" else "stage"
        number = np.repeat(np.arange(len(tables)), [len(table["start"]) for table in tables])
        return {name: number, **{name: np.concatenate([one[name] for one in tables]) for name in tables[0]}}


def equal(one: object, other: object) -> bool:
    """Return whether two values are equal: arrays, tuples or others."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))  # type: ignore[arg-type]
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, Symmetry) and isinstance(other, Symmetry):
        return has_same_fold(one, other)
    return one == other


def has_same_fold(one: Symmetry | None, other: Symmetry | None) -> bool:
    """Return whether two symmetries have the same permutations and representatives."""
    if one is None or other is None or one is other:
        return one is other
    return one.representatives == other.representatives and np.array_equal(one.generators, other.generators)


def fastest_link(flow: Flow) -> Fraction | None:
    """Return the fastest rate per unit of capacity in bytes/s, or None."""
    clock, ports = flow.timing, flow.topology.capacity.tolist()
    least = min((ticks * many for ticks, many in zip(clock.per_unit.tolist(), ports, strict=True)), default=None)
    return None if least is None else clock.size / (flow.whole_units * clock.tick * least)


def _check_range(flow: Flow, name: str, count: int) -> None:
    column = getattr(flow, name)
    if len(column) and (int(column.min()) < 0 or int(column.max()) >= count):
        raise ScheduleError(f"column {name!r} of a flow must hold numbers from 0 to {count - 1}")


def _check_steps(flow: Flow) -> None:
    if np.any(flow.end - flow.start != 1):
        raise ScheduleError("a send of a flow in steps takes one step")
    if int(flow.end.max(initial=0)) > flow.steps:
        raise ScheduleError(f"a flow of {flow.steps} steps has sends in step {int(flow.end.max())}")


def _check_chunks(flow: Flow) -> None:
    """Raise ScheduleError unless weights, routes and sizes are complete."""
    if flow.weight is None or flow.weight.shape != flow.block.shape or np.any(flow.weight < 1):
        raise ScheduleError("pieces of chunks have a weight from 1 each")
    if flow.rate is not None and flow.rate <= 0:
        raise ScheduleError(f"the rate of chunks must be positive, not {flow.rate}")
    sizes, blocks = flow.sizes, flow.collective.block_count(flow.nodes)
    if sizes is not None:
        right = sizes.dtype.kind == "i" and sizes.shape == (blocks,) and not np.any(sizes < 0)
        if not right or not 0 < sum(sizes.tolist()) < 2**62:
            raise ScheduleError(f"sizes must be {blocks} numbers from 0 that add up to a sum from 1 to {2**62 - 1}")
        sizes.setflags(write=False)
    flow.weight.setflags(write=False)


FORMS: dict[str, Callable[[Flow], None]] = {
    "steps": _check_steps,
    "chunks": _check_chunks,
    "clock": lambda flow: flow.timing.check(flow),
}
"""The timing models: of each the check of the form of its flows. How long they take is in
:mod:`topodesign.plans.time.models`, what the verifier asks in :mod:`topodesign.plans.verify.plans`."""
