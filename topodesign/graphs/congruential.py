"""Linear congruential digraphs.

De Bruijn and Kautz digraphs of every size, and the same with other digits.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError
from topodesign.topology.family import make_family
from topodesign.topology.symmetry import Symmetry, shift
from topodesign.topology.topology import Topology, check_buildable


@make_family(size=("n", "len(digits)", "congruential(11,-2,0,3)"))
def congruential(n: int, a: int, *digits: int) -> Topology:
    """Linear congruential digraph: links from x to ax + c (mod n).

    One for each of the digits c.

    ``congruential(n,d,0,1,...,d-1)`` is the generalized de Bruijn digraph and ``congruential(n,-d,-1,-2,...,-d)`` is
    ``genkautz(d,n)``; any d consecutive digits make a consecutive-d digraph, whose diameter is at most ceil(log_d n).
    Digits that are all residues modulo d but not in a row often keep the diameter and load links more evenly. As
    many links come into every node as go out if g = gcd(a, n) divides d and d/g digits are in each residue class
    modulo g. A node that is its own successor has a self-loop, which wastes a port, and two digits that are alike
    modulo n make a link of capacity two.

    x -> x + n/gcd(a - 1, n) keeps the links, and so does x -> s - x where the digits mirror each other.

    References
    ----------
    Du and Hwang, Generalized de Bruijn digraphs (1988); Du, Hsu and Hwang, Doubly linked ring networks and
    consecutive-d digraphs (1985 and 1993); Opatrny, Sotteau, Srinivasan and Thulasiraman, DCC linear congruential
    graphs (1996); Imase and Itoh, A design for directed graphs with minimum diameter (1983).
    """
    require_at_least("n", n, 2)
    require_at_least("the number of digits", len(digits), 1)
    check_buildable(n, n * len(digits))
    factor, degree = a % n, len(digits)
    _require_regular(math.gcd(a, n), digits)
    source = np.repeat(np.arange(n), degree)
    shift = np.array([digit % n for digit in digits])
    target = (factor * source + np.tile(shift, n)) % n
    return Topology.from_arrays(n, source, target, symmetry=_symmetry(n, factor, shift.tolist()))


def _require_regular(common: int, digits: tuple[int, ...]) -> None:
    """Raise ParameterError unless in- and out-degrees agree."""
    degree = len(digits)
    if degree % common:
        raise ParameterError(
            f"gcd(a, n) is {common}, which does not divide the {degree} digits, so that nodes have more links in than "
            f"out; take another n or a"
        )
    found = Counter(digit % common for digit in digits)
    uneven = next((residue for residue in range(common) if found[residue] * common != degree), None)
    if uneven is not None:
        raise ParameterError(
            f"of the {degree} digits {degree // common} must be {uneven} modulo {common}, which is gcd(a, n), and "
            f"{found[uneven]} are; so nodes have more links in than out"
        )


def _symmetry(n: int, a: int, digits: list[int]) -> Symmetry | None:
    """Return the shifts and mirrors x -> s - x that keep all links, or None."""
    period = n // math.gcd(a - 1, n)
    centre = _mirror(n, a, digits)
    if centre is None:
        return Symmetry(n, tuple(range(period)), lambda: [shift(n, period)]) if period < n else None
    first = tuple(x for x in range(period) if x <= (centre - x) % period)
    return Symmetry(n, first, lambda: (shift(n, period), (centre - np.arange(n)) % n))


def _mirror(n: int, a: int, digits: list[int]) -> int | None:
    """Return an s for which x -> s - x keeps all links.

    The digits c and k - c are the same ones, and (1 - a)s = k.
    """
    count, common = Counter(digits), math.gcd(1 - a, n)
    for other in sorted(count):
        total = digits[0] + other
        if total % common == 0 and Counter((total - digit) % n for digit in digits) == count:
            return total // common * pow((1 - a) // common, -1, n // common) % n if n > common else 0
    return None
