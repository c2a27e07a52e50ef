"""Groups that broadcast or gather at once over shared links: the least time of all together, exact.

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

from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.solve.program import Entries, Program
from topodesign.topology.topology import IntArray, Topology

MOST_COLUMNS = 40_000
"""Of a linear program that is solved in fractions."""


@dataclass(frozen=True)
class Multicast:
    """What one group does.

    Attributes
    ----------
    members
        Nodes that all get everything.
    roots
        Members that have something at the start.
    amount
        How much each root has.
    """

    members: tuple[int, ...]
    roots: tuple[int, ...]
    amount: int


@dataclass(frozen=True, eq=False)
class SharedLinks:
    """How groups share links best.

    Attributes
    ----------
    time
        Largest load of a link over its capacity; over spanning trees of the groups nothing has less.
    load
        What each group sends over each link, shape ``(groups, links)``.
    """

    time: Fraction
    load: tuple[tuple[Fraction, ...], ...]


def share_links(topology: Topology, groups: Sequence[Multicast], *, inside: bool = False) -> SharedLinks:
    """Return how groups share the links of a topology so that all are done as early as can be.

    Parameters
    ----------
    topology
        Links with capacities. Nodes that are no members of a group pass its data on, one copy for one copy.
    groups
        What they do at the same time; those with one member do nothing.
    inside
        Whether only switches pass on, beside a group's own members.

    Raises
    ------
    InfeasibleError
        If some member cannot be reached, or the solver finds no exact solution.
    TooLargeError
        If there are too many members and links.
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

    for number, (at, sink) in enumerate(sinks):
        wanted = np.zeros(nodes, dtype=np.int64)
        wanted[list(busy[at].roots)] = -busy[at].amount
        wanted[sink] = 0
        wanted[sink] = -int(wanted.sum())
        kept = Entries(
            np.concatenate((topology.dst, topology.src)), np.tile(flow(number), 2), np.repeat((1, -1), links)
        )
        program.add_rows(nodes, _without_loops(kept), lower=wanted, upper=wanted)
        within = Entries(np.tile(link, 2), np.concatenate((flow(number), part(at))), np.repeat((1, -1), links))
        program.add_rows(links, within, upper=0)
    for at, group in enumerate(busy):
        if inside:
            own = np.isin(np.arange(nodes), [*group.members, *topology.switches])
            closed = ~(own[topology.src] & own[topology.dst])
            program.change_columns(part(at)[closed], upper=0)
        others = np.ones(nodes, dtype=np.bool_)
        others[list(group.members)] = False
        row = np.cumsum(others) - 1
        ends = [
            (end[others[end]], part(at)[others[end]], sign) for end, sign in ((topology.dst, 1), (topology.src, -1))
        ]
        balance = Entries(
            np.concatenate([row[end] for end, _, _ in ends]),
            np.concatenate([column for _, column, _ in ends]),
            np.concatenate([np.full(len(end), sign) for end, _, sign in ends]),
        )
        program.add_rows(int(others.sum()), _without_loops(balance), lower=0, upper=0)
    together = Entries(
        np.tile(link, len(busy) + 1),
        np.concatenate([*(part(at) for at in range(len(busy))), np.zeros(links, dtype=np.int64)]),
        np.concatenate((np.ones(len(busy) * links, dtype=np.int64), -topology.capacity)),
    )
    program.add_rows(links, together, upper=0)
    if program.solve(interior=columns > 3000) != "optimal":
        raise InfeasibleError("some member of a group cannot be reached from another")
    proof = program.certificate()
    if not proof.proven:
        raise InfeasibleError("the solver finds no exact way to share the links")
    loads = iter([proof.columns[1 + at * links : 1 + (at + 1) * links] for at in range(len(busy))])
    nothing = (Fraction(0),) * links
    return SharedLinks(proof.columns[0], tuple(next(loads) if len(one.members) > 1 else nothing for one in groups))


def _without_loops(entries: Entries) -> Entries:
    """Return entries without pairs of the same place that cancel, as a self-loop has them."""
    row, column, value = (np.asarray(part) for part in entries)
    order = np.lexsort((column, row))
    row, column, value = row[order], column[order], value[order]
    twice = np.zeros(len(row), dtype=np.bool_)
    same = (row[1:] == row[:-1]) & (column[1:] == column[:-1])
    twice[1:] |= same
    twice[:-1] |= same
    return Entries(row[~twice], column[~twice], value[~twice])
