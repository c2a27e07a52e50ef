"""Common parts of expansions that change a few links."""

from __future__ import annotations

import numpy as np

from topodesign.base.errors import ParameterError
from topodesign.graphs.expansions.expansion import Base
from topodesign.topology.topology import IntArray, Topology


def unit_links(topology: Topology) -> tuple[IntArray, IntArray]:
    """Return writable tails and heads of unit links, sorted.

    A link of capacity c is c links.
    """
    return np.repeat(topology.src, topology.capacity), np.repeat(topology.dst, topology.capacity)


def find_link(src: IntArray, dst: IntArray, tail: int, head: int, signature: str) -> int:
    """Return the place of the first link from tail to head."""
    places = np.flatnonzero((src == tail) & (dst == head))
    if not len(places):
        raise ParameterError(f"{signature} requires the link {tail}->{head}, which is not there")
    return int(places[0])


def no_claim(base: Base, *numbers: int) -> None:  # noqa: ARG001  the signature of every claim
    """Return None: a change of a few links has no closed-form cost."""
    return
