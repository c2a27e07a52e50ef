"""Cyclic covers: copies of a digraph joined in a circle.

Such as the bipartite double cover.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topodesign.graphs.expansions.expansion import Expansion, require_base, require_count
from topodesign.graphs.expansions.rewiring import no_claim
from topodesign.topology.symmetry import Permutation, Symmetry
from topodesign.topology.topology import IntArray, Topology, check_buildable

_SIGNATURE = "cover(G,m)"


def graph(base: Topology, m: int = 2) -> Topology:
    """Return m copies of G; links u->w lead from each copy to the next.

    It is the tensor product with a directed cycle, and the voltage lift by ``cyclic(m)`` with the voltage 1 on all
    links; copy i of node u is the integer u*m + i. There are no self-loops. With m = 2 it is the bipartite double
    cover: if walks of k links lead from every node of G to all nodes, then nodes of the cover are at most k + 1 apart.

    References
    ----------
    Fiol and Yebra, Dense bipartite digraphs (1990); Gross and Tucker, Topological Graph Theory, chapter 2.
    """
    topology = require_base(base, _SIGNATURE)
    copies = require_count(m, _SIGNATURE, 2)
    nodes = topology.nodes * copies
    check_buildable(nodes, len(topology.src) * copies)
    copy = np.arange(copies)
    return Topology.from_arrays(
        nodes,
        topology.src[:, None] * copies + copy,
        topology.dst[:, None] * copies + (copy + 1) % copies,
        np.repeat(topology.capacity, copies),
        symmetry=_symmetry(topology, copies),
    )


def _symmetry(base: Topology, copies: int) -> Symmetry:
    """Return the automorphisms of G in all copies, and the rotation of copies."""
    nodes, known = base.nodes, base.symmetry
    first = range(nodes) if known is None else known.representatives

    def make() -> list[NDArray[np.int64]]:
        every = np.zeros((0, nodes), dtype=np.int32) if known is None else known.generators
        return [_lift_permutation(one, copies) for one in every] + [_rotate_copies(nodes, copies)]

    return Symmetry(nodes * copies, tuple(node * copies for node in first), make)


def _lift_permutation(permutation: Permutation, copies: int) -> IntArray:
    image: IntArray = (permutation.astype(np.int64)[:, None] * copies + np.arange(copies)).ravel()
    return image


def _rotate_copies(nodes: int, copies: int) -> IntArray:
    image: IntArray = (np.arange(nodes)[:, None] * copies + (np.arange(copies) + 1) % copies).ravel()
    return image


cover = Expansion("cover", graph, no_claim, lift=None, size=("m*N", "d", "cover(genkautz(2,7),2)"))
