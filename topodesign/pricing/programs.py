"""The linear programs of SPFF schedules, with certificates in integers.

This is the independent path to what :mod:`topodesign.pricing.closed_form` computes in closed form, and the only one
to the heterogeneous case and to the split itself. A solver's floats suggest an answer; a set of links proves that it
cannot be better, an integer flow that it can be reached, and only then is it returned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.pricing.closed_form import next_hops
from topodesign.solve.maxflow import maximum_flow
from topodesign.solve.program import Entries, Program
from topodesign.topology.topology import IntArray, Topology

_NONZERO = 10**7  # over the least price that counts
_GRID = 2**20


@dataclass(frozen=True)
class Block:
    """What one node has to send at one distance."""

    hops: IntArray  # 0 or 1, shape ``(destinations, links)``: which links lead on along a shortest path
    alpha: tuple[Fraction, ...]  # latency of each link
    rate: tuple[Fraction, ...]  # shards that each link carries per unit of time

    def time_of(self, links: Sequence[int]) -> Fraction:
        """Return the time that the destinations which must use these links take at least."""
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
    """Return what a node sends at distance 1, 2, ... with the destinations, and the positions of its links."""
    shard_bits = 8 * Fraction(size) / topology.nodes
    row = range(int(topology.indptr[node]), int(topology.indptr[node + 1]))
    links = [link for link in row if topology.dst[link] != node]
    own_alpha = tuple(Fraction(alpha[link]) for link in links)
    own_rate = tuple(Fraction(bandwidth[link]) / shard_bits for link in links)
    layers = next_hops(topology, node)
    return [(Block(hops, own_alpha, own_rate), destinations) for hops, _, destinations in layers], links


def best_split(block: Block) -> Split:
    """Return the optimal split of one block, leaving out links that are not worth their latency.

    References
    ----------
    Efficient Direct-Connect Topologies, appendix E.2, LP (21). The paper drops a link without traffic and solves again;
    here all sets of links with the smallest latencies are compared, one of which is optimal.
    """
    return min((_certified(part, guess) for part, guess in _parts(block)), key=lambda split: split.time)


def _parts(block: Block) -> list[tuple[Block, list[int]]]:
    """Return the block restricted to its fastest-starting links, for each number of them that reaches all."""
    parts = []
    for limit in sorted(set(block.alpha)):
        hops = block.hops * np.array([a <= limit for a in block.alpha], dtype=np.int64)
        if np.all(np.any(hops, axis=1)):
            parts.append(Block(hops, block.alpha, block.rate))
    return list(zip(parts, _binding_links(parts), strict=True))


def _binding_links(blocks: list[Block]) -> list[list[int]]:
    """Solve LP (21) for all blocks in one call and return the links of each that bind, as the solver sees it.

    Coefficients are rounded to a grid, which is enough for a guess; those of equal links without latency are exact.
    """
    load: list[tuple[int, int, int]] = []  # row, column, value of: sum of x / rate - U <= -alpha
    whole: list[tuple[int, int]] = []  # row, column of: sum of x = 1
    latency: list[int] = []
    owner: list[tuple[int, int]] = []
    columns = len(blocks)
    destinations = 0
    for number, block in enumerate(blocks):
        scale = _GRID / block.time_of([link for link in range(len(block.rate)) if block.hops[:, link].any()])
        row_of = {}
        for link in np.flatnonzero(block.hops.any(axis=0)).tolist():
            row_of[link] = len(latency)
            load.append((len(latency), number, -_GRID))
            latency.append(-round(block.alpha[link] * scale))
            owner.append((number, link))
        for hops in block.hops:
            for link in np.flatnonzero(hops).tolist():
                load.append((row_of[link], columns, round(scale / block.rate[link])))
                whole.append((destinations, columns))
                columns += 1
            destinations += 1
    program = Program()
    program.add_columns(columns, cost=np.arange(columns) < len(blocks))
    row, column, value = zip(*load, strict=True)
    program.add_rows(len(latency), Entries(row, column, value), upper=latency)
    row, column = zip(*whole, strict=True)
    program.add_rows(destinations, Entries(row, column, 1), lower=1, upper=1)
    program.solve()
    binding: list[list[int]] = [[] for _ in blocks]
    if program.solved:
        for (number, link), price in zip(owner, program.prices(_NONZERO * _GRID).tolist(), strict=False):
            if price:
                binding[number].append(link)
    return binding


def _certified(block: Block, guess: list[int]) -> Split:
    """Return the exact optimum: start from a guess of the binding links and mend it by minimum cuts.

    A flow at the time that a set of links proves necessary either exists, which settles it, or its minimum cut is a set
    that needs more time.
    """
    usable = np.flatnonzero(block.hops.any(axis=0)).tolist()
    time = max(block.time_of(usable), block.time_of(guess) if guess else Fraction(0))
    time = max(time, *(block.alpha[link] for link in usable)) if len(usable) > 1 else time
    while True:
        answer = _flow(block, usable, time)
        if isinstance(answer, Split):
            return answer
        time = block.time_of(answer)


def _flow(block: Block, usable: list[int], time: Fraction) -> Split | list[int]:
    """Return a split that is done by a time, or else a set of links that cannot be."""
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
