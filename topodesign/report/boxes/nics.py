"""Which NIC has which cable, where the inside of a box is narrow: exchanges that make all-to-all faster."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import NamedTuple

from topodesign.fabrics.boxes import Box, exchange
from topodesign.optima.boxes import ANY_ORDER, BoxRates, box_rates
from topodesign.topology.topology import Topology

_FAILED = 24  # exchanges of all boxes in a row that are no faster, after which the search ends


class Numbered(NamedTuple):
    """Numbers of a spec that say which NIC has which cable, and what boxes reach so."""

    shift: int
    swaps: tuple[int, ...]
    rates: BoxRates
    tried: int  # numberings that were priced


def number_nics(box: Box, graph: Topology, split: int, start: BoxRates, *, duplex: bool, seed: int) -> Numbered:
    """Return the best numbering that was found, first by shifting all receiving ends, then by exchanges in all boxes.

    Every box does the same, so that what repeats in the graph still does, and the flow of each is soon known.
    """
    best = Numbered(0, (), start, 1)
    if start.inside == ANY_ORDER or start.least is None:
        return best
    tried, ports = 1, len(box.nics) * split
    degree = int(graph.degree)
    for shift in range(1, 1 if duplex else degree):
        rates = box_rates(box, graph, split, shift)
        tried += 1
        if rates.least is not None and rates.least > (best.rates.least or 0):
            best = Numbered(shift, (), rates, tried)
    draw, failed = random.Random(seed), 0  # noqa: S311  no secret
    paired = graph.is_duplex and best.shift == 0
    while failed < _FAILED and tried < 8 * _FAILED:
        i, j = draw.sample(range(ports), 2)
        swaps = (*best.swaps, exchange(graph, ports, 0 if paired else draw.randrange(2), None, (min(i, j), max(i, j))))
        rates = box_rates(box, graph, split, best.shift, swaps)
        tried, failed = tried + 1, failed + 1
        if rates.least is not None and rates.least > (best.rates.least or 0):
            best, failed = Numbered(best.shift, swaps, rates, tried), 0
    return best._replace(tried=tried, rates=replace(best.rates))
