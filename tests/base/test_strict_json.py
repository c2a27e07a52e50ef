"""Strict JSON."""

from __future__ import annotations

import pytest

from topodesign.base.errors import FileFormatError
from topodesign.base.strict_json import parse_json


def test_values_are_those_of_json() -> None:
    text = '{"a": [1, 2.5, "x", null, true], "b": {"a": {}}}'
    assert parse_json(text) == {"a": [1, 2.5, "x", None, True], "b": {"a": {}}}
    assert parse_json(b"[1]") == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: not JSON"),
        ("{\n\n", "line 3: not JSON"),
        ('{"a": 1, "a": 1}', "'a' is there twice"),
        ('[{"b": {"a": 1, "a": 2}}]', "'a' is there twice"),
        ("[NaN]", "NaN is no number"),
        ("-Infinity", "-Infinity is no number"),
        ("[" * 10**5, "nested too deep"),
        ("1" * 10**5, "not JSON"),
        (b"\xff\xfe[\xd8", "not JSON"),
        ("\ufeff[]", "not JSON"),
    ],
)
def test_what_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        parse_json(text)
