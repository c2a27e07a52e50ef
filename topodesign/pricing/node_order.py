"""A canonical order of nodes, independent of their numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topodesign.topology.topology import IntArray, Topology

_MAX_PICKED = 64
"""Nodes that are distinguished from their like one by one at most; what is left then goes by number."""
_LENGTHS = 8  # of walks that are counted
_ODD = tuple(np.uint64(one) for one in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def node_order(topology: Topology) -> IntArray:
    """Return all nodes in a canonical order, up to symmetry.

    Nodes are distinguished by how many walks lead to others and back, and by the links that lead to and from kinds of
    nodes, again and again (colour refinement). Where some are left alike, mostly images of each other, one is picked,
    and others are distinguished by it.
    """
    kinds = _refine_classes(topology, np.unique(_walks(topology), return_inverse=True)[1].astype(np.int64))
    for _ in range(_MAX_PICKED):
        several = np.flatnonzero(np.bincount(kinds) > 1)
        if not len(several):
            break
        kinds[np.flatnonzero(kinds == several[0])[0]] = topology.nodes
        kinds = _refine_classes(topology, kinds)
    return np.argsort(kinds, kind="stable")


def _walks(topology: Topology) -> NDArray[np.uint64]:
    """Return words that distinguish nodes by numbers of walks."""
    entered = np.lexsort((topology.src, topology.dst))
    reached, first = np.unique(topology.dst[entered], return_index=True)  # a node without links in has no walks to it
    source, capacity = topology.src[entered], topology.capacity[entered].astype(np.uint64)
    walks, told = np.eye(topology.nodes, dtype=np.uint64), np.zeros(topology.nodes, np.uint64)
    for _ in range(_LENGTHS):
        longer = np.zeros_like(walks)  # row v, column u: from u to v
        if len(first):
            longer[reached] = np.add.reduceat(walks[source] * capacity[:, None], first)
        walks = longer
        words = _mix_words(walks)
        told = _mix_words(
            told + _mix_words(words.sum(0)) * _ODD[0] + _mix_words(words.sum(1)) * _ODD[1] + words.diagonal()
        )
    return told


def _refine_classes(topology: Topology, kinds: IntArray) -> IntArray:
    """Return classes of nodes refined by the classes of their neighbours."""
    names, kinds = np.unique(kinds, return_inverse=True)
    while len(names) < topology.nodes:
        known, capacity = len(names), topology.capacity.astype(np.uint64) * _ODD[2]
        words = _mix_words(kinds.astype(np.uint64))
        there, back = np.zeros_like(words), np.zeros_like(words)
        np.add.at(there, topology.src, _mix_words(words[topology.dst] + capacity))
        np.add.at(back, topology.dst, _mix_words(words[topology.src] ^ capacity))
        names, kinds = np.unique(
            _mix_words(words + _mix_words(there) * _ODD[0] + _mix_words(back) * _ODD[1]), return_inverse=True
        )
        if len(names) <= known:
            break
    return kinds.astype(np.int64)


def _mix_words(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 64-bit words mixed from words (the end of SplitMix64)."""
    words = (words + _ODD[0]) * _ODD[1]
    words = (words ^ (words >> np.uint64(30))) * _ODD[1]
    words = (words ^ (words >> np.uint64(27))) * _ODD[2]
    return words ^ (words >> np.uint64(31))
