"""Classes of equal variables in the linear program of a flow.

One number for each class is enough.

The program has a column for every source and link, a row for every source and vertex (what comes in goes out), and a
row for every link (its capacity) and every limit that links share. Colours of rows and columns are refined until those
of one colour have, for each other colour, as many entries in it. Then columns of one colour may have one value: the
mean of any solution over the colours is a solution that costs the same (Grohe, Kersting, Mladenov and Selman, Dimension
Reduction via Colour Refinement, 2014). Automorphisms of the links keep the colours, so that the classes are never more
than their orbits.

Colours are sums of hashes, so that two which differ might, once in 2^64 times, be taken for one. Nothing rests upon
that: what comes out is checked link by link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import TooLargeError
from topodesign.topology.topology import IntArray, Topology

MAX_ENTRIES = 2**25  # pairs of a source and a link that are looked at; some 40 bytes each

Hashes = NDArray[np.uint64]


class Limit(NamedTuple):
    """What several links carry together at most."""

    links: tuple[int, ...]  # their places among the topology's, each once
    room: Fraction  # how much, in units of capacity; above zero


@dataclass(frozen=True, eq=False)
class Classes:
    """What looks alike.

    * ``vertex``: class of every vertex as a source sees it, shape ``(sources, nodes)``; sources that look alike share
      classes.
    * ``limit``: class of every limit that links share, shape ``(limits,)``.
    """

    vertex: NDArray[np.int32]
    link: NDArray[np.int32]  # class of every link as a source sees it, shape ``(sources, links)``
    load: NDArray[np.int32]  # class of every link as its load sees it, shape ``(links,)``
    limit: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))


def equitable_classes(
    topology: Topology,
    sources: IntArray,
    demand: IntArray,
    mark: IntArray,
    *,
    allowed: NDArray[np.bool_] | None = None,
    limits: Sequence[Limit] = (),
) -> Classes:
    """Return the coarsest equitable classes.

    Finer than capacities, demands and marks.

    * ``topology``: any, with switches.
    * ``sources``: vertices from which something has to go, shape ``(sources,)``.
    * ``demand``: how much from each of them to each vertex, shape ``(sources, nodes)``.
    * ``mark``: links of different marks are distinguished, shape ``(links,)``.
    * ``allowed``: vertices that each source may use are distinguished from others, shape ``(sources, nodes)``; all if
      None.
    * ``limits``: those that links share.
    """
    links = len(topology.src)
    if len(sources) * max(links, topology.nodes) > MAX_ENTRIES:
        raise TooLargeError(f"{len(sources)} sources and {links} links are too many for an exact flow")
    load = _number_values(_hash_pairs(_hash_values(topology.capacity), _hash_values(mark)))
    own = np.arange(topology.nodes) == sources[:, None]
    vertex = _number_values(
        _hash_pairs(_hash_values(demand), _hash_values(own if allowed is None else own + 2 * allowed))
    )
    rooms = list(dict.fromkeys(limit.room for limit in limits))
    limit = np.array([rooms.index(one.room) for one in limits], dtype=np.int32)
    owner = np.repeat(np.arange(len(limits)), [len(one.links) for one in limits])
    member = np.array([link for one in limits for link in one.links], dtype=np.int64)
    while True:
        before = [int(one.max(initial=0)) for one in (vertex, load, limit)]
        seen = _hash_views(topology, vertex, load)
        vertex = _number_values(_around(topology, vertex, seen))
        limit = _number_values(
            _hash_pairs(_hash_values(limit), _sum_at(_hash_values(load)[member], owner, len(limits)))
        )
        around = seen.sum(axis=0, dtype=np.uint64) + _sum_at(_hash_values(limit)[owner], member, links)
        load = _number_values(_hash_pairs(_hash_values(load), around))
        if [int(one.max(initial=0)) for one in (vertex, load, limit)] == before:
            return Classes(vertex, _links(topology, vertex, load), load, limit)


def _sum_at(values: Hashes, place: IntArray, count: int) -> Hashes:
    sums = np.zeros(count, dtype=np.uint64)
    np.add.at(sums, place, values)
    return sums


def _links(topology: Topology, vertex: NDArray[np.int32], load: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a class for each triple of end classes and link class; exact."""
    classes = int(vertex.max(initial=0)) + 1
    ends = _number_values(vertex[:, topology.src].astype(np.int64) * classes + vertex[:, topology.dst])
    return _number_values(ends.astype(np.int64) * (int(load.max(initial=0)) + 1) + load)


def _hash_views(topology: Topology, vertex: NDArray[np.int32], load: NDArray[np.int32]) -> Hashes:
    """Return what each source sees of each link: end classes and its own."""
    ends = _hash_values(vertex)
    return _hash_pairs(_hash_pairs(ends[:, topology.src], ends[:, topology.dst]), _hash_values(load))


def _around(topology: Topology, vertex: NDArray[np.int32], seen: Hashes) -> Hashes:
    """Return the class of each vertex with those of its links out and in."""
    out = _sum_columns(seen, topology.src, topology.nodes)
    order = np.argsort(topology.dst, kind="stable")
    into = _sum_columns(seen[:, order], topology.dst[order], topology.nodes)
    return _hash_pairs(_hash_pairs(_hash_values(vertex), out), into)


def _sum_columns(values: Hashes, key: IntArray, nodes: int) -> Hashes:
    """Return sums over columns of equal ascending keys; shape ``(rows, nodes)``."""
    sums = np.zeros((len(values), nodes), dtype=np.uint64)
    first = np.flatnonzero(np.diff(key, prepend=-1))
    if len(first):
        sums[:, key[first]] = np.add.reduceat(values, first, axis=1)
    return sums


def _number_values(values: Hashes | IntArray) -> NDArray[np.int32]:
    """Return a number per value, equal for equal values, from 0 without gaps."""
    _, number = np.unique(values, return_inverse=True)
    return number.reshape(values.shape).astype(np.int32)


def _hash_pairs(one: Hashes, other: Hashes) -> Hashes:
    """Return hashes of pairs; the order matters."""
    return _scramble(one * np.uint64(0x9E3779B97F4A7C15) + other)


def _hash_values(values: NDArray[np.integer] | NDArray[np.bool_]) -> Hashes:
    return _scramble(values.astype(np.uint64))


def _scramble(values: Hashes) -> Hashes:
    """Scramble 64 bits."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
