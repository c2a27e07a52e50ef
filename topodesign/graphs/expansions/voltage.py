"""Voltage lifts: a copy of the base's nodes per group element.

Few sources price many nodes.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.errors import ParameterError
from topodesign.base.spec import Spec
from topodesign.graphs.expansions.expansion import Claim, Expansion, require_base
from topodesign.topology.groups import group
from topodesign.topology.topology import Topology, check_buildable

_SIGNATURE = "lift(BASE,GROUP,v1,v2,...)"


def graph(base: Topology, GROUP: Spec, *voltages: int) -> Topology:
    """Return the voltage lift of a base; node (u, g) is u*|G| + g.

    A link of the base from u to w with the voltage v gives the links from (u, g) to (w, g*v) for all g. There is one
    voltage for each link of the base, links sorted by their ends; a link of capacity c has c voltages. Self-loops and
    parallel links of the base make links of their own: ``lift(successors(2,0,0),GROUP,a,b)`` is a Cayley digraph. The
    group acts on the lift, so one copy of the base holds a representative of every node.

    References
    ----------
    Gross and Tucker, Topological Graph Theory, chapter 2.
    """
    topology = require_base(base, _SIGNATURE)
    if not isinstance(GROUP, Spec):
        raise ParameterError(f"{_SIGNATURE} requires a group after the base, as in lift(complete(2),cyclic(5),1,2)")
    acting = group(GROUP)
    src, dst = (np.repeat(ends, topology.capacity) for ends in (topology.src, topology.dst))
    check_buildable(topology.nodes * acting.order, len(src) * acting.order)
    if len(voltages) != len(src):
        raise ParameterError(f"the base has {len(src)} links, so give {len(src)} voltages, not {len(voltages)}")
    for voltage in voltages:
        if not isinstance(voltage, int) or not 0 <= voltage < acting.order:
            raise ParameterError(f"voltage {voltage} must be an element of the group, 0 to {acting.order - 1}")
    elements = acting.elements()
    ends = acting.multiply(elements, np.array(voltages, dtype=np.int64)[:, None])
    return Topology.from_arrays(
        topology.nodes * acting.order,
        src[:, None] * acting.order + elements,
        dst[:, None] * acting.order + ends,
        symmetry=acting.action(topology.nodes),
    )


def claim(base: object, GROUP: Spec, *voltages: int) -> Claim | None:  # noqa: ARG001
    """Return None: the cost depends on the voltages."""
    return None


lift = Expansion(
    "lift",
    graph,
    claim,
    lift=None,
    size=("N times the order of the group", "d", "lift(complete(3),cyclic(4),0,1,2,3,0,1)"),
)
