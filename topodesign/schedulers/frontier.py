"""The frontier of pipelines as a result: what every number of steps buys, and what is fastest for a size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

from topodesign.base.arguments import as_integer
from topodesign.base.declared import key, row_of
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.options import read, takes
from topodesign.base.records import Result
from topodesign.base.units import Quantity, as_bandwidth, as_size, as_time, format_size, format_time
from topodesign.base.wording import counted
from topodesign.base.work_options import WorkOptions
from topodesign.collectives import Collective, as_collective
from topodesign.collectives.collective import InGroups, InOneGroup
from topodesign.fabrics.groups import Groups, Placement
from topodesign.fabrics.part import Others
from topodesign.fabrics.places import PlaceLike
from topodesign.plans.plan import Plan
from topodesign.pricing.groups import in_turn_of
from topodesign.schedulers.method import Request, check_root, planned, sizes_of
from topodesign.schedulers.pipeline import METHOD, MOST_CHUNKS, Point, copying, finished, frontier_of, pipelines
from topodesign.topology.topology import Topology


@dataclass(frozen=True, repr=False)
class PipelineFrontier(Result):
    """What every number of steps buys in bandwidth, over trees in chunks; exact.

    * ``topology``, ``collective``: where and what, with root and groups.
    * ``bound``: bandwidth factor that nothing undercuts over trees, which the choices tend to with more chunks: of a
      broadcast d over the least cut between the root and a node.
    """

    topology: Topology
    collective: Collective
    points: tuple[Point, ...]  # choices that no other beats in steps and bandwidth, fewest steps first
    bound: Fraction
    alpha: Fraction  # latency of a step, in seconds
    bandwidth: Fraction  # bandwidth of all links of a node, in bits per second
    sizes: tuple[Fraction, ...]  # sizes of the data, in bytes

    KEYS = (
        key("spec=topology.spec", "What names and rebuilds the topology; null for links that have no spec."),
        key("collective", "What is sent.", kind=InOneGroup | InGroups),
        "bound alpha_s=float(alpha) bandwidth_bps=float(bandwidth) sizes_bytes=float(sizes)",
        key("frontier=points", "What every number of steps buys."),
    )

    def time(self, point: Point, size: Quantity) -> Fraction:
        """Return the seconds that a choice takes for so much data."""
        return point.cost.runtime(alpha=self.alpha, size=as_size(size), bandwidth=self.bandwidth)

    def best(self, size: Quantity) -> Point:
        """Return the fastest choice for so much data, of equals that with the fewest steps."""
        return min(self.points, key=lambda point: self.time(point, size))

    def plan(self, point: Point) -> Plan:
        """Return the plan of a choice."""
        movement = finished(point, self.collective)
        return planned(self.topology, movement, METHOD.name, way=point.way.name, pieces=point.chunks)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for every choice: steps, bandwidth factor, trees, chunks, and the time for each size."""
        names = [f"time_s of {format_size(size)}" for size in self.sizes]
        rows = []
        for point in self.points:
            best = [format_size(size) for size, best in zip(self.sizes, point.best, strict=True) if best]
            rows.append(row_of(point) | dict(zip(names, point.times, strict=True)) | {"best_for": best})
        return rows

    def heading(self) -> str:
        """Return what it is for, and where the frontier begins and ends."""
        first, last = self.points[0].cost, self.points[-1].cost
        return (
            f"{self.collective} in rounds on {self.topology.spec or 'a topology'}: from {first.steps} steps, "
            f"y = {first.bandwidth} to {last.steps} steps, y = {last.bandwidth}; over trees not below {self.bound}"
        )

    def __str__(self) -> str:
        lines = [self.heading()]
        for place, point in enumerate(self.points):
            if place < 6 or place == len(self.points) - 1 or any(point.best):
                own = zip(self.sizes, point.times, point.best, strict=True)
                sizes = [f"{format_size(size)} in {format_time(time)}" for size, time, best in own if best]
                best = f", best for {' and '.join(sizes)}" if sizes else ""
                bandwidth = f"y = {point.cost.bandwidth} = {float(point.cost.bandwidth):.6f}"
                chunks = counted(point.chunks, "chunk")
                lines.append(f"  {point.cost.steps} steps, {bandwidth}: {point.way.name}, {chunks}{best}")
        return "\n".join(lines)


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
    check_root(asked, request.root)
    said = read(WorkOptions, work, "pipeline_frontier")
    topology, wanted, sizes = request.topology, request.among, said["sizes"]
    wanted.members(topology.nodes)
    where, what = copying(topology, wanted)
    points = frontier_of(pipelines(where, what), as_integer("most_chunks", most_chunks, 1, 2**16))
    if not points:
        raise InfeasibleError("there is nothing to send")
    latency, rate = as_time(said["alpha"], latency=True), as_bandwidth(said["bandwidth"])
    asked_sizes = sizes_of(sizes)
    times = [
        tuple(point.cost.runtime(alpha=latency, size=size, bandwidth=rate) for size in asked_sizes) for point in points
    ]
    first = [min(range(len(points)), key=lambda place: times[place][at]) for at in range(len(asked_sizes))]
    timed = tuple(
        replace(point, times=own, best=tuple(best == place for best in first))
        for place, (point, own) in enumerate(zip(points, times, strict=True))
    )
    return PipelineFrontier(
        topology, wanted, timed, in_turn_of(topology, wanted, "forward"), latency, rate, asked_sizes
    )
