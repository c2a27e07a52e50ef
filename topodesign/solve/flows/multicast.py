"""Concurrent multicast groups over shared links in minimum time, exact.

Each group has a part of every link's capacity. Spanning trees of a group that reach a rate exist if and only if the
part lets a flow of this rate from every root to every member (Edmonds; with nodes that only pass on, if as much of the
part leads into them as out of them: ForestColl, Theorem 5 and section 5.3). So the best way to share the links is a
linear program: a part of every link for every group, and a flow within it to every member. The prices of its rows
prove that no way is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.solve.program import Entries, Program
from topodesign.topology.topology import IntArray, Topology

MOST_COLUMNS = 40_000  # of a linear program that is solved in fractions


@dataclass(frozen=True)
class Multicast:
    """Members, roots and amount of one group."""

    members: tuple[int, ...]  # nodes that all get everything
    roots: tuple[int, ...]  # members that have something at the start
    amount: int  # how much each root has


@dataclass(frozen=True, eq=False)
class SharedLinks:
    """Optimal shares of links for groups."""

    time: Fraction  # largest load of a link over its capacity; over spanning trees of the groups nothing has less
    load: tuple[tuple[Fraction, ...], ...]  # what each group sends over each link, shape ``(groups, links)``


def share_links(topology: Topology, groups: Sequence[Multicast], *, inside: bool = False) -> SharedLinks:
    """Return the shares of links for groups with minimum completion time.

    * ``topology``: links with capacities. Nodes that are no members of a group pass its data on, one copy for one copy.
    * ``groups``: what they do at the same time; those with one member do nothing.
    * ``inside``: whether only switches pass on, beside a group's own members.
    """
    nodes, links = topology.nodes, len(topology.src)
    busy = [group for group in groups if len(group.members) > 1]
    sinks = [(at, sink) for at, group in enumerate(busy) for sink in group.members]
    columns = (len(busy) + len(sinks)) * links + 1
    if columns > MOST_COLUMNS:
        raise TooLargeError(f"how {len(busy)} groups share {links} links has {columns} unknowns, too many to prove")
    program = Program()
    program.add_columns(1, cost=1)
    program.add_columns((len(busy) + len(sinks)) * links)
    link = np.arange(links)

    def part(at: int) -> IntArray:
        return 1 + at * links + link

    def flow(number: int) -> IntArray:
        return 1 + (len(busy) + number) * links + link

    way = topology.src, topology.dst
    for number, (at, sink) in enumerate(sinks):
        wanted = np.zeros(nodes, dtype=np.int64)
        wanted[list(busy[at].roots)] = -busy[at].amount
        wanted[sink] = 0
        wanted[sink] = -int(wanted.sum())
        _add_flow(program, way, flow(number), part(at), wanted)
    for at, group in enumerate(busy):
        if inside:
            program.change_columns(part(at)[_closed(topology, group.members)], upper=0)
        _add_balance(program, way, nodes, group.members, part(at))
    _add_limits(program, topology, [part(at) for at in range(len(busy))])
    if program.solve(interior=columns > 3000) != "optimal":
        raise InfeasibleError("some member of a group cannot be reached from another")
    proof = program.certificate()
    if not proof.proven:
        raise InfeasibleError("the solver finds no exact way to share the links")
    loads = iter([proof.columns[1 + at * links : 1 + (at + 1) * links] for at in range(len(busy))])
    nothing = (Fraction(0),) * links
    return SharedLinks(proof.columns[0], tuple(next(loads) if len(one.members) > 1 else nothing for one in groups))


_Way = tuple[IntArray, IntArray]  # where links start and end, in the direction in which data go out from roots


def _add_flow(program: Program, way: _Way, flow: IntArray, part: IntArray, wanted: IntArray) -> None:
    """Add rows for a flow within a share of the links."""
    src, dst = way
    kept = Entries(np.concatenate((dst, src)), np.tile(flow, 2), np.repeat((1, -1), len(flow)))
    kept = _without_loops(kept)
    program.add_rows(len(wanted), kept, lower=wanted, upper=wanted)
    link = np.arange(len(flow))
    within = Entries(np.tile(link, 2), np.concatenate((flow, part)), np.repeat((1, -1), len(flow)))
    program.add_rows(len(flow), within, upper=0)


def _closed(topology: Topology, members: Sequence[int]) -> NDArray[np.bool_]:
    """Mark the links that do not connect members and switches."""
    own = np.isin(np.arange(topology.nodes), [*members, *topology.switches])
    return ~(own[topology.src] & own[topology.dst])


def _add_balance(program: Program, way: _Way, nodes: int, members: Sequence[int], part: IntArray) -> None:
    """Add rows that balance a share at every non-member vertex."""
    others = np.ones(nodes, dtype=np.bool_)
    others[list(members)] = False
    row = np.cumsum(others) - 1
    ends = [(end[others[end]], part[others[end]], sign) for end, sign in zip(way, (-1, 1), strict=True)][::-1]
    balance = Entries(
        np.concatenate([row[end] for end, _, _ in ends]),
        np.concatenate([column for _, column, _ in ends]),
        np.concatenate([np.full(len(end), sign) for end, _, sign in ends]),
    )
    program.add_rows(int(others.sum()), _without_loops(balance), lower=0, upper=0)


def _add_limits(program: Program, topology: Topology, parts: Sequence[IntArray]) -> None:
    """Add rows that limit all shares by the link capacity."""
    links = len(topology.src)
    together = Entries(
        np.tile(np.arange(links), len(parts) + 1),
        np.concatenate([*parts, np.zeros(links, dtype=np.int64)]),
        np.concatenate((np.ones(len(parts) * links, dtype=np.int64), -topology.capacity)),
    )
    program.add_rows(links, together, upper=0)


def _without_loops(entries: Entries) -> Entries:
    """Remove pairs of entries that cancel, as for self-loops."""
    row, column, value = (np.asarray(part) for part in entries)
    order = np.lexsort((column, row))
    row, column, value = row[order], column[order], value[order]
    twice = np.zeros(len(row), dtype=np.bool_)
    same = (row[1:] == row[:-1]) & (column[1:] == column[:-1])
    twice[1:] |= same
    twice[:-1] |= same
    return Entries(row[~twice], column[~twice], value[~twice])
