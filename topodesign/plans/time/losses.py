"""Effects of failed links: lost sends and missing data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import ParameterError
from topodesign.collectives.collective import EVERYONE
from topodesign.plans.flow import Flow
from topodesign.plans.time.clock import find_cells
from topodesign.plans.time.clock_kernels import replay_sends, trace_back
from topodesign.topology.topology import Topology

Link = tuple[int, int]
Flags = NDArray[np.bool_]
_SHOWN = 8  # pairs that are printed


@dataclass(frozen=True, eq=False)
class Loss:
    """The effect of failed links on an otherwise right schedule.

    A send happens as a whole or not at all: not if its link failed, nor if its sender lacks any of its data. In a
    reduction a partial sum that cannot be sent stays where it is, and other sums go on without it.
    """

    links: tuple[Link, ...]  # the failed links
    rows: NDArray[np.int64]  # sends that cannot happen, by their numbers in the flow, ascending
    # shape ``(pairs, 2)``, sorted: (block, node) such that the node never has the complete block; in a reduce-scatter
    # or reduce such that the node's contribution to the block never arrives, at least in part
    pairs: NDArray[np.int64]
    reduces_only: bool  # whether it is a reduce-scatter

    def __str__(self) -> str:
        return self.describe(str)

    def describe(self, name: Callable[[int], str]) -> str:
        """Return the same with other names of nodes."""
        failed = ", ".join(f"{name(u)}->{name(v)}" for u, v in self.links)
        if not len(self.pairs):
            return f"without {failed} the collective completes all the same; {len(self.rows)} sends do not happen"
        count = f"{len(self.pairs)} pairs of owner and node never complete"
        lines = [f"without {failed} {len(self.rows)} sends cannot happen; {count}:"]
        for owner, node in self.pairs[:_SHOWN].tolist():
            what = f"the contribution of node {name(node)} to" if self.reduces_only else f"node {name(node)} never has"
            lines.append(f"  {what} shard {name(owner)}{' is lost' if self.reduces_only else ''}")
        if len(self.pairs) > _SHOWN:
            lines.append(f"  ... and {len(self.pairs) - _SHOWN} more")
        return "\n".join(lines)


def find_loss(flow: Flow, failed: Iterable[Link]) -> tuple[Loss, Flags]:
    """Return the loss of failed links, and which sends happen."""
    topology, team, failed = flow.topology, flow.team, tuple(sorted(set(failed)))
    send, link = flow.find_links()
    alive = np.ones(len(flow), dtype=np.bool_)
    alive[send[np.isin(link, [find_link(topology, pair) for pair in failed])]] = False
    cells = find_cells(flow)
    keys = np.arange(cells.number) if cells.used is None else cells.used
    node, segment = np.divmod(keys, len(cells.block))
    own = team[flow.collective.owners(cells.block, topology.nodes)]
    complete = cells.real.copy()
    for part, movement in enumerate(flow.movements):
        rows = np.flatnonzero(flow.part == part)
        source, goal = flow.collective.places(movement, cells.block, topology.nodes)
        columns = cells.sent[rows], cells.received[rows], cells.count[rows]
        time, starts = np.concatenate((flow.end[rows], flow.start[rows])), np.repeat([0, 1], len(rows))
        events = np.lexsort((starts, time))
        events = events % max(1, len(rows)) * 2 + starts[events]
        goes = alive[rows]
        if movement.adds:
            has = team[node] == own[segment]
            replay_sends(True, events, *columns, has, goes)
            has = node == goal[segment]
            offset = np.cumsum(columns[2]) - columns[2]
            trace_back(events, *columns, offset, np.zeros(int(columns[2].sum()), dtype=np.bool_), has, goes)
        else:
            has = (node == source[segment]) & complete[segment]
            replay_sends(False, events, *columns, has, goes)
        alive[rows] = goes
        every = movement.adds | (goal == EVERYONE)
        wanted = np.flatnonzero(every & cells.real), flow.members
        at, who = np.repeat(wanted[0], len(wanted[1])), np.tile(wanted[1], len(wanted[0]))
        near = team[who] == own[at]
        single = np.flatnonzero(~every & cells.real)
        at, who = np.concatenate((at[near], single)), np.concatenate((who[near], goal[single]))
        cell = cells.find(who, at)
        there = (who == (goal if movement.adds else source)[at]) & complete[at]  # without any send
        there[cell >= 0] = has[cell[cell >= 0]]
        at, who = at[~there], who[~there]
        complete[at] = False
    pairs = np.unique(np.stack((cells.block[at], who), axis=1), axis=0).astype(np.int64).reshape(-1, 2)
    return Loss(failed, np.flatnonzero(~alive), pairs, not flow.collective.copies), alive


def find_link(topology: Topology, pair: Link) -> int:
    """Return the index of a link."""
    link = int(topology.link_index(*pair))
    if link < 0 or pair[0] == pair[1]:
        raise ParameterError(f"the topology has no link {pair[0]}->{pair[1]}")
    return link
