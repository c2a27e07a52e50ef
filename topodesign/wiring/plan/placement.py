"""Which host is which node, so that little fibre is needed.

The cords of a patch field run between the panels that the hosts are cabled to, so that neighbours in the topology had
better be neighbours in the room: a quadratic assignment problem (Koopmans and Beckmann 1957). Small ones start from
what a solver guesses, and all are improved by exchanging two hosts as long as that helps. Where all hosts of a
field share a panel, every order needs the same fibre.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import InfeasibleError
from topodesign.solve.whole import guess_places
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.inventory.devices import Fixed, Host, Mode
from topodesign.wiring.inventory.inventory import FIXED, PATCH, CableType, Inventory, length, racks_without_place
from topodesign.wiring.plan.cabling import lanes_by_field, nearest, reaches
from topodesign.wiring.plan.decompose import without_loops
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import SECONDS, make_plan

_SMALL = 256  # hosts up to which the solver's guess is quick
_RANDOM_STARTS = 3
_MOST_SWEEPS = 50
_MOMENT = 1.0  # seconds to search for a plan in another order of hosts
_FAR = 10**9  # millimetres; for what no cable reaches


def place_hosts(
    topology: Topology,
    inventory: Inventory,
    *,
    mode: Mode | None = None,
    speed: Fraction | None = None,
    idle: bool = False,
    seed: int = 0,
    seconds: float = SECONDS,
) -> WiringPlan:
    """Plan the wiring of a topology with the order of hosts that needs least fibre, as far as is found.

    It never needs more metres of cable than in the order of the inventory.
    """
    require_at_least("seed", seed, 0)
    plain = make_plan(topology, inventory, mode=mode, speed=speed, idle=idle, seed=seed, seconds=seconds)
    inventory = plain.inventory
    best, least = plain, plain.bill().metres
    if least is None:
        lacking = "".join(f"; no coordinates of rack {rack}" for rack in racks_without_place(inventory)[:1])
        raise InfeasibleError(f"hosts cannot be placed: the length of some cables is unknown{lacking}")
    problem = _problem(plain)
    everyone = {fixed.host for fixed in plain.fixed} == inventory.host.keys()
    cabled = replace(inventory, cabling=plain.fixed) if everyone else inventory  # then it is the same for all orders
    rng = np.random.default_rng(seed)
    for spots in _starts(problem, rng) if problem.depends_on_order else ():
        _exchange(problem, spots, rng)
        names = tuple(inventory.hosts[spot].name for spot in spots[: topology.nodes])
        try:
            found = make_plan(topology, cabled, mode=plain.mode, hosts=names, idle=idle, seed=seed, seconds=_MOMENT)
            found = replace(found, inventory=inventory)
            needed = found.bill().metres
        except InfeasibleError:  # other hosts may have too few lanes, or stand too far away
            continue
        if needed is not None and needed < least:
            best, least = found, needed
    return best


@dataclass(frozen=True)
class _Problem:
    """Where to put nodes, so that the sum over their cords of the metres between their spots is least.

    It only proposes orders, whose bills are then compared exactly; so it counts in whole millimetres.

    ``cords``: number of cords between two nodes: a symmetric sparse matrix, with rows without any for spots left empty.
    ``between``: millimetres of a cord between two spots (hosts), a symmetric matrix. ``at``: millimetres of the fixed
    cables of a spot that are only bought if it is taken, as a node in each row: zeros for nodes that are none.
    """

    cords: Any
    between: IntArray
    at: IntArray

    @property
    def depends_on_order(self) -> bool:
        """Whether another order can need less."""
        return len(np.unique(self.between)) > 1 or len(np.unique(self.at)) > 1


def _problem(plan: WiringPlan) -> _Problem:
    from scipy.sparse import csr_array  # noqa: PLC0415  heavy

    inventory, topology = plan.inventory, without_loops(plan.topology)
    spots = len(inventory.hosts)
    cords = csr_array((topology.capacity, (topology.src, topology.dst)), shape=(spots, spots))
    cords = cords if plan.mode == "duplex" else cords + cords.T
    groups = lanes_by_field(inventory, plan.fixed, plan.mode)
    between = np.zeros((spots, spots), dtype=np.int64)
    homes = []
    for field in dict.fromkeys(zone.field for zone in inventory.zones):
        panels = inventory.fields[field]
        home = [_home(inventory, host, field, groups) for host in inventory.hosts]
        homes.append([inventory.plugged_at(*key)[0] for key in home])
        number = {panel.name: row for row, panel in enumerate(panels)}
        at_panel = np.array([number[panel] for panel, _ in home])
        lanes = max((len(group) for (_, name), group in groups.items() if name == field), default=0)
        if panels[0].kind != "ocs":
            kind = PATCH[plan.mode]
            table = np.array([[_millimetres(inventory, a.name, b.name, kind) for b in panels] for a in panels])
            between += lanes * table[at_panel][:, at_panel]
    at = np.zeros((spots, spots), dtype=np.int64)
    if not inventory.cabling and {fixed.host for fixed in plan.fixed} != inventory.host.keys():
        at[: topology.nodes] = [
            _fixed_millimetres(inventory, host, [home[row] for home in homes])
            for row, host in enumerate(inventory.hosts)
        ]
    return _Problem(cords, between, at)


def _fixed_millimetres(inventory: Inventory, host: Host, panels: list[str]) -> int:
    """Return what the fixed cables of a host need if each reaches all its panels."""
    kinds = [FIXED[port.connector] for port in host.ports]
    return sum(max(_millimetres(inventory, host.name, panel, kind) for panel in panels) for kind in kinds)


def _home(inventory: Inventory, host: Host, field: str, groups: dict[tuple[str, str], list[Fixed]]) -> tuple[str, str]:
    """Return the panel port of a field that a host is cabled to, or one of those nearest to it."""
    lanes = groups.get((host.name, field))
    if lanes:
        return lanes[0].place
    ports = [
        key for zone, some in inventory.zones.items() if zone.field == field and reaches(host, zone) for key in some
    ]
    ports = ports or [key for zone, some in inventory.zones.items() if zone.field == field for key in some]
    near = nearest(inventory, host, [inventory.plugged_at(*key)[0] for key in ports])[0]
    return next(key for key in ports if inventory.plugged_at(*key)[0] == near)


def _millimetres(inventory: Inventory, a: str, b: str, kind: CableType) -> int:
    try:
        metres = length(inventory, a, b, kind)
    except InfeasibleError:
        metres = None
    return _FAR if metres is None else min(round(metres * 1000), _FAR)


def _starts(problem: _Problem, rng: np.random.Generator) -> Iterator[IntArray]:
    """Yield orders to improve: as it is, along bands of the topology, what a solver guesses, and random ones."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee  # noqa: PLC0415  heavy

    spots = len(problem.between)
    yield np.arange(spots)
    yield np.argsort(reverse_cuthill_mckee(problem.cords, symmetric_mode=True)).astype(np.int64)
    if spots <= _SMALL:
        yield guess_places(problem.cords.toarray(), problem.between, rng)
    for _ in range(_RANDOM_STARTS):
        yield rng.permutation(spots)


def _exchange(problem: _Problem, spots: IntArray, rng: np.random.Generator) -> None:
    """Exchange the spots of two nodes as long as that helps; changes ``spots``, the spot of each node."""
    cords, between = problem.cords, problem.between
    # cost of each node at each spot, the others staying where they are
    cost = cords @ between[spots] + problem.at
    own = np.diag(between)
    everyone = np.arange(len(spots))
    for _ in range(_MOST_SWEEPS):
        better = False
        for i in rng.permutation(len(spots)):
            a = spots[i]
            gain = cost[i, spots] - cost[i, a] + cost[:, a] - cost[everyone, spots]
            near, count = _row(cords, i)
            b = spots[near]
            gain[near] += count * (2 * between[a, b] - own[a] - own[b])  # the cords between the two stay as they are
            j = int(np.argmin(gain))
            if gain[j] < 0:
                better = True
                for node, old, new in ((i, a, spots[j]), (j, spots[j], a)):
                    near, count = _row(cords, node)
                    cost[near] += np.outer(count, between[new] - between[old])
                spots[i], spots[j] = spots[j], a
        if not better:
            return


def _row(cords: Any, node: int) -> tuple[IntArray, IntArray]:
    """Return the neighbours of a node and the number of cords to each."""
    begin, end = cords.indptr[node], cords.indptr[node + 1]
    return cords.indices[begin:end], cords.data[begin:end]
