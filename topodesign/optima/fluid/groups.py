"""The best allreduce of several groups at once, with switches that copy and add, on limits that they share.

Each group has trees of its own over its members and the switches; other nodes pass data on or do not. Automorphisms may
exchange groups: then one group of each kind is solved, and its columns stand for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.part import Others
from topodesign.optima.fluid.decomposition import Decomposition, Source
from topodesign.optima.fluid.fluid_optimum import MOST_APART, sum_places, with_names
from topodesign.optima.fluid.network import network_of
from topodesign.optima.fluid.symmetry import find_symmetry


class Together(NamedTuple):
    """What groups take together for a unit of data each, in units of one over that of capacity."""

    time: Fraction
    bound: Fraction  # what none is faster than
    kinds: tuple[int, ...]  # a group of each kind, by its place


def allreduce_together(fabric: Fabric, groups: Sequence[Sequence[int]], others: Others) -> Together | None:
    """Return the least time of an allreduce in each of several groups; None if too many are unlike."""
    teams = tuple(tuple(sorted(group)) for group in groups)
    every = np.array(sorted(node for team in teams for node in team))
    base = network_of(fabric)
    base = replace(base, nodes=every, teams=teams)
    symmetry = find_symmetry(base, names=fabric.names)
    pair_of, team_of = symmetry.pairs()
    kinds, many_teams = np.unique(team_of, return_counts=True)
    compute = frozenset(fabric.compute)
    sources: list[Source] = []
    for kind, team in enumerate(kinds.tolist()):
        rest = compute - set(teams[team])
        able = ~np.isin(np.arange(base.vertices), list(rest))
        own = replace(
            base,
            nodes=np.array(teams[team]),
            copies=base.copies & able,
            adds=base.adds & able,
            closed=rest if others == "vanish" else frozenset(),
        )
        back = own.turned()
        alike = pair_of[sum_places(own) * len(teams) + team]
        for first in np.unique(alike).tolist():
            root = next(v for v in sum_places(own).tolist() if pair_of[v * len(teams) + team] == first)
            many, pair = int(np.count_nonzero(pair_of == first)), len(sources) // 2
            sources += [Source(way, root, many, pair, team=kind, single=not way.copies[root]) for way in (back, own)]
    if len(sources) > 2 * MOST_APART:
        return None
    try:
        found = Decomposition(sources, symmetry, teams=tuple(many_teams.tolist())).solve(cheapest=False)
    except InfeasibleError as error:
        raise with_names(error, fabric) from None
    return Together(found.time * base.scale, found.time_bound * base.scale, tuple(kinds.tolist()))
