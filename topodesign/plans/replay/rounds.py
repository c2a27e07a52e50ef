"""The verifier: replays a schedule symbolically and says whether it does what its collective promises.

It shares no code with the schedulers. What it accepts is exact, in both directions:

Copies. A (node, unit) pair of one block is *held* or not. Its source holds all at the start; a send is possible if and
only if the sender holds all its units before the step, and then the receiver holds them. The collective is right if and
only if every send is possible and in the end every destination holds every unit. Deliveries of what is held already
change nothing; they are counted as redundant.

Sums. Every contribution (node, unit) to one block is a token, at its own node at the start; nodes that are no members
have none. A node's partial sum of a unit is the set of tokens it has. A send moves the sender's whole set to the
receiver, and the sender's partial is empty afterwards. By induction over the steps the sets of all nodes partition the
tokens at every time: each token is in exactly one, so nothing is lost or counted twice *while every send moves a set
that is not empty*. A send of an empty set is what is left of every way to count twice (sending a partial again, or to
two neighbours at once: the first send moves it, for the second there is nothing), and is refused. All tokens are then
at the destination if and only if every other node's set is empty. So one bit per (node, unit), "its set is not empty",
decides; no set is ever stored.

A node may send a partial, receive more later and send that too. This is right, but the receiver has to start a new sum:
adding to the old one would count it twice. Such units are counted as ``refilled``.

Units between two neighbouring interval ends of one block's rows have the same fate, so the bits are kept for these
segments. The work is at most rows times segments / 64 word operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from topodesign.base.cost import Cost
from topodesign.base.declared import Declared
from topodesign.base.errors import ScheduleError, TooLargeError
from topodesign.collectives import Collective
from topodesign.collectives.collective import EVERYONE
from topodesign.plans.replay.found import SHOWN, WASTED, Found, listed, wasteful
from topodesign.plans.rounds import Rounds
from topodesign.topology.topology import Topology

if TYPE_CHECKING:
    from topodesign.plans.replay.replay import Blocks, Rows

_AT_ONCE = 2**20  # rows that are looked at together
FEW_NODES = 2**13
"""Up to this many nodes a schedule that has too few rows to be right is replayed all the same, to say what lacks."""


@dataclass(frozen=True, slots=True)
class RoundsReport(Declared):
    """What the verifier found."""

    collective: Collective  # what it was checked to be
    # recomputed cost of the whole schedule; for an allreduce that of both phases together. Sends over links that do
    # not exist carry nothing in it
    cost: Cost
    # what is wrong, readable, at most ``SHOWN`` examples of each kind and the number of them
    problems: tuple[str, ...]
    # (node, unit) deliveries in the gather that the receiver already had: wasted bandwidth, no harm
    redundant: int = 0
    # (node, unit) deliveries in the reduction to a node that had already sent its partial sum of the unit: right, but
    # the receiver must start a new sum
    refilled: int = 0

    KEYS = ("*cost", *WASTED)

    @property
    def ok(self) -> bool:
        """Whether the schedule is right (and the claim, if one was made, true)."""
        return not self.problems

    def found(self) -> Found:
        """Return it as what is found of any plan."""
        cost = self.cost
        return Found(
            self.problems,
            {"steps": Fraction(cost.steps), "bandwidth": cost.bandwidth},
            self,
            f"{cost.steps} steps, y = {cost.bandwidth}",
            wasteful(self.redundant, self.refilled),
        )

    def __str__(self) -> str:
        """Return the verdict and the problems, one a line."""
        return self.found().said(self.collective)


def claimed_cost(claim: Mapping[str, Fraction]) -> Cost | None:
    """Return what a plan of steps claims to cost, if it claims all of it."""
    if {"steps", "bandwidth"} <= claim.keys() and claim["steps"].denominator == 1:
        return Cost(int(claim["steps"]), claim["bandwidth"])
    return None


def claim_problems(claim: Cost | None, cost: Cost) -> list[str]:
    """Say if another cost is claimed."""
    if claim in {None, cost}:
        return []
    said = [f"{one.steps} steps, y = {one.bandwidth}" for one in (claim, cost) if one is not None]
    return [f"the claimed cost is {said[0]}, but the schedule has {said[1]}"]


def verify_rounds(topology: Topology, schedule: Rounds, claim: Cost | None = None) -> RoundsReport:
    """Check every send and the postcondition of the collective, and recompute the cost.

    Switches of the topology take no part: they own no shard and appear in no row. Another cost than the one that is
    claimed is a problem.
    """
    link = find_links(topology, schedule)
    cost = schedule_cost(topology, schedule, link)
    compute = np.ones(topology.nodes, dtype=np.bool_)
    compute[list(topology.switches)] = False
    members = schedule.collective.members(topology.nodes, topology.switches)
    known = np.isin(schedule.block, schedule.collective.blocks(members, topology.nodes))
    linked = (link >= 0) & compute[schedule.src] & compute[schedule.dst] & known
    problems = bad_links(topology, schedule, link, compute, known)
    del link, known  # memory
    short = _too_few(schedule, members)
    problems += short
    redundant = refilled = 0
    if not short or topology.nodes <= FEW_NODES:
        more, redundant, refilled = replay_problems(topology, schedule, linked)
        problems += more
    problems += claim_problems(claim, cost)
    return RoundsReport(schedule.collective, cost, tuple(problems), redundant, refilled)


def find_links(topology: Topology, schedule: Rounds) -> NDArray[np.int64]:
    """Return the index in the topology of the link that each row uses, or -1 where there is none.

    A self-loop carries nothing, so it counts as none.
    """
    if schedule.nodes != topology.nodes:
        raise ScheduleError(f"the schedule is for {schedule.nodes} nodes, the topology has {topology.nodes}")
    if not len(topology.src):
        return np.full(len(schedule), -1, dtype=np.int64)
    keys = topology.src * topology.nodes + topology.dst
    link = np.empty(len(schedule), dtype=np.int64)
    for some in _stretches(len(schedule)):
        wanted = schedule.src[some].astype(np.int64) * topology.nodes + schedule.dst[some]
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        link[some] = np.where((keys[place] != wanted) | (schedule.src[some] == schedule.dst[some]), -1, place)
    return link


def _stretches(rows: int) -> list[slice]:
    """Return which rows to look at together, so that what is in between takes little memory."""
    return [slice(first, first + _AT_ONCE) for first in range(0, rows, _AT_ONCE)]


def schedule_cost(topology: Topology, schedule: Rounds, link: NDArray[np.int64]) -> Cost:
    """Return the steps and y = (d/n) * sum over steps of the largest units / (units per block * capacity) of a link.

    d is the degree of the topology and the data of the collective are n blocks, one for every member (of a broadcast
    or reduce one in all); ``link`` is from :func:`find_links`. Where several groups differ in n, the units of each
    count as what they are of M.

    Efficient Direct-Connect Topologies, section 2.1 (definition of T_B).
    """
    members = schedule.collective.members(topology.nodes, topology.switches)
    share, shards = schedule.collective.shares(schedule.block, topology.nodes, len(members))
    if schedule.units * int(share.max(initial=1)) * max(1, len(schedule)) >= 2**63:
        raise TooLargeError(f"{schedule.units} units per shard are too many for {len(schedule)} sends; use fewer units")
    links = len(topology.src)
    if not np.any(link >= 0):
        return Cost(schedule.steps, Fraction(0))

    def loads(some: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the step and link of some rows that have one, as one number, and what goes there."""
        used = link[some] >= 0
        key = schedule.step[some].astype(np.int64) * links + link[some]
        return key[used], ((schedule.hi[some] - schedule.lo[some]) * share[some])[used]

    sums = [_sums(*loads(some)) for some in _stretches(len(schedule))]
    key, load = _sums(*map(np.concatenate, zip(*sums, strict=True)))
    fullest = fullest_of_steps(key // links, topology.capacity[key % links], load)
    return Cost(schedule.steps, Fraction(topology.degree, shards * schedule.units) * fullest)


def _sums(key: NDArray[np.int64], width: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different keys, ascending, and the sums of their widths."""
    order = np.argsort(key, kind="stable")
    key = key[order]
    begin = np.flatnonzero(np.diff(key, prepend=-1))
    return key[begin], np.add.reduceat(width[order], begin) if len(begin) else width


def fullest_of_steps(step: NDArray[np.int64], capacity: NDArray[np.int64], load: NDArray[np.int64]) -> Fraction:
    """Return the sum over steps of the largest load of a link over its capacity; one entry for a link and step."""
    # Only the fullest link of each capacity can be the fullest of a step.
    order = np.lexsort((load, capacity, step))
    step, capacity, load = step[order], capacity[order], load[order]
    last = np.append((step[1:] != step[:-1]) | (capacity[1:] != capacity[:-1]), True)
    worst: dict[int, Fraction] = {}
    for at, ports, units in zip(step[last].tolist(), capacity[last].tolist(), load[last].tolist(), strict=True):
        worst[at] = max(worst.get(at, Fraction(0)), Fraction(units, ports))
    return sum(worst.values(), Fraction(0))


def _describe(schedule: Rounds, row: int) -> str:
    step, src, dst = int(schedule.step[row]), int(schedule.src[row]), int(schedule.dst[row])
    units = f"units [{schedule.lo[row]},{schedule.hi[row]}) of {_called(schedule, int(schedule.block[row]))}"
    return f"row {row}: step {step}, {src}->{dst}, {units}"


def _called(schedule: Rounds, block: int) -> str:
    """Return what a block is called."""
    if schedule.collective.pairwise:
        return f"the block from {block // schedule.nodes} to {block % schedule.nodes}"
    return f"shard {block}"


def _first_rows(schedule: Rounds, bad: NDArray[np.bool_]) -> tuple[list[int], int]:
    """Return the first rows, by step, of the bad ones, and how many there are."""
    rows = np.flatnonzero(bad)
    first = rows[np.argsort(schedule.step[rows], kind="stable")[:SHOWN]]
    return first.tolist(), len(rows)


def bad_links(
    topology: Topology, schedule: Rounds, link: NDArray[np.int64], compute: NDArray[np.bool_], known: NDArray[np.bool_]
) -> list[str]:
    """Return the rows that use no link, have a switch in them, or carry what is no block of the collective."""
    first, count = _first_rows(schedule, link < 0)
    examples = [f"{_describe(schedule, row)}: there is no such link" for row in first]
    problems = listed(examples, count, "sends without a link")
    if topology.switches:
        switched = ~(compute[schedule.src] & compute[schedule.dst] & known)
        first, count = _first_rows(schedule, switched)
        examples = [f"{_describe(schedule, row)}: a switch takes no part in a collective" for row in first]
        problems += listed(examples, count, "sends with switches")
    elif not known.all():
        first, count = _first_rows(schedule, ~known)
        examples = [f"{_describe(schedule, row)}: the collective has no such block" for row in first]
        problems += listed(examples, count, "sends of no block")
    return problems


def fewest_sends(collective: Collective, members: NDArray[np.int64], nodes: int) -> int:
    """Return how many sends it takes at least: one for every node that a block must reach or whose part it needs."""
    least = 0
    for one in collective.single:
        some = members if one.group is None else np.array(one.group, dtype=np.int64)
        blocks = one.blocks(some, nodes)
        for movement in one.movements:
            source, destination = one.places(movement, blocks, nodes)
            alone = (source != EVERYONE) & (destination != EVERYONE)
            least += int((source != destination)[alone].sum()) + int((~alone).sum()) * (len(some) - 1)
    return least


def _too_few(schedule: Rounds, members: NDArray[np.int64]) -> list[str]:
    least = fewest_sends(schedule.collective, members, schedule.nodes)
    if len(schedule) >= least:
        return []
    size = f"{schedule.collective} on {len(members)} nodes"
    return [f"{len(schedule)} sends cannot be enough: {size} takes at least {least}"]


def replay_problems(
    topology: Topology, schedule: Rounds, linked: NDArray[np.bool_], numbers: NDArray[np.int64] | None = None
) -> tuple[list[str], int, int]:
    """Replay all blocks, or these alone, some after others; return the problems, the redundant and the refilled units.

    Only the sends that are linked happen; where some blocks are replayed, no send may be of another.
    """
    from topodesign.plans.replay import replay  # noqa: PLC0415  loads the compiler

    blocks = replay.blocks_of(schedule.collective, schedule.nodes, topology.switches, numbers)
    happens = np.zeros(len(schedule), dtype=np.bool_)
    examples: dict[int, list[str]] = {replay.STUCK: [], replay.MISSING: []}
    counts = dict.fromkeys(examples, 0)
    redundant = refilled = 0
    for own, some in replay.by_blocks(schedule, blocks):
        order, rows = replay.sort_rows(schedule, some, own)
        alive = linked[order]
        unfinished = replay.table_of(some, np.uint8)
        twice, again = replay.replay(rows, some, alive, unfinished)
        redundant, refilled = redundant + twice, refilled + again
        happens[order] = alive
        for bit, shown in examples.items():
            pairs = replay.pairs_in(unfinished & bit, some)
            counts[bit] += len(pairs)
            shown += [
                _unfinished(schedule, rows, some, alive, bit=bit, place=place, node=node)
                for place, node in pairs[: SHOWN - len(shown)].tolist()
            ]

    first, count = _first_rows(schedule, linked & ~happens)
    late = [
        f"{_describe(schedule, row)}: node {schedule.src[row]} "
        + (
            "has no partial sum of all of them to send, it sent it before or twice in this step"
            if schedule.step[row] <= schedule.reduce_steps
            else "does not have all of them before this step"
        )
        for row in first
    ]
    problems = listed(late, count, "sends of what the sender does not have")
    for bit, shown in examples.items():
        problems += listed(shown, counts[bit], "such pairs of owner and node")
    return problems, redundant, refilled


def _unfinished(
    schedule: Rounds, rows: Rows, blocks: Blocks, alive: NDArray[np.bool_], *, bit: int, place: int, node: int
) -> str:
    """Return what is wrong at a node with a block at the end: replay the block and read off the units."""
    from topodesign.plans.replay import replay  # noqa: PLC0415  loads the compiler

    adds = bit == replay.STUCK
    a, b, c = rows.bounds[place].tolist()
    begin, end = (a, b) if adds else (b, c)
    cuts = replay.cut(rows, begin, end)
    held = replay.start_bits(adds, int(blocks.origin[place]), cuts, blocks.team, int(blocks.own[place]))
    replay.run(adds, replay.take_part(rows, begin, end, cuts), held, alive[begin:end])
    bits = np.unpackbits(held[node].astype("<u8").view(np.uint8), bitorder="little")[: len(cuts) - 1]
    wrong = np.flatnonzero(bits == adds)
    run = int(np.argmax(np.append(np.diff(wrong), 2) > 1))
    units = f"units [{cuts[wrong[0]]},{cuts[wrong[run] + 1]}) of {_called(schedule, int(blocks.number[place]))}"
    if adds:
        return f"the partial sum of {units} at node {node} never gets to node {blocks.sink[place]}"
    return f"node {node} never gets {units}"
