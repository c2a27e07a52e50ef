"""Memory that an input may need, estimated before it is allocated."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator

from topodesign.base.errors import FileFormatError, ParameterError, UnitError
from topodesign.base.units import format_size_rounded, parse_size

VARIABLE = "TOPODESIGN_MAX_MEMORY"  # the environment variable that sets the limit, such as ``16GiB``
DEFAULT = 4 * 2**30  # bytes, where it is not set


def memory_limit() -> int:
    """Return the maximum memory for one input file or made plan, in bytes."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return DEFAULT
    try:
        return int(parse_size(text))
    except UnitError as error:
        raise ParameterError(f"{VARIABLE}: {error}") from None


def check_memory(needed: int, what: str) -> None:
    """Raise an error if an allocation would exceed the limit.

    Call it before allocating.
    """
    limit = memory_limit()
    if needed > limit:
        raise FileFormatError(
            f"{what} would need about {format_size_rounded(needed)} of memory, and the limit is "
            f"{format_size_rounded(limit)}; set {VARIABLE} to raise it"
        )


@contextlib.contextmanager
def pause_collector() -> Iterator[None]:
    """Pause the garbage collector while many objects without cycles are made."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
