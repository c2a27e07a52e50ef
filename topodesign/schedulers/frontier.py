"""The frontier of pipelines as a result: what every number of steps buys, and what is fastest for a size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Unpack

from topodesign.base.arguments import as_integer
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.options import read, takes
from topodesign.base.records import Result
from topodesign.base.units import Quantity, as_bandwidth, as_size, as_time, format_size, format_time
from topodesign.base.work_options import WorkOptions
from topodesign.collectives import Collective, as_collective
from topodesign.fabrics.groups import Groups, Placement
from topodesign.fabrics.part import Others
from topodesign.fabrics.places import PlaceLike
from topodesign.plans.plan import Plan
from topodesign.pricing.groups import bandwidth_of
from topodesign.schedulers.method import Request, planned
from topodesign.schedulers.pipeline import METHOD, MOST_CHUNKS, Point, copying, finished, frontier_of, pipelines
from topodesign.topology.topology import Topology


@dataclass(frozen=True, repr=False)
class PipelineFrontier(Result):
    """What every number of steps buys in bandwidth, over trees in chunks; exact.

    Attributes
    ----------
    topology, collective
        Where and what, with root and groups.
    points
        Choices that no other beats in steps and bandwidth, fewest steps first.
    bound
        Bandwidth factor that nothing undercuts over trees, which the choices tend to with more chunks: of a broadcast
        d over the least cut between the root and a node.
    alpha, bandwidth
        Seconds of latency, and bits per second of a node.
    sizes
        Bytes for which times are told.
    """

    topology: Topology
    collective: Collective
    points: tuple[Point, ...]
    bound: Fraction
    alpha: Fraction
    bandwidth: Fraction
    sizes: tuple[Fraction, ...]

    def time(self, point: Point, size: Quantity) -> Fraction:
        """Return the seconds that a choice takes for so much data."""
        return point.cost.runtime(alpha=self.alpha, size=as_size(size), bandwidth=self.bandwidth)

    def best(self, size: Quantity) -> Point:
        """Return the fastest choice for so much data, of equals that with the fewest steps."""
        return min(self.points, key=lambda point: self.time(point, size))

    @cached_property
    def _fastest(self) -> dict[Fraction, Point]:
        return {size: self.best(size) for size in self.sizes}

    def plan(self, point: Point) -> Plan:
        """Return the plan of a choice."""
        movement = finished(point, self.collective)
        return planned(self.topology, movement, METHOD.name, way=point.way.name, pieces=point.chunks)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for every choice: steps, bandwidth factor, trees, chunks, and the time for each size."""
        return [
            {
                "steps": point.cost.steps,
                "bandwidth": point.cost.bandwidth,
                "way": point.way.name,
                "chunks": point.chunks,
                **{f"time_s of {format_size(size)}": self.time(point, size) for size in self.sizes},
                "best_for": [format_size(size) for size in self.sizes if self._fastest[size] is point],
            }
            for point in self.points
        ]

    def heading(self) -> str:
        """Return what it is for, and where the frontier begins and ends."""
        first, last = self.points[0].cost, self.points[-1].cost
        return (
            f"{self.collective} in rounds on {self.topology.spec or 'a topology'}: from {first.steps} steps, "
            f"y = {first.bandwidth} to {last.steps} steps, y = {last.bandwidth}; over trees not below {self.bound}"
        )

    def __str__(self) -> str:
        """Return the heading, the first choices and the best for each size."""
        lines = [self.heading()]
        shown = dict.fromkeys((*self.points[:6], *self._fastest.values(), self.points[-1]))
        for point in sorted(shown, key=lambda one: one.cost.steps):
            own = [size for size in self.sizes if self._fastest[size] is point]
            sizes = [f"{format_size(size)} in {format_time(self.time(point, size))}" for size in own]
            chunks = "1 chunk" if point.chunks == 1 else f"{point.chunks} chunks"
            best = f", best for {' and '.join(sizes)}" if sizes else ""
            bandwidth = f"y = {point.cost.bandwidth} = {float(point.cost.bandwidth):.6f}"
            lines.append(f"  {point.cost.steps} steps, {bandwidth}: {point.way.name}, {chunks}{best}")
        return "\n".join(lines)

    def record(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {
            "spec": None if self.topology.spec is None else str(self.topology.spec),
            "collective": self.collective.record(),
            "bound": str(self.bound),
            "alpha_s": float(self.alpha),
            "bandwidth_bps": float(self.bandwidth),
            "sizes_bytes": [float(size) for size in self.sizes],
            "frontier": [
                {
                    "steps": point.cost.steps,
                    "bandwidth": str(point.cost.bandwidth),
                    "bandwidth_float": float(point.cost.bandwidth),
                    "way": point.way.name,
                    "chunks": point.chunks,
                    "times_s": [float(self.time(point, size)) for size in self.sizes],
                    "best": [self._fastest[size] is point for size in self.sizes],
                }
                for point in self.points
            ],
        }


@takes(WorkOptions)
def pipeline_frontier(
    place: PlaceLike,
    collective: Collective | str = "broadcast",
    *,
    root: str | int | None = None,
    group: Groups = (),
    placement: Placement | None = None,
    only: str | Iterable[str] = (),
    others: Others = "forward",
    most_chunks: int = MOST_CHUNKS,
    **work: Unpack[WorkOptions],
) -> PipelineFrontier:
    """Return what every number of steps buys in bandwidth: trees that carry data in chunks, one behind the other.

    Parameters
    ----------
    place
        A topology, its spec, a file, or a networkx graph; without switches.
    collective
        A broadcast or reduce with a root, an allgather or a reduce-scatter.
    root
        Its root; of several groups one in each, or ``first``.
    only, group, placement, others
        Who takes part, as :func:`topodesign.schedule` takes them. Others ``forward`` here, or else there are none.
    most_chunks
        How many chunks are tried.
    **work
        For which the best is told.

    Raises
    ------
    ParameterError
        If the collective, its root or a group does not fit, or a number is out of range.
    InfeasibleError
        If some member cannot be reached.

    Examples
    --------
    >>> found = pipeline_frontier("torus(4,4)", root=0, sizes=["1KiB", "1GiB"])
    >>> [(point.cost.steps, str(point.cost.bandwidth)) for point in found.points[:3]]
    [(4, '25/3'), (5, '5'), (6, '3')]
    >>> found.best("1MiB").chunks, found.bound
    (6, Fraction(1, 1))
    """
    asked = as_collective(collective)
    if not asked.like(*METHOD.collectives):
        known = ", ".join(map(str, METHOD.collectives))
        raise ParameterError(f"pipelines over trees do {known}, not {asked}")
    if others != "forward":
        raise ParameterError("others forward here; leave them out with the topology of the members alone")
    request = Request(
        place, asked, root=asked.root if root is None else root, only=only, group=group, placement=placement
    )
    if (request.root is None and asked.roots is None) == asked.rooted:
        raise ParameterError(f"{asked} {'needs a' if asked.rooted else 'has no'} root")
    said = read(WorkOptions, work, "pipeline_frontier")
    topology, wanted, sizes = request.topology, request.among, said["sizes"]
    wanted.members(topology.nodes)
    where, what = copying(topology, wanted)
    points = frontier_of(pipelines(where, what), as_integer("most_chunks", most_chunks, 1, 2**16))
    if not points:
        raise InfeasibleError("there is nothing to send")
    return PipelineFrontier(
        topology,
        wanted,
        tuple(points),
        bandwidth_of(topology, wanted, "forward"),
        as_time(said["alpha"], latency=True),
        as_bandwidth(said["bandwidth"]),
        tuple(map(as_size, [sizes] if isinstance(sizes, str | int | float) else sizes)),
    )
