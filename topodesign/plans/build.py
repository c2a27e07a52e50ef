"""Builders of flows from columns of sends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topodesign.base.errors import ScheduleError, TooLargeError
from topodesign.collectives import Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.archive import MAX_ROWS
from topodesign.plans.flow import Flow
from topodesign.topology.topology import Topology

Part = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike]
"""The columns step, src, dst, block, lo, hi: integers that broadcast against each other."""

MAX_UNITS = 2**62  # units per block; twice as many still fit into 64 bits


def build_steps(
    collective: Collective,
    place: Topology | Fabric | int,
    units: int,
    steps: int,
    parts: Iterable[Part],
    *,
    reduce_steps: int | None = None,
    **more: Any,
) -> Flow:
    """Build a flow in steps from rows of sends, without empty ones.

    Where a block is added up, as in a reduce-scatter, what is sent is the sender's partial sum, and the receiver adds
    it to its own. Elsewhere the receiver stores it.

    Parameters
    ----------
    collective
        What it is for, with root and group if it has them.
    place
        Its links; of a number of nodes the links that it sends over.
    units
        Equal parts of a block, which ``lo`` and ``hi`` count.
    steps
        Communication steps, counted from 1.
    parts
        Rows of columns: at ``step``, node ``src`` sends the units ``lo <= unit < hi`` of ``block`` to ``dst``.
    reduce_steps
        Steps in which receivers add: by default all where the collective adds, else none.
    more
        Other fields of the flow: routes, fold, circuits.

    Examples
    --------
    >>> from topodesign import Plan, build, verify
    >>> from topodesign.collectives import ALLGATHER
    >>> swap = build_steps(ALLGATHER, build("complete(2)"), 1, 1, [(1, [0, 1], [1, 0], [0, 1], 0, 1)])
    >>> verify(Plan(build("complete(2)"), swap)).ok
    True
    """
    check_units(units)
    tables = [np.broadcast_arrays(*part) for part in parts]
    check_rows(sum(table[0].size for table in tables))
    columns: list[NDArray[Any]] = []
    for at in range(6):
        kind = np.int64 if at > 3 else np.int32
        pieces = [table[at].astype(kind, copy=False).ravel() for table in tables]
        columns.append(np.concatenate(pieces) if pieces else np.zeros(0, dtype=kind))
    lo, hi = columns[4:]
    if len(lo) and (lo.min() < 0 or hi.max() > units or np.any(lo > hi)):
        raise ScheduleError(f"intervals must satisfy 0 <= lo <= hi <= {units}")
    kept = lo < hi
    if not kept.all():
        columns = [column[kept] for column in columns]
    step, src, dst, block, lo, hi = columns
    own = steps if collective.reduces else 0
    adding = own if reduce_steps is None else reduce_steps
    if not 0 <= adding <= steps or (len(collective.movements) == 1 and adding != own):
        raise ScheduleError(f"reduce_steps {adding} does not fit {collective}, {steps} steps")
    part = (step > adding).astype(np.int8) * np.int8(len(collective.movements) - 1)
    if isinstance(place, int):
        ends = np.unique([src, dst], axis=1).astype(np.int64)
        place = Topology.from_arrays(place, *ends[:, np.all((ends >= 0) & (ends < place), axis=0)])
    sends = np.arange(len(step), dtype=np.int32), src, dst, step - 1, step, part
    return Flow(collective, place, "steps", units, block, lo, hi, *sends, steps=steps, **more)


def check_units(units: int) -> None:
    """Raise TooLargeError if units per block exceed 64-bit columns."""
    if units >= MAX_UNITS:
        raise TooLargeError(f"{units} units per shard are too many (at most {MAX_UNITS - 1}); use coarser splits")


def check_rows(rows: int) -> None:
    """Raise TooLargeError if rows would exceed memory; call it first."""
    if rows > MAX_ROWS:
        raise TooLargeError(f"a schedule of {rows} rows is too large (at most {MAX_ROWS})")


def blocks_named(
    collective: Collective, block: NDArray[Any], names: NDArray[Any], count: int | None = None
) -> NDArray[Any]:
    """Return the numbers of blocks of renamed nodes."""
    source, destination = np.divmod(block, len(names)) if collective.pairwise else (0, block)
    named: NDArray[Any] = names[destination]
    if collective.pairwise:
        named = names[source] * names.dtype.type(len(names) if count is None else count) + named
    return named


def renamed(collective: Collective, names: Sequence[int]) -> Collective:
    """Return a collective with root and groups renamed."""
    root, group, groups, roots = collective.root, collective.group, collective.groups, collective.roots
    if groups is not None:
        others = None if roots is None else [names[one] for one in roots]
        return collective.within([[names[node] for node in part] for part in groups], others)
    bare = replace(collective, root=None if root is None else names[root])
    return bare.among(None if group is None else [names[node] for node in group])
