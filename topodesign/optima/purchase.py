"""Purchases: the cheapest links to a rate, or best in a budget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias, Unpack

import numpy as np

from topodesign.base.claims import Claim, Of, Proof, Scope
from topodesign.base.declared import Declared, key, without
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError, UnitError
from topodesign.base.records import Result
from topodesign.base.units import Quantity, as_bandwidth, format_rate, read_number
from topodesign.base.wording import count_noun, with_article
from topodesign.collectives import Collective
from topodesign.fabrics.fabric import MAX_PRICE, Fabric, Price, parse_price
from topodesign.fabrics.node_values import values_by_class
from topodesign.fabrics.places import PlaceLike
from topodesign.fabrics.wording import FABRIC_KEYS, RATE_KEYS, change_in_words, in_columns
from topodesign.optima.fluid.problem import problem_of
from topodesign.optima.forest.covering import Cover, Covering, Item, Wall
from topodesign.optima.forest.schedule import spanning
from topodesign.optima.optimum import solve
from topodesign.optima.question import Question, QuestionOptions, make_question
from topodesign.optima.solution import Solution
from topodesign.solve.maxflow import worst_ratio
from topodesign.topology.topology import MAX_CAPACITY, IntArray, Topology

Prices: TypeAlias = Mapping[str, str | int | float | Fraction] | str | Iterable[str]
"""By class of links, or pattern: what one more costs, such as 900, or ``900/25GB/s`` for so much more bandwidth."""

_MAX_SHOWN = 8


@dataclass(frozen=True)
class Upgrade(Declared):
    """More bandwidth between two vertices."""

    ends: tuple[str, str]  # names; the first is where the only direction starts if there is but one
    both: bool
    kind: str
    times: int
    added: Fraction
    cost: Fraction

    KEYS = (
        key("from", "A node or switch.", kind=str, value=lambda one: one.ends[0]),
        key("to", "A node or switch.", kind=str, value=lambda one: one.ends[1]),
        key("both_ways=both", "Whether both directions get it."),
        key("class=kind", "The class of links."),
        key("times", "How many."),
        key("added", "Bytes per second more, each way."),
        key("cost", "Of these."),
    )


@dataclass(frozen=True)
class CurrentRate(Declared):
    """How fast a collective is, and why no faster."""

    bandwidth: Fraction
    bottleneck: str

    KEYS = (*RATE_KEYS, key("bottleneck", "What binds, in words."))


def upgrade(
    place: PlaceLike,
    prices: Prices | None = None,
    collective: Collective | str = "allgather",
    *,
    target: Quantity | None = None,
    budget: float | str | Fraction | None = None,
    **words: Unpack[QuestionOptions],
) -> Purchase:
    """Find the cheapest links for a target, or the best in a budget.

    Parameters
    ----------
    place, collective, root, shards, only, others, without, bandwidth
        As for :func:`topodesign.optimum`; an allreduce is a reduce-scatter and then an allgather.
    prices
        What one more link costs, by class or pattern of classes: ``{"InfiniBand": 900}`` for a second one beside it, of
        its bandwidth, or ``{"InfiniBand": "900/25GB/s"}`` for so much more. Links both ways are one. None: those that
        the fabric's file says.
    target
        Algorithmic bandwidth to reach: text, or bits per second.
    budget
        What all may cost together, in place of a target.

    Returns
    -------
    Purchase
        With the least cost, proven unless it says otherwise.

    Raises
    ------
    ParameterError
        If not just one of target and budget is given, a price is none, no link has its class, or there are no prices.
    InfeasibleError
        If links that are not for sale are too slow for the target, or some node cannot be reached.
    TooLargeError
        If the bandwidths need more than 64 bits.

    Examples
    --------
    >>> from topodesign import upgrade
    >>> upgrade("dgx_a100(2)", {"InfiniBand": 900}, target="350GB/s")
    <Purchase: allgather on dgx_a100(2): 373.333GB/s for 14400>
    """
    if (target is None) == (budget is None):
        raise ParameterError("expected a target bandwidth or a budget, one of the two")
    question = replace(make_question(place, collective, **words), before=None)
    spanning(question.collective)
    shop = _Shop(question, as_prices(question.fabric, prices))
    if question.fabric.shared and (budget is not None or question.shards is not None):
        raise ParameterError("where links share limits only a target is known to buy for, with shards of one size")
    if target is not None:
        rate, spent, proven = as_bandwidth(target) / 8, None, True
        cover = shop.for_target(rate)
    else:
        rate, spent = None, _money("budget", budget)
        cover, proven = shop.for_budget(spent)
    bought = shop.list_purchases(cover)
    upgraded = shop.upgrade(cover)
    after = solve(replace(question, fabric=upgraded))
    if rate is not None and after.bandwidth < rate:
        raise RuntimeError(f"{after.bandwidth} is less than {rate}, against Theorem 5")
    cost, least = shop.money(cover.cost), shop.money(cover.bound)
    proven &= cost == least
    return Purchase(question.fabric, upgraded, shop.before, after, bought, cost, least, proven, rate, spent)


def as_prices(fabric: Fabric, prices: Prices | None) -> dict[str, Price]:
    """Return prices by class; the fabric's own if None."""
    if prices is None:
        if not fabric.prices:
            raise ParameterError(f"{fabric.name} says no prices of links; give some, such as --prices InfiniBand=900")
        prices = {kind: price for kind, price in fabric.prices if kind in fabric.classes}
        if not prices:
            raise ParameterError("nothing is for sale: the links that have prices are not there")
        return prices
    found = values_by_class(fabric, prices, _price, "a price as CLASS=COST, such as InfiniBand=900")
    if not found:
        raise ParameterError("no link is for sale; set a price for a class of links")
    return found


def _price(word: str, value: str | float | Fraction) -> Price:
    try:
        price = Price(value) if isinstance(value, Fraction) else parse_price(str(value))
    except UnitError as error:
        raise ParameterError(f"the price of {word[:100]!r}: {error}") from None
    price.check(word)
    return price


def _money(what: str, value: float | str | Fraction | None) -> Fraction:
    try:
        amount = read_number(value)
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"the {what} is a number, not {str(value)[:100]!r}") from None
    if not 0 < amount <= MAX_PRICE or amount.denominator > MAX_PRICE:
        raise ParameterError(f"the {what} is to be above 0 and up to {MAX_PRICE}, not {str(value)[:100]}")
    return amount


class _Shop:
    """A fabric with what can be bought, in whole numbers."""

    def __init__(self, question: Question, prices: Mapping[str, Price]) -> None:
        fabric = self.fabric = question.fabric
        self.before = solve(question)
        self.places = _for_sale(fabric, prices)
        steps = [step for _, steps, _ in self.places for step in steps]
        self.grain = math.lcm(*((step / fabric.unit).denominator for step in steps))
        self.cents = math.lcm(*(cost.denominator for _, _, cost in self.places))
        unit = fabric.unit / self.grain
        phase, halves = question.passes[0], len(question.passes)
        if halves > 1 and not (fabric.topology.is_duplex and not fabric.shared):
            reason = "links share no limits" if fabric.shared else "all links go both ways"
            raise ParameterError(
                f"what {with_article(question.collective)} gains is only known where {reason}; ask for "
                f"one of {', '.join(part.name for part in question.collective.parts)}"
            )
        unequal = fabric.unequal(sorted(fabric.topology.switches))
        if unequal:
            raise ParameterError(f"{fabric.imbalance(unequal[0])}; what to buy is only known where they are equal")
        self.whole = sum(phase.weights) * unit / halves
        self.demand = np.array(phase.weights, dtype=np.int64)
        where = np.empty(len(phase.order), dtype=np.int64)
        where[phase.order] = np.arange(len(phase.order))
        items = [
            Item(tuple(where[list(links)].tolist()), tuple(int(step / unit) for step in steps), int(cost * self.cents))
            for links, steps, cost in self.places
        ]
        capacity = phase.topology.capacity * self.grain
        if int(capacity.max()) > MAX_CAPACITY:
            raise TooLargeError("the bandwidths of links and steps have too small a common divisor; round them")
        # Walls are of the fabric as it is, whose links need not be in the order of the phase.
        self.order, self.question = phase.order, question
        self.covering = Covering(phase.topology, capacity, self.demand, items, self._walls if fabric.shared else None)
        self.start = self.whole / self.before.bandwidth

    def _walls(self, capacity: IntArray, inverse_rate: Fraction, parts: int) -> list[Wall]:
        """Return the prices that prove a mixture of trees too slow."""
        whole = np.empty_like(capacity)
        whole[self.order] = capacity
        fabric = self._with(whole, self.fabric.unit / self.grain / parts)
        problem = problem_of(fabric, self.question.collective)
        found, scale = problem.solve(cheapest=False), problem.network.scale
        if found.time_bound * scale * self.fabric.unit / self.grain / fabric.unit <= inverse_rate:
            return []
        price = np.array(found.prices, dtype=object)[problem.symmetry.limit_of]
        price //= int(np.gcd.reduce(price))
        total = sum((p * bound for p, bound in zip(price.tolist(), problem.network.bounds, strict=True)), 0)
        links = price[: len(capacity)].astype(np.int64)
        rooms = [limit.bandwidth / (self.fabric.unit / self.grain) for limit in self.fabric.shared]
        limits = sum(map(Fraction.__mul__, map(Fraction, price[len(capacity) :].tolist()), rooms), Fraction(0))
        return [Wall(links[self.order], limits, found.time_bound * total)]

    def for_target(self, rate: Fraction) -> Cover:
        """Return the cheapest that reaches an algorithmic bandwidth."""
        found = self.covering.cheapest(self.whole / rate)
        if found is None:
            raise RuntimeError("nothing is enough, against the bounds of the program")
        return found

    def for_budget(self, budget: Fraction) -> tuple[Cover, bool]:
        """Return the cheapest best purchase in a budget, if proven.

        The throughput of a cut is its capacity over what must leave it, a whole number over one up to D, so that two
        throughputs differ by 1/D^2 or more: what lies between is bisected, and the last question proves the rest.
        """
        below = int(budget * self.cents) + 1
        apart = Fraction(1, int(self.demand.sum()) ** 2)
        count = len(self.covering.items)
        low, proven = 1 / self.start, True
        high = self._throughput([below // item.cost for item in self.covering.items]) + apart
        while high > low:
            question = low + (apart / 2 if high - low <= apart else (high - low) / 2)
            try:
                found = self.covering.cheapest(1 / question, below)
            except InfeasibleError:
                found = None
            except TooLargeError:
                found, proven = None, False
            if found is None:
                high = low if high - low <= apart else question
            else:
                low = self._throughput(found.times)
        cheapest = self.covering.cheapest(1 / low, below)
        return cheapest or Cover(0, (0,) * count, 0), proven

    def _throughput(self, times: Sequence[int]) -> Fraction:
        """Return 1 over 1/x with items bought so often."""
        return 1 / worst_ratio(self.covering.topology, self.covering.capacities(times), self.demand)

    def money(self, cost: int) -> Fraction:
        """Return a cost as prices are given."""
        return Fraction(cost, self.cents)

    def list_purchases(self, cover: Cover) -> tuple[Upgrade, ...]:
        """Return what is bought, by the order of the links."""
        every = self.fabric.links()
        return tuple(
            Upgrade(
                (every[links[0]].src, every[links[0]].dst),
                len(links) > 1,
                every[links[0]].kind,
                times,
                max(steps) * times,
                cost * times,
            )
            for (links, steps, cost), times in zip(self.places, cover.times, strict=True)
            if times
        )

    def upgrade(self, cover: Cover) -> Fabric:
        """Return the fabric with what is bought."""
        capacity = self.fabric.topology.capacity * self.grain
        for (links, steps, _), times in zip(self.places, cover.times, strict=True):
            for link, step in zip(links, steps, strict=True):
                capacity[link] += int(step / self.fabric.unit * self.grain) * times
        return replace(self._with(capacity, self.fabric.unit / self.grain), name=f"{self.fabric.name} upgraded")

    def _with(self, capacity: IntArray, unit: Fraction) -> Fabric:
        """Return the fabric with other capacities of its links."""
        common, old = int(np.gcd.reduce(capacity)), self.fabric.topology
        topology = Topology.from_arrays(old.nodes, old.src, old.dst, capacity // common, switches=old.switches)
        return replace(self.fabric, topology=topology, unit=unit * common)


_Place: TypeAlias = tuple[tuple[int, ...], tuple[Fraction, ...], Fraction]


def _for_sale(fabric: Fabric, prices: Mapping[str, Price]) -> list[_Place]:
    """Return purchasable links with rate and cost of a step."""
    every = fabric.links()
    place = {(link.src, link.dst): at for at, link in enumerate(every)}
    switches = {fabric.names[vertex] for vertex in fabric.topology.switches}
    found: list[_Place] = []
    for at, link in enumerate(every):
        if link.kind not in prices:
            continue
        cost, step = prices[link.kind]
        back = place.get((link.dst, link.src))
        both: tuple[int, ...] = (at,)
        if back is not None and every[back].kind == link.kind:
            if back < at:
                continue
            both = (at, back)
        elif {link.src, link.dst} & switches:
            raise ParameterError(
                f"the {link.kind or 'unclassed'} link from {link.src} to {link.dst} goes one way; at a switch only "
                "links in both directions can be upgraded"
            )
        steps = tuple(every[one].bandwidth if step is None else step for one in both)
        if len(set(steps)) > 1 and {link.src, link.dst} & switches:
            raise ParameterError(f"links between {link.src} and {link.dst} differ; give a price for a bandwidth")
        found.append((both, steps, cost))
    return found


@dataclass(frozen=True, repr=False)
class Purchase(Result):
    """The cheapest upgrade, or the best for a budget."""

    fabric: Fabric
    upgraded: Fabric
    before: Solution
    after: Solution
    bought: tuple[Upgrade, ...]
    cost: Fraction  # of all that is bought
    bound: Fraction  # nothing that reaches as much costs less
    proven: bool  # whether nothing cheaper reaches as much, and nothing within a budget more
    target: Fraction | None  # bytes per second that --target asked for; None with --budget
    budget: Fraction | None  # what --budget allowed; None with --target

    KEYS = (
        *without(FABRIC_KEYS, "links"),
        key("collective=before.collective.name", "Whose bottleneck is reported."),
        "target budget",
        key("before=known", "As it is."),
        *RATE_KEYS,
        key("bottleneck", "What binds with what is bought, in words."),
        "cost least_cost=bound",
        key("proven"),
        key("claims", "What it is claimed to be the best of, and by which proof."),
        key("upgrades=bought", "What to buy."),
    )
    ROWS = "bought"

    @property
    def known(self) -> CurrentRate:
        """How fast it is now."""
        return CurrentRate(self.before.bandwidth, self.before.bottleneck)

    @property
    def bandwidth(self) -> Fraction:
        """Algorithmic bandwidth with what is bought."""
        return self.after.bandwidth

    @property
    def bottleneck(self) -> str:
        """What binds then, in words."""
        return self.after.bottleneck

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims on the cost, and on the rate within a budget."""
        composed = len(self.before.collective.parts) > 1
        by = "an allreduce as a reduce-scatter and then an allgather" if composed else ""
        cost = Claim.to_bound(Of.COST, self.cost, Scope.PURCHASES, self.bound, by=by, missed=by)
        if self.budget is None:
            return (cost,)
        proof = Proof.SEARCH if self.proven else Proof.NONE
        return Claim(Of.RATE, self.after.bandwidth, Scope.WITHIN_BUDGET, proof, None, by), cost

    def heading(self) -> str:
        """Return what it costs and reaches."""
        rate = format_rate(self.after.bandwidth)
        return f"{self.before.collective} on {self.fabric.name}: {rate} for {_amount(self.cost)}"

    def _by_class(self) -> Iterator[str]:
        """Yield what is bought of each class in words."""
        for kind in dict.fromkeys(one.kind for one in self.bought):
            those = [one for one in self.bought if one.kind == kind]
            times, cost = sum(one.times for one in those), sum((one.cost for one in those), Fraction(0))
            where = count_noun(len(those), "place")
            yield f"{kind or 'links of no class'}: {times} in {where} for {_amount(cost)}"

    def __str__(self) -> str:
        now, then = self.before.bandwidth, self.after.bandwidth
        what = (
            f"a budget of {_amount(self.budget)}"
            if self.budget is not None
            else format_rate(self.target or Fraction(0))
        )
        lines = [str(self.fabric), "", f"  {self.before.collective} now  {format_rate(now)}"]
        if not self.bought:
            lines += ["", f"nothing to buy for {what}{': it is reached' if self.budget is None else ''}"]
        else:
            lines += ["", f"to buy for {what}: {_amount(self.cost)} in all"]
            lines += [f"  {words}" for words in self._by_class()]
            rows = [
                [
                    f"    {one.ends[0]} {'-' if one.both else '->'} {one.ends[1]}",
                    f"+{format_rate(one.added)}",
                    one.kind,
                    _amount(one.cost),
                ]
                for one in self.bought[:_MAX_SHOWN]
            ]
            lines += in_columns(rows)
            more = len(self.bought) - _MAX_SHOWN
            lines += [f"      and {more} more"] if more > 0 else []
        lines += ["", f"  {self.after.collective} then  {format_rate(then)}  {change_in_words(then, now)}"]
        lines += ["", str(self.claims[0])]
        lines += ["", "bottleneck then", f"  {self.bottleneck}"]
        return "\n".join(lines)


def _amount(cost: Fraction) -> str:
    return str(cost) if cost.denominator == 1 else f"{float(cost):.10g}"
