"""Pipelines of chunks with a share of links: trees, paths, stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError
from topodesign.plans.chunk_ops import find_relays, routes_of, unfold_pieces
from topodesign.plans.flow import Flow, Flows
from topodesign.plans.kinds.kind import Kind
from topodesign.plans.measure import flow_claim, stages_claim
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.transfers import Transfers, add_up, transfers_of_rounds
from topodesign.plans.trees import flow_of_trees, relabelled
from topodesign.plans.unroll import ranks_of, unroll
from topodesign.topology.topology import IntArray, Topology

_OWN_UNITS = 2**30  # of a block where these differ in size
NO_ROUNDS = (
    "ranks add up for themselves here (one-shot), which rounds of shards do not say; simulate it, run it, compile it "
    "with --target msccl, mscclpp or jax, or take another --algorithm"
)


def check_by_ranks(kind: Kind[Any]) -> None:
    """Refuse sends in which a switch does a rank's work."""
    if len(kind.relays):
        name = kind.plan.fabric.names[int(kind.relays[0])]
        raise InfeasibleError(
            f"switch {name} adds or copies in these trees, and a switch is no rank; schedule without in-network trees, "
            "one-shot and two-level with --set by-ranks=yes"
        )


def check_one_part(parts: int) -> None:
    """Refuse successive parts of a plan that sends all at once."""
    if parts > 1:
        raise ParameterError("a one-shot allreduce has no parts that follow one another; omit parts")


class OfChunks(Kind[Flow]):
    """Trees, also folded ones, and paths."""

    movement, pace = Flow, "pipelines"

    @property
    def program(self) -> Literal["rounds", "trees"]:  # type: ignore[override]  # of other kinds all plans have the same
        return "rounds" if self.moved.rate is None else "trees"

    @property
    def words(self) -> str:  # type: ignore[override]
        """What its pieces are called in sentences."""
        return "paths" if self.moved.rate is None else "trees"

    @property
    def title(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the names of programs say of it."""
        return (self.words,)

    def in_rounds(self, parts: int = 1, /) -> tuple[Topology, Rounds]:
        if self.adds_up:
            raise InfeasibleError(NO_ROUNDS)
        if self.amounts is not None:
            raise InfeasibleError(
                "blocks differ in size here, and rounds and programs of this target have blocks of one size: compile "
                "with --target chakra, jax or mscclpp, run the plan, or simulate it"
            )
        return unroll(self.moved, parts)

    def measures(self) -> Mapping[str, Fraction]:
        return flow_claim(replace(self.moved, place=self.plan.fabric))

    @property
    def adds_up(self) -> bool:
        return self.moved.one_shot

    @property
    def amounts(self) -> tuple[int, ...] | None:
        flow = self.moved
        if flow.sizes is None or flow.rate is not None:
            return None
        return tuple(flow.sizes[flow.collective.blocks(flow.members, flow.nodes)].tolist())

    def padded(self) -> tuple[Topology, Rounds]:
        return ranks_of(*unroll(self.moved)) if self.amounts is not None else self.on_ranks()

    def transfers(self, parts: int = 1) -> tuple[Transfers, ...]:
        """Return the sends of ranks, uneven blocks in units of their own."""
        check_by_ranks(self)
        if self.adds_up and self.plan.collective.group is None:
            check_one_part(parts)
            return (add_up([replace(unfold_pieces(self.moved), sizes=None)]),)
        amounts = self.amounts
        if amounts is None:
            return super().transfers(parts)
        topology, rounds = unroll(self.moved, parts)
        found = transfers_of_rounds(rounds, topology.switches)
        units = np.array(amounts, dtype=np.int64)[found.block] * (self.moved.units * parts)
        if int(units.max(initial=0)) > _OWN_UNITS:
            raise TooLargeError("blocks are cut into too many units to be run; round the traffic")
        lo, hi = ((column.astype(object) * _OWN_UNITS // units).astype(np.int64) for column in (found.lo, found.hi))
        return (replace(found, units=_OWN_UNITS, lo=lo, hi=hi, amounts=amounts),)

    def apart(self) -> Iterator[Plan]:
        if self.moved.rate is None:
            yield from super().apart()
            return
        whole = self.plan.fabric
        for number, (one, trees) in enumerate(zip(self.plan.collective.single, self.plan.trees.alone(), strict=True)):
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
            moved = flow_of_trees(part, trees.having(collective=named, topology=part.topology, rate=rate, **columns))
            yield Plan(part, moved, flow_claim(moved) if len(trees) else {}, generator=self.plan.generator)

    @property
    def relays(self) -> IntArray:
        return find_relays(self.moved)

    def ways(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """Return the ways of sends through switches, by largest weight."""
        routes = routes_of(unfold_pieces(self.moved))
        hops, best = routes.hop.tolist(), dict[tuple[int, int], tuple[int, tuple[int, ...]]]()
        weights = routes.weight.tolist() if self.moved.rate is not None else [0] * len(routes.send)
        for weight, (start, end) in zip(weights, pairwise(routes.hop_start.tolist()), strict=True):
            ends = hops[start], hops[end - 1]
            if ends not in best or weight > best[ends][0]:
                best[ends] = weight, tuple(hops[start:end])
        return {ends: way for ends, (_, way) in best.items()}

    def image(self, order: IntArray) -> Plan:
        if self.moved.rate is None:
            return super().image(order)
        trees = relabelled(self.plan.trees, order)
        return replace(self.plan, movement=trees)


class OfStages(Kind[Flows]):
    """Trees of groups, stage by stage."""

    movement, words, pace, program, title = Flows, "stages", "pipelines", "stages", ("stages",)

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        """Refuse: rounds have one place for every sum."""
        raise InfeasibleError(NO_ROUNDS)

    @property
    def adds_up(self) -> bool:
        return True

    def transfers(self, parts: int = 1) -> tuple[Transfers, ...]:
        """Return the sends and sums of ranks."""
        check_by_ranks(self)
        check_one_part(parts)
        return (add_up(self.moved.each),)

    @property
    def relays(self) -> IntArray:
        return np.unique(np.concatenate([find_relays(one) for one in self.moved.each]))

    def measures(self) -> Mapping[str, Fraction]:
        return stages_claim([replace(one, place=self.plan.fabric) for one in self.moved.each])
