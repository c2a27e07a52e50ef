"""Conditions and results common to all simulators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from topodesign.base.declared import Declared, key
from topodesign.base.errors import TooLargeError
from topodesign.base.latency import Latency
from topodesign.plans.flow import Flow
from topodesign.plans.plan import Plan
from topodesign.plans.time.losses import Link, Loss
from topodesign.plans.time.options import Mode
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import IntArray

SHOWN = 8  # lines of a critical path that are printed
_MAX_BUSY = 20_000  # times of links that are listed


@dataclass(frozen=True)
class Conditions:
    """Under which a plan runs."""

    size: Fraction  # bytes of the whole data
    latency: Latency | None  # what messages take beside their bytes; None for what timed sends say themselves
    # bits per second of all links of a node together; None for that of the plan's fabric
    bandwidth: Fraction | None = None
    # whether steps wait for each other (``lock-step``), or only sends for their data and links (``asynchronous``)
    mode: Mode = "lock-step"
    links: LinkTable | None = None  # latencies and bandwidths of single links; None if all are alike
    failed: tuple[Link, ...] = ()  # links (u, v) that carry nothing, by numbers
    chunks: int | None = None  # chunks of the data of every tree or path; None for the number that is fastest
    jitter: Fraction = Fraction(0)
    seed: int = 0
    ready: tuple[Fraction, ...] = ()


USE_KEYS = (
    key(
        "utilisation_mean",
        "Share of the time that links transmit, the mean over links.",
        kind=float,
        value=lambda run: float(run.utilisation.mean()),
    ),
    key("utilisation_max", "That of the fullest link.", kind=float, value=lambda run: float(run.utilisation.max())),
    key("utilisation_min", "That of the emptiest link.", kind=float, value=lambda run: float(run.utilisation.min())),
)
"""Keys of every run: how busy links are."""


@dataclass(frozen=True, eq=False)
class Run(Declared, ABC):
    """What every simulator returns."""

    time: Fraction  # seconds until the last data have arrived
    # share of ``time`` in which each link of the topology transmits bits, latency being idle time (float64, in the
    # topology's order; rounded)
    utilisation: NDArray[np.float64]
    # what failed links prevent, or None if none failed. The times are then those of what still carries data
    loss: Loss | None

    times_of_plan: ClassVar[bool] = False
    """Whether latencies and bandwidths are the plan's own unless others are asked for."""

    @property
    def sends(self) -> tuple[Sequence[int], Sequence[int], Fraction] | None:
        """Start and end of every send in ticks, with seconds."""
        return None

    @abstractmethod
    def describe(self, name: Callable[[int], str]) -> str:
        """Return times, link use and losses, with names."""

    def __str__(self) -> str:
        return self.describe(str)

    def without_loss(self) -> Self:
        """Return the same, silent about what is lost."""
        return replace(self, loss=None)

    def use(self) -> list[str]:
        """Return the line on link use, if there are links."""
        if not len(self.utilisation):
            return []
        mean, least, most = (f(self.utilisation) for f in (np.mean, np.min, np.max))
        return [f"links transmit {mean:.1%} of the time on average, {least:.1%} to {most:.1%}"]


class Busy(NamedTuple):
    """When links are busy in a step, or with the sends of a collective."""

    name: str
    start: list[Fraction]  # seconds
    end: list[Fraction]
    link: list[int]
    texts: list[str]  # what each is busy with


class Moments(NamedTuple):
    """Sends between two instants each."""

    flow: Flow
    instants: IntArray  # ascending
    names: tuple[str, ...]  # what to call the time after each instant but the last
    note: str  # what the sends stand for


class TimingModel(NamedTuple):
    """What a timing model answers about a plan, beside its form and the verifier's check."""

    claim: Callable[[Plan], dict[str, Fraction]]  # what it costs, by the names of a claim
    run: Callable[[Plan, Sequence[Flow], Conditions], Run]
    # from bytes, latency and bits/s of a node: when links are busy, and what the times mean
    busy: Callable[[Plan, Fraction, Fraction, Fraction], tuple[list[Busy], str]]
    moments: Callable[[Plan], Moments]


def check_busy(many: int, what: str) -> None:
    """Raise TooLargeError if times of links are too many to list."""
    if many > _MAX_BUSY:
        raise TooLargeError(f"{many} {what} are too many to draw; at most {_MAX_BUSY}")


def links_of(plan: Plan, now: Conditions) -> LinkTable | None:
    """Return the conditions of links, or of the fabric."""
    if now.latency is not None and now.latency.alpha is None:
        return plan.fabric.get_link_table(now.links)
    return None if now.links is None else now.links.on(plan.topology)
