"""Candidates of the user's own and of other packages, priced exactly and set beside what the catalog has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topodesign.base import doors
from topodesign.base.cost import Cost
from topodesign.base.declared import Declared, key
from topodesign.base.errors import FileFormatError, ParameterError, TopodesignError
from topodesign.base.spec import Spec
from topodesign.base.text_files import naming, read_text
from topodesign.catalog.sizes import MOST_NODES
from topodesign.pricing.workload import Workload

if TYPE_CHECKING:
    from topodesign.topology.library import TopologyLike
    from topodesign.topology.topology import Topology

MOST_MEMBERS = 6  # how many members of a family that has several of a size are looked at


@dataclass(frozen=True)
class Own(Declared):
    """A topology that is not of the catalog.

    * ``dominated_by``: the first topology of the frontier that has neither more steps nor a larger factor; null if
      there is none.
    """

    label: str  # what names and rebuilds it: its spec, or the path that was given; of a graph its place in the list
    cost: Cost  # steps and bandwidth factor of reduce-scatter and allgather, whichever is dearer
    allgather: Cost  # price of its allgather, or of the reduce-scatter if that is cheaper
    duplex: bool  # whether duplex cabling can wire it
    workload: Workload  # what the times are for
    allreduce: tuple[Fraction, ...]  # seconds of an allreduce, for each size of the workload
    found: str  # who brings it: ``own``, or the package of its family
    dominated_by: str | None

    KEYS = (
        "spec=label",
        key("steps=cost.steps", "Steps of a reduce-scatter."),
        key("bandwidth=str(cost.bandwidth)", "Bandwidth factor y of reduce-scatter or allgather, whichever is more."),
        key("mean_bandwidth=str(mean.bandwidth)", "The mean of both, which an allreduce takes twice."),
        "allreduce_s=float(fastest)",
        key("times_s=float(allreduce)", "The same for each size."),
        key("simplex=not(duplex)", "Whether links go one way only."),
        "found dominated_by",
    )

    @property
    def mean(self) -> Cost:
        """The mean of reduce-scatter and allgather."""
        return self.cost.averaged(self.allgather)

    @property
    def fastest(self) -> Fraction:
        """Seconds of an allreduce, for the first size."""
        return self.allreduce[0]


def read_candidates(path: Path) -> list[str]:
    """Return the specs and paths in a file, one a line; those of files are from where the file is."""
    from topodesign.fabrics.networks import names_file  # noqa: PLC0415  heavy
    from topodesign.fabrics.places import as_topology  # noqa: PLC0415  heavy

    found = []
    with naming(path):
        for number, line in enumerate(read_text(path).splitlines(), 1):
            text = line.partition("#")[0].strip()
            if not text:
                continue
            if names_file(text):
                text = str(path.parent / text)
            try:
                as_topology(text)
            except TopodesignError as error:
                raise FileFormatError(f"line {number}: {error}") from None
            found.append(text)
    return found


def plugged_in(nodes: int, degree: int, *, duplex: bool) -> Iterator[tuple[str, Topology, str]]:
    """Yield the members of a size of the families of other packages, with their specs and their packages."""
    packages = {plugin.name: plugin.package for plugin in doors.FAMILIES.plugins}
    for name, family in doors.FAMILIES.others.items() if nodes <= MOST_NODES else ():
        for args in islice(family.find(nodes, degree), MOST_MEMBERS):
            topology = family(*args)
            if topology.is_duplex or not duplex:
                yield str(Spec(name, tuple(args))), topology, packages[name]


def as_candidates(
    values: Iterable[TopologyLike], nodes: int, degree: int, *, duplex: bool
) -> Iterator[tuple[str, Topology, str]]:
    """Yield what the user names with its topology, and that it is their own."""
    for place, value in enumerate(values, 1):
        from topodesign.fabrics.places import as_topology  # noqa: PLC0415  heavy, and most often there is none

        topology = as_topology(value)
        label = str(value) if isinstance(value, str | Path) else str(topology.spec or f"candidate {place}")
        if topology.switches:
            raise ParameterError(f"{label} has switches; candidates are of nodes that are linked directly")
        if (topology.nodes, topology.degree) != (nodes, degree):
            size = f"{topology.nodes} nodes of degree {topology.degree}"
            raise ParameterError(f"{label} has {size}, and not {nodes} of degree {degree}")
        if duplex and not topology.is_duplex:
            raise ParameterError(f"{label} has links one way only, which duplex cabling cannot wire")
        yield label, topology, "own"


def priced(
    named: Iterable[tuple[str, Topology, str]],
    frontier: Iterable[tuple[str, Cost]],
    workload: Workload,
    progress: Callable[[float], None] | None = None,
) -> tuple[Own, ...]:
    """Price topologies by their links, and say which of a frontier of specs and mean costs is as good."""
    from topodesign.pricing.evaluation import price_both  # noqa: PLC0415  heavy

    offers, found = list(frontier), []
    for label, topology, by in named:
        costs: Any = price_both(topology, progress=progress)
        allgather, cost = sorted(costs, key=lambda one: (one.bandwidth, one.steps))
        mean = cost.averaged(allgather)
        as_good = (spec for spec, other in offers if other.steps <= mean.steps and other.bandwidth <= mean.bandwidth)
        times = workload.allreduce(cost, allgather)
        found.append(Own(label, cost, allgather, topology.is_duplex, workload, times, by, next(as_good, None)))
    return tuple(found)
