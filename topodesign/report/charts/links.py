"""Link drawings by orbit, where drawing all lines would be unreadable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from topodesign.base.errors import ParameterError, TooLargeError
from topodesign.base.wording import count_noun
from topodesign.fabrics.fabric import Fabric
from topodesign.report.charts.boxes import boxes_drawing, has_boxes
from topodesign.report.charts.chart import Drawing
from topodesign.report.charts.structure import draw_topology, outline, structure_drawing
from topodesign.topology.positions import positions_of
from topodesign.topology.topology import Topology

MAX_ORBITS = 12  # orbits of links that are distinguished
_MAX_LINES = 160  # lines that are read at once
_GRID = 3  # lines a node up to which a grid is


def picture_of(place: Topology | Fabric) -> Drawing:
    """Return the most readable drawing: boxes, few lines, orbits, or all lines."""
    if isinstance(place, Fabric) and has_boxes(place):
        return boxes_drawing(place)
    topology = place.topology if isinstance(place, Fabric) else place
    structure = structure_drawing(place)
    lines = len(structure.links)
    few = lines <= _MAX_LINES or (lines <= _GRID * topology.nodes and positions_of(topology).shape == "grid")
    if few or not 1 < len(_orbits(topology, structure)[1]) <= MAX_ORBITS:
        return structure
    return orbits_drawing(topology)


def orbits_drawing(topology: Topology) -> Drawing:
    """Return the links of each orbit as a separate picture.

    Raises
    ------
    ParameterError
        If no symmetry is known.
    TooLargeError
        If there are too many orbits to tell apart.
    """
    made = draw_topology(*outline(topology), "orbits")
    orbits, names = _orbits(topology, made)
    if not names:
        raise ParameterError(f"no symmetry of {made.title} is known, so that links have no orbits; draw the structure")
    if len(names) > MAX_ORBITS:
        raise TooLargeError(
            f"{len(names)} orbits of links are too many to tell apart; at most {MAX_ORBITS}; draw the structure"
        )
    several = count_noun(len(names), "orbit")
    note = f"{several} of links: symmetry takes each link of a picture to every other one there; {made.note}"
    return replace(made, orbits=orbits, orbit_names=names, note=note)


def _orbits(topology: Topology, made: Drawing) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the orbit of every line, and names of orbits; none if unknown.

    A line for both directions is in one orbit, of its link and of the reverse.
    """
    if topology.symmetry is None:
        return (), ()
    first = topology.symmetry.link_orbits(topology)
    begin, end = np.array(made.links, dtype=np.int64).reshape(-1, 2).T
    there, back = first[topology.link_index(begin, end)], first[topology.link_index(end, begin)]
    # the reverses of an orbit are one, too: the smaller of both stands for the two
    smallest, orbits = np.unique(np.where(made.duplex, np.minimum(there, back), there), return_inverse=True)
    arrow = {orbit: "\u2194" if both else "\u2192" for orbit, both in zip(orbits.tolist(), made.duplex, strict=True)}
    names = [
        f"{topology.src[link]} {arrow[orbit]} {topology.dst[link]}" for orbit, link in enumerate(smallest.tolist())
    ]
    return tuple(orbits.tolist()), tuple(names)
