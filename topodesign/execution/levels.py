"""Static check of rank programs for deadlock, message mix-ups and wiring."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

import numpy as np

from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.execution.program import Message, Program
from topodesign.topology.topology import Topology


def check_programs(programs: Sequence[Program], neighbours: Collection[tuple[int, int]]) -> None:
    """Reject batches that may deadlock, mix messages up, or leave the wiring.

    So the levels of a rank ascend, every message is sent and received once, and both ends of a pair agree in levels,
    order and content. ``neighbours`` are pairs (from, to) that a link joins.
    """
    ends: dict[tuple[int, int], tuple[list[tuple[int, Message]], list[tuple[int, Message]]]] = {}
    _check_meetings(programs)
    for program in programs:
        script = program.script
        if any(second.level <= first.level for first, second in pairwise(script)):
            raise ScheduleError(f"the levels of rank {program.rank} do not ascend")
        wanted = (program.sends, program.receives, program.receives, program.sums)
        for name, all_of in zip(("sends", "receives", "places", "sums"), wanted, strict=True):
            if sorted(at for batch in script for at in getattr(batch, name)) != list(range(len(all_of))):
                raise ScheduleError(f"rank {program.rank} does not have each of what it {name} once")
        level_of = {at: batch.level for batch in script for at in batch.receives}
        if any(batch.level < level_of[at] for batch in script for at in batch.places):
            raise ScheduleError(f"rank {program.rank} uses a message before it has come")
        for batch in script:
            for at in batch.sends:
                pair = (program.rank, program.sends[at].peer)
                ends.setdefault(pair, ([], []))[0].append((batch.level, program.sends[at]))
            for at in batch.receives:
                pair = (program.receives[at].peer, program.rank)
                ends.setdefault(pair, ([], []))[1].append((batch.level, program.receives[at]))
    for (source, target), (sent, received) in ends.items():
        if (source, target) not in neighbours:
            raise InfeasibleError(f"the plan sends from rank {source} to rank {target}, which no link joins")
        if len(sent) != len(received) or not all(map(_alike, sent, received)):
            raise ScheduleError(f"what rank {source} sends and what rank {target} receives from it is not the same")


def _check_meetings(programs: Sequence[Program]) -> None:
    if len({tuple((one.level, one.phase) for one in program.script if one.phase) for program in programs}) > 1:
        raise ScheduleError("ranks do not wait for each other at the same levels")


def _alike(sent: tuple[int, Message], received: tuple[int, Message]) -> bool:
    """Return whether both message ends agree in level and data."""
    (level, one), (other_level, other) = sent, received
    columns = ("stream", "block", "lo", "hi")
    same = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)
    return level == other_level and one.adds == other.adds and same


def neighbours_of(topology: Topology) -> frozenset[tuple[int, int]]:
    """Return rank pairs joined by a link or through switches."""
    after: dict[int, list[int]] = defaultdict(list)
    for source, target in zip(topology.src.tolist(), topology.dst.tolist(), strict=True):
        after[source].append(target)
    rank = {node: number for number, node in enumerate(sorted(set(range(topology.nodes)) - topology.switches))}

    def reached(start: int) -> Iterable[int]:
        seen, stack = {start}, [start]
        while stack:
            for node in after[stack.pop()]:
                if node not in seen:
                    seen.add(node)
                    if node in topology.switches:
                        stack.append(node)
                    else:
                        yield node

    return frozenset((rank[node], rank[other]) for node in rank for other in reached(node))
