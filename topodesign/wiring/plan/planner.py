"""Planning of cross-connects for a topology and an inventory.

Links get their panels in one of these ways, of which each does what no other does in its time:

* Hosts cabled alike: theorems of König and Petersen (:mod:`topodesign.wiring.plan.decompose`), at once for any size.
* Lanes that differ from host to host: chains of links (``search_split`` there). Alternating paths that change no link
  twice, as changes of a wiring take them, split 86 of 150 random rooms without a spare lane, the chains 149. A program
  in whole numbers splits all of them, in 60 times the time.
* Hosts in pods, too many for a program over all their orders: exchanges of hosts
  (:mod:`topodesign.wiring.plan.pods_kernels`).
* Anything else, up to what a solver can do: order, cabling and split in one program
  (:mod:`topodesign.wiring.plan.joint`), with the fewest circuits and a proof where there is no plan.
* Duplex links over switches with two sides are turned first (:mod:`topodesign.wiring.plan.two_sided`), and a change
  chooses fields that keep patches (:mod:`topodesign.wiring.change.fields`): what is best there is none of the above.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from topodesign.base.cost import Cost
from topodesign.base.errors import CatalogError, InfeasibleError, ParameterError
from topodesign.base.units import format_bandwidth
from topodesign.base.wording import count_noun
from topodesign.pricing.closed_form import distances
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.inventory.devices import Fixed, Mode
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan import pods_kernels as kernels
from topodesign.wiring.plan.cabling import complete_cabling, count_lanes, lanes_by_field, plan_cabling
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.decompose import split, unit_edges, unit_links, without_loops
from topodesign.wiring.plan.joint import Choice, choose_together, in_order_of_need
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import check_plan
from topodesign.wiring.plan.ring import find_ring, turn_along_ring
from topodesign.wiring.plan.two_sided import split_sided

SECONDS = 20.0  # time to search for a plan if none is given

_EXCHANGED = 2**12  # lanes times fields from which hosts are exchanged first; below, all orders are soon searched
_MOMENT = 2.0  # seconds to see whether another mode would do

_Patch = tuple[Fixed, Fixed]


def make_plan(
    topology: Topology,
    inventory: Inventory,
    *,
    mode: Mode | None = None,
    hosts: Sequence[str] | None = None,
    speed: Fraction | None = None,
    idle: bool = False,
    seed: int = 0,
    seconds: float = SECONDS,
) -> WiringPlan:
    """Plan the wiring of a topology.

    The links are split over the fields of panels (:mod:`topodesign.wiring.plan.decompose`), each at most as often at a
    host as it has lanes there, and then take its lanes in order. Where that fails with the first hosts and cabling that
    is alike for all, the order of hosts, the cabling and the split are chosen together
    (:mod:`topodesign.wiring.plan.joint`). In a simplex plan a link and its reverse share their lanes where they can, so
    that most answers come back the way that the data went. What comes out is checked.
    """
    if topology.switches:
        raise ParameterError("a wiring plan joins hosts directly; the topology has switches")
    check_hosts_there(topology, inventory, hosts)
    mode = mode or ("duplex" if topology.is_duplex else "simplex")
    if mode == "duplex" and not topology.is_duplex:
        raise InfeasibleError(_not_duplex(topology))
    if speed is not None:
        check_speed(inventory, speed)
    speeds = inventory.speeds if speed is None else (speed,)
    asked = _Question(topology, inventory, mode, hosts, idle, seed, seconds)
    if len(inventory.speeds) < 2:
        return asked.plan()
    why = []
    for one in speeds:
        room = inventory.at_speed(one)
        if inventory.cabling and not room.cabling:
            why.append(f"no lane of {format_bandwidth(one)} is cabled")
            continue
        try:
            return replace(asked, inventory=room, seconds=seconds / len(speeds)).plan()
        except InfeasibleError as error:
            why.append(f"with {format_bandwidth(one)} a lane, {error}")
    raise InfeasibleError("; ".join(why))


@dataclass(frozen=True)
class _Question:
    """Topology and an inventory with lanes of one speed."""

    topology: Topology
    inventory: Inventory
    mode: Mode
    hosts: Sequence[str] | None  # None to choose them
    idle: bool
    seed: int
    seconds: float

    def plan(self) -> WiringPlan:
        """Return the checked plan.

        The error mentions simplex mode if that works.
        """
        try:
            choice = self.choice()
        except InfeasibleError as error:
            if self.mode == "simplex" or not self.inventory.one_way or not self._can_be_simplex():
                raise
            raise InfeasibleError(f"{error}; in simplex mode these panels can carry it") from None
        return plan_of(self.topology, self.inventory, self.mode, choice)

    def _can_be_simplex(self) -> bool:
        """Return whether a simplex plan is quickly found."""
        try:
            replace(self, mode="simplex", idle=False, seconds=_MOMENT).choice()
        except InfeasibleError:
            return False
        return True

    def choice(self) -> Choice:
        """Choose hosts, cabling and split, in sequence or jointly."""
        topology, inventory, mode, hosts, seed = self.topology, self.inventory, self.mode, self.hosts, self.seed
        needed = lanes_needed(topology)
        lanes = {host.name: host.lanes for host in inventory.hosts}
        if hosts is not None:
            _check_lanes(hosts, needed, lanes, "on its ports")
        if inventory.cabling:
            groups = lanes_by_field(inventory, inventory.cabling, mode)
            cabled = Counter(name for (name, _), some in groups.items() for _ in some)
            more = None if hosts is not None else _complete_inventory(inventory, lanes, cabled, needed, mode)
            if more is not None:
                return replace(self, inventory=more).choice()
            lanes = {name: cabled[name] for name in lanes}
        if hosts is not None:
            _check_lanes(hosts, needed, lanes, f"cabled to panel ports that a {mode} plan can use")
        names = tuple(hosts) if hosts is not None else in_order_of_need(needed, lanes)
        fixed = inventory.cabling or plan_cabling(inventory, names, needed.tolist(), mode, idle=self.idle)
        if inventory.two_sided:
            if fixed is None:
                words = "the sides of the switches have no room for cabling that is alike for all hosts"
                raise InfeasibleError(f"{words}; say in the inventory how they are cabled")
            room = count_lanes(inventory, fixed, names, mode)
            return Choice(names, tuple(fixed), *split_sided(topology, room, names, seed=seed, seconds=self.seconds))
        if fixed is None:
            return choose_together(topology, inventory, mode, hosts, seconds=self.seconds, seed=seed)
        everyone = tuple(dict.fromkeys((*names, *inventory.host)))
        table = count_lanes(inventory, fixed, everyone, mode)[:, 0]
        duplex = mode == "duplex"
        order: IntArray | None = np.arange(len(names))
        if hosts is None and np.any(table != table[0]) and int(needed.sum()) * table.shape[1] > _EXCHANGED:
            order = order_in_pods(topology, table, range(len(names)), duplex=duplex, seed=seed)
        if order is None:
            return choose_together(topology, inventory, mode, hosts, seconds=self.seconds, seed=seed)
        placed = tuple(everyone[host] for host in order)
        try:
            return Choice(placed, fixed, *split(topology, table[order], duplex=duplex, seed=seed))
        except InfeasibleError:
            return choose_together(topology, inventory, mode, hosts, first=placed, seconds=self.seconds, seed=seed)


def plan_of(topology: Topology, inventory: Inventory, mode: Mode, choice: Choice) -> WiringPlan:
    """Return the checked plan of a choice."""
    groups = lanes_by_field(inventory, choice.fixed, mode)
    patches: list[_Patch] = []
    ring = find_ring(topology) if topology.is_duplex and not topology.self_loops else None
    if len(set(choice.part.tolist())) > 1:
        ring = None  # some of its links have lanes in other fields
    for number, field in enumerate(inventory.fields):
        here = choice.part == number
        links = [(int(u), int(v)) for u, v in zip(choice.src[here], choice.dst[here], strict=True)]
        have = [groups.get((name, field), []) for name in choice.hosts]
        if inventory.two_sided:
            patches += _iterate_sided(links, have, inventory)
        else:
            made = list(_duplex_patches(links, have) if mode == "duplex" else _simplex_patches(links, have))
            patches += turn_along_ring(made, ring, have, inventory, duplex=mode == "duplex") if made else []
    connects = connects_of(inventory, mode, patches)
    plan = WiringPlan(inventory, topology, choice.hosts, mode, connects, choice.fixed)
    check_plan(plan)
    return plan


def _complete_inventory(
    inventory: Inventory, lanes: Mapping[str, int], cabled: Counter[str], needed: IntArray, mode: Mode
) -> Inventory | None:
    """Return an inventory with its cabling completed, or None."""
    try:
        in_order_of_need(needed, {name: cabled[name] for name in lanes})
    except InfeasibleError:
        first = sorted(lanes, key=lambda name: -cabled[name])
        try:
            used = in_order_of_need(needed, {name: lanes[name] for name in first})
            return replace(
                inventory, cabling=complete_cabling(inventory, inventory.cabling, used, needed.tolist(), mode)
            )
        except InfeasibleError:
            return None
    return None


def lanes_needed(topology: Topology) -> IntArray:
    """Return the lanes that each node needs, self-loops aside."""
    links = without_loops(topology)
    return np.maximum(links.out_ports, links.in_ports)


def _duplex_patches(links: list[tuple[int, int]], have: list[list[Fixed]]) -> Iterator[_Patch]:
    lanes = [iter(some) for some in have]
    for u, v in sorted((min(link), max(link)) for link in links):
        yield next(lanes[u]), next(lanes[v])


def _iterate_sided(links: list[tuple[int, int]], have: list[list[Fixed]], inventory: Inventory) -> Iterator[_Patch]:
    """Yield links with lanes at sides 1 and 2."""
    ones, twos = (
        [iter([one for one in some if inventory.panel_port[one.place].side == side]) for some in have]
        for side in ("1", "2")
    )
    for u, v in sorted(links):
        yield next(ones[u]), next(twos[v])


def _simplex_patches(links: list[tuple[int, int]], have: list[list[Fixed]]) -> Iterator[_Patch]:
    """Yield links with their lanes, bidirectional ones first."""
    count = Counter(links)
    both = sorted(pair for pair in count if pair[0] < pair[1] for _ in range(min(count[pair], count[pair[::-1]])))
    used = [0] * len(have)
    for u, v in both:
        a, b = have[u][used[u]], have[v][used[v]]
        yield a, b
        yield b, a
        used[u] += 1
        used[v] += 1
    count -= Counter(both)
    count -= Counter((v, u) for u, v in both)
    sends, receives = list(used), list(used)
    for u, v in sorted(count.elements()):
        yield have[u][sends[u]], have[v][receives[v]]
        sends[u] += 1
        receives[v] += 1


def connects_of(inventory: Inventory, mode: Mode, patches: list[_Patch]) -> tuple[CrossConnect, ...]:
    """Return cross-connects of patches, named in first-port order."""
    rank = {key: number for number, key in enumerate(inventory.panel_port)}
    ordered = sorted(patches, key=lambda patch: (rank[patch[0].place], rank[patch[1].place]))
    width = len(str(len(ordered)))
    return tuple(CrossConnect(f"C{number:0{width}}", mode, *ends) for number, ends in enumerate(ordered, start=1))


def check_speed(inventory: Inventory, speed: Fraction) -> None:
    """Reject a speed that no lane has."""
    if speed not in inventory.speeds:
        there = " and ".join(map(format_bandwidth, inventory.speeds)) or "no lanes"
        raise ParameterError(f"no lane has {format_bandwidth(speed)}; there are {there}")


def check_hosts_there(topology: Topology, inventory: Inventory, hosts: Sequence[str] | None) -> None:
    """Reject too few, repeated or unknown hosts."""
    if len(inventory.hosts) < topology.nodes:
        missing = topology.nodes - len(inventory.hosts)
        words = f"the topology has {topology.nodes} nodes, the inventory {len(inventory.hosts)} hosts"
        raise InfeasibleError(f"hosts are missing: {words}; {missing} more needed")
    if hosts is None:
        return
    if len(hosts) != topology.nodes or len(set(hosts)) < len(hosts):
        raise ParameterError(f"expected {topology.nodes} different hosts, one a node")
    unknown = next((name for name in hosts if name not in inventory.host), None)
    if unknown is not None:
        raise ParameterError(f"there is no host '{unknown}' in the inventory")


def _check_lanes(names: Sequence[str], needed: IntArray, have: Mapping[str, int], where: str) -> None:
    for node, name in enumerate(names):
        if have[name] < needed[node]:
            lanes = count_noun(have[name], "lane")
            words = f"host '{name}' (node {node}) has {lanes} {where}, its links need {needed[node]}"
            raise InfeasibleError(f"too few ports: {words}")


def _not_duplex(topology: Topology) -> str:
    capacity = {(u, v): count for u, v, count in topology.links()}
    u, v = next(link for link, count in capacity.items() if capacity.get(link[::-1]) != count)
    forth, back = capacity[u, v], capacity.get((v, u), 0)
    reason = (
        f"there {'is' if forth == 1 else 'are'} {count_noun(forth, 'link')} {u} -> {v} and {back} back"
        if back
        else f"link {u} -> {v} has no reverse"
    )
    other = duplex_alternative(topology)
    advice = f"the nearest that is duplex: {other}" if other else "no duplex one of as many nodes and ports is known"
    return f"not a duplex topology: {reason}; wire it in simplex mode; {advice}"


def duplex_alternative(topology: Topology) -> str | None:
    """Return the nearest known duplex topology of equal size.

    The nearest is by steps. The text has its spec and cost.

    Of equally near ones the one with fewer steps; None if none is known. It comes from the catalog, or where that has
    none from known families and their expansions.
    """
    known = _list_known(topology.nodes, topology.degree)
    if not known:
        return None
    sources = topology.representatives or range(topology.nodes)
    wanted = max(int(distances(topology, source).max()) for source in sources)
    spec, cost = min(known, key=lambda one: (abs(one[1].steps - wanted), one[1].steps))
    return f"{spec} ({cost.steps} steps, bandwidth factor {cost.bandwidth})"


def _list_known(nodes: int, degree: int) -> list[tuple[str, Cost]]:
    from topodesign.catalog.lookup import Catalog  # noqa: PLC0415  heavy, and seldom asked
    from topodesign.search.finder import Finder  # noqa: PLC0415  likewise

    try:
        if rows := Catalog().frontier(nodes, degree, duplex=True):
            return [(row.spec, row.cost) for row in rows]
    except CatalogError:
        pass  # then search
    return [(str(one.spec), one.cost) for one in Finder().frontier(nodes, degree, duplex=True)]


_ROUNDS = 256  # how often each node is looked at


def order_in_pods(
    topology: Topology, lanes: IntArray, first: Sequence[int], *, duplex: bool, seed: int
) -> IntArray | None:
    """Return a host for each node, so that links find lanes.

    None if no such order is found.

    Links of a node to hosts with which it shares the same fields of panels compete for its lanes at these. What is more
    of them is excess: hosts are exchanged until there is none, where mostly a split of the links exists.
    ``lanes`` has shape ``(hosts, fields)``; ``first`` is the order to begin with.
    """
    hosts = len(lanes)
    src, dst = unit_edges(topology) if duplex else unit_links(without_loops(topology))
    ends, others = np.concatenate((src, dst)), np.concatenate((dst, src))
    by = np.argsort(ends, kind="stable")
    way = np.zeros(len(ends), dtype=np.int64) if duplex else np.repeat([0, 1], len(src))
    rows, kind = np.unique(lanes, axis=0, return_inverse=True)
    shared = (rows > 0)[:, None] & (rows > 0)
    masks, group = np.unique(shared.reshape(len(rows) ** 2, -1), axis=0, return_inverse=True)
    pods = kernels.Pods(
        np.searchsorted(ends[by], np.arange(hosts + 1)),
        others[by],
        way[by],
        kind.ravel(),
        np.concatenate(([0], np.cumsum(np.bincount(kind.ravel())))),
        np.argsort(kind.ravel(), kind="stable"),
        group.reshape(len(rows), len(rows)),
        np.column_stack((rows @ masks.T.astype(np.int64), rows.sum(axis=1))),
    )
    spare = np.setdiff1d(np.arange(hosts), first)
    place = np.concatenate((np.array(first, dtype=np.int64), spare))
    random = np.array([2 * seed + 1], dtype=np.uint64)
    left = kernels.exchange(pods, place, 0, random)  # soon counted, and mostly none
    left = kernels.exchange(pods, place, _ROUNDS * hosts, random) if left else 0
    return None if left else place[: topology.nodes]
