"""Target limits from back ends for front ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import TypeVar

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import InfeasibleError, TooLargeError, TopodesignError

T = TypeVar("T")
R = TypeVar("R")

ANY = 2**31  # A limit that nothing reaches

HELP = "use fewer channels, a schedule with fewer chunks or trees (--set trees=), or a smaller N"
"""What helps a program that exceeds a limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum numbers that a target accepts, unlimited by default.

    A front end splits what is too long for an instruction, takes more channels and joins threadblocks. Whether the
    program then keeps to all that its target demands is for the back end to check.

    * ``instructions_per_block``: instructions of a threadblock; one that waits for several others counts once for each
      of them.
    * ``slots``: pieces of a connection that are surely in flight before a sender waits for its receiver; none where a
      send ends only when it is received.
    """

    chunks_per_instruction: int = ANY  # chunks that one instruction moves
    instructions_per_block: int = ANY
    instructions_per_rank: int = ANY  # instructions of a rank, before any work is done on more of them in vain
    blocks_per_channel: int = ANY  # threadblocks of a rank that send on one channel, and those that receive
    blocks_per_rank: int = ANY  # threadblocks of a rank
    channels: int = ANY  # channels
    slots: int = 2
    slot_bytes: int = 1  # bytes of a piece: as many whole chunks as fit, at least one
    largest_call: int = 2**63  # bytes of the largest call that the program is for
    ranks: int = ANY  # ranks
    switches: bool = False  # whether a switch copies and adds there for all ranks
    uneven: bool = False  # whether of the blocks of an all-to-all some may be sent in part
    settles: bool = True  # whether scratch may have something else as soon as it has been read
    of: str = "the target"  # whose they are, for messages

    def __post_init__(self) -> None:
        for limit in fields(self):
            if limit.name not in {"of", "switches", "uneven", "settles"}:
                require_at_least(limit.name, getattr(self, limit.name), int(limit.name != "slots"))

    def check_ranks(self, ranks: int) -> None:
        """Reject more ranks than the limit."""
        if ranks > self.ranks:
            raise InfeasibleError(f"{self.of} allows {self.ranks} ranks, and there are {ranks}; use a smaller N")

    def check_threadblock(self, rank: int, peer: int, instructions: int) -> None:
        """Reject a peer with more sends than a threadblock allows."""
        if instructions > self.instructions_per_block:
            raise InfeasibleError(
                f"{self.of} allows {self.instructions_per_block} steps per threadblock, and rank {rank} requires "
                f"{instructions} or more: in these it sends to rank {peer}; {HELP}"
            )

    def piece(self, chunks: int) -> int:
        """Return the minimum chunks of a full piece, of ``chunks``."""
        return max(1, min(self.chunks_per_instruction, self.slot_bytes // -(-self.largest_call // chunks)))


NO_LIMITS = Limits()


def over(of: str, what: str, most: int, number: int, rank: int | None = None) -> Iterator[str]:
    """Yield a message if a limit is exceeded."""
    if number > most:
        who = "the program" if rank is None else f"rank {rank}"
        yield f"{of} allows {most} {what}, and {who} requires {number}; {HELP}"


def find_first(
    candidates: Iterable[T],
    make: Callable[[T], R],
    errors: tuple[type[TopodesignError], ...] = (InfeasibleError, TooLargeError),
) -> tuple[T, R, TopodesignError | None]:
    """Return the first candidate that can be made, what it gives, and why the very first cannot.

    Candidates come in order of preference. If none can be made, the reason of the first is raised.
    """
    why: TopodesignError | None = None
    for one in candidates:
        try:
            return one, make(one), why
        except errors as error:
            why = why or error
    raise why or InfeasibleError("there is no plan to compile")
