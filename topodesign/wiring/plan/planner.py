"""Planning: from a topology and an inventory to cross-connects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.inventory.inventory import Fixed, Inventory, Mode
from topodesign.wiring.plan.cabling import lanes_by_field, plan_cabling
from topodesign.wiring.plan.cross_connects import CrossConnect, End
from topodesign.wiring.plan.decompose import split, without_loops
from topodesign.wiring.plan.duplex_alternative import duplex_alternative
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import check_plan

_Patch = tuple[int, int, Fixed, Fixed]


def make_plan(
    topology: Topology,
    inventory: Inventory,
    *,
    mode: Mode | None = None,
    hosts: Sequence[str] | None = None,
    seed: int = 0,
) -> WiringPlan:
    """Plan the wiring of a topology.

    The links are split over the fields of panels (:mod:`topodesign.wiring.plan.decompose`), each at most as often at
    a host as it has lanes there, and then take its lanes in order. In a simplex plan a link and its reverse share
    their lanes where they can, so that most answers come back the way that the data went. What comes out is checked.

    Parameters
    ----------
    topology
        Without switches. Self-loops are not wired.
    inventory
        What to use; its fixed cabling is kept, or planned if it has none.
    mode
        ``simplex``, ``duplex``, or None for duplex where the topology is.
    hosts
        Name of the host of each node; the first hosts of the inventory if None.
    seed
        Of the search for duplex splits.

    Raises
    ------
    InfeasibleError
        If there are too few hosts, lanes or ports, a duplex plan is asked for a topology that is not duplex, or no
        split of the links over the panels was found; the message says which.
    ParameterError
        If the topology has switches, or ``hosts`` are not different hosts of the inventory, one a node.
    """
    if topology.switches:
        raise ParameterError("a wiring plan joins hosts directly; the topology has switches")
    names = _hosts(topology, inventory, hosts)
    mode = mode or ("duplex" if topology.is_duplex else "simplex")
    if mode == "duplex" and not topology.is_duplex:
        raise InfeasibleError(_not_duplex(topology))
    needed = lanes_needed(topology)
    _check_lanes(names, needed, [inventory.host[name].lanes for name in names], "on its ports")
    fixed = inventory.cabling or plan_cabling(inventory, names, needed.tolist(), mode)
    groups = lanes_by_field(inventory, fixed, mode)
    fields = list(inventory.fields)
    lanes = np.array([[len(groups.get((name, field), ())) for field in fields] for name in names])
    _check_lanes(names, needed, lanes.sum(axis=1).tolist(), f"cabled to panel ports that a {mode} plan can use")
    try:
        src, dst, part = split(topology, lanes, duplex=mode == "duplex", seed=seed)
    except InfeasibleError as error:
        one_way = all(inventory.panel_port[one.panel, one.panel_port].mode == "simplex" for one in fixed)
        if mode == "simplex" or not one_way or np.any(lanes != lanes[0]):
            raise
        raise InfeasibleError(f"{error}; in simplex mode these panels can carry any topology") from None
    patches: list[_Patch] = []
    for number, field in enumerate(fields):
        links = [(int(u), int(v)) for u, v in zip(src[part == number], dst[part == number], strict=True)]
        have = [groups.get((name, field), []) for name in names]
        patches += _duplex_patches(links, have) if mode == "duplex" else _simplex_patches(links, have)
    plan = WiringPlan(inventory, topology, names, mode, _connects(inventory, mode, patches), fixed)
    check_plan(plan)
    return plan


def lanes_needed(topology: Topology) -> IntArray:
    """Return the lanes that each node needs, for links out and for links in; none for self-loops."""
    links = without_loops(topology)
    return np.maximum(links.out_ports, links.in_ports)


def _duplex_patches(links: list[tuple[int, int]], have: list[list[Fixed]]) -> Iterator[_Patch]:
    lanes = [iter(some) for some in have]
    for u, v in sorted((min(link), max(link)) for link in links):
        yield u, v, next(lanes[u]), next(lanes[v])


def _simplex_patches(links: list[tuple[int, int]], have: list[list[Fixed]]) -> Iterator[_Patch]:
    """Yield links with the lane that sends and the lane that receives; first those whose reverse is there too."""
    count = Counter(links)
    both = sorted(pair for pair in count if pair[0] < pair[1] for _ in range(min(count[pair], count[pair[::-1]])))
    used = [0] * len(have)
    for u, v in both:
        a, b = have[u][used[u]], have[v][used[v]]
        yield u, v, a, b
        yield v, u, b, a
        used[u] += 1
        used[v] += 1
    count -= Counter(both)
    count -= Counter((v, u) for u, v in both)
    sends, receives = list(used), list(used)
    for u, v in sorted(count.elements()):
        yield u, v, have[u][sends[u]], have[v][receives[v]]
        sends[u] += 1
        receives[v] += 1


def _connects(inventory: Inventory, mode: Mode, patches: list[_Patch]) -> tuple[CrossConnect, ...]:
    """Name the cross-connects in the order of the panel ports that they go from."""
    rank = {key: number for number, key in enumerate(inventory.panel_port)}
    ordered = sorted(patches, key=lambda patch: (rank[_key(patch[2])], rank[_key(patch[3])]))
    width = len(str(len(ordered)))
    return tuple(
        CrossConnect(f"C{number:0{width}}", mode, (u, v), _end(a), _end(b))
        for number, (u, v, a, b) in enumerate(ordered, start=1)
    )


def _key(fixed: Fixed) -> tuple[str, str]:
    return fixed.panel, fixed.panel_port


def _end(fixed: Fixed) -> End:
    return End(fixed.host, fixed.port, fixed.lane, fixed.panel, fixed.panel_port)


def _hosts(topology: Topology, inventory: Inventory, hosts: Sequence[str] | None) -> tuple[str, ...]:
    if len(inventory.hosts) < topology.nodes:
        missing = topology.nodes - len(inventory.hosts)
        words = f"the topology has {topology.nodes} nodes, the inventory {len(inventory.hosts)} hosts"
        raise InfeasibleError(f"hosts are missing: {words}; {missing} more needed")
    if hosts is None:
        return tuple(host.name for host in inventory.hosts[: topology.nodes])
    if len(hosts) != topology.nodes or len(set(hosts)) < len(hosts):
        raise ParameterError(f"expected {topology.nodes} different hosts, one a node")
    unknown = next((name for name in hosts if name not in inventory.host), None)
    if unknown is not None:
        raise ParameterError(f"there is no host '{unknown}' in the inventory")
    return tuple(hosts)


def _check_lanes(names: Sequence[str], needed: IntArray, have: Sequence[int], where: str) -> None:
    for node, (name, some) in enumerate(zip(names, have, strict=True)):
        if some < needed[node]:
            words = f"host '{name}' (node {node}) has {some} lane(s) {where}, its links need {needed[node]}"
            raise InfeasibleError(f"too few ports: {words}")


def _not_duplex(topology: Topology) -> str:
    capacity = {(u, v): count for u, v, count in topology.links()}
    u, v = next(link for link, count in capacity.items() if capacity.get(link[::-1]) != count)
    forth, back = capacity[u, v], capacity.get((v, u), 0)
    reason = f"there are {forth} link(s) {u} -> {v} and {back} back" if back else f"link {u} -> {v} has no reverse"
    other = duplex_alternative(topology)
    advice = f"the nearest that is duplex: {other}" if other else "no duplex one of as many nodes and ports is known"
    return f"not a duplex topology: {reason}; wire it in simplex mode; {advice}"
