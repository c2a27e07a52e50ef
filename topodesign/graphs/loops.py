"""Joining the nodes that waste a port on a self-loop."""

from __future__ import annotations

import numpy as np

from topodesign.topology.topology import IntArray, Topology


def looped_nodes(topology: Topology) -> IntArray:
    """Return the nodes with self-loops, ascending, each as often as it has parallel ones."""
    loops = topology.src == topology.dst
    return np.repeat(topology.src[loops], topology.capacity[loops])


def join_loops(topology: Topology) -> Topology:
    """Return the topology with links between the nodes that have self-loops in the place of these.

    Of the k nodes with a self-loop, in ascending order, the i-th gets a link to the one k//2 places further,
    cyclically. So an even number is joined in pairs of opposite links, which keeps a duplex topology duplex, and an
    odd one in a directed cycle. (Half way round is the shift that most often prices best on generalized Kautz
    digraphs.) Degrees stay as they are. A link that is there already becomes one of capacity two, and a node all of
    whose ports are self-loops may keep some. Nothing is claimed about symmetry.
    """
    nodes = looped_nodes(topology)
    loops = topology.src == topology.dst
    return Topology.from_arrays(
        topology.nodes,
        np.concatenate((topology.src[~loops], nodes)),
        np.concatenate((topology.dst[~loops], np.roll(nodes, -(len(nodes) // 2)))),
        np.concatenate((topology.capacity[~loops], np.ones_like(nodes))),
    )
