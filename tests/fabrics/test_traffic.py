"""Traffic as text: what is written is what is read, and what is wrong is reported."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign.base.errors import ParameterError, TopodesignError
from topodesign.collectives import as_collective
from topodesign.fabrics.traffic import Stream, as_streams


@pytest.mark.parametrize(
    ("text", "stream"),
    [
        ("0,1", Stream("0,1", as_collective("allreduce"), Fraction(2**20))),
        ("0,1=allgather@64MiB", Stream("0,1", as_collective("allgather"), Fraction(2**26))),
        ("*=broadcast:2", Stream("*", as_collective("broadcast"), Fraction(2**20), "2")),
        (
            "4x4:0=scatter:first@1MiB+20us",
            Stream("4x4:0", as_collective("scatter"), Fraction(2**20), "first", Fraction(20, 10**6)),
        ),
        (
            "box0/*=allgather+3us",
            Stream("box0/*", as_collective("allgather"), Fraction(2**20), None, Fraction(3, 10**6)),
        ),
    ],
)
def test_what_is_written_is_read(text: str, stream: Stream) -> None:
    assert as_streams(text) == (stream,)
    assert as_streams([text, stream]) == (stream, stream)


def test_tuples() -> None:
    assert as_streams(("2x2:0", "allgather")) == as_streams("2x2:0=allgather")
    assert as_streams(("2x2:0", "allgather", "1KiB")) == as_streams("2x2:0=allgather@1KiB")
    assert as_streams(("0=allgather", "1=allgather")) == as_streams(["0=allgather", "1=allgather"])


@pytest.mark.parametrize(
    "wrong", ["", "0=", "0=gossip", "0@", "0=allgather@1MiB+soon", [], 3, [3], [("0",)], "=allgather"]
)
def test_what_is_wrong_is_said(wrong: object) -> None:
    with pytest.raises(TopodesignError):
        as_streams(wrong)  # type: ignore[arg-type]
    assert issubclass(ParameterError, TopodesignError)
