"""Deletion of nodes: links into a node are joined to links out of it."""

from __future__ import annotations

import math

import numpy as np

from topodesign.base.errors import ParameterError
from topodesign.graphs.expansions.expansion import Expansion, require_base, require_count
from topodesign.graphs.expansions.rewiring import no_claim, unit_links
from topodesign.topology.topology import IntArray, Topology

_SIGNATURE = "delete(G,v,m,...)"
_MAX_PORTS = 20  # ports of a deleted node; of more than 17 no spec can number all permutations


def graph(base: Topology, *numbers: int) -> Topology:
    """Return G without node v, its in- and out-links joined.

    By the m-th permutation.

    The i-th link into v, sorted, is led on to the head of the p(i)-th link out of v, sorted, where p is the m-th
    permutation in lexicographic order, from 0. All other nodes keep their ports; self-loops of v go with it. Later
    nodes are numbered down by one. More pairs v, m are carried out one after the other.
    """
    topology = require_base(base, _SIGNATURE)
    if not numbers or len(numbers) % 2:
        raise ParameterError(f"write {_SIGNATURE} with a pair of integers for every node that goes")
    src, dst = unit_links(topology)
    nodes = topology.nodes
    for node, index in zip(numbers[::2], numbers[1::2], strict=True):
        v, m = require_count(node, _SIGNATURE, 0), require_count(index, _SIGNATURE, 0)
        if v >= nodes or nodes == 1:
            raise ParameterError(f"{_SIGNATURE} has no node {v} among {nodes} to delete")
        src, dst = _without(src, dst, v, m)
        nodes -= 1
    return Topology.from_arrays(nodes, src, dst)


def _without(src: IntArray, dst: IntArray, v: int, m: int) -> tuple[IntArray, IntArray]:
    into = np.flatnonzero((dst == v) & (src != v))
    onward = np.sort(dst[(src == v) & (dst != v)])
    if len(into) != len(onward):
        raise ParameterError(f"{_SIGNATURE} requires as many links into node {v} as out of it")
    dst[into[np.argsort(src[into], kind="stable")]] = onward[_permutation(len(onward), m)]
    kept = (src != v) & (dst != v)
    src, dst = src[kept], dst[kept]
    return src - (src > v), dst - (dst > v)


def _permutation(size: int, m: int) -> list[int]:
    """Return the m-th permutation in lexicographic order."""
    if size > _MAX_PORTS:
        raise ParameterError(f"{_SIGNATURE} is for nodes of at most {_MAX_PORTS} links, not {size}")
    if m >= math.factorial(size):
        raise ParameterError(f"{_SIGNATURE}: {size} links have {math.factorial(size)} permutations, from 0, not {m}")
    left, result = list(range(size)), []
    for place in range(size, 0, -1):
        digit, m = divmod(m, math.factorial(place - 1))
        result.append(left.pop(digit))
    return result


delete = Expansion(
    "delete", graph, no_claim, lift=None, size=("N - 1 for each pair v,m", "d", "delete(circulant(12,2,3),5,0)")
)
