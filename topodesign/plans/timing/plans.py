"""One simulator for all plans: how long a collective takes, what it waits for, and what failures do to it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arguments import as_seed
from topodesign.base.cost import Cost
from topodesign.base.errors import ParameterError, ScheduleError
from topodesign.base.latency import USUAL, Latency
from topodesign.base.records import Result
from topodesign.base.units import Quantity, as_bandwidth, as_size, as_time, format_bandwidth, format_size, format_time
from topodesign.base.wording import counted, listed
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric
from topodesign.fabrics.latencies import as_latency, latency_words
from topodesign.fabrics.node_values import Ready, as_ready
from topodesign.fabrics.part import part_of
from topodesign.plans.files import as_plan
from topodesign.plans.measure import cost_of, path_time
from topodesign.plans.orbit import OrbitRounds
from topodesign.plans.paths import Paths
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.timed import MAX_TICKS, Timed
from topodesign.plans.timing.paths import PathSimulation, simulate_paths
from topodesign.plans.timing.rounds import Link, Loss, Mode, SimulationResult, simulate_rounds
from topodesign.plans.timing.timed import TimedSimulation, simulate_timed, simulate_together
from topodesign.plans.timing.trees import TreeSimulation, simulate_trees
from topodesign.plans.timing.workload import Layer, TrainingStep, backpropagation, load_workload
from topodesign.plans.together import Together
from topodesign.plans.trees import Trees
from topodesign.topology.link_table import LinkTable, read_link_table

_SHOWN = 3
"""Examples given of what a failure breaks."""


@dataclass(frozen=True)
class Conditions:
    """Under which a plan runs.

    Attributes
    ----------
    size
        Bytes of the whole data.
    latency
        What messages take beside their bytes; None for what timed sends say themselves.
    bandwidth
        Bits per second of all links of a node together; None for that of the plan's fabric.
    mode
        Whether steps wait for each other (``lock-step``), or only sends for their data and links (``asynchronous``).
    links
        Latencies and bandwidths of single links; None if all are alike.
    failed
        Links (u, v) that carry nothing, by numbers.
    chunks
        Chunks of the data of every tree or path; None for the number that is fastest.
    """

    size: Fraction
    latency: Latency | None
    bandwidth: Fraction | None = None
    mode: Mode = "lock-step"
    links: LinkTable | None = None
    failed: tuple[Link, ...] = ()
    chunks: int | None = None
    jitter: Fraction = Fraction(0)
    seed: int = 0
    ready: tuple[Fraction, ...] = ()


class Run(Protocol):
    """What every simulator returns."""

    @property
    def time(self) -> Fraction:
        """Seconds until the last data have arrived."""

    @property
    def loss(self) -> Loss | None:
        """What failed links prevent, or None if none failed."""

    def describe(self, name: Callable[[int], str]) -> str:
        """Return times and use of links, with these names of nodes, and what is lost."""

    def without_loss(self) -> Run:
        """Return the same, silent about what is lost."""

    def record(self) -> dict[str, Any]:
        """Return what there is to say beside the time, as JSON holds it."""


@dataclass(frozen=True, repr=False)
class Simulation(Result):
    """How long a plan takes.

    Attributes
    ----------
    plan, conditions
        What was simulated.
    run
        All that the simulator of its kind of movement says.
    """

    plan: Plan
    conditions: Conditions
    run: Run

    @property
    def time(self) -> Fraction:
        """Seconds until the last data have arrived."""
        return self.run.time

    @property
    def completes(self) -> bool:
        """Whether all data arrive."""
        return self.run.loss is None or not len(self.run.loss.pairs)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one row: size, time and algorithmic bandwidth in bytes per second."""
        size = self.conditions.size
        rate = size / self.time if self.completes and self.time else None
        return [{"size_bytes": size, "time_s": self.time, "bandwidth": rate, "completes": self.completes}]

    def heading(self) -> str:
        """Return the size, the time, and what they hold for."""
        now = self.conditions
        what = f"{self.plan.collective} of {format_size(now.size)}"
        if isinstance(self.plan.movement, Timed | Together):
            whose = "the plan's own latencies" if now.latency is None else latency_words(now.latency, self.plan.fabric)
            return f"{what}: {format_time(self.time)}; {whose}, the plan's own bandwidths"
        own = now.bandwidth is None and isinstance(self.plan.place, Fabric)
        rate = "the fabric's own bandwidths" if own else f"{format_bandwidth(now.bandwidth or NODE_BANDWIDTH)} per node"
        alpha = latency_words(now.latency or USUAL, self.plan.fabric)
        return f"{what}: {format_time(self.time)}; {alpha}, {rate}"

    def record(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {
            "size_bytes": float(self.conditions.size),
            "time_s": float(self.time),
            "time": str(self.time),
            **self.run.record(),
            "down": [{"from": self._name(u), "to": self._name(v)} for u, v in self._down],
            "completes": self.completes,
            "incomplete_nodes": list(self._lacking()),
            "text": str(self),
        }

    def __str__(self) -> str:
        """Return what it is, what does not arrive, if links failed, and then use of links and what ends last."""
        name = self._name
        if self.run.loss is None or not isinstance(self.plan.place, Fabric):
            return "\n".join([self.heading(), self.run.describe(name)])
        times = self.run.without_loss().describe(name)
        still = [] if self.completes else ["of what still goes:"]
        return "\n".join([self.heading(), *self._broken(self.run.loss), *still, times])

    @property
    def _down(self) -> tuple[Link, ...]:
        return () if self.run.loss is None else self.run.loss.links

    @property
    def _name(self) -> Callable[[int], str]:
        return self.plan.place.names.__getitem__ if isinstance(self.plan.place, Fabric) else str

    def _lacking(self) -> dict[str, list[str]]:
        """Return for each node that never has all it should which blocks, or whose parts of its sum, are missing."""
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
        down = listed([f"{self._name(u)} -> {self._name(v)}" for u, v in loss.links])
        if self.completes:
            yield f"with {down} down the {self.plan.collective} finishes all the same"
            return
        lacking = self._lacking()
        what, of = ("their whole sum", "the parts of") if loss.reduces_only else ("all data", "the shards of")
        members = len(self.plan.collective.members(self.plan.topology.nodes, self.plan.topology.switches))
        verb = "never gets" if len(lacking) == 1 else "never get"
        some = f"{len(lacking)} of {counted(members, 'node')} {verb} {what}"
        yield f"with {down} down the {self.plan.collective} does not finish: {some}"
        for node in list(lacking)[:_SHOWN]:
            yield f"  {node} lacks {of} {listed(lacking[node])}"
        if len(lacking) > _SHOWN:
            yield f"  and so on for {len(lacking) - _SHOWN} more"
        yield "'topodesign schedule' makes another one for what is left, with --without A-B"


def simulate(
    plan: Plan | str | Path,
    *,
    size: Quantity = "1MiB",
    alpha: Quantity | None = None,
    gap: Quantity | None = None,
    hop: Quantity | None = None,
    bandwidth: Quantity | None = None,
    mode: Mode = "lock-step",
    links: LinkTable | str | Path | None = None,
    failed: Iterable[str | Link | tuple[str, str]] = (),
    without: Iterable[str] = (),
    chunks: int | None = None,
    jitter: Quantity = 0,
    seed: int = 0,
    ready: Ready | None = None,
) -> Simulation:
    """Time a plan: latencies of messages, gaps between those of a port, switches that they pass, and bandwidths.

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
    mode
        Of rounds: ``lock-step`` or ``asynchronous``.
    links
        Of rounds and timed sends: other latencies and bandwidths of single links, or the file with them.
    failed
        Links that carry nothing: pairs of numbers, or of names, or text such as ``0,5``.
    without
        Of a fabric: what is down in both directions, ``A-B``, or the name of a node or switch.
    chunks
        Of trees and paths: chunks that the data of each is cut into; None takes the number that is fastest.

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
        If nobody knows how to simulate such a movement.

    Examples
    --------
    >>> from topodesign import schedule, simulate
    >>> simulate(schedule("circulant(12,2,3)", "allgather"), size="1MiB").time
    Fraction(227099, 2343750000)
    """
    plan = as_plan(plan)
    run = RUNS.get(type(plan.movement))
    if run is None:
        raise ScheduleError(f"there is no simulator of {type(plan.movement).__name__}")
    if isinstance(plan.place, Fabric) and not isinstance(plan.movement, Trees | Paths):  # whose shares keep limits
        plan.place.check_unshared(f"simulation of {plan.kind}")
    if bandwidth is not None and isinstance(plan.place, Fabric) and plan.place.names != _numbers(plan.place):
        raise ParameterError(f"{plan.place.name} has bandwidths of its own; leave the bandwidth out")
    down = [_link(plan, one) for one in failed]
    if without:
        down += _dead(plan, tuple(without))
    now = Conditions(
        as_size(size),
        _latency(plan, alpha, gap, hop),
        None if bandwidth is None else as_bandwidth(bandwidth),
        mode,
        links if links is None or isinstance(links, LinkTable) else read_link_table(links),
        tuple(down),
        chunks,
        as_time(jitter),
        as_seed(seed),
        () if ready is None else as_ready(plan.fabric, ready),
    )
    if (now.jitter or now.ready) and not isinstance(plan.movement, Timed | Together):
        raise ParameterError(f"delays are of timed sends, and {plan.kind} have no times of their own; leave them out")
    return Simulation(plan, now, run(plan, plan.movement, now))


def _numbers(fabric: Fabric) -> tuple[str, ...]:
    return tuple(map(str, range(len(fabric.names))))


def _link(plan: Plan, link: str | tuple[int | str, int | str]) -> Link:
    """Return a failed link by the numbers of its ends.

    Raises
    ------
    ParameterError
        If there is none, or the text is no pair of numbers, or on a fabric of names.
    """
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
    """Return the links that what is left of a fabric, or of a topology with numbers for names, does not have."""
    fabric = plan.fabric
    left = {(link.src, link.dst) for link in part_of(fabric, (), "vanish", without).links()}
    return [
        (fabric.number(one.src), fabric.number(one.dst)) for one in fabric.links() if (one.src, one.dst) not in left
    ]


def training_step(
    plan: Plan | str | Path,
    layers: Iterable[Layer] | str | Path,
    *,
    alpha: Quantity = "10us",
    bandwidth: Quantity = "100Gbps",
    bucket: Quantity | None = None,
) -> TrainingStep:
    """Time a training step whose gradients are reduced as a plan of rounds does it.

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
    if not isinstance(plan.movement, Rounds):
        raise ParameterError(f"a training step is timed with a plan of rounds, not of {plan.kind}")
    cost = cost_of(plan.topology, plan.movement)
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


def _rounds(plan: Plan, rounds: Rounds, now: Conditions) -> SimulationResult:
    if now.chunks is not None:
        raise ParameterError("chunks are of trees and paths; rounds have none")
    table = _links(plan, now) or LinkTable({}, {})
    latency = now.latency or USUAL
    own = 8 * plan.fabric.unit * max(1, plan.topology.degree)
    return simulate_rounds(
        plan.topology,
        rounds,
        alpha=latency.alpha or Fraction(0),
        size=now.size,
        bandwidth=own if now.bandwidth is None else now.bandwidth,
        mode=now.mode,
        link_alpha=table.alpha,
        link_bandwidth=table.bandwidth,
        failed_links=now.failed,
    )


def _latency(plan: Plan, alpha: Quantity | None, gap: Quantity | None, hop: Quantity | None) -> Latency | None:
    """Return what messages take; None for timed sends of which nothing is asked."""
    if isinstance(plan.movement, Timed | Together) and (alpha, gap, hop) == (None, None, None):
        return None
    return as_latency(alpha, gap, hop)


def _links(plan: Plan, now: Conditions) -> LinkTable | None:
    """Return what is said of single links, and what the fabric says of all where it is asked."""
    if now.latency is not None and now.latency.alpha is None:
        return plan.fabric.own_links(now.links)
    return None if now.links is None else now.links.on(plan.topology)


def _links_of_sends(plan: Plan, now: Conditions) -> LinkTable | None:
    """Return the same for timed sends, of which those out of switches only pass these."""
    own, latency = _links(plan, now), now.latency
    if latency is None or latency.alpha is None:
        return own
    switches = plan.topology.switches
    alpha = {(u, v): latency.hop if u in switches else latency.alpha for u, v, _ in plan.topology.links()}
    return LinkTable(alpha, {}) if own is None else LinkTable({**alpha, **own.alpha}, own.bandwidth)


def _trees(plan: Plan, trees: Trees, now: Conditions) -> TreeSimulation:
    return simulate_trees(trees, **_in_pipelines(plan, now))


def _paths(plan: Plan, paths: Paths, now: Conditions) -> PathSimulation:
    return simulate_paths(paths, **_in_pipelines(plan, now), inverse_rate=path_time(plan.fabric, paths))


def _in_pipelines(plan: Plan, now: Conditions) -> dict[str, Any]:
    """Return what simulators of pipelines take."""
    if now.mode != "lock-step" or now.links is not None:
        raise ParameterError(f"{plan.kind} are pipelines over alike links; leave the mode and single links out")
    fabric, latency = plan.fabric, now.latency or USUAL
    unit = 8 * fabric.unit
    if now.bandwidth is not None:
        unit = now.bandwidth / max(1, int(fabric.topology.out_ports[list(fabric.compute)].max()))
    return {
        "latency": latency,
        "size": now.size,
        "unit": unit,
        "chunks": now.chunks,
        "failed_links": now.failed,
        "of_links": fabric.link_latencies() if latency.alpha is None else None,
    }


def _timed(plan: Plan, timed: Timed, now: Conditions) -> TimedSimulation:
    return simulate_timed(plan.topology, timed, **_sends(plan, timed.tick, now))


def _together(plan: Plan, moved: Together, now: Conditions) -> TimedSimulation:
    return simulate_together(plan.topology, moved, **_sends(plan, moved.tick, now))


def _sends(plan: Plan, tick: Fraction, now: Conditions) -> dict[str, Any]:
    """Return what simulators of timed sends take."""
    return {
        "size": now.size,
        "links": _links_of_sends(plan, now),
        "gap": None if now.latency is None else now.latency.gap,
        "jitter": now.jitter,
        "seed": now.seed,
        "opens": _opens(plan, tick, now),
    }


def _opens(plan: Plan, tick: Fraction, now: Conditions) -> NDArray[np.int64] | None:
    """Return from when on links may be used, in ticks; None if from the start.

    Raises
    ------
    ParameterError
        If conditions are not for timed sends.
    """
    if now.chunks is not None or now.mode != "lock-step":
        raise ParameterError("timed sends say when they start; leave chunks and mode out")
    if now.failed:
        raise ParameterError("what failures do to timed sends is not simulated; lower them to rounds first")
    if not now.ready:
        return None
    if max(now.ready) >= MAX_TICKS * tick:
        raise ParameterError("a node is ready too late for the ticks of the plan")
    at = np.array([math.ceil(time / tick) for time in now.ready], dtype=np.int64)
    opens: NDArray[np.int64] = np.maximum(at[plan.topology.src], at[plan.topology.dst])
    return opens


def _orbit(plan: Plan, orbit: OrbitRounds, now: Conditions) -> SimulationResult:
    return _rounds(plan, orbit.unfold(), now)


RUNS: Mapping[type, Callable[[Plan, Any, Conditions], Run]] = MappingProxyType(
    {Rounds: _rounds, Trees: _trees, Paths: _paths, Timed: _timed, Together: _together, OrbitRounds: _orbit}
)
"""The simulators by kind of movement."""
