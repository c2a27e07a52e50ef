"""Exact search for the best schedule of a small topology, shortest-path or not, in a given number of steps.

An allgather in whole chunks is a choice of sends, over which link at which step each chunk goes, such that every node
gets every chunk once and no node sends a chunk before the step after it got it. The best one is the optimum of an
integer program over these sends; a reduce-scatter is an allgather of the transpose, backwards (Theorem 1).

The solver's floats suggest an answer. The schedule made of it is replayed and its loads are counted in integers before
it is returned. That nothing is better is proven where it meets the exact bound of :func:`lower_bound_lp`, and rests on
the solver's branch and bound where not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import (
    DisconnectedError,
    ParameterError,
    TooLargeError,
    TopodesignError,
    TopologyError,
)
from topodesign.collectives import ALLGATHER, ALLREDUCE, Collective, as_collective
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import assemble, reverse
from topodesign.solve.program import Entries, Program
from topodesign.topology.topology import IntArray, Topology

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_SENDS = 6_000
"""Largest product of nodes, links and steps that is searched: the sends of one chunk of every shard."""
MOST_CHOICES = 60_000
"""The same for all chunks."""
MOST_PORTS = 1_000
"""Largest common multiple of the link capacities, which keeps loads small integers."""

_SCALES = (*range(1, 61), 2520, 27720, 720720)
"""Denominators tried for the multipliers of a bound; those of small programs are mostly small."""


class UnfinishedError(TopodesignError):
    """The solver ended before the best schedule was known to be the best.

    Attributes
    ----------
    schedule
        The best one found, or None.
    bound
        No schedule of so many steps and chunks has a smaller bandwidth factor (exact).
    """

    def __init__(self, message: str, schedule: Rounds | None, bound: Fraction) -> None:
        super().__init__(message)
        self.schedule = schedule
        self.bound = bound


@dataclass(frozen=True)
class _Program:
    """The sends that an allgather of one chunk a shard can choose from, and what binds them.

    Attributes
    ----------
    topology
        Where the allgather runs.
    steps
        Communication steps.
    owner, link, step
        int64, shape ``(sends,)``; links are numbered as in the topology, steps from 0.
    once
        Shape ``(nodes * (nodes - 1), sends)``: the sends that bring a node the chunk of another; one is chosen.
    cause
        Shape ``(sends not by the owner, sends)``: this send or an earlier one over its link, minus all that bring the
        sender the chunk before this step; at most 0.
    load
        Shape ``(steps * links, sends)``: what a send adds to the load of its link, in units of ``1 / ports`` of the
        time that a chunk takes over a link of capacity 1.
    ports
        Least common multiple of the capacities.
    """

    topology: Topology
    steps: int
    owner: IntArray
    link: IntArray
    step: IntArray
    once: csr_array
    cause: csr_array
    load: csr_array
    ports: int

    def rows(self, chunks: int) -> tuple[csr_array, csr_array]:
        """Return the matrices of the rows that are at most 0 and of those that are 1, for so many chunks a shard.

        The columns are the sends, chunk by chunk, then the largest load of each step.
        """
        from scipy.sparse import block_array, eye_array, hstack, kron  # noqa: PLC0415  heavy

        copies = eye_array(chunks, dtype=np.int64)
        links = self.load.shape[0] // self.steps
        largest = kron(eye_array(self.steps, dtype=np.int64), np.ones((links, 1), dtype=np.int64))
        at_most_0 = block_array([[kron(copies, self.cause), None], [hstack([self.load] * chunks), -largest]])
        idle = np.zeros((self.once.shape[0] * chunks, self.steps), dtype=np.int64)
        return at_most_0.tocsr(), hstack([kron(copies, self.once), idle]).tocsr()

    def bandwidth(self, loads: int, chunks: int) -> Fraction:
        """Return y for a sum of the steps' largest loads."""
        return Fraction(self.topology.degree * loads, self.topology.nodes * self.ports * chunks)


def search_schedule(
    topology: Topology, collective: Collective | str, *, steps: int, chunks: int, seconds: float = 60.0, seed: int = 0
) -> Rounds | None:
    """Find a schedule with the smallest bandwidth factor that a number of steps and of equal chunks allows.

    Parameters
    ----------
    topology
        Small: some 16 nodes of degree 4. Parallel links share a load by their capacity.
    collective
        ``allgather`` or ``reduce-scatter``.
    steps
        Communication steps of the schedule.
    chunks
        Equal parts of a shard, each of which goes its own ways.
    seconds
        Time for the integer program; the bound before it takes up to a few seconds more.
    seed
        0 shows the solver the sends in order, any other seed in a random order: it may take less or more time then.

    Returns
    -------
    Rounds or None
        A best one, or None if some node is more than ``steps`` links away from another.

    Raises
    ------
    UnfinishedError
        If the time was not enough; it has the best schedule found and an exact bound.
    ParameterError
        If the collective is another or a number is out of range.
    TooLargeError
        If there are too many sends to choose from.
    DisconnectedError, TopologyError
        If some node never reaches some other; if there are switches or fewer than two nodes.

    References
    ----------
    Efficient Direct-Connect Topologies, section 3 (the cost) and appendix H (integer programs for small topologies).
    """
    require_at_least("seed", seed, 0)
    if not 0 < seconds < math.inf:
        raise ParameterError(f"seconds must be above zero and finite, not {seconds}")
    collective = as_collective(collective)
    program = _program(topology, collective, steps, chunks)
    if program is None:
        return None
    least = math.ceil(_least_loads(program) * chunks)
    taken, proven = _solve(program, chunks, least, seconds, seed)
    bound = program.bandwidth(least, chunks)
    if taken is None:
        raise UnfinishedError(f"no schedule found in {seconds} s; none has y below {bound}", None, bound)
    loads = _replay(program, taken)
    if loads is None:
        raise UnfinishedError("the solver's answer is not a schedule; try another seed", None, bound)
    schedule = _schedule(program, taken)
    if collective.reduces:
        schedule = reverse(schedule)
    if loads not in {least, proven}:
        found = program.bandwidth(loads, chunks)
        raise UnfinishedError(
            f"{seconds} s were not enough: the best schedule found has y = {found}, none has y below {bound}",
            schedule,
            bound,
        )
    return schedule


def lower_bound_lp(topology: Topology, collective: Collective | str, *, steps: int) -> Fraction | None:
    """Return a bandwidth factor that no schedule of so many steps undercuts, in chunks of any size.

    Parameters
    ----------
    topology, collective, steps
        As for :func:`search_schedule`.

    Returns
    -------
    Fraction or None
        Proven whatever the solver said: any multipliers of the rows of the linear relaxation give a bound by weak
        duality, as all variables are bounded; the solver's are rounded to fractions and the bound computed in integers.
        None if there is no schedule of so many steps.

    Raises
    ------
    ParameterError, TooLargeError, DisconnectedError, TopologyError
        As for :func:`search_schedule`.

    Notes
    -----
    Any schedule gives values of the relaxation: of several deliveries of the same data to a node count the first, and
    average over the data of a shard. For every receiver of a shard the relaxation has a flow from the owner through the
    sends. There may be no schedule that meets the bound, as flows to different receivers may share a send of different
    data.
    """
    program = _program(topology, as_collective(collective), steps, 1)
    return None if program is None else program.bandwidth(1, 1) * _least_loads(program)


def _program(topology: Topology, collective: Collective, steps: int, chunks: int) -> _Program | None:
    """Return the program of the allgather, or of the allgather that reversed in time is the reduce-scatter."""
    from scipy.sparse import csr_array  # noqa: PLC0415  heavy

    if collective not in ALLREDUCE.parts:
        raise ParameterError(f"an exact search is for an allgather or a reduce-scatter, not {collective}")
    require_at_least("steps", steps, 1)
    require_at_least("chunks", chunks, 1)
    if topology.switches or topology.nodes < 2:
        raise TopologyError("an exact search needs at least 2 nodes and no switches")
    sends = topology.nodes * len(topology.src) * steps
    if sends > MOST_SENDS or sends * chunks > MOST_CHOICES:
        raise TooLargeError(
            f"{topology.nodes} nodes, {len(topology.src)} links, {steps} steps and {chunks} chunks are too many for an "
            f"exact search: their product is at most {MOST_CHOICES}, without the chunks {MOST_SENDS}"
        )
    ports = math.lcm(*set(topology.capacity.tolist()))
    if ports > MOST_PORTS:
        raise TooLargeError(f"link capacities with the common multiple {ports} are too many for an exact search")
    way = topology.transpose() if collective.reduces else topology
    reach = _reach(way, steps)
    if not reach[steps].all():
        return None
    useful = reach[:steps, :, way.src] & (way.dst != np.arange(way.nodes)[:, None]) & (way.src != way.dst)
    step, owner, link = np.nonzero(useful)
    src, dst = way.src[link], way.dst[link]
    once = np.zeros((way.nodes**2, len(step)), dtype=np.int8)
    once[owner * way.nodes + dst, np.arange(len(step))] = 1
    load = np.zeros((steps * len(way.src), len(step)), dtype=np.int64)
    load[step * len(way.src) + link, np.arange(len(step))] = ports // way.capacity[link]
    onward = src != owner
    one_shard = owner[onward, None] == owner
    so_far = one_shard & (link[onward, None] == link) & (step[onward, None] >= step)
    before = one_shard & (src[onward, None] == dst) & (step[onward, None] > step)
    cause = so_far.astype(np.int8) - before.astype(np.int8)
    once = once[once.any(axis=1)]
    return _Program(way, steps, owner, link, step, csr_array(once), csr_array(cause), csr_array(load), ports)


def _reach(topology: Topology, steps: int) -> NDArray[np.bool_]:
    """Return whether a node can have the shard of an owner after so many steps, shape (steps + 1, owners, nodes)."""
    hop = np.eye(topology.nodes, dtype=bool)
    hop[topology.src, topology.dst] = True
    reach = [np.eye(topology.nodes, dtype=bool)]
    for _ in range(max(steps, topology.nodes)):
        reach.append(reach[-1] @ hop)
    if not reach[-1].all():
        raise DisconnectedError("not every node reaches every other, so no collective runs on this topology")
    return np.array(reach[: steps + 1])


def _solve(
    program: _Program, chunks: int, least: int, seconds: float, seed: int
) -> tuple[NDArray[np.bool_] | None, int | None]:
    """Return the best choice of sends found, shape (chunks, sends), and the sum of loads that the solver calls optimal.

    Either is None where the solver has none; ``least`` is a bound known to hold.
    """
    at_most_0, is_1 = program.rows(chunks)
    order = np.arange(at_most_0.shape[1])
    if seed:
        np.random.default_rng(seed).shuffle(order)
    sends = len(program.step) * chunks
    is_load = order >= sends
    loads = np.flatnonzero(is_load)
    solver = Program()
    most = np.where(is_load, program.ports * chunks * program.topology.nodes, 1)
    solver.add_columns(len(order), cost=is_load, upper=most, whole=True)
    solver.add_rows(at_most_0.shape[0], Entries.of(at_most_0[:, order]), upper=0)
    solver.add_rows(is_1.shape[0], Entries.of(is_1[:, order]), lower=1, upper=1)
    solver.add_rows(1, Entries(np.zeros_like(loads), loads, 1), lower=least)
    status = solver.solve(seconds=seconds)
    if not solver.solved:
        return None, None
    values = solver.values()
    chosen = np.zeros(len(order), dtype=bool)
    chosen[order] = values > 0
    return chosen[:sends].reshape(chunks, -1), int(values[loads].sum()) if status == "optimal" else None


def _replay(program: _Program, taken: NDArray[np.bool_]) -> int | None:
    """Return the sum of the steps' largest loads of a choice of sends, shape (chunks, sends); None if it is wrong.

    It is right if every send is of what its sender has, brings what its receiver does not have, and in the end every
    node has every chunk.
    """
    nodes = program.topology.nodes
    src, dst = program.topology.src[program.link], program.topology.dst[program.link]
    has = np.zeros((len(taken), nodes, nodes), dtype=np.int64)
    has[:] = np.eye(nodes, dtype=np.int64)
    for step in range(program.steps):
        chunk, send = np.nonzero(taken & (program.step == step))
        if not has[chunk, program.owner[send], src[send]].all():
            return None
        np.add.at(has, (chunk, program.owner[send], dst[send]), 1)
    if np.any(has != 1):
        return None
    loads = program.load @ taken.sum(axis=0)
    return int(loads.reshape(program.steps, -1).max(axis=1).sum())


def _schedule(program: _Program, taken: NDArray[np.bool_]) -> Rounds:
    way = program.topology
    chunk, send = np.nonzero(taken)
    link = program.link[send]
    block = (program.step[send] + 1, way.src[link], way.dst[link], program.owner[send], chunk, chunk + 1)
    return assemble(ALLGATHER, way.nodes, len(taken), program.steps, [block])


def _least_loads(program: _Program) -> Fraction:
    """Return what the steps' largest loads add up to at least, in chunks of any size: see :func:`lower_bound_lp`."""
    at_most_0, is_1, most = _relaxation(program)
    is_load = np.zeros(len(most), dtype=np.int64)
    is_load[len(program.step) : len(program.step) + program.steps] = 1
    solver = Program()
    solver.add_columns(len(most), cost=is_load, upper=most)
    solver.add_rows(at_most_0.shape[0], Entries.of(at_most_0), upper=0)
    solver.add_rows(is_1.shape[0], Entries.of(is_1), lower=1, upper=1)
    solver.solve(interior=True)
    bound = solver.bound(_SCALES) if solver.solved else None
    return max(bound or Fraction(0), Fraction(0))


def _relaxation(program: _Program) -> tuple[csr_array, csr_array, IntArray]:
    """Return the rows at most 0, the rows that are 1, and the columns' largest values, of the linear relaxation.

    The columns are those of the integer program and, for each receiver of each shard, the sends that are on its way
    there: a flow from the owner to that receiver within the sends.
    """
    from scipy.sparse import block_array, block_diag, csr_array, eye_array, hstack, kron  # noqa: PLC0415  heavy

    nodes, sends = program.topology.nodes, len(program.step)
    src, dst = program.topology.src[program.link], program.topology.dst[program.link]
    flows = np.arange(1, nodes)  # the k-th flow of an owner is to the node owner + k, modulo nodes
    each = eye_array(len(flows), dtype=np.int64)

    owner, node, step = (grid.ravel()[:, None] for grid in np.indices((nodes, nodes, program.steps)))
    passes = (program.owner == owner) & (node != owner)
    left, entered = passes & (src == node) & (program.step <= step), passes & (dst == node) & (program.step < step)
    onward = csr_array((left.astype(np.int8) - entered)[left.any(axis=1)])
    of_send = kron(np.ones((len(flows), 1), dtype=np.int64), eye_array(sends, dtype=np.int64))
    of_load = csr_array((len(flows) * sends, program.steps), dtype=np.int64)

    own = program.owner == np.arange(nodes)[:, None]
    arrive = block_diag([csr_array(own & (dst == (program.owner + k) % nodes), dtype=np.int64) for k in flows])
    not_past = src != (program.owner + flows[:, None]) % nodes  # no flow goes on from where it ends
    most = np.concatenate((np.ones(sends), np.full(program.steps, program.ports * nodes), not_past.ravel()))

    at_most_0, is_1 = program.rows(1)
    within = kron(each, eye_array(sends, dtype=np.int64))
    at_most_0 = block_array([[at_most_0, None], [hstack([-of_send, of_load]), within], [None, kron(each, onward)]])
    return at_most_0.tocsr(), block_diag([is_1, arrive]).tocsr(), most.astype(np.int64)
