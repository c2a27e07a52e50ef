"""Time of a training step on a network."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from topodesign.base.arguments import as_integer
from topodesign.base.claims import Claim, Of, Proof, Scope
from topodesign.base.declared import Declared, key
from topodesign.base.errors import ParameterError
from topodesign.base.file_kinds import FileKind, kind_of
from topodesign.base.latency import Latency
from topodesign.base.records import Result, Table
from topodesign.base.units import Quantity, format_size, format_time
from topodesign.base.wording import count_noun
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.groups import Placement, along, as_placement
from topodesign.fabrics.places import PlaceLike
from topodesign.plans.time.workload import load_workload
from topodesign.pricing.mix import Mix, read_mix
from topodesign.pricing.training.model import Model, as_model
from topodesign.pricing.training.timeline import StepParts, split_times, step_seconds
from topodesign.pricing.training.traffic import StepCollective, StepMix, layers_step, mix_step, step_mix
from topodesign.pricing.workload import as_workload
from topodesign.schedulers.group_ways import Ways, Wires, ways_of

StepLike: TypeAlias = "StepMix | Mix | Model | Mapping[str, Any] | str | Path"
"""A training step: of a model, its file or fields; a list of collectives or its file; a file of layers (.csv)."""


def as_step(value: StepLike, changes: Mapping[str, Any] | None = None) -> StepMix:
    """Return the training step that a value is or describes.

    Parameters
    ----------
    value
        A model, its fields, or a file: of a model, of a list of collectives, or of layers (.csv).
    changes
        Fields of a model with other values.

    Examples
    --------
    >>> from topodesign.pricing.mix import single
    >>> as_step(single("allreduce", 2**20)).stages[0].backward[0].waits[0][0].collective
    'allreduce'
    """
    if isinstance(value, str | Path) and str(value).lower().endswith(".csv"):
        step = layers_step(Path(value).stem, [(one.size, one.ready) for one in load_workload(value)])
    elif isinstance(value, str | Path) and kind_of(Path(value)) is FileKind.COLLECTIVES:
        step = mix_step(read_mix(value))
    elif isinstance(value, StepMix | Mix):
        step = value if isinstance(value, StepMix) else mix_step(value)
    else:
        return step_mix(as_model(value, changes))
    if changes:
        raise ParameterError("only a model has fields that can be changed")
    return step


@dataclass(frozen=True, slots=True)
class SentTime(Declared):
    """Time of one collective of a training step."""

    sent: StepCollective
    groups: int  # groups that do it at once
    members: int  # ranks of each group
    count: int  # how often a step has it, on the stage that has it most often
    way: str  # how it is done: direct, in a ring, or by a known schedule of all nodes
    seconds: Fraction  # one of them
    bound: Fraction  # seconds that none goes below, whatever its way

    KEYS = (
        "*sent groups members count way seconds_exact=seconds",
        key("seconds=float(seconds)", "One of them, in seconds."),
        key("bound_s=float(bound)", "Seconds that none goes below, whatever its way."),
    )


@dataclass(frozen=True, repr=False)
class StepTime(Result):
    """Time of a training step on a network.

    * ``ways``: how each collective can be done in this layout.
    """

    step: StepMix  # what it computes and sends
    place: Fabric  # where
    latency: Latency  # what messages take beside their bytes
    nodes: tuple[int, ...]  # the node of each rank, by number
    sent: tuple[SentTime, ...]  # how long each collective takes
    spent: StepParts  # where the time goes
    bound: Fraction  # seconds that it does not go below in this layout, whatever the ways of its collectives
    before: Fraction  # seconds with the ranks in the order of the nodes
    priced: int  # layouts that were priced
    ways: Mapping[StepCollective, Ways] = field(default_factory=dict, repr=False, compare=False)

    KEYS = (
        key("model=step.name", "What it is called."),
        key("place=place.name", "Where."),
        "*latency seconds_exact=seconds",
        key("seconds=float(seconds)", "The step, in seconds."),
        key("compute_s=float(spent.compute)", "Seconds of computing, on the stage that is busy for longest."),
        "tensor_s=float(tensor) expert_s=float(expert) data_s=float(data) pipeline_s=float(pipeline)",
        "listed_s=float(listed)",
        key("bubble_s=float(spent.bubble)", "Seconds in which stages wait for others, without sends."),
        "communication=float(communication)",
        key("bound_s=float(bound)", "Seconds that it does not go below in this layout, whatever the ways."),
        key("before_s=float(before)", "Seconds with the ranks in the order of the nodes."),
        key("layouts_priced=priced", "Layouts that were priced."),
        key("collectives=sent", "How long each collective takes."),
        "claims placement",
    )
    ROW = (
        "place=place.name seconds compute=spent.compute tensor expert data pipeline listed bubble=spent.bubble "
        "communication bound"
    )

    @property
    def seconds(self) -> Fraction:
        """Seconds of the step, exactly."""
        return self.spent.seconds

    def scale_time(self, *, size: Fraction, often: Mapping[str, Fraction]) -> Fraction:
        """Return the seconds in this placement with scaled sizes and counts."""
        each = {sent: ways.best(size * sent.size).seconds(size * sent.size) for sent, ways in self.ways.items()}
        return step_seconds(self.step, lambda sent: often.get(sent.collective, Fraction(1)) * each[sent])

    @property
    def tensor(self) -> Fraction:
        """Seconds in which tensor parallelism keeps layers waiting."""
        return self.spent.waits["tensor"]

    @property
    def expert(self) -> Fraction:
        """Seconds of token transfers to experts and back."""
        return self.spent.waits["expert"]

    @property
    def data(self) -> Fraction:
        """Seconds of gradients and parameters that no computation hides."""
        return self.spent.waits["data"]

    @property
    def pipeline(self) -> Fraction:
        """Seconds that the sends between stages add."""
        return self.spent.waits["pipeline"]

    @property
    def listed(self) -> Fraction:
        """Seconds of a list of collectives."""
        return self.spent.waits["listed"]

    @property
    def communication(self) -> Fraction:
        """Fraction of the step spent waiting for transfers."""
        return sum(self.spent.waits.values(), Fraction(0)) / self.seconds if self.seconds else Fraction(0)

    @property
    def placement(self) -> list[str]:
        """Node name of each rank."""
        return [self.place.names[node] for node in self.nodes]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims on the seconds among placements."""
        tried = count_noun(self.priced, "placement")
        return (Claim(Of.TIME, self.seconds, Scope.LAYOUTS, Proof.LISTED, self.seconds, tried),)

    def heading(self) -> str:
        """Return a title with the seconds and their components."""
        shares = ", ".join(f"{name} {format_time(seconds)}" for name, seconds in self.shares if seconds)
        return f"{self.step.name} on {self.place.name}: step {format_time(self.seconds)}: {shares}"

    @property
    def shares(self) -> list[tuple[str, Fraction]]:
        """Named components whose sum is the step time."""
        return [("compute", self.spent.compute), *self.spent.waits.items(), ("bubble", self.spent.bubble)]

    def table(self) -> Table:
        """Return a table with one row per collective."""
        rows = tuple(
            (
                str(one.count), one.sent.collective, one.sent.use, f"{one.groups} x {one.members}",
                format_size(one.sent.size) if one.sent.size.denominator == 1 else f"{float(one.sent.size):.0f}B",
                format_time(one.seconds), format_time(one.bound), one.way,
            )
            for one in self.sent
        )  # fmt: skip
        foot = [f"lower bound of this placement: {format_time(self.bound)}; {self.claims[0]}"]
        if self.before != self.seconds:
            foot.insert(0, f"with ranks in node order: {format_time(self.before)}")
        return Table(
            self.heading(),
            ("count", "collective", "for", "groups", "size", "time", "bound", "algorithm"),
            rows,
            words=frozenset(("collective", "for", "algorithm")),
            spare=frozenset(("bound", "for")),
            footnote="\n".join(foot),
        )


def price_step(
    step: StepLike,
    place: PlaceLike,
    *,
    alpha: Quantity = "10us",
    bandwidth: Quantity | None = None,
    gap: Quantity | None = None,
    hop: Quantity | None = None,
    placement: Placement | None = None,
    layouts: int = 4,
    progress: Callable[[float], None] | None = None,
) -> StepTime:
    """Return the time of a training step on a network.

    Parameters
    ----------
    step
        A model (:class:`topodesign.pricing.training.model.Model`), its fields or file; a list of collectives or its
        file (docs/all-to-all.md); or a file of layers whose gradients are ready one after the other (.csv).
    place
        A topology or a fabric, the spec of one, a file, or a networkx graph.
    alpha, gap, hop
        Latency of a message, time between two at one port, and in a switch.
    bandwidth
        Of a node over all its links, 100 Gbps by default; fabrics have their own.
    placement
        The node of each rank, if it is settled: names in the order of the ranks, or a .csv file.
    layouts
        Layouts that are priced at most, the order of the nodes among them.
    progress
        Called with the share of the layouts that are done.

    Returns
    -------
    StepTime
        Of the layout that takes least.

    Raises
    ------
    ParameterError
        If the model's ranks are not as many as the nodes, or numbers do not fit.
    InfeasibleError
        If some ranks cannot reach each other.

    Examples
    --------
    >>> tiny = {"layers": 4, "hidden": 1024, "heads": 8, "vocabulary": 32000, "sequence": 1024, "batch": 64,
    ...         "flops": "100T", "tensor": 4, "data": 4}
    >>> found = price_step(tiny, "torus(4,4)", bandwidth="400Gbps")
    >>> print(found.heading())
    a model on torus(4,4): step ...ms: compute 44.97ms, tensor ..., data ...
    """
    mix = as_step(step)
    work = as_workload(alpha, "1MiB", "100Gbps" if bandwidth is None else bandwidth, gap=gap, hop=hop)
    wires = Wires.of(place, work.latency, work.bandwidth)
    if wires.place is wires.fabric:
        wires.fabric.check_bandwidth(bandwidth)
    return price_on(
        mix, wires, placement=placement, layouts=as_integer("layouts", layouts, 1, 10**4), progress=progress
    )


def price_on(
    mix: StepMix,
    wires: Wires,
    *,
    placement: Placement | None = None,
    layouts: int = 4,
    progress: Callable[[float], None] | None = None,
) -> StepTime:
    """Return the time of a given step on given links."""
    fabric = wires.fabric
    ranks, nodes = math.prod(mix.shape), len(fabric.compute)
    if mix.shape and ranks != nodes:
        shape = " x ".join(map(str, mix.shape))
        raise ParameterError(
            f"{mix.name} has {count_noun(ranks, 'rank')} (tensor x expert x data/expert x pipeline = {shape}), and "
            f"{fabric.name} has {count_noun(nodes, 'node')}; change the degrees, such as data"
        )
    if placement is not None:
        candidates = [as_placement(fabric, placement)]
    else:
        candidates = list(itertools.islice(_orders(mix.shape, fabric), layouts))
    best: StepTime | None = None
    for number, nodes_of in enumerate(candidates, 1):
        found = _price_placement(mix, wires, nodes_of, best)
        if found is not None:
            best = replace(found, before=found.seconds if best is None else best.before)
        best = None if best is None else replace(best, priced=number)
        if progress is not None:
            progress(number / len(candidates))
    if best is None:
        raise ParameterError("there is no layout to price")
    return best


def _orders(shape: tuple[int, ...], fabric: Fabric) -> Iterator[tuple[int, ...]]:
    """Yield placements: node order, well-connected groups, then permuted axes.

    In the last ones the axes take turns in another order.
    """
    nodes = tuple(fabric.compute)
    yield nodes
    if not shape:
        return
    seen = {nodes}
    if not fabric.topology.switches and 1 < shape[0] < len(nodes):
        near = _group_nodes(fabric, shape[0])
        seen.add(near)
        if near != nodes:
            yield near
    ranks = np.arange(len(nodes)).reshape(shape[::-1])
    for axes in itertools.permutations(range(len(shape))):
        # Rank r of the array is on the node whose place in the permuted array it has.
        order = np.argsort(ranks.transpose(axes).ravel())
        layout = tuple(nodes[at] for at in order.tolist())
        if layout not in seen:
            seen.add(layout)
            yield layout


def _group_nodes(fabric: Fabric, size: int) -> tuple[int, ...]:
    """Return nodes in order, grouped by most links."""
    links, order = fabric.topology, list[int]()
    joined = np.zeros((links.nodes, links.nodes), dtype=np.int64)
    np.add.at(joined, (links.src, links.dst), links.capacity)
    joined += joined.T
    left = np.ones(links.nodes, dtype=bool)
    while left.any():
        group = order[len(order) - len(order) % size :]
        ties = joined[group].sum(axis=0) if group else -joined[:, left].sum(axis=1)
        node = int(np.argmax(np.where(left, ties, ties.min() - 1)))
        order.append(node)
        left[node] = False
    return tuple(order)


def _price_placement(mix: StepMix, wires: Wires, nodes: tuple[int, ...], best: StepTime | None) -> StepTime | None:
    """Return the step time in a placement, if below the best."""
    fabric = wires.fabric
    known: dict[tuple[str, tuple[int, ...]], tuple[Ways, int, int]] = {}
    for sent in mix.counts:
        if (sent.collective, sent.axes) not in known:
            groups = along(fabric, mix.shape, sent.axes, nodes) if sent.axes else [nodes]
            many = len(groups[0])
            known[sent.collective, sent.axes] = ways_of(wires, sent.collective, groups), len(groups), many
    ways = {sent: known[sent.collective, sent.axes][0] for sent in mix.counts}
    least = {sent: ways[sent].least_seconds(sent.size) for sent in ways}
    if best and step_seconds(mix, least.__getitem__) >= best.seconds:
        return None
    seconds = {sent: ways[sent].best(sent.size).seconds(sent.size) for sent in ways}
    bounds = {sent: ways[sent].bound(sent.size) for sent in ways}
    times = tuple(
        SentTime(
            sent,
            *known[sent.collective, sent.axes][1:],
            count,
            ways[sent].best(sent.size).name,
            seconds[sent],
            bounds[sent],
        )
        for sent, count in mix.counts.items()
    )
    where = split_times(mix, seconds.__getitem__)
    if best and where.seconds >= best.seconds:
        return None
    bound = step_seconds(mix, bounds.__getitem__)
    return StepTime(mix, fabric, wires.latency, nodes, times, where, bound, where.seconds, 1, ways)
