"""The description of trees on a fabric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from topodesign.base.cost import Rate
from topodesign.base.declared import Declared, key
from topodesign.base.units import format_rate, format_time
from topodesign.base.wording import count_noun
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.chunk_ops import count_pieces, find_relays, list_shards
from topodesign.plans.flow import Flow
from topodesign.plans.measure import chunk_claim, per_root


@dataclass(frozen=True)
class TreeFacts(Declared):
    """A schedule over trees on a fabric."""

    fabric: Fabric
    flow: Flow

    KEYS = (
        key("fabric=fabric.name", "What it is called."),
        key("nodes=len(fabric.compute)", "Nodes that compute."),
        key("switches=len(fabric.topology.switches)", "Switches."),
        key("collective=flow.collective.name", "What is done."),
        "method",
        key("concurrent=flow.concurrent", "Whether both halves of an allreduce run at the same time."),
        "shards",
        "k",
        "trees height inv_x_star *rate relays",
    )

    @cached_property
    def reached(self) -> Mapping[str, Fraction]:
        """What the trees reach, by the names of a claim."""
        return chunk_claim(self.flow)

    @property
    def k(self) -> int | Fraction:
        """Trees per root."""
        k = self.reached["k"]
        return k.numerator if k.denominator == 1 else k

    @property
    def trees(self) -> int:
        """Different trees."""
        return count_pieces(self.flow)

    @property
    def height(self) -> int:
        """Links of the longest way in a tree."""
        return int(self.reached["height"])

    @property
    def inv_x_star(self) -> Fraction:
        """Seconds that a byte of a shard takes at best: 1/x*."""
        return self.reached["inv_x_star"]

    @property
    def method(self) -> str:
        """How it was made."""
        return "in-network" if len(find_relays(self.flow)) else "forest"

    @property
    def shards(self) -> dict[str, int] | None:
        """Sizes of shards by node, where --shards gave them; else null."""
        shard = list_shards(self.flow)
        names = (self.fabric.names[node] for node in self.fabric.compute)
        return None if shard is None else dict(zip(names, shard, strict=True))

    @property
    def rate(self) -> Rate:
        """The bandwidth."""
        return Rate(self.reached["algorithmic_bandwidth"])

    @property
    def relays(self) -> list[str]:
        """Switches that add or copy in trees."""
        return [self.fabric.names[switch] for switch in find_relays(self.flow).tolist()]


def tree_summary(fabric: Fabric, flow: Flow) -> str:
    """Return the same for people."""
    reached, number, relays = chunk_claim(flow), count_pieces(flow), find_relays(flow)
    time, rate, height = (reached[name] for name in ("inv_x_star", "algorithmic_bandwidth", "height"))
    several = sum(len(one) > 1 for one in flow.collective.groups or ())
    groups = f" in {several} groups at once" if several > 1 else ""
    kept = f", kept as {len(flow.block)}" if len(flow.block) < number else ""
    lines = [
        f"algorithmic bandwidth {format_rate(rate)}{groups}, 1/x* = {format_time(time * 10**9)} per GB of shard",
        f"{per_root(flow)}, {number} different ones{kept}, height {height}",
    ]
    if len(relays):
        through = count_noun(len(relays), "switch", "switches")
        lines[1] = f"{count_noun(number, 'different tree')} through {through} that copy or add, height {height}"
    elif flow.collective.group is None and fabric.multicast | fabric.aggregation:
        lines.append("switches only forward in it; --algorithm in-network has them copy or add")
    return "\n".join(lines)
