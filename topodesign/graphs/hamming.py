"""Hamming graphs: words that differ in one letter."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.graphs.sizes import power
from topodesign.topology.family import make_family
from topodesign.topology.groups import abelian
from topodesign.topology.topology import Topology, check_buildable


def _find(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    # q = 2 is the hypercube and n = 1 the complete graph.
    for n in range(2, degree // 2 + 1):
        q, rest = divmod(degree, n)
        if rest == 0 and (q + 1) ** n == nodes:
            yield n, q + 1


@make_family(_find, size=("q**n", "n*(q - 1)", "hamming(2,4)"))
def hamming(n: int, q: int) -> Topology:
    """Hamming graph H(n,q) = K_q^n: degree n(q - 1), diameter n.

    Nodes are the words of n letters below q.

    The word (w0, w1, ...) is the node w0 + q w1 + q^2 w2 + ....

    References
    ----------
    Efficient Direct-Connect Topologies, Table 7.
    """
    require_at_least("n", n, 1)
    require_at_least("q", q, 2)
    nodes = power(q, n)
    check_buildable(nodes, nodes * n * (q - 1))
    node = np.arange(nodes)
    targets = []
    for place in (q**i for i in range(n)):
        letter = node // place % q
        targets += [node + ((letter + step) % q - letter) * place for step in range(1, q)]
    target = np.stack(targets)
    return Topology.from_arrays(nodes, np.broadcast_to(node, target.shape), target, symmetry=abelian(*[q] * n).action())
