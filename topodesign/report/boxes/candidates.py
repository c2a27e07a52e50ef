"""Graphs of boxes: what the catalog and the families have, ranked for all-to-all, and strides as rails have them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from topodesign.base.errors import InfeasibleError
from topodesign.base.spec import Spec
from topodesign.catalog.ranking import rank
from topodesign.pricing.all_to_all import all_to_all
from topodesign.schedulers.box_ways import strides_of
from topodesign.topology.library import TopologyLike, as_topology, build
from topodesign.topology.topology import Topology

_MOST_SPARE = 40  # choices of strides for ports that are left over when every box has a cable to every other


class Graph(NamedTuple):
    """A graph of boxes with the bounds of its factor of all-to-all."""

    topology: Topology
    spec: str
    lower: Fraction
    upper: Fraction
    used: Fraction  # part of the ports that were asked for

    @property
    def factor(self) -> Fraction:
        """The upper bound with the ports that it leaves free."""
        return self.upper / self.used


def graphs_of(boxes: int, ports: int, *, duplex: bool, own: Iterable[TopologyLike] = ()) -> list[Graph]:
    """Return graphs of so many boxes and ports, those of the fastest all-to-all first."""
    found: dict[str, Graph] = {}
    try:
        ranked = rank(boxes, ports, sizes="1GiB", bidirectional=duplex)
        for one in (*ranked.entries, *ranked.beaten):
            text = str(one.spec)
            if text not in found:
                topology = build(one.spec)
                bounds = one.all_to_all.lower, one.all_to_all.upper
                found[text] = Graph(topology, text, *bounds, Fraction(topology.degree, ports))
    except InfeasibleError:
        if boxes < 2:
            raise
    for number, given in enumerate((*own, *_strides(boxes, ports, duplex=duplex)), 1):
        topology = as_topology(given)
        name = str(topology.spec or f"candidate {number}")
        if name in found or (duplex and not topology.is_duplex):
            continue
        price = all_to_all(topology, effort="quick")
        if price.upper is not None:
            found[name] = Graph(topology, name, price.lower, price.upper, Fraction(topology.degree, ports))
    return sorted(found.values(), key=lambda one: (one.factor, len(one.spec)))


def _strides(boxes: int, ports: int, *, duplex: bool) -> Iterator[str]:
    """Yield boxes whose NIC i sends to the box ``a_i`` further on: to all others as often, or where ways are short."""
    times, spare = divmod(ports, boxes - 1)
    every = list(range(1, boxes)) * times
    if not times:
        if duplex and ports % 2:
            return
        strides = strides_of(boxes, ports, duplex=duplex)
        halves = [one for one in strides if 2 * one < boxes]
        paired = strides == sorted([*halves, *(boxes - one for one in halves)])
        yield str(Spec("circulant", (boxes, *halves)) if paired else Spec("dicirculant", (boxes, *strides)))
        return
    for more in itertools.islice(itertools.combinations(range(1, boxes), spare), _MOST_SPARE):
        yield str(Spec("dicirculant", (boxes, *sorted([*every, *more]))))
