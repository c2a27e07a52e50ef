"""Positions of nodes in drawings.

By structure if the spec gives it, else by distances.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.topology.factors import list_factors
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

Shape = Literal["grid", "rings", "springs"]

_GAP = 0.75  # space between the blocks of a grid of grids, in steps of the dimension inside
MAX_RINGS = 6  # orbits that are drawn as rings; with more, order by what is near is easier to read
_MAX_SPRINGS = 400  # nodes that are placed by what is near to what, which takes a time quadratic in them
_MAX_STRESS = 80  # nodes whose distances are all looked at; of more only the links


class Positions(NamedTuple):
    """Where nodes are drawn."""

    # how they were placed: as a grid of a product's coordinates, on rings by orbit, or by springs between neighbours
    shape: Shape
    places: NDArray[np.float64]  # x and y of every node, shape (nodes, 2), between -1 and 1


def positions_of(topology: Topology) -> Positions:
    """Return the positions of nodes, always the same for a topology.

    A product (torus, hypercube, Hamming graph, mesh, Cartesian product or power) is a grid, with more than two
    dimensions a grid of grids. Other topologies whose construction proves symmetry are drawn on a ring for every orbit,
    and what is left by springs, or on one ring if it is large.
    """
    factors = [] if topology.spec is None else list_factors(topology.spec)
    sizes = [build(factor).nodes for factor in factors] if len(factors) > 1 else []
    if sizes and math.prod(sizes) == topology.nodes:
        return Positions("grid", _fit_square(_grid(sizes)))
    if topology.symmetry is not None:
        orbits = np.unique(topology.symmetry.represented_by, return_inverse=True)[1]
        if orbits.max() < MAX_RINGS:
            return Positions("rings", _rings(orbits))
    if 2 < topology.nodes <= _MAX_SPRINGS:
        return Positions("springs", _fit_square(_springs(topology)))
    return Positions("rings", _rings(np.zeros(topology.nodes, dtype=np.int64)))


def _grid(sizes: list[int]) -> NDArray[np.float64]:
    """Return positions on a grid of nested blocks."""
    places = np.zeros((1, 2))
    for dimension, size in enumerate(sizes):
        axis = dimension % 2
        block = places[:, axis].max() + (1 if dimension < 2 else 1 + _GAP)
        shift = np.zeros((size, 1, 2))
        shift[:, 0, axis] = np.arange(size) * block
        places = (shift + places).reshape(-1, 2)
    return places * (1, -1)


def _rings(orbits: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return positions on a ring per orbit, largest outside."""
    places = np.zeros((len(orbits), 2))
    counts = np.bincount(orbits)
    for ring, orbit in enumerate(np.argsort(-counts, kind="stable").tolist()):
        radius = 1 - ring / len(counts) if len(orbits) > 1 else 0.0
        members = np.flatnonzero(orbits == orbit)
        angle = 2 * np.pi * np.arange(len(members)) / len(members)
        places[members, 0], places[members, 1] = radius * np.sin(angle), radius * np.cos(angle)
    return places


def _springs(topology: Topology) -> NDArray[np.float64]:
    import networkx as nx  # noqa: PLC0415  heavy

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(topology.nodes))
    graph.add_edges_from(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    start = nx.circular_layout(graph)
    if topology.nodes <= _MAX_STRESS and nx.is_connected(graph):
        found = nx.kamada_kawai_layout(graph, pos=start)
    else:
        found = nx.spring_layout(graph, pos=start, seed=0, iterations=100)
    return np.array([found[node] for node in range(topology.nodes)])


def _fit_square(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return positions scaled into the square from -1 to 1."""
    low, high = places.min(axis=0), places.max(axis=0)
    span = float((high - low).max())
    fitted: NDArray[np.float64] = (places - (low + high) / 2) * (2 / span if span else 0)
    return fitted
