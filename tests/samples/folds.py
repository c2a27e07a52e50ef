"""Folded flows: what a symmetry takes from the blocks of some nodes to those of all others, looked for row by row."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from topodesign.plans.build import blocks_named
from topodesign.plans.flow import Flow
from topodesign.plans.step_ops import canonical
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import Topology

Row = tuple[int, ...]  # step, src, dst, block, lo, hi


def rows_of(rounds: Flow) -> dict[int, set[Row]]:
    """Return the rows of the blocks of every node."""
    owner = rounds.collective.owners(rounds.block, rounds.nodes).tolist()
    found: dict[int, set[Row]] = {node: set() for node in range(rounds.nodes)}
    for node, row in zip(owner, zip(*(one.tolist() for one in rounds.table().values()), strict=True), strict=True):
        found[node].add(row)
    return found


def fold(topology: Topology, rounds: Flow, symmetry: Symmetry) -> Flow | None:
    """Return rounds as those of the representatives; None if the others are not their images."""
    rounds = canonical(rounds)
    rows = rows_of(rounds)
    roots = sorted({int(symmetry.represented_by[node]) for node, some in rows.items() if some})
    if roots and roots[0] < 0:
        return None
    for root in roots:
        for node, names in symmetry.transversals(root):
            own = np.array(sorted(rows[root]), dtype=np.int64).reshape(-1, 6)
            own[:, 1], own[:, 2] = names[own[:, 1]], names[own[:, 2]]
            own[:, 3] = blocks_named(rounds.collective, own[:, 3], names.astype(np.int64))
            if set(map(tuple, own.tolist())) != rows[node]:
                return None
    mine = np.isin(rounds.collective.owners(rounds.block, rounds.nodes), roots)
    return rounds.some(mine).having(place=topology, fold=replace(symmetry, representatives=tuple(roots)))


def refolded(flow: Flow, generators: np.ndarray) -> Flow:
    """Return a flow folded by another group with the same representatives."""
    assert flow.fold is not None
    made = Symmetry(generators.shape[1], flow.fold.representatives, partial(tuple, generators))
    return replace(flow, fold=made)
