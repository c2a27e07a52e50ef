"""Joint choice of host order, cabling and split.

Hosts with the same lanes are alike, so that which *kind* of host a node gets is what counts. With whole numbers

    x[e, f]   links of a pair of nodes on field f of panels       l[u, z]   lanes of node u cabled to zone z
    y[u, c]   whether node u gets a host of kind c

a plan exists exactly if all links are somewhere, no node has more of them on a field than lanes in its zones, in either
direction, no lane is in a zone that the host does not reach, and lanes and kinds are not more than there are; where the
cabling exists, l follows from y. Orders of many hosts are hard to search, so that the order of the inventory has the
first word. Of all such plans one is taken with the fewest links through circuit switches, and of these one whose fields
lose least light; what is left to choose does not depend on the solver (:mod:`topodesign.solve.whole`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.claims import NOT_PROVEN_NONE, PROVEN_NONE
from topodesign.base.errors import InfeasibleError
from topodesign.base.wording import join_words
from topodesign.solve.program import NO_BOUND, Entries
from topodesign.solve.whole import find_whole
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.inventory.devices import Fixed, Mode, Zone
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.cabling import assign_lanes, count_lanes, most_of_panels, reaches, usable
from topodesign.wiring.plan.decompose import unit_edges, unit_links, without_loops

_SEARCHED = 2**17  # links times fields up to which hosts that are cabled in different ways are searched for


class Choice(NamedTuple):
    """Parts of a plan: hosts, cabling and links."""

    hosts: tuple[str, ...]  # the host of each node
    fixed: tuple[Fixed, ...]  # the fixed cabling
    src: IntArray  # where the links, or one of each pair of opposite ones, begin
    dst: IntArray  # where they end
    part: IntArray  # the position of the field that each is on


def choose_together(
    topology: Topology,
    inventory: Inventory,
    mode: Mode,
    hosts: Sequence[str] | None,
    *,
    seconds: float,
    seed: int = 0,
    first: Sequence[str] | None = None,
) -> Choice:
    """Choose hosts, cabling and panel groups jointly.

    ``first`` is an order of the hosts that may do, to be tried before others.
    """
    duplex = mode == "duplex"
    src, dst = unit_edges(topology) if duplex else unit_links(without_loops(topology))
    out, into = (np.bincount(ends, minlength=topology.nodes) for ends in (src, dst))
    needed = out + into if duplex else np.maximum(out, into)
    have = _lanes(inventory, mode)
    most = {name: sum(lanes) if inventory.cabling else max(lanes, default=0) for name, lanes in have.items()}
    named = hosts or first
    first = tuple(named) if named is not None else in_order_of_need(needed, most)
    if not inventory.cabling and not any(zone.pods for zone in inventory.zones):
        count = Counter[str]()
        for zone, ports in usable(inventory, mode).items():
            count[zone.field] += len(ports)
        room = [count[field] for field in inventory.fields]
        part = _fill(room, len(src)) if duplex else spread_cycles(topology.nodes, src, dst, room, seed)
        if part is not None:
            return Choice(first, _cabling(inventory, mode, first, (src, dst, part), None), src, dst, part)
    alike = len(set(have.values())) == 1
    orders = [hosts] if hosts is not None or alike or (inventory.cabling and named is None) else [first, None]
    found = None
    for order in orders:
        kinds = list(dict.fromkeys(have[name] for name in (order or have)))
        if order is None and len(src) * len(inventory.fields) > _SEARCHED:
            continue
        program = _Program(topology.nodes, src, dst, np.array(kinds, dtype=np.int64), duplex=duplex)
        program.of_inventory(inventory, mode)
        there = Counter(have[name] for name in (order or have))
        program.hosts([there[kind] for kind in kinds], None if order is None else [have[name] for name in order])
        cost = program.cost(_field_costs(inventory, len(src)))
        found = find_whole(*program.whole(), seconds=seconds / len(orders), seed=seed, cost=cost)
        if found.values is not None:
            part, chosen = program.read(found.values)
            names = tuple(order) if order is not None else _names(have, [kinds[kind] for kind in chosen])
            lanes = None if inventory.cabling else found.values[program.lane]
            fixed = inventory.cabling or _cabling(inventory, mode, names, (src, dst, part), lanes)
            return Choice(names, fixed, src, dst, part)
    if found is None:
        words = "to search through them all takes too long; say which host is which node"
        raise InfeasibleError(f"no order of the hosts was found by exchanges ({NOT_PROVEN_NONE}); {words}")
    raise InfeasibleError(_explain_unfit(inventory, hosts, seconds, proven=found.proven))


def in_order_of_need(needed: IntArray, have: dict[str, int]) -> tuple[str, ...]:
    """Return a host with enough lanes for each node.

    The first hosts are used if they have enough lanes. Otherwise the nodes with most links get the hosts with most
    lanes.
    """
    first = tuple(have)[: len(needed)]
    if all(have[name] >= count for name, count in zip(first, needed, strict=True)):
        return first
    nodes = sorted(range(len(needed)), key=lambda node: -needed[node])
    names = sorted(have, key=lambda name: -have[name])
    order = [""] * len(needed)
    for node, name in zip(nodes, names, strict=False):
        if have[name] < needed[node]:
            many = sum(1 for count in needed if count >= needed[node])
            enough = sum(1 for count in have.values() if count >= needed[node])
            words = f"{many} nodes need {needed[node]} or more lanes, {enough} hosts have that many"
            raise InfeasibleError(f"too few ports: {words} that this plan can use")
        order[node] = name
    return tuple(order)


class _Program:
    """Integer program of the module, under construction."""

    def __init__(self, nodes: int, src: IntArray, dst: IntArray, kinds: IntArray, *, duplex: bool) -> None:
        self.nodes, self.kinds = nodes, kinds
        self.key = src * nodes + dst
        self.pair, self.count = np.unique(self.key, return_counts=True)
        ends = [self.pair // nodes, self.pair % nodes]
        # the links that together take lanes at a node: all in a duplex plan, else those out and those in apart
        self.sides = [ends] if duplex else [[ends[0]], [ends[1]]]
        self.upper: list[IntArray] = []
        self.entries: list[tuple[IntArray, IntArray, IntArray]] = []
        self.bounds: list[tuple[IntArray, IntArray]] = []
        self.columns = self.rows = 0

    def of_inventory(self, inventory: Inventory, mode: Mode) -> None:
        """Require all links within the existing or possible cabling."""
        fields, zones = list(inventory.fields), list(inventory.zones)
        self.links(len(fields))
        if inventory.cabling:
            self.lanes_of_kinds()
            return
        ports = usable(inventory, mode)
        self.lanes_in_zones([len(ports[zone]) for zone in zones], [fields.index(zone.field) for zone in zones])
        most = most_of_panels(inventory, mode)
        for panel in dict.fromkeys(zone.panel for zone in zones if zone.panel):
            together = self.lane[:, [zone.panel == panel for zone in zones]]
            self._add(-NO_BOUND, np.array([most[panel]]), [(together, np.zeros(1, dtype=np.int64), 1)])

    def links(self, fields: int) -> None:
        """Require every link on some panel group."""
        self.x = self._new(np.repeat(self.count[:, None], fields, axis=1))
        self.y = self._new(np.ones((self.nodes, len(self.kinds)), dtype=np.int64))
        self._add(self.count, self.count, [(self.x, np.arange(len(self.pair))[:, None], 1)])

    def lanes_of_kinds(self) -> None:
        """Limit links at a node to its host kind's lanes.

        The limit is for each panel group and side.
        """
        fields = self.x.shape[1]
        row = np.arange(self.nodes * fields).reshape(self.nodes, fields)
        lanes = [(self.y[:, :, None], row[:, None, :], -self.kinds[None])]
        for side in self.sides:
            self._add(-NO_BOUND, np.zeros(row.size, dtype=np.int64), [*((self.x, row[end], 1) for end in side), *lanes])

    def lanes_in_zones(self, most: list[int], field: list[int]) -> None:
        """Limit links at a node to its cabled lanes.

        Cabled lanes are limited by the host's lanes and zones, and by the panels.
        """
        zones, fields = len(most), self.x.shape[1]
        self.lane = self._new(np.broadcast_to(np.array(most), (self.nodes, zones)))
        row = np.arange(self.nodes * fields).reshape(self.nodes, fields)
        for side in self.sides:
            self._add(
                -NO_BOUND,
                np.zeros(row.size, dtype=np.int64),
                [*((self.x, row[end], 1) for end in side), (self.lane, row[:, field], -1)],
            )
        node = np.arange(self.nodes)[:, None]
        total = self.kinds.max(axis=1)
        self._add(-NO_BOUND, np.zeros(self.nodes, dtype=np.int64), [(self.lane, node, 1), (self.y, node, -total[None])])
        self._add(-NO_BOUND, np.array(most), [(self.lane, np.arange(zones)[None], 1)])
        some = np.flatnonzero((self.kinds < total[:, None]).any(axis=0))  # zones that not all hosts reach
        if some.size:
            place = np.arange(self.nodes * some.size).reshape(self.nodes, some.size)
            reach = self.kinds[:, some]
            lanes = (self.y[:, None, :], place[:, :, None], -reach.T[None])
            self._add(-NO_BOUND, np.zeros(place.size, dtype=np.int64), [(self.lane[:, some], place, 1), lanes])

    def hosts(self, there: list[int], given: list[tuple[int, ...]] | None) -> None:
        """Require one available host at every node.

        If ``given``, each node has a host of the given kind.
        """
        one = np.ones(self.nodes, dtype=np.int64)
        self._add(one, one, [(self.y, np.arange(self.nodes)[:, None], 1)])
        self._add(-NO_BOUND, np.array(there), [(self.y, np.arange(len(there))[None], 1)])
        if given is not None:
            same = [[tuple(kind) == wanted for kind in self.kinds.tolist()] for wanted in given]
            self.upper[1] = np.array(same, dtype=np.int64).ravel()

    def whole(self) -> tuple[IntArray, Entries, IntArray, IntArray]:
        """Return the program in the form of :func:`~topodesign.solve.whole.find_whole`."""
        entries = Entries(*(np.concatenate([part[place] for part in self.entries]) for place in range(3)))
        low, high = (np.concatenate([bound[place] for bound in self.bounds]) for place in range(2))
        return np.concatenate(self.upper), entries, low, high

    def cost(self, of_field: IntArray) -> IntArray:
        """Return column costs from link costs per panel group."""
        cost = np.zeros(self.columns, dtype=np.int64)
        cost[self.x] = of_field
        return cost

    def read(self, values: IntArray) -> tuple[IntArray, list[int]]:
        """Return each link's panel group and each node's kind."""
        waiting = {
            key: list(np.repeat(np.arange(len(counts)), counts))
            for key, counts in zip(self.pair.tolist(), values[self.x], strict=True)
        }
        part = np.array([waiting[key].pop() for key in self.key.tolist()], dtype=np.int64)
        return part, np.argmax(values[self.y], axis=1).tolist()

    def _new(self, upper: IntArray) -> IntArray:
        numbers = np.arange(self.columns, self.columns + upper.size).reshape(upper.shape)
        self.upper.append(np.ravel(upper))
        self.columns += upper.size
        return numbers

    def _add(self, low: IntArray | int, high: IntArray, terms: list[tuple[IntArray, IntArray, IntArray | int]]) -> None:
        """Add rows with bounds; terms are columns, rows, factors."""
        for column, row, factor in terms:
            wide = np.broadcast_arrays(row + self.rows, column, np.asarray(factor, dtype=np.int64))
            place, name, value = (np.ravel(part) for part in wide)
            self.entries.append((place[value != 0], name[value != 0], value[value != 0]))
        self.bounds.append((np.broadcast_to(np.asarray(low, dtype=np.int64), high.shape), high))
        self.rows += len(high)


def _field_costs(inventory: Inventory, links: int) -> IntArray:
    """Return link costs per panel group (millidecibels), circuits costliest.

    Light is lost in the ports at either end, in the trunks before these and in a circuit, in each of a field as in the
    worst of its kind; what is not known counts as nothing.
    """
    losses: dict[str, list[Fraction]] = {field: [] for field in inventory.fields}
    for zone, ports in inventory.zones.items():
        for key in ports:
            port, trunk = inventory.panel_port[key], inventory.trunk_at.get(key)
            lost = [inventory.losses.connector if port.loss_db is None else port.loss_db]
            lost += [] if trunk is None else [trunk.loss_db, inventory.panel_port[trunk.near, trunk.near_port].loss_db]
            losses[zone.field].append(sum((one for one in lost if one is not None), Fraction(0)))
    cost = []
    for field, panels in inventory.fields.items():
        through = max((panel.circuit_db or Fraction(0) for panel in panels), default=Fraction(0))
        cost.append(int(1000 * (2 * max(losses[field], default=Fraction(0)) + through)))
    above = 1 + links * max(cost, default=0)
    circuits = [any(panel.kind == "ocs" for panel in panels) for panels in inventory.fields.values()]
    return np.array(cost, dtype=np.int64) + above * np.array(circuits, dtype=np.int64)


def _lanes(inventory: Inventory, mode: Mode) -> dict[str, tuple[int, ...]]:
    """Return the lanes of hosts per panel group or zone."""
    if not inventory.cabling:
        return {
            host.name: tuple(host.lanes if reaches(host, zone) else 0 for zone in inventory.zones)
            for host in inventory.hosts
        }
    there = count_lanes(inventory, inventory.cabling, inventory.host, mode)[:, 0]
    return dict(zip(inventory.host, map(tuple, there.tolist()), strict=True))


def _fill(room: list[int], pairs: int) -> IntArray:
    """Spread duplex links over panel groups with free cabling."""
    most = np.array(room) // 2
    if most.sum() < pairs:
        sums, ports = " + ".join(map(str, most)), ", ".join(map(str, room))
        words = f"panels with {ports} ports carry {sums} = {most.sum()}, the topology has {pairs}"
        raise InfeasibleError(f"impossible: a duplex link takes two ports of one panel; {words}")
    # in turn, those with most room most often
    turns = np.concatenate([(np.arange(count) + 0.5) / count for count in most if count])
    which = np.repeat(np.arange(len(room)), most)
    return which[np.argsort(turns, kind="stable")][:pairs]


def _names(have: dict[str, tuple[int, ...]], wanted: list[tuple[int, ...]]) -> tuple[str, ...]:
    """Return a host of the wanted kind for each node."""
    waiting: defaultdict[tuple[int, ...], list[str]] = defaultdict(list)
    for name in reversed(have):
        waiting[have[name]].append(name)
    return tuple(waiting[kind].pop() for kind in wanted)


def _cabling(
    inventory: Inventory,
    mode: Mode,
    names: Sequence[str],
    links: tuple[IntArray, IntArray, IntArray],
    most: IntArray | None,
) -> tuple[Fixed, ...]:
    """Return cabling with the lanes that links need.

    ``links`` are sources, targets and fields; ``most`` has the lanes of each node in each zone, None where every zone
    is a field.
    """
    src, dst, part = links
    fields, nodes = list(inventory.fields), len(names)
    shape = nodes, len(fields)
    out, into = (
        np.bincount(end * len(fields) + part, minlength=nodes * len(fields)).reshape(shape) for end in (src, dst)
    )
    lanes = out + into if mode == "duplex" else np.maximum(out, into)
    cabled: dict[str, list[Zone]] = {name: [] for name in names}
    for node, name in enumerate(names):
        left = dict(zip(fields, lanes[node].tolist(), strict=True))
        for place, zone in enumerate(inventory.zones):
            count = left[zone.field] if most is None else min(left[zone.field], int(most[node, place]))
            left[zone.field] -= count
            cabled[name] += [zone] * count
    return tuple(assign_lanes(inventory, cabled, mode))


def _explain_unfit(inventory: Inventory, hosts: Sequence[str] | None, seconds: float, *, proven: bool) -> str:
    ways = ["no split of the links over the panels"]
    if hosts is None:
        ways.append("no order of the hosts")
    if not inventory.cabling:
        ways.append("no cabling of the hosts")
    if proven:
        return f"impossible: {join_words(ways)} makes this topology ({PROVEN_NONE})"
    return (
        f"no plan was found in {seconds:g} seconds ({NOT_PROVEN_NONE}); search longer, or give all hosts "
        "the same even number of lanes on each panel, which always does"
    )


_TRIES = 20
_CHOSEN_EXACTLY = 256  # cycles of which the best choice is found, the shortest ones


def spread_cycles(nodes: int, src: IntArray, dst: IntArray, room: Sequence[int], seed: int = 0) -> IntArray | None:
    """Spread links over panel groups without additional lanes.

    A cycle of links needs one lane at each of its nodes, all on one field. Nodes that send more than they receive get
    links from others for the count; then all links are a union of cycles (Euler), which are packed into the fields.
    ``room`` has the ports of each field. Returns the field of each link; None if this was not found, which does not say
    that there is no way.
    """
    excess = np.bincount(src, minlength=nodes) - np.bincount(dst, minlength=nodes)
    everyone = np.arange(nodes)
    begin = np.concatenate((src, np.repeat(everyone, np.maximum(-excess, 0))))
    end = np.concatenate((dst, np.repeat(everyone, np.maximum(excess, 0))))
    if len(begin) > sum(room):
        return None
    rng = np.random.default_rng(seed)
    for _ in range(_TRIES):
        cycles = _cycles(nodes, begin, end, rng)
        packed = _pack([len(cycle) for cycle in cycles], room)
        if packed is not None:
            part = np.empty(len(begin), dtype=np.int64)
            for cycle, field in zip(cycles, packed, strict=True):
                part[cycle] = field
            return part[: len(src)]
    return None


def _cycles(nodes: int, begin: IntArray, end: IntArray, rng: np.random.Generator) -> list[list[int]]:
    """Decompose links into simple cycles by a random walk."""
    leaving: list[list[int]] = [[] for _ in range(nodes)]
    for link in rng.permutation(len(begin)).tolist():
        leaving[begin[link]].append(link)
    target = end.tolist()
    cycles: list[list[int]] = []
    for start in range(nodes):
        walk: list[int] = []
        step = {start: 0}  # position on the walk of the nodes on it
        here = start
        while leaving[here] or walk:
            walk.append(leaving[here].pop())
            there = target[walk[-1]]
            if there in step:
                cycle = walk[step[there] :]
                del walk[step[there] :]
                for link in cycle[:-1]:
                    del step[target[link]]
                cycles.append(cycle)
            else:
                step[there] = len(walk)
            here = there
    return cycles


def _pack(sizes: list[int], room: Sequence[int]) -> list[int] | None:
    """Return a bin for each item, or None."""
    bins = [-1] * len(sizes)
    rest = sorted(range(len(sizes)), key=lambda one: -sizes[one])
    for number in sorted(range(len(room)), key=lambda one: room[one]):
        left, later, chosen = room[number], [], []
        for one in rest[: max(len(rest) - _CHOSEN_EXACTLY, 0)]:
            if sizes[one] <= left // 2:
                left -= sizes[one]
                chosen.append(one)
            else:
                later.append(one)
        small = rest[max(len(rest) - _CHOSEN_EXACTLY, 0) :]
        taken = set(_fullest([sizes[one] for one in small], left))
        chosen += [one for place, one in enumerate(small) if place in taken]
        rest = later + [one for place, one in enumerate(small) if place not in taken]
        for one in chosen:
            bins[one] = number
    return None if rest else bins


def _fullest(sizes: list[int], room: int) -> list[int]:
    """Return the positions of the largest sum within capacity."""
    mask = (1 << (room + 1)) - 1
    sums = [1]  # bit s: some of the first things sum to s
    for size in sizes:
        sums.append((sums[-1] | sums[-1] << size) & mask)
    total, chosen = sums[-1].bit_length() - 1, []
    for place in reversed(range(len(sizes))):
        if not sums[place] >> total & 1:
            chosen.append(place)
            total -= sizes[place]
    return chosen
