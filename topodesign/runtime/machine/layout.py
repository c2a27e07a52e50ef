"""Memory of ranks: buffers with initial and expected contents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from topodesign.base.compiled import Ints
from topodesign.collectives import Collective

_SEGMENT = 2**40  # buffers of a rank start at multiples of it, so that no two overlap


def distinct_blocks(collective: Collective, ranks: int) -> int:
    """Return the number of distinct blocks in the buffers.

    Where every buffer has all blocks, as in an allreduce, nobody can tell them apart: they are one.
    """
    anyone = collective.at(None)
    every = anyone.inputs(0, ranks)
    same = all(anyone.inputs(rank, ranks) == every == anyone.outputs(rank, ranks) for rank in range(ranks))
    return 1 if same else collective.shards(ranks)


def buffer_chunks(collective: Collective, ranks: int, chunks: int) -> tuple[int, int]:
    """Return the chunks of input and output buffers."""
    anyone = collective.at(None)
    sizes = len(anyone.inputs(0, ranks)), len(anyone.outputs(0, ranks))
    return sizes[0] * chunks // collective.shards(ranks), sizes[1] * chunks // collective.shards(ranks)


class Layout:
    """Buffers of every rank, with initial and expected contents.

    All of it follows from the collective's :meth:`~topodesign.collectives.collective.Collective.inputs`, ``outputs``
    and ``in_place``. A chunk of data is known by its place in the input buffer that it comes from. ``chunks`` are those
    of the whole collective: the output of an allgather, the input of a reduce-scatter, the buffer of an allreduce. In
    place, a rank that has only one of input and output knows it by both names. Without a root, every rank has the
    buffers of the root of a collective that has one, to find it out.
    """

    def __init__(
        self, collective: Collective, chunks: int, scratch: Sequence[int], *, inplace: bool, root: int | None = None
    ) -> None:
        self.collective = collective.at(root) if collective.rooted else collective
        self.ranks = len(scratch)
        self.chunks = chunks
        self.inplace = inplace
        self._scratch = scratch
        blocks = distinct_blocks(self.collective, self.ranks)
        self._one = blocks == 1
        self.part = self.chunks // blocks  # chunks of a block
        self._segments = [self._place(rank) for rank in range(self.ranks)]
        self._places: dict[int, dict[int, int]] = {}
        self.given = [len(self._inputs(rank)) * self.part for rank in range(self.ranks)]  # input chunks of every rank

    def _inputs(self, rank: int) -> Sequence[int]:
        blocks = self.collective.inputs(rank, self.ranks)
        return blocks[:1] if self._one else blocks

    def _outputs(self, rank: int) -> Sequence[int]:
        blocks = self.collective.outputs(rank, self.ranks)
        return blocks[:1] if self._one else blocks

    def _place(self, rank: int) -> dict[str, tuple[int, int]]:
        """Return address and size of each buffer of a rank."""
        inputs, outputs = len(self._inputs(rank)) * self.part, len(self._outputs(rank)) * self.part
        scratch = (2 * _SEGMENT, self._scratch[rank])
        if not self.inplace:
            return {"i": (0, inputs), "o": (_SEGMENT, outputs), "s": scratch}
        first, other = (at * self.part for at in self.collective.in_place(rank, self.ranks))
        return {"i": (first, inputs or outputs), "o": (other, outputs or inputs), "s": scratch}

    def segment(self, rank: int, buffer: str) -> tuple[int, int]:
        """Return address and size in chunks of a buffer."""
        return self._segments[rank][buffer]

    def number_cells(self, scratch: Sequence[int], cells: int = 1) -> tuple[Ints, Ints]:
        """Return the first cells of buffers, shape (ranks, 3), and of ranks, with the end.

        Input and output have ``cells`` for each chunk; the cells of scratch come behind them.
        """
        base, first = np.zeros((self.ranks, 3), dtype=np.int64), np.zeros(self.ranks + 1, dtype=np.int64)
        for rank, size in enumerate(scratch):
            (i, inputs), (o, outputs) = (self.segment(rank, name) for name in "io")
            o = o if self.inplace else inputs
            end = max(i + inputs, o + outputs)
            base[rank] = first[rank] + np.array((i, o, end)) * cells
            first[rank + 1] = first[rank] + end * cells + size
        return base, first

    def blocks(self, rank: int) -> Iterator[tuple[int, int, int | None]]:
        """Yield offset, input chunk and its rank of every block of a rank's output."""
        blocks = self._outputs(rank)
        first = self.collective.movements[0]
        sources, _ = self.collective.places(first, np.array(blocks, dtype=np.int64), self.ranks)
        for at, (block, place) in enumerate(zip(blocks, sources.tolist(), strict=True)):
            source = None if first.adds else place
            yield at * self.part, self._place_of(source or 0)[block] * self.part, source

    def _place_of(self, rank: int) -> dict[int, int]:
        """Return the index of each block among a rank's inputs."""
        if rank not in self._places:
            self._places[rank] = {block: at for at, block in enumerate(self._inputs(rank))}
        return self._places[rank]


def likely_root(layout: Layout, complete: Callable[[int], bool], from_whom: Callable[[int], Iterable[int]]) -> int:
    """Return the likely root of a program, by its results.

    ``layout`` has no root, so that every rank has the buffers of one. ``complete`` tells whether a rank has all of the
    result, ``from_whom`` whose data the first chunk of its output may be. If no rank fits, a guess is returned, which
    the real run refutes.
    """
    ranks = range(layout.ranks)
    if layout.collective.movements[-1].destination == "root":  # only it has all of the result
        return next(filter(complete, ranks), 0)
    sources = Counter(source for rank in ranks for source in from_whom(rank))
    return max(ranks, key=lambda rank: sources[rank])
