"""TACOS-Greedy for a whole collective, with the best of several tries."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from typing import NamedTuple, TypeVar

import numpy as np

from topodesign.base.deadline import Stopwatch
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.memory import check_memory
from topodesign.collectives import ALLREDUCE, Collective
from topodesign.collectives.collective import EVERYONE
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import concatenate, join_links, reverse
from topodesign.plans.time.ticks import time_ticks
from topodesign.schedulers.method import Progress, Request
from topodesign.schedulers.time_expanded.bound import bound_of, bound_of_sums
from topodesign.schedulers.time_expanded.copying_kernels import PLENTY, WORD, Taste, copying
from topodesign.schedulers.time_expanded.copying_kernels import Flow as Copying
from topodesign.schedulers.time_expanded.event_kernels import queue_for
from topodesign.schedulers.time_expanded.forward import forward_chunks, ways_of
from topodesign.schedulers.time_expanded.merging import SharedLinks, merge_sends, repair_sends
from topodesign.schedulers.time_expanded.network import (
    Chunks,
    Network,
    Sends,
    check_ticks,
    chunks_of,
    first_state,
    in_chunks,
    list_missing,
    make_timed,
    through_switches,
    within_teams,
)
from topodesign.schedulers.time_expanded.symmetric import bound_symmetric, symmetric, symmetry_of
from topodesign.schedulers.time_expanded.trees import MAX_SENDS as MAX_ALONG_TREES
from topodesign.schedulers.time_expanded.trees import along_trees
from topodesign.topology.topology import IntArray

_Result = TypeVar("_Result")

_EFFORT = 2**16  # sends that are decided before tries end, if nobody says how many there are
_SMALL = 2**14  # nodes times chunks up to which no symmetry is made use of, unless it is asked for
_MAX = 64  # tries at most, if nobody says
_FEW_PARTS = 16  # equal parts of a block up to which each number of them is tried, so that rings are found


class Part(NamedTuple):
    """One movement of a collective, as copies, time-reversed if it reduces."""

    collective: Collective  # of one movement that copies
    network: Network  # its links: turned round where it is backwards
    units: int  # chunks of a block
    backwards: bool  # whether it is
    relays: bool = False  # whether nodes pass on what they do not need themselves
    merges: bool = False  # whether chunks may be sent as one

    def chunks(self) -> Chunks:
        """Return the chunks of the part, all present at the start."""
        return chunks_of(self.network, self.collective, self.units)

    def bound(self, chunks: Chunks) -> int:
        """Return a lower bound of every schedule of chunks."""
        return bound_of(self.network.merging if self.merges else self.network, chunks)

    def make_flow(self, sends: Sends, size: Fraction) -> Flow:
        """Return sends as a timed schedule of the collective."""
        timed = make_timed(self.network, self.collective, self.units, size, sends)
        return reverse(timed) if self.backwards else timed


class BoundedSends(NamedTuple):
    """Synthesised sends with their bound."""

    timed: Flow  # a send for every use of a link
    bound: int  # ticks; proved
    tries: int
    before: Fraction | None = None  # the time of the plain greedy; None if nothing else was tried
    copies: int = 1  # how many copies of one part it is made of


def synthesize(request: Request, wires: Network, collective: Collective, units: int) -> BoundedSends:
    """Return the best sends found for a collective.

    Each block has ``units`` units. The links may be those of switches.
    """
    symmetry = None if request.symmetric is False else symmetry_of(wires, collective)
    if request.symmetric and symmetry is None:
        raise ParameterError(
            "--set symmetric=yes is for allgather, reduce-scatter, allreduce and all-to-all of all nodes, at once, "
            f"over links that a known group takes to one another; remove it for this {collective}"
        )
    large = wires.topology.nodes**2 * units > _SMALL
    if symmetry is None or not (request.symmetric or large):
        return _make_sends(request, wires, collective, units)
    timed = symmetric(wires, collective, symmetry, units=units, size=request.size, seed=request.seed or 0)
    bound = bound_symmetric(wires.merging if _merges(request, wires, units) else wires, collective, units, symmetry)
    group = wires.topology.nodes // len(np.unique(symmetry.represented_by))
    copied = BoundedSends(timed, bound, 1, copies=group)
    if request.symmetric or int(timed.end.max(initial=0)) <= bound:
        return copied
    made = _make_sends(request, wires, collective, units)
    if made.timed.time < timed.time:
        return made._replace(bound=max(bound, made.bound))
    return copied._replace(bound=max(bound, made.bound))


def _make_sends(request: Request, wires: Network, collective: Collective, units: int) -> BoundedSends:
    """Return the fastest sends, with chunks merged or along trees.

    Several chunks that are sent as one from the start, as fewer parts of a block, are other sends than those merged
    later; both are looked at.
    """
    made = _whole(request, wires, collective, units)
    found, merges = [made.timed], _merges(request, wires, units)
    if merges:
        found.append(merge_sends(wires.topology, made.timed, wires.opens))
    for size in _sizes(units) if request.tick is None and not wires.topology.switches else ():
        if min(int(one.end.max(initial=0)) for one in found) <= made.bound:
            break
        there, parts = wires.carrying(size), units // size
        some = [] if size == 1 else [_whole(request.but(progress=None), there, collective, parts).timed]
        if collective == ALLREDUCE and 2 * parts * wires.topology.nodes**2 <= MAX_ALONG_TREES:
            tries, seed = request.tries or _MAX, request.seed or 0
            some += along_trees(there, parts, request.size, seed=seed, tries=tries, enough=made.bound)
        found += [in_chunks(one, size, wires.per_unit) for one in some]
    best = min(found, key=lambda one: (one.time, len(one)))
    return made._replace(timed=best, before=None if len(found) == 1 else made.timed.time)


def _sizes(units: int) -> list[int]:
    """Return candidate merge sizes: powers of two, and few equal parts of the block."""
    halves = {2**at for at in range(units.bit_length()) if units % 2**at == 0}
    return sorted(halves | {units // parts for parts in range(1, _FEW_PARTS + 1) if units % parts == 0})


def _merges(request: Request, wires: Network, units: int) -> bool:
    """Return whether chunks may be sent as one."""
    return units > 1 and request.tick is None and not wires.topology.switches


def _whole(request: Request, wires: Network, collective: Collective, units: int) -> BoundedSends:
    """Return the sends of a collective, each of one chunk."""
    topology, merges = wires.topology, _merges(request, wires, units)
    network = through_switches(wires) if topology.switches else wires
    relays = collective.group is not None and request.others == "forward"
    if collective.group is not None and not relays:
        network = within_teams(network, collective.teams(topology.nodes, topology.switches))
    first, *rest = (Part(part, network, units, False, relays, merges) for part in collective.parts)
    if first.collective.reduces:
        turned = network.replace(opens=np.zeros_like(network.opens)).turned
        made = _best(request, first._replace(collective=first.collective.dual, network=turned, backwards=True))
        if np.any(wires.opens):
            flow = join_links(made.timed)
            run = time_ticks([flow], opens=wires.opens)  # none before the ends of its link are ready
            made = made._replace(timed=flow.over_links().having(start=run.start, end=run.end))
    else:
        made = _best(request, first)
    for one in rest:
        made = _append_half(request, made, one, collective)
    if relays:  # what relays are not needed for has left gaps
        shared = SharedLinks(topology, (made.timed,), wires.opens[None])
        (earlier,) = shared.time_streams(shared.remains)
        made = made._replace(timed=min(made.timed, earlier, key=lambda one: one.time))
    return made


def _best(request: Request, part: Part, chunks: Chunks | None = None) -> BoundedSends:
    """Return the best result of several seeds, with a bound."""
    chunks, seed = part.chunks() if chunks is None else chunks, request.seed or 0
    alone = bool(np.all(chunks.goal != EVERYONE))
    rows = len(list_missing(chunks)[0])
    tries = request.tries or max(1, min(_MAX, _EFFORT // max(1, rows)))
    bound = bound_of(part.network, chunks)

    def make(number: int) -> Sends:
        if alone:
            turn = number % 2 == 1 and not (part.network.opens.any() or chunks.since.any())
            return forward_chunks(
                part.network,
                chunks,
                seed + number,
                blind=number % 8 == 7,
                shortest=number % 8 in {2, 3},
                backwards=turn,
                noise=number >= 4 and number % 3 == 0,
            )
        rng = np.random.default_rng([seed, number])
        bias = rng.integers(0, 1 + number // 4, chunks.number) if number >= 4 else None
        kind = number % 4
        relays = relays_of(part.network, chunks, seed + number, noise=number > 0) if part.relays else None
        sends = copy_chunks(
            part.network, chunks, seed + number, blind=kind == 2, bias=bias, shy=kind % 2 == 1, relays=relays
        )
        return only_needed(part.network, chunks, sends) if part.relays else sends

    best, _, tried = best_of(
        make,
        lambda sends: sends.time,
        tries,
        enough=bound,
        jobs=request.jobs or 1,
        time_limit=request.time_limit,
        progress=request.progress,
    )
    if not part.relays:
        best = repair_sends(part.network, chunks, best, seed, enough=bound)
    least = part.bound(chunks) if part.merges else bound
    return BoundedSends(part.make_flow(best, request.size), least, tried)


def _append_half(request: Request, made: BoundedSends, part: Part, collective: Collective) -> BoundedSends:
    """Return an allreduce with its second half after the first."""
    first, network = made.timed, part.network
    link = network.wires.link_index(first.src, first.dst)
    free = np.zeros(len(network.wires.src), dtype=np.int64)
    np.maximum.at(free, link, first.busy_until(link))
    chunks = part.chunks()
    members = collective.members(network.topology.nodes, network.topology.switches)
    number = np.searchsorted(collective.blocks(members, network.topology.nodes), first.block) * part.units + first.lo
    since = chunks.since.copy()
    home = first.dst == chunks.at[number]
    np.maximum.at(since, number[home], first.end[home])
    second = _best(request, part._replace(network=network.open_after(free)), chunks._replace(since=since))
    timed = concatenate(first, second.timed, begin=0, collective=collective)
    bound = max(made.bound, part.bound(part.chunks()))
    if collective == ALLREDUCE:
        bound = max(bound, bound_of_sums(part.network.merging if part.merges else part.network, chunks.number))
    return BoundedSends(timed, bound, max(made.tries, second.tries))


def best_of(
    make: Callable[[int], _Result],
    rank: Callable[[_Result], int],
    tries: int,
    *,
    enough: int = 0,
    jobs: int = 1,
    time_limit: Fraction | None = None,
    progress: Progress | None = None,
) -> tuple[_Result, int, int]:
    """Return the first best result, its number and the tries made.

    The best result has the minimum rank.

    ``enough`` is a rank that nothing is better than: those after the first that has it are not looked at. Kernels leave
    Python's lock alone, so that threads run side by side. The first result is made whatever the time limit.
    """
    watch = Stopwatch()
    best: tuple[_Result, int] | None = None
    looked = 0
    with ThreadPoolExecutor(jobs) as pool:
        waiting: list[Future[_Result]] = [pool.submit(make, 0)] if jobs > 1 else []
        for number in range(tries):
            if number and time_limit is not None and watch() >= time_limit:
                break
            if jobs > 1:
                while len(waiting) < jobs and number + len(waiting) < tries:
                    waiting.append(pool.submit(make, number + len(waiting)))
                result = waiting.pop(0).result()
            else:
                result = make(number)
            if best is None or rank(result) < rank(best[0]):
                best = result, number
            looked += 1
            if progress is not None:
                progress((number + 1) / tries)
            if rank(best[0]) <= enough:
                break
        for one in waiting:
            one.cancel()
    if best is None:
        raise ValueError("there must be at least one try")
    return *best, looked


def copy_chunks(
    network: Network,
    chunks: Chunks,
    seed: int,
    *,
    blind: bool = False,
    bias: IntArray | None = None,
    shy: bool = False,
    relays: tuple[IntArray, IntArray] | None = None,
) -> Sends:
    """Deliver every chunk to all nodes that need it.

    ``blind`` takes chunks by chance alone, as in the paper, and not those first that most nodes wait for; ``bias`` is
    added to how many wait for each. With ``shy`` slow links wait for others rather than carry what a quicker link could
    bring. ``relays`` are pairs of a node and a chunk that it does not need but should pass on.
    """
    topology = network.topology
    node, chunk = list_missing(chunks)
    if relays is not None:
        node, chunk = (np.concatenate(pair) for pair in zip((node, chunk), relays, strict=True))
    links, nodes, held, rows = len(topology.src), topology.nodes, chunks.number, chunks.number + len(node)
    check_ticks(network, len(node))
    words = -(-chunks.number // WORD)
    check_memory(8 * words * (links + nodes) + 24 * rows, f"sets of {chunks.number} chunks for {links} links")
    want = np.zeros((nodes, words), dtype=np.int64)
    np.bitwise_or.at(want, (node, chunk // WORD), 1 << chunk % WORD)
    order = np.argsort(chunks.since, kind="stable")

    arrived, over, when = np.full(rows, -1, dtype=np.int32), np.full(rows, -1, dtype=np.int32), np.zeros(rows, np.int64)
    arrived[:held], over[:held], when[:held] = order, chunks.at[order], chunks.since[order]
    first, last, upto, made = (np.full(count, -1, dtype=np.int64) for count in (nodes, nodes, links, links))
    flow = Copying(
        want,
        np.zeros((links, words), dtype=np.int64),
        np.bincount(chunk, minlength=chunks.number),
        arrived,
        when,
        over,
        np.full(rows, -1, dtype=np.int32),
        first,
        last,
        upto,
        made,
        np.zeros(len(network.wires.src), dtype=np.int64),
        np.array([len(node)]),
        np.array([0]),
    )
    weights = np.zeros(chunks.number, dtype=np.int64) if bias is None else bias
    taste = Taste(weights, 1 if blind else PLENTY, -1 if blind else int(shy))
    if copying(network.web, flow, queue_for(links, links), taste, held, first_state(seed)) < rows:
        missing = np.flatnonzero(flow.lacking)
        raise InfeasibleError(f"there is no way for the data of node {chunks.at[missing[0]]} to all that require them")
    sends = slice(held, rows)
    return Sends(over[sends].astype(np.int64), arrived[sends].astype(np.int64), when[sends])


def relays_of(network: Network, chunks: Chunks, seed: int, *, noise: bool = False) -> tuple[IntArray, IntArray]:
    """Return pairs of a relay node and a chunk to forward.

    The node does not need the chunk itself.

    Every chunk is given a way to each node that needs it, so that no link has much more to carry than others; those on
    the ways that do not need it are its relays.
    """
    node, chunk = list_missing(chunks)
    copied = chunks.goal[chunk] == EVERYONE
    node, chunk = node[copied], chunk[copied]
    one_each = Chunks(len(node), chunks.at[chunk], chunks.since[chunk], node, chunks.members, chunks.team)
    trips = ways_of(network, one_each, seed, noise=noise)
    on_way = np.arange(trips.way.shape[1]) < trips.length[:, None]
    passed = network.topology.dst[np.where(on_way, trips.way, 0)]
    foreign = on_way & (chunks.team[passed] != chunks.team[one_each.at][:, None])
    pairs = passed[foreign] * chunks.number + np.repeat(chunk, foreign.sum(axis=1))
    found = np.unique(pairs)
    return found // max(1, chunks.number), found % max(1, chunks.number)


def only_needed(network: Network, chunks: Chunks, sends: Sends) -> Sends:
    """Return sends without those to relays that forward nothing."""
    needed = set(zip(*(column.tolist() for column in list_missing(chunks)), strict=True))
    src, dst = network.topology.src[sends.link].tolist(), network.topology.dst[sends.link].tolist()
    chunk, kept = sends.chunk.tolist(), []
    for row in reversed(np.argsort(sends.end, kind="stable").tolist()):
        if (dst[row], chunk[row]) in needed:
            kept.append(row)
            needed.add((src[row], chunk[row]))
    return sends.rows(np.array(kept[::-1], dtype=np.int64))
