"""Limits of MSCCL runtimes, for compiler and checker.

The numbers are facts of the runtimes' own XML parsers and interpreter kernels (microsoft/msccl,
Azure/msccl-executor-nccl, ROCm/rccl up to ROCm 7.12); design notes, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from topodesign.base.errors import ParameterError
from topodesign.base.wording import suggest
from topodesign.collectives import COLLECTIVES, Collective

PROTOCOLS = ("Simple", "LL", "LL128")  # values of ``proto``

LARGEST_SIZE = 2**63 - 1  # largest ``maxBytes`` that a file can say; stands for any size

SCRATCH_COMFORT = 2**30
"""Bytes of scratch of a rank that a runtime may take at its start without a warning (a rule of thumb)."""

MAX_SCRATCH = 2**40  # bytes of scratch of a rank that no device has: about four times the largest

_SLOTS = MappingProxyType({"Simple": 2, "LL": 8, "LL128": 8})
# Half of 4 MiB; 512 threads x 8 lines x 8 bytes of data; 640 threads x 120 words, 15 of 16 of them data.
_SLOT_BYTES = MappingProxyType({"Simple": 2**21, "LL": 2**15, "LL128": 640 * 120 * 8 // 16 * 15})
# 256 threads instead, and 7 of 8 words.
_RCCL_SLOT_BYTES = MappingProxyType({"Simple": 2**21, "LL": 2**14, "LL128": 256 * 120 * 8 // 8 * 7})


@dataclass(frozen=True)
class RuntimeProfile:
    """The limits of one runtime, as largest accepted numbers.

    * ``xml_nodes_per_rank``: elements one rank keeps: the algo, every gpu, and its own tbs and steps. The table has
      4096 entries, but the parser gives up as soon as it is full, even if only closing tags follow: 4095 are usable.
    * ``children_per_node``: elements directly inside one element; the parser does not check it and writes past its
      table.
    * ``steps_per_threadblock``: ``step`` elements in a tb, ``nop`` included. A build-time constant of msccl-executor
      (MSCCL_MAX_NUM_STEPS): 64 by default since November 2024, 256 on request. A file with more makes start-up fail.
    * ``threadblocks_per_rank``: ``tb`` elements of a gpu; a dependency names its threadblock in a signed byte, so ids
      end at 127.
    * ``resident_threadblocks``: threadblocks of a rank that run at once, at most one per multiprocessor. They wait for
      each other, so all must be resident: 108 on an A100, the smallest GPU these runtimes are used on;
      ``dataclasses.replace`` it with 132 for an H100.
    * ``threadblocks_per_channel``: threadblocks of a rank that send on one channel; the same for those that receive.
    * ``reductions_per_step``: consecutive ``re`` steps with one destination that the runtime may fuse into one before
      its table overflows.
    * ``slots``: by protocol, how many sends may be in flight on a connection before the next one blocks. A connection
      has a ring of 8 buffer parts. A piece sent with Simple takes half of them whatever its size (MSCCL's chunk is
      NCCL_STEPS/2 parts), so 2 are in flight; with LL and LL128 a piece takes one, so 8. A network transport may hold
      more (both ends buffer), never fewer.
    * ``slot_bytes``: by protocol, the data that one piece can hold with the default buffers (``NCCL_BUFFSIZE`` and its
      like unset). A step is cut into pieces of as many whole chunks as fit, at least one.
    * ``optional``: attributes of ``algo`` that this runtime does without; others may not, so the checker warns.
    * ``checks_chunk_counts``: whether ``i_chunks`` and ``o_chunks``, unless 0, must agree with ``nchunksperloop``.
    * ``strict_sizes``: whether a file serves calls below ``maxBytes`` only, 0 is a limit like any other, and
      ``minBytes`` above it is refused. Other runtimes take calls of just ``maxBytes`` too, 0 stands for any size, and a
      range without a size is never used.
    * ``scratch_at_start``: whether scratch for a call of ``maxBytes`` is allocated when the communicator starts. Other
      runtimes allocate for a call what it needs, and keep the largest.
    * ``joins_late``: whether, with cuMem on at every rank, a communicator joins ranks in rings and trees of its own
      only when a built-in algorithm needs them. Others do it at the start, whatever program is loaded.
    * ``ll_send_barrier``: whether the threads of a threadblock meet after an LL send. Where they do not, a flag set by
      that step, or the next step itself, may overtake the reading of what is sent (Simple and LL128 always meet).
    """

    name: str  # the word for ``--runtime``
    dialect: str = ""  # name of the runtime whose words for collectives it has; its own name where empty
    steps_per_threadblock: int = 256
    threadblocks_per_rank: int = 128
    resident_threadblocks: int = 108
    threadblocks_per_channel: int = 32
    channels: int = 32  # channels 0 to ``channels - 1``
    chunks_per_step: int = 71  # largest ``cnt``
    largest_offset: int = 2**15 - 1  # largest ``srcoff`` and ``dstoff``, a signed 16-bit number
    reductions_per_step: int = 16
    xml_nodes_per_rank: int = 4095
    children_per_node: int = 1024
    attributes_per_node: int = 16  # attributes of an element, and characters of a value; unchecked too
    value_length: int = 255
    slots: Mapping[str, int] = field(default_factory=lambda: _SLOTS, hash=False)
    slot_bytes: Mapping[str, int] = field(default_factory=lambda: _SLOT_BYTES, hash=False)
    optional: frozenset[str] = frozenset()
    checks_chunk_counts: bool = False
    ll_send_barrier: bool = True
    strict_sizes: bool = False
    scratch_at_start: bool = False
    joins_late: bool = False

    def smallest_piece(self, proto: str, largest: int | None, chunks: int) -> int:
        """Return the smallest full piece for calls up to ``largest`` bytes.

        None stands for any size.
        """
        if not largest:
            return 1
        size = -(-largest // chunks)
        return max(1, min(self.chunks_per_step, self.slot_bytes[proto] // size))

    def largest_of_piece(self, proto: str, piece: int, chunks: int) -> int:
        """Return the largest call with a full piece of ``piece`` chunks."""
        return self.slot_bytes[proto] // piece * chunks

    def largest_call(self, max_bytes: int) -> int | None:
        """Return the largest call of a file's ``maxBytes``, None for any."""
        if max_bytes == LARGEST_SIZE or (max_bytes == 0 and not self.strict_sizes):
            return None
        return max_bytes - self.strict_sizes

    def max_bytes(self, largest: int | None) -> int:
        """Return the ``maxBytes`` for calls up to ``largest``, or None."""
        return LARGEST_SIZE if largest is None else min(LARGEST_SIZE, largest + self.strict_sizes)

    def why_unused(self, min_bytes: int, max_bytes: int, chunks: int) -> str | None:
        """Return why a file serves no call, or None.

        The elements of a call are a multiple of the chunks of the program, and so are the bytes.
        """
        said = f"minBytes {min_bytes} and maxBytes {max_bytes}"
        if min_bytes < 0 or max_bytes < 0:
            return f"{said} must not be negative"
        if self.strict_sizes and min_bytes > max_bytes:
            return f"{said} are no range; {self.name} refuses the file"
        largest = self.largest_call(max_bytes)
        if largest is None:
            return None
        if largest < max(1, min_bytes):
            rule = f"{self.name} takes calls below maxBytes; " if self.strict_sizes else ""
            return f"{said} are no range: {rule}the file is never used"
        if -(-max(1, min_bytes) // chunks) * chunks > largest:
            return f"{said}: no size in between is a multiple of the {chunks} chunks; the file is never used"
        return None

    def scratch_bytes(self, max_bytes: int, scratch: int, chunks: int) -> int | None:
        """Return the most scratch bytes of a rank, None if unbounded.

        ``scratch`` and ``chunks`` are those of the rank and of the whole collective.
        """
        if self.scratch_at_start:
            return max_bytes * scratch // chunks
        largest = self.largest_call(max_bytes)
        if largest is None:
            return None if scratch else 0
        return largest * scratch // chunks

    @property
    def collectives(self) -> Mapping[str, Collective]:
        """Values of ``coll`` that the parser knows, and what they are.

        The collectives themselves specify them. With a wrong one the file is silently ignored.
        """
        dialect = self.dialect or self.name
        return {label: one for one in COLLECTIVES.values() if (label := one.label(dialect)) is not None}

    def coll(self, collective: Collective) -> str:
        """Return the ``coll`` of a collective: ``reducescatter``."""
        label = collective.label(self.dialect or self.name)
        if label is None:
            known = ", ".join(one.name for one in self.collectives.values())
            raise ParameterError(f"the runtime {self.name} has no collective {collective.name!r}; it supports {known}")
        return label


PROFILES: Mapping[str, RuntimeProfile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            RuntimeProfile(
                "msccl",
                optional=frozenset({"minBytes", "maxBytes", "outofplace"}),
                checks_chunk_counts=True,
                strict_sizes=True,
                scratch_at_start=True,
            ),
            RuntimeProfile("msccl-executor", steps_per_threadblock=64, optional=frozenset({"name"}), joins_late=True),
            RuntimeProfile(
                "msccl-executor-256", dialect="msccl-executor", optional=frozenset({"name"}), joins_late=True
            ),
            RuntimeProfile(
                "rccl",
                steps_per_threadblock=64,
                threadblocks_per_rank=64,
                resident_threadblocks=64,
                slot_bytes=_RCCL_SLOT_BYTES,
                optional=frozenset({"name"}),
                ll_send_barrier=False,
            ),
        )
    }
)
"""The runtimes by name."""


def get_profile(name: str | RuntimeProfile) -> RuntimeProfile:
    """Return the profile of a runtime; a profile as it is."""
    if isinstance(name, RuntimeProfile):
        return name
    try:
        return PROFILES[name]
    except KeyError:
        raise ParameterError(f"unknown runtime {name!r}; {suggest(name, PROFILES)}") from None
