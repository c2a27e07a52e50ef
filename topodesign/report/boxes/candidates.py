"""Graphs of boxes from the catalog, families and strides, by all-to-all."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from topodesign.base.cost import moore_distances
from topodesign.base.errors import ParameterError, TopodesignError
from topodesign.base.spec import Spec
from topodesign.catalog.lookup import as_catalog
from topodesign.fabrics.boxes import Box, exchange
from topodesign.fabrics.places import as_topology
from topodesign.finder import sources
from topodesign.finder.candidate import Candidate
from topodesign.finder.find import POOR
from topodesign.finder.question import Objective, Question, check_question
from topodesign.optima.boxes import ANY_ORDER, BoxRates, box_rates
from topodesign.pricing.closed_form import distances
from topodesign.schedulers.box_ways import strides_of
from topodesign.schedulers.price import price_all_to_all
from topodesign.topology.library import TopologyLike
from topodesign.topology.topology import Topology

_MAX_SPARE = 40  # choices of strides for ports that are left over when every box has a cable to every other


class Graph(NamedTuple):
    """Graph of boxes with bounds on its all-to-all factor."""

    topology: Topology
    spec: str
    lower: Fraction
    upper: Fraction
    used: Fraction  # part of the ports that were asked for

    @property
    def factor(self) -> Fraction:
        """Upper bound on the factor, including ports left free."""
        return self.upper / self.used

    @property
    def diameter(self) -> int:
        """Maximum number of cables between two boxes."""
        return max(int(distances(self.topology, box).max()) for box in range(self.topology.nodes))


def graphs_of(boxes: int, ports: int, *, duplex: bool, own: Iterable[TopologyLike] = ()) -> list[Graph]:
    """Return graphs of boxes of a given size, the fastest all-to-all first."""
    found: dict[str, Graph] = {}

    def add(one: Candidate) -> None:
        if one.spec not in found and (one.topology.is_duplex or not duplex):
            known = one.all_to_all or price_all_to_all(one.topology)
            if known.upper is not None:
                used = Fraction(one.topology.degree, ports)
                found[one.spec] = Graph(one.topology, one.spec, known.lower, known.upper, used)

    def add_known(some: Iterable[Candidate]) -> None:
        for one in some:
            with contextlib.suppress(TopodesignError):  # a member that is not connected, or refuses this size after all
                add(one)

    check_question(boxes, ports, bidirectional=duplex)
    asked = Question(boxes, ports, duplex, Objective.read("all-to-all"), as_catalog(True))
    add_known(sources.find_known(asked))
    if not found:
        add_known(map(sources.from_found, sources.search(asked, ())))
    least = moore_distances(boxes, ports, duplex=duplex)
    if all(one.upper > POOR * least for one in found.values()):
        add_known(sources.search_for_all_to_all(asked))
    for number, given in enumerate((*own, *_strides(boxes, ports, duplex=duplex)), 1):
        topology = as_topology(given)
        if topology.nodes != boxes or topology.degree > ports:
            size = f"{topology.nodes} nodes of degree {topology.degree}"
            raise ParameterError(f"{topology.spec or given} has {size}, and not {boxes} of {ports} or fewer")
        add(Candidate(str(topology.spec or f"candidate {number}"), "own", topology))
    return sorted(found.values(), key=lambda one: (one.factor, len(one.spec)))


def _strides(boxes: int, ports: int, *, duplex: bool) -> Iterator[str]:
    """Yield circulant specs whose NIC i sends to the box ``a_i`` on."""
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
    for more in itertools.islice(itertools.combinations(range(1, boxes), spare), _MAX_SPARE):
        yield str(Spec("dicirculant", (boxes, *sorted([*every, *more]))))


_FAILED = 24  # exchanges of all boxes in a row that are no faster, after which the search ends


class NicNumbering(NamedTuple):
    """NIC numbering of a spec, with the rates it reaches."""

    shift: int
    swaps: tuple[int, ...]
    rates: BoxRates
    tried: int  # numberings that were priced


def number_nics(box: Box, graph: Topology, split: int, start: BoxRates, *, duplex: bool, seed: int) -> NicNumbering:
    """Search for the best NIC numbering by shifts, then exchanges.

    Shifts move all receiving ends.

    Every box does the same, so that what repeats in the graph still does, and the flow of each is soon known.
    """
    best = NicNumbering(0, (), start, 1)
    if start.inside == ANY_ORDER or start.least is None:
        return best
    tried, ports = 1, len(box.nics) * split
    degree = int(graph.degree)
    for shift in range(1, 1 if duplex else degree):
        rates = box_rates(box, graph, split, shift)
        tried += 1
        if rates.least is not None and rates.least > (best.rates.least or 0):
            best = NicNumbering(shift, (), rates, tried)
    draw, failed = random.Random(seed), 0  # noqa: S311  no secret
    paired = graph.is_duplex and best.shift == 0
    while failed < _FAILED and tried < 8 * _FAILED:
        i, j = draw.sample(range(ports), 2)
        swaps = (*best.swaps, exchange(graph, ports, 0 if paired else draw.randrange(2), None, (min(i, j), max(i, j))))
        rates = box_rates(box, graph, split, best.shift, swaps)
        tried, failed = tried + 1, failed + 1
        if rates.least is not None and rates.least > (best.rates.least or 0):
            best, failed = NicNumbering(best.shift, swaps, rates, tried), 0
    return best._replace(tried=tried, rates=replace(best.rates))
