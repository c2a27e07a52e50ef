"""Process-group layout: on which node each rank goes, so that the groups of a training run sit well on a topology.

What counts is the exact price of the groups' traffic (:func:`topodesign.price_groups`). It takes a
linear program, so that a cheaper figure steers the search: the way that all data of the groups goes at least, in links.
Swaps of two ranks lower it from several beginnings, the order of the nodes among them; the layouts where no swap helps
any more are priced exactly, and the best is taken, the order of the nodes if none is better.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arguments import as_choice, as_integer, as_seed
from topodesign.base.atomic import write_whole
from topodesign.base.claims import Among, Claim, Of, Proof
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.records import Result
from topodesign.base.tables import write_csv
from topodesign.base.units import format_size
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.groups import as_groups
from topodesign.fabrics.part import Others
from topodesign.fabrics.places import PlaceLike, as_fabric
from topodesign.fabrics.traffic import Stream, Traffic, as_streams
from topodesign.optima.group_price import bandwidth_of
from topodesign.pricing.closed_form import distances
from topodesign.pricing.flows.flow_optimum import FLOWS
from topodesign.topology.topology import IntArray


@dataclass(frozen=True, slots=True)
class PlacedStream(Declared):
    """What was asked for, and what it has."""

    stream: Stream  # the traffic
    before: Fraction | None  # bandwidth factor with ranks in order; None if impossible
    after: Fraction  # bandwidth factor of the layout

    KEYS = (
        key("group=stream.group", "The groups."),
        key("collective=stream.collective.name", "What they do."),
        key("size_bytes=float(stream.size)", "Data of a group, in bytes."),
        "bandwidth_before=before bandwidth=after",
    )


@dataclass(frozen=True, repr=False)
class Layout(Result):
    """On which node each rank goes.

    * ``before``, ``after``: bandwidth factors of each sort of traffic with the ranks in the order of the nodes, and
      with this layout; None where members of a group cannot reach each other.
    """

    place: Fabric  # where
    streams: tuple[Stream, ...]  # the traffic that it is for
    nodes: tuple[int, ...]  # the node of each rank, by number
    before: tuple[Fraction, ...] | None
    after: tuple[Fraction, ...]
    priced: int  # how many layouts were priced exactly

    KEYS = (
        key("place=place.name", "What it is called."),
        "traffic",
        key("gain=float(gain)", "Time with the ranks in order over that of the layout; null if it cannot go so."),
        key("layouts_priced=priced", "Layouts whose exact price was worked out."),
        "claims placement",
    )

    @property
    def traffic(self) -> list[PlacedStream]:
        """What was asked for, and what it has."""
        before = self.before or (None,) * len(self.streams)
        return list(map(PlacedStream, self.streams, before, self.after))

    @property
    def placement(self) -> list[str]:
        """The node of each rank."""
        return [self.place.names[node] for node in self.nodes]

    @property
    def gain(self) -> Fraction | None:
        """How many times as long the traffic takes by bandwidth in the order of the nodes; None if it cannot go so."""
        if self.before is None:
            return None
        now = _total(self.streams, self.after)
        return _total(self.streams, self.before) / now if now else Fraction(1)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What is said of the mean bandwidth factor of all data."""
        mean = _total(self.streams, self.after) / sum((one.size for one in self.streams), Fraction(0))
        return (Claim(Of.FACTOR, mean, Among.LAYOUTS, Proof.LISTED, mean, f"{self.priced} were priced"),)

    def to_records(self) -> list[dict[str, object]]:
        """Return a row for every rank."""
        return [{"rank": rank, "node": name} for rank, name in enumerate(self.placement)]

    def heading(self) -> str:
        """Return the gain."""
        gain = self.gain
        if gain is None:
            return "in the order of the nodes members of a group cannot reach each other; with this layout they can"
        own = self.nodes == tuple(self.place.compute)
        words = "the order of the nodes" if own else f"{float(gain):.4g} times as fast as in the order of the nodes"
        return f"{words}; {self.claims[0]}"

    def __str__(self) -> str:
        lines = [self.heading()]
        for one in self.traffic:
            was, stream = "" if one.before is None else f"{one.before} -> ", one.stream
            lines.append(f"  {stream.collective} {format_size(stream.size)} in {stream.group}: y = {was}{one.after}")
        return "\n".join(lines)

    def save(self, path: str | Path) -> Path:
        """Write the placement as ``--placement`` takes it, a .csv file with the columns rank,node."""
        target = Path(path)
        write_whole(target, write_csv([["rank", "node"], *map(list, enumerate(self.placement))]))
        return target


def layout(
    place: PlaceLike, traffic: Traffic | Iterable[Traffic], *, others: Others = "forward", seed: int = 0, tries: int = 8
) -> Layout:
    """Place the ranks of a training run on nodes so that its groups sit well.

    Parameters
    ----------
    place
        A topology or a fabric, the spec of one, a file, or a networkx graph.
    traffic
        Sorts of traffic, one after the other in time: text such as ``4x4:0=allreduce@1GiB`` (an allreduce of 1 GiB in
        each group along axis 0 of 4 x 4 ranks; ``allreduce`` and 1 MiB if nothing is said), or tuples of these three.
    others
        Whether nodes outside a group ``forward`` its data or ``vanish``.
    seed
        Settles what is drawn by chance.
    tries
        Layouts that are priced exactly, at most, beside the order of the nodes.

    Returns
    -------
    Layout
        Never dearer than the ranks in the order of the nodes.

    Raises
    ------
    ParameterError
        If traffic cannot be read, has roots, or does not fit the number of nodes.
    InfeasibleError
        If in no layout that was tried the members of all groups can reach each other.
    TooLargeError
        If there are too many groups and links for exact prices.

    Examples
    --------
    >>> found = layout("torus(4,4)", "8x2:1=allgather")
    >>> print(found)
    2 times as fast as in the order of the nodes; proven: no layout of those that were priced has a smaller y ...
      allgather 1MiB in 8x2:1: y = 2 -> 1
    """
    fabric = as_fabric(place)
    as_choice("others", others, ("vanish", "forward"))
    seed, tries = as_seed(seed), as_integer("tries", tries, 0, 10**4)
    streams = tuple(map(_along_axes, as_streams(traffic)))
    if of_blocks := [str(one.collective) for one in streams if one.collective.like(*FLOWS)]:
        fabric.check_unshared(f"the price of {of_blocks[0]} in groups")
    own = tuple(fabric.compute)
    for stream in streams:
        stream.collective.within(as_groups(fabric, stream.group))
    before = _price(fabric, streams, own, others)
    best, least, priced = own, before, 1
    for candidate in _candidates(fabric, streams, seed, tries):
        if candidate == own:
            continue
        price = _price(fabric, streams, candidate, others)
        priced += 1
        if price is not None and (least is None or _total(streams, price) < _total(streams, least)):
            best, least = candidate, price
    if least is None:
        raise InfeasibleError(
            f"in none of {priced} layouts the members of all groups reach each other over their own links; "
            "try --others forward"
        )
    return Layout(fabric, streams, best, before, least, priced)


def _along_axes(stream: Stream) -> Stream:
    """Return a sort of traffic that a layout knows how to price."""
    if ":" not in stream.group:
        raise ParameterError(f"traffic {stream.group[:100]!r}: say the groups by a shape and axes, such as 4x4:0")
    if stream.collective.rooted:
        raise ParameterError(f"{stream.collective} has a root, which a layout does not know; use one without")
    if stream.begin:
        raise ParameterError("a layout prices one sort of traffic after the other; leave out when it begins")
    return stream


def _total(streams: tuple[Stream, ...], factors: tuple[Fraction, ...]) -> Fraction:
    """Return the bandwidth factors times the sizes."""
    return sum((s.size * y for s, y in zip(streams, factors, strict=True)), Fraction(0))


def _price(
    fabric: Fabric, streams: tuple[Stream, ...], nodes: tuple[int, ...], others: Others
) -> tuple[Fraction, ...] | None:
    """Return the exact price of every sort of traffic; None if members of a group cannot reach each other."""
    try:
        return tuple(
            bandwidth_of(fabric, one.collective.within(as_groups(fabric, one.group, nodes)), others) for one in streams
        )
    except InfeasibleError:
        return None


def _candidates(fabric: Fabric, streams: tuple[Stream, ...], seed: int, tries: int) -> list[tuple[int, ...]]:
    """Return layouts where no swap shortens the ways any more, shortest first."""
    own = np.array(fabric.compute, dtype=np.int64)
    count = len(own)
    distance = np.array([distances(fabric.topology, node)[own] for node in own.tolist()])
    distance[distance < 0] = 4 * fabric.topology.nodes  # more than any way
    flow = np.zeros((count, count), dtype=np.float64)
    place = {node: at for at, node in enumerate(own.tolist())}
    for stream in streams:
        for group in as_groups(fabric, stream.group):
            ranks = np.array([place[node] for node in group])
            flow[np.ix_(ranks, ranks)] += float(stream.size) / len(group)
    np.fill_diagonal(flow, 0)
    random = np.random.default_rng(seed)
    begins = [np.arange(count), *_orders(streams, count), *(random.permutation(count) for _ in range(2 * tries))]
    found: dict[tuple[int, ...], float] = {}
    for begin in begins:
        order, ways = _lowered(begin.copy(), flow, distance)
        found.setdefault(tuple(own[order].tolist()), ways)
    for begin in begins[: 1 + len(_orders(streams, count))]:
        found.setdefault(tuple(own[begin].tolist()), float((flow * distance[np.ix_(begin, begin)]).sum()))
    return sorted(found, key=lambda nodes: (found[nodes], nodes))[:tries]


def _orders(streams: tuple[Stream, ...], count: int) -> list[IntArray]:
    """Return the orders in which the axes of a shape take turns in another order; at most 24 of them."""
    shape = [int(size) for size in streams[0].group.partition(":")[0].split("x")]
    ranks = np.arange(count).reshape(shape[::-1])
    some = itertools.islice(itertools.permutations(range(len(shape))), 1, 24)
    return [np.argsort(ranks.transpose(axes).ravel()) for axes in some]


def _lowered(order: IntArray, flow: NDArray[np.float64], distance: IntArray) -> tuple[IntArray, float]:
    """Swap ranks as long as that shortens the ways, the best swap first; return the order and its ways."""
    there = distance + distance.T
    both = flow
    for _ in range(20 * len(order)):
        near = there[np.ix_(order, order)].astype(np.float64)
        cost = both @ near  # cost[i, j]: what rank i's traffic would take from rank j's node
        own = np.diag(cost)
        change = cost + cost.T - own[:, None] - own[None, :] + 2 * both * near
        at = int(np.argmin(change))
        if change.flat[at] >= -1e-9 * max(1.0, float(np.abs(own).max())):
            break
        i, j = divmod(at, len(order))
        order[i], order[j] = order[j], order[i]
    return order, float((flow * distance[np.ix_(order, order)]).sum())
