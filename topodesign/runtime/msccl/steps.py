"""The steps of a threadblock as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

if TYPE_CHECKING:
    from topodesign.base.compiled import Ints

STEP_TYPES = ("s", "r", "rcs", "rrs", "rrc", "rrcs", "cpy", "re", "nop")
BUFFERS = ("i", "o", "s")


class Step(NamedTuple):
    """One ``step`` element, as written; offsets and ``cnt`` count chunks.

    ``depid`` is the threadblock of the same rank that is waited for, -1 for none, and ``deps`` its step.
    """

    s: int
    type: str
    srcbuf: str
    srcoff: int
    dstbuf: str
    dstoff: int
    cnt: int
    depid: int
    deps: int
    hasdep: bool
    line: int


class Steps(Sequence[Step]):
    """The steps of a threadblock, made from columns on demand.

    * ``rows``: an array of (steps, fields of Step): types, buffers and flags by number.
    """

    def __init__(self, rows: Ints) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> Step: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Step]: ...
    def __getitem__(self, at: int | slice) -> Step | Sequence[Step]:
        if isinstance(at, slice):
            return Steps(self.rows[at])
        s, kind, source, source_at, target, target_at, count, depid, deps, hasdep, line = self.rows[at].tolist()
        ends = BUFFERS[source], source_at, BUFFERS[target], target_at
        return Step(s, STEP_TYPES[kind], *ends, count, depid, deps, bool(hasdep), line)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Steps) and self.rows.tolist() == other.rows.tolist()

    def __hash__(self) -> int:
        return hash(self.rows.tobytes())
