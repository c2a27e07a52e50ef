"""Reader of execution plans, with MSCCL++'s fields and types.

MSCCL++ has no schema and no version. A field that its parser takes without a default is required here; what it does
not look at is ignored; what would make it throw, or read beyond what there is, is a :class:`PlanError`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from topodesign.base.errors import FileFormatError
from topodesign.base.memory import check_memory, pause_collector
from topodesign.base.text_files import read_bytes

MAX_BYTES = 2**27  # larger files are refused unread

BUFFERS = ("i", "o", "s")
CHANNELS = ("memory", "port", "switch")
_TYPES = (*CHANNELS, "none")
PROTOCOLS = ("Simple", "LL")
LARGEST = 2**32 - 1  # largest number of chunks, an index or a count: the executor keeps them in 32 bits

ANY_SIZE = 2**64 - 1  # ``max_message_size`` of a plan for calls of any size

_PER_BRACE = 1200  # bytes of memory of an object of the JSON, read and checked
_MAX_WARNINGS = 10
_SYNCHRONISES = ("nop", "barrier", "signal", "wait", "rlxsignal", "rlxwait", "flush", "sem_acquire", "sem_release")
MOVES = ("put", "pws", "pwsf", "get", "copy", "re", "res", "rre", "rres")
PACKETS = ("ppkt", "rppkt", "respkt", "cpkt", "upkt", "repkt", "recpkt", "recspkt")
"""Operations of the LL protocol: they move packets of data and flag."""

SWITCHED = ("glres", "gstore", "gstorepkt")  # operations of switch channels (NVLS)

NAMES = dict.fromkeys(sorted((*_SYNCHRONISES, *MOVES, *PACKETS, *SWITCHED, "pipeline")))  # in their order


class PlanError(FileFormatError):
    """MSCCL++ would refuse this plan or crash on it.

    ``where`` is the path of the value in the document, such as ``gpus[0].threadblocks[1].ops[2].name``.
    """

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.message = message
        self.where = where


@dataclass(frozen=True, slots=True)
class Operand:
    """Chunks of a buffer: own, remote, or of a switch channel."""

    buffer: str  # ``i``, ``o`` or ``s`` of this rank, or empty
    remote: int  # place in the threadblock's list of remote buffers of the operation's channel type, -1 for none
    index: int  # first chunk and number of chunks
    size: int
    switch: int = -1  # place in the threadblock's list of switch channels, -1 for none


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation as written."""

    name: str  # what it does
    sources: tuple[Operand, ...] = ()  # ``src_buff`` and ``dst_buff``
    targets: tuple[Operand, ...] = ()
    channel_type: str = ""  # type, empty if not given, and places in the threadblock's list of channels of this type
    channels: tuple[int, ...] = ()
    semaphores: tuple[int, ...] = ()  # semaphores of the rank
    barrier: int = 0  # number of a barrier, and of the threadblocks that meet at it
    blocks: int = 0
    part: int = 0  # which part of every operand it does, of how many that threadblocks share
    parts: int = 1
    unit: int = 0  # of a pipeline: bytes of a round, chunks in all, and the operations of a round
    chunks: int = 0
    inner: tuple[Operation, ...] = ()


@dataclass(frozen=True, slots=True)
class Threadblock:
    """Operations in sequence, with channels and remote buffers."""

    operations: tuple[Operation, ...]
    channels: Mapping[str, tuple[int, ...]]
    buffers: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class RemoteBuffer:
    """A remote buffer, with the channel types that reach it."""

    rank: int
    buffer: str
    access: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SwitchGroup:
    """The buffers of ranks that a switch channel joins."""

    ranks: tuple[int, ...]
    buffer: str


@dataclass(frozen=True, slots=True)
class Gpu:
    """What one rank does.

    * ``channels``: by type, the rank at the other end of every channel, in the order in which they are counted; -1 for
      those of switches, whose ``groups`` say whom they join.
    """

    inputs: int  # chunks of its buffers
    outputs: int
    scratch: int
    threadblocks: tuple[Threadblock, ...]
    channels: Mapping[str, tuple[int, ...]]
    buffers: tuple[RemoteBuffer, ...]  # remote buffers
    semaphores: tuple[int, ...]  # initial values
    groups: tuple[SwitchGroup, ...] = ()  # of switch channels, in the order in which they are counted


@dataclass(frozen=True, slots=True)
class ExecutionPlan:
    """A plan for all ranks."""

    name: str  # the fields of the document; ``max_size`` is None where it is any
    collective: str
    protocol: str
    inplace: bool
    reuse: bool
    double_scratch: bool
    alignment: int
    threads: int
    min_size: int
    max_size: int | None
    gpus: tuple[Gpu, ...]  # one for every rank
    warnings: tuple[str, ...] = ()  # what MSCCL++ ignores though it was likely meant
    # of an all-to-all whose blocks differ in size: how many chunks of each are sent, by sender and receiver
    sent: tuple[int, ...] | None = None

    @property
    def chunks(self) -> int:
        """Chunks that calls are cut into: of the output of an allgather, else of the input."""
        return self.gpus[0].outputs if self.collective == "allgather" else self.gpus[0].inputs


@pause_collector()
def parse_plan(source: str | Path) -> ExecutionPlan:
    """Read an execution plan."""
    if isinstance(source, Path):
        try:
            data = read_bytes(source, MAX_BYTES)
        except FileFormatError as error:
            raise FileFormatError(f"cannot read {source}: {error}") from None
    else:
        data = source.encode("utf-8", "surrogatepass")
        if len(data) > MAX_BYTES:
            raise FileFormatError(f"the text has {len(data)} bytes; up to {MAX_BYTES} are read")
    signs = data.count(b"{") + data.count(b"[") + data.count(b",")
    check_memory(8 * len(data) + _PER_BRACE * signs, f"{len(data)} bytes of JSON")
    try:
        document = json.loads(data.decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        raise PlanError(f"not text: byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise PlanError(f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise PlanError("not an execution plan: it is nested too deep") from None
    except ValueError as error:  # a number of thousands of digits
        raise PlanError(f"not JSON: {error}") from None
    return _Reader().plan(_Value(document))


def _refuse(word: str) -> NoReturn:
    raise PlanError(f"not JSON: {word} is not a number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise PlanError(f"{twice[:40]!r} is there twice in one object; MSCCL++ takes the last")
    return found


class _Value:
    """A value of the document that knows where it is."""

    __slots__ = ("_key", "_over", "value")

    def __init__(self, value: Any, over: _Value | None = None, key: str | int = "") -> None:
        self.value = value
        self._over, self._key = over, key

    @property
    def where(self) -> str:
        over = "" if self._over is None else self._over.where
        return f"{over}[{self._key}]" if isinstance(self._key, int) else f"{over}.{self._key}" if over else self._key

    def fail(self, message: str) -> NoReturn:
        raise PlanError(message, self.where or "the document")

    def has(self, key: str) -> bool:
        return key in self._object()

    def __getitem__(self, key: str) -> _Value:
        found = self._object()
        if key not in found:
            self.fail(f"has no {key!r}, which MSCCL++ requires")
        return _Value(found[key], self, key)

    def items(self) -> Iterator[_Value]:
        if not isinstance(self.value, list):
            self.fail("must be a list")
        return (_Value(one, self, at) for at, one in enumerate(self.value))

    def integer(self, low: int = 0, high: int = LARGEST) -> int:
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail("must be an integer")
        if not low <= value <= high:
            self.fail(
                f"must be from {low} to {high}, not {value if abs(value) < 10**24 else 'a number of many digits'}"
            )
        return value

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            self.fail("must be true or false")
        return self.value

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.fail("must be a text")
        return self.value

    def one_of(self, known: Collection[str]) -> str:
        text = self.text()
        if text not in known:
            self.fail(f"{text[:24]!r} is not one of {', '.join(known)}")
        return text

    def _object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            self.fail("must be an object in braces")
        return self.value


class _Reader:
    """Builds the plan, and remembers what is ignored."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, where: str, message: str) -> None:
        if len(self.warnings) < _MAX_WARNINGS:
            self.warnings.append(f"{where}: {message}")

    def plan(self, top: _Value) -> ExecutionPlan:
        name, collective = top["name"].text(), top["collective"].text()
        protocol = top["protocol"].text()
        if protocol not in PROTOCOLS:
            self.warn("protocol", f"{protocol[:24]!r} is taken for Simple; known are {', '.join(PROTOCOLS)}")
        inplace = top["inplace"].flag()
        gpus = list(top["gpus"].items())
        if not gpus:
            top["gpus"].fail("has no rank")
        most = _optional(top, "max_message_size", ANY_SIZE, lambda one: one.integer(0, ANY_SIZE))
        return ExecutionPlan(
            name=name,
            collective=collective,
            protocol=protocol if protocol in PROTOCOLS else "Simple",
            inplace=inplace,
            reuse=_optional(top, "reuse_resources", False, _Value.flag),
            double_scratch=_optional(top, "use_double_scratch_buffer", False, _Value.flag),
            alignment=_optional(top, "buffer_alignment", 16, lambda one: one.integer(1, 2**16)),
            threads=_optional(top, "num_threads_per_block", 1024, lambda one: one.integer(1, 1024)),
            min_size=_optional(top, "min_message_size", 0, lambda one: one.integer(0, ANY_SIZE)),
            max_size=None if most == ANY_SIZE else most,
            gpus=tuple(self.gpu(one, rank, len(gpus)) for rank, one in enumerate(gpus)),
            warnings=tuple(self.warnings),
            sent=_optional(top, "topodesign_sent", None, _counts),
        )

    def gpu(self, gpu: _Value, rank: int, ranks: int) -> Gpu:
        if gpu["id"].integer() != rank:
            gpu["id"].fail(f"must be {rank}, its place among the gpus")
        channels: dict[str, list[int]] = {kind: [] for kind in CHANNELS}
        groups: list[SwitchGroup] = []
        for channel in gpu["channels"].items():
            kind = channel["channel_type"].one_of(CHANNELS)
            if kind == "switch":
                buffer = channel["buffer_type"].one_of(BUFFERS)
                groups += [_group(one, buffer, rank, ranks) for one in channel["rank_groups"].items()]
                channels[kind] = [-1] * len(groups)
            else:
                channels[kind] += [one.integer(0, ranks - 1) for one in channel["connected_to"].items()]
        buffers = tuple(
            RemoteBuffer(
                one["rank"].integer(0, ranks - 1),
                one["type"].one_of(BUFFERS),
                tuple(access.one_of(CHANNELS[:2]) for access in one["access_channel_types"].items()),
            )
            for one in gpu["remote_buffers"].items()
        )
        if rank in {one.rank for one in buffers}:
            gpu["remote_buffers"].fail(f"names rank {rank} itself")
        semaphores = _optional(gpu, "semaphores", (), _semaphores)
        mine = {kind: tuple(peers) for kind, peers in channels.items()}
        return Gpu(
            inputs=gpu["input_chunks"].integer(1),
            outputs=gpu["output_chunks"].integer(1),
            scratch=gpu["scratch_chunks"].integer(),
            threadblocks=tuple(
                self.threadblock(one, at, mine, buffers, len(semaphores))
                for at, one in enumerate(gpu["threadblocks"].items())
            ),
            channels=mine,
            buffers=buffers,
            semaphores=semaphores,
            groups=tuple(groups),
        )

    def threadblock(
        self,
        block: _Value,
        at: int,
        channels: Mapping[str, tuple[int, ...]],
        buffers: tuple[RemoteBuffer, ...],
        semaphores: int,
    ) -> Threadblock:
        if block["id"].integer() != at:
            block["id"].fail(f"must be {at}, its place among the threadblocks")
        mine: dict[str, list[int]] = {kind: [] for kind in CHANNELS}
        for channel in block["channels"].items():
            kind = channel["channel_type"].one_of(CHANNELS)
            mine[kind] += [one.integer(0, len(channels[kind]) - 1) for one in channel["channel_ids"].items()]
        reach: dict[str, list[int]] = {"memory": [], "port": []}
        for refs in _optional(block, "remote_buffer_refs", [], lambda one: list(one.items())):
            kind = refs["access_channel_type"].one_of(CHANNELS[:2])
            for one in refs["remote_buffer_ids"].items():
                number = one.integer(0, len(buffers) - 1)
                if kind not in buffers[number].access:
                    one.fail(f"remote buffer {number} is not reached by a {kind} channel")
                reach[kind].append(number)
        numbers = {kind: len(known) for kind, known in mine.items()}
        return Threadblock(
            tuple(self.operation(one, numbers, reach, semaphores) for one in block["ops"].items()),
            {kind: tuple(known) for kind, known in mine.items()},
            {kind: tuple(known) for kind, known in reach.items()},
        )

    def operation(
        self,
        op: _Value,
        channels: Mapping[str, int],
        reach: Mapping[str, Sequence[int]],
        semaphores: int,
        *,
        inside: bool = False,
    ) -> Operation:
        if op.value == _MEET:
            return _MET
        name = op["name"].one_of(NAMES)
        kind = op["channel_type"].one_of(_TYPES) if op.has("channel_type") else ""
        ids = list(op["channel_ids"].items()) if op.has("channel_ids") else []
        if ids and not channels.get(kind):
            op.fail("names channels of a type of which the threadblock has none")
        used = tuple(one.integer(0, channels.get(kind, 0) - 1) for one in ids)
        if op.has("reduce_op") and op["reduce_op"].text() != "sum":
            self.warn(op.where, "reduce_op is ignored: MSCCL++ adds up whatever it says")
        if name == "pipeline":
            if inside:
                op.fail("a pipeline inside a pipeline")
            context = op["iter_context"]
            inner = tuple(self.operation(one, channels, reach, semaphores, inside=True) for one in op["ops"].items())
            return Operation(
                name, unit=context["unit_size"].integer(1), chunks=context["num_chunks"].integer(1), inner=inner
            )
        if name == "barrier":
            return Operation(name, barrier=op["barrier_id"].integer(), blocks=op["num_threadblocks"].integer(1))
        if name in {"sem_acquire", "sem_release"}:
            if not semaphores:
                op.fail("the rank has no semaphores")
            numbers = tuple(one.integer(0, semaphores - 1) for one in op["semaphore_ids"].items())
            return Operation(name, semaphores=numbers)
        part, parts = 0, 1
        if op.has("tbg_info"):
            parts = op["tbg_info"]["tbg_size"].integer(1)
            part = op["tbg_info"]["tb_id"].integer(0, parts - 1)
        return Operation(
            name,
            sources=self.operands(op, "src_buff", kind, reach, channels["switch"]),
            targets=self.operands(op, "dst_buff", kind, reach, channels["switch"]),
            channel_type=kind,
            channels=used,
            part=part,
            parts=parts,
        )

    def operands(
        self, op: _Value, key: str, kind: str, reach: Mapping[str, Sequence[int]], switches: int
    ) -> tuple[Operand, ...]:
        if not op.has(key):
            return ()
        listed = op.value[key]
        if type(listed) is list:
            plain = tuple(one for one in map(_parse_own, listed) if one is not None)
            if len(plain) == len(listed):
                return plain
        return tuple(self.operand(one, kind, reach, switches) for one in op[key].items())

    def operand(self, one: _Value, kind: str, reach: Mapping[str, Sequence[int]], switches: int) -> Operand:
        index, size = one["index"].integer(), one["size"].integer()
        buffer = one["type"].one_of(BUFFERS) if one.has("type") else ""
        remote = switch = -1
        if one.has("buffer_id"):
            known = reach.get(kind)
            if known is None:
                one.fail("a buffer_id needs channel_type memory or port")
            remote = one["buffer_id"].integer(0, len(known) - 1)
            buffer = ""
        if one.has("switch_channel_id"):
            if not switches:
                one.fail("names a switch channel, and the threadblock has none")
            switch = one["switch_channel_id"].integer(0, switches - 1)
            buffer = ""
        elif not buffer and remote < 0:
            one.fail("names no buffer: type, buffer_id or switch_channel_id is needed")
        return Operand(buffer, remote, index, size, switch)


_MEET, _MET = {"name": "nop"}, Operation("nop")  # what most plans have thousands of


def _parse_own(fields: Any) -> Operand | None:
    """Return an operand in an own buffer, or None."""
    if type(fields) is not dict or len(fields) != 3:
        return None
    buffer, index, size = map(fields.get, ("type", "index", "size"))
    if buffer in BUFFERS and type(index) is type(size) is int and 0 <= index <= LARGEST and 0 <= size <= LARGEST:
        return Operand(buffer, -1, index, size)
    return None


def _group(value: _Value, buffer: str, rank: int, ranks: int) -> SwitchGroup:
    value["size"].integer(1)
    named = [one.integer(0, ranks - 1) for one in value["ranks"].items()]
    if rank not in named:
        value["ranks"].fail(f"lacks rank {rank} itself, and MSCCL++ throws: rank is not among allRanks")
    if len(set(named)) < len(named):
        value["ranks"].fail("names a rank twice: the multicast would wait for more devices than there are")
    return SwitchGroup(tuple(named), buffer)


def _semaphores(value: _Value) -> tuple[int, ...]:
    return tuple(one["init_value"].integer(-(2**31), 2**31 - 1) for one in value.items())


def _counts(value: _Value) -> tuple[int, ...]:
    return tuple(one.integer(0, ANY_SIZE) for one in value.items())


def _optional(value: _Value, key: str, default: Any, read: Callable[[_Value], Any]) -> Any:
    return read(value[key]) if value.has(key) else default
