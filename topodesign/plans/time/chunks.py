"""Time of pipelined chunks, each with its share of links.

A piece has its share of every link on its way, weight times rate; the verifier has checked that these shares fit. It
is cut into C chunks that follow one another. A chunk takes ``L + bits / share`` for a send, where L is what
:mod:`topodesign.base.latency` says of a step: of the port that starts most messages, one to each node that it sends to,
and of the send through most switches. So a piece of height h has arrived after ``(h + C - 1) * (L + B / C)``, with B
the time by bandwidth alone, the same for all pieces. What a switch sends that adds or copies counts with what it
receives. Times are exact.

If links have latencies or bandwidths of their own, a chunk takes for a send the latency of its slowest route and
``bits / share`` as often as the slowest link of its routes is slower than its capacity says.

Two movements of an allreduce follow one another. Concurrent ones count as one: chunk c of every piece of a block is of
the same part c of it, which is added up and then copied. A one-shot allreduce has one movement, in which every node
sends all of its data. Several groups are done when the last of them is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.declared import Declared, key
from topodesign.base.errors import ParameterError
from topodesign.base.latency import USUAL, Latency
from topodesign.base.units import format_bandwidth, format_rate, format_size, format_time
from topodesign.base.wording import count_noun
from topodesign.collectives.collective import EVERYONE
from topodesign.plans.chunk_ops import (
    count_images,
    find_loads,
    find_pace,
    find_parts,
    find_route_links,
    find_teams,
    routes_of,
    sort_sends,
    unfold_pieces,
)
from topodesign.plans.flow import Flow, Flows
from topodesign.plans.measure import chunk_claim, stages_claim
from topodesign.plans.plan import Plan
from topodesign.plans.stages import list_shares
from topodesign.plans.time.circuits import list_step_moments
from topodesign.plans.time.conditions import USE_KEYS, Busy, Conditions, Moments, Run, TimingModel, links_of
from topodesign.plans.time.losses import Link, Loss, find_link
from topodesign.topology.symmetry import map_to_representatives
from topodesign.topology.topology import IntArray

Flags = NDArray[np.bool_]

Chain = tuple[Fraction, Fraction, Fraction, Fraction]
"""A chain of sends that chunks go over: its sends, each as often as its slowest link is slower than planned; the
seconds of latency of all its links; and latency and slowness of the send that chunks wait for."""


class Chains(NamedTuple):
    """Chains of sends that may be the last to end."""

    each: tuple[Chain, ...]

    @classmethod
    def of(cls, chains: Iterable[Chain]) -> Chains:
        """Keep the chains that none exceeds in all four."""
        kept: list[Chain] = []
        for one in sorted(set(chains), reverse=True):
            if not any(all(a <= b for a, b in zip(one[1:], other[1:], strict=True)) for other in kept):
                kept.append(one)
        return cls(tuple(kept))

    @classmethod
    def along(cls, sends: Fraction, latency: Fraction, slow: Iterable[tuple[Fraction, Fraction]]) -> list[Chain]:
        """Return a chain for each send that chunks may wait for."""
        return [(sends, latency, *one) for one in slow]

    def then(self, other: Chains) -> Chains:
        """Return all chains of this followed by those of another."""
        pairs = [(one, two) for one in self.each for two in other.each]
        return Chains.of((one[0] + two[0], one[1] + two[1], *slow[2:]) for one, two in pairs for slow in (one, two))

    def end(self, busy: Fraction, chunks: int) -> Fraction:
        """Return the end of the last chunk: latencies plus ``busy / chunks``.

        The first chunk goes over all sends of a chain one after the other, and each further one ends as much later as
        the slowest send takes.
        """
        part = busy / chunks
        ends = (sends * part + x + (chunks - 1) * (late + slow * part) for sends, x, late, slow in self.each)
        return max(ends, default=Fraction(0))


@dataclass(frozen=True)
class OwnLinks:
    """Links with values of their own."""

    latency: tuple[Fraction, ...]  # seconds of every link of the topology
    slowness: tuple[Fraction, ...]  # of every link how often slower it is than its capacity says

    @classmethod
    def late(cls, latency: Sequence[Fraction]) -> OwnLinks:
        """Return slow links by latency only."""
        return cls(tuple(latency), (Fraction(1),) * len(latency))


def best_chunks(chains: Sequence[tuple[Chains, Fraction]], smallest: Fraction) -> int:
    """Return the best number of chunks of successive phases.

    Their end is a maximum of sums of a multiple of C, a multiple of 1 / C and a number, so that it falls and then
    rises: the first C after which it does not fall is best.
    """

    def end(count: int) -> Fraction:
        return sum((those.end(busy, count) for those, busy in chains), Fraction(0))

    low, high = 1, max(1, int(smallest))
    while low < high:
        middle = (low + high) // 2
        if end(middle + 1) < end(middle):
            low = middle + 1
        else:
            high = middle
    return low


@dataclass(frozen=True, slots=True)
class Pipeline(Declared):
    """The timing of data that follow one another in chunks."""

    SHARED = "pipeline"
    KEYS = (
        key("height", "Sends from node to node on the longest way."),
        key("starts", "Messages that the busiest port starts in a step."),
        key("switches", "Switches that data pass at most from node to node."),
        key("bandwidth_time_s=float(busy)", "Seconds by bandwidth alone."),
    )

    height: int  # sends from node to node on the longest way
    starts: int  # messages that the busiest port starts in a step
    switches: int  # switches that data pass at most from one node to the next
    busy: Fraction  # seconds by bandwidth alone

    def chain(self, latency: Latency) -> Chains:
        """Return the longest way as a chain of equal sends."""
        step = latency.of_step(self.starts, self.switches)
        return Chains(((Fraction(self.height), self.height * step, step, Fraction(1)),))

    def end(self, latency: Latency, chunks: int) -> Fraction:
        """Return when the last of so many chunks has arrived."""
        return self.chain(latency).end(self.busy, chunks)


@dataclass(frozen=True, eq=False)
class PipelineSimulation(Run):
    """The end of trees or paths in chunks."""

    how: str  # how the data go, as ``over paths in``
    # the same as ``time`` for every phase of trees: of an allreduce the reduce-scatter and the allgather, unless they
    # are concurrent. None of paths
    phase_ends: tuple[Fraction, ...] | None
    chunks: int  # chunks that the data of every tree or path was cut into
    optimum: Fraction  # seconds by bandwidth alone, without latency and with endless chunks
    phases: tuple[Pipeline, ...]  # what the time of every phase is made of
    smallest: Fraction  # bytes of the least data that are cut into chunks
    size: Fraction  # bytes of the whole collective
    # vertices on a longest way, in the order of the data, for every phase: of trees compute nodes, and switches that
    # add or copy; of paths all, of one that ends last
    critical: tuple[tuple[int, ...], ...]

    KEYS = (
        key("bandwidth_time_s=float(optimum)", "Seconds without latency."),
        key("algorithmic_bandwidth_GBps", "10^9 bytes per second; null where something is lost."),
        key("chunks", "Chunks that follow one another."),
        *USE_KEYS,
        key("phase_ends_s?=float(phase_ends)", "When reduction and spreading end."),
        key("phases", "What the time is made of, one after the other."),
    )

    @property
    def algorithmic_bandwidth_GBps(self) -> float | None:  # noqa: N802  as JSON calls it
        """Rate as if all data arrived."""
        lost = self.loss is not None and len(self.loss.pairs)
        return None if lost else float(self.size / self.time / 10**9)

    def describe(self, name: Callable[[int], str]) -> str:
        """Return times, link use, longest ways and losses, with names."""
        head = f"{format_size(self.size)} {self.how} {count_noun(self.chunks, 'chunk')}: {format_time(self.time)}"
        lines = [f"{head}, by bandwidth alone {format_time(self.optimum)}"]
        if self.time:
            rate = format_bandwidth(8 * self.size / self.time)
            lines.append(f"algorithmic bandwidth {rate} ({format_rate(self.size / self.time)})")
        lines += self.use()
        lines += [f"longest way: {' -> '.join(map(name, way))}" for way in self.critical if way]
        return "\n".join(lines + ([self.loss.describe(name)] if self.loss else []))


def simulate_chunks(
    flow: Flow,
    *,
    latency: Latency,
    size: Fraction,
    unit: Fraction,
    chunks: int | None = None,
    failed_links: Iterable[Link] = (),
    own: OwnLinks | None = None,
) -> PipelineSimulation:
    """Time a flow in chunks.

    Parameters
    ----------
    latency
        Of messages.
    size
        Bytes of the whole data; of collectives from node to node those of a node, its own block included.
    unit
        Bits per second of one unit of capacity.
    chunks
        Of every piece; None for the fastest number, at least a byte each.
    failed_links
        Links that carry nothing.
    own
        Latencies and bandwidths of single links, in place of those of ``latency``.
    """
    if min(latency.alpha or 0, latency.gap, latency.hop) < 0 or size <= 0 or unit <= 0:
        raise ParameterError("alpha must not be negative, nor gap and hop, size and bandwidth must be above zero")
    if chunks is not None and chunks < 1:
        what = "what a path carries" if flow.rate is None else "the data of a tree"
        raise ParameterError(f"{what} has at least 1 chunk, not {chunks}")
    failed = tuple(sorted(set(failed_links)))
    if flow.fold is not None and (failed or not _alike(flow, own)):
        flow = unfold_pieces(flow)
    flow = sort_sends(flow)
    happens, loss = _lose(flow, failed)
    latencies = None if own is None else _latencies(flow, own)
    values = _Values(latency, Fraction(size), Fraction(unit), chunks, own, latencies)
    groups = []
    for number in range(1 if flow.rate is None else len(flow.collective.single)):
        if flow.rate is None:
            stores = ~np.isin(range(flow.nodes), list(flow.topology.switches))
            groups.append(_time_group(flow, happens, stores, values))
        else:
            mine = (find_teams(flow) == number)[flow.piece]
            groups.append(_time_group(flow, happens & mine, flow.team == number, values))
    last = max(groups, key=lambda one: one.time)
    sending = np.sum([one.utilisation for one in groups], axis=0)
    return replace(last, loss=loss, utilisation=sending / float(last.time or 1))


class _Values(NamedTuple):
    """What a flow is timed with."""

    latency: Latency
    size: Fraction
    unit: Fraction
    chunks: int | None
    own: OwnLinks | None
    latencies: list[tuple[Fraction, Fraction]] | None  # of every send, with its slowness


def _time_group(flow: Flow, goes: Flags, stores: Flags, values: _Values) -> PipelineSimulation:
    """Time a group's sends; return the seconds of sending."""
    latency, size, unit, chunks, own, latencies = values
    teams, per_byte = find_teams(flow), 8 * find_pace(flow) / unit  # seconds of a unit of weight that carries a byte
    pieces = (teams == flow.team[stores].max(initial=-1)) | (flow.rate is None)
    starts, switches = _count_starts(flow, goes, stores), _count_switches(flow, goes, stores)
    sending, smallest = np.zeros(len(flow.topology.src)), list[Fraction]()
    pipelines, chains, ways = list[Pipeline](), list[tuple[Chains, Fraction]](), list[tuple[int, ...]]()
    for part in _phases(flow):
        mine, sends = pieces & part, goes & part[flow.piece]
        if not sends.any():
            continue
        a_weight = _bytes_of_weight(flow, mine, size, int(stores.sum()))
        busy, slowest = a_weight * per_byte, Fraction(1)
        carried = find_loads(flow, sends).sum(axis=0) / flow.topology.capacity * float(8 * a_weight / unit)
        if own is not None and latencies is not None:
            carried = carried * np.array([float(one) for one in own.slowness])
            slowest = max(latencies[send][1] for send in np.flatnonzero(sends).tolist())
        piece, way, height = _longest(flow, sends, stores)
        pipeline, kinds = Pipeline(height, starts, switches, busy * slowest), dict[tuple[Chain, ...], int]()
        those = pipeline.chain(latency)
        if latencies is not None:
            those, kinds = _chains(flow, sends, stores, latencies, (starts - 1) * latency.gap)
        sending += carried
        pipelines.append(pipeline)
        chains.append((those, busy))
        smallest.append(a_weight * int(_weights(flow)[mine].min()))
        ways.append(way)
    least = min(smallest, default=Fraction(1))
    count = best_chunks(chains, least) if chunks is None else chunks
    ends = tuple(accumulate(those.end(busy, count) for those, busy in chains))
    if flow.rate is None and ways:
        last = {Chains.of(kind).end(chains[0][1], count): one for kind, one in kinds.items()}
        ways = [_vertices(flow, last.get(ends[-1], piece))]
    how, each = ("over paths in", None) if flow.rate is None else ("in trees of", ends)
    time, optimum = ends[-1] if ends else Fraction(0), sum((one.busy for one in pipelines), Fraction(0))
    return PipelineSimulation(
        time, sending, None, how, each, count, optimum, tuple(pipelines), least, size, tuple(ways)
    )


def _weights(flow: Flow) -> IntArray:
    return np.zeros(0, dtype=np.int64) if flow.weight is None else flow.weight


def _adds(flow: Flow) -> Flags:
    """Return which sends are of a movement that adds."""
    found: Flags = np.array([one.adds for one in flow.movements])[flow.part]
    return found


def _vertices(flow: Flow, piece: int) -> tuple[int, ...]:
    """Return the vertices of a piece, sent from node to node."""
    routes = routes_of(flow)
    mine = np.flatnonzero(flow.piece[routes.send] == piece)
    way = routes.hop[routes.hop_start[mine[0]] : routes.hop_start[mine[-1] + 1]].tolist()
    return tuple(node for at, node in enumerate(way) if at == 0 or node != way[at - 1])


def _alike(flow: Flow, own: OwnLinks | None) -> bool:
    """Return whether links of every orbit are equal, as folds need."""
    if own is None or flow.fold is None:
        return True
    links = list(zip(own.latency, own.slowness, strict=True))
    first = flow.fold.link_orbits(flow.topology).tolist()
    return all(links[at] == one for at, one in zip(first, links, strict=True))


def _phases(flow: Flow) -> list[Flags]:
    """Return the pieces that flow together: per movement, or all."""
    part = find_parts(flow)
    return [part >= 0] if flow.concurrent else [part == number for number in range(len(flow.movements))]


def _bytes_of_weight(flow: Flow, pieces: Flags, size: Fraction, members: int) -> Fraction:
    """Return the bytes per unit of weight of some pieces."""
    if flow.rate is None:
        return size / flow.whole_units
    times = 2 if flow.concurrent else members if flow.one_shot else 1
    return size * times / (int(_weights(flow)[pieces].sum()) * count_images(flow))


def _latencies(flow: Flow, own: OwnLinks) -> list[tuple[Fraction, Fraction]]:
    """Return each send's latency and slowdown over its routes."""
    route, link = find_route_links(flow)
    send = routes_of(flow).send.tolist()
    late, slow = [Fraction(0)] * len(send), [Fraction(0)] * len(send)
    for at, one in zip(route.tolist(), link.tolist(), strict=True):
        late[at] += own.latency[one]
        slow[at] = max(slow[at], own.slowness[one])
    found = [(Fraction(0), Fraction(0))] * len(flow)
    for at, x, f in zip(send, late, slow, strict=True):
        found[at] = max(found[at][0], x), max(found[at][1], f)
    return found


def _count_starts(flow: Flow, goes: Flags, stores: Flags) -> int:
    """Return the most messages that a port starts.

    Of two movements in turn the larger number counts for both, so that a step takes as long in both.
    """
    routes, nodes, most = routes_of(flow), flow.nodes, 1
    for part in _phases(flow):
        route = np.flatnonzero((goes & stores[flow.src] & part[flow.piece])[routes.send])
        send, first = routes.send[route], routes.hop_start[:-1][route]
        src, through, dst = flow.src[send].astype(np.int64), routes.hop[first + 1], flow.dst[send].astype(np.int64)
        if flow.fold is not None:  # a port of a representative starts what all images together do
            src, through, dst = map_to_representatives(flow.fold, src, through, dst)
        ports = np.unique((src * nodes + through) * nodes + dst) // nodes
        most = max(most, int(np.unique(ports, return_counts=True)[1].max(initial=1)))
    return most


def _count_switches(flow: Flow, goes: Flags, stores: Flags) -> int:
    """Return the most switches between two nodes."""
    routes = routes_of(flow)
    between = np.zeros(len(flow), dtype=np.int64)
    np.maximum.at(between, routes.send, routes.lengths - 1)
    if (stores[flow.src] & stores[flow.dst])[goes].all():
        return int(between[goes].max(initial=0))
    most, behind = 0, dict[tuple[int, int], int]()
    columns = flow.piece, flow.block[flow.piece], flow.src, flow.dst, between
    for piece, root, src, dst, count in zip(*(column[goes].tolist() for column in columns), strict=True):
        at, to = (-1 - root if node == root else piece for node in (src, dst))  # what is added up there is copied
        passed = count + (0 if stores[src] else 1 + behind.get((at, src), 0))
        if stores[dst]:
            most = max(most, passed)
        else:
            behind[to, dst] = max(passed, behind.get((to, dst), 0))
    return most


def _longest(flow: Flow, goes: Flags, stores: Flags) -> tuple[int, tuple[int, ...], int]:
    """Return the longest chain of sends: piece, vertices and stores.

    A chain stays in one piece, or goes to the node of its block, where it is added up, and from there on.
    """
    level = np.zeros((len(flow.block), flow.nodes), dtype=np.int64)
    before: dict[tuple[int, int], tuple[int, int]] = {}
    last: dict[int, tuple[int, int]] = {}  # block to the piece that its data come over last
    columns = flow.piece, flow.block[flow.piece], flow.src, flow.dst, _adds(flow), stores[flow.src]
    for piece, root, src, dst, inward, sent in zip(*(column[goes].tolist() for column in columns), strict=True):
        at, to = last.get(src, (piece, src)) if not inward and src == root else (piece, src), (piece, dst)
        reaches = level[at] + sent
        if to not in before or reaches > level[to]:
            level[to], before[to] = reaches, at
        if inward and dst == root:
            last[dst] = max(last.get(dst, to), to, key=level.__getitem__)
    level[:, ~stores] = -1
    at = divmod(int(level.argmax()), flow.nodes)
    way = [at]
    while way[-1] in before:
        way.append(before[way[-1]])
    return at[0], tuple(node for _, node in reversed(way)), int(level[at])


def _chains(
    flow: Flow, goes: Flags, stores: Flags, values: Sequence[tuple[Fraction, Fraction]], wait: Fraction
) -> tuple[Chains, dict[tuple[Chain, ...], int]]:
    """Return the chains of simultaneous sends, with a piece each.

    ``values`` are latency and slowness of sends, and ``wait`` is how long the last message of the busiest port waits
    for those before it. What a switch sends that adds or copies is of no length, but takes the latency of its links.
    """
    nodes, every = flow.nodes, list(zip(values, (~stores[flow.src]).tolist(), strict=True))
    kinds = list(dict.fromkeys(every))
    numbers = {kind: number for number, kind in enumerate(kinds)}
    kind = np.array([numbers[one] for one in every], dtype=np.int64)[goes]
    late = [x + (0 if passes else wait) for (x, _), passes in kinds]
    adds, piece = _adds(flow), flow.piece.astype(np.int64)
    near = (np.where(adds, flow.dst, flow.src) + piece * nodes)[goes]
    far = (np.where(adds, flow.src, flow.dst) + piece * nodes)[goes]
    # How many sends of each kind there are between two vertices is a number: a digit for each kind.
    base = nodes + 1
    digits = np.array([base**at for at in range(len(kinds))], dtype=np.int64 if base ** len(kinds) < 2**63 else object)
    met = np.zeros(len(flow.block) * nodes, dtype=digits.dtype)
    for _ in range(nodes):
        before = met[far]
        met[far] = met[near] + digits[kind]
        if np.array_equal(before, met[far]):
            break
    found: dict[tuple[bool, int], set[Chain]] = {}
    chains: dict[int, tuple[Chain, ...]] = {}
    pieces: dict[tuple[Chain, ...], int] = {}
    parts = [flow.movements[part].adds for part in find_parts(flow).tolist()]
    for tree, many in sorted(set(zip((far // nodes).tolist(), met[far].tolist(), strict=True))):
        if many not in chains:
            counts = [(many // base**at % base, one) for at, one in enumerate(late)]
            sends = sum(
                (n * f for (n, _), ((_, f), passes) in zip(counts, kinds, strict=True) if not passes), Fraction(0)
            )
            slow = [(x, f) for (n, x), ((_, f), _) in zip(counts, kinds, strict=True) if n]
            latency = sum((n * x for n, x in counts), Fraction(0))
            chains[many] = Chains.of(Chains.along(sends, latency, slow)).each
        pieces.setdefault(chains[many], tree)
        found.setdefault((parts[tree], int(flow.block[tree]) * flow.concurrent), set()).update(chains[many])
    kept = {key: Chains.of(those) for key, those in found.items()}
    nothing = Chains(((Fraction(0),) * 4,))
    both = [kept.get((True, one), nothing).then(kept.get((False, one), nothing)) for one in {one for _, one in kept}]
    if not flow.concurrent:
        both = list(kept.values())
    return Chains.of(chain for those in both for chain in those.each), pieces


def _lose(flow: Flow, failed: tuple[Link, ...]) -> tuple[Flags, Loss | None]:
    """Return the sends that carry data, and missing blocks by node.

    A send carries nothing if one of its routes has failed. What copies loses all sends after it, of the data of a path
    also those before it; in what adds, the sums from there are lost, while others go on.
    """
    happens = np.ones(len(flow), dtype=np.bool_)
    if not failed:
        return happens, None
    send, link = flow.find_links()
    down = np.zeros(len(flow), dtype=np.bool_)
    down[send[np.isin(link, [find_link(flow.topology, pair) for pair in failed])]] = True
    lost: Flags = np.zeros((len(flow.block), flow.nodes), dtype=np.bool_)
    adds, parts = _adds(flow), find_parts(flow)
    rows = list(zip(flow.piece.tolist(), flow.src.tolist(), flow.dst.tolist(), strict=True))
    for row in np.flatnonzero(~adds).tolist():
        piece, src, dst = rows[row]
        happens[row] = not (down[row] or lost[piece, src])
        lost[piece, dst] |= not happens[row]
    for row in np.flatnonzero(adds)[::-1].tolist():
        piece, src, dst = rows[row]
        happens[row] = not down[row]
        lost[piece, src] |= down[row] or lost[piece, dst]
    if len(flow.movements) > 1:  # what is not complete where it is added up no node ever has
        inward = np.array([one.adds for one in flow.movements])[parts]
        lost[inward] = lost[inward].any(axis=1, keepdims=True)
    wanted: Flags = np.equal.outer(find_teams(flow), flow.team)
    for number, movement in enumerate(flow.movements):
        goal = flow.collective.places(movement, flow.block, flow.nodes)[1]
        single = (parts == number) & (goal != EVERYONE) & (not movement.adds)
        wanted[single] = np.arange(flow.nodes) == goal[single, None]
    lost = lost & wanted
    if flow.rate is None:  # what does not arrive is not sent
        happens &= ~np.any(lost, axis=1)[flow.piece]
    pairs = {(int(flow.block[piece]), node) for piece, node in np.argwhere(lost).tolist()}
    table = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return happens, Loss(failed, np.flatnonzero(~happens), table, not flow.collective.copies)


def run_chunks(plan: Plan, flows: Sequence[Flow], now: Conditions) -> PipelineSimulation:
    """Time a chunk plan, stages with their fastest chunks."""
    if now.mode != "lock-step":
        raise ParameterError(f"{plan.kind} are pipelines; omit the mode")
    stages = isinstance(plan.movement, Flows)
    if stages and now.failed:
        raise ParameterError("what failed links break is not reported for stages; make the plan again with --fail")
    fabric, latency, table = plan.fabric, now.latency or USUAL, links_of(plan, now)
    unit, own = 8 * fabric.unit, None
    if now.bandwidth is not None:
        unit = now.bandwidth / max(1, int(fabric.topology.out_ports[list(fabric.compute)].max()))
    if table is not None:
        switches = fabric.topology.switches
        late, slow = [], []
        for u, v, capacity in fabric.topology.links():
            usual = latency.hop if u in switches else latency.alpha or Fraction(0)
            late.append(table.alpha.get((u, v), usual))
            slow.append(capacity * unit / table.bandwidth.get((u, v), capacity * unit))
        own = OwnLinks(tuple(late), tuple(slow))
    asked: dict[str, Any] = {"latency": latency, "unit": unit, "chunks": now.chunks, "own": own}
    if not stages:
        return simulate_chunks(flows[0], size=now.size, failed_links=now.failed, **asked)
    pairs = zip(flows, list_shares(flows), strict=True)
    runs = [simulate_chunks(flow, size=now.size * share, **asked) for flow, share in pairs]
    time = sum((one.time for one in runs), Fraction(0))
    busy = np.sum([one.utilisation * float(one.time) for one in runs], axis=0)
    return replace(
        runs[0],
        time=time,
        utilisation=busy / float(time or 1),
        how="in stages of",
        phase_ends=tuple(accumulate(one.time for one in runs)),
        chunks=max(one.chunks for one in runs),
        optimum=sum((one.optimum for one in runs), Fraction(0)),
        phases=tuple(phase for one in runs for phase in one.phases),
        smallest=min(one.smallest for one in runs),
        size=now.size,
        critical=tuple(way for one in runs for way in one.critical),
    )


def _claim(plan: Plan) -> dict[str, Fraction]:
    return stages_claim(plan.flows) if isinstance(plan.movement, Flows) else chunk_claim(plan.flow)


def _list_busy(_plan: Plan, *_: Fraction) -> tuple[list[Busy], str]:
    raise ParameterError("trees are pipelined chunk by chunk; the timeline is for rounds and timed sends")


def _list_moments(plan: Plan) -> Moments:
    """Return the sends of the first chunks, step by step."""
    note = (
        f"Of all {plan.words} the first chunk is shown; all others follow a step behind the one before, so that "
        "links are busy all the time."
    )
    return list_step_moments(plan, note)


CHUNKS = TimingModel(_claim, run_chunks, _list_busy, _list_moments)
"""Pipelines, and stages of them."""
