"""The description of trees on a fabric."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from topodesign.base.cost import Rate
from topodesign.base.declared import Declared, key
from topodesign.base.units import format_rate, format_time
from topodesign.base.wording import counted
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.measure import TreeFigures, per_root, tree_figures
from topodesign.plans.orbit_trees import OrbitTrees
from topodesign.plans.trees import Trees


@dataclass(frozen=True)
class TreeFacts(Declared):
    """A schedule over trees on a fabric."""

    fabric: Fabric
    schedule: Trees | OrbitTrees

    KEYS = (
        key("fabric=fabric.name", "What it is called."),
        key("nodes=len(fabric.compute)", "Nodes that compute."),
        key("switches=len(fabric.topology.switches)", "Switches."),
        key("collective=schedule.collective.name", "What is done."),
        "method",
        key("concurrent=own.concurrent", "Whether both halves of an allreduce run at the same time."),
        "shards",
        "k",
        key("trees=schedule.sends", "Different trees."),
        key("height=reached.height", "Links of the longest way in a tree."),
        key("inv_x_star=reached.inverse_rate", "Seconds that a byte of a shard takes at best: 1/x*."),
        "*rate relays",
    )

    @property
    def own(self) -> Trees:
        """The trees, or those that a symmetry takes to all others."""
        return self.schedule.own

    @cached_property
    def reached(self) -> TreeFigures:
        """What the trees reach."""
        return tree_figures(self.fabric, self.schedule)

    @property
    def k(self) -> int | Fraction:
        """Trees per root."""
        return self.reached.k.numerator if self.reached.k.denominator == 1 else self.reached.k

    @property
    def method(self) -> str:
        """How it was made."""
        return "in-network" if len(self.own.relays) else "forest"

    @property
    def shards(self) -> dict[str, int] | None:
        """Sizes of shards by node, where --shards gave them; else null."""
        shard = self.own.shard
        names = (self.fabric.names[node] for node in self.fabric.compute)
        return None if shard is None else dict(zip(names, shard, strict=True))

    @property
    def rate(self) -> Rate:
        """The bandwidth."""
        return Rate(self.reached.bandwidth)

    @property
    def relays(self) -> list[str]:
        """Switches that add or copy in trees."""
        return [self.fabric.names[switch] for switch in self.own.relays.tolist()]


def tree_summary(fabric: Fabric, schedule: Trees | OrbitTrees) -> str:
    """Return the same for people."""
    reached, own, number = tree_figures(fabric, schedule), schedule.own, schedule.sends
    time = format_time(reached.inverse_rate * 10**9)
    groups = f" in {own.groups} groups at once" if own.groups > 1 else ""
    kept = f", kept as {len(own)}" if len(own) < number else ""
    lines = [
        f"algorithmic bandwidth {format_rate(reached.bandwidth)}{groups}, 1/x* = {time} per GB of shard",
        f"{per_root(fabric, schedule)}, {number} different ones{kept}, height {reached.height}",
    ]
    if len(own.relays):
        through = counted(len(own.relays), "switch", "switches")
        lines[1] = f"{counted(number, 'different tree')} through {through} that copy or add, height {reached.height}"
    elif own.collective.group is None and fabric.multicast | fabric.aggregation:
        lines.append("switches only forward in it; --algorithm in-network has them copy or add")
    return "\n".join(lines)
