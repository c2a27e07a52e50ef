"""How fast collectives can be over trees on a fabric, what keeps them from being faster, and what would help."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from topodesign.base.claims import FASTEST_OF_COLUMN, Among, Claim, Of
from topodesign.base.cost import Rate
from topodesign.base.declared import Declared, key, keys_of
from topodesign.base.errors import InfeasibleError
from topodesign.base.latency import USUAL, Latency
from topodesign.base.records import TextResult
from topodesign.base.units import format_rate, format_size, format_time
from topodesign.base.wording import counted
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.node_values import latency_words
from topodesign.fabrics.wording import FABRIC_KEYS, change_in_words, in_columns
from topodesign.optima.alternatives import (
    BestAllreduce,
    Limited,
    Upgrade,
    best_allreduce,
    limited,
    smallest_number_of_trees,
    trade_offs,
    upgrades,
)
from topodesign.optima.flow_optimum import BindingLink, Doubled
from topodesign.optima.question import Question
from topodesign.optima.throughput import Throughput, best_throughput, bottleneck_in_words, cut_bound

_MOST_LINKS = 8  # links of a bottleneck that are shown one by one
_IN_TURN = "reduce-scatter, then allgather"


@dataclass(frozen=True, slots=True)
class Widened(Doubled):
    """What more bandwidth would buy, and up to where."""

    useful_factor: Fraction | None
    limit: Fraction | None

    KEYS = (
        *keys_of(Doubled.KEYS),
        key("useful_factor", "More than this is of no use; null: all is of use."),
        key("limit", "Bytes per second at that factor; null as above."),
    )


@dataclass(frozen=True, slots=True)
class Unlimited(Declared):
    """What any number of trees reaches."""

    trees: int  # trees per root
    best: Throughput

    KEYS = "k=trees *best"


@dataclass(frozen=True, slots=True)
class AnyAllreduce(Declared):
    """What is known of any allreduce."""

    found: FabricOptimum

    KEYS = (
        "*rate",
        key("bound=best.bound", "Bytes per second that nothing beats; null if not asked for."),
        key("proven", "Whether the bound is reached.", kind=bool, value=lambda one: bool(one.best and one.best.proven)),
        key("proof_covers=found.proof_covers", "What the bound holds for."),
        key("composed=found.best", "A reduce-scatter and then an allgather."),
        key("composed_is_best=best.composed_is_best", "Whether nothing beats that; null if not asked for."),
        key(
            "in_network",
            "Whether switches copy and add in it (--method in-network).",
            kind=bool,
            value=lambda one: bool(one.best and one.best.in_network),
        ),
        key("in_words=found.proof_in_words", "The same in words."),
    )

    @property
    def best(self) -> BestAllreduce | None:
        """The best one."""
        return self.found.best_allreduce

    @property
    def rate(self) -> Rate:
        """Its bandwidth."""
        return Rate((self.best or self.found.best).bandwidth)


@dataclass(frozen=True, repr=False)
class FabricOptimum(TextResult):
    """The best throughput of collectives on a fabric, what limits it, and what other choices reach."""

    question: Question  # what was asked
    best: Throughput  # the best throughput of the collective that was asked for, with its bottleneck
    # the best throughput of the whole fabric, where only a part of it is left and the whole had one
    before: Throughput | None = None
    fixed_k: int | None = None  # which numbers of trees per root were asked for
    scan: int = 0
    compare: bool = False
    sizes: tuple[Fraction, ...] = ()  # bytes, and what messages take beside these, for the times of numbers of trees
    latency: Latency = USUAL
    asks_for_proof: bool = True  # whether the best allreduce of any kind was asked for

    KEYS = (
        *FABRIC_KEYS,
        key("collective=best.collective.name", "Whose bottleneck is told."),
        key("shards", "Sizes of shards by node, where --shards gave them; else null."),
        key("k", "Trees per root that reach the optimum; with --fixed-k so many."),
        key("inv_x_star=reached.inverse_rate", "Seconds that a byte of a shard takes at best: 1/x*."),
        "*rate",
        key("bound", "Bytes per second that none of what proof_covers names exceeds, an allreduce of any kind too."),
        key("proven", "Whether the bandwidth reaches the bound."),
        key("proof_covers", "What the bound holds for."),
        "claims",
        key("proposition_3_k=best.trees", "Trees per root by the formula of the paper's Proposition 3."),
        "bottleneck_cut bottleneck_links bottleneck",
        key(
            "collectives",
            "The best of each collective, an allreduce as a reduce-scatter and then an allgather.",
            kind=dict[str, Throughput],
            value=lambda one: {other.collective.name: other for other in one.collectives},
        ),
        "sensitivity",
        key("best_allreduce?=any_allreduce", "What is known of any allreduce."),
        key("optimum?=unlimited", "With --fixed-k: what any number of trees reaches."),
        key("height?=fixed.height", "With --fixed-k: links of the longest way in a tree."),
        key("times_s?=float(fixed.times)", "With --fixed-k: seconds for each --size."),
        key("scan?", "With --scan.", kind=list[Limited], value=lambda one: one.scanned or None),
        key(
            "frontier?",
            "With --frontier: those that pay.",
            kind=list[Limited],
            value=lambda one: one.trade_offs if one.compare else None,
        ),
        "*told_latency",
        key("sizes_bytes?=number(told_sizes)", "With --size: the sizes, in bytes."),
        key("before?", "With --without: before the failure."),
    )

    @property
    def fabric(self) -> Fabric:
        """What takes part."""
        return self.question.fabric

    @property
    def shards(self) -> dict[str, int] | None:
        """Relative shard sizes by name, where they differ."""
        if self.question.shards is None:
            return None
        names = (self.fabric.names[node] for node in self.fabric.compute)
        return dict(zip(names, self.question.shards, strict=True))

    @cached_property
    def trees(self) -> int:
        """The smallest number of trees per root that reaches the optimum."""
        return smallest_number_of_trees(self.question)

    @cached_property
    def collectives(self) -> list[Throughput]:
        """The best throughput of allgather, reduce-scatter and allreduce, if they exist, or of the one with a root."""
        if self.question.root is not None:
            return [self.best]
        found = []
        for one in (ALLGATHER, REDUCE_SCATTER, ALLREDUCE):
            try:
                found.append(best_throughput(replace(self.question, collective=one, before=None)))
            except InfeasibleError:  # where links failed one way, nodes without a shard may get data and send none
                continue
        return found

    @cached_property
    def upgrades(self) -> list[Upgrade]:
        """What more bandwidth on each class of links would buy."""
        return upgrades(self.question)

    @cached_property
    def fixed(self) -> Limited | None:
        """What ``fixed_k`` trees per root reach, if that was asked for."""
        if self.fixed_k is None:
            return None
        return limited(self.question, [self.fixed_k], latency=self.latency, sizes=self.sizes)[0]

    @cached_property
    def scanned(self) -> list[Limited]:
        """What 1 to ``scan`` trees per root reach."""
        return limited(self.question, range(1, self.scan + 1), latency=self.latency, sizes=self.sizes)

    @cached_property
    def trade_offs(self) -> list[Limited]:
        """The numbers of trees per root that pay: none beats them in both bandwidth and height."""
        return trade_offs(self.question, latency=self.latency, sizes=self.sizes)

    @cached_property
    def best_allreduce(self) -> BestAllreduce | None:
        """The best allreduce that need not be a reduce-scatter and then an allgather; not known with shard sizes."""
        return None if self.question.shards is not None else best_allreduce(self.fabric)

    @cached_property
    def bound(self) -> Fraction:
        """Algorithmic bandwidth that nothing exceeds of what :attr:`proof_covers` names; of an allreduce, none does."""
        return self._bound_of(self.best)

    def _bound_of(self, one: Throughput) -> Fraction:
        """Return what a collective does not exceed, in whatever way it is done: an allreduce need not be two phases."""
        composed = len(one.collective.parts) > 1
        if composed and self._has_proof and self.best_allreduce is not None:
            return self.best_allreduce.bound
        if composed or self._capable:
            return cut_bound(replace(self.question, collective=one.collective))
        return one.bound

    @property
    def proven(self) -> bool:
        """Whether nothing exceeds the throughput of the collective, as far as :attr:`proof_covers` says."""
        return self.claims[0].proven

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What is said of the throughput; of an allreduce also as one after the other, and of the best of any kind."""
        best, missed = self.best, ""
        if self.question.composed:
            other = self.best_allreduce if self._has_proof else None
            missed = "by cuts alone: an allreduce of another kind was not asked for" if other is None else other.missed
        elif self._capable:
            missed = "trees through switches that copy or add are not looked for here: --method fluid does"
        own = Claim.to_bound(Of.RATE, best.bandwidth, self._among, self.bound, missed=missed)
        if not self.question.composed:
            return (own,)
        claims = [own]
        if self.question.shards is None:
            claims.append(Claim.to_bound(Of.RATE, best.bandwidth, Among.IN_TURN, best.bound))
        return (*claims, *(() if other is None else (other.claim,)))

    @property
    def proof_covers(self) -> str:
        """Which schedules the bound is about."""
        return self._among.several

    @property
    def _among(self) -> Among:
        return Among.over_trees(capable=self._capable)

    @property
    def _capable(self) -> bool:
        return bool(self.fabric.multicast | self.fabric.aggregation)

    def proof_in_words(self) -> str:
        """Say whether an allreduce of another kind is faster."""
        best = self.best_allreduce
        if best is None:
            return "whether an allreduce of another kind is faster is not known: not asked with --shards"
        if best.bandwidth == best.composed:
            return f"a reduce-scatter and then an allgather: {best.composed_claim}"
        kind = "in which switches copy and add (--method in-network)" if best.in_network else "of another kind"
        return f"an allreduce {kind} reaches {format_rate(best.bandwidth)}: {best.claim}"

    @property
    def _has_proof(self) -> bool:
        return self.asks_for_proof and self.question.composed

    @property
    def reached(self) -> Throughput | Limited:
        """What the trees reach that were asked for."""
        return self.fixed or self.best

    @property
    def k(self) -> int:
        """Trees per root."""
        return self.trees if self.fixed is None else self.fixed.trees

    @property
    def rate(self) -> Rate:
        """The bandwidth."""
        return self.reached.rate

    @property
    def unlimited(self) -> Unlimited | None:
        """What any number of trees reaches, where some number was asked for."""
        return None if self.fixed is None else Unlimited(self.trees, self.best)

    @property
    def any_allreduce(self) -> AnyAllreduce | None:
        """What is known of any allreduce, if that was asked for."""
        return AnyAllreduce(self) if self._has_proof else None

    @property
    def bottleneck_cut(self) -> list[str]:
        """Nodes and switches on the sending side of the tightest cut."""
        return [self.fabric.names[vertex] for vertex in sorted(self.best.cut)]

    @property
    def bottleneck_links(self) -> list[BindingLink]:
        """The links out of it."""
        return [BindingLink(*link) for link in self.best.links(self.fabric)]

    @property
    def bottleneck(self) -> str:
        """The same in words."""
        return bottleneck_in_words(self.fabric, self.best)

    @property
    def sensitivity(self) -> list[Widened]:
        """What more bandwidth would buy."""
        now = self.best.bandwidth
        return [Widened(u.kind, u.doubled, u.doubled / now - 1, u.useful_factor, u.limit) for u in self.upgrades]

    @property
    def told_latency(self) -> Latency | None:
        """The latency of the times that are told, if any are."""
        return self.latency if self.sizes else None

    @property
    def told_sizes(self) -> tuple[Fraction, ...] | None:
        """The sizes, if there are any."""
        return self.sizes or None

    def heading(self) -> str:
        """Return the throughput."""
        return f"{self.best.collective} on {self.fabric.name}: {format_rate(self.best.bandwidth)}"

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for each collective."""
        return [
            {
                "collective": one.collective.name,
                "algorithmic_bandwidth": one.bandwidth,
                "inv_x_star": one.inverse_rate,
                "bound": self._bound_of(one),
            }
            for one in self.collectives
        ]

    def __str__(self) -> str:
        fabric, best = self.fabric, self.best
        rows = [
            [one.collective.name, format_rate(one.bandwidth), _IN_TURN if len(one.collective.parts) > 1 else ""]
            for one in self.collectives
        ]
        lines = [str(fabric), "", *in_columns(rows)]
        if self._has_proof:
            lines += ["", self.proof_in_words()]
        elif not self.proven and not self.question.composed:
            lines += ["", f"{best.collective}: {self.claims[0]}"]
        if self.before is not None:
            before = self.before.bandwidth
            lines += ["", f"before: {format_rate(before)}; {change_in_words(best.bandwidth, before)} now"]
        unit = "" if self.shards is None else " and unit of shard size"
        reach = "reaches" if self.trees == 1 else "reach"
        it = "that" if self.question.composed else "the optimum"
        lines += ["", f"bottleneck of {best.collective} ({counted(self.trees, 'tree')} per root{unit} {reach} {it})"]
        lines.append(f"  {bottleneck_in_words(fabric, best)}")
        links = best.links(fabric)
        lines += in_columns([[f"  {k.src} -> {k.dst}", format_rate(k.bandwidth), k.kind] for k in links[:_MOST_LINKS]])
        lines += [f"    and {len(links) - _MOST_LINKS} more"] if len(links) > _MOST_LINKS else []
        lines += ["", "more bandwidth on all links of a class"]
        lines += in_columns([_upgrade(upgrade, best.bandwidth) for upgrade in self.upgrades])
        turn = "; a reduce-scatter, then an allgather" if len(best.collective.parts) > 1 else ""
        given = [*self.scanned, *([] if self.fixed is None else [self.fixed])]
        if given:
            lines += ["", f"with a given number of trees per root{unit}{turn}", *self._rows(given)]
        if self.compare:
            lines += ["", f"numbers of trees per root{unit} that pay{turn}", *self._rows(self.trade_offs)]
        return "\n".join(lines)

    def _rows(self, rows: list[Limited]) -> list[str]:
        """Return a line for each number of trees, with a star at the fastest for each size."""
        titles = ["k", "bandwidth", "", "height", *map(format_size, self.sizes)]
        cells = [
            [
                str(row.trees),
                format_rate(row.bandwidth),
                change_in_words(row.bandwidth, self.best.bandwidth),
                str(row.height),
            ]
            + [
                f"{format_time(time)}{' *' if time == min(other.times[at] for other in rows) else '  '}"
                for at, time in enumerate(row.times)
            ]
            for row in rows
        ]
        widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
        lines = [
            "  " + "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in [titles, *cells]
        ]
        if self.sizes:
            lines.append(f"  {FASTEST_OF_COLUMN}; {latency_words(self.latency, self.fabric)}")
        return lines


def _upgrade(upgrade: Upgrade, now: Fraction) -> list[str]:
    doubled = f"doubled {change_in_words(upgrade.doubled, now)}"
    if upgrade.limit is None or upgrade.useful_factor is None:
        beyond = "of use at any factor"
    elif upgrade.useful_factor == 1:
        beyond = "of no use alone"
    else:
        beyond = f"of use up to x{float(upgrade.useful_factor):.4g} ({format_rate(upgrade.limit)})"
    return [upgrade.kind or "links of no class", doubled, beyond]
