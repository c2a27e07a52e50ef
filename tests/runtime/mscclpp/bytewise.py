"""Plans of packets byte by byte: what happens before what in several launches, each rank with its own scratch.

This reads the JSON itself, and shares with the checker which buffers a collective has and no more. A node is what one
thread does with one payload of eight bytes in one operation: it reads some places and stores their sum in others. So a
packet tells of the node that wrote it and of what that node read, and of nothing else its threadblock did.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from topodesign.runtime.machine.layout import Layout

CHUNK, PAYLOAD = 16, 8

Byte = tuple[int, str, int]
"""Rank, ``d`` for input and output or ``s`` for scratch, and byte there."""

Touched = Sequence[tuple[Byte, bool]]
"""Places, each with whether packets are there."""


@dataclass(eq=False)
class Node:
    """One payload on its way, a signal or wait, or a meeting of threads."""

    launch: int
    actor: tuple[int, int]
    name: str = ""
    number: int = 0
    before: list[Node] = field(default_factory=list)
    packets: list[Node] = field(default_factory=list)  # which wrote the packets that it reads
    made: list[Node] = field(default_factory=list)  # which wrote anything that it reads
    reads: Touched = ()
    writes: Touched = ()
    over: int = 0  # all that is known to have happened before, as bits by number
    data: int = 0  # that whose stores are visible


@dataclass
class Bytewise:
    """All nodes of a plan, and what is wrong with it.

    ``allocations`` are the bytes that inputs lie in. ``between`` puts a launch of another plan between two of this one,
    which so use the same half: all that it tells is that every rank has begun it, or nothing.
    """

    document: dict[str, Any]
    layout: Layout
    launches: int = 3
    allocations: list[int] | None = None
    between: Literal["", "all have begun", "nothing"] = ""
    wrong: list[str] = field(default_factory=list)
    by_packets: list[tuple[Node, Node]] = field(default_factory=list)  # reads before writes, by packets alone

    def __post_init__(self) -> None:
        self.gpus = self.document["gpus"]
        self.ranks = len(self.gpus)
        self.nodes: list[Node] = []
        self.double = self.document["use_double_scratch_buffer"]
        self.scratch = []
        for rank, gpu in enumerate(self.gpus):
            size = gpu["input_chunks"] * CHUNK if self.allocations is None else self.allocations[rank]
            chunk = -(-min(size, self.document["max_message_size"]) // gpu["input_chunks"])
            wide = (2 if self.document["protocol"] == "LL" else 1) * (2 if self.double else 1)
            self.scratch.append(-(-chunk * gpu["scratch_chunks"] * wide // 16) * 16)
        self.half = [size // 2 if self.double else 0 for size in self.scratch]
        self.ends: list[list[Node]] = []
        self._build()
        order = self._sorted() if not self.wrong else []
        if not self.wrong:
            self._know(order)
            self._races()
        if not self.wrong:
            self._run(order)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def _node(self, launch: int, actor: tuple[int, int], name: str = "", before: list[Node] | None = None) -> Node:
        node = Node(launch, actor, name, len(self.nodes), list(before or []))
        self.nodes.append(node)
        return node

    def _build(self) -> None:
        self.told: dict[Any, list[Node]] = defaultdict(list)
        self.heard: dict[Any, list[Node]] = defaultdict(list)
        self.other = self._channels()
        self.last: dict[Any, Node] = {}  # what a proxy does last, by channel
        previous: list[Node | None] = [None] * self.ranks
        for launch in range(self.launches + 1):
            starts = [
                self._node(launch, (rank, -1), "caller", [one] if one else []) for rank, one in enumerate(previous)
            ]
            for rank, start in enumerate(starts):
                start.writes = [((rank, "d", at), False) for at in self._data(rank)]
            if launch == self.launches:
                break
            ends = [self._rank(launch, rank, start) for rank, start in enumerate(starts)]
            self.ends.append(ends)
            previous = [self._node(launch, (rank, -2), "between", [end]) for rank, end in enumerate(ends)]
            if self.between == "all have begun":
                others = [self._node(launch, one.actor, "between", [one]) for one in previous if one]
                for one in others:
                    one.packets = [other for other in previous if other]  # whose data it need not see
                previous = list(others)
        for post, waits in self.heard.items():
            if len(waits) != len(self.told[post]):
                self.wrong.append(f"{len(self.told[post])} signals and {len(waits)} waits at {post}")
                return
            for signal, wait in zip(self.told[post], waits, strict=True):
                wait.before.append(signal)
        self._match()

    def _rank(self, launch: int, rank: int, start: Node) -> Node:
        last = []
        for number, block in enumerate(self.gpus[rank]["threadblocks"]):
            actor, meeting = (rank, number), start
            some: list[Node] = []
            threads: dict[int, Node] = {}
            for op in [*block["ops"], {"name": "nop"}]:
                if op["name"] == "nop":
                    meeting = self._node(launch, actor, "nop", [meeting, *some])
                    some, threads = [], {}
                elif op["name"] in {"sem_acquire", "sem_release", "signal", "wait"}:
                    for thread, post in enumerate(self._posts(op, rank, block)):
                        told = op["name"] in {"sem_release", "signal"}
                        if told and post[1] == "port":
                            self._hand(launch, post, meeting)
                            self.told[self.other[post]].append(self.last[post])
                            continue
                        node = self._node(launch, actor, op["name"], [threads.get(thread, meeting)])
                        if told:
                            self.told[self.other.get(post, post)].append(node)
                        else:
                            self.heard[post].append(node)
                        threads[thread] = node
                        some.append(node)
                elif op["name"] == "rppkt":  # all threads read the packets and meet, and a proxy copies them
                    payloads = self._payloads(op, launch, actor, block, meeting)
                    moves = [(one.reads, one.writes) for one in payloads]
                    for one in payloads:
                        one.writes = []
                    meeting = self._node(launch, actor, "nop", [meeting, *some, *payloads])
                    some, threads = [], {}
                    (channel,) = self._posts(op, rank, block)
                    for reads, writes in moves:
                        self._hand(launch, channel, meeting, reads, writes)
                else:
                    some += self._payloads(op, launch, actor, block, meeting)
            last.append(meeting)
        return self._node(launch, (rank, -2), "end", last)

    def _hand(self, launch: int, channel: Any, before: Node, reads: Touched = (), writes: Touched = ()) -> None:
        """Let the proxy of a channel do something after all that it was told before."""
        node = self._node(launch, (channel[0], -3 - channel[2]), "proxy", [before])
        node.before += [self.last[channel]] if channel in self.last else []
        node.reads, node.writes = reads, writes
        self.last[channel] = node

    def _posts(self, op: dict[str, Any], rank: int, block: dict[str, Any]) -> list[Any]:
        """The semaphores, or ends of channels, that threads of an operation use, one each."""
        if "semaphore_ids" in op:
            return [(rank, "semaphore", one) for one in op["semaphore_ids"]]
        kind = op["channel_type"]
        known = [one for row in block["channels"] if row["channel_type"] == kind for one in row["channel_ids"]]
        return [(rank, kind, known[one]) for one in op["channel_ids"]]

    def _channels(self) -> dict[Any, Any]:
        """The other end of every channel."""
        ends: dict[tuple[int, int, str], list[Any]] = defaultdict(list)
        for rank, gpu in enumerate(self.gpus):
            for kind in ("memory", "port"):
                lines = [row["connected_to"] for row in gpu["channels"] if row["channel_type"] == kind]
                for number, peer in enumerate(one for line in lines for one in line):
                    ends[rank, peer, kind].append((rank, kind, number))
        return {
            here: there
            for (one, peer, kind), mine in ends.items()
            for here, there in zip(mine, ends[peer, one, kind], strict=True)
        }

    def _payloads(
        self, op: dict[str, Any], launch: int, actor: tuple[int, int], block: dict[str, Any], start: Node
    ) -> list[Node]:
        name, rank, found = op["name"], actor[0], []
        assert name in {"ppkt", "rppkt", "cpkt", "upkt", "repkt", "copy", "re"}, name
        for at in range(op["src_buff"][0]["size"] * CHUNK // PAYLOAD):
            node = self._node(launch, actor, name, [start])
            reads, writes = [], []
            for number, one in enumerate(op["src_buff"]):
                packed = name in {"upkt", "rppkt"} or (name == "repkt" and number > 0)
                reads.append((self._byte(one, rank, node, at, packed=packed), packed))
            for one in op["dst_buff"]:
                there = rank
                if "buffer_id" in one:
                    refs = {row["access_channel_type"]: row["remote_buffer_ids"] for row in block["remote_buffer_refs"]}
                    remote = self.gpus[rank]["remote_buffers"][refs[op["channel_type"]][one["buffer_id"]]]
                    there, one = remote["rank"], {**one, "type": remote["type"]}  # noqa: PLW2901
                packed = name in {"ppkt", "rppkt", "cpkt"}
                writes.append((self._byte(one, there, node, at, packed=packed), packed))
            node.reads, node.writes = reads, writes
            found.append(node)
        return found

    def _byte(self, one: dict[str, Any], rank: int, node: Node, at: int, *, packed: bool) -> Byte:
        """Where the executor of a node finds a payload of a buffer of a rank."""
        gpu, kind = self.gpus[rank], "s" if packed else one["type"]
        if kind != "s":
            start, size = self._buffers(rank)[kind]
            return self._within((rank, "d", start + one["index"] * CHUNK + at * PAYLOAD), start, start + size, 8)
        off = self.half[node.actor[0]] if self._second(node) else 0  # the first launch has number 1
        where = off + (one["index"] * CHUNK + at * PAYLOAD) * (2 if packed else 1)
        first = gpu["scratch_chunks"] * CHUNK * (2 if self.document["protocol"] == "LL" else 1)
        return self._within(
            (rank, "s", where), 0, self.scratch[rank] if self._second(node) else first, 16 if packed else 8
        )

    def _second(self, node: Node) -> bool:
        """Whether a node is of a launch in the second half: the first has number 1."""
        return node.launch % 2 == 1 and not self.between

    def _within(self, byte: Byte, start: int, end: int, wide: int) -> Byte:
        if not start <= byte[2] <= end - wide or byte[2] % wide:
            self.wrong.append(f"{wide} bytes at {byte}, in a buffer from {start} to {end}")
        return byte

    def _buffers(self, rank: int) -> dict[str, tuple[int, int]]:
        segments = {kind: self.layout.segment(rank, kind) for kind in "io"}
        return {kind: (start * CHUNK, size * CHUNK) for kind, (start, size) in segments.items()}

    def _data(self, rank: int) -> set[int]:
        return {at for start, size in self._buffers(rank).values() for at in range(start, start + size, PAYLOAD)}

    def _match(self) -> None:
        """Let packets be read from where they were written in the same launch."""
        wrote: dict[tuple[int, Byte], list[Node]] = defaultdict(list)
        for node in self.nodes:
            for byte, packed in node.writes:
                if packed:
                    wrote[node.launch, byte].append(node)
        for node in self.nodes:
            for byte, packed in node.reads:
                if packed:
                    writers = wrote.get((node.launch, byte), [])
                    if len(writers) != 1:
                        self.wrong.append(f"{len(writers)} packets of launch {node.launch} come to {byte}")
                        return
                    node.packets += writers

    # -- before and after ---------------------------------------------------------------------------------------------

    def _sorted(self) -> list[Node]:
        after: dict[Node, list[Node]] = defaultdict(list)
        left = {}
        for node in self.nodes:
            left[node] = len(node.before) + len(node.packets)
            for one in node.before + node.packets:
                after[one].append(node)
        ready = [node for node in self.nodes if not left[node]]
        order = []
        while ready:
            node = ready.pop()
            order.append(node)
            for one in after[node]:
                left[one] -= 1
                if not left[one]:
                    ready.append(one)
        if len(order) < len(self.nodes):
            self.wrong.append(f"{len(self.nodes) - len(order)} nodes wait for each other")
        return order

    def _know(self, order: list[Node]) -> None:
        every = {end.number: end for ends in self.ends for end in ends}
        ended = sum(1 << number for number in every)
        for node in order:
            for one in node.before:
                node.over |= one.over | 1 << one.number
                node.data |= one.data | 1 << one.number
            for one in node.packets:
                node.over |= one.over | 1 << one.number
            known = node.over & ended & ~node.data  # launches that are known to be over have stored all of theirs
            while known:
                number = known.bit_length() - 1
                node.data |= every[number].data | 1 << number
                known &= ~(1 << number)

    def _races(self) -> None:
        touched: dict[Byte, list[tuple[Node, bool, bool]]] = defaultdict(list)  # node, whether it writes, and packets
        for node in self.nodes:
            for places, writes in ((node.reads, False), (node.writes, True)):
                for (rank, buffer, at), packed in places:
                    for here in (at, at + PAYLOAD) if packed else (at,):
                        touched[rank, buffer, here].append((node, writes, packed))
        for byte, some in touched.items():
            for number, one in enumerate(some):
                for other in some[:number]:
                    if (one[1] or other[1]) and one[0] is not other[0]:
                        self._pair(byte, one, other, some)
                        if len(self.wrong) > 5:
                            return

    def _pair(
        self,
        byte: Byte,
        one: tuple[Node, bool, bool],
        other: tuple[Node, bool, bool],
        some: list[tuple[Node, bool, bool]],
    ) -> None:
        for (first, writes, packed), (second, changes, takes) in ((one, other), (other, one)):
            if not second.over >> first.number & 1:
                continue
            if not writes:
                if changes and not takes and not second.data >> first.number & 1 and first.launch == second.launch:
                    self.by_packets.append((first, second))
                return
            if second.data >> first.number & 1 or (packed and takes):
                return
            seen = (x for x, w, _ in some if not w and x.actor != first.actor and x.data >> first.number & 1)
            if changes and any(second.over >> x.number & 1 for x in seen):
                return
        if one[2] and other[2] and one[1] != other[1]:
            reader, writer = (other[0], one[0]) if one[1] else (one[0], other[0])
            if writer.launch < reader.launch:  # it waits for another flag
                return
        self.wrong.append(f"race at {byte}: {_said(one)} and {_said(other)}")

    # -- values -------------------------------------------------------------------------------------------------------

    def _run(self, order: list[Node]) -> None:
        memory: dict[Byte, int] = {}
        last: dict[Byte, Node] = {}
        given: dict[tuple[int, int], list[int]] = {}
        rng = random.Random(0)  # noqa: S311
        for launch in range(self.launches):
            for rank in range(self.ranks):
                size = self._buffers(rank)["i"][1] // PAYLOAD if self.layout.given[rank] else 0
                given[launch, rank] = [rng.randrange(2**60) for _ in range(size)]
        for node in order:
            rank = node.actor[0]
            if node.name == "caller" and node.launch < self.launches:
                start, _ = self._buffers(rank)["i"]
                for byte, _ in node.writes:
                    memory[byte] = -(2**100)
                for at, value in enumerate(given[node.launch, rank]):
                    memory[rank, "d", start + at * PAYLOAD] = value
            elif node.name == "end":
                self._compare(memory, [given[node.launch, one] for one in range(self.ranks)], node)
            elif node.writes and node.name != "caller":
                value = sum(memory.get(byte, -(2**100)) for byte, _ in node.reads)
                node.made = [last[byte] for byte, _ in node.reads if byte in last]
                for byte, _ in node.writes:
                    memory[byte] = value
                    last[byte] = node

    def _compare(self, memory: dict[Byte, int], inputs: list[list[int]], end: Node) -> None:
        rank = end.actor[0]
        start = self.layout.segment(rank, "o")[0]
        for offset, chunk, source in self.layout.blocks(rank):
            rows = inputs if source is None else [inputs[source]]
            for at in range(self.layout.part * CHUNK // PAYLOAD):
                right = sum(row[chunk * CHUNK // PAYLOAD + at] for row in rows)
                if memory.get((rank, "d", (start + offset) * CHUNK + at * PAYLOAD)) != right:
                    self.wrong.append(f"o[{offset}] of rank {rank} is wrong after launch {end.launch}")

    # -- what packets carry -------------------------------------------------------------------------------------------

    @staticmethod
    def made_from(first: Node, second: Node) -> bool:
        """Whether what a node stores is made from what another read, so that it cannot be stored before."""
        seen, todo = {second}, [second]
        while todo:
            for one in todo.pop().made:
                if one is first:
                    return True
                if one not in seen:
                    seen.add(one)
                    todo.append(one)
        return False


def _said(one: tuple[Node, bool, bool]) -> str:
    node, writes, _ = one
    return f"{node.name} of {node.actor} in launch {node.launch} {'writes' if writes else 'reads'}"
