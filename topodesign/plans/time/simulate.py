"""One simulator for all plans: time, causes and failures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Unpack

import numpy as np

from topodesign.base.cost import Cost
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.latency import USUAL
from topodesign.base.options import read, takes
from topodesign.base.records import Result
from topodesign.base.units import Quantity, as_bandwidth, as_size, as_time, format_bandwidth, format_size, format_time
from topodesign.base.wording import count_noun, join_words
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric
from topodesign.fabrics.node_values import as_latency, as_ready, latency_words
from topodesign.fabrics.part import select_part
from topodesign.plans.files import as_plan
from topodesign.plans.measure import cost_of
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_rank_rounds, list_rounds
from topodesign.plans.time.chunks import PipelineSimulation
from topodesign.plans.time.conditions import Conditions, Run
from topodesign.plans.time.losses import Link, Loss
from topodesign.plans.time.models import MODELS
from topodesign.plans.time.options import ConditionOptions
from topodesign.plans.time.steps import SimulationResult
from topodesign.plans.time.ticks import TimedSimulation
from topodesign.plans.time.workload import Layer, TrainingStep, backpropagation, load_workload
from topodesign.topology.link_table import LinkTable, read_link_table

_SHOWN = 3  # examples given of what a failure breaks


@dataclass(frozen=True, slots=True)
class Down(Declared):
    """Where a link is."""

    sender: str
    receiver: str

    SHARED = "ends"
    KEYS = (key("from=sender", "A node or switch."), key("to=receiver", "A node or switch."))


@dataclass(frozen=True, repr=False)
class Simulation(Result):
    """How long a plan takes.

    * ``plan``, ``conditions``: what was simulated.
    """

    plan: Plan
    conditions: Conditions
    run: Run  # all that the simulator of its kind of movement says

    KEYS = (
        key("size_bytes=float(conditions.size)", "Data, in bytes."),
        key("time_s=float(time)", "Seconds, rounded."),
        key("time", "Seconds, exactly."),
        key("*run", kind=SimulationResult | PipelineSimulation | TimedSimulation),
        key("down", "Links that are down."),
        key("completes", "Whether all have all in the end."),
        "incomplete_nodes",
        key("text=str(self)", "The same for people.", kind=str),
    )
    ROW = "size_bytes=conditions.size time_s=time bandwidth completes"

    @property
    def time(self) -> Fraction:
        """Seconds until the last data have arrived."""
        return self.run.time

    @property
    def completes(self) -> bool:
        """Whether all data arrive."""
        return self.run.loss is None or not len(self.run.loss.pairs)

    @property
    def incomplete_nodes(self) -> tuple[str, ...]:
        """Nodes that lack something."""
        return tuple(self._lacking())

    @property
    def bandwidth(self) -> Fraction | None:
        """Algorithmic bandwidth in bytes/s; None if data are missing."""
        return self.conditions.size / self.time if self.completes and self.time else None

    @property
    def down(self) -> tuple[Down, ...]:
        """Links that are down."""
        return () if self.run.loss is None else tuple(Down(*map(self._name, link)) for link in self.run.loss.links)

    def heading(self) -> str:
        """Return the size, the time, and what they hold for."""
        now = self.conditions
        what = f"{self.plan.collective} of {format_size(now.size)}"
        if self.run.times_of_plan:
            whose = "the plan's own latencies" if now.latency is None else latency_words(now.latency, self.plan.fabric)
            return f"{what}: {format_time(self.time)}; {whose}, the plan's own bandwidths"
        own = now.bandwidth is None and isinstance(self.plan.place, Fabric)
        rate = "the fabric's own bandwidths" if own else f"{format_bandwidth(now.bandwidth or NODE_BANDWIDTH)} per node"
        alpha = latency_words(now.latency or USUAL, self.plan.fabric)
        return f"{what}: {format_time(self.time)}; {alpha}, {rate}"

    def __str__(self) -> str:
        """Return the heading, missing data, link use and last end."""
        name = self._name
        if self.run.loss is None or not isinstance(self.plan.place, Fabric):
            return "\n".join([self.heading(), self.run.describe(name)])
        times = self.run.without_loss().describe(name)
        still = [] if self.completes else ["times of the remaining transfers:"]
        return "\n".join([self.heading(), *self._broken(self.run.loss), *still, times])

    @property
    def _name(self) -> Callable[[int], str]:
        return self.plan.place.names.__getitem__ if isinstance(self.plan.place, Fabric) else str

    def _lacking(self) -> dict[str, list[str]]:
        """Return the missing blocks or parts of every node."""
        lacking: dict[str, list[str]] = defaultdict(list)
        loss, nodes = self.run.loss, self.plan.topology.nodes
        if loss is None:
            return lacking
        for block, node in loss.pairs.tolist():
            owner = block // nodes if self.plan.collective.pairwise else block
            at, missing = (owner, node) if loss.reduces_only else (node, owner)
            lacking[self._name(at)].append(self._name(missing))
        return lacking

    def _broken(self, loss: Loss) -> Iterator[str]:
        down = join_words([f"{self._name(u)} -> {self._name(v)}" for u, v in loss.links])
        if self.completes:
            yield f"with {down} down the {self.plan.collective} still finishes"
            return
        lacking = self._lacking()
        what, of = ("their whole sum", "the parts of") if loss.reduces_only else ("all data", "the shards of")
        members = len(self.plan.collective.members(self.plan.topology.nodes, self.plan.topology.switches))
        verb = "never gets" if len(lacking) == 1 else "never get"
        some = f"{len(lacking)} of {count_noun(members, 'node')} {verb} {what}"
        yield f"with {down} down the {self.plan.collective} does not finish: {some}"
        for node in list(lacking)[:_SHOWN]:
            yield f"  {node} lacks {of} {join_words(lacking[node])}"
        if len(lacking) > _SHOWN:
            yield f"  and so on for {len(lacking) - _SHOWN} more"
        yield "'topodesign schedule' with --fail A-B makes a plan for the remaining links"


@takes(ConditionOptions)
def simulate(
    plan: Plan | str | Path,
    *,
    size: Quantity = "1MiB",
    alpha: Quantity | None = None,
    gap: Quantity | None = None,
    hop: Quantity | None = None,
    bandwidth: Quantity | None = None,
    **options: Unpack[ConditionOptions],
) -> Simulation:
    """Time a plan with latencies, gaps, switches and bandwidths.

    Parameters
    ----------
    plan
        One that ``verify`` accepts, or its file; of another one the times mean little.
    size
        Whole data M: bytes, or text with a unit.
    alpha
        Latency of a message: seconds, or text with a unit; or ``fabric`` for what the plan's fabric says of its links,
        of which a message takes the sum of those that it goes over. 10us if None.
    gap, hop
        Seconds, or text with a unit, between the starts of two messages at one port, and in a switch; if None what
        :mod:`topodesign.base.latency` says. Timed sends have latencies of their own; any of the three puts this model
        in their place, in which latencies run on while a link takes the next send.
    bandwidth
        Egress bandwidth B of a node, bits per second or text with a unit, for a plan on a topology without bandwidths
        of its own; 100Gbps if None. Timed sends have bandwidths of their own.
    **options
        As :class:`~topodesign.plans.time.options.ConditionOptions` says.

    Returns
    -------
    Simulation
        Exact times.

    Raises
    ------
    ParameterError
        If a quantity is out of range, an option is not for such a plan, a link does not exist, or the plan's fabric
        has bandwidths of its own.
    ScheduleError
        If the plan sends over no link, or in an asynchronous run what a node never gets.

    Examples
    --------
    >>> from topodesign import schedule, simulate
    >>> simulate(schedule("circulant(12,2,3)", "allgather"), size="1MiB").time
    Fraction(227099, 2343750000)
    """
    plan, asked = as_plan(plan), read(ConditionOptions, options, "simulate")
    flows = plan.flows
    model = flows[0].model
    if isinstance(plan.place, Fabric) and model != "chunks":  # whose shares keep limits
        plan.place.check_unshared(f"simulation of {plan.kind}")
    named = isinstance(plan.place, Fabric) and plan.place.names != tuple(map(str, range(len(plan.place.names))))
    if named:
        plan.fabric.check_bandwidth(bandwidth)
    down, links = [_link(plan, one) for one in asked["failed"]], asked["links"]
    if without := tuple(asked["without"]):
        down += _dead(plan, without)
    now = Conditions(
        as_size(size),
        None if model == "clock" and (alpha, gap, hop) == (None, None, None) else as_latency(alpha, gap, hop),
        None if bandwidth is None else as_bandwidth(bandwidth),
        asked["mode"],
        links if links is None or isinstance(links, LinkTable) else read_link_table(links),
        tuple(down),
        asked["chunks"],
        asked["jitter"],
        asked["seed"],
        () if asked["ready"] is None else as_ready(plan.fabric, asked["ready"]),
    )
    if (now.jitter or now.ready) and model != "clock":
        raise ParameterError(f"delays are of timed sends, and {plan.kind} have no times of their own; omit them")
    return Simulation(plan, now, MODELS[model].run(plan, flows, now))


def _link(plan: Plan, link: str | tuple[int | str, int | str]) -> Link:
    """Return a failed link by the numbers of its ends."""
    named = isinstance(plan.place, Fabric)
    ends = [end.strip() for end in link.split(",")] if isinstance(link, str) else list(link)
    ends = [int(end) if isinstance(end, Integral) else end for end in ends]
    if len(ends) != 2 or not (named or all(isinstance(end, int) or end.isdecimal() for end in ends)):
        how = "A,B with the names of its ends" if named else "U,V with node numbers, such as 0,5"
        raise ParameterError(f"a failed link is written {how}, not {link!r:.100}")
    u, v = (end if isinstance(end, int) else plan.fabric.number(end) for end in ends)
    if int(plan.topology.link_index(u, v)) < 0 or u == v:
        what = f"there is no link {ends[0]} -> {ends[1]}" if named else f"the topology has no link {u}->{v}"
        raise ParameterError(what)
    return u, v


def _dead(plan: Plan, without: tuple[str, ...]) -> list[Link]:
    """Return the links that a reduced fabric lacks."""
    fabric = plan.fabric
    shares = [one for one in without if "=" in one and one not in fabric.names]
    if shares:
        reason = "a link table has other bandwidths"
        raise ParameterError(f"simulate supports links that are down, not {shares[0]!r:.100}; {reason}")
    left = {(link.src, link.dst) for link in select_part(fabric, (), "vanish", without).links()}
    return [
        (fabric.number(one.src), fabric.number(one.dst)) for one in fabric.links() if (one.src, one.dst) not in left
    ]


def find_factors(plan: Plan, parts: int) -> tuple[Fraction, Fraction]:
    """Return the seconds of a plan per second of latency, and per M/B.

    M/B is the time of M bytes at B bytes per second.
    """
    place, topology = plan.place, plan.topology
    bandwidth = NODE_BANDWIDTH
    if isinstance(place, Fabric):
        egress = np.bincount(topology.src, topology.capacity, topology.nodes)
        if topology.switches or len(np.unique(egress)) > 1:
            raise InfeasibleError("the nodes of this fabric have no one bandwidth; take a plan on a topology")
        bandwidth = 8 * place.unit * int(egress[0])
    if plan.collective.several:
        raise InfeasibleError("several collectives at the same time have no size in common")
    if plan.size is not None:
        rounds = list_rank_rounds(plan)
        cost = cost_of(rounds.topology, rounds)
        steps, y = Fraction(cost.steps), cost.bandwidth
    else:
        chunks = parts if plan.model == "chunks" else None
        size, rate = Fraction(2**40), None if isinstance(place, Fabric) else bandwidth
        run = partial(simulate, plan, size=size, bandwidth=rate, chunks=chunks)
        busy, late = run(alpha="0s").time, run(alpha="1s").time
        steps, y = late - busy, busy * bandwidth / (8 * size)
    if not steps or not y:
        raise InfeasibleError("nothing is sent")
    return steps, y


def training_step(
    plan: Plan | str | Path,
    layers: Iterable[Layer] | str | Path,
    *,
    alpha: Quantity = "10us",
    bandwidth: Quantity = "100Gbps",
    bucket: Quantity | None = None,
) -> TrainingStep:
    """Time a training step with gradients reduced by a plan.

    Parameters
    ----------
    plan
        An allreduce, whose halves must cost the same, or one of the halves.
    layers
        Sizes of the gradients and when they are ready, or the file with them.
    alpha, bandwidth
        As for :func:`simulate`.
    bucket
        Fuse layers that follow each other until they have at least this many bytes; None for no fusion.

    Raises
    ------
    ParameterError
        If the plan is not of rounds, its halves differ, there are no layers, or a quantity is out of range.

    Examples
    --------
    >>> from topodesign import copy_examples, schedule, training_step
    >>> [layers] = copy_examples(["workload_resnet50.csv"], ".")
    >>> step = training_step(schedule("circulant(12,2,3)"), layers, bucket="25MiB")
    >>> len(step.layers)
    4
    """
    plan = as_plan(plan)
    if plan.model != "steps":
        raise ParameterError(f"a training step is timed with a plan of rounds, not of {plan.kind}")
    cost = cost_of(plan.topology, list_rounds(plan))
    if len(plan.collective.parts) > 1:
        if cost.steps % 2:
            raise ParameterError("the two halves of this allreduce differ; use a reduce-scatter or allgather schedule")
        cost = Cost(cost.steps // 2, cost.bandwidth / 2)
    return backpropagation(
        load_workload(layers) if isinstance(layers, str | Path) else layers,
        cost,
        alpha=as_time(alpha, latency=True),
        bandwidth=as_bandwidth(bandwidth),
        bucket=None if bucket is None else as_size(bucket),
    )
