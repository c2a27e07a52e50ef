"""Cycle meshes: two sets of equally long rings over r times c nodes."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError
from topodesign.topology.family import make_family
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import Topology, check_buildable


def _find(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    """Yield the most nearly square mesh with r <= c."""
    if degree == 2 and nodes >= 4:
        r = next((r for r in range(math.isqrt(nodes), 1, -1) if nodes % r == 0), None)
        if r is not None:
            yield r, nodes // r


@make_family(_find, size=("r*c", "2", "cyclemesh(4,4)"))
def cyclemesh(r: int, c: int) -> Topology:
    """Cycle mesh: rings over c nodes and rings of stride r.

    N = rc, degree 2, unidirectional.

    Node i has a link to the next node of its group c*floor(i/c), ..., c*floor(i/c) + c - 1, the last one to the first,
    and a link to i + r (mod rc); all rings have length c. With r <= c every ring of one kind meets every ring of the
    other, which makes a bandwidth-optimal two-phase schedule of 2(c - 1) steps. With r > c the mesh is connected unless
    c divides r. A step of c nodes keeps the links, so the first c nodes represent all.

    References
    ----------
    Efficient Direct-Connect Topologies, appendix F.4.
    """
    require_at_least("r", r, 2)
    require_at_least("c", c, 2)
    if r > c and r % c == 0:
        raise ParameterError(f"cyclemesh({r},{c}) is not connected, because {c} divides {r}; try cyclemesh({c},{r})")
    check_buildable(r * c, 2 * r * c)
    node = np.arange(r * c)
    group, place = np.divmod(node, c)
    target = np.stack((group * c + (place + 1) % c, (node + r) % (r * c)))
    symmetry = Symmetry(r * c, tuple(range(c)), lambda: [(np.arange(r * c) + c) % (r * c)])
    return Topology.from_arrays(r * c, np.broadcast_to(node, target.shape), target, symmetry=symmetry)
