"""Cayley digraphs: a node per group element, a link per generator.

Vertex-transitive by construction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topodesign.base.errors import ParameterError
from topodesign.base.spec import Spec
from topodesign.topology.family import make_family
from topodesign.topology.groups import Group, group
from topodesign.topology.topology import Topology, check_buildable


@make_family(size=("order of the group", "len(elements)", "cayley(dihedral(8),1,9)"))
def cayley(base: Spec, *elements: int) -> Topology:
    """Cayley digraph: links from g to g*s, as ``cayley(dihedral(8),1,9)``.

    For every s in the connection set.

    Elements are numbered as the group says (:mod:`topodesign.topology.groups`); 0 is the identity and is refused, and
    an element given twice is a link of capacity two. The finder reaches these by search, not by enumeration.

    References
    ----------
    Biggs, Algebraic Graph Theory, chapter 16.
    """
    if not isinstance(base, Spec):
        raise ParameterError("the first argument must be a group, as in cayley(dihedral(8),1,9)")
    return cayley_of(group(base), elements)


def cayley_of(base: Group, elements: Sequence[int]) -> Topology:
    """Return the Cayley digraph of a group value, without a spec."""
    if not elements:
        raise ParameterError("the connection set is empty; give at least one element")
    if any(isinstance(s, Spec) for s in elements):
        raise ParameterError("elements are integers")
    for element in elements:
        if not 1 <= element < base.order:
            raise ParameterError(f"element {element} must be from 1 to {base.order - 1} (0 is the identity)")
    check_buildable(base.order, base.order * len(elements))
    nodes = base.elements()
    targets = np.stack([base.right(s) for s in elements])
    return Topology.from_arrays(base.order, np.broadcast_to(nodes, targets.shape), targets, symmetry=base.action())
