"""The simulator of paths: how long a collective takes whose blocks flow over paths in chunks.

Every path has its share of every link on its way for itself, so that all take the same time B by bandwidth alone. What
a path carries is cut into C chunks that follow one another, and a chunk takes ``L + B / C`` from node to node, where L
is what :mod:`topodesign.base.latency` says of a step: of the port that starts most messages, one to each node that it
sends to, and of the send through most switches. So h sends are done after ``(h + C - 1) * (L + B / C)``. Where links
have latencies of their own, a send takes those of all links that it goes over: with x for the sum of a path and s for
its slowest send, it is done after ``h B / C + x + (C - 1) * (B / C + s)``. Times are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import ParameterError
from topodesign.base.latency import Latency
from topodesign.plans.measure import path_time
from topodesign.plans.paths import Paths
from topodesign.plans.plan import Plan
from topodesign.plans.timing.chunked import (
    Chains,
    Phase,
    Pipeline,
    PipelineSimulation,
    check_chunks,
    conditions_of_pipelines,
    in_phases,
)
from topodesign.plans.timing.conditions import Conditions, Link, Loss
from topodesign.topology.topology import IntArray


def run_paths(plan: Plan, paths: Paths, now: Conditions) -> PipelineSimulation:
    """Time the paths of a plan."""
    return simulate_paths(paths, **conditions_of_pipelines(plan, now), inverse_rate=path_time(plan.fabric, paths))


def simulate_paths(
    paths: Paths,
    *,
    latency: Latency,
    size: Fraction,
    unit: Fraction,
    chunks: int | None = None,
    failed_links: Iterable[Link] = (),
    of_links: Sequence[Fraction] | None = None,
    inverse_rate: Fraction | None = None,
) -> PipelineSimulation:
    """Time paths.

    As :func:`~topodesign.plans.timing.trees.simulate_trees`; ``size`` are the data of a node, its own block
    included, and ``inverse_rate`` is that of the paths where not only links limit it.
    """
    check_chunks(latency, size, unit, chunks, "what a path carries")
    goes, loss = _lose(paths, tuple(sorted(set(failed_links))))
    topology = paths.topology
    block = Fraction(size) / paths.collective.shards(len(paths.collective.members(topology.nodes, topology.switches)))
    busy = 8 * block * (paths.inverse_rate if inverse_rate is None else inverse_rate) / Fraction(unit)
    heights = paths.heights * goes
    height = int(heights.max(initial=0))
    pipeline = Pipeline(height, *_sends(paths, goes), busy)
    sending = _loads(paths, goes) / topology.capacity * float(8 * block / paths.block_units / Fraction(unit))
    phase = Phase((), pipeline, block * int(paths.weight.min(initial=1)) / paths.block_units, sending)
    kinds = {} if of_links is None else _chains(paths, goes, of_links, (pipeline.starts - 1) * latency.gap)
    chains = None if of_links is None else [Chains.of(kinds)]
    done = in_phases("over paths in", [phase], chains, latency, chunks, size=Fraction(size), loss=loss)
    if not height:
        return replace(done, time=Fraction(0), phase_ends=None, critical=(), utilisation=sending)
    ends = {Chains.of([kind]).end(busy, done.chunks): path for kind, path in kinds.items()}
    longest = ends.get(done.time, int(heights.argmax()))
    way = paths.hop[paths.hop_start[longest] : paths.hop_start[longest + 1]].tolist()
    return replace(done, phase_ends=None, critical=(tuple(way),))


def _sends(paths: Paths, goes: NDArray[np.bool_]) -> tuple[int, int]:
    """Return how many messages the busiest port starts, one to each node that it sends to, and most switches of one."""
    path, tail, head = _hops(paths)
    begins = np.flatnonzero(~np.isin(tail, sorted(paths.topology.switches)))
    passed = np.diff(begins, append=len(tail)) - 1
    stop = head[begins + passed]
    own = goes[path[begins]]
    nodes = paths.topology.nodes
    port = tail[begins][own].astype(np.int64) * nodes + head[begins][own]
    ports = np.unique(port * nodes + stop[own]) // nodes
    return int(np.unique(ports, return_counts=True)[1].max(initial=1)), int(passed[own].max(initial=0))


def _chains(
    paths: Paths, goes: NDArray[np.bool_], latency: Sequence[Fraction], wait: Fraction
) -> dict[tuple[int, Fraction, Fraction], int]:
    """Return the sends, the latency and that of the slowest send of paths that carry data, with a path of each kind.

    Every send waits so long until the last message of the busiest port has started.
    """
    path, tail, head = _hops(paths)
    common = math.lcm(wait.denominator, *(one.denominator for one in latency))
    ticks = np.array([int(one * common) for one in latency], dtype=object)[paths.topology.link_index(tail, head)]
    begins = np.flatnonzero(~np.isin(tail, sorted(paths.topology.switches)))  # a send is from node to node
    sends = np.add.reduceat(ticks, begins) + int(wait * common) if len(begins) else ticks
    found: dict[tuple[int, int, int], int] = {}
    first = np.flatnonzero(np.diff(path[begins], prepend=-1)).tolist()
    for number, a, b in zip(path[begins][first].tolist(), first, [*first[1:], len(begins)], strict=True):
        if goes[number]:
            found.setdefault((b - a, sum(sends[a:b]), max(sends[a:b])), number)
    return {(h, Fraction(x, common), Fraction(s, common)): number for (h, x, s), number in found.items()}


def _hops(paths: Paths) -> tuple[IntArray, IntArray, IntArray]:
    """Return the path of every hop and its two ends."""
    first = np.flatnonzero(np.diff(paths.path_of, append=-1) == 0)
    return paths.path_of[first], paths.hop[first], paths.hop[first + 1]


def _loads(paths: Paths, goes: NDArray[np.bool_]) -> NDArray[np.float64]:
    path, tail, head = _hops(paths)
    happens = goes[path]
    loads = np.zeros(len(paths.topology.src), dtype=np.float64)
    members = paths.collective.members(paths.topology.nodes, paths.topology.switches)
    share, _ = paths.collective.shares(paths.block, paths.topology.nodes, len(members))
    np.add.at(loads, paths.topology.link_index(tail, head)[happens], (paths.weight * share)[path[happens]])
    return loads


def _lose(paths: Paths, failed: tuple[Link, ...]) -> tuple[NDArray[np.bool_], Loss | None]:
    """Return which paths still carry data, and who never has whose block."""
    goes = np.ones(len(paths), dtype=np.bool_)
    if not failed:
        return goes, None
    path, tail, head = _hops(paths)
    for u, v in failed:
        if not np.any((paths.topology.src == u) & (paths.topology.dst == v)):
            raise ParameterError(f"the topology has no link {u}->{v}")
        goes[path[(tail == u) & (head == v)]] = False
    goal = paths.hop[paths.hop_start[1:] - 1]
    pairs = sorted(set(zip(paths.block[~goes].tolist(), goal[~goes].tolist(), strict=True)))
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return goes, Loss(failed, np.flatnonzero(~goes), table, reduces_only=False)
