"""A collective of several groups at once, with switches that copy and add, on limits that they share.

Each group has trees of its own over its members and the switches; other nodes pass data on or do not. Automorphisms may
exchange groups: then one group of each kind is solved, and its columns stand for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from topodesign.base.errors import TooLargeError
from topodesign.collectives import ALLGATHER, ALLREDUCE, BROADCAST, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.part import Others
from topodesign.optima.fluid.decomposition import Source
from topodesign.optima.fluid.fluid_optimum import Problem, sum_places
from topodesign.optima.fluid.network import network_of
from topodesign.optima.fluid.symmetry import Symmetry, find_symmetry

MOST_SOURCES = 192  # sorts of trees: of as many a problem takes a minute or two


def problem_in_groups(
    fabric: Fabric, collective: Collective, others: Others = "forward", *, costs: Mapping[str, int] | None = None
) -> Problem:
    """Return the fluid program of a collective over trees in one group or several, costs as for ``network_of``.

    Raises TooLargeError if too many roots in groups are unlike.
    """
    single = collective.single
    symmetry = _symmetry(fabric, collective, costs)
    base = symmetry.network
    groups = [np.array(team) for team in base.teams]
    compute = frozenset(fabric.compute)
    shards, both = collective.shards(len(base.nodes)), collective.like(ALLREDUCE)
    sources: list[Source] = []
    for team in np.unique(symmetry.alike).tolist():
        if len(groups[team]) < 2:
            continue
        rest = compute.difference(groups[team].tolist())
        able = ~np.isin(np.arange(base.vertices), list(rest))
        own = replace(
            base,
            nodes=groups[team],
            copies=base.copies & able,
            adds=base.adds & able,
            closed=rest if others == "vanish" else frozenset(),
        )
        back = own.turned()
        ways = (back, own) if both else (own if collective.like(ALLGATHER, BROADCAST) else back,)
        root = single[team].root
        places = sum_places(own) if both else groups[team] if root is None else np.array([root])
        amount = shards // single[team].shards(len(groups[team]))
        alike = symmetry.point_of[[own.point(vertex, team) for vertex in places.tolist()]]
        for first in np.unique(alike).tolist():
            vertex, many = int(places[alike == first][0]), int(np.count_nonzero(symmetry.point_of == first))
            pair = len(sources) // 2 if both else None
            sources += [
                Source(way, vertex, many, pair, amount=amount, team=team, single=both and not way.copies[vertex])
                for way in ways
            ]
    if len(sources) > MOST_SOURCES:
        raise TooLargeError(f"{len(sources)} trees that none is like are too many to prove; take fewer or like groups")
    many_teams = np.bincount(symmetry.alike, minlength=len(groups)).tolist()
    teams = tuple(many if len(group) > 1 else 0 for many, group in zip(many_teams, groups, strict=True))
    return Problem(fabric, collective, base, symmetry, tuple(sources), 1, teams)


def _symmetry(fabric: Fabric, collective: Collective, costs: Mapping[str, int] | None = None) -> Symmetry:
    """Return the automorphisms of a fabric that keep groups, or exchange them."""
    base = network_of(fabric, costs)
    teams = [one.members(base.vertices, fabric.topology.switches) for one in collective.single]
    base = replace(base, nodes=np.sort(np.concatenate(teams)), teams=tuple(tuple(team.tolist()) for team in teams))
    roots = [one.root for one in collective.single if one.root is not None]
    return find_symmetry(base, fixed=roots, names=fabric.names)
