"""What each single failure costs: a link, a node or a switch of a fabric, worst first.

Failures that a symmetry of the fabric turns into each other cost the same, so one of them is priced, exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.declared import key
from topodesign.base.errors import InfeasibleError, ParameterError, TopologyError
from topodesign.base.records import Result, Table
from topodesign.base.units import format_rate
from topodesign.collectives import Collective, as_collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.places import PlaceLike, as_fabric
from topodesign.optima.throughput import throughput
from topodesign.topology.automorphisms import Links, find_symmetry, link_classes
from topodesign.topology.topology import Topology, check_buildable


@dataclass(frozen=True)
class FailedPart:
    """Failures that cost the same, because a symmetry turns them into each other."""

    kind: str  # what fails: link (both ways), node or switch
    first: str  # the first of them, as --without takes it
    alike: int  # how many they are
    bandwidth: Fraction | None  # bytes per second that are left; null where nodes no longer reach each other
    lost: Fraction  # share of the bandwidth that is gone, 1 where nothing works; below 0 if fewer nodes are faster

    ROW = "kind first alike bandwidth lost"
    KEYS = (
        key("kind", kind=("link", "node", "switch")),
        "first alike",
        key("bandwidth"),
        key("bandwidth_GBps", "The same in GB/s, as a float.", kind=float, value=lambda one: _gigabytes(one.bandwidth)),
        "lost",
    )


@dataclass(frozen=True, repr=False)
class SingleFailures(Result):
    """All single failures of a fabric, the worst first."""

    fabric: str  # what it is called
    collective: Collective  # of what
    bandwidth: Fraction  # algorithmic bandwidth before, bytes per second
    parts: tuple[FailedPart, ...]  # what can fail

    KEYS = (
        "fabric",
        key("collective", "Of what.", kind=str, value=lambda one: str(one.collective)),
        "bandwidth",
        "parts",
    )
    ROWS = "parts"

    def heading(self) -> str:
        """Return what it is about, in one line."""
        return f"single failures of {self.fabric}; {self.collective} at {format_rate(self.bandwidth)} before"

    def table(self) -> Table:
        """Return one row for failures that are alike."""
        rows = tuple(
            (
                one.first,
                one.kind,
                str(one.alike),
                "none" if one.bandwidth is None else f"{_gigabytes(one.bandwidth):.3f}",
                f"{-100 * float(one.lost):+.1f}%",
            )
            for one in self.parts
        )
        note = "alike: by a symmetry, with this one; none: some nodes no longer reach each other"
        return Table(
            self.heading(),
            ("fails", "what", "alike", "GB/s left", ""),
            rows,
            words=frozenset(("fails", "what")),
            footnote=note,
        )


def single_failures(
    place: PlaceLike,
    collective: Collective | str = "allgather",
    *,
    progress: Callable[[float], None] | None = None,
) -> SingleFailures:
    """Rank all single failures of a fabric by what they cost a collective, over trees with switches that forward.

    Parameters
    ----------
    place
        A fabric or a topology, the spec of one, a file, or a networkx graph.
    collective
        Allgather, reduce-scatter or allreduce.
    progress
        Called with the share that is done.

    Raises
    ------
    ParameterError
        If the collective has a root, or is none that trees carry.

    Examples
    --------
    >>> worst = single_failures("dgx_a100(2)").parts[0]
    >>> print(worst.first, worst.alike, float(worst.lost))
    box0/gpu0-box0/nvswitch 16 0.9230769230769231
    """
    fabric, kind = as_fabric(place), as_collective(collective)
    if str(kind) not in _KNOWN:
        raise ParameterError(f"failures are ranked for {', '.join(_KNOWN)}, not {kind}")
    before = throughput(fabric, kind).bandwidth
    told = progress or (lambda _share: None)
    vertices = [*fabric.compute, *sorted(fabric.topology.switches)]
    pairs = sorted({(min(u, v), max(u, v)) for u, v, _ in fabric.topology.links()})
    sets: list[Links] = [((u, v), (v, u)) for u, v in pairs]
    sets += [tuple(link[:2] for link in fabric.topology.links() if node in link[:2]) for node in vertices]
    numbers = _classes(fabric, sets)
    what: list[int | tuple[int, int]] = [*pairs, *vertices]
    alike: dict[tuple[bool, int], list[int]] = {}
    for place_of, number in enumerate(numbers):
        alike.setdefault((place_of < len(pairs), number), []).append(place_of)
    parts = []
    for done, group in enumerate(alike.values()):
        told(done / len(alike))
        parts.append(_part(fabric, kind, before, what[group[0]], len(group)))
    parts.sort(key=lambda one: (-one.lost, one.kind, one.first))
    return SingleFailures(fabric.name, kind, before, tuple(parts))


_KNOWN = ("allgather", "reduce-scatter", "allreduce")


def _gigabytes(rate: Fraction | None) -> float | None:
    return None if rate is None else float(rate) / 10**9


def _classes(fabric: Fabric, sets: list[Links]) -> list[int]:
    """Return a number for each set of links; those of one number are images by a symmetry of the fabric."""
    here = fabric.topology
    check_buildable(here.nodes, here.nodes**2)  # what a symmetry's table takes
    plain = Topology.from_arrays(here.nodes, here.src, here.dst, here.capacity)
    colours = np.array([node in here.switches for node in range(here.nodes)], dtype=np.int64)
    return link_classes(find_symmetry(plain, colours), sets)


def _part(
    fabric: Fabric, collective: Collective, before: Fraction, failed: int | tuple[int, int], alike: int
) -> FailedPart:
    """Price one failure: of a vertex, or of a link both ways."""
    names = fabric.names
    if isinstance(failed, tuple):
        kind, first = "link", f"{names[failed[0]]}-{names[failed[1]]}"
    else:
        kind, first = ("switch" if failed in fabric.topology.switches else "node"), names[failed]
    try:
        if isinstance(failed, tuple):
            both = [(names[a], names[b]) for a, b in (failed, failed[::-1])]
            left = fabric.without(one_way=[ends for ends in both if _is_link(fabric, *ends)])
        else:
            left = fabric.without(vertices=[first])
        bandwidth: Fraction | None = throughput(left, collective).bandwidth
    except (InfeasibleError, TopologyError):
        bandwidth = None
    return FailedPart(kind, first, alike, bandwidth, 1 - (bandwidth or 0) / before)


def _is_link(fabric: Fabric, a: str, b: str) -> bool:
    return int(fabric.topology.link_index(fabric.number(a), fabric.number(b))) >= 0
