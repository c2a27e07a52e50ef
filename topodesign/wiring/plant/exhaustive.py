"""All topologies of a small plant, priced one by one.

At a field whose hosts have r lanes each, links are a table of whole numbers: in a simplex plan with sums r in rows and
columns, in a duplex one symmetric with such sums, where the diagonal is what stays dark. A topology that the plant
carries is a sum of one table for each field. Of the first field one table for each orbit under exchanges of hosts with
the same lanes is enough.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import LARGEST
from topodesign.base.progress import Progress, tell
from topodesign.topology.symmetry import joined
from topodesign.topology.topology import IntArray
from topodesign.wiring.plant.exhaustive_kernels import MOST_STEPS, cheapest
from topodesign.wiring.plant.plant import Made, Plant, made_of

MOST_NODES = 10  # more are searched in other ways
MOST_TABLES = 120_000  # at one field
MOST_SUMS = 3_000_000  # topologies: compiled code prices some 10^5 a second
_MOST_DEGREE = 12


def all_cheapest(plant: Plant, progress: Progress | None = None) -> list[Made] | None:
    """Return the topologies of a plant that none with as few steps beats, by steps; None if there are too many to try.

    A plant that makes no topology in which all nodes reach all others has none.
    """
    if plant.nodes > MOST_NODES or plant.degree > _MOST_DEGREE:
        return None
    fields = []
    for column in plant.lanes.T:
        tables = _tables(column, duplex=plant.duplex)
        if tables is None:
            return None
        fields.append(tables)
    order = sorted(range(len(fields)), key=lambda field: -len(fields[field]))
    first = fields[order[0]]
    first = first[_orbits(first, plant)]
    rest = [fields[field] for field in order[1:]]
    if len(first) * math.prod(map(len, rest)) > MOST_SUMS:
        return None
    least = np.full(MOST_STEPS + 2, LARGEST, dtype=np.int64)
    found: dict[int, tuple[IntArray, ...]] = {}
    *middle, last = [first, *rest]
    counts = [len(tables) for tables in middle]
    total = math.prod(counts)
    for number, choice in enumerate(np.ndindex(*counts)):
        fixed = tuple(tables[place] for tables, place in zip(middle, choice, strict=True))
        chosen = np.full(len(least), -1, dtype=np.int64)
        base = sum(fixed, np.zeros((plant.nodes, plant.nodes), dtype=np.int64))
        cheapest(base, last, plant.duplex, least, chosen)
        found |= {step: (*fixed, last[place]) for step, place in enumerate(chosen.tolist()) if place >= 0}
        tell(progress, number / total)
    steps = [step for step in sorted(found) if least[step] < min(least[:step], default=LARGEST)]
    return [_made(plant, dict(zip(order, found[step], strict=True))) for step in steps]


def _tables(lanes: IntArray, *, duplex: bool) -> IntArray | None:
    """Return all tables of links between so many lanes of each node, or None if there are too many to try."""
    nodes = len(lanes)
    tables = np.zeros((1, nodes, nodes), dtype=np.int64)
    left = np.array([lanes])  # lanes of receivers that are not taken yet, or in duplex mode of nodes
    for u in range(nodes):
        open_ = left[:, u].copy() if duplex else np.full(len(tables), lanes[u])
        for v in range(u + 1 if duplex else 0, nodes):
            most = np.minimum(open_, left[:, v])
            least = np.zeros_like(most) if duplex else np.maximum(open_ - left[:, v + 1 :].sum(axis=1), 0)
            count = most - least + 1
            if count.sum() > MOST_TABLES:
                return None
            copy = np.repeat(np.arange(len(tables)), count)
            links = np.arange(len(copy)) - np.repeat(np.cumsum(count) - count, count) + least[copy]
            tables, left, open_ = tables[copy], left[copy], open_[copy] - links
            tables[:, u, v] = links
            left[:, v] -= links
            if duplex:
                tables[:, v, u] = links
        if duplex:
            tables[:, u, u] = open_  # what is left stays dark
    return tables


def _orbits(tables: IntArray, plant: Plant) -> NDArray[np.int64]:
    """Return the number of one table of each orbit under exchanges of nodes with the same lanes everywhere."""
    keys = tables.reshape(len(tables), -1)
    rank = np.lexsort(keys.T)
    first = np.arange(len(tables))
    for some in plant.classes:
        for one, other in itertools.pairwise(some.tolist()):
            swap = np.arange(plant.nodes)
            swap[[one, other]] = other, one
            image = tables[:, swap][:, :, swap].reshape(len(tables), -1)
            onto = np.empty(len(tables), dtype=np.int64)
            onto[np.lexsort(image.T)] = rank
            first = joined(first, onto)
    return np.unique(first)


def _made(plant: Plant, tables: dict[int, IntArray]) -> Made:
    """Return a topology with its links field by field."""
    src, dst, part = [], [], []
    for field, table in tables.items():
        links = np.triu(table, 1) if plant.duplex else table * (1 - np.eye(plant.nodes, dtype=np.int64))
        u, v = np.nonzero(links)
        count = links[u, v]
        src.append(np.repeat(u, count))
        dst.append(np.repeat(v, count))
        part.append(np.full(int(count.sum()), field))
    return made_of(plant, *(np.concatenate(column) for column in (src, dst, part)))
