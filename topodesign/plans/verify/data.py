"""Data checks: senders have their data, and goals are met.

Exact in both directions:

Copies. A vertex has some units of a block or not. Its source has all at the start. A send is possible if and only if
its sender has all units of the piece when it starts, and then the receiver has them when it ends. What arrives at an
instant can be sent on at that instant.

Sums. Every contribution of a member is a token, at its own node at the start. A send takes all tokens of its units
along
and brings them to the receiver. The sets of tokens at vertices and on their way are always disjoint, so nothing is lost
or counted twice *while no send is of an empty set*: sending a partial sum again, or to two neighbours at once, is a
send of nothing, and refused. All tokens are at the goal in the end if and only if every other vertex has none. So one
bit for each vertex and unit decides, and no set is ever stored.

A node may send a partial sum, receive more later and send that too. This is right, but it has to start a new sum: such
units are counted as ``refilled``; copies that arrive where they are already as ``redundant``. In pipelines neither may
be: a piece goes once to every node that needs it.

Where a block is added up and then copied, its goal can send on what is complete there.

Folds. An automorphism of the links takes a right movement of a block to one of the block's image. So all blocks are
right if those of the representatives are, once the generators are proven to be automorphisms.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import stable_order
from topodesign.base.errors import TooLargeError
from topodesign.collectives.collective import EVERYONE
from topodesign.plans.flow import Column, Flow
from topodesign.plans.verify.data_kernels import SHOWN, Blocks, Lacks, Sends, replay
from topodesign.plans.verify.verdict import Words, list_examples
from topodesign.topology.topology import IntArray

_MANY_CELLS = 2**26  # blocks times vertices from which a plan with too few sends is not replayed
_AT_ONCE = 2**15  # rows that are looked up at once
MAX_CELLS = 2**28  # segments of one block times vertices, one bit each


class DataFound(NamedTuple):
    """What the replay of data found."""

    problems: list[str]
    redundant: int
    refilled: int


def replay_data(flow: Flow, linked: NDArray[np.bool_]) -> DataFound:
    """Replay sends over existing links, block by block."""
    if flow.units * (1 if flow.sizes is None else int(flow.sizes.max())) >= 2**63:
        raise TooLargeError(f"blocks of {flow.units} units are too large to be counted; use fewer units")
    words = Words(flow)
    numbers = _select_blocks(flow)
    known = np.isin(flow.block, numbers)
    problems = words.sends(~flow.of_sends(known), "the collective has no such block", "sends of no block")
    beyond = known & (flow.hi > (flow.units if flow.sizes is None else flow.units_of(flow.block)))
    problems += words.sends(flow.of_sends(beyond), "the block has fewer units", "sends beyond the end of a block")
    order, sends = _sort(flow)
    blocks = _blocks_of(flow, numbers)
    _check_size(flow, blocks)
    least = _count_fewest_sends(blocks)
    if len(flow) < least and len(numbers) * flow.topology.nodes > _MANY_CELLS:  # too many to say what lacks
        size = f"{flow.collective} on {len(flow.members)} nodes"
        return DataFound([*problems, f"{len(flow)} sends cannot be enough: {size} takes at least {least}"], 0, 0)
    alive = linked[order]
    count = len(flow.movements)
    lacks = Lacks(
        np.zeros(count, dtype=np.int64),
        np.zeros((count, SHOWN, 4), dtype=np.int64),
        np.zeros(count, dtype=np.int64),
    )
    replay(sends, blocks, alive, lacks)
    if not alive.all():
        happens = np.ones(len(flow), dtype=np.bool_)
        happens[order] = alive
        late = linked & ~happens & flow.of_sends(known)
        why = "sends of what the sender does not have"
        problems += words.sends(late, lambda row: _explain_late(flow, words, row), why)
    for number, movement in enumerate(flow.movements):
        count = int(lacks.many[number])
        said = []
        for place, node, lo, hi in lacks.shown[number, : min(SHOWN, count)].tolist():
            what = words.units(lo, hi, int(numbers[place]))
            if movement.adds:
                goal = words.node(int(blocks.goal[number, place]))
                said.append(f"the partial sum of {what} at node {words.node(node)} never gets to node {goal}")
            else:
                said.append(f"node {words.node(node)} never gets {what}")
        problems += list_examples(said, count, "such pairs of block and node")
    adds = np.array([movement.adds for movement in flow.movements], dtype=np.bool_)
    found = DataFound(problems, int(lacks.extra[~adds].sum()), int(lacks.extra[adds].sum()))
    if flow.model == "chunks":
        problems += _pipeline_problems(flow, words, found)
    return found


def _select_blocks(flow: Flow) -> IntArray:
    """Return the replayed blocks: all, or representatives."""
    if flow.fold is None:
        return flow.blocks
    owner = flow.collective.owners(flow.blocks, flow.topology.nodes)
    return flow.blocks[np.isin(owner, np.array(flow.fold.representatives, dtype=np.int64))]


def _sort(flow: Flow) -> tuple[IntArray, Sends]:
    """Return the sends by block, movement and start."""
    block = flow.of_sends(flow.block)
    by_end = np.zeros(0, dtype=np.int64)
    steady = flow.model == "steps" or not np.any(flow.end - flow.start != 1)
    times = [flow.start[flow.part == at] for at in range(len(flow.movements))] if len(flow.movements) > 1 else []
    lasts = accumulate((int(one.max(initial=-1)) for one in times), max)
    steady &= all(bool(np.all(one > last)) for one, last in zip(times[1:], lasts, strict=False))
    if not steady:
        order = _order(block, flow.part, flow.start)
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        by_end = places[_order(block, flow.part, flow.end)]
    elif np.any(np.diff(flow.start) < 0):  # every send takes one instant, and movements follow one another
        order = np.argsort(flow.start, kind="stable")
        order = order[stable_order(block[order])]
    else:
        order = stable_order(block)
    ends = np.zeros(0, dtype=np.int64) if steady else flow.end
    columns = [flow.src, flow.dst, flow.part, flow.start, ends, flow.of_sends(flow.lo), flow.of_sends(flow.hi)]
    kinds = [np.int32] * 3 + [np.int64] * 4
    return order, Sends(*_arrange(columns, order, kinds), by_end)  # type: ignore[call-arg]  # seven of eight


def _arrange(
    columns: list[Column], order: IntArray, kinds: Sequence[type[np.signedinteger[Any]]]
) -> list[NDArray[Any]]:
    """Return columns of numbers from 0 in an order, those without any as they are.

    As many as fit are packed into one word, since looking up takes the time, and some rows at once, which stay in a
    processor's cache.
    """
    widths = [int(column.max(initial=0)).bit_length() for column in columns]
    groups, room = list[list[int]](), 0
    for at, width in enumerate(widths):
        if not width:  # all are 0, or there are none
            continue
        if width > room or not groups:
            groups, room = [*groups, []], 63
        groups[-1].append(at)
        room -= width
    found = [np.zeros(len(column), dtype=kind) for column, kind in zip(columns, kinds, strict=True)]
    parts = [slice(begin, begin + _AT_ONCE) for begin in range(0, len(order), _AT_ONCE)]
    word = np.empty(len(order), dtype=np.int64)
    for first, *others in groups:
        for rows in parts:
            some = columns[first][rows].astype(np.int64)
            for at in others:
                some <<= widths[at]
                some |= columns[at][rows]
            word[rows] = some
        for rows in parts:
            some = word[order[rows]]
            for at in reversed(others):
                found[at][rows] = some & ((1 << widths[at]) - 1)
                some >>= widths[at]
            found[first][rows] = some
    return found


def _order(block: Column, part: Column, instant: Column) -> IntArray:
    """Return the order by block, movement and instant."""
    parts, last = int(part.max(initial=0)) + 1, int(instant.max(initial=0)) + 1
    if (int(block.max(initial=0)) + 1) * parts * last >= 2**63:
        return np.lexsort((instant, part, block))
    key = block.astype(np.int64)
    key *= parts
    key += part
    key *= last
    key += instant
    return np.argsort(key, kind="stable")


def _blocks_of(flow: Flow, numbers: IntArray) -> Blocks:
    """Return the goals of blocks, and where their sends are in the order by block."""
    nodes = flow.topology.nodes
    source, goal = [], []
    for movement in flow.movements:
        start, end = flow.collective.places(movement, numbers, nodes)
        source.append(start)
        goal.append(end)
    team = flow.team
    owners = flow.collective.owners(numbers, nodes)
    group = team[owners]
    if flow.sizes is not None and np.any(group < 0):  # a switch owns it, which is in the group that its trees go over
        for at in np.flatnonzero(group < 0).tolist():
            rows = np.flatnonzero(flow.block[flow.piece] == numbers[at])
            ends = np.concatenate((team[flow.src[rows]], team[flow.dst[rows]]))
            group[at] = ends.max(initial=0)
    times = np.ones(len(numbers), dtype=np.int64)
    if flow.fold is not None:
        known = flow.fold.represented_by
        times = np.bincount(known[known >= 0], minlength=nodes)[owners]
    many = np.bincount(flow.of_sends(flow.block), minlength=int(numbers.max(initial=-1)) + 1)
    last = np.cumsum(many)
    bounds = np.stack((last - many, last), axis=1)[numbers]
    adds = np.array([movement.adds for movement in flow.movements], dtype=np.bool_)
    return Blocks(
        bounds, flow.units_of(numbers), group, times, np.stack(source), np.stack(goal), adds, team.astype(np.int64)
    )


def _check_size(flow: Flow, blocks: Blocks) -> None:
    most = int(np.diff(blocks.bounds, axis=1).max(initial=0))
    pieces = min(int(blocks.units.max(initial=0)), 2 * most + 1)
    if pieces * flow.topology.nodes > MAX_CELLS:
        raise TooLargeError(f"{pieces} pieces of one block on {flow.topology.nodes} nodes are too many to replay")


def _count_fewest_sends(blocks: Blocks) -> int:
    """Return the minimum sends of each block."""
    members = np.bincount(blocks.team[blocks.team >= 0])[blocks.group]
    least = 0
    for adds, source, goal in zip(blocks.adds, blocks.source, blocks.goal, strict=True):
        alone = (goal >= 0) & (not adds)
        least += int((source != goal)[alone].sum()) + int((members[~alone] - 1).sum())
    return least


def _explain_late(flow: Flow, words: Words, row: int) -> str:
    """Describe what a sender lacks, and when it comes."""
    node, piece = int(flow.src[row]), int(flow.piece[row])
    name = words.node(node)
    if flow.movements[int(flow.part[row])].adds:
        return f"node {name} has no partial sum of all of them to send then: it sent it before, or sends it twice"
    lo, hi = flow.lo[flow.piece], flow.hi[flow.piece]
    coming = (flow.dst == node) & (flow.part == flow.part[row]) & (flow.block[flow.piece] == flow.block[piece])
    coming &= (lo < flow.hi[piece]) & (flow.lo[piece] < hi)
    rows = np.flatnonzero(coming)
    late = rows[flow.end[rows] > flow.start[row]]
    why = f"node {name} does not have all of them then"
    if not len(rows):
        return f"{why}: nobody sends it any"
    if not len(late):
        return f"{why}: some are never sent to it"
    first = int(late[np.argmin(flow.end[late])])
    if flow.model == "chunks":
        return f"{why}: it waits for what {words.node(int(flow.src[first]))} sends it later"
    return f"{why}: it waits for node {words.node(int(flow.src[first]))}, which sends{words.describe_time(first)}"


def _pipeline_problems(flow: Flow, words: Words, found: DataFound) -> list[str]:
    """Describe wasted or impossible sends of pipelines.

    A vertex that is not in the group of a block only forwards: what it receives of a piece it sends on, once. Several
    times it may only do that if it copies or adds, as switches of some fabrics do.
    """
    problems = []
    nodes = flow.topology.nodes
    piece, src, dst = flow.piece.astype(np.int64), flow.src.astype(np.int64), flow.dst.astype(np.int64)
    part = flow.part.astype(np.int64)
    group = group_of_pieces(flow)[piece]
    adds = np.array([movement.adds for movement in flow.movements], dtype=np.bool_)[part]
    many = []  # of a piece at a vertex: a copy arrives, or a sum is sent, more than once
    for ends, some in ((dst, ~adds), (src, adds)):
        key = np.where(some, piece * nodes + ends, -1)
        _, place, count = np.unique(key, return_inverse=True, return_counts=True)
        many.append(some & (count[place.ravel()] > 1))
    home = np.zeros(len(flow), dtype=np.bool_)  # towards where it comes from
    lost = np.zeros(len(flow), dtype=np.bool_)  # of copies: to who neither wants it nor passes it on
    passes = np.isin(piece * nodes + dst, np.unique(piece * nodes + src))
    for number, movement in enumerate(flow.movements):
        source, goal = flow.collective.places(movement, flow.block[flow.piece].astype(np.int64), nodes)
        mine = part == number
        home |= mine & ((src == goal) if movement.adds else (dst == source))
        wanted = np.where(goal == EVERYONE, flow.team[dst] == group, dst == goal)
        lost |= mine & ~wanted & ~passes & (not movement.adds)
    problems += words.sends(many[0] & ~home, "its receiver gets the piece several times", "such sends")
    problems += words.sends(many[1] & ~home, "its sender sends the piece several times", "such sends")
    problems += words.sends(home, "the node has all of it from the start, or adds it up", "such sends")
    if not problems and (found.redundant or found.refilled):
        problems.append("pieces overlap: some units arrive twice at a node")
    problems += words.sends(lost & ~home, "its receiver takes no part, and does not pass it on", "such sends")
    able = np.zeros((2, nodes), dtype=np.bool_)
    able[0, list(getattr(flow.place, "multicast", ()))] = True
    able[1, list(getattr(flow.place, "aggregation", ()))] = True
    for power, near, some in (("copy", src, ~adds), ("add", dst, adds)):
        key = np.where(some, piece * nodes + near, -1)
        _, place, count = np.unique(key, return_inverse=True, return_counts=True)
        bad = some & (count[place.ravel()] > 1) & (flow.team[near] != group) & ~able[int(power == "add"), near]
        problems += words.sends(
            bad, f"it is one of several at a switch, of which nothing says that it can {power}", "such sends"
        )
    return problems


def group_of_pieces(flow: Flow) -> IntArray:
    """Return the group of every piece, by owner or nodes."""
    team = flow.team
    group = team[flow.collective.owners(flow.block, flow.topology.nodes)].astype(np.int64)
    if np.any(group < 0):
        found = np.full(len(flow.block), -1, dtype=np.int64)
        np.maximum.at(found, flow.piece, np.maximum(team[flow.src], team[flow.dst]))
        group = np.where(group >= 0, group, np.maximum(found, 0))
    return group
