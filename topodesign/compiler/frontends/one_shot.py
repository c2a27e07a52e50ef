"""From a one-shot allreduce over trees to the program of every rank: all send all they have, and add up all they get.

Sums are added up in the order of the ranks, so that all ranks have the same to the last bit. No rank waits with what it
receives for what it sends, so that a program ends whatever connections hold.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from topodesign.compiler.frontends.operations import (
    IN,
    OUT,
    Emitter,
    Operations,
    Part,
    Place,
    cut,
    emitters,
    operations_of,
)
from topodesign.compiler.ir import Kind
from topodesign.plans.trees import Trees


def operations_of_one_shot(schedule: Trees, *, inplace: bool, channels: int, max_count: int) -> tuple[Operations, int]:
    """Return the operations of all ranks in serial order, and the chunks of the data."""
    rank = {node: at for at, node in enumerate(schedule.compute_nodes.tolist())}
    roots = [rank[node] for node in schedule.root.tolist()]
    taken = [0] * len(rank)
    spans = []
    for root, weight in zip(roots, schedule.weight.tolist(), strict=True):
        spans.append((taken[root], taken[root] + weight))
        taken[root] += weight
    unit = math.gcd(*itertools.chain.from_iterable(spans))
    chunks = taken[0] // unit * channels
    level = np.zeros((len(schedule), len(rank)), dtype=np.int64)
    edges = []  # level, root, sender, receiver, first chunk, last
    for tree, src, dst in zip(schedule.tree.tolist(), schedule.src.tolist(), schedule.dst.tolist(), strict=True):
        level[tree, rank[dst]] = level[tree, rank[src]] + 1
        first, last = (end // unit * channels for end in spans[tree])
        edges.append((int(level[tree, rank[dst]]), roots[tree], rank[src], rank[dst], first, last))
    senders: list[set[int]] = [set() for _ in rank]
    for _, _, src, dst, _, _ in edges:
        senders[dst].add(src)
    made = emitters(senders, channels, max_count)
    own = OUT if inplace else IN
    ranks = [_Rank(at, emitter, own, chunks, inplace=inplace) for at, emitter in enumerate(made)]
    for one, emitter in zip(ranks, made, strict=True):
        mine = [(edge[0], edge[3] == one.rank, *edge[1:]) for edge in edges if one.rank in edge[2:4]]
        for step, _, root, src, dst, first, last in sorted(mine):  # of a step what it sends before what it receives
            for part in cut((step, src, dst), list(range(first, last)), channels, max_count):
                if src == one.rank:
                    emitter.send(part, one.held(root, part.chunks))
                else:
                    one.take(root, part, keeps=schedule.height > 1)
        one.finish()
    return operations_of([emitter.operations() for emitter in made]), chunks


class _Rank:
    """What a rank has by now, and how it adds up."""

    def __init__(self, rank: int, emitter: Emitter, own: Place, chunks: int, *, inplace: bool) -> None:
        self.rank, self._emitter, self._own, self._chunks = rank, emitter, own, chunks
        self._sum = emitter.fresh(chunks)[0] if inplace else OUT
        self._slots: dict[int, Place] = {}
        self._parts: dict[int, list[Part]] = {}
        self._inplace = inplace

    def held(self, root: int, chunks: list[int]) -> list[Place]:
        """Return where what a rank has given lies."""
        begin = self._own if root == self.rank else self._slots[root]
        return [begin + chunk for chunk in chunks]

    def take(self, root: int, part: Part, *, keeps: bool) -> None:
        """Receive what a rank has given: into the sum, or apart from it if it is needed, or added up, later."""
        self._parts.setdefault(root, []).append(part)
        if keeps:
            if root not in self._slots:
                self._slots[root] = self._emitter.fresh(self._chunks)[0]
            self._emitter.receive(part, self.held(root, part.chunks))
            return
        places = [self._sum + chunk for chunk in part.chunks]
        if root == 0:
            self._emitter.receive(part, places)
        else:
            first = root == 1 and self.rank == 0
            self._emitter.receive_reduce(part, self.held(self.rank, part.chunks) if first else places, places)
        if root == self.rank - 1:
            self._add(Kind.REDUCE, self.rank, part)

    def _add(self, kind: Kind, root: int, part: Part) -> None:
        self._emitter.unpack(kind, part, self.held(root, part.chunks), [self._sum + chunk for chunk in part.chunks])

    def finish(self) -> None:
        """Add up what is apart, and put the sum where it belongs."""
        last = max(self._parts)
        if self._slots:
            for root in range(max(last, self.rank) + 1):
                for part in self._parts.get(root) or self._parts[last]:
                    self._add(Kind.COPY if root == 0 else Kind.REDUCE, root, part)
        if self._inplace:
            for part in self._parts[last]:
                places = [[begin + chunk for chunk in part.chunks] for begin in (self._sum, OUT)]
                self._emitter.unpack(Kind.COPY, part, *places)
