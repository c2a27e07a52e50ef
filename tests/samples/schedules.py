"""Small random schedules for the tests: right by construction, and not the work of any scheduler of the package."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.collectives import Collective as Value
from topodesign.collectives import as_collective
from topodesign.plans.build import build_steps
from topodesign.plans.flow import PIECES, SENDS, Flow
from topodesign.topology.topology import Topology

Collective = str
COLLECTIVES: tuple[Collective, ...] = ("allgather", "reduce-scatter", "allreduce")
Row = tuple[int, int, int, int, int, int]
Random = np.random.Generator
COLUMNS = ("step", "src", "dst", "block", "lo", "hi")


def from_columns(
    collective: Value, place: Topology | int, units: int, steps: int, reduce_steps: int | None, *columns: Any
) -> Flow:
    """The rounds of these columns; on the links that they use, of a number of nodes."""
    return build_steps(collective, place, units, steps, [columns], reduce_steps=reduce_steps)


def with_columns(flow: Flow, **changes: Any) -> Flow:
    """The same with other columns of its rows."""
    columns = (changes.get(name, getattr(flow, name)) for name in COLUMNS)
    made = from_columns(flow.collective, flow.place, flow.units, flow.steps, flow.reduce_steps, *columns)  # type: ignore[arg-type]
    return made.having(fold=flow.fold, circuits=flow.circuits)


def make(
    collective: Value | Collective,
    nodes: int,
    units: int,
    rows: Iterable[Row],
    *,
    steps: int,
    reduce_steps: int | None = None,
) -> Flow:
    table = np.array(list(rows), dtype=np.int64).reshape(-1, 6)
    middle = {"allgather": 0, "reduce-scatter": steps}.get(str(collective), reduce_steps)
    return from_columns(as_collective(collective), nodes, units, steps, middle or 0, *table.T)


def rows_of(schedule: Flow) -> list[Row]:
    columns = (getattr(schedule, name).tolist() for name in COLUMNS)
    return list(zip(*columns, strict=True))


def random_digraph(random: Random, nodes: int, degree: int) -> Topology:
    """A ring, so that it is strongly connected, and random permutations; parallel links and self-loops occur."""
    order = random.permutation(nodes)
    links = list(zip(order.tolist(), np.roll(order, -1).tolist(), strict=True))
    for _ in range(degree - 1):
        links += list(enumerate(random.permutation(nodes).tolist()))
    return Topology.from_links(nodes, links)


def pieces(random: Random, units: int) -> list[tuple[int, int]]:
    ends = {0, units, *random.integers(0, units + 1, size=random.integers(0, 6)).tolist()}
    return list(pairwise(sorted(ends)))


def gather_rows(random: Random, topology: Topology, units: int, *, spare: bool = False) -> list[Row]:
    """Every piece of every shard spreads along random links, with random delays, to nodes that do not have it.

    With ``spare`` some nodes get it from two others at once, and some, the owner too, once more later.
    """
    links = [(u, v) for u, v, _ in topology.links() if u != v]
    rows = []
    for owner in range(topology.nodes):
        for lo, hi in pieces(random, units):
            since = {owner: 0}
            while len(since) < topology.nodes:
                u, v = links[random.integers(len(links))]
                if u in since and v not in since:
                    since[v] = since[u] + 1 + int(random.integers(3) == 0)
                    rows.append((since[v], u, v, owner, lo, hi))
                    if spare:
                        others = [a for a, b in links if b == v and a != u and since.get(a, since[v]) < since[v]]
                        rows += [(since[v], a, v, owner, lo, hi) for a in others]
            if spare:
                u, v = links[random.integers(len(links))]
                rows.append((max(since[u], since[v]) + 1, u, v, owner, lo, hi))
    return rows


def token_rows(random: Random, topology: Topology, units: int) -> list[Row]:
    """Partial sums walk to the owner whenever a coin says so: a node may send, receive more, and send again."""
    after = {u: [v for v in topology.neighbours(u).tolist() if v != u] for u in range(topology.nodes)}
    rows = []
    for owner in range(topology.nodes):
        for lo, hi in pieces(random, units):
            full, step = set(range(topology.nodes)), 0
            while full != {owner}:
                step += 1
                senders = [u for u in full if u != owner and random.integers(2)]
                sends = [(u, after[u][random.integers(len(after[u]))]) for u in senders]
                rows += [(step, u, v, owner, lo, hi) for u, v in sends]
                full = (full - set(senders)) | {v for _, v in sends}
    return rows


def valid(random: Random, collective: Collective) -> tuple[Topology, Flow]:
    nodes, units = int(random.integers(2, 7)), int(random.integers(1, 7))
    topology = random_digraph(random, nodes, int(random.integers(1, 4)))
    gather = gather_rows(random, topology, units, spare=bool(random.integers(4) == 0))
    if random.integers(2):
        back = gather_rows(random, topology.transpose(), units)
        last = max(row[0] for row in back)
        reduction = [(last + 1 - t, v, u, w, lo, hi) for t, u, v, w, lo, hi in back]
    else:
        reduction = token_rows(random, topology, units)
    middle = max(row[0] for row in reduction)
    rows = {"allgather": gather, "reduce-scatter": reduction}.get(
        collective, reduction + [(t + middle, u, v, w, lo, hi) for t, u, v, w, lo, hi in gather]
    )
    steps = max(row[0] for row in rows)
    mixed = [rows[i] for i in random.permutation(len(rows))]
    made = make(collective, nodes, units, mixed, steps=steps, reduce_steps=middle)
    return topology, made.having(place=topology)


def flow_columns(flow: Flow) -> dict[str, NDArray[Any]]:
    """Return the columns of pieces and sends by name."""
    return {name: getattr(flow, name) for name in (*PIECES, *SENDS)}
