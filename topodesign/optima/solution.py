"""Solutions: throughput with proof, by any algorithm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from topodesign.base.claims import Claim, Of, Scope
from topodesign.base.cost import Rate
from topodesign.base.declared import Declared, key
from topodesign.base.units import format_rate
from topodesign.collectives import Collective
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.fabrics.wording import change_in_words, links_in_words, names_in_words, with_switches
from topodesign.optima.question import Question
from topodesign.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class BindingLink(Declared):
    """A link of the bottleneck."""

    src: str
    dst: str
    bandwidth: Fraction
    kind: str

    KEYS = (
        key("from=src", "A node or switch."),
        key("to=dst", "A node or switch."),
        key("bandwidth", "Bytes per second."),
        key("class=kind", "The class that the fabric gives it; nothing if none."),
    )
    SHARED = "binding_link"


@dataclass(frozen=True)
class BindingLimit(Declared):
    """A limit with a price, and how many are alike."""

    bandwidth: Fraction
    many: int
    links: tuple[str, str] | None = None  # of a link
    kind: str | None = None
    shared: str | None = None  # the name of one that links share

    KEYS = (
        key("links?", "Ends of one of the links."),
        key("class?=kind", "Its class."),
        key("shared?", "The name of one of the limits that links share."),
        key("bandwidth", "Bytes per second of one."),
        key("many", "How many are alike."),
    )


@dataclass(frozen=True, slots=True)
class Useful(Declared):
    """The range in which more bandwidth of a class is useful."""

    useful_factor: Fraction | None
    limit: Fraction | None

    KEYS = (
        key("useful_factor", "More than this is of no use; null: all is of use."),
        key("limit", "Bytes per second at that factor; null as above."),
    )


@dataclass(frozen=True, slots=True)
class Upgrade(Declared):
    """More bandwidth on a class, and the resulting throughput."""

    kind: str  # the class; "" for links that have none
    doubled: Fraction  # bytes per second with twice the bandwidth on these links
    gain: Fraction  # that over the bandwidth today, less 1
    useful: Useful | None = None  # up to where more is of use, if that is known

    KEYS = (
        key("class=kind", "The class of links."),
        key("doubled", "Bytes per second with these links twice as fast."),
        key("doubled_gain=float(gain)", "That over what it is now, less 1."),
        key("*useful"),
    )

    def describe(self) -> list[str]:
        """Return the class, the gain and its useful range, in words."""
        now = self.doubled / (1 + self.gain)
        cells = [self.kind or "links of no class", f"doubled {change_in_words(self.doubled, now)}"]
        if self.useful is None:
            return cells
        factor, limit = self.useful.useful_factor, self.useful.limit
        if factor is None or limit is None:
            return [*cells, "of use at any factor"]
        if factor == 1:
            return [*cells, "of no use alone"]
        return [*cells, f"of use up to x{float(factor):.4g} ({format_rate(limit)})"]


@dataclass(frozen=True, slots=True)
class LeastCost(Declared):
    """The least cost of all data at the best speed."""

    of_classes: Mapping[str, Fraction]
    total: Fraction  # per byte of a shard, or of a block
    bound: Fraction  # none that is as fast costs less

    KEYS = (
        key("of_classes", "What was given."),
        key("total", "For a unit of data in a shard, or in a block of an all-to-all, scatter or gather."),
        key("total_float=float(total)", "The same, rounded."),
        key("bound", "What none that is as fast costs less than."),
    )


@dataclass(frozen=True)
class Solution(Declared, ABC):
    """The throughput that an algorithm finds, with its bound.

    Algorithms derive from it: trees of nodes (:mod:`topodesign.optima.trees`), flows (:mod:`topodesign.optima.flows`)
    and fluid programs (:mod:`topodesign.optima.fluid`). :class:`topodesign.optima.optimum.Optimum` shows it.
    """

    question: Question
    # algorithmic bandwidth: bytes of the whole data (all shards together, or what the root has) per second
    bandwidth: Fraction

    METHOD: ClassVar[str]  # the algorithm, as JSON names it
    PIECE: ClassVar[str] = "shard"  # what the data of a node are called

    KEYS = (key("inv_x_star=inverse_rate", "Seconds that a byte of a shard takes at best: 1/x*."), "*rate")
    SHARED = "rates"

    @property
    def fabric(self) -> Fabric:
        """The nodes, switches and links that take part."""
        return self.question.fabric

    @property
    def collective(self) -> Collective:
        """The collective, with its root."""
        return self.question.collective

    @property
    def rate(self) -> Rate:
        """The bandwidth."""
        return Rate(self.bandwidth)

    @property
    def inverse_rate(self) -> Fraction:
        """1/x*: seconds per byte of a mean shard or block."""
        return self.collective.shards(len(self.fabric.compute)) / self.bandwidth

    @property
    @abstractmethod
    def bound(self) -> Fraction:
        """Algorithmic bandwidth that none of those in :attr:`among` exceeds."""

    @property
    @abstractmethod
    def among(self) -> Scope:
        """The schedules that the bound is about."""

    @property
    def missed(self) -> str:
        """Why the bound may not be reached, if it is not."""
        return ""

    @property
    def claim(self) -> Claim:
        """The claim of the bandwidth."""
        return Claim.to_bound(Of.RATE, self.bandwidth, self.among, self.bound, missed=self.missed)

    @property
    def proven(self) -> bool:
        """Whether nothing in :attr:`among` is faster."""
        return self.bandwidth == self.bound

    @property
    def least_cost(self) -> LeastCost | None:
        """The least cost at that speed, if costs count."""
        return None

    @property
    def cost(self) -> Fraction | None:
        """The cost of all data, per byte of a shard or block."""
        return None if self.least_cost is None else self.least_cost.total

    @cached_property
    def cut(self) -> frozenset[int]:
        """The sending side of a proving cut; empty if none."""
        return self.find_cut()

    @abstractmethod
    def find_cut(self) -> frozenset[int]:
        """Find such a cut."""

    @property
    @abstractmethod
    def priced(self) -> tuple[int, ...]:
        """Positions of priced links in ``fabric.links()``."""

    @cached_property
    def binding(self) -> tuple[int, ...]:
        """Positions of binding links in ``fabric.links()``."""
        if not self.cut:
            return self.priced
        topology = self.fabric.topology
        inside = np.isin(np.arange(topology.nodes), list(self.cut))
        return tuple(np.flatnonzero(inside[topology.src] & ~inside[topology.dst]).tolist())

    @property
    def limits(self) -> list[BindingLimit] | None:
        """The binding limits beside links, or None if unknown."""
        return None

    @property
    def links(self) -> list[FabricLink]:
        """The links that bind."""
        every = self.fabric.links()
        return [every[place] for place in self.binding]

    @property
    @abstractmethod
    def bottleneck(self) -> str:
        """Which links bind and what has to cross them, in words."""

    def bottleneck_rows(self) -> list[list[str]]:
        """Return a text row for each binding link or limit."""
        return [[f"{link.src} -> {link.dst}", format_rate(link.bandwidth), link.kind] for link in self.links]

    @property
    def plan_method(self) -> str:
        """The method of :func:`topodesign.schedule` whose plan reaches the bandwidth."""
        return self.METHOD

    @abstractmethod
    def solve_again(self, question: Question) -> Solution:
        """Solve another question in the same way."""

    def find_upgrades(self) -> list[Upgrade]:
        """Return the gain of doubling each class of links."""
        fabric, kinds = self.fabric, sorted(set(self.fabric.classes))
        if len(kinds) == 1 and not fabric.shared:  # all links: everything takes half the time
            return [Upgrade(kinds[0], 2 * self.bandwidth, Fraction(1))]
        # if the prices of other links alone prove the bound, they prove it with more bandwidth on these links, too
        priced = {fabric.classes[link] for link in self.priced} if self.proven else set()
        rows = []
        for kind in kinds:
            rate = self.bandwidth
            if not priced or kind in priced:
                rate = self.solve_again(replace(self.question, fabric=_double(fabric, kind), costs={})).bandwidth
            rows.append(Upgrade(kind, rate, rate / self.bandwidth - 1))
        return rows


def _double(fabric: Fabric, kind: str) -> Fabric:
    """Return the fabric with one class of links doubled."""
    topology = fabric.topology
    more = np.array([1 + (one == kind) for one in fabric.classes], dtype=np.int64)
    wider = Topology.from_arrays(
        topology.nodes, topology.src, topology.dst, topology.capacity * more, switches=topology.switches
    )
    return replace(fabric, topology=wider)


def describe_side(fabric: Fabric, cut: frozenset[int], links: Sequence[FabricLink]) -> tuple[str, bool, list[int]]:
    """Describe the load of a cut, from its smaller side.

    And whether that is the sending side, and the nodes of it.
    """
    sending = [node for node in fabric.compute if node in cut]
    receiving = [node for node in fabric.compute if node not in cut]
    out = (len(sending), len(cut)) < (len(receiving), len(fabric.names) - len(cut))
    side = sending if out else receiving
    where = names_in_words(fabric, side) + with_switches(fabric, side, [k.src if out else k.dst for k in links])
    rate = format_rate(sum((link.bandwidth for link in links), Fraction(0)))
    together, has = (" together", "have") if len(links) > 1 else ("", "has")
    said = f"{links_in_words(links)} of {where}, {rate}{together}, {has} to {'send out' if out else 'bring in'}"
    return said, out, side
