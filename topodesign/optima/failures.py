"""Costs of single failures: links, nodes and switches, worst first.

Failures that a symmetry of the fabric turns into each other cost the same, so one of them is priced, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.arguments import as_choice
from topodesign.base.declared import key
from topodesign.base.errors import InfeasibleError, ParameterError, TopologyError
from topodesign.base.progress import iterate_with_progress
from topodesign.base.records import Result, Table
from topodesign.base.units import format_rate
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, REDUCE_SCATTER, Collective, as_collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.node_values import Shards, as_shards
from topodesign.fabrics.part import select_part
from topodesign.fabrics.places import PlaceLike, as_fabric
from topodesign.optima.optimum import METHODS, solve
from topodesign.optima.question import Question
from topodesign.topology.automorphisms import Links, find_symmetry, link_classes
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, check_buildable


def gigabytes(rate: Fraction | None) -> float | None:
    """Return bytes per second in GB/s, as a float."""
    return None if rate is None else float(rate) / 10**9


KIND = (key("kind", kind=("link", "node", "switch")),)
LEFT = (
    key("bandwidth"),
    key("bandwidth_GBps", "The same in GB/s, as a float.", kind=float, value=lambda one: gigabytes(one.bandwidth)),
)
"""Keys of all that is reported on failures: what fails, and the remaining bandwidth, null where there is none."""


@dataclass(frozen=True)
class FailedPart:
    """Failures of equal cost, images of each other under a symmetry."""

    kind: str  # what fails: link (both ways), node or switch
    first: str  # the first of them, as --fail takes it
    alike: int  # how many they are
    bandwidth: Fraction | None  # bytes per second that are left; null where nodes no longer reach each other
    lost: Fraction  # share of the bandwidth that is gone, 1 where nothing works; below 0 if fewer nodes are faster

    ROW = "kind first alike bandwidth lost"
    KEYS = (*KIND, "first alike", *LEFT, "lost")


@dataclass(frozen=True, repr=False)
class SingleFailures(Result):
    """All single failures of a fabric, the worst first."""

    fabric: str  # what it is called
    collective: Collective  # of what
    bandwidth: Fraction  # algorithmic bandwidth before, bytes per second
    parts: tuple[FailedPart, ...]  # what can fail

    KEYS = ("fabric", key("collective", "Of what.", kind=str, value=lambda one: str(one.collective)), "bandwidth parts")
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
                "none" if one.bandwidth is None else f"{gigabytes(one.bandwidth):.3f}",
                f"{float(-100 * one.lost):+.1f}%",
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
    shards: Shards | None = None,
    method: str = "auto",
    progress: Callable[[float], None] | None = None,
) -> SingleFailures:
    """Rank all single failures of a fabric by their cost to a collective.

    Parameters
    ----------
    place
        A fabric or a topology, the spec of one, a file, or a networkx graph.
    collective
        Allgather, reduce-scatter, allreduce or all-to-all.
    shards
        Sizes of the shards of the nodes, as :func:`topodesign.optimum` takes them. What fails takes its shard along.
    method
        ``forest``, with switches that only forward; ``fluid`` where they copy and add as the fabric says, and links
        share limits; ``auto``: ``forest``, but where links share limits.
    progress
        Called with the share that is done.

    Raises
    ------
    ParameterError
        If the collective has a root, or is none of these.

    Examples
    --------
    >>> worst = single_failures("dgx_a100(2)").parts[0]
    >>> print(worst.first, worst.alike, float(worst.lost))
    box0/gpu0-box0/nvswitch 16 0.9230769230769231
    """
    fabric, kind = as_fabric(place), as_collective(collective)
    if not kind.like(ALL_TO_ALL):
        over_trees(kind, "failures are ranked for all-to-all,")
    as_choice("method", method, METHODS)
    sizes: dict[str, int] | None = None
    alike = alike_failures(fabric)
    if shards is not None:
        if not kind.like(ALLGATHER, REDUCE_SCATTER) and (kind.like(ALL_TO_ALL) or method == "fluid" or fabric.shared):
            raise ParameterError("--shards is for collectives over trees; remove it")
        sizes = dict(zip((fabric.names[node] for node in fabric.compute), as_shards(fabric, shards), strict=True))
        alike = [(what, (name,)) for what, names in alike for name in names]  # whose shards may differ
    before = solve(_ask(fabric, kind, sizes), method).bandwidth
    parts = []
    for what, names in iterate_with_progress(alike, progress):
        try:
            left = select_part(fabric, without=names[:1])
            bandwidth: Fraction | None = solve(_ask(left, kind, sizes), method).bandwidth
        except (InfeasibleError, TopologyError):
            bandwidth = None
        parts.append(FailedPart(what, names[0], len(names), bandwidth, 1 - (bandwidth or 0) / before))
    parts.sort(key=lambda one: (-one.lost, one.kind))  # those that cost the same stay in the order of the fabric
    return SingleFailures(fabric.name, kind, before, tuple(parts))


def _ask(fabric: Fabric, kind: Collective, sizes: Mapping[str, int] | None) -> Question:
    """Return the question of what is left, with the sizes of its shards."""
    own = None if sizes is None else tuple(sizes[fabric.names[node]] for node in fabric.compute)
    if own is not None and not any(own):
        raise InfeasibleError("no node that is left has a shard")
    return Question(fabric, kind, own)


def over_trees(collective: Collective | str, said: str) -> Collective:
    """Return a rootless collective for trees, or raise an error."""
    kind = as_collective(collective)
    if str(kind) not in _KNOWN:
        raise ParameterError(f"{said} {', '.join(_KNOWN)}, not {kind}")
    return kind


def alike_failures(fabric: Fabric) -> list[tuple[str, tuple[str, ...]]]:
    """Return possible failures by kind, in classes under symmetry."""
    named = _failing(fabric)
    numbers = link_classes(_symmetry(fabric), list(named.values()))
    alike: dict[tuple[str, int], list[str]] = {}
    for name, number in zip(named, numbers, strict=True):
        kind = "link" if name not in fabric.names else "node"
        if kind == "node" and fabric.number(name) in fabric.topology.switches:
            kind = "switch"
        alike.setdefault((kind, number), []).append(name)
    return [(kind, tuple(names)) for (kind, _), names in alike.items()]


def failure_image(fabric: Fabric, first: str, other: str) -> IntArray | None:
    """Return a symmetry that maps a failure to another, or None."""
    named = _failing(fabric)
    if other not in named:
        known = ", ".join([*named][:2])
        raise ParameterError(f"'{other}' is not a single failure of {fabric.name}; they are such as {known}")
    start, goal = (tuple(sorted(named[name])) for name in (first, other))
    images: dict[Links, IntArray] = {start: np.arange(fabric.topology.nodes)}
    waiting, generators = [start], _symmetry(fabric).generators
    for links in waiting:
        if links == goal:
            return images[links]
        for generator in generators:
            image = tuple(sorted((int(generator[u]), int(generator[v])) for u, v in links))
            if image not in images:
                images[image] = generator[images[links]].astype(np.int64)
                waiting.append(image)
    return None


def _failing(fabric: Fabric) -> dict[str, Links]:
    """Return the links that each single failure removes, by its name."""
    names, links = fabric.names, [link[:2] for link in fabric.topology.links()]
    present = set(links)
    found: dict[str, Links] = {}
    for u, v in sorted({(min(pair), max(pair)) for pair in links}):
        found[f"{names[u]}-{names[v]}"] = tuple(pair for pair in ((u, v), (v, u)) if pair in present)
    for vertex in (*fabric.compute, *sorted(fabric.topology.switches)):
        found[names[vertex]] = tuple(link for link in links if vertex in link)
    return found


def _symmetry(fabric: Fabric) -> Symmetry:
    """Return the symmetry that keeps switch abilities and shared limits."""
    here = fabric.topology
    check_buildable(here.nodes, here.nodes**2)  # what a symmetry's table takes
    able = (fabric.multicast, fabric.aggregation, fabric.memory)
    colours = [tuple(node in some for some in able) for node in range(here.nodes)]
    shared = zip(fabric.shared, fabric.shared_links, strict=True)
    return find_symmetry(here, colours, [(limit.bandwidth, links) for limit, links in shared])


_KNOWN = ("allgather", "reduce-scatter", "allreduce")
