"""Cycle prefix digraphs.

The largest known vertex-transitive digraphs of many degrees and diameters.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.graphs.sizes import swap_and_turn
from topodesign.topology.family import make_family
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology, check_buildable


def _find(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    # k = 1 is the complete digraph and k = 2 the Kautz digraph K(d,1).
    size, k = degree + 1, 1
    while k < degree and size < nodes:
        size, k = size * (degree + 1 - k), k + 1
    if k >= 3 and size == nodes:
        yield degree, k


@make_family(_find, size=("factorial(d + 1)/factorial(d + 1 - k)", "d", "cycleprefix(3,2)"))
def cycleprefix(d: int, k: int) -> Topology:
    """Cycle prefix digraph: (d + 1)!/(d + 1 - k)! nodes, diameter k.

    Of degree d >= k, by Faber, Moore and Chen.

    Nodes are the words of k distinct letters out of d + 1, numbered in lexicographic order. Each has links to the
    words that arise when one of its first k - 1 letters is moved to the end, and when the first is dropped and a
    letter that is not in the word appended. Vertex-transitive, since the letters may be permuted. With k = d it is
    the transpose of the rotator digraph of Corbett.

    References
    ----------
    Faber, Moore and Chen, Cycle prefix digraphs for symmetric interconnection networks (1993); Corbett, Rotator graphs
    (1992).
    """
    require_at_least("k", k, 1)
    require_at_least("d", d, k)
    check_buildable(nodes := _words(d + 1, k), nodes * d)
    words = np.array(list(itertools.permutations(range(d + 1), k)), dtype=np.int64)
    moved = [np.concatenate((np.delete(words, i, axis=1), words[:, i : i + 1]), axis=1) for i in range(k - 1)]
    absent = np.ones((nodes, d + 1), dtype=bool)
    np.put_along_axis(absent, words, values=False, axis=1)
    fresh = np.nonzero(absent)[1].reshape(nodes, d + 1 - k)
    appended = [np.concatenate((words[:, 1:], fresh[:, i : i + 1]), axis=1) for i in range(d + 1 - k)]
    targets = np.stack([_rank(word, words, d + 1) for word in (*moved, *appended)])
    symmetry = Symmetry(nodes, (0,), lambda: _renamings(d + 1, k))
    return Topology.from_arrays(nodes, np.broadcast_to(np.arange(nodes), targets.shape), targets, symmetry=symmetry)


def _renamings(letters: int, k: int) -> Iterator[IntArray]:
    """Yield images of words under a swap of two letters and a rotation of all."""
    words = np.array(list(itertools.permutations(range(letters), k)), dtype=np.int64)
    for renamed in swap_and_turn(letters):
        yield _rank(renamed[words], words, letters)


def _words(letters: int, k: int) -> int:
    return math.perm(letters, k) if letters <= 10**6 and k <= 64 else 2**64


def _rank(word: IntArray, words: IntArray, letters: int) -> IntArray:
    place = letters ** np.arange(words.shape[1])[::-1]
    return np.searchsorted(words @ place, word @ place)
