"""Networks in ticks: what every link takes for a chunk, and from when on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import sealed
from topodesign.base.errors import TooLargeError
from topodesign.collectives import Collective
from topodesign.collectives.collective import EVERYONE
from topodesign.plans.timed import MAX_TICKS, Timed
from topodesign.plans.timed_ops import LinkTimes, common_ticks
from topodesign.schedulers.ten.event_kernels import Web
from topodesign.topology.topology import IntArray, Topology


@dataclass(frozen=True, eq=False)
class Network:
    """Links that take whole ticks for a chunk of one unit.

    Attributes
    ----------
    topology
        Nodes and links.
    tick
        Seconds of a tick.
    latency, per_unit
        Exact ticks of every link, int64 of shape ``(links,)``.
    takes, busy
        Ticks until a chunk has arrived, and until the link is free for the next one: as exact, or rounded up to steps.
    opens
        When each link may be used first: both its ends are ready then.
    overlap
        Whether a link is free as soon as it has transmitted.
    """

    topology: Topology
    tick: Fraction
    latency: IntArray
    per_unit: IntArray
    takes: IntArray
    busy: IntArray
    opens: IntArray
    overlap: bool

    def first_free(self) -> IntArray:
        """Return when every port is free first, a new array: when all its links are open."""
        ports = np.zeros(int(self.web.port.max(initial=-1)) + 1, dtype=np.int64)
        np.maximum.at(ports, self.web.port, np.repeat(self.opens, np.diff(self.web.port_start)))
        return ports

    @cached_property
    def turned(self) -> Network:
        """The network with its links turned round."""
        topology = self.topology
        order = np.lexsort((topology.src, topology.dst))
        columns = ("latency", "per_unit", "takes", "busy", "opens")
        return replace(
            self, topology=topology.transpose(), **{name: sealed(getattr(self, name)[order]) for name in columns}
        )

    @cached_property
    def web(self) -> Web:
        """The links as kernels take them; self-loops lead nowhere."""
        topology = self.topology
        order = np.argsort(topology.dst, kind="stable")
        real = topology.src != topology.dst
        links = np.arange(len(topology.src))
        return Web(
            topology.src,
            topology.dst,
            self.takes,
            self.busy,
            self.opens,
            *_of_nodes(topology.src[real], links[real], topology.nodes),
            *_of_nodes(topology.dst[order][real[order]], order[real[order]], topology.nodes),
            np.arange(len(links) + 1),
            links,
        )


class Chunks(NamedTuple):
    """What is to move: chunks, where they are at first, and who needs them.

    Attributes
    ----------
    number
        Of chunks: the units of all blocks, one after the other.
    at, since
        Node and tick at which each chunk is there first.
    goal
        The one node that needs each chunk, ``EVERYONE`` if all members do.
    members
        Nodes that take part.
    """

    number: int
    at: IntArray
    since: IntArray
    goal: IntArray
    members: IntArray


class Sends(NamedTuple):
    """Who sends what: the link of every send, its chunk and when that has arrived, in order of arrival."""

    link: IntArray
    chunk: IntArray
    end: IntArray

    @property
    def time(self) -> int:
        """Ticks until everything has arrived."""
        return int(self.end.max(initial=0))


def network_of(
    topology: Topology,
    times: LinkTimes,
    *,
    step: Fraction | None = None,
    ready: tuple[Fraction, ...] = (),
    overlap: bool = False,
) -> Network:
    """Return the network of a topology.

    Parameters
    ----------
    topology, times
        Links, and what they take.
    step
        Seconds of a step of the time-expanded network: what links take is rounded up to whole steps (TACOS, section
        IV-C). None leaves it exact.
    ready
        Seconds from the start until each node is ready; none sends or receives before.
    overlap
        Whether a link is free as soon as it has transmitted.

    Raises
    ------
    TooLargeError
        If the times have no common tick of which 64 bits can count enough.
    """
    steps = () if step is None else (step,)
    latency, per_unit = (
        [int(value) * times.tick for value in column.tolist()] for column in (times.latency, times.per_unit)
    )
    exact = common_ticks(latency, per_unit, 1, (*steps, *ready)) if steps or any(ready) else times
    busy = exact.per_unit if overlap else exact.latency + exact.per_unit
    takes = exact.latency + exact.per_unit
    if step is not None:
        grain = int(step / exact.tick)
        takes = -(-takes // grain) * grain
        busy = -(-(takes - exact.latency) // grain) * grain if overlap else takes
    opens = np.zeros(len(topology.src), dtype=np.int64)
    if any(ready):
        if max(ready) / exact.tick >= MAX_TICKS:
            raise TooLargeError("a node is ready too late for its ticks to be counted; use rounder numbers")
        at = np.array([int(time / exact.tick) for time in ready], dtype=np.int64)
        opens = np.maximum(at[topology.src], at[topology.dst])
    return Network(
        topology, exact.tick, exact.latency, exact.per_unit, sealed(takes), sealed(busy.copy()), sealed(opens), overlap
    )


def chunks_of(network: Network, collective: Collective, units: int, since: IntArray | None = None) -> Chunks:
    """Return the chunks of a collective of one movement, which copies.

    Parameters
    ----------
    network, collective
        Where, and what.
    units
        Equal parts of a block, each a chunk.
    since
        When each chunk is at its source; from the start if None.
    """
    topology = network.topology
    members = collective.members(topology.nodes, topology.switches)
    blocks = collective.blocks(members, topology.nodes)
    source, goal = collective.places(collective.movements[0], blocks, topology.nodes)
    number = len(blocks) * units
    return Chunks(
        number,
        np.repeat(source, units),
        np.zeros(number, dtype=np.int64) if since is None else since,
        np.repeat(goal, units),
        members,
    )


def timed_from(network: Network, collective: Collective, units: int, size: Fraction, sends: Sends) -> Timed:
    """Return the sends of the chunks of a collective of one movement as timed sends."""
    topology = network.topology
    members = collective.members(topology.nodes, topology.switches)
    blocks = collective.blocks(members, topology.nodes)
    low = sends.chunk % units
    return Timed(
        collective,
        topology.nodes,
        units,
        network.tick,
        size,
        network.overlap,
        sealed(sends.end - network.takes[sends.link]),
        sealed(sends.end),
        sealed(np.zeros(len(sends.link), dtype=np.int32)),
        sealed(topology.src[sends.link].astype(np.int32)),
        sealed(topology.dst[sends.link].astype(np.int32)),
        sealed(blocks[sends.chunk // units].astype(np.int32)),
        sealed(low.astype(np.int64)),
        sealed(low.astype(np.int64) + 1),
        network.latency,
        network.per_unit,
    )


def wanted(chunks: Chunks) -> tuple[IntArray, IntArray]:
    """Return all pairs of a node and a chunk that it needs and does not have."""
    every = np.flatnonzero(chunks.goal == EVERYONE)
    one = np.flatnonzero((chunks.goal != EVERYONE) & (chunks.goal != chunks.at))
    node = np.repeat(chunks.members, len(every))
    chunk = np.tile(every, len(chunks.members))
    other = chunks.at[chunk] != node
    return np.concatenate((node[other], chunks.goal[one])), np.concatenate((chunk[other], one))


def _of_nodes(node: IntArray, values: IntArray, nodes: int) -> tuple[IntArray, IntArray]:
    """Return the values of every node, where nodes ascend."""
    return np.searchsorted(node, np.arange(nodes + 1)), values


def first_state(seed: int) -> NDArray[np.uint64]:
    """Return the state of the random numbers of a seed."""
    return np.array([2 * seed + 1], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
