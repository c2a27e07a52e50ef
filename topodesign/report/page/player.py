"""A plan as frames to play on a drawing: what each link carries when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import InfeasibleError, ScheduleError, TooLargeError
from topodesign.collectives.collective import EVERYONE, Collective
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_ways
from topodesign.plans.time.models import list_moments
from topodesign.report.charts.chart import Drawing
from topodesign.report.page.parts import Block, Compact, Played, Sends
from topodesign.topology.topology import IntArray

MAX_NODES = 64  # nodes of a plan that is played
MAX_SENDS = 12_000  # sends that are played; of a plan with more, those of one node's data are
MAX_FRAMES = 500
_MAX_CELLS = 2**21  # parts of blocks at all nodes


class _Sends(NamedTuple):
    """Sends between two instants each, with all instants and blocks."""

    columns: dict[str, IntArray]
    instants: tuple[str, ...]  # what to call the time after each instant but the last
    units: int
    routes: dict[tuple[int, int], tuple[int, ...]]  # vertices on the way of sends that are not over one link
    note: str


def player_of(plan: Plan, drawing: Drawing) -> Played | None:
    """Return the data to play a plan on a drawing, or None if too large.

    Of trees the first chunks are shown.
    """
    topology, collective = plan.topology, plan.collective
    if len(plan.fabric.compute) > MAX_NODES or topology.nodes > 2 * MAX_NODES:
        return None
    try:
        found = _sends(plan)
    except (InfeasibleError, TooLargeError, ScheduleError):
        return None
    if found is None or not 0 < len(found.instants) <= MAX_FRAMES:
        return None
    members = collective.members(topology.nodes, topology.switches)
    blocks = collective.blocks(members, topology.nodes)
    columns, note = found.columns, found.note
    if len(columns["from"]) > MAX_SENDS:
        owners = collective.owners(blocks, topology.nodes)
        blocks = blocks[owners == owners[0]]
        kept = np.isin(columns["block"], blocks)
        columns = {name: column[kept] for name, column in columns.items()}
        note = f"the data of {plan.fabric.names[owners[0]]} alone are shown; those of the others go likewise. {note}"
    cuts = np.unique(np.concatenate((columns["low"], columns["high"], [0, found.units])))
    if len(columns["from"]) > MAX_SENDS or topology.nodes * len(blocks) * len(cuts) > _MAX_CELLS:
        return None
    pairs, path = np.unique(np.stack((columns["src"], columns["dst"])), axis=1, return_inverse=True)
    ways = [found.routes.get((u, v), (u, v)) for u, v in pairs.T.tolist()]
    names = plan.fabric.names
    start, end = collective.movements[0], collective.movements[-1]
    first = _find_members(collective, start, blocks, topology.nodes, 0)
    last = _find_members(collective, end, blocks, topology.nodes, 1)
    called = [_block_name(collective, block, names) for block in blocks.tolist()]
    return Played(
        f"{collective} on {plan.spec or plan.fabric.name}",
        Compact(drawing),
        members,
        tuple(map(Block, called, first, last)),
        collective.reduces,
        found.units,
        cuts,
        found.instants,
        tuple(ways),
        Sends(
            columns["from"],
            columns["to"],
            path.ravel(),
            np.searchsorted(blocks, columns["block"]),
            np.searchsorted(cuts, columns["low"]),
            np.searchsorted(cuts, columns["high"]),
            columns["add"],
        ),
        note,
    )


def _block_name(collective: Collective, block: int, names: Sequence[str]) -> str:
    if collective.pairwise:
        return f"{names[block // len(names)]}\u2192{names[block % len(names)]}"
    return names[block]


def _find_members(
    collective: Collective, movement: Any, blocks: NDArray[np.int64], nodes: int, place: int
) -> list[list[int] | None]:
    """Return the nodes with each block at one end; None for all members."""
    where = collective.places(movement, blocks, nodes)[place].tolist()
    if collective.groups is None:
        return [None if node == EVERYONE else [node] for node in where]
    team = collective.teams(nodes)
    own = team[collective.owners(blocks, nodes)].tolist()
    return [
        np.flatnonzero(team == number).tolist() if node == EVERYONE else [node]
        for node, number in zip(where, own, strict=True)
    ]


def _sends(plan: Plan) -> _Sends | None:
    if plan.collective.several:
        return None
    flow, instants, names, note = list_moments(plan)
    adds = np.array([movement.adds for movement in flow.movements])
    columns = {
        "from": np.searchsorted(instants, flow.start),
        "to": np.searchsorted(instants, flow.end),
        "src": flow.src,
        "dst": flow.dst,
        "block": flow.of_sends(flow.block),
        "low": flow.of_sends(flow.lo),
        "high": flow.of_sends(flow.hi),
        "add": adds[flow.part],
    }
    wide = {name: column.astype(np.int64) for name, column in columns.items()}
    return _Sends(wide, names, flow.units, list_ways(plan), note)
