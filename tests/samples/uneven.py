"""Links that are not alike, and networks of the papers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology

MICROSECOND = Fraction(1, 10**6)


_GIGABITS = (1, 2, 4, 5, 8, 10, 16, 20, 25, 40, 50, 100)


def uneven(nodes: int, seed: int) -> tuple[Topology, LinkTable]:
    """A strongly connected digraph and a table of its links, with latencies and bandwidths of all sorts."""
    rng = np.random.default_rng(seed)
    ring = rng.permutation(nodes).tolist()
    links = {(u, v) for u, v in zip(ring, ring[1:] + ring[:1], strict=True) if u != v}
    links |= {(int(u), int(v)) for u, v in rng.integers(0, nodes, (int(rng.integers(0, 3 * nodes)), 2)) if u != v}
    alpha = {pair: int(rng.integers(0, 20)) * MICROSECOND for pair in links}
    bandwidth = {pair: Fraction(int(rng.choice(_GIGABITS)) * 10**9) for pair in links}
    return Topology.from_links(nodes, [(u, v, 1) for u, v in sorted(links)]), LinkTable(alpha, bandwidth)


def uneven_networks(most_nodes: int = 6) -> st.SearchStrategy[tuple[Topology, LinkTable]]:
    """Any of these."""
    return st.builds(uneven, st.integers(2, most_nodes), st.integers(0, 2**32))


def mesh(*sides: int, without: tuple[int, ...] = ()) -> Topology:
    """A grid without wrapping round, links both ways; what has failed is omitted, and the rest numbered anew."""
    place = np.arange(int(np.prod(sides))).reshape(sides)
    pairs = []
    for axis in range(len(sides)):
        along = np.moveaxis(place, axis, 0)
        pairs += list(zip(along[:-1].ravel().tolist(), along[1:].ravel().tolist(), strict=True))
    number = {node: at for at, node in enumerate(one for one in range(place.size) if one not in without)}
    links = [(number[u], number[v], 1) for u, v in pairs if u in number and v in number]
    return Topology.from_links(len(number), [*links, *((v, u, c) for u, v, c in links)])
