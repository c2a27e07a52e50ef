"""Uneven all-to-all: its cost, and the loss of even plans."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.atomic import write_whole
from topodesign.base.claims import Claim, Of, Scope
from topodesign.base.declared import key
from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.base.records import Result, Table
from topodesign.base.units import Quantity, as_size, format_time
from topodesign.collectives import ALL_TO_ALL
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.places import PlaceLike, as_fabric, as_place
from topodesign.optima.flows import best_flow, fabric_limits, traffic_on
from topodesign.pricing.all_to_all import all_to_all
from topodesign.pricing.traffic_matrix import Demand, MatrixLike, as_demand, traffic_table
from topodesign.solve.flows.paths import path_flow
from topodesign.solve.flows.program import FEW_COLUMNS, MAX_COLUMNS, TrafficTime
from topodesign.topology.topology import IntArray, Topology


@dataclass(frozen=True, repr=False)
class UnevenPrice(Result):
    """What a matrix of traffic costs by bandwidth."""

    place: Fabric  # where
    demand: Demand  # how many pieces go from each vertex to each
    piece: Fraction  # bytes of one of these
    flow: TrafficTime  # how long they take
    even: Fraction | None  # load of the fullest link if as much went between all; None where that flow is too large
    kept: Fraction | None  # that of this traffic over the paths of the best flow for even traffic; None there

    KEYS = (
        key("place=place.name", "Where."),
        key("nodes=len(place.compute)", "How many there are."),
        "sent_bytes=number(sent) fullest seconds_exact=seconds",
        key("seconds=float(seconds)", "Seconds by bandwidth, without latencies."),
        key("bound_s=float(bound)", "Seconds that no routing goes below."),
        key("even_s=float(even_seconds)", "Seconds if all pairs had the mean; null where its flow is too large."),
        key("kept_s=float(kept_seconds)", "Seconds over paths that are best for even traffic; null there."),
        "regret",
        key("regret_float=float(regret)", "The same, rounded; null there."),
        "claims",
    )

    @property
    def sent(self) -> Fraction:
        """Bytes that leave their nodes."""
        return int(self.demand.amounts.astype(object).sum()) * self.piece

    @property
    def fullest(self) -> Fraction:
        """The fullest node's data over the mean."""
        most = max(int(self.demand.amounts.sum(axis=axis).max()) for axis in (0, 1))
        total = int(self.demand.amounts.sum())
        return Fraction(most * len(self.place.compute), total) if total else Fraction(1)

    def _seconds(self, load: Fraction) -> Fraction:
        return load * self.piece / self.place.unit

    @property
    def seconds(self) -> Fraction:
        """Seconds by bandwidth, exactly."""
        return self._seconds(self.flow.time)

    @property
    def bound(self) -> Fraction:
        """Seconds that no routing goes below."""
        return self._seconds(self.flow.bound)

    @property
    def even_seconds(self) -> Fraction | None:
        """Seconds if all pairs had the mean of the matrix."""
        return None if self.even is None else self._seconds(self.even)

    @property
    def kept_seconds(self) -> Fraction | None:
        """Seconds over the paths that are best for even traffic."""
        return None if self.kept is None else self._seconds(self.kept)

    @property
    def regret(self) -> Fraction | None:
        """The slowdown of paths made for even traffic; null if unknown."""
        if self.kept is None:
            return None
        return self.kept / self.flow.time if self.flow.time else Fraction(1)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims on the seconds among routings."""
        missed = "shifted to cheaper paths for so long"
        return (Claim.to_bound(Of.TIME, self.seconds, Scope.FLOWS, self.bound, missed=missed),)

    def save(self, path: str | Path) -> None:
        """Write the traffic as ``src,dst,amount`` (.csv), in pieces."""
        write_whole(as_path(path), traffic_table(self.place, self.demand))

    def heading(self) -> str:
        """Return the price in a sentence."""
        return f"uneven all-to-all on {self.place.name}: {format_time(self.seconds)}; {self.claims[0]}"

    def table(self) -> Table:
        """Return the price beside those of even traffic."""
        rows = [("this traffic, paths for it", format_time(self.seconds))]
        if self.kept_seconds is not None and self.even_seconds is not None and self.regret is not None:
            kept = f"this traffic, paths for even traffic ({float(self.regret):.4g} times)"
            rows += [(kept, format_time(self.kept_seconds)), ("even traffic", format_time(self.even_seconds))]
        foot = f"the busiest node sends or receives {float(self.fullest):.4g} times the mean; latencies are omitted"
        return Table(self.heading(), ("", "by bandwidth"), tuple(rows), words=frozenset(("",)), footnote=foot)


def price_uneven(
    place: PlaceLike,
    matrix: MatrixLike,
    *,
    piece: Quantity = "8KiB",
    bandwidth: Quantity | None = None,
    tokens: int | None = None,
    seed: int | None = None,
    exact: bool = False,
    progress: Callable[[float], None] | None = None,
) -> UnevenPrice:
    """Compute the cost of an all-to-all with a traffic matrix.

    Parameters
    ----------
    place
        A topology or a fabric, the spec of one, a file, or a networkx graph.
    matrix
        How many pieces go from each node to each: a matrix, a file (.csv), or a distribution that is drawn from, such
        as ``zipf:1.2`` (see :func:`topodesign.pricing.traffic_matrix.as_demand`).
    piece
        Bytes of a piece: of a token on its way to an expert.
    bandwidth
        Of a node over all its links, 100 Gbps by default; fabrics have their own.
    tokens, seed
        Of a distribution: how many each node draws (4096), and how (0).
    exact
        Whether the linear program is solved at larger sizes too, in minutes; else prices are within proven bounds.
    progress
        Called with the share that is done.

    Returns
    -------
    UnevenPrice
        With what the paths of the best flow for even traffic make of the same.

    Raises
    ------
    ParameterError
        If the matrix does not fit the nodes.
    InfeasibleError
        If some nodes cannot reach each other.
    TooLargeError
        If there are too many nodes.

    Examples
    --------
    >>> found = price_uneven("torus(3,3)", "zipf:1", tokens=90)
    >>> found.claims[0].proven, found.regret >= 1
    (True, True)
    """
    known = as_place(place)
    fabric = as_fabric(known, None if bandwidth is None or isinstance(known, Fabric) else bandwidth)
    if known is fabric:
        fabric.check_bandwidth(bandwidth)
    own = as_demand(matrix, fabric, tokens=tokens, seed=seed)
    size, demand = as_size(piece) * own.unit, own.amounts
    flow = traffic_on(fabric, demand, most=MAX_COLUMNS if exact else FEW_COLUMNS)
    if progress is not None:
        progress(0.5)
    even: Fraction | None
    kept: Fraction | None
    try:
        even, kept = _over_even_paths(known if isinstance(known, Topology) else fabric, demand)
    except TooLargeError:
        even = kept = None
    return UnevenPrice(fabric, own, size, flow, even, kept)


def _over_even_paths(place: Topology | Fabric, demand: IntArray) -> tuple[Fraction, Fraction]:
    """Return link loads over the best even paths.

    On fabrics these are the paths of the plan that ``schedule`` makes.
    """
    topology = place if isinstance(place, Topology) else place.topology
    nodes, rooms = topology.nodes - len(topology.switches), topology.capacity.tolist()
    even, paths = _even_paths(place)
    loads = [Fraction(0)] * len(rooms)
    number = {(u, v): at for at, (u, v, _) in enumerate(topology.links())}
    for source, goal, path, part in paths:
        if amount := int(demand[source, goal]):
            for pair in itertools.pairwise(path):
                loads[number[pair]] += amount * part
    kept = max(load / room for load, room in zip(loads, rooms, strict=True))
    for limit in () if isinstance(place, Topology) else fabric_limits(place):
        kept = max(kept, sum((loads[link] for link in limit.links), Fraction(0)) / limit.room)
    return Fraction(int(demand.sum()), nodes * (nodes - 1)) * even, kept


_Paths = Iterator[tuple[int, int, tuple[int, ...], Fraction]]  # source, goal, and the part of what goes there


def _even_paths(place: Topology | Fabric) -> tuple[Fraction, _Paths]:
    """Return the fullest link's load for even paths, and the paths."""
    if isinstance(place, Fabric):
        flow = best_flow(place, ALL_TO_ALL, dict.fromkeys(place.classes, Fraction(1)))
        paths, whole = flow.paths()
        return flow.time, ((source, goal, path, Fraction(part, whole)) for source, goal, path, part in paths)
    known = all_to_all(place, effort="auto").flow or all_to_all(place, effort="approximate").flow
    if known is None:
        raise InfeasibleError("no flow of even traffic was found")
    return known.upper * place.nodes / place.degree, (
        (source, goal, path, part)
        for source in range(place.nodes)
        for goal, ways in path_flow(known, source).items()
        for path, part in ways
    )
