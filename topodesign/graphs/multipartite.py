"""Complete bipartite and cocktail-party graphs, and crowns."""

from __future__ import annotations

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.graphs.sizes import make_sizes
from topodesign.topology.family import make_family
from topodesign.topology.groups import abelian, cyclic
from topodesign.topology.topology import Topology, check_buildable


@make_family(lambda n, d: make_sizes(n == 2 * d >= 4, d), size=("2*d", "d", "bipartite(4)"))
def bipartite(d: int) -> Topology:
    """Complete bipartite graph K_{d,d}: degree d, diameter 2 (1 for d = 1).

    Nodes 0..d-1 against d..2d-1.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 7.
    """
    require_at_least("d", d, 1)
    check_buildable(2 * d, 2 * d * d)
    return _between(*np.divmod(np.arange(d * d), d), d)


@make_family(
    lambda n, d: make_sizes(n == d + 2 >= 6 and n % 2 == 0, n // 2), size=("2*n", "2*n - 2", "cocktailparty(4)")
)
def cocktailparty(n: int) -> Topology:
    """Cocktail-party graph K_{2,...,2} on n pairs: degree 2n - 2, diameter 2.

    Node i is linked to all but i + n (mod 2n).

    References
    ----------
    Brouwer, Cohen and Neumaier, Distance-Regular Graphs, section 1.1.
    """
    require_at_least("n", n, 2)
    nodes, degree = 2 * n, 2 * n - 2
    check_buildable(nodes, nodes * degree)
    jump = np.delete(np.arange(nodes), (0, n))
    source = np.repeat(np.arange(nodes), degree)
    symmetry = cyclic(nodes).action()
    return Topology.from_arrays(nodes, source, (source + np.tile(jump, nodes)) % nodes, symmetry=symmetry)


@make_family(size=("6", "4", "octahedron()"))
def octahedron() -> Topology:
    """Octahedron K_{2,2,2} = J(4,2): 6 nodes, degree 4.

    The finder knows it as ``cocktailparty(3)``.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 4.
    """
    return cocktailparty.function(3)


@make_family(lambda n, d: make_sizes(n == 2 * d + 2 >= 6, d + 1), size=("2*n", "n - 1", "crown(5)"))
def crown(n: int) -> Topology:
    """Crown graph: K_{n,n} without a matching; degree n - 1, diameter 3.

    The matching joins i and n + i, i = 0..n-1.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 4 (n = 5).
    """
    require_at_least("n", n, 3)
    check_buildable(2 * n, 2 * n * (n - 1))
    left, right = np.divmod(np.arange(n * n), n)
    return _between(left[left != right], right[left != right], n)


def _between(left: np.ndarray, right: np.ndarray, side: int) -> Topology:
    """Link ``left[k]`` with ``side + right[k]``."""
    source, target = np.concatenate((left, right + side)), np.concatenate((right + side, left))
    return Topology.from_arrays(2 * side, source, target, symmetry=abelian(side, 2).action())


@make_family(lambda n, d: make_sizes(n == d + 1 >= 2, n), size=("n", "n - 1", "complete(6)"))
def complete(n: int) -> Topology:
    """Complete graph K_n: degree n - 1, diameter 1.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 7.
    """
    require_at_least("n", n, 2)
    check_buildable(n, n * (n - 1))
    source, step = np.divmod(np.arange(n * (n - 1)), n - 1)
    return Topology.from_arrays(n, source, (source + step + 1) % n, symmetry=cyclic(n).action())
