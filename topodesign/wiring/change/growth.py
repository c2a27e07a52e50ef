"""Topologies for more nodes that are near a wiring: what each costs, and how many patches it moves.

Some come from the catalog, on the hosts where most patches stay. Others are the topology that there is with new nodes
in its links: on every switch some patches are taken out, and each of their ends goes to a new node that has a lane
there. So nothing else moves, no link has to change its switch, and the number of moves is known. Some of the lanes of
new nodes may be joined to each other, which moves fewer patches and makes longer ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Unpack

import numpy as np

from topodesign.base.arguments import as_integer, as_path, as_seed
from topodesign.base.atomic import write_directory
from topodesign.base.cost import Cost
from topodesign.base.declared import Declared, key
from topodesign.base.errors import CatalogError, DisconnectedError, InfeasibleError
from topodesign.base.options import takes
from topodesign.base.progress import tell
from topodesign.base.records import Result, Table
from topodesign.base.units import format_size, format_time
from topodesign.base.work_options import WorkOptions
from topodesign.catalog.lookup import Catalog
from topodesign.pricing.closed_form import price
from topodesign.pricing.workload import Workload, as_workload
from topodesign.topology.files import write_links
from topodesign.topology.library import build
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.change.fields import Problem
from topodesign.wiring.change.patches import wired_topology
from topodesign.wiring.change.relabel import most_kept, relabel
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.plan import WiringPlan

_SHARES = Fraction(0), Fraction(1, 4), Fraction(1, 2)  # of the lanes of new nodes that are joined to each other
_TRIES = 12  # ways to insert nodes, of which the fastest is taken
_REDRAWN = 50  # times that an end is drawn again, to have no parallel links
_FROM_CATALOG = 4


@dataclass(frozen=True)
class Grown(Declared):
    """A topology for more nodes."""

    name: str  # its spec, or what was inserted
    file: str  # the name of the file of its links
    topology: Topology  # its links; nodes that there were come first, in their order, where nodes were inserted
    moves: int  # patches to move to get there
    at_least: int  # patches that any change to it moves
    cost: Cost  # of its reduce-scatter
    times: tuple[Fraction, ...]  # of an allreduce in seconds, for each size

    KEYS = (
        "name file moves bound=at_least steps=cost.steps bandwidth=cost.bandwidth",
        key("allreduce_s", "Seconds, for each size.", kind=tuple[float, ...], value=lambda one: map(float, one.times)),
    )


@dataclass(frozen=True, repr=False)
class Growth(Result):
    """Topologies for more nodes than a wiring has, those that move fewest patches first."""

    plan: WiringPlan  # the wiring that there is
    nodes: int  # of the topologies
    degree: int  # of the topologies
    workload: Workload  # what the times are for
    topologies: tuple[Grown, ...]  # none is both slower (for the first size) and needs more moves than another

    KEYS = (
        key("grown_from=plan.topology.nodes", "Nodes of the wiring that there is."),
        "nodes degree *workload",
        key("sizes_bytes", "Sizes of the data.", kind=tuple[int, ...], value=lambda one: map(int, one.workload.sizes)),
        "topologies",
    )
    ROWS = "topologies"

    def heading(self) -> str:
        """Return what grows."""
        return f"{self.plan.topology.nodes} nodes to {self.nodes} of degree {self.degree}, by moves"

    def table(self) -> Table:
        """Return a row a topology."""
        rows = [
            (
                str(one.moves),
                str(one.at_least),
                str(one.cost.steps),
                f"{float(one.cost.bandwidth):.4f}",
                *map(format_time, one.times),
                one.name,
            )
            for one in self.topologies
        ]
        columns = ("moves", "bound", "steps", "y", *map(format_size, self.workload.sizes), "topology")
        return Table(self.heading(), columns, tuple(rows), words=frozenset(("topology",)))

    def save(self, directory: str | Path) -> tuple[str, ...]:
        """Write the links of every topology to a new directory, and return the names of the files."""
        files = {one.file: write_links(one.topology, "json") for one in self.topologies}
        write_directory(as_path(directory), files)
        return tuple(files)


@takes(WorkOptions)
def grow(
    plan: WiringLike,
    nodes: int,
    degree: int,
    *,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
    **work: Unpack[WorkOptions],
) -> Growth:
    """Find topologies for more nodes that are fast, or near a wiring that there is.

    Parameters
    ----------
    plan
        The wiring, or the path of its file.
    nodes, degree
        Of the topologies; new nodes are cabled like the others.
    seed
        Of the links that nodes are inserted in, and of the order of the hosts.
    progress
        Told the share that is done.
    **work
        Latency, sizes and bandwidth: text with a unit, or numbers of seconds, bytes and bits per second.

    Returns
    -------
    Growth
        Its ``save`` writes files of links, to which :func:`topodesign.rewire` changes the wiring.

    Raises
    ------
    ParameterError
        If there are not more nodes than there were, or something is out of range.
    InfeasibleError
        If nothing is found for this number of nodes and ports.

    Examples
    --------
    >>> from topodesign import plain_inventory, wire
    >>> found = grow(wire("circulant(12,2,3)", plain_inventory(12, 4)), 16, 4)
    >>> [(one.name, one.moves, one.at_least) for one in found.topologies]
    [('circulant(16,3,4)', 12, 12)]
    """
    wiring, seed = as_wiring(plan), as_seed(seed)
    old = len(wiring.hosts)
    nodes, degree = as_integer("nodes", nodes, old + 1), as_integer("degree", degree, 1)
    workload = as_workload(**work)
    room = _Room(wiring, nodes)
    found: list[Grown] = []
    try:
        known = [row.spec for row in Catalog().frontier(nodes, degree, duplex=room.duplex)[:_FROM_CATALOG]]
    except CatalogError:
        known = []
    for number, spec in enumerate(known):
        tell(progress, number / (len(known) + 1))
        one = room.priced(spec, build(spec), workload, seed)
        found += [] if one is None else [one]
    if room.degree == degree:
        for share in _SHARES:
            best = _fastest(room, share, workload, seed)
            found += [] if best is None else [best]
    if not found:
        raise InfeasibleError(
            f"nothing is known for {nodes} nodes of degree {degree}, and nodes have {room.degree} links"
        )
    found.sort(key=lambda one: (one.moves, one.times))
    front = [one for place, one in enumerate(found) if all(one.times[0] < other.times[0] for other in found[:place])]
    named = (replace(one, file=f"grown{number}.json") for number, one in enumerate(front, start=1))
    return Growth(wiring, nodes, degree, workload, tuple(named))


class _Room:
    """A wiring and new hosts that are cabled like the others, by numbers."""

    def __init__(self, plan: WiringPlan, nodes: int) -> None:
        self.old, self.nodes, self.duplex = len(plan.hosts), nodes, plan.mode == "duplex"
        self.fields = list(plan.inventory.fields)
        number = {name: self.fields.index(panel.field) for name, panel in plan.inventory.panel.items()}
        self.patches = [(*connect.link, number[connect.a.panel]) for connect in plan.connects]
        lanes = np.zeros((self.old, len(self.fields)), dtype=np.int64)
        for fixed in plan.fixed:
            if fixed.host in plan.node:
                lanes[plan.node[fixed.host], number[fixed.panel]] += 1
        alike = np.array(Counter(map(tuple, lanes.tolist())).most_common(1)[0][0], dtype=np.int64)
        new = np.broadcast_to(alike, (nodes - self.old, len(self.fields)))
        sides = 1 if self.duplex else 2
        self.lanes = np.repeat(np.concatenate((lanes, new))[:, None, :], sides, axis=1)
        used = np.zeros_like(lanes)
        for u, v, place in self.patches:
            used[u, place] += 1
            if self.duplex:
                used[v, place] += 1
        self.used: IntArray = np.array(Counter(map(tuple, used.tolist())).most_common(1)[0][0], dtype=np.int64)
        self.degree = int(self.used.sum())
        hosts = [*plan.hosts, *(f" {place}" for place in range(nodes - self.old))]
        self.existing = wired_topology(hosts, plan.connects)

    def priced(self, name: str, topology: Topology, workload: Workload, seed: int) -> Grown | None:
        """Return what a topology costs, and how many patches it moves; None if no fields are found for its links."""
        found = relabel(self.existing, topology, seed=seed)
        problem = Problem(topology, self.lanes, self.patches)
        options = [problem.placed(place, seed=seed) for place in (found.place, tuple(range(self.nodes)))]
        placed = max((one for one in options if one is not None), key=lambda one: one.kept, default=None)
        if placed is None:
            return None
        most = found.most // (2 if self.duplex else 1)
        if placed.kept < most:
            placed, _ = problem.exhausted(problem.improved(placed, most, seed=seed), swaps=True)
        links = max(len(problem.nodes), len(self.patches))
        return self.grown(name, topology, links - placed.kept, links - most, workload)

    def grown(self, name: str, topology: Topology, moves: int, at_least: int, workload: Workload) -> Grown:
        cost = price(topology)
        both = cost, cost if topology.is_duplex else price(topology.transpose())
        return Grown(name, "", topology, moves, at_least, cost, workload.allreduce(*both))

    def inserted(self, share: Fraction, rng: np.random.Generator) -> tuple[Topology, int] | None:
        """Put new nodes into links of every field, and count the patches to move; None if an end finds no place."""
        linked = Counter((u, v) for u, v, _ in self.patches)
        if self.duplex:
            linked += Counter((v, u) for u, v, _ in self.patches)
        links: list[tuple[int, int]] = []
        moves = 0
        new = np.arange(self.old, self.nodes)
        for field, width in enumerate(self.used.tolist()):
            here = [(u, v) for u, v, place in self.patches if place == field]
            ends = [rng.permutation(np.repeat(new, width)).tolist() for _ in range(1 if self.duplex else 2)]
            inner = int(share * len(ends[0])) // (2 if self.duplex else 1)
            made = _joined(ends, inner, linked)
            outer = len(ends[0]) // 2 if self.duplex else len(ends[0])
            gone = set(rng.choice(len(here), min(outer, len(here)), replace=False).tolist())
            for place in gone:
                u, v = here[place]
                x = _taken(ends[-1], lambda x, u=u: linked[u, x])  # type: ignore[misc]
                y = _taken(ends[0], lambda y, v=v: linked[y, v])  # type: ignore[misc]
                if x is None or y is None:
                    return None
                made += [(u, x), (y, v)]
                linked.update([(u, x), (y, v), *([(x, u), (v, y)] if self.duplex else [])])
            links += [pair for place, pair in enumerate(here) if place not in gone] + made
            moves += len(made)
        both = [*links, *((v, u) for u, v in links)] if self.duplex else links
        return Topology.from_links(self.nodes, both), moves


def _joined(ends: list[list[int]], count: int, linked: Counter[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join lanes of new nodes to each other, as many pairs as asked for where that makes no parallel links."""
    made: list[tuple[int, int]] = []
    for _ in range(count):
        x = ends[0].pop()
        y = _taken(ends[-1], lambda y, x=x: y == x or linked[x, y])  # type: ignore[misc]
        if y is None:
            ends[0].append(x)
            break
        made.append((x, y))
        linked.update([(x, y), (y, x)] if len(ends) == 1 else [(x, y)])
    return made


def _taken(ends: list[int], bad: Callable[[int], object]) -> int | None:
    for place in range(len(ends) - 1, max(len(ends) - 1 - _REDRAWN, -1), -1):
        if not bad(ends[place]):
            return ends.pop(place)
    return None


def _fastest(room: _Room, share: Fraction, workload: Workload, seed: int) -> Grown | None:
    more = f", {100 * share}% of their lanes joined" if share else ""
    name = f"{room.nodes - room.old} nodes inserted{more}"
    rng = np.random.default_rng(seed)
    found: list[Grown] = []
    for _ in range(_TRIES):
        one = room.inserted(share, rng)
        if one is None:
            continue
        try:
            found.append(room.grown(name, *one, 0, workload))
        except DisconnectedError:
            continue
    if not found:
        return None
    best = min(found, key=lambda one: one.times)
    sides = 2 if room.duplex else 1
    links = int(best.topology.capacity.sum()) // sides
    return replace(best, at_least=max(links, len(room.patches)) - most_kept(room.existing, best.topology) // sides)
