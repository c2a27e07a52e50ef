"""Link checks: existence, capacity and cost, exact.

``steps``
    y = (d/n) * sum over steps of the largest units / (units of a block * capacity) of a link. Efficient Direct-Connect
    Topologies, section 2.1 (definition of T_B).
``chunks``
    No link carries more than its capacity in a movement, or in all together where they are concurrent: the weights over
    it times the rate. All pieces of a movement take the same time, M bytes the sum of that of all movements.
``clock``
    No two messages have one link at a time, and none is faster than its link.

What the images of a fold carry is added up by orbits of links: if no permutation of the group but the identity leaves a
node where it is, every link of an orbit carries what all of them carry of the rows themselves. Otherwise the images are
made one node after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import TooLargeError
from topodesign.base.units import exact_rate, format_factor, format_rate, format_size, format_time
from topodesign.base.wording import count_noun
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.flow import Circuits, Clock, Column, Flow, Routes
from topodesign.plans.verify.data import group_of_pieces
from topodesign.plans.verify.data_kernels import SHOWN, find_heights
from topodesign.plans.verify.verdict import ChunksFound, StepsFound, TreesFound, Words, describe_marked, list_examples
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology

MAX_LOADS = 2**27  # links times steps whose loads are held at a time: 1 GiB
_DENSE = 2**24
_EXACT = 2**53  # up to here sums of floats are exact

Flags = NDArray[np.bool_]


class Links(NamedTuple):
    """The links that the hops of a flow go over."""

    send: IntArray  # of every hop
    link: Column  # of every hop, -1 where there is none
    capacity: IntArray  # of every link; where circuits change, of those of all phases one after the other


def find_links(flow: Flow) -> Links:
    """Return the link of every hop, by phase of circuits."""
    topology = flow.topology
    if flow.circuits is None:
        send, src, dst = flow.hops() if flow.routes is not None else (np.arange(len(flow)), flow.src, flow.dst)
        return Links(send, _link_index(topology, src, dst), topology.capacity)
    circuits = flow.circuits
    phase = np.searchsorted(circuits.begin, flow.start, side="right") - 1
    link, capacity, before = np.full(len(flow), -1, dtype=np.int64), [], 0
    for number in range(len(circuits.begin)):
        own = circuits.phase == number
        graph = Topology.from_arrays(topology.nodes, circuits.src[own], circuits.dst[own])
        rows = np.flatnonzero(phase == number)
        found = _link_index(graph, flow.src[rows], flow.dst[rows])
        link[rows] = np.where(found < 0, -1, found + before)
        capacity.append(graph.capacity)
        before += len(graph.src)
    return Links(np.arange(len(flow)), link, np.concatenate(capacity))


def _link_index(topology: Topology, src: Column, dst: Column) -> Column:
    """Return link numbers, -1 for none or self-loops.

    By a table where that is small beside what is looked up.
    """
    if topology.nodes**2 > min(len(src), _DENSE):
        link = topology.link_index(src, dst)
        link[src == dst] = -1
        return link
    table = np.full(topology.nodes**2, -1, dtype=np.int32)
    other = topology.src != topology.dst
    table[(topology.src * topology.nodes + topology.dst)[other]] = np.flatnonzero(other)
    key: IntArray = src.astype(np.int32 if topology.nodes < 2**15 else np.int64)
    key *= topology.nodes
    key += dst
    return table[key]


def check_links(flow: Flow, links: Links) -> tuple[list[str], Flags]:
    """Return faulty routes, and sends over existing links."""
    words = Words(flow)
    there = np.ones(len(flow), dtype=np.bool_)
    there[links.send[links.link < 0]] = False
    problems = []
    if flow.routes is None or flow.model == "clock":
        problems += words.sends(~there, "there is no such link", "sends without a link")
    switch = np.zeros(flow.topology.nodes, dtype=np.bool_)
    switch[list(flow.topology.switches)] = True
    if flow.model != "chunks" and flow.topology.switches:
        switched = switch[flow.src] | switch[flow.dst]
        why = "a switch takes no part" + (": it passes on what it gets, once" if flow.model == "clock" else "")
        problems += words.sends(switched, why, "sends with switches")
        there &= ~switched
    if flow.routes is not None:
        problems += _route_problems(flow, flow.routes, links, words, switch)
    if flow.circuits is not None:
        problems += _port_problems(flow)
    return problems, there


def _route_problems(flow: Flow, routes: Routes, links: Links, words: Words, switch: Flags) -> list[str]:
    """Return route faults: ends, links and weights.

    In pipelines and by the clock they pass switches alone, and vertices outside the group of what they carry.
    """
    first, last = routes.hop_start[:-1], routes.hop_start[1:] - 1
    count = len(routes.send)
    owner = np.repeat(np.arange(count), np.diff(routes.hop_start))

    def way(route: int) -> str:
        ways = words.route(routes.hop[routes.hop_start[route] : routes.hop_start[route + 1]])
        return f"{words.send(int(routes.send[route]))}: route {ways}"

    def marked(of: IntArray) -> Flags:
        marks = np.zeros(count, dtype=np.bool_)
        marks[of] = True
        return marks

    hop_owner = np.repeat(np.arange(count), np.diff(routes.hop_start) - 1)
    problems = []
    if flow.model != "clock":
        broken = marked(hop_owner[links.link < 0])
        problems += describe_marked(broken, lambda at: f"{way(at)} goes where there is no link", "such routes")
    astray = (routes.hop[first] != flow.src[routes.send]) | (routes.hop[last] != flow.dst[routes.send])
    problems += describe_marked(astray, lambda at: f"{way(at)} does not lead from one end to the other", "such routes")
    order = np.lexsort((routes.hop, owner))
    twice = (np.diff(owner[order]) == 0) & (np.diff(routes.hop[order]) == 0)
    again = marked(owner[order][1:][twice])
    problems += describe_marked(again, lambda at: f"{way(at)} meets a node twice", "such routes")
    if flow.model != "steps":
        inner = np.ones(len(routes.hop), dtype=np.bool_)
        inner[first] = inner[last] = False
        team = flow.team
        group = group_of_pieces(flow)[flow.piece[routes.send]]
        inner &= ~switch[routes.hop]
        if flow.collective.groups is not None:
            inner &= team[routes.hop] == group[owner]
        elif flow.collective.group is not None:
            inner &= team[routes.hop] >= 0
        passes = marked(owner[inner])
        problems += describe_marked(passes, lambda at: f"{way(at)} passes through a node", "such routes")
    wanted = np.ones(len(flow), dtype=np.int64) if flow.weight is None else flow.weight[flow.piece]
    carried = np.zeros(len(flow), dtype=np.int64)
    np.add.at(carried, routes.send, routes.weight)
    return problems + words.sends(
        carried != wanted,
        lambda row: f"its routes carry {carried[row]}, the piece has weight {wanted[row]}",
        "such sends",
    )


def _port_problems(flow: Flow) -> list[str]:
    """Describe ports with double, looping or one-way circuits."""
    c = cast("Circuits", flow.circuits)
    problems: list[str] = []
    for ends, word in (((c.src, c.src_port), "from"), ((c.dst, c.dst_port), "to")):
        key = np.stack((c.phase, *ends))
        _, place, count = np.unique(key, axis=1, return_inverse=True, return_counts=True)

        def words(row: int, key: IntArray = key, word: str = word) -> str:
            return f"phase {key[0, row]}: two circuits {word} port {key[2, row]} of node {key[1, row]}"

        problems += describe_marked(count[place.ravel()] > 1, words, "ports with two circuits")
    problems += describe_marked(
        c.src == c.dst,
        lambda row: f"phase {c.phase[row]}: a circuit from node {c.src[row]} to itself",
        "circuits from a node to itself",
    )
    if c.duplex:
        rows = list(zip(*(column.tolist() for column in c[6:]), c.phase.tolist(), strict=True))
        there = set(rows)
        alone = np.array([(b, q, a, p, phase) not in there for a, p, b, q, phase in rows], dtype=np.bool_)
        problems += describe_marked(
            alone,
            lambda row: f"phase {c.phase[row]}: no circuit back from node {c.dst[row]} to node {c.src[row]}",
            "circuits without one back",
        )
    return problems


# -- steps ------------------------------------------------------------------------------------------------------------


def cost_steps(flow: Flow, links: Links, wasted: tuple[int, int]) -> tuple[dict[str, Fraction], StepsFound, str]:
    """Return a step flow's cost; missing links carry nothing."""
    step, at, loads = _step_loads(flow, links)
    worst: dict[int, Fraction] = {}
    for capacity in np.unique(links.capacity[at]).tolist():
        some = links.capacity[at] == capacity
        most = np.zeros(int(step.max(initial=0)) + 1, dtype=np.int64)
        np.maximum.at(most, step[some], loads[some])
        for number in np.flatnonzero(most).tolist():
            worst[number] = max(worst.get(number, Fraction(0)), Fraction(int(most[number]), capacity))
    total = sum(worst.values(), Fraction(0))
    ports = flow.topology.degree if flow.circuits is None else flow.circuits.ports
    factor = ports * total / flow.whole_units
    hops = changes = None
    text = f"{flow.steps} steps"
    figures = {"steps": Fraction(flow.steps)}
    if flow.routes is not None:
        longest = np.zeros(int(flow.end.max(initial=0)), dtype=np.int64)
        np.maximum.at(longest, flow.start[flow.routes.send], np.diff(flow.routes.hop_start) - 1)
        hops = int(longest.sum())
        figures["hops"] = Fraction(hops)
        text += f" over {count_noun(hops, 'link')}"
    figures["bandwidth"] = factor
    text += f", {format_factor(factor)}"
    if flow.circuits is not None:
        changes = len(flow.circuits.begin) - 1
        figures["changes"] = Fraction(changes)
        text += f", {changes} changes"
    return figures, StepsFound(flow.steps, factor, hops, changes, *wasted), text


def _step_loads(flow: Flow, links: Links) -> tuple[IntArray, IntArray, IntArray]:
    """Return the steps, links and units of loaded links."""
    count = len(links.capacity)
    widths = flow.of_sends(flow.hi) - flow.of_sends(flow.lo)
    share = flow.share_of(flow.of_sends(flow.block))
    if flow.collective.groups is not None:
        widths = widths * share
    largest = flow.units * int(share.max(initial=1)) * max(1, len(flow))
    if largest * (flow.topology.nodes if flow.fold is not None else 1) >= 2**63:
        raise TooLargeError(f"{flow.units} units per shard are too many for {len(flow)} sends; use fewer units")
    used, last = links.link >= 0, int(flow.end.max(initial=0))
    whole = bool(used.all()) and flow.routes is None
    send = links.send if not whole else slice(None)
    link = links.link
    if not used.all():
        send, link = links.send[used], link[used]
    step, width = flow.start[send], widths[send]
    if flow.fold is not None:
        if last * count > MAX_LOADS:
            raise TooLargeError(f"the loads of {count} links in {last} steps are too many to hold")
        if flow.fold.is_free:
            link = flow.fold.link_orbits(flow.topology)[link]
        else:
            return _image_loads(flow, step.astype(np.int64), link, width)
    if last * count <= max(_DENSE, len(link)) and largest < _EXACT:
        key = step.astype(np.int64)
        key *= count
        key += link
        dense = np.bincount(key, width, last * count).astype(np.int64)
        found = np.flatnonzero(dense)
        return *np.divmod(found, max(1, count)), dense[found]
    return _sum_loads(step.astype(np.int64), link, width, count)


def _sum_loads(step: IntArray, link: Column, width: IntArray, count: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return different steps and links, and the sums of widths there."""
    key, place = np.unique(step * count + link, return_inverse=True)
    sums = np.zeros(len(key), dtype=np.int64)
    np.add.at(sums, place, width)
    return *np.divmod(key, max(1, count)), sums


def _image_loads(flow: Flow, step: IntArray, link: Column, width: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return those of all images of the sends."""
    topology, fold = flow.topology, cast("Symmetry", flow.fold)
    loads = np.zeros((int(flow.end.max(initial=0)), len(topology.src)), dtype=np.int64)
    send = np.flatnonzero(_link_index(topology, flow.src, flow.dst) >= 0)
    owner = flow.collective.owners(flow.block[flow.piece[send]], topology.nodes)
    for representative in np.unique(owner).tolist():
        mine = owner == representative
        steps, at, sums = _sum_loads(step[mine], link[mine], width[mine], len(topology.src))
        src, dst = topology.src[at], topology.dst[at]
        for _, permutation in fold.transversals(representative):
            loads[steps, topology.link_index(permutation[src], permutation[dst])] += sums
    step, at = np.nonzero(loads)
    return step, at, loads[step, at]


# -- chunks -----------------------------------------------------------------------------------------------------------


class ChunksRate(NamedTuple):
    """How fast pipelines are."""

    problems: list[str]
    time: Fraction | None  # of one byte of all data at one byte per second of a unit of capacity; None without pieces
    fullest: Fraction  # largest part of its capacity that a link gives
    images: int  # pieces that each stands for


def rate_chunks(flow: Flow, links: Links) -> ChunksRate:
    """Check capacities and limits; return the pipelines' pace."""
    words, parts = Words(flow), len(flow.movements)
    weight = cast("IntArray", flow.weight)
    loads = np.zeros((parts, len(links.capacity)), dtype=np.int64)
    used = links.link >= 0
    carried = weight[flow.piece]
    if flow.routes is not None:
        carried = np.repeat(flow.routes.weight, np.diff(flow.routes.hop_start) - 1)
    largest = int(weight.max(initial=1)) * max(1, len(links.link))
    if largest >= 2**62:
        raise TooLargeError("the weights of the pieces are too large to be added up")
    np.add.at(loads, (flow.part[links.send[used]], links.link[used]), carried[used])
    images = 1
    problems = []
    if flow.fold is not None:
        order = flow.fold.free_order(flow.members)
        if order is None:
            return ChunksRate(
                ["the symmetry leaves compute nodes where they are, so that pieces have several images there"],
                None,
                Fraction(0),
                1,
            )
        images = order
        first = flow.fold.link_orbits(flow.topology)
        sums = np.zeros_like(loads)
        np.add.at(sums.T, first, loads.T)
        if int(sums.max(initial=0)) * images >= 2**63:
            raise TooLargeError(f"the weights of trees with {images} images each are too large")
        loads = (sums * (images // np.bincount(first, minlength=len(first)).clip(1)))[:, first]
    if flow.concurrent:
        loads = loads.sum(axis=0, keepdims=True)
    pairs = sorted(set(zip(loads.max(axis=0, initial=0).tolist(), links.capacity.tolist(), strict=True)))
    full = max((Fraction(load, capacity) for load, capacity in pairs), default=Fraction(0))
    full = max([full, *(most / room for _, most, room in _limit_loads(flow, loads))])
    rate = flow.rate if flow.rate is not None else (1 / full if full else Fraction(1))
    names = (
        ["in-trees and out-trees together"]
        if flow.concurrent
        else [["in-trees", "out-trees"][not one.adds] for one in flow.movements]
    )
    for load, name in zip(loads, names, strict=True):
        if int(load.max(initial=0)) * int(links.capacity.max(initial=1)) * rate.numerator * rate.denominator < 2**62:
            over = load * rate.numerator > links.capacity * rate.denominator
        else:
            both = zip(load.tolist(), links.capacity.tolist(), strict=True)
            over = np.array([one * rate > capacity for one, capacity in both], dtype=np.bool_)

        def describe(link: int, load: IntArray = load, name: str = name) -> str:
            ends = f"{words.node(int(flow.topology.src[link]))} -> {words.node(int(flow.topology.dst[link]))}"
            return f"link {ends} of capacity {links.capacity[link]} carries {int(load[link]) * rate} of the {name}"

        problems += describe_marked(over, describe, "overloaded links")
    if isinstance(flow.place, Fabric):
        problems += [
            f"the links of the shared limit '{name}' carry {exact_rate(most * rate * flow.place.unit)} together, more "
            f"than its {exact_rate(room * flow.place.unit)}"
            for name, most, room in _limit_loads(flow, loads)
            if most * rate > room
        ][:SHOWN]
    times, more = _piece_times(flow, words)
    time = None if not times else max(times) if flow.concurrent else sum(times, Fraction(0))
    time = None if time is None else time / (rate * flow.whole_units)
    link_full = max((Fraction(load, capacity) for load, capacity in pairs), default=Fraction(0)) * rate
    return ChunksRate(problems + more, time, link_full, images)


def _limit_loads(flow: Flow, loads: IntArray) -> list[tuple[str, Fraction, Fraction]]:
    """Return each limit's name, weight and capacity."""
    if not isinstance(flow.place, Fabric):
        return []
    pairs = zip(flow.place.shared, flow.place.shared_links, strict=True)
    return [
        (
            limit.name,
            Fraction(max(sum(load[list(links)].tolist()) for load in loads)),
            limit.bandwidth / flow.place.unit,
        )
        for limit, links in pairs
    ]


def _piece_times(flow: Flow, words: Words) -> tuple[list[Fraction], list[str]]:
    """Return the common units per weight of each movement."""
    weights = cast("IntArray", flow.weight)
    part = np.full(len(flow.block), -1, dtype=np.int64)
    part[flow.piece] = flow.part
    idle = np.flatnonzero(part < 0)
    problems = [f"piece {idle[0]} is never sent"] if len(idle) else []
    units = (flow.hi - flow.lo) * (flow.share_of(flow.block) if flow.sizes is None else 1)
    times = []
    for number in range(len(flow.movements)):
        mine = np.flatnonzero(part == number)
        if not len(mine):
            continue
        first = mine[0]
        long, wide = int(units[first]), int(weights[first])
        if max(int(units[mine].max()), 1) * max(int(weights[mine].max()), 1) < 2**62:
            other = units[mine] * wide != weights[mine] * long
        else:
            pairs = zip(units[mine].tolist(), weights[mine].tolist(), strict=True)
            other = np.array([one * wide != weight * long for one, weight in pairs], dtype=np.bool_)
        if other.any():
            at = int(mine[int(np.argmax(other))])
            problems.append(
                f"piece {at} of {words.block(int(flow.block[at]))} takes another time than piece {first}: its weight "
                "is not the share of its data"
            )
        times.append(Fraction(long, wide))
    return times, problems


def cost_chunks(flow: Flow, rate: ChunksRate) -> tuple[dict[str, Fraction], ChunksFound | TreesFound, str]:
    """Return what right pipelines reach."""
    unit = cast("Fabric", flow.place).unit
    bandwidth = unit / cast("Fraction", rate.time)
    owners = flow.collective.shards(len(flow.members))
    height = Fraction(find_height(flow))
    figures = {"height": height, "inv_x_star": owners / bandwidth, "algorithmic_bandwidth": bandwidth}
    count = len(flow.block) * rate.images
    if flow.rate is None:
        found = ChunksFound(None, count, None, *figures.values())
        return figures, found, f"{count} paths of height {height}, {format_rate(bandwidth)}"
    part = np.zeros(len(flow.block), dtype=np.int64)
    part[flow.piece] = flow.part
    groups = sum(len(one) > 1 for one in flow.collective.groups or ()) or 1
    weights = np.zeros(len(flow.movements), dtype=np.int64)
    np.add.at(weights, part, cast("IntArray", flow.weight))
    shards = Fraction(owners)
    if flow.sizes is not None and not flow.free:
        shards = flow.whole_units / flow.units
    k = Fraction(rate.images * int(weights.max()) // groups) / shards
    trees = TreesFound(count, k, *figures.values())
    inverse = shards * unit / bandwidth
    return {"k": k, **figures}, trees, f"{count} trees of height {height}, 1/x = {inverse}"


def find_height(flow: Flow) -> int:
    """Return the longest way, added over movements.

    Where movements are concurrent only pieces of the same block follow one another. What a vertex sends that takes no
    part in it counts with what it has received.
    """
    group = group_of_pieces(flow)
    src = flow.src.astype(np.int64)
    counts = flow.team[src] == group[flow.piece]
    if flow.rate is None:  # on paths every node that is no switch stores
        switch = np.zeros(flow.topology.nodes, dtype=np.bool_)
        switch[list(flow.topology.switches)] = True
        counts = ~switch[src]
    order = np.lexsort((flow.start, flow.piece))
    first = np.searchsorted(flow.piece[order], np.arange(len(flow.block) + 1))
    heights = find_heights(
        first.astype(np.int64),
        src[order],
        flow.dst[order].astype(np.int64),
        np.ascontiguousarray(counts[order]),
        flow.topology.nodes,
    )
    part = np.zeros(len(flow.block), dtype=np.int64)
    part[flow.piece] = flow.part
    if flow.concurrent:
        highest = np.zeros((len(flow.movements), flow.topology.nodes), dtype=np.int64)
        np.maximum.at(highest, (part, flow.block), heights)
        return int(highest.sum(axis=0).max(initial=0))
    highest = np.zeros((len(flow.movements), int(group.max(initial=0)) + 1), dtype=np.int64)
    np.maximum.at(highest, (part, group), heights)
    return int(highest.sum(axis=0).max(initial=0))


# -- clock ------------------------------------------------------------------------------------------------------------


class Messages(NamedTuple):
    """Sends over one link with equal start and end."""

    link: Column
    start: IntArray
    end: IntArray
    free: IntArray  # when the link is free again
    send: IntArray  # a send of each


def check_clock(flow: Flow, links: Links) -> tuple[list[str], Messages]:
    """Return what is wrong with times on links, and the messages."""
    clock, words = cast("Clock", flow.clock), Words(flow)
    problems = _bandwidth_problems(flow)
    start, end = (column.astype(np.int64) for column in (flow.start, flow.end))
    if flow.routes is None:
        hop_start, hop_end, piece = start, end, flow.piece
    else:
        hop_start, hop_end = cast("IntArray", flow.routes.start), cast("IntArray", flow.routes.end)
        piece = flow.piece[links.send]
        problems += _switch_problems(flow, links, words)
    late = flow.start < clock.begin
    problems += words.sends(late, f"its collective begins at tick {clock.begin}", "sends too early")
    rows = np.flatnonzero(links.link >= 0)
    if flow.routes is not None and len(rows):  # what a switch copies later is one message before
        own = np.where(_ends_route(flow)[rows], links.send[rows], -1)  # what has left the last switch is none
        key = np.stack((links.link[rows], hop_start[rows], hop_end[rows], piece[rows].astype(np.int64), own))
        rows = rows[np.unique(key, axis=1, return_index=True)[1]]
    order = rows[np.lexsort((hop_end[rows], hop_start[rows], links.link[rows]))]
    new = np.zeros(len(order), dtype=np.bool_)
    for column in (links.link, hop_start, hop_end):
        new |= np.diff(column[order], prepend=-2) != 0
    begin = np.flatnonzero(new)
    width = (flow.hi - flow.lo)[piece[order]]
    units = np.add.reduceat(width, begin) if len(begin) else width
    head = order[begin]
    link = links.link[head]
    most = (hop_end[head] - hop_start[head] - clock.latency[link]) // clock.per_unit[link]
    many = np.add.reduceat(width.astype(np.float64), begin) >= 2.0**62 if len(begin) else begin > 0
    quick = (units > most) | many
    bad = np.zeros(len(flow), dtype=np.bool_)
    bad[links.send[order[np.repeat(quick, np.diff(np.append(begin, len(order))))]]] = True
    taken = (clock.latency[link] + clock.per_unit[link] * units).tolist()
    needs = dict(zip(links.send[head].tolist(), taken, strict=True))

    def least(row: int) -> str:
        return f"its link takes at least {needs[row]} ticks" if row in needs else "its link takes longer for all of it"

    problems += words.sends(bad, least, "sends too fast")
    free = hop_end[head] - (clock.latency[link] if clock.overlap else 0)
    messages = Messages(link, hop_start[head], hop_end[head], free, links.send[head])
    right = ~quick
    link, begins, ends, send = link[right], hop_start[head][right], free[right], links.send[head][right]
    twice = (link[1:] == link[:-1]) & (begins[1:] < ends[:-1])
    other = np.full(len(flow), -1, dtype=np.int64)
    other[send[1:][twice]] = send[:-1][twice]
    problems += words.sends(
        other >= 0, lambda row: f"its link is busy with send {other[row]} then", "sends over a busy link"
    )
    return problems, messages


def _ends_route(flow: Flow) -> Flags:
    """Return which hops are the last of their route."""
    routes = cast("Routes", flow.routes)
    last = np.zeros(len(routes.hop) - len(routes.send), dtype=np.bool_)
    last[routes.hop_start[1:] - 2 - np.arange(len(routes.send))] = True
    return last


def _switch_problems(flow: Flow, links: Links, words: Words) -> list[str]:
    """Return sends that switches cannot pass on or copy yet."""
    clock, routes = cast("Clock", flow.clock), cast("Routes", flow.routes)
    starts, ends = cast("IntArray", routes.start), cast("IntArray", routes.end)
    same = np.flatnonzero(links.send[1:] == links.send[:-1])
    before, after = same, same + 1
    known = (links.link[before] >= 0) & (links.link[after] >= 0)
    before, after = before[known], after[known]
    early = starts[after] < starts[before] + clock.latency[links.link[before]]
    early |= ends[after] < ends[before] + clock.latency[links.link[after]]
    bad = np.zeros(len(flow), dtype=np.bool_)
    bad[links.send[after[early]]] = True
    problems = words.sends(bad, "a switch passes it on before it is there", "sends too early")
    first, last = np.flatnonzero(np.diff(links.send, prepend=-1)), np.flatnonzero(np.diff(links.send, append=-1))
    bad = np.zeros(len(flow), dtype=np.bool_)
    bad[links.send[first]] = starts[first] != flow.start[links.send[first]]
    bad[links.send[last]] |= ends[last] != flow.end[links.send[last]]
    problems += words.sends(bad, "its route begins or ends at another time", "sends at other times than their routes")
    # Hops of one piece that are the same are one; if several follow it, the switch between copies.
    send, src, dst = flow.hops()
    own = np.where(_ends_route(flow), send, -1)
    columns = (flow.piece[send].astype(np.int64), src, dst, starts, ends, own)
    number = np.unique(np.stack(columns), axis=1, return_inverse=True)[1].ravel()
    pairs = np.unique(np.stack((number[before], number[after])), axis=1)
    one, count = np.unique(pairs[0], return_counts=True)
    copied = one[count > 1]
    copies = list(getattr(flow.place, "multicast", ()))
    wrong = before[np.isin(number[before], copied) & ~np.isin(dst[before], copies)]
    bad = np.zeros(len(flow), dtype=np.bool_)
    bad[send[wrong]] = True
    return problems + words.sends(
        bad, "a switch takes no part: it passes on what it gets, once", "sends that a switch copies"
    )


def _bandwidth_problems(flow: Flow) -> list[str]:
    """Return links that times assume too fast."""
    clock = cast("Clock", flow.clock)
    rate = flow.place.unit if isinstance(flow.place, Fabric) else clock.bandwidth
    if rate is None:
        return []
    words = Words(flow)
    least = clock.size / flow.whole_units / (clock.tick * rate)  # ticks of a unit at capacity one, as whole numbers:
    over, under = least.numerator, least.denominator
    speeds = zip(flow.topology.links(), clock.per_unit.tolist(), strict=True)
    quick = [(u, v) for (u, v, ports), ticks in speeds if ticks * ports * under < over]
    what = "the fabric's link" if isinstance(flow.place, Fabric) else f"{format_rate(rate)} of a port"
    said = [f"the plan takes {words.node(u)} -> {words.node(v)} for faster than {what}" for u, v in quick[:SHOWN]]
    return list_examples(said, len(quick), "such links")


def check_shared(flows: Sequence[Flow], messages: Sequence[Messages]) -> list[str]:
    """Return sends of two collectives on one link at once."""
    link, start, free = (np.concatenate([one[at] for one in messages]) for at in (0, 1, 3))
    stream = np.repeat(np.arange(len(messages)), [len(one.link) for one in messages])
    order = np.lexsort((start, link))
    before, after = order[:-1], order[1:]
    # A conflict that a third send hides is one of that with either: neighbours are enough to find whether there is one.
    twice = np.flatnonzero(
        (link[before] == link[after]) & (start[after] < free[before]) & (stream[before] != stream[after])
    )
    words, topology = Words(flows[0]), flows[0].topology
    said = []
    for at in twice[:SHOWN].tolist():
        one = link[after[at]]
        ends = f"{words.node(int(topology.src[one]))}->{words.node(int(topology.dst[one]))}"
        said.append(
            f"streams {stream[before[at]]} and {stream[after[at]]} both have the link {ends} at tick {start[after[at]]}"
        )
    return list_examples(said, len(twice), "such pairs")


def describe_clock(flow: Flow) -> tuple[Fraction, str]:
    """Return a clock flow's duration, described."""
    clock = cast("Clock", flow.clock)
    time = int(flow.end.max(initial=0)) * clock.tick
    return time, f"{len(flow)} sends of {format_size(clock.size)} in {format_time(time)}"
