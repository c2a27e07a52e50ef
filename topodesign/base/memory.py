"""How much memory an input may need, estimated before it is taken."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator

from topodesign.base.errors import FileFormatError, ParameterError, UnitError
from topodesign.base.units import parse_size, rounded_size

VARIABLE = "TOPODESIGN_MAX_MEMORY"  # the environment variable that sets the limit, such as ``16GiB``
DEFAULT = 4 * 2**30  # bytes, where it is not set


def memory_limit() -> int:
    """Return how many bytes the content of one input file, or a plan over trees that is made, may need."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return DEFAULT
    try:
        return int(parse_size(text))
    except UnitError as error:
        raise ParameterError(f"{VARIABLE}: {error}") from None


def check_memory(needed: int, what: str) -> None:
    """Refuse what would need more memory than the limit; call it before allocating anything."""
    limit = memory_limit()
    if needed > limit:
        raise FileFormatError(
            f"{what} would need about {rounded_size(needed)} of memory, and the limit is {rounded_size(limit)}; "
            f"set {VARIABLE} to raise it"
        )


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Keep the collector of cycles from looking over and over at many objects without any, as they grow in number."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
