"""From a plan to the messages of every rank, in the plan's own steps or times.

Rounds: all that a link carries in a step is one message. A rank's sends of a step wait for all that it has received,
added and sent in its steps before, so that every rank keeps the order of the steps, and no rank waits for one that it
does not hear from. So a step ends no later than in lock-step, whatever the network.

Timed sends: each is one message. It waits for what brought its data, and, where the plan has a link carry one message
at a time, for the send before it on its link.

Trees and paths are unrolled into rounds, and switches are omitted: ranks are the nodes that compute, in their order.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.collectives import Collective
from topodesign.compiler.frontends.permutations import check_right
from topodesign.compiler.ir import Act, Message, Messages, Operation, Own, RankProgram
from topodesign.plans.kinds import kind_of
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import is_lean, prune
from topodesign.plans.timed import Timed

MOST_MESSAGES = 2**21  # of all ranks; more take too long, and too much memory in the simulators


def messages_of(plan: Plan, parts: int = 1) -> Messages:
    """Return what every rank sends, receives and adds.

    * ``plan``: any plan of one collective among all nodes that compute.
    * ``parts``: of trees: parts of the data of a tree that follow one another.
    """
    kind = kind_of(plan)
    if len(kind.relays):
        raise InfeasibleError("no trace lets a switch copy or add; make the schedule with --algorithm forest")
    check_right(plan)
    topology, rounds = kind.on_ranks(parts) if kind.program == "trees" else kind.padded()
    if kind.amounts is not None:
        made = messages_of_rounds(rounds, len(topology.switches))
        return replace(made, units=rounds.units // max(kind.amounts), amounts=kind.amounts)
    if kind.streams and not plan.topology.switches and is_lean(rounds):
        return _of_timed(kind.streams[0])
    return messages_of_rounds(rounds if is_lean(rounds) else prune(rounds), len(topology.switches))


def _program(
    collective: Collective,
    ranks: int,
    units: int,
    messages: list[Message],
    operations: list[list[Operation]],
    *,
    ends: tuple[int, ...] | None = None,
    adding: int = 0,
    own: Own | None = None,
) -> Messages:
    return Messages(
        collective,
        inplace=False,
        protocol="Simple",
        chunks=units * collective.shards(ranks),
        channels=1,
        ranks=(RankProgram((), 0),) * ranks,
        units=units,
        messages=tuple(messages),
        operations=tuple(map(tuple, operations)),
        ends=ends,
        adding=adding,
        own=own,
    )


def _check_many(count: int) -> None:
    if count > MOST_MESSAGES:
        raise InfeasibleError(f"{count} messages are too many for traces (at most {MOST_MESSAGES}); use a smaller N")


def _joined(rows: list[tuple[int, int, int]]) -> tuple[tuple[int, int, int], ...]:
    """Return intervals of blocks, in order, with neighbours made one."""
    found: list[tuple[int, int, int]] = []
    for block, lo, hi in rows:
        if found and found[-1][0] == block and found[-1][2] == lo:
            found[-1] = (block, found[-1][1], hi)
        else:
            found.append((block, lo, hi))
    return tuple(found)


def messages_of_rounds(rounds: Rounds, switches: int = 0) -> Messages:
    """Return the messages of rounds, in which nothing moves in vain."""
    if switches:
        raise ScheduleError("rounds of ranks have no switches")
    order = np.lexsort((rounds.lo, rounds.block, rounds.dst, rounds.src, rounds.step))
    columns = [getattr(rounds, name)[order].tolist() for name in ("step", "src", "dst", "block", "lo", "hi")]
    rows: dict[tuple[int, int, int], list[tuple[int, int, int]]] = defaultdict(list)
    for step, src, dst, block, lo, hi in zip(*columns, strict=True):
        rows[step, src, dst].append((block, lo, hi))
    _check_many(len(rows))
    last = len(rounds.collective.movements) - 1
    messages: list[Message] = []
    steps: dict[int, list[int]] = defaultdict(list)
    for (step, src, dst), data in rows.items():
        steps[step].append(len(messages))
        messages.append(Message(src, dst, 0 if step <= rounds.reduce_steps else last, _joined(data)))
    operations: list[list[Operation]] = [[] for _ in range(rounds.nodes)]
    before: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), ())] * rounds.nodes
    for step, numbers in steps.items():
        _add_step(messages, numbers, operations, before, adds=step <= rounds.reduce_steps)
    ends = tuple(max(messages[number].units for number in numbers) for numbers in steps.values())
    adding = sum(step <= rounds.reduce_steps for step in steps)
    return _program(rounds.collective, rounds.nodes, rounds.units, messages, operations, ends=ends, adding=adding)


def _add_step(
    messages: list[Message],
    numbers: list[int],
    operations: list[list[Operation]],
    before: list[tuple[tuple[int, ...], tuple[int, ...]]],
    *,
    adds: bool,
) -> None:
    """Append what all ranks do in a step, and note what their next step waits for: data, and sends."""
    arrived: dict[int, list[int]] = defaultdict(list)
    sent: dict[int, list[int]] = defaultdict(list)
    for number in numbers:
        src, dst = messages[number].src, messages[number].dst
        sent[src].append(len(operations[src]))
        operations[src].append(Operation(Act.SEND, number, *before[src]))
        place = _receive(operations[dst], number, adds=adds)
        arrived[dst].append(place)
    for rank in {*arrived, *sent}:
        data, control = before[rank]
        # Sends have waited for all that was before them; where there are none, the next step does.
        kept = (data, control) if rank not in sent else ((), ())
        before[rank] = (*kept[0], *arrived[rank]), (*kept[1], *sent[rank])


def _receive(operations: list[Operation], number: int, *, adds: bool) -> int:
    """Append that a message is received, and added where it is so; return what has to be waited for."""
    operations.append(Operation(Act.RECEIVE, number))
    if adds:
        operations.append(Operation(Act.ADD, number, (len(operations) - 1,)))
    return len(operations) - 1


def _of_timed(timed: Timed) -> Messages:
    _check_many(len(timed))
    unit = timed.size / (timed.units * timed.collective.shards(timed.nodes))
    own = Own(
        timed.size,
        tuple(timed.tick * ticks for ticks in timed.latency.tolist()),
        tuple(unit / (timed.tick * ticks) for ticks in timed.per_unit.tolist()),
    )
    order = np.lexsort((timed.lo, timed.block, timed.dst, timed.src, timed.end, timed.start))
    names = ("start", "end", "part", "src", "dst", "block", "lo", "hi")
    rows = list(zip(*(getattr(timed, name)[order].tolist() for name in names), strict=True))
    adding = [movement.adds for movement in timed.collective.movements]
    messages = [Message(src, dst, part, ((block, lo, hi),)) for _, _, part, src, dst, block, lo, hi in rows]
    # A send starts before it ends, so in the order of starts and ends all that it waits for is there already.
    events = sorted(
        [(row[1], 0, number) for number, row in enumerate(rows)] + [(row[0], 1, n) for n, row in enumerate(rows)]
    )
    operations: list[list[Operation]] = [[] for _ in range(timed.nodes)]
    there: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
    previous: dict[tuple[int, int], int] = {}
    for _, starts, number in events:
        _, _, part, src, dst, block, lo, hi = rows[number]
        if not starts:
            there[dst, block].append((lo, hi, _receive(operations[dst], number, adds=adding[part])))
            continue
        data = tuple(place for low, high, place in there[src, block] if low < hi and lo < high)
        before = previous.get((src, dst))
        control: tuple[int, ...] = ()
        if before is not None:
            earlier = operations[src][before]
            control = (*earlier.data, *earlier.control) if timed.overlap else (before,)
        previous[src, dst] = len(operations[src])
        operations[src].append(Operation(Act.SEND, number, data, tuple(one for one in control if one not in data)))
    return _program(timed.collective, timed.nodes, timed.units, messages, operations, own=own)
