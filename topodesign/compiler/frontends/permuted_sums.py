"""Lowering of local sums to permutations; each sum ends a phase.

The rows of the phase after it are sums of rows: of several where a rank adds up, of one where it only keeps what is
needed later. Zeros fill up where ranks add up, or keep, less than others.
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.compiler.columns import Columns
from topodesign.compiler.frontends.colouring import Edge
from topodesign.compiler.frontends.permutations import MOST_SENDS, exchanges_of, rows_of, views_of
from topodesign.compiler.ir import Permutations, Phase
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_transfers
from topodesign.plans.transfers import Transfers
from topodesign.topology.topology import Topology

_Cell = tuple[int, int]  # a unit of the data, and the block that it is of
_Sums = dict[_Cell, list[int]]  # the blocks that are added up to each cell


def permutations_of_sums(plan: Plan, parts: int = 1, *, inplace: bool = False) -> Permutations:
    """Lower a plan with local sums to permutations.

    The number of pieces of the data is a multiple of the number of ranks.
    """
    (transfers,) = list_transfers(plan, parts)
    made = _Made(transfers, plan.topology)
    return Permutations(
        transfers.collective.among(None),
        inplace=inplace,
        protocol="Simple",
        chunks=made.units,
        channels=1,
        columns=Columns.empty([0] * transfers.ranks),
        phases=tuple(made.phases()),
    )


class _Made:
    """Row contents of every rank."""

    def __init__(self, transfers: Transfers, topology: Topology) -> None:
        assert transfers.sums is not None  # noqa: S101  for mypy; they are what it is of
        self.ranks = transfers.ranks
        self.units = math.lcm(transfers.units, self.ranks)
        scale = self.units // transfers.units
        rows = int((transfers.hi - transfers.lo).sum()) * scale
        if rows > MOST_SENDS:
            raise InfeasibleError(f"{rows} rows that are sent are too many for one program (at most {MOST_SENDS})")
        self._views = views_of(topology, self.ranks)
        self._last = int(transfers.sums[2].max())
        self._sent: dict[int, dict[Edge, list[_Cell]]] = defaultdict(lambda: defaultdict(list))  # by step
        names = ("end", "src", "dst", "block", "lo", "hi")
        for step, src, dst, block, lo, hi in zip(*(getattr(transfers, one).tolist() for one in names), strict=True):
            self._sent[step][src, dst] += [(unit, block) for unit in range(lo * scale, hi * scale)]
        self._sums: dict[int, list[_Sums]] = {}
        for step, rank, block, source, lo, hi in transfers.sums.T.tolist():
            own = self._sums.setdefault(step, [defaultdict(list) for _ in range(self.ranks)])[rank]
            for unit in range(lo * scale, hi * scale):
                own[unit, block].append(source)
        self._ends = sorted({*self._sums, max(self._sent)})

    def phases(self) -> list[Phase]:
        steps = [[step for step in sorted(self._sent) if step <= end] for end in self._ends]
        parts = [here[len(before) :] for before, here in zip([[], *steps], steps, strict=False)]
        needed = [[[(unit, self._last) for unit in range(self.units)]] * self.ranks]
        for end, part in zip(reversed(self._ends), reversed(parts), strict=True):
            needed.insert(0, [self._before(rank, needed[0][rank], end, part) for rank in range(self.ranks)])
        held = [{(unit, rank): unit for unit in range(self.units)} for rank in range(self.ranks)]
        given, found = self.units, []
        for end, part, after in zip(self._ends, parts, needed[1:], strict=True):
            found.append(self._phase(held, given, part, (self._sums.get(end), after)))
            given = max(map(len, after))
            held = [{cell: row for row, cell in enumerate(own)} for own in after]
        return found

    def _before(self, rank: int, after: list[_Cell], end: int, part: list[int]) -> list[_Cell]:
        """Return cells needed before a phase to reach ``after``."""
        needed, made = set(after), self._sums.get(end, [{}] * self.ranks)[rank]
        needed -= made.keys()
        needed |= {(unit, source) for (unit, _), sources in made.items() for source in sources}
        for step in reversed(part):
            for (_, dst), cells in self._sent[step].items():
                needed -= set(cells) if dst == rank else set()
            for (src, _), cells in self._sent[step].items():
                needed |= set(cells) if src == rank else set()
        return sorted(needed)

    def _phase(
        self,
        held: list[dict[_Cell, int]],
        given: int,
        part: list[int],
        last: tuple[list[_Sums] | None, list[list[_Cell]]],
    ) -> Phase:
        sums, after = last
        top, steps = given, []
        for step in part:
            messages = {edge: sorted(cells, key=held[edge[0]].__getitem__) for edge, cells in self._sent[step].items()}
            sent = {
                edge: np.array([held[edge[0]][cell] for cell in cells], dtype=np.int64)
                for edge, cells in messages.items()
            }
            made, first = exchanges_of(sent, self.ranks, self._views, top)
            top += sum(one.width for one in made)
            for edge, begin in first.items():
                held[edge[1]] |= {cell: begin + at for at, cell in enumerate(messages[edge])}
            steps.append(made)
        terms = max((len(sources) for own in sums or () for sources in own.values()), default=1)
        wide = max(map(len, after))
        finish = []
        for rank, cells in enumerate(after):
            rows = np.full((terms, wide), -1, dtype=np.int64)
            for at, cell in enumerate(cells):
                sources = (sums[rank] if sums else {}).get(cell, [cell[1]])
                rows[: len(sources), at] = [held[rank][cell[0], source] for source in sources]
            finish.append(rows.ravel())
        start = rows_of([np.arange(given)], top)
        return Phase(False, start, tuple(steps), rows_of(list(finish)), top, terms)
