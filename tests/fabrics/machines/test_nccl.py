"""Files that NCCL and RCCL write."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.fabrics.machines.texts import nccl_text
from topodesign.base.errors import FileFormatError
from topodesign.fabrics.machines.nccl import read


@pytest.mark.parametrize(
    ("sm", "rate", "reducing"), [(80, 25, False), (90, 25, True), (100, 50, True), (75, None, False)]
)
def test_links_to_switches(sm: int, rate: int | None, reducing: bool) -> None:
    machine = read(nccl_text(sm, switched=True))
    assert machine.switched == {f"gpu{one}": (18, None if rate is None else Fraction(rate)) for one in range(4)}
    assert (machine.direct, machine.reducing) == ({}, reducing)


def test_links_between_pairs_and_the_tree() -> None:
    machine = read(nccl_text(70, switched=False))
    assert machine.direct["gpu0", "gpu1"] == (2, Fraction(25))
    assert machine.direct["gpu1", "gpu3"] == (1, Fraction(25))
    assert machine.above["gpu2"] == ("pcie2", Fraction(64))
    assert machine.above["mlx5_2"] == ("pcie2", Fraction(32))  # eight lanes
    assert machine.above["pcie2"] == ("cpu1", Fraction(64))
    assert machine.nics == {f"mlx5_{one}": Fraction(50) for one in range(4)}


def test_links_of_rccl() -> None:
    text = nccl_text(90, switched=False).replace("nvlink", "xgmi")
    machine = read(text)
    assert machine.kind == "Infinity Fabric"
    assert machine.direct["gpu0", "gpu1"] == (2, None)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<system", "<sistem", "not XML"),
        ('dev="1" sm', 'dev="0" sm', "GPU 0 is there twice"),
        ('dev="1" sm', 'dev="x" sm', "dev of <gpu> is to be a whole number"),
        ('count="5"', "", "count of <nvlink> is to be a whole number, not None"),
        ('speed="400000"', 'speed="-1"', "speed of <net>"),
    ],
)
def test_bad_files(old: str, new: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        read(nccl_text(90, switched=True).replace(old, new))


def test_deep_trees_are_refused() -> None:
    text = "<system><cpu>" + "<pci>" * 100 + "</pci>" * 100 + "</cpu></system>"
    with pytest.raises(FileFormatError, match="deep"):
        read(text)
