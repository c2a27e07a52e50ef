"""Instructions and the buffers that they act on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Buffer(Enum):
    """Buffer of a rank: input, output or scratch."""

    INPUT = "input"
    OUTPUT = "output"
    SCRATCH = "scratch"


class Kind(Enum):
    """Instruction kind; ``received`` are the connection's next ``count`` chunks."""

    SEND = "send"  # send source
    RECEIVE = "receive"  # target = received
    RECEIVE_COPY_SEND = "receive-copy-send"  # target = received, and send it on
    RECEIVE_REDUCE_COPY = "receive-reduce-copy"  # target = source + received
    RECEIVE_REDUCE_SEND = "receive-reduce-send"  # send source + received, store nothing
    RECEIVE_REDUCE_COPY_SEND = "receive-reduce-copy-send"  # target = source + received, and send it on
    COPY = "copy"  # target = source
    REDUCE = "reduce"  # target = target + source

    def __init__(self, word: str) -> None:
        self.receives = word.startswith("receive")
        """Whether it takes chunks off the threadblock's receiving connection."""
        self.sends = word.endswith("send")
        """Whether it puts chunks on the threadblock's sending connection."""


@dataclass(frozen=True, slots=True)
class Region:
    """Chunks of a buffer from ``offset``; the instruction sets their count."""

    buffer: Buffer
    offset: int
