"""Compiled reading of many steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, compile_kernel
from topodesign.runtime.msccl.steps import STEP_TYPES

Bytes = NDArray[np.uint8]


def _bytes(text: str) -> Bytes:
    return np.frombuffer(text.encode(), dtype=np.uint8)


_NAMES = ("s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep")
_BETWEEN = [_bytes(f'{"<step" if name == "s" else chr(34)} {name}="') for name in _NAMES]
_LITERAL = np.concatenate(_BETWEEN)
_ENDS = np.cumsum([0, *map(len, _BETWEEN)])
_WORDS = np.concatenate([_bytes(f"{word:<5}") for word in STEP_TYPES])  # each ends with a blank
_TYPE, _BUFFER, _FLAG = 1, 2, 3
_FORMS = np.array([0, _TYPE, _BUFFER, 0, _BUFFER, 0, 0, 0, 0, _FLAG])  # 0 is an integer
_MAX_DIGITS = 9  # within 32 bits whatever they are


@compile_kernel
def read_steps(text: Bytes, start: int, line: int, rows: Ints) -> tuple[int, int, int]:  # noqa: PLR0911
    """Read plain steps into rows; return position, line and number.

    A plain step is one as all tools write it: the names in their order, values within bounds, nothing to report.
    """
    size, found, position = len(text), 0, start
    digits = np.zeros(10, dtype=np.int64)
    while found < len(rows):
        at = position
        for field in range(10):
            low, high = _ENDS[field], _ENDS[field + 1]
            if at + high - low + 6 > size:
                return position, line, found
            for k in range(low, high):
                if text[at] != _LITERAL[k]:
                    return position, line, found
                at += 1
            value = -1
            if _FORMS[field] == _TYPE:
                for word in range(len(_WORDS) // 5):
                    k = 0
                    while text[at + k] == _WORDS[5 * word + k]:
                        k += 1
                    if _WORDS[5 * word + k] == 32 and text[at + k] == 34:
                        value = word
                        at += k
                        break
                if value < 0:
                    return position, line, found
            elif _FORMS[field] == _BUFFER:
                value = 0 if text[at] == 105 else 1 if text[at] == 111 else 2 if text[at] == 115 else -1
                if value < 0:
                    return position, line, found
                at += 1
            else:
                sign = 1
                if text[at] == 45:
                    sign = -1
                    at += 1
                first = at
                value = 0
                while at < size and at - first < _MAX_DIGITS and 48 <= text[at] <= 57:
                    value = 10 * value + int(text[at]) - 48
                    at += 1
                zero = at > first and text[first] == 48 and (at - first > 1 or sign < 0)
                if at == first or zero or (_FORMS[field] == _FLAG and (sign < 0 or value > 1)):
                    return position, line, found
                value *= sign
            digits[field] = value
        if at + 3 > size or text[at] != 34:
            return position, line, found
        at += 1
        if text[at] == 32:
            at += 1
        if at + 2 > size or text[at] != 47 or text[at + 1] != 62:
            return position, line, found
        at += 2
        for field in range(10):
            rows[found, field] = digits[field]
        rows[found, 10] = line
        found += 1
        while at < size and (text[at] == 32 or text[at] == 10 or text[at] == 13):
            line += text[at] == 10
            at += 1
        position = at
    return position, line, found
