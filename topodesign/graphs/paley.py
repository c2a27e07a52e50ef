"""Paley graphs and digraphs: links where the difference is a square.

In a finite field.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.errors import ParameterError
from topodesign.graphs.sizes import make_sizes
from topodesign.topology.family import make_family
from topodesign.topology.finite_field import LARGEST_FIELD, FiniteField, is_prime_power, prime_power
from topodesign.topology.groups import abelian
from topodesign.topology.topology import Topology, check_buildable


@make_family(
    lambda n, d: make_sizes(n == 2 * d + 1 >= 5 and n <= LARGEST_FIELD and n % 4 == 1 and is_prime_power(n), n),
    size=("q", "(q - 1)/2", "paley(13)"),
)
def paley(q: int) -> Topology:
    """Paley graph: links where y - x is a square in GF(q).

    q = 1 (mod 4), degree (q - 1)/2, diameter 2.

    Nodes are numbered as in :class:`topodesign.topology.finite_field.FiniteField`. The links have their reverses
    because -1 is a square.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 4 (P9).
    """
    return _paley(q, 1, "paleydigraph")


@make_family(
    lambda n, d: make_sizes(n == 2 * d + 1 >= 3 and n <= LARGEST_FIELD and n % 4 == 3 and is_prime_power(n), n),
    size=("q", "(q - 1)/2", "paleydigraph(11)"),
)
def paleydigraph(q: int) -> Topology:
    """Paley digraph (tournament): links from x to x + s for squares s.

    In GF(q), q = 3 (mod 4), degree (q - 1)/2.

    Of two nodes exactly one has a link to the other, because -1 is not a square; the diameter is 2.

    References
    ----------
    Graham and Spencer, A constructive solution to a tournament problem (1971).
    """
    return _paley(q, 3, "paley")


def _paley(q: int, remainder: int, other: str) -> Topology:
    if q % 4 != remainder:
        hint = f"; {other}({q}) may do" if q % 4 == 4 - remainder else ""
        raise ParameterError(f"q must leave the remainder {remainder} when divided by 4, and {q} does not{hint}")
    field = FiniteField(q)
    check_buildable(q, q * (q - 1) // 2)
    squares = np.array(field.powers[::2], dtype=np.int64)
    node = np.arange(q)
    target = field.add(node[None, :], squares[:, None])
    p, k = prime_power(q)
    additive = abelian(*[p] * k)  # numbered as the field
    return Topology.from_arrays(q, np.broadcast_to(node, target.shape), target, symmetry=additive.action())
