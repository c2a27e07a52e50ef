"""What there is to say about trees on a fabric, for people and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from topodesign.base.cost import Rate
from topodesign.base.declared import Declared, key
from topodesign.base.units import format_rate, format_time
from topodesign.base.wording import counted
from topodesign.fabrics.fabric import Fabric
from topodesign.optima.forest.pruning import Pruned, prune
from topodesign.plans.measure import TreeFigures, per_root, tree_figures
from topodesign.plans.trees import Trees


@dataclass(frozen=True, slots=True)
class Saved(Declared):
    """What switches that copy or add save of trees."""

    pruned: Pruned

    KEYS = (
        key("traffic_saved=pruned.saved", "Part of all traffic that switches which copy or add save."),
        key("node_traffic_saved=pruned.saved_at_nodes", "The same of what nodes send."),
        key("height=pruned.height", "Height of the trees then."),
    )


@dataclass(frozen=True)
class TreeFacts(Declared):
    """A schedule over trees on a fabric."""

    fabric: Fabric
    schedule: Trees

    KEYS = (
        key("fabric=fabric.name", "What it is called."),
        key("nodes=len(fabric.compute)", "Nodes that compute."),
        key("switches=len(fabric.topology.switches)", "Switches."),
        key("collective=schedule.collective.name", "What is done."),
        "method",
        key("concurrent=schedule.concurrent", "Whether both halves of an allreduce run at the same time."),
        "shards",
        "k",
        key("trees=len(schedule)", "Different trees."),
        key("height=reached.height", "Links of the longest way in a tree."),
        key("inv_x_star=reached.inverse_rate", "Seconds that a byte of a shard takes at best: 1/x*."),
        "*rate relays in_network",
    )

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
        return "in-network" if len(self.schedule.relays) else "forest"

    @property
    def shards(self) -> dict[str, int] | None:
        """Sizes of shards by node, where --shards gave them; else null."""
        return _shards(self.fabric, self.schedule)

    @property
    def rate(self) -> Rate:
        """The bandwidth."""
        return Rate(self.reached.bandwidth)

    @property
    def relays(self) -> list[str]:
        """Switches that add or copy in trees."""
        return [self.fabric.names[switch] for switch in self.schedule.relays.tolist()]

    @property
    def in_network(self) -> Saved | None:
        """With switches that copy or add; null without."""
        pruned = _in_network(self.fabric, self.schedule)
        return None if pruned is None else Saved(pruned)


def tree_summary(fabric: Fabric, schedule: Trees) -> str:
    """Return the same for people."""
    reached = tree_figures(fabric, schedule)
    time = format_time(reached.inverse_rate * 10**9)
    lines = [
        f"algorithmic bandwidth {format_rate(reached.bandwidth)}, 1/x* = {time} per GB of shard",
        f"{per_root(fabric, schedule)}, {len(schedule)} different ones, height {reached.height}",
    ]
    if len(schedule.relays):
        trees = counted(len(schedule), "different tree")
        through = counted(len(schedule.relays), "switch", "switches")
        lines[1] = f"{trees} through {through} that copy or add, height {reached.height}"
    pruned = _in_network(fabric, schedule)
    return "\n".join(lines if pruned is None else [*lines, str(pruned)])


def _shards(fabric: Fabric, schedule: Trees) -> dict[str, int] | None:
    if schedule.shard is None:
        return None
    return {fabric.names[node]: size for node, size in zip(fabric.compute, schedule.shard, strict=True)}


def _in_network(fabric: Fabric, schedule: Trees) -> Pruned | None:
    if len(schedule.relays) or not fabric.multicast | fabric.aggregation:
        return None
    return prune(schedule, fabric.multicast, fabric.aggregation)
