"""Dragonflies without hosts: the routers are the nodes."""

from __future__ import annotations

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.topology.family import make_family
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import Topology, check_buildable


@make_family(size=("a*(a*h + 1)", "a - 1 + h", "dragonflygroups(3,2)"))
def dragonflygroups(a: int, h: int) -> Topology:
    """Largest dragonfly of groups of a nodes with h global links each.

    a (a h + 1) nodes, degree a - 1 + h.

    Node r of group g is number g a + r. Groups are complete graphs, and every two groups have one link: that of group i
    to the group d further on (modulo their number) is at its node (d - 1) mod a. Diameter 3 at most, duplex.

    References
    ----------
    Kim, Dally, Scott, Abts, Technology-Driven, Highly-Scalable Dragonfly Topology (2008), where routers have hosts.
    """
    require_at_least("a", a, 1)
    require_at_least("h", h, 1)
    groups = a * h + 1
    check_buildable(groups * a, groups * a * (a - 1 + h))
    group, router, other = (part.ravel() for part in np.meshgrid(np.arange(groups), np.arange(a), np.arange(a)))
    inside = router != other
    here, far = (part.ravel() for part in np.meshgrid(np.arange(groups), np.arange(1, groups), indexing="ij"))
    u = np.concatenate([(group * a + router)[inside], here * a + (far - 1) % a])
    v = np.concatenate([(group * a + other)[inside], (here + far) % groups * a + (groups - far - 1) % a])

    symmetry = Symmetry(groups * a, tuple(range(a)), lambda: [(np.arange(groups * a) + a) % (groups * a)])
    return Topology.from_arrays(groups * a, u, v, symmetry=symmetry)
