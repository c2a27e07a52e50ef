"""What the images of trees come to that a symmetry folds: added up by orbits, for the verifier."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topodesign.base.errors import TooLargeError, TopologyError
from topodesign.plans.orbit_trees import OrbitTrees
from topodesign.plans.trees import Trees
from topodesign.topology.topology import IntArray


class Images(NamedTuple):
    """Of a group of so many permutations that move all compute nodes or none: every tree has an image for each.

    Every link of an orbit carries what all of it carry of the trees themselves, once for every permutation that leaves
    the link where it is, and these are as many as the group has over the size of the orbit.
    """

    times: int = 1
    node: IntArray | None = None  # the representative of every node
    link: IntArray | None = None  # the first link of every link's orbit

    def loads(self, own: IntArray) -> IntArray:
        """Return what links carry, shape ``(phases, links)``, from what they carry of the trees themselves."""
        if self.link is None:
            return own
        sums = np.zeros_like(own)
        np.add.at(sums.T, self.link, own.T)
        if int(sums.max(initial=0)) * self.times >= 2**63:
            raise TooLargeError(f"the weights of trees with {self.times} images each are too large")
        size = np.bincount(self.link, minlength=len(self.link)).clip(1)
        carried: IntArray = (sums * (self.times // size))[:, self.link]
        return carried

    def totals(self, own: IntArray) -> IntArray:
        """Return what all nodes have, shape ``(phases, nodes)``, from what the representatives have."""
        return own if self.node is None else own[:, self.node]


def images_of(trees: Trees | OrbitTrees) -> Images:
    """Return the images of trees; raises TopologyError unless a proven symmetry makes them, each once."""
    if trees.folded is None:
        return Images()
    topology, symmetry = trees.topology, trees.folded.symmetry
    symmetry.check(topology)
    times = symmetry.free_order(trees.own.compute_nodes)
    if times is None:
        raise TopologyError("it leaves compute nodes where they are, so that trees have several images there")
    return Images(times, symmetry.represented_by, symmetry.link_orbits(topology))
