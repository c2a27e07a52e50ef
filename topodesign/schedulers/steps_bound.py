"""Solver-independent linear-programming bound on bandwidth for given steps.

An allgather in whole chunks is a choice of sends, over which link at which step each chunk goes, such that every node
gets every chunk once and no node sends a chunk before the step after it got it. The bound is that of the linear
relaxation; a reduce-scatter is an allgather of the transpose, backwards (Theorem 1).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import DisconnectedError, ParameterError, TooLargeError, TopologyError
from topodesign.collectives import ALLREDUCE, Collective
from topodesign.solve.program import Entries, Program
from topodesign.topology.topology import IntArray, Topology

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_SENDS = 6_000  # largest product of nodes, links and steps of the sends of one chunk of every shard
MAX_PORTS = 1_000  # largest common multiple of the link capacities, which keeps loads small integers

SCALES = (*range(1, 61), 2520, 27720, 720720)
"""Denominators tried for the multipliers of a bound; those of small programs are mostly small."""


def lower_bound_lp(topology: Topology, collective: Collective, *, steps: int) -> Fraction | None:
    """Return a lower bound on the bandwidth factor for given steps.

    Of an allgather or a reduce-scatter of some 16 nodes of degree 4; None if there is no schedule. Proven whatever
    the solver said: any multipliers of the rows of the linear relaxation give a bound by weak duality, as all
    variables are bounded; the solver's are rounded to fractions and the bound computed in integers.

    Any schedule gives values of the relaxation: of several deliveries of the same data to a node count the first, and
    average over the data of a shard. For every receiver of a shard the relaxation has a flow from the owner through the
    sends. There may be no schedule that meets the bound, as flows to different receivers may share a send of different
    data.
    """
    if collective not in ALLREDUCE.parts:
        raise ParameterError(f"this bound is for an allgather or a reduce-scatter, not {collective}")
    require_at_least("steps", steps, 1)
    if topology.switches or topology.nodes < 2:
        raise TopologyError("this bound requires at least 2 nodes and no switches")
    sends = topology.nodes * len(topology.src) * steps
    if sends > MAX_SENDS:
        raise TooLargeError(
            f"{topology.nodes} nodes, {len(topology.src)} links and {steps} steps are too many for this bound: their "
            f"product is at most {MAX_SENDS}"
        )
    ports = math.lcm(*set(topology.capacity.tolist()))
    if ports > MAX_PORTS:
        raise TooLargeError(f"link capacities with the common multiple {ports} are too many for this bound")
    way = topology.transpose() if collective.reduces else topology
    reach = _reach(way, steps)
    if not reach[steps].all():
        return None
    useful = reach[:steps, :, way.src] & (way.dst != np.arange(way.nodes)[:, None]) & (way.src != way.dst)
    step, owner, link = np.nonzero(useful)
    at_most_0, is_1, most = _relaxation(way, (owner, link, step), ports, steps)
    cost = np.zeros(len(most), dtype=np.int64)
    cost[len(step) : len(step) + steps] = 1
    program = Program()
    program.add_columns(len(most), cost=cost, upper=most)
    program.add_rows(at_most_0.shape[0], Entries.of(at_most_0), upper=0)
    program.add_rows(is_1.shape[0], Entries.of(is_1), lower=1, upper=1)
    program.solve(interior=True)
    bound = program.bound(SCALES) if program.solved else None
    return Fraction(topology.degree, topology.nodes * ports) * max(bound or Fraction(0), Fraction(0))


def _reach(topology: Topology, steps: int) -> NDArray[np.bool_]:
    """Return reachability, shape ``(steps + 1, owners, nodes)``."""
    hop = np.eye(topology.nodes, dtype=bool)
    hop[topology.src, topology.dst] = True
    reach = [np.eye(topology.nodes, dtype=bool)]
    for _ in range(max(steps, topology.nodes)):
        reach.append(reach[-1] @ hop)
    if not reach[-1].all():
        raise DisconnectedError(
            f"not every node reaches every other ({topology.describe_unreached()}), so no collective of all with all "
            "runs on this topology"
        )
    return np.array(reach[: steps + 1])


def _relaxation(
    way: Topology, sends: tuple[IntArray, IntArray, IntArray], ports: int, steps: int
) -> tuple[csr_array, csr_array, IntArray]:
    """Return the relaxation's inequalities, equalities and column maxima.

    ``sends`` are the owners, links and steps, from 0, that an allgather of one chunk a shard can choose from. The
    columns are those of the integer program, its sends and the largest load of each step in units of 1 / ``ports`` of
    the time that a chunk takes over a link of capacity 1; and, for each receiver of each shard, the sends that are on
    its way there: a flow from the owner to that receiver within the sends.
    """
    from scipy.sparse import block_array, block_diag, csr_array, eye_array, hstack, kron  # noqa: PLC0415  heavy

    (owner, link, step), nodes, links, column = sends, way.nodes, len(way.src), np.arange(len(sends[0]))
    src, dst = way.src[link], way.dst[link]
    brought = np.zeros((nodes**2, len(step)), dtype=np.int8)
    brought[owner * nodes + dst, column] = 1
    once = csr_array(brought[brought.any(axis=1)])  # the sends that bring a node the chunk of another: one is chosen
    load = np.zeros((steps * links, len(step)), dtype=np.int64)
    load[step * links + link, column] = ports // way.capacity[link]
    # A send not by the owner, or an earlier one over its link, minus all that brought the sender the chunk: at most 0.
    later = src != owner
    one_shard = owner[later, None] == owner
    so_far = one_shard & (link[later, None] == link) & (step[later, None] >= step)
    before = one_shard & (src[later, None] == dst) & (step[later, None] > step)
    cause = csr_array(so_far.astype(np.int8) - before.astype(np.int8))
    largest = kron(eye_array(steps, dtype=np.int64), np.ones((links, 1), dtype=np.int64))
    at_most_0 = block_array([[cause, None], [csr_array(load), -largest]])
    is_1 = hstack([once, np.zeros((once.shape[0], steps), dtype=np.int64)])

    flows = np.arange(1, nodes)  # the k-th flow of an owner is to the node owner + k, modulo nodes
    each = eye_array(len(flows), dtype=np.int64)
    start, node, now = (grid.ravel()[:, None] for grid in np.indices((nodes, nodes, steps)))
    passes = (owner == start) & (node != start)
    left, entered = passes & (src == node) & (step <= now), passes & (dst == node) & (step < now)
    onward = csr_array((left.astype(np.int8) - entered)[left.any(axis=1)])
    of_send = kron(np.ones((len(flows), 1), dtype=np.int64), eye_array(len(step), dtype=np.int64))
    of_load = csr_array((len(flows) * len(step), steps), dtype=np.int64)
    own = owner == np.arange(nodes)[:, None]
    arrive = block_diag([csr_array(own & (dst == (owner + k) % nodes), dtype=np.int64) for k in flows])
    not_past = src != (owner + flows[:, None]) % nodes  # no flow goes on from where it ends
    within = kron(each, eye_array(len(step), dtype=np.int64))
    at_most_0 = block_array([[at_most_0, None], [hstack([-of_send, of_load]), within], [None, kron(each, onward)]])
    most = np.concatenate((np.ones(len(step)), np.full(steps, ports * nodes), not_past.ravel()))
    return at_most_0.tocsr(), block_diag([is_1, arrive]).tocsr(), most.astype(np.int64)
