"""All sequences of circuits of a few nodes, at least one of every kind.

Two sequences are of a kind if a permutation of the nodes makes one of the other. A topology is of layers: of duplex
circuits it is one graph, of simplex ones a permutation of the nodes for each port, in any order (Koenig). Layers are
chosen one after the other, one of every kind that the permutations make which leave all before as they are. What leaves
ports of two nodes free is left out, since with a circuit between them everything is as fast.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.topology.topology import IntArray


class Given(NamedTuple):
    """Circuits of phases by sender and receiver, how many more layers each phase may have, and these layers."""

    width: IntArray
    rest: IntArray
    layers: IntArray


def layers(nodes: int, degree: int, *, duplex: bool) -> IntArray:
    """Return matrices of circuits that sequences are made of: graphs of all ports, or permutations, one for a port."""
    return _graphs(nodes, degree) if duplex else _permutations(nodes)


@cache
def _permutations(nodes: int) -> IntArray:
    """Return permutations as matrices, that leave one node alone at most: two could have circuits to each other."""
    every = np.array(list(itertools.permutations(range(nodes))))
    some = every[(every == np.arange(nodes)).sum(axis=1) <= 1]
    found: IntArray = (some[:, :, None] == np.arange(nodes)).astype(np.int64)
    return found


@cache
def _graphs(nodes: int, degree: int) -> IntArray:
    """Return graphs as matrices, of whose nodes one at most has ports left: two could have circuits to each other."""
    found, now, left = [], np.zeros((nodes, nodes), dtype=np.int64), [degree] * nodes

    def fill(u: int, v: int, short: bool) -> None:
        if u == nodes:
            found.append(now.copy())
        elif v == nodes:
            if not (left[u] and short):
                fill(u + 1, u + 2, short or left[u] > 0)
        else:
            for many in range(min(left[u], left[v]) + 1):
                now[u, v] = now[v, u] = many
                left[u], left[v] = left[u] - many, left[v] - many
                fill(u, v + 1, short)
                left[u], left[v] = left[u] + many, left[v] + many
            now[u, v] = now[v, u] = 0

    fill(0, 1, False)
    return np.array(found)


def sequences(
    nodes: int, degree: int, topologies: int, *, duplex: bool, hopeless: Callable[[Given], bool] = lambda _: False
) -> Iterator[tuple[Given, Fraction]]:
    """Yield sequences, at least one of every kind, with the share of all that is done.

    ``hopeless`` says of a beginning that no sequence is wanted that begins so.
    """
    some = layers(nodes, degree, duplex=duplex)
    place = np.arange(nodes * nodes).reshape(nodes, nodes)
    weight = np.zeros_like(place)
    if duplex:
        weight[np.triu_indices(nodes, 1)] = 4 ** np.arange(nodes * (nodes - 1) // 2)
    else:
        weight = (place % nodes) * nodes ** (place // nodes)
    key = (some * weight).sum(axis=(1, 2))
    order = np.argsort(key)
    some, key = some[order], key[order]
    ports = 1 if duplex else degree  # layers of a phase
    depth = topologies * ports
    every = np.array(list(itertools.permutations(range(nodes))))

    def kinds(among: IntArray, open_: NDArray[np.bool_]) -> tuple[list[tuple[int, IntArray]], IntArray]:
        """Return of the layers that are open one of each kind, with the permutations that leave it, and all kinds."""
        found, kind = list[tuple[int, IntArray]](), np.full(len(some), -1)
        if len(among) == 1:
            kind[open_] = np.arange(open_.sum())
            return [(one, among) for one in np.flatnonzero(open_).tolist()], kind
        moved = weight[among[:, :, None], among[:, None, :]].reshape(len(among), -1)
        for one in np.flatnonzero(open_).tolist():
            if kind[one] < 0:
                images = moved @ some[one].ravel()
                kind[np.searchsorted(key, images)] = len(found)
                found.append((one, among[images == key[one]]))
        return found, kind

    def from_(
        before: list[int], among: IntArray, open_: NDArray[np.bool_], begin: Fraction, share: Fraction
    ) -> Iterator[tuple[Given, Fraction]]:
        width, rest = np.zeros((topologies, nodes, nodes), dtype=np.int64), np.full(topologies, ports)
        for number, one in enumerate(before):
            width[number // ports] += some[one]
            rest[number // ports] -= 1
        given = Given(width, rest, some)
        if len(before) == depth:
            yield given, begin
            return
        if before and hopeless(given):
            return
        if len(before) % ports == 0:
            open_ = np.ones(len(some), dtype=bool)
        now, kind = kinds(among, open_)
        for number, (one, rest) in enumerate(now):
            start, part = begin + share * Fraction(number, len(now)), share / len(now)
            yield from from_([*before, one], rest, kind >= number, start, part)

    yield from from_([], every, np.ones(len(some), dtype=bool), Fraction(0), Fraction(1))
