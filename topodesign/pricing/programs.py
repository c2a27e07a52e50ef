"""The optima of SPFF's linear programs, by integer maximum flows.

What :mod:`topodesign.pricing.closed_form` computes for links that are alike, for links that differ, with the split
itself. A set of links proves that an answer cannot be better, a flow that it can be reached.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.pricing.closed_form import next_hops
from topodesign.solve.maxflow import maximum_flow
from topodesign.topology.topology import IntArray, Topology


@dataclass(frozen=True)
class Block:
    """What one node has to send at one distance."""

    hops: IntArray  # 0 or 1, shape ``(destinations, links)``: which links lead on along a shortest path
    alpha: tuple[Fraction, ...]  # latency of each link
    rate: tuple[Fraction, ...]  # shards that each link carries per unit of time

    def time_of(self, links: Sequence[int]) -> Fraction:
        """Return a lower bound on the time of destinations bound to some links."""
        outside = [link for link in range(len(self.rate)) if link not in links]
        count = int(np.sum(~np.any(self.hops[:, outside], axis=1)))
        waiting = sum((self.alpha[link] * self.rate[link] for link in links), Fraction(0))
        return (count + waiting) / sum((self.rate[link] for link in links), Fraction(0))


@dataclass(frozen=True)
class Split:
    """The optimal split of a block.

    * ``share``: ``share[v][link]`` is the part of the shard of destination v that goes over a link, rows adding up to
      1.
    """

    time: Fraction  # when the last link is done: the optimum U of LP (1) or LP (21)
    share: list[list[Fraction]]


def node_blocks(
    topology: Topology, node: int, alpha: Sequence[Fraction], bandwidth: Sequence[Fraction], size: Fraction
) -> tuple[list[tuple[Block, IntArray]], list[int]]:
    """Return a node's blocks by distance, with destinations and links."""
    shard_bits = 8 * Fraction(size) / topology.nodes
    row = range(int(topology.indptr[node]), int(topology.indptr[node + 1]))
    links = [link for link in row if topology.dst[link] != node]
    own_alpha = tuple(Fraction(alpha[link]) for link in links)
    own_rate = tuple(Fraction(bandwidth[link]) / shard_bits for link in links)
    layers = next_hops(topology, node)
    return [(Block(hops, own_alpha, own_rate), destinations) for hops, _, destinations in layers], links


def best_split(block: Block) -> Split:
    """Return the optimal split of a block.

    Without links that are not worth their latency.

    References
    ----------
    Efficient Direct-Connect Topologies, appendix E.2, LP (21). The paper drops a link without traffic and solves again;
    here all sets of links with the smallest latencies are compared, one of which is optimal.
    """
    return min(map(_certify, _parts(block)), key=lambda split: split.time)


def _parts(block: Block) -> Iterator[Block]:
    """Yield the block on its fastest-starting links, more and more of them."""
    for limit in sorted(set(block.alpha)):
        hops = block.hops * np.array([a <= limit for a in block.alpha], dtype=np.int64)
        if np.all(np.any(hops, axis=1)):
            yield Block(hops, block.alpha, block.rate)


def _certify(block: Block) -> Split:
    """Return the exact optimum.

    Starts from the bound of all links together and mends it by minimum cuts.

    A flow at the time that a set of links proves necessary either exists, which settles it, or its minimum cut is a set
    that needs more time.
    """
    usable = np.flatnonzero(block.hops.any(axis=0)).tolist()
    time = max(block.time_of(usable), *(block.alpha[link] for link in usable))
    while True:
        answer = _flow(block, usable, time)
        if isinstance(answer, Split):
            return answer
        time = block.time_of(answer)


def _flow(block: Block, usable: list[int], time: Fraction) -> Split | list[int]:
    """Return a split done by a time, or a set of links that cannot be."""
    destinations, links = len(block.hops), len(block.rate)
    room = {link: (time - block.alpha[link]) * block.rate[link] for link in usable}
    unit = math.lcm(*(value.denominator for value in room.values()))
    at, over = np.nonzero(block.hops)
    source, sink = destinations + links, destinations + links + 1
    flow = maximum_flow(
        sink + 1,
        np.concatenate((at, np.full(destinations, source), destinations + np.array(usable))),
        np.concatenate((destinations + over, np.arange(destinations), np.full(len(usable), sink))),
        [unit] * (len(at) + destinations) + [int(value * unit) for value in room.values()],
        start=source,
        end=sink,
    )
    if flow.value == unit * destinations:
        share = [[Fraction(0)] * links for _ in range(destinations)]
        for destination, link, amount in zip(at.tolist(), over.tolist(), flow.amount, strict=False):
            share[destination][link] = Fraction(amount, unit)
        return Split(time, share)
    return np.flatnonzero(flow.side[destinations:source]).tolist()
