"""Comparison of contenders: the ``compare`` command."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, Unpack, cast

from topodesign.base.arguments import as_choice
from topodesign.base.claims import FASTEST_OF_COLUMN, turning_words
from topodesign.base.cost import Bounds, Cost, lower_bounds
from topodesign.base.deadline import OutOfTime, deadline
from topodesign.base.declared import Declared, key, keys_of
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.latency import Latency
from topodesign.base.options import takes
from topodesign.base.progress import tell
from topodesign.base.records import Named, SideBySide, Table, shorten_text
from topodesign.base.units import (
    Quantity,
    as_count,
    as_time,
    format_amount,
    format_excess,
    format_size,
    format_time,
    read_number,
)
from topodesign.base.wording import join_words
from topodesign.base.work_options import TimingOptions
from topodesign.collectives import ALLREDUCE, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.finder.candidate import Entry
from topodesign.finder.question import Objective
from topodesign.pricing.workload import Workload, as_workload
from topodesign.report.comparison.contender import PRICED, Contender, ContenderLike, contender
from topodesign.report.comparison.timing import GAPS_AND_HOPS, gaps_and_hops, step_words
from topodesign.schedulers.step import StepLike, as_step, price_on
from topodesign.topology.topology import Topology

Parameter = Literal["gap", "hop"]
MAX_SECONDS = 10**6  # the largest limit on the time of a contender
_LARGEST = Fraction(1, 10**4)  # seconds up to which other values are looked at
_HALVINGS = 20  # how often the span that a value lies in is halved: to a tenth of a nanosecond


@dataclass(frozen=True, slots=True)
class Threshold(Declared):
    """Latency value at which the fastest contender changes.

    * ``now``, ``then``: who is the fastest as it is, and on the other side.
    """

    parameter: Parameter  # which latency
    value: Fraction  # seconds, to a tenth of a nanosecond
    above: bool  # whether the other one is the fastest above it, or below
    now: str
    then: str

    KEYS = "parameter value_s=float(value) side fastest=now then"
    SHARED = "turn"

    @property
    def side(self) -> Literal["above", "below"]:
        """Side of the value on which the other contender is the fastest."""
        return "above" if self.above else "below"

    def __str__(self) -> str:
        """Return the threshold as a sentence."""
        return turning_words(f"{self.side} --{self.parameter} {format_time(self.value)}", self.then, self.now)


def find_change(
    same: Fraction, changed: Fraction, fastest: Callable[[Fraction], str], halvings: int
) -> tuple[Fraction, str]:
    """Find a value between two at which the fastest contender changes.

    The interval is halved ``halvings`` times. The second result is the contender that is then the fastest.
    """
    now, then = fastest(same), fastest(changed)
    for _ in range(halvings):
        middle = (same + changed) / 2
        if (name := fastest(middle)) == now:
            same = middle
        else:
            changed, then = middle, name
    return changed, then


def thresholds(parameter: Parameter, contenders: Sequence[Contender], work: Workload) -> list[Threshold]:
    """Return latencies below and above which another contender is the fastest."""

    def fastest(value: Fraction) -> str:
        latency = replace(work.latency, **{parameter: value})
        return min(contenders, key=lambda one: one.timing.time(latency, work.sizes[0], one.workload.bandwidth)).name

    own: Fraction = getattr(work, parameter)
    now = fastest(own)
    found = []
    for far in (Fraction(0), _LARGEST):
        then = fastest(far)
        if then == now:
            continue
        changed, then = find_change(own, far, fastest, _HALVINGS)
        found.append(Threshold(parameter, changed, far > own, now, then))
    return found


_LAYOUTS = 4  # layouts of the ranks of a training step that are priced


@dataclass(frozen=True, slots=True)
class TimedBounds(Bounds):
    """Lower bounds on the cost and time of every contender."""

    times: Mapping[int | float, Fraction]  # seconds by size in bytes

    KEYS = (*keys_of(Bounds.KEYS), "times_s=float(times)")


@dataclass(frozen=True, slots=True)
class Missing(Declared):
    """Name without a design, or without one in time."""

    name: str  # the name
    why: str  # why there is none

    KEYS = "name why"


@dataclass(frozen=True, repr=False)
class Comparison(SideBySide):
    """Comparison of designs, or of methods on one network.

    * ``lower_bound``: what none can beat. Of designs what no topology of that many nodes and ports does (see
      :func:`topodesign.base.cost.lower_bounds`), where fabrics alone are compared no network at all; of methods what no
      plan on the network does.
    * ``missing``: names of which there is no design of this size, methods without a plan, or none in time, each with
      the reason.
    """

    contenders: tuple[Contender, ...]  # designs in the order in which they were named, or methods, the fastest first
    workload: Workload  # what the times are for
    lower_bound: TimedBounds
    missing: tuple[tuple[str, str], ...] = ()
    collective: Collective = ALLREDUCE  # what is done, with its root
    messages: Latency | None = None  # of methods: what messages take beside their bytes; None for that of the workload
    network: str | None = None  # of methods: the one network that all plans are for

    KEYS = (
        "nodes",
        key("network", "With --algorithm: the network; null where designs are compared."),
        key("collective=collective.name", "What is done."),
        key("root=collective.root", "Of a collective that has one; else null."),
        "*latency",
        "bandwidth_bps=float(workload.bandwidth)",
        key("sizes_bytes=number(workload.sizes)", "Sizes of the data, in bytes."),
        "lower_bound contenders turns=thresholds",
        key("missing", kind=tuple[Missing, ...], value=lambda found: [Missing(*one) for one in found.missing]),
    )
    ROWS = "contenders"
    SHARED = "comparison"

    @property
    def nodes(self) -> int:
        """Number of nodes N."""
        return self.contenders[0].nodes

    @property
    def latency(self) -> Latency:
        """Latency of messages, without the time for their bytes."""
        return self.workload.latency if self.messages is None else self.messages

    @property
    def bounds(self) -> tuple[Cost, ...]:
        """Lower bounds, at least one of which every contender meets or exceeds."""
        return self.lower_bound.by_steps

    @property
    def switched(self) -> bool:
        """Whether messages of any contender pass switches or share a port."""
        return self.latency.alpha is not None and any(one.timing.gaps or one.timing.hops for one in self.contenders)

    def heading(self) -> str:
        """Return the subject and conditions."""
        where = "" if self.network is None else f" on {self.network}"
        if self.latency.alpha is None:
            gap = any(one.timing.gaps for one in self.contenders)
            setting = f"links with their own latencies{f', gap {format_time(self.latency.gap)}' if gap else ''}"
        else:
            setting = self.workload.setting_with("gap", "hop") if self.switched else self.workload.setting
        own = any(one.workload.bandwidth != self.workload.bandwidth for one in self.contenders)
        return f"{self.nodes} nodes; {self.collective}{where}; {setting}{', fabrics as they are' if own else ''}"

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """Gap and hop values that change the fastest design for the first size."""
        if not self.switched or self.network is not None:
            return ()
        return tuple(one for name in ("gap", "hop") for one in thresholds(name, self.contenders, self.workload))

    def side_by_side(self) -> tuple[str, Sequence[Fraction], Named, Sequence[Fraction], str]:
        """Return the data of a plot of times over sizes."""
        what = self.collective.name
        title = f"{self.network or f'{self.nodes} nodes'}: {what} over message size"
        times = [(one.name, one.times) for one in self.contenders]
        return title, self.workload.sizes, times, tuple(self.lower_bound.times.values()), what

    def first_sizes(self, count: int) -> Comparison:
        """Return the same comparison for the first sizes only."""

        def cut(work: Workload) -> Workload:
            return replace(work, sizes=work.sizes[:count])

        some = (
            replace(one, workload=cut(one.workload), times=one.times[:count], chunks=one.chunks[:count])
            for one in self.contenders
        )
        times = dict(list(self.lower_bound.times.items())[:count])
        floor = replace(self.lower_bound, times=times)
        return replace(self, contenders=tuple(some), workload=cut(self.workload), lower_bound=floor)

    def best(self, place: int = 0) -> Contender:
        """Return the fastest contender for the size at a place."""
        return min(self.contenders, key=lambda one: one.times[place])

    def table(self) -> Table:
        """Return a table of contenders and lower bounds, with the best marked."""
        some, designs = self.contenders, self.network is None
        sizes = tuple(format_size(size) for size in self.workload.sizes)
        fastest = [min(one.times[place] for one in some) for place in range(len(sizes))]
        trained = [one.step.seconds for one in some if one.step is not None]
        switched, chunked = self.switched, any(one.timing.pipelined for one in some)
        columns: dict[str, list[str]] = (
            {} if designs else {"kind": ["" if one.plan is None else one.plan.kind for one in some]}
        )
        columns |= {
            "steps": ["" if one.steps is None else f"{float(one.steps):g}" for one in some],
            "BW factor": ["" if one.bandwidth is None else f"{float(one.bandwidth):.4f}" for one in some],
        }
        if switched:
            columns[GAPS_AND_HOPS] = [gaps_and_hops(one.timing) for one in some]
        if chunked:
            columns["chunks"] = [" ".join(map(str, one.chunks)) if one.timing.pipelined else "" for one in some]
        for place, size in enumerate(sizes):
            column = [(one.times[place], fastest[place]) for one in some]
            if designs:
                columns[size] = [_of_least(time, least) for time, least in column]
            else:
                columns[size] = [f"{format_time(time)}{'*' * (time == least)}" for time, least in column]
        if trained:
            columns["training step"] = [_of_least(time, min(trained)) for time in trained]
        if designs:
            columns["all-to-all"] = [_between(one.all_to_all.lower, one.all_to_all.upper) for one in some]
            columns["cables"] = [str(one.counts.cables) for one in some]
            columns["switches"] = [str(one.counts.switches) for one in some]
            columns["survives"] = ["" if one.counts.survives is None else str(one.counts.survives) for one in some]
            if any(one.cost is not None for one in some):
                columns["cost"] = [format_amount(one.cost or 0) for one in some]
            columns["cabling"] = ["duplex" if one.topology.is_duplex else "simplex" for one in some]
        last = "network" if designs else "algorithm"
        named = [
            one.name if not designs or one.name == one.what else f"{one.name}: {shorten_text(one.what)}" for one in some
        ]
        columns[last] = named
        rows = list(zip(*columns.values(), strict=True))
        for bound in self.bounds:
            both = self.bound_workload.allreduce(bound) if designs else self.lower_bound.times.values()
            known = {"steps": str(bound.steps), "BW factor": f"{float(bound.bandwidth):.4f}", last: self._least}
            blank = " " * 11 * designs
            known |= {size: f"{format_time(time)}{blank}" for size, time in zip(sizes, both, strict=True)}
            rows.append(tuple(known.get(name, "") for name in columns))
        over = ", percentages are over it" * designs
        half = "; steps and BW factor per phase" * self.halved
        return Table(
            self.heading(),
            tuple(columns),
            tuple(rows),
            words=frozenset(("kind", "cabling", last)),
            spare=frozenset(
                ("kind", "switches", "survives", "cabling", "all-to-all", *(("cables",) if trained else ()))
            ),
            compared=len(some),
            footnote="\n".join([
                f"{FASTEST_OF_COLUMN}{over}{half}",
                *self._formulas(),
                *([f"training step: one of {some[0].step.step.name}"] if some[0].step else []),
                *map(str, self.thresholds),
                *self._reasons(),
            ]),
        )  # fmt: skip

    @property
    def halved(self) -> bool:
        """Whether steps and bandwidth factors are per allreduce phase."""
        return self.collective.like(ALLREDUCE)

    @property
    def bound_workload(self) -> Workload:
        """Workload of the bound, with the greatest node bandwidth of all contenders."""
        return replace(self.workload, bandwidth=max(one.workload.bandwidth for one in self.contenders))

    @property
    def _least(self) -> str:
        """Name of the lower bound in tables."""
        if self.network is None and any(not isinstance(one.place, Topology) for one in self.contenders):
            return "lower bound without switches"
        return "lower bound for sends to neighbours" if any(one.passing for one in self.contenders) else "lower bound"

    def _reasons(self) -> Iterator[str]:
        """Yield the reasons for missing names, grouped by reason."""
        why: dict[str, list[str]] = {}
        for name, reason in self.missing:
            why.setdefault(reason, []).append(name)
        yield from (f"{', '.join(names)}: {reason}" for reason, names in why.items())

    def _formulas(self) -> Iterator[str]:
        """Yield the formulas that relate times to columns."""
        if self.latency.alpha is None:
            yield "times: as simulate has them, with the latencies of the links"
            return
        twice = "2 " * self.halved
        yield "time = 2 (steps alpha + y M/B)" if twice else "time = steps alpha + y M/B"
        passing = [one.name for one in self.contenders if one.passing]
        if passing:
            cost = "a step adds hop for each link of its longest route"
            yield f"{join_words(passing)}: messages pass through nodes; {cost}"
        step = step_words(switched=self.switched)
        if any(one.timing.pipelined and not one.timing.at_once for one in self.contenders):
            yield f"with chunks {twice}(steps + chunks - 1) ({step} + y M/B / chunks)"
        names = [one.name for one in self.contenders if one.timing.at_once]
        if names:
            yield f"{join_words(names)}, both halves at once: (2 steps + chunks - 1) ({step} + 2 y M/B / chunks)"
        if any(not one.timing.phases for one in self.contenders):
            yield "of timed sends as simulate has them, links being free for the next after gap and bytes"


def _of_least(time: Fraction, least: Fraction) -> str:
    return f"{format_time(time)} {format_excess(time / least):>8} {'*' if time == least else ' '}"


def _between(low: Fraction | None, high: Fraction | None) -> str:
    if low is None:
        return ""
    if high is None:
        return f">= {float(low):.2f}"
    return f"{float(low):.2f}" if low == high else f"{float(low):.2f}..{float(high):.2f}"


@takes(TimingOptions)
def compare(
    contenders: Sequence[ContenderLike],
    *,
    nodes: int | None = None,
    degree: int | None = None,
    prices: Mapping[str, Quantity] | None = None,
    step: StepLike | None = None,
    time_limit: Quantity = "60s",
    progress: Callable[[float], None] | None = None,
    **given: Unpack[TimingOptions],
) -> Comparison:
    """Compare designs by allreduce, all-to-all, cables, switches and failures.

    The allreduce of each is a verified plan.

    Parameters
    ----------
    contenders
        Each an everyday name (``best``, ``ring``, ``tree``, ``torus``, ``torus2d``, ``torus3d``, ``hypercube``,
        ``hyperx``, ``jellyfish``, ``slimfly``, ``dragonfly``, ``fattree``), a topology or fabric, its spec or file,
        one of these with a method (``torus(8,8)@ring``), or a plan or its file.
    nodes, degree
        N and d, which everyday names need; without them those of the first contender that has its own.
    prices
        Of a ``cable``, a ``port`` of a node, a ``switch`` and a ``switch-port``: adds what each contender costs.
    step
        A training step that is timed on each beside (see :func:`topodesign.price_step`): a model, a list of
        collectives, layers, or the file of one.
    time_limit
        For each contender, seconds or text with a unit. What is not measured then is not waited for.
    progress
        Called with the share of the contenders that are done.
    **given
        Latencies and sizes are the same for all. Topologies and everyday names have the bandwidth, topologies over d
        ports (those that they leave unused carry nothing); presets and files of fabrics have that of the machines.

    Returns
    -------
    Comparison
        Everyday names that stand for nothing of this size, and contenders that take too long, are in ``missing``.

    Raises
    ------
    ParameterError
        If contenders differ in their nodes or one has too many ports, or a price or the time limit is wrong.
    InfeasibleError
        If nothing is left to compare.
    TopodesignError
        Of the other kinds, as of :func:`topodesign.schedule` and :func:`topodesign.evaluate`.

    Examples
    --------
    >>> found = compare(["best", "torus", "ring", "slimfly"], nodes=16, degree=4)
    >>> [(one.name, one.steps) for one in found.contenders]
    [('best', 2), ('torus', 4), ('ring', 15)]
    >>> found.best().name
    'best'
    """
    if not isinstance(contenders, list | tuple) or not contenders:
        raise ParameterError("expected a list of networks, such as ['best', 'torus', 'fattree']")
    work = as_workload(**given)
    many = None if nodes is None else as_count(nodes, "number of nodes", 2)
    ports = None if degree is None else as_count(degree, "degree", 1)
    costs = (
        None if prices is None else {as_choice("price", name, PRICED): _price(value) for name, value in prices.items()}
    )
    limit = as_time(time_limit)
    if not 0 < limit <= MAX_SECONDS:
        raise ParameterError(f"time_limit must be above zero and at most {MAX_SECONDS} seconds")
    mix = None if step is None else as_step(step)
    if mix is not None and mix.shape and many not in {None, math.prod(mix.shape)}:
        raise ParameterError(f"{mix.name} has {math.prod(mix.shape)} ranks, and {many} nodes are compared")
    found: list[Contender] = []
    missing: list[tuple[str, str]] = []
    for done, what in enumerate(contenders, 1):
        try:
            with deadline(float(limit)):
                one = contender(what, work, many, ports, costs)
                if mix is not None:
                    one = replace(one, step=price_on(mix, one.wires(ports), layouts=_LAYOUTS))
        except InfeasibleError as error:
            missing.append((str(what), str(error)))
        except OutOfTime:
            missing.append((str(what), f"was not scheduled, verified and measured within {format_time(limit)}"))
        else:
            found.append(one)
            many = one.nodes
        tell(progress, done / len(contenders))
    if not found:
        raise InfeasibleError("\n".join(f"{name}: {why}" for name, why in missing))
    own = [one.topology.degree for one in found if isinstance(one.place, Topology)]
    most = ports or max(own, default=found[0].nodes - 1)  # switches may link everybody with everybody
    bounds = lower_bounds(found[0].nodes, most)
    if any(isinstance(one.place, Fabric) and one.place.multicast | one.place.aggregation for one in found):
        bounds = (Cost(1, Fraction(1, 2)),)  # all data leave a node once, and its sums come in at the same time
    best = replace(work, bandwidth=max(one.workload.bandwidth for one in found))
    return Comparison(tuple(found), work, TimedBounds(bounds, best.by_size(best.fastest(bounds))), tuple(missing))


def compare_beside(
    first: Entry | Topology,
    others: Sequence[object],
    objective: Objective,
    more_sizes: Sequence[Fraction] = (),
    progress: Callable[[float], None] | None = None,
) -> Comparison:
    """Compare a topology with others by an objective, at more sizes than it has."""
    work, own = objective.work, first if isinstance(first, Topology) else first.rebuilt
    names = [name for one in others for name in (one.split(",") if isinstance(one, str) and "(" not in one else [one])]
    return compare(
        cast("list[ContenderLike]", [own, *names]),  # it says what is wrong
        nodes=first.nodes,
        degree=first.degree,
        alpha=work.alpha,
        sizes=[*work.sizes, *more_sizes],
        bandwidth=work.bandwidth,
        step=None if objective.collective == "allreduce" else objective.mix,
        progress=progress,
    )


def _price(value: Quantity) -> Fraction:
    try:
        price = read_number(value)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise ParameterError(f"a price is a number, not {value!r}") from None
    if price < 0:
        raise ParameterError(f"a price is not below zero, unlike {value}")
    return price
