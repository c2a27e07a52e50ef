"""The work that collectives are priced for: alpha, bandwidth and sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any, Literal

from topodesign.base.cost import Cost, lower_bounds
from topodesign.base.declared import Declared, key
from topodesign.base.errors import ParameterError
from topodesign.base.latency import GAP, HOP, Latency
from topodesign.base.units import Quantity, as_bandwidth, as_size, as_time, format_bandwidth, format_time, plain_number


@dataclass(frozen=True, slots=True)
class Runtime(Declared):
    """The time for one size."""

    size: Fraction
    seconds: Fraction

    KEYS = (key("size_bytes=number(size)", "Data, in bytes."), key("allreduce_s=float(seconds)", "Seconds."))
    SHARED = "runtime"


@dataclass(frozen=True, slots=True)
class Runtimes(Declared):
    """Times of an allreduce."""

    each: tuple[Runtime, ...]

    KEYS = ("allreduce_s=float(first)", key("runtimes=each", "The time for every size."))

    @property
    def first(self) -> Fraction:
        """Seconds of an allreduce of the first size."""
        return self.each[0].seconds

    @property
    def by_size(self) -> dict[Fraction, Fraction]:
        """Seconds by size in bytes."""
        return {one.size: one.seconds for one in self.each}


TIMES = (
    key("allreduce_s=float(timed.first)", "Seconds of an allreduce of the first size."),
    key("runtimes=timed.each", "The same for every size."),
)
"""Keys of what has its times, by size, under ``timed``."""
FACTORS = (
    key("steps=cost.steps", "Communication steps; the latency is alpha times this."),
    key(
        "bandwidth=cost.bandwidth",
        "Bandwidth factor y: the data take y * M/B, with M bytes at B bytes per second of a node.",
    ),
)
"""Keys of what has its price under ``cost``."""


@dataclass(frozen=True)
class Workload(Declared):
    """What a collective is priced for.

    * ``gap``, ``hop``: seconds between two messages of a port, and in a switch; a step from node to node has neither.
    """

    alpha: Fraction  # latency of a step, in seconds
    sizes: tuple[Fraction, ...]  # sizes of the data M, in bytes
    bandwidth: Fraction  # bandwidth B of all links of a node, in bits per second
    gap: Fraction = GAP
    hop: Fraction = HOP

    KEYS = "alpha_s=float(alpha) bandwidth_bps=float(bandwidth)"

    @property
    def size(self) -> Fraction:
        """The first size, in bytes."""
        return self.sizes[0]

    @property
    def model(self) -> dict[str, Any]:
        """The keywords of :func:`topodesign.simulate` that say what messages take."""
        return {"alpha": self.alpha, "gap": self.gap, "hop": self.hop}

    @property
    def latency(self) -> Latency:
        """What messages take beside their bytes."""
        return Latency(self.alpha, self.gap, self.hop)

    @property
    def setting(self) -> str:
        """What times are for, in words."""
        return self.setting_with()

    def setting_with(self, *more: Literal["gap", "hop"]) -> str:
        """Return the same with what messages take besides."""
        given = [f"{name} {format_time(getattr(self, name))}" for name in ("alpha", *more)]
        return f"{', '.join(given)}, {format_bandwidth(self.bandwidth)} per node"

    def allreduce(self, reduce_scatter: Cost, allgather: Cost | None = None) -> tuple[Fraction, ...]:
        """Return the allreduce time in seconds for each size.

        The allgather costs as much as the reduce-scatter if not given.
        """
        both = (reduce_scatter, allgather or reduce_scatter)
        return tuple(sum(cost.runtime(self.alpha, size, self.bandwidth) for cost in both) for size in self.sizes)  # type: ignore[misc]

    def least(self, nodes: int, degree: int, *, duplex: bool = False) -> tuple[Fraction, ...]:
        """Return the lower bound of any allreduce in seconds, for each size."""
        return self.fastest(lower_bounds(nodes, degree, duplex=duplex))

    def fastest(self, costs: Iterable[Cost]) -> tuple[Fraction, ...]:
        """Return the time of the fastest allreduce in seconds, for each size."""
        return tuple(map(min, zip(*map(self.allreduce, costs), strict=True)))

    def by_size(self, seconds: Iterable[Fraction]) -> dict[int | float, Fraction]:
        """Return times by their sizes in bytes."""
        return dict(zip(map(plain_number, self.sizes), seconds, strict=True))

    def timed(self, seconds: Sequence[Fraction]) -> Runtimes:
        """Return times with their sizes."""
        return Runtimes(tuple(map(Runtime, self.sizes, seconds)))


def as_workload(
    alpha: Quantity = "10us",
    sizes: Quantity | Iterable[Quantity] = "1MiB",
    bandwidth: Quantity = "100Gbps",
    *,
    gap: Quantity | None = None,
    hop: Quantity | None = None,
) -> Workload:
    """Return the workload of quantities: text with units, or numbers.

    Seconds, bytes and bits per second.
    """
    several: list[Any] = (
        list(sizes) if isinstance(sizes, Iterable) and not isinstance(sizes, str | bytes | Real) else [sizes]
    )
    if not several:
        raise ParameterError("give at least one size")
    rest = GAP if gap is None else as_time(gap, latency=True), HOP if hop is None else as_time(hop, latency=True)
    return Workload(as_time(alpha, latency=True), tuple(map(as_size, several)), as_bandwidth(bandwidth), *rest)


def winners(costs: Sequence[Cost], bytes_per_step: Fraction) -> list[tuple[Fraction, int]]:
    """Return the cheapest cost from each size on, ascending from 0.

    * ``costs``: at least one.
    * ``bytes_per_step``: alpha * B: how many bytes a node could send in the time that a step costs.

    Returns: pairs of a size in bytes and the place of a cost; of equal costs the first.
    """
    found: list[tuple[Fraction, int]] = []
    for place in sorted(range(len(costs)), key=lambda one: (costs[one].steps, costs[one].bandwidth, one)):
        cost, since = costs[place], Fraction(0)
        if found and cost.bandwidth >= costs[found[-1][1]].bandwidth:
            continue
        while found:
            least = costs[found[-1][1]]
            since = bytes_per_step * (cost.steps - least.steps) / (least.bandwidth - cost.bandwidth)
            if since > found[-1][0]:
                break
            found.pop()
        found.append((since if found else Fraction(0), place))
    return found
