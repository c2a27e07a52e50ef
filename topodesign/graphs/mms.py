"""McKay-Miller-Siran graphs: large graphs of diameter 2."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError
from topodesign.topology.family import make_family
from topodesign.topology.finite_field import FiniteField, is_prime_power, prime_power
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology, check_buildable


def _find(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    # q = 5 is the Hoffman-Singleton graph, listed by itself.
    for q in {(2 * degree + 1) // 3, 2 * degree // 3}:
        if q > 2 and q != 5 and 2 * q * q == nodes and _degree(q) == degree and is_prime_power(q):
            yield (q,)


def _degree(q: int) -> int:
    return q + (q + 1) // 2 if q % 4 == 3 else q + q // 2


@make_family(_find, size=("2*q**2", "(3*q - e)/2 with e = -1, 0 or 1, q = e (mod 4)", "mms(4)"))
def mms(q: int) -> Topology:
    """McKay-Miller-Siran graph: 2q^2 nodes, degree (3q - e)/2, diameter 2.

    With e = 0, 1, -1 for q = e (mod 4).

    Needs a prime power q > 2 other than 2 modulo 4. The node (x, y) is xq + y, and <m, c> is q^2 + mq + c. They are
    joined when y = mx + c; (x, y) and (x, y') when y - y' is in X; <m, c> and <m, c'> when c - c' is in X'. With g a
    generator of the field, X consists of the even and X' of the odd powers of g below q - 1 for q = 1 (mod 4), and
    for other q of g^0, g^2, ..., g^(2w - 2) and g^1, g^3, ..., g^(2w - 1), with their negatives for q = 4w - 1, w
    doubled for q = 4w. Translations and shears keep the links, so that one node of each kind represents all. q = 5 is
    the Hoffman-Singleton graph.

    References
    ----------
    McKay, Miller and Siran, A note on large graphs of diameter two and given maximum degree (1998); Hafner, Geometric
    realisation of the graphs of McKay-Miller-Siran (2004).
    """
    require_at_least("q", q, 3)
    check_buildable(2 * q * q, 2 * q * q * _degree(q))
    field = FiniteField(q)
    if q % 4 == 2:
        raise ParameterError(f"q must not be {q}")
    even, odd = _differences(field)
    x, y, m = (axis.ravel() for axis in np.indices((q, q, q)))
    across = x * q + y, q * q + m * q + field.subtract(y, field.multiply(m, x))
    column, y = (axis.ravel() for axis in np.indices((q, q)))
    source, target = [across[0], across[1]], [across[1], across[0]]
    for start, steps in ((0, even), (q * q, odd)):
        for step in steps:
            source.append(start + column * q + y)
            target.append(start + column * q + field.add(y, np.full_like(y, step)))
    ends = np.concatenate(source), np.concatenate(target)
    symmetry = Symmetry(2 * q * q, (0, q * q), lambda: _automorphisms(field))
    return Topology.from_arrays(2 * q * q, *ends, symmetry=symmetry)


def _automorphisms(field: FiniteField) -> Iterator[IntArray]:
    """Yield translations and shears, by a basis of the field each."""
    q = field.order
    x, y = np.divmod(np.arange(q * q), q)  # of points, and slope and intercept of lines
    for t in (np.full_like(x, field.characteristic**i) for i in range(prime_power(q)[1])):
        further = field.add(y, t)
        yield np.concatenate((x * q + further, q * q + x * q + further))
        yield np.concatenate((field.add(x, t) * q + y, q * q + x * q + field.subtract(y, field.multiply(x, t))))
        yield np.concatenate((x * q + field.add(y, field.multiply(x, t)), q * q + field.add(x, t) * q + y))


def _differences(field: FiniteField) -> tuple[list[int], list[int]]:
    q, powers = field.order, field.powers
    if q % 4 == 1:
        return list(powers[::2]), list(powers[1::2])
    if q % 2 == 0:
        return list(powers[::2]), [*powers[1::2], 1]
    half = (q - 1) // 2  # -1 = g^half, and half is odd
    even, odd = list(powers[:half:2]), list(powers[1 : half + 1 : 2])
    return [*even, *field.negative(np.array(even)).tolist()], [*odd, *field.negative(np.array(odd)).tolist()]
