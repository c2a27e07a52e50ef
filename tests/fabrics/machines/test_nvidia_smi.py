"""What ``nvidia-smi topo -m`` prints."""

from __future__ import annotations

import pytest

from tests.fabrics.machines.texts import dgx_matrix, nvidia_matrix
from topodesign.base.errors import FileFormatError
from topodesign.fabrics.machines.nvidia_smi import read

GOOD = nvidia_matrix(2, ["mlx5_0"], lambda a, b: "NV4" if a[:3] == b[:3] else "PIX")


def test_more_links_than_a_gpu_has_go_to_a_switch() -> None:
    for word, count, reducing in (("NV18", 18, True), ("NV12", 12, False), ("NV8", 8, False)):
        machine = read(dgx_matrix(word))
        assert machine.switched == {f"gpu{one}": (count, None) for one in range(8)}
        assert (machine.direct, machine.reducing) == ({}, reducing)


def test_fewer_are_between_pairs() -> None:
    machine = read(nvidia_matrix(4, [], lambda a, b: f"NV{1 + (int(a[3:]) + int(b[3:])) % 2}"))
    assert machine.direct["gpu0", "gpu1"] == (2, None)
    assert machine.direct["gpu0", "gpu2"] == (1, None)
    assert not machine.switched
    assert len(machine.direct) == 6


def test_cards_tell_what_hides_behind_links() -> None:
    machine = read(dgx_matrix())
    assert machine.roots == ("cpu0", "cpu1")
    for one in range(8):
        assert machine.distance(f"gpu{one}", f"mlx5_{one}") == 2
        assert machine.way_up(f"gpu{one}")[-1] == f"cpu{one // 4}"
        assert machine.distance(f"gpu{one}", f"gpu{one ^ 1}") < machine.distance(f"gpu{one}", f"gpu{one ^ 2}")


def test_pcie_alone() -> None:
    machine = read(nvidia_matrix(4, [], lambda a, b: "PIX" if int(a[3:]) // 2 == int(b[3:]) // 2 else "SYS"))
    assert machine.above["gpu0"] == machine.above["gpu1"] != machine.above["gpu2"]
    assert not machine.joined


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no line begins with GPU0"),
        (GOOD.replace("GPU1\tNV4", "GPU1\tNV3"), "GPU0 and GPU1 are joined by NV4 and by NV3"),
        (GOOD.replace("NV4", "QPI"), "which nvidia-smi does not print"),
        (GOOD.replace(" X ", "NV4", 1), "GPU0 and GPU0 have the cell"),
        (GOOD.replace("NV4", "NV4000"), "have the cell 'NV4000'"),
    ],
)
def test_bad_texts(text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        read(text)
