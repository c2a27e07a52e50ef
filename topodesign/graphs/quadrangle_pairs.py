"""Point-line pairs of a generalised quadrangle.

Large duplex graphs of diameter 3.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import ParameterError
from topodesign.graphs.loops import pair_free_ports
from topodesign.graphs.polygon import gq
from topodesign.topology.family import make_family
from topodesign.topology.finite_field import is_prime_power
from topodesign.topology.topology import Topology, check_buildable


def _find(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    q = math.isqrt(degree) - 1
    if q >= 2 and degree == (q + 1) ** 2 and nodes == ((q + 1) * (q * q + 1)) ** 2 and is_prime_power(q):
        yield q, q
    if (nodes, degree) == (1215, 15):
        yield 2, 4


@make_family(_find, size=("(s + 1)*(t + 1)*(s*t + 1)**2", "(s + 1)*(t + 1)", "gqpairs(2,2)"))
def gqpairs(s: int, t: int) -> Topology:
    """Point-line pairs of a quadrangle of order (s,t): diameter 3.

    Degree (s + 1)(t + 1).

    The quadrangle is W(q) for s = t = q, a prime power, or the one of order (2,4). It has (s + 1)(st + 1) points and
    (t + 1)(st + 1) lines, and the graph their product. (p, l) is joined with (p', l') when p is on l' and p' on l: from
    every point to every line there are ways of three incidences, so that three links lead from any pair to any other.
    Pairs that are incident would have a self-loop; they are joined in pairs instead, and the last of an odd number
    keeps its own.

    References
    ----------
    Delorme, Examples of products giving large graphs with given degree and diameter (1992). The quadrangle of order
    (2,4) is that of the 27 lines on a cubic surface: Payne and Thas, Finite Generalized Quadrangles (1984), chapter 6.
    """
    if s == t and s >= 2:
        size = (s + 1) * (s * s + 1)
        check_buildable(size * size, size * size * (s + 1) ** 2)
        incidence = gq.function(s)
        of_points = incidence.src < size
        on = np.zeros((size, size), dtype=bool)
        on[incidence.src[of_points], incidence.dst[of_points] - size] = True
    elif (s, t) == (2, 4):
        on = _double_sixes()
    else:
        raise ParameterError(f"there is a quadrangle here for s = t, a prime power, and for (2,4), not for ({s},{t})")
    point, line = np.nonzero(on)
    lines, links = on.shape[1], len(point)
    one, other = (place.ravel() for place in np.indices((links, links)))
    source, target = point[one] * lines + line[other], point[other] * lines + line[one]
    different = source != target
    return pair_free_ports(Topology.from_arrays(on.size, source[different], target[different]), (s + 1) * (t + 1))


def _double_sixes() -> NDArray[np.bool_]:
    """Return which of 27 points are on which of 45 lines.

    Six a, six b and all pairs {i, j}.

    The lines are {a_i, b_j, ij} and {ij, kl, mn}, all letters different.
    """
    sixes = [(letter, i) for letter in "ab" for i in range(6)]
    names: list[object] = [*sixes, *(frozenset(pair) for pair in itertools.combinations(range(6), 2))]
    lines: list[set[object]] = [{("a", i), ("b", j), frozenset((i, j))} for i, j in itertools.permutations(range(6), 2)]
    for j in range(1, 6):
        k, *rest = (i for i in range(1, 6) if i != j)
        for m in rest:
            others = (i for i in rest if i != m)
            lines.append({frozenset((0, j)), frozenset((k, m)), frozenset(others)})
    return np.array([[name in line for line in lines] for name in names])
