"""Rings of any degree by parallel links, and the shifted ring."""

from __future__ import annotations

import math

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError
from topodesign.graphs.sizes import make_sizes
from topodesign.topology.family import make_family
from topodesign.topology.groups import cyclic
from topodesign.topology.topology import MAX_CAPACITY, Topology, check_buildable


@make_family(lambda n, d: make_sizes(n >= 2 and d >= 1, d, n), size=("n", "d", "uniring(1,8)"))
def uniring(d: int, n: int) -> Topology:
    """Unidirectional ring with d parallel links to i + 1 (mod n).

    Degree d, diameter n - 1.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 7.
    """
    _check(d, n)
    return _ring(n, (1,), d)


@make_family(lambda n, d: make_sizes(n >= 3 and d >= 2 and d % 2 == 0, d, n), size=("n", "d", "biring(2,8)"))
def biring(d: int, n: int) -> Topology:
    """Bidirectional ring of even degree d: d/2 links to either side.

    The diameter is floor(n/2). On two nodes both directions meet, which makes d parallel links each way.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 7.
    """
    _check(d, n)
    if d % 2:
        raise ParameterError(f"a bidirectional ring has an even degree, not {d}")
    return _ring(n, (1, -1), d // 2)


@make_family(size=("n", "4", "shiftedring(16)"))
def shiftedring(n: int) -> Topology:
    """Shifted ring: a ring and a second one of stride p; degree 4.

    Both bidirectional, on nodes 0, 1, ..., n-1.

    The stride p is the integer from 2 to n/2 coprime to n that is nearest to sqrt(n) (the smaller of two), where the
    diameter, about p/2 + n/(2p), is smallest. Where there is none (n = 3, 4, 6) the rings coincide and every link has
    capacity 2. A baseline, not a candidate: the finder prefers ``circulant``.

    References
    ----------
    Wang et al., TopoOpt (2023); Efficient Direct-Connect Topologies, section 8.2.
    """
    require_at_least("n", n, 3)
    check_buildable(n, 4 * n)
    p = _stride(n)
    return _ring(n, (1, -1, p, -p), 1)


def _stride(n: int) -> int:
    root = math.isqrt(n)
    below = next((p for p in range(root, 1, -1) if math.gcd(p, n) == 1), None)
    above = next((p for p in range(max(root, 1) + 1, n // 2 + 1) if math.gcd(p, n) == 1), None)
    if below is None or above is None:
        return below or above or 1
    return above if (below + above) ** 2 < 4 * n else below  # sqrt(n) is above their mean


def _check(d: int, n: int) -> None:
    require_at_least("d", d, 1)
    require_at_least("n", n, 2)
    if d > MAX_CAPACITY:
        raise ParameterError(f"d must be at most {MAX_CAPACITY}, not {d}")
    check_buildable(n, 2 * n)


def _ring(n: int, jumps: tuple[int, ...], capacity: int) -> Topology:
    """Link i to i + jump; a Cayley digraph of Z_n."""
    node = np.arange(n)
    target = np.stack([(node + jump) % n for jump in jumps])
    source = np.broadcast_to(node, target.shape)
    return Topology.from_arrays(n, source, target, np.full(target.shape, capacity), symmetry=cyclic(n).action())
