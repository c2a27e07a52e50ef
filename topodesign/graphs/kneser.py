"""Kneser, odd, doubled odd and Johnson graphs of subsets.

Linked when disjoint, nested or close.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError
from topodesign.graphs.sizes import binomial, complements, make_sizes, rank, subsets, swap_and_turn
from topodesign.topology.family import make_family
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import MAX_LINKS, MAX_NODES, IntArray, Topology, check_buildable

Sizes = dict[tuple[int, int], tuple[tuple[int, int], ...]]


def _pairs(start: int) -> Iterator[tuple[int, int, int]]:
    """Yield all (n, k, C(n,k)) that are small enough to build."""
    for k in itertools.count(2):
        n = 2 * k + start
        if math.comb(n, k) > MAX_NODES:
            return
        while (nodes := math.comb(n, k)) <= MAX_NODES:
            yield n, k, nodes
            n += 1


@cache
def _kneser_sizes() -> Sizes:
    """Tabulate the graphs that are neither complete (k = 1) nor odd."""
    return _table((nodes, math.comb(n - k, k), (n, k)) for n, k, nodes in _pairs(2))


@cache
def _johnson_sizes() -> Sizes:
    """Tabulate the graphs that are neither complete (k = 1) nor the octahedron."""
    return _table((nodes, k * (n - k), (n, k)) for n, k, nodes in _pairs(0) if n > 4)


def _table(rows: Iterable[tuple[int, int, tuple[int, int]]]) -> Sizes:
    table: Sizes = {}
    for nodes, degree, args in rows:
        if nodes * degree <= MAX_LINKS:
            table[nodes, degree] = (*table.get((nodes, degree), ()), args)
    return table


@make_family(lambda n, d: _kneser_sizes().get((n, d), ()), size=("binom(n, k)", "binom(n - k, k)", "kneser(5,2)"))
def kneser(n: int, k: int) -> Topology:
    """Kneser graph K(n,k): disjoint k-subsets; degree C(n-k,k), n > 2k.

    Nodes are numbered by :func:`topodesign.graphs.sizes.rank`. K(5,2) is the Petersen graph.

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 16 and Table 5.
    """
    require_at_least("k", k, 1)
    if n <= 2 * k:
        raise ParameterError(f"kneser({n},{k}) is not connected; n must be at least 2k + 1 = {2 * k + 1}")
    nodes, degree = binomial(n, k), binomial(n - k, k)
    check_buildable(nodes, nodes * degree)
    others = complements(subsets(n, k), n)
    target = np.stack([rank(others[:, pattern], n) for pattern in itertools.combinations(range(n - k), k)])
    return _symmetric(nodes, target, n, k)


@make_family(
    lambda n, d: make_sizes(3 <= d <= 11 and n == math.comb(2 * d - 1, d), d),
    size=("binom(2*k - 1, k - 1)", "k", "odd(3)"),
)
def odd(k: int) -> Topology:
    """Odd graph O_k = K(2k-1, k-1): degree k, diameter k - 1.

    O_3 is the Petersen graph.

    References
    ----------
    Efficient Direct-Connect Topologies, Tables 4 and 5.
    """
    require_at_least("k", k, 2)
    return kneser.function(2 * k - 1, k - 1)


@make_family(
    lambda n, d: make_sizes(3 <= d <= 11 and n == 2 * math.comb(2 * d - 1, d), d),
    size=("2*binom(2*k - 1, k)", "k", "doubledodd(3)"),
)
def doubledodd(k: int) -> Topology:
    """Doubled odd graph D(O_k): degree k, diameter 2k - 1.

    The (k-1)- and k-subsets of 2k - 1 elements, linked when nested.

    Node i is the (k-1)-subset with that number, node C(2k-1,k) + i the complement of the subset i, as in ``odd``.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 4 (k = 4).
    """
    require_at_least("k", k, 2)
    half = binomial(2 * k - 1, k - 1)
    check_buildable(2 * half, 2 * half * k)
    single = odd.function(k)
    # A set is inside the complement of another exactly when the two are disjoint: the bipartite double of O_k.
    source = np.concatenate((single.src, single.src + half))
    target = np.concatenate((single.dst + half, single.dst))
    return Topology.from_arrays(
        2 * half, source, target, symmetry=Symmetry(2 * half, (0,), lambda: _make_permutations(k))
    )


def _make_permutations(k: int) -> Iterator[IntArray]:
    """Yield permutations of the elements, and the exchange of both sizes."""
    for image in _renamings(2 * k - 1, k - 1):
        yield np.concatenate((image, image + len(image)))
    yield np.roll(np.arange(2 * len(image)), len(image))


@make_family(lambda n, d: _johnson_sizes().get((n, d), ()), size=("binom(n, k)", "k*(n - k)", "johnson(5,2)"))
def johnson(n: int, k: int) -> Topology:
    """Johnson graph J(n,k): k-subsets that share k - 1; degree k(n - k), n > k.

    Nodes are numbered by :func:`topodesign.graphs.sizes.rank`; for k > n/2 they stand for what the subset excludes.
    The diameter is min(k, n - k).

    References
    ----------
    Brouwer, Cohen and Neumaier, Distance-Regular Graphs, section 9.1; J(4,2) is in Table 4 of Efficient Direct-Connect
    Topologies.
    """
    require_at_least("k", k, 1)
    require_at_least("n", n, k + 1)
    k = min(k, n - k)
    nodes = binomial(n, k)
    check_buildable(nodes, nodes * k * (n - k))
    rows = subsets(n, k)
    others = complements(rows, n)
    targets = []
    for leaving, entering in itertools.product(range(k), range(n - k)):
        changed = rows.copy()
        changed[:, leaving] = others[:, entering]
        targets.append(rank(np.sort(changed, axis=1), n))
    return _symmetric(nodes, np.stack(targets), n, k)


def _symmetric(nodes: int, target: IntArray, n: int, k: int) -> Topology:
    """Link node i with ``target[:, i]`` in a vertex-transitive topology."""
    symmetry = Symmetry(nodes, (0,), lambda: _renamings(n, k))
    return Topology.from_arrays(nodes, np.broadcast_to(np.arange(nodes), target.shape), target, symmetry=symmetry)


def _renamings(n: int, k: int) -> Iterator[IntArray]:
    """Yield images of the k-subsets under a swap and a rotation of elements."""
    rows = subsets(n, k)
    for renamed in swap_and_turn(n):
        yield rank(np.sort(renamed[rows], axis=1), n)
