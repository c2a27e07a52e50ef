"""Replay of traces by dependencies, with messages over a network.

A node starts when all nodes are over that it depends on. A send gives its message to the network and is over when that
has arrived; a receive is over when its message has arrived and not before it was started; a compute node takes its
time. That is how ASTRA-sim runs a trace as the implementation of a collective (``CustomAlgorithm.cc`` of
astra-sim/astra-sim, 518bd51): without any limit on what a rank does at once.

Which receive belongs to which send their source, destination and tag say; of several alike the order in the files.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from topodesign.runtime.chakra.network import Clock, Link, Network
from topodesign.runtime.chakra.traces import COMPUTE, KINDS, RECEIVE, SEND, Node, Trace
from topodesign.runtime.report import Finding

Place = tuple[int, int]  # rank, and index of a node in its trace


@dataclass(frozen=True, slots=True)
class Message:
    """A send and the receive that belongs to it."""

    src: int  # ranks
    dst: int
    tag: int  # as both say; the size in bytes
    size: int
    send: Place  # the nodes
    receive: Place


@dataclass(frozen=True)
class Job:
    """Traces of all ranks, ready to be replayed."""

    traces: tuple[Trace, ...]  # one for every rank
    messages: tuple[Message, ...]  # all messages
    sent: dict[Place, int]  # number of the message by send and by receive
    received: dict[Place, int]
    needs: tuple[tuple[tuple[int, ...], ...], ...]  # the nodes that each node depends on, by rank
    children: tuple[tuple[tuple[int, ...], ...], ...]  # the nodes that depend on each node, by rank
    repeated: int  # how many messages have the source, destination and tag of another


def load_job(traces: Sequence[Trace]) -> tuple[Job | None, list[Finding]]:
    """Return traces ready for replay, or their faults."""
    findings = [finding for rank, trace in enumerate(traces) for finding in _illegal(trace, rank, len(traces))]
    if findings:
        return None, findings
    needs, children = [], []
    for rank, trace in enumerate(traces):
        index = {node.id: at for at, node in enumerate(trace.nodes)}
        below: list[list[int]] = [[] for _ in trace.nodes]
        above = []
        for at, node in enumerate(trace.nodes):
            needed = {*node.control, *node.data}
            missing = next((one for one in needed if one not in index), None)
            if missing is not None:
                text = f"node {node.id} depends on node {missing}, which is not there"
                findings.append(Finding("illegal", text, rank))
            for one in needed & index.keys():
                below[index[one]].append(at)
            above.append(tuple(sorted(index[one] for one in needed & index.keys())))
        needs.append(tuple(above))
        children.append(tuple(tuple(sorted(ones)) for ones in below))
    messages, repeated, unmatched = _match(traces)
    findings += unmatched
    if findings:
        return None, findings
    sent = {one.send: number for number, one in enumerate(messages)}
    received = {one.receive: number for number, one in enumerate(messages)}
    return Job(tuple(traces), tuple(messages), sent, received, tuple(needs), tuple(children), repeated), []


def _illegal(trace: Trace, rank: int, ranks: int) -> Iterator[Finding]:
    """Yield nodes of a rank that the simulator would refuse."""
    if not trace.nodes:
        yield Finding("illegal", "a trace without nodes, which the simulator refuses", rank)
    seen: set[int] = set()
    for node in trace.nodes:
        if node.id in seen:
            yield Finding("illegal", f"two nodes have the id {node.id}", rank)
        seen.add(node.id)
        if node.kind not in {COMPUTE, SEND, RECEIVE}:
            word = KINDS.get(node.kind, f"type {node.kind}")
            yield Finding(
                "illegal", f"node {node.id} ({word}): only sends, receives and compute nodes can be run", rank
            )
        elif node.kind != COMPUTE:
            yield from _illegal_message(node, rank, ranks)


def _illegal_message(node: Node, rank: int, ranks: int) -> Iterator[Finding]:
    own, other = ("comm_src", "comm_dst") if node.kind == SEND else ("comm_dst", "comm_src")
    peer, size, tag, self_said = (node.number(name) for name in (other, "comm_size", "comm_tag", own))
    if peer is None or not 0 <= peer < ranks or peer == rank:
        yield Finding("illegal", f"node {node.id}: {other} {peer} is none of the other ranks", rank)
    if size is None or not 1 <= size < 2**63:
        yield Finding("illegal", f"node {node.id}: comm_size {size} is not a number of bytes", rank)
    if tag is None or not 0 <= tag < 2**31:
        yield Finding("illegal", f"node {node.id}: comm_tag {tag} is not a tag from 0 to 2^31 - 1", rank)
    if own in node.attributes and self_said != rank:
        yield Finding("illegal", f"node {node.id}: {own} {self_said} is not its own rank", rank)


def _match(traces: Sequence[Trace]) -> tuple[list[Message], int, list[Finding]]:
    """Return messages, repeated names, and unmatched ends."""
    ends: dict[tuple[int, int, int], tuple[list[Place], list[Place]]] = defaultdict(lambda: ([], []))
    for rank, trace in enumerate(traces):
        for at, node in enumerate(trace.nodes):
            if node.kind != COMPUTE:
                peer = node.number("comm_dst" if node.kind == SEND else "comm_src") or 0
                src, dst = (rank, peer) if node.kind == SEND else (peer, rank)
                ends[src, dst, node.number("comm_tag") or 0][node.kind == RECEIVE].append((rank, at))
    messages, findings, repeated = [], [], 0
    for (src, dst, tag), (sends, receives) in sorted(ends.items()):
        where = f"from rank {src} to rank {dst} with the tag {tag}"
        if len(sends) != len(receives):
            findings.append(Finding("mismatch", f"{len(sends)} sends and {len(receives)} receives {where}"))
            continue
        repeated += len(sends) - 1
        for send, receive in zip(sends, receives, strict=True):
            sizes = [traces[rank].nodes[at].number("comm_size") or 0 for rank, at in (send, receive)]
            if sizes[0] != sizes[1]:
                findings.append(Finding("mismatch", f"{sizes[0]} bytes sent and {sizes[1]} received {where}"))
            messages.append(Message(src, dst, tag, sizes[0], send, receive))
    return messages, repeated, findings


class Links:
    """A network of links that serve one message after the other."""

    def __init__(self, network: Network, clock: Clock) -> None:
        self._network, self._clock = network, clock
        self._queues: dict[Link, deque[Callable[[], None]]] = {}

    def send(self, run: Run, number: int) -> None:
        """Put the message into the queue of its first link."""
        message = run.job.messages[number]
        self._hop(run, number, self._network.route(message.src, message.dst))

    def _hop(self, run: Run, number: int, route: tuple[Link, ...]) -> None:
        link, rest = route[0], route[1:]

        def arrive() -> None:
            if rest:
                self._hop(run, number, rest)
            else:
                run.record_arrival(number)

        def start() -> None:
            size = run.job.messages[number].size
            run.at(run.now + self._clock.under_way(size), arrive)
            run.at(run.now + self._clock.busy(size), free)

        def free() -> None:
            queue = self._queues[link]
            queue.popleft()
            if queue:
                queue[0]()

        queue = self._queues.setdefault(link, deque())
        queue.append(start)
        if len(queue) == 1:
            start()

    def computing(self, micros: int) -> int:
        """Return the nanoseconds of a compute node, at least one."""
        return 1000 * micros or 1


class Run:
    """One run of all ranks."""

    def __init__(self, job: Job, transport: Links) -> None:
        self.job, self.now = job, 0
        self.order: list[Place] = []  # nodes that are over
        self.ends: list[Any] = [0] * len(job.traces)
        self._transport = transport
        self._waits = [list(map(len, needs)) for needs in job.needs]
        self._left = list(map(len, job.needs))
        self._there: set[int] = set()
        self._wanted: set[int] = set()
        self._events: list[tuple[Any, int, Callable[[], None]]] = []
        self._number = 0

    def at(self, time: Any, event: Callable[[], None]) -> None:
        """Let something happen at a time."""
        heapq.heappush(self._events, (time, self._number, event))
        self._number += 1

    def go(self) -> list[Finding]:
        """Run to the end; return what could not be done."""
        for rank, needs in enumerate(self.job.needs):
            for at, some in enumerate(needs):
                if not some:
                    self._start(rank, at)
        while self._events:
            self.now, _, event = heapq.heappop(self._events)
            event()
        return [] if not any(self._left) else [self._stuck()]

    def record_arrival(self, number: int) -> None:
        """Learn from the transport that a message has arrived."""
        self._over(*self.job.messages[number].send)
        self._there.add(number)
        if number in self._wanted:
            self.receive(number)

    def send(self, number: int) -> None:
        """Start a send."""
        self._transport.send(self, number)

    def receive(self, number: int) -> None:
        """End a receive."""
        self._over(*self.job.messages[number].receive)

    def compute(self, rank: int, at: int) -> None:
        """End a compute node."""
        self._over(rank, at)

    def _start(self, rank: int, at: int) -> None:
        node = self.job.traces[rank].nodes[at]
        if node.kind == SEND:
            self.send(self.job.sent[rank, at])
        elif node.kind == RECEIVE:
            number = self.job.received[rank, at]
            self._wanted.add(number)
            if number in self._there:
                self.at(self.now, lambda: self.receive(number))
        else:
            self.at(self.now + self._transport.computing(node.micros), lambda: self.compute(rank, at))

    def _over(self, rank: int, at: int) -> None:
        self.ends[rank] = self.now
        self.order.append((rank, at))
        self._left[rank] -= 1
        waits = self._waits[rank]
        waits[at] = -1
        for child in self.job.children[rank][at]:
            waits[child] -= 1
            if not waits[child]:
                self._start(rank, child)

    def _stuck(self) -> Finding:
        """Return the finding that ranks wait for ever."""
        rank = next(rank for rank, left in enumerate(self._left) if left)
        trace, waits = self.job.traces[rank], self._waits[rank]
        over = {node.id for at, node in enumerate(trace.nodes) if waits[at] < 0}
        at = min((at for at in range(len(waits)) if waits[at] >= 0), key=lambda at: (waits[at], at))
        node = trace.nodes[at]
        open_ones = sorted({*node.control, *node.data} - over)
        what = "its message" if not open_ones else f"node {open_ones[0]}"
        ranks = sum(map(bool, self._left))
        others = f"{sum(self._left)} nodes of {ranks} ranks"
        text = f"node {node.id} ({node.name[:60]}) waits for {what} for ever; so do {others}"
        return Finding("deadlock", text, rank)
