"""Traffic of groups, as ``--traffic`` gives it.

Members, collective, size and start.

A *stream* is written ``GROUP=COLLECTIVE:ROOT@SIZE+TIME``, all of it after the group optional: ``0,1,2=allgather@1GiB``,
``4x4:0=all-to-all@1MiB+20us``, ``*=broadcast:2``. The group is written as one of ``--group``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from topodesign.base.errors import ParameterError
from topodesign.base.units import Quantity, as_size, as_time
from topodesign.collectives import Collective, as_collective

_TRAFFIC = re.compile(
    r"(?P<group>[^=@+]+)(?:=(?P<collective>[a-z-]+)(?::(?P<root>[^@+]+))?)?(?:@(?P<size>[^+]+))?(?:\+(?P<begin>.+))?"
)
_HELP = "write it as 4x4:0=allreduce@1GiB"


@dataclass(frozen=True)
class Stream:
    """One sort of traffic."""

    group: str  # its groups, as one text of --group
    collective: Collective  # what each group does, all of them at once
    size: Fraction  # bytes of each group
    root: str | None = None  # a name, of several groups that of each, or "first"
    begin: Fraction = Fraction(0)  # seconds from the start


Traffic: TypeAlias = "str | Stream | tuple[str, Collective | str] | tuple[str, Collective | str, Quantity]"
"""A stream, the text of one, or a tuple of its group, its collective and, if it is not 1 MiB, its size."""


def as_streams(value: Traffic | Iterable[Traffic]) -> tuple[Stream, ...]:
    """Return sorts of traffic.

    Examples
    --------
    >>> [(one.group, one.collective.name, int(one.size)) for one in as_streams("4x4:0=allgather@1KiB")]
    [('4x4:0', 'allgather', 1024)]
    """
    one = isinstance(value, str | Stream) or (isinstance(value, tuple) and len(value) > 1 and _is_stream(value))
    if not one and not isinstance(value, Iterable):
        raise ParameterError(f"traffic is text such as 4x4:0=allreduce@1GiB, not {value!r:.60}")
    streams = tuple(map(_stream, (value,) if one else value))  # type: ignore[arg-type]
    if not streams:
        raise ParameterError(f"there is no traffic; {_HELP}")
    return streams


def _is_stream(traffic: tuple[Any, ...]) -> bool:
    return isinstance(traffic[0], str) and (
        isinstance(traffic[1], Collective)
        or (isinstance(traffic[1], str) and "=" not in traffic[0] and ":" not in traffic[1])
    )


def _stream(traffic: Traffic) -> Stream:
    if isinstance(traffic, Stream):
        return traffic
    if isinstance(traffic, str):
        found = _TRAFFIC.fullmatch(traffic.strip())
        if found is None:
            raise ParameterError(f"traffic {traffic[:100]!r}: {_HELP}")
        begin = Fraction(0) if found["begin"] is None else as_time(found["begin"])
        collective = as_collective(found["collective"] or "allreduce")
        size = as_size(found["size"] or "1MiB")
        return Stream(found["group"].strip(), collective, size, found["root"], begin)
    if isinstance(traffic, tuple) and len(traffic) in {2, 3} and isinstance(traffic[0], str):
        size = as_size(traffic[2] if len(traffic) == 3 else "1MiB")
        return Stream(traffic[0], as_collective(traffic[1]), size)
    raise ParameterError(f"traffic is text such as 4x4:0=allreduce@1GiB or a tuple, not {traffic!r:.60}")
