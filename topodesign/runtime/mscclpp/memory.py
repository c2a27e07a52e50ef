"""Where the buffers of all ranks are among cells with numbers."""

from __future__ import annotations

from collections.abc import Sequence

from topodesign.runtime.machine.layout import Layout
from topodesign.runtime.mscclpp.steps import Place, Program


class Memory:
    """Cells of all ranks.

    ``places`` are the first cells of input, output and scratch of each rank, ``first`` those of ranks, with the end.

    ``scratch`` and ``halves`` are the cells of scratch of each rank, and how many it adds to addresses in scratch in
    every other launch; ``semaphores`` the initial values of those of each rank.
    """

    def __init__(
        self,
        layout: Layout,
        program: Program,
        *,
        packets: bool,
        scratch: Sequence[int],
        halves: Sequence[int],
        semaphores: Sequence[Sequence[int]],
    ) -> None:
        self.layout = layout
        self.ranks = layout.ranks
        self.cells = program.cells
        self._semaphores = semaphores
        self._wide = 2 if packets else 1
        self.places, self.first = layout.number_cells(scratch, self.cells)
        widths = {"i": self.cells, "o": self.cells, "s": self.cells * self._wide}
        self.base: list[
            dict[str, tuple[int, int]]
        ] = [  # of each rank, from its first cell: where buffers begin, and cells
            {name: (at, layout.segment(rank, name)[1] * widths[name]) for name, at in zip("ios", row, strict=True)}
            for rank, row in enumerate((self.places - self.first[:-1, None]).tolist())
        ]
        self._scratch = scratch
        self._halves = halves

    def count_added(self, place: Place) -> int:
        """Return the cells added to an address in every other launch."""
        return self._halves[place.half] if place.buffer == "s" and place.half >= 0 else 0

    def beyond(self, place: Place, size: int) -> str | None:
        """Return why elements exceed their buffer, or None."""
        _, length = self.base[place.rank][place.buffer]
        name = f"{place.buffer}[{place.start // (self.cells * (1 + place.packets))}] of rank {place.rank}"
        if place.packets and (place.buffer != "s" or self._wide == 1):
            return f"{name}: packets are for scratch of the LL protocol"
        if place.start + size * (1 + place.packets) > length:
            had = length // (self.cells * (1 + place.packets))
            return f"{name} and what follows goes beyond the {had} chunks of the buffer"
        added = self.count_added(place)
        if added and added + place.start + size * (1 + place.packets) > self._scratch[place.rank]:
            return f"{name} and what follows goes beyond the buffer by the half that rank {place.half} adds"
        if place.shift:
            return (
                f"{name} is {place.shift // self.cells:+d} chunks from where the executor looks, which takes the "
                "buffer's place in its allocation from the wrong rank, or not at all; in place, name the longer buffer"
            )
        return None

    def name(self, rank: int, cell: int) -> str:
        """Return what people call a cell."""
        for buffer in "oi":
            base, size = self.base[rank][buffer]
            if base <= cell < base + size:
                return f"{buffer}[{(cell - base) // self.cells}]"
        half, at = self._halves[rank], cell - self.base[rank]["s"][0]
        second = 0 < half <= at
        return f"s[{(at - half * second) // (self.cells * self._wide)}]{' in its second half' if second else ''}"

    def semaphore(self, rank: int, number: int) -> int:
        """Return the initial value of a semaphore."""
        return self._semaphores[rank][number]
