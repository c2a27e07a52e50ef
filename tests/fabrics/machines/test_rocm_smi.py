"""What ``rocm-smi --showtopo`` prints."""

from __future__ import annotations

import pytest

from tests.fabrics.machines.texts import rocm_text
from topodesign.base.errors import FileFormatError
from topodesign.fabrics.machines.rocm_smi import read

HALVES = rocm_text(8, lambda a, b: a // 4 == b // 4, [0, 0, 0, 0, 1, 1, 1, 1])


def test_two_halves() -> None:
    machine = read(HALVES)
    assert set(machine.direct) == {(f"gpu{a}", f"gpu{b}") for b in range(8) for a in range(b) if a // 4 == b // 4}
    assert not machine.joined
    assert [machine.way_up(f"gpu{one}")[-1] for one in range(8)] == ["cpu0"] * 4 + ["cpu1"] * 4


def test_a_longer_way_over_other_gpus_is_no_link() -> None:
    machine = read(HALVES.replace("PCIE", "XGMI"))  # weight 72
    assert machine.direct == read(HALVES).direct


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("GPU0 GPU1", "no table of the link types"),
        (HALVES.replace("XGMI", "IF"), "which rocm-smi does not print"),
        (HALVES.replace("15 ", "x  "), "is no number"),
    ],
)
def test_bad_texts(text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        read(text)
