"""Comparison of a training step on several networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from topodesign.base.arguments import as_integer
from topodesign.base.claims import FASTEST_OF_COLUMN
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.progress import tell
from topodesign.base.records import Result, Table, shorten_text
from topodesign.base.units import Quantity, format_excess, format_time
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.plan import Plan
from topodesign.pricing.training.model import Model
from topodesign.pricing.training.traffic import StepMix
from topodesign.pricing.workload import as_workload
from topodesign.report.comparison.compare import Missing
from topodesign.report.comparison.contender import ContenderLike, found_contender
from topodesign.report.comparison.everyday import EVERYDAY
from topodesign.schedulers.group_ways import Wires
from topodesign.schedulers.step import StepLike, StepTime, as_step, price_on


@dataclass(frozen=True, slots=True)
class NamedStep(Declared):
    """Contender with its training step."""

    name: str  # what it was called
    time: StepTime

    KEYS = "name *time"
    ROW = "name *time"


@dataclass(frozen=True, repr=False)
class StepComparison(Result):
    """Training step on several networks."""

    step: StepMix  # what it computes and sends
    contenders: tuple[NamedStep, ...]  # the networks, in the order in which they were named
    missing: tuple[Missing, ...] = ()  # names of which there is no network of this size, with the reason

    KEYS = (key("model=step.model", "What is trained; null for a list.", kind=Model | None), "nodes contenders missing")
    ROWS = "contenders"

    @property
    def nodes(self) -> int:
        """Number of accelerators."""
        return len(self.contenders[0].time.nodes)

    def best(self) -> NamedStep:
        """Return the contender with the shortest step."""
        return min(self.contenders, key=lambda one: one.time.seconds)

    def heading(self) -> str:
        """Return the subject and conditions."""
        model, first = self.step.model, self.contenders[0].time
        degrees = "" if model is None else (
            f"; tensor {model.tensor}, pipeline {model.pipeline}, data {model.data}"
            f"{f', expert {model.expert}' if model.experts else ''}; {model.micro_batches} micro batches"
        )  # fmt: skip
        alpha = format_time(first.latency.alpha or 0)
        return f"{self.step.name}: a training step on {self.nodes} nodes{degrees}; alpha {alpha}"

    def table(self) -> Table:
        """Return a table of contenders, or of one contender's collectives."""
        if len(self.contenders) == 1:
            return self.contenders[0].time.table()
        least = self.best().time.seconds
        used = [
            name
            for at, (name, _) in enumerate(self.contenders[0].time.shares)
            if any(one.time.shares[at][1] for one in self.contenders)
        ]
        rows = []
        for one in self.contenders:
            shares, seconds = dict(one.time.shares), one.time.seconds
            rows.append((
                f"{format_time(seconds)} {format_excess(seconds / least):>8} {'*' if seconds == least else ' '}",
                *(format_time(shares[name]) if shares[name] else "0" for name in used),
                f"{float(one.time.communication):.1%}",
                format_time(one.time.bound),
                one.name if one.name == one.time.place.name else f"{one.name}: {shorten_text(one.time.place.name)}",
            ))  # fmt: skip
        notes = [
            f"{FASTEST_OF_COLUMN}, percentages are over it; sent is the part of the step that waits for what is sent",
            "bound: no way to do the collectives in this layout takes less",
            *(f"{one.name}: {one.why}" for one in self.missing),
        ]
        return Table(
            self.heading(),
            ("step", *used, "sent", "bound", "network"),
            tuple(rows),
            words=frozenset(("network",)),
            spare=frozenset(("bound", "bubble")),
            footnote="\n".join(notes),
        )


def compare_steps(
    step: StepLike,
    on: Sequence[ContenderLike],
    *,
    changes: Mapping[str, Any] | None = None,
    degree: int | None = None,
    layouts: int = 4,
    alpha: Quantity = "10us",
    bandwidth: Quantity | None = None,
    gap: Quantity | None = None,
    hop: Quantity | None = None,
    progress: Callable[[float], None] | None = None,
) -> StepComparison:
    """Compare the time of a training step on several networks.

    The result includes the time spent waiting for each collective.

    Parameters
    ----------
    step
        A model (:class:`topodesign.pricing.training.model.Model`), its fields or file; a list of collectives or its
        file (docs/all-to-all.md); or a file of layers whose gradients are ready one after the other (.csv).
    on
        The networks: topologies and fabrics, specs, presets and files, or everyday names as :func:`compare` knows them.
    changes
        Fields of the model with other values.
    degree
        Ports of a node, for everyday names.
    layouts
        Layouts that are priced of each, at most (see :func:`price_step`).
    alpha, gap, hop
        Latency of a message, time between two at one port, and in a switch.
    bandwidth
        Of a node over all its links, of everyday names too. Default 100 Gbps; other fabrics have their own.
    progress
        Called with the share of the networks that are done.

    Returns
    -------
    StepComparison
        Everyday names that stand for nothing of this size are in ``missing``.

    Raises
    ------
    ParameterError
        If the model's ranks are not as many as the nodes, or numbers do not fit.
    InfeasibleError
        If nothing is left to compare.

    Examples
    --------
    >>> tiny = {"layers": 4, "hidden": 1024, "heads": 8, "vocabulary": 32000, "sequence": 1024, "batch": 64,
    ...         "flops": "100T", "tensor": 4, "data": 4}
    >>> found = compare_steps(tiny, ["torus(4,4)", "ring"], degree=4, bandwidth="400Gbps")
    >>> found.best().name
    'torus(4,4)'
    """
    if not isinstance(on, list | tuple) or not on:
        raise ParameterError("expected a list of networks, such as ['torus(4,4)', 'fattree']")
    mix = as_step(step, changes)
    work = as_workload(alpha, "1MiB", "100Gbps" if bandwidth is None else bandwidth, gap=gap, hop=hop)
    many = math.prod(mix.shape) if mix.shape else None
    ports = None if degree is None else as_integer("degree", degree, 1)
    layouts = as_integer("layouts", layouts, 1, 10**4)
    found: list[NamedStep] = []
    missing: list[Missing] = []
    told: list[bool] = []  # whether the bandwidth was needed
    for done, what in enumerate(on, 1):
        try:
            name, place = found_contender(what, work, many, ports)
            if isinstance(place, Plan) or (isinstance(what, str) and "@" in what):
                raise ParameterError(f"{name}: a step is priced on a network, not for a plan or a method")
            there = place.place
            told.append(not isinstance(there, Fabric) or name.strip() in EVERYDAY)
            wires = Wires.of(there, work.latency, work.bandwidth)
            one = price_on(mix, wires, layouts=layouts)
        except InfeasibleError as error:
            missing.append(Missing(str(what), str(error)))
        else:
            found.append(NamedStep(name, one))
            if many is not None and len(one.nodes) != many:
                raise ParameterError(f"{name} has {len(one.nodes)} nodes, not {many}; compare what has as many")
            many = len(one.nodes)
        tell(progress, done / len(on))
    if bandwidth is not None and found and not any(told):
        raise ParameterError("these networks have bandwidths of their own; omit the bandwidth")
    if not found:
        raise InfeasibleError("\n".join(f"{one.name}: {one.why}" for one in missing))
    return StepComparison(mix, tuple(found), tuple(missing))
