"""Connections made before programs, and advice on missing links.

NCCL and what descends from it join ranks in a ring and in two binary trees of their own, whatever program is loaded,
and take a NIC by its place in the host, not by its cable. Behind switches that does not matter. Where hosts are wired
to one another directly, two ranks of the ring or of a tree may share no cable, and then the start fails.
"""

from __future__ import annotations

Pair = tuple[int, int]


def ring_pairs(ranks: int) -> list[Pair]:
    """Return the pairs of NCCL's ring.

    Examples
    --------
    >>> ring_pairs(4)
    [(0, 1), (1, 2), (2, 3), (3, 0)]
    """
    return [(rank, (rank + 1) % ranks) for rank in range(ranks)]


def tree_pairs(ranks: int) -> list[Pair]:
    """Return the pairs of NCCL's two binary trees over hosts.

    The parent of a rank has its lowest bit moved one place up, or, where there is no such rank, gone. In the second
    tree ranks are mirrored, or with an odd number of them the next ones.

    Notes
    -----
    NVIDIA/nccl 5067397, src/graph/trees.cc:31-106.

    Examples
    --------
    >>> tree_pairs(4)
    [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    """
    first = []
    for rank in range(1, ranks):
        bit = rank & -rank
        above = rank ^ bit | bit << 1
        first.append((rank, above if above < ranks else rank ^ bit))
    if ranks % 2:
        second = [((one + 1) % ranks, (other + 1) % ranks) for one, other in first]
    else:
        second = [(ranks - 1 - one, ranks - 1 - other) for one, other in first]
    return sorted({(min(pair), max(pair)) for pair in (*first, *second)})


def pat_pairs(ranks: int) -> list[Pair]:
    """Return the pairs of NCCL's parallel aggregated trees over hosts.

    Examples
    --------
    >>> pat_pairs(4)
    [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3), (2, 0), (3, 1)]
    """
    powers = [1 << at for at in range((ranks - 1).bit_length())]
    return [(rank, (rank + power) % ranks) for power in powers for rank in range(ranks)]


RELAY = "let a net plugin relay between ranks that share no cable, or join all hosts by a switch"
LAZY = "turn cuMem on at every rank (NCCL_CUMEM_ENABLE=1, from NCCL 2.22), so that nothing is joined before it is used"
