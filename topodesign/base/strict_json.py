"""Strict JSON: no duplicate keys, NaN, infinity or excessive depth."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from topodesign.base.errors import FileFormatError
from topodesign.base.memory import check_memory

_PER_SIGN = ((b"[", 64), (b"{", 240), (b",", 40), (b'"', 28))
"""Bytes of memory that what a sign opens or divides takes: half of a text, for that has two."""


def parse_json(text: str | bytes) -> Any:
    """Return the value that a text in JSON stands for."""
    data = text if isinstance(text, bytes) else text.encode(errors="replace")
    needed = 2 * len(data) + sum(data.count(sign) * size for sign, size in _PER_SIGN)
    check_memory(needed, f"{len(data)} bytes of JSON")
    del data
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except FileFormatError:
        raise
    except RecursionError:
        raise FileFormatError("not JSON that makes sense: nested too deep") from None
    except json.JSONDecodeError as error:
        raise FileFormatError(f"line {error.lineno}: not JSON: {error.msg}") from None
    except ValueError as error:  # bytes that are no text, numbers with thousands of digits
        raise FileFormatError(f"not JSON: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise FileFormatError(f"the field '{twice[:50]}' is there twice in one place")
    return fields


def _no_number(text: str) -> NoReturn:
    raise FileFormatError(f"not JSON: {text} is not a number")
