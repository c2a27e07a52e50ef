"""Hypercubes, twisted, folded and halved."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.graphs.sizes import make_sizes, power
from topodesign.topology.family import make_family
from topodesign.topology.groups import abelian
from topodesign.topology.topology import IntArray, Topology, check_buildable


def _find_halved(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    # n = 3 is K_4 and n = 4 is the cocktail-party graph on 8 nodes.
    n = nodes.bit_length()
    if n >= 5 and nodes == 2 ** (n - 1) and degree == n * (n - 1) // 2:
        yield (n,)


@make_family(lambda n, d: make_sizes(1 <= d <= 64 and n == 2**d, d), size=("2**n", "n", "hypercube(4)"))
def hypercube(n: int) -> Topology:
    """Hypercube Q_n: 2^n nodes, degree n, diameter n.

    Nodes whose numbers differ in one bit are linked.

    References
    ----------
    Efficient Direct-Connect Topologies, appendix F.2.
    """
    require_at_least("n", n, 1)
    return _cube(power(2, n), np.int64(1) << np.arange(n))


@make_family(lambda n, d: make_sizes(3 <= d <= 64 and n == 2**d, d), size=("2**n", "n", "twistedhypercube(4)"))
def twistedhypercube(n: int) -> Topology:
    """Twisted hypercube TQ_n: Q_n with one 4-cycle twisted; n >= 3.

    Links 0-1 and 2-3 are replaced by 0-3 and 1-2.

    The diameter is n - 1, one less than that of Q_n, for four changed links. Not vertex-transitive in general.

    References
    ----------
    Esfahanian, Ni and Sagan, The Twisted N-Cube with Application to Multiprocessing (1991).
    """
    require_at_least("n", n, 3)
    cube = _cube(power(2, n), np.int64(1) << np.arange(n))
    target = cube.dst.copy()
    for u in range(4):
        target[(cube.src == u) & (cube.dst == u ^ 1)] = 3 - u
    return Topology.from_arrays(cube.nodes, cube.src, target)


# n = 3 is K_4 and n = 4 is K_{4,4}.
@make_family(lambda n, d: make_sizes(5 <= d <= 64 and n == 2 ** (d - 1), d), size=("2**(n - 1)", "n", "foldedcube(5)"))
def foldedcube(n: int) -> Topology:
    """Folded n-cube: 2^(n-1) nodes, degree n, diameter floor(n/2).

    Q_{n-1} with a link between opposite corners.

    References
    ----------
    Brouwer, Cohen and Neumaier, Distance-Regular Graphs, section 9.2.D.
    """
    require_at_least("n", n, 3)
    nodes = power(2, n - 1)
    return _cube(nodes, np.append(np.int64(1) << np.arange(n - 1), nodes - 1))


@make_family(_find_halved, size=("2**(n - 1)", "n*(n - 1)/2", "halvedcube(4)"))
def halvedcube(n: int) -> Topology:
    """Halved n-cube: 2^(n-1) nodes, degree n(n - 1)/2.

    The even words of n bits, linked when they differ in two.

    A node is the word without its last bit, so nodes are linked that differ in one or two bits. The diameter is
    floor(n/2).

    References
    ----------
    Brouwer, Cohen and Neumaier, Distance-Regular Graphs, section 9.2.D.
    """
    require_at_least("n", n, 3)
    nodes = power(2, n - 1)
    check_buildable(nodes, nodes * n * (n - 1) // 2)
    bits = np.int64(1) << np.arange(n - 1)
    first, second = np.triu_indices(n - 1, k=1)
    return _cube(nodes, np.concatenate((bits, bits[first] | bits[second])))


def _cube(nodes: int, masks: IntArray) -> Topology:
    """Link x with x xor mask; a Cayley graph of (Z_2)^n."""
    check_buildable(nodes, nodes * len(masks))
    node = np.arange(nodes)
    target = node ^ masks[:, None]
    symmetry = abelian(*[2] * (nodes.bit_length() - 1)).action()
    return Topology.from_arrays(nodes, np.broadcast_to(node, target.shape), target, symmetry=symmetry)
