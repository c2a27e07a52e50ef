"""Kinds whose data flow in pipelines of chunks, each with a share of its links: trees, paths, and trees in stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError
from topodesign.plans.kinds.kind import Kind
from topodesign.plans.measure import path_claim, tree_figures
from topodesign.plans.orbit_trees import OrbitTrees
from topodesign.plans.paths import Paths
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.stages import Stages
from topodesign.plans.transfers import Transfers, added, transfers_of_rounds
from topodesign.plans.trees import Trees, relabelled
from topodesign.plans.unroll import ranks_of, unroll, unroll_paths
from topodesign.topology.topology import IntArray, Topology

_OWN_UNITS = 2**30  # of a block where these differ in size
NO_ROUNDS = (
    "ranks add up for themselves here (one-shot), which rounds of shards do not say; simulate it, run it, compile it "
    "with --target msccl, mscclpp or jax, or take another --algorithm"
)


def check_by_ranks(kind: Kind[Any]) -> None:
    """Refuse what a switch has to do the work of a rank for."""
    if len(kind.relays):
        name = kind.plan.fabric.names[int(kind.relays[0])]
        raise InfeasibleError(
            f"switch {name} adds or copies in these trees, and a switch is no rank; schedule without in-network trees, "
            "one-shot and two-level with --set by-ranks=yes"
        )


def check_one_part(parts: int) -> None:
    """Refuse parts that follow one another where all is sent at once."""
    if parts > 1:
        raise ParameterError("a one-shot allreduce has no parts that follow one another; omit parts")


class OfTrees(Kind[Trees]):
    """Weighted spanning trees."""

    movement, words, pace, program, title = Trees, "trees", "pipelines", "trees", ("trees",)

    @property
    def kept(self) -> Trees | OrbitTrees:
        """The trees as the plan keeps them: written out, or folded."""
        return self.moved

    def in_rounds(self, parts: int = 1, /) -> tuple[Topology, Rounds]:
        if self.adds_up:
            raise InfeasibleError(NO_ROUNDS)
        return unroll(self.moved, parts)

    def measures(self) -> Mapping[str, Fraction]:
        return tree_figures(self.plan.fabric, self.kept).claim()

    @property
    def adds_up(self) -> bool:
        return self.kept.own.one_shot

    def transfers(self, parts: int = 1) -> tuple[Transfers, ...]:
        """Return what ranks send, if no switch has to do the work of one."""
        check_by_ranks(self)
        if self.adds_up and self.plan.collective.group is None:
            check_one_part(parts)
            return (added(Stages.of([self.moved.having(shard=None)])),)
        return super().transfers(parts)

    def apart(self) -> Iterator[Plan]:
        whole = self.plan.fabric
        for number, (one, trees) in enumerate(zip(self.plan.collective.single, self.moved.alone(), strict=True)):
            names = [whole.names[node] for node in one.group or ()]
            strays = np.isin(trees.hop, list(trees.topology.switches - whole.topology.switches))
            if strays.any():
                raise InfeasibleError(
                    f"node {whole.names[trees.hop[strays][0]]} passes on data of group {number}, of which it is no "
                    "member, and a program is run by members alone; make the schedule with --no-forward"
                )
            part = whole.only(names, forward=False)
            place = {name: at for at, name in enumerate(part.names)}
            order = np.array([place.get(name, -1) for name in whole.names], dtype=np.int64)
            columns = {name: order[getattr(trees, name)] for name in ("root", "src", "dst", "hop")}
            root = trees.collective.root
            named = trees.collective if root is None else trees.collective.at(int(order[root]))
            rate = trees.rate * whole.unit / part.unit  # the same in units of the part, which may be larger
            moved = trees.having(collective=named, topology=part.topology, rate=rate, **columns)
            claim = tree_figures(part, moved).claim() if len(moved) else {}
            yield Plan(part, moved, claim, generator=self.plan.generator)

    @property
    def relays(self) -> IntArray:
        return self.kept.own.relays

    def ways(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """Return the way of tree edges through switches, of several the one with the largest weight."""
        hops, starts = self.moved.hop.tolist(), self.moved.hop_start.tolist()
        best: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {}
        for weight, (start, end) in zip(self.moved.route_weight.tolist(), pairwise(starts), strict=True):
            ends = hops[start], hops[end - 1]
            if ends not in best or weight > best[ends][0]:
                best[ends] = weight, tuple(hops[start:end])
        return {ends: way for ends, (_, way) in best.items()}

    def image(self, order: IntArray) -> Plan:
        return replace(self.plan, movement=relabelled(self.moved, order))


class OfOrbitTrees(OfTrees):
    """A compressed form of trees: replay, figures and time work on the orbits, all else on the trees one by one."""

    movement = OrbitTrees  # type: ignore[assignment]  # which unfolds to trees

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @property
    def kept(self) -> OrbitTrees:
        return self.plan.moving(OrbitTrees)

    @cached_property
    def moved(self) -> Trees:  # type: ignore[override]  # what others have from the start
        trees: Trees = self.kept.unfold()
        return trees


class OfPaths(Kind[Paths]):
    """Weighted paths of blocks."""

    movement, words, pace, title = Paths, "paths", "pipelines", ("paths",)

    def in_rounds(self, parts: int = 1, /) -> tuple[Topology, Rounds]:
        if self.moved.amounts is not None:
            raise InfeasibleError(
                "blocks differ in size here, and rounds and programs of this target have blocks of one size: compile "
                "with --target chakra, jax or mscclpp, run the plan, or simulate it"
            )
        return unroll_paths(self.moved, parts)

    @property
    def amounts(self) -> tuple[int, ...] | None:
        return self.moved.amounts

    def padded(self) -> tuple[Topology, Rounds]:
        return ranks_of(*unroll_paths(self.moved))

    def transfers(self, parts: int = 1) -> tuple[Transfers, ...]:
        """Return what ranks send, of blocks that differ in size in units of each block's own."""
        amounts = self.moved.amounts
        if amounts is None:
            return super().transfers(parts)
        topology, rounds = unroll_paths(self.moved, parts)
        found = transfers_of_rounds(rounds, topology.switches)
        units = np.array(amounts, dtype=np.int64)[found.block] * (self.moved.units * parts)
        if int(units.max(initial=0)) > _OWN_UNITS:
            raise TooLargeError("blocks are cut into too many units to be run; round the traffic")
        lo, hi = ((column.astype(object) * _OWN_UNITS // units).astype(np.int64) for column in (found.lo, found.hi))
        return (replace(found, units=_OWN_UNITS, lo=lo, hi=hi, amounts=amounts),)

    def measures(self) -> Mapping[str, Fraction]:
        return path_claim(self.plan.fabric, self.moved)

    def ways(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """Return the way from node to node of the paths through switches."""
        switches, found = self.plan.topology.switches, dict[tuple[int, int], tuple[int, ...]]()
        hops = self.moved.hop.tolist()
        for start, end in pairwise(self.moved.hop_start.tolist()):
            way: list[int] = []
            for vertex in hops[start:end]:
                way.append(vertex)
                if vertex not in switches:
                    found.setdefault((way[0], vertex), tuple(way))
                    way = [vertex]
        return {ends: way for ends, way in found.items() if len(way) > 1}


class OfStages(Kind[Stages]):
    """Trees of groups, stage by stage."""

    movement, words, pace, program, title = Stages, "stages", "pipelines", "stages", ("stages",)

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        """Refuse: rounds have one place for every sum."""
        raise InfeasibleError(NO_ROUNDS)

    @property
    def adds_up(self) -> bool:
        return True

    def transfers(self, parts: int = 1) -> tuple[Transfers, ...]:
        """Return what ranks send and add up, if no switch has to do the work of one."""
        check_by_ranks(self)
        check_one_part(parts)
        return (added(self.moved),)

    @property
    def relays(self) -> IntArray:
        return self.moved.relays

    def measures(self) -> Mapping[str, Fraction]:
        return {
            "height": Fraction(self.moved.height),
            "algorithmic_bandwidth": self.plan.fabric.unit / self.moved.inverse_rate,
        }
