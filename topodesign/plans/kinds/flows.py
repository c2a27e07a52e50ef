"""The protocol of step flows: whole, folded, routed or circuits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Literal

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.plans.flow import Flow, Flows
from topodesign.plans.flow_ops import concatenate, flow_of_rounds, relabel, rounds_of_flow
from topodesign.plans.kinds.kind import Kind
from topodesign.plans.measure import flow_claim
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.time.clock import list_steps
from topodesign.plans.transfers import Transfers, transfers_of_flow
from topodesign.topology.topology import IntArray, Topology

_WORDS = MappingProxyType({"routed": "routed rounds", "orbitrounds": "orbits", "timed": "timed sends"})


class OfFlow(Kind[Flow]):
    """A flow in steps or by the clock."""

    movement = Flow

    @property
    def words(self) -> str:  # type: ignore[override]  # of other kinds all plans have the same
        """What its sends are called in sentences."""
        return _WORDS.get(self.moved.kind, self.moved.kind)

    @property
    def title(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the names of programs say of it."""
        return () if self.moved.kind in {"rounds", "orbitrounds"} else (self.moved.kind,)

    @property
    def pace(self) -> Literal["steps", "times"]:  # type: ignore[override]
        """What its time is made of."""
        return "times" if self.moved.model == "clock" else "steps"

    @property
    def streams(self) -> tuple[Flow, ...]:
        return (self.moved,) if self.moved.model == "clock" else ()

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        """Return the rounds; routed sends on the graph of their ends."""
        if self.moved.model == "clock":
            return self.plan.topology, list_steps(self.moved)
        topology, rounds = self.plan.topology, rounds_of_flow(self.moved)
        if self.moved.routes is None:
            return topology, rounds
        ends = np.unique(rounds.src.astype(np.int64) * topology.nodes + rounds.dst)
        pairs = np.divmod(ends, topology.nodes)
        return Topology.from_arrays(topology.nodes, *pairs, switches=topology.switches), rounds

    def measures(self) -> Mapping[str, Fraction]:
        return {"time": self.moved.time} if self.moved.model == "clock" else flow_claim(self.moved)

    def transfers(self, parts: int = 1) -> tuple[Transfers, ...]:
        self.check_parts(parts)
        if self.moved.model == "clock":
            return (transfers_of_flow(self.moved, Fraction(1)),)
        return super().transfers(parts)

    def ways(self) -> dict[tuple[int, int], tuple[int, ...]]:
        return {} if self.moved.routes is None or self.moved.model == "clock" else self.moved.routes.ways

    @property
    def changes(self) -> tuple[int, ...]:
        circuits = self.moved.circuits
        return () if circuits is None else tuple(circuits.begin[1:].tolist())

    def image(self, order: IntArray) -> Plan:
        if self.moved.model == "clock":
            return super().image(order)
        circuits = self.moved.circuits
        if circuits is None:
            return replace(self.plan, movement=relabel(self.moved, order, self.plan.place))
        union = circuits._replace(src=order[circuits.src], dst=order[circuits.dst]).union(self.moved.nodes)
        return replace(self.plan, place=union, movement=relabel(self.moved, order, union), spec=None)

    def alone(self, place: Topology, rounds: Rounds, members: Sequence[int]) -> Plan:
        circuits = self.moved.circuits
        if circuits is None:
            return super().alone(place, rounds, members)
        number = np.full(self.moved.nodes, -1)
        number[list(members)] = np.arange(len(members))
        src, dst = number[circuits.src], number[circuits.dst]
        mine = (src >= 0) & (dst >= 0)
        own = circuits._replace(
            phase=circuits.phase[mine],
            src=src[mine],
            src_port=circuits.src_port[mine],
            dst=dst[mine],
            dst_port=circuits.dst_port[mine],
        )
        union = own.union(len(members))
        moved = flow_of_rounds(union, rounds, circuits=own)
        return Plan(union, moved, flow_claim(moved), generator=self.plan.generator)

    def then(self, other: Plan) -> Flow:
        return concatenate(self.moved, self.like(other))


class OfFlows(Kind[Flows]):
    """Clock flows of several collectives on shared links."""

    movement, words, pace = Flows, "timed sends of several collectives", "times"

    @property
    def streams(self) -> tuple[Flow, ...]:
        return self.moved.each

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        """Refuse: rounds are of one collective."""
        raise InfeasibleError("several collectives at the same time have no steps in common")

    def measures(self) -> Mapping[str, Fraction]:
        each = {f"time_{number}": one.time for number, one in enumerate(self.streams)}
        return {"time": self.moved.time, **each}

    def transfers(self, parts: int = 1) -> tuple[Transfers, ...]:
        self.check_parts(parts)
        whole = self.size or Fraction(1)
        return tuple(transfers_of_flow(one, one.timing.size / whole) for one in self.streams)
