"""A topology or fabric as built: placed nodes, and links between them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import TooLargeError
from topodesign.fabrics.fabric import Fabric
from topodesign.report.charts.chart import Drawing, name_of
from topodesign.topology.positions import MAX_RINGS, positions_of
from topodesign.topology.topology import Topology

Groups: TypeAlias = tuple[Sequence[int], tuple[str, ...]]  # for every node the number of its group, and their names

MAX_NODES = 2048
MAX_LINKS = 8192
_SHAPES = {
    "grid": "a grid of the product's coordinates",
    "rings": "a ring for every orbit of nodes",
    "springs": "placed by distances",
}


def structure_drawing(place: Topology | Fabric) -> Drawing:
    """Return the drawing of a topology, or of a fabric with its switches."""
    return draw_topology(*outline(place), "structure")


def outline(place: Topology | Fabric) -> tuple[Topology, Sequence[str], Groups, str]:
    """Return links, node names, groups and the name of a topology or fabric."""
    if isinstance(place, Fabric):
        groups = [1 if node in place.topology.switches else 0 for node in range(place.topology.nodes)]
        return place.topology, place.names, (groups, ("node", "switch")), place.name
    orbits = [0] * place.nodes
    legend: tuple[str, ...] = ("node",)
    if place.symmetry is not None:
        found, number = np.unique(place.symmetry.represented_by, return_inverse=True)
        if 1 < len(found) <= MAX_RINGS:
            orbits, legend = number.tolist(), tuple(f"orbit of node {node}" for node in found.tolist())
    if place.switches:
        orbits, legend = [int(node in place.switches) for node in range(place.nodes)], ("node", "switch")
    return place, [str(node) for node in range(place.nodes)], (orbits, legend), name_of(place)


def draw_topology(
    topology: Topology,
    names: Sequence[str],
    groups: Groups,
    title: str,
    kind: str,
    *,
    marked: Collection[int] = (),
    note: str = "",
    places: NDArray[np.float64] | None = None,
) -> Drawing:
    """Return the drawing of a topology; equal opposite links are one line.

    ``places`` is where nodes are, as of :class:`topodesign.topology.positions.Positions`; by structure if None.
    """
    real = np.flatnonzero(topology.src != topology.dst)
    if topology.nodes > MAX_NODES or len(real) > 2 * MAX_LINKS:
        raise TooLargeError(
            f"{topology.nodes} nodes and {len(real)} links are too many to tell apart in a drawing; "
            f"at most {MAX_NODES} and {MAX_LINKS}"
        )
    if places is None:
        shape, places = positions_of(topology)
        note = note or _SHAPES[shape]
    about, room = set(marked), {}
    for link in real.tolist():
        room[int(topology.src[link]), int(topology.dst[link])] = (int(topology.capacity[link]), link in about)
    links, duplex = [], []
    for (u, v), which in room.items():
        both = room.get((v, u)) == which
        if not both or u < v:
            links.append((u, v))
            duplex.append(both)
    most = max((capacity for capacity, _ in room.values()), default=1)
    return Drawing(
        kind,
        title,
        tuple(names),
        tuple(places[:, 0].tolist()),
        tuple(places[:, 1].tolist()),
        tuple(groups[0]),
        groups[1],
        tuple(links),
        tuple(duplex),
        tuple(room[link][0] / most for link in links),
        tuple(room[link][1] for link in links),
        note,
    )
