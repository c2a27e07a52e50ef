"""Lowering of local sums to permutations; each sum ends a phase.

The rows of the phase after it are sums of rows: of several where a rank adds up, of one where it only keeps what is
needed later. Zeros fill up where ranks add up, or keep, less than others.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import distinct
from topodesign.base.errors import InfeasibleError
from topodesign.compiler.columns import Columns
from topodesign.compiler.frontends.permutations import MAX_SENDS, Messages, RowMap, list_messages, rows_of, views_of
from topodesign.compiler.ir import Permutations, Phase
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_transfers
from topodesign.plans.transfers import Transfers
from topodesign.topology.topology import IntArray

_Sums = dict[int, list[int]]  # the cells that are added up to each cell


def permutations_of_sums(plan: Plan, parts: int = 1, *, inplace: bool = False) -> Permutations:
    """Lower a plan with local sums to permutations.

    The number of pieces of the data is a multiple of the number of ranks.
    """
    (transfers,) = list_transfers(plan, parts)
    units = math.lcm(transfers.units, transfers.ranks)
    return Permutations(
        transfers.collective.among(None),
        inplace=inplace,
        protocol="Simple",
        chunks=units,
        channels=1,
        columns=Columns.empty([0] * transfers.ranks),
        phases=tuple(_list_phases(transfers, units, views_of(plan.topology, transfers.ranks))),
    )


def _list_phases(transfers: Transfers, units: int, views: list[IntArray]) -> Iterator[Phase]:
    """Yield the phases, each with the cells that later ones need.

    A cell is a unit of the data of one of the blocks, which count from 0 to that of the result.
    """
    assert transfers.sums is not None  # noqa: S101  for mypy; they are what it is of
    ranks, scale, last = transfers.ranks, units // transfers.units, int(transfers.sums[2].max())
    rows = int((transfers.hi - transfers.lo).sum()) * scale
    if rows > MAX_SENDS:
        raise InfeasibleError(f"{rows} rows that are sent are too many for one program (at most {MAX_SENDS})")

    def list_cells(block: int, lo: int, hi: int) -> IntArray:
        return np.arange(lo * scale, hi * scale) * (last + 1) + block

    table = transfers.end, transfers.src, transfers.dst
    cells = map(list_cells, *(column.tolist() for column in (transfers.block, transfers.lo, transfers.hi)))
    sent = dict(zip(distinct(transfers.end).tolist(), list_messages(*table, cells), strict=True))
    sums: dict[int, list[_Sums]] = {}
    for step, rank, block, lo, hi, blocks in transfers.list_sums():
        own = sums.setdefault(step, [defaultdict(list) for _ in range(ranks)])[rank]
        added = np.stack([list_cells(one, lo, hi) for one in blocks]).T.tolist()
        own.update(zip(list_cells(block, lo, hi).tolist(), added, strict=True))
    ends = sorted({*sums, max(sent)})
    parts = [[step for step in sent if low < step <= high] for low, high in pairwise([-1, *ends])]
    need = np.zeros((ranks, units * (last + 1)), dtype=bool)
    need[:, last :: last + 1] = True
    needed = [[np.flatnonzero(row) for row in need]]  # by phase
    for end, part in zip(reversed(ends), reversed(parts), strict=True):
        _go_back(need, sums.get(end, ()), [sent[step] for step in part])
        needed.insert(0, [np.flatnonzero(row) for row in need])
    held = [np.arange(units) * (last + 1) + rank for rank in range(ranks)]
    for end, part, after in zip(ends, parts, needed[1:], strict=True):
        given = max(map(len, held))
        array = RowMap(held, need.shape[1], given, views)
        steps = tuple(array.send(sent[step]) for step in part)
        made = sums.get(end, [{}] * ranks)
        terms = max((len(sources) for own in made for sources in own.values()), default=1)
        finish = np.full((ranks, terms, max(map(len, after))), -1, dtype=np.int64)
        for rank, wanted in enumerate(after):
            for at, cell in enumerate(wanted.tolist()):
                sources = made[rank].get(cell, [cell])
                finish[rank, : len(sources), at] = array.rows[rank, sources]
        start = rows_of([np.arange(given)], array.top)
        yield Phase(False, start, steps, rows_of([one.ravel() for one in finish]), array.top, terms)
        held = after


def _go_back(need: NDArray[np.bool_], sums: Sequence[_Sums], part: Sequence[Messages]) -> None:
    """Change the cells that ranks need after a phase into those before it."""
    for rank, own in enumerate(sums):
        need[rank, list(own)] = False
        need[rank, [cell for sources in own.values() for cell in sources]] = True
    for messages in reversed(part):
        for (_, dst), cells in messages.items():
            need[dst, cells] = False
        for (src, _), cells in messages.items():
            need[src, cells] = True
