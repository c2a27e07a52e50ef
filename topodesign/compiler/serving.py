"""Programs for given calls: chunk count, its cost, and the calls that no program for all sizes serves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.units import format_size
from topodesign.base.wording import join_words
from topodesign.collectives import Collective
from topodesign.runtime.calls import About, Call, shares_of

_USUAL = 2**26  # bytes of a call that frameworks make often, as an example
_POWER = 2**62  # a power of two above all calls


@dataclass(frozen=True)
class Cut(Declared):
    """Chunk count of a program for given calls."""

    sizes: tuple[int, ...]  # bytes of the whole data of the calls that it is for
    chunks: int  # how many chunks there are
    natural: int  # as few as the schedule can do with
    loss: Fraction  # by what share the bandwidth factor grows, ``p/q``

    KEYS = ("sizes chunks natural", key("loss", kind=Fraction))

    def __str__(self) -> str:
        sizes = join_words([f"{size} bytes" for size in self.sizes])
        if self.chunks == self.natural:
            return f"for calls of {sizes}: cut into {self.chunks} chunks, as the schedule is; nothing is lost"
        cost = "nothing is lost" if not self.loss else f"the bandwidth factor grows by {float(self.loss):.2%}"
        return f"for calls of {sizes}: cut into {self.chunks} chunks in place of {self.natural}; {cost}"


def require_whole(collective: Collective, ranks: int, sizes: Sequence[Fraction], width: int) -> int:
    """Return the greatest common divisor of calls, in bytes.

    Raises
    ------
    InfeasibleError
        If a call is no whole number of elements of ``width`` bytes, of each rank where each has a part of its own.
    """
    about = About("", collective.name.replace("-", ""), ranks, inplace=True, outofplace=True)
    for size in sizes:
        if size.denominator != 1 or size < 1:
            raise ParameterError(f"a call of {size} bytes is not a whole number of bytes above 0")
        call = Call(about.collective, int(size), ranks, None, width)
        for reason in about.reasons(call):
            near = " or ".join(f"{one}" for one in about.nearest(call) if one is not None)
            raise InfeasibleError(f"there is no such call: {reason}; the nearest sizes are {near} bytes")
    return math.gcd(*map(int, sizes))


def describe_unserved(
    collective: Collective, ranks: int, chunks: int, unit: int, calls: tuple[int, int | None]
) -> Iterator[str]:
    """Yield a note if a program serves no call of a power of two bytes, of each rank where each has a part.

    Parameters
    ----------
    chunks, unit
        Chunks of the program, and the bytes of which each is a multiple.
    calls
        Its smallest and its largest call in bytes, None without a limit.
    """
    shares, multiple = shares_of(collective, ranks), chunks * unit
    largest = min(_USUAL, calls[1] or _USUAL)
    if shares * _POWER % (multiple // math.gcd(multiple, _POWER)) == 0 or largest < shares:
        return
    size = shares << (largest // shares).bit_length() - 1
    about = About("", "", ranks, inplace=True, outofplace=True, smallest=calls[0], largest=calls[1], multiple=multiple)
    near = [f"{one} bytes" for one in about.nearest(Call("", size)) if one is not None]
    served = f"nearest sizes that it serves: {join_words(near)}" if near else "it serves no call in its range of sizes"
    each = " for each rank" if shares > 1 else ""
    yield (
        f"no call of a power of two bytes{each} is a multiple of its {chunks} chunks, and the runtime runs these "
        f"without it; compile with --size, such as --size {format_size(size)}; {served}"
    )
