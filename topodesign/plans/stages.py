"""Stages: an allreduce as successive collectives of groups.

A stage is trees of groups. In a *reduce-scatter* each member of a group gets its part of what the group has, added up;
in a *one-shot* all members send all they have and each adds up what it gets; in an *allgather* parts come together
again. So a box adds up inside, sends one sum to every other box, and spreads what comes of it: what one root for each
part of the data, as trees of one collective have, cannot say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from topodesign.base.errors import FileFormatError, ScheduleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.plans.archive import read_fraction
from topodesign.plans.movement import Column, Field, Movement
from topodesign.plans.trees import Trees
from topodesign.topology.topology import IntArray, Topology

DOES = (REDUCE_SCATTER, ALLREDUCE, ALLGATHER)
"""What a stage does; an allreduce is one-shot."""
_COLUMNS = ("root", "weight", "tree", "src", "dst", "route_edge", "route_weight", "hop_start", "hop")
Part = tuple[Fraction, Fraction]
"""From where to where of the whole data, as shares of it."""


def _rates(header: Mapping[str, Any], name: str) -> tuple[Fraction, ...]:
    values = header.get(name)
    if not isinstance(values, list):
        raise FileFormatError(f"'{name}' in header.json must be a list")
    return tuple(read_fraction({name: value}, name) for value in values)


@dataclass(frozen=True, eq=False)
class Stages(Movement):
    """Trees of all stages, in their order."""

    kind: ClassVar = "stages"
    FIELDS: ClassVar = {"rates": Field(_rates, lambda rates: list(map(str, rates)))}
    TABLES: ClassVar = {
        **Trees.TABLES,
        "stages": (
            Column("does", "0 reduce-scatter, 1 one-shot allreduce, 2 allgather"),
            Column("trees", "trees of the stage"),
        ),
    }

    collective: Collective  # an allreduce of all nodes that compute
    topology: Topology  # the physical fabric, switches included
    rates: tuple[Fraction, ...]  # capacity that a unit of weight takes in each stage
    does: IntArray
    trees: IntArray
    root: IntArray
    weight: IntArray
    tree: IntArray
    src: IntArray
    dst: IntArray
    route_edge: IntArray
    route_weight: IntArray
    hop_start: IntArray
    hop: IntArray

    def __post_init__(self) -> None:
        self.take_over()
        if not self.collective.like(ALLREDUCE) or self.collective.group is not None:
            raise ScheduleError(f"stages are an allreduce of all nodes, not {self.collective!r}")
        self.check_ranges(does=(0, len(DOES) - 1), trees=(1, len(self.root)))
        if not len(self.does) or len(self.rates) != len(self.does) or int(self.trees.sum()) != len(self.root):
            raise ScheduleError("every stage has a rate and trees, and every tree is of a stage")
        _ = self.each

    @classmethod
    def of(cls, stages: Sequence[Trees]) -> Stages:
        """Return trees of groups one after the other."""
        before = dict.fromkeys(("tree", "route_edge", "hop_start"), 0)
        columns: dict[str, list[IntArray]] = {name: [] for name in _COLUMNS}
        for one in stages:
            for name in _COLUMNS:
                column = getattr(one, name) + before.get(name, 0)
                columns[name].append(column[1:] if name == "hop_start" and before[name] else column)
            for name, more in (("tree", one.root), ("route_edge", one.tree), ("hop_start", one.hop)):
                before[name] += len(more)
        does = [next(at for at, known in enumerate(DOES) if one.collective.like(known)) for one in stages]
        return cls(
            ALLREDUCE,
            stages[0].topology,
            tuple(one.rate for one in stages),
            np.array(does, dtype=np.int64),
            np.array([len(one) for one in stages], dtype=np.int64),
            **{name: np.concatenate(some) for name, some in columns.items()},
        )

    @cached_property
    def each(self) -> tuple[Trees, ...]:
        """The trees of every stage, of all its groups."""
        columns = {name: getattr(self, name) for name in _COLUMNS}
        whole = Trees(collective=ALLGATHER, topology=self.topology, rate=Fraction(1), reduce_trees=0, **columns)
        stage = np.repeat(np.arange(len(self.does)), self.trees)
        found = []
        for number, (does, rate) in enumerate(zip(self.does.tolist(), self.rates, strict=True)):
            mine = whole.some(stage == number)
            one = DOES[does].within(_groups(mine))
            adds = len(mine) if one.like(REDUCE_SCATTER) else 0
            found.append(mine.having(collective=one, rate=rate, reduce_trees=adds))
        return tuple(found)

    @cached_property
    def parts(self) -> tuple[dict[int, Part], ...]:
        """The data of every node before each stage, and after the last.

        Members of a group that has different parts before a reduce-scatter or one-shot, or parts that do not follow one
        another before an allgather, raise ScheduleError.
        """
        nodes = self.collective.members(self.topology.nodes, self.topology.switches).tolist()
        now: dict[int, Part] = dict.fromkeys(nodes, (Fraction(0), Fraction(1)))
        found = [now]
        for number, one in enumerate(self.each):
            after, groups = dict(now), one.collective.groups or (one.collective.group or (),)
            if len(set(map(len, groups))) > 1:
                raise ScheduleError(f"stage {number}: groups differ in size")
            for group in groups:
                some = [now[node] for node in group]
                lo, hi = some[0][0], some[-1][1]
                if one.collective.like(ALLGATHER):
                    right = all(a[1] == b[0] for a, b in pairwise(some))
                    right &= len({b - a for a, b in some}) == 1
                else:
                    right = len(set(some)) == 1
                if not right:
                    raise ScheduleError(f"stage {number}: nodes of a group have parts of the data that do not fit")
                share = (hi - lo) / len(group)
                for at, node in enumerate(group):
                    cut = lo + at * share, lo + (at + 1) * share
                    after[node] = cut if one.collective.like(REDUCE_SCATTER) else (lo, hi)
            now = after
            found.append(now)
        return tuple(found)

    def share(self, number: int) -> Fraction:
        """Return a group's share of the data, where it is larger."""
        gathers = self.each[number].collective.like(ALLGATHER)
        lo, hi = next(iter(self.parts[number + gathers].values()))
        return hi - lo

    @property
    def height(self) -> int:
        """Sends on the longest way, added over the stages."""
        return sum(one.height for one in self.each)

    @cached_property
    def inverse_rate(self) -> Fraction:
        """Time by bandwidth for unit data, per unit of capacity."""
        total = Fraction(0)
        for number, one in enumerate(self.each):
            for alone in one.alone():
                if len(alone):
                    times = len(alone.compute_nodes) if alone.one_shot else 1
                    total += times * self.share(number) / (int(alone.weight.sum()) * alone.rate)
                    break
        return total

    @cached_property
    def relays(self) -> IntArray:
        """The switches that add or copy, ascending."""
        return np.unique(np.concatenate([one.relays for one in self.each]))

    def __repr__(self) -> str:
        return f"<Stages {self.collective}, {', '.join(DOES[one].name for one in self.does.tolist())}>"


def _groups(trees: Trees) -> list[list[int]]:
    """Return the nodes joined by trees, and single ones."""
    from scipy.sparse import coo_array  # noqa: PLC0415  heavy
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    web = coo_array((np.ones(len(trees.src)), (trees.src, trees.dst)), shape=(trees.topology.nodes,) * 2)
    label = connected_components(web, directed=False)[1].tolist()
    groups: dict[int, list[int]] = {}
    for node in trees.compute_nodes.tolist():
        groups.setdefault(label[node], []).append(node)
    return sorted(groups.values())
