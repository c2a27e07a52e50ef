"""Joining the nodes that waste a port on a self-loop."""

from __future__ import annotations

import numpy as np

from topodesign.topology.topology import IntArray, Topology


def find_loops(topology: Topology) -> IntArray:
    """Return the nodes with self-loops, ascending, repeated for parallel ones."""
    loops = topology.src == topology.dst
    return np.repeat(topology.src[loops], topology.capacity[loops])


def join_loops(topology: Topology) -> Topology:
    """Return the topology with self-loops replaced by links between their nodes.

    Of the k nodes with a self-loop, in ascending order, the i-th gets a link to the one k//2 places further,
    cyclically. So an even number is joined in pairs of opposite links, which keeps a duplex topology duplex, and an
    odd one in a directed cycle. (Half way round is the shift that most often prices best on generalized Kautz
    digraphs.) Degrees stay as they are. A link that is there already becomes one of capacity two, and a node all of
    whose ports are self-loops may keep some. Nothing is claimed about symmetry.
    """
    nodes = find_loops(topology)
    loops = topology.src == topology.dst
    return Topology.from_arrays(
        topology.nodes,
        np.concatenate((topology.src[~loops], nodes)),
        np.concatenate((topology.dst[~loops], np.roll(nodes, -(len(nodes) // 2)))),
        np.concatenate((topology.capacity[~loops], np.ones_like(nodes))),
    )


def pair_free_ports(topology: Topology, degree: int) -> Topology:
    """Return a duplex topology with links between nodes with free ports.

    Those that have fewer links than a number.

    Ports are taken in rounds, the first free one of every node, then the second of those that have two, and so on. The
    first half of the ports in that order is joined with the second, moved round by as many places as makes no link
    that is there already (by none if that cannot be), and the last of an odd number gets a self-loop. So the topology
    is regular. Nothing is claimed about symmetry.
    """
    free = degree - topology.out_ports
    rounds = [np.flatnonzero(free > turn) for turn in range(int(free.max()))]
    ports = np.concatenate(rounds) if rounds else np.zeros(0, dtype=np.int64)
    half = len(ports) // 2
    one, left = ports[:half], ports[2 * half :]
    turned = (np.roll(ports[half : 2 * half], -shift) for shift in range(half))
    other = next((heads for heads in turned if _are_new(topology, one, heads)), ports[half : 2 * half])
    return Topology.from_arrays(
        topology.nodes,
        np.concatenate((topology.src, one, other, left)),
        np.concatenate((topology.dst, other, one, left)),
        np.concatenate((topology.capacity, np.ones(len(ports), dtype=np.int64))),
    )


def _are_new(topology: Topology, one: IntArray, other: IntArray) -> bool:
    """Return whether links between nodes are new, distinct and no self-loops."""
    pairs = np.minimum(one, other) * topology.nodes + np.maximum(one, other)
    missing = topology.link_index(one, other) < 0
    return bool(np.all(one != other) and np.all(missing) and len(np.unique(pairs)) == len(pairs))
