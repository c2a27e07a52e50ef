"""Weighted trees as columns: what tests look at and damage number by number, beside the flow that they say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.collectives import Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.optima.forest import schedule
from topodesign.plans.build import build_trees, lay_out
from topodesign.plans.chunk_ops import (
    count_adding,
    count_pieces,
    count_shards,
    find_height,
    find_inverse_rate,
    find_relays,
    find_teams,
    list_shards,
    routes_of,
    sort_sends,
    take_sends,
    unfold_pieces,
)
from topodesign.plans.flow import Flow, Routes
from topodesign.plans.flow_ops import reverse
from topodesign.plans.plan import Plan
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology

COLUMNS = ("root", "weight", "tree", "src", "dst", "route_edge", "route_weight", "hop_start", "hop")


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees with the routes of their edges, in-trees first."""

    collective: Collective
    topology: Topology
    rate: Fraction
    root: IntArray
    weight: IntArray
    tree: IntArray
    src: IntArray
    dst: IntArray
    route_edge: IntArray
    route_weight: IntArray
    hop_start: IntArray
    hop: IntArray
    reduce_trees: int = 0
    shard: tuple[int, ...] | None = None
    concurrent: bool = False
    fold: Symmetry | None = None

    def __post_init__(self) -> None:
        """Refuse what is no flow."""
        self.flow  # noqa: B018  made once, here
        for name in COLUMNS:
            getattr(self, name).setflags(write=False)

    @classmethod
    def of(cls, source: Flow | Plan | Trees) -> Trees:
        """The trees of a flow, or all of a plan."""
        if isinstance(source, Trees):
            return source
        whole = unfold_pieces(source.flow) if isinstance(source, Plan) else source
        flow = sort_sends(whole)
        routes, rate = routes_of(flow), flow.rate
        assert rate is not None
        columns = (flow.block, flow.weight, flow.piece, flow.src, flow.dst, *routes[:4])
        wide = [np.array(column, dtype=np.int64) for column in columns]
        more: dict[str, Any] = {"concurrent": flow.concurrent, "fold": flow.fold, "shard": list_shards(flow)}
        wide_columns: dict[str, Any] = dict(zip(COLUMNS, wide, strict=True))
        return cls(flow.collective, flow.topology, rate, **wide_columns, reduce_trees=count_adding(flow), **more)

    def on(self, place: Topology | Fabric) -> Flow:
        """Their flow."""
        routes = Routes(self.route_edge, self.route_weight, self.hop_start, self.hop)
        more: dict[str, Any] = {"shard": self.shard, "concurrent": self.concurrent, "fold": self.fold}
        roots, edges = (self.root, self.weight), (self.tree, self.src, self.dst)
        return build_trees(
            place, self.collective, roots, edges, routes, rate=self.rate, reduce_trees=self.reduce_trees, **more
        )

    def having(self, **changes: Any) -> Trees:
        """Other trees with some fields changed."""
        return replace(self, **changes)

    @cached_property
    def flow(self) -> Flow:
        """Their flow on their topology."""
        return self.on(self.topology)

    def reverse(self) -> Trees:
        """Reversed in time, on the transpose."""
        return Trees.of(reverse(self.flow))

    def some(self, chosen: NDArray[np.bool_]) -> Trees:
        """Some of them."""
        sends = np.flatnonzero(chosen[self.flow.piece])
        return Trees.of(lay_out(take_sends(self.flow, np.flatnonzero(chosen), sends)))

    @property
    def team(self) -> IntArray:
        """The group of every tree."""
        return find_teams(self.flow)

    def columns(self) -> dict[str, IntArray]:
        """All columns by name."""
        return {name: getattr(self, name) for name in COLUMNS}

    def unfold(self) -> Trees:
        """All images."""
        return Trees.of(unfold_pieces(self.flow))

    def __len__(self) -> int:
        return len(self.root)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trees) and self.flow == other.flow

    def __hash__(self) -> int:
        return hash(self.flow)

    @property
    def sends(self) -> int:
        """How many trees there are with images."""
        return count_pieces(self.flow)

    @property
    def height(self) -> int:
        """The greatest height."""
        return find_height(self.flow)

    @property
    def inverse_rate(self) -> Fraction:
        """1/x of ForestColl."""
        return find_inverse_rate(self.flow)

    @property
    def shards(self) -> Fraction:
        """Unit shards in all data."""
        return count_shards(self.flow)

    @cached_property
    def compute_nodes(self) -> IntArray:
        """The nodes that take part."""
        return self.flow.members

    @property
    def relays(self) -> IntArray:
        """The switches that add or copy."""
        return find_relays(self.flow)

    @property
    def one_shot(self) -> bool:
        """Whether ranks add up for themselves."""
        return self.flow.one_shot


def forest_schedule(topology: Topology, collective: Collective | str, **options: Any) -> Trees:
    """The trees that ForestColl makes."""
    return Trees.of(schedule.forest_schedule(topology, collective, **options))
