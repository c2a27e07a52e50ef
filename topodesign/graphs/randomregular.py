"""Random regular digraphs from an explicit seed: a yardstick for everything that has structure."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from topodesign.errors import ParameterError, TooLargeError
from topodesign.named import named
from topodesign.topology import IntArray, Topology, check_buildable, require_at_least

_ATTEMPTS = 100
_ROUNDS = 200
_MOST_WORK = 2**32  # comparisons of a new link with the others of its node: about ten seconds

_GOOD_SEEDS = {(9, 2): 1711, (10, 2): 34553}
"""Seeds of small digraphs with optimal bandwidth in the fewest steps, by size, where no other family has one."""


def _find(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    if (nodes, degree) in _GOOD_SEEDS:
        yield nodes, degree, _GOOD_SEEDS[nodes, degree]


@named(_find)
def randomregular(n: int, d: int, seed: int) -> Topology:
    """Random d-regular digraph on n > d nodes without self-loops and parallel links, strongly connected.

    The union of d random permutations, in which two links exchange their ends as long as there are self-loops or
    parallel links; for dense ones (n <= 2d) the absent links are drawn instead. For d = 1 it is a random
    ring. Not exactly uniform. The seed is any integer from 0 on: only the raw 64-bit stream of NumPy's PCG64 is used,
    which is fixed for all versions and machines, so that a spec names the same links everywhere.

    References
    ----------
    Wormald, Models of random regular graphs (1999).
    """
    require_at_least("d", d, 1)
    require_at_least("n", n, d + 1)
    require_at_least("seed", seed, 0)
    check_buildable(n, n * d)
    if n * min(d, n - 1 - d) ** 2 > _MOST_WORK:
        raise TooLargeError(f"randomregular({n},{d},...) is too dense to draw; take fewer nodes or links")
    for attempt in range(_ATTEMPTS):
        target = _draw(n, d, np.random.PCG64([seed, attempt]))
        if target is not None:
            topology = Topology.from_arrays(n, np.repeat(np.arange(n), target.shape[1]), target)
            if _strongly_connected(topology):
                return topology
    raise ParameterError(f"no random digraph found for randomregular({n},{d},{seed}); try another seed")


def _draw(n: int, d: int, stream: np.random.PCG64) -> IntArray | None:
    """Return the targets of every node, shape (n, d), or None if the repair gets stuck."""
    if d == 1:
        ring = _permutation(n, stream)
        target = np.empty((n, 1), dtype=np.int64)
        target[ring, 0] = np.roll(ring, -1)
        return target
    if 2 * d < n:
        return _simple(n, d, stream)
    absent = _simple(n, n - 1 - d, stream)
    if absent is None:
        return None
    present = ~np.eye(n, dtype=bool)
    np.put_along_axis(present, absent, values=False, axis=1)
    return np.nonzero(present)[1].reshape(n, d)


def _simple(n: int, d: int, stream: np.random.PCG64) -> IntArray | None:
    """Draw d permutations one by one; rows met at random exchange targets unless that makes more links unusable."""
    target = np.empty((n, d), dtype=np.int64)
    for c in range(d):
        done, column = target[:, :c], _permutation(n, stream)
        bad = _unusable(done, np.arange(n), column)
        for _ in range(_ROUNDS):
            if not bad.any():
                break
            order = _permutation(n, stream)
            u, v = order[: n // 2], order[n // 2 : n // 2 * 2]
            affected = bad[u] | bad[v]
            u, v = u[affected], v[affected]
            bad_u, bad_v = _unusable(done[u], u, column[v]), _unusable(done[v], v, column[u])
            better = bad_u.astype(np.int64) + bad_v <= bad[u].astype(np.int64) + bad[v]
            u, v = u[better], v[better]
            column[u], column[v] = column[v], column[u]
            bad[u], bad[v] = bad_u[better], bad_v[better]
        if bad.any():
            return None
        target[:, c] = column
    return target


def _unusable(done: IntArray, source: IntArray, target: IntArray) -> np.ndarray:
    """Return where a link is a self-loop or parallel to one of the links in the same row of ``done``."""
    clash: np.ndarray = (source == target) | (done == target[:, None]).any(axis=1)
    return clash


def _permutation(n: int, stream: np.random.PCG64) -> IntArray:
    order: IntArray = np.argsort(stream.random_raw(n), kind="stable")
    return order


def _strongly_connected(topology: Topology) -> bool:
    from scipy.sparse import csr_array  # noqa: PLC0415  heavy, and needed by this family alone
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    links = csr_array((topology.capacity, topology.dst, topology.indptr), shape=(topology.nodes,) * 2)
    count = connected_components(links, directed=True, connection="strong", return_labels=False)
    return int(count) == 1
