"""Messages and sums of every rank from a plan.

In steps: all that a link carries in a step is one message. A rank's sends of a step wait for all that it has received,
added and sent in its steps before, so that every rank keeps the order of the steps, and no rank waits for one that it
does not hear from. So a step ends no later than in lock-step, whatever the network.

By a clock: a message waits for what brought its data, and, where the plan has a link carry one message at a time, for
the send before it on its link.

Trees and paths are unrolled into rounds, and switches are omitted: ranks are the nodes that compute, in their order.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import numpy as np

from topodesign.base.arrays import distinct
from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.compiler.columns import Columns
from topodesign.compiler.ir import Act, CallLinks, Messages, Operation
from topodesign.plans.flow import Clock
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import block_amounts, list_rank_rounds, list_relays, list_transfers
from topodesign.plans.step_ops import is_lean, prune
from topodesign.plans.transfers import Transfers, message_table, transfers_of_flow

MAX_MESSAGES = 2**21  # of all ranks; more take too long, and too much memory in the simulators

_Places = tuple[int, ...]  # of operations in the list of a rank


def messages_of(plan: Plan, parts: int = 1) -> Messages:
    """Return the sends, receives and sums of every rank.

    * ``plan``: any plan of one collective among all nodes that compute.
    * ``parts``: of trees: parts of the data of a tree that follow one another.
    """
    if len(list_relays(plan)):
        raise InfeasibleError("no trace lets a switch copy or add; make the schedule with --algorithm forest")
    rounds = list_rank_rounds(plan, parts if plan.trees is not None else 1, padded=True)
    if rounds.topology.switches:
        raise ScheduleError("rounds of ranks have no switches")
    amounts = block_amounts(plan)
    if amounts is not None:
        made = messages_of_transfers(transfers_of_flow(rounds))
        return replace(made, units=rounds.units // max(amounts), amounts=amounts)
    lean = is_lean(rounds)
    if plan.model == "clock" and not plan.topology.switches and lean:
        return messages_of_transfers(list_transfers(plan)[0], plan.flow.timing)
    return messages_of_transfers(transfers_of_flow(rounds if lean else prune(rounds)))


def messages_of_transfers(transfers: Transfers, clock: Clock | None = None) -> Messages:
    """Return the messages of lean transfers, stepped or timed."""
    table = message_table([transfers])
    if len(table.src) > MAX_MESSAGES:
        raise InfeasibleError(
            f"{len(table.src)} messages are too many for traces (at most {MAX_MESSAGES}); use a smaller N"
        )
    table = table.at(np.lexsort((table.dst, table.src, table.end, table.start)))
    rows = table.rows[1:].T.tolist()
    data = [rows[low:high] for low, high in pairwise(table.first.tolist())]
    src, dst, adds = table.src.tolist(), table.dst.tolist(), table.adds.tolist()
    start, end = table.start.tolist(), table.end.tolist()
    # A send starts before it ends, so in the order of ends and starts all that it waits for is there already.
    events = sorted([(now, 0, at) for at, now in enumerate(end)] + [(now, 1, at) for at, now in enumerate(start)])
    ranks = [_Rank(clock) for _ in range(transfers.ranks)]
    for now, starts, number in events:
        if starts:
            ranks[src[number]].send(number, dst[number], data[number], now)
        else:
            ranks[dst[number]].receive(number, data[number], adds=bool(adds[number]))
    ends, own = None, None
    steps = distinct(np.array(end, dtype=np.int64))
    if clock is None:
        most = np.zeros(len(steps), dtype=np.int64)
        np.maximum.at(most, np.searchsorted(steps, end), table.amounts)
        ends = tuple(most.tolist())
    else:
        unit = clock.size / (transfers.units * transfers.shards)
        alphas = tuple(clock.tick * ticks for ticks in clock.latency.tolist())
        own = CallLinks(clock.size, alphas, tuple(unit / (clock.tick * ticks) for ticks in clock.per_unit.tolist()))
    return Messages(
        transfers.collective,
        inplace=False,
        protocol="Simple",
        chunks=transfers.units * transfers.collective.shards(transfers.ranks),
        channels=1,
        columns=Columns.empty([0] * transfers.ranks),
        units=transfers.units,
        table=table,
        operations=tuple(tuple(rank.operations) for rank in ranks),
        ends=ends,
        adding=0 if clock else len({step for step, adding in zip(end, adds, strict=True) if adding}),
        own=own,
    )


class _Rank:
    """Operations of one rank, with pending dependencies."""

    def __init__(self, clock: Clock | None) -> None:
        self.operations: list[Operation] = []
        self._clock = clock
        self._there: dict[int, list[tuple[int, int, int]]] = defaultdict(list)  # by block, with its place
        self._previous: dict[int, int] = {}  # by receiver
        # in steps: places of what has come, and of what was sent, since the step of the last sends; and before that
        self._data, self._control = list[int](), list[int]()
        self._step = -1
        self._before: tuple[_Places, _Places] = ((), ())

    def receive(self, number: int, data: list[list[int]], *, adds: bool) -> None:
        """Append a receive and, if ``adds``, its sum."""
        self.operations.append(Operation(Act.RECEIVE, number))
        if adds:
            self.operations.append(Operation(Act.ADD, number, (len(self.operations) - 1,)))
        place = len(self.operations) - 1
        self._data.append(place)
        if self._clock is not None:
            for block, lo, hi in data:
                self._there[block].append((lo, hi, place))

    def send(self, number: int, peer: int, data: list[list[int]], now: int) -> None:
        """Append the send of a message after its dependencies."""
        place = len(self.operations)
        if self._clock is None:
            if self._step != now:
                self._before = tuple(self._data), tuple(self._control)
                self._step, self._data, self._control = now, [], []
            self._control.append(place)
            self.operations.append(Operation(Act.SEND, number, *self._before))
            return
        there = [(one, lo, hi) for block, lo, hi in data for one in self._there[block]]
        brings = tuple(dict.fromkeys(at for (low, high, at), lo, hi in there if low < hi and lo < high))
        before, control = self._previous.get(peer), _Places()
        if before is not None:
            earlier = self.operations[before]
            control = (*earlier.data, *earlier.control) if self._clock.overlap else (before,)
        self._previous[peer] = place
        self.operations.append(Operation(Act.SEND, number, brings, tuple(one for one in control if one not in brings)))
